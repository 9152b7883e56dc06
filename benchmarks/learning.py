"""Regret at equal rounds, on three worlds for which no policy was tuned, all at their defaults.

A fourth was found by looking for one where MOGRO loses. The theory promises nothing there: arms
that have no feature in common, and one objective. Greedy choices then teach nothing about other
arms, so a good arm that had bad luck while exploring is never tried again.

UCB and ThompsonSampling are told the true noise and the horizon, for they have no default there.
Every policy meets the same instances and the same noise; the sample are the instances.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import mogro
from benchmarks.common import Line, Ratio, short, unit_rows
from benchmarks.league.policies import ExploreThenCommit
from mogro.environments import FixedArms
from mogro.simulation import MakePolicy

SECTION = "learning"
INSTANCES, REPEATS = 12, 4
RW = "MOGRO-RW"


def policies(noise: float, rounds: int) -> dict[str, MakePolicy]:
    """Return who takes part."""
    return {
        RW: mogro.MOGRO,
        "MOGRO-RR": partial(mogro.MOGRO, scalarization=mogro.RoundRobin()),
        "MOGRO, hypervolume": partial(mogro.MOGRO, scalarization=mogro.RandomHypervolume()),
        "EpsilonGreedy": mogro.EpsilonGreedy,
        "UCB": partial(mogro.UCB, noise=noise, delta=1 / rounds),
        "ThompsonSampling": partial(mogro.ThompsonSampling, noise=noise, delta=1 / rounds),
        "ExploreThenCommit": ExploreThenCommit,
        "RandomArm": mogro.RandomArm,
    }


def sphere(rng: np.random.Generator) -> FixedArms:
    """Draw arms on the unit sphere, and two objectives at 120 degrees."""
    first, second = np.linalg.qr(rng.standard_normal((8, 2)))[0].T
    theta = np.stack([first, -0.5 * first + np.sqrt(0.75) * second])
    return FixedArms(unit_rows(rng, 200, 8), theta, noise=0.1)


def few_good(rng: np.random.Generator) -> FixedArms:
    """Draw 1000 unit arms, of which 50 serve some objective and the others none at all."""
    theta = np.abs(unit_rows(rng, 3, 10))
    mixtures = rng.dirichlet(np.ones(3), 50) @ theta + 0.1 * rng.standard_normal((50, 10))
    good = mixtures / np.linalg.norm(mixtures, axis=1, keepdims=True)
    candidates = unit_rows(rng, 20_000, 10)
    poor = candidates[(candidates @ theta.T).max(axis=1) < 0.1][:950]
    return FixedArms(rng.permutation(np.concatenate([good, poor])), theta, noise=0.1)


def non_positive(rng: np.random.Generator) -> FixedArms:
    """Draw non-negative arms and non-positive parameters: every reward is a cost."""
    features = np.abs(unit_rows(rng, 100, 10)) * rng.uniform(0.5, 1.0, (100, 1))
    return FixedArms(features, -np.abs(unit_rows(rng, 3, 10)), noise=0.1)


def separate(rng: np.random.Generator) -> FixedArms:
    """Draw the means of a plain bandit with one objective and large noise."""
    return FixedArms(np.eye(10), rng.uniform(0, 1, (1, 10)), noise=1.0)


WORLDS: dict[str, tuple[Callable[[np.random.Generator], FixedArms], int]] = {
    "arms on a sphere, conflict (8, 200, 2)": (sphere, 1000),
    "5 % good arms (10, 1000, 3)": (few_good, 1000),
    "non-positive parameters (10, 100, 3)": (non_positive, 1000),
    "separate arms, one objective (10, 10, 1)": (separate, 10_000),
}


def lines() -> Iterator[Line]:
    """Measure."""
    for name, (draw, rounds) in WORLDS.items():
        worlds = [draw(np.random.default_rng([seed, 7])) for seed in range(INSTANCES)]
        contenders = policies(worlds[0].noise, rounds)
        if worlds[0].objectives == 1:
            del contenders["MOGRO-RR"], contenders["MOGRO, hypervolume"]  # the same thing there
        regrets = {label: _regrets(make, worlds, rounds) for label, make in contenders.items()}
        best = min(regrets, key=lambda label: float(regrets[label].mean()))
        for label, regret in regrets.items():
            if label != RW:
                quotient = _ratio_of_means(regret, regrets[RW])
                yield Line(
                    SECTION,
                    quotient,
                    f"regret of {label} / {RW}",
                    name,
                    f"{short(regret.mean())} / {short(regrets[RW].mean())}, {rounds:,} rounds",
                    note=_remark(quotient, best=label == best),
                )


def _regrets(make: MakePolicy, worlds: list[FixedArms], rounds: int) -> np.ndarray:
    """Return the effective Pareto regret of every instance, a mean over its repeats."""
    trace = mogro.simulate(make, worlds, rounds=rounds, repeats=REPEATS, seed=1)
    return np.asarray(trace.effective_regret[-1].mean(axis=-1))


def _ratio_of_means(above: np.ndarray, below: np.ndarray) -> Ratio:
    """Return the ratio of mean regrets; instances are drawn in pairs for the interval."""
    rng = np.random.default_rng(0)
    index = rng.integers(len(above), size=(2000, len(above)))
    low, high = np.quantile(above[index].mean(axis=1) / below[index].mean(axis=1), (0.025, 0.975))
    return Ratio(float(above.mean() / below.mean()), float(low), float(high))


def _remark(quotient: Ratio, *, best: bool) -> str:
    """Say where MOGRO-RW loses."""
    if quotient.value >= 1:
        return ""
    sure = "" if quotient.high < 1 else ", not surely"
    return f"{RW} loses{sure}" + ("; this one is best of all" if best else "")

"""Regret at equal rounds, on three worlds for which no policy was tuned, all at their defaults.

UCB and ThompsonSampling are told the true noise and the horizon, for they have no default there.
Every policy meets the same instances and the same noise; the sample are the instances.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import mogro
from benchmarks.common import Line, Ratio, short, unit_rows
from mogro.environments import FixedArms
from mogro.simulation import MakePolicy

SECTION = "learning"
ROUNDS, INSTANCES, REPEATS = 1000, 12, 4
NOISE = 0.1
RW = "MOGRO-RW"
_RADIUS = {"noise": NOISE, "delta": 1 / ROUNDS}

POLICIES: dict[str, MakePolicy] = {
    RW: mogro.MOGRO,
    "MOGRO-RR": partial(mogro.MOGRO, scalarization=mogro.RoundRobin()),
    "MOGRO, hypervolume": partial(mogro.MOGRO, scalarization=mogro.RandomHypervolume()),
    "EpsilonGreedy": mogro.EpsilonGreedy,
    "UCB": partial(mogro.UCB, **_RADIUS),
    "ThompsonSampling": partial(mogro.ThompsonSampling, **_RADIUS),
    "ExploreThenCommit": mogro.ExploreThenCommit,
    "RandomArm": mogro.RandomArm,
}


def sphere(rng: np.random.Generator) -> FixedArms:
    """Draw arms on the unit sphere, and two objectives at 120 degrees: more of one, less of both."""
    first, second = np.linalg.qr(rng.standard_normal((8, 2)))[0].T
    theta = np.stack([first, -0.5 * first + np.sqrt(0.75) * second])
    return FixedArms(unit_rows(rng, 200, 8), theta, noise=NOISE)


def few_good(rng: np.random.Generator) -> FixedArms:
    """Draw 1000 unit arms, of which 50 serve some objective and the others none at all."""
    theta = np.abs(unit_rows(rng, 3, 10))
    mixtures = rng.dirichlet(np.ones(3), 50) @ theta + 0.1 * rng.standard_normal((50, 10))
    good = mixtures / np.linalg.norm(mixtures, axis=1, keepdims=True)
    candidates = unit_rows(rng, 20_000, 10)
    poor = candidates[(candidates @ theta.T).max(axis=1) < 0.1][:950]
    return FixedArms(rng.permutation(np.concatenate([good, poor])), theta, noise=NOISE)


def non_positive(rng: np.random.Generator) -> FixedArms:
    """Draw non-negative arms and non-positive parameters: every reward is a cost."""
    features = np.abs(unit_rows(rng, 100, 10)) * rng.uniform(0.5, 1.0, (100, 1))
    return FixedArms(features, -np.abs(unit_rows(rng, 3, 10)), noise=NOISE)


WORLDS: dict[str, Callable[[np.random.Generator], FixedArms]] = {
    "arms on a sphere, conflict (8, 200, 2)": sphere,
    "5 % good arms (10, 1000, 3)": few_good,
    "non-positive parameters (10, 100, 3)": non_positive,
}


def lines() -> Iterator[Line]:
    """Measure."""
    for name, draw in WORLDS.items():
        worlds = [draw(np.random.default_rng([seed, 7])) for seed in range(INSTANCES)]
        regrets = {label: _regrets(make, worlds) for label, make in POLICIES.items()}
        best = min(regrets, key=lambda label: float(regrets[label].mean()))
        for label, regret in regrets.items():
            if label != RW:
                figures = f"{short(regret.mean())} / {short(regrets[RW].mean())}"
                note = _why(label, regrets[label], regrets[RW], best=label == best)
                yield Line(
                    SECTION,
                    _ratio_of_means(regret, regrets[RW]),
                    f"regret of {label} / {RW}",
                    name,
                    f"{figures} after {ROUNDS:,} rounds",
                    note=note,
                )


def _regrets(make: MakePolicy, worlds: list[FixedArms]) -> np.ndarray:
    """Return the effective Pareto regret of every instance, a mean over its repeats."""
    trace = mogro.simulate(make, worlds, rounds=ROUNDS, repeats=REPEATS, seed=1)
    return np.asarray(trace.effective_regret[-1].mean(axis=-1))


def _ratio_of_means(above: np.ndarray, below: np.ndarray) -> Ratio:
    """Return the ratio of mean regrets; instances are drawn in pairs for the interval."""
    rng = np.random.default_rng(0)
    index = rng.integers(len(above), size=(2000, len(above)))
    low, high = np.quantile(above[index].mean(axis=1) / below[index].mean(axis=1), (0.025, 0.975))
    return Ratio(float(above.mean() / below.mean()), float(low), float(high))


def _why(label: str, regret: np.ndarray, ours: np.ndarray, *, best: bool) -> str:
    """Say where MOGRO-RW loses."""
    ratio = _ratio_of_means(regret, ours)
    lost = f"{RW} loses" if ratio.high < 1 else ""
    return ", ".join(part for part in (lost, "best of all" if best else "") if part)

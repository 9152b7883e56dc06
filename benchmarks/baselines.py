"""Baselines of other papers, each beside a claim of its paper, on a world like the paper's.

``python -m benchmarks.baselines`` says which claims are seen, and writes them down. The claims are
qualitative and the bars our own: the papers' curves are not compared number by number.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import moocore
import numpy as np

import mogro
from benchmarks.league import policies
from mogro import pareto

RESULTS = Path(__file__).with_name("BASELINES.md")
ABOUT = """\
Each policy on a small world like that of its paper, 12 independent runs, beside what the paper says
in words. Intervals are 95 %, over the runs; a claim is seen if the interval is on the right side of
its bar, not seen on the wrong one, else undecided. Bars and lengths of the runs are our own.

Constants, beside the papers (their abstracts and public implementations were at hand, of the
theorems only what these quote):

- GiniOGDE (Busa-Fekete et al. 2017, MO-OGDE). The paper's: every arm once; a step of
  sqrt(2 ln(2 / delta) / t) / (1 - 1 / sqrt(K)) along the gradient at the estimated means, weights
  in the order of the mixture's average; projection onto the simplex with at least step / K for
  each arm; weights 1, 1/2, 1/4, ... Three public implementations agree on step and projection.
  Ours: delta = 0.05, rewards for costs. Its figure 2 has the regret over rounds, by one of these.
- MOGLMUCB (Lu et al. 2019). The paper's, by its abstract: a variant of the online Newton step for
  each objective, optimistic indices, a uniformly random member of their front, Pareto regret of the
  order d sqrt(T). Ours: the squared radius is 0.1 log(det Z / det Z_1) and nothing else, ridge 1,
  norm 1; Z grows by half of the least slope times x x^T, as in Zhang et al. 2016, whose Theorem 1
  has a factor of 15 (at norm 1) and terms in delta, ridge and norm. On the world below, 3,000
  rounds, a factor of 15 has 0.025 of regret a round in the last 500, 1 has 0.012, 0.1 has 0.006,
  and a random arm 0.098. Figure numbers of this paper could not be looked up.
"""


class Claim(NamedTuple):
    """A number with its interval, and on which side of the bar it has to be."""

    policy: str
    claim: str
    number: float
    low: float
    high: float
    bar: float
    above: bool

    @property
    def seen(self) -> str:
        """Whether the interval is on the right side, on the wrong one, or on both."""
        if self.low > self.bar or self.high < self.bar:
            return "seen" if (self.low > self.bar) == self.above else "NOT SEEN"
        return "undecided"


def claims() -> Iterator[Claim]:
    yield from pareto_ucb1()
    yield from moglm_ucb()
    yield from hypervolume()
    yield from gini()
    yield from frank_wolfe()


def pareto_ucb1() -> Iterator[Claim]:
    """Drugan and Nowe 2013: 20 Bernoulli arms, two objectives, four of them optimal."""
    top = [(0.55, 0.50), (0.53, 0.51), (0.52, 0.54), (0.50, 0.57), (0.51, 0.51), (0.50, 0.50)]
    means = np.array(top + 14 * [(0.48, 0.48)])
    best = pareto.front(means)
    gaps = pareto.gaps(means)
    runs, rounds = 12, 6000
    pulled = {
        make.__name__: _bernoulli(make(20, 2, batch=(runs,)), means, rounds)
        for make in (policies.ParetoUCB1, policies.ParetoThompsonSampling)
    }
    for name, pulls in pulled.items():
        regret = gaps[pulls]
        early, late = regret[: rounds // 4].sum(axis=0), regret[-rounds // 4 :].sum(axis=0)
        where = "20 Bernoulli arms: Pareto regret, last quarter over first"
        yield _claim(name, f"{where}, below 1", late / early, 1, above=False)
        shares = np.stack([(pulls[-rounds // 4 :] == k).mean(axis=0) for k in range(20)])[best]
        worst = shares.min(axis=0) / shares.mean(axis=0)
        yield _claim(name, "least pulled optimal arm over their mean, above 1/2", worst, 0.5)
    regrets = [gaps[pulls].sum(axis=0) for pulls in pulled.values()]
    claim = "Thompson sampling's regret over UCB1's, below 1 (Yahyaa and Manderick)"
    yield _claim("ParetoThompsonSampling", claim, regrets[1] / regrets[0], 1, above=False)


def moglm_ucb() -> Iterator[Claim]:
    """Lu et al. 2019: logistic rewards, arms in the unit ball; others know no features."""
    runs, rounds, arms, dim, objectives = 12, 1500, 50, 5, 5
    rng = np.random.default_rng(1)
    features = rng.standard_normal((runs, arms, dim))
    features *= rng.random((runs, arms, 1)) ** (1 / dim) / np.linalg.norm(
        features, axis=-1, keepdims=True
    )
    theta = np.abs(rng.standard_normal((runs, objectives, dim)))
    theta /= np.linalg.norm(theta, axis=-1, keepdims=True)
    means = 1 / (1 + np.exp(-features @ theta.swapaxes(-1, -2)))
    gaps = np.stack([pareto.gaps(problem) for problem in means])
    regret = {}
    for make in (policies.MOGLMUCB, policies.ParetoUCB1, policies.ParetoThompsonSampling):
        pulls = _bernoulli(make(dim, objectives, batch=(runs,)), means, rounds, features)
        regret[make.__name__] = np.take_along_axis(gaps, pulls.T, axis=1)
    regrets = regret["MOGLMUCB"].sum(axis=1)
    for name in ("ParetoUCB1", "ParetoThompsonSampling"):
        claim = f"logistic arms, K = {arms}: Pareto regret over that of {name}, below 1"
        yield _claim("MOGLMUCB", claim, regrets / regret[name].sum(axis=1), 1, above=False)
    quarter = rounds // 4
    early, late = (regret["MOGLMUCB"][:, part].sum(axis=1) for part in _ends(quarter))
    claim = "Pareto regret, last quarter over first, below 1"
    yield _claim("MOGLMUCB", claim, late / early, 1, above=False)


def hypervolume() -> Iterator[Claim]:
    """Zhang 2023: a hollow front, of which linear weights find the ends only.

    Arms have three features. With a feature for each of 25 arms, as it was tried first, 400 rounds
    teach too little: by their wide indices all arms are pulled under both selections.
    """
    runs, rounds = 12, 800
    angle = np.linspace(0, np.pi / 2, 25)
    features = np.stack([np.cos(angle), np.sin(angle), np.ones(25)], axis=1) / np.sqrt(2)
    theta = np.sqrt(2) * np.array([[-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]])
    means = features @ theta.T  # a quarter of a circle around (1, 1): hollow
    reference = np.array([-0.05, -0.05])
    volumes = {}
    for kind, selection in (
        ("hypervolume", mogro.RandomHypervolume(reference.tolist())),
        ("linear", mogro.RandomWeights()),
    ):
        for make in (mogro.UCB, mogro.ThompsonSampling):
            policy = make(
                3,
                2,
                noise=0.02,
                delta=0.01,
                ridge=0.01,
                norm=2.0,
                selection=selection,
                batch=(runs,),
            )
            pulls = _normal(policy, means, rounds, 0.02, features)[-200:]
            volumes[kind, make.__name__] = np.array(
                [
                    moocore.hypervolume(means[np.unique(run)], ref=reference, maximise=True)
                    for run in pulls.T
                ]
            )
    for name in ("UCB", "ThompsonSampling"):
        ratio = volumes["hypervolume", name] / volumes["linear", name]
        claim = "hollow front: hypervolume of 200 late pulls over that with linear weights, above 1"
        yield _claim(f"{name}(selection=RandomHypervolume)", claim, ratio, 1)


def gini() -> Iterator[Claim]:
    """Busa-Fekete et al. 2017: Bernoulli arms with uniform means, weights 1, 1/2, 1/4, ..."""
    runs, arms, objectives = 12, 10, 5
    means = np.random.default_rng(3).random((runs, arms, objectives))
    weights = 0.5 ** np.arange(objectives)
    policy = policies.GiniOGDE(arms, objectives, batch=(runs,))
    index = {}
    start = 0
    for rounds in (400, 4000):
        pulls = _bernoulli(policy, means, rounds - start, seed=rounds)
        got = np.take_along_axis(means, pulls.T[..., None], axis=1).mean(axis=1)
        index[rounds], start = np.sort(got, axis=-1) @ weights, rounds
    best = np.array([_best_gini(problem, weights) for problem in means])
    decay = (best - index[4000]) / (best - index[400])
    claim = "regret of the average reward, rounds 401 to 4000 over the first 400, below 1/2"
    yield _claim("GiniOGDE", claim, decay, 0.5, above=False)
    single = (np.sort(means, axis=-1) @ weights).max(axis=1)
    claim = "Gini index of the average reward over that of the best single arm, above 1"
    yield _claim("GiniOGDE", claim, index[4000] / single, 1)


def frank_wolfe() -> Iterator[Claim]:
    """Do et al. 2022: a concave utility of the average reward, whose regret goes to 0."""
    runs, arms, objectives = 12, 8, 3
    rng = np.random.default_rng(4)
    means = rng.random((runs, arms, objectives)) ** 2
    utility = policies.AlphaFairness(1.0, offset=0.01)
    value: dict[str, list[np.ndarray]] = {}
    for name, alpha in (("fair", 1.0), ("sum", 0.0)):
        policy = policies.FrankWolfe(
            arms, objectives, noise=0.1, delta=0.01, batch=(runs,),
            utility=policies.AlphaFairness(alpha, offset=0.01),
        )  # fmt: skip
        total = np.zeros((runs, objectives))
        value[name] = []
        start = 0
        for rounds in (100, 1500):
            pulls = _normal(policy, means, rounds - start, 0.1, seed=rounds)
            total += np.take_along_axis(means, pulls.T[..., None], axis=1).sum(axis=1)
            start = rounds
            value[name].append(np.log(total / start + utility.offset).sum(axis=-1))
    best = np.array([_best_log(problem, utility.offset) for problem in means])
    decay = (best - value["fair"][1]) / (best - value["fair"][0])
    claim = "regret of the utility after 1500 rounds over that after 100, below 1/2"
    yield _claim("FrankWolfe", claim, decay, 0.5, above=False)
    claim = "sum of logarithms after 1500 rounds, less that of a policy for the sum, above 0"
    yield _claim("FrankWolfe", claim, value["fair"][1] - value["sum"][1], 0)


def _ends(size: int) -> tuple[slice, slice]:
    return slice(None, size), slice(-size, None)


def _bernoulli(
    policy: Any,
    means: np.ndarray,
    rounds: int,
    features: np.ndarray | None = None,
    seed: int = 0,
) -> np.ndarray:
    def draw(rng: np.random.Generator, chosen: np.ndarray) -> np.ndarray:
        return (rng.random(chosen.shape) < chosen).astype(np.float64)

    return _play(policy, means, rounds, draw, features, seed)


def _normal(
    policy: Any,
    means: np.ndarray,
    rounds: int,
    noise: float,
    features: np.ndarray | None = None,
    seed: int = 0,
) -> np.ndarray:
    def draw(rng: np.random.Generator, chosen: np.ndarray) -> np.ndarray:
        return chosen + noise * rng.standard_normal(chosen.shape)

    return _play(policy, means, rounds, draw, features, seed)


def _play(
    policy: Any,
    means: np.ndarray,
    rounds: int,
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray],
    features: np.ndarray | None,
    seed: int,
) -> np.ndarray:
    """Play arms with means (K, M) or (runs, K, M), and return the pulls, (rounds, runs)."""
    (runs,) = policy.batch
    arms = means.shape[-2]
    means = np.broadcast_to(means, (runs, *means.shape[-2:]))
    offered = np.eye(arms) if features is None else features
    offered = np.broadcast_to(offered, (runs, *offered.shape[-2:]))
    streams = mogro.Streams([np.random.default_rng([seed, k]) for k in range(runs)], ahead=True)
    rng = np.random.default_rng(seed)
    places = np.arange(runs)
    by_place = isinstance(
        policy, policies.ParetoUCB1 | policies.ParetoThompsonSampling | policies.GiniOGDE
    )
    pulls = np.empty((rounds, runs), dtype=np.int64)
    for pulled in pulls:
        pulled[:] = policy.select(offered, rng=streams)
        reward = draw(rng, means[places, pulled])
        policy.update(offered[places, pulled], reward, **({"arm": pulled} if by_place else {}))
    return pulls


def _best_gini(means: np.ndarray, weights: np.ndarray) -> float:
    """Return the largest index of a mixture: the least, over orders of the weights, is largest."""
    from itertools import permutations

    from scipy.optimize import linprog

    orders = np.array(list(permutations(weights)))
    rows = np.column_stack([-(orders @ means.T), np.ones(len(orders))])
    whole = np.append(np.ones(len(means)), 0.0)[None]
    cost = np.append(np.zeros(len(means)), -1.0)
    limits = [(0, None)] * len(means) + [(None, None)]
    solution = linprog(cost, rows, np.zeros(len(rows)), whole, [1.0], bounds=limits)
    assert solution.fun is not None
    return -solution.fun


def _best_log(means: np.ndarray, offset: float) -> float:
    """Return the largest sum of logarithms of a mixture, by multiplicative updates."""
    mixture = np.full(len(means), 1 / len(means))
    for _ in range(5000):  # expectation maximisation of a mixture: the maximum, monotonically
        mixture *= ((means + offset) / (mixture @ means + offset)).mean(axis=1)
        mixture /= mixture.sum()
    return float(np.log(mixture @ means + offset).sum())


def _claim(
    policy: str, claim: str, numbers: np.ndarray, bar: float, *, above: bool = True
) -> Claim:
    from scipy.stats import t

    half = t.ppf(0.975, len(numbers) - 1) * numbers.std(ddof=1) / len(numbers) ** 0.5
    middle = float(numbers.mean())
    return Claim(policy, claim, middle, middle - half, middle + half, bar, above)


def main() -> None:
    """Print the table, and write it beside this file."""
    start = time.monotonic()
    rows = ["| policy | claim | number [95 %] | |", "|---|---|---|---|"]
    for claim in claims():
        number = f"{claim.number:.2f} [{claim.low:.2f}, {claim.high:.2f}]"
        rows.append(f"| {claim.policy} | {claim.claim} | {number} | {claim.seen} |")
        print(rows[-1], flush=True)
    minutes = (time.monotonic() - start) / 60
    said = f"# Claims of other papers\n\n{ABOUT}\n" + "\n".join(rows)
    RESULTS.write_text(f"{said}\n\nThe run took {minutes:.1f} minutes.\n")


if __name__ == "__main__":
    main()

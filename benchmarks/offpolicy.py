"""Evaluation from logs: how often intervals hold the truth.

``python -m benchmarks.run offpolicy``, with speed and obp beside it; ``MOGRO_COVERAGE_RUNS`` sets
the number of runs.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial

import numpy as np

from benchmarks import offpolicy_speed
from benchmarks.common import Line, Ratio, short
from benchmarks.offpolicy_worlds import Log, World, learning_worlds, worlds
from mogro import offpolicy
from mogro.offpolicy import Evaluation

SECTION = "offpolicy"
RUNS = int(os.environ.get("MOGRO_COVERAGE_RUNS", "2000"))
_SHARE = 0.1  # of uniform draws of learning agents
_AT_ONCE = 250  # agents that learn side by side
Method = Callable[[Log, np.random.Generator], Evaluation]


def lines() -> Iterator[Line]:
    """Measure."""
    yield from offpolicy_speed.lines()
    for part in coverages().values():
        yield from part()


def coverages() -> dict[str, Callable[[], Iterator[Line]]]:
    """Return what measures coverage, by world."""
    independent = {world.name: partial(_covered, world, _independent) for world in worlds()}
    learning = {world.name: partial(_covered, world, _learning) for world in learning_worlds()}
    others = {"missing rewards, uncertain propensities": other_coverage}
    return independent | learning | others


def _covered(world: World, logs: Callable[[World], Iterator[Log]]) -> Iterator[Line]:
    return coverage(world, logs(world), METHODS)


def _independent(world: World) -> Iterator[Log]:
    rng = np.random.default_rng(0)
    return (world.log(rng) for _ in range(RUNS))


def _learning(world: World) -> Iterator[Log]:
    rng = np.random.default_rng(0)
    for start in range(0, RUNS, _AT_ONCE):
        yield from world.learning_logs(min(_AT_ONCE, RUNS - start), rng, uniform=_SHARE)


def _ips(log: Log, rng: np.random.Generator) -> Evaluation:
    return offpolicy.ips(log.rewards, log.logged, log.target)


def _snips(log: Log, rng: np.random.Generator) -> Evaluation:
    return offpolicy.snips(log.rewards, log.logged, log.target)


@lru_cache(maxsize=1)
def _predictions(log: Log) -> np.ndarray:
    return offpolicy.cross_fitted(log.rewards, log.arms, log.features)


def _robust(log: Log, rng: np.random.Generator, *, normalised: bool) -> Evaluation:
    predictions = _predictions(log)
    return offpolicy.doubly_robust(
        *(log.rewards, log.logged, log.arms, log.probabilities, predictions),
        self_normalised=normalised,
    )


METHODS: dict[str, Method] = {
    "ips": _ips,
    "snips": _snips,
    "doubly robust": partial(_robust, normalised=False),
    "doubly robust, self-normalised": partial(_robust, normalised=True),
}


def _partly(log: Log, rng: np.random.Generator, *, normalised: bool) -> Evaluation:
    """Lose rewards at random, given the arm: from a tenth of the first arm's to six tenths."""
    shares = np.linspace(0.1, 0.6, log.probabilities.shape[1])
    gone = rng.random(log.rewards.shape) < shares[log.arms][:, None]
    rewards = np.where(gone, np.nan, log.rewards)
    method = offpolicy.snips if normalised else offpolicy.ips
    return method(rewards, log.logged, log.target, arms=log.arms)


def _uncertain(log: Log, rng: np.random.Generator) -> Evaluation:
    """Know propensities up to a tenth of themselves only."""
    errors = 0.1 * log.logged
    noisy = np.clip(log.logged + errors * rng.standard_normal(len(errors)), 1e-3, 1.0)
    return offpolicy.ips(log.rewards, noisy, log.target, errors=errors)


def other_coverage() -> Iterator[Line]:
    """Measure what is not promised everywhere: missing rewards, uncertain propensities."""
    world = worlds()[0]
    methods: dict[str, Method] = {
        "ips, rewards missing by arm": partial(_partly, normalised=False),
        "snips, rewards missing by arm": partial(_partly, normalised=True),
        "ips, propensities +- 10 %": _uncertain,
    }
    rng = np.random.default_rng(1)
    yield from coverage(world, (world.log(rng) for _ in range(max(RUNS // 4, 100))), methods)


def coverage(world: World, logs: Iterable[Log], methods: dict[str, Method]) -> Iterator[Line]:
    """Yield how often intervals hold the truth, and how wide they are beside what is needed."""
    rng = np.random.default_rng(2)
    hits: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    widths: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for log in logs:
        for name, method in methods.items():
            evaluation = method(log, rng)
            rows[name].append((*evaluation.value, *evaluation.effective_size, evaluation.trusted))
            for kind, bounds in intervals(evaluation).items():
                inside = (bounds[:, 0] <= world.value) & (world.value <= bounds[:, 1])
                if kind == "joint":
                    inside = np.array([inside.all()])
                hits[name, kind].append(inside)
                widths[name, kind].append(bounds[:, 1] - bounds[:, 0])
    objectives = len(world.value)
    for (name, kind), held in hits.items():
        figures = np.array(rows[name])
        trusted = figures[:, -1] > 0
        spread = figures[:, :objectives].std(axis=0)
        reach = 1.96
        if kind == "joint":  # a box, as wide for every objective in its deviations, that holds 95 %
            apart = abs(figures[:, :objectives] - world.value) / spread
            reach = float(np.quantile(apart.max(axis=1), 0.95))
        width_ratio = float((np.mean(widths[name, kind], axis=0) / (2 * reach * spread)).max())
        yield _line(
            world,
            f"{name}, {kind}",
            np.array(held),
            trusted,
            width_ratio,
            figures[:, objectives].mean(),
        )


def intervals(evaluation: Evaluation) -> dict[str, np.ndarray]:
    """Return all intervals (M, 2) that an evaluation has."""
    return {"interval": evaluation.interval(), "joint": evaluation.region().bounds}


def _line(
    world: World,
    what: str,
    inside: np.ndarray,
    trusted: np.ndarray,
    width_ratio: float,
    size: float,
) -> Line:
    """Judge the objective that is covered least, where the object says it can be trusted."""
    judged = inside[trusted] if trusted.any() else inside
    shares = np.atleast_1d(judged.mean(axis=0))
    worst = float(shares.min())
    error = 1.96 * np.sqrt(max(worst * (1 - worst), 1e-4) / len(judged))
    met = worst >= 0.93 and (shares.max() <= 0.97 or width_ratio <= 1.5)
    everything = float(np.min(inside.mean(axis=0)))
    return Line(
        SECTION,
        Ratio(worst, worst - error, min(worst + error, 1.0)),
        f"coverage at 95 %: {what}",
        f"{world.name}, n = {world.rows:,}, effective size {size:.0f}",
        f"width / needed {short(width_ratio)}; all runs {short(everything)}",
        ">= 0.93; > 0.97 only if <= 1.5 as wide",
        bool(met) if trusted.any() else None,
        f"{trusted.mean():.0%} of {len(trusted)} runs trusted" if not trusted.all() else "",
    )

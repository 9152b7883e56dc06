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
from mogro.offpolicy import Clip, Evaluation

SECTION = "offpolicy"
RUNS = int(os.environ.get("MOGRO_COVERAGE_RUNS", "2000"))
_SHARE = 0.1  # of uniform draws of learning agents
_REPLICATES = 256
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
    rest = {"caps, missing rewards, uncertain propensities": coverage_of_the_rest}
    return independent | learning | rest


def _covered(world: World, logs: Callable[[World], Iterator[Log]]) -> Iterator[Line]:
    return coverage(world, logs(world), METHODS)


def _independent(world: World) -> Iterator[Log]:
    rng = np.random.default_rng(0)
    return (world.log(rng) for _ in range(RUNS))


def _learning(world: World) -> Iterator[Log]:
    rng = np.random.default_rng(0)
    for done in range(0, RUNS, _AT_ONCE):
        yield from world.learning_logs(min(_AT_ONCE, RUNS - done), rng, uniform=_SHARE)


def _ips(log: Log, rng: np.random.Generator) -> Evaluation:
    return offpolicy.ips(log.rewards, log.logged, log.target, replicates=_REPLICATES, rng=rng)


def _snips(log: Log, rng: np.random.Generator) -> Evaluation:
    return offpolicy.snips(log.rewards, log.logged, log.target, replicates=_REPLICATES, rng=rng)


@lru_cache(maxsize=1)
def _predictions(log: Log) -> np.ndarray:
    return offpolicy.cross_fitted(log.rewards, log.arms, log.features)


def _robust(log: Log, rng: np.random.Generator, *, normalised: bool) -> Evaluation:
    predictions = _predictions(log)
    return offpolicy.doubly_robust(
        *(log.rewards, log.logged, log.arms, log.probabilities, predictions),
        self_normalised=normalised,
    )


def _direct(log: Log, rng: np.random.Generator) -> Evaluation:
    return offpolicy.direct(log.rewards, log.arms, log.probabilities, log.features)


METHODS: dict[str, Method] = {
    "ips": _ips,
    "snips": _snips,
    "doubly robust": partial(_robust, normalised=False),
    "doubly robust, self-normalised": partial(_robust, normalised=True),
    "direct": _direct,
}


def _clipped(log: Log, rng: np.random.Generator) -> Evaluation:
    rows = offpolicy.weighted_rows(log.rewards, log.logged, log.target)
    cap = offpolicy.least_error(rows, Clip)
    return offpolicy.ips(log.rewards, log.logged, log.target, cap=cap)


def _switched(log: Log, rng: np.random.Generator) -> Evaluation:
    predictions = _predictions(log)
    return offpolicy.switch_doubly_robust(
        log.rewards, log.logged, log.arms, log.probabilities, predictions
    )


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


def coverage_of_the_rest() -> Iterator[Line]:
    """Measure what is not promised everywhere: caps, missing rewards, uncertain propensities."""
    plain, _, heavy, *_ = worlds()
    runs = max(RUNS // 4, 100)
    rest: list[tuple[World, dict[str, Method]]] = [
        (heavy, {"ips, clip by least error": _clipped, "switch, by least error": _switched}),
        (
            plain,
            {
                "ips, rewards missing by arm": partial(_partly, normalised=False),
                "snips, rewards missing by arm": partial(_partly, normalised=True),
                "ips, propensities +- 10 %": _uncertain,
            },
        ),
    ]
    for world, methods in rest:
        rng = np.random.default_rng(1)
        yield from coverage(world, (world.log(rng) for _ in range(runs)), methods)


def coverage(world: World, logs: Iterable[Log], methods: dict[str, Method]) -> Iterator[Line]:
    """Yield how often intervals hold the truth, and how wide they are beside what is needed."""
    rng = np.random.default_rng(2)
    hits: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    widths: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for log in logs:
        for name, method in methods.items():
            one = method(log, rng)
            found[name].append((*one.value, *one.effective_size, one.trusted))
            for kind, bounds in intervals(one).items():
                inside = (bounds[:, 0] <= world.value) & (world.value <= bounds[:, 1])
                if kind == "joint":
                    inside = np.array([inside.all()])
                hits[name, kind].append(inside)
                widths[name, kind].append(bounds[:, 1] - bounds[:, 0])
    objectives = len(world.value)
    for (name, kind), held in hits.items():
        if len(held) < len(found[name]):  # a cap that is not always there
            continue
        figures = np.array(found[name])
        trusted = figures[:, -1] > 0
        spread = figures[:, :objectives].std(axis=0)
        reach = 1.96
        if kind == "joint":  # a box, as wide for every objective in its deviations, that holds 95 %
            apart = abs(figures[:, :objectives] - world.value) / spread
            reach = float(np.quantile(apart.max(axis=1), 0.95))
        wide = float((np.mean(widths[name, kind], axis=0) / (2 * reach * spread)).max())
        yield _line(
            world, f"{name}, {kind}", np.array(held), trusted, wide, figures[:, objectives].mean()
        )


def intervals(one: Evaluation) -> dict[str, np.ndarray]:
    """Return all intervals (M, 2) that an evaluation has."""
    found = {"interval": one.interval(), "joint": one.region().bounds}
    if one.replicates is not None:
        found["bootstrap"] = one.bootstrap_interval()
    if one.calibration is not None:
        found["likelihood"] = one.likelihood_interval()
    return found


def _line(
    world: World, what: str, inside: np.ndarray, trusted: np.ndarray, wide: float, size: float
) -> Line:
    """Judge the objective that is covered least, where the object says it can be trusted."""
    judged = inside[trusted] if trusted.any() else inside
    shares = np.atleast_1d(judged.mean(axis=0))
    worst = float(shares.min())
    error = 1.96 * np.sqrt(max(worst * (1 - worst), 1e-4) / len(judged))
    met = worst >= 0.93 and (shares.max() <= 0.97 or wide <= 1.5)
    everything = float(np.min(inside.mean(axis=0)))
    return Line(
        SECTION,
        Ratio(worst, worst - error, min(worst + error, 1.0)),
        f"coverage at 95 %: {what}",
        f"{world.name}, n = {world.rows:,}, effective size {size:.0f}",
        f"width / needed {short(wide)}; all runs {short(everything)}",
        ">= 0.93; > 0.97 only if <= 1.5 as wide",
        bool(met) if trusted.any() else None,
        f"{trusted.mean():.0%} of {len(trusted)} runs trusted" if not trusted.all() else "",
    )

"""How time and memory grow: with arms, with features, with objectives."""

import tracemalloc
from collections.abc import Iterator
from functools import partial
from itertools import cycle

import numpy as np
from numpy.typing import DTypeLike

import mogro
from benchmarks.common import Line, Ratio, Step, duration, race, ratio, slope, typical, unit_rows
from benchmarks.metrics import ball_means

SECTION = "scale"
DIM, OBJECTIVES = 32, 3
ARMS = (10_000, 100_000, 1_000_000)
DIMS = (8, 32, 128, 512)
GAP_ARMS = (1000, 4000, 16_000)
GAP_OBJECTIVES = (2, 4, 8)


def lines() -> Iterator[Line]:
    """Measure."""
    for dtype in (np.float64, np.float32):
        yield from _arms(dtype)
    yield from _dims()
    yield from _gaps()


def _trained(arms: int, dtype: DTypeLike) -> tuple[mogro.MOGRO, np.ndarray]:
    rng = np.random.default_rng(0)
    features = unit_rows(rng, arms, DIM).astype(dtype)
    policy = mogro.MOGRO(DIM, OBJECTIVES)
    sample = features[:2000].astype(np.float64)
    policy.learn(sample, rng.standard_normal((len(sample), OBJECTIVES)))
    policy.select(features, rng=rng)
    return policy, features


def _arms(dtype: DTypeLike) -> Iterator[Line]:
    name = np.dtype(dtype).name
    timings = []
    for arms in ARMS:
        policy, features = _trained(arms, dtype)
        select = partial(policy.select, features, rng=np.random.default_rng(1))
        direction = policy.theta[0].astype(dtype)
        times = race(
            {"select": select, "product": partial(np.matmul, features, direction)},
            repeats=15,
            block=0.02,
        )
        timings.append(times["select"])
        yield Line(
            SECTION,
            ratio(times["select"], times["product"]),
            "MOGRO-RW select / features @ vector",
            f"K = {arms:,}, d = {DIM}, {name}",
            f"{duration(typical(times['select']))} / {duration(typical(times['product']))}",
            note=_memory(select, features),
        )
    yield _slope("log select / log K", list(ARMS), timings, f"d = {DIM}, {name}")


def _memory(select: Step, features: np.ndarray) -> str:
    tracemalloc.start()
    select()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return f"{peak / 2**20:.1f} MB beside the {features.nbytes / 2**20:.0f} MB of the features"


def _dims() -> Iterator[Line]:
    timings = []
    for dim in DIMS:
        rng = np.random.default_rng(0)
        features = unit_rows(rng, 4 * dim, dim)
        rewards = rng.standard_normal((4 * dim, OBJECTIVES))
        policy = mogro.MOGRO(dim, OBJECTIVES)
        policy.learn(features, rewards)
        turns = max(256, 2 * dim)  # updates from one renewal to the next
        runs = {"update": _updates(policy, features, rewards), "bare": _bare(features)}
        measured = race({name: partial(_repeat, run, turns) for name, run in runs.items()})
        times = {name: each / turns for name, each in measured.items()}
        timings.append(times["update"])
        yield Line(
            SECTION,
            ratio(times["update"], times["bare"]),
            "update / bare rank-one update of V and V^-1",
            f"d = {dim}, M = {OBJECTIVES}",
            f"{duration(typical(times['update']))} / {duration(typical(times['bare']))}",
            note="renewals included",
        )
    yield _slope("log update / log d", list(DIMS[1:]), timings[1:], "d from 32")


def _repeat(run: Step, turns: int) -> None:
    for _ in range(turns):
        run()


def _updates(policy: mogro.MOGRO, features: np.ndarray, rewards: np.ndarray) -> Step:
    pairs = cycle(list(zip(features, rewards, strict=True)))
    return lambda: policy.update(*next(pairs))


def _bare(features: np.ndarray) -> Step:
    gram, inverse = np.eye(features.shape[1]), np.eye(features.shape[1])
    outer = np.empty_like(gram)
    rows = cycle(list(features))

    def run() -> None:
        nonlocal gram, inverse
        x = next(rows)
        change = inverse @ x
        gram += np.multiply(x[:, None], x, out=outer)
        inverse -= np.multiply(change[:, None], change / (1 + x @ change), out=outer)

    return run


def _gaps() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    seconds = []
    for arms in GAP_ARMS:
        means = ball_means(arms, 5, rng)
        seconds.append(race({"": partial(mogro.pareto.effective_gaps, means)}, repeats=7)[""])
    yield _slope("log effective_gaps / log K", list(GAP_ARMS), seconds, "M = 5")
    seconds = []
    for objectives in GAP_OBJECTIVES:
        means = ball_means(1000, objectives, rng)
        seconds.append(race({"": partial(mogro.pareto.effective_gaps, means)}, repeats=7)[""])
    yield _slope("log effective_gaps / log M", list(GAP_OBJECTIVES), seconds, "K = 1,000")


def _slope(quotient: str, sizes: list[int], times: list[np.ndarray], setting: str) -> Line:
    fitted: Ratio = slope(sizes, times)
    points = ", ".join(
        f"{size:,}: {duration(typical(each))}" for size, each in zip(sizes, times, strict=True)
    )
    return Line(
        SECTION, fitted, quotient, setting, points, note="a slope: 1 is linear, 2 quadratic"
    )

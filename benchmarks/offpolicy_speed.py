"""Evaluation from logs: rows a second, and obp beside it on the same arrays.

With ``MOGRO_OBP`` set to a Python that has obp 0.5.7 (3.10 at most), agreement with obp as well.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common import Line, duration, race, ratio, slope, typical
from benchmarks.offpolicy_worlds import Log
from mogro import offpolicy
from mogro.offpolicy import Evaluation

SECTION = "offpolicy"
_SIZES = [100_000, 1_000_000, 4_000_000]


def lines() -> Iterator[Line]:
    """Measure."""
    yield from speed()
    yield from beside_obp()


def arrays(rows: int, objectives: int = 3, arms: int = 10) -> Log:
    """Draw arrays to time."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(arms, size=rows)
    probabilities = rng.dirichlet(np.ones(arms), rows)
    rewards = rng.random((rows, objectives))
    return Log(rewards, chosen, np.full(rows, 1 / arms), probabilities, np.zeros((rows, arms, 0)))


def speed() -> Iterator[Line]:
    """Measure rows a second, and how time grows with rows."""
    logs = {size: arrays(size) for size in _SIZES}
    for name, method in (("ips", offpolicy.ips), ("snips", offpolicy.snips)):
        times = []
        for log in logs.values():
            step = partial(method, log.rewards, log.logged, log.target)
            times.append(race({name: step}, repeats=7, budget=3.0)[name])
        rate = _SIZES[-1] / typical(times[-1])
        yield Line(
            SECTION,
            slope(_SIZES, times),
            f"slope of log time over log n: {name}",
            f"n = {_SIZES[0]:,} to {_SIZES[-1]:,}, M = 3",
            f"{rate / 1e6:.1f} million rows/s",
            "<= 1.1",
            bool(slope(_SIZES, times).value <= 1.1),
        )
    yield from _slower_speed(logs[_SIZES[1]])


def _slower_speed(log: Log) -> Iterator[Line]:
    n, arms = log.probabilities.shape
    predictions = np.random.default_rng(1).random((n, arms, 3))
    snips = partial(offpolicy.snips, log.rewards, log.logged, log.target)
    steps = {
        "snips": snips,
        "doubly robust, K = 10": partial(
            offpolicy.doubly_robust,
            *(log.rewards, log.logged, log.arms, log.probabilities, predictions),
        ),
    }
    times = race(steps, repeats=5, budget=4.0)
    for name in list(steps)[1:]:
        yield Line(
            SECTION,
            ratio(times[name], times["snips"]),
            f"{name} / snips",
            f"n = {n:,}, M = 3",
            f"{duration(typical(times[name]))} / {duration(typical(times['snips']))}",
        )


def beside_obp(rows: int = 1_000_000) -> Iterator[Line]:
    """Compare with obp on the same arrays: M objectives in one pass, and one alone."""
    python = os.environ.get("MOGRO_OBP")
    if not python:
        yield Line(SECTION, None, "obp / mogro", f"n = {rows:,}", note="MOGRO_OBP is not set")
        return
    log = arrays(rows)
    predictions = np.random.default_rng(1).random((rows, log.probabilities.shape[1], 3))
    obp = _run_obp(python, log, predictions)
    for name, (method, single) in _same_as_obp(log, predictions).items():
        values = method().value
        apart = float(abs(values - obp[name]["values"]).max())
        times = race({"all": method, "one": single}, repeats=7, budget=3.0)
        for which, seconds in (("all", "seconds"), ("one", "first")):
            other = np.array(obp[name][seconds])
            quotient = ratio(other, times[which])
            count = "M = 3: one pass, obp three" if which == "all" else "M = 1"
            yield Line(
                SECTION,
                quotient,
                f"obp 0.5.7 / mogro: {name}",
                f"n = {rows:,}, K = 10, {count}",
                f"{duration(typical(other))} / {duration(typical(times[which]))}",
                ">= 1; values to 1e-10",
                quotient.value >= 1 and apart < 1e-10,
                f"values differ by {apart:.1g}; obp without intervals",
            )


def _same_as_obp(
    log: Log, predictions: np.ndarray
) -> dict[str, tuple[Callable[[], Evaluation], Callable[[], Evaluation]]]:
    first, first_predictions = log.rewards[:, :1].copy(), predictions[..., :1].copy()
    logged = log.logged, log.arms, log.probabilities

    def weighted(method: Callable[..., Evaluation], rewards: np.ndarray) -> Evaluation:
        return method(rewards, log.logged, log.target)

    def both(method: Callable[..., Evaluation]) -> tuple[Callable[[], Evaluation], ...]:
        return partial(weighted, method, log.rewards), partial(weighted, method, first)

    robust: dict[str, Callable[..., Evaluation]] = {
        "dr": offpolicy.doubly_robust,
        "sndr": partial(offpolicy.doubly_robust, self_normalised=True),
    }
    methods = {"ips": both(offpolicy.ips), "snips": both(offpolicy.snips)}
    for name, method in robust.items():
        methods[name] = (
            partial(method, log.rewards, *logged, predictions),
            partial(method, first, *logged, first_predictions),
        )
    return {name: (pair[0], pair[1]) for name, pair in methods.items()}


def _run_obp(python: str, log: Log, predictions: np.ndarray) -> dict[str, dict[str, list[float]]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.npz")
        np.savez(
            path,
            rewards=log.rewards,
            arms=log.arms,
            logged=log.logged,
            probabilities=log.probabilities,
            predictions=predictions,
        )
        script = Path(__file__).with_name("offpolicy_obp.py")
        command = [python, str(script), str(path)]
        environment = {"PATH": os.environ.get("PATH", ""), "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.run(command, check=True, capture_output=True, env=environment)
    result: dict[str, dict[str, list[float]]] = json.loads(process.stdout.decode().splitlines()[-1])
    return result

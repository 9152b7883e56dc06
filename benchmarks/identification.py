"""How many pulls tell which arms are on the Pareto front, and how often the answer is wrong.

Run with ``python -m benchmarks.identification claims``, ``vaccines`` or ``designs FOLDER``, where
the folder holds the data of VOPy (``vopy/datasets/data`` in its wheel).

- claims: 2,000 runs in each of five worlds, each with the choices of another policy. A run is wrong
  if any arm is classified wrongly at any of the times looked at. Bar: at most delta of the runs.
- vaccines: the instance of Crepon, Garivier and Koolen (2024), figure 2: COV-BOOST, 20 arms, three
  objectives, noise 1, delta 0.1. Theirs: 2,000 of 2,000 runs right, 17,910 pulls on average, 154 s
  a run, with a threshold ``log(log(1 + t) / delta)`` that no theorem covers; 4,845 pulls are a
  lower bound. Ours stops by a theorem.
- designs: three data sets of VOPy, every design an arm of its own, tolerance 0.1, delta 0.05.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mogro
from mogro._validation import BoolArray, FloatArray
from mogro.environments import BernoulliArms, FixedArms
from mogro.policies import FrontIdentification

VACCINES = """
9.50 6.86 4.56  9.29 6.64 4.04  9.05 6.41 3.56  10.21 7.49 4.43  10.05 7.20 4.36  8.34 5.67 3.51
8.22 5.46 3.64  9.75 7.27 4.71  10.43 7.61 4.72  8.94 6.19 3.84  7.81 5.26 3.97  8.85 6.59 4.73
8.44 6.15 4.59  9.93 7.39 4.75  8.71 7.20 4.91  7.51 5.31 3.96  7.27 4.99 4.02  8.62 6.33 4.66
10.35 7.77 5.00  8.29 5.92 3.87
"""  # log immune responses (Munro et al., 2021), as Kone, Kaufmann and Richert (2023) list them


def claims(runs: int = 2000, rounds: int = 2000, delta: float = 0.05) -> None:
    """Count runs in which an arm was ever classified wrongly, by either front."""
    rng = np.random.default_rng(0)
    close_means = [[1.0, 0.0], [0.95, 0.05], [0.0, 1.0], [0.45, 0.45], [0.9, -0.05]]
    worlds: dict[str, tuple[Any, float, Callable[..., Any]]] = {
        "8 separate arms, MOGRO": (_separate(rng.normal(size=(8, 2)), 0.5), 0.5, mogro.MOGRO),
        "5 arms, nearly equal, UCB": (
            _separate(close_means, 0.2),
            0.2,
            partial(mogro.UCB, noise=0.2, delta=0.01),
        ),
        "clicks, 6 arms, epsilon-greedy": (
            BernoulliArms.sample(6, 3, rng=rng),
            0.5,
            mogro.EpsilonGreedy,
        ),
        "d = 3, 15 arms, Thompson sampling": (
            FixedArms(rng.normal(size=(15, 3)), rng.normal(size=(2, 3)), noise=1.0),
            1.0,
            partial(mogro.ThompsonSampling, noise=1.0, delta=0.01),
        ),
        "d = 5, 20 arms, FrontIdentification": (
            FixedArms(rng.normal(size=(20, 5)), rng.normal(size=(3, 5)), noise=1.0),
            1.0,
            partial(FrontIdentification, noise=1.0, delta=delta),
        ),
    }
    times = np.unique(np.geomspace(1, rounds, 60).astype(int))
    print(f"| world, choices by | wrong of {runs} | Pareto | effective | decided at the end |")
    print("|---|---|---|---|---|")
    for name, (world, noise, make) in worlds.items():
        fronts = [mogro.pareto.front(world.means), mogro.pareto.effective_front(world.means)]

        look = partial(_look, features=world.features, noise=noise, delta=delta, fronts=fronts)
        trace = mogro.simulate(
            make, world, rounds=rounds, repeats=runs, checkpoints=times.tolist(), probe=look
        )
        ever = trace.probed[..., :2].max(axis=0)[0]
        pareto, effective = ever.sum(axis=0)
        decided = trace.probed[-1, ..., 2].mean()
        print(f"| {name} | {ever.max(-1).sum():g} | {pareto:g} | {effective:g} | {decided:.0%} |")


def _look(
    policy: Any, *, features: FloatArray, noise: float, delta: float, fronts: list[BoolArray]
) -> FloatArray:
    """Return whether an arm is classified wrongly, by both fronts, and the share decided."""
    answers = []
    for front, effective in zip(fronts, (False, True), strict=True):
        confidence = policy.front_confidence(
            features, noise=noise, delta=delta, effective=effective
        )
        answers.append((confidence.on & ~front | confidence.off & front).any(-1))
    return np.stack([*answers, 1 - confidence.open.mean(-1)], axis=-1)


def _separate(means: Any, noise: float) -> FixedArms:
    table = np.asarray(means)
    return FixedArms(np.eye(len(table)), table.T, noise=noise)


def identify(
    means: FloatArray, noise: float, *, delta: float, tolerance: float, runs: int, at_once: int = 50
) -> tuple[FloatArray, int, float]:
    """Return pulls until finished, how many answers were wrong, and seconds a run."""
    world = _separate(means, noise)
    make = partial(FrontIdentification, noise=noise, delta=delta, tolerance=tolerance)
    pulls, errors, start = [], 0, time.perf_counter()
    for first in range(0, runs, at_once):
        trace = mogro.simulate(
            make,
            world,
            rounds=10**7,
            repeats=min(at_once, runs - first),
            checkpoints=[10**7],
            until=FrontIdentification.is_finished,
            probe=lambda policy: policy.identified().on,
            start=(0, first),
        )
        pulls.append(trace.finished[0])
        errors += int(_wrong(means, trace.probed[-1, 0] > 0, tolerance).sum())
    return np.concatenate(pulls), errors, (time.perf_counter() - start) / runs


def _wrong(means: FloatArray, answer: BoolArray, tolerance: float) -> BoolArray:
    """Tell which answers (..., K) miss a member of the front, or hold an arm that is too bad."""
    false_negatives = (mogro.pareto.front(means) & ~answer).any(-1)
    return np.asarray(false_negatives | (answer & (mogro.pareto.gaps(means) > tolerance)).any(-1))


def round_robin(
    means: FloatArray, noise: float, *, delta: float, tolerance: float, seed: int
) -> tuple[int, bool]:
    """Return how many pulls it takes to pull all arms in turn until all are decided."""
    arms, rng = np.eye(len(means)), np.random.default_rng([seed, 7])
    policy = mogro.MOGRO(len(means), means.shape[1])
    on, turns = np.zeros((2, len(means)), dtype=bool), 0
    while not on.any(0).all():
        look_every = max(1, turns // 50)
        mean = means + noise / np.sqrt(look_every) * rng.standard_normal(means.shape)
        policy.learn(np.repeat(arms, look_every, axis=0), np.repeat(mean, look_every, axis=0))
        turns += look_every
        confidence = policy.front_confidence(arms, noise=noise, delta=delta, tolerance=tolerance)
        on |= np.stack([confidence.on & ~on[1], confidence.off & ~on[0]])
    return turns * len(means), bool(_wrong(means, on[0], tolerance))


def vaccines(runs: int = 2000) -> None:
    """Print pulls, errors and seconds beside those of Crepon et al."""
    means = np.array(VACCINES.split(), dtype=float).reshape(-1, 3)
    pulls, errors, seconds = identify(means, 1.0, delta=0.1, tolerance=0.0, runs=runs)
    turns = [round_robin(means, 1.0, delta=0.1, tolerance=0.0, seed=s) for s in range(10)]
    print("| policy | right | pulls, mean | median | seconds a run |\n|---|---|---|---|---|")
    print("| Crepon et al., as published | 2000 of 2000 | 17,910 | 15,125 | 154 |")
    print(
        f"| FrontIdentification | {runs - errors} of {runs} | {pulls.mean():,.0f} | "
        f"{np.median(pulls):,.0f} | {seconds:.2f} |"
    )
    print(f"| round robin, the same test | | {np.mean([t for t, _ in turns]):,.0f} | | |")


def designs(folder: str, runs: int = 20) -> None:
    """Print pulls and errors in the data sets of VOPy."""
    print("| data | noise | pulls, mean | wrong | seconds a run | round robin |")
    print("|---|---|---|---|---|---|")
    for name, means in _designs(Path(folder)).items():
        for noise in (0.1, 0.02):
            setting: Any = {"delta": 0.05, "tolerance": 0.1}
            pulls, errors, seconds = identify(means, noise, runs=runs, at_once=4, **setting)
            turns = np.mean([round_robin(means, noise, seed=s, **setting)[0] for s in range(3)])
            print(
                f"| {name}, {len(means)} x {means.shape[1]} | {noise} | {pulls.mean():,.0f} | "
                f"{errors} of {runs} | {seconds:.2f} | {turns:,.0f} |",
                flush=True,
            )


def _designs(folder: Path) -> dict[str, FloatArray]:
    """Return mean rewards as VOPy has them: every objective with mean 0 and variance 1."""
    networks = np.genfromtxt(folder / "sort_256.csv", delimiter=";")[:, 3:] * [-1, 1]
    brakes = np.load(folder / "brake.npy")[:, 4:]
    cars = np.load(folder / "VehicleSafety.npy")[:, 5:]
    problems = {"disc brake": brakes, "SNW": networks, "vehicle safety": cars}
    return {name: (each - each.mean(0)) / each.std(0) for name, each in problems.items()}


if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or ["claims"]
    if command == "designs":
        designs(arguments[0])
    else:
        {"claims": claims, "vaccines": vaccines}[command]()

"""What the Pareto toolbox costs, against others, in one run: ``python benchmarks/pareto.py``.

Ratios say more than times. Set OPENBLAS_NUM_THREADS=1 for one core.
"""

import resource
import time
from collections.abc import Callable
from functools import partial

import moocore
import numpy as np
from scipy.optimize import linprog

from mogro import pareto
from mogro._validation import FloatArray, IntArray

_SOME = 100  # problems that linprog is timed on


def best(action: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def ball_means(
    arms: int, objectives: int, rng: np.random.Generator, *, problems: tuple[int, ...] = ()
) -> FloatArray:
    """Means of features that are uniform in the ball, under positive unit parameters."""
    dim = max(2, objectives)
    features = rng.normal(size=(*problems, arms, dim))
    features /= np.linalg.norm(features, axis=-1, keepdims=True)
    features *= rng.random((*problems, arms, 1)) ** (1 / dim)
    theta = np.abs(rng.normal(size=(*problems, objectives, dim)))
    theta /= np.linalg.norm(theta, axis=-1, keepdims=True)
    return np.asarray(features @ theta.swapaxes(-1, -2))


def gap_by_linprog(means: FloatArray, arm: int) -> float:
    arms, objectives = means.shape
    result = linprog(
        np.append(np.zeros(objectives), 1.0),
        A_ub=np.column_stack([means - means[arm], -np.ones(arms)]),
        b_ub=np.zeros(arms),
        A_eq=np.append(np.ones(objectives), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * objectives + [(None, None)],
        method="highs",
    )
    return float(result.fun or 0.0)


def some_gaps_by_linprog(means: FloatArray, chosen: IntArray) -> None:
    for i in range(_SOME):
        gap_by_linprog(means[i], int(chosen[i]))


def fronts(rng: np.random.Generator) -> None:
    print("front of one problem against moocore")
    for arms, objectives in ((1, 2), (10, 2), (50, 5), (200, 10), (2000, 10), (100_000, 5)):
        means = ball_means(arms, objectives, rng)
        repeats = 200 if arms <= 2000 else 5
        compiled = partial(moocore.is_nondominated, means, maximise=True, keep_weakly=True)
        theirs = best(compiled, repeats)
        ours = best(partial(pareto.front, means), repeats)
        print(f"  K={arms:<7} M={objectives:<3} {ours * 1e6:10.1f} us   ratio {ours / theirs:.2f}")


def chosen_gaps(rng: np.random.Generator) -> None:
    print("effective gap of one arm of each of 2000 problems against linprog(method='highs')")
    for arms, objectives in ((50, 5), (200, 10)):
        for name, means in (
            ("ball", ball_means(arms, objectives, rng, problems=(2000,))),
            ("normal", rng.normal(size=(2000, arms, objectives))),
        ):
            chosen = rng.integers(0, arms, size=2000)
            ours = best(partial(pareto.effective_gaps, means, arms=chosen), 7) / 2000
            theirs = best(partial(some_gaps_by_linprog, means, chosen), 2) / _SOME
            print(
                f"  K={arms:<4} M={objectives:<3} {name:7} {ours * 1e6:7.1f} us a gap,"
                f" linprog {theirs * 1e6:7.0f} us   {theirs / ours:.0f} times faster"
            )


def one_large_problem(rng: np.random.Generator) -> None:
    print("all effective gaps of one problem, M = 5")
    for arms in (10_000, 100_000, 1_000_000):
        means = ball_means(arms, 5, rng)
        seconds = best(partial(pareto.effective_gaps, means), 1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  K={arms:<8} {seconds:6.2f} s, peak memory of the process {peak:.0f} MB")


def draws(rng: np.random.Generator) -> None:
    print("uniform draws, microseconds a problem: alone, and in a batch of (10, 20)")
    for arms, objectives in ((50, 5), (200, 10)):
        means = ball_means(arms, objectives, rng, problems=(10, 20))
        for name, draw in (
            ("Pareto", pareto.random_member),
            ("effective", pareto.random_effective_member),
        ):
            alone = best(partial(draw, means[0, 0], rng=rng), 20)
            batch = best(partial(draw, means, rng=rng), 5) / 200
            print(
                f"  K={arms:<4} M={objectives:<3} {name:10} {alone * 1e6:7.0f} {batch * 1e6:7.0f}"
            )


def fairness(rng: np.random.Generator) -> None:
    print("exact fairness index, K = 200, M = 10, every arm pulled")
    for epsilon in (0.1, 0.3):
        times = []
        for _ in range(5):
            means = ball_means(200, 10, rng)
            pulls = 1 + rng.multinomial(40_000, rng.dirichlet(np.full(200, 0.2)))
            times.append(best(partial(pareto.fairness_index, means, pulls, epsilon=epsilon), 1))
        print(f"  epsilon={epsilon}: {np.median(times):.3f} s, slowest {max(times):.3f} s")


if __name__ == "__main__":
    generator = np.random.default_rng(0)
    for section in (fronts, chosen_gaps, draws, fairness, one_large_problem):
        section(generator)

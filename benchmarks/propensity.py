"""What probabilities of selection cost and how precise they are, 1000 arms, all shapes of fronts.

The bars: 20 ms; a relative error of 10 % for every arm with probability 0.01 or more (the root mean
square over independent answers, and of the mean of all answers the probability). Times are also
given as a ratio to something simple: one product of 4096 weights with all arms in single precision,
and who wins.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.common import Line, duration, race, ratio, short, typical
from mogro import RandomChebyshev, RandomHypervolume, RandomWeights
from mogro._validation import FloatArray
from mogro.probability import selection_probabilities
from mogro.scalarization import Scalarization

ARMS = 1000
SECONDS, PRECISION = 0.02, 0.1
ANSWERS = 12
SELECTIONS: dict[str, Scalarization] = {
    "RandomWeights()": RandomWeights(),
    "RandomWeights(0.01)": RandomWeights(0.01),
    "RandomChebyshev()": RandomChebyshev(),
    "RandomChebyshev(rho=0)": RandomChebyshev(rho=0.0),
    "RandomHypervolume()": RandomHypervolume(),
}
Shape = Callable[[int, np.random.Generator], np.ndarray]


def normal(objectives: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((ARMS, objectives))


def sphere(objectives: int, rng: np.random.Generator) -> np.ndarray:
    values = np.abs(normal(objectives, rng))
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True))


def hollow(objectives: int, rng: np.random.Generator) -> np.ndarray:
    values = np.abs(normal(objectives, rng))
    return np.asarray(values / np.square(np.sqrt(values).sum(axis=1, keepdims=True)))


def plane(objectives: int, rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.ones(objectives), ARMS)


def constant_column(objectives: int, rng: np.random.Generator) -> np.ndarray:
    values = sphere(objectives, rng)
    values[:, 0] = 0.0
    return values


def clusters(objectives: int, rng: np.random.Generator) -> np.ndarray:
    middles = normal(objectives, rng)[rng.integers(0, 10, ARMS)]
    return np.asarray(middles + 1e-4 * normal(objectives, rng))


SHAPES: tuple[Shape, ...] = (normal, sphere, hollow, plane, constant_column, clusters)


def lines() -> Iterator[Line]:
    for objectives in (2, 3, 5, 10):
        for shape in SHAPES:
            values = shape(objectives, np.random.default_rng(0))
            for name in SELECTIONS:
                yield _line(values, name, f"{shape.__name__.replace('_', ' ')}, M = {objectives}")


def _line(values: np.ndarray, name: str, where: str) -> Line:
    def ask(seed: int = 0) -> FloatArray:
        rng = np.random.default_rng(seed)
        return selection_probabilities(values, SELECTIONS[name], step=0, rng=rng).values

    weights = np.random.default_rng(2).random((4096, values.shape[1]), dtype=np.float32)
    simple = partial(_who_wins, weights, np.ascontiguousarray(values.T, dtype=np.float32))
    times = race({"ours": ask, "simple": simple}, repeats=7, budget=0.5)
    answers = np.array([ask(seed) for seed in range(ANSWERS)])
    truth = answers.mean(axis=0)
    large = truth >= 0.01
    error = float((answers.std(axis=0, ddof=1)[large] / truth[large]).max(initial=0.0))
    seconds = typical(times["ours"])
    return Line(
        "propensity",
        ratio(times["ours"], times["simple"]),
        f"{name} / 4096 products",
        f"K = {ARMS}, {where}",
        f"{duration(seconds)}; {large.sum()} arms with 0.01 or more, "
        f"relative error at most {short(100 * error)} %",
        bar="20 ms, 10 %",
        met=seconds <= SECONDS and error <= PRECISION,
    )


def _who_wins(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.asarray((weights @ values).argmax(axis=1))

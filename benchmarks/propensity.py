"""What probabilities of selection cost and how precise they are, 1000 arms, all shapes of fronts.

The bars: 20 ms; a relative error of 10 % (the root mean square over independent answers, of whose
mean is the probability) for every arm with probability 0.01 or more, and for arms that were chosen;
standard errors neither half nor twice as large as errors. Times are also given as a ratio to
something simple: one product of 4096 weights with all arms in single precision, and who wins.

    python -m benchmarks.propensity 3 10      # rows by number of objectives, and what they miss
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.common import Line, duration, race, ratio, short, typical
from mogro import RandomChebyshev, RandomHypervolume, RandomWeights
from mogro._validation import FloatArray
from mogro.probability import Probabilities, selection_probabilities
from mogro.scalarization import Scalarization, is_nonlinear

ARMS = 1000
SECONDS, PRECISION = 0.02, 0.1
ANSWERS = 12
CHOICES = 3  # arms that were chosen, by shape and selection
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


def correlated(objectives: int, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(normal(objectives, rng) @ (np.eye(objectives) + 0.5) + 3.0)


def few_levels(objectives: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 4, (ARMS, objectives)).astype(float)


def units(objectives: int, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(sphere(objectives, rng) * 10.0 ** np.arange(objectives))


SHAPES: tuple[Shape, ...] = (
    normal,
    sphere,
    hollow,
    plane,
    constant_column,
    clusters,
    correlated,
    few_levels,
    units,
)


def lines(numbers: Sequence[int] = (2, 3, 5, 10)) -> Iterator[Line]:
    for objectives in numbers:
        for shape in SHAPES:
            values = shape(objectives, np.random.default_rng(0))
            for name in SELECTIONS:
                yield _line(values, name, f"{shape.__name__.replace('_', ' ')}, M = {objectives}")


def main() -> None:
    for objectives in map(int, sys.argv[1:] or ("3", "5", "10")):
        rows = []
        for line in lines([objectives]):
            rows.append(line)
            print(f"{line.note or 'met':12} {line.quotient}, {line.setting}: {line.figures}")
        misses = {bar: sum(bar in row.note for row in rows) for bar in ("time", "error", "claim")}
        print(f"M = {objectives}: {sum(bool(row.met) for row in rows)} of {len(rows)}; {misses}")


def _line(values: np.ndarray, name: str, where: str) -> Line:
    selection = SELECTIONS[name]
    choices = [_choice(values, selection, seed) for seed in range(CHOICES)]

    def ask(seed: int = 0, chosen: int | None = choices[0]) -> Probabilities:
        rng = np.random.default_rng(seed)
        return selection_probabilities(values, selection, step=0, rng=rng, chosen=chosen)

    weights = np.random.default_rng(2).random((4096, values.shape[1]), dtype=np.float32)
    simple = partial(_who_wins, weights, np.ascontiguousarray(values.T, dtype=np.float32))
    ask_all = partial(ask, chosen=None)
    questions = {f"{chosen}": partial(ask, chosen=chosen) for chosen in choices}
    times = race({**questions, "all": ask_all, "simple": simple}, repeats=7, budget=0.5)
    large, honest = _errors([ask_all(seed) for seed in range(ANSWERS)], None)
    errors_of_choices = [
        _errors([ask(seed, chosen) for seed in range(ANSWERS)], chosen) for chosen in choices
    ]
    chosen = max(error for error, _ in errors_of_choices)
    ratios = [honest, *(each for _, each in errors_of_choices)]
    seconds = max(typical(times[name]) for name in [*questions, "all"])
    misses = {
        "time": seconds > SECONDS,
        "error": max(large, chosen) > PRECISION,
        "claim": min(ratios) < 0.5 or max(ratios) > 2,
    }
    return Line(
        "propensity",
        ratio(times[f"{choices[0]}"], times["simple"]),
        f"{name} / 4096 products",
        f"K = {ARMS}, {where}",
        f"{duration(seconds)}; relative error at most {short(100 * large)} % where 0.01 or more, "
        f"{short(100 * chosen)} % of arms chosen; errors claimed {short(min(ratios))} to "
        f"{short(max(ratios))} times the true ones",
        bar="20 ms, 10 %, half to twice",
        met=not any(misses.values()),
        note=", ".join(bar for bar, missing in misses.items() if missing),
    )


def _choice(values: FloatArray, selection: Scalarization, seed: int) -> int:
    rng = np.random.default_rng(seed)
    weights = selection.weights(values.shape[1], step=0, batch=(), rng=rng)
    scores = selection.score(values, weights) if is_nonlinear(selection) else values @ weights
    return int(scores.argmax())


def _errors(answers: list[Probabilities], arm: int | None) -> tuple[float, float]:
    """Return the largest relative error of an arm, or of all large ones; and claimed / true."""
    values, claimed = (np.array(column) for column in zip(*answers, strict=True))
    truth = values.mean(axis=0)
    which = truth >= 0.01 if arm is None else np.arange(len(truth)) == arm
    spread = values.std(axis=0, ddof=1)[which]
    if spread.max(initial=0.0) < 1e-12:  # exact, or no such arm
        return 0.0, 1.0
    error = float((spread / truth[which]).max())
    return error, float(np.sqrt(np.square(claimed[:, which]).mean() / np.square(spread).mean()))


def _who_wins(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.asarray((weights @ values).argmax(axis=1))


if __name__ == "__main__":
    main()

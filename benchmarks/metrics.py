"""Fronts against moocore and pymoo; effective gaps against linear programming."""

from collections.abc import Callable, Iterator
from functools import partial

import moocore
import numpy as np
from scipy.optimize import linprog

from benchmarks.common import Line, duration, race, ratio, typical
from mogro import pareto

SECTION = "metrics"
FRONTS = ((50, 5), (1000, 3), (10_000, 3))
GAPS = ((200, 3), (200, 10), (2000, 3))
_BATCH = 200


def lines() -> Iterator[Line]:
    """Measure."""
    rng = np.random.default_rng(0)
    for arms, objectives in FRONTS:
        yield from _one_front(ball_means(arms, objectives, rng))
    yield _many_fronts(ball_means(50, 5, rng, problems=(_BATCH,)))
    for arms, objectives in GAPS:
        yield from _gaps(ball_means(arms, objectives, rng), rng)


def _moocore(means: np.ndarray) -> np.ndarray:
    return np.asarray(moocore.is_nondominated(means, maximise=True, keep_weakly=True))


def _pymoo() -> Callable[[np.ndarray], np.ndarray]:
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

    sort = NonDominatedSorting()

    def front(means: np.ndarray) -> np.ndarray:
        mask = np.zeros(len(means), dtype=bool)
        mask[sort.do(-means, only_non_dominated_front=True)] = True
        return mask

    return front


def _one_front(means: np.ndarray) -> Iterator[Line]:
    rivals = {"moocore": _moocore, "pymoo": _pymoo()}
    for rival in rivals.values():
        assert (rival(means) == pareto.front(means)).all()
    times = race(
        {"ours": partial(pareto.front, means)}
        | {name: partial(rival, means) for name, rival in rivals.items()},
        budget=1.0,
    )
    for name in rivals:
        yield Line(
            SECTION,
            ratio(times[name], times["ours"]),
            f"{name} / pareto.front",
            "K = {:,}, M = {}".format(*means.shape),
            f"{duration(typical(times[name]))} / {duration(typical(times['ours']))}",
        )


def _many_fronts(means: np.ndarray) -> Line:
    def loop() -> None:
        for problem in means:
            _moocore(problem)

    times = race({"ours": partial(pareto.front, means), "loop": loop}, budget=1.0)
    return Line(
        SECTION,
        ratio(times["loop"], times["ours"]),
        "moocore in a loop / pareto.front",
        f"{_BATCH} problems, K = 50, M = 5",
        f"{duration(typical(times['loop']))} / {duration(typical(times['ours']))}",
    )


class WarmStarts:
    """All gaps of a problem by one model of HiGHS, each starting from the last basis.

    Maximise e over mixtures p of the arms with ``sum_j p_j mu_jm - e >= mu_im``: from arm to arm
    only the right-hand sides change, so the dual simplex goes on from where it was.
    """

    def __init__(self, means: np.ndarray) -> None:
        import highspy

        arms, objectives = means.shape
        self._means, self._unbounded = means, highspy.kHighsInf
        self._rows = np.arange(objectives, dtype=np.int32)
        self._solver = solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("presolve", "off")  # it would throw the basis away
        for _ in range(arms):
            solver.addVar(0.0, self._unbounded)
        solver.addVar(-self._unbounded, self._unbounded)
        solver.changeColCost(arms, -1.0)
        every = np.arange(arms + 1, dtype=np.int32)
        for m in range(objectives):
            row = np.append(means[:, m], -1.0)
            solver.addRow(0.0, self._unbounded, arms + 1, every, row)
        solver.addRow(1.0, 1.0, arms, every[:-1], np.ones(arms))

    def gap(self, arm: int) -> float:
        upper = np.full(len(self._rows), self._unbounded)
        self._solver.changeRowsBounds(len(self._rows), self._rows, self._means[arm], upper)
        self._solver.run()
        return -float(self._solver.getInfo().objective_function_value)


def _gaps(means: np.ndarray, rng: np.random.Generator) -> Iterator[Line]:
    warm = WarmStarts(means)
    sample = rng.choice(len(means), 20, replace=False)
    ours = pareto.effective_gaps(means)
    for rival in (warm.gap, partial(gap_by_linprog, means)):
        assert np.allclose([rival(arm) for arm in sample], ours[sample], atol=1e-6)
    turn = iter(rng.integers(len(means), size=10**7))
    times = dict(
        race(
            {
                "ours": partial(pareto.effective_gaps, means),
                "linprog": lambda: gap_by_linprog(means, int(next(turn))),
                "highspy, warm starts": lambda: warm.gap(int(next(turn))),
            },
            block=0.05,
            repeats=12,
            budget=1.5,
        )
    )
    times["ours"] = times["ours"] / len(means)
    for name in ("linprog", "highspy, warm starts"):
        yield Line(
            SECTION,
            ratio(times[name], times["ours"]),
            f"{name} / pareto.effective_gaps",
            "K = {:,}, M = {}".format(*means.shape),
            f"{duration(typical(times[name]))} / {duration(typical(times['ours']))} a gap",
        )


def ball_means(
    arms: int, objectives: int, rng: np.random.Generator, *, problems: tuple[int, ...] = ()
) -> np.ndarray:
    """Means of features that are uniform in the ball, under positive unit parameters."""
    dim = max(2, objectives)
    features = rng.normal(size=(*problems, arms, dim))
    features /= np.linalg.norm(features, axis=-1, keepdims=True)
    features *= rng.random((*problems, arms, 1)) ** (1 / dim)
    theta = np.abs(rng.normal(size=(*problems, objectives, dim)))
    theta /= np.linalg.norm(theta, axis=-1, keepdims=True)
    return np.asarray(features @ theta.swapaxes(-1, -2))


def gap_by_linprog(means: np.ndarray, arm: int) -> float:
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

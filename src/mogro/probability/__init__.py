"""How likely arms are to be selected by their values.

Fronts, fixed weights and one objective are counted. With two objectives the weights at which the
best arm changes are computed, and the law of the weights says the rest, exactly. More objectives
are integrated over weights on randomly shifted lattices. If arms are many, the strongest are
compared with each other at all weights, and with the others at some: more, in proportion, for arms
that win seldom but with a probability of 0.01 or more. Independent shifts give standard errors.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray, count, floats
from mogro.pareto import front
from mogro.probability._envelope import lines, pieces
from mogro.probability._lattice import Dirichlet, InverseNormal, Lattice, Law
from mogro.probability._sampling import estimated
from mogro.probability._scores import SLACK, Scores, shares
from mogro.scalarization import (
    FixedWeights,
    NonlinearScalarization,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
    Scalarization,
    is_nonlinear,
    reference_point,
)
from mogro.selection import Selection, is_front

_NUMBERS = 1 << 22  # values that scores of users are asked about, all together
_DRAWS = (512, 1 << 16)  # of such weights, fewest and most
_BLOCK = 1 << 18  # scores at a time
_STRONG = 32  # arms that others are compared with
_NEAR = 2.0 ** np.arange(-66, -38)  # weights at which a small one begins to matter
_ROUGH = 0.5  # concentration below which such weights are likely enough to count


class Probabilities(NamedTuple):
    """Probabilities of arms, (K,), and their standard errors, 0 where they are exact."""

    values: FloatArray
    errors: FloatArray


def selection_probabilities(
    values: ArrayLike, selection: Selection, *, step: int, rng: Rng
) -> Probabilities:
    """Return how likely each of several distinct arms is to be selected.

    Arms whose scores are equal up to rounding share equally, for they are drawn uniformly. The
    answer is exact, with errors 0, for fronts, :class:`FixedWeights` and :class:`RoundRobin`, and
    with one or two objectives for all scalarisations of mogro. Otherwise it is an estimate. Then
    every arm that might win has an error of at least one in the number of weights that it was
    compared with all others at, also if it was never seen to win: an arm that was in fact
    chosen may well have the estimate 0, and its error then says how likely it can have been.

    Parameters
    ----------
    values
        (K, M) of the arms, all maximised.
    selection
        A scalarisation, or an object with a method ``members`` such as :class:`ParetoFront`.
    step
        How many arms were selected before; :class:`RoundRobin` goes by it.
    rng
        Where estimates draw from: the same state gives the same answer.

    Examples
    --------
    >>> values = [[1.0, 0.0], [0.0, 1.0], [0.75, 0.75]]
    >>> rng = np.random.default_rng(0)
    >>> selection_probabilities(values, RandomWeights(), step=0, rng=rng).values
    array([0.25, 0.25, 0.5 ])
    """
    points = floats(values, "values", shape=("K", "M")).astype(np.float64)
    turn = count(step, "step", minimum=0)
    if is_front(selection):
        members = selection.members(points)
        return _exactly(members / members.sum())
    objectives = points.shape[1]
    match selection:
        case RandomWeights() if 1 < np.count_nonzero(points.any(axis=0)) < objectives:
            # An objective without values, because it has no observations yet, decides nothing.
            some = points.any(axis=0)
            law = RandomWeights(np.array(selection.dirichlet(objectives))[some].tolist())
            found = _of_own(points[:, some], law, rng)
        case RandomWeights() | RandomChebyshev() | RandomHypervolume() if objectives > 1:
            found = _of_own(points, selection, rng)
        case FixedWeights() | RoundRobin():
            weights = selection.weights(objectives, step=turn, batch=(), rng=rng)
            found = _at(points, np.asarray(weights))
        case RandomWeights() | RandomChebyshev() | RandomHypervolume():
            found = _of_one_objective(points, selection)
        case _ if is_nonlinear(selection):
            found = _by_scores(points, selection, turn, rng)
        case _:
            linear: Scalarization = selection  # type: ignore[assignment]  # no front, as seen
            found = _of_users(points, linear, turn, rng)
    return found


def _exactly(values: FloatArray) -> Probabilities:
    return Probabilities(values, np.zeros(len(values)))


def _at(values: FloatArray, weights: FloatArray) -> Probabilities:
    """Return who wins under one weight vector."""
    scores = values @ weights
    strong = np.abs(values[scores.argmax()]) @ np.abs(weights)
    return _exactly(shares(scores[:, None], np.array([SLACK * strong])))


def _of_one_objective(
    values: FloatArray, selection: RandomWeights | RandomChebyshev | RandomHypervolume
) -> Probabilities:
    if isinstance(selection, RandomHypervolume):
        point = reference_point(values, selection.reference)
        values = np.maximum(values - point, 0)
    return _at(values, np.ones(1))


def _of_own(
    values: FloatArray,
    selection: RandomWeights | RandomChebyshev | RandomHypervolume,
    rng: Rng,
) -> Probabilities:
    """Return probabilities for a scalarisation of mogro and several objectives."""
    arms, objectives = values.shape
    law: Law
    if isinstance(selection, RandomHypervolume):
        law, bend, total = InverseNormal(objectives), 1.0, 0.0
    elif isinstance(selection, RandomChebyshev):
        concentration = RandomWeights(selection.concentration).dirichlet(objectives)
        law, bend, total = Dirichlet(concentration), 1.0, selection.rho
    else:
        law, bend, total = Dirichlet(selection.dirichlet(objectives)), 0.0, 1.0
    ahead = front(values)
    sizes = np.abs(values[ahead]).max(axis=0)
    above = values
    if not isinstance(selection, RandomWeights):
        point = reference_point(values, selection.reference).ravel()
        above, sizes = values - point, np.maximum(sizes, np.abs(point))
    if isinstance(selection, RandomHypervolume):
        if (above <= 0).any(axis=1).all():  # all scores are 0
            return _exactly(np.full(arms, 1 / arms))
        above = np.maximum(above, 0)
    snapped, alike = _snapped(above, SLACK * sizes, values)
    rough = isinstance(law, Dirichlet) and min(law.concentration) < _ROUGH
    if rough or total == 0:
        rows = _unbeaten(snapped)
    else:
        rows = np.flatnonzero(ahead if alike else front(snapped))
    kinds, kind, copies = _kinds(snapped[rows])
    scores = Scores(kinds, bend, total, sizes)
    if len(kinds) == 1:
        won = _exactly(np.ones(1))
    elif objectives == 2:
        won = _exactly(_in_pieces(scores, law, rough=rough))
    else:
        won = Probabilities(*estimated(scores, partial(_on_lattice, law, rng), rng))
    whole = [np.zeros(arms), np.zeros(arms)]
    for part, target in zip(won, whole, strict=True):
        target[rows] = (part / copies)[kind]
    return Probabilities(*whole)


def _on_lattice(law: Law, rng: Rng, points: int, replicates: int) -> FloatArray:
    return Lattice.of(law, points, rng=rng).draw(replicates, rng=rng)


def _snapped(values: FloatArray, slack: FloatArray, given: FloatArray) -> tuple[FloatArray, bool]:
    """Return values (K, M) in which those that are equal up to rounding are equal.

    And whether what was given has the same order and is equal in just the same places.
    """
    order = values.argsort(axis=0, kind="stable")
    rising = np.take_along_axis(values, order, axis=0)
    starts = np.append(np.ones((1, values.shape[1]), bool), np.diff(rising, axis=0) > slack, axis=0)
    place = np.maximum.accumulate(np.where(starts, np.arange(len(values))[:, None], 0), axis=0)
    snapped = np.empty_like(values)
    np.put_along_axis(snapped, order, np.take_along_axis(rising, place, axis=0), axis=0)
    rises = np.diff(np.take_along_axis(given, order, axis=0), axis=0)
    return snapped, bool(((rises > 0) == starts[1:]).all() and (rises >= 0).all())


def _kinds(values: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Return different rows of values (K, M), which of them each is, and how often it is there."""
    if (np.diff(np.sort(values, axis=0), axis=0) > 0).all(axis=0).any():  # all differ somewhere
        return values, np.arange(len(values)), np.ones(len(values), dtype=np.int64)
    kinds, kind, copies = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    return kinds, kind.ravel(), copies


def _unbeaten(values: FloatArray) -> IntArray:
    """Return arms in rising order, without most of those that another beats in every objective.

    Where scores may tie, others can win.
    """
    low = values.min(axis=0)
    span = values.max(axis=0) - low
    total = ((values - low) / np.where(span > 0, span, 1)).sum(axis=1)
    columns = np.ascontiguousarray(values.T)
    beaten: BoolArray = np.zeros(len(values), dtype=np.bool_)
    for arm in np.argsort(-total, kind="stable")[:_STRONG]:
        beaten |= (columns < columns[:, arm, None]).all(axis=0)
    return np.flatnonzero(~beaten)


def _in_pieces(scores: Scores, law: Law, *, rough: bool) -> FloatArray:
    """Return the probabilities (K,) of arms with two objectives."""
    edges = np.empty((2, 0))
    if scores.bend:  # an arm's score has a kink where both terms are equal
        kinks = np.abs(scores.values[np.prod(scores.values, axis=1) > 0])
        edges = np.divide(kinks, kinks.sum(axis=1, keepdims=True)).T[::-1]
    if rough:
        near = np.array([_NEAR, 1 - _NEAR])
        edges = np.concatenate([edges, near, near[::-1]], axis=1)
    ends, best = pieces(scores, edges) if edges.size else lines(scores.values)
    below, above = law.below(*ends), law.above(*ends)
    sizes = np.where(below[:-1] < 0.5, np.diff(below), -np.diff(above))
    if rough or (not scores.total and _repeats(scores.values)):
        return _shared(scores, (ends[:, 1:] + ends[:, :-1]) / 2, sizes)
    return np.asarray(np.bincount(best, sizes, minlength=len(scores.values)), dtype=np.float64)


def _repeats(values: FloatArray) -> bool:
    """Tell whether some arms are equal in some objective, or worth nothing in it."""
    return bool((values == 0).any() or (np.diff(np.sort(values, axis=0), axis=0) == 0).any())


def _shared(scores: Scores, weights: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the sums (K,) of sizes (n,) won at weights (M, n); ties share."""
    won = np.zeros(len(scores.values))
    step = max(1, _BLOCK // len(won))
    for i in range(0, len(sizes), step):
        some = weights[:, i : i + step]
        table = scores.table(some)
        tied = table >= table.max(axis=0) - scores.slack(some)
        won += tied @ (sizes[i : i + step] / tied.sum(axis=0))
    return won


def _of_users(values: FloatArray, selection: Scalarization, step: int, rng: Rng) -> Probabilities:
    """Return estimates for a linear scalarisation that is not mogro's, by its own draws."""
    sizes = np.abs(values[front(values)]).max(axis=0)
    kinds, kind, copies = _kinds(_snapped(values, SLACK * sizes, values)[0])
    scores = Scores(kinds, 0.0, 1.0, sizes)

    def draws(points: int, replicates: int) -> FloatArray:
        return _drawn(selection, points * replicates, values.shape[1], step, rng)

    found = estimated(scores, draws, rng)
    return Probabilities(*((part / copies)[kind] for part in found))


def _drawn(
    selection: Scalarization, points: int, objectives: int, step: int, rng: Rng
) -> FloatArray:
    drawn = selection.weights(objectives, step=step, batch=(points,), rng=rng)
    weights = floats(drawn, "weights", shape=(..., objectives)).astype(np.float64)
    return np.broadcast_to(weights, (points, objectives))


def _by_scores(
    values: FloatArray, selection: NonlinearScalarization, step: int, rng: Rng
) -> Probabilities:
    """Return how often arms win by scores that are not mogro's."""
    arms, objectives = values.shape
    draws = int(np.clip(_NUMBERS // values.size, *_DRAWS))
    weights = _drawn(selection, draws, objectives, step, rng)
    won = np.zeros(arms)
    size = max(1, _BLOCK // values.size)
    for i in range(0, draws, size):
        some = weights[i : i + size]
        table = selection.score(np.broadcast_to(values, (len(some), *values.shape)), some)
        table = floats(table, "scores", shape=(len(some), arms)).T
        won += len(some) * shares(table, SLACK * np.abs(table.max(axis=0)))
    part = won / draws
    # One more draw, far off, keeps errors from zero.
    return Probabilities(part, np.sqrt((draws * part * (1 - part) + 1) / (draws * (draws - 1))))

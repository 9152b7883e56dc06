"""How likely arms are to be selected by their values.

Fronts, fixed weights and one objective are counted. With two objectives the weights at which the
best arm changes are computed, and the law of the weights says the rest, exactly. More objectives
are integrated over weights, see _integration.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._integration import WeightDistribution, estimate
from mogro._validation import BoolArray, FloatArray, IntArray, count, floats
from mogro._winners import SLACK, Scores, count_wins
from mogro.scalarization import (
    FixedWeights,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
    Scalarization,
    is_nonlinear,
    reference_point,
)
from mogro.selection import Selection, is_front

# Weights that are drawn from scalarisations of users: fewest and most, and products with values.
_DRAW_LIMITS, _MAX_PRODUCTS = (512, 1 << 14), 2.1e7
_BLOCK_SCORES = 1 << 16  # scores of these at a time
_STRONG_ARMS = 32  # that others are compared with beforehand
_SMALL_CONCENTRATION = 0.5  # below it, weights are likely to be as small as rounding
_SMALL_WEIGHTS = 2.0 ** np.arange(-66, -38)  # at which a small one begins to matter


class Probabilities(NamedTuple):
    """Probabilities of arms, (..., K), and their standard errors, 0 where they are exact."""

    values: FloatArray
    errors: FloatArray


def selection_probabilities(
    values: ArrayLike,
    selection: Selection,
    *,
    step: int,
    rng: np.random.Generator,
    chosen: int | None = None,
) -> Probabilities:
    """Return how likely each of several distinct arms is to be selected.

    Arms whose scores are equal up to rounding share equally, for they are drawn uniformly. The
    answer is exact, with errors 0, for fronts, :class:`FixedWeights` and :class:`RoundRobin`, and
    with one or two objectives for all scalarisations of mogro. Otherwise it is an estimate.

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
    chosen
        The arm that was selected by these values. The estimate then counts this choice, so that the
        arm's probability is above 0, and looks more closely at it.

    Examples
    --------
    >>> values = [[1.0, 0.0], [0.0, 1.0], [0.75, 0.75]]
    >>> rng = np.random.default_rng(0)
    >>> selection_probabilities(values, RandomWeights(), step=0, rng=rng).values
    array([0.25, 0.25, 0.5 ])
    """
    points = floats(values, "values", shape=("K", "M")).astype(np.float64)
    step = count(step, "step", minimum=0)
    if is_front(selection):
        members = selection.members(points)
        return exact_probabilities(members / members.sum())
    match selection:
        case RandomWeights() | RandomChebyshev() | RandomHypervolume():
            return _by_random_weights(points, selection, rng, chosen)
        case FixedWeights() | RoundRobin():
            weights = selection.weights(points.shape[1], step=step, batch=(), rng=rng)
            magnitudes = np.abs(points[(points @ weights).argmax()])
            scores = Scores(points, 0.0, 1.0, magnitudes)
            return exact_probabilities(count_wins(scores, weights[None]).counts[0])
    return _by_drawn_weights(points, selection, step, rng, chosen)  # type: ignore[arg-type]  # no front


def exact_probabilities(values: FloatArray) -> Probabilities:
    """Return probabilities that are known."""
    return Probabilities(values, np.zeros_like(values))


def counted_probabilities(
    wins: FloatArray | IntArray, draws: int, chosen: int | None
) -> Probabilities:
    """Return shares (K,) of wins in independent draws, of which a choice is one more.

    With it, one over the share of the arm that was chosen is one over its probability on average,
    up to the probability that nobody draws the arm. One more draw, far off, keeps errors from zero.
    """
    if chosen is not None:
        wins = wins + (np.arange(len(wins)) == chosen)
        draws += 1
    share = wins / draws
    return Probabilities(share, np.sqrt((draws * share * (1 - share) + 1) / (draws * draws)))


def _by_random_weights(
    values: FloatArray,
    selection: RandomWeights | RandomChebyshev | RandomHypervolume,
    rng: np.random.Generator,
    chosen: int | None,
) -> Probabilities:
    """Return probabilities for the random weights of mogro."""
    arms, objectives = values.shape
    valued: BoolArray = np.ones(objectives, dtype=np.bool_)
    min_factor, sum_factor = 1.0, 0.0
    if isinstance(selection, RandomHypervolume):
        distribution = WeightDistribution((0.5,) * objectives, -0.5)
    elif isinstance(selection, RandomChebyshev):
        weights = RandomWeights(selection.concentration)
        distribution = WeightDistribution(weights.dirichlet(objectives), 1.0)
        sum_factor = selection.rho
    else:
        # An objective without values, because it has no observations yet, decides nothing.
        valued = np.asarray(values.any(axis=0)) if values.any() else valued
        concentration = np.array(selection.dirichlet(objectives))[valued]
        distribution = WeightDistribution(tuple(concentration.tolist()), 1.0)
        min_factor, sum_factor = 0.0, 1.0
    shifted, magnitudes = values[:, valued], np.abs(values[:, valued])
    if min_factor:
        point = reference_point(values, selection.reference).ravel()  # type: ignore[union-attr]
        shifted, magnitudes = values - point, np.maximum(magnitudes, np.abs(point))
    if isinstance(selection, RandomHypervolume):
        shifted = np.maximum(shifted, 0)
        if not shifted.all(axis=1).any():  # all scores are 0
            return exact_probabilities(np.full(arms, 1 / arms))
    largest = magnitudes[_undominated(shifted)].max(axis=0)
    shifted = merge_within_errors(shifted, SLACK / 2 * largest)
    rows = _undominated(shifted)
    kinds, inverse, copies = np.unique(
        shifted[rows], axis=0, return_inverse=True, return_counts=True
    )
    inverse = inverse.ravel()
    scores = Scores(kinds, min_factor, sum_factor, largest)
    if len(kinds) == 1:
        of_kinds = exact_probabilities(np.ones(1))
    elif kinds.shape[1] == 1:
        of_kinds = exact_probabilities(count_wins(scores, np.ones((1, 1))).counts[0])
    elif kinds.shape[1] == 2:
        of_kinds = exact_probabilities(_by_intervals(scores, distribution))
    else:
        index = inverse[rows == chosen]
        chosen_kind = int(index[0]) if index.size else None
        of_kinds = Probabilities(*estimate(scores, distribution, rng, chosen_kind))
    result = np.zeros((2, arms))
    result[:, rows] = (np.array(of_kinds) / copies)[:, inverse]
    return Probabilities(*result)


def _undominated(values: FloatArray) -> IntArray:
    """Return arms in rising order, without most of those that another beats in every objective."""
    low, span = values.min(axis=0), np.ptp(values, axis=0)
    total = ((values - low) / np.where(span > 0, span, 1)).sum(axis=1)
    columns = np.ascontiguousarray(values.T)
    beaten = np.zeros(len(values), dtype=np.bool_)
    for arm in np.argsort(-total, kind="stable")[:_STRONG_ARMS]:
        beaten |= (columns < columns[:, arm, None]).all(axis=0)
    return np.flatnonzero(~beaten)


def merge_within_errors(values: FloatArray, errors: FloatArray) -> FloatArray:
    """Return values (K, M), equal where they differ by no more than errors, (K, M) or (M,).

    Each becomes the largest of those that it may equal.
    """
    merged = np.empty_like(values)
    columns = zip(values.T, np.broadcast_to(errors, values.shape).T, strict=True)
    for m, (value, error) in enumerate(columns):
        low = value - error
        order = low.argsort()
        last = np.searchsorted(low[order], value + error, side="right") - 1
        merged[:, m] = np.maximum.accumulate(value[order])[last]
    return merged


def _by_drawn_weights(
    values: FloatArray,
    selection: Scalarization,
    step: int,
    rng: np.random.Generator,
    chosen: int | None,
) -> Probabilities:
    """Return estimates for a scalarisation that is not mogro's, by draws of its own."""
    arms, objectives = values.shape
    draws = int(np.clip(_MAX_PRODUCTS // values.size, *_DRAW_LIMITS))
    weights = selection.weights(objectives, step=step, batch=(draws,), rng=rng)
    weights = floats(weights, "weights", shape=(..., objectives)).astype(np.float64)
    weights = np.broadcast_to(weights, (draws, objectives))
    magnitudes, counts = np.abs(values[_undominated(values)]).max(axis=0), np.zeros(arms)
    size = max(1, _BLOCK_SCORES // values.size)
    for block in np.split(weights, range(size, draws, size)):
        if is_nonlinear(selection):
            table = selection.score(np.broadcast_to(values, (len(block), *values.shape)), block)
        else:
            table = block @ values.T
        table = floats(table, "scores", shape=(len(block), arms))
        top = table.max(axis=1, keepdims=True)
        scale = np.abs(top) if is_nonlinear(selection) else (np.abs(block) @ magnitudes)[:, None]
        tied = table >= top - SLACK * scale
        counts += (1 / np.count_nonzero(tied, axis=1)) @ tied
    return counted_probabilities(counts, draws, chosen)


def _by_intervals(scores: Scores, distribution: WeightDistribution) -> FloatArray:
    """Return the probabilities (K,) of arms with two objectives, exactly."""
    edges = np.empty((0, 2))
    if scores.min_factor:  # an arm's score has a kink where both terms are equal
        kinks = np.abs(scores.values[np.prod(scores.values, axis=1) > 0, ::-1])
        edges = kinks / kinks.sum(axis=1, keepdims=True)
    if min(distribution.concentration) < _SMALL_CONCENTRATION:
        corner = np.stack([_SMALL_WEIGHTS, 1 - _SMALL_WEIGHTS], axis=1)
        edges = np.concatenate([edges, corner, corner[:, ::-1]])
    ends = _interval_ends(scores, edges)
    below, above = _tail_probabilities(distribution, ends)
    masses = np.where(below[:-1] < 0.5, np.diff(below), -np.diff(above))
    return np.asarray(count_wins(scores, (ends[1:] + ends[:-1]) / 2, masses=masses).counts[0])


def _tail_probabilities(
    distribution: WeightDistribution, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return P(w_1 / w_2 < ratio) and P(w_1 / w_2 > ratio) for the ratios of weights (n, 2)."""
    from scipy.special import betainc

    (a, b), power = distribution.concentration, distribution.power
    first, second = ((weights if power > 0 else weights[:, ::-1]) ** (1 / abs(power))).T
    total = first + second
    low, high = betainc(a, b, first / total), betainc(b, a, second / total)
    return (low, high) if power > 0 else (high, low)


def _interval_ends(scores: Scores, edges: FloatArray) -> FloatArray:
    """Return rising weights (n, 2), from (0, 1) to (1, 0), between which one arm is best.

    ``edges`` (k, 2) are weights at which intervals have to end. Scores are linear between kinks,
    and their maximum is convex there: if one arm is best at both ends it is best throughout. If
    not, the interval is divided where the lines of the two arms cross, until they cross at its end.
    """
    edges = np.append(edges, [[0.0, 1.0], [1.0, 0.0]], axis=0)
    edges = edges[np.lexsort((-edges[:, 1], edges[:, 0]))]
    best = scores.best(edges)
    while True:
        low, high, best_low, best_high = edges[:-1], edges[1:], best[:-1], best[1:]
        lead_low = scores.lead(best_low, best_high, low)
        lead_high = scores.lead(best_high, best_low, high)
        divide = (lead_low > 0) & (lead_high > 0)
        share = (lead_low / np.where(divide, lead_low + lead_high, 1))[:, None]
        middle = low * (1 - share) + high * share
        divide &= (middle != low).any(axis=1) & (middle != high).any(axis=1)
        if not divide.any():
            return edges
        positions, middle = np.flatnonzero(divide) + 1, middle[divide]
        edges = np.insert(edges, positions, middle, axis=0)
        best = np.insert(best, positions, scores.best(middle))

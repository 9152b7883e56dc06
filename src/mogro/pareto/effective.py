"""Effective Pareto fronts and gaps: arms against all mixtures of arms. All maximise.

Which algorithm serves which size. A gap is the value of a matrix game of the arm against all arms.
Many small problems, or a few arms of any problem, are solved together by a batched simplex that
prices all K columns (:mod:`mogro.pareto._games`): no work is shared between problems, so nothing is
prepared. Many arms of one problem share what can be prepared: first the Pareto front (compiled
code, nearly linear time), then those of its members that other members do not dominate as a
mixture; only these, often few, are columns, and pricing becomes one matrix product for all games.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.pareto import _certified
from mogro.pareto._arguments import chosen, means_of
from mogro.pareto._games import Games
from mogro.pareto.dominance import pareto_front, undominated

_ROUNDING = 1e-13  # gaps below this part of the spread of the means are rounding
_LEAST_WEIGHT = 2.0**-23
_HALF = float(np.finfo(np.float64).eps) / 2  # by which part of it rounding may change a mean
_FAR = 1e4  # times the median distance: an outlier
_CLEAR = 1e-9  # arms that are behind by this part of the range are behind
_BLOCK = 1 << 21  # numbers at a time
_TRIALS = 32  # weights under which an arm may be best, before a game is played about it
_MANY = 100  # arms of one problem from which preparing its front pays


class Certificates(NamedTuple):
    """Effective gaps with their proofs.

    Attributes
    ----------
    gaps
        (...) as :func:`effective_gaps` gives them.
    weights
        (..., M) on the simplex: under them no arm is better than this one by more than the gap.
    support
        (..., M) arms of a mixture that is better than this arm by the gap in every objective.
    shares
        (..., M) their shares, which sum to 1; some may be 0.
    """

    gaps: FloatArray
    weights: FloatArray
    support: IntArray
    shares: FloatArray


def effective_gaps(means: ArrayLike, *, arms: ArrayLike | None = None) -> FloatArray:
    """Return the effective Pareto gap of every arm.

    The gap of arm i is the largest amount by which some mixture of the arms beats it in every
    objective at once; equally, the least over weights w on the simplex of
    max_j w . mu_j - w . mu_i. It is never below the Pareto gap, but for rounding. Gap 0 does not
    mean membership of the effective front: next to (1, 1), the arm (1, 0) has gap 0.

    Values are exact up to rounding: each is enclosed by a mixture and a weight vector that agree to
    1e-11 of the size of the means (usually 1e-15), or is computed again by a slower solver, which
    may leave 1e-9 where one arm is many million times as large as the others. Gaps below 1e-13 of
    that size are given as 0. The size is about the largest range of an objective, or up to 16 times
    as much for means far from the origin.

    Parameters
    ----------
    means
        Mean reward vectors, (..., K, M); leading axes are separate problems.
    arms
        Arms to judge instead of all: shape (...) for one per problem, (..., n) for several.

    Returns
    -------
    Floats of shape (..., K), or of the shape of ``arms`` broadcast against the problems.

    Examples
    --------
    >>> effective_gaps([[1.0, 0.0], [0.0, 1.0], [0.25, 0.25]])
    array([0.  , 0.  , 0.25])
    >>> effective_gaps([[1.0, 0.0], [0.0, 1.0], [0.25, 0.25]], arms=2)
    array(0.25)
    """
    return effective_certificates(means, arms=arms).gaps


def effective_certificates(means: ArrayLike, *, arms: ArrayLike | None = None) -> Certificates:
    """Return effective Pareto gaps with the weights and the mixtures that prove them.

    Parameters are those of :func:`effective_gaps`.

    Examples
    --------
    >>> proof = effective_certificates([[1.0, 0.0], [0.0, 1.0], [0.25, 0.25]], arms=2)
    >>> proof.gaps, proof.weights, proof.shares
    (array(0.25), array([0.5, 0.5]), array([0.5, 0.5]))
    """
    points = means_of(means)
    flat = points.reshape(-1, *points.shape[-2:])
    if arms is None:
        problem, arm = (x.ravel() for x in np.indices(flat.shape[:2]))
        shape = points.shape[:-1]
    else:
        problem, arm, shape = chosen(points, arms)
    pairs, inverse = np.unique(problem * flat.shape[1] + arm, return_inverse=True)
    problem, arm = np.divmod(pairs, flat.shape[1])
    games = solve(flat, problem, arm)
    far = _outlying(flat)
    uneven = np.asarray(far.any(1))
    beside = np.flatnonzero(uneven[problem] & ~far[problem, arm])
    if len(beside):
        _without_outliers(flat, far, problem[beside], arm[beside], beside, games)
    gap = np.where(games.upper > _ROUNDING * games.size, np.maximum(games.lower, 0), 0)
    floats = (x[inverse].reshape(shape + x.shape[1:]) for x in (gap, games.weights, games.shares))
    gap, weights, shares = floats
    return Certificates(gap, weights, games.support[inverse].reshape(weights.shape), shares)


def solve(flat: FloatArray, problem: IntArray, arm: IntArray) -> Games:
    """Solve the games of some arms of the problems ``flat`` (P, K, M), sorted by problem."""
    points = flat[problem, arm]
    first = np.flatnonzero(np.diff(problem, prepend=-1))
    counts = np.diff(first, append=len(problem))
    few = np.flatnonzero(np.repeat(counts < _MANY, counts))
    parts = [_certified.solve(flat, points[few], problem=problem[few])]
    places = [few]
    for start, count in zip(first[counts >= _MANY], counts[counts >= _MANY], strict=True):
        one, place = flat[problem[start]], np.arange(start, start + count)
        columns = columns_of(one)
        games = _certified.solve(one[columns], points[place])
        parts.append(games._replace(support=columns[games.support]))
        places.append(place)
    order = np.concatenate(places).argsort()
    return Games(*(np.concatenate(x)[order] for x in zip(*parts, strict=True)))


def _outlying(flat: FloatArray) -> BoolArray:
    """Return which arms (P, K) are much further away than most of their problem."""
    if not flat.size:
        return np.zeros(flat.shape[:2], dtype=bool)
    total = flat.sum(2)
    middle = flat.shape[1] // 2
    away = np.abs(total - np.partition(total, middle, axis=1)[:, middle, None])
    return np.asarray(away > _FAR * np.partition(away, middle, axis=1)[:, middle, None])


def _without_outliers(
    flat: FloatArray,
    far: BoolArray,
    problem: IntArray,
    arm: IntArray,
    places: IntArray,
    games: Games,
) -> None:
    """Solve games again, in place, without the far arms that others dominate.

    Mixtures do not need these; but one that is far away makes the unit of all tolerances too large.
    """
    which, position = np.unique(problem, return_inverse=True)
    means = flat[which]
    front = pareto_front(means)
    stays = front | ~far[which]
    stand_in = front.argmax(1)
    means = np.where(stays[:, :, None], means, means[np.arange(len(which)), stand_in][:, None])
    found = _certified.solve(means, flat[problem, arm], problem=position)
    own = position[:, None]
    support = np.where(stays[own, found.support], found.support, stand_in[own])
    for target, values in zip(games, found._replace(support=support), strict=True):
        target[places] = values


def columns_of(means: FloatArray) -> IntArray:
    """Return arms of one problem whose mixtures reach whatever mixtures of all arms reach."""
    members = np.flatnonzero(pareto_front(means))
    members = members[np.unique(means[members], axis=0, return_index=True)[1]]
    count, objectives = len(members), means.shape[1]
    if count <= 8 * objectives:
        return members
    means = means[members]
    weights = np.random.default_rng(0).dirichlet(np.ones(objectives), 32 * objectives)
    best = np.unique(np.concatenate([(means @ weights.T).argmax(0), means.argmax(0)]))
    if len(best) > count // 2:
        return members
    games = _certified.solve(means[best], means)
    inside = games.lower > _ROUNDING * games.size
    inside[best] = False
    return members[~inside]


def effective_front(means: ArrayLike, *, arms: ArrayLike | None = None) -> BoolArray:
    """Return which arms are on the effective Pareto front.

    An arm is on it if no mixture of the arms is at least as good in every objective and better in
    one; equally, if it is the best arm under weights that are all positive. Equal arms are members
    together, and so is an arm inside a face: a mixture of other members.

    Dominance by a single arm is decided exactly. Dominance by a mixture is not: an arm is a member
    if under some weights no arm is better by more than 1e-13 of its own distance, or by what
    rounding of the means may do. So an outlier does not matter to the others, nor does the order of
    the arms. All weights have to be at least 1e-7, with objectives in units of their range, or
    (where that does not decide) of the distances of the nearer arms.

    Parameters
    ----------
    means
        Mean reward vectors, (..., K, M); leading axes are separate problems.
    arms
        Arms to judge instead of all: shape (...) for one per problem, (..., n) for several.

    Returns
    -------
    Booleans of shape (..., K), or of the shape of ``arms`` broadcast against the problems.

    Examples
    --------
    >>> effective_front([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.3, 0.3]])
    array([ True,  True,  True, False])
    """
    points = means_of(means)
    flat = points.reshape(-1, *points.shape[-2:])
    if arms is None:
        problem, arm = np.nonzero(pareto_front(flat))
        result = np.zeros(flat.shape[:2], dtype=bool)
        result[problem, arm] = unbeaten(flat, problem, arm)
        return result.reshape(points.shape[:-1])
    problem, arm, shape = chosen(points, arms)
    pairs, inverse = np.unique(problem * flat.shape[1] + arm, return_inverse=True)
    problem, arm = np.divmod(pairs, flat.shape[1])
    result = undominated(flat, problem, flat[problem, arm])
    result[result] = unbeaten(flat, problem[result], arm[result])
    return result[inverse].reshape(shape)


def unbeaten(flat: FloatArray, problem: IntArray, arm: IntArray) -> BoolArray:
    """Return which of some arms, all on the Pareto front, are on the effective front.

    Most are clearly best under some of a few weights. For each of the others a game, in units of
    the range of the objectives, finds weights or a mixture that should decide. Beside an outlier
    these units are too coarse for the others. So the weights, or the mixture, are tried on the
    differences from the arm, each in its own size; arms for which neither is a proof get
    a game of their own in which all differences have the same size.
    """
    if flat.shape[2] == 1:
        return np.ones(len(arm), dtype=bool)
    tilted, units = tilt(flat)
    result = _clearly_best(tilted, problem, arm)
    places = np.flatnonzero(~result)
    if len(places):
        result[places] = _unbeaten_by_games(flat, tilted, units, problem[places], arm[places])
    return result


def _clearly_best(tilted: FloatArray, problem: IntArray, arm: IntArray) -> BoolArray:
    """Return which arms are well ahead of all others under one of a few weights: members."""
    arms, objectives = tilted.shape[1:]
    if arms == 1 or tilted.size * _TRIALS > _BLOCK:
        return np.full(len(arm), arms == 1)
    scores = np.matmul(tilted, _trials(objectives))
    ahead = scores >= scores.max(axis=1, keepdims=True) - _CLEAR
    ahead &= ahead.sum(axis=1, keepdims=True) == 1
    return np.asarray(ahead.any(axis=2)[problem, arm])


@cache
def _trials(objectives: int) -> FloatArray:
    return np.random.default_rng(0).dirichlet(np.ones(objectives), _TRIALS).T.copy()


def _unbeaten_by_games(
    flat: FloatArray, tilted: FloatArray, units: IntArray, problem: IntArray, arm: IntArray
) -> BoolArray:
    games = solve(tilted, problem, arm)
    member = games.lower <= _ROUNDING  # ranges are about 1
    sure = np.where(member, False, _beaten_by_mixture(flat, units, problem, arm, games))
    places = np.flatnonzero(member)
    sure[places] = _best_under_weights(
        flat, tilted, units, problem[places], arm[places], games.weights[places]
    )
    doubtful = np.flatnonzero(~sure)
    step = max(1, _BLOCK // max(1, flat.shape[1] * flat.shape[2]))
    for i in range(0, len(doubtful), step):
        some = doubtful[i : i + step]
        member[some] = _unbeaten_from_near(flat, units, problem[some], arm[some])
    return np.asarray(member)


def tilt(flat: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return means whose gaps are 0 on the effective front only, among arms on the Pareto front.

    To be best under weights that are all positive is to have gap 0 after a small part of the sum of
    all objectives, each scaled to about the range 1, has been added to each of them. The powers of
    two (P, M) that scale them are returned as well.
    """
    values = np.ascontiguousarray(flat.transpose(2, 0, 1))
    values = values - values.min(-1, keepdims=True)
    exponent = -np.frexp(values.max(-1, keepdims=True))[1]
    values = np.ldexp(values, exponent)  # powers of two: no rounding
    values += _LEAST_WEIGHT * values.sum(0)
    return np.ascontiguousarray(values.transpose(1, 2, 0)), exponent[:, :, 0].T


def _lowered(rivals: FloatArray, own: FloatArray, units: IntArray) -> FloatArray:
    """Return by how much rivals are better, less what rounding may have done to both."""
    rounding = _HALF * (np.abs(rivals) + np.abs(own))
    return np.asarray(rivals - own - np.minimum(rounding, np.ldexp(_ROUNDING, -units)))


def _tilted(differences: FloatArray, exponent: IntArray) -> FloatArray:
    scaled = np.ldexp(differences, exponent)
    return np.asarray(scaled + _LEAST_WEIGHT * scaled.sum(-1, keepdims=True))


def _beaten_by_mixture(
    flat: FloatArray, units: IntArray, problem: IntArray, arm: IntArray, games: Games
) -> BoolArray:
    """Return whether the mixture is better by more than the rounding of its own terms."""
    unit = units[problem][:, None]
    near = _lowered(flat[problem[:, None], games.support], flat[problem, arm][:, None], unit)
    terms = _tilted(near, unit) * games.shares[:, :, None]
    return np.asarray((terms.sum(1) > _ROUNDING * np.abs(terms).sum(1)).all(1))


def _best_under_weights(
    flat: FloatArray,
    tilted: FloatArray,
    units: IntArray,
    problem: IntArray,
    arm: IntArray,
    weights: FloatArray,
) -> BoolArray:
    """Return whether no arm is better under the weights by more than the rounding of its terms."""
    best = np.ones(len(arm), dtype=bool)
    step = max(1, _BLOCK // (flat.shape[1] * flat.shape[2]))
    for i in range(0, len(arm), step):
        part = slice(i, i + step)
        one, own, w = problem[part], arm[part], weights[part]
        if one[0] == one[-1]:
            scores = np.matmul(w, tilted[one[0]].T)
        else:
            scores = np.matmul(tilted[one], w[:, :, None])[:, :, 0]
        ahead = scores - scores[np.arange(len(own)), own][:, None]
        game, rival = np.nonzero(ahead > -_CLEAR)  # all others are clearly behind
        unit = units[one[game]]
        near = _lowered(flat[one[game], rival], flat[one[game], own[game]], unit)
        terms = _tilted(near, unit) * w[game]
        better = terms.sum(1) > _ROUNDING * np.abs(terms).sum(1)
        best[i + game[better]] = False
    return best


def _unbeaten_from_near(
    flat: FloatArray, units: IntArray, problem: IntArray, arm: IntArray
) -> BoolArray:
    """Return which arms are members, by games of the differences from the arm, all of one size.

    Whether some weights put no arm above this one does not depend on the sizes of the differences,
    nor on the units of the objectives: these are chosen so that differences of the nearer arms
    count.
    """
    away = flat[problem] - flat[problem, arm][:, None]
    rising = np.sort(np.where(away == 0, np.inf, np.abs(away)), axis=1)
    quarter = np.count_nonzero(away, axis=1, keepdims=True) // 4
    unit = np.take_along_axis(rising, quarter, axis=1)
    near = _lowered(flat[problem], flat[problem, arm][:, None], units[problem][:, None])
    columns = _tilted(near, -np.frexp(np.where(np.isfinite(unit), unit, 1.0))[1])
    size = np.abs(columns).max(-1, keepdims=True)
    columns /= np.where(size > 0, size, 1)
    games = _certified.solve(columns, np.zeros_like(columns[:, 0]), problem=np.arange(len(arm)))
    return np.asarray(games.lower <= _ROUNDING)

"""Effective Pareto fronts and gaps: arms against all mixtures of arms. All maximise.

Which algorithm serves which size. A gap is the value of a matrix game of the arm against all arms.
Many small problems, or a few arms of any problem, are solved together by a batched simplex that
prices all K columns (:mod:`mogro.pareto._games`): no work is shared between problems, so nothing is
prepared. Many arms of one problem share what can be prepared: first the Pareto front (compiled
code, nearly linear time), then those of its members that other members do not dominate as a
mixture; only these, often few, are columns, and pricing becomes one matrix product for all games.
"""

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
    games = solve(flat, *np.divmod(pairs, flat.shape[1]))
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

    Dominance by a single arm is decided exactly. Dominance by a mixture is not: with every
    objective scaled to the range 1, an arm is a member if it is within 1e-13 of the best under some
    weights that are all at least 1e-7.

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
        result[problem, arm] = unbeaten(tilt(flat), problem, arm)
        return result.reshape(points.shape[:-1])
    problem, arm, shape = chosen(points, arms)
    pairs, inverse = np.unique(problem * flat.shape[1] + arm, return_inverse=True)
    problem, arm = np.divmod(pairs, flat.shape[1])
    result = undominated(flat, problem, flat[problem, arm])
    result[result] = unbeaten(tilt(flat), problem[result], arm[result])
    return result[inverse].reshape(shape)


def unbeaten(tilted: FloatArray, problem: IntArray, arm: IntArray) -> BoolArray:
    """Return which of some arms, all on the Pareto front, are on the effective front."""
    if tilted.shape[2] == 1:
        return np.ones(len(arm), dtype=bool)
    return np.asarray(solve(tilted, problem, arm).upper <= _ROUNDING)  # ranges are about 1


def tilt(flat: FloatArray) -> FloatArray:
    """Return means whose gaps are 0 on the effective front only, among arms on the Pareto front.

    To be best under weights that are all positive is to have gap 0 after a small part of the sum of
    all objectives, each scaled to about the range 1, has been added to each of them.
    """
    values = np.ascontiguousarray(flat.transpose(2, 0, 1))
    values = values - values.min(-1, keepdims=True)
    span = values.max(-1, keepdims=True)
    values = np.ldexp(values, -np.frexp(span)[1])  # powers of two: no rounding
    values += _LEAST_WEIGHT * values.sum(0)
    return np.ascontiguousarray(values.transpose(1, 2, 0))

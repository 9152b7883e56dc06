"""Effective Pareto fronts and gaps: arms against all mixtures of arms. All maximise.

Which algorithm serves which size. A gap is the value of a matrix game of the arm against all arms.
Many small problems, or a few arms of any problem, are solved together by a batched simplex that
prices all K columns (:mod:`mogro.pareto._matrix_games`): no work is shared between problems, so
nothing is prepared. Many arms of one problem share what can be prepared: first the Pareto front
(compiled code, nearly linear time), then those of its members that other members do not dominate as
a mixture; only these, often few, are columns, and pricing becomes one matrix product for all games.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.pareto import _matrix_games
from mogro.pareto._arguments import read_arms, read_means
from mogro.pareto._matrix_games import Games
from mogro.pareto.dominance import pareto_front

_ROUNDING = 1e-13  # gaps below this part of the spread of the means are rounding
_LEAST_WEIGHT = 2.0**-23
_HALF_EPS = float(np.finfo(np.float64).eps) / 2  # by which part of it rounding may change a mean
_CLEAR_LEAD = 1e-9  # arms that are behind by this part of the range are behind
_BLOCK = 1 << 21  # numbers at a time
_TRIALS = 32  # weights under which an arm may be best, at least, before a game is played about it
_MIN_ARMS = 100  # arms of one problem from which preparing its front pays


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
    points = read_means(means)
    problems = points.reshape(-1, *points.shape[-2:])
    problem, arm, shape = read_arms(points, arms)
    pairs, inverse = np.unique(problem * problems.shape[1] + arm, return_inverse=True)
    problem, arm = np.divmod(pairs, problems.shape[1])
    games = _solve(problems, problem, arm)
    gap = np.where(games.upper > _ROUNDING * games.size, np.maximum(games.lower, 0), 0)
    arrays = (x[inverse].reshape(shape + x.shape[1:]) for x in (gap, games.weights, games.shares))
    gap, weights, shares = arrays
    return Certificates(gap, weights, games.support[inverse].reshape(weights.shape), shares)


def _solve(problems: FloatArray, problem: IntArray, arm: IntArray) -> Games:
    """Solve the games of some arms of the ``problems`` (P, K, M), sorted by problem."""
    points = problems[problem, arm]
    starts = np.flatnonzero(np.diff(problem, prepend=-1))
    counts = np.diff(starts, append=len(problem))
    few = np.flatnonzero(np.repeat(counts < _MIN_ARMS, counts))
    columns, arm_of_column = _replace_dominated(problems)
    games = _matrix_games.solve(columns, points[few], problem=problem[few])
    parts = [games._replace(support=arm_of_column[problem[few][:, None], games.support])]
    indices = [few]
    many = counts >= _MIN_ARMS
    for start, count in zip(starts[many], counts[many], strict=True):
        means, block = problems[problem[start]], np.arange(start, start + count)
        mixing = mixing_arms(means)
        games = _matrix_games.solve(means[mixing], points[block])
        parts.append(games._replace(support=mixing[games.support]))
        indices.append(block)
    order = np.concatenate(indices).argsort()
    return Games(*(np.concatenate(array)[order] for array in zip(*parts, strict=True)))


def _replace_dominated(problems: FloatArray) -> tuple[FloatArray, IntArray]:
    """Replace all arms that the strongest dominates by it; return which arm each column is.

    Mixtures do not need these arms, and some that are far away would make the unit of all
    tolerances too large.
    """
    strongest = (problems @ np.ones(problems.shape[2])).argmax(axis=1)[:, None]
    strongest_means = np.take_along_axis(problems, strongest[:, :, None], axis=1)
    not_better = [problems[:, :, m] <= strongest_means[:, :, m] for m in range(problems.shape[2])]
    dominated = np.logical_and.reduce(not_better)  # faster than over a short last axis
    arm_of_column = np.where(dominated, strongest, np.arange(problems.shape[1]))
    return np.where(dominated[:, :, None], strongest_means, problems), arm_of_column


def mixing_arms(means: FloatArray) -> IntArray:
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
    games = _matrix_games.solve(means[best], means)
    is_mixture = games.lower > _ROUNDING * games.size
    is_mixture[best] = False
    return members[~is_mixture]


def effective_front(means: ArrayLike) -> BoolArray:
    """Return which arms are on the effective Pareto front.

    An arm is on it if no mixture of the arms is at least as good in every objective and better in
    one; equally, if it is the best arm under weights that are all positive. Equal arms are members
    together, and so is an arm inside a face: a mixture of other members.

    Dominance by a single arm is decided exactly. Dominance by a mixture is not: an arm is a member
    if under some weights no arm is better by more than 1e-13 of its own distance, or by what
    rounding of the means may do. So an outlier does not matter to the others, nor does the order of
    the arms. All weights have to be at least 1e-7, with objectives in units halfway between the
    least and the largest difference of the arm from another.

    Parameters
    ----------
    means
        Mean reward vectors, (..., K, M); leading axes are separate problems.

    Returns
    -------
    Booleans of shape (..., K).

    Examples
    --------
    >>> effective_front([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.3, 0.3]])
    array([ True,  True,  True, False])
    """
    points = read_means(means)
    problems = points.reshape(-1, *points.shape[-2:])
    result = pareto_front(problems)
    result[result] = undominated_by_mixtures(
        *_gather_members(problems, result), units=power_of_two_units(problems)
    )
    return result.reshape(points.shape[:-1])


def _gather_members(
    problems: FloatArray, selected: BoolArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return problems (P, k, M) with some arms (P, K) first, and the problem and index of each."""
    counts = selected.sum(axis=1)
    order = (~selected).argsort(axis=1, kind="stable")[:, : int(counts.max(initial=0))]
    problem = np.repeat(np.arange(len(problems)), counts)
    index = np.arange(len(problem)) - np.repeat(counts.cumsum() - counts, counts)
    return np.take_along_axis(problems, order[:, :, None], axis=1), problem, index


def undominated_by_mixtures(
    problems: FloatArray, problem: IntArray, arm: IntArray, *, units: IntArray
) -> BoolArray:
    """Return which of some arms, all on the Pareto front, are on the effective front.

    Most are clearly best under some of a few weights. Each of the others has a game against the
    differences from it, all brought to one size, so that no rival is too far away to be judged.
    """
    if problems.shape[2] == 1:
        return np.ones(len(arm), dtype=bool)
    result = _clearly_best(problems, units, problem, arm)
    indices = np.flatnonzero(~result)
    step = max(1, _BLOCK // max(1, problems.shape[1] * problems.shape[2]))
    for i in range(0, len(indices), step):
        block = indices[i : i + step]
        result[block] = _undominated_in_games(problems, units, problem[block], arm[block])
    return result


def power_of_two_units(problems: FloatArray) -> IntArray:
    """Return the powers of two (P, M) that scale objectives to about the range 1."""
    return np.asarray(-np.frexp(np.ptp(problems, axis=1))[1])


def _clearly_best(
    problems: FloatArray, units: IntArray, problem: IntArray, arm: IntArray
) -> BoolArray:
    """Return which arms are well ahead of all others under one of some weights: members.

    With four times as many weights as arms in question, nine of ten members are found.
    """
    number, arms, objectives = problems.shape
    if arms < 2:
        return np.ones(len(arm), dtype=bool)
    scaled = np.ldexp(problems - problems.min(axis=1, keepdims=True), units[:, None])
    weights = _trial_weights(objectives, max(_TRIALS, 4 * len(arm) // max(1, number)))
    ahead = np.zeros((number, arms), dtype=bool)
    step = max(1, _BLOCK // (number * arms))
    for first in range(0, weights.shape[1], step):
        scores = np.matmul(scaled, weights[:, first : first + step])
        best = scores >= scores.max(axis=1, keepdims=True) - _CLEAR_LEAD
        best &= best.sum(axis=1, keepdims=True) == 1
        ahead |= best.any(axis=2)
    return np.asarray(ahead[problem, arm])


@lru_cache(maxsize=8)
def _trial_weights(objectives: int, number: int) -> FloatArray:
    return np.random.default_rng(0).dirichlet(np.ones(objectives), number).T.copy()


def _undominated_in_games(
    problems: FloatArray, units: IntArray, problem: IntArray, arm: IntArray
) -> BoolArray:
    """Return which arms are best under some weights that are all positive.

    That does not depend on the sizes of the differences, nor on the units of the objectives: these
    are chosen halfway between the least and the largest difference, so that neither near arms nor
    outliers are lost. Differences are first lowered by what rounding may have done to them. Weights
    are at least about 1e-7 in these units: a small part of the sum of all objectives is added to
    each.
    """
    rivals, point = problems[problem], problems[problem, arm][:, None]
    differences = rivals - point
    sizes = np.abs(differences)
    largest = sizes.max(axis=1, keepdims=True)
    smallest = np.where(sizes > 0, sizes, largest[:, :1]).min(axis=1, keepdims=True)
    rounding_errors = _HALF_EPS * (np.abs(rivals) + np.abs(point))
    differences -= np.minimum(rounding_errors, np.ldexp(_ROUNDING, -units[problem][:, None]))
    unit = np.sqrt(smallest) * np.sqrt(largest)
    scaled = np.ldexp(differences, -np.frexp(np.where(unit > 0, unit, 1.0))[1])
    columns = scaled + _LEAST_WEIGHT * scaled.sum(-1, keepdims=True)
    size = np.abs(columns).max(-1, keepdims=True)
    columns /= np.where(size > 0, size, 1)
    games = _matrix_games.solve(columns, np.zeros_like(columns[:, 0]), problem=np.arange(len(arm)))
    return np.asarray(games.lower <= _ROUNDING)

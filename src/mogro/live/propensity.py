"""How likely the policy was to choose each arm.

Random weights, exactly for two objectives and by rays for more: from the corner e_m of the simplex
a Dirichlet vector is ``w = e_m + r (v - e_m)`` with v a Dirichlet vector of the other objectives
and r an independent Beta number (notes, section 3). Along one ray the arms' scores are linear in
r, so an arm wins on an interval, whose probability is a difference of two Beta functions. Only v
has to be drawn; for two objectives there is but one. Other scalarisations of two objectives are
cut where any two arms can change places, and each piece is decided at its middle.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mogro._streams import Rng
from mogro._ties import first_best
from mogro._validation import FloatArray, IntArray
from mogro.exploration import BasisRoundRobin, Uniform, WeakestDirection
from mogro.live.choosing import Plan, choose
from mogro.live.driving import Known, ParetoFront, Selection, estimated, optimistic
from mogro.pareto import effective_front, front
from mogro.policies import EffectiveFront
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

RAYS = 1024  # draws where weights are integrated along rays
DRAWS = 4096  # draws of weights elsewhere
CHOICES = 1024  # whole choices, where nothing simpler can be drawn
_EPS = float(np.finfo(np.float64).eps)


class Chances(NamedTuple):
    """Probabilities of arms, (K,), and their standard errors, 0 where they are exact."""

    values: FloatArray
    errors: FloatArray


def chances(plan: Plan, *, rng: Rng) -> Chances:
    """Return how likely each arm of a plan's offer, all eligible, is to be chosen."""
    arms = len(plan.offer.ids)
    if plan.situation is not None:
        return _exploring(plan, arms, rng)
    uniform = np.full(arms, 1 / arms)
    epsilon = plan.driver.epsilon
    if epsilon == 1:
        return _exactly(uniform)
    if plan.driver.values in (estimated, optimistic) or isinstance(plan.driver.values, Known):
        values = plan.driver.values(plan.offer, plan.beliefs, rng)
        greedy = _selected(values, plan.selection, plan.step, rng)
    else:  # values that are random themselves
        greedy = _counted(np.array([choose(plan, rng=rng)[0] for _ in range(CHOICES)]), arms)
    return Chances(epsilon * uniform + (1 - epsilon) * greedy.values, (1 - epsilon) * greedy.errors)


def _selected(values: FloatArray, selection: Selection, step: int, rng: Rng) -> Chances:
    """Return how likely arms with these values (K, M) are to be selected."""
    arms, objectives = values.shape
    match selection:
        case ParetoFront():
            members = front(values)
            return _exactly(members / members.sum())
        case EffectiveFront():
            members = effective_front(values)
            return _exactly(members / members.sum())
        case RandomWeights() if objectives > 1:
            rows = _contenders(values)
            found = _along_rays(values[rows], selection.dirichlet(objectives), rng)
            return Chances(*(_spread(part, rows, arms) for part in found))
        case RandomChebyshev() | RandomHypervolume() if objectives > 1:
            rows = _contenders(values)
            point = reference_point(values, selection.reference).ravel().tolist()
            fixed = replace(selection, reference=point)
            if objectives == 2:
                return _exactly(_spread(_in_pieces(values[rows], fixed), rows, arms))
            found = _by_draws(values[rows], fixed, step, rng)
            return Chances(*(_spread(part, rows, arms) for part in found))
    if objectives == 1 or isinstance(selection, FixedWeights | RoundRobin):
        weights = selection.weights(objectives, step=step, batch=(), rng=rng)
        return _certainly(int(_winners(values, weights[None], selection)[0]), arms)
    return _by_draws(values, selection, step, rng)


def _contenders(values: FloatArray) -> IntArray:
    """Return the arms, in order, that no arm beats in every objective: no other can win."""
    members = np.unique(values[front(values)], axis=0)
    beaten = np.zeros(len(values), dtype=np.bool_)
    for member in members:
        beaten |= (values < member).all(axis=1)
    return np.flatnonzero(~beaten)


def _along_rays(values: FloatArray, concentration: tuple[float, ...], rng: Rng) -> Chances:
    from scipy.special import betainc

    arms, objectives = values.shape
    corner = int(np.argmax(concentration))
    others = np.delete(np.array(concentration), corner)
    rays = 1 if objectives == 2 else RAYS
    ends = np.insert(rng.dirichlet(others, (rays,)), corner, 0.0, axis=1)
    start = values[:, corner]  # scores at the corner, (K,)
    slopes = ends @ values.T - start  # and how they change along each ray, (rays, K)
    small = 8 * _EPS * np.abs(values).max()
    won = np.empty((rays, arms))
    order = np.arange(arms)
    for arm in range(arms):
        lead, gain = start[arm] - start, slopes[:, arm, None] - slopes
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = -lead / gain
        same = np.abs(gain) <= small  # parallel: decided at the corner, ties by index
        behind = same & np.where(np.abs(lead) <= small, order < arm, lead < 0)
        low = np.where(~same & (gain > 0), cross, 0.0).max(axis=1, initial=0.0)
        high = np.where(~same & (gain < 0), cross, 1.0).min(axis=1, initial=1.0)
        high = np.where(behind.any(axis=1), low, np.maximum(high, low))
        a, b = float(others.sum()), float(concentration[corner])
        won[:, arm] = betainc(a, b, np.minimum(high, 1)) - betainc(a, b, np.minimum(low, 1))
    if rays == 1:
        return _exactly(won[0] / won[0].sum())
    return Chances(won.mean(axis=0), _errors(np.square(won - won.mean(axis=0)).sum(axis=0), rays))


def _in_pieces(values: FloatArray, selection: RandomChebyshev | RandomHypervolume) -> FloatArray:
    """Return chances (K,) exactly: cut the weights where two arms may change places."""
    above = values - reference_point(values, selection.reference)
    first, second = above[:, 0], above[:, 1]
    if isinstance(selection, RandomHypervolume):
        # Scores min(y_1 / cos t, y_2 / sin t): equal where tan t is some y_2 over some y_1.
        cuts = np.arctan2(np.maximum(second[:, None], 0), np.maximum(first, 0)).ravel()
        edges = np.unique(np.concatenate([[0.0, np.pi / 2], cuts]))
        middles = (edges[1:] + edges[:-1]) / 2
        weights = np.stack([np.cos(middles), np.sin(middles)], axis=1)
        sizes = np.diff(edges) / (np.pi / 2)
    else:
        from scipy.special import betainc

        # Each score is the lower of two lines in the first weight u; any two lines may cross.
        rho = selection.rho
        at_zero = np.concatenate([rho * second, (1 + rho) * second])
        at_one = np.concatenate([(1 + rho) * first, rho * first])
        rise = at_one - at_zero
        with np.errstate(divide="ignore", invalid="ignore"):
            cuts = (at_zero - at_zero[:, None]) / (rise[:, None] - rise)
        cuts = cuts[(cuts > 0) & (cuts < 1)]
        edges = np.unique(np.concatenate([[0.0, 1.0], cuts]))
        middles = (edges[1:] + edges[:-1]) / 2
        weights = np.stack([middles, 1 - middles], axis=1)
        a, b = RandomWeights(selection.concentration).dirichlet(2)
        sizes = np.diff(betainc(a, b, edges))
    winners = _winners(values, weights, selection)
    won = np.zeros(len(values))
    np.add.at(won, winners, sizes)
    return won


def _by_draws(values: FloatArray, selection: Scalarization, step: int, rng: Rng) -> Chances:
    arms, objectives = values.shape
    draws = selection.weights(objectives, step=step, batch=(DRAWS,), rng=rng)
    drawn = np.broadcast_to(draws, (DRAWS, objectives))
    return _counted(_winners(values, drawn, selection), arms)


def _winners(values: FloatArray, weights: FloatArray, selection: Scalarization) -> IntArray:
    """Return the arm that wins under each of the weights (n, M), (n,)."""
    winners = np.empty(len(weights), dtype=np.int64)
    chunk = max(1, 1_000_000 // values.size)
    for start in range(0, len(weights), chunk):
        some = weights[start : start + chunk]
        if is_nonlinear(selection):
            scores = selection.score(np.broadcast_to(values, (len(some), *values.shape)), some)
        else:
            scores = some @ values.T
        winners[start : start + chunk] = first_best(scores, np.vecdot(scores, scores))
    return winners


def _exploring(plan: Plan, arms: int, rng: Rng) -> Chances:
    situation, exploration = plan.situation, plan.driver.exploration
    assert situation is not None
    assert exploration is not None
    if isinstance(exploration, Uniform):
        return _exactly(np.full(arms, 1 / arms))
    if isinstance(exploration, WeakestDirection | BasisRoundRobin):
        return _certainly(int(exploration.choose(situation, rng=rng)[0]), arms)
    drawn = [int(exploration.choose(situation, rng=rng)[0]) for _ in range(CHOICES)]
    return _counted(np.array(drawn), arms)


def _exactly(values: FloatArray) -> Chances:
    return Chances(values, np.zeros(len(values)))


def _certainly(arm: int, arms: int) -> Chances:
    return _exactly(_spread(np.ones(1), np.array([arm]), arms))


def _spread(values: FloatArray, rows: IntArray, arms: int) -> FloatArray:
    """Return values (n,) at their rows among all arms, zero elsewhere."""
    whole = np.zeros(arms)
    whole[rows] = values
    return whole


def _counted(winners: IntArray, arms: int) -> Chances:
    shares = np.bincount(winners, minlength=arms) / len(winners)
    return Chances(shares, _errors(len(winners) * shares * (1 - shares), len(winners)))


def _errors(squares: FloatArray, draws: int) -> FloatArray:
    """Return standard errors from summed squares; one more draw, far off, keeps them from zero."""
    return np.asarray(np.sqrt((squares + 1) / (draws * (draws - 1))))

"""The appendix's examples: goodness and the usual context diversity are different conditions.

Worlds with fresh arms in each round on which one condition holds and the other does not, and one
for a single objective in one dimension, where goodness stands beside beta-regularity.
``mogro.theory`` evaluates them: ``context_goodness``, ``context_diversity``, ``beta_regularity``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import _base
from mogro.environments.synthetic import VaryingContexts

Draw = Callable[[Rng, tuple[int, ...]], FloatArray]


@final
@dataclass(frozen=True, eq=False, repr=False)
class DrawnArms(_base.LinearWorld):
    """Arms of each round drawn by a given function.

    Parameters
    ----------
    theta
        True parameters of the objectives, (M, d).
    draw
        Given a source of randomness and a batch, returns features (*batch, K, d).
    arms
        Number of arms in each round, K.
    noise
        Standard deviation of the normal noise, the same for all objectives and independent.

    Examples
    --------
    >>> world = DrawnArms([[1.0]], lambda rng, batch: rng.random((*batch, 4, 1)), arms=4, noise=0)
    >>> world.contexts(rng=np.random.default_rng(0), batch=(2,)).shape
    (2, 4, 1)
    """

    theta: FloatArray
    draw: Draw
    arms: int = field(kw_only=True)
    noise: float = field(kw_only=True)

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "arms", check.count(self.arms, "arms"))

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        """Return the features of the arms for each learner, (*batch, K, d)."""
        drawn = self.draw(rng, batch)
        check.check_shape(drawn, "draw", (*batch, self.arms, self.dim))
        return drawn


def one_continuous_arm(theta: ArrayLike, fixed: ArrayLike, *, noise: float) -> DrawnArms:
    """Return the appendix's first example: one arm uniform in the unit ball, the others fixed.

    Goodness holds at every gamma below 1, with the probability of the one continuous arm at
    least. Context diversity does not: a fixed arm has a matrix of rank one, so for d >= 2 its
    smallest eigenvalue is 0.

    Parameters
    ----------
    theta
        True parameters, (M, d).
    fixed
        Features of the fixed arms, (K - 1, d).
    noise
        Standard deviation of the noise.

    Examples
    --------
    >>> world = one_continuous_arm(np.eye(2), [[0.5, 0.0]], noise=0.1)
    >>> world.contexts(rng=np.random.default_rng(0))[1]
    array([0.5, 0. ])
    """
    ball = VaryingContexts(check.floats(theta, "theta", shape=("M", "d")), arms=1, noise=noise)
    others = _base.read_only(check.floats(fixed, "fixed", shape=("K - 1", ball.dim)))
    draw = partial(_one_continuous, ball, others)
    return DrawnArms(ball.theta, draw, arms=1 + len(others), noise=noise)


def finite_net(theta: ArrayLike, points: ArrayLike, *, arms: int, noise: float) -> DrawnArms:
    """Return the appendix's second example: arms from a finite net, the first from few of it.

    The first arm is one of the first d - 1 points, every other arm one of the rest, uniformly. If
    the N points have one within sqrt(1 - gamma^2) of every unit vector, gamma-goodness holds with
    probability at least 1 / N. Context diversity does not: the first arm never leaves a subspace.

    Parameters
    ----------
    theta
        True parameters, (M, d), d >= 2.
    points
        The net, (N, d), at least d points of it.
    arms
        K >= 2.
    noise
        Standard deviation of the noise.

    Examples
    --------
    >>> angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    >>> net = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> finite_net(np.eye(2), net, arms=4, noise=0.1)
    DrawnArms(dim=2, arms=4, objectives=2, noise=0.1)
    """
    parameters = check.floats(theta, "theta", shape=("M", "d"))
    dim = check.count(parameters.shape[1], "dimension of theta", minimum=2)
    net = _base.read_only(check.floats(points, "points", shape=("N", dim)))
    check.count(len(net), "number of points", minimum=dim)
    draw = partial(_from_net, net, check.count(arms, "arms", minimum=2))
    return DrawnArms(parameters, draw, arms=arms, noise=noise)


def small_ball(theta: ArrayLike, *, arms: int, noise: float, radius: float = 0.5) -> DrawnArms:
    """Return the appendix's third example: all arms uniform in a ball smaller than allowed.

    Context diversity holds, with the constant radius^2 / (2 (d + 2)). Goodness above the radius
    does not: no arm is that long.

    Parameters
    ----------
    theta
        True parameters, (M, d).
    arms
        K.
    noise
        Standard deviation of the noise.
    radius
        Radius of the ball, larger than 0.

    Examples
    --------
    >>> features = small_ball(np.eye(3), arms=100, noise=0.1).contexts(rng=np.random.default_rng(0))
    >>> bool(np.linalg.norm(features, axis=1).max() <= 0.5)
    True
    """
    values = check.floats(theta, "theta", shape=("M", "d"))
    ball = VaryingContexts(values, arms=arms, noise=noise)
    draw = partial(_scaled, ball, check.real(radius, "radius", above=0))
    return DrawnArms(ball.theta, draw, arms=ball.arms, noise=noise)


def tailed_arms(exponents: Sequence[float | None], *, noise: float) -> DrawnArms:
    """Return arms on the line [-1, 1] with given tails, for one objective: theta = 1, d = M = 1.

    An arm with exponent b is +-(1 - U^(1/b)) with a random sign, so P(mu > 1 - eps) = eps^b / 2.
    An arm without one, None, stays at 0. With one exponent for all arms both beta-regularity and
    goodness hold; with arms that stay at 0, or of different exponents, only goodness does.

    Parameters
    ----------
    exponents
        One for each arm, larger than 0, or None.
    noise
        Standard deviation of the noise.

    Examples
    --------
    >>> tailed_arms([1.0, None], noise=0.1).contexts(rng=np.random.default_rng(0))[1]
    array([0.])
    """
    given = [0 if b is None else 1 / check.real(b, "exponents", above=0) for b in exponents]
    draw = partial(_tailed, _base.read_only(np.array(given)))
    return DrawnArms(np.ones((1, 1)), draw, arms=len(given), noise=noise)


def _one_continuous(
    ball: VaryingContexts, others: FloatArray, rng: Rng, batch: tuple[int, ...]
) -> FloatArray:
    first = ball.contexts(rng=rng, batch=batch)
    return np.concatenate([first, np.broadcast_to(others, (*batch, *others.shape))], axis=-2)


def _from_net(net: FloatArray, arms: int, rng: Rng, batch: tuple[int, ...]) -> FloatArray:
    few = net.shape[1] - 1
    choices = np.array([few] + (arms - 1) * [len(net) - few])
    first = np.array([0] + (arms - 1) * [few])
    return np.asarray(net[first + (rng.random((*batch, arms)) * choices).astype(np.intp)])


def _scaled(ball: VaryingContexts, radius: float, rng: Rng, batch: tuple[int, ...]) -> FloatArray:
    return radius * ball.contexts(rng=rng, batch=batch)


def _tailed(powers: FloatArray, rng: Rng, batch: tuple[int, ...]) -> FloatArray:
    shares = 2 * rng.random((*batch, len(powers))) - 1
    signs = np.where(powers > 0, np.where(shares < 0, -1.0, 1.0), 0.0)
    return np.asarray((signs * (1 - np.abs(shares) ** powers) + 0.0)[..., None])

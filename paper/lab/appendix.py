"""The appendix's examples: goodness and the usual context diversity are different conditions.

Worlds with fresh arms in each round on which one condition holds and the other does not, and one
for a single objective in one dimension, where goodness stands beside beta-regularity.
``mogro.theory.context_goodness`` evaluates goodness.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from mogro import Rng
from mogro.environments import VaryingContexts
from paper.lab.arrays import FloatArray

Draw = Callable[[Rng, tuple[int, ...]], FloatArray]


@dataclass(frozen=True, eq=False)
class DrawnArms:
    """A linear world whose K arms of each round are drawn by a function of rng and batch."""

    theta: FloatArray
    draw: Draw
    arms: int = field(kw_only=True)
    noise: float = field(kw_only=True)

    def __post_init__(self) -> None:
        theta = np.array(self.theta, dtype=np.float64)
        theta.setflags(write=False)
        object.__setattr__(self, "theta", theta)

    @property
    def dim(self) -> int:
        """The number of features, d."""
        return int(self.theta.shape[1])

    @property
    def objectives(self) -> int:
        """The number of objectives, M."""
        return int(self.theta.shape[0])

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        """Return the features of the arms for each learner, (*batch, K, d)."""
        return self.draw(rng, batch)

    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        """Return noisy reward vectors (*batch, M) for the features ``x`` of shape (*batch, d)."""
        means = np.einsum("...d,md->...m", np.ascontiguousarray(x), self.theta)
        return np.asarray(means + self.noise * rng.standard_normal(means.shape))


def one_continuous_arm(theta: ArrayLike, fixed: ArrayLike, *, noise: float) -> DrawnArms:
    """Return the first example: one arm uniform in the unit ball, the others (K - 1, d) fixed.

    Goodness holds at every gamma below 1, with the probability of the one continuous arm at
    least. Context diversity does not: a fixed arm has a matrix of rank one, so for d >= 2 its
    smallest eigenvalue is 0.
    """
    ball = VaryingContexts(np.asarray(theta), arms=1, noise=noise)
    others = np.asarray(fixed)
    draw = partial(_one_continuous, ball, others)
    return DrawnArms(ball.theta, draw, arms=1 + len(others), noise=noise)


def finite_net(theta: ArrayLike, points: ArrayLike, *, arms: int, noise: float) -> DrawnArms:
    """Return the second example: arms from a finite net (N, d), the first from few of it.

    The first arm is one of the first d - 1 points, every other arm one of the rest, uniformly. If
    the N points have one within sqrt(1 - gamma^2) of every unit vector, gamma-goodness holds with
    probability at least 1 / N. Context diversity does not: the first arm never leaves a subspace.
    """
    draw = partial(_from_net, np.asarray(points), arms)
    return DrawnArms(np.asarray(theta), draw, arms=arms, noise=noise)


def small_ball(theta: ArrayLike, *, arms: int, noise: float, radius: float = 0.5) -> DrawnArms:
    """Return the third example: all arms uniform in a ball smaller than allowed.

    Context diversity holds, with the constant radius^2 / (2 (d + 2)). Goodness above the radius
    does not: no arm is that long.
    """
    ball = VaryingContexts(np.asarray(theta), arms=arms, noise=noise)
    return DrawnArms(ball.theta, partial(_scaled, ball, radius), arms=arms, noise=noise)


def tailed_arms(exponents: Sequence[float | None], *, noise: float) -> DrawnArms:
    """Return arms on the line [-1, 1] with given tails, for one objective: theta = 1, d = M = 1.

    An arm with exponent b is +-(1 - U^(1/b)) with a random sign, so P(mu > 1 - eps) = eps^b / 2.
    An arm without one, None, stays at 0. With one exponent for all arms both beta-regularity and
    goodness hold; with arms that stay at 0, or of different exponents, only goodness does.
    """
    powers = np.array([0.0 if b is None else 1 / b for b in exponents])
    return DrawnArms(np.ones((1, 1)), partial(_tailed, powers), arms=len(powers), noise=noise)


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

"""Conditions of other papers on contexts, which goodness is compared with, by counting."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from mogro._validation import FloatArray
from mogro.environments.protocol import Environment

_LEVELS = np.array([0.4, 0.2, 0.1, 0.05])


class Diversity(NamedTuple):
    """The least eigenvalue over arms and directions, and the arm that has it."""

    value: float
    arm: int


def context_diversity(world: Environment, samples: int = 20_000) -> Diversity:
    """Least lambda_min(E[x_i x_i^T 1{x_i . u >= 0}]) over arms i and directions u that were tried.

    Assumption 3 of Bastani, Bayati and Khosravi, as the paper quotes it: it has to be positive.
    """
    rng = np.random.default_rng(0)
    draws = world.contexts(rng=rng, batch=(samples,))
    draws = np.broadcast_to(draws, (samples, *draws.shape[-2:]))
    dim = draws.shape[-1]
    directions = np.concatenate([np.eye(dim), -np.eye(dim), rng.standard_normal((200, dim))])
    found = []
    for arm in range(draws.shape[1]):
        x = draws[:, arm]
        for u in directions:
            kept = x * (x @ u >= 0)[:, None]
            least = float(np.linalg.eigvalsh(kept.T @ kept / samples)[0])
            found.append(Diversity(least if least > 1e-12 else 0.0, arm))
    return min(found)


class Tails(NamedTuple):
    """Exponents of P(mu_i > 1 - eps), and whether all arms have one in common at all levels."""

    exponents: FloatArray
    holds: bool


def beta_regularity(world: Environment, samples: int = 100_000) -> Tails:
    """Beta-regularity of Bayati and others, for d = 1, where the feature is the mean reward."""
    means = world.contexts(rng=np.random.default_rng(0), batch=(samples,))[..., 0]
    shares = (means[..., None] > 1 - _LEVELS).mean(axis=0)  # (K, levels)
    if not shares.all():
        return Tails(np.full(len(shares), np.nan), False)
    slopes = np.diff(np.log(shares), axis=1) / np.diff(np.log(_LEVELS))
    exponents = np.polyfit(np.log(_LEVELS), np.log(shares).T, 1)[0]
    return Tails(exponents, bool(np.ptp(slopes) < 0.5))


def uniform_ball_goodness(gamma: float, *, dim: int, arms: int) -> float:
    """Return q_gamma for independent arms that are uniform in the unit ball.

    The probability that one of them has x . beta >= gamma, the same for every unit vector beta:
    1 - (1 - p)^K with p = I_{1 - gamma^2}((d + 1) / 2, 1/2) / 2, the share of the ball above a
    plane at distance gamma (Definition goodness_stochastic).
    """
    share = betainc((dim + 1) / 2, 0.5, (1 - gamma) * (1 + gamma)) / 2
    return -math.expm1(arms * math.log1p(-float(share)))

"""How much exploration an answer needs: :func:`decisions_needed`."""

import math
from statistics import NormalDist
from typing import NamedTuple

from mogro._validation import count, real, share

MIN_ROWS = 100.0  # drawn in decisions in which two policies differ, to tell them apart


class DecisionsNeeded(NamedTuple):
    """How many more decisions an answer needs, with what share of uniform draws, and for what.

    A share of 0 is the log's own way of choosing.
    """

    decisions: int
    epsilon: float
    objective: str


def decisions_needed(
    difference: float,
    *,
    noise: float,
    arms: int,
    epsilon: float,
    differing: float = 1.0,
    level: float = 0.95,
    power: float = 0.8,
) -> int:
    """Return how many decisions, some drawn uniformly, tell the values of two policies apart.

    Parameters
    ----------
    difference
        Of their values, in one objective, that is to be seen.
    noise
        Standard deviation of a reward around what was expected of its arm; ``sqrt(p (1 - p))`` for
        a rate p.
    arms
        Number of arms on offer.
    epsilon
        Share of decisions that are uniform draws.
    differing
        Share of decisions in which the two policies choose different arms.
    level, power
        Confidence of the interval of the difference, and the probability with which it does not
        hold 0 then.

    Notes
    -----
    Where the agent chooses neither arm by itself, each has probability ``epsilon / arms``, and the
    variance of the estimated difference is ``2 noise^2 differing arms / epsilon`` over the number
    of decisions (:func:`evaluate` with its predictions). If it often chooses one of them by itself
    up to half as many do. At least 100 draws of the two arms have to be there where they differ.

    Examples
    --------
    Clicks of 30 % and 35 %, five arms, a tenth of uniform draws:

    >>> decisions_needed(0.05, noise=0.47, arms=5, epsilon=0.1)
    69353
    """
    gap = abs(real(difference, "difference"))
    draw_share, difference_share = share(epsilon, "epsilon"), share(differing, "differing")
    if not (gap > 0 and draw_share > 0 and difference_share > 0):
        raise ValueError(
            "difference, epsilon, differing: expected numbers that are not 0, got "
            f"{difference}, {epsilon}, {differing}"
        )
    errors = standard_errors(level=level, power=power)
    decisions_per_draw = count(arms, "arms") * difference_share / draw_share
    by_noise = 2 * real(noise, "noise", minimum=0) ** 2 * decisions_per_draw * (errors / gap) ** 2
    return math.ceil(max(by_noise, MIN_ROWS * decisions_per_draw / (2 * difference_share**2)))


def standard_errors(*, level: float, power: float) -> float:
    """Return how many standard errors a difference has to be, to be seen with some power."""
    normal = NormalDist()
    confidence, probability = share(level, "level", closed="()"), share(power, "power", closed="()")
    return normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(probability)

"""The instances on which every policy must pay Omega(sqrt(d T)) (the paper's lower bound)."""

import math

import numpy as np

from mogro.environments import FixedArms
from paper.lab.arrays import FloatArray


def lower_bound_instance(
    dim: int,
    *,
    rounds: int | None = None,
    epsilon: float | None = None,
    instance: int = 0,
    objectives: int | None = None,
    arms: int | None = None,
    noise: float = 1.0,
) -> FixedArms:
    """Return one of the d hard instances that no policy can tell apart quickly.

    All d instances have the same d^2 arms on the unit sphere and d objectives; they differ in the
    parameters, each of which is one of the arms: theta_m of instance j is arm m d + j. In instance
    j, arm j has mean 1 for objective 0, the other arms below d have 1 - epsilon^2 and a Pareto gap
    of epsilon^2, and no arm m d + i has a smaller gap than arm i. So the Pareto regret is at least
    that of a d-armed bandit with one arm that is better by epsilon^2.

    More objectives are copies of the last one, and more arms copies of the last one, as in the
    paper: copies change no gap.

    Parameters
    ----------
    dim
        Dimension d, at least 2.
    rounds
        The horizon T for which the instance is hardest: it sets
        epsilon^2 = 1 - 1 / (1 + sqrt(d / T) / 2). Give this or ``epsilon``.
    epsilon
        Separation of the instances, 0 < epsilon < 1, and for d >= 3 also
        epsilon^2 <= d / (5 d - 1).
    instance
        Which of the instances, 0 to d - 1. The bound is on the average over all of them.
    objectives
        M, at least d; None: d.
    arms
        K, at least d^2; None: d^2.
    noise
        Standard deviation of the normal noise.

    Notes
    -----
    Where this differs from the paper. For d = 2, the equation of k' has epsilon' where the paper
    repeats epsilon; epsilon' = (1 + epsilon) / 2 is taken from the range it leaves open. For
    d >= 3 the paper asks for epsilon < 1 only, but k' is real only up to the limit above, which
    needs about T >= 4 d; and its gap of "more than 3 epsilon^2" for the arms from d on is an
    effective gap of at least 3 epsilon^2, equal to it for some arms, and a Pareto gap of at least
    2 epsilon^2, where the proof needs epsilon^2. Copies of an objective
    are not apart, which the growth of V under random weights assumes; the lower bound does not.
    The bound itself
    is proved for rewards of 0 and 1 (scaled); with normal noise it holds with another constant,
    and without noise not at all.

    Examples
    --------
    >>> import numpy as np
    >>> world = lower_bound_instance(3, epsilon=0.1, instance=1)
    >>> world
    FixedArms(dim=3, arms=9, objectives=3, noise=1)
    >>> world.means[:3, 0].round(6)
    array([0.99, 1.  , 0.99])
    >>> lower_bound_instance(3, epsilon=0.1, objectives=5, arms=20)
    FixedArms(dim=3, arms=20, objectives=5, noise=1)
    """
    d = _at_least(2, dim, "dim")
    if not 0 <= instance < d:
        raise ValueError(f"instance: expected an integer from 0 to {d - 1}, got {instance!r}")
    if (rounds is None) == (epsilon is None):
        raise ValueError(
            f"rounds, epsilon: expected exactly one, got rounds={rounds!r}, epsilon={epsilon!r}"
        )
    if rounds is not None:
        T = _at_least(1, rounds, "rounds")
        separation = math.sqrt(1 - 1 / (1 + math.sqrt(d / T) / 2))
        origin = f"rounds={T}"
    else:
        assert epsilon is not None
        separation = epsilon
        origin = f"epsilon={separation:g}"
    _check_separation(d, separation, origin)
    parameters = _plane(separation) if d == 2 else _space(d, separation)
    M = d if objectives is None else _at_least(d, objectives, "objectives")
    K = d * d if arms is None else _at_least(d * d, arms, "arms")
    features = _padded(parameters.reshape(d * d, d), K)
    return FixedArms(features, _padded(parameters[:, instance], M), noise=noise)


def _at_least(least: int, value: int, name: str) -> int:
    if value != int(value) or value < least:
        raise ValueError(f"{name}: expected an integer >= {least}, got {value!r}")
    return int(value)


def _padded(rows: FloatArray, length: int) -> FloatArray:
    """Repeat the last row up to a length."""
    return np.concatenate([rows, np.repeat(rows[-1:], length - len(rows), axis=0)])


def _check_separation(d: int, epsilon: float, origin: str) -> None:
    fits = epsilon < 1 if d == 2 else epsilon**2 <= d / (5 * d - 1)
    if not (fits and epsilon > 0):
        limit = "1" if d == 2 else f"{math.sqrt(d / (5 * d - 1)):.4g}"
        raise ValueError(
            f"epsilon: expected a value above 0 and below {limit} in dimension {d} (more rounds "
            f"make it smaller), got {epsilon:.4g} from {origin}"
        )


def _plane(epsilon: float) -> FloatArray:
    """Parameters theta[m, j] for d = 2 (case 1 of Lemma LB_SO)."""
    half_width = (1 + epsilon) / 2
    return np.stack([_base(2, e, e**2) + e * np.eye(2) for e in (epsilon, half_width)])


def _space(d: int, epsilon: float) -> FloatArray:
    """Parameters theta[m, j] for d >= 3 (case 2 of Lemma LB_SO)."""
    unit = np.eye(d)
    first = _base(d, epsilon, epsilon**2) + epsilon * unit
    others = [
        _base(d, epsilon, 5 * epsilon**2) + epsilon * (2 * unit - np.roll(unit, m, axis=1))
        for m in range(1, d)
    ]
    return np.stack([first, *others])


def _base(d: int, epsilon: float, square: float) -> float:
    """Solve d k^2 + 2 k epsilon + square = 1 for its larger root k."""
    return (math.sqrt(max(0.0, epsilon**2 + d * (1 - square))) - epsilon) / d

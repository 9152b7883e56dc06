"""The front that a learner believes in, on demand."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, IntArray, count, floats
from mogro.pareto.effective import effective_front


@dataclass(frozen=True, slots=True)
class LearnedFront:
    """The estimated effective Pareto front of a set of arms.

    Attributes
    ----------
    members
        (F,) the arms on the front, in rising order.
    values
        (F, M) their estimated mean rewards.
    shares
        (F,) the share of the weight space in which each member has the largest weighted value; they
        sum to 1. Members that are equal share what they win.
    """

    members: IntArray
    values: FloatArray
    shares: FloatArray


def learned_front(features: ArrayLike, theta: ArrayLike, *, samples: int = 20_000) -> LearnedFront:
    """Return the effective Pareto front of arms under estimated parameters.

    The front belongs to the estimates: with few observations it may be far from the true one.
    Shares are frequencies over ``samples`` weights that are uniform on the simplex and the same in
    every call; their standard error is at most 0.5 / sqrt(samples). A member that is best under a
    thin set of weights only can have share 0.

    Parameters
    ----------
    features
        (K, d) of the arms.
    theta
        (M, d), as a policy's ``theta`` gives it.
    samples
        How many weights decide the shares.

    Examples
    --------
    >>> import numpy as np
    >>> front = learned_front([[1.0, 0.0], [0.0, 1.0], [0.3, 0.3]], np.eye(2))
    >>> front.members, front.shares.round(1)
    (array([0, 1]), array([0.5, 0.5]))
    """
    arms = floats(features, "features", shape=("K", "d")).astype(np.float64)
    parameters = floats(theta, "theta", shape=("M", arms.shape[1])).astype(np.float64)
    means = np.matmul(arms, parameters.T)
    members = np.flatnonzero(effective_front(means))
    values = means[members]
    distinct, inverse = np.unique(values, axis=0, return_inverse=True)
    weights = np.random.default_rng(0).dirichlet(
        np.ones(len(parameters)), count(samples, "samples")
    )
    wins = np.bincount((weights @ distinct.T).argmax(1), minlength=len(distinct)) / len(weights)
    return LearnedFront(members, values, (wins / np.bincount(inverse))[inverse])

"""Predictions by least squares over arm features, each row predicted by a fit without it."""

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, count, floats
from mogro.offpolicy.rows import read_logged_arms, read_rewards
from mogro.posterior import Posterior
from mogro.priors import Fixed, Flat


def cross_fitted(
    rewards: ArrayLike,
    arms: ArrayLike,
    features: ArrayLike,
    /,
    *,
    folds: int = 5,
    ridge: float = 0.0,
) -> FloatArray:
    """Predict rewards of every arm, (n, K, M), by fits that have not seen the row.

    Row i is in fold ``i mod folds``. Where a reward is missing (NaN) the row is not used for that
    objective.

    Parameters
    ----------
    rewards
        (n, M), NaN where missing.
    arms
        The logged arms, (n,).
    features
        Of the arms, (K, d), or of the arms of every row, (n, K, d).
    folds
        Number of parts; each is judged by a fit to the others.
    ridge
        Penalty of the fits.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> arms = rng.integers(3, size=300)
    >>> rewards = np.array([[0.1], [0.5], [0.9]])[arms]
    >>> cross_fitted(rewards, arms, np.eye(3))[0].round(6).ravel()
    array([0.1, 0.5, 0.9])
    """
    values, seen = read_rewards(rewards)
    n, objectives = values.shape
    varying = np.ndim(features) == 3
    offered = floats(features, "features", shape=(n, "K", "d") if varying else ("K", "d"))
    chosen = read_logged_arms(arms, n, below=offered.shape[-2])
    logged = offered[np.arange(n), chosen] if varying else offered[chosen]
    weights = np.ones_like(values) if seen is None else seen.astype(np.float64)
    prior = Fixed(ridge) if ridge > 0 else Flat()
    fold = np.arange(n) % count(folds, "folds", minimum=2)
    result = np.empty((n, offered.shape[-2], objectives))
    for part in range(folds):
        inside, others = fold == part, fold != part
        posterior = Posterior(offered.shape[-1], objectives, prior=prior)
        posterior.learn(logged[others], values[others], weights[others])
        result[inside] = (offered[inside] if varying else offered) @ posterior.theta.T
    return result

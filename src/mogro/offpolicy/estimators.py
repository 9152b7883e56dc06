"""Estimators: over arrays, or over a log that is read in chunks; and predictions for them."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, count, floats, real
from mogro.offpolicy.influence import Estimate
from mogro.offpolicy.result import Evaluation
from mogro.offpolicy.rows import (
    Rows,
    join_rows,
    predicted_rows,
    read_logged_arms,
    read_rewards,
    weighted_rows,
)
from mogro.posterior import Posterior
from mogro.priors import Fixed, Flat


def ips(
    rewards: ArrayLike,
    logged: ArrayLike,
    target: ArrayLike,
    /,
    *,
    arms: ArrayLike | None = None,
    errors: ArrayLike | None = None,
) -> Evaluation:
    """Inverse propensity scores: the mean of weighted rewards, unbiased.

    Parameters
    ----------
    rewards
        (n, M). NaN is a reward that is missing: not yet there, or never observed.
    logged
        Probabilities (n,) with which the logged arms were chosen when they were chosen.
    target
        Probabilities (n,) with which the target policy would have chosen these arms.
    arms
        The logged arms (n,), numbers from 0. They matter only where rewards are missing: each
        reward observed then stands for those of its arm that are missing (weights by the share
        observed, per arm and objective), which is right if they are missing at random given the
        arm. Without arms they have to be missing entirely at random.
    errors
        Standard errors (n,) of the propensities. By the delta method they add ``(w c)^2`` to the
        variance of a weight, c being the relative error, and ``w c^2`` to its mean: this bias is
        counted in the error, not removed. Where errors of rows are independent the spread of the
        rows holds this variance already, and it is counted twice: the interval is wider.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> arms = rng.integers(2, size=4000)  # logged evenly
    >>> clicks = rng.random((4000, 1)) < np.array([[0.1], [0.3]])[arms]
    >>> evaluation = ips(clicks, np.full(4000, 0.5), np.where(arms == 1, 0.9, 0.1))
    >>> low, high = evaluation.interval()[0]
    >>> bool(low < 0.1 * 0.1 + 0.9 * 0.3 < high)
    True
    """
    rows = weighted_rows(rewards, logged, target, arms=arms, errors=errors)
    return estimate([rows])


def snips(
    rewards: ArrayLike,
    logged: ArrayLike,
    target: ArrayLike,
    /,
    *,
    arms: ArrayLike | None = None,
    errors: ArrayLike | None = None,
) -> Evaluation:
    """Self-normalised inverse propensity scores: the weighted mean of rewards.

    A bias of order 1/n for mostly less variance; adding a constant to rewards adds it to the
    value. Arguments are those of :func:`ips`.

    Examples
    --------
    >>> evaluation = snips([[1.0], [3.0]], [0.5, 0.5], [0.25, 0.75])
    >>> evaluation.value
    array([2.5])
    """
    rows = weighted_rows(rewards, logged, target, arms=arms, errors=errors)
    return estimate([rows], self_normalised=True)


def doubly_robust(
    rewards: ArrayLike,
    logged: ArrayLike,
    arms: ArrayLike,
    probabilities: ArrayLike,
    predictions: ArrayLike,
    /,
    *,
    errors: ArrayLike | None = None,
    self_normalised: bool = False,
) -> Evaluation:
    """Predicted values plus weighted residuals: right if propensities or predictions are.

    The interval supposes that the prediction for a row was not fitted to that row: predictions of
    the agent at the time, or :func:`cross_fitted`.

    Parameters
    ----------
    rewards, logged, errors
        As for :func:`ips`.
    arms
        The logged arms (n,), numbers from 0 to K - 1.
    probabilities
        Of every arm under the target policy, (n, K).
    predictions
        Predicted rewards of every arm, (n, K, M).
    self_normalised
        Divide the weighted residuals by the sum of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> predictions = np.tile([[0.1], [0.3]], (2, 1, 1))
    >>> log = [[0.0], [1.0]], [0.5, 0.5], [0, 1]
    >>> doubly_robust(*log, [[0.5, 0.5]] * 2, predictions).value.round(12)  # 0.2 + 0.3
    array([0.5])
    """
    rows = predicted_rows(rewards, logged, arms, probabilities, predictions, errors=errors)
    return estimate([rows], self_normalised=self_normalised)


def estimate(chunks: Iterable[Rows], /, *, self_normalised: bool = False) -> Evaluation:
    """Estimate from a log that is read in chunks: of each row a few numbers are kept.

    Parameters
    ----------
    chunks
        The rows of a log, some at a time, made by :func:`weighted_rows` or by
        :func:`predicted_rows`. Where they have ``arms``, numbers that are the same in all chunks,
        rewards that are missing are stood for by others of their arm.
    self_normalised
        Divide by the sum of the weights, not by the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> rewards, logged, target = np.ones((3000, 1)), np.full(3000, 0.5), np.full(3000, 0.5)
    >>> chunks = (
    ...     weighted_rows(rewards[rows], logged[rows], target[rows])
    ...     for rows in (slice(0, 1000), slice(1000, 3000)))
    >>> estimate(chunks).value
    array([1.])
    """
    return Estimate(join_rows(chunks), self_normalised=self_normalised).evaluation()


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
    values, observed = read_rewards(rewards)
    n, objectives = values.shape
    per_row = np.ndim(features) == 3
    arm_features = floats(features, "features", shape=(n, "K", "d") if per_row else ("K", "d"))
    logged_arms = read_logged_arms(arms, n, below=arm_features.shape[-2])
    logged_features = arm_features[(np.arange(n), logged_arms) if per_row else logged_arms]
    weights = np.ones_like(values) if observed is None else observed.astype(np.float64)
    prior = Fixed(ridge) if real(ridge, "ridge", minimum=0) > 0 else Flat()
    fold = np.arange(n) % count(folds, "folds", minimum=2)
    result = np.empty((n, arm_features.shape[-2], objectives))
    for part in range(folds):
        test, train = fold == part, fold != part
        posterior = Posterior(arm_features.shape[-1], objectives, prior=prior)
        posterior.learn(logged_features[train], values[train], weights[train])
        result[test] = (arm_features[test] if per_row else arm_features) @ posterior.theta.T
    return result

"""The direct method: least squares over arm features, each row judged by a fit without it."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import BoolArray, FloatArray, count, floats, indices
from mogro.offpolicy.estimators import estimate
from mogro.offpolicy.result import MAX_UNSUPPORTED, Evaluation
from mogro.offpolicy.rows import Rows, probability_rows, reward_rows
from mogro.posterior import Posterior
from mogro.priors import Fixed, Flat

_UNSEEN_VARIANCE = 1e6  # a variance, in units of the noise, of what was never observed


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
    values, seen = reward_rows(rewards)
    n = len(values)
    offered, _, logged = _features(features, arms, n)
    fold = np.arange(n) % count(folds, "folds", minimum=2)
    result = np.empty((n, offered.shape[-2], values.shape[1]))
    for part in range(folds):
        theta = _fit(logged, values, seen, ridge, fold != part).theta
        result[fold == part] = (offered if offered.ndim == 2 else offered[fold == part]) @ theta.T
    return result


def direct(
    rewards: ArrayLike,
    arms: ArrayLike,
    probabilities: ArrayLike,
    features: ArrayLike,
    /,
    *,
    folds: int = 5,
    ridge: float = 0.0,
) -> Evaluation:
    """Predicted values of the target, by cross-fitted least squares; needs no propensities.

    The error counts what the fit does not know (a sandwich estimate, right for unequal noise) and
    the spread of the rows. It does not count what a linear model cannot say: if rewards are not
    linear in the features, the interval is about the wrong number.

    The effective size is that of the fit: the variance of the estimate is the noise over this
    size. Arms count as unsupported where their features have a part that no logged arm had.

    Parameters
    ----------
    rewards, arms, features, folds, ridge
        As for :func:`cross_fitted`.
    probabilities
        Of every arm under the target policy, (n, K).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> arms = rng.integers(3, size=3000)
    >>> rewards = np.array([[0.1], [0.5], [0.9]])[arms] + rng.standard_normal((3000, 1))
    >>> evaluation = direct(rewards, arms, np.tile([0.0, 0.0, 1.0], (3000, 1)), np.eye(3))
    >>> low, high = evaluation.interval()[0]
    >>> bool(low < 0.9 < high), int(evaluation.effective_size[0]) == int((arms == 2).sum())
    (True, True)
    """
    values, seen = reward_rows(rewards)
    n = len(values)
    offered, chosen, logged = _features(features, arms, n)
    target = probability_rows(probabilities, "probabilities", n)
    if target.shape[1] != offered.shape[-2]:
        raise ValueError(
            f"probabilities: expected {offered.shape[-2]} arms as features have, "
            f"got {target.shape[1]}"
        )
    predicted = cross_fitted(rewards, chosen, features, folds=folds, ridge=ridge)
    wanted = target @ offered if offered.ndim == 2 else np.vecmat(target, offered)
    model, middle = (
        _fit(logged, values, seen, ridge, np.ones(n, dtype=np.bool_)),
        wanted.mean(axis=0),
    )
    pull = n * (logged @ (model.S @ middle).T) * (values - predicted[np.arange(n), chosen])
    if seen is not None:
        pull = np.where(seen, pull, 0.0)
    # In-sample these would sum to 0; the fit is the estimate, and they are its error only.
    influences = np.vecmat(target, predicted) + pull - pull.mean(axis=0)
    evaluation = estimate([Rows(np.ones(n), np.zeros_like(values), baseline=influences)])
    variance = np.broadcast_to(model.beliefs().variances(middle[None])[0], len(evaluation.value))
    sizes = np.divide(1.0, variance, out=np.full(len(variance), float(n)), where=variance > 0)
    unsupported = np.broadcast_to(_unseen_shares(model, offered, target), len(variance))
    unknown = np.where(unsupported > MAX_UNSUPPORTED, np.nan, 0.0)
    return replace(
        evaluation,
        value=evaluation.value + unknown,
        covariance=evaluation.covariance + unknown[:, None] + unknown,
        effective_size=sizes,
        degrees_of_freedom=sizes,
        unsupported=unsupported,
    )


def _features(
    features: ArrayLike, arms: ArrayLike, n: int
) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
    """Return features of all arms, the logged arms, and the features of these (n, d)."""
    given = np.ndim(features) == 3
    offered = floats(features, "features", shape=(n, "K", "d") if given else ("K", "d"))
    chosen = indices(arms, "arms", below=offered.shape[-2])
    if chosen.shape != (n,):
        raise ValueError(f"arms: expected shape ({n},), got {chosen.shape}")
    return offered, chosen, offered[np.arange(n), chosen] if given else offered[chosen]


def _fit(
    logged: FloatArray, values: FloatArray, seen: BoolArray | None, ridge: float, part: BoolArray
) -> Posterior:
    """Return what a part of the rows tells about each objective, by those observed."""
    posterior = Posterior(
        logged.shape[1], values.shape[1], prior=Fixed(ridge) if ridge > 0 else Flat()
    )
    weights = None if seen is None else seen[part].astype(np.float64)
    posterior.learn(logged[part], values[part], weights)
    return posterior


def _unseen_shares(posterior: Posterior, offered: FloatArray, target: FloatArray) -> FloatArray:
    """Return the share of the target on arms with a part that the fit has never seen.

    (M,), or (1,) where all objectives were observed together.
    """
    never = posterior.beliefs().variances(offered.reshape(-1, offered.shape[-1])) > _UNSEEN_VARIANCE
    return np.asarray(np.mean(np.vecmat(target, never.reshape(*offered.shape[:-1], -1)), axis=0))

"""The direct method: least squares over arm features, each row judged by a fit without it."""

from collections.abc import Iterator
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
    n, objectives = values.shape
    offered, _, logged = _features(features, arms, n)
    parts = count(folds, "folds", minimum=2)
    result = np.empty((n, offered.shape[-2], objectives))
    for fold in range(parts):
        inside = np.arange(n) % parts == fold
        for places, keep in _observed_together(seen, n, objectives):
            model = _fit(logged, values[:, places], keep & ~inside, ridge)
            there = offered if offered.ndim == 2 else offered[inside]
            result[np.ix_(inside, np.arange(result.shape[1]), places)] = there @ model.theta.T
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
    Reads the log ``folds + 3`` times.

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
    n, objectives = values.shape
    offered, chosen, logged = _features(features, arms, n)
    target = probability_rows(probabilities, "probabilities", n)
    if target.shape[1] != offered.shape[-2]:
        raise ValueError(
            f"probabilities: expected {offered.shape[-2]} arms as features have, "
            f"got {target.shape[1]}"
        )
    predicted = cross_fitted(rewards, chosen, features, folds=folds, ridge=ridge)
    baseline = np.vecmat(target, predicted)
    wanted = target @ offered if offered.ndim == 2 else np.vecmat(target, offered)
    influences = np.empty((n, objectives))
    sizes, unsupported = np.empty(objectives), np.empty(objectives)
    for places, keep in _observed_together(seen, n, objectives):
        model = _fit(logged, values[:, places], keep, ridge)
        middle = wanted.mean(axis=0)
        residuals = values[:, places] - predicted[np.arange(n), chosen][:, places]
        pull = np.where(keep, n * (logged @ (model.S[0] @ middle)), 0.0)[:, None] * residuals
        # In-sample these would sum to 0; the fit is the estimate, and they are its error only.
        influences[:, places] = baseline[:, places] + pull - pull.mean(axis=0)
        variance = float(middle @ model.S[0] @ middle)
        sizes[places] = 1 / variance if variance > 0 else n
        unsupported[places] = _unseen_share(model, offered, target)
    rows = Rows(np.ones(n), np.zeros_like(influences), baseline=influences)
    evaluation = estimate(lambda: [rows])
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


def _observed_together(
    seen: BoolArray | None, n: int, objectives: int
) -> Iterator[tuple[NDArray[np.intp], BoolArray]]:
    """Yield objectives that were observed on the same rows, and these rows."""
    if seen is None:
        yield np.arange(objectives), np.ones(n, dtype=np.bool_)
        return
    for m in range(objectives):
        yield np.array([m]), seen[:, m]


def _fit(logged: FloatArray, values: FloatArray, keep: BoolArray, ridge: float) -> Posterior:
    prior = Fixed(ridge) if ridge > 0 else Flat()
    posterior = Posterior(logged.shape[1], values.shape[1], prior=prior)
    if keep.any():
        posterior.learn(logged[keep], values[keep])
    return posterior


def _unseen_share(posterior: Posterior, offered: FloatArray, target: FloatArray) -> float:
    """Return the share of the target on arms with a part that the fit has never seen."""
    flat = offered.reshape(-1, offered.shape[-1])
    never = posterior.beliefs().variances(flat)[:, 0] > _UNSEEN_VARIANCE
    return float((target * never.reshape(offered.shape[:-1])).sum(axis=1).mean())

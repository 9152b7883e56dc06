"""Rows of a log, checked, and reduced to what every estimator needs."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import BoolArray, FloatArray, as_floats, check_shape, indices

EXPONENTS = 64  # of weights
_SLACK = 1e-6  # by how much probabilities may exceed 1, or their sum miss it


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a log as :func:`estimate` reads them; made by two functions of this module.

    Attributes
    ----------
    weights
        Target probability over logged propensity, (n,); 0 where the propensity is 0.
    residuals
        Rewards, less predictions where there are any, (n, M); 0 where missing.
    observed
        Which rewards were observed, (n, M), or None for all.
    baseline
        Predicted value of the target, (n, M), or None without predictions.
    arms
        Logged arms, (n,), or None.
    noise
        Relative standard errors of the logged propensities, (n,), or None.
    unsupported
        Target probability of choices that the log gave none, summed over the rows.
    mass
        Target probability of every arm, summed over the rows, (K,); empty if not known.
    other_arms
        Probabilities of all other arms than the logged one, under the target and in the log, summed
        over rows in which their ratio has the same power of two, (2, E): the first entry is for
        ratios below 2. Zeros if not known.
    """

    weights: FloatArray
    residuals: FloatArray
    observed: BoolArray | None = None
    baseline: FloatArray | None = None
    arms: NDArray[np.intp] | None = None
    noise: FloatArray | None = None
    unsupported: float = 0.0
    mass: FloatArray = field(default_factory=lambda: np.zeros(0))
    other_arms: FloatArray = field(default_factory=lambda: np.zeros((2, EXPONENTS)))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.weights)


def weighted_rows(
    rewards: ArrayLike,
    logged: ArrayLike,
    target: ArrayLike,
    /,
    *,
    arms: ArrayLike | None = None,
    errors: ArrayLike | None = None,
) -> Rows:
    """Return rows for ``ips`` and ``snips``; see :func:`ips` for the arguments.

    Examples
    --------
    >>> rows = weighted_rows([[1.0, 0.0]], [0.5], [0.25])
    >>> rows.weights
    array([0.5])
    """
    values, seen = reward_rows(rewards)
    n = len(values)
    propensities = _probability_vector(logged, "logged", n)
    wanted = _probability_vector(target, "target", n)
    noise = _noise(errors, propensities)
    return Rows(
        _weights(propensities, wanted),
        values,
        seen,
        arms=None if arms is None else _arms(arms, n),
        noise=noise,
        unsupported=_unsupported(propensities, wanted, noise),
        other_arms=_other_arms(propensities, wanted, noise),
    )


def predicted_rows(
    rewards: ArrayLike,
    logged: ArrayLike,
    arms: ArrayLike,
    probabilities: ArrayLike,
    predictions: ArrayLike,
    /,
    *,
    errors: ArrayLike | None = None,
) -> Rows:
    """Return rows for :func:`doubly_robust` and its variants; see there for the arguments.

    Examples
    --------
    >>> rows = predicted_rows([[1.0]], [0.5], [0], [[0.25, 0.75]], [[[0.8], [0.4]]])
    >>> rows.baseline, rows.residuals.round(12)  # 0.25 * 0.8 + 0.75 * 0.4, and 1 - 0.8
    (array([[0.5]]), array([[0.2]]))
    """
    n, objectives = reward_rows(rewards)[0].shape
    target = probability_rows(probabilities, "probabilities", n)
    chosen, every = _arms(arms, n, below=target.shape[1]), np.arange(n)
    rows = weighted_rows(rewards, logged, target[every, chosen], arms=chosen, errors=errors)
    predicted = as_floats(predictions, "predictions")
    check_shape(predicted, "predictions", (*target.shape, objectives))
    baseline = np.vecmat(target, predicted)
    if not np.isfinite(baseline.sum()) or not np.isfinite(predicted.sum()):
        _refuse_infinite(predicted, "predictions")
    residuals = rows.residuals - predicted[every, chosen]
    if rows.observed is not None:
        residuals = np.where(rows.observed, residuals, 0.0)
    mass = np.ones(n) @ target  # faster than a sum over the first axis
    return replace(rows, residuals=residuals, baseline=baseline, mass=mass)


def join_rows(parts: Iterable[Rows]) -> Rows:
    """Return rows one after the other."""
    each = list(parts)
    if not each:
        raise ValueError("rows: expected at least one, got none")
    if len(each) == 1:
        return each[0]
    for name, sizes in (
        ("objectives", {part.residuals.shape[1] for part in each}),
        ("arms", {len(part.mass) for part in each}),
    ):
        if len(sizes) > 1:
            raise ValueError(f"rows: expected the same {name} in all chunks, got {sorted(sizes)}")

    def column(name: str, fill: float, like: str = "weights") -> Any:
        """Return a column; what some rows lack is filled in where others have it."""
        given = [(getattr(part, name), getattr(part, like)) for part in each]
        if all(values is None for values, _ in given):
            return None
        return np.concatenate([np.full(o.shape, fill) if v is None else v for v, o in given])

    return Rows(
        column("weights", 0.0),
        column("residuals", 0.0),
        column("observed", True, "residuals"),
        column("baseline", 0.0, "residuals"),
        column("arms", 0),
        column("noise", 0.0),
        sum(part.unsupported for part in each),
        np.sum([part.mass for part in each], axis=0),
        np.sum([part.other_arms for part in each], axis=0),
    )


def _probability_vector(value: ArrayLike, name: str, size: int) -> FloatArray:
    """Return ``value`` as probabilities (n,)."""
    array = as_floats(value, name)
    check_shape(array, name, (size,))
    if not (array.min() >= 0 and array.max() <= 1 + _SLACK):
        bad = int(np.flatnonzero(~((array >= 0) & (array <= 1 + _SLACK)))[0])
        raise ValueError(f"{name}: expected probabilities, got {array[bad]} in row {bad}")
    return array


def probability_rows(value: ArrayLike, name: str, size: int) -> FloatArray:
    """Return ``value`` as probabilities (n, K) of every arm."""
    array = as_floats(value, name)
    check_shape(array, name, (size, "K"))
    sums = array @ np.ones(array.shape[1])
    if not (array.min() >= 0 and abs(sums - 1).max() <= _SLACK):
        wrong = (array < 0).any(axis=1) | ~(abs(sums - 1) <= _SLACK)
        bad = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name}: expected rows of probabilities that sum to 1, got {array[bad]} in row {bad}"
        )
    return array


def reward_rows(rewards: ArrayLike) -> tuple[FloatArray, BoolArray | None]:
    """Return rewards (n, M), 0 where they are NaN, and which are not (None for all)."""
    values = as_floats(rewards, "rewards")
    check_shape(values, "rewards", ("n", "M"))
    with np.errstate(over="ignore", invalid="ignore"):
        complete = np.isfinite(values.sum())  # one pass instead of a scan
    if complete:
        return values, None
    observed = ~np.isnan(values)
    values = np.where(observed, values, 0.0)
    _refuse_infinite(values, "rewards")
    return values, None if observed.all() else observed


def _arms(value: ArrayLike, size: int, *, below: int | None = None) -> NDArray[np.intp]:
    top = np.iinfo(np.intp).max if below is None else below
    array = indices(value, "arms", below=top)
    check_shape(array, "arms", (size,))
    return array


def _weights(propensities: FloatArray, wanted: FloatArray) -> FloatArray:
    if propensities.min() > 0:
        return wanted / propensities
    return np.divide(wanted, propensities, out=np.zeros(len(wanted)), where=propensities > 0)


def _unsupported(propensities: FloatArray, wanted: FloatArray, noise: FloatArray | None) -> float:
    """Return the target probability of arms that the log is known to give probability 0.

    The logged arm, if its propensity is 0; the others, if it is 1.
    """
    certain = propensities >= 1
    if noise is not None:
        certain &= noise == 0
    unsupported = np.where(propensities > 0, np.where(certain, 1 - wanted, 0.0), wanted)
    return float(np.maximum(unsupported, 0.0).sum())


def _other_arms(
    propensities: FloatArray, wanted: FloatArray, noise: FloatArray | None
) -> FloatArray:
    """Return probabilities of other arms, (2, E), by the power of two of their ratio."""
    left, others = 1 - propensities, np.maximum(1 - wanted, 0.0)
    if noise is not None:
        left = left + noise * propensities
    there = left > 0
    ratio = np.divide(others, left, out=np.ones(len(left)), where=there)
    exponents = np.clip(np.frexp(ratio)[1] - 1, 0, EXPONENTS - 1)
    return np.stack([np.bincount(exponents, p * there, EXPONENTS) for p in (others, left)])


def _noise(errors: ArrayLike | None, propensities: FloatArray) -> FloatArray | None:
    if errors is None:
        return None
    array = as_floats(errors, "errors")
    check_shape(array, "errors", propensities.shape)
    if not (array.min() >= 0 and np.isfinite(array.max())):
        raise ValueError("errors: expected standard errors >= 0, got a negative or infinite one")
    return np.divide(array, propensities, out=np.zeros(len(array)), where=propensities > 0)


def _refuse_infinite(values: NDArray[Any], name: str) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        place = tuple(bad[0].tolist())
        raise ValueError(f"{name}: expected finite values, got {values[place]} at {place}")

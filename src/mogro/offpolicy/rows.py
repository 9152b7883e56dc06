"""Rows of a log, checked: what every estimator needs of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import BoolArray, FloatArray, as_floats, check_shape, floats, indices

_SLACK = 1e-6  # by how much probabilities may exceed 1, or their sum miss it


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a log as :func:`estimate` reads them; made by two functions of this module.

    Attributes
    ----------
    logged, target
        Probabilities of the logged arms, in the log and under the target policy, (n,).
    residuals
        Rewards, less predictions where there are any, (n, M); 0 where missing.
    observed
        Which rewards were observed, (n, M), or None for all.
    predicted_values
        Predicted value of the target, (n, M), or None without predictions.
    arms
        Logged arms, (n,), or None.
    relative_errors
        Relative standard errors of the logged probabilities, (n,), or None.
    target_mass
        Target probability of every arm, summed over the rows, (K,); empty if not known.
    """

    logged: FloatArray
    target: FloatArray
    residuals: FloatArray
    observed: BoolArray | None = None
    predicted_values: FloatArray | None = None
    arms: NDArray[np.intp] | None = None
    relative_errors: FloatArray | None = None
    target_mass: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.target)

    @cached_property
    def weights(self) -> FloatArray:
        """Target probability over logged probability, (n,); 0 where the latter is 0."""
        out = np.zeros(len(self))
        return np.divide(self.target, self.logged, out=out, where=self.logged > 0)


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
    values, observed = read_rewards(rewards)
    n = len(values)
    propensities = _read_probabilities(logged, "logged", n)
    relative_errors = None
    if errors is not None:
        sizes, quotients = floats(errors, "errors", shape=(n,)), np.zeros(n)
        if sizes.min() < 0:
            raise ValueError(f"errors: expected standard errors >= 0, got {sizes.min():g}")
        relative_errors = np.divide(sizes, propensities, out=quotients, where=propensities > 0)
    return Rows(
        propensities,
        _read_probabilities(target, "target", n),
        values,
        observed,
        arms=None if arms is None else read_logged_arms(arms, n),
        relative_errors=relative_errors,
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
    >>> rows.predicted_values, rows.residuals.round(12)  # 0.25 * 0.8 + 0.75 * 0.4, and 1 - 0.8
    (array([[0.5]]), array([[0.2]]))
    """
    n = len(as_floats(rewards, "rewards"))
    target = _read_probabilities(probabilities, "probabilities", n, "K")
    logged_arms = read_logged_arms(arms, n, below=target.shape[1])
    choices = np.arange(n), logged_arms
    rows = weighted_rows(rewards, logged, target[choices], arms=logged_arms, errors=errors)
    objectives = rows.residuals.shape[1]
    rewards_of_arms = floats(predictions, "predictions", shape=(*target.shape, objectives))
    residuals = rows.residuals - rewards_of_arms[choices]
    if rows.observed is not None:
        residuals = np.where(rows.observed, residuals, 0.0)
    values = np.vecmat(target, rewards_of_arms)
    mass = np.ones(n) @ target  # faster than a sum over the first axis
    return replace(rows, residuals=residuals, predicted_values=values, target_mass=mass)


def join_rows(chunks: Iterable[Rows]) -> Rows:
    """Return rows one after the other."""
    chunk_list = list(chunks)
    if not chunk_list:
        raise ValueError("rows: expected at least one chunk, got none")
    if len(chunk_list) == 1:
        return chunk_list[0]
    for name, sizes in (
        ("objectives", {chunk.residuals.shape[1] for chunk in chunk_list}),
        ("arms", {len(chunk.target_mass) for chunk in chunk_list}),
    ):
        if len(sizes) > 1:
            raise ValueError(f"rows: expected the same {name} in all chunks, got {sorted(sizes)}")
    columns = {column[0]: _join(chunk_list, *column) for column in _COLUMNS}
    return Rows(**columns, target_mass=np.sum([chunk.target_mass for chunk in chunk_list], axis=0))


# The columns of ``Rows``: what fills in where some chunks have none, and another column of that
# shape.
_COLUMNS = (
    ("logged", 0.0, "target"),
    ("target", 0.0, "target"),
    ("residuals", 0.0, "residuals"),
    ("observed", True, "residuals"),
    ("predicted_values", 0.0, "residuals"),
    ("arms", 0, "target"),
    ("relative_errors", 0.0, "target"),
)


def _join(chunks: Sequence[Rows], name: str, fill_value: float, like_name: str) -> Any:
    """Return a column of all chunks, or None if no chunk has it."""
    columns = [getattr(chunk, name) for chunk in chunks]
    if all(column is None for column in columns):
        return None
    for index, chunk in enumerate(chunks):
        if columns[index] is None:
            columns[index] = np.full(getattr(chunk, like_name).shape, fill_value)
    return np.concatenate(columns)


def _read_probabilities(value: ArrayLike, name: str, *shape: int | str) -> FloatArray:
    """Return ``value`` as probabilities (n,), or as those of every arm (n, K)."""
    array = as_floats(value, name)
    check_shape(array, name, shape)
    has_all_arms = array.ndim == 2
    sums = array @ np.ones(array.shape[1]) if has_all_arms else array
    smallest_sum = 1 - _SLACK if has_all_arms else 0.0
    if not (array.min() >= 0 and sums.min() >= smallest_sum and sums.max() <= 1 + _SLACK):
        is_nonnegative = (array.reshape(len(array), -1) >= 0).all(axis=1)
        bad_row = int((is_nonnegative & (sums >= smallest_sum) & (sums <= 1 + _SLACK)).argmin())
        expected = "rows of probabilities that sum to 1" if has_all_arms else "probabilities"
        raise ValueError(f"{name}: expected {expected}, got {array[bad_row]} in row {bad_row}")
    return array


def read_rewards(rewards: ArrayLike) -> tuple[FloatArray, BoolArray | None]:
    """Return rewards (n, M), 0 where they are NaN, and which are not (None for all)."""
    values = as_floats(rewards, "rewards")
    check_shape(values, "rewards", ("n", "M"))
    if np.isfinite(values).all():
        return values, None
    observed = ~np.isnan(values)
    return floats(np.where(observed, values, 0.0), "rewards", shape=values.shape), observed


def read_logged_arms(value: ArrayLike, size: int, *, below: int | None = None) -> NDArray[np.intp]:
    """Return ``value`` as logged arms, (n,)."""
    array = indices(value, "arms", below=np.iinfo(np.intp).max if below is None else below)
    check_shape(array, "arms", (size,))
    return array

"""An estimate, how much every row of the log moves it, and what follows for its error.

The first-order change of the estimate with a row is its influence. Influences are martingale
differences even if the log was collected adaptively, as long as propensities are what they were at
the time and contexts do not follow from the choices. So the sum of their squares is the variance,
whether or not rows are independent.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import FloatArray
from mogro.offpolicy.result import MAX_UNSUPPORTED, Evaluation
from mogro.offpolicy.rows import Rows

_BLOCK = 8192  # rows at once, so that they stay in the cache

# A mean weight below 1 is no chance if it is so by this many standard errors and, for large weights
# may happen to be missing, this many times the part of the largest one (Bernstein's bound).
_CHANCE, _MISSED = 5.0, 10.0


class Estimate:
    """The value (M,) of a target policy by the rows of a log.

    With groups k of rows (logged arms, or one group), their shares s_k, the share a_k of rewards
    observed in each, and means over groups of the weight w, of its product with the residual e and
    of the predicted value b, the estimate is B + N or, self-normalised, B + N / D, with

        B = sum_k s_k b_k,    N = sum_k s_k (w e)_k / a_k,    D = sum_k s_k w_k / a_k.

    Where all rewards were observed there is one group.
    """

    def __init__(self, rows: Rows, *, self_normalised: bool) -> None:
        self._rows, n, weights = rows, len(rows), rows.weights
        ones = np.ones(n)
        self._observed = ones[:, None] if rows.observed is None else rows.observed
        self._groups = _groups(rows)
        counts = self._sums(ones, ones[:, None])
        self._observed_counts = self._sums(ones, self._observed)
        self._shares = _quotient(self._observed_counts, counts)  # a_k, (G, M)
        products = _quotient(self._sums(weights, rows.residuals), self._observed_counts)
        mean_weights = _quotient(self._sums(weights, self._observed), self._observed_counts)
        ratio = (counts * products).sum(axis=0) / n
        self._scale = np.ones_like(ratio)  # 1 / D, or 1
        self._shift = np.zeros_like(ratio)  # what residuals are compared with: N / D, or 0
        if self_normalised:
            weight_total = np.broadcast_to((counts * mean_weights).sum(axis=0) / n, ratio.shape)
            self._scale = _quotient(1.0, weight_total)
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = ratio / weight_total  # without any weight there is no value
            self._shift = np.nan_to_num(ratio)
        # Means of w (e - shift) in each group, for the rewards that are missing there.
        self._missing_means = products - self._shift * mean_weights
        self._mean = ratio - self._shift  # of all that depends on the row
        if rows.predicted_values is not None:
            self._mean = self._mean + ones @ rows.predicted_values / n
        self.value = self._mean + self._shift

    def _sums(self, weights: FloatArray, columns: NDArray[Any]) -> FloatArray:
        """Return weighted sums of columns (n, k) in each group, (G, k)."""
        if self._groups is None:
            return np.asarray(weights @ columns)[None]
        sums = [np.bincount(self._groups, weights * column) for column in columns.T]
        return np.stack(sums, axis=1)

    def influences(self, chunk: slice) -> FloatArray:
        """Return how much each of some rows moves the estimate: (n, M), over n.

        Over all rows they sum to 0, and their squares to the variance of the estimate times the
        square of the number of rows, with the products of two targets to their covariance.
        """
        weighted, replacements = self._weighted(chunk)
        influences = (weighted + replacements) * self._scale
        if self._rows.predicted_values is not None:
            influences = influences + self._rows.predicted_values[chunk]
        return np.asarray(influences - np.nan_to_num(self._mean))

    def _weighted(self, chunk: slice) -> tuple[FloatArray, FloatArray | float]:
        """Return what rows contribute by their weights, and by others they stand for, (n, M)."""
        rows = self._rows
        weighted = rows.weights[chunk, None] * (rows.residuals[chunk] - self._shift)
        if self._groups is None:
            return weighted, 0.0
        groups = self._groups[chunk]
        factors = _quotient(self._observed[chunk], self._shares[groups])
        return weighted * factors, self._missing_means[groups] * (1 - factors)

    def evaluation(self) -> Evaluation:
        """Return what the rows say."""
        n, weights, objectives = len(self._rows), self._rows.weights, len(self.value)
        products, cubes = np.zeros((objectives, objectives)), np.zeros(objectives)
        for chunk in blocks(n):
            influences = self.influences(chunk)
            products += influences.T @ influences
            cubes += np.vecdot(np.square(influences).T, influences.T)
        noise, bias, propensity_error = self._noise()
        covariance = products / (n * (n - 1)) if n > 1 else np.full_like(products, np.nan)
        covariance = covariance + noise + np.outer(bias, bias)
        with np.errstate(invalid="ignore", divide="ignore"):
            skewness = cubes / np.diag(products) ** 1.5
        mean_error = float(weights.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
        unsupported, undrawn = self._support(mean_error)
        is_unobserved = self._observed_counts.sum(axis=0) == 0
        nan_if_unknown = np.where((unsupported > MAX_UNSUPPORTED) | is_unobserved, np.nan, 0.0)
        powers = (weights, weights**2, np.square(weights**2))
        total, squares, fourths = (np.broadcast_to(p @ self._observed, objectives) for p in powers)
        return Evaluation(
            rows=n,
            value=self.value + nan_if_unknown,
            covariance=covariance + nan_if_unknown[:, None] + nan_if_unknown,
            skewness=skewness,
            bias=abs(bias),
            effective_size=_quotient(total**2, squares),
            degrees_of_freedom=_quotient(squares**2, fourths),
            largest_weight=np.broadcast_to(self._largest_weight(), objectives),
            unsupported=unsupported,
            undrawn=undrawn,
            slack=self._slack(undrawn),
            mean_weight=float(weights.mean()),
            mean_weight_error=mean_error,
            propensity_error=propensity_error,
        )

    def _noise(self) -> tuple[FloatArray, FloatArray, float]:
        """Return what errors of propensities add to the covariance and the bias, and their size.

        A weight with relative error c in its propensity has variance (w c)^2 and is too large by
        w c^2 on average.
        """
        n, objectives = len(self._rows), len(self.value)
        if self._rows.relative_errors is None:
            return np.zeros((objectives, objectives)), np.zeros(objectives), 0.0
        relative_errors = self._rows.relative_errors[:, None]
        shifts = relative_errors * self._weighted(slice(None))[0] * self._scale
        mean_error = float(np.sqrt(np.square(relative_errors).mean()))
        return shifts.T @ shifts / n**2, (relative_errors * shifts).sum(axis=0) / n, mean_error

    def _largest_weight(self) -> FloatArray:
        return np.asarray((self._rows.weights[:, None] * self._observed).max(axis=0))

    def _support(self, mean_error: float) -> tuple[FloatArray, float]:
        """Return the shares of the target's choices that cannot be judged, (M,), and not drawn.

        A choice of probability 0 in the log cannot be judged, nor one whose reward was never
        observed. What else is missing from the mean weight was possible, as far as the log tells,
        and not drawn; so are choices whose weight would be far larger than any that was drawn.
        """
        rows, n, largest_weight = self._rows, len(self._rows), float(self._largest_weight().max())
        logged, target, mean = rows.logged, rows.target, float(rows.weights.mean())
        # The logged arm is impossible if it has probability 0; the others, if it has 1 for certain.
        is_certain = (
            (logged >= 1)
            if rows.relative_errors is None
            else (logged >= 1) & (rows.relative_errors == 0)
        )
        impossible = np.where(logged > 0, np.where(is_certain, 1 - target, 0.0), target)
        impossible_share = float(np.maximum(impossible, 0.0).mean()) if mean > 0 else 1.0
        undrawn = 1 - mean
        if undrawn <= _CHANCE * mean_error + _MISSED * largest_weight / n:
            undrawn = 0.0
        if rows.arms is not None and len(rows.target_mass):
            pulls = np.bincount(rows.arms, minlength=len(rows.target_mass))
            undrawn = max(undrawn, float(rows.target_mass[pulls == 0].sum()) / n)
        undrawn = max(undrawn, self._rare_choice_share(largest_weight))
        group_weights = self._sums(rows.weights, np.ones((n, 1)))[:, 0]
        unobserved_share = group_weights @ (self._observed_counts == 0) / n
        unsupported = np.minimum(impossible_share + unobserved_share, 1.0)
        return np.broadcast_to(unsupported, len(self.value)), max(undrawn - impossible_share, 0.0)

    def _rare_choice_share(self, largest_weight: float) -> float:
        """Return the share of choices whose weight is more than twice the largest weight drawn.

        Of the arms that were not logged in a row only the sums of probabilities are known, in the
        log and under the target. Those of smaller weight have at most this part of the latter.
        """
        rows = self._rows
        logged_others, target_others = 1 - rows.logged, np.maximum(1 - rows.target, 0.0)
        if rows.relative_errors is not None:
            logged_others = logged_others + rows.relative_errors * rows.logged
        is_rarer = (logged_others > 0) & (target_others > 2 * largest_weight * logged_others)
        share = float((target_others - largest_weight * logged_others)[is_rarer].sum()) / len(rows)
        return share if share > MAX_UNSUPPORTED else 0.0

    def _slack(self, undrawn: float) -> FloatArray:
        """Return by how much choices that were not drawn may move the estimate, (M, 2).

        Their residuals are supposed to be within those that were observed. In a self-normalised
        estimate they count as the others do on average, otherwise as 0.
        """
        if not undrawn:
            return np.zeros((len(self.value), 2))
        residuals, is_observed = self._rows.residuals, self._observed > 0
        low = residuals.min(axis=0, where=is_observed, initial=np.inf) - self._shift
        high = residuals.max(axis=0, where=is_observed, initial=-np.inf) - self._shift
        return undrawn * np.stack([np.minimum(low, 0.0), np.maximum(high, 0.0)], axis=-1)


def joint_covariance(estimates: Sequence[Estimate], size: int) -> FloatArray:
    """Return the covariance of estimates from the same rows, one after the other, (W M, W M)."""
    products: FloatArray | float = 0.0
    for chunk in blocks(size):
        influences = np.hstack([estimate.influences(chunk) for estimate in estimates])
        products = products + influences.T @ influences
    return np.asarray(products / (size * (size - 1)))


def blocks(size: int) -> Iterator[slice]:
    """Yield parts of so many rows."""
    for start in range(0, size, _BLOCK):
        yield slice(start, start + _BLOCK)


def _groups(rows: Rows) -> NDArray[np.intp] | None:
    """Return numbers of groups, (n,), in which observed rewards stand for missing ones."""
    if rows.observed is None:
        return None
    if rows.arms is None:
        return np.zeros(len(rows), dtype=np.intp)
    return np.unique(rows.arms, return_inverse=True)[1]


def _quotient(numerator: ArrayLike, denominator: ArrayLike) -> FloatArray:
    """Divide; 0 where there is nothing to divide by."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    return np.asarray(
        np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator != 0)
    )

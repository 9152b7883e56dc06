"""The second look at a log: how much every row moves an estimate, and what follows for its error.

The first-order change of the estimate with a row is its influence. Influences are martingale
differences even if the log was collected adaptively, as long as propensities are what they were at
the time and contexts do not follow from the choices. So the sum of their squares is the variance,
whether or not rows are independent.
"""

import numpy as np

from mogro._validation import FloatArray
from mogro.offpolicy.result import MAX_UNSUPPORTED, Evaluation
from mogro.offpolicy.rows import EXPONENTS, Rows
from mogro.offpolicy.totals import Totals, blocks, quotient

# A mean weight below 1 is no chance if it is so by this many standard errors and, for large weights
# may happen to be missing, this many times the part of the largest one (Bernstein's bound).
_CHANCE, _MISSED = 5.0, 10.0


class Spread:
    """Sums of products and cubes of influences, by totals over the same rows."""

    def __init__(self, totals: Totals, *, self_normalised: bool) -> None:
        if not totals.rows:
            raise ValueError("rows: expected at least one, got none")
        self._totals = totals
        self._centre = totals.centre(self_normalised=self_normalised)
        self._mean = self._centre.value - self._centre.shift
        objectives = len(self._mean)
        self._products, self._noise = np.zeros((2, objectives, objectives))
        self._cubes, self._bias = np.zeros((2, objectives))
        self._noise_squares = self._weight_squares = 0.0

    def add(self, rows: Rows) -> None:
        """Add rows."""
        mean_weight = self._totals.mean_weight
        for block in blocks(rows):
            influences, deviations = self.influences(block), block.weights - mean_weight
            self._products += influences.T @ influences
            self._cubes += np.vecdot(np.square(influences).T, influences.T)
            self._weight_squares += float(deviations @ deviations)
            if block.noise is not None:
                self._add_noise(block, block.noise[:, None])

    def _add_noise(self, block: Rows, noise: FloatArray) -> None:
        """Add what errors of propensities do.

        A weight with relative error c in its propensity has variance (w c)^2 and is too large by
        w c^2 on average.
        """
        moved = noise * self._weighted(block)[0] * self._centre.scale
        self._noise += moved.T @ moved
        self._bias += (noise * moved).sum(axis=0)
        self._noise_squares += float(np.square(noise).sum())

    def influences(self, rows: Rows) -> FloatArray:
        """Return how much each of some rows moves the estimate: (n, M), over n.

        Over all rows they sum to 0, and their squares to the variance of the estimate times the
        square of the number of rows, with the products of two targets to their covariance.
        """
        weighted, missing = self._weighted(rows)
        baseline = 0.0 if rows.baseline is None else rows.baseline
        mean = np.nan_to_num(self._mean)
        return np.asarray((weighted + missing) * self._centre.scale + baseline - mean)

    def _weighted(self, rows: Rows) -> tuple[FloatArray, FloatArray | float]:
        """Return what rows contribute by their weights, and by others they stand for, (n, M)."""
        centre = self._centre
        weighted = rows.weights[:, None] * (rows.residuals - centre.shift)
        if (centre.observed == 1).all():
            return weighted, 0.0
        groups = np.zeros(len(rows), dtype=np.intp) if rows.arms is None else rows.arms
        seen = np.ones_like(weighted) if rows.observed is None else rows.observed
        parts = quotient(seen, centre.observed[groups])
        return weighted * parts, centre.level[groups] * (1 - parts)

    def result(self) -> Evaluation:
        """Return what the rows say."""
        totals, n = self._totals, self._totals.rows
        mean, mean_error = totals.mean_weight, np.inf
        if n > 1:
            mean_error = float(np.sqrt(self._weight_squares / (n * (n - 1))))
        unsupported, undrawn = _support(totals, mean_error)
        none_seen = totals.seen.sum(axis=0) == 0
        unknown = np.where((unsupported > MAX_UNSUPPORTED) | none_seen, np.nan, 0.0)
        bias = self._bias / n
        covariance = self._products / (n * (n - 1)) if n > 1 else np.full_like(self._noise, np.nan)
        covariance = covariance + self._noise / n**2 + np.outer(bias, bias)
        with np.errstate(invalid="ignore", divide="ignore"):
            skewness = self._cubes / np.diag(self._products) ** 1.5
        weights = totals.seen_weights.sum(axis=0)
        return Evaluation(
            rows=n,
            value=self._centre.value + unknown,
            covariance=covariance + unknown[:, None] + unknown,
            skewness=skewness,
            bias=abs(bias),
            effective_size=quotient(weights**2, totals.squares),
            degrees_of_freedom=quotient(totals.squares**2, totals.fourths),
            largest_weight=totals.largest,
            unsupported=unsupported,
            undrawn=undrawn,
            slack=self._slack(undrawn),
            mean_weight=mean,
            mean_weight_error=mean_error,
            propensity_error=float(np.sqrt(self._noise_squares / n)),
        )

    def _slack(self, undrawn: float) -> FloatArray:
        """Return by how much choices that were not drawn may move the estimate, (M, 2).

        Their residuals are supposed to be within those that were observed. In a self-normalised
        estimate they count as the others do on average, otherwise as 0.
        """
        if not undrawn:
            return np.zeros((len(self._mean), 2))
        totals, shift = self._totals, self._centre.shift
        steps = np.stack([totals.lowest - shift, totals.highest - shift], axis=-1)
        return np.asarray(undrawn * np.clip(np.nan_to_num(steps), [-np.inf, 0.0], [0.0, np.inf]))


def _support(totals: Totals, mean_error: float) -> tuple[FloatArray, float]:
    """Return the shares of the target's choices that cannot be judged, (M,), and were not drawn.

    A choice of probability 0 in the log cannot be judged, nor one whose reward was never observed.
    What else is missing from the mean weight was possible, as far as the log tells, and not drawn;
    so are choices whose weight would be larger than any that was drawn. (Arms of smaller weight
    have at most this much of the target's probability.)
    """
    n, mean, largest = totals.rows, totals.mean_weight, float(totals.largest.max())
    impossible = totals.unsupported / n if mean > 0 else 1.0
    short = 1 - mean
    if short <= _CHANCE * mean_error + _MISSED * largest / n:
        short = 0.0
    wanted, logged = totals.other_arms[:, 2.0 ** np.arange(EXPONENTS) > largest].sum(axis=1)
    hidden = float(wanted - largest * logged) / n
    if hidden > MAX_UNSUPPORTED:
        short = max(short, hidden)
    if totals.pulls.any():
        short = max(short, float(totals.mass[totals.pulls == 0].sum()) / n)
    unsupported = impossible + totals.weights[:, 0] @ (totals.seen == 0) / n
    return np.minimum(unsupported, 1.0), max(short - impossible, 0.0)

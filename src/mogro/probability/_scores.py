"""Scores of arms that mogro's own scalarisations have in common: part minimum, part sum."""

from dataclasses import dataclass

import numpy as np

from mogro._validation import FloatArray, IntArray

SLACK = 16 * float(np.finfo(np.float64).eps)  # scores that are nearer, in their size, are equal
_TINY = 5e-7  # the most that may be, of minima


@dataclass(frozen=True, eq=False)
class Scores:
    """``bend * min_m w_m y_m + total * sum_m w_m y_m`` for arms with values y.

    Attributes
    ----------
    values
        (K, M), the values y above the reference point if there is one.
    bend, total
        Parts of minimum and sum; linear weights have no minimum.
    sizes
        (M,) of the numbers that compete, as they were before a reference point was subtracted: the
        unit of rounding.
    """

    values: FloatArray
    bend: float
    total: float
    sizes: FloatArray

    @property
    def pure(self) -> bool:
        """Whether scores are minima only."""
        return bool(self.bend) and not self.total

    def take(self, arms: IntArray) -> "Scores":
        """Return the scores of some arms."""
        return Scores(self.values[arms], self.bend, self.total, self.sizes)

    def table(self, weights: FloatArray) -> FloatArray:
        """Return the scores (K, n) for weights (M, n)."""
        if not self.bend:
            return np.asarray(self.values @ weights)
        least = np.multiply.outer(self.values[:, 0], weights[0])
        other = np.empty_like(least)
        for m in range(1, len(weights)):
            np.multiply(self.values[:, m, None], weights[m], out=other)
            np.minimum(least, other, out=least)
        if self.total:
            np.matmul(self.total * self.values, weights, out=other)
            least += other
        return np.asarray(least)

    @property
    def near(self) -> FloatArray:
        """The values (K, M) as few digits give them best: linear scores may be shifted."""
        return self.values if self.bend else self.values - self.values.max(axis=0)

    @property
    def terms(self) -> FloatArray:
        """What rounding of a sum of :attr:`near` goes by, (M,), next to the score."""
        if not self.bend:
            return np.asarray(np.ptp(self.values, axis=0))
        return np.asarray(self.total * np.abs(self.values).max(axis=0))

    def rows(self, weights: FloatArray) -> FloatArray:
        """Return the scores (n, K) for weights (2, n) of two objectives."""
        if not self.bend:
            return np.asarray(weights.T @ self.values.T)
        # The lower of two lines: with the minimum at the first, or at the second objective.
        parts = self.total + self.bend * np.eye(2)
        first, second = (weights.T @ (part * self.values).T for part in parts)
        return np.asarray(np.minimum(first, second))

    def each(self, weights: FloatArray, arms: IntArray) -> FloatArray:
        """Return the score (n,) of one arm for each of the weights (M, n)."""
        terms = weights.T * self.values.take(arms, axis=0)
        total = terms @ np.ones(terms.shape[1])  # faster than sums and minima along a short axis
        if not self.bend:
            return np.asarray(total)
        while terms.shape[1] > 1:
            half = (terms.shape[1] + 1) // 2
            terms = np.minimum(terms[:, :half], terms[:, -half:])
        return np.asarray(terms[:, 0] + self.total * total)

    def slack(self, weights: FloatArray) -> FloatArray:
        """Return the difference up to which scores are equal for weights (M, n), (n,)."""
        return np.asarray(SLACK * (self.bend + self.total) * (self.sizes @ np.abs(weights)))

    def tolerance(self, weights: FloatArray, level: FloatArray) -> FloatArray:
        """Return that for scores near a level (n,): minima with tiny weights may be below it."""
        slack = self.slack(weights)
        if self.pure:
            return np.minimum(slack, _TINY * np.abs(level))
        return slack


def shares(scores: FloatArray, slack: FloatArray) -> FloatArray:
    """Return the parts (K,) of n columns that arms with scores (K, n) win; ties are shared."""
    arms, points = scores.shape
    tied = scores >= scores.max(axis=0) - slack
    many = np.count_nonzero(tied)
    if many > 4 * points:
        count = tied.sum(axis=0)
        return np.asarray(tied @ (1 / count) / points)
    arm, point = np.divmod(np.flatnonzero(tied), points)
    if many == points:
        return np.asarray(np.bincount(arm, minlength=arms) / points)
    count = np.bincount(point, minlength=points)
    return np.asarray(np.bincount(arm, 1 / count[point], minlength=arms) / points)

"""The result of an evaluation: values, errors, intervals, and whether to trust them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mogro._page import text_table
from mogro._validation import BoolArray, FloatArray, floats, share
from mogro.offpolicy._skewed_intervals import (
    MAX_SKEWNESS,
    joint_level,
    quantiles,
    scores,
    skewed_interval,
)

MIN_EFFECTIVE_SIZE = 200.0  # effective size from which intervals are trusted
MAX_UNSUPPORTED = 0.01  # share of the target without support up to which there is an estimate
_MAX_PROPENSITY_ERROR = 0.5  # relative, up to which the delta method makes sense


@dataclass(frozen=True, eq=False)
class Region:
    """A box that holds the values of all objectives together.

    Attributes
    ----------
    bounds
        Lower and upper bounds, (M, 2).

    Examples
    --------
    >>> region = Region(np.array([[0.1, 0.3], [0.5, 0.9]]))
    >>> region.contains([0.2, 0.6]), region.contains([0.2, 0.4])
    (True, False)
    """

    bounds: FloatArray

    def contains(self, point: ArrayLike) -> bool:
        """Tell whether a point (M,) is inside; never where bounds are unknown (NaN)."""
        values = floats(point, "point", shape=(len(self.bounds),))
        is_inside = (self.bounds[:, 0] <= values) & (values <= self.bounds[:, 1])
        return bool(is_inside.all())


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The value of a target policy for every objective, estimated from a log.

    Without support there is no number: value, error and intervals are NaN where more than 1 % of
    what the target would choose had probability 0 in the log, or none of it was logged. What had
    some probability, and was not drawn, makes intervals wider.

    Attributes
    ----------
    rows
        Number of rows n.
    value
        Estimates, (M,).
    covariance
        Their covariance, (M, M), with the squares of the estimated ``bias``.
    skewness
        Their skewness, (M,): of a row's influence, over the root of n.
    bias
        What uncertain propensities may have done to the estimates, (M,).
    effective_size
        ``(sum w)^2 / sum w^2`` over the rows observed, (M,).
    degrees_of_freedom
        Degrees of freedom of the errors, (M,): ``(sum w^2)^2 / sum w^4`` over these rows, few where
        a few large weights make most of the variance. At most the effective size.
    largest_weight
        The largest weight among these, (M,).
    unsupported
        Share of the target's choices that cannot be judged, (M,): of probability 0 in the log, or
        of arms whose reward was never observed.
    undrawn
        Share of them that was possible, as far as the log tells, but not drawn: arms never logged,
        or a mean weight below 1 by more than chance.
    slack
        By how much these may move the estimates down and up, (M, 2), if their rewards (or, with
        predictions, residuals) are within those that were seen. Intervals and regions have it.
    mean_weight, mean_weight_error
        The mean weight, which is 1 up to chance if the log supports the target.
    propensity_error
        Root mean squared relative standard error of the logged propensities; 0 if exact.
    names
        Of the objectives, where they have some.
    rates
        Which of them are rates, where that is known: all rewards are 0 or 1, and so intervals are
        within 0 and 1.
    notes
        What a reader should know beside that: rows that were left out, and the like.
    """

    rows: int
    value: FloatArray
    covariance: FloatArray
    skewness: FloatArray
    bias: FloatArray
    effective_size: FloatArray
    degrees_of_freedom: FloatArray
    largest_weight: FloatArray
    unsupported: FloatArray
    undrawn: float
    slack: FloatArray
    mean_weight: float
    mean_weight_error: float
    propensity_error: float
    names: tuple[str, ...] = ()
    rates: tuple[bool, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> FloatArray:
        """Standard errors of the estimates, (M,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))  # rounding may be below 0

    @property
    def trusted(self) -> bool:
        """Whether intervals hold what they promise; :attr:`warnings` says why not."""
        return not self.warnings

    @property
    def warnings(self) -> tuple[str, ...]:
        """In words, what is wrong with the estimates; the worst first."""
        return tuple(_warnings(self))

    def interval(self, level: float = 0.95) -> FloatArray:
        """Return confidence intervals (M, 2), one objective at a time.

        Student's t with :attr:`degrees_of_freedom` less one, for the mean, corrected for skewness,
        from the martingale variance. That holds for logs of learning agents too, if they are long
        enough for the propensities to settle or are bounded away from 0.
        """
        return self._skewed(share(level, "level", closed="()"))

    def region(self, level: float = 0.95) -> Region:
        """Return a box for the values of all objectives together."""
        has_estimate = np.isfinite(np.diag(self.covariance))
        covariance = self.covariance[np.ix_(has_estimate, has_estimate)]
        return Region(self._skewed(joint_level(share(level, "level", closed="()"), covariance)))

    def scores(self, bounds: ArrayLike) -> FloatArray:
        """Return by how many standard deviations of a normal law values are above bounds, (M,).

        What :meth:`interval` says, the other way round: ``scipy.stats.norm.cdf`` of a score is the
        confidence that the value is above the bound. NaN where there is no estimate.
        """
        limits = floats(bounds, "bounds", shape=(len(self.value),))
        margins = self.value - limits
        lower, upper = (margins + step for step in self.slack.T)
        margins = np.where(lower > 0, lower, np.where(upper < 0, upper, 0 * margins))
        return scores(margins, self.error, self.skewness, self.degrees_of_freedom)

    def _skewed(self, level: float) -> FloatArray:
        z = quantiles(level, self.degrees_of_freedom)
        bounds = skewed_interval(self.value, self.error, self.skewness, z) + self.slack
        rates = np.array(self.rates or (False,))[:, None]
        return np.where(rates, np.clip(bounds, 0.0, 1.0), bounds)

    def __repr__(self) -> str:
        warnings = self.warnings
        sizes = _format_range(self.effective_size)
        summary = f"{self.rows:,} rows, effective size {sizes}, largest weight "
        summary += _format_range(self.largest_weight)
        lines = [*warnings, *self.notes, summary]
        if not np.isnan(self.value).all():
            names = self.names or tuple(map(str, range(len(self.value))))
            figures = zip(names, self.value, self.error, *self.interval().T, strict=True)
            rows = [
                [name, f"{v:.4g}", f"{e:.2g}", f"[{a:.4g}, {b:.4g}]"]
                for name, v, e, a, b in figures
            ]
            lines.append(text_table(["objective", "value", "error", "95 % interval"], rows))
        return "\n".join(lines)


def _warnings(evaluation: Evaluation) -> list[str]:
    """Return what is wrong with an evaluation; of each objective the first reason that holds."""
    messages, prefix = [], "NOT TO BE TRUSTED"
    has_no_support = evaluation.unsupported > MAX_UNSUPPORTED
    if has_no_support.any():
        messages.append(
            f"NO SUPPORT: {evaluation.unsupported.max():.0%} of what the target would choose "
            f"cannot be judged by the log{_suffix(has_no_support, evaluation)}; "
            "there is no estimate"
        )
    if evaluation.undrawn > 0 and not has_no_support.all():
        messages.append(
            f"{prefix}: {evaluation.undrawn:.0%} of what the target would choose was not drawn; "
            "intervals allow it any reward that was seen"
        )
    is_small = ~has_no_support & ~(evaluation.effective_size >= MIN_EFFECTIVE_SIZE)
    if is_small.any():
        size = np.nan_to_num(evaluation.effective_size[is_small]).min()
        suffix = f"{_suffix(is_small, evaluation)}, {MIN_EFFECTIVE_SIZE:.0f} needed"
        messages.append(f"{prefix}: effective size {size:.0f}{suffix}")
    is_large = ~has_no_support & ~is_small
    is_constant = is_large & ~(evaluation.error > 0)
    if is_constant.any():
        suffix = _suffix(is_constant, evaluation)
        messages.append(f"{prefix}: no variation{suffix}, so nothing is known of the error")
    is_skewed = is_large & ~is_constant & ~(abs(evaluation.skewness) <= MAX_SKEWNESS)
    if is_skewed.any():
        messages.append(f"{prefix}: a few rows decide{_suffix(is_skewed, evaluation)}")
    if evaluation.mean_weight - 1 > 5 * evaluation.mean_weight_error + MAX_UNSUPPORTED:
        messages.append(
            f"{prefix}: the mean weight is {evaluation.mean_weight:.3g}, not 1: "
            "the probabilities cannot be right"
        )
    if evaluation.propensity_error > _MAX_PROPENSITY_ERROR:
        messages.append(
            f"{prefix}: propensities are known up to {evaluation.propensity_error:.0%} only"
        )
    return messages


def _suffix(mask: BoolArray, evaluation: Evaluation) -> str:
    """Name the objectives that a warning is about, unless it is about all."""
    if mask.all():
        return ""
    names = evaluation.names or tuple(map(str, range(len(mask))))
    return " (objective " + ", ".join(names[m] for m in np.flatnonzero(mask)) + ")"


def _format_range(values: FloatArray) -> str:
    low, high = values.min(), values.max()
    return f"{low:.4g}" if low == high or np.isnan(low) else f"{low:.4g} to {high:.4g}"

"""From sums to an evaluation."""

from typing import TYPE_CHECKING

import numpy as np

from mogro._validation import FloatArray
from mogro.offpolicy import _delta
from mogro.offpolicy._delta import Influence, covariance, estimate, influence, sandwich
from mogro.offpolicy._intervals import Calibration
from mogro.offpolicy._moments import BLOCK
from mogro.offpolicy.evaluation import TOLERATED, Evaluation
from mogro.offpolicy.rows import Rows

if TYPE_CHECKING:
    from mogro.offpolicy.sums import Sums

# A mean weight below 1 is no chance if it is so by this many standard errors and, for large weights
# may happen to be missing, this many times the part of the largest one (Bernstein's bound).
_CHANCE, _MISSED = 5.0, 10.0


def conclude(sums: "Sums") -> Evaluation:
    """Return what the rows so far say."""
    moments = sums.moments
    value, found = _estimated(sums)
    noise, drift = _noise_parts(sums, found)
    capped, doubt = _cap_bias(sums, found, value)
    size, freedom, weight, weight_error = _weights(sums)
    unsupported = _unsupported(sums, weight, weight_error)
    replicates = _replicated(sums, value) if sums.settings.replicates else None
    gone = np.where((unsupported > TOLERATED) | (_observed(sums) == 0), np.nan, 0.0)
    spread = covariance(moments, found) + noise
    spread = spread + np.outer(capped, capped) + np.outer(drift, drift)
    squares = np.diag(spread) + gone
    return Evaluation(
        rows=len(sums),
        value=value + gone,
        covariance=spread + doubt + gone[:, None] + gone,
        squared_error=squares,
        skewness=_delta.skewness(moments, found, sums.layout),
        bias=abs(capped) + abs(drift),
        effective_size=size,
        freedom=freedom,
        largest_weight=sums.largest.copy(),
        unsupported=unsupported,
        mean_weight=weight,
        mean_weight_error=weight_error,
        propensity_error=float(np.sqrt(sums.noise_squares / len(sums))),
        replicates=replicates,
        calibration=_calibration(sums),
    )


def influences(sums: "Sums", rows: Rows) -> FloatArray:
    """Return how much each of some rows moves the estimate, (n, M)."""
    moments, layout = sums.moments, sums.layout
    _, found = _estimated(sums)
    result = np.empty((len(rows), sums.settings.objectives))
    for begin in range(0, len(rows), BLOCK):
        part = slice(begin, begin + BLOCK)
        columns = layout.fill(rows, part, sums.settings.cap).T
        groups = np.zeros(len(columns), dtype=np.intp)
        if rows.arms is not None and sums.settings.groups > 1:
            groups = rows.arms[part]
        apart = columns - moments.means[groups]
        if len(moments.counts) == 1:
            moved = apart @ found.coefficients[0]
        else:
            moved = np.einsum("np,npm->nm", apart, found.coefficients[groups])
        result[part] = found.means[groups] + moved
    return result


def _estimated(sums: "Sums", *, capped: bool = True) -> tuple[FloatArray, Influence]:
    """Return the estimate (M,), and how rows move it."""
    counts, means, normalised = (
        sums.moments.counts,
        sums.moments.means,
        sums.settings.self_normalised,
    )
    found = influence(counts, means, sums.layout, normalised=normalised, capped=capped)
    parts = estimate(counts, means, sums.layout, normalised=normalised, capped=capped)
    return parts.value, found


def _noise_parts(sums: "Sums", found: Influence) -> tuple[FloatArray, FloatArray]:
    """Return what errors of propensities add: covariance (M, M) and bias (M,).

    A weight with relative error c in its propensity has variance (w c)^2 and is too large by
    w c^2 on average. Columns that do not depend on the weight have no part in it.
    """
    by_weight = found.coefficients.copy()
    for places in (sums.layout.seen, sums.layout.baseline):
        if places is not None:
            by_weight[:, places] = 0
    n = len(sums)
    spread = sandwich(by_weight, sums.noise)
    return spread / n**2, np.einsum("gpm,gp->m", by_weight, sums.noise_bias) / n


def _cap_bias(sums: "Sums", found: Influence, value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the bias (M,) of capping, and in what doubt that is (M, M).

    The square of the bias is that of the change, less its variance. The bias is known no better
    than the estimate without a cap, and neither is what predictions, fitted to the same log, have
    wrong: an interval has to count the doubt, or it is a wish.
    """
    if sums.settings.cap is None:
        return np.zeros_like(value), np.zeros((len(value), len(value)))
    whole, other = _estimated(sums, capped=False)
    change = Influence(found.means - other.means, found.coefficients - other.coefficients)
    doubt = covariance(sums.moments, change)
    square = np.maximum((value - whole) ** 2 - np.nan_to_num(np.diag(doubt)), 0)
    return np.sign(value - whole) * np.sqrt(square), doubt


def _observed(sums: "Sums") -> FloatArray:
    counts, seen = sums.moments.counts, sums.layout.seen
    if seen is None:
        return np.full(sums.settings.objectives, counts.sum())
    return np.asarray(counts @ sums.moments.means[:, seen])


def _weights(sums: "Sums") -> tuple[FloatArray, FloatArray, float, float]:
    """Return effective sizes and degrees of freedom (M,), and the mean weight with its error.

    A sum of squares ``w^2 e^2`` of normal e, as the variance is, has the mean and the variance of
    one with ``(sum w^2)^2 / sum w^4`` degrees of freedom (Satterthwaite 1946). They are never more
    than the effective size (by Hoelder's inequality).
    """
    moments, places = sums.moments, sums.layout.weight
    counts = moments.counts[:, None]
    total = (counts * moments.means[:, places]).sum(axis=0)
    squares = (moments.scatter[:, places, places] + counts * moments.means[:, places] ** 2).sum(
        axis=0
    )
    sizes = np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)
    fourths = sums.fourths
    freedom = np.divide(squares**2, fourths, out=np.zeros_like(total), where=fourths > 0)
    n = counts.sum()
    mean = float((counts[:, 0] * moments.means[:, 0]).sum() / n)
    deviations = moments.scatter[:, 0, 0] + counts[:, 0] * (moments.means[:, 0] - mean) ** 2
    spread = float(deviations.sum())
    error = np.sqrt(spread / (n * (n - 1))) if n > 1 else np.inf
    return sizes, freedom, mean, float(error)


def _unsupported(sums: "Sums", mean: float, error: float) -> FloatArray:
    """Return the share of the target's choices that the log cannot speak for, (M,)."""
    n = len(sums)
    known = sums.lost / n
    if sums.pulls.any():
        known += float(sums.mass[sums.pulls == 0].sum()) / n
    short = 1 - mean
    chance = _CHANCE * error + _MISSED * float(sums.largest.max()) / n
    if not (mean == 0 or short > chance):
        short = 0.0
    hidden = np.zeros(sums.settings.objectives)
    if sums.layout.seen is not None:
        moments = sums.moments
        never = moments.means[:, sums.layout.seen] == 0
        hidden = (moments.counts * moments.means[:, 0]) @ never / n
    return np.minimum(max(known, short) + hidden, 1.0)


def _replicated(sums: "Sums", value: FloatArray) -> FloatArray:
    """Return Studentised deviations (R, M) of replicates that drew anything."""
    drawn = sums.replicates.counts.sum(axis=-1) > 0
    counts, means = sums.replicates.counts[drawn], sums.replicates.means[drawn]
    normalised, layout = sums.settings.self_normalised, sums.layout
    values = estimate(counts, means, layout, normalised=normalised).value
    found = influence(counts, means, layout, normalised=normalised)
    scatter = sums.replicates.scatter(layout.sets)[drawn]
    errors = np.sqrt(np.maximum(_delta.variances(counts, scatter, found, layout), 0))
    return np.divide(
        values - value, errors, out=np.zeros_like(values), where=errors > 1e-9 * abs(values)
    )


def _calibration(sums: "Sums") -> Calibration | None:
    settings, moments = sums.settings, sums.moments
    if settings.predictions or settings.cap is not None or settings.missing:
        return None
    places = sums.layout.sets
    scatter = moments.scatter[0][places[:, :, None], places[:, None, :]]
    return Calibration(
        float(moments.counts[0]), moments.means[0][places], scatter, moments.thirds[0]
    )

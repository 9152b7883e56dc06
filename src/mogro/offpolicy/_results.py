"""From sums to an evaluation."""

from typing import TYPE_CHECKING

import numpy as np

from mogro._validation import FloatArray
from mogro.offpolicy._delta import Linearisation, covariance, linearise, sandwich, skewness
from mogro.offpolicy._intervals import Calibration
from mogro.offpolicy._moments import BLOCK
from mogro.offpolicy.evaluation import MAX_UNSUPPORTED, Evaluation
from mogro.offpolicy.rows import Rows

if TYPE_CHECKING:
    from mogro.offpolicy.sums import Sums

# A mean weight below 1 is no chance if it is so by this many standard errors and, for large weights
# may happen to be missing, this many times the part of the largest one (Bernstein's bound).
_CHANCE, _MISSED = 5.0, 10.0


def evaluate_sums(sums: "Sums") -> Evaluation:
    """Return what the rows so far say."""
    moments, settings = sums.moments, sums.settings
    linear = linearise(moments, sums.layout, normalised=settings.self_normalised)
    noise, bias = _noise_parts(sums, linear)
    size, degrees_of_freedom, weight, weight_error = _weights(sums)
    unsupported, undrawn = _support(sums, weight, weight_error)
    unknown = np.where((unsupported > MAX_UNSUPPORTED) | (_observed(sums) == 0), np.nan, 0.0)
    spread = covariance(moments, linear) + noise + np.outer(bias, bias)
    return Evaluation(
        rows=len(sums),
        value=linear.value + unknown,
        covariance=spread + unknown[:, None] + unknown,
        skewness=skewness(moments, linear, sums.layout),
        bias=abs(bias),
        effective_size=size,
        degrees_of_freedom=degrees_of_freedom,
        largest_weight=sums.largest.copy(),
        unsupported=unsupported,
        undrawn=undrawn,
        slack=_slack(sums, linear, undrawn),
        mean_weight=weight,
        mean_weight_error=weight_error,
        propensity_error=float(np.sqrt(sums.noise_squares / len(sums))),
        calibration=_calibration(sums),
    )


def influences(sums: "Sums", rows: Rows) -> FloatArray:
    """Return how much each of some rows moves the estimate, (n, M)."""
    moments, layout = sums.moments, sums.layout
    linear = linearise(moments, layout, normalised=sums.settings.self_normalised)
    result = np.empty((len(rows), sums.settings.objectives))
    for begin in range(0, len(rows), BLOCK):
        part = slice(begin, begin + BLOCK)
        columns = layout.fill(rows, part).T
        groups = np.zeros(len(columns), dtype=np.intp)
        if rows.arms is not None and sums.settings.groups > 1:
            groups = rows.arms[part]
        apart = columns - moments.means[groups]
        if len(moments.counts) == 1:
            steps = apart @ linear.coefficients[0]
        else:
            steps = np.einsum("np,npm->nm", apart, linear.coefficients[groups])
        result[part] = linear.level[groups] + steps
    return result


def _noise_parts(sums: "Sums", linear: Linearisation) -> tuple[FloatArray, FloatArray]:
    """Return what errors of propensities add: covariance (M, M) and bias (M,).

    A weight with relative error c in its propensity has variance (w c)^2 and is too large by
    w c^2 on average. Columns that do not depend on the weight have no part in it.
    """
    by_weight = linear.coefficients.copy()
    for places in (sums.layout.seen, sums.layout.baseline):
        if places is not None:
            by_weight[:, places] = 0
    n = len(sums)
    spread = sandwich(by_weight, sums.noise)
    return spread / n**2, np.einsum("gpm,gp->m", by_weight, sums.noise_bias) / n


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
    degrees_of_freedom = np.divide(squares**2, fourths, out=np.zeros_like(total), where=fourths > 0)
    n = counts.sum()
    mean = float((counts[:, 0] * moments.means[:, 0]).sum() / n)
    deviations = moments.scatter[:, 0, 0] + counts[:, 0] * (moments.means[:, 0] - mean) ** 2
    spread = float(deviations.sum())
    error = np.sqrt(spread / (n * (n - 1))) if n > 1 else np.inf
    return sizes, degrees_of_freedom, mean, float(error)


def _support(sums: "Sums", mean: float, error: float) -> tuple[FloatArray, float]:
    """Return the shares of the target's choices that cannot be judged, (M,), and were not drawn.

    A choice of probability 0 in the log cannot be judged, nor one whose reward was never observed.
    What else is missing from the mean weight was possible, as far as the log tells, and not drawn.
    """
    n = len(sums)
    impossible = sums.unsupported / n if mean > 0 else 1.0
    short = 1 - mean
    if short <= _CHANCE * error + _MISSED * float(sums.largest.max()) / n:
        short = 0.0
    if sums.pulls.any():
        short = max(short, float(sums.mass[sums.pulls == 0].sum()) / n)
    unsupported = np.full(sums.settings.objectives, impossible)
    if sums.layout.seen is not None:
        moments = sums.moments
        never = moments.means[:, sums.layout.seen] == 0
        unsupported += (moments.counts * moments.means[:, 0]) @ never / n
    return np.minimum(unsupported, 1.0), max(short - impossible, 0.0)


def _slack(sums: "Sums", linear: Linearisation, undrawn: float) -> FloatArray:
    """Return by how much choices that were not drawn may move the estimate down and up, (M, 2).

    Their residuals are supposed to be within those that were observed. In a self-normalised
    estimate they count as the others do on average, otherwise as 0.
    """
    if not undrawn:
        return np.zeros((len(linear.value), 2))
    counted = linear.ratio if sums.settings.self_normalised else np.zeros_like(linear.ratio)
    steps = np.stack([sums.lowest - counted, sums.highest - counted], axis=-1)
    return np.asarray(undrawn * np.clip(np.nan_to_num(steps), [-np.inf, 0.0], [0.0, np.inf]))


def _calibration(sums: "Sums") -> Calibration | None:
    settings, moments = sums.settings, sums.moments
    if settings.predictions or settings.missing:
        return None
    places = sums.layout.sets
    scatter = moments.scatter[0][places[:, :, None], places[:, None, :]]
    return Calibration(
        float(moments.counts[0]), moments.means[0][places], scatter, moments.thirds[0]
    )

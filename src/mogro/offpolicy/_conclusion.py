"""From sums to an evaluation."""

import numpy as np

from mogro._validation import FloatArray
from mogro.offpolicy._delta import (
    Influence,
    covariance,
    estimate,
    influence,
    skewness,
    variances,
)
from mogro.offpolicy._intervals import Calibration
from mogro.offpolicy._moments import BLOCK
from mogro.offpolicy._state import State
from mogro.offpolicy.evaluation import TOLERATED, Evaluation
from mogro.offpolicy.rows import Rows

# A mean weight below 1 is no chance if it is so by this many standard errors and, for large weights
# may happen to be missing, this many times the part of the largest one (Bernstein's bound).
_CHANCE, _MISSED = 5.0, 10.0


def conclude(state: State) -> Evaluation:
    """Return what the rows so far say."""
    moments, layout, normalised = state.moments, state.layout, state.settings.self_normalised
    found = influence(moments.counts, moments.means, layout, normalised=normalised)
    value = estimate(moments.counts, moments.means, layout, normalised=normalised).value
    noise, drift = _noise_parts(state, found)
    capped, doubt = _cap_bias(state, found, value)
    size, freedom, weight, weight_error = _weights(state)
    unsupported = _unsupported(state, weight, weight_error)
    replicates = _replicated(state, value) if state.settings.replicates else None
    gone = np.where((unsupported > TOLERATED) | (_observed(state) == 0), np.nan, 0.0)
    spread = covariance(moments, found) + noise
    spread = spread + np.outer(capped, capped) + np.outer(drift, drift)
    squares = np.diag(spread) + gone
    return Evaluation(
        rows=state.rows,
        value=value + gone,
        covariance=spread + doubt + gone[:, None] + gone,
        squared_error=squares,
        skewness=skewness(moments, found, layout),
        bias=abs(capped) + abs(drift),
        effective_size=size,
        freedom=freedom,
        largest_weight=state.largest.copy(),
        unsupported=unsupported,
        mean_weight=weight,
        mean_weight_error=weight_error,
        propensity_error=float(np.sqrt(state.noise_squares / state.rows)),
        replicates=replicates,
        calibration=_calibration(state),
    )


def influences(state: State, rows: Rows) -> FloatArray:
    """Return how much each of some rows moves the estimate, (n, M)."""
    moments, layout = state.moments, state.layout
    normalised = state.settings.self_normalised
    found = influence(moments.counts, moments.means, layout, normalised=normalised)
    result = np.empty((len(rows), state.settings.objectives))
    for begin in range(0, len(rows), BLOCK):
        part = slice(begin, begin + BLOCK)
        columns = layout.fill(rows, part, state.settings.cap).T
        groups = np.zeros(len(columns), dtype=np.intp)
        if rows.arms is not None and state.settings.groups > 1:
            groups = rows.arms[part]
        apart = columns - moments.means[groups]
        if len(moments.counts) == 1:
            moved = apart @ found.coefficients[0]
        else:
            moved = np.einsum("np,npm->nm", apart, found.coefficients[groups])
        result[part] = found.means[groups] + moved
    return result


def _noise_parts(state: State, found: Influence) -> tuple[FloatArray, FloatArray]:
    """Return what errors of propensities add: covariance (M, M) and bias (M,).

    A weight with relative error c in its propensity has variance (w c)^2 and is too large by
    w c^2 on average. Columns that do not depend on the weight have no part in it.
    """
    by_weight = found.coefficients.copy()
    for places in (state.layout.seen, state.layout.baseline):
        if places is not None:
            by_weight[:, places] = 0
    n = state.rows
    spread = np.einsum("gpm,gpq,gqn->mn", by_weight, state.noise, by_weight, optimize=True)
    return spread / n**2, np.einsum("gpm,gp->m", by_weight, state.noise_bias) / n


def _cap_bias(state: State, found: Influence, value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the bias (M,) of capping, and in what doubt that is (M, M).

    The square of the bias is that of the change, less its variance. The bias is known no better
    than the estimate without a cap, and neither is what predictions, fitted to the same log, have
    wrong: an interval has to count the doubt, or it is a wish.
    """
    if state.settings.cap is None:
        return np.zeros_like(value), np.zeros((len(value), len(value)))
    moments, layout = state.moments, state.layout
    normalised = state.settings.self_normalised
    whole = estimate(
        moments.counts, moments.means, layout, normalised=normalised, capped=False
    ).value
    other = influence(moments.counts, moments.means, layout, normalised=normalised, capped=False)
    change = Influence(found.means - other.means, found.coefficients - other.coefficients)
    doubt = covariance(moments, change)
    square = np.maximum((value - whole) ** 2 - np.nan_to_num(np.diag(doubt)), 0)
    return np.sign(value - whole) * np.sqrt(square), doubt


def _observed(state: State) -> FloatArray:
    counts, seen = state.moments.counts, state.layout.seen
    if seen is None:
        return np.full(state.settings.objectives, counts.sum())
    return np.asarray(counts @ state.moments.means[:, seen])


def _weights(state: State) -> tuple[FloatArray, FloatArray, float, float]:
    """Return effective sizes and degrees of freedom (M,), and the mean weight with its error.

    A sum of squares ``w^2 e^2`` of normal e, as the variance is, has the mean and the variance of
    one with ``(sum w^2)^2 / sum w^4`` degrees of freedom (Satterthwaite 1946). They are never more
    than the effective size (by Hoelder's inequality).
    """
    moments, places = state.moments, state.layout.weight
    counts = moments.counts[:, None]
    sums = (counts * moments.means[:, places]).sum(axis=0)
    squares = (moments.scatter[:, places, places] + counts * moments.means[:, places] ** 2).sum(
        axis=0
    )
    sizes = np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 0)
    fourths = state.fourths
    freedom = np.divide(squares**2, fourths, out=np.zeros_like(sums), where=fourths > 0)
    n = counts.sum()
    mean = float((counts[:, 0] * moments.means[:, 0]).sum() / n)
    deviations = moments.scatter[:, 0, 0] + counts[:, 0] * (moments.means[:, 0] - mean) ** 2
    spread = float(deviations.sum())
    error = np.sqrt(spread / (n * (n - 1))) if n > 1 else np.inf
    return sizes, freedom, mean, float(error)


def _unsupported(state: State, mean: float, error: float) -> FloatArray:
    """Return the share of the target's choices that the log cannot speak for, (M,)."""
    n = state.rows
    known = state.lost / n
    if state.pulls.any():
        known += float(state.mass[state.pulls == 0].sum()) / n
    short = 1 - mean
    chance = _CHANCE * error + _MISSED * float(state.largest.max()) / n
    if not (mean == 0 or short > chance):
        short = 0.0
    hidden = np.zeros(state.settings.objectives)
    if state.layout.seen is not None:
        moments = state.moments
        never = moments.means[:, state.layout.seen] == 0
        hidden = (moments.counts * moments.means[:, 0]) @ never / n
    return np.minimum(max(known, short) + hidden, 1.0)


def _replicated(state: State, value: FloatArray) -> FloatArray:
    """Return Studentised deviations (R, M) of replicates that drew anything."""
    drawn = state.replicates.counts.sum(axis=-1) > 0
    counts, means = state.replicates.counts[drawn], state.replicates.means[drawn]
    normalised, layout = state.settings.self_normalised, state.layout
    values = estimate(counts, means, layout, normalised=normalised).value
    found = influence(counts, means, layout, normalised=normalised)
    scatter = state.replicates.scatter(layout.sets)[drawn]
    errors = np.sqrt(np.maximum(variances(counts, scatter, found, layout), 0))
    return np.divide(
        values - value, errors, out=np.zeros_like(values), where=errors > 1e-9 * abs(values)
    )


def _calibration(state: State) -> Calibration | None:
    settings, moments = state.settings, state.moments
    if settings.predictions or settings.cap is not None or settings.missing:
        return None
    places = state.layout.sets
    scatter = moments.scatter[0][places[:, :, None], places[:, None, :]]
    return Calibration(
        float(moments.counts[0]), moments.means[0][places], scatter, moments.thirds[0]
    )

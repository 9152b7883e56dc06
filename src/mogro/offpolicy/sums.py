"""Sums over a log, in one pass and constant memory; chunks may come in any order, anywhere."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, count, generator
from mogro.offpolicy._columns import Cap, Layout
from mogro.offpolicy._delta import (
    Influence,
    covariance,
    estimate,
    influence,
    skewness,
    variances,
)
from mogro.offpolicy._intervals import Calibration
from mogro.offpolicy._moments import BLOCK, Moments
from mogro.offpolicy._resampling import STEP, Replicates
from mogro.offpolicy.evaluation import TOLERATED, Evaluation
from mogro.offpolicy.rows import Rows

# A mean weight below 1 is no chance if it is so by this many standard errors and, for large weights
# may happen to be missing, this many times the part of the largest one (Bernstein's bound).
_CHANCE, _MISSED = 5.0, 10.0


@dataclass(frozen=True)
class _Settings:
    objectives: int
    self_normalised: bool
    predictions: bool
    cap: Cap | None
    missing: bool
    arm_count: int | None
    replicates: int
    key: int


class Sums:
    """All that an estimate needs to know about a log, and no more.

    The size does not depend on the number of rows. Sums of parts of a log merge into sums of the
    whole; chunks and their order change nothing but the rounding.

    Parameters
    ----------
    objectives
        M.
    self_normalised
        Divide by the sum of the weights, not by the number of rows: snips.
    predictions
        Rows come with predictions: doubly robust.
    cap
        What is done to large weights: :class:`Clip` or :class:`Switch`.
    missing
        Rewards may be missing. Each one observed then stands for others of its arm (if
        ``arm_count`` is given) or of the log.
    arm_count
        Number of arms K; then rows have ``arms``.
    replicates, rng
        Number of Poisson-bootstrap replicates (rounded up to a multiple of 16), and where their
        key comes from. How often a row is drawn follows from the key and its number in the log.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> from mogro.offpolicy import weighted_rows
    >>> sums = Sums(1, self_normalised=True)
    >>> for _ in range(3):
    ...     sums.add(weighted_rows(rng.random((1000, 1)), np.full(1000, 0.5), rng.random(1000)))
    >>> sums.result().rows
    3000
    """

    def __init__(
        self,
        objectives: int,
        *,
        self_normalised: bool = False,
        predictions: bool = False,
        cap: Cap | None = None,
        missing: bool = False,
        arm_count: int | None = None,
        replicates: int = 0,
        rng: np.random.Generator | None = None,
    ) -> None:
        wanted = -(-count(replicates, "replicates", minimum=0) // STEP) * STEP
        key = int(generator(rng, "rng").integers(2**63)) if wanted else 0
        self._settings = _Settings(
            count(objectives, "objectives"),
            bool(self_normalised),
            bool(predictions),
            cap,
            bool(missing),
            None if arm_count is None else count(arm_count, "arm_count"),
            wanted,
            key,
        )
        self._start()

    def _start(self) -> None:
        settings = self._settings
        self._layout = layout = Layout.arrange(
            settings.objectives,
            missing=settings.missing,
            cap=settings.cap is not None,
            baseline=settings.predictions,
        )
        groups = (settings.arm_count or 1) if settings.missing else 1
        self._moments = Moments.zero(groups, layout.size, layout.sets)
        self._noise: FloatArray = np.zeros((groups, layout.size, layout.size))
        self._noise_bias: FloatArray = np.zeros((groups, layout.size))
        self._noise_squares = 0.0
        self._largest: FloatArray = np.zeros(settings.objectives)
        self._lost = 0.0
        self._mass: FloatArray = np.zeros(settings.arm_count or 0)
        self._pulls: NDArray[np.int64] = np.zeros(settings.arm_count or 0, dtype=np.int64)
        self._spans: list[tuple[int, int]] = []
        self._replicates = Replicates(
            settings.replicates, groups, layout.size, layout.sets, settings.key
        )

    def fresh(self) -> Self:
        """Return empty sums with the same settings and key, for another worker."""
        twin = object.__new__(type(self))
        twin._settings = self._settings
        twin._start()
        return twin

    def __len__(self) -> int:
        """Return the number of rows seen."""
        return int(self._moments.counts.sum())

    def add(self, rows: Rows, *, first: int | None = None) -> None:
        """Add rows, the first of which has this number in the log.

        Without ``first`` they follow those added before. Numbers matter to the bootstrap only,
        where no row may be counted twice.
        """
        self._check(rows)
        start = self._end() if first is None else count(first, "first", minimum=0)
        if self._settings.replicates:
            self._spans = _joined(self._spans, [(start, start + len(rows))])
        arms = rows.arms if self._settings.missing and self._settings.arm_count else None
        for begin in range(0, len(rows), BLOCK):
            part = slice(begin, begin + BLOCK)
            columns = self._layout.fill(rows, part, self._settings.cap)
            groups = None if arms is None else arms[part]
            self._moments.add(columns, groups)
            if rows.noise is not None:
                self._add_noise(columns, rows.noise[part], groups)
            if self._settings.replicates:
                self._replicates.add(columns, groups, start + begin)
        self._add_totals(rows)

    def _check(self, rows: Rows) -> None:
        settings = self._settings
        if rows.residuals.shape[1] != settings.objectives:
            raise ValueError(
                f"rows: expected {settings.objectives} objectives, got {rows.residuals.shape[1]}"
            )
        if (rows.baseline is not None) != settings.predictions:
            expected = "with" if settings.predictions else "without"
            raise ValueError(f"rows: expected rows {expected} predictions")
        if rows.observed is not None and not settings.missing:
            raise ValueError("rows: expected complete rewards, or sums made with missing=True")
        if settings.arm_count is None:
            return
        if rows.arms is None:
            raise ValueError(f"rows: expected arms, one of {settings.arm_count} for each row")
        if rows.arms.max() >= settings.arm_count:
            raise ValueError(
                f"rows: expected arms from 0 to {settings.arm_count - 1}, got {rows.arms.max()}"
            )
        if rows.mass is not None and len(rows.mass) != settings.arm_count:
            raise ValueError(
                f"rows: expected probabilities of {settings.arm_count} arms, got {len(rows.mass)}"
            )

    def _end(self) -> int:
        return self._spans[-1][1] if self._spans else 0

    def _add_noise(
        self, columns: FloatArray, noise: FloatArray, groups: NDArray[np.intp] | None
    ) -> None:
        scaled = columns * noise
        where = np.zeros(len(noise), dtype=np.intp) if groups is None else groups
        for group in np.unique(where):
            own = scaled[:, where == group]
            self._noise[group] += own @ own.T
            self._noise_bias[group] += own @ noise[where == group]
        self._noise_squares += float(noise @ noise)

    def _add_totals(self, rows: Rows) -> None:
        self._lost += rows.lost
        seen = rows.weights if rows.observed is None else rows.weights[:, None] * rows.observed
        self._largest = np.maximum(self._largest, seen.max(axis=0))
        if self._settings.arm_count is not None and rows.mass is not None and rows.arms is not None:
            self._mass = self._mass + rows.mass
            self._pulls += np.bincount(rows.arms, minlength=len(self._mass))

    def merge(self, other: "Sums") -> None:
        """Add what other sums with the same settings have seen of other rows."""
        if other._settings != self._settings:
            raise ValueError("other: expected sums with the same settings; fresh() makes them")
        self._spans = _joined(self._spans, other._spans)
        self._moments.merge(other._moments)
        self._noise = self._noise + other._noise
        self._noise_bias = self._noise_bias + other._noise_bias
        self._noise_squares += other._noise_squares
        self._largest = np.maximum(self._largest, other._largest)
        self._lost += other._lost
        self._mass = self._mass + other._mass
        self._pulls += other._pulls
        self._replicates.sums += other._replicates.sums

    def result(self) -> Evaluation:
        """Return what the rows so far say."""
        if not len(self):
            raise ValueError("rows: expected at least one, got none")
        moments, layout = self._moments, self._layout
        normalised = self._settings.self_normalised
        found = influence(moments.counts, moments.means, layout, normalised=normalised)
        value = estimate(moments.counts, moments.means, layout, normalised=normalised).value
        spread = covariance(moments, found)
        noise, drift = self._noise_parts(found)
        capped = self._cap_bias(found, value)
        size, weight, weight_error = self._weights()
        unsupported = self._unsupported(weight, weight_error)
        replicates = self._replicated(value) if self._settings.replicates else None
        unknown = (unsupported > TOLERATED) | (self._observed() == 0)
        value = np.where(unknown, np.nan, value)
        gone = np.where(np.isnan(value), np.nan, 0.0)
        return Evaluation(
            rows=len(self),
            value=value,
            covariance=spread
            + noise
            + np.outer(capped, capped)
            + np.outer(drift, drift)
            + gone[:, None]
            + gone,
            skewness=skewness(moments, found, layout),
            bias=abs(capped) + abs(drift),
            effective_size=size,
            largest_weight=self._largest.copy(),
            unsupported=unsupported,
            mean_weight=weight,
            mean_weight_error=weight_error,
            propensity_error=float(np.sqrt(self._noise_squares / len(self))),
            replicates=replicates,
            calibration=self._calibration(),
        )

    def _noise_parts(self, found: Influence) -> tuple[FloatArray, FloatArray]:
        """Return what errors of propensities add: covariance (M, M) and bias (M,).

        A weight with relative error c in its propensity has variance (w c)^2 and is too large by
        w c^2 on average. Columns that do not depend on the weight have no part in it.
        """
        by_weight = found.coefficients.copy()
        for places in (self._layout.seen, self._layout.baseline):
            if places is not None:
                by_weight[:, places] = 0
        n = len(self)
        spread = np.einsum("gpm,gpq,gqn->mn", by_weight, self._noise, by_weight, optimize=True)
        return spread / n**2, np.einsum("gpm,gp->m", by_weight, self._noise_bias) / n

    def _cap_bias(self, found: Influence, value: FloatArray) -> FloatArray:
        """Return the bias (M,) of capping: the square of the change, less its variance."""
        if self._settings.cap is None:
            return np.zeros_like(value)
        moments, layout = self._moments, self._layout
        normalised = self._settings.self_normalised
        whole = estimate(
            moments.counts, moments.means, layout, normalised=normalised, capped=False
        ).value
        other = influence(
            moments.counts, moments.means, layout, normalised=normalised, capped=False
        )
        change = Influence(found.means - other.means, found.coefficients - other.coefficients)
        chance = np.diag(covariance(moments, change))
        square = np.maximum((value - whole) ** 2 - np.nan_to_num(chance), 0)
        return np.asarray(np.sign(value - whole) * np.sqrt(square))

    def _observed(self) -> FloatArray:
        counts, seen = self._moments.counts, self._layout.seen
        if seen is None:
            return np.full(self._settings.objectives, counts.sum())
        return np.asarray(counts @ self._moments.means[:, seen])

    def _weights(self) -> tuple[FloatArray, float, float]:
        """Return effective sizes (M,), and the mean weight of all rows with its error."""
        moments, places = self._moments, self._layout.weight
        counts = moments.counts[:, None]
        sums = (counts * moments.means[:, places]).sum(axis=0)
        squares = (moments.scatter[:, places, places] + counts * moments.means[:, places] ** 2).sum(
            axis=0
        )
        sizes = np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 0)
        n = counts.sum()
        mean = float((counts[:, 0] * moments.means[:, 0]).sum() / n)
        deviations = moments.scatter[:, 0, 0] + counts[:, 0] * (moments.means[:, 0] - mean) ** 2
        spread = float(deviations.sum())
        error = np.sqrt(spread / (n * (n - 1))) if n > 1 else np.inf
        return sizes, mean, float(error)

    def _unsupported(self, mean: float, error: float) -> FloatArray:
        """Return the share of the target's choices that the log cannot speak for, (M,)."""
        n = len(self)
        known = self._lost / n
        if self._pulls.any():
            known += float(self._mass[self._pulls == 0].sum()) / n
        short = 1 - mean
        chance = _CHANCE * error + _MISSED * float(self._largest.max()) / n
        if not (mean == 0 or short > chance):
            short = 0.0
        hidden = np.zeros(self._settings.objectives)
        if self._layout.seen is not None:
            moments = self._moments
            never = moments.means[:, self._layout.seen] == 0
            hidden = (moments.counts * moments.means[:, 0]) @ never / n
        return np.minimum(max(known, short) + hidden, 1.0)

    def _replicated(self, value: FloatArray) -> FloatArray:
        """Return Studentised deviations (R, M) of replicates that drew anything."""
        drawn = self._replicates.counts.sum(axis=-1) > 0
        counts, means = self._replicates.counts[drawn], self._replicates.means[drawn]
        normalised, layout = self._settings.self_normalised, self._layout
        values = estimate(counts, means, layout, normalised=normalised).value
        found = influence(counts, means, layout, normalised=normalised)
        scatter = self._replicates.scatter(layout.sets)[drawn]
        errors = np.sqrt(np.maximum(variances(counts, scatter, found, layout), 0))
        return np.divide(
            values - value, errors, out=np.zeros_like(values), where=errors > 1e-9 * abs(values)
        )

    def _calibration(self) -> Calibration | None:
        settings, moments = self._settings, self._moments
        if settings.predictions or settings.cap is not None or settings.missing:
            return None
        places = self._layout.sets
        scatter = moments.scatter[0][places[:, :, None], places[:, None, :]]
        return Calibration(
            float(moments.counts[0]), moments.means[0][places], scatter, moments.thirds[0]
        )


def _joined(spans: list[tuple[int, int]], more: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of row numbers in order, neighbours joined; refuse rows counted twice."""
    result: list[tuple[int, int]] = []
    for start, stop in sorted([*spans, *more]):
        if result and start < result[-1][1]:
            raise ValueError(f"first: expected numbers of new rows, got row {start} a second time")
        if result and start == result[-1][1]:
            result[-1] = (result[-1][0], stop)
        else:
            result.append((start, stop))
    return result

"""Sums over a log, in one pass and constant memory; chunks may come in any order, anywhere."""

from dataclasses import asdict, dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, count
from mogro.offpolicy._delta_method import (
    Layout,
    Linearisation,
    covariance,
    linearise,
    sandwich,
    skewness,
)
from mogro.offpolicy._moments import BLOCK, Moments
from mogro.offpolicy.result import MAX_UNSUPPORTED, Evaluation
from mogro.offpolicy.rows import EXPONENTS, Rows

# A mean weight below 1 is no chance if it is so by this many standard errors and, for large weights
# may happen to be missing, this many times the part of the largest one (Bernstein's bound).
_CHANCE, _MISSED = 5.0, 10.0


@dataclass(frozen=True)
class SumsSettings:
    """What sums have to have in common to be merged."""

    objectives: int
    self_normalised: bool
    predictions: bool
    missing: bool
    arm_count: int | None

    @property
    def groups(self) -> int:
        """Number of groups of rows: arms if rewards may be missing, else one."""
        return (self.arm_count or 1) if self.missing else 1


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
    missing
        Rewards may be missing. Each one observed then stands for others of its arm (if
        ``arm_count`` is given) or of the log.
    arm_count
        Number of arms K; then rows have ``arms``.

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
        missing: bool = False,
        arm_count: int | None = None,
    ) -> None:
        settings = SumsSettings(
            count(objectives, "objectives"),
            bool(self_normalised),
            bool(predictions),
            bool(missing),
            None if arm_count is None else count(arm_count, "arm_count"),
        )
        groups, arms = settings.groups, settings.arm_count or 0
        self.settings = settings
        self.layout = layout = Layout.arrange(
            objectives, missing=settings.missing, baseline=settings.predictions
        )
        p = layout.size
        self.moments = Moments.zero(groups, p, layout.sets)
        # Products of columns times squared relative errors, and columns times these.
        self.noise: FloatArray = np.zeros((groups, p, p))
        self.noise_bias: FloatArray = np.zeros((groups, p))
        self.noise_squares = 0.0
        self.largest: FloatArray = np.zeros(objectives)  # weights
        self.fourths: FloatArray = np.zeros(objectives)  # sums of their fourth powers
        self.lowest: FloatArray = np.full(objectives, np.inf)  # residuals
        self.highest: FloatArray = np.full(objectives, -np.inf)
        self.unsupported = 0.0  # target probability known to be without support
        self.elsewhere: FloatArray = np.zeros((2, EXPONENTS))  # see Rows
        self.mass: FloatArray = np.zeros(arms)  # target probability of the arms
        self.pulls: NDArray[np.int64] = np.zeros(arms, dtype=np.int64)

    def empty(self) -> Self:
        """Return empty sums with the same settings, for another worker."""
        return type(self)(**asdict(self.settings))

    def __len__(self) -> int:
        """Return the number of rows seen."""
        return int(self.moments.counts.sum())

    def add(self, rows: Rows) -> None:
        """Add rows."""
        self._check(rows)
        arms = rows.arms if self.settings.groups > 1 else None
        for begin in range(0, len(rows), BLOCK):
            part = slice(begin, begin + BLOCK)
            columns = self.layout.fill(rows, part)
            groups = None if arms is None else arms[part]
            self.moments.add(columns, groups)
            weights = columns[0] if self.layout.seen is None else columns[self.layout.weight]
            squares = weights * weights
            self.fourths = self.fourths + np.vecdot(squares, squares)
            if rows.noise is not None:
                self._add_noise(columns, rows.noise[part], groups)
        self._add_totals(rows)

    def _add_noise(
        self, columns: FloatArray, noise: FloatArray, groups: NDArray[np.intp] | None
    ) -> None:
        scaled = columns * noise
        where = np.zeros(len(noise), dtype=np.intp) if groups is None else groups
        for group in np.unique(where):
            inside = scaled[:, where == group]
            self.noise[group] += inside @ inside.T
            self.noise_bias[group] += inside @ noise[where == group]
        self.noise_squares += float(noise @ noise)

    def _add_totals(self, rows: Rows) -> None:
        self.unsupported += rows.unsupported
        if rows.elsewhere is not None:
            self.elsewhere = self.elsewhere + rows.elsewhere
        weights, low, high = rows.weights[:, None], rows.residuals, rows.residuals
        if rows.observed is not None:
            weights = weights * rows.observed
            low, high = (np.where(rows.observed, low, end) for end in (np.inf, -np.inf))
        self.largest = np.maximum(self.largest, weights.max(axis=0))
        self.lowest = np.minimum(self.lowest, low.min(axis=0))
        self.highest = np.maximum(self.highest, high.max(axis=0))
        if len(self.mass) and rows.mass is not None and rows.arms is not None:
            self.mass = self.mass + rows.mass
            self.pulls += np.bincount(rows.arms, minlength=len(self.mass))

    def _check(self, rows: Rows) -> None:
        settings = self.settings
        if rows.residuals.shape[1] != settings.objectives:
            raise ValueError(
                f"rows: expected {settings.objectives} objectives, got {rows.residuals.shape[1]}"
            )
        if (rows.baseline is not None) != settings.predictions:
            expected, got = ("", "no ") if settings.predictions else ("no ", "")
            raise ValueError(f"rows: expected {expected}predictions, got {got}predictions")
        if rows.observed is not None and not settings.missing:
            raise ValueError(
                "rows: expected complete rewards, got missing ones; Sums(missing=True) takes them"
            )
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

    def merge(self, other: "Sums") -> None:
        """Add what other sums with the same settings have seen of other rows."""
        if other.settings != self.settings:
            raise ValueError(
                "other: expected sums with the same settings, got others; empty() makes them"
            )
        self.moments.merge(other.moments)
        self.noise += other.noise
        self.noise_bias += other.noise_bias
        self.noise_squares += other.noise_squares
        self.largest = np.maximum(self.largest, other.largest)
        self.fourths = self.fourths + other.fourths
        self.lowest = np.minimum(self.lowest, other.lowest)
        self.highest = np.maximum(self.highest, other.highest)
        self.unsupported += other.unsupported
        self.elsewhere = self.elsewhere + other.elsewhere
        self.mass = self.mass + other.mass
        self.pulls += other.pulls

    def influences(self, rows: Rows) -> FloatArray:
        """Return how much each of some rows, added before, moves the estimate: (n, M), over n.

        Over all rows they sum to 0, and their squares to the variance of the estimate times the
        square of the number of rows, with the products of two targets to their covariance.
        """
        self._check(rows)
        moments, layout = self.moments, self.layout
        linear = linearise(moments, layout, normalised=self.settings.self_normalised)
        result = np.empty((len(rows), self.settings.objectives))
        for begin in range(0, len(rows), BLOCK):
            part = slice(begin, begin + BLOCK)
            columns = layout.fill(rows, part).T
            groups = np.zeros(len(columns), dtype=np.intp)
            if rows.arms is not None and self.settings.groups > 1:
                groups = rows.arms[part]
            apart = columns - moments.means[groups]
            if len(moments.counts) == 1:
                steps = apart @ linear.coefficients[0]
            else:
                steps = np.einsum("np,npm->nm", apart, linear.coefficients[groups])
            result[part] = linear.level[groups] + steps
        return result

    def result(self) -> Evaluation:
        """Return what the rows so far say."""
        if not len(self):
            raise ValueError("rows: expected at least one, got none")
        return _evaluation(self)


def _evaluation(sums: Sums) -> Evaluation:
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
    )


def _noise_parts(sums: Sums, linear: Linearisation) -> tuple[FloatArray, FloatArray]:
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


def _observed(sums: Sums) -> FloatArray:
    counts, seen = sums.moments.counts, sums.layout.seen
    if seen is None:
        return np.full(sums.settings.objectives, counts.sum())
    return np.asarray(counts @ sums.moments.means[:, seen])


def _weights(sums: Sums) -> tuple[FloatArray, FloatArray, float, float]:
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


def _support(sums: Sums, mean: float, error: float) -> tuple[FloatArray, float]:
    """Return the shares of the target's choices that cannot be judged, (M,), and were not drawn.

    A choice of probability 0 in the log cannot be judged, nor one whose reward was never observed.
    What else is missing from the mean weight was possible, as far as the log tells, and not drawn;
    so are choices whose weight would be larger than any that was drawn. (Arms of smaller weight
    have at most this much of the target's probability.)
    """
    n = len(sums)
    impossible = sums.unsupported / n if mean > 0 else 1.0
    short = 1 - mean
    if short <= _CHANCE * error + _MISSED * float(sums.largest.max()) / n:
        short = 0.0
    largest = float(sums.largest.max())
    wanted, logged = sums.elsewhere[:, 2.0 ** np.arange(EXPONENTS) > largest].sum(axis=1)
    hidden = float(wanted - largest * logged) / n
    if hidden > MAX_UNSUPPORTED:
        short = max(short, hidden)
    if sums.pulls.any():
        short = max(short, float(sums.mass[sums.pulls == 0].sum()) / n)
    unsupported = np.full(sums.settings.objectives, impossible)
    if sums.layout.seen is not None:
        moments = sums.moments
        never = moments.means[:, sums.layout.seen] == 0
        unsupported += (moments.counts * moments.means[:, 0]) @ never / n
    return np.minimum(unsupported, 1.0), max(short - impossible, 0.0)


def _slack(sums: Sums, linear: Linearisation, undrawn: float) -> FloatArray:
    """Return by how much choices that were not drawn may move the estimate down and up, (M, 2).

    Their residuals are supposed to be within those that were observed. In a self-normalised
    estimate they count as the others do on average, otherwise as 0.
    """
    if not undrawn:
        return np.zeros((len(linear.value), 2))
    counted = linear.ratio if sums.settings.self_normalised else np.zeros_like(linear.ratio)
    steps = np.stack([sums.lowest - counted, sums.highest - counted], axis=-1)
    return np.asarray(undrawn * np.clip(np.nan_to_num(steps), [-np.inf, 0.0], [0.0, np.inf]))

"""Sums over a log, in one pass and constant memory; chunks may come in any order, anywhere."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, count
from mogro.offpolicy._delta import Layout
from mogro.offpolicy._moments import BLOCK, Moments
from mogro.offpolicy._results import evaluate_sums, influences
from mogro.offpolicy.evaluation import Evaluation
from mogro.offpolicy.rows import Rows


@dataclass(frozen=True)
class Settings:
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
        self._begin(
            Settings(
                count(objectives, "objectives"),
                bool(self_normalised),
                bool(predictions),
                bool(missing),
                None if arm_count is None else count(arm_count, "arm_count"),
            )
        )

    def _begin(self, settings: Settings) -> None:
        objectives, groups, arms = settings.objectives, settings.groups, settings.arm_count or 0
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
        self.mass: FloatArray = np.zeros(arms)  # target probability of the arms
        self.pulls: NDArray[np.int64] = np.zeros(arms, dtype=np.int64)

    def empty(self) -> Self:
        """Return empty sums with the same settings, for another worker."""
        twin = object.__new__(type(self))
        twin._begin(self.settings)
        return twin

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
        self.mass = self.mass + other.mass
        self.pulls += other.pulls

    def influences(self, rows: Rows) -> FloatArray:
        """Return how much each of some rows, added before, moves the estimate: (n, M), over n.

        Over all rows they sum to 0, and their squares to the variance of the estimate times the
        square of the number of rows, with the products of two targets to their covariance.
        """
        self._check(rows)
        return influences(self, rows)

    def result(self) -> Evaluation:
        """Return what the rows so far say."""
        if not len(self):
            raise ValueError("rows: expected at least one, got none")
        return evaluate_sums(self)

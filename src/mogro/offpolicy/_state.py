"""What is summed over a log."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray
from mogro.offpolicy._columns import Cap, Layout
from mogro.offpolicy._moments import BLOCK, Moments
from mogro.offpolicy._resampling import Replicates
from mogro.offpolicy.rows import Rows


@dataclass(frozen=True)
class Settings:
    """What sums have to have in common to be merged."""

    objectives: int
    self_normalised: bool
    predictions: bool
    cap: Cap | None
    missing: bool
    arm_count: int | None
    replicates: int
    key: int

    @property
    def groups(self) -> int:
        """Number of groups of rows: arms if rewards may be missing, else one."""
        return (self.arm_count or 1) if self.missing else 1


@dataclass(eq=False)
class State:
    """Sums over rows; none grows with their number."""

    settings: Settings
    layout: Layout
    moments: Moments
    replicates: Replicates
    noise: FloatArray  # (G, p, p), products of columns times squared relative errors
    noise_bias: FloatArray  # (G, p), columns times squared relative errors
    noise_squares: float
    largest: FloatArray  # (M,), weights
    fourths: FloatArray  # (M,), sums of their fourth powers
    lost: float  # target probability known to be without support
    mass: FloatArray  # (K,), target probability of the arms
    pulls: NDArray[np.int64]  # (K,)

    @classmethod
    def empty(cls, settings: Settings) -> Self:
        """Return sums over no rows."""
        layout = Layout.arrange(
            settings.objectives,
            missing=settings.missing,
            cap=settings.cap is not None,
            baseline=settings.predictions,
        )
        groups, p = settings.groups, layout.size
        return cls(
            settings,
            layout,
            Moments.zero(groups, p, layout.sets),
            Replicates(settings.replicates, groups, p, layout.sets, settings.key),
            noise=np.zeros((groups, p, p)),
            noise_bias=np.zeros((groups, p)),
            noise_squares=0.0,
            largest=np.zeros(settings.objectives),
            fourths=np.zeros(settings.objectives),
            lost=0.0,
            mass=np.zeros(settings.arm_count or 0),
            pulls=np.zeros(settings.arm_count or 0, dtype=np.int64),
        )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.moments.counts.sum())

    def add(self, rows: Rows, first: int) -> None:
        """Add rows, the first of which has this number in the log."""
        arms = rows.arms if self.settings.groups > 1 else None
        for begin in range(0, len(rows), BLOCK):
            part = slice(begin, begin + BLOCK)
            columns = self.layout.fill(rows, part, self.settings.cap)
            groups = None if arms is None else arms[part]
            self.moments.add(columns, groups)
            weights = columns[0] if self.layout.seen is None else columns[self.layout.weight]
            squares = weights * weights
            self.fourths = self.fourths + np.vecdot(squares, squares)
            if rows.noise is not None:
                self._add_noise(columns, rows.noise[part], groups)
            if self.settings.replicates:
                self.replicates.add(columns, groups, first + begin)
        self._add_totals(rows)

    def _add_noise(
        self, columns: FloatArray, noise: FloatArray, groups: NDArray[np.intp] | None
    ) -> None:
        scaled = columns * noise
        where = np.zeros(len(noise), dtype=np.intp) if groups is None else groups
        for group in np.unique(where):
            own = scaled[:, where == group]
            self.noise[group] += own @ own.T
            self.noise_bias[group] += own @ noise[where == group]
        self.noise_squares += float(noise @ noise)

    def _add_totals(self, rows: Rows) -> None:
        self.lost += rows.lost
        seen = rows.weights if rows.observed is None else rows.weights[:, None] * rows.observed
        self.largest = np.maximum(self.largest, seen.max(axis=0))
        if len(self.mass) and rows.mass is not None and rows.arms is not None:
            self.mass = self.mass + rows.mass
            self.pulls += np.bincount(rows.arms, minlength=len(self.mass))

    def merge(self, other: "State") -> None:
        """Add what others have seen of other rows."""
        self.moments.merge(other.moments)
        self.replicates.sums += other.replicates.sums
        self.noise += other.noise
        self.noise_bias += other.noise_bias
        self.noise_squares += other.noise_squares
        self.largest = np.maximum(self.largest, other.largest)
        self.fourths = self.fourths + other.fourths
        self.lost += other.lost
        self.mass = self.mass + other.mass
        self.pulls += other.pulls

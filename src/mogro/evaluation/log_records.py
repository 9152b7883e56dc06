"""Rows of a log as arrays, with the arms on offer side by side."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray
from mogro.agent.objective_set import ObjectiveSet


@dataclass(frozen=True, eq=False)
class LogRecords:
    """Some rows of a log; K is the largest number of arms on offer among them.

    Attributes
    ----------
    batch
        Columns of the rows, by Arrow.
    row_numbers
        Their numbers in the log, (n,).
    objective_set
        All objectives of the log.
    objective_indices
        Numbers of those that are to be judged, J of them.
    """

    batch: Any
    row_numbers: NDArray[np.intp]
    objective_set: ObjectiveSet
    objective_indices: list[int]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.row_numbers)

    def numbers(self, name: str) -> FloatArray:
        """Return a column of numbers, (n,); NaN where it has none."""
        return numbers(self.batch.column(name))

    @cached_property
    def rewards(self) -> FloatArray:
        """Rewards to be judged, (n, J), in the user's units; NaN where there is none."""
        names = [self.objective_set.names[m] for m in self.objective_indices]
        return np.stack([self.numbers(f"reward_{name}") for name in names], axis=1)

    @cached_property
    def arm_mask(self) -> BoolArray:
        """Which places are arms, (n, K)."""
        sizes, _ = self._lists("offered")
        return np.asarray(np.arange(sizes.max()) < sizes[:, None])

    @cached_property
    def chosen_index(self) -> NDArray[np.intp]:
        """Where the logged arm stands among those on offer, (n,)."""
        import pyarrow as pa

        arm, offered = self.batch.column("arm"), self.batch.column("offered")
        encoded = pa.concat_arrays([offered.flatten(), arm]).dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes_on_offer = np.full(self.arm_mask.shape, -1)
        codes_on_offer[self.arm_mask] = codes[: -len(arm)]
        is_chosen = codes_on_offer == codes[-len(arm) :, None]
        for row in np.flatnonzero(~is_chosen.any(axis=1))[:1].tolist():
            raise ValueError(
                f"offered: expected the chosen arm among those on offer, got {arm[row].as_py()!r} "
                f"beside {offered[row].as_py()} in row {self.row_numbers[row]}"
            )
        return np.asarray(is_chosen.argmax(axis=1))

    @cached_property
    def estimates(self) -> FloatArray:
        """What was believed of the arms on offer, (n, K, M), in the user's units; 0 elsewhere."""
        return self._arm_arrays("offered_estimates")

    @cached_property
    def features(self) -> FloatArray:
        """Features of the arms on offer, (n, K, A); 0 elsewhere."""
        return self._arm_arrays("offered_features")

    @cached_property
    def contexts(self) -> FloatArray:
        """Contexts (n, C); (n, 0) without any."""
        if not self.has("context"):
            return np.zeros((len(self), 0))
        return np.asarray(self._lists("context")[1].reshape(len(self), -1))

    def has(self, *names: str) -> bool:
        """Tell whether all rows have something in these columns."""
        return all(self.batch.column(name).null_count == 0 for name in names)

    def _lists(self, name: str) -> tuple[NDArray[np.int64], Any]:
        """Return lengths (n,) and all elements of a column of lists."""
        column = self.batch.column(name)
        sizes = column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
        return sizes, column.flatten().to_numpy(zero_copy_only=False)

    def _arm_arrays(self, name: str) -> FloatArray:
        """Return lists of numbers of arms, row after row of each, as (n, K, width)."""
        if not self.has(name, "offered"):
            raise ValueError(
                f"log: expected {name} in every row, got rows without, from {self.row_numbers[0]} "
                "on; agents with a journal record them"
            )
        (sizes, values), arms = self._lists(name), self.arm_mask.sum(axis=1)
        width = int(sizes[0] // arms[0])
        for row in np.flatnonzero(sizes != arms * width)[:1].tolist():
            raise ValueError(
                f"{name}: expected {arms[row]} arms x {width} numbers, got {sizes[row]} "
                f"in row {self.row_numbers[row]}"
            )
        result = np.zeros((*self.arm_mask.shape, width))
        result[self.arm_mask] = values.reshape(-1, width)
        return result


# Why rows are left out.
EXCLUSIONS = (
    "are left out, because their windows may be open",
    "without a propensity are left out",
    "of a baseline that draws nothing are left out, because they judge no other policy",
    "are left out, from before an objective was added",
)


def exclusion_reasons(batch: Any, first_open_time: float) -> NDArray[np.intp]:
    """Return 0 for rows that count, (n,); for others the number of their reason in ``EXCLUSIONS``.

    What has come in an open window is no sample, for values come sooner than their absence. Of an
    objective nothing was believed before it was added, and predictions that some rows lack would
    not stand for the others.
    """
    reasons = np.where(numbers(batch.column("time")) >= first_open_time, 1, 0)
    reasons[~np.asarray(batch.column("propensity").is_valid())] = 2
    reasons[np.asarray(batch.column("holdout")) & ~np.asarray(batch.column("uniform"))] = 3
    estimates = batch.column("offered_estimates")
    is_unknown = np.isnan(numbers(estimates.flatten()))
    early_rows = np.unique(np.asarray(estimates.value_parent_indices())[is_unknown])
    reasons[early_rows] = np.where(reasons[early_rows] == 0, 4, reasons[early_rows])
    return reasons


def numbers(column: Any) -> FloatArray:
    """Return a column of numbers, (n,)."""
    values = column.to_numpy(zero_copy_only=False)
    return np.array(values, dtype=np.float64)  # nulls are NaN; a copy, for Arrow's is not ours

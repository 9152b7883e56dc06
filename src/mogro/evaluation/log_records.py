"""Rows of a log as arrays, with the arms on offer side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray
from mogro.agent.objective_set import ObjectiveSet


@dataclass(frozen=True, eq=False)
class LogRecords:
    """Some rows of a log; K is the largest number of arms on offer among them.

    Attributes
    ----------
    rows
        Their numbers in the log, (n,).
    rewards
        (n, M) in the user's units, NaN where there is none to go by.
    propensities, errors
        Of the logged arms, (n,), and their standard errors.
    arms
        Ids of the logged arms, n of them.
    times
        (n,), NaN where there is none.
    uniform
        Whether the arm was drawn uniformly, (n,).
    chosen
        Where the logged arm stands among those on offer, (n,); None if these were not recorded.
    on_offer
        (n, K), which places are arms; or None.
    estimates
        What was believed of the arms on offer, (n, K, M), in the user's units; 0 at places that are
        no arms. None if not recorded.
    contexts
        (n, C), or None.
    offered
        Ids of the arms on offer, or None.
    """

    rows: NDArray[np.intp]
    rewards: FloatArray
    propensities: FloatArray
    errors: FloatArray
    arms: list[str]
    times: FloatArray
    uniform: BoolArray
    chosen: NDArray[np.intp] | None
    on_offer: BoolArray | None
    estimates: FloatArray | None
    contexts: FloatArray | None
    offered: list[list[str]] | None
    read_features: Callable[[], FloatArray | None]

    @cached_property
    def features(self) -> FloatArray | None:
        """Features of the arms on offer, (n, K, A), as ``estimates``; few ask for them."""
        return self.read_features()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.propensities)

    def lacks(self, what: str) -> ValueError:
        """Return an error: rows lack something."""
        return ValueError(
            f"log: expected {what} in every row, got rows without, from {self.rows[0]} on; "
            "a journal keeps them"
        )


class TargetProbabilities(NamedTuple):
    """Probabilities of a policy: of all arms on offer, (n, K), or of the logged arms, (n,)."""

    values: FloatArray
    errors: FloatArray | None = None


def from_arrow(
    batch: Any, objective_set: ObjectiveSet, *, first: int, until: float
) -> LogRecords | None:
    """Return those rows of a batch that can be used; None if there are none."""
    usable = exclusion_reasons(batch, until) == 0
    rows = first + np.flatnonzero(usable)
    if not len(rows):
        return None
    if len(rows) < len(batch):
        import pyarrow as pa

        batch = batch.filter(pa.array(usable))
    times = numbers(batch, "time")
    rewards = np.stack([numbers(batch, f"reward_{name}") for name in objective_set.names], axis=1)
    sizes, _ = _list_column(batch, "offered")
    chosen = on_offer = None
    if sizes is not None:
        on_offer = np.arange(sizes.max()) < sizes[:, None]
        chosen = _chosen_places(batch.column("arm"), batch.column("offered"), on_offer, rows)
    contexts = _list_column(batch, "context")
    return LogRecords(
        rows,
        rewards,
        numbers(batch, "propensity"),
        numbers(batch, "propensity_error"),
        batch.column("arm").to_pylist(),
        times,
        np.asarray(batch.column("uniform").to_numpy(zero_copy_only=False), dtype=np.bool_),
        chosen,
        on_offer,
        _arm_blocks(batch, "offered_estimates", on_offer, len(objective_set)),
        None if contexts[0] is None else contexts[1].reshape(len(times), -1),
        None if sizes is None else batch.column("offered").to_pylist(),
        lambda: _arm_blocks(batch, "offered_features", on_offer, None),
    )


# Columns by which rows are left out, and why.
EXCLUSION_COLUMNS = ("time", "propensity", "uniform", "holdout", "offered_estimates")
EXCLUSIONS = (
    "are left out, because their windows may be open",
    "without a propensity are left out",
    "of a baseline that draws nothing are left out, because they judge no other policy",
    "are left out, from before an objective was added",
)


def exclusion_reasons(batch: Any, until: float) -> NDArray[np.intp]:
    """Tell which rows are of use, (n,): 0; and why others are not, from 1 on as in ``EXCLUSIONS``.

    What has come in an open window is no sample, for values come sooner than their absence. Of an
    objective nothing was believed before it was added, and predictions that some rows lack would
    not stand for the others.
    """
    reasons = np.where(numbers(batch, "time") >= until, 1, 0)
    reasons[~np.asarray(batch.column("propensity").is_valid())] = 2
    if "holdout" in batch.schema.names:
        held, drawn = (np.asarray(batch.column(name)) for name in ("holdout", "uniform"))
        reasons[held & ~drawn] = 3
    beliefs = batch.column("offered_estimates")
    sizes = np.nan_to_num(beliefs.value_lengths().to_numpy(zero_copy_only=False)).astype(int)
    unknown = np.isnan(beliefs.flatten().to_numpy(zero_copy_only=False).astype(float))
    early = np.bincount(np.repeat(np.arange(len(sizes)), sizes), unknown, len(sizes)) > 0
    reasons[early & (reasons == 0)] = 4
    return reasons


def numbers(batch: Any, name: str) -> FloatArray:
    """Return a column of numbers, (n,)."""
    column = batch.column(name).to_numpy(zero_copy_only=False)
    return np.array(column, dtype=np.float64)  # nulls are NaN; a copy, for Arrow's is not ours


def _list_column(batch: Any, name: str) -> tuple[NDArray[np.int64] | None, Any]:
    """Return lengths (n,) and all elements of a column of lists; None if some row has none."""
    column = batch.column(name)
    if column.null_count:
        return None, None
    sizes = column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return sizes, column.flatten().to_numpy(zero_copy_only=False)


def _arm_blocks(
    batch: Any, name: str, on_offer: BoolArray | None, width: int | None
) -> FloatArray | None:
    """Return lists of numbers of arms, row after row of each, as (n, K, width)."""
    sizes, values = _list_column(batch, name)
    if sizes is None or on_offer is None:
        return None
    arms = on_offer.sum(axis=1)
    width = int(sizes[0] // arms[0]) if width is None else width
    if (sizes != arms * width).any():
        bad = int(np.flatnonzero(sizes != arms * width)[0])
        raise ValueError(
            f"{name}: expected {arms[bad]} arms x {width} numbers, got {sizes[bad]} in row {bad}"
        )
    result = np.zeros((*on_offer.shape, width))
    result[on_offer] = values.reshape(-1, width)
    return result


def _chosen_places(
    arm: Any, offered: Any, on_offer: BoolArray, rows: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return where the logged arm stands among those on offer, (n,)."""
    import pyarrow as pa

    words = pa.concat_arrays([offered.flatten(), arm]).dictionary_encode()
    codes = words.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    listed = np.full(on_offer.shape, -1)
    listed[on_offer] = codes[: -len(arm)]
    same = listed == codes[-len(arm) :, None]
    if not same.any(axis=1).all():
        bad = int(np.flatnonzero(~same.any(axis=1))[0])
        raise ValueError(
            f"offered: expected the chosen arm among those on offer, got {arm[bad].as_py()!r} "
            f"beside {offered[bad].as_py()} in row {rows[bad]}"
        )
    return np.asarray(same.argmax(axis=1))

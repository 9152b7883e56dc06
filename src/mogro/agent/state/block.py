"""Some rows of the ledger: columns of numbers, one entry a decision."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, IntArray

# Flags of a decision: chosen to explore; a uniform draw; one of several chosen together; made by
# somebody else; it was given a time; served by the baseline; taken over from another agent; it
# counts for the budgets.
EXPLORED, UNIFORM, GROUPED, OBSERVED, TIMED, HOLDOUT, IMPORTED = 1, 2, 4, 8, 16, 32, 64
COUNTED = 128
FREE = 255  # status of rows in which no decision lives


class Block(NamedTuple):
    """Some rows of the ledger; the last axes are features (p) or objectives (M)."""

    features: FloatArray  # of the arm, as the learner sees them
    weights: FloatArray  # NaN where none were drawn
    estimates: FloatArray  # of the arm when it was chosen, as the learner sees them
    values: FloatArray  # rewards as the user gave them, NaN before
    stamps: FloatArray  # times of these values, where they matter
    statuses: NDArray[np.uint8]  # of the rewards
    time: FloatArray
    start: FloatArray  # when windows began; infinity before that
    number: IntArray  # of the decision, in their order; below 0 if the row is free
    position: IntArray  # of its event
    offer_position: IntArray  #  of the event that wrote down its arms; 0 if none did
    completed: IntArray  # when nothing was pending any more, in the order of completions; else -1
    flags: NDArray[np.uint8]
    subject: IntArray  # a hash of whom it was made for; 0 if nobody said

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """All of these, as arrays of whatever type."""
        return self


def empty_block(rows: int, shape: tuple[int, int, int]) -> Block:
    """Return a block of free rows for features, objectives and stamped objectives.

    Columns that are zeros in many blocks take no room, and cannot be written to: the ledger copies
    them before.
    """
    size, objectives, stamped = shape
    return Block(
        features=np.zeros((rows, size)),
        weights=np.full((rows, objectives), math.nan),
        estimates=np.zeros((rows, objectives)),
        values=np.full((rows, objectives), math.nan),
        stamps=np.full((rows, stamped), -math.inf),
        statuses=np.full((rows, objectives), FREE, dtype=np.uint8),
        time=np.broadcast_to(0.0, rows),
        start=np.broadcast_to(0.0, rows),
        number=np.full(rows, -1, dtype=np.int64),
        position=np.zeros(rows, dtype=np.int64),
        offer_position=np.broadcast_to(np.int64(0), rows),
        completed=np.full(rows, -1, dtype=np.int64),
        flags=np.zeros(rows, dtype=np.uint8),
        subject=np.broadcast_to(np.int64(0), rows),
    )

"""Every decision that may still get a reward, or be asked for again: in arrays, not objects.

A million pending decisions with 20 features take about 450 bytes each, more than a third of that
for their ids. Rows lie in blocks, so that growing copies nothing, and are used again once a
decision is forgotten.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.live.objective import MISSING, PENDING

_BITS = 12
_ROWS = 1 << _BITS

FREE = 255  # no decision lives in this row
# Flags of a decision: chosen to explore; its rewards are learned; drawn from all arms alike; one
# of several chosen together; made by somebody else; it was given a time.
EXPLORED, TEACHES, UNIFORM, GROUPED, OBSERVED, TIMED = 1, 2, 4, 8, 16, 32


class Block(NamedTuple):
    """Some rows of the ledger; the last axes are features (p) or objectives (M)."""

    features: FloatArray  # of the arm, as the learner sees them
    weights: FloatArray  # NaN where none were drawn
    estimates: FloatArray  # of the arm when it was chosen, as the learner sees them
    values: FloatArray  # rewards as the user gave them, NaN before
    stamps: FloatArray  # times of these values, where they matter
    state: NDArray[np.uint8]
    time: FloatArray
    start: FloatArray  # when windows began; infinity before that
    serial: IntArray  # number of the decision
    position: IntArray  # number of its event
    flags: NDArray[np.uint8]


_BY_OBJECTIVE = ("weights", "estimates", "values", "stamps", "state")


def _arrays(block: Block) -> tuple[NDArray[Any], ...]:
    return block


class Ledger:
    """Decisions by id."""

    def __init__(self, size: int, objectives: int, *, stamped: bool) -> None:
        self.shape = size, objectives, objectives * stamped
        self.rows: dict[str, int] = {}
        self.ids: list[str] = []
        self.arms: list[str] = []
        self.blocks: list[Block] = []
        self.completed: deque[int] = deque()  # rows with nothing pending, in that order
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, id: str, arm: str) -> tuple[int, Block, int]:
        """Make a row for a new decision and return it and its place; the caller fills it."""
        if self._free:
            row = self._free.pop()
            self.ids[row], self.arms[row] = id, arm
        else:
            row = len(self.ids)
            if row >> _BITS == len(self.blocks):
                self.blocks.append(empty_block(_ROWS, self.shape))
            self.ids.append(id)
            self.arms.append(arm)
        self.rows[id] = row
        return row, self.blocks[row >> _BITS], row & (_ROWS - 1)

    def place(self, row: int) -> tuple[Block, int]:
        """Return where a row lies."""
        return self.blocks[row >> _BITS], row & (_ROWS - 1)

    def drop(self, row: int) -> None:
        """Forget a decision; its id is unknown from now on."""
        block, i = self.place(row)
        block.state[i] = FREE
        block.serial[i] = -1
        del self.rows[self.ids[row]]
        self.ids[row] = self.arms[row] = ""
        self._free.append(row)

    def complete(self, row: int, capacity: int | None) -> int:
        """Keep a decision with nothing pending; return how many were dropped to make room."""
        self.completed.append(row)
        dropped = 0
        while capacity is not None and len(self.completed) > capacity:
            self.drop(self.completed.popleft())
            dropped += 1
        return dropped

    def drop_aged(self, oldest: float) -> int:
        """Drop completed decisions that are too old, as far as all completed before are, too."""
        dropped = 0
        while self.completed:
            block, i = self.place(self.completed[0])
            if block.time.item(i) >= oldest:
                break
            self.drop(self.completed.popleft())
            dropped += 1
        return dropped

    def drop_before(self, time: float) -> int:
        """Drop all completed decisions that were made before a time."""
        kept, before = [], len(self.completed)
        for row in self.completed:
            block, i = self.place(row)
            if block.time[i] < time:
                self.drop(row)
            else:
                kept.append(row)
        self.completed.clear()
        self.completed.extend(kept)
        return before - len(kept)

    def pending(self) -> IntArray:
        """Return rows with something pending, in the order of their decisions."""
        found = [
            np.flatnonzero((block.state == PENDING).any(axis=1)) + (number << _BITS)
            for number, block in enumerate(self.blocks)
        ]
        return self._ordered(found)

    def live(self) -> IntArray:
        """Return all rows in use, in the order of their decisions."""
        return self._ordered([np.fromiter(self.rows.values(), np.int64, len(self.rows))])

    def written(self) -> IntArray:
        """Return all rows that hold a decision, known by its id or not, in order."""
        found = [
            np.flatnonzero(block.serial >= 0) + (number << _BITS)
            for number, block in enumerate(self.blocks)
        ]
        return self._ordered(found)

    def numbered(self, numbers: Sequence[int]) -> list[int]:
        """Return the rows of decisions by their numbers, as far as they are held."""
        wanted = np.array(numbers, dtype=np.int64)
        found = [
            np.flatnonzero(np.isin(block.serial, wanted)) + (number << _BITS)
            for number, block in enumerate(self.blocks)
        ]
        rows: list[int] = self._ordered(found).tolist()
        return rows

    def gather(self, rows: IntArray) -> Block:
        """Return copies of what stands in some rows, (n,)."""
        part = empty_block(len(rows), self.shape)
        for block, chosen, inside in self._by_block(rows):
            for mine, theirs in zip(_arrays(part), _arrays(block), strict=True):
                mine[chosen] = theirs[inside]
        return part

    def fill(self, ids: list[str], arms: list[str], block: Block) -> IntArray:
        """Take over decisions as they stand in a block, where none are; return their rows."""
        self.ids, self.arms = ids, arms
        self.rows = dict(zip(ids, range(len(ids)), strict=True))
        for start in range(0, len(ids), _ROWS):
            mine = empty_block(_ROWS, self.shape)
            for target, source in zip(_arrays(mine), _arrays(block), strict=True):
                part = source[start : start + _ROWS]
                target[: len(part)] = part
            self.blocks.append(mine)
        return np.arange(len(ids))

    def changed(self, places: Sequence[int | None], factors: FloatArray, *, stamped: bool) -> None:
        """Go on with other objectives: those at some places, and new ones for None.

        Estimates are multiplied by factors. Nothing is waited for of a new objective.
        """
        rows = self.written()
        old, completed = self.gather(rows), self.completed
        place = {row: n for n, row in enumerate(rows.tolist())}
        self.shape = self.shape[0], len(places), len(places) * stamped
        new = empty_block(len(rows), self.shape)._replace(
            **{name: getattr(old, name) for name in Block._fields if name not in _BY_OBJECTIVE}
        )
        new.state[...], new.values[...], new.stamps[...] = MISSING, math.nan, -math.inf
        new.estimates[...] = 0
        new.weights[...] = np.where(np.isnan(old.weights[:, :1]), math.nan, 0.0)
        for n, m in enumerate(places):
            if m is not None:
                new.state[:, n], new.values[:, n] = old.state[:, m], old.values[:, m]
                new.weights[:, n] = old.weights[:, m]
                new.estimates[:, n] = factors[n] * old.estimates[:, m]
                if stamped and old.stamps.shape[1]:
                    new.stamps[:, n] = old.stamps[:, m]
        names = [self.ids[row] for row in rows.tolist()], [self.arms[row] for row in rows.tolist()]
        self.blocks, self._free = [], []
        self.fill(*names, new)
        self.completed = deque(place[row] for row in completed)

    def _by_block(self, rows: IntArray) -> Iterator[tuple[Block, BoolArray, IntArray]]:
        """Yield each block with the rows that lie in it, and where in it they lie."""
        numbers = rows >> _BITS
        for number in np.unique(numbers):
            chosen = numbers == number
            yield self.blocks[number], chosen, rows[chosen] & (_ROWS - 1)

    def _ordered(self, parts: list[IntArray]) -> IntArray:
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        serial = np.concatenate([np.zeros(0, dtype=np.int64), *(b.serial for b in self.blocks)])
        return rows[np.argsort(serial[rows], kind="stable")]


def empty_block(rows: int, shape: tuple[int, int, int]) -> Block:
    """Return a block of free rows for features, objectives and stamped objectives."""
    size, objectives, stamped = shape
    return Block(
        features=np.empty((rows, size)),
        weights=np.empty((rows, objectives)),
        estimates=np.empty((rows, objectives)),
        values=np.empty((rows, objectives)),
        stamps=np.empty((rows, stamped)),
        state=np.full((rows, objectives), FREE, dtype=np.uint8),
        time=np.zeros(rows),
        start=np.zeros(rows),
        serial=np.full(rows, -1, dtype=np.int64),
        position=np.zeros(rows, dtype=np.int64),
        flags=np.zeros(rows, dtype=np.uint8),
    )

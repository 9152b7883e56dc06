"""Every decision that may still get a reward, or be asked for again: in arrays, not objects.

Rows lie in blocks, so that growing copies nothing. A row that is free is used again, the lowest
first: where a decision lies follows from the events alone, in every process that has seen them.
A block that others may be reading (see :meth:`Ledger.freeze`) is copied before it changes, and
every block knows the last event that changed it: so snapshots write only what has changed, beside
an agent that goes on.
"""

import copy
import heapq
import math
import sys
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, IntArray
from mogro.agent.objective import MISSING, PENDING

_BYTES = 1 << 18  # of a block, about
_MIN_BLOCK, _MAX_BLOCK = 5, 12  # rows of a block, as powers of two

FREE = 255  # no decision lives in this row
# Flags of a decision: chosen to explore; a uniform draw; one of several chosen together; made by
# somebody else; it was given a time; served by the baseline; taken over from another agent; it
# counts for the budgets.
EXPLORED, UNIFORM, GROUPED, OBSERVED, TIMED, HOLDOUT, IMPORTED = 1, 2, 4, 8, 16, 32, 64
COUNTED = 128


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
    offer: IntArray  # number of the event that wrote down its arms; 0 if none did
    completed: IntArray  # when nothing was pending any more, in the order of completions; else -1
    flags: NDArray[np.uint8]
    subject: IntArray  # a hash of whom it was made for; 0 if nobody said


_BY_OBJECTIVE = ("weights", "estimates", "values", "stamps", "state")


def _arrays(block: Block) -> tuple[NDArray[Any], ...]:
    return block


class Ledger:
    """Decisions by id."""

    def __init__(self, size: int, objectives: int, *, stamped: bool) -> None:
        self.position = 0  # of the event that is happening
        self.completions = 0  # so far
        # Events that nobody refers to any more, and at which event that came about; None: not told.
        self.released: list[tuple[int, int]] | None = None
        self._begin((size, objectives, objectives * stamped))

    def _begin(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self.rows: dict[str, int] = {}
        self.ids: list[str] = []
        self.arms: list[str] = []
        self.records: list[str] = []  # arms as callers gave them, in JSON; empty if as numbers
        self.contexts: list[str] = []  # contexts, likewise
        self.completed: deque[int] = deque()  # rows with nothing pending, in that order
        self._free: list[int] = []  # a heap
        self._shared: set[int] = set()  # blocks that others may be reading
        self.references: Counter[int] = Counter()  # to events with arms
        empty = empty_block(1, shape)
        self._empty = [array[0].copy() for array in _arrays(empty)]
        width = sum(array.nbytes for array in _arrays(empty))
        self._bits = min(max((_BYTES // width).bit_length() - 1, _MIN_BLOCK), _MAX_BLOCK)
        self._mask = self.block_size - 1
        self.blocks = [empty_block(self.block_size, shape)]
        self.versions = [self.position]  # of the blocks: the last event that changed each

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def block_size(self) -> int:
        """The number of rows in a block."""
        return 1 << self._bits

    @property
    def texts(self) -> tuple[list[str], list[str], list[str], list[str]]:
        """All that rows hold in words."""
        return self.ids, self.arms, self.records, self.contexts

    def add(self, id: str, arm: str, record: str = "", context: str = "") -> tuple[int, Block, int]:
        """Make a row for a new decision and return it and its place; the caller fills it.

        What is not written stands as in an empty row: nothing is learned, and no time is known.
        """
        if self._free:
            row = heapq.heappop(self._free)
        else:
            row = len(self.ids)
            if row >> self._bits == len(self.blocks):
                self.blocks.append(empty_block(self.block_size, self.shape))
                self.versions.append(self.position)
            for texts in self.texts:
                texts.append("")
        self.rows[id] = row
        self.ids[row], self.arms[row] = id, sys.intern(arm)  # many decisions choose the same
        self.records[row], self.contexts[row] = record, context
        return row, *self.writable(row)

    def writable(self, row: int) -> tuple[Block, int]:
        """Return where a row lies, to write there."""
        number = row >> self._bits
        if number in self._shared:
            self._shared.discard(number)
            self.blocks[number] = Block._make(array.copy() for array in self.blocks[number])
        self.versions[number] = self.position
        return self.blocks[number], row & self._mask

    def readable(self, row: int) -> tuple[Block, int]:
        """Return where a row lies, to read it."""
        return self.blocks[row >> self._bits], row & self._mask

    def freeze(self) -> "Ledger":
        """Return the ledger as it is now: it can be read at any time, while this one goes on."""
        other = copy.copy(self)
        other.ids, other.arms = self.ids.copy(), self.arms.copy()
        other.records, other.contexts = self.records.copy(), self.contexts.copy()
        other.blocks, other.versions = self.blocks.copy(), self.versions.copy()
        self._shared = set(range(len(self.blocks)))
        return other

    def drop(self, row: int) -> None:
        """Forget a decision; its id is unknown from now on."""
        block, i = self.writable(row)
        self._release(block.position.item(i))
        self.drop_reference(block.offer.item(i))
        for array, empty in zip(_arrays(block), self._empty, strict=True):
            array[i] = empty
        del self.rows[self.ids[row]]
        for texts in self.texts:
            texts[row] = ""
        heapq.heappush(self._free, row)

    def add_reference(self, offer: int) -> None:
        """Count one more who refers to an event with arms; 0 is none."""
        if offer:
            self.references[offer] += 1

    def drop_reference(self, offer: int) -> None:
        """Count one less."""
        if offer:
            self.references[offer] -= 1
            if not self.references[offer]:
                del self.references[offer]
                self._release(offer)

    def _release(self, position: int) -> None:
        if self.released is not None:
            self.released.append((self.position, position))

    def complete(self, row: int, most: float) -> int:
        """Keep a decision with nothing pending; return how many were dropped to make room."""
        self.completions += 1
        self.completed.append(row)
        dropped = 0
        while len(self.completed) > most:
            self.drop(self.completed.popleft())
            dropped += 1
        return dropped

    def reopen(self, row: int) -> None:
        """Have something pending again, of a decision that was completed."""
        block, i = self.writable(row)
        block.completed[i] = -1
        self.completed.remove(row)

    def drop_aged(self, oldest: float) -> int:
        """Drop completed decisions that are too old, as far as all completed before are, too."""
        dropped = 0
        while self.completed:
            block, i = self.readable(self.completed[0])
            if block.time.item(i) >= oldest:
                break
            self.drop(self.completed.popleft())
            dropped += 1
        return dropped

    def pending(self) -> IntArray:
        """Return rows with something pending, in the order of their decisions."""
        return self._where([(block.state == PENDING).any(axis=1) for block in self.blocks])

    def live(self) -> IntArray:
        """Return all rows in use, in the order of their decisions."""
        return self._where([block.serial >= 0 for block in self.blocks])

    def numbered(self, numbers: Sequence[int]) -> list[int]:
        """Return the rows of decisions by their numbers, as far as they are held."""
        wanted = np.array(numbers, dtype=np.int64)
        rows: list[int] = self._where([np.isin(b.serial, wanted) for b in self.blocks]).tolist()
        return rows

    def _where(self, masks: list[Any]) -> IntArray:
        """Return the rows where masks of the blocks are true, in the order of their decisions."""
        rows = np.flatnonzero(np.concatenate(masks))
        return rows[np.argsort(self.column("serial")[rows], kind="stable")]

    def column(self, name: str) -> Any:
        """Return what stands in all rows under a name of :class:`Block`."""
        return np.concatenate([getattr(block, name) for block in self.blocks])[: len(self.ids)]

    def gather(self, rows: IntArray) -> Block:
        """Return copies of what stands in some rows, (n,)."""
        part = empty_block(len(rows), self.shape)
        numbers = rows >> self._bits
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1)).tolist()
        for start, stop in pairwise([*starts, len(rows)]):
            chosen = order[start:stop]
            block, inside = self.blocks[numbers[chosen[0]]], rows[chosen] & (self.block_size - 1)
            for mine, theirs in zip(_arrays(part), _arrays(block), strict=True):
                mine[chosen] = theirs[inside]
        return part

    def fill(self, parts: Iterable[tuple[Sequence[list[str]], Block]]) -> None:
        """Take over decisions: texts and rows, of which some may be free, where none are held.

        Every part but the last is a whole number of blocks, once free rows are added to it.
        """
        self.blocks = []
        for texts, part in parts:
            missing = [""] * (len(self.blocks) * self.block_size - len(self.ids))
            for mine, theirs in zip(self.texts, texts, strict=True):
                mine += missing + theirs
            for start in range(0, len(part.serial), self.block_size):
                block = empty_block(self.block_size, self.shape)
                for target, source in zip(_arrays(block), _arrays(part), strict=True):
                    some = source[start : start + self.block_size]
                    target[: len(some)] = some
                self.blocks.append(block)
        self.blocks = self.blocks or [empty_block(self.block_size, self.shape)]
        self.versions = [self.position] * len(self.blocks)
        rows = list(range(len(self.ids)))  # shared by all that refer to them
        self.rows = {id: row for row, id in zip(rows, self.ids, strict=True) if id}
        completed, offer = self.column("completed"), self.column("offer")
        done = np.flatnonzero(completed >= 0)
        self.completed.extend(rows[row] for row in done[np.argsort(completed[done])].tolist())
        self._free = np.flatnonzero(self.column("serial") < 0).tolist()
        offers, counts = np.unique(offer[offer > 0], return_counts=True)
        self.references.update(dict(zip(offers.tolist(), counts.tolist(), strict=True)))

    def changed(
        self,
        places: Sequence[int | None],
        factors: FloatArray,
        features: FloatArray,
        *,
        stamped: bool,
    ) -> None:
        """Go on with other objectives: those at some places, and new ones for None.

        Estimates are multiplied by factors. Nothing is waited for of a new objective. Features of
        all decisions, (n, p), take the place of those that they had.
        """
        rows = self.live()
        old = self.gather(rows)
        held = [[texts[row] for row in rows.tolist()] for texts in self.texts]
        references = self.references
        self._begin((features.shape[1], len(places), len(places) * stamped))
        new = (
            empty_block(len(rows), self.shape)
            ._replace(
                **{name: getattr(old, name) for name in Block._fields if name not in _BY_OBJECTIVE}
            )
            ._replace(features=features)
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
        self.fill([(held, new)])
        self.references = references


def empty_block(rows: int, shape: tuple[int, int, int]) -> Block:
    """Return a block of free rows for features, objectives and stamped objectives."""
    size, objectives, stamped = shape
    return Block(
        features=np.zeros((rows, size)),
        weights=np.full((rows, objectives), math.nan),
        estimates=np.zeros((rows, objectives)),
        values=np.full((rows, objectives), math.nan),
        stamps=np.full((rows, stamped), -math.inf),
        state=np.full((rows, objectives), FREE, dtype=np.uint8),
        time=np.zeros(rows),
        start=np.zeros(rows),
        serial=np.full(rows, -1, dtype=np.int64),
        position=np.zeros(rows, dtype=np.int64),
        offer=np.zeros(rows, dtype=np.int64),
        completed=np.full(rows, -1, dtype=np.int64),
        flags=np.zeros(rows, dtype=np.uint8),
        subject=np.zeros(rows, dtype=np.int64),
    )

"""Every decision that may still get a reward, or be asked for again: in arrays, not objects.

Rows lie in blocks, so that growing copies nothing. A row that is free is used again, the lowest
first: where a decision lies follows from the events alone, in every process that has seen them.
A block that others may be reading (see :meth:`Ledger.freeze`) is copied before it changes, and
every block knows the last event that changed it: so snapshots write only what has changed, beside
an agent that goes on.
"""

import heapq
import math
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from mogro._validation import FloatArray, IntArray
from mogro.agent.events import Decided
from mogro.agent.features.encoder import parse_record, record_text
from mogro.agent.objective import MISSING, PENDING
from mogro.agent.state.block import (
    COUNTED,
    EXPLORED,
    GROUPED,
    HOLDOUT,
    OBSERVED,
    TIMED,
    UNIFORM,
    Block,
    empty_block,
)

_BYTES = 1 << 18  # of a block, about
_MIN_BLOCK, _MAX_BLOCK = 5, 12  # rows of a block, as powers of two

_LEFT_OVER = 4096  # rows of dropped decisions, at the head of those completed
_RECENT = 1024  # ids in the dict of an index at least; of many, a sixteenth
_TAG = (1 << 31) - 1  # bits of a hash that an index holds
_ROW = (1 << 32) - 1


class RowIndex:
    """The rows of ids, which are in a list at these rows; a row that is free has an empty one.

    The last ones are in a dict. Others are in a sorted array of eight bytes an id, a tenth of what
    a dict takes: part of the hash, and the row; beside it stands where each range of hashes ends.
    It is not told when an id goes: its row has another one then, or none.
    """

    def __init__(self, ids: list[str]) -> None:
        self._ids = ids
        self._recent: dict[str, int] = {}
        self._absent: str | None = None  # the last id that was asked for in vain
        held = [id for id in ids if id]
        if len(set(held)) < len(held):
            raise ValueError("ids: expected different ones")
        self._sort()

    def __contains__(self, id: str) -> bool:
        return self.get(id) is not None

    def __reduce__(self) -> tuple[Any, ...]:  # hashes are others in another process
        return RowIndex, (self._ids,)

    def get(self, id: str) -> int | None:
        """Return the row of an id; None if there is none."""
        row = self._recent.get(id)
        if row is not None or id is self._absent or not id:  # free rows have an empty one
            return row
        tag, entries = hash(id) & _TAG, self._entries
        place = self._ends[tag >> self._shift]
        while place and (entry := entries[place - 1]) >> 32 >= tag:
            if entry >> 32 == tag and self._ids[entry & _ROW] == id:
                return entry & _ROW
            place -= 1
        self._absent = id
        return None

    def add(self, id: str, row: int) -> None:
        """Note the row of an id that has none, and stands there."""
        self._recent[id], self._absent = row, None
        if len(self._recent) > self._max_recent:
            self._sort()

    def remove(self, id: str) -> None:
        """Forget an id whose row is free from now on."""
        self._recent.pop(id, None)

    def _sort(self) -> None:
        """Sort all ids into the array."""
        size = len(self._ids)
        bits = max(size.bit_length() - 1, 0)
        self._shift, self._entries = 31 - bits, array("q", bytes(8 * size))
        entries = np.frombuffer(self._entries, np.int64)
        entries[:] = np.fromiter(map(hash, self._ids), np.int64, size)
        entries &= _TAG
        ends = np.cumsum(np.bincount(entries >> self._shift, minlength=1 << bits))
        self._ends = array("I", ends.astype(np.uint32).tobytes())
        entries <<= 32
        entries |= np.arange(size)
        entries.sort()
        self._recent, self._max_recent = {}, max(_RECENT, size >> 4)


class Ledger:
    """Decisions by id."""

    def __init__(self, size: int, objectives: int, *, stamped: bool) -> None:
        self.position = 0  # of the event that is happening
        self.completions_so_far = 0
        # Events that nobody refers to any more, and at which event that came about; None: not told.
        self.released: list[tuple[int, int]] | None = None
        self._begin((size, objectives, objectives * stamped))

    def _begin(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self.ids: list[str] = []
        self.rows_by_id = RowIndex(self.ids)
        self.arms: list[str] = []
        # Arms and contexts as callers gave them, in JSON; no lists at all while all were numbers.
        self._records: tuple[list[str], ...] = ()
        self.held = 0  # decisions
        self.completed_count = 0  # of them, those with nothing pending
        self._completed_rows = array("I")  # their rows, in the order of completions
        self._first_completed = 0  # where these begin
        self._free: list[int] = []  # a heap
        self._shared: set[int] = set()  # blocks that others may be reading
        self.references: Counter[int] = Counter()  # to events with arms
        empty = empty_block(1, shape)
        self._empty = [column[0].copy() for column in empty.columns]
        width = sum(column.nbytes for column in empty.columns)
        self._bits = min(max((_BYTES // width).bit_length() - 1, _MIN_BLOCK), _MAX_BLOCK)
        self._mask = self.block_size - 1
        self.blocks = [empty_block(self.block_size, shape)]
        self.versions = [self.position]  # of the blocks: the last event that changed each

    def __len__(self) -> int:
        return self.held

    @cached_property
    def rows_by_id(self) -> RowIndex:
        """The rows of decisions; a frozen ledger makes this when it is asked."""
        return RowIndex(self.ids)

    @property
    def block_size(self) -> int:
        """The number of rows in a block."""
        return 1 << self._bits

    def records(self, rows: Sequence[int]) -> tuple[list[str], list[str]]:
        """Return arms and contexts of some rows as callers gave them; empty texts if as numbers."""
        if not self._records:
            return [""] * len(rows), [""] * len(rows)
        arms, contexts = ([texts[row] for row in rows] for texts in self._records)
        return arms, contexts

    def _free_row(self) -> int:
        """Return a row that no decision lives in, the lowest."""
        if self._free:
            return heapq.heappop(self._free)
        row = len(self.ids)
        if row >> self._bits == len(self.blocks):
            self.blocks.append(empty_block(self.block_size, self.shape))
            self.versions.append(self.position)
        self.ids.append("")
        self.arms.append("")
        for texts in self._records:
            texts.append("")
        return row

    def store(self, event: Decided, number: int) -> int:
        """Make a row of a decision that has a number, and return it."""
        row, time = self._free_row(), event.time
        self.ids[row], self.arms[row] = event.id, sys.intern(event.arm)  # many arms recur
        self.rows_by_id.add(event.id, row)
        self.held += 1
        if self._records or event.record is not None or event.context is not None:
            self._store_records(row, event)
        block, i = self.writable(row)
        block.features[i] = event.features
        block.estimates[i] = event.estimates
        if event.weights is not None:
            block.weights[i] = event.weights
        block.statuses[i] = PENDING
        block.number[i], block.position[i] = number, self.position
        block.flags[i] = (
            EXPLORED * event.exploring
            + UNIFORM * event.uniform
            + GROUPED * event.grouped
            + OBSERVED * event.made_elsewhere
            + TIMED * (time is not None)
            + HOLDOUT * event.holdout
            + COUNTED * (event.budget_record is not None)
        )
        if time or not event.active:  # a free row has zeros
            self._column_to_write(row, "time")[i] = time or 0.0
            self._column_to_write(row, "start")[i] = (time or 0.0) if event.active else math.inf
        if event.offer_position:
            self._column_to_write(row, "offer_position")[i] = event.offer_position
            self.add_reference(event.offer_position)
        if event.subject is not None:
            self._column_to_write(row, "subject")[i] = event.subject
        return row

    def _store_records(self, row: int, event: Decided) -> None:
        """Keep the arm and the context of a decision as the caller gave them."""
        self._records = self._records or ([""] * len(self.ids), [""] * len(self.ids))
        record, context = event.record, event.context
        self._records[0][row] = "" if record is None else sys.intern(record_text(record))
        self._records[1][row] = "" if context is None else record_text(context)

    def _column_to_write(self, row: int, name: str) -> Any:
        """Return a column of the block of a row; zeros that took no room take it from now on."""
        number = row >> self._bits
        column = getattr(self.blocks[number], name)
        if not column.flags.writeable:
            column = column.copy()
            self.blocks[number] = self.blocks[number]._replace(**{name: column})
        return column

    def decided(self, row: int) -> Decided:
        """Return the decision in a row, as far as it is held."""
        block, i = self.readable(row)
        flags, ((record,), (context,)) = block.flags.item(i), self.records([row])
        return Decided(
            self.ids[row],
            self.arms[row],
            block.features[i].copy(),
            None if np.isnan(block.weights[i]).any() else block.weights[i].copy(),
            block.estimates[i].copy(),
            bool(flags & EXPLORED),
            bool(flags & UNIFORM),
            bool(flags & GROUPED),
            None,
            block.time.item(i) if flags & TIMED else None,
            holdout=bool(flags & HOLDOUT),
            subject=block.subject.item(i) or None,
            record=parse_record(record),
            context=parse_record(context),
        )

    def holds(self, row: int) -> bool:
        """Tell whether a decision lives in a row."""
        return bool(self.ids[row])

    def writable(self, row: int) -> tuple[Block, int]:
        """Return where a row lies, to write there."""
        number = row >> self._bits
        if number in self._shared:
            self._shared.discard(number)
            self.blocks[number] = Block._make(
                column.copy() if column.flags.writeable else column
                for column in self.blocks[number].columns
            )
        self.versions[number] = self.position
        return self.blocks[number], row & self._mask

    def readable(self, row: int) -> tuple[Block, int]:
        """Return where a row lies, to read it."""
        return self.blocks[row >> self._bits], row & self._mask

    def freeze(self) -> "Ledger":
        """Return the ledger as it is now: it can be read at any time, while this one goes on."""
        other = object.__new__(Ledger)
        other.__dict__ = self.__dict__.copy()
        del other.rows_by_id  # it reads the ids of this one
        other.ids, other.arms = self.ids.copy(), self.arms.copy()
        other._records = tuple(texts.copy() for texts in self._records)
        other.blocks, other.versions = self.blocks.copy(), self.versions.copy()
        self._shared = set(range(len(self.blocks)))
        return other

    def drop(self, row: int) -> None:
        """Forget a decision; its id is unknown from now on."""
        block, i = self.writable(row)
        self._release(block.position.item(i))
        self.drop_reference(block.offer_position.item(i))
        for column, empty in zip(block.columns, self._empty, strict=True):
            if column.flags.writeable:
                column[i] = empty
        self.rows_by_id.remove(self.ids[row])
        self.held -= 1
        for texts in (self.ids, self.arms, *self._records):
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
        completed = self.blocks[row >> self._bits].completed  # it has been written to just now
        completed[row & self._mask] = self.completions_so_far
        self.completions_so_far += 1
        self._completed_rows.append(row)
        self.completed_count += 1
        dropped = 0
        while self.completed_count > most:
            self._drop_oldest()
            dropped += 1
        return dropped

    def drop_aged(self, before: float) -> int:
        """Drop completed decisions that are too old, as far as all completed before are, too."""
        dropped = 0
        while self.completed_count:
            block, i = self.readable(self._completed_rows[self._first_completed])
            if block.time.item(i) >= before:
                break
            self._drop_oldest()
            dropped += 1
        return dropped

    def _drop_oldest(self) -> None:
        rows = self._completed_rows
        self.drop(rows[self._first_completed])
        self._first_completed += 1
        self.completed_count -= 1
        if self._first_completed > _LEFT_OVER and 2 * self._first_completed > len(rows):
            del rows[: self._first_completed]
            self._first_completed = 0

    def reopen(self, row: int) -> None:
        """Have something pending again, of a decision that was completed."""
        block, i = self.writable(row)
        block.completed[i] = -1
        del self._completed_rows[self._completed_rows.index(row, self._first_completed)]
        self.completed_count -= 1

    def pending(self) -> IntArray:
        """Return rows with something pending, in the order of their decisions."""
        return self._where([(block.statuses == PENDING).any(axis=1) for block in self.blocks])

    def live(self) -> IntArray:
        """Return all rows in use, in the order of their decisions."""
        return self._where([block.number >= 0 for block in self.blocks])

    def rows_of_numbers(self, numbers: Sequence[int]) -> list[int]:
        """Return the rows of decisions by their numbers, as far as they are held."""
        wanted = np.array(numbers, dtype=np.int64)
        rows: list[int] = self._where([np.isin(b.number, wanted) for b in self.blocks]).tolist()
        return rows

    def _where(self, masks: list[Any]) -> IntArray:
        """Return the rows where masks of the blocks are true, in the order of their decisions."""
        rows = np.flatnonzero(np.concatenate(masks))
        return rows[np.argsort(self.column("number")[rows], kind="stable")]

    def column(self, name: str) -> Any:
        """Return what stands in all rows under a name of :class:`Block`."""
        return np.concatenate([getattr(block, name) for block in self.blocks])[: len(self.ids)]

    def gather(self, rows: IntArray) -> Block:
        """Return copies of what stands in some rows, (n,)."""
        part = Block._make(map(np.empty_like, empty_block(len(rows), self.shape)))
        numbers = rows >> self._bits
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1)).tolist()
        for start, stop in pairwise([*starts, len(rows)]):
            chosen = order[start:stop]
            block, inside = self.blocks[numbers[chosen[0]]], rows[chosen] & (self.block_size - 1)
            for target, source in zip(part.columns, block.columns, strict=True):
                target[chosen] = source[inside]
        return part

    def fill(self, parts: Iterable[tuple[Sequence[list[str]], Block]]) -> None:
        """Take over decisions: texts and rows, of which some may be free, where none are held.

        Every part but the last is a whole number of blocks, once free rows are added to it.
        """
        self.blocks = []
        for texts, part in parts:
            before, missing = len(self.ids), len(self.blocks) * self.block_size - len(self.ids)
            if not self._records and any(map(any, texts[2:])):
                self._records = [""] * before, [""] * before
            held = self.ids, self.arms, *self._records
            for held_texts, new_texts in zip(held, texts, strict=False):
                held_texts += [""] * missing + new_texts
            for start in range(0, len(part.number), self.block_size):
                row = len(self.blocks) << self._bits
                block = empty_block(self.block_size, self.shape)
                self.blocks.append(block)
                columns = zip(Block._fields, block.columns, part.columns, strict=True)
                for name, column, whole in columns:
                    values = whole[start : start + self.block_size]
                    if column.flags.writeable or values.any():
                        self._column_to_write(row, name)[: len(values)] = values
        self.blocks = self.blocks or [empty_block(self.block_size, self.shape)]
        self.versions = [self.position] * len(self.blocks)
        self.rows_by_id = RowIndex(self.ids)
        self.held = sum(map(bool, self.ids))
        completed, offers = self.column("completed"), self.column("offer_position")
        done = np.flatnonzero(completed >= 0)
        self._completed_rows = array(
            "I", done[np.argsort(completed[done])].astype(np.uint32).tobytes()
        )
        self.completed_count, self._first_completed = len(done), 0
        self._free = np.flatnonzero(self.column("number") < 0).tolist()
        offers, counts = np.unique(offers[offers > 0], return_counts=True)
        self.references.update(dict(zip(offers.tolist(), counts.tolist(), strict=True)))

    def reshape(
        self,
        indices: Sequence[int | None],
        factors: FloatArray,
        features: FloatArray,
        *,
        stamped: bool,
    ) -> None:
        """Go on with other objectives: those at some indices before, and new ones for None.

        Estimates are multiplied by factors. Nothing is waited for of a new objective. Features of
        all decisions, (n, p), take the place of those that they had.
        """
        rows = self.live()
        old = self.gather(rows)
        held = [[texts[row] for row in rows.tolist()] for texts in (self.ids, self.arms)]
        held += self.records(rows.tolist())
        stamps = np.full((len(rows), len(indices) * stamped), -math.inf)

        def moved(column: Any, missing: Any) -> Any:
            kept = [m is not None for m in indices]
            return np.where(kept, column[:, [m or 0 for m in indices]], missing)

        new = old._replace(
            features=features,
            weights=moved(old.weights, np.where(np.isnan(old.weights[:, :1]), math.nan, 0.0)),
            estimates=moved(old.estimates, 0.0) * factors,
            values=moved(old.values, math.nan),
            stamps=moved(old.stamps, stamps) if stamped and old.stamps.size else stamps,
            statuses=moved(old.statuses, np.uint8(MISSING)),
        )
        references = self.references
        self._begin((features.shape[1], len(indices), len(indices) * stamped))
        self.fill([(held, new)])
        self.references = references

"""When the windows of decisions close, and what becomes final then."""

import heapq
import math
from typing import NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray
from mogro.live.memory.learner import Learner
from mogro.live.memory.ledger import TEACHES, Ledger
from mogro.live.objective import PENDING, WITHDRAWN, Settled, Units

_FEW = 32  # decisions that are learned one by one; more of them at once


class Closing(NamedTuple):
    """What becomes final when windows close, one after the other in n steps."""

    states: dict[int, list[int]]  # by row: of its objectives, as they will be
    features: FloatArray  # of the decisions, (n, p)
    times: FloatArray  # of the decisions, (n,)
    values: FloatArray  # to be learned, as the learner sees them, (n, M)
    learned: BoolArray  # where, (n, M)
    lost: BoolArray  # where nothing is learned, (n, M)
    settled: int  # objectives

    def teach(self, learner: Learner) -> None:
        """Let a learner learn it."""
        if len(self.times) > _FEW:
            learner.learn_many(self.features, self.values, self.learned, self.times)
        else:
            for n in np.flatnonzero(self.learned.any(axis=1)).tolist():
                learner.learn(self.features[n], self.values[n], self.learned[n], self.times.item(n))
        some = self.lost.any(axis=1)
        if some.any():
            learner.lose(self.features[some], self.lost[some], self.times[some])


class Windows:
    """The closing times of all decisions that wait: a heap, so that looking is cheap."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int]] = []  # time, serial number, row

    def add(self, end: float, serial: int, row: int) -> None:
        """Note when something of a decision closes, if ever."""
        if end < math.inf:
            heapq.heappush(self._heap, (end, serial, row))

    def drop(self, now: float) -> None:
        """Forget the times up to now."""
        while self._heap and self._heap[0][0] <= now:
            heapq.heappop(self._heap)

    def closing(self, now: float, ledger: Ledger, units: Units) -> Closing | None:
        """Find out what becomes final until a time, in the order of closing; nothing changes."""
        if not self._heap or self._heap[0][0] > now:
            return None
        due = self._due(now)
        heapq.heapify(due)
        states: dict[int, list[int]] = {}
        steps: list[tuple[int, Settled]] = []
        while due:
            end, serial, row = heapq.heappop(due)
            block, i = ledger.place(row)
            if block.serial.item(i) != serial:
                continue  # completed before, and forgotten
            own = states.setdefault(row, block.state[i].tolist())
            start = block.start.item(i)
            if start < math.inf:
                found = units.settle(own, block.values[i].tolist(), start, end)
            else:  # it was not activated in time
                found = Settled([], [m for m, state in enumerate(own) if state == PENDING])
                own[:] = [WITHDRAWN if state == PENDING else state for state in own]
            if found.learned or found.lost:
                steps.append((row, found))
            later = units.next_closing(own, start, end)
            if later <= now:
                heapq.heappush(due, (later, serial, row))
        return _collect(states, steps, ledger, units)

    def _due(self, now: float) -> list[tuple[float, int, int]]:
        """Return the part of the heap that is due."""
        found, places = [], [0]
        while places:
            place = places.pop()
            if place < len(self._heap) and self._heap[place][0] <= now:
                found.append(self._heap[place])
                places += [2 * place + 1, 2 * place + 2]
        return found


def find_windows(ledger: Ledger, units: Units, patience: float) -> Windows:
    """Find out when the windows of all decisions close."""
    windows = Windows()
    if min(units.nearest, patience) == math.inf:
        return windows
    rows = ledger.pending()
    part = ledger.gather(rows)
    for n, row in enumerate(rows.tolist()):
        # Also if it is over: a decision may have been late itself when it was made.
        states, start = part.state[n].tolist(), part.start.item(n)
        end = units.next_closing(states, start, -math.inf)
        if start == math.inf and PENDING in states:
            end = part.time.item(n) + patience
        windows.add(end, part.serial.item(n), row)
    return windows


def _collect(
    states: dict[int, list[int]], steps: list[tuple[int, Settled]], ledger: Ledger, units: Units
) -> Closing:
    part = ledger.gather(np.array([row for row, _ in steps], dtype=np.int64))
    shape = part.state.shape
    values: FloatArray = np.zeros(shape)
    learned: BoolArray = np.zeros(shape, dtype=np.bool_)
    lost: BoolArray = np.zeros(shape, dtype=np.bool_)
    for n, (_, found) in enumerate(steps):
        for m, value in found.learned:
            values[n, m] = (value - units.offsets[m]) / units.slopes[m]
            learned[n, m] = True
        lost[n, found.lost] = True
    settled = int(learned.sum() + lost.sum())
    teaches = (part.flags & TEACHES > 0)[:, None]
    return Closing(
        states, part.features, part.time, values, learned & teaches, lost & teaches, settled
    )

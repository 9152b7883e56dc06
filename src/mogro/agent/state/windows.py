"""When the windows of decisions close, and what becomes final then."""

import heapq
import math

import numpy as np

from mogro._validation import BoolArray, FloatArray
from mogro.agent.objective import PENDING, WITHDRAWN
from mogro.agent.objective_set import ObjectiveSet, ResolvedRewards
from mogro.agent.state.learner import ClosingWindows
from mogro.agent.state.ledger import Ledger


class Windows:
    """The closing times of all decisions that wait: a heap, so that looking is cheap."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int]] = []  # time, number of the decision, row

    def add(self, end: float, number: int, row: int) -> None:
        """Note when something of a decision closes, if ever."""
        if end < math.inf:
            heapq.heappush(self._heap, (end, number, row))

    def drop(self, now: float) -> None:
        """Forget the times up to now."""
        while self._heap and self._heap[0][0] <= now:
            heapq.heappop(self._heap)

    def closing(
        self, now: float, ledger: Ledger, objective_set: ObjectiveSet
    ) -> ClosingWindows | None:
        """Find out what becomes final until a time, in the order of closing; nothing changes."""
        if not self._heap or self._heap[0][0] > now:
            return None
        due = self._due(now)
        heapq.heapify(due)
        states: dict[int, list[int]] = {}
        steps: list[tuple[int, ResolvedRewards]] = []
        while due:
            end, number, row = heapq.heappop(due)
            block, i = ledger.readable(row)
            if block.number.item(i) != number:
                continue  # completed before, and forgotten
            row_states = states.setdefault(row, block.statuses[i].tolist())
            start = block.start.item(i)
            if start < math.inf:
                resolved = objective_set.resolve(row_states, block.values[i].tolist(), start, end)
            else:  # it was not activated in time
                resolved = ResolvedRewards(
                    [], [m for m, state in enumerate(row_states) if state == PENDING]
                )
                row_states[:] = [WITHDRAWN if state == PENDING else state for state in row_states]
            if resolved.learned or resolved.unobserved:
                steps.append((row, resolved))
                states[row] = states.pop(row)  # in this order, whatever is out of date in the heap
            next_end = objective_set.next_closing(row_states, start, end)
            if next_end <= now:
                heapq.heappush(due, (next_end, number, row))
        return _collect(states, steps, ledger, objective_set)

    def _due(self, now: float) -> list[tuple[float, int, int]]:
        """Return the part of the heap that is due."""
        due, indices = [], [0]
        while indices:
            index = indices.pop()
            if index < len(self._heap) and self._heap[index][0] <= now:
                due.append(self._heap[index])
                indices += [2 * index + 1, 2 * index + 2]
        return due


def find_windows(ledger: Ledger, objective_set: ObjectiveSet, activation_timeout: float) -> Windows:
    """Find out when the windows of all decisions close."""
    windows = Windows()
    if min(objective_set.shortest_window, activation_timeout) == math.inf:
        return windows
    rows = ledger.pending()
    block = ledger.gather(rows)
    for n, row in enumerate(rows.tolist()):
        # Also if it is over: a decision may have been late itself when it was made.
        states, start = block.statuses[n].tolist(), block.start.item(n)
        end = objective_set.next_closing(states, start, -math.inf)
        if start == math.inf and PENDING in states:
            end = block.time.item(n) + activation_timeout
        windows.add(end, block.number.item(n), row)
    return windows


def _collect(
    states: dict[int, list[int]],
    steps: list[tuple[int, ResolvedRewards]],
    ledger: Ledger,
    objective_set: ObjectiveSet,
) -> ClosingWindows:
    rows = [ledger.readable(row) for row, _ in steps]
    features = np.array([block.features[i] for block, i in rows]).reshape(-1, ledger.shape[0])
    numbers = np.array([block.number.item(i) for block, i in rows], dtype=np.int64)
    times = np.array([block.time.item(i) for block, i in rows])
    shape = len(steps), len(objective_set)
    values: FloatArray = np.zeros(shape)
    learned: BoolArray = np.zeros(shape, dtype=np.bool_)
    unobserved: BoolArray = np.zeros(shape, dtype=np.bool_)
    for n, (_, resolved) in enumerate(steps):
        for m, value in resolved.learned:
            values[n, m] = (value - objective_set.offsets[m]) / objective_set.slopes[m]
            learned[n, m] = True
        unobserved[n, resolved.unobserved] = True
    arms = [ledger.arms[row] for row, _ in steps]
    return ClosingWindows(states, features, numbers, times, values, learned, unobserved, arms)

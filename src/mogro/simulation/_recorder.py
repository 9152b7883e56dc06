"""The record of a run: arms, gaps, rewards and measures, summed over rounds."""

import inspect
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, IntArray
from mogro.pareto import effective_gaps, gaps
from mogro.simulation._worlds import Worlds
from mogro.simulation.measures import Measure, Measures
from mogro.simulation.trace import Trace, count_pulls

_MAX_CACHED = 1 << 15  # bytes of mean rewards whose gaps are worth keeping
_MAX_WAITING = 1 << 22  # bytes of rounds that wait to be summed up together
_ROUND_PARAMETERS, _RUN_PARAMETERS = {"means", "chosen", "reward"}, {"means", "pulls"}
_RESERVED = {"effective_regret", "pareto_regret"}


class Recorder:
    """Notes every round of a run of T rounds in I instances with R repeats each.

    Rounds wait, and are summed up together. Sums go from round to round, one learner like the
    other, so that no bit of them depends on how many learners there are or how many rounds wait.
    """

    def __init__(
        self, worlds: Worlds, rounds: int, checkpoints: IntArray, measures: Measures
    ) -> None:
        self._batch, self._offered = worlds.batch, worlds.arms
        self._objectives, self._changing = worlds.objectives, worlds.changing
        self._checkpoints, self._measures = checkpoints, MeasureSet(measures)
        self._arms = np.empty((rounds, *self._batch), dtype=np.min_scalar_type(worlds.arms - 1))
        numbers = self._objectives * (1 if worlds.fixed_arms else self._offered)  # of a learner
        at_once = max(1, _MAX_WAITING // (8 * numbers * math.prod(self._batch)))
        # What is summed, (n, I, R, Q): regrets, measures of means, rewards, measures of rewards.
        self._ends = np.cumsum([2, len(self._measures.of_means), self._objectives]).tolist()
        columns = self._ends[-1] + len(self._measures.of_rewards)
        self._rows = np.empty((min(at_once, rounds), *self._batch, columns))
        self._rewards = self._rows[..., self._ends[1] : self._ends[2]]
        self._means: list[FloatArray] = []  # of the rounds that wait
        self._sums: FloatArray = np.zeros(())  # so far, (I, R, Q)
        self._at_checkpoints: list[FloatArray] = []
        self._judged: FloatArray | None = None  # means that all repeats share
        self._table: FloatArray = np.empty(0)  # what their arms add to the sums, (I K, S)

    def add_round(
        self, t: int, means: FloatArray, arms: IntArray | int, rewards: FloatArray
    ) -> None:
        """Take down round t, from 0.

        Means are (I, R, K, M), or (I, 1, K, M) if repeats share them, then the very same array as
        long as they stay.
        """
        self._arms[t] = arms
        self._rewards[len(self._means)] = rewards
        self._means.append(means)
        if t == 0 or len(self._means) == len(self._rewards):
            self._sum_up(t + 1)

    def stop(self, rounds: int) -> None:
        """End the run after fewer rounds, which are the last checkpoint then."""
        self._sum_up(rounds)
        row = int(np.searchsorted(self._checkpoints, rounds))
        self._checkpoints = np.append(self._checkpoints[:row], rounds)
        self._arms = self._arms[:rounds].copy()
        self._at_checkpoints[row:] = [self._sums]

    def trace(self, probed: NDArray[Any], seed: tuple[int, ...], finished: IntArray) -> Trace:
        """Return the whole record."""
        self._sum_up(len(self._arms))
        measures, marks = self._measures, self._checkpoints
        sums = np.stack(self._at_checkpoints)  # (C, I, R, Q)
        regrets, of_means, rewards, of_rewards = np.split(sums, self._ends, axis=-1)
        measured = np.empty((*sums.shape[:-1], 0))
        if measures.names:
            nothing = np.empty((self._batch[0], 0, 0))  # means change: nobody asks for them
            means = nothing if self._judged is None else self._judged[:, 0]
            pulls = count_pulls(self._arms, marks, self._offered)
            measured = measures.at_checkpoints(of_means, of_rewards, means, pulls)
        return Trace(
            arms=self._arms,
            checkpoints=marks,
            pareto_regret=regrets[..., 0].copy(),
            effective_regret=regrets[..., 1].copy(),
            rewards=rewards.copy(),
            probed=probed[: len(marks)],
            measured=measured,
            finished=finished,
            offered=self._offered,
            seed=seed,
            measures=measures.names,
        )

    def _sum_up(self, stop: int) -> None:
        """Sum up the rounds that wait, the last before ``stop``."""
        means, self._means, measures = self._means, [], self._measures
        if not means:
            return
        start, first = stop - len(means), means[0]
        rows, arms = self._rows[: len(means)], self._arms[start:stop].astype(np.int64)
        offers = (*self._batch, self._offered, self._objectives)
        stay = first.shape[1] == 1 and all(each is first for each in means) and not self._changing
        if not stay or (self._judged is not None and self._judged is not first):
            measures.check_changing()
        summed = rows[..., : self._ends[1]]
        if stay:
            wide = np.broadcast_to(first, (len(means), *offers))
            table = self._judge(first)
            instances = np.arange(0, len(table), self._offered)[:, None]
            summed[...] = table.take(arms + instances, axis=0)
        else:
            wide = np.stack([np.broadcast_to(each, offers) for each in means])
            regrets = gaps(wide, arms=arms), effective_gaps(wide, arms=arms)
            chosen = _means_of(wide, arms)
            np.stack([*regrets, *measures.of_rounds(wide, chosen)], axis=-1, out=summed)
        if measures.of_rewards:
            chosen, rewards = _means_of(wide, arms), self._rewards[: len(means)].copy()
            measured = measures.of_rounds(wide, chosen, rewards)
            np.stack(measured, axis=-1, out=rows[..., self._ends[2] :])
        self._add(rows, start)

    def _add(self, rows: FloatArray, start: int) -> None:
        """Add up rows (n, I, R, Q), the first of round ``start``; note sums at checkpoints.

        Of several columns NumPy adds one row after the other, however many there are.
        """
        marks = self._checkpoints - start
        noted = set(marks[(marks > 0) & (marks <= len(rows))].tolist())
        first = 0
        for last in sorted({*noted, len(rows)}):
            rows[first] += self._sums
            self._sums = np.add.reduce(rows[first:last], axis=0)
            if last in noted:
                self._at_checkpoints.append(self._sums)
            first = last

    def _judge(self, means: FloatArray) -> FloatArray:
        """Return what is summed for all arms where repeats share their means, (I K, S).

        One instance at a time: no bit depends on the others.
        """
        if means is not self._judged:
            rows = []
            for table in means[:, 0]:
                judge = _cached_gaps if table.nbytes <= _MAX_CACHED else _gaps
                means_by_arm = np.broadcast_to(table, (len(table), *table.shape))
                regrets = judge(table.tobytes(), table.shape[-1])
                measured = self._measures.of_rounds(means_by_arm, table)
                rows.append(np.stack([*regrets, *measured], axis=-1))
            self._judged, self._table = means, np.concatenate(rows)
        return self._table


def _means_of(means: FloatArray, arms: IntArray) -> FloatArray:
    """Return the means (..., M) of arms (...) among (..., K, M)."""
    return np.take_along_axis(means, arms[..., None, None], axis=-2)[..., 0, :]


def _gaps(means: bytes, objectives: int) -> FloatArray:
    """Return both gaps of all arms, (2, K)."""
    table = np.frombuffer(means).reshape(-1, objectives)
    return np.stack([gaps(table), effective_gaps(table)])


# Policies that are compared meet the same instances one after the other.
_cached_gaps = lru_cache(maxsize=512)(_gaps)


class MeasureSet:
    """Measures of a run in their order, some summed over rounds, others taken at checkpoints."""

    def __init__(self, measures: Measures) -> None:
        self._measures = _read_measures(measures)
        self.names = tuple(self._measures)
        self._parameters = {
            name: _read_parameters(measure, name) for name, measure in self._measures.items()
        }
        self.of_rewards = [name for name in self.names if "reward" in self._parameters[name]]
        others = [name for name in self.names if name not in self.of_rewards]
        self.of_means = [name for name in others if "chosen" in self._parameters[name]]
        self._fixed = [name for name in others if name not in self.of_means]

    def check_changing(self) -> None:
        """Refuse measures that need means that stay, because they do not."""
        if self._fixed:
            raise ValueError(
                f"measures: expected chosen or reward (and means with them) in a world "
                f"whose means change, got {self._fixed[0]!r}, which asks for "
                f"{sorted(self._parameters[self._fixed[0]])}"
            )

    def of_rounds(
        self, means: FloatArray, chosen: FloatArray, rewards: FloatArray | None = None
    ) -> list[FloatArray]:
        """Return the measures of rounds that ask for rewards, each (...), or those that do not."""
        names = self.of_means if rewards is None else self.of_rewards
        given = {"means": means, "chosen": chosen, "reward": rewards}
        return [self._call(name, chosen.shape[:-1], **given) for name in names]

    def at_checkpoints(
        self, of_means: FloatArray, of_rewards: FloatArray, means: FloatArray, pulls: IntArray
    ) -> FloatArray:
        """Return all measures, (C, I, R, Q).

        Parameters
        ----------
        of_means, of_rewards
            Sums of what :meth:`of_rounds` returned, (C, I, R, S).
        means
            Where they stay, (I, K, M).
        pulls
            (C, I, R, K).
        """
        columns = dict(zip(self.of_means, np.moveaxis(of_means, -1, 0), strict=True))
        columns |= zip(self.of_rewards, np.moveaxis(of_rewards, -1, 0), strict=True)
        for name in self._fixed:
            shape = (len(pulls), pulls.shape[2])
            rows = [
                self._call(name, shape, means=each, pulls=pulls[:, i])
                for i, each in enumerate(means)
            ]
            columns[name] = np.stack(rows, axis=1)
        return np.stack([columns[name] for name in self.names], axis=-1)

    def _call(self, name: str, shape: tuple[int, ...], **given: object) -> FloatArray:
        asked = {key: value for key, value in given.items() if key in self._parameters[name]}
        value = np.asarray(self._measures[name](**asked))
        if value.shape != shape or value.dtype.kind not in "biuf":
            raise ValueError(
                f"measures: expected {name!r} to return numbers in the shape {shape}, "
                f"got shape {value.shape} of {value.dtype}"
            )
        return value.astype(np.float64)


def _read_measures(measures: Measures) -> dict[str, Measure]:
    if not isinstance(measures, Mapping | Sequence):
        raise ValueError(f"measures: expected a list or dict of functions, got {measures!r}")
    given = (
        dict(measures)
        if isinstance(measures, Mapping)
        else {_name(measure): measure for measure in measures}
    )
    if len(given) != len(measures) or _RESERVED & given.keys():
        raise ValueError(
            f"measures: expected different names other than {sorted(_RESERVED)}, got {measures!r}"
        )
    return given


def _name(measure: Measure) -> str:
    """Return what a measure is called; one with settings like the function that has them."""
    bare = measure.func if isinstance(measure, partial) else measure
    return str(getattr(bare, "__name__", type(bare).__name__))


def _read_parameters(measure: Measure, name: str) -> set[str]:
    if not callable(measure):
        raise ValueError(f"measures: expected functions, got {measure!r} as {name!r}")
    settings = measure.keywords.keys() if isinstance(measure, partial) else set()
    parameters = inspect.signature(measure).parameters.keys() - settings
    if not parameters or not (parameters <= _ROUND_PARAMETERS or parameters <= _RUN_PARAMETERS):
        raise ValueError(
            f"measures: expected {name!r} to have parameters among means, chosen and reward, or "
            f"among means and pulls, got {sorted(parameters)}"
        )
    return set(parameters)

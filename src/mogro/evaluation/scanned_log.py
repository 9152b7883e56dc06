"""A log, and what a first look at all its rows has shown."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mogro._validation import FloatArray
from mogro.evaluation.log_records import Records
from mogro.evaluation.logs import AgentLog
from mogro.evaluation.targets import TargetProbabilities
from mogro.offpolicy import Evaluation, Rows, Sums, predicted_rows, weighted_rows


class ScannedLog:
    """A log, and what a first look at all its rows has shown."""

    def __init__(self, log: AgentLog) -> None:
        self._log = log
        self.judged = log.judged
        self.names = tuple(log.units.names[m] for m in log.judged)
        self._numbers: dict[str, int] = {}
        self._missing = False
        self._early = 0  # rows from before an objective was added
        first, last, rows = np.inf, -np.inf, 0
        for records in log.records():
            usable = records.with_estimates()
            self._early += len(records) - len(usable)
            self._missing |= bool(np.isnan(usable.rewards[:, log.judged]).any())
            for arm in dict.fromkeys(usable.arms):
                self._numbers.setdefault(arm, len(self._numbers))
            rows += len(usable)
            first = min(first, float(usable.times.min(initial=np.inf)))
            last = max(last, float(usable.times.max(initial=-np.inf)))
        self.pace = rows / (last - first) if last > first else np.nan  # decisions in a unit of time
        if not self._numbers:
            raise ValueError(
                "log: expected rows with propensities and closed windows, got none; agents with a "
                "journal record propensities, and objectives= names those whose windows have closed"
            )

    def records(self) -> Iterator[Records]:
        """Read rows, some at a time."""
        for records in self._log.records():
            usable = records.with_estimates()
            if len(usable):
                yield usable

    def rows(self, records: Records, wanted: TargetProbabilities, *, predictions: bool) -> Rows:
        """Return what an estimate needs of some rows."""
        logged, values, judged = records.propensities, wanted.values, self.judged
        rewards = records.rewards[:, judged]
        errors = _errors(records, wanted)
        uncertain = errors if errors.any() else None
        chosen = records.chosen
        if predictions and values.ndim == 2 and records.estimates is not None:
            assert chosen is not None
            believed = records.estimates[:, :, judged]
            rows = predicted_rows(rewards, logged, chosen, values, believed, errors=uncertain)
        else:
            if values.ndim == 2:
                assert chosen is not None
                values = values[np.arange(len(values)), chosen]
            rows = weighted_rows(rewards, logged, values, errors=uncertain)
        arms = [self._numbers[arm] for arm in records.arms] if self._missing else None
        return replace(rows, arms=None if arms is None else np.array(arms), mass=None)

    def logged(self, records: Records) -> Rows:
        """Return what an estimate of the logged choices themselves needs of some rows."""
        every = np.ones(len(records))
        rows = weighted_rows(records.rewards[:, self.judged], every, every)
        arms = [self._numbers[arm] for arm in records.arms] if self._missing else None
        return replace(rows, arms=None if arms is None else np.array(arms))

    def sums(self, rows: Rows, *, self_normalised: bool) -> Sums:
        """Return empty sums for such rows."""
        return Sums(
            len(self.names),
            self_normalised=self_normalised,
            predictions=rows.baseline is not None,
            missing=self._missing,
            arm_count=len(self._numbers) if self._missing else None,
        )

    def named(self, evaluation: Evaluation, *notes: str) -> Evaluation:
        """Give the objectives their names, and say what a reader should know."""
        added = f"{self._early:,} rows are left out, from before an objective was added"
        notes += (added,) if self._early else ()
        return replace(evaluation, names=self.names, notes=(*notes, *self._log.notes))


def _errors(records: Records, wanted: TargetProbabilities) -> FloatArray:
    """Return standard errors of propensities (n,), with those of the target beside them.

    The relative error of a weight is that of both probabilities.
    """
    errors = np.nan_to_num(records.errors)  # one that nobody gave
    if wanted.errors is None or records.chosen is None:
        return errors
    every = np.arange(len(errors))
    value, error = wanted.values[every, records.chosen], wanted.errors[every, records.chosen]
    relative = np.divide(error, value, out=np.zeros_like(error), where=value > 0)
    return np.asarray(np.hypot(errors, relative * records.propensities))

"""From a log and a policy to values: :func:`evaluate`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mogro._validation import FloatArray
from mogro.agent.lift import Lift, columns, lifts
from mogro.evaluation.logs import Log, batches, read_log
from mogro.evaluation.records import Records
from mogro.evaluation.targets import TargetProbabilities, read_target
from mogro.offpolicy import Evaluation, Rows, Sums, predicted_rows, weighted_rows


def evaluate(
    log: object,
    policy: object,
    /,
    *,
    objectives: Sequence[str] | None = None,
    predictions: bool = True,
    self_normalised: bool = True,
) -> Evaluation:
    """Estimate what a policy would have been worth, from a log, for every objective.

    Parameters
    ----------
    log
        An :class:`~mogro.Agent` (by its :meth:`~mogro.Agent.log`), or where one is kept (a file,
        the address of a database); such a table, or a folder of Parquet files of
        :meth:`~mogro.Agent.export`. For logs of other systems there is :mod:`mogro.offpolicy`.
    policy
        One of

        - weights per unit by objective, ``{"click": 1, "subscribe": 4}``: the arm that is best for
          them by the beliefs held at each decision;
        - a scalarisation or a front: selects by these beliefs;
        - a policy: by its own beliefs, as they are, if it has learned; otherwise by those logged;
        - another agent, as it is now, which learns nothing meanwhile;
        - probabilities of the logged arms, (n,), or of all arms on offer, in their order, (n, K).
    objectives
        Names of those that are to be judged; all without it. Rows with an open window of another
        objective then count.
    predictions
        Doubly robust: go by the beliefs held at each decision, and by weighted residuals. Without
        them, and for probabilities (n,), by weighted rewards alone.
    self_normalised
        Divide by the sum of the weights; without it the estimate is unbiased, and mostly worse.

    Returns
    -------
    Evaluation
        In the user's units. Its text says first what is wrong with it.

    Notes
    -----
    Beliefs held at a decision were known before its reward, so that they choose and predict without
    having seen it. A policy that was fitted to the log has seen it: an agent that knows ids of the
    log is marked as judged in-sample, of other policies this is not known.

    Rewards that are missing are stood for by others of their arm. Decisions from the first one on
    that has an open window are left out, and rows without a propensity or from before an objective
    was added. Of an objective that is
    ``given`` another the value is the mean over decisions of what the arm gives where the condition
    is met. Where rounds are not exchangeable over time, the value is that of the logged time.

    Reads the log twice, some rows at a time.

    Examples
    --------
    Two stories, 500 visits, half of them uniform draws; "b" has more clicks:

    >>> import mogro, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> agent = mogro.Agent.open(
    ...     folder.name + "/page.db", [mogro.Objective("click")], arms=1, seed=0, epsilon=0.5)
    >>> for visit in range(500):
    ...     decision = agent.decide({"a": [0.0], "b": [1.0]})
    ...     clicked = visit % 10 < {"a": 1, "b": 3}[decision.arm]
    ...     outcome = agent.reward(decision.id, {"click": clicked})
    >>> low, high = evaluate(agent, np.full(500, 0.5)).interval()[0]
    >>> bool(low < (0.1 + 0.3) / 2 < high)
    True
    >>> agent.close(), folder.cleanup()
    (None, None)
    """
    known = read_log(log, objectives)
    target, notes = read_target(policy, known, source=log)
    scanned = ScannedLog(known)
    sums = None
    for records in scanned.records():
        rows = scanned.rows(records, target(records), predictions=predictions)
        if sums is None:
            sums = scanned.sums(rows, self_normalised=self_normalised)
        sums.add(rows)
    assert sums is not None
    return scanned.named(sums.result(), *notes)


def lift(log: object, /) -> tuple[Lift, ...]:
    """Return what an agent gained over its baseline, for every objective, from its log.

    Parameters
    ----------
    log
        As for :func:`evaluate`, of an agent with a ``holdout``.

    Notes
    -----
    Who is held out is drawn at random, so the difference of the two means is what the agent
    changed, whatever it believed. Decisions from the first one on that has an open window are left
    out, for each objective. The agent learns from both, so a baseline of uniform draws helps it.

    Examples
    --------
    >>> import mogro
    >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0, holdout=0.5)
    >>> for visit in range(200):
    ...     decision = agent.decide({"a": [1.0], "b": [3.0]}, subject=f"user {visit}")
    ...     outcome = agent.reward(decision.id, {"sales": 3.0 if decision.arm == "b" else 1.0})
    >>> lift(agent)[0].difference.low > 0.5
    True
    """
    known = read_log(log)
    import pyarrow as pa

    try:
        some = list(batches(known.source, columns(known.units)))
    except (KeyError, pa.ArrowInvalid):  # a log from before there was a holdout
        some = []
    measured = lifts(pa.Table.from_batches(some), known.units) if some else ()
    if not measured:
        raise ValueError("log: expected decisions of a baseline (holdout=), got none")
    return measured


class ScannedLog:
    """A log, and what a first look at all its rows has shown."""

    def __init__(self, log: Log) -> None:
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
                "journal record propensities"
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

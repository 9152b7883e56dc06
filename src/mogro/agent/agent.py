"""The object that a team holds: decisions with ids, rewards that come late and in parts."""

import copy
import json
import math
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from inspect import Signature, signature
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mogro._files import write_atomically
from mogro._validation import FloatArray, between, boolean, count, folder_or_file, share
from mogro.agent import decision_records, views
from mogro.agent.alarms import Alarm, find_alarms
from mogro.agent.budget import BudgetStatus
from mogro.agent.config import AgentChanges, AgentConfig, AgentOptions, Settings
from mogro.agent.decision import (
    Decision,
    DecisionRecord,
    Propensities,
    compute_propensities,
    make_decision,
    make_inputs,
)
from mogro.agent.decision_records import observed_decision
from mogro.agent.errors import DifferentConfig, ImplausibleTime
from mogro.agent.events import (
    Activated,
    Decided,
    Erased,
    Event,
    Expired,
    Offered,
    PriorLearned,
    Reconfigured,
    Rewarded,
    Voided,
    Withdrawn,
)
from mogro.agent.explanation import Explanation, explain
from mogro.agent.features.arms import ArmReader, Arms, Context, Features
from mogro.agent.features.catalogue import Offer
from mogro.agent.features.feature_map import FeatureSpec
from mogro.agent.imported_log import LoggedDecision, import_events, read_imported_log
from mogro.agent.journal import (
    CommitQueue,
    check_config,
    erase_decisions,
    open_journal,
    void_event,
)
from mogro.agent.journal.tables import find_mentions
from mogro.agent.log import JournalRows, Rewards, make_log, read_exported, write_log
from mogro.agent.objective import LARGEST, Objective
from mogro.agent.reconfiguration import find_changes
from mogro.agent.report import make_parts, make_report
from mogro.agent.request import (
    Clock,
    Request,
    Weights,
    check_first_time,
    check_id,
    check_new_id,
    check_step,
    read_request,
    read_rewards,
    read_time,
)
from mogro.agent.state.counters import Outcome, Reconfiguration
from mogro.agent.state.snapshot import read_snapshot, write_snapshot
from mogro.agent.state.state import LockedState, State
from mogro.agent.top_decisions import make_top_decisions
from mogro.priors import Fixed

T = TypeVar("T")

_DECISIONS_PER_COMMIT = 500  # of a log that is learned


class Agent:
    """Decides among arms and learns from what comes back, whenever it comes back.

    Parameters
    ----------
    objectives
        What decisions should be good at.
    arms
        Number of features of an arm; or an :class:`~mogro.Encoder`, where arms are records.
    context
        Where decisions have a context: its number of features, or an encoder. The learner then sees
        a constant, the arm, the context and their products, so that an arm may be good for some
        contexts and bad for others.
    interactions
        Which of these products there are: all, none (False), or those of some columns of the
        encoders, as pairs (column of the arm, column of the context).
    seed
        The draw of a decision follows from this and the decision's id.
    policy
        Makes the policy from the number of features the learner sees (the constant is one of them)
        and of objectives; by default :class:`~mogro.MOGRO` with a prior that is learned. Its
        numbers (noise, norm, threshold) are in the units of the objectives.
    prior
        What is believed before the first observation, if not what the policy believes: one of
        :mod:`mogro.priors`. The groups of ``Learned()`` are the constant, the arm, the context and
        their products; within these each category, vector and set of tags, and all numbers.
    arm_effects
        Whether arms, by their ids, have effects of their own that features do not explain: hits.
        How large these are is learned. It pays where arms come again and again, and few numbers
        tell why some are better. Only with a prior that is learned, and not with a half-life or a
        policy's threshold.
        Effects of arms of which no decision is remembered (``retention``) are forgotten at times.
    epsilon
        With this probability a uniform draw from the eligible arms that meet the constraints,
        whatever the policy would do. Every arm then has a propensity above 0, and logs can be
        evaluated.
    holdout
        Share of subjects (see :meth:`decide`) that the baseline serves instead of the agent, so
        that :func:`mogro.evaluation.lift` can tell what the agent is worth. It learns from them,
        too.
    baseline
        What serves these: uniform draws from the eligible arms; an arm, by its id, where it is
        eligible; or a function of their ids, features (K, A) and the context that names one of
        them. Files hold no code, so the function is a data class that can be called, and
        :meth:`load` and :meth:`open` take it by name (``types=``).
    half_life
        Forgetting, for worlds that change.
    retention
        How long to remember completed decisions: a :class:`~mogro.Retention`, or a number, which is
        an age. What was learned stays; in a journal, too, nothing else is left of them from the
        next snapshot on. :meth:`export` the log before, if you want to keep it. Without it, for
        ever.
    activation_timeout
        How long a decision made with ``activate=False`` may wait for :meth:`activate`; after that
        it counts as withdrawn. Without it, for ever.
    correct_within
        How long after its window a reward still corrects what was learned, as if it had come in
        time. Without it, for as long as the decision is remembered. Later ones are recorded, and
        counted as late.
    max_step
        How far a time may be from the latest so far; others are refused
        (:class:`~mogro.agent.ImplausibleTime`). So is a first one that would be the clock's in
        milli-, micro- or nanoseconds. By default a hundred times the longest window, so
        that one message in milliseconds does not close every window. A pause that was longer is
        confirmed by :meth:`expire`.
    budgets
        Bounds on means over many decisions, each a :class:`~mogro.Budget`: see :attr:`budgets`.
    clock
        Tells the time where a call has no ``now`` and one is needed. None for worlds without time,
        or with one that only callers know.
    on_event
        Called with every event, after it has happened: ``list.append``, say. Events are data of
        :mod:`mogro.agent.events`; applied one after the other to a new agent's state they give the
        same state, to the bit. What it raises reaches the caller, although the event has happened.

    Notes
    -----
    *Time* is needed where an objective has a window, or a half-life, a retention or a timeout is in
    time. It is that of the machine, in seconds, or what callers give as ``now``, in their unit. It
    stands in the events: replay asks no clock. The clock of the agent is believed after a pause of
    up to a year, a ``now`` only within ``max_step``.

    *Threads* may call every method at any time. Calls happen one after the other, each wholly or
    not at all; of two simultaneous calls with one id both get the same decision.

    *Copies*, by :mod:`copy` or :mod:`pickle`, are agents of their own with the same past.

    Examples
    --------
    >>> import mogro
    >>> objectives = [mogro.Objective("click"), mogro.Objective("watch", unit=60.0)]
    >>> agent = mogro.Agent(objectives, arms=2, seed=7)
    >>> decision = agent.decide({"news": [1.0, 0.0], "film": [0.0, 1.0]}, id="visit 1")
    >>> decision.arm in ("news", "film")
    True
    >>> agent.reward("visit 1", {"click": 1})
    Outcome(learned=1, pending=0, revised=0, repeated=0, late=0)
    >>> agent.reward("visit 1", {"click": 1, "watch": 340.0})  # later, in any order
    Outcome(learned=1, pending=0, revised=0, repeated=1, late=0)
    >>> agent.observations
    {'click': 1.0, 'watch': 1.0}
    """

    def __init__(
        self,
        objectives: Sequence[Objective],
        *,
        arms: FeatureSpec,
        seed: int,
        clock: Clock | None = time.time,
        on_event: Callable[[Event], object] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        config = AgentConfig(objectives, arms=arms, seed=seed, **settings)
        self._initialise(LockedState(State(config)), clock, on_event)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        types: Sequence[type[Any]] = (),
        clock: Clock | None = time.time,
        on_event: Callable[[Event], object] | None = None,
    ) -> Self:
        """Read an agent that :meth:`save` wrote; it goes on to the bit, on the same kind of CPU.

        Parameters
        ----------
        path
            The file.
        types
            Classes of policies, scalarisations and explorations that are not mogro's own.
        clock, on_event
            As for a new agent.

        Raises
        ------
        DamagedSnapshot
            With the reason.
        """
        agent = cls.__new__(cls)
        state = read_snapshot(folder_or_file(path, "path"), types)
        agent._initialise(LockedState(state), clock, on_event)
        return agent

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        objectives: Sequence[Objective] | None = None,
        *,
        name: str = "agent",
        types: Sequence[type[Any]] = (),
        timeout: float = 60.0,
        snapshot_every: int = 5000,
        clock: Clock | None = time.time,
        on_event: Callable[[Event], object] | None = None,
        **options: Unpack[AgentOptions],
    ) -> Self:
        """Open an agent that forgets nothing, and that processes can share.

        Every change is on the disk when its call returns, in a journal of events. A process that is
        killed at any moment has lost nothing that was acknowledged. Any number of processes may
        open the same journal: each decision knows all that any of them has committed before it,
        and all agree on the estimates.

        Parameters
        ----------
        path
            An SQLite file, on a disk of this machine, because network file systems do not lock
            reliably; or a PostgreSQL database, ``"postgresql://user@host/shop"`` (extra
            ``postgres``).
        objectives
            With these the agent is created if it is not there. Otherwise all settings have to be
            those that it has now, or had at some time before :meth:`reconfigure`: old code gets the
            present configuration, as does a call without objectives.
        name
            Of the agent, where there are several.
        types
            Classes of policies, scalarisations and explorations that are not mogro's own.
        timeout
            Seconds to wait for other processes, or for a server, before a call fails.
        snapshot_every
            Events after which this process writes a snapshot into the journal, so that opening it
            stays quick.
        clock
            As for a new agent; of this process.
        on_event
            Called with every event of this process, once it is on the disk.
        options
            Beside objectives: ``arms``, ``context``, ``seed`` and so on, as for a new agent.

        Raises
        ------
        JournalError
            With the file or database and the reason: :class:`~mogro.errors.JournalUnavailable`,
            :class:`~mogro.errors.DamagedJournal`, :class:`~mogro.errors.NewerJournal`,
            :class:`~mogro.errors.DifferentConfig`.

        Examples
        --------
        >>> import mogro, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/shop.db"
        >>> with mogro.Agent.open(path, [mogro.Objective("sales")], arms=1, seed=7) as agent:
        ...     decision = agent.decide({"a": [1.0], "b": [2.0]}, id="visit 1")
        >>> with mogro.Agent.open(path) as agent:  # later, or in another process
        ...     agent.reward("visit 1", {"sales": 4.0})
        ...     agent.observations
        Outcome(learned=1, pending=0, revised=0, repeated=0, late=0)
        {'sales': 1.0}
        >>> folder.cleanup()
        """
        if objectives is None and options:
            raise ValueError(f"objectives: expected some beside {sorted(options)}, got None")
        for needed in ("arms", "seed"):
            if objectives is not None and needed not in options:
                raise ValueError(f"{needed}: expected it beside objectives, got none")
        config = None if objectives is None else AgentConfig(objectives, **options)
        agent = cls.__new__(cls)
        events_between = count(snapshot_every, "snapshot_every")
        journal, initial_config = open_journal(path, name, config, types=types, timeout=timeout)
        queue = CommitQueue(journal, initial_config, snapshot_every=events_between)
        agent._initialise(queue, clock, on_event)
        if config is not None:
            try:
                with queue.current():
                    check_config(journal.path, config, queue.versions())
            except DifferentConfig:
                agent.close()
                raise
        return agent

    def decide(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
        id: str | None = None,
        weights: Weights | None = None,
        eligible: ArrayLike | None = None,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        certainty: float = 0.5,
        activate: bool = True,
        now: float | None = None,
        subject: str | None = None,
        sticky: bool = False,
    ) -> Decision:
        """Choose an arm.

        Parameters
        ----------
        arms
            Arm ids, K strings; or a mapping from arm ids to feature vectors; or a
            :class:`~mogro.Catalogue`. Any arms, different ones in every call if need be.
        features
            (K, d), beside arm ids.
        context
            Of the decision, (C,), where the agent was made with one; a record if it has an
            encoder of contexts. With an encoder of arms, these are records, too.
        id
            Of the decision; made up without it. An id that is known gives the decision that was
            made under it; other arguments are checked, but not used.
        weights
            The importance of each objective, per unit, in order or by name; or a scalarisation
            such as ``RandomWeights(concentration)``. Without it those of :meth:`set_weights`, or
            the policy's own.
        eligible
            Which arms may be chosen, K booleans.
        at_least, at_most
            Constraints: bounds on what the arm is expected to give, by objective, in the user's
            units. They bind every decision, also those that explore, once something was observed
            of the objective. An arm that was never seen keeps every bound, as far as anybody can
            know; see :attr:`mogro.agent.Decision.certainty`.
        certainty
            With what probability, by the posterior, an arm has to keep each bound. Where it is 0.5
            the estimate has to; with more, arms that were never seen have to prove themselves
            elsewhere.
        activate
            False if the arm may not be shown, or only later: see :meth:`activate`.
        now
            The time.
        subject
            Whom the decision is for, such as a user's id: who is held out (``holdout``) stays so,
            and intervals of :func:`mogro.evaluation.lift` count subjects. Kept as a hash. Without
            it each decision has a subject of its own.
        sticky
            What is drawn at random follows from the subject, not from the id of the decision: a
            subject gets the same arm again as long as the beliefs and the arms are the same.

        Raises
        ------
        InfeasibleConstraints
            If no arm's estimates meet the constraints.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=2, seed=0)
        >>> agent.decide(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], eligible=[False, True])
        <Decision '0-0': arm 'b', expecting sales 0>
        """
        check_new_id(id)
        asked = arms, features, context, eligible, now, weights, at_least, at_most, certainty
        arguments = *asked, activate, subject, sticky
        return self._store.perform(self._decide, id, self._read(arguments), arguments)

    def decide_top(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
        top: int,
        id: str | None = None,
        weights: Weights | None = None,
        eligible: ArrayLike | None = None,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        certainty: float = 0.5,
        activate: bool = True,
        now: float | None = None,
        subject: str | None = None,
    ) -> tuple[Decision, ...]:
        """Choose several distinct arms, each a decision of its own with rewards of its own.

        They are chosen one after the other among the arms that are left, so with a vector of
        weights they are the best ``top`` arms for it, in order; with random weights each has its
        own draw, and together they serve different trade-offs. Fewer come back if no more arms
        are eligible or meet the constraints. Parameters are those of :meth:`decide`; the ids are
        ``id``, ``id + "/2"``, ``id + "/3"`` and so on.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> [decision.arm for decision in agent.decide_top({"a": [1.0], "b": [2.0]}, top=2)]
        ['b', 'a']
        """
        check_new_id(id)
        size = count(top, "top")
        asked = arms, features, context, eligible, now, weights, at_least, at_most, certainty
        arguments = *asked, activate, subject
        return self._store.perform(self._decide_top, id, self._read(arguments), arguments, size)

    def probabilities(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
        weights: Weights | None = None,
        eligible: ArrayLike | None = None,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        certainty: float = 0.5,
        now: float | None = None,
    ) -> Propensities:
        """Return with what probability :meth:`decide` would choose each arm; nothing happens.

        Parameters are those of :meth:`decide`. Arms that are not eligible, or do not meet
        constraints that bind, are left out. Subjects that are held out are not counted.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> agent.probabilities({"a": [1.0], "b": [2.0]}).values.tolist()  # b tells more
        [0.0, 1.0]
        """
        arguments = arms, features, context, eligible, now, weights, at_least, at_most, certainty
        request = self._read(arguments)
        with self._store.current():
            state, request = self._state, self._recheck(request, arguments)
            inputs = make_inputs(state, *state.preview(request.time), request)
            return compute_propensities(inputs, state.config)

    def unknown_categories(self) -> dict[str, dict[str | int, int]]:
        """Return values of categories and tags that the encoders do not know, by column.

        With the number of decisions, of those held, whose arm or context had it. They count as
        zeros until :meth:`reconfigure` brings encoders that know them.

        Examples
        --------
        >>> import mogro
        >>> stories = mogro.Encoder(topic=mogro.Category("news", "sport"))
        >>> agent = mogro.Agent([mogro.Objective("click")], arms=stories, seed=0)
        >>> decision = agent.decide({"a": {"topic": "war"}})
        >>> agent.unknown_categories()
        {'topic': {'war': 1}}
        """
        return decision_records.count_unknown_values(self.freeze())

    def observe(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        arm: str,
        context: Context | None = None,
        rewards: Mapping[str, float] | None = None,
        propensity: float | None = None,
        id: str | None = None,
        eligible: ArrayLike | None = None,
        now: float | None = None,
    ) -> Decision:
        """Take over a decision that somebody else has made: learned from like any other.

        So an agent can watch and learn before it is in charge.

        Parameters
        ----------
        arms, features, context, id, eligible, now
            As for :meth:`decide`. An id that is known gives the decision that was made under it,
            which has to be for the same arm.
        arm
            The id of the arm that was chosen.
        rewards
            What came of it so far, by objective; the rest may come by :meth:`reward`.
        propensity
            The probability with which they chose the arm, for the log; None if nobody knows.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> decision = agent.observe({"a": [1.0], "b": [2.0]}, arm="a", rewards={"sales": 3.0})
        >>> agent.observations
        {'sales': 1.0}
        """
        check_new_id(id)
        probability = None if propensity is None else share(propensity, "propensity")
        if probability == 0:
            raise ValueError("propensity: expected a number above 0, as the arm was chosen, got 0")
        arguments = arms, features, context, eligible, now
        request = self._read(arguments)
        if type(arm) is not str or arm not in request.arms.ids:
            raise ValueError(f"arm: expected the id of an eligible arm, got {arm!r}")

        def work() -> Decision:
            current = self._recheck(request, arguments)
            values = read_rewards(self.config, {} if rewards is None else rewards, "rewards")
            make = partial(observed_decision, arm=arm, propensity=probability)
            decision = self._decide(id, current, arguments, make)
            if decision.arm != arm:
                raise ValueError(
                    f"arm: decision {decision.id!r} chose {decision.arm!r}, got {arm!r}"
                )
            if values:
                self._commit(Rewarded(decision.id, values, current.time))
            return decision

        return self._store.perform(work)

    def activate(self, id: str, *, now: float | None = None) -> bool:
        """Say that the arm of a decision made with ``activate=False`` is really shown.

        Its windows begin now, and rewards that came before are learned. What is not activated
        within the agent's ``activation_timeout`` is withdrawn: nothing is learned from it. Return
        whether it was waiting: False if it was activated or withdrawn before.

        Examples
        --------
        >>> import mogro
        >>> sales = mogro.Objective("sales", window=9.0)
        >>> agent = mogro.Agent([sales], arms=1, seed=0, activation_timeout=5.0)
        >>> seen, unseen = (agent.decide({"a": [1.0]}, activate=False, now=0.0) for _ in "12")
        >>> agent.activate(seen.id, now=4.0), agent.activate(unseen.id, now=6.0)
        (True, False)
        """
        check_id(id)
        when = read_time(now, self._clock, needed=self.config.objective_set.windowed)
        event = Activated(id, when)
        return bool(self._store.perform(self._commit_at, event, now))

    def withdraw(self, id: str, *, now: float | None = None) -> int:
        """Say that the arm of a decision was not shown after all: nothing is learned from it.

        What was learned from it before stays. Return for how many objectives something was pending.
        """
        check_id(id)
        event = Withdrawn(id, read_time(now, needed=False))
        return int(self._store.perform(self._commit_at, event, now))

    def reward(self, id: str, values: Mapping[str, float], *, now: float | None = None) -> Outcome:
        """Give rewards to a decision, in the user's units: all at once, or in parts, in any order.

        An objective with a default is learned when its window closes, others as they come. A value
        that came before is ignored; one for an objective whose window has closed corrects what was
        learned, within ``correct_within``. ``now`` first closes every window that is due, of all
        decisions.

        Raises
        ------
        UnknownDecision, UnknownObjective, BadReward, ConflictingReward
            Nothing of the call is learned then.
        """
        check_id(id)
        outcome: Outcome = self._store.perform(self._reward, id, values, now)
        return outcome

    def batch(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Make several calls of this agent with one commit, and return an answer each.

        With a journal a commit takes longer than a decision, so that a hundred calls cost little
        more than one. Each happens wholly or not at all; the answer to one that was refused is its
        exception. If the commit fails, so does this call, and none has happened.

        Parameters
        ----------
        calls
            Functions without arguments that call :meth:`decide`, :meth:`reward`, :meth:`observe`,
            :meth:`activate`, :meth:`withdraw`, :meth:`expire` or :meth:`set_weights`. Not
            :meth:`void` and :meth:`erase`: with a journal they have commits of their own.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> visits = [lambda id=id: agent.decide({"a": [1.0]}, id=id) for id in ("v1", "v2")]
        >>> [decision.id for decision in agent.batch(visits)]
        ['v1', 'v2']
        >>> agent.batch([lambda: agent.reward("v3", {"sales": 1.0})])
        [UnknownDecision("id: no decision 'v3'; it was never made, or is forgotten")]
        """
        return self._store.batch(calls)

    def expire(self, now: float | None = None, *, confirm: bool = False) -> int:
        """Close all windows that end at or before a time, and return how many did.

        :meth:`decide` and :meth:`reward` do so too, by their ``now``. ``confirm`` says that the
        time is right, though it is further than ``max_step`` from the latest so far: after a long
        pause.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sale", window=9.0, default=0.0)], arms=1, seed=0)
        >>> agent.expire(agent.decide({"a": [1.0]}, now=1.0).time + 9.0)
        1
        """
        when = read_time(now, self._clock, needed=True)
        assert when is not None
        commit = self._commit if boolean(confirm, "confirm") else partial(self._commit_at, now=now)
        return int(self._store.perform(commit, Expired(when)))

    @property
    def config(self) -> AgentConfig:
        """All settings, as this process last saw them: it does not look into the journal."""
        return self._store.state.config

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What decisions should be good at."""
        with self._store.current():
            return self.config.objective_set.objectives

    @property
    def theta(self) -> FloatArray:
        """Estimated change of each objective per feature of the learner, (M, p - 1), in its units.

        The features are those that :attr:`feature_names` names: those of an arm, or with a context
        those of both and their products. The constant is apart: see :attr:`intercept`.
        """
        with self._store.current():
            return self._state.learner.theta[:, 1:] * self.config.objective_set.scale[:, None]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the columns of :attr:`theta` are called."""
        with self._store.current():
            return self.config.features.names[1:]

    @property
    def intercept(self) -> FloatArray:
        """Estimate of each objective for features of zero, (M,), in the user's units."""
        with self._store.current():
            return self.config.objective_set.to_user_units(self._state.learner.theta[:, 0])

    def to_prior(self, *, weight: float = 1.0) -> Fixed:
        """Return what was learned as a prior, for another agent with these objectives and features.

        An observation counts there for ``weight``. Each parameter is as certain as for the
        objective of which least is known; what connects them is lost (:meth:`learn` keeps it).

        Examples
        --------
        >>> import mogro
        >>> old = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> for x in (0.0, 1.0) * 50:
        ...     decision = old.observe({"a": [x]}, arm="a", rewards={"sales": 2 * x})
        >>> new = mogro.Agent(old.objectives, arms=1, seed=1, prior=old.to_prior(weight=0.1))
        >>> new.theta.round(1)
        array([[2.]])
        """
        weight = between(weight, "weight", 0, LARGEST, closed="(]")
        with self._store.current():
            observed = self._state.learner.observed
            precisions = weight / np.einsum("...ii->...i", observed.S).max(axis=0)
            return Fixed(precisions.tolist(), mean=observed.theta.tolist())

    @property
    def counters(self) -> dict[str, int]:
        """What has happened so far, and how many decisions are held."""
        with self._store.current():
            ledger, completed = self._state.ledger, self._state.ledger.completed_count
            counts = {"pending": len(ledger) - completed, "completed": completed}
            return asdict(self._state.counters) | counts

    @property
    def observations(self) -> dict[str, float]:
        """The effective number of observations of each objective: the sum of their weights.

        With a half-life in time, as of the latest time that the agent was told.
        """
        with self._store.current():
            return self.config.objective_set.named(self._state.learner.observation_weights)

    def estimate(
        self, arms: Arms, features: Features | None = None, *, context: Context | None = None
    ) -> views.Estimates:
        """Return what is believed of arms, with intervals of 95 %, in the user's units.

        Examples
        --------
        >>> import mogro
        >>> flat = mogro.priors.Flat()  # estimates are plain means
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0, prior=flat)
        >>> for value in (1.0, 2.0, 3.0):
        ...     outcome = agent.reward(agent.decide({"a": [1.0]}).id, {"sales": value})
        >>> agent.estimate({"a": [1.0]})
        arm  sales
        a    2 [-0.4841, 4.484]
        """
        with self._store.current():
            arm_set = self._arm_reader.read(self.config.features, arms, features, context)
            return views.estimates(arm_set, self._state.learner, self.config)

    def decision(self, id: str) -> DecisionRecord:
        """Return a decision and what has become of it.

        With a journal it comes with what it was based on, also after a restart: it can be asked for
        its propensity, and explained, by the configuration that the agent had then.

        Raises
        ------
        UnknownDecision
            If it was never made, or is forgotten.
        """
        check_id(id)
        with self._store.current():
            return decision_records.decision_record(self._state, id, self._queue())

    def decisions(self, *, pending: bool | None = None) -> tuple[DecisionRecord, ...]:
        """Return all decisions that are held, in order; only those with something pending, or not.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> decision = agent.decide({"a": [1.0]})
        >>> [record.status for record in agent.decisions(pending=True)]
        [{'sales': 'pending'}]
        """
        if not (pending is None or isinstance(pending, bool)):
            raise ValueError(f"pending: expected True, False or None, got {pending!r}")
        with self._store.current():
            ledger = self._state.ledger
            rows = ledger.live() if pending is not True else ledger.pending()
            ids = [ledger.ids[row] for row in rows.tolist()]
            records = [decision_records.decision_record(self._state, id) for id in ids]
        return tuple(record for record in records if pending is None or record.pending == pending)

    def log(self, *, rewards: Rewards = "learned") -> Any:
        """Return all decisions that are held with their rewards as an Arrow table, in order.

        With a journal there is beside them what they were based on, so that other policies can be
        judged by them. Threads and processes go on meanwhile. The columns are described in
        :mod:`mogro.agent.log`. It takes pyarrow (``pip install pyarrow``).

        Parameters
        ----------
        rewards
            ``"learned"``: those that the agent learned from. ``"received"``: also those that came
            after their window.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> _ = agent.reward(agent.decide({"a": [1.0]}, id="visit 1").id, {"sales": 4.0})
        >>> agent.log().select(["id", "arm", "reward_sales", "status_sales"]).to_pylist()
        [{'id': 'visit 1', 'arm': 'a', 'reward_sales': 4.0, 'status_sales': 'learned'}]
        """
        queue = self._queue()
        if queue is None:
            return make_log(self.freeze(), None, rewards)
        with queue.view() as (state, journal):
            with queue.current():
                versions = queue.versions(state.position)
            journal_rows = JournalRows(state, journal, versions)
        return make_log(state, journal_rows, rewards)

    def export(self, folder: str | os.PathLike[str], *, rewards: Rewards = "learned") -> Path:
        """Write :meth:`log` to ``decisions.parquet`` in a folder, and return the file's path."""
        target = folder_or_file(folder, "folder")
        return write_log(self.log(rewards=rewards), target)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        confidence: float | None = None,
        noise: float | Mapping[str, float] | None = None,
    ) -> None:
        """Write a page for those who ask how the agent is doing; it opens from a file.

        Objectives over time, arms and how often they were chosen, exploration, rewards that are
        pending or came late, what was not expected, and the features that matter. With
        ``confidence`` and ``noise`` as for :meth:`front` it says which arms are certainly on the
        front. With a journal there is more on it.

        Examples
        --------
        >>> import mogro, tempfile
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> for value in (4.0, 3.0):
        ...     _ = agent.reward(agent.decide({"a": [1.0]}).id, {"sales": value})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     agent.report(folder + "/agent.html")
        """
        target = folder_or_file(path, "path")
        page = make_report(self.report_parts(confidence=confidence, noise=noise))
        with write_atomically(target) as file:
            file.write(page.encode("utf-8", "backslashreplace"))

    def report_parts(
        self, *, confidence: float | None = None, noise: float | Mapping[str, float] | None = None
    ) -> dict[str, str]:
        """Return what :meth:`report` shows, part by part, as HTML: for a page of your own."""
        with self._store.current():
            state, last = self._state.freeze(), self._last_with_arms()
        estimates, front = None, None
        if last is not None:
            arms = last.inputs.arms
            ids, raw, context = list(arms.ids), arms.raw_features, arms.context
            estimates = self.estimate(ids, raw, context=context)
            front = self.front(ids, raw, context=context, confidence=confidence, noise=noise)
        alarms = find_alarms(state, self._refused_times)
        return make_parts(
            state, alarms=alarms, last_decision=last, estimates=estimates, front=front
        )

    def front(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
        confidence: float | None = None,
        noise: float | Mapping[str, float] | None = None,
    ) -> views.Front:
        """Return the estimated effective front of some arms, with each one's share of weights.

        It belongs to the estimates: with few observations it may be far from the true one. With a
        ``confidence`` such as 0.95 and the ``noise`` of rewards (a standard deviation, or one for
        each objective by name; the claim fails if it is larger) it also says which arms are
        certainly on the true front, which are off it, and which are open: with that probability
        all of it is true, however often one asks. See
        :meth:`mogro.policies.LinearPolicy.front_confidence`.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("taste"), mogro.Objective("price",
        ...     direction="min")], arms=2, seed=0, prior=mogro.priors.Flat())
        >>> arms = {"cake": [1.0, 0.0], "bread": [0.0, 1.0]}
        >>> for name, taste, price in (("cake", 5.0, 4.0), ("bread", 1.0, 2.0)):
        ...     decision = agent.decide(arms, eligible=[name == arm for arm in arms])
        ...     outcome = agent.reward(decision.id, {"taste": taste, "price": price})
        >>> agent.front(arms)
        arm    taste  price  share of weights
        cake   5      4      66...%
        bread  1      2      33...%
        """
        with self._store.current():
            learner, config = self._state.learner, self.config
            arm_set = self._arm_reader.read(config.features, arms, features, context)
            if confidence is not None:
                return views.certain_front(arm_set, learner, config, confidence, noise)
            arm_set, beliefs = learner.beliefs_about(arm_set)
        return views.learned_front(arm_set, beliefs, config)

    def explain(self, decision: Decision) -> Explanation:
        """Say what an arm was chosen over, and on which objectives it led, by what was known."""
        return explain(decision)

    def __repr__(self) -> str:
        with self._store.current():
            return views.agent_text(self._state)

    def _repr_html_(self) -> str:
        with self._store.current():
            return views.agent_html(self._state)

    @property
    def weights(self) -> dict[str, float] | None:
        """The weights of decisions that are given none; None: the policy's own."""
        with self._store.current():
            weights = self.config.weights
        return None if weights is None else dict(weights)

    def set_weights(
        self, weights: Mapping[str, float] | Sequence[float] | None, *, now: float | None = None
    ) -> None:
        """Set the trade-off: the weights of decisions that are given none from now on.

        Parameters
        ----------
        weights
            The importance of each objective, per unit, by name (0 for those left out) or in order;
            None goes back to the policy's own.
        now
            The time, for the record. With a journal the weights count in all processes, and the
            history of them is in :meth:`events`.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("click"), mogro.Objective("read")], arms=1, seed=0)
        >>> agent.set_weights({"click": 1, "read": 3})
        >>> agent.weights
        {'click': 1.0, 'read': 3.0}
        """

        def work() -> None:
            config, weights_by_name = self.config, None
            if weights is not None:
                weights_by_name = config.objective_set.named(config.objective_set.weights(weights))
            time = read_time(now, self._clock, needed=config.timed)
            self._commit_at(Reconfigured({"weights": weights_by_name}, time), now)

        self._store.perform(work)

    @property
    def budgets(self) -> tuple[BudgetStatus, ...]:
        """How the budgets stand, in the order in which they were given.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("quality"), mogro.Objective("cost")], arms=1,
        ...     seed=0, budgets=[mogro.Budget("cost", at_most=2.0, burst=10)])
        >>> decision = agent.decide({"a": [1.0]})
        >>> _ = agent.reward(decision.id, {"cost": 3.0})
        >>> (status,) = agent.budgets
        >>> status.target, status.spent, status.in_flight, status.room
        (2.0, 3.0, 0.0, 19.0)
        """
        with self._store.current():
            return tuple(account.status() for account in self._state.accounts)

    def reconfigure(
        self, *, now: float | None = None, **changes: Unpack[AgentChanges]
    ) -> Reconfiguration:
        """Go on with another configuration: one event, in all processes that share a journal.

        What is not named stays. Return what has changed. Decisions that were made keep what they
        were made by: propensities, weights and estimates are those of then.

        Parameters
        ----------
        now
            The time, for the record.
        changes
            Keywords of :class:`~mogro.Agent`, but for ``seed``. ``objectives`` are all that there
            will be: of new ones nothing is waited for from decisions made before; what was learned
            of those left out is gone, and rewards that still come for them are refused
            (:class:`~mogro.agent.UnknownObjective`). Units, windows and defaults can change, also
            for decisions that wait; direction, offset, ``given`` and ``revise`` cannot.

        Raises
        ------
        ValueError
            If an agent could not be so: nothing has changed then. A policy with something that
            belongs to the old objectives, such as a vector of weights, needs a new ``policy``.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> agent.reconfigure(objectives=[mogro.Objective("returns", direction="min")], epsilon=0.1)
        Reconfiguration(changes=('epsilon', 'objectives'), relearned=0, unsure=0)
        >>> agent.objectives
        (Objective(name='returns', direction='min'),)
        """

        def work() -> Reconfiguration:
            changed_settings = find_changes(self.config, changes)
            if not changed_settings:
                return Reconfiguration()
            if (queue := self._queue()) is not None:
                queue.add_types(self.config.reconfigured(changed_settings).types)
            event = Reconfigured(changed_settings, read_time(now, needed=False))
            reconfiguration: Reconfiguration = self._commit_at(event, now)
            return reconfiguration

        return self._store.perform(work)

    def erase(self, *ids: str) -> int:
        """Remove what was recorded of decisions, and return how many; what was learned stays.

        Nothing more is learned from what was pending. Their ids are unknown from now on. Out of a
        journal goes all that was recorded under these ids, also of decisions that were forgotten,
        and arms that were on offer to nobody else; what is recorded of others stays. An SQLite file
        is overwritten where they stood; what was deleted in a PostgreSQL database goes when the
        server cleans up; backups and archives are out of reach.

        Raises
        ------
        UnknownDecision
            If nothing is recorded of one of them; then none is erased.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
        >>> _ = agent.reward(agent.decide({"a": [2.0]}, id="visit 1").id, {"sales": 4.0})
        >>> agent.erase("visit 1")
        1
        >>> agent.observations, agent.decisions()
        ({'sales': 1.0}, ())
        """
        for id in ids:
            check_id(id)
        erased_ids = set(ids)

        def make_event(recorded_ids: Collection[str]) -> Erased:
            return decision_records.erasure_event(self._state, erased_ids, recorded_ids)

        queue = self._queue()
        if queue is None:
            self._store.perform(lambda: self._commit(make_event(())))
        else:
            self._notify(erase_decisions(queue, erased_ids, make_event))
        return len(erased_ids)

    def events(self, id: str | None = None) -> tuple[tuple[int, Event], ...]:
        """Return the events in the journal, all or those of one decision, with their positions.

        For those who look for what to :meth:`void`.
        """
        if id is not None:
            check_id(id)
        with self._require_journal("events").view() as (_, journal):
            if id is None:
                return tuple(journal.read(0))
            positions = {position for position, _ in find_mentions(journal.rows(0), (id,))}
            return tuple(journal.read(0, lambda position, _: position in positions))

    def void(self, position: int) -> None:
        """Take back an event, by its position: a reward or a time that was wrong.

        The state is then what all other events give without it, in every process that shares the
        journal; what followed from it alone (rewards of a decision that is void) is void, too. It
        takes as long as to apply all events since the last snapshot before it, and is refused where
        some of these have gone out of the journal (``retention``, :meth:`erase`). Priors that were
        learned since are learned again.

        Examples
        --------
        >>> import mogro, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> agent = mogro.Agent.open(folder.name + "/shop.db", [mogro.Objective("sales")], arms=1,
        ...     seed=7)
        >>> visit = agent.decide({"a": [1.0]}, id="visit 1")
        >>> _ = agent.reward("visit 1", {"sales": 400.0})  # these were cents
        >>> [(position, type(event).__name__) for position, event in agent.events("visit 1")]
        [(2, 'Decided'), (3, 'Rewarded')]
        >>> agent.void(3)
        >>> _ = agent.reward("visit 1", {"sales": 4.0})
        >>> agent.close(); folder.cleanup()
        """
        void_event(self._require_journal("void"), count(position, "position"))
        self._notify(Voided(position))

    def alarms(self) -> tuple[Alarm, ...]:
        """Say what should be looked at, by the decisions that are held; empty if nothing.

        Rewards that stopped, or come late; rewards that are not what was expected; one arm chosen
        for all; values that encoders do not know; times that were refused, in this process.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sale", window=9.0, default=0.0)], arms=1, seed=0)
        >>> for visit in range(90):
        ...     decision = agent.decide({"a": [1.0]}, now=visit)
        ...     if visit < 40:
        ...         outcome = agent.reward(decision.id, {"sale": 1.0}, now=visit)
        >>> for alarm in agent.alarms():
        ...     print(alarm.name, alarm.number)
        silence 41
        """
        return find_alarms(self.freeze(), self._refused_times)

    def freeze(self) -> State:
        """Return a copy of the state as it is now, to read while the agent goes on."""
        with self._store.current():
            return self._state.freeze()

    def learn(self, past: Any) -> int:
        """Take over the past of another agent, and return how many decisions brought something.

        So a new agent begins with all that was known; and again and again, as the other one goes
        on: each decision is taken over once, then what has come for it since. What that agent has
        learned is learned, and what is pending there is pending here. Features are computed from
        the records, by the encoders of this agent; objectives, policy and prior may be others, too.
        Objectives that are not in that past count as missing; others in it are left out.

        Parameters
        ----------
        past
            An agent; the path or the address of its journal; a table that :meth:`log` gave; or the
            folder or the file of :meth:`export`. It takes pyarrow (``pip install pyarrow``).

        Raises
        ------
        ValueError
            If a decision is not what is known under its id here (arm, features, time, what was
            learned), or if features are others and there is no record to compute them from. Nothing
            is taken over then.

        Examples
        --------
        >>> import mogro
        >>> old, new = (mogro.Agent([mogro.Objective("sales")], arms=1, seed=s) for s in (0, 1))
        >>> _ = old.reward(old.decide({"a": [2.0]}, id="visit 1").id, {"sales": 4.0})
        >>> new.learn(old)
        1
        >>> new.observations
        {'sales': 1.0}
        """
        log = self._log_to_import(past)
        config, (decisions, time) = self.config, read_imported_log(log, self.config)

        def decisions_now() -> list[LoggedDecision]:  # by the configuration that there is now
            return decisions if config is self.config else read_imported_log(log, self.config)[0]

        def import_chunk(start: int) -> int:  # others take their turn in between
            imported_count = 0
            for decision in decisions_now()[start : start + _DECISIONS_PER_COMMIT]:
                events = list(import_events(decision, self._state))
                for event in events:
                    self._commit(event)
                imported_count += bool(events)
            return imported_count

        with self._store.current():
            for decision in decisions_now():
                list(import_events(decision, self._state))  # what contradicts is refused
        starts = range(0, len(decisions), _DECISIONS_PER_COMMIT)
        imported_count = sum(self._store.perform(import_chunk, start) for start in starts)
        if time is not None and self.config.timed and time > self._state.time:
            self._store.perform(self._commit, Expired(time))  # windows that have closed there
        return imported_count

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, pending decisions included; see :meth:`load`.

        The file that stood there is replaced as a whole or not at all, even by a crash. Threads
        can go on once a copy has been taken; that it is on the disk is certain when the call
        returns.
        """
        target = folder_or_file(path, "path")
        write_snapshot(target, self.freeze())

    def close(self) -> None:
        """Close the journal of an agent that was opened; everything acknowledged is in it."""
        if (queue := self._queue()) is not None:
            queue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        with self._store.current():
            return {"state": copy.deepcopy(self._state), "clock": self._clock}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self._initialise(LockedState(pickled["state"]), pickled["clock"], None)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def _initialise(
        self,
        store: LockedState | CommitQueue,
        clock: Clock | None,
        on_event: Callable[[Event], object] | None,
    ) -> None:
        if not (clock is None or callable(clock)):
            raise ValueError(f"clock: expected a function like time.time, or None, got {clock!r}")
        if not (on_event is None or callable(on_event)):
            raise ValueError(
                f"on_event: expected a function of an event, or None, got {on_event!r}"
            )
        self._clock = clock
        self._refused_times = 0
        self._on_event = on_event
        self._store = store
        self._arm_reader = ArmReader()

    def _queue(self) -> CommitQueue | None:
        """Return what follows the journal, if there is one."""
        return self._store if isinstance(self._store, CommitQueue) else None

    def _require_journal(self, method: str) -> CommitQueue:
        queue = self._queue()
        if queue is None:
            raise ValueError(
                f"{method}: expected an agent with a journal (Agent.open), where events are kept; "
                "this one is in memory alone"
            )
        return queue

    @property
    def _state(self) -> State:
        return self._store.state

    def _read(self, arguments: Sequence[Any]) -> Request:
        """Check a request by the configuration known here; what it refuses, by the latest."""
        store, reader, clock = self._store, self._arm_reader, self._clock
        config = store.state.config
        try:
            return read_request(config, reader, clock, store.journaled, *arguments)
        except ValueError:
            with store.current():
                if self.config is config:
                    raise
                return read_request(self.config, reader, clock, store.journaled, *arguments)

    def _recheck(self, request: Request, arguments: Sequence[Any]) -> Request:
        """Check a request by the configuration of the moment, and its time by the state's."""
        if request.config is not self._store.state.config:
            request = self._read(arguments)
        if request.time is not None:
            self._check_step(request.time, request.now)
        return request

    def _decide(
        self,
        id: str | None,
        request: Request,
        arguments: Sequence[Any],
        make: Callable[[State, str | None, Request], Decision] = make_decision,
    ) -> Decision:
        """Make a decision, unless it is known."""
        state = self._store.state
        if id is not None and id in state.ledger.rows_by_id:
            return decision_records.decision_from_ledger(state, id)
        request = self._recheck(request, arguments)
        decision = make(state, id, request)
        if request.offer is not None:
            decision = decision_records.with_evidence(state, request, decision)
            self._write_offer(request.offer)
        self._commit(decision.event)
        return decision

    def _reward(self, id: str, values: Mapping[str, float], now: float | None) -> Outcome:
        """Let a decision have rewards."""
        config = self._store.state.config
        checked = read_rewards(config, values, "values")
        time = read_time(now, self._clock, needed=config.objective_set.windowed)
        outcome: Outcome = self._commit_at(Rewarded(id, checked, time), now)
        return outcome

    def _decide_top(
        self, id: str | None, request: Request, arguments: Sequence[Any], top: int
    ) -> tuple[Decision, ...]:
        """Make several decisions, but for those that are known."""
        request = self._recheck(request, arguments)
        decisions = make_top_decisions(self._state, id, request, top)
        for decision, is_new in decisions:
            if is_new:
                self._write_offer(request.offer)
                self._commit(decision.event)
        return tuple(decision for decision, _ in decisions)

    def _log_to_import(self, past: Any) -> Any:
        """Return the log of an agent, a journal or an export; what is none of these as it is."""
        if isinstance(past, str | os.PathLike):
            if (exported := read_exported(past)) is not None:
                return exported
            with Agent.open(past, types=self.config.types) as agent:
                return self._log_to_import(agent)
        if not isinstance(past, Agent):
            return past
        return make_log(past.freeze(), None, "learned")

    def _last_with_arms(self) -> Decision | None:
        """Return the last decision that has the arms on offer on record, as they are seen now."""
        ledger = self._state.ledger
        rows = ledger.live()
        rows_with_offer = rows[ledger.column("offer_position")[rows] > 0]
        if not len(rows_with_offer):
            return None
        decision = self.decision(ledger.ids[rows_with_offer[-1]]).decision
        if decision.event.evidence is None or decision.config.features != self.config.features:
            return None
        return decision

    def _check_step(self, time: float, now: float | None) -> None:
        """Refuse a time far from the latest so far; what a caller gave as now, or left out."""
        try:
            if now is not None and self._clock is not None and self._state.time == -math.inf:
                check_first_time(time, self._clock())
            check_step(time, self._state.time, self.config.max_time_step, by_caller=now is not None)
        except ImplausibleTime:
            self._refused_times += 1
            raise

    def _commit_at(
        self, event: Activated | Withdrawn | Rewarded | Expired | Reconfigured, now: float | None
    ) -> Any:
        """Commit an event, unless its time is far from the latest so far."""
        if event.time is not None:
            self._check_step(event.time, now)
        return self._commit(event)

    def _write_offer(self, offer: Offer | None) -> None:
        """Write the arms on offer down, with a journal, unless they are."""
        if offer is not None and offer.digest not in self._state.offers:
            texts = offer.records
            records = None if texts is None else tuple(json.loads(text) for text in texts)
            self._commit(Offered(offer.digest, offer.ids, offer.features, records))

    def _notify(self, event: Event) -> None:
        """Tell whoever listens that an event has happened."""
        if self._on_event is not None:
            for field in event:
                if isinstance(field, np.ndarray):
                    field.flags.writeable = False  # a decision may hold it
            self._on_event(event)

    def _commit(self, event: Event) -> Any:
        """Apply an event, tell the listener, and return the result; raise a refusal."""
        result = self._store.apply(event)
        if isinstance(result, Exception):
            raise result
        if self._on_event is not None:
            self._store.notify_later(self._notify, event)
        if type(event) is Decided and event.time is None:  # from which nothing is learned
            return result
        learner = self._store.state.learner
        if learner.observed.due:
            self._commit(PriorLearned(learner.evidence()))
        return result


def _signature() -> Signature:
    """Return what an agent is made of: all fields of its configuration, but for the weights."""
    init, settings = signature(Agent.__init__), signature(AgentConfig).parameters
    parameters = [parameter for name, parameter in settings.items() if name != "weights"]
    first, *_, clock, on_event, _ = init.parameters.values()
    return init.replace(parameters=[first, *parameters, clock, on_event])


Agent.__init__.__signature__ = _signature()  # type: ignore[attr-defined]

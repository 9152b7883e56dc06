"""The object that a team holds: decisions with ids, rewards that come late and in parts."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from mogro._validation import count, folder_or_file, real, share
from mogro.live import changes
from mogro.live.deciding.basis import Weights
from mogro.live.deciding.decisions import Decision
from mogro.live.deciding.proposals import Proposed
from mogro.live.deciding.requests import Question, Request, check_id, check_new_id, read_time
from mogro.live.events import (
    Activated,
    Changed,
    Compacted,
    Erased,
    Event,
    Expired,
    Forgotten,
    Rewarded,
    Withdrawn,
)
from mogro.live.half_life import HalfLife
from mogro.live.journal.clearing import decided_id
from mogro.live.keeping import Kept
from mogro.live.logs.archive import completed_before, finish_drafts, move_out, new_name, write_draft
from mogro.live.logs.reading import new_rows, read_log
from mogro.live.memory.counters import Outcome
from mogro.live.memory.state import State
from mogro.live.objective import Objective
from mogro.live.offers.arms import Arms, Context, Features
from mogro.live.offers.bilinear import Bilinear
from mogro.live.offers.features import Scaling
from mogro.live.settings import MakePolicy, make_settings
from mogro.policies import MOGRO


class Agent(Kept):
    """Decides among arms and learns from what comes back, whenever it comes back.

    Parameters
    ----------
    objectives
        What decisions should be good at.
    dim
        Number of features of an arm.
    features
        Instead of ``dim``: a :class:`~mogro.Bilinear`, where decisions have a context.
    seed
        The draw of a decision follows from this and the decision's id.
    policy
        Makes the policy from the number of features the learner sees (one more than ``dim`` with
        an intercept) and of objectives; :class:`~mogro.MOGRO` by default. Its numbers (noise, norm,
        threshold) are in the units of the objectives, and of the scaled features.
    intercept
        Learn a constant for each objective too.
    scaling
        Centre and scale the features, so that raw ones work.
    half_life
        Forgetting, for worlds that change.
    capacity
        How many completed decisions to remember, the last ones; else all, until :meth:`forget`.
    retention
        How long to remember a completed decision: for as long after it was made, and never longer
        after it was completed. What was learned stays; in a journal, too, nothing else is left of
        it from the next snapshot on.
    uniform
        With this probability any eligible arm that meets the constraints, each alike, whatever the
        policy would do. Every arm then has a propensity above 0, and logs can be evaluated.
    patience
        How long a decision made with ``activate=False`` may wait for :meth:`activate`; after that
        it counts as withdrawn. Without it, for ever.
    events
        Called with every event, after it has happened: ``list.append``, say. Events are data of
        :mod:`mogro.live.events`; applied one after the other to a new agent's state they give the
        same state, to the bit.

    Notes
    -----
    *Time* is a number that only the caller knows how to read; the agent has no clock. It is needed
    where an objective has a window, or the half-life is in time.

    *Threads* may call every method at any time. Calls happen one after the other, each wholly or
    not at all; of two simultaneous calls with one id both get the same decision.

    *Copies*, by :mod:`copy` or :mod:`pickle`, are agents of their own with the same past.

    Examples
    --------
    >>> import mogro
    >>> agent = mogro.Agent(
    ...     [mogro.Objective("click"), mogro.Objective("watch", unit=60.0)], dim=2, seed=7)
    >>> decision = agent.decide({"news": [1.0, 0.0], "film": [0.0, 1.0]}, id="visit 1")
    >>> decision.arm
    'news'
    >>> agent.reward("visit 1", {"click": 1})
    Outcome(learned=1, pending=0, revised=0, repeated=0, late=0)
    >>> agent.reward("visit 1", {"click": 1, "watch": 340.0})  # later, in any order
    Outcome(learned=1, pending=0, revised=0, repeated=1, late=0)
    >>> agent.theta.round(6).tolist()  # in the user's units
    [[1.0, 0.0], [340.0, 0.0]]
    """

    def __init__(
        self,
        objectives: Sequence[Objective],
        *,
        dim: int | None = None,
        features: Bilinear | None = None,
        seed: int,
        policy: MakePolicy = MOGRO,
        intercept: bool = False,
        scaling: Scaling | None = None,
        half_life: HalfLife | None = None,
        capacity: int | None = None,
        retention: float | None = None,
        uniform: float = 0.0,
        patience: float | None = None,
        events: Callable[[Event], object] | None = None,
    ) -> None:
        settings = make_settings(
            objectives,
            dim=dim,
            intercept=intercept,
            scaling=scaling,
            features=features,
            policy=policy,
            half_life=half_life,
            capacity=capacity,
            retention=retention,
            seed=seed,
            uniform=uniform,
            patience=patience,
        )
        self._begin(State(settings), events)

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
        activate: bool = True,
        now: float | None = None,
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
            Of the decision, (C,), where the agent was made with :class:`~mogro.Bilinear`; a record
            if that has an encoder of contexts. With one of arms, arms are records, too.
        id
            Of the decision; made up without it. An id that is known gives the decision that was
            made under it, whatever else is passed.
        weights
            The importance of each objective, per unit, in order or by name; or a scalarisation
            such as ``RandomWeights(concentration)``. Without it the policy's own.
        eligible
            Which arms may be chosen, K booleans.
        at_least, at_most
            Constraints: bounds on the estimates by objective, in the user's units. They bind once
            estimates mean something: not for decisions that explore.
        activate
            False if the arm may not be shown, or only later: see :meth:`activate`.
        now
            The time.

        Raises
        ------
        NoArmClears
            If no arm's estimates meet the constraints.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=2, seed=0)
        >>> agent.decide(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], eligible=[False, True])
        <Decision '0-0': arm 'b', exploring, expecting sales 0>
        """
        check_new_id(id)
        question = Question(
            arms, features, context, weights, eligible, at_least, at_most, now, activate
        )
        asked = self._request(question, written=True)

        def make() -> Decision:
            if id is not None and id in self._state.ledger.rows:
                return self._proposer.recall(id)
            request = self._latest(asked)
            proposed = self._proposer.propose(id, request, self._state.ahead(request.time))
            return self._carry_out(request, proposed)

        return self._perform(make)

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
        activate: bool = True,
        now: float | None = None,
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
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> [decision.arm for decision in agent.decide_top({"a": [1.0], "b": [2.0]}, top=2)]
        ['b', 'a']
        """
        check_new_id(id)
        wanted = count(top, "top")
        question = Question(
            arms, features, context, weights, eligible, at_least, at_most, now, activate
        )
        asked = self._request(question, written=True)

        def make() -> tuple[Decision, ...]:
            self._proposer.check_group(id, min(wanted, len(asked.arms)))
            request = self._latest(asked)
            proposed = self._proposer.propose_several(id, request, wanted)
            return tuple(self._carry_out(request, one) for one in proposed)

        return self._perform(make)

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

        So an agent can be an apprentice before it is in charge; see :meth:`agreement`.

        Parameters
        ----------
        arms, features, context, id, eligible, now
            As for :meth:`decide`. An id that is known gives the decision that was made under it.
        arm
            The id of the arm that was chosen.
        rewards
            What came of it so far, by objective; the rest may come by :meth:`reward`.
        propensity
            The probability with which they chose the arm, for the log; None if nobody knows.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> made = agent.observe({"a": [1.0], "b": [2.0]}, arm="a", rewards={"sales": 3.0})
        >>> agent.theta.tolist(), agent.agreement()
        ([[3.0]], 0.0)
        """
        check_new_id(id)
        chance = None if propensity is None else share(propensity, "propensity")
        if chance == 0:
            raise ValueError("propensity: expected a number above 0, as the arm was chosen, got 0")
        values = self._rewards({} if rewards is None else rewards, "rewards")
        question = Question(arms, features, context, None, eligible, None, None, now, True)
        asked = self._request(question, written=True)
        if type(arm) is not str or arm not in asked.arms.ids:
            raise ValueError(f"arm: expected the id of an eligible arm, got {arm!r}")

        def make() -> Decision:
            if id is not None and id in self._state.ledger.rows:
                decision = self._proposer.recall(id)
            else:
                request = self._latest(asked)
                proposed = self._proposer.observe(id, request, arm, chance)
                decision = self._carry_out(request, proposed)
            if values:
                self._commit(Rewarded(decision.id, values, asked.time))
            return decision

        return self._perform(make)

    def activate(self, id: str, *, now: float | None = None) -> bool:
        """Say that the arm of a decision made with ``activate=False`` is really shown.

        Its windows begin now, and rewards that came before are learned. What is not activated
        within the agent's ``patience`` teaches nothing, and what it would have explored is open
        again. Return whether it was waiting: False if it was activated or withdrawn before.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales", window=9.0)], dim=1, seed=0, patience=5.0)
        >>> seen, unseen = (agent.decide({"a": [1.0]}, activate=False, now=0.0) for _ in "12")
        >>> agent.activate(seen.id, now=4.0), agent.activate(unseen.id, now=6.0)
        (True, False)
        """
        check_id(id)
        event = Activated(id, read_time(now, needed=self._settings.windowed))
        new: bool = self._perform(lambda: self._commit(event))
        return new

    def withdraw(self, id: str, *, now: float | None = None) -> int:
        """Say that the arm of a decision was not shown after all: it teaches nothing.

        What was learned from it before stays. Return for how many objectives something was pending.
        """
        check_id(id)
        event = Withdrawn(id, read_time(now, needed=False))
        count: int = self._perform(lambda: self._commit(event))
        return count

    def add(self, objective: Objective, *, policy: MakePolicy | None = None) -> None:
        """Have one more objective from now on; one that is there already changes nothing.

        Nothing is waited for of decisions that were made before.

        Parameters
        ----------
        objective
            With a name of its own.
        policy
            Makes the policy for the new number of objectives, where the present one has something
            that belongs to the old one, such as a vector of weights.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> agent.add(mogro.Objective("returns", direction="min"))
        >>> agent.retire("sales")
        >>> agent.objectives
        (Objective(name='returns', direction='min'),)
        """
        self._change(lambda: changes.add(self._settings, objective, policy))

    def retire(self, name: str, *, policy: MakePolicy | None = None) -> None:
        """Go on without an objective; what was learned of it is gone. ``policy`` as in :meth:`add`.

        Rewards that still come for it are refused: :class:`~mogro.live.UnknownObjective`.
        """
        self._change(lambda: changes.retire(self._settings, name, policy))

    def change(self, objective: Objective) -> None:
        """Give an objective, by its name, another unit, window or default from now on.

        What was learned stays, in the user's units. Windows of decisions that wait are as long as
        the new one, too; values and defaults that were learned stay learned.
        """
        self._change(lambda: changes.change(self._settings, objective))

    def _change(self, event: Callable[[], Changed | None]) -> None:
        def make() -> None:
            found = event()
            if found is not None:
                self._commit(found)

        self._perform(make)

    def reward(self, id: str, values: Mapping[str, float], *, now: float | None = None) -> Outcome:
        """Give rewards to a decision, in the user's units: all at once, or in parts, in any order.

        An objective with a default is learned when its window closes, others as they come. A value
        that came before is ignored; one for an objective whose window has closed is recorded, not
        learned. ``now`` first closes every window that is due, of all decisions; it is needed
        where an objective has a window.

        Raises
        ------
        UnknownDecision, UnknownObjective, BadReward, ConflictingReward
            Nothing of the call is learned then.
        """
        check_id(id)
        time = read_time(now, needed=self._settings.windowed)
        event = Rewarded(id, self._rewards(values, "values"), time)
        outcome: Outcome = self._perform(lambda: self._commit(event), event)
        return outcome

    def expire(self, now: float) -> int:
        """Close all windows that end at or before a time, and return how many did.

        :meth:`decide` and :meth:`reward` do so too, by their ``now``.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sale", window=9.0, default=0.0)], dim=1, seed=0)
        >>> agent.expire(agent.decide({"a": [1.0]}, now=1.0).time + 9.0)
        1
        """
        event = Expired(real(now, "now"))
        closed: int = self._perform(lambda: self._commit(event))
        return closed

    def forget(self, *, before: float) -> int:
        """Drop completed decisions made before a time, and return how many; learning stays."""
        event = Forgotten(real(before, "before"))
        dropped: int = self._perform(lambda: self._commit(event))
        return dropped

    def compact(self, *, before: float, to: str | os.PathLike[str] | None = None) -> int:
        """Move completed decisions made before a time out of the agent; learning stays.

        A journal does not grow for ever then: events of decisions that are no longer held, dropped
        now or before, go out of it, and a snapshot takes their place. Their ids are unknown from
        now on, as after :meth:`forget`; so a decision under one of them is a new one.

        Parameters
        ----------
        before
            The time.
        to
            A folder where they go, in a Parquet file with the columns of :meth:`log` (extra
            ``logs``); no file has a decision that another has. None: nowhere.

        Returns
        -------
        int
            How many decisions were dropped now.

        Examples
        --------
        >>> import mogro, os, tempfile
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> _ = agent.reward(agent.decide({"a": [2.0]}, now=1.0).id, {"sales": 4.0}, now=2.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     agent.compact(before=9.0, to=folder), len(os.listdir(folder))
        (1, 1)
        >>> agent.theta.tolist(), agent.decisions()
        ([[2.0]], ())
        """
        time, folder = real(before, "before"), None if to is None else folder_or_file(to, "to")
        with self._current():
            event = Compacted(time, None if folder is None else new_name(self._state.position + 1))
            if self._group is not None:
                return move_out(self._group, event, folder, lambda: self._state)
            if folder is not None and event.file is not None:
                write_draft(self.log(), completed_before(self._state, time), folder, event.file)
                finish_drafts(folder, [event.file])
            dropped: int = self._commit(event)
        return dropped

    def erase(self, *ids: str) -> int:
        """Remove what was recorded of decisions, and return how many; what was learned stays.

        Nothing more is learned from what was pending. Their ids are unknown from now on. Out of a
        journal goes all that was recorded under these ids, also of decisions that were forgotten;
        what is recorded of others stays. An SQLite file is overwritten where they stood; what was
        deleted in a PostgreSQL database goes when the server cleans up; backups and archives are
        out of reach.

        Raises
        ------
        UnknownDecision
            If nothing is recorded of one of them; then none is erased.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> _ = agent.reward(agent.decide({"a": [2.0]}, id="visit 1").id, {"sales": 4.0})
        >>> agent.erase("visit 1")
        1
        >>> agent.theta.tolist(), agent.decisions()
        ([[2.0]], ())
        """
        for id in ids:
            check_id(id)
        gone = set(ids)

        def make() -> Erased:
            held = gone & self._state.ledger.rows.keys()
            left = gone - held
            if left and self._group is not None:
                left -= {decided_id(event) for _, event in self._group.events()}
            for id in left:
                self._proposer.number(id)  # raises
            return Erased(tuple(self._proposer.number(id) for id in ids if id in held))

        with self._current():
            if self._group is None:
                self._commit(make())
            else:
                self._group.clear(make, erased=gone)
        return len(gone)

    def learn(self, log: Any) -> int:
        """Take over the decisions and rewards in a log of another agent, and return how many.

        So a new agent begins with all that was known. What that agent has learned from a decision
        is learned, and nothing from what was pending there. Decisions whose id is known are left
        out, so that a log can be taken over twice; if one is not what is known under its id (arm,
        features, time, what was learned of it), nothing is taken over.

        Parameters
        ----------
        log
            A table that :meth:`log` gave, or was read from the file of :meth:`export`. What the
            learner sees of arms has to be the same there as here; objectives may differ: those that
            are not in the log count as missing, and others in it are left out.

        Examples
        --------
        >>> import mogro
        >>> old, new = (mogro.Agent([mogro.Objective("sales")], dim=1, seed=s) for s in (0, 1))
        >>> _ = old.reward(old.decide({"a": [2.0]}, id="visit 1").id, {"sales": 4.0})
        >>> new.learn(old.log())
        1
        >>> new.theta.tolist()
        [[2.0]]
        """
        settings = self._settings
        read = read_log(log, settings)

        def make() -> int:
            rows = read if settings is self._settings else read_log(log, self._settings)
            theta = self._state.learner.theta
            fresh = new_rows(rows, self._state)
            for event in fresh:
                believed = event.decision._replace(estimates=theta @ event.decision.features)
                self._commit(event._replace(decision=believed))
            return len(fresh)

        return self._perform(make)

    def _carry_out(self, request: Request, proposed: Proposed) -> Decision:
        """Let a decision happen, after the arms on offer have been written down."""
        if proposed.event is not None:
            if request.offer is not None and self._proposer.is_new(request.offer):
                self._commit(request.offer)
            self._commit(proposed.event)
        return proposed.decision

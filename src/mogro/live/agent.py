"""The object that a team holds: decisions with ids, rewards that come late and in parts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from mogro._validation import count, real, share
from mogro.live.deciding.basis import Weights
from mogro.live.deciding.decisions import Decision, Propensities
from mogro.live.deciding.proposals import Proposed
from mogro.live.deciding.requests import (
    Question,
    Request,
    check_id,
    check_new_id,
    read_request,
    read_rewards,
    read_time,
)
from mogro.live.events import Activated, Event, Expired, Rewarded, Withdrawn
from mogro.live.keeping import Kept
from mogro.live.memory.counters import Outcome
from mogro.live.memory.state import State
from mogro.live.objective import HalfLife, Objective
from mogro.live.offers.arms import Arms, Context, Features
from mogro.live.offers.bilinear import Bilinear
from mogro.live.offers.features import Scaling
from mogro.live.settings import MakePolicy, make_settings
from mogro.policies import MOGRO

T = TypeVar("T")


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
        now: float | None = None,
    ) -> Propensities:
        """Return with what probability :meth:`decide` would choose each arm; nothing happens.

        Parameters are those of :meth:`decide`. Arms that are not eligible, or do not meet
        constraints that bind, are left out.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> agent.probabilities({"a": [1.0], "b": [2.0]}).values.tolist()  # b tells more
        [0.0, 1.0]
        """
        question = Question(
            arms, features, context, weights, eligible, at_least, at_most, now, True
        )
        request = self._request(question)
        with self._current():
            return self._proposer.probabilities(self._latest(request))

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

    def _request(self, question: Question, *, written: bool = False) -> Request:
        """Check what is asked for; its arms are to be ``written`` down if there is a journal."""
        written = written and self._group is not None
        return self._checked(
            lambda: read_request(question, self._settings, self._reader, written=written)
        )

    def _rewards(self, values: Mapping[str, float], name: str) -> dict[str, float]:
        """Check rewards, given under a name."""
        return self._checked(lambda: read_rewards(values, self._settings.units, name))

    def _checked(self, check: Callable[[], T]) -> T:
        """Check what a caller gave; what is refused once more, by the latest objectives."""
        try:
            return check()
        except ValueError:
            if self._group is None:
                raise
        with self._current():
            return check()

    def _latest(self, request: Request) -> Request:
        """Return a request as the objectives are now."""
        if request.settings is self._settings:
            return request
        return self._request(request.question, written=request.offer is not None)

    def _carry_out(self, request: Request, proposed: Proposed) -> Decision:
        """Let a decision happen, after the arms on offer have been written down."""
        if proposed.event is not None:
            if request.offer is not None and self._proposer.is_new(request.offer):
                self._commit(request.offer)
            self._commit(proposed.event)
        return proposed.decision

    def _perform(self, work: Callable[[], T], event: Rewarded | None = None) -> T:
        """Carry out what changes the agent, by itself; with a journal until it is committed.

        It may be known beforehand that it lets an ``event`` happen, and nothing else.
        """
        if self._group is None:
            with self._lock:
                return work()
        return self._group.perform(work, event)

    def _commit(self, event: Event) -> Any:
        """Let an event happen, tell of it, and return what it was; raise what was refused."""
        apply = self._state.apply if self._group is None else self._group.apply
        result = apply(event)
        if isinstance(result, Exception):
            raise result
        if self._events is not None:
            self._events(event)
        return result

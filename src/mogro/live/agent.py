"""The object that a team holds: decisions with ids, rewards that come late and in parts."""

import copy
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, count, real
from mogro.live.arms import ArmReader, Arms, Context, Features
from mogro.live.basis import Weights, read_constraints, read_weights
from mogro.live.bilinear import Bilinear
from mogro.live.decisions import Decision, DecisionRecord, Propensities
from mogro.live.errors import BadReward, UnknownObjective
from mogro.live.events import Event, Expired, Forgotten, Rewarded
from mogro.live.features import Scaling
from mogro.live.journal import GroupCommit, open_journal
from mogro.live.learner import HalfLife
from mogro.live.objective import Objective
from mogro.live.proposals import Proposer, Request
from mogro.live.settings import MakePolicy, make_settings
from mogro.live.snapshot import read, write
from mogro.live.state import Outcome, State
from mogro.live.views import (
    Estimates,
    Explanation,
    Front,
    diagnosis,
    estimates,
    explain,
    html,
    learned_front,
    text,
)
from mogro.policies import MOGRO

if TYPE_CHECKING:
    from mogro.theory import Diagnosis

T = TypeVar("T")

_NUMBERS = (Real, Decimal, np.bool_)  # not strings, which float would read


class Agent:
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
    uniform
        With this probability any eligible arm that meets the constraints, each alike, whatever the
        policy would do. Every arm then has a propensity above 0, and logs can be evaluated.
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
        uniform: float = 0.0,
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
            seed=seed,
            uniform=uniform,
        )
        self._begin(State(settings), events)

    def _begin(self, state: State, events: Callable[[Event], object] | None) -> None:
        self._settings = state.settings
        self._events = events
        self._lock = threading.RLock()
        self._reader = ArmReader(state.settings.mapping)
        self._group: GroupCommit | None = None  # with a journal
        self._go_on_from(state)

    def _go_on_from(self, state: State) -> None:
        self._state = state
        self._proposer = Proposer(state)

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What decisions should be good at."""
        return self._settings.units.objectives

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
        settings = self._settings
        offered = self._reader.read(arms, features, context=context, eligible=eligible)
        selection = read_weights(weights, settings.units, settings.policy.selection)
        constraints = read_constraints(at_least, at_most, settings.units)
        time = _time(now, needed=settings.timed)
        _check_id(id)

        def make() -> Decision:
            if id is not None and id in self._state.ledger.rows:
                return self._proposer.recall(id)
            request = Request(offered, selection, constraints, time, grouped=False)
            proposed = self._proposer.propose(id, request, self._state.ahead(time))
            assert proposed.event is not None
            self._commit(proposed.event)
            return proposed.decision

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
        settings = self._settings
        offered = self._reader.read(arms, features, context=context, eligible=eligible)
        selection = read_weights(weights, settings.units, settings.policy.selection)
        constraints = read_constraints(at_least, at_most, settings.units)
        time = _time(now, needed=settings.timed)
        _check_id(id)
        wanted = count(top, "top")

        def make() -> tuple[Decision, ...]:
            self._proposer.check_group(id, wanted)
            request = Request(offered, selection, constraints, time, grouped=True)
            proposed = self._proposer.propose_several(id, request, wanted)
            for one in proposed:
                if one.event is not None:
                    self._commit(one.event)
            return tuple(one.decision for one in proposed)

        return self._perform(make)

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
        time = _time(now, needed=self._settings.windowed)
        if not isinstance(id, str):
            raise ValueError(f"id: expected the id of a decision (decision.id), got {id!r}")
        event = Rewarded(id, self._values(values), time)
        outcome: Outcome = self._perform(lambda: self._commit(event))
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

    @property
    def theta(self) -> FloatArray:
        """Estimated change of each objective per feature, (M, d), in the user's units.

        With :class:`~mogro.Bilinear` features are the products that it names.
        """
        return self._lines()[0]

    @property
    def intercept(self) -> FloatArray:
        """Estimate of each objective for features of zero, (M,), in the user's units."""
        return self._lines()[1]

    @property
    def counters(self) -> dict[str, int]:
        """What has happened so far, and how many decisions are held."""
        with self._current():
            held, done = len(self._state.ledger), len(self._state.ledger.completed)
            return asdict(self._state.counters) | {"pending": held - done, "completed": done}

    @property
    def observations(self) -> dict[str, float]:
        """The effective number of observations of each objective: the sum of their weights.

        With a half-life in time, as of the latest time that the agent was told.
        """
        with self._current():
            return self._settings.units.named(self._state.learner.effective)

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
        settings = self._settings
        request = Request(
            self._reader.read(arms, features, context=context, eligible=eligible),
            read_weights(weights, settings.units, settings.policy.selection),
            read_constraints(at_least, at_most, settings.units),
            _time(now, needed=settings.timed),
            grouped=False,
        )
        with self._current():
            return self._proposer.probabilities(request)

    def estimate(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
    ) -> Estimates:
        """Return what is believed of arms, with standard errors, in the user's units.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> for value in (1.0, 3.0):
        ...     outcome = agent.reward(agent.decide({"a": [1.0]}).id, {"sales": value})
        >>> agent.estimate({"a": [1.0], "b": [2.0]})
        arm  sales
        a    2 ± 1
        b    4 ± 2
        """
        offered = self._reader.read(arms, features, context=context)
        with self._current():
            return estimates(offered, self._state.learner, self._settings)

    def decision(self, id: str) -> DecisionRecord:
        """Return a decision and what has become of it.

        Raises
        ------
        UnknownDecision
            If it was never made, or is forgotten.
        """
        with self._current():
            return self._proposer.record(id)

    def decisions(self, *, pending: bool | None = None) -> tuple[DecisionRecord, ...]:
        """Return all decisions that are held, in order; only those with something pending, or not.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> decision = agent.decide({"a": [1.0]})
        >>> [record.status for record in agent.decisions(pending=True)]
        [{'sales': 'pending'}]
        """
        with self._current():
            ledger = self._state.ledger
            rows = ledger.live() if pending is not True else ledger.pending()
            records = [self._proposer.record(ledger.ids[row]) for row in rows.tolist()]
        return tuple(one for one in records if pending is None or one.pending == pending)

    def front(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
    ) -> Front:
        """Return the estimated effective front of some arms, with each one's share of weights.

        It belongs to the estimates: with few observations it may be far from the true one.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("taste"), mogro.Objective("price",
        ...     direction="min")], dim=2, seed=0)
        >>> arms = {"cake": [1.0, 0.0], "bread": [0.0, 1.0]}
        >>> for name, taste, price in (("cake", 5.0, 4.0), ("bread", 1.0, 2.0)):
        ...     decision = agent.decide(arms, eligible=[name == arm for arm in arms])
        ...     outcome = agent.reward(decision.id, {"taste": taste, "price": price})
        >>> agent.front(arms)
        arm    taste  price  share of weights
        cake   5      4      66...%
        bread  1      2      33...%
        """
        offered = self._reader.read(arms, features, context=context)
        with self._current():
            theta = self._state.learner.theta
        return learned_front(offered, theta, self._settings)

    def explain(self, decision: Decision) -> Explanation:
        """Say what an arm was chosen over, and on which objectives it led, by what was known."""
        return explain(decision, self._settings)

    def diagnose(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
        rounds: int,
    ) -> "Diagnosis":
        """Say which assumptions of the theory these arms meet, by the estimates so far.

        Noise is taken from the residuals, the largest of all objectives in units; features are as
        the learner sees them. See :func:`mogro.theory.diagnose`.
        """
        offered = self._reader.read(arms, features, context=context)
        with self._current():
            theta, noise = self._state.learner.theta, self._state.learner.noise
        return diagnosis(offered, theta, noise, self._settings, rounds=rounds)

    def __repr__(self) -> str:
        with self._current():
            return text(self._state)

    def _repr_html_(self) -> str:
        with self._current():
            return html(self._state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, pending decisions included; see :meth:`load`.

        The file that stood there is replaced as a whole or not at all, even by a crash. Threads
        can go on once a copy has been taken; that it is on the disk is certain when the call
        returns.
        """
        with self._current():
            numbers, arrays = self._state.save_state()
        write(path, self._settings, numbers, arrays)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        types: Sequence[type[Any]] = (),
        events: Callable[[Event], object] | None = None,
    ) -> Self:
        """Read an agent that :meth:`save` wrote; it goes on to the bit, on the same kind of CPU.

        Parameters
        ----------
        path
            The file.
        types
            Classes of policies, scalarisations and explorations that are not mogro's own.
        events
            Told of everything that happens from now on, as for a new agent.

        Raises
        ------
        DamagedSnapshot
            With the reason.
        """
        agent = cls.__new__(cls)
        agent._begin(read(path, types), events)
        return agent

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        objectives: Sequence[Objective] | None = None,
        *,
        name: str = "agent",
        dim: int | None = None,
        features: Bilinear | None = None,
        seed: int | None = None,
        policy: MakePolicy = MOGRO,
        intercept: bool = False,
        scaling: Scaling | None = None,
        half_life: HalfLife | None = None,
        capacity: int | None = None,
        uniform: float = 0.0,
        types: Sequence[type[Any]] = (),
        timeout: float = 60.0,
        snapshot_every: int = 5000,
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
            With these the agent is created if it is not there, and otherwise its settings have to
            be the same. Without them it goes on as it is.
        name
            Of the agent, where there are several.
        dim, features, seed, policy, intercept, scaling, half_life, capacity, uniform
            As for a new agent, beside objectives.
        types
            Classes of policies, scalarisations and explorations that are not mogro's own.
        timeout
            Seconds to wait for other processes, or for a server, before a call fails.
        snapshot_every
            Events after which this process writes a snapshot into the journal, so that opening it
            stays quick; later where more than fifty times as many decisions are held.

        Raises
        ------
        JournalError
            With the file or database and the reason: :class:`~mogro.errors.JournalUnavailable`,
            :class:`~mogro.errors.DamagedJournal`, :class:`~mogro.errors.NewerJournal`,
            :class:`~mogro.errors.DifferentSettings`.

        Examples
        --------
        >>> import mogro, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/shop.db"
        >>> with mogro.Agent.open(path, [mogro.Objective("sales")], dim=1, seed=7) as agent:
        ...     decision = agent.decide({"a": [1.0], "b": [2.0]}, id="visit 1")
        >>> with mogro.Agent.open(path) as agent:  # later, or in another process
        ...     agent.reward("visit 1", {"sales": 4.0})
        ...     agent.theta.tolist()
        Outcome(learned=1, pending=0, revised=0, repeated=0, late=0)
        [[2.0]]
        >>> folder.cleanup()
        """
        settings = None
        if objectives is not None:
            settings = make_settings(
                objectives,
                dim=dim,
                intercept=intercept,
                scaling=scaling,
                features=features,
                policy=policy,
                half_life=half_life,
                capacity=capacity,
                seed=count(seed, "seed", minimum=0),
                uniform=uniform,
            )
        elif any(given is not None for given in (dim, features, seed, capacity)) or (
            policy is not MOGRO
        ):
            raise ValueError("objectives: expected some beside other settings, got None")
        agent = cls.__new__(cls)
        every = count(snapshot_every, "snapshot_every")
        journal, settings = open_journal(path, name, settings, types=types, timeout=timeout)
        agent._begin(State(settings), None)
        agent._group = GroupCommit(
            journal, settings, snapshot_every=every, replace=agent._go_on_from
        )
        return agent

    def close(self) -> None:
        """Let go of the file, of an agent that was opened; everything acknowledged is in it."""
        if self._group is not None:
            self._group.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        with self._current():
            return {"state": copy.deepcopy(self._state)}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self._begin(kept["state"], None)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def _perform(self, work: Callable[[], T]) -> T:
        """Carry out what changes the agent, by itself; with a journal until it is committed."""
        if self._group is None:
            with self._lock:
                return work()
        return self._group.perform(work)

    def _current(self) -> AbstractContextManager[object]:
        """Keep the state as it is; with a journal, as the last event committed left it."""
        return self._lock if self._group is None else self._group.current()

    def _commit(self, event: Event) -> Any:
        """Let an event happen, tell of it, and return what it was; raise what was refused."""
        apply = self._state.apply if self._group is None else self._group.apply
        result = apply(event)
        if isinstance(result, Exception):
            raise result
        if self._events is not None:
            self._events(event)
        return result

    def _values(self, values: Mapping[str, float]) -> dict[str, float]:
        """Check a reward, and return it as floats."""
        try:
            pairs = values.items()
        except AttributeError:
            raise ValueError(
                f"values: expected a mapping of objective name to number, got {values!r}"
            ) from None
        units = self._settings.units
        checked = {}
        for name, given in pairs:
            m = units.index.get(name)
            if m is None:
                raise UnknownObjective(
                    f"values: expected objectives {list(units.names)}, got {name!r}"
                )
            value = given if type(given) is float else _number(given)
            if not abs(value - units.offsets[m]) <= units.limits[m]:
                raise BadReward(f"values: expected a finite number for {name!r}, got {given!r}")
            checked[name] = value
        return checked

    def _lines(self) -> tuple[FloatArray, FloatArray]:
        with self._current():
            theta = self._state.learner.theta
        units = self._settings.units
        slopes, constants = self._settings.mapping.lines(theta)
        return slopes * units.scale[:, None], units.outward(constants)


def _time(now: float | None, *, needed: bool) -> float | None:
    if now is None:
        if needed:
            raise ValueError("now: expected the time, because of a window or a half-life in time")
        return None
    return real(now, "now")


def _check_id(id: str | None) -> None:
    if id is not None and (type(id) is not str or not id):
        raise ValueError(f"id: expected a string, not empty, got {id!r}")


def _number(given: object) -> float:
    """Return a number as a float; NaN if it is none, or beyond every float."""
    try:
        return float(given) if isinstance(given, _NUMBERS) else math.nan
    except (ValueError, OverflowError):
        return math.nan

"""The object that a team holds: decisions with ids, rewards that come late and in parts."""

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Self

from numpy.typing import ArrayLike

from mogro._validation import FloatArray, count, real
from mogro.live.asking import Weights, time_of
from mogro.live.books import Books
from mogro.live.deciding import Desk
from mogro.live.decision import Decision, Outcome
from mogro.live.features import FeatureMap, Scaling
from mogro.live.learning import HalfLife
from mogro.live.merging import check_merge, merge
from mogro.live.objective import Objective
from mogro.live.offer import Arms, offer_of
from mogro.live.setup import MakePolicy, Setup
from mogro.live.snapshot import Draft, read
from mogro.live.views import Explanation, Front, diagnosis, explain, front_of, html, text
from mogro.policies import MOGRO

if TYPE_CHECKING:
    from mogro.theory import Diagnosis


class Agent:
    """Decides among arms and learns from what comes back, whenever it comes back.

    Parameters
    ----------
    objectives
        What decisions should be good at.
    dim
        Number of features of an arm.
    seed
        The draw of a decision follows from this and the decision's id. Agents that will be merged
        need different seeds, unless the caller gives all ids.
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

    Notes
    -----
    *Time* is a number that only the caller knows how to read; the agent has no clock. It is needed
    where an objective has a window, or the half-life is in time.

    *Threads* may call every method at any time. Rewards, expiry, saving and merging happen one
    after the other, each wholly or not at all, and so do decisions that explore. Greedy decisions
    of several threads are made side by side, each by the estimates of one moment after the call
    began; ids stay unique, and of two simultaneous calls with one id both get the same decision.

    Examples
    --------
    >>> import mogro
    >>> agent = mogro.Agent(
    ...     [mogro.Objective("click"), mogro.Objective("watch", unit=60.0)], dim=2, seed=7)
    >>> decision = agent.decide({"news": [1.0, 0.0], "film": [0.0, 1.0]}, id="visit 1")
    >>> decision.arm
    'news'
    >>> agent.reward("visit 1", {"click": 1})
    Outcome(learned=1, repeated=0, late=0)
    >>> agent.reward("visit 1", {"click": 1, "watch": 340.0})  # later, in any order
    Outcome(learned=1, repeated=1, late=0)
    >>> agent.theta.round(6).tolist()  # in the user's units
    [[1.0, 0.0], [340.0, 0.0]]
    """

    def __init__(
        self,
        objectives: Sequence[Objective],
        *,
        dim: int,
        seed: int,
        policy: MakePolicy = MOGRO,
        intercept: bool = False,
        scaling: Scaling | None = None,
        half_life: HalfLife | None = None,
        capacity: int | None = None,
    ) -> None:
        mapping = FeatureMap(dim, intercept=intercept, scaling=scaling)
        setup = Setup(
            objectives, mapping, policy, seed=seed, half_life=half_life, capacity=capacity
        )
        self._desk = Desk(setup, Books(setup))
        self._lineage = frozenset([uuid.uuid4().hex])  # this agent, and those merged into it

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What decisions should be good at."""
        return self._desk.setup.units.objectives

    def decide(
        self,
        arms: Arms,
        features: ArrayLike | None = None,
        *,
        id: str | None = None,
        weights: Weights | None = None,
        eligible: ArrayLike | None = None,
        floors: Mapping[str, float] | None = None,
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
        id
            Of the decision; made up without it. An id that is known gives the decision that was
            made under it, whatever else is passed.
        weights
            The importance of each objective, per unit, in order or by name; or a scalarisation
            such as ``RandomWeights(concentration)``. Without it the policy's own.
        eligible
            Which arms may be chosen, K booleans.
        floors
            By objective, the worst acceptable estimate. They bind once estimates mean something:
            not for decisions that explore.
        now
            The time.

        Raises
        ------
        NoArmClears
            If no arm's estimates clear the floors.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=2, seed=0)
        >>> agent.decide(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], eligible=[False, True])
        <Decision '0-0': arm 'b', exploring, expecting sales 0>
        """
        offer = offer_of(arms, features, eligible, self._desk.setup.mapping)
        return self._desk.decide(offer, id=id, weights=weights, floors=floors, now=now)

    def decide_top(
        self,
        arms: Arms,
        features: ArrayLike | None = None,
        *,
        top: int,
        id: str | None = None,
        weights: Weights | None = None,
        eligible: ArrayLike | None = None,
        floors: Mapping[str, float] | None = None,
        now: float | None = None,
    ) -> tuple[Decision, ...]:
        """Choose several distinct arms, each a decision of its own with rewards of its own.

        They are chosen one after the other among the arms that are left, so with a vector of
        weights they are the best ``top`` arms for it, in order; with random weights each has its
        own draw, and together they serve different trade-offs. Fewer come back if no more arms
        are eligible or clear the floors. Parameters are those of :meth:`decide`; the ids are
        ``id``, ``id + "/2"``, ``id + "/3"`` and so on.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> [decision.arm for decision in agent.decide_top({"a": [1.0], "b": [2.0]}, top=2)]
        ['b', 'a']
        """
        offer = offer_of(arms, features, eligible, self._desk.setup.mapping)
        return self._desk.decide_top(
            offer, top=count(top, "top"), id=id, weights=weights, floors=floors, now=now
        )

    def reward(self, id: str, values: Mapping[str, float], *, now: float | None = None) -> Outcome:
        """Give rewards to a decision, in the user's units: all at once, or in parts, in any order.

        A value that came before is ignored; one for an objective whose window has closed is
        recorded, not learned. ``now`` closes this decision's windows first; it is needed where
        an objective has a window.

        Raises
        ------
        UnknownDecision, UnknownObjective, BadReward, ConflictingReward
            Nothing of the call is learned then.
        """
        time = time_of(now, needed=self._desk.setup.windowed)
        with self._desk.lock:
            return self._desk.books.reward(id, values, time)

    def expire(self, now: float) -> int:
        """Close all windows that end at or before a time, and return how many did.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sale", window=9.0, default=0.0)], dim=1, seed=0)
        >>> agent.expire(agent.decide({"a": [1.0]}, now=1.0).time + 9.0)
        1
        """
        with self._desk.lock:
            return self._desk.books.expire(real(now, "now"))

    def forget(self, *, before: float) -> int:
        """Drop completed decisions made before a time, and return how many; learning stays."""
        with self._desk.lock:
            return self._desk.books.forget(real(before, "before"))

    @property
    def theta(self) -> FloatArray:
        """Estimated change of each objective per feature, (M, d), in the user's units."""
        return self._lines()[0]

    @property
    def intercept(self) -> FloatArray:
        """Estimate of each objective for features of zero, (M,), in the user's units."""
        return self._lines()[1]

    @property
    def counters(self) -> dict[str, int]:
        """What has happened so far, and how many decisions are held."""
        with self._desk.lock:
            held, done = len(self._desk.books.ledger), len(self._desk.books.ledger.completed)
            return asdict(self._desk.books.tally) | {"pending": held - done, "completed": done}

    @property
    def observations(self) -> dict[str, float]:
        """The effective number of observations of each objective: the sum of their weights.

        With a half-life in time, as of the latest decision.
        """
        with self._desk.lock:
            return self._desk.setup.units.named(self._desk.books.learner.effective)

    def front(self, arms: Arms, features: ArrayLike | None = None) -> Front:
        """Return the estimated effective front of some arms, and what share of weights each wins.

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
        arm    taste  price  wins
        cake   5      4      66...%
        bread  1      2      33...%
        """
        setup = self._desk.setup
        offer = offer_of(arms, features, None, setup.mapping)
        with self._desk.lock:
            theta = self._desk.books.learner.theta.copy()
        return front_of(offer, theta, setup)

    def explain(self, decision: Decision) -> Explanation:
        """Say what an arm was chosen over, and on which objectives it led, by what was known."""
        return explain(decision, self._desk.setup)

    def diagnose(
        self, arms: Arms, features: ArrayLike | None = None, *, rounds: int
    ) -> "Diagnosis":
        """Say which assumptions of the theory these arms meet, by the estimates so far.

        Noise is taken from the residuals, the largest of all objectives in units; features are as
        the learner sees them. See :func:`mogro.theory.diagnose`.
        """
        offer = offer_of(arms, features, None, self._desk.setup.mapping)
        with self._desk.lock:
            theta, noise = self._desk.books.learner.theta.copy(), self._desk.books.learner.noise
        return diagnosis(offer, theta, noise, self._desk.setup, rounds=rounds)

    def __repr__(self) -> str:
        with self._desk.lock:
            return text(self._desk.setup, self._desk.books)

    def _repr_html_(self) -> str:
        with self._desk.lock:
            return html(self._desk.setup, self._desk.books)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, pending decisions included; see :meth:`load`.

        The file that stood there is replaced as a whole or not at all, even by a crash. Threads
        can go on once the contents are handed to the system; that they are on the disk is certain
        when the call returns.
        """
        with self._desk.lock:
            draft = Draft(path, self._desk.setup, self._desk.books, self._lineage)
        draft.publish()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an agent that :meth:`save` wrote; it goes on to the bit, on any machine.

        Raises
        ------
        DamagedSnapshot
            With the reason.
        """
        setup, books, lineage = read(path)
        agent = cls.__new__(cls)
        agent._desk = Desk(setup, books)
        agent._lineage = lineage
        return agent

    def merge(self, other: "Agent") -> None:
        """Take over what an agent with separate traffic has learned, and its decisions.

        With a half-life in time both are brought to the later of their times; with one in updates
        the sums add. The other stays as it is, but should not go on: what it learns from now on
        cannot be merged any more.

        Raises
        ------
        CannotMerge
            If the two differ in more than seed and capacity, hold a decision of the same id, or
            share a past (one is a copy of the other, or was merged into it before).
        """
        if not isinstance(other, Agent):
            raise ValueError(f"other: expected an Agent, got {other!r}")
        first, second = sorted((self._desk, other._desk), key=lambda desk: desk.number)
        with first.lock, second.lock:
            check_merge(self._all(), other._all())
            merge(self._desk.books, other._desk.books)
            self._lineage |= other._lineage

    def _all(self) -> tuple[Setup, Books, frozenset[str]]:
        return self._desk.setup, self._desk.books, self._lineage

    def _lines(self) -> tuple[FloatArray, FloatArray]:
        with self._desk.lock:
            setup = self._desk.setup
            slopes, constants = setup.mapping.lines(self._desk.books.learner.theta)
            return slopes * setup.units.scale[:, None], setup.units.outward(constants)

"""MOGRO: explore until every direction is known, then be greedy for a random objective."""

import math
import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._spans import negligible, precision_of, span_basis, unit_rows
from mogro._streams import Rng, check_rng, part_of
from mogro._validation import BoolArray, FloatArray, IntArray, check_shape, count, real, unwarned
from mogro.combinatorial import Oracle, ask, explore
from mogro.exploration import (
    DEFAULT_SHARE,
    Exploration,
    ExplorationContext,
    Settled,
    WeakestDirection,
    check_exploration,
    default_threshold,
)
from mogro.policies.base import LinearPolicy, check_finite, greedy, learners_of
from mogro.scalarization import RandomWeights, Scalarization, check_scalarization, is_nonlinear


@dataclass
class _State:
    """What a policy remembers besides its estimates, one entry for each learner of the batch."""

    exploring: BoolArray  # the last arm was chosen to explore
    empty: FloatArray  # directions (n, d) in which an oracle had nothing to offer
    largest: float = 0.0  # squared norm of the largest arm that an oracle gave
    covered: bool = False  # an oracle has nothing in a direction that is neither known nor empty
    warned: bool = False


@final
@dataclass(frozen=True, eq=False, repr=False)
class MOGRO(LinearPolicy):
    """Greedy with a randomised objective (Algorithm 1; its general version for a subspace).

    Explore until V is at least the threshold along every direction in the span of the arms. Then
    always pull the arm that is best, by the estimates so far, for this round's objective. When
    good arms exist for every objective, these greedy choices teach every direction by themselves.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    threshold
        The paper's B, in the unit of a squared feature norm. Without it: a tenth of the mean
        squared norm of the arms on offer, which suits noise from a tenth to about the size of the
        rewards.
    scalarization
        The objective of a round: random weights by default.
    exploration
        The first rounds: the weakest direction by default.
    rounds
        Number of rounds planned, if known: then a threshold that exploration cannot reach within
        them is reported by a warning, once. It supposes that no larger arms will come.
    batch
        Shape of a batch of independent learners that step together.

    References
    ----------
    Algorithms 1 to 4 of the paper.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> arms = np.eye(3)  # a plain bandit with three arms
    >>> means = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2]])
    >>> policy = MOGRO(dim=3, objectives=2)
    >>> pulls = np.zeros(3, dtype=int)
    >>> for _ in range(200):
    ...     arm = policy.select(arms, rng=rng)
    ...     policy.update(arms[arm], means[arm] + 0.1 * rng.standard_normal(2))
    ...     pulls[arm] += 1
    >>> bool(pulls[2] < 10 < pulls[0] and pulls[1] > 10)  # both good arms, hardly ever the third
    True
    """

    dim: int
    objectives: int
    _: KW_ONLY
    threshold: float | None = None
    scalarization: Scalarization = RandomWeights()  # noqa: RUF009
    exploration: Exploration = WeakestDirection()  # noqa: RUF009
    rounds: int | None = None
    batch: tuple[int, ...] = ()
    state: _State = field(init=False)
    _settled: Settled = field(init=False)

    def __post_init__(self) -> None:
        self._prepare(ridge=0.0)
        if self.threshold is not None:
            threshold = real(self.threshold, "threshold", above=0)
            object.__setattr__(self, "threshold", threshold)
        if self.rounds is not None:
            object.__setattr__(self, "rounds", count(self.rounds, "rounds"))
        check_scalarization(self.scalarization, "scalarization", objectives=self.objectives)
        check_exploration(self.exploration, "exploration")
        learners = math.prod(self.batch)
        state = _State(np.ones(learners, dtype=np.bool_), empty=np.zeros((0, self.dim)))
        object.__setattr__(self, "state", state)
        object.__setattr__(self, "_settled", Settled(self.batch))

    @property
    def exploring(self) -> bool | BoolArray:
        """Whether the last arm was chosen to explore; true before the first."""
        exploring = self.state.exploring
        return exploring.reshape(self.batch).copy() if self.batch else bool(exploring[0])

    @unwarned
    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose an arm for each learner; see :meth:`LinearPolicy.select`."""
        check_rng(rng)
        arms = self._offered(features)
        if self._settled.covers(arms, self.threshold):
            chosen = self._greedy(arms, self.model.theta, rng, self.batch)
            self.state.exploring.fill(False)
        else:
            chosen = self._explore_or_greedy(arms, rng)
        return self._answer(chosen)

    def choose(self, maximise: Oracle, *, rng: Rng) -> FloatArray:
        """Choose among combinatorial actions with a linear oracle: routes, slates, a polytope.

        Parameters
        ----------
        maximise
            Given a vector v (d,) of any sign, returns the features (d,) of an arm x that maximises
            ``v . x`` over all arms: any arm if v is zero. While exploring it is also asked for -v.
        rng
            Where random numbers come from.

        Returns
        -------
        numpy.ndarray
            The features of the arm to pull, to be given to
            :meth:`~mogro.policies.LinearPolicy.update` with its reward.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> policy = MOGRO(dim=2, objectives=2)
        >>> theta = np.array([[1.0, 0.0], [0.6, 0.8]])
        >>> for _ in range(100):
        ...     x = policy.choose(lambda v: v / max(np.linalg.norm(v), 1e-9), rng=rng)  # unit disc
        ...     policy.update(x, theta @ x + 0.1 * rng.standard_normal(2))
        >>> bool(np.abs(policy.theta - theta).max() < 0.2)
        True
        """
        check_rng(rng)
        self._check_choose()
        state = self.state
        arm, empty = None, state.empty
        if not state.covered:
            arm, empty = self._explore_with(maximise)
        exploring = arm is not None
        if arm is None:
            step = self.progress.step
            weights = self.scalarization.weights(self.objectives, step=step, batch=(), rng=rng)
            arm = ask(maximise, np.vecmat(weights, self.model.theta))
            # An arm that is larger, or in a direction that was empty: look again next time.
            new = np.square(empty @ arm).sum() > negligible(self.dim) * (arm @ arm)
            state.covered = not new and bool(arm @ arm <= state.largest)
        state.exploring[0], state.empty = exploring, empty
        state.largest = max(state.largest, float(arm @ arm))
        self.progress.step += 1
        return arm

    def _explore_with(self, maximise: Oracle) -> tuple[FloatArray | None, FloatArray]:
        share = DEFAULT_SHARE * self.state.largest  # nobody knows the mean over all arms
        threshold = share if self.threshold is None else self.threshold
        found = explore(
            maximise,
            self.model.inverse,
            self.model.unseen,
            empty=self.state.empty,
            threshold=threshold,
        )
        if found.arm is not None and self.rounds is not None and not self.state.warned:
            # No arm has more along the direction, so that V along it cannot grow by more.
            gain = (
                max(self.rounds - self.progress.step, 0) * float(found.direction @ found.arm) ** 2
            )
            self._warn(self.state, threshold, found.value + gain, stacklevel=4)
        return found.arm, found.empty

    def learned(self) -> dict[str, NDArray[np.generic]]:
        """Return all that has been learned, as arrays under names."""
        state = {f"state.{name}": np.array(value) for name, value in vars(self.state).items()}
        return super().learned() | state

    def relearn(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`learned` of a policy with equal hyper-parameters gave."""
        kept = {name: arrays.get(f"state.{name}") for name in vars(self.state)}
        for name, value in vars(self.state).items():
            given = kept[name]
            if given is not None:  # else the base class will say that it is missing
                rows = given.shape[:1] if name == "empty" else np.shape(value)[:1]
                check_shape(given, f"state.{name}", (*rows, *np.shape(value)[1:]))
        super().relearn(arrays)
        for name, value in vars(self.state).items():
            given = np.array(kept[name], dtype=np.asarray(value).dtype)
            setattr(self.state, name, given if given.ndim else given.item())
        self._settled.reset()

    def _explore_or_greedy(self, features: FloatArray, rng: Rng) -> IntArray:
        """Explore where a learner has to, be greedy elsewhere; each draws only what it needs."""
        check_finite(features, features)
        model, batch = self.model, self.batch
        step = self.progress.step
        context = self._settled.look(
            features, model.inverse, model.unseen, self.threshold, step=step
        )
        exploring: BoolArray = np.zeros(math.prod(batch), dtype=np.bool_)
        if context is None:
            chosen = self._greedy(features, model.theta, rng, batch)
            self.state.exploring = exploring
            return chosen
        learners = context.learners
        exploring[learners] = True
        chosen = np.full(exploring.size, -1)
        chosen[learners] = self.exploration.choose(context, rng=part_of(rng, learners))
        if self.rounds is not None and not self.state.warned:
            self._warn_of(context, self.rounds)
        rest = np.flatnonzero(~exploring)
        if rest.size:
            everybody = np.broadcast_to(features, (*batch, *features.shape[-2:]))
            offered = learners_of(everybody, batch, rest)
            theta = learners_of(model.theta, batch, rest)
            chosen[rest] = self._greedy(offered, theta, part_of(rng, rest), (rest.size,))
        self.state.exploring = exploring
        return chosen

    def _greedy(
        self, features: FloatArray, theta: FloatArray, rng: Rng, batch: tuple[int, ...]
    ) -> IntArray:
        step = self.progress.step
        return greedy(features, theta, self.scalarization, step=step, batch=batch, rng=rng)

    def _warn_of(self, context: ExplorationContext, rounds: int) -> None:
        """Warn if the smallest eigenvalue of V, at most the mean one, cannot reach a threshold."""
        arms = context.arms
        given = default_threshold(arms) if self.threshold is None else self.threshold
        threshold = np.broadcast_to(given, arms.shape[:1])
        # The trace of V grows by the largest squared norm a round, or less.
        largest = np.vecdot(arms, arms).max(axis=-1)
        gram = learners_of(self.model.gram, self.batch, context.learners)
        trace = np.linalg.trace(gram) + max(rounds - context.step, 0) * largest
        for i in np.flatnonzero(threshold * self.dim > trace):
            rank = span_basis(unit_rows(arms[i]), precision_of(arms)).shape[1]
            bound = float(trace[i]) / max(rank, 1)  # the arms may have fewer dimensions
            self._warn(self.state, float(threshold[i]), bound, stacklevel=6)

    def _warn(self, state: _State, threshold: float, bound: float, *, stacklevel: int) -> None:
        """Warn if the threshold is above what V can reach within the rounds planned."""
        if threshold > bound and not state.warned:
            warnings.warn(
                f"threshold {threshold:g}: exploration cannot end within {self.rounds} rounds, in "
                f"which the smallest eigenvalue of V stays below {bound:g}",
                stacklevel=stacklevel,
            )
            state.warned = True

    def _check_choose(self) -> None:
        if self.batch:
            raise ValueError(f"batch: expected () to choose with an oracle, got {self.batch}")
        if is_nonlinear(self.scalarization):
            raise ValueError(
                f"scalarization: {type(self.scalarization).__name__} is not linear in the arm, so "
                "no linear oracle can serve it; use RandomWeights or RoundRobin"
            )
        if not isinstance(self.exploration, WeakestDirection):
            raise ValueError(
                f"exploration: expected WeakestDirection to choose with an oracle, "
                f"got {type(self.exploration).__name__}, which needs a list of arms"
            )

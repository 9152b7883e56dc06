"""MOGRO: explore until every direction is known, then be greedy for a random objective."""

import math
import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._streams import Rng, check_rng, part_of
from mogro._validation import BoolArray, FloatArray, IntArray, check_shape, count, real, unwarned
from mogro.exploration import (
    DEFAULT_SHARE,
    Exploration,
    Situation,
    WeakestDirection,
    check_exploration,
    known_directions,
    negligible,
    nothing_new,
    survey,
)
from mogro.policies.base import LinearPolicy, greedy, learners_of, refuse_features
from mogro.policies.unlisted import Maximiser, ask, explore_unlisted
from mogro.scalarization import RandomWeights, Scalarization, check_scalarization, is_nonlinear

_CACHED = 2**16  # features surveyed at once, so that a batch stays in the cache


@dataclass
class _State:
    """What a policy remembers besides its estimates, one entry for each learner of the batch."""

    exploring: BoolArray  # the last arm was chosen to explore
    over: BoolArray  # exploration has ended for good: V is above the threshold everywhere
    unknown: FloatArray  # directions in columns along which it is not, others zero
    largest: FloatArray  # squared norm of the largest features seen
    empty: FloatArray  # directions (n, d) in which a maximiser had nothing to offer
    covered: bool = False  # a maximiser has nothing in a direction that is neither known nor empty
    warned: bool = False

    def copy(self) -> "_State":
        return replace(
            self,
            exploring=self.exploring.copy(),
            over=self.over.copy(),
            unknown=self.unknown.copy(),
            largest=self.largest.copy(),
        )


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
        The paper's B, in the unit of a squared feature norm. Without it: a tenth of the largest
        squared norm seen, which suits noise from a tenth to about the size of the rewards.
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
    _familiar: bytes = field(init=False)  # of arms that had nothing to explore, in this state

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
        state = _State(
            exploring=np.ones(learners, dtype=np.bool_),
            over=np.zeros(learners, dtype=np.bool_),
            unknown=np.tile(np.eye(self.dim), (learners, 1, 1)),
            largest=np.zeros(learners),
            empty=np.zeros((0, self.dim)),
        )
        self._become(state)

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
        if self._settled(arms):
            chosen = self._greedy(arms, self.model.theta, rng, self.batch)
        else:
            chosen = self._explore_or_greedy(arms, rng)
        return self._answer(chosen)

    def choose(self, maximise: Maximiser, *, rng: Rng) -> FloatArray:
        """Choose among arms that nobody can list: a ball, a polytope, routes, slates.

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
        if not (state.over[0] or state.covered):
            arm, empty = self._explore_unlisted(maximise)
        exploring = arm is not None
        if arm is None:
            step = self.progress.step
            weights = self.scalarization.weights(self.objectives, step=step, batch=(), rng=rng)
            arm = ask(maximise, np.vecmat(weights, self.model.theta))
            # An arm that is larger, or in a direction that was empty: look again next time.
            new = np.square(empty @ arm).sum() > negligible(self.dim) * (arm @ arm)
            state.covered = not new and bool(arm @ arm <= state.largest[0])
            state.over[0] |= len(empty) == 0
        state.exploring[0], state.empty = exploring, empty
        state.largest = np.maximum(state.largest, arm @ arm)
        self.progress.step += 1
        return arm

    def _explore_unlisted(self, maximise: Maximiser) -> tuple[FloatArray | None, FloatArray]:
        threshold = float(self._threshold(self.state.largest)[0])
        found = explore_unlisted(
            maximise,
            self.model.gram,
            additions=self.model.count,
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

    def _settled(self, features: FloatArray) -> bool:
        """Tell whether no learner has anything to explore among these arms."""
        state = self.state
        if np.count_nonzero(state.over) == state.over.size:
            return True
        if np.count_nonzero(state.exploring):
            return False
        same = features.tobytes() if features.size <= _CACHED else b""
        if same and same == self._familiar:
            return True
        unknown = state.unknown.reshape(*self.batch, self.dim, self.dim)
        found = nothing_new(features, unknown, state.largest.reshape(self.batch))
        if found:
            object.__setattr__(self, "_familiar", same)
        return found

    def _become(self, state: _State) -> None:
        object.__setattr__(self, "state", state)
        object.__setattr__(self, "_familiar", b"")

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
        self._become(self.state)

    def _explore_or_greedy(self, features: FloatArray, rng: Rng) -> IntArray:
        """Explore where a learner has to, be greedy elsewhere; each draws only what it needs."""
        features = np.broadcast_to(features, (*self.batch, *features.shape[-2:]))
        state = self.state.copy()
        chosen = np.full(state.over.size, -1)
        asking = np.flatnonzero(~state.over)
        at_once = max(1, _CACHED // math.prod(features.shape[-2:]))
        for start in range(0, asking.size, at_once):
            self._explore(features, asking[start : start + at_once], state, chosen, rng)
        rest = np.flatnonzero(chosen < 0)
        if rest.size:
            offered = learners_of(features, self.batch, rest)
            theta = learners_of(self.model.theta, self.batch, rest)
            chosen[rest] = self._greedy(offered, theta, part_of(rng, rest), (rest.size,))
        self._become(state)
        return chosen

    def _explore(
        self, features: FloatArray, asking: IntArray, state: _State, chosen: IntArray, rng: Rng
    ) -> None:
        """Find out which of some learners have to explore, and choose arms for them."""
        offered = learners_of(features, self.batch, asking)
        norms = np.vecdot(offered, offered)
        if not np.isfinite(norms).all():
            refuse_features(features)
        everywhere = self.model.spectrum(asking)
        largest = np.maximum(state.largest[asking], norms.max(axis=-1))
        threshold = self._threshold(largest)
        spectrum, parts, opened = survey(offered, everywhere, threshold)
        exploring = np.asarray(opened.any(axis=-1))
        if exploring.any():
            step = self.progress.step
            there = Situation(offered, spectrum, parts, opened, asking, self.batch, step)
            there = there if exploring.all() else there.only(exploring)
            chosen[there.learners] = self.exploration.choose(
                there, rng=part_of(rng, there.learners)
            )
            if self.rounds is not None and not state.warned:
                # The trace of V grows by the largest squared norm a round, or less.
                trace = everywhere.values.sum(axis=-1) + max(self.rounds - step, 0) * largest
                self._warn_of(state, there.features, threshold[exploring], trace[exploring])
        known = known_directions(spectrum, threshold)
        state.exploring[asking] = exploring
        state.over[asking] = known.all(axis=-1)
        state.unknown[asking] = spectrum.vectors * ~known[:, None, :]
        state.largest[asking] = largest

    def _greedy(
        self, features: FloatArray, theta: FloatArray, rng: Rng, batch: tuple[int, ...]
    ) -> IntArray:
        step = self.progress.step
        return greedy(features, theta, self.scalarization, step=step, batch=batch, rng=rng)

    def _threshold(self, largest: FloatArray) -> FloatArray:
        """Return the threshold of learners whose largest squared norm was this."""
        if self.threshold is None:
            return np.asarray(DEFAULT_SHARE * largest)
        return np.full(largest.shape, self.threshold)

    def _warn_of(
        self, state: _State, features: FloatArray, threshold: FloatArray, trace: FloatArray
    ) -> None:
        """Warn if the smallest eigenvalue of V, at most the mean one, cannot reach a threshold."""
        hopeless = threshold * self.dim > trace
        if hopeless.any():  # unless the arms have fewer dimensions
            rounding = math.sqrt(negligible(self.dim, features.dtype) * features.shape[-2])
            rank = np.linalg.matrix_rank(features[hopeless], rtol=rounding)
            bound = trace[hopeless] / np.maximum(rank, 1)
            worst = int((threshold[hopeless] - bound).argmax())
            self._warn(state, float(threshold[hopeless][worst]), float(bound[worst]), stacklevel=7)

    def _warn(self, state: _State, threshold: float, bound: float, *, stacklevel: int) -> None:
        """Warn if the threshold is above what V can reach within the rounds planned."""
        if threshold > bound:
            warnings.warn(
                f"threshold {threshold:g}: exploration cannot end within {self.rounds} rounds, in "
                f"which the smallest eigenvalue of V stays below {bound:g}",
                stacklevel=stacklevel,
            )
            state.warned = True

    def _check_choose(self) -> None:
        if self.batch:
            raise ValueError(f"batch: expected () to choose with a maximiser, got {self.batch}")
        if is_nonlinear(self.scalarization):
            raise ValueError(
                f"scalarization: {type(self.scalarization).__name__} is not linear in the arm, so "
                "no maximiser of linear functions can serve it; use RandomWeights or RoundRobin"
            )
        if not isinstance(self.exploration, WeakestDirection):
            raise ValueError(
                f"exploration: expected WeakestDirection to choose with a maximiser, "
                f"got {type(self.exploration).__name__}, which needs a list of arms"
            )

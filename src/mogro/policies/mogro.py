"""MOGRO: explore until every direction is known, then be greedy for a random objective."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, final

import numpy as np

from mogro._spans import negligible
from mogro._streams import Rng, check_rng
from mogro._validation import FloatArray, count, real
from mogro.choice import Beliefs, is_optimistic
from mogro.combinatorial import Oracle, ask, explore
from mogro.exploration import (
    DEFAULT_SHARE,
    SATISFIED,
    Exploration,
    WeakestDirection,
    check_exploration,
    default_threshold,
)
from mogro.policies.base import LinearPolicy
from mogro.policies.thompson import square_roots
from mogro.scalarization import RandomWeights, Scalarization, check_scalarization, is_nonlinear


@final
@dataclass(frozen=True, eq=False, repr=False)
class MOGRO(LinearPolicy):
    """Greedy with a randomised objective (Algorithm 1; its general version for a subspace).

    Explore until V is at least the threshold along every direction in the span of the arms. Then
    pull the arm that is best, by the estimates so far, for this round's objective. When
    good arms exist for every objective, these greedy choices teach every direction by themselves.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    threshold
        The paper's B, in the unit of a squared feature norm. Without it the policy follows the
        noise: it explores up to a tenth of the mean squared norm of the arms on offer, and then
        every ``sqrt(n) / 3``-th round, with n observations, is optimistic: arms are worth their
        estimates plus some standard errors.
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

    def __post_init__(self) -> None:
        check_explorer(self)
        if self.rounds is not None:
            object.__setattr__(self, "rounds", count(self.rounds, "rounds"))
        super().__post_init__()

    @property
    def selection(self) -> Scalarization:
        """How to select."""
        return self.scalarization

    @property
    def optimistic(self) -> bool:
        """Whether some rounds are optimistic: without a threshold."""
        return self.threshold is None

    def _selected(self, arms: FloatArray) -> None:
        """Warn, once, where exploration cannot end within the rounds planned."""
        if self.rounds is not None and not self.learned.warned and np.any(self.learned.exploring):
            message = self._warning(arms)
            if message:
                self.learned.warned = True
                warnings.warn(message, stacklevel=3)

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
        learned = self.learned
        arm, empty = None, learned.empty
        if not learned.covered:
            threshold = self._action_threshold()
            model = learned.model
            unseen = None if model.full else model.unseen
            found = explore(maximise, model.inverse, unseen, empty=empty, threshold=threshold)
            arm, empty = found.arm, found.empty
        exploring = arm is not None
        if arm is None:
            step = learned.step
            weights = self.scalarization.weights(self.objectives, step=step, batch=(), rng=rng)
            beliefs = self.beliefs()
            theta = beliefs.theta
            if is_optimistic(self, beliefs, step):
                theta, exploring = _drawn(beliefs, rng), True
            arm = ask(maximise, np.vecmat(weights, theta))
            # An arm in a direction that was empty: look again next time.
            learned.covered = not np.square(empty @ arm).sum() > negligible(self.dim) * (arm @ arm)
        elif self.rounds is not None and not learned.warned:
            # No arm has more along the direction, so that V along it cannot grow by more.
            left = max(self.rounds - learned.step, 0)
            reach = found.value + left * float(found.direction @ arm) ** 2
            if threshold > SATISFIED * reach:
                learned.warned = True
                warnings.warn(self._unreachable(threshold, reach), stacklevel=2)
        learned.exploring, learned.empty = np.asarray(exploring), empty
        learned.step += 1
        return arm

    def _action_threshold(self) -> float:
        """Return the threshold among actions; the mean squared norm is of those chosen so far."""
        if self.threshold is not None:
            return self.threshold
        model = self.learned.model
        return DEFAULT_SHARE * float(np.trace(model.gram)) / max(model.count, 1)

    def _warning(self, features: FloatArray) -> str | None:
        """Say so if V cannot reach the threshold within the rounds planned.

        The smallest eigenvalue of V in the span of the arms is at most the mean one, and the trace
        grows by the largest squared norm a round, or less.
        """
        assert self.rounds is not None
        learned = self.learned
        left = max(self.rounds - learned.step + 1, 0)
        largest = np.vecdot(features, features).max(axis=-1)
        rank = np.linalg.matrix_rank(features, rtol=1e-6)
        trace = np.trace(learned.model.gram, axis1=-2, axis2=-1) + left * largest
        bound = trace / np.maximum(rank, 1)
        given = default_threshold(features) if self.threshold is None else self.threshold
        threshold = np.asarray(given)
        hopeless = learned.exploring & (threshold > SATISFIED * bound)
        if not hopeless.any():
            return None
        worst = np.where(hopeless, threshold - bound, -np.inf).argmax()
        limit, reach = (np.broadcast_to(x, hopeless.shape).flat[worst] for x in (threshold, bound))
        return self._unreachable(limit, reach)

    def _unreachable(self, threshold: float, reach: float) -> str:
        return (
            f"threshold {threshold:g}: exploration cannot end within {self.rounds} rounds, in "
            f"which the smallest eigenvalue of V stays below {reach:g}"
        )

    def _check_choose(self) -> None:
        if self.batch:
            raise ValueError(f"batch: expected () to choose with a linear oracle, got {self.batch}")
        if is_nonlinear(self.scalarization):
            raise ValueError(
                f"scalarization: {type(self.scalarization).__name__} is not linear in the arm, so "
                "no linear oracle can serve it; use RandomWeights or RoundRobin"
            )
        if not isinstance(self.exploration, WeakestDirection):
            raise ValueError(
                f"exploration: expected WeakestDirection to choose with a linear oracle, "
                f"got {type(self.exploration).__name__}, which needs a list of arms"
            )


def _drawn(beliefs: Beliefs, rng: Rng) -> FloatArray:
    """Draw estimates (M, d) as far off as theirs may be: no oracle can maximise optimism."""
    errors = np.matvec(square_roots(beliefs.inverse[0]), rng.standard_normal(beliefs.theta.shape))
    return np.asarray(beliefs.theta + np.sqrt(beliefs.noise)[:, None] * errors)


def check_explorer(policy: Any) -> None:
    """Check the settings of a policy that explores first and is greedy afterwards."""
    if policy.threshold is not None:
        object.__setattr__(policy, "threshold", real(policy.threshold, "threshold", above=0))
    objectives = count(policy.objectives, "objectives")
    check_scalarization(policy.scalarization, "scalarization", objectives=objectives)
    check_exploration(policy.exploration, "exploration")

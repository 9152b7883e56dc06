"""MOGRO, Algorithm 1 of the paper: greedy for a randomised objective.

::

    each round
        if some unit u in the span of the arms has u' S u > 1 / B:      (lambda_min(V) < B)
            pull an arm that explores                                   exploration.py
        else
            w ~ Dirichlet, theta = sum_m w_m theta_m
            pull the arm x with the largest x . theta                   choice.py
        observe its rewards y; update S and every theta_m               posterior.py

:meth:`MOGRO.select` is this; where only some learners of a batch explore, see :mod:`mogro.choice`.
"""

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from operator import attrgetter
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro._algebra import vecmat
from mogro._streams import Rng, check_rng
from mogro._validation import BoolArray, FloatArray, IntArray, count, real
from mogro.beliefs import Beliefs
from mogro.choice import best_arms, choose
from mogro.combinatorial import ActionSearch, Oracle, check_searchable
from mogro.exploration import Exploration, WeakestDirection, check_exploration
from mogro.policies.base import LinearPolicy
from mogro.posterior import Posterior
from mogro.priors import Flat, Prior
from mogro.scalarization import RandomWeights, Scalarization, check_scalarization, is_nonlinear
from mogro.valuation import optimism_in_round, periodic_optimism


@final
@dataclass(frozen=True, eq=False, repr=False)
class MOGRO(LinearPolicy):
    """Greedy with a randomised objective (Algorithm 1; its general version for a subspace).

    Explore until every direction in the span of the arms is known. Then pull the arm that is best,
    by the estimates so far, for this round's objective. When good arms exist for every objective,
    these greedy choices explore every direction by themselves.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    threshold
        The paper's B, in the unit of a squared feature norm. Without it the policy follows the
        noise: it explores while an arm's variance is above 10 times that of the noise, and then
        every ``sqrt(n) / 3``-th round, with n observations, is optimistic: arms are worth their
        estimates plus some standard errors.
    scalarization
        The objective of a round: random weights by default.
    exploration
        The first rounds: the weakest direction by default.
    prior
        What is believed before the first observation; flat by default, as in the paper.
    half_life
        After how many updates an observation counts for half, for worlds that change.
    batch
        Shape of a batch of independent learners that step together.

    Notes
    -----
    The published algorithm exactly, for arms X that stay the same:
    ``MOGRO(d, M, threshold=B, exploration=BasisRoundRobin(X))``, and for varying contexts
    ``MOGRO(d, M, threshold=B, exploration=Uniform())``.

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
    prior: Prior = Flat()  # noqa: RUF009
    half_life: float | None = None
    batch: tuple[int, ...] = ()
    _actions: ActionSearch = field(init=False)

    selection = property(attrgetter("scalarization"))
    optimism = periodic_optimism

    def __post_init__(self) -> None:
        if self.threshold is not None:
            object.__setattr__(self, "threshold", real(self.threshold, "threshold", above=0))
        objectives = count(self.objectives, "objectives")
        check_scalarization(self.scalarization, "scalarization", objectives=objectives)
        check_exploration(self.exploration, "exploration")
        super().__post_init__()

    def _start(self, posterior: Posterior, step: int, exploring: BoolArray) -> None:
        super()._start(posterior, step, exploring)
        object.__setattr__(self, "_actions", ActionSearch(self.dim))

    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose an arm for each learner; see :meth:`~mogro.policies.LinearPolicy.select`."""
        if is_nonlinear(self.scalarization):
            return super().select(features, rng=rng)
        check_rng(rng)
        arms, posterior, step = self._read_features(features), self.posterior, self.step
        beliefs = Beliefs(posterior.theta, posterior, posterior)  # nobody learns meanwhile
        explore = self.needed_exploration(arms, beliefs, step=step, cache=self._cache)
        if explore is not None:
            arm, _, exploring, _ = choose(self, arms, beliefs, step=step, rng=rng, explore=explore)
        else:
            how, M = self.scalarization, self.objectives
            weights = np.asarray(how.weights(M, step=step, batch=self.batch, rng=rng))
            theta = vecmat(weights, beliefs.theta)
            optimism = optimism_in_round(self, beliefs, step, how)
            arm, exploring = best_arms(arms, beliefs, weights, theta, rng, optimism)
        self._count_round(exploring)
        return arm if self.batch else int(arm)

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
        check_searchable(self.batch, self.scalarization, self.exploration)
        beliefs, step = self.beliefs(), self.step
        optimism = self.optimism(beliefs, step, self.scalarization)
        draw = partial(self.scalarization.weights, self.objectives, step=step, batch=(), rng=rng)
        action, exploring = self._actions.choose(
            maximise,
            beliefs,
            draw,
            sizes=np.sqrt(np.diagonal(self.posterior.V[0]) / max(1.0, beliefs.n[0])),
            threshold=self.threshold,
            width=optimism.width if optimism else 0.0,
            rng=rng,
        )
        self._count_round(np.asarray(exploring))
        return action

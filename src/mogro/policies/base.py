"""What linear policies share: the choice of an arm, and all that is learned."""

import copy
import math
import os
from abc import ABC
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._streams import Rng, check_rng
from mogro._validation import (
    FLOAT64,
    BoolArray,
    FloatArray,
    IntArray,
    as_floats,
    check_finite,
    check_shape,
    count,
    floats,
    real,
    share,
)
from mogro.beliefs import Beliefs
from mogro.certainty import FrontConfidence, check_noise, front_confidence
from mogro.choice import choose
from mogro.exploration import Exploration, ExplorationCache, ExplorationContext, needed_exploration
from mogro.policies.views import changed_settings, html_table
from mogro.posterior import Posterior
from mogro.priors import Flat, Learned, Prior
from mogro.probability import Probabilities
from mogro.propensity import probabilities
from mogro.scalarization import RandomWeights
from mogro.selection import Selection
from mogro.valuation import Optimism

_FLAT = Flat()
_RANDOM_WEIGHTS = RandomWeights()


class Estimate(NamedTuple):
    """Estimated rewards of arms and their standard errors, each (*batch, K, M)."""

    values: FloatArray
    errors: FloatArray


class LinearPolicy(ABC):
    """A policy that learns the parameters of every objective: a Gaussian posterior.

    A policy is frozen settings and a few answers, all over leading batch axes. The answers, which
    :func:`mogro.choice.choose` asks for, are used by :meth:`select`, by :func:`mogro.simulate` and
    by :class:`mogro.Agent`:

    - :meth:`values`: what arms are worth, the estimates unless a subclass says otherwise;
    - ``selection``: how to select by these values, a scalarisation or a front;
    - ``exploration`` and ``threshold``: how and until when to explore, if at all;
    - :meth:`optimism`: in which rounds to add standard errors to the estimates;
    - ``epsilon``: the probability of a uniformly random arm instead;
    - ``prior``: what is believed before the first observation;
    - ``half_life``: after how many updates an observation counts for half.

    A policy of one's own is a frozen data class with at least the fields ``dim``, ``objectives``
    and ``batch`` that overrides what it does differently. What is learned is ``posterior``.
    """

    dim: int
    objectives: int
    batch: tuple[int, ...]
    posterior: Posterior
    step: int  # arms selected so far
    _exploring: BoolArray
    _cache: ExplorationCache

    exploration: Exploration | None = None
    threshold: float | None = None
    epsilon: float = 0.0
    half_life: float | None = None

    @property
    def selection(self) -> Selection:
        """How to select by the values of the arms: random weights."""
        return _RANDOM_WEIGHTS

    @property
    def prior(self) -> Prior:
        """What is believed before the first observation."""
        return _FLAT

    def __post_init__(self) -> None:
        """Check the sizes, and start with nothing learned."""
        object.__setattr__(self, "dim", count(self.dim, "dim"))
        object.__setattr__(self, "objectives", count(self.objectives, "objectives"))
        if not isinstance(self.batch, tuple):
            raise ValueError(f"batch: expected a tuple of sizes, got {self.batch!r}")
        object.__setattr__(self, "batch", tuple(count(size, "batch") for size in self.batch))
        if self.half_life is not None:
            real(self.half_life, "half_life", above=0)
        posterior = Posterior(self.dim, self.objectives, prior=self.prior, batch=self.batch)
        self._start(posterior, 0, np.full(self.batch, self.exploration is not None))

    def _start(self, posterior: Posterior, step: int, exploring: BoolArray) -> None:
        """Go on from what was learned."""
        learned: dict[str, Any] = {"posterior": posterior, "step": step, "_exploring": exploring}
        for name, value in (learned | {"_cache": ExplorationCache()}).items():
            object.__setattr__(self, name, value)

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return what arms (..., K, d) are worth, (..., K, M): the estimates."""
        return beliefs.estimates(arms)

    @cached_property
    def greedy(self) -> bool:
        """Whether :meth:`values` are the plain estimates."""
        return type(self).values is LinearPolicy.values

    def optimism(self, beliefs: Beliefs, step: int, selection: Selection) -> Optimism | None:
        """Return how optimistic a round is: not at all."""
        return None

    @cached_property
    def explores(self) -> bool:
        """Whether rounds go before in which to explore: not where the prior is learned.

        It knows enough of what was never seen, unless there is a threshold.
        """
        known = self.threshold is None and isinstance(self.prior, Learned)
        return self.exploration is not None and not known

    def needed_exploration(
        self, arms: FloatArray, beliefs: Beliefs, *, step: int, cache: ExplorationCache | None
    ) -> ExplorationContext | None:
        """Return the learners that have to explore arms (..., K, d); None if nobody has to."""
        if not self.explores:
            return None
        return needed_exploration(arms, beliefs, self.threshold, step=step, cache=cache)

    def beliefs(self) -> Beliefs:
        """Return what the policy knows now; later updates do not change it."""
        return self.posterior.beliefs()

    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose an arm for each learner.

        Parameters
        ----------
        features
            Arms on offer, (K, d), or (*batch, K, d) up to broadcasting. Any number of arms from 1,
            different ones each round if need be.
        rng
            Where random numbers come from: a generator, or :class:`~mogro.Streams`, one generator
            for each learner of the batch.

        Returns
        -------
        int or numpy.ndarray
            The index of the arm; with a batch, an integer array of its shape.
        """
        check_rng(rng)
        arms, beliefs, step = self._read_features(features), self.beliefs(), self.step
        explore = self.needed_exploration(arms, beliefs, step=step, cache=self._cache)
        choice = choose(self, arms, beliefs, step=step, rng=rng, explore=explore)
        self._count_round(choice.exploring)
        return choice.arm if self.batch else int(choice.arm)

    def _count_round(self, exploring: BoolArray) -> None:
        """Count a round, and note who explored in it."""
        self.__dict__["step"], self.__dict__["_exploring"] = self.step + 1, exploring

    def probabilities(self, features: ArrayLike, *, rng: Rng | None = None) -> Probabilities:
        """Return with what probability :meth:`select` would choose each arm.

        Parameters
        ----------
        features
            As for :meth:`select`.
        rng
            Used where probabilities have to be estimated; without it always the same numbers.

        Returns
        -------
        Probabilities
            ``values`` and their standard ``errors``, each (*batch, K); 0 where they are exact.
        """
        source = np.random.default_rng(0) if rng is None else rng
        check_rng(source)
        arms, beliefs, step = self._read_features(features), self.beliefs(), self.step
        check_finite(arms, arms)
        explore = self.needed_exploration(arms, beliefs, step=step, cache=None)
        return probabilities(self, arms, beliefs, step=step, rng=source, explore=explore)

    @property
    def exploring(self) -> bool | BoolArray:
        """Whether the last arm was chosen to explore; true before the first."""
        return self._exploring.copy() if self.batch else bool(self._exploring)

    def update(self, features: ArrayLike, reward: ArrayLike) -> None:
        """Learn from the arm that was pulled.

        Parameters
        ----------
        features
            Features of the arm, (*batch, d).
        reward
            Its reward vector, (*batch, M).
        """
        x, y = self._observed(features, reward)
        decay = 1.0 if self.half_life is None else 0.5 ** (1 / self.half_life)
        self.posterior.update(x, y, decay=decay)
        if self.posterior.due:
            self.posterior.learn_prior(self.posterior.evidence())

    def _observed(self, features: ArrayLike, reward: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Check the shapes of an arm's features and reward."""
        x, y = as_floats(features, "features"), as_floats(reward, "reward")
        if x.shape != (*self.batch, self.dim):
            check_shape(x, "features", (*self.batch, self.dim))
        if y.shape != (*self.batch, self.objectives):
            check_shape(y, "reward", (*self.batch, self.objectives))
        if x.dtype is y.dtype is FLOAT64:
            return x, y
        return x.astype(np.float64), y.astype(np.float64)

    def learn(self, features: ArrayLike, rewards: ArrayLike) -> None:
        """Learn from a log at once; the estimates are those of one update after the other.

        Parameters
        ----------
        features
            Features of the arms pulled, (*batch, n, d).
        rewards
            Their reward vectors, (*batch, n, M).
        """
        x = floats(features, "features", shape=(*self.batch, "n", self.dim))
        y = floats(rewards, "rewards", shape=(*self.batch, x.shape[-2], self.objectives))
        x, y, weights, decay = x.astype(np.float64), y.astype(np.float64), None, 1.0
        if self.half_life is not None:
            ages = np.arange(x.shape[-2] - 1, -1, -1)[:, None]
            weights = np.broadcast_to(0.5 ** (ages / self.half_life), y.shape)
            decay = 0.5 ** (x.shape[-2] / self.half_life)
        self.posterior.learn(x, y, weights, decay=decay)
        if self.posterior.due:
            self.posterior.learn_prior(self.posterior.evidence())

    @property
    def theta(self) -> FloatArray:
        """The estimated parameters, (*batch, M, d)."""
        return self.posterior.theta.copy()

    def estimate(self, features: ArrayLike, *, noise: float | None = None) -> Estimate:
        """Estimate the rewards of arms, with standard errors.

        Parameters
        ----------
        features
            Arms, (*batch, K, d) up to broadcasting.
        noise
            Standard deviation of the rewards where it is known; otherwise taken from the
            residuals, per objective.

        Returns
        -------
        Estimate
            ``values`` and ``errors``, each (*batch, K, M). With a flat prior, errors are very large
            for an arm with a part in a direction never seen. Errors are honest for arms that
            were not chosen for their rewards; a policy's own choices make them somewhat too small.
        """
        arms = self._read_features(floats(features, "features", shape=(..., "K", self.dim)))
        beliefs = self.beliefs()
        variance = beliefs.noise if noise is None else real(noise, "noise", minimum=0) ** 2
        spread = beliefs.variances(arms)
        values = beliefs.estimates(arms)
        errors = np.sqrt(spread * np.atleast_1d(variance)[..., None, :])
        return Estimate(values, np.broadcast_to(errors, values.shape))

    def front_confidence(
        self,
        features: ArrayLike,
        *,
        noise: float | Sequence[float],
        delta: float = 0.05,
        tolerance: float = 0.0,
        effective: bool = False,
        ridge: float = 1.0,
    ) -> FrontConfidence:
        """Return which arms are certainly on the front, which are certainly off it.

        Whatever this or another policy pulled, and however often one asks: the probability that
        any of these arms is ever classified wrongly is at most delta. That is the self-normalised
        bound of Abbasi-Yadkori, Pal and Szepesvari (2011), Theorem 1, from the sums alone: neither
        the prior nor the estimated noise enters; see :mod:`mogro.certainty`. Arms that have one
        feature each, of their own, are told apart by pairs, with far fewer observations.

        Parameters
        ----------
        features
            Arms, (*batch, K, d) up to broadcasting; always the same ones.
        noise
            Sub-Gaussian constant of the rewards (for normal ones the standard deviation): a number,
            or one for each objective. The claim fails if it is larger.
        delta
            Probability with which any arm may ever be classified wrongly.
        tolerance
            An arm also counts as on the front if no rival (or mixture of rivals) is better by more
            than this in every objective.
        effective
            Whether to classify by the effective front: against mixtures of arms.
        ridge
            In squared features, fixed beforehand. Any number is right; about the square of a
            feature makes the region tight.

        Returns
        -------
        FrontConfidence
            ``on``, ``off`` and ``open``, each (*batch, K).

        Examples
        --------
        >>> import mogro
        >>> policy = mogro.MOGRO(dim=3, objectives=2)
        >>> arms, means = np.eye(3), np.array([[1.0, 0.0], [0.0, 1.0], [0.2, -0.3]])
        >>> policy.learn(np.repeat(arms, 200, axis=0), np.repeat(means, 200, axis=0))
        >>> policy.front_confidence(arms, noise=0.5)
        FrontConfidence(on=array([ True,  True, False]), off=array([False, False,  True]))
        """
        if self.half_life is not None:
            raise ValueError(
                f"half_life: expected None, got {self.half_life!r}: about what may have changed "
                "nothing is certain"
            )
        arms = self._read_features(floats(features, "features", shape=(..., "K", self.dim)))
        return front_confidence(
            self.posterior,
            arms,
            noise=check_noise(noise, self.objectives),
            delta=share(delta, "delta", closed="(]"),
            tolerance=real(tolerance, "tolerance", minimum=0),
            effective=effective,
            ridge=real(ridge, "ridge", above=0),
        )

    def copy(self) -> Self:
        """Return an independent copy, with all that has been learned."""
        return copy.deepcopy(self)

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that has been learned, as arrays under names."""
        learned = {
            f"posterior.{name}": array for name, array in self.posterior.save_state().items()
        }
        return learned | {"step": np.array(self.step), "exploring": np.array(self._exploring)}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of a policy with equal settings gave."""
        missing = sorted(self.save_state().keys() - arrays.keys())
        if missing:
            raise ValueError(f"arrays: expected all that save_state() gives, missing {missing}")
        check_shape(arrays["step"], "step", ())
        check_shape(arrays["exploring"], "exploring", self.batch)
        prefix = "posterior."
        posterior = self.posterior.copy()
        posterior.load_state(
            {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}
        )
        step, exploring = int(arrays["step"].astype(np.int64)), arrays["exploring"].astype(np.bool_)
        self._start(posterior, step, exploring)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file, without pickle; see :meth:`load`."""
        from mogro.policies.persistence import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, types: Sequence[type[Any]] = ()) -> Self:
        """Read a policy of this type that :meth:`save` wrote; it goes on to the bit.

        ``types`` are the classes of its parts, and of the policy, that are not mogro's own.
        """
        from mogro.policies.persistence import load

        policy = load(path, types)
        if not isinstance(policy, cls):
            raise ValueError(f"path: expected a {cls.__name__}, got {policy!r} at {path}")
        return policy

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in changed_settings(self).items())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        progress = {"arms selected": self.step, "observations": f"{self.posterior.n.max():g}"}
        return html_table(type(self).__name__, changed_settings(self) | progress)

    def _read_features(self, features: ArrayLike) -> FloatArray:
        """Check the shape of the arms on offer."""
        arms = as_floats(features, "features")
        if arms.ndim < 2 or arms.shape[-1] != self.dim or arms.shape[-2] == 0:
            check_shape(arms, "features", (..., "K", self.dim))
        if arms.ndim == 2:
            return arms
        lead = arms.shape[:-2]
        if len(lead) <= len(self.batch) and (lead == self.batch or math.prod(lead) == 1):
            return arms
        try:
            fits = np.broadcast_shapes(lead, self.batch) == self.batch
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"features: expected leading axes that broadcast to batch {self.batch}, "
                f"got shape {arms.shape}"
            )
        return arms

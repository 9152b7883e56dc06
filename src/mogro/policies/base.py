"""What every policy offers, and what the linear ones share."""

import copy
import dataclasses
import os
from abc import ABC
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._streams import Rng, check_rng
from mogro._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_floats,
    check_shape,
    count,
    floats,
    real,
)
from mogro.choice import Beliefs, Coverage, choose, probabilities
from mogro.exploration import Exploration, Settled
from mogro.linear import Estimate, LinearModel
from mogro.probability import Probabilities
from mogro.scalarization import RandomWeights
from mogro.selection import Selection

_RANDOM_WEIGHTS = RandomWeights()
_SHOWN = 12  # numbers that an array in a repr may have


class Policy(Protocol):
    """Chooses an arm, and learns from its reward vector. All objectives are maximised.

    A policy that learns about every arm by itself asks for the place of the arm: it gives
    ``update`` a parameter of the name ``arm``, and simulations call
    ``update(features, reward, arm=arm)`` with what ``select`` returned, an integer, or integers
    (*batch). It knows arms by their place, so it belongs into worlds whose arms stay. How many
    there are, K, it sees in ``select``.

    Examples
    --------
    >>> class BestSoFar:
    ...     def __init__(self, dim, objectives):
    ...         self.sums = self.pulls = None
    ...
    ...     def select(self, features, *, rng):
    ...         if self.pulls is None:
    ...             self.pulls, self.sums = np.zeros(len(features)), np.zeros(len(features))
    ...         return int((self.sums / np.maximum(self.pulls, 1) + (self.pulls == 0)).argmax())
    ...
    ...     def update(self, features, reward, *, arm):
    ...         self.pulls[arm] += 1
    ...         self.sums[arm] += reward.sum()
    >>> from mogro.testing import check_policy
    >>> check_policy(BestSoFar, batched=False, rounds=100)
    """

    def select(self, features: FloatArray, *, rng: Rng) -> int | IntArray:
        """Choose among arms (*batch, K, d): an arm, or one for each learner of the batch."""

    def update(self, features: FloatArray, reward: FloatArray) -> None:
        """Learn the reward (*batch, M) of the arm with these features (*batch, d)."""


@dataclass
class Learned:
    """What a policy has learned: all about it that changes."""

    model: LinearModel
    exploring: BoolArray  # (*batch): the last arm was chosen to explore; true before the first
    empty: FloatArray  # directions (n, d) in which a linear oracle had nothing to offer
    settled: Settled  # a cache, which is not saved
    step: int = 0  # arms selected
    covered: bool = False  # an oracle had nothing in a direction neither known nor empty
    warned: bool = False

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all of it that is worth keeping, as arrays under names."""
        model = {f"model.{name}": array for name, array in self.model.save_state().items()}
        own = {"step": np.array(self.step), "exploring": self.exploring.copy()}
        return model | own | {"empty": self.empty.copy()}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` gave; refuse what does not fit, changing nothing."""
        missing = self.save_state().keys() - arrays.keys()
        if missing:
            raise ValueError(
                f"arrays: expected all that save_state() gives, missing {sorted(missing)}"
            )
        check_shape(arrays["step"], "step", ())
        check_shape(arrays["exploring"], "exploring", self.exploring.shape)
        rows = arrays["empty"].shape[:1]
        check_shape(arrays["empty"], "empty", (*rows, self.model.dim))
        own = {name: array for name, array in arrays.items() if name.startswith("model.")}
        self.model.load_state({name.removeprefix("model."): own[name] for name in own})
        self.step = int(arrays["step"].astype(np.int64))
        self.exploring = arrays["exploring"].astype(np.bool_)
        self.empty = arrays["empty"].astype(np.float64)
        self.covered = False
        self.settled.reset()


class LinearPolicy(ABC):
    """A policy that estimates every objective by least squares.

    A policy is frozen settings and a few answers, all over leading batch axes; what is learned is
    a separate object, ``learned``. The answers, which :func:`mogro.choice.choose` asks for, are
    used by :meth:`select`, by :func:`mogro.simulate` and by :class:`mogro.Agent` alike:

    - :meth:`values`: what arms are worth, the estimates unless a subclass says otherwise;
    - ``selection``: how to select by these values, a scalarisation or a front;
    - ``exploration`` and ``threshold``: how and until when to explore, if at all;
    - :meth:`teaches`: which decisions are learned from;
    - ``uniform``: the probability of any arm instead; ``ridge``: the penalty of the estimates.

    A policy of one's own is a frozen data class with at least the fields ``dim``, ``objectives``
    and ``batch`` that overrides what it does differently.
    """

    dim: int
    objectives: int
    batch: tuple[int, ...]
    learned: Learned

    @property
    def selection(self) -> Selection:
        """How to select by the values of the arms: random weights."""
        return _RANDOM_WEIGHTS

    @property
    def exploration(self) -> Exploration | None:
        """How to explore: not at all."""
        return None

    @property
    def threshold(self) -> float | None:
        """Until when to explore, the paper's B; None is a default that follows the arms."""
        return None

    @property
    def optimistic(self) -> bool:
        """Whether some rounds are optimistic: see :class:`~mogro.MOGRO`."""
        return False

    @property
    def uniform(self) -> float:
        """Probability of a uniformly random arm instead."""
        return 0.0

    @property
    def ridge(self) -> float:
        """Weight of the penalty of the estimates."""
        return 0.0

    def __post_init__(self) -> None:
        """Check the sizes, and start with nothing learned."""
        object.__setattr__(self, "dim", count(self.dim, "dim"))
        object.__setattr__(self, "objectives", count(self.objectives, "objectives"))
        if not isinstance(self.batch, tuple):
            raise ValueError(f"batch: expected a tuple of sizes, got {self.batch!r}")
        object.__setattr__(self, "batch", tuple(count(size, "batch") for size in self.batch))
        model = LinearModel(self.dim, self.objectives, ridge=self.ridge, batch=self.batch)
        start = np.full(self.batch, self.exploration is not None)
        learned = Learned(model, start, np.zeros((0, self.dim)), Settled(self.batch))
        object.__setattr__(self, "learned", learned)

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return what arms (..., K, d) are worth, (..., K, M): the estimates."""
        return beliefs.estimates(arms)

    @property
    def values_are_estimates(self) -> bool:
        """Whether :meth:`values` are the plain estimates."""
        return type(self).values is LinearPolicy.values

    def teaches(self, exploring: BoolArray) -> BoolArray | None:
        """Tell which decisions, (...), are learned from, by whether they explored; None: all."""
        return None

    def contracted(self, columns: FloatArray) -> "LinearPolicy":
        """Return the policy for arms y, (..., a), that stand for features ``columns y``, (..., d).

        An agent asks for it where the learner sees products of arms with a context. Only a policy
        with parameters (d,) of its own has to do something.
        """
        return self

    def beliefs(self) -> Beliefs:
        """Return what the policy knows now; later updates do not change it."""
        model = self.learned.model
        shared = (..., None, slice(None), slice(None)) if self.batch else None
        inverse = model.inverse[shared]
        unseen = None if model.full else model.unseen[shared]
        return Beliefs(
            model.theta,
            inverse,
            unseen,
            model.count,
            model.rank[..., None],
            model.squares,
            model.totals,
            Coverage(inverse, unseen),
        )

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
        arms = self._offered(features)
        learned = self.learned
        found = choose(
            self, arms, self.beliefs(), step=learned.step, rng=rng, settled=learned.settled
        )
        learned.step += 1
        learned.exploring = found.exploring
        self._selected(arms)
        return found.arm if self.batch else int(found.arm)

    def _selected(self, arms: FloatArray) -> None:  # noqa: B027
        """Look at a choice that was made; most policies need not."""

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
        arms = floats(self._offered(features), "features", shape=(..., "K", self.dim))
        source = np.random.default_rng(0) if rng is None else rng
        check_rng(source)
        return probabilities(self, arms, self.beliefs(), step=self.learned.step, rng=source)

    @property
    def model(self) -> LinearModel:
        """The least-squares model of what was learned."""
        return self.learned.model

    @property
    def exploring(self) -> bool | BoolArray:
        """Whether the last arm was chosen to explore; true before the first."""
        exploring = self.learned.exploring
        return exploring.copy() if self.batch else bool(exploring)

    def choose(self, maximise: Callable[[FloatArray], ArrayLike], *, rng: Rng) -> FloatArray:
        """Choose among combinatorial actions; only policies linear in the arm can."""
        raise ValueError(
            f"{type(self).__name__}: cannot choose with a linear oracle, because what it maximises "
            "is not linear in the arm; MOGRO with a linear scalarisation can"
        )

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
        learning = self.teaches(self.learned.exploring)
        if learning is None or np.count_nonzero(learning) == learning.size:
            self.model.update(x, y)
        else:
            self.model.update_some(learning, x, y)

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
        self.model.learn(x.astype(np.float64, copy=False), y.astype(np.float64, copy=False))
        self.learned.settled.reset()

    @property
    def theta(self) -> FloatArray:
        """The estimated parameters, (*batch, M, d)."""
        return self.model.theta.copy()

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
            ``values`` and ``errors``, each (*batch, K, M). An error is infinite for an arm with a
            part in a direction never seen, and while there are too few observations to tell the
            noise. Standard errors are honest for arms that were not chosen for their rewards; a
            policy's own choices make them somewhat too small.
        """
        arms = self._offered(floats(features, "features", shape=(..., "K", self.dim)))
        known = None if noise is None else real(noise, "noise", minimum=0)
        return self.model.estimate(arms.astype(np.float64, copy=False), noise=known)

    def copy(self) -> Self:
        """Return an independent copy, with all that has been learned."""
        return copy.deepcopy(self)

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that has been learned, as arrays under names."""
        return self.learned.save_state()

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of a policy with equal settings gave."""
        self.learned.load_state(arrays)

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
        shown = ", ".join(f"{name}={value}" for name, value in self._settings().items())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        learned = {"arms selected": self.learned.step, "observations": self.model.count}
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
            for name, value in (self._settings() | learned).items()
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"

    def _settings(self) -> dict[str, str]:
        """Return the hyper-parameters that differ from their defaults, in words."""
        shown = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            usual = field.default is not dataclasses.MISSING and repr(value) == repr(field.default)
            if field.init and not usual:
                large = isinstance(value, np.ndarray) and value.size > _SHOWN
                whole = " ".join(repr(value).split())  # of an array, without line breaks
                shown[field.name] = f"<array {value.shape}>" if large else whole
        return shown

    def _offered(self, features: ArrayLike) -> FloatArray:
        """Check the shape of the arms on offer."""
        arms = as_floats(features, "features")
        if arms.ndim == 2 and arms.shape[1] == self.dim and arms.shape[0] > 0:
            return arms
        check_shape(arms, "features", (..., "K", self.dim))
        leading = arms.shape[:-2]
        if len(leading) > len(self.batch) or any(
            size not in (1, wanted)
            for size, wanted in zip(leading[::-1], self.batch[::-1], strict=False)
        ):
            raise ValueError(
                f"features: expected leading axes that broadcast to batch {self.batch}, "
                f"got shape {arms.shape}"
            )
        return arms

    def _observed(self, features: ArrayLike, reward: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Check the shapes of an arm's features and reward."""
        x = as_floats(features, "features")
        y = as_floats(reward, "reward")
        if x.shape != (*self.batch, self.dim):
            check_shape(x, "features", (*self.batch, self.dim))
        if y.shape != (*self.batch, self.objectives):
            check_shape(y, "reward", (*self.batch, self.objectives))
        return x.astype(np.float64, copy=False), y.astype(np.float64, copy=False)

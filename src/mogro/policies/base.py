"""What every policy offers, and what the linear ones share."""

import copy
import dataclasses
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._streams import Rng
from mogro._ties import first_best
from mogro._validation import FloatArray, IntArray, as_floats, check_shape, count, floats, real
from mogro.linear import Estimate, LinearModel
from mogro.scalarization import Scalarization, is_nonlinear

_SHOWN = 12  # numbers that an array in a repr may have


class Policy(Protocol):
    """Chooses an arm, and learns from its reward vector. All objectives are maximised."""

    def select(self, features: FloatArray, *, rng: Rng) -> int | IntArray:
        """Choose among arms (*batch, K, d): an arm, or one for each learner of the batch."""
        ...

    def update(self, features: FloatArray, reward: FloatArray) -> None:
        """Learn the reward (*batch, M) of the arm with these features (*batch, d)."""
        ...


@dataclass
class Progress:
    """How far a policy has come."""

    step: int = 0  # arms selected


class LinearPolicy(ABC):
    """A policy that estimates every objective by least squares.

    Subclasses are frozen data classes of their hyper-parameters; what is learned is in ``model``,
    the number of arms selected in ``progress``, and what else a policy remembers in ``state``.
    """

    dim: int
    objectives: int
    batch: tuple[int, ...]
    model: LinearModel
    progress: Progress

    @abstractmethod
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

    def choose(self, maximise: Callable[[FloatArray], ArrayLike], *, rng: Rng) -> FloatArray:
        """Choose among arms that nobody can list; only policies linear in the arm can."""
        raise ValueError(
            f"{type(self).__name__}: cannot choose with a maximiser, because what it maximises is "
            "not linear in the arm; MOGRO with a linear scalarisation can"
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
        self.model.update(*self._observed(features, reward))

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file, without pickle; see :meth:`load`."""
        from mogro.policies.persistence import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a policy of this type that :meth:`save` wrote; it goes on to the bit."""
        from mogro.policies.persistence import load

        policy = load(path)
        if not isinstance(policy, cls):
            raise ValueError(f"path: expected a {cls.__name__}, got {policy!r} at {path}")
        return policy

    def learned(self) -> dict[str, NDArray[np.generic]]:
        """Return all that has been learned, as arrays under names."""
        model = {f"model.{name}": array for name, array in self.model.save_state().items()}
        return model | {"step": np.array(self.progress.step)}

    def relearn(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`learned` of a policy with equal hyper-parameters gave."""
        missing = self.learned().keys() - arrays.keys()
        if missing:
            raise ValueError(
                f"arrays: expected all that learned() gives, missing {sorted(missing)}"
            )
        step = int(np.array(arrays["step"]))
        own = {name: array for name, array in arrays.items() if name.startswith("model.")}
        self.model.load_state({name.removeprefix("model."): array for name, array in own.items()})
        self.progress.step = step

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self._settings().items())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        learned = {"arms selected": self.progress.step, "observations": self.model.count}
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

    def _prepare(self, *, ridge: float) -> None:
        """Check the sizes and start with nothing learned."""
        object.__setattr__(self, "dim", count(self.dim, "dim"))
        object.__setattr__(self, "objectives", count(self.objectives, "objectives"))
        if not isinstance(self.batch, tuple):
            raise ValueError(f"batch: expected a tuple of sizes, got {self.batch!r}")
        object.__setattr__(self, "batch", tuple(count(size, "batch") for size in self.batch))
        model = LinearModel(self.dim, self.objectives, ridge=ridge, batch=self.batch)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "progress", Progress())

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

    def _answer(self, arms: IntArray) -> int | IntArray:
        """Return the arms selected as the caller wants them, and count the round."""
        self.progress.step += 1
        return arms.reshape(self.batch) if self.batch else int(arms.item())


def greedy(
    features: FloatArray,
    theta: FloatArray,
    scalarization: Scalarization,
    *,
    step: int,
    batch: tuple[int, ...],
    rng: Rng,
) -> IntArray:
    """Return the best arm for the objective of this round, one for each learner."""
    weights = scalarization.weights(theta.shape[-2], step=step, batch=batch, rng=rng)
    if is_nonlinear(scalarization):
        values = features @ np.swapaxes(theta, -1, -2)
        scores = as_floats(scalarization.score(values, weights), "scores")
    else:
        direction = np.vecmat(weights, theta)
        scores = np.matvec(features, direction.astype(features.dtype, copy=False))
    return first_best(scores, finite_squares(scores, features))


def finite_squares(scores: FloatArray, features: FloatArray) -> FloatArray:
    """Return the sums of squares (...) of scores (..., K), and refuse features that are not finite.

    Scores show a bad feature for less than a scan of all features.
    """
    squares: FloatArray = np.vecdot(scores, scores)
    if not math.isfinite(squares.sum() if squares.ndim else squares):
        refuse_features(features)
    return squares


def check_finite(values: FloatArray, features: FloatArray) -> None:
    """Refuse features that are not finite, seen in values (...) computed from them."""
    flat = values.ravel(order="K")
    if not math.isfinite(np.vdot(flat, flat)):
        refuse_features(features)


def refuse_features(features: FloatArray) -> None:
    """Say what is wrong with features that lead to numbers that are not finite."""
    floats(features, "features", shape=features.shape)
    raise ValueError("features: expected values whose squares and scores are finite")


def learners_of(
    array: NDArray[np.floating], batch: tuple[int, ...], chosen: IntArray
) -> FloatArray:
    """Return the entries (n, ...) of an array (*batch, ...) at flat positions of the batch."""
    return array[np.unravel_index(chosen, batch)] if batch else array[None]

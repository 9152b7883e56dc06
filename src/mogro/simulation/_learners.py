"""The learners of a run, who step together or one after the other, and what they have to answer."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._streams import Rng, Streams
from mogro._validation import FloatArray, IntArray
from mogro.environments import Environment

Probe = Callable[[Any], ArrayLike]


class Learner(Protocol):
    """What a simulation asks of a policy; one of your own may be narrower about its arguments."""

    def select(self, features: Any, *, rng: Any) -> Any:
        """Choose an arm, or one for each learner of the batch."""

    @property
    def update(self) -> Callable[..., None]:
        """Learn the reward of the arm with these features, with a parameter ``arm`` its place."""


MakePolicy = Callable[..., Learner]
"""Called with the numbers of features and objectives and, if it has a parameter of that name, with
``batch``. One without it makes a single learner, and is called for each of them."""


def takes_arm(policy: Learner) -> bool:
    """Tell whether a policy asks for the place of the arm that it learns about."""
    return "arm" in inspect.signature(policy.update).parameters


class WrongPolicyError(ValueError):
    """A complaint about a policy; whoever was given it under another name says that name."""

    def __str__(self) -> str:
        return f"make_policy: {self.args[0]}"


def make_learners(
    make_policy: MakePolicy, world: Environment, generators: NDArray[Any], probe: Probe | None
) -> "Together | OneByOne":
    """Return learners for sizes like those of a world, one for each generator (I, R)."""
    if not callable(make_policy):
        raise WrongPolicyError(f"expected a policy class or function, got {make_policy!r}")
    together = "batch" in inspect.signature(make_policy).parameters
    if probe is None:
        batch = generators.shape if together else ()
        probe = lambda policy: np.zeros(batch)  # noqa: E731
    return (Together if together else OneByOne)(make_policy, world, generators, probe)


class Together:
    """A policy that steps for all learners at once."""

    def __init__(
        self, make_policy: MakePolicy, world: Environment, generators: NDArray[Any], probe: Probe
    ) -> None:
        self._batch = generators.shape
        self._rng: Rng = Streams(generators, ahead=True)
        self._policy = _policy(make_policy(world.dim, world.objectives, batch=self._batch))
        self._takes_arm = takes_arm(self._policy)
        self._probe = probe
        self._arms = world.arms

    def select(self, features: FloatArray) -> IntArray:
        return _checked(self._policy.select(features, rng=self._rng), self._batch, self._arms)

    def update(self, x: FloatArray, rewards: FloatArray, arms: IntArray) -> None:
        self._policy.update(x, rewards, **({"arm": arms} if self._takes_arm else {}))

    def probe(self) -> NDArray[Any]:
        return _numbers(self._probe(self._policy), self._batch)


class OneByOne:
    """Policies of single learners, one after the other."""

    def __init__(
        self, make_policy: MakePolicy, world: Environment, generators: NDArray[Any], probe: Probe
    ) -> None:
        self._batch = generators.shape
        self._rngs: Any = generators
        self._policies = {
            learner: _policy(make_policy(world.dim, world.objectives))
            for learner in np.ndindex(self._batch)
        }
        self._takes_arm = takes_arm(self._policies[0, 0])
        self._probe = probe
        self._arms = world.arms

    def select(self, features: FloatArray) -> IntArray:
        arms = np.empty(self._batch, dtype=np.int64)
        everywhere = np.broadcast_to(features, (*self._batch, *features.shape[2:]))
        for learner, policy in self._policies.items():
            arm = policy.select(everywhere[learner], rng=self._rngs[learner])
            arms[learner] = _checked(arm, (), self._arms)
        return arms

    def update(self, x: FloatArray, rewards: FloatArray, arms: IntArray) -> None:
        for learner, policy in self._policies.items():
            place = {"arm": int(arms[learner])} if self._takes_arm else {}
            policy.update(x[learner], rewards[learner], **place)

    def probe(self) -> NDArray[Any]:
        values = np.stack([_numbers(self._probe(one), ()) for one in self._policies.values()])
        return values.reshape(*self._batch, *values.shape[1:])


def _policy(made: Learner) -> Learner:
    """Refuse what cannot play."""
    able = all(callable(getattr(made, name, None)) for name in ("select", "update"))
    if not able or isinstance(made, type):
        raise WrongPolicyError(f"expected an object with select and update, got {made!r}")
    return made


def _numbers(probed: object, batch: tuple[int, ...]) -> NDArray[Any]:
    """Refuse a probe's answer that is not numbers for each learner."""
    try:
        array = np.array(probed)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf" or array.shape[: len(batch)] != batch:
        what = f"numbers in the shape {batch}, or {batch} and more axes" if batch else "numbers"
        raise ValueError(f"probe: expected it to return {what}, got {probed!r}")
    return array


def _checked(arms: object, batch: tuple[int, ...], offered: int) -> IntArray:
    """Refuse a policy's answer that is not one arm for each learner."""
    array = np.asarray(arms)
    fits = array.shape == batch and array.dtype.kind in "iu"
    if not fits or (array < 0).any() or (array >= offered).any():
        what = f"integers in the shape {batch}" if batch else "one integer"
        why = (
            "; its constructor takes batch, so it must return one arm for each learner"
            if batch and array.shape != batch
            else ""
        )
        raise WrongPolicyError(
            f"expected its policy to select {what}, from 0 to {offered - 1}, got {arms!r}{why}"
        )
    return array.astype(np.int64, copy=False)

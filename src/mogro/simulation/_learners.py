"""Learners of a run: one policy for all of them, or a policy for each."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._streams import Rng, Streams
from mogro._validation import FloatArray, IntArray
from mogro.policies import LinearPolicy
from mogro.simulation._worlds import Purpose, Worlds, real_arms

Question = Callable[[Any], ArrayLike]


class BanditPolicy(Protocol):
    """What a simulation asks of a policy; one of your own may be narrower about its arguments."""

    def select(self, features: Any, *, rng: Any) -> Any:
        """Choose an arm, or one for each learner of the batch."""

    @property
    def update(self) -> Callable[..., None]:
        """Learn the reward of the arm with these features, with a parameter ``arm`` its place."""


MakePolicy = Callable[..., BanditPolicy]
"""Called with the numbers of features and objectives and, if it has a parameter of that name, with
``batch``. One without it makes a single learner, and is called for each of them."""


def takes_arm(policy: BanditPolicy) -> bool:
    """Tell whether a policy asks for the place of the arm that it learns about."""
    return "arm" in inspect.signature(policy.update).parameters


class WrongPolicyError(ValueError):
    """A complaint about a policy; whoever was given it under another name says that name."""

    def __str__(self) -> str:
        return f"make_policy: {self.args[0]}"


def make_learners(make_policy: MakePolicy, worlds: Worlds, *, probed: bool) -> "Learners":
    """Return learners for some worlds; a probe wants a policy as it is said to be made."""
    if not callable(make_policy):
        raise WrongPolicyError(f"expected a policy class or function, got {make_policy!r}")
    sizes, generators = (worlds.dim, worlds.objectives), worlds.generators(Purpose.POLICY)
    batched = "batch" in inspect.signature(make_policy).parameters
    if not batched or worlds.ragged:
        policies = [_check_playable(make_policy(*sizes)) for _ in generators.flat]
        rngs = [Streams(each, ahead=True) if batched else each for each in generators.flat]
        return _SeparateLearners(policies, rngs, worlds)
    policy = _check_playable(make_policy(*sizes, batch=worlds.batch))
    if generators.size == 1 and not probed and isinstance(policy, LinearPolicy):
        policy = make_policy(*sizes, batch=())  # does the same, to the bit, in less time
        rng = Streams(generators[0, 0], ahead=True)
        return _SeparateLearners([policy], [rng], worlds, lone=(policy, rng))
    return _BatchedLearners(policy, Streams(generators, ahead=True), worlds)


class Learners(Protocol):
    """The learners of a run, (I, R)."""

    @property
    def lone(self) -> tuple[BanditPolicy, Rng] | None:
        """The only learner, if it is linear."""

    def select(self, features: FloatArray) -> IntArray:
        """Return the arms that they choose, (I, R), among what :class:`Worlds` offers."""

    def update(self, x: FloatArray, rewards: FloatArray, arms: IntArray) -> None:
        """Learn the rewards (I, R, M) of arms with features (I, R, d)."""

    def ask(self, question: Question, name: str) -> NDArray[Any]:
        """Return numbers about their policies, (I, R, ...)."""


class _BatchedLearners:
    """A policy that steps for all learners at once."""

    lone = None

    def __init__(self, policy: BanditPolicy, rng: Streams, worlds: Worlds) -> None:
        self._policy, self._rng = policy, rng
        self._batch, self._arms = worlds.batch, worlds.arms
        self._takes_arm = takes_arm(policy)

    def select(self, features: FloatArray) -> IntArray:
        return read_arms(self._policy.select(features, rng=self._rng), self._batch, self._arms)

    def update(self, x: FloatArray, rewards: FloatArray, arms: IntArray) -> None:
        self._policy.update(x, rewards, **({"arm": arms} if self._takes_arm else {}))

    def ask(self, question: Question, name: str) -> NDArray[Any]:
        return _read_numbers(question(self._policy), self._batch, name)


class _SeparateLearners:
    """Policies of single learners, one after the other."""

    def __init__(
        self,
        policies: list[BanditPolicy],
        rngs: Sequence[Rng],
        worlds: Worlds,
        lone: tuple[BanditPolicy, Rng] | None = None,
    ) -> None:
        self.lone = lone
        self._learners = list(zip(np.ndindex(worlds.batch), policies, rngs, strict=True))
        self._batch, self._ragged = worlds.batch, worlds.ragged
        self._takes_arm = takes_arm(policies[0])

    def select(self, features: FloatArray) -> IntArray:
        arms = np.empty(self._batch, dtype=np.int64)
        shared = features.shape[1] == 1
        for (i, r), policy, rng in self._learners:
            offer = features[i, 0 if shared else r]
            offer = real_arms(offer) if self._ragged else offer
            arms[i, r] = read_arms(policy.select(offer, rng=rng), (), len(offer))
        return arms

    def update(self, x: FloatArray, rewards: FloatArray, arms: IntArray) -> None:
        for learner, policy, _ in self._learners:
            place = {"arm": int(arms[learner])} if self._takes_arm else {}
            policy.update(x[learner], rewards[learner], **place)

    def ask(self, question: Question, name: str) -> NDArray[Any]:
        values = np.stack(
            [_read_numbers(question(policy), (), name) for _, policy, _ in self._learners]
        )
        return values.reshape(*self._batch, *values.shape[1:])


def _check_playable(policy: BanditPolicy) -> BanditPolicy:
    """Refuse what cannot play."""
    able = all(callable(getattr(policy, name, None)) for name in ("select", "update"))
    if not able or isinstance(policy, type):
        raise WrongPolicyError(f"expected an object with select and update, got {policy!r}")
    return policy


def _read_numbers(answer: object, batch: tuple[int, ...], name: str) -> NDArray[Any]:
    """Refuse an answer about the policy that is not numbers for each learner."""
    try:
        array = np.array(answer)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf" or array.shape[: len(batch)] != batch:
        expected = f"numbers in the shape {batch}, or {batch} and more axes" if batch else "numbers"
        raise ValueError(f"{name}: expected it to return {expected}, got {answer!r}")
    return array


def read_arms(arms: object, batch: tuple[int, ...], offered: int) -> IntArray:
    """Refuse a policy's answer that is not one arm for each learner."""
    array = np.asarray(arms)
    fits = array.shape == batch and array.dtype.kind in "iu"
    # As unsigned integers, those below zero are large.
    if not fits or array.astype(np.uint64, copy=False).max() >= offered:
        expected = f"integers in the shape {batch}" if batch else "one integer"
        why = (
            "; its constructor takes batch, so it must return one arm for each learner"
            if batch and array.shape != batch
            else ""
        )
        raise WrongPolicyError(
            f"expected its policy to select {expected}, from 0 to {offered - 1}, got {arms!r}{why}"
        )
    return array.astype(np.int64, copy=False)

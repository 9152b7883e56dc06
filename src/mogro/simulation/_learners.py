"""Learners of a run: one policy for all of them, or a policy for each."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._streams import Rng, Streams
from mogro._validation import FloatArray, IntArray
from mogro.policies import LinearPolicy
from mogro.simulation._worlds import Purpose, Worlds, without_padding

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
    if batched and not worlds.ragged:
        policy = _check_playable(make_policy(*sizes, batch=worlds.batch))
        if generators.size > 1 or probed or not isinstance(policy, LinearPolicy):
            rng = Streams(generators, ahead=True)
            return Learners([policy], [rng], worlds, together=True)
    # A single learner of mogro does the same, to the bit, in less time.
    single = {"batch": ()} if batched else {}
    policies = [_check_playable(make_policy(*sizes, **single)) for _ in generators.flat]
    rngs = [Streams(each, ahead=True) if batched else each for each in generators.flat]
    return Learners(policies, rngs, worlds, together=False)


class Learners:
    """The learners of a run, (I, R): one policy that steps for all together, or one for each."""

    def __init__(
        self, policies: list[BanditPolicy], rngs: Sequence[Rng], worlds: Worlds, *, together: bool
    ) -> None:
        self._batch, self._ragged, self._together = worlds.batch, worlds.ragged, together
        self._each = worlds.batch if together else ()  # the batch of a policy
        indices: list[Any] = [...] if together else list(np.ndindex(worlds.batch))
        self._policies = list(zip(indices, policies, rngs, strict=True))
        self._takes_arm = takes_arm(policies[0])

    @property
    def only_linear(self) -> tuple[BanditPolicy, Rng] | None:
        """The only learner, if it is linear."""
        _, policy, rng = self._policies[0]
        alone = len(self._policies) == 1 and not self._together
        return (policy, rng) if alone and isinstance(policy, LinearPolicy) else None

    def select(self, features: FloatArray) -> IntArray:
        """Return the arms that they choose, (I, R), among what :class:`Worlds` offers."""
        if self._together:
            (_, policy, rng), count = self._policies[0], features.shape[-2]
            return read_arms(policy.select(features, rng=rng), self._batch, count)
        arms = np.empty(self._batch, dtype=np.int64)
        for index, policy, rng in self._policies:
            offer = self._offer(features, *index)
            arms[index] = read_arms(policy.select(offer, rng=rng), (), len(offer))
        return arms

    def _offer(self, features: FloatArray, instance: int, repeat: int) -> FloatArray:
        """Return what is on offer to one learner, (K, d)."""
        offer = features[instance, 0 if features.shape[1] == 1 else repeat]
        return without_padding(offer) if self._ragged else offer

    def update(self, x: FloatArray, rewards: FloatArray, arms: IntArray) -> None:
        """Learn the rewards (I, R, M) of arms with features (I, R, d)."""
        for index, policy, _ in self._policies:
            if self._takes_arm:
                arm = arms if self._together else int(arms[index])
                policy.update(x[index], rewards[index], arm=arm)
            else:
                policy.update(x[index], rewards[index])

    def ask(self, question: Question, name: str) -> NDArray[Any]:
        """Return numbers about their policies, (I, R, ...)."""
        answers = [
            _read_numbers(question(policy), self._each, name) for _, policy, _ in self._policies
        ]
        more = answers[0].shape[len(self._each) :]
        return np.stack(answers).reshape(*self._batch, *more)


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
    if not fits or np.maximum.reduce(array.astype(np.uint64), axis=None) >= offered:
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

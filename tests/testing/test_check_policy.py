"""The conformance suite finds what is wrong with a policy."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mogro
from mogro._validation import FloatArray
from mogro.testing import check_policy


class First:
    """Always the first arm: a policy without a base class, and it conforms."""

    def __init__(self, dim: int, objectives: int, batch: tuple[int, ...]) -> None:
        self.dim, self.objectives, self.batch = dim, objectives, batch
        self.step = 0

    def select(self, features: FloatArray, *, rng: mogro.Rng) -> Any:
        self.step += 1
        return np.zeros(self.batch, dtype=np.int64) if self.batch else 0

    def update(self, features: FloatArray, reward: FloatArray) -> None:
        pass


def test_a_plain_class_conforms() -> None:
    check_policy(First)


class Single:
    """A policy of one learner, with a setting of its own that is not the batch."""

    def __init__(self, dim: int, objectives: int, favourite: int = 0) -> None:
        self.favourite = favourite

    def select(self, features: FloatArray, *, rng: np.random.Generator) -> int:
        return self.favourite

    def update(self, features: FloatArray, reward: FloatArray) -> None:
        pass


def test_a_class_of_single_learners_is_taken_as_compare_takes_it() -> None:
    check_policy(Single)


class LeastPulled(First):
    """An arm that was pulled least, as ``update`` was told."""

    pulls: Any = None

    def select(self, features: FloatArray, *, rng: mogro.Rng) -> Any:
        if self.pulls is None:
            self.pulls = np.zeros((*self.batch, features.shape[-2]))
        arms = (self.pulls + rng.random(self.pulls.shape)).argmin(axis=-1)
        return arms if self.batch else int(arms)

    def update(self, features: FloatArray, reward: FloatArray, *, arm: Any = None) -> None:
        assert np.shape(arm) == self.batch
        assert self.batch or type(arm) is int
        np.add.at(self.pulls.reshape(-1, self.pulls.shape[-1]), self.rows(arm), 1)

    def rows(self, arm: Any) -> tuple[Any, Any]:
        return np.arange(np.size(arm)), np.ravel(arm)


class ForAll(LeastPulled):
    """Counts the pulls of all learners for each of them."""

    def rows(self, arm: Any) -> tuple[Any, Any]:
        return np.arange(np.size(arm))[:, None], np.ravel(arm)


def test_a_policy_that_knows_arms_by_their_place_conforms() -> None:
    check_policy(LeastPulled)
    with pytest.raises(AssertionError, match=r"learner .* of a batch chose other arms"):
        check_policy(ForAll)


def broken(select: Callable[[First, FloatArray, mogro.Rng], Any]) -> type[First]:
    class Broken(First):
        def select(self, features: FloatArray, *, rng: mogro.Rng) -> Any:
            super().select(features, rng=rng)
            return select(self, features, rng)

    return Broken


hidden = np.random.default_rng()


def changes_features(self: First, features: FloatArray, rng: mogro.Rng) -> Any:
    features.flags.writeable = True
    features[...] = 0
    return First.select(self, features, rng=rng)


def warns(self: First, features: FloatArray, rng: mogro.Rng) -> Any:
    if self.step > 900:
        warnings.warn("late", stacklevel=1)
    return First.select(self, features, rng=rng)


@pytest.mark.parametrize(
    ("select", "message"),
    [
        (lambda self, x, rng: np.full(self.batch, x.shape[-2]) if self.batch else 99, "an arm"),
        (lambda self, x, rng: np.full(self.batch, -1) if self.batch else -1, "an arm"),
        (lambda self, x, rng: np.zeros(self.batch) if self.batch else 0.0, "integer"),
        (lambda self, x, rng: 0, "shape"),
        (
            lambda self, x, rng: (
                hidden.integers(x.shape[-2], size=self.batch)
                if self.batch
                else int(hidden.integers(x.shape[-2]))
            ),
            "same seed",
        ),
        (
            lambda self, x, rng: np.full(self.batch, x.shape[-2] - 1) if self.batch else 0,
            "alone",
        ),
        (
            lambda self, x, rng: (
                np.full(self.batch, (x.shape[-2] - 1) * (self.batch == (1,))) if self.batch else 0
            ),
            "batch of one",
        ),
        (changes_features, "changed"),
    ],
)
def test_what_is_wrong_is_found(
    select: Callable[[First, FloatArray, mogro.Rng], Any], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check_policy(broken(select))


def test_a_warning_is_found() -> None:
    with pytest.raises(UserWarning, match="late"):
        check_policy(broken(warns))


def test_sizes_can_be_given() -> None:
    seen = set()

    class Small:
        def __init__(self, dim: int, objectives: int) -> None:
            assert (dim, objectives) == (3, 2)

        def select(self, features: Any, *, rng: Any) -> int:
            seen.add(features.shape)
            return int(rng.integers(len(features)))

        def update(self, features: Any, reward: Any) -> None: ...

    check_policy(Small, rounds=10, dim=3, objectives=2, arms=5)
    assert seen == {(5, 3)}

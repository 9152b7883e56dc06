"""The conformance suite passes every environment of the library and catches broken ones."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from benchmarks.league.environments import DriftingArms, LogisticArms, SleepingArms

from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import (
    BernoulliArms,
    BilinearContexts,
    Environment,
    FixedArms,
    Replay,
    VaryingContexts,
)
from mogro.testing import check_environment
from paper.lab.appendix import tailed_arms

SIZES = [(5, 50, 5), (1, 1, 1), (4, 1, 3), (1, 6, 2), (6, 3, 1), (3, 7, 9), (10, 30, 10)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [FixedArms, VaryingContexts])
@pytest.mark.parametrize("size", SIZES)
def test_synthetic(
    kind: type[FixedArms] | type[VaryingContexts], size: tuple[int, int, int]
) -> None:
    check_environment(lambda rng: kind.sample(*size, noise=0.1, rng=rng))


def random_table(rng: np.random.Generator, *, rows: int) -> Replay:
    features = rng.random((4, 3)) if rows == 1 else rng.random((rows, 4, 3))
    return Replay(rng.random((rows, 4, 2)), features)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda rng: BernoulliArms.sample(7, 3, rng=rng),
        lambda rng: BernoulliArms(np.array([[0.0, 1.0, 1e-4]])),
        lambda rng: LogisticArms.sample(3, 9, 2, rng=rng),
        lambda rng: LogisticArms(1000 * np.eye(2), np.eye(2)),
        lambda rng: DriftingArms.sample(3, 9, 2, places=3, every=400, noise=0.2, rng=rng),
        lambda rng: SleepingArms.sample(3, 9, 2, awake=4, noise=0.1, rng=rng),
        lambda rng: SleepingArms(np.ones((1, 1)), np.ones((1, 1)), awake=1, noise=0.0),
        lambda rng: random_table(rng, rows=1),
        lambda rng: random_table(rng, rows=6),
        lambda rng: BilinearContexts.sample(2, 3, 5, 2, noise=0.1, rng=rng),
        lambda rng: tailed_arms([1.0, None, 2.0], noise=0.1),
    ],
)
def test_other_worlds(make: Callable[[np.random.Generator], Environment]) -> None:
    check_environment(make)


@pytest.mark.parametrize("noise", [0, 3.0])
def test_any_noise(noise: float) -> None:
    check_environment(lambda rng: VaryingContexts.sample(2, 3, 2, noise=noise, rng=rng))


@dataclass
class Broken:
    """A user's environment, right as it stands; the tests break one part after the other."""

    theta: FloatArray = field(default_factory=lambda: frozen(np.array([[1.0, 0.5], [0.0, 2.0]])))
    noise: float = 0.1
    dim: int = 2
    arms: int = 3
    objectives: int = 2

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        return rng.random((*batch, 3, 2))

    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        if x.shape[-1] != 2 or not np.isfinite(x).all():
            raise ValueError("x: no")
        means = np.stack([x[..., 0] + 0.5 * x[..., 1], 2 * x[..., 1]], axis=-1)
        return np.asarray(means + self.noise * rng.standard_normal(means.shape))


def frozen(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array


def test_a_users_own_environment_needs_no_base_class() -> None:
    assert isinstance(Broken(), Environment)
    check_environment(lambda rng: Broken())


class NoneAtAll(Broken):
    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        return rng.random((*batch, 4, 2))


class OwnGenerator(Broken):
    own = np.random.default_rng(0)

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        return self.own.random((*batch, 3, 2))


class OneForAll(Broken):
    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        features = super().contexts(rng=rng, batch=batch)
        return features if not batch else features[:1]


class NotANumber(Broken):
    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        return super().contexts(rng=rng, batch=batch) * np.nan

    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        return rng.standard_normal((*x.shape[:-1], 2))


class WrongShape(Broken):
    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        return super().observe(x, rng=rng)[..., :1]


class Squared(Broken):
    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        return super().observe(x, rng=rng) ** 2


class Biased(Broken):
    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        means = super().observe(x, rng=rng)
        return np.asarray(means + 0.1 * np.abs(rng.standard_normal(means.shape)))


class Loud(Broken):
    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        means = super().observe(x, rng=rng)
        return np.asarray(means + rng.standard_normal(means.shape))


class WritesToItsInput(Broken):
    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        rewards = super().observe(x, rng=rng)
        x *= 1.0
        return rewards


class NeverJudged(Broken):
    theta = None  # type: ignore[assignment]

    def __init__(self) -> None: ...


class Weary(Broken):
    """Rewards fall with every call, and the parameters say nothing of it."""

    calls = 0

    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        self.calls += 1
        return super().observe(x, rng=rng) - self.calls / 10_000


class Moved(Broken):
    """Its parameters are other ones after some rounds."""

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        self.theta = frozen(self.theta + 1e-6)
        return super().contexts(rng=rng, batch=batch)


class SaysMeans(Broken):
    """Its means are those of its rewards, whatever theta is."""

    theta = None  # type: ignore[assignment]
    tilt = 0.0

    def __init__(self) -> None: ...

    def means(self, features: FloatArray, *, step: int) -> FloatArray:
        both = [features[..., 0] + 0.5 * features[..., 1], 2 * features[..., 1]]
        return np.stack(both, axis=-1) + self.tilt * min(step, 5)


class TooHopeful(SaysMeans):
    tilt = 0.1


class Alone(SaysMeans):
    """Asked for one learner at a time, it may use all methods of a generator."""

    def contexts(self, *, rng: np.random.Generator) -> FloatArray:  # type: ignore[override]
        return np.asarray(rng.beta(2, 3, size=(3, 2)))

    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        assert isinstance(rng, np.random.Generator)
        both = np.array([x[0] + 0.5 * x[1], 2 * x[1]])
        return np.asarray(both + 0.1 * (rng.poisson(1.0, size=2) - 1))


class AloneAndWrong(Alone):
    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        return super().observe(x, rng=rng)[:1]


class Complains(Broken):
    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        warnings.warn("tired", stacklevel=1)
        return super().contexts(rng=rng, batch=batch)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda rng: Broken(dim=0), "dim: expected an int >= 1, got 0"),
        (lambda rng: Broken(noise=-1.0), "noise: expected a finite number >= 0"),
        (lambda rng: Broken(objectives=3), r"theta: expected shape \(3, 2\), got \(2, 2\)"),
        (lambda rng: Broken(theta=frozen(np.full((2, 2), np.nan))), "theta: expected finite"),
        (
            lambda rng: Broken(theta=frozen(np.ones((2, 2)))),
            "observe: expected rewards with the means",
        ),
        (
            lambda rng: Broken(theta=frozen(np.random.default_rng().random((2, 2)))),
            "means of two instances made from equal generators",
        ),
        (lambda rng: NoneAtAll(), r"contexts: expected shape \(3, 2\) or one that broadcasts"),
        (lambda rng: OwnGenerator(), "contexts drawn from equal generators"),
        (lambda rng: OneForAll(), r"contexts of learner \(1,\) of batch \(3,\)"),
        (lambda rng: WrongShape(), r"observe: expected shape \(2,\), got \(1,\)"),
        (lambda rng: Squared(), "observe: expected rewards with the means"),
        (lambda rng: Biased(), "observe: expected rewards with the means"),
        (lambda rng: Loud(), "observe: expected noise of standard deviation"),
        (lambda rng: NeverJudged(), "environment: expected one that can be judged"),
        (lambda rng: Weary(), r"(rewards|observe).*: expected (equal|rewards with)"),
        (lambda rng: Moved(), r"means .*: expected equal bits"),
        (lambda rng: TooHopeful(), r"arm \d, step 1\)"),
        (lambda rng: AloneAndWrong(), r"observe: expected shape \(2,\), got \(1,\)"),
    ],
)
def test_broken_environments_fail(
    make: Callable[[np.random.Generator], Environment], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check_environment(make)


@pytest.mark.slow
def test_means_by_round_and_one_learner_at_a_time_conform() -> None:
    check_environment(lambda rng: SaysMeans())
    check_environment(lambda rng: Alone())


def test_features_that_are_not_finite_fail() -> None:
    with pytest.raises(AssertionError):
        check_environment(lambda rng: NotANumber())


def test_writing_to_an_argument_fails() -> None:
    with pytest.raises(ValueError, match="read-only"):
        check_environment(lambda rng: WritesToItsInput())


def test_warnings_fail() -> None:
    with pytest.raises(UserWarning, match="tired"):
        check_environment(lambda rng: Complains())

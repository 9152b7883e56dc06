"""The conformance suite that every environment passes."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mogro._streams import Rng, Streams
from mogro._validation import FloatArray
from mogro.environments._base import read_only
from mogro.environments.protocol import Environment
from mogro.simulation._worlds import Instance
from mogro.testing._require import require

_BATCHES: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (2, 3))
_ROUNDS = 10_000
_DRAWS = 10_000
_SINGLE_DRAWS = 2_000
_STEPS = (0, 1, 999)


def check_environment(make_environment: Callable[[np.random.Generator], Environment]) -> None:
    """Check that an environment behaves as a simulation expects; raise AssertionError if not.

    It checks sizes and shapes, that equal seeds give equal bits, that a batch of one is no batch
    and a batch of R is R separate learners (up to rounding), that rewards have the means that the
    world says, and noise not above what it says if it does, that arguments are left alone, and
    that 10,000 rounds pass without a warning and leave the world as it was. Noise may depend on
    the arm. Passing says nothing about whether the world is a sensible one.

    Parameters
    ----------
    make_environment
        Called with a generator, returns an instance; called with an equal generator, an equal one.

    Examples
    --------
    >>> from mogro.environments import BernoulliArms, FixedArms
    >>> check_environment(lambda rng: FixedArms.sample(3, 10, 2, noise=0.1, rng=rng))
    >>> check_environment(lambda rng: BernoulliArms.sample(10, 2, rng=rng))
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        instance = _checked(make_environment(np.random.default_rng(0)))
        _check_seeds(make_environment)
        for batch in () if instance.unbatched else _BATCHES:
            _check_batch(instance, batch)
        _check_rewards(instance)
        _check_long_life(instance)
        _check_rewards(instance)


def _checked(world: Environment) -> Instance:
    """Return a world whose facts are right."""
    for name in ("dim", "arms", "objectives"):
        size = getattr(world, name, None)
        require(isinstance(size, int) and size >= 1, f"{name}: expected an int >= 1, got {size!r}")
    noise: Any = getattr(world, "noise", 0.0)
    sensible = np.isfinite(noise) and noise >= 0
    require(sensible, f"noise: expected a finite number >= 0, got {noise!r}")
    theta: Any = getattr(world, "theta", None)
    if theta is not None:
        _check_array(theta, (world.objectives, world.dim), "theta")
    try:
        return Instance(world)
    except ValueError as error:
        raise AssertionError(str(error)) from None


def _offer(instance: Instance, rng: Rng, batch: tuple[int, ...], step: int) -> FloatArray:
    """Return the features of a round, of as many arms as the world allows."""
    features, limit = instance.contexts(rng=rng, batch=batch, step=step), instance.world.arms
    if instance.ragged:
        fewest = instance.world.fewest_arms  # type: ignore[attr-defined]
        fits = 1 <= fewest <= len(features) <= limit
        require(fits, f"contexts: expected {fewest} to {limit} arms, got {len(features)}")
    return features


def _play(
    instance: Instance, rng: Rng, *, step: int, batch: tuple[int, ...] = ()
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Play the last arm of a round; return features, means and rewards."""
    world, offer = instance.world, _offer(instance, rng, batch, step)
    arms = len(offer) if instance.ragged else world.arms
    features = _broadcast(offer, (*batch, arms, world.dim), "contexts")
    means_there = instance.means(offer, step=step)
    means = _broadcast(means_there, (*batch, arms, world.objectives), "means")
    rewards = _observe(instance, features[..., -1, :], arms - 1, rng, step=step)
    return features, means, rewards


def _observe(instance: Instance, x: FloatArray, arm: int, rng: Rng, *, step: int) -> FloatArray:
    """Return checked rewards (*batch, M) of an arm with features ``x``, (*batch, d)."""
    batch = x.shape[:-1]
    arms = np.full(batch, arm)
    arms.setflags(write=False)
    rewards = instance.observe(read_only(x), rng=rng, arm=arms if batch else arm, step=step)
    _check_array(rewards, (*batch, instance.world.objectives), "observe")
    return rewards


def _check_seeds(make_environment: Callable[[np.random.Generator], Environment]) -> None:
    def play() -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        instance = Instance(make_environment(np.random.default_rng(1)))
        rng = np.random.default_rng(2)
        return [_play(instance, rng, step=step) for step in range(3)]

    names = ("contexts drawn", "means of two instances made", "rewards drawn")
    for rounds in zip(play(), play(), strict=True):
        for name, first, second in zip(names, *rounds, strict=True):
            _same(first, second, f"{name} from equal generators")


def _check_batch(instance: Instance, batch: tuple[int, ...]) -> None:
    """Compare a batch of learners with each of them alone."""
    generators, streams = _generators(batch), Streams(_generators(batch))
    for step in range(2):
        features, _, rewards = _play(instance, streams, batch=batch, step=step)
        for learner in np.ndindex(*batch):
            single = _play(instance, generators[learner], step=step)
            where = f"learner {learner} of batch {batch} against a single call"
            _same(features[learner], single[0], f"contexts of {where}", within=1e-12)
            _same(rewards[learner], single[2], f"rewards of {where}", within=1e-12)


def _generators(batch: tuple[int, ...]) -> Any:
    keys = np.ndindex(*batch)
    return np.array([np.random.default_rng([8, *key]) for key in keys], object).reshape(batch)


def _check_rewards(instance: Instance) -> None:
    """Compare the means of many rewards with those that the world says."""
    for step in _STEPS:
        features, means, _ = _play(instance, np.random.default_rng(3), step=step)
        for arm in {0, len(features) // 2, len(features) - 1}:
            rng, x = np.random.default_rng(5), features[arm]
            if instance.unbatched:
                draws = [_observe(instance, x, arm, rng, step=step) for _ in range(_SINGLE_DRAWS)]
                rewards = np.stack(draws)
            else:
                copies = np.broadcast_to(x, (_DRAWS, *x.shape))
                rewards = _observe(instance, copies, arm, rng, step=step)
            noise = getattr(instance.world, "noise", None)
            _compare(rewards, means[arm], noise, f"arm {arm}, step {step}")


def _compare(rewards: FloatArray, means: FloatArray, noise: float | None, where: str) -> None:
    mean, spread, n = rewards.mean(axis=0), rewards.std(axis=0), len(rewards)
    # Rare rewards may not have come at all, so that their spread is not seen: a few are allowed.
    limit = 6 * spread / np.sqrt(n) + 20 / n * np.abs(rewards - means).max() + 1e-9
    require(
        (np.abs(mean - means) <= limit + 1e-9 * np.abs(means)).all(),
        f"observe: expected rewards with the means that the world says, {means} ({where}), "
        f"got {mean} over {n} draws",
    )
    if noise is not None:
        require(
            spread.max() <= 1.1 * noise + 1e-9 * (1 + np.abs(means).max()),
            f"observe: expected noise of standard deviation at most {noise}, got {spread}",
        )


def _check_long_life(instance: Instance) -> None:
    rng, first_rng = np.random.default_rng(7), np.random.default_rng(3)
    features = instance.contexts(rng=first_rng, batch=(), step=0)
    before = instance.means(features, step=0).copy()
    for step in range(_ROUNDS):
        offer = _offer(instance, rng, (), step)
        arm = step % len(offer)
        instance.observe(offer[arm], rng=rng, arm=arm, step=step)
    after = Instance(instance.world).means(features, step=0)
    _same(after, before, f"means before and after {_ROUNDS} rounds")


def _broadcast(array: FloatArray, shape: tuple[int, ...], name: str) -> FloatArray:
    """Return finite numbers, broadcast to a shape."""
    try:
        result = np.broadcast_to(array, shape)
    except ValueError:
        raise AssertionError(
            f"{name}: expected shape {shape} or one that broadcasts to it, got {np.shape(array)}"
        ) from None
    _check_array(result, shape, name)
    return result


def _check_array(array: FloatArray, shape: tuple[int, ...], name: str) -> None:
    require(np.shape(array) == shape, f"{name}: expected shape {shape}, got {np.shape(array)}")
    require(np.isfinite(array).all(), f"{name}: expected finite values")


def _same(actual: FloatArray, expected: FloatArray, what: str, *, within: float = 0.0) -> None:
    """Require equal arrays, or values that differ only within rounding."""
    limit = within * (1 + np.abs(expected).max())
    equal = np.shape(actual) == np.shape(expected) and (np.abs(actual - expected) <= limit).all()
    require(equal, f"{what}: expected equal {'values' if within else 'bits'}, got different ones")

"""The conformance suite that every environment passes."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._streams import Streams
from mogro._validation import FloatArray
from mogro.environments.protocol import Environment
from mogro.simulation._worlds import Instance

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
        world = _checked(make_environment(np.random.default_rng(0)))
        _check_seeds(make_environment)
        for batch in () if world.unbatched else _BATCHES:
            _check_batch(world, batch)
        _check_rewards(world)
        _check_long_life(world)
        _check_rewards(world)


def _checked(world: Environment) -> Instance:
    """Return a world whose facts are right."""
    for name in ("dim", "arms", "objectives"):
        size = getattr(world, name, None)
        _require(isinstance(size, int) and size >= 1, f"{name}: expected an int >= 1, got {size!r}")
    noise: Any = getattr(world, "noise", 0.0)
    sensible = np.isfinite(noise) and noise >= 0
    _require(sensible, f"noise: expected a finite number >= 0, got {noise!r}")
    theta: Any = getattr(world, "theta", None)
    if theta is not None:
        _check_array(theta, (world.objectives, world.dim), "theta")
        frozen = isinstance(theta, np.ndarray) and not theta.flags.writeable
        _require(frozen, "theta: expected a read-only array")
    try:
        return Instance(world)
    except ValueError as error:
        raise AssertionError(str(error)) from None


def _check_seeds(make_environment: Callable[[np.random.Generator], Environment]) -> None:
    first, second = (Instance(make_environment(np.random.default_rng(1))) for _ in range(2))
    rng, other = np.random.default_rng(2), np.random.default_rng(2)
    for step in range(3):
        features = first.contexts(rng=rng, batch=(), step=step)
        again = second.contexts(rng=other, batch=(), step=step)
        _same(features, again, "contexts drawn from equal generators")
        means, means_again = first.means(features, step=step), second.means(again, step=step)
        _same(means, means_again, "means of two instances made from equal generators")
        reward = first.observe(features[0], rng=rng, arm=0, step=step)
        reward_again = second.observe(again[0], rng=other, arm=0, step=step)
        _same(reward, reward_again, "rewards drawn from equal generators")


def _check_batch(instance: Instance, batch: tuple[int, ...]) -> None:
    world = instance.world
    separate = _generators(batch)
    together = Streams(_generators(batch))
    last = _read_only(np.full(batch, world.arms - 1))
    for step in range(2):
        offered = instance.contexts(rng=together, batch=batch, step=step)
        features = _broadcast(offered, (*batch, world.arms, world.dim), "contexts")
        means = instance.means(offered, step=step)
        _broadcast(means, (*batch, world.arms, world.objectives), "means")
        chosen = _read_only(features[..., -1, :])
        rewards = instance.observe(chosen, rng=together, arm=last, step=step)
        of_what = f" for x of shape {chosen.shape}"
        _check_array(rewards, (*batch, world.objectives), "observe", of_what)
        for learner in np.ndindex(*batch):
            rng: np.random.Generator = separate[learner]
            alone = instance.contexts(rng=rng, batch=(), step=step)
            where = f"learner {learner} of batch {batch} against a single call"
            _close(features[learner], alone, f"contexts of {where}")
            reward = instance.observe(alone[-1], rng=rng, arm=world.arms - 1, step=step)
            _close(rewards[learner], reward, f"rewards of {where}")


def _check_rewards(instance: Instance) -> None:
    """Compare the means of many rewards with those that the world says."""
    world = instance.world
    for step in _STEPS:
        features = instance.contexts(rng=np.random.default_rng(3), batch=(), step=step)
        count = _count(instance, features)
        _broadcast(features, (count, world.dim), "contexts")
        stated = instance.means(features, step=step)
        means = _broadcast(stated, (count, world.objectives), "means")
        for arm in {0, count // 2, count - 1}:
            rewards = _many_rewards(instance, features[arm], arm, step)
            _compare(rewards, means[arm], getattr(world, "noise", None), f"arm {arm}, step {step}")


def _count(instance: Instance, features: FloatArray) -> int:
    """Return how many arms are on offer."""
    world: Any = instance.world
    if not instance.ragged:
        return int(world.arms)
    _require(
        1 <= world.fewest_arms <= len(features) <= world.arms,
        f"contexts: expected {world.fewest_arms} to {world.arms} arms, got {len(features)}",
    )
    return len(features)


def _many_rewards(instance: Instance, x: FloatArray, arm: int, step: int) -> FloatArray:
    rng = np.random.default_rng(5)
    if not instance.unbatched:
        many = _read_only(np.broadcast_to(x, (_DRAWS, *x.shape)))
        arms = _read_only(np.full(_DRAWS, arm))
        rewards = instance.observe(many, rng=rng, arm=arms, step=step)
    else:
        x = _read_only(x)
        draws = [instance.observe(x, rng=rng, arm=arm, step=step) for _ in range(_SINGLE_DRAWS)]
        _check_array(draws[0], (instance.world.objectives,), "observe")
        rewards = np.stack(draws)
    _check_array(rewards, (len(rewards), instance.world.objectives), "observe")
    return rewards


def _compare(rewards: FloatArray, means: FloatArray, noise: float | None, where: str) -> None:
    got, spread, n = rewards.mean(axis=0), rewards.std(axis=0), len(rewards)
    # Rare rewards may not have come at all, so that their spread is not seen: a few are allowed.
    limit = 6 * spread / np.sqrt(n) + 20 / n * np.abs(rewards - means).max() + 1e-9
    _require(
        (np.abs(got - means) <= limit + 1e-9 * np.abs(means)).all(),
        f"observe: expected rewards with the means that the world says, {means} ({where}), "
        f"got {got} over {n} draws",
    )
    if noise is not None:
        _require(
            spread.max() <= 1.1 * noise + 1e-9 * (1 + np.abs(means).max()),
            f"observe: expected noise of standard deviation at most {noise}, got {spread}",
        )


def _check_long_life(instance: Instance) -> None:
    rng = np.random.default_rng(7)
    world = instance.world
    first = instance.contexts(rng=np.random.default_rng(3), batch=(), step=0)
    before = instance.means(first, step=0).copy()
    for step in range(_ROUNDS):
        features = instance.contexts(rng=rng, batch=(), step=step)
        arm = step % _count(instance, features)
        instance.observe(features[arm], rng=rng, arm=arm, step=step)
    _same(Instance(world).means(first, step=0), before, f"means before and after {_ROUNDS} rounds")


def _generators(batch: tuple[int, ...]) -> Any:
    generators = np.empty(batch, dtype=object)
    for learner in np.ndindex(*batch):
        generators[learner] = np.random.default_rng([8, *learner])
    return generators


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


def _check_array(array: FloatArray, shape: tuple[int, ...], name: str, of_what: str = "") -> None:
    came = np.shape(array)
    _require(came == shape, f"{name}: expected shape {shape}{of_what}, got {came}")
    _require(np.isfinite(array).all(), f"{name}: expected finite values")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def _same(actual: FloatArray, expected: FloatArray, what: str) -> None:
    _require(np.array_equal(actual, expected), f"{what}: expected equal bits, got different values")


def _close(actual: FloatArray, expected: FloatArray, what: str) -> None:
    scale = 1e-12 * (1 + np.abs(expected).max())
    _require(
        np.shape(actual) == np.shape(expected) and np.abs(actual - expected).max() <= scale,
        f"{what}: expected equal values, got different ones",
    )


def _require(condition: object, message: str) -> None:
    if not condition:  # not an assert statement, which ``python -O`` would skip
        raise AssertionError(message)

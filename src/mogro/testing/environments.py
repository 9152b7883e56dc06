"""The conformance suite that every environment passes."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mogro._streams import Streams
from mogro._validation import FloatArray
from mogro.environments.protocol import Environment

_BATCHES: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (2, 3))
_ROUNDS = 10_000


def check_environment(make_environment: Callable[[np.random.Generator], Environment]) -> None:
    """Check that an environment behaves as a simulation expects; raise AssertionError if not.

    It checks sizes and shapes, that equal seeds give equal bits, that a batch of one is no batch
    and a batch of R is R separate learners (to the bit), that rewards are linear in the features
    plus noise of mean 0 that does not depend on them, that arguments are left alone, that bad
    features are refused with a ValueError before anything is drawn, and that 10,000 rounds pass
    without a warning. Passing says nothing about whether the world is a sensible one.

    Parameters
    ----------
    make_environment
        Called with a generator, returns an instance; called with an equal generator, an equal one.

    Examples
    --------
    >>> from mogro.environments import FixedArms
    >>> check_environment(lambda rng: FixedArms.sample(3, 10, 2, noise=0.1, rng=rng))
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = make_environment(np.random.default_rng(0))
        _check_attributes(world)
        _check_seeds(make_environment)
        for batch in _BATCHES:
            _check_batch(world, batch)
        _check_rewards(world)
        _check_refusals(world)
        _check_long_life(world)


def _check_attributes(world: Environment) -> None:
    for name in ("dim", "arms", "objectives"):
        size = getattr(world, name, None)
        _require(isinstance(size, int) and size >= 1, f"{name}: expected an int >= 1, got {size!r}")
    _require(
        np.isfinite(world.noise) and world.noise >= 0,
        f"noise: expected a finite number >= 0, got {world.noise!r}",
    )
    theta: Any = getattr(world, "theta", None)
    shape = (world.objectives, world.dim)
    _require(np.shape(theta) == shape, f"theta: expected shape {shape}, got {np.shape(theta)}")
    _require(np.isfinite(theta).all(), "theta: expected finite values")
    _require(
        isinstance(theta, np.ndarray) and not theta.flags.writeable,
        "theta: expected a read-only array",
    )


def _check_seeds(make_environment: Callable[[np.random.Generator], Environment]) -> None:
    first, second = (make_environment(np.random.default_rng(1)) for _ in range(2))
    _same(first.theta, second.theta, "theta of two instances made from equal generators")
    rng, other = np.random.default_rng(2), np.random.default_rng(2)
    for _ in range(3):
        features, again = first.contexts(rng=rng), second.contexts(rng=other)
        _same(features, again, "contexts drawn from equal generators")
        _same(
            first.observe(features[0], rng=rng),
            second.observe(again[0], rng=other),
            "rewards drawn from equal generators",
        )
    _same_state(rng, other, "equal calls with equal generators")


def _check_batch(world: Environment, batch: tuple[int, ...]) -> None:
    together = Streams(_generators(batch))
    separate = _generators(batch)
    for _ in range(2):
        offered = world.contexts(rng=together, batch=batch)
        features = _broadcast(offered, (*batch, world.arms, world.dim), "contexts")
        chosen = _read_only(features[..., -1, :])
        rewards = world.observe(chosen, rng=together)
        expected = (*batch, world.objectives)
        _require(
            np.shape(rewards) == expected,
            f"observe: expected shape {expected} for x of shape {chosen.shape}, "
            f"got {np.shape(rewards)}",
        )
        _require(np.isfinite(features).all(), "contexts: expected finite features")
        _require(np.isfinite(rewards).all(), "observe: expected finite rewards")
        for learner in np.ndindex(*batch):
            rng: np.random.Generator = separate[learner]
            alone = world.contexts(rng=rng)
            where = f"learner {learner} of batch {batch} against a single call"
            _same(features[learner], alone, f"contexts of {where}")
            _same(rewards[learner], world.observe(alone[-1], rng=rng), f"rewards of {where}")


def _check_rewards(world: Environment) -> None:
    features = world.contexts(rng=np.random.default_rng(3))
    for x in (features[0], features[-1], np.zeros(world.dim)):
        rng, other = np.random.default_rng(4), np.random.default_rng(4)
        difference = world.observe(x, rng=rng) - world.observe(-x, rng=other)
        _same_state(rng, other, "observing different features")
        means = world.theta @ x
        tolerance = 1e-9 * (1 + np.abs(means).max() + world.noise)
        _require(
            np.abs(difference - 2 * means).max() <= tolerance,
            "observe: expected x @ theta.T plus noise that does not depend on x; with equal "
            f"generators, x and -x differ by {difference}, expected {2 * means}",
        )
    draws = 10_000
    noise = world.observe(np.zeros((draws, world.dim)), rng=np.random.default_rng(5))
    limit = 6 * world.noise / np.sqrt(draws)
    _require(
        np.abs(noise.mean(axis=0)).max() <= limit,
        f"observe: expected noise of mean 0, got {noise.mean(axis=0)} over {draws} draws",
    )
    _require(
        noise.std(axis=0).max() <= 1.1 * world.noise,
        f"observe: expected noise of standard deviation at most {world.noise}, "
        f"got {noise.std(axis=0)}",
    )


def _check_refusals(world: Environment) -> None:
    for x, what in (
        (np.full(world.dim, np.nan), "NaN"),
        (np.full(world.dim, np.inf), "infinity"),
        (np.zeros(world.dim + 1), "a feature too many"),
    ):
        rng = np.random.default_rng(6)
        try:
            world.observe(x, rng=rng)
        except ValueError:
            _same_state(rng, np.random.default_rng(6), f"refusing features with {what}")
        else:
            raise AssertionError(f"observe: expected a ValueError for features with {what}")


def _check_long_life(world: Environment) -> None:
    rng = np.random.default_rng(7)
    theta = world.theta.copy()
    for step in range(_ROUNDS):
        features = world.contexts(rng=rng)
        world.observe(features[step % world.arms], rng=rng)
    _same(world.theta, theta, f"theta before and after {_ROUNDS} rounds")


def _generators(batch: tuple[int, ...]) -> Any:
    generators = np.empty(batch, dtype=object)
    for learner in np.ndindex(*batch):
        generators[learner] = np.random.default_rng([8, *learner])
    return generators


def _broadcast(array: FloatArray, shape: tuple[int, ...], name: str) -> FloatArray:
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise AssertionError(
            f"{name}: expected shape {shape} or one that broadcasts to it, got {np.shape(array)}"
        ) from None


def _read_only(array: FloatArray) -> FloatArray:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def _same(actual: FloatArray, expected: FloatArray, what: str) -> None:
    _require(np.array_equal(actual, expected), f"{what}: expected equal bits, got different values")


def _same_state(rng: np.random.Generator, other: np.random.Generator, what: str) -> None:
    _require(
        rng.bit_generator.state == other.bit_generator.state,
        f"{what}: expected the same number of draws, got different ones",
    )


def _require(condition: object, message: str) -> None:
    if not condition:  # not an assert statement, which ``python -O`` would skip
        raise AssertionError(message)

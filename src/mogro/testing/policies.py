"""What every policy must do, as one check that can be run on any of them."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._streams import Rng, Streams
from mogro._validation import FloatArray
from mogro.simulation import MakePolicy
from mogro.simulation._learners import takes_arm

Maker = Callable[[int, int, tuple[int, ...]], Any]
Pulls = NDArray[np.int64]

# (d, K, M): the usual, and everything that can be one or fewer than something else.
_SIZES = [(5, 20, 3), (1, 1, 1), (1, 4, 2), (4, 1, 2), (3, 7, 1), (6, 3, 2), (2, 30, 8)]


def check_policy(
    make_policy: MakePolicy,
    *,
    batched: bool = True,
    rounds: int = 1000,
    dim: int | None = None,
    objectives: int | None = None,
    arms: int | None = None,
) -> None:
    """Check a policy, and raise an ``AssertionError`` that says what is wrong.

    Checked are: arms in range, of the right type and shape; the same seed gives the same arms; a
    batch of one is like no batch, and a batch of several like separate learners, to the bit; inputs
    may be read-only and stay as they are; single, duplicate, collinear, zero and fewer than d arms
    work, as do single objectives and features, and arms that change; a long run gives no warning.
    A policy whose ``update`` asks for the place of the ``arm`` gets it, as in a simulation; such a
    one may count on the number of arms to stay.

    Parameters
    ----------
    make_policy
        Called with dim, objectives and batch; returns a new policy. A class or function that takes
        only dim and objectives, as :func:`mogro.compare` accepts it, makes single learners: check
        it with ``batched=False``.
    batched
        Whether the policy can be a batch; without it only ``batch=()`` is asked for.
    rounds
        Length of the long run.
    dim, objectives, arms
        Sizes that the policy is made for; otherwise several of each are tried.

    Examples
    --------
    >>> import mogro
    >>> from mogro.testing import check_policy
    >>> check_policy(mogro.MOGRO)
    >>> check_policy(lambda dim, objectives: mogro.MOGRO(dim, objectives), batched=False)
    """
    make = _maker(make_policy, batched)
    sizes = dict.fromkeys((dim or d, arms or K, objectives or M) for d, K, M in _SIZES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in sizes:
            _check_repeatable(make, *size)
            if batched:
                _check_batch(make, *size, stays=arms is not None)
        for features in _odd_arms(dim or 4, arms):
            _play(make, [features], objectives=objectives or 2, rounds=30, seed=0)
        many = _arms(dim or 5, arms or 20, seed=1)
        _play(make, [many], objectives=objectives or 3, rounds=rounds, seed=1)


def _maker(make_policy: MakePolicy, batched: bool) -> Maker:
    """Return a function of dim, objectives and batch, however the batch is taken, if it is."""
    signature = inspect.signature(make_policy)
    if "batch" in signature.parameters:
        return lambda dim, objectives, batch: make_policy(dim, objectives, batch=batch)
    try:
        signature.bind(1, 1)
    except TypeError:
        return make_policy
    if batched:
        raise ValueError(
            "make_policy: expected a parameter batch (or batched=False, to check single learners), "
            f"got {make_policy!r}"
        )
    return lambda dim, objectives, batch: make_policy(dim, objectives)


def _check_repeatable(make_policy: Maker, dim: int, arms: int, objectives: int) -> None:
    features = [_arms(dim, arms, seed=2)]
    first = _play(make_policy, features, objectives=objectives, rounds=40, seed=3)
    again = _play(make_policy, features, objectives=objectives, rounds=40, seed=3)
    assert (first == again).all(), "the same seed gave different arms"


def _check_batch(make_policy: Maker, dim: int, arms: int, objectives: int, *, stays: bool) -> None:
    fixed = [_several_arms(dim, arms, seed=0)]
    stays = stays or takes_arm(make_policy(dim, objectives, ()))
    changing = [
        _several_arms(dim, arms if stays else 1 + (arms + n) % 7, seed=n) for n in range(40)
    ]
    for offers in (fixed, changing):
        _check_learners(make_policy, offers, objectives)


def _check_learners(make_policy: Maker, offers: list[FloatArray], objectives: int) -> None:
    """Compare a batch of two by three learners with each of them alone."""
    shape = (2, 3)
    together = _play(make_policy, offers, objectives=objectives, rounds=40, seed=4, batch=shape)
    for i, j in np.ndindex(shape):
        learner = i * shape[1] + j
        offered = [features[i, 0] for features in offers]
        alone = _play(
            make_policy, offered, objectives=objectives, rounds=40, seed=4, learner=learner
        )
        _, _, arms, dim = offers[0].shape
        assert (together[:, i, j] == alone).all(), (
            f"learner {(i, j)} of a batch chose other arms than the same learner alone "
            f"(dim {dim}, {arms} arms, {objectives} objectives)"
        )
    first = [features[0] for features in offers]
    single = _play(make_policy, first, objectives=objectives, rounds=40, seed=4, batch=(1,))
    same = (single[:, 0] == together[:, 0, 0]).all()  # which is what that learner alone chose
    assert same, "a batch of one chose other arms than no batch"


def _play(
    make_policy: Maker,
    offers: list[FloatArray],
    *,
    objectives: int,
    rounds: int,
    seed: int,
    batch: tuple[int, ...] = (),
    learner: int = 0,
) -> Pulls:
    """Play rounds and return the arms, (rounds, *batch); learners are told apart by number.

    The offers, each (..., K, d), come one after the other, again and again.
    """
    dim = offers[0].shape[-1]
    policy = make_policy(dim, objectives, batch)
    by_arm = takes_arm(policy)
    theta = np.random.default_rng(seed).standard_normal((objectives, dim))
    learners = range(int(np.prod(batch))) if batch else [learner]
    generators = [np.random.default_rng([seed, number]) for number in learners]
    noise = [np.random.default_rng([seed, number, 1]) for number in learners]
    rng: Rng = (
        Streams(np.reshape(np.array(generators, dtype=object), batch)) if batch else generators[0]
    )
    shocks = np.stack([g.standard_normal((rounds, objectives)) for g in noise], axis=1)
    shocks = 0.1 * shocks.reshape(rounds, *batch, objectives)
    before = [features.copy() for features in offers]
    pulls = np.empty((rounds, *batch), dtype=np.int64)
    for number in range(rounds):
        features = offers[number % len(offers)]
        arm = policy.select(features, rng=rng)
        _check_arm(arm, features.shape[-2], batch)
        pulls[number] = arm
        if batch:
            chosen = pulls[number].copy()
            chosen.flags.writeable = False
            places = chosen[..., None, None]
            everywhere = np.broadcast_to(features, (*batch, *features.shape[-2:]))
            x = np.take_along_axis(everywhere, places, axis=-2)[..., 0, :]
        else:
            chosen, x = int(arm), features[arm]
        reward = np.matvec(theta, x) + shocks[number]
        x.flags.writeable = reward.flags.writeable = False
        policy.update(x, reward, **({"arm": chosen} if by_arm else {}))
    same = all((now == then).all() for now, then in zip(offers, before, strict=True))
    assert same, "the policy changed the features it was given"
    return pulls


def _check_arm(arm: object, arms: int, batch: tuple[int, ...]) -> None:
    if batch:
        chosen = np.asarray(arm)
        assert chosen.shape == batch, f"select: expected shape {batch}, got {arm!r}"
        integers = np.issubdtype(chosen.dtype, np.integer)
        assert integers, f"select: expected integers, got {arm!r}"
        inside = bool(((chosen >= 0) & (chosen < arms)).all())
    else:
        assert isinstance(arm, int | np.integer), f"select: expected an integer, got {arm!r}"
        inside = bool(0 <= arm < arms)
    assert inside, f"select: expected an arm, got {arm!r}"


def _arms(dim: int, arms: int, *, seed: int) -> FloatArray:
    """Return read-only features in the unit ball."""
    features = np.random.default_rng(seed).standard_normal((arms, dim))
    features /= np.maximum(1, np.linalg.norm(features, axis=1, keepdims=True))
    features.flags.writeable = False
    return features


def _several_arms(dim: int, arms: int, *, seed: int) -> FloatArray:
    """Return read-only features (2, 1, K, d) for two kinds of learners."""
    features = np.stack([_arms(dim, arms, seed=2 * seed + kind) for kind in range(2)])[:, None]
    features.flags.writeable = False
    return features


def _odd_arms(dim: int, arms: int | None) -> list[FloatArray]:
    """Return feature sets that are degenerate in one way each, of so many arms or of any number."""
    base = _arms(dim, 3, seed=5)
    odd = [
        np.zeros((3, dim)),
        np.repeat(base[:1], 5, axis=0),  # all equal
        np.outer([1.0, 0.5, -2.0], base[0]),  # collinear
        np.vstack([base, np.zeros((2, dim))]),  # some zero
        np.eye(dim)[dim // 2 :],  # half of the axes
        1e-6 * base,
        1e6 * base,
    ]
    if arms is not None:
        odd = [features[np.arange(arms) % len(features)] for features in odd]
    for features in odd:
        features.flags.writeable = False
    return odd

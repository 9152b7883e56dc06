"""What every policy must do, as one check that can be run on any of them."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mogro._streams import Rng, Streams
from mogro._validation import FloatArray, IntArray
from mogro.environments._base import read_only
from mogro.simulation import MakePolicy
from mogro.simulation._learners import takes_arm
from mogro.testing._require import require

Maker = Callable[[int, int, tuple[int, ...]], Any]

# (d, K, M): the usual, and everything that can be one or fewer than something else.
_SIZES = [(5, 20, 3), (1, 1, 1), (1, 4, 2), (4, 1, 2), (3, 7, 1), (6, 3, 2), (2, 30, 8)]


def check_policy(
    make_policy: MakePolicy,
    *,
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
        Called with dim and objectives, as :func:`mogro.compare` does, and with ``batch`` if it has
        such a parameter; returns a new policy. Without that parameter it makes single learners, and
        no batches are checked.
    rounds
        Length of the long run.
    dim, objectives, arms
        Sizes that the policy is made for; otherwise several of each are tried.

    Examples
    --------
    >>> import mogro
    >>> from mogro.testing import check_policy
    >>> check_policy(mogro.MOGRO)
    >>> check_policy(lambda dim, objectives: mogro.MOGRO(dim, objectives))
    """
    batched = "batch" in inspect.signature(make_policy).parameters

    def make(dim: int, objectives: int, batch: tuple[int, ...]) -> Any:
        return make_policy(dim, objectives, **({"batch": batch} if batched else {}))

    sizes = dict.fromkeys((dim or d, arms or K, objectives or M) for d, K, M in _SIZES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for d, K, M in sizes:
            pulls, again = (_play(make, [_arms(d, K, seed=2)], M, seed=3) for _ in range(2))
            require((pulls == again).all(), "the same seed gave different arms")
            if batched:
                fixed_arms = arms is not None or takes_arm(make(d, M, ()))
                counts = [K if fixed_arms else 1 + (K + n) % 7 for n in range(40)]
                _check_batch(make, d, [K], M)
                _check_batch(make, d, counts, M)
        for features in _odd_arms(dim or 4, arms):
            _play(make, [features], objectives or 2, seed=0)
        _play(make, [_arms(dim or 5, arms or 20, seed=1)], objectives or 3, seed=1, rounds=rounds)


def _check_batch(make_policy: Maker, dim: int, counts: list[int], objectives: int) -> None:
    """Compare a batch of two by three learners with each of them alone.

    Arms, so many in each round, are the same for learners of one row.
    """
    offers = [
        np.stack([_arms(dim, arms, seed=2 * n + row) for row in range(2)])[:, None]
        for n, arms in enumerate(counts)
    ]
    pulls = _play(make_policy, offers, objectives, seed=4, batch=(2, 3))
    for learner, (i, j) in enumerate(np.ndindex(2, 3)):
        offered = [features[i, 0] for features in offers]
        pulls_alone = _play(make_policy, offered, objectives, seed=4, learner=learner)
        require(
            (pulls[:, i, j] == pulls_alone).all(),
            f"learner {(i, j)} of a batch chose other arms than the same learner alone "
            f"(dim {dim}, {counts[0]} arms, {objectives} objectives)",
        )
    single = _play(make_policy, [offer[0] for offer in offers], objectives, seed=4, batch=(1,))
    same = (single[:, 0] == pulls[:, 0, 0]).all()  # which is what that learner alone chose
    require(same, "a batch of one chose other arms than no batch")


def _play(
    make_policy: Maker,
    offers: list[FloatArray],
    objectives: int,
    *,
    seed: int,
    rounds: int = 40,
    batch: tuple[int, ...] = (),
    learner: int = 0,
) -> IntArray:
    """Play rounds and return the arms, (rounds, *batch); learners are told apart by number.

    The offers, each (..., K, d), come one after the other, again and again.
    """
    dim = offers[0].shape[-1]
    policy = make_policy(dim, objectives, batch)
    by_arm = takes_arm(policy)
    theta = np.random.default_rng(seed).standard_normal((objectives, dim))
    learners = range(int(np.prod(batch))) if batch else [learner]
    generators = [np.random.default_rng([seed, number]) for number in learners]
    rng: Rng = Streams(np.array(generators, object).reshape(batch)) if batch else generators[0]
    noise = [np.random.default_rng([seed, number, 1]) for number in learners]
    shocks = np.stack([g.standard_normal((rounds, objectives)) for g in noise], axis=1)
    shocks = 0.1 * shocks.reshape(rounds, *batch, objectives)
    frozen = [read_only(features) for features in offers]
    pulls = np.empty((rounds, *batch), dtype=np.int64)
    for number in range(rounds):
        features = frozen[number % len(frozen)]
        arm = policy.select(features, rng=rng)
        _check_arm(arm, features.shape[-2], batch)
        pulls[number] = chosen = np.array(arm)
        offered = np.broadcast_to(features, (*batch, *features.shape[-2:]))
        x = np.take_along_axis(offered, chosen[..., None, None], axis=-2)[..., 0, :]
        reward = np.matvec(theta, x) + shocks[number]
        for array in (chosen, x, reward):
            array.flags.writeable = False
        policy.update(x, reward, **({"arm": chosen if batch else int(arm)} if by_arm else {}))
    same = all((now == then).all() for now, then in zip(frozen, offers, strict=True))
    require(same, "the policy changed the features it was given")
    return pulls


def _check_arm(arm: object, arms: int, batch: tuple[int, ...]) -> None:
    chosen = np.asarray(arm)
    require(chosen.shape == batch, f"select: expected shape {batch}, got {arm!r}")
    require(chosen.dtype.kind in "iu", f"select: expected integers, got {arm!r}")
    inside = ((chosen >= 0) & (chosen < arms)).all()
    require(inside, f"select: expected an arm from 0 to {arms - 1}, got {arm!r}")


def _arms(dim: int, arms: int, *, seed: int) -> FloatArray:
    """Return features in the unit ball."""
    features = np.random.default_rng(seed).standard_normal((arms, dim))
    return np.asarray(features / np.maximum(1, np.linalg.norm(features, axis=1, keepdims=True)))


def _odd_arms(dim: int, arms: int | None) -> list[FloatArray]:
    """Return feature sets that are degenerate in one way each, of so many arms or of any number."""
    base = _arms(dim, 3, seed=5)
    degenerate = [
        np.zeros((3, dim)),
        np.repeat(base[:1], 5, axis=0),  # all equal
        np.outer([1.0, 0.5, -2.0], base[0]),  # collinear
        np.vstack([base, np.zeros((2, dim))]),  # some zero
        np.eye(dim)[dim // 2 :],  # half of the axes
        1e-6 * base,
        1e6 * base,
    ]
    return [x if arms is None else x[np.arange(arms) % len(x)] for x in degenerate]

"""Worlds beside the linear ones: rewards, and the exact regret that a plain loop finds."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.league.environments import DriftingArms, LogisticArms, SleepingArms
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

import mogro
from mogro.environments import BernoulliArms, Replay
from mogro.simulation import Purpose, join, simulate, stream


def table(rng: np.random.Generator, *, fixed: bool) -> Replay:
    return Replay(rng.random((11, 5, 2)), rng.random((5, 3) if fixed else (11, 5, 3)))


WORLDS: dict[str, Callable[[np.random.Generator], Any]] = {
    "Bernoulli": lambda rng: BernoulliArms.sample(6, 3, rng=rng),
    "logistic": lambda rng: LogisticArms.sample(3, 8, 2, rng=rng),
    "drifting": lambda rng: DriftingArms.sample(3, 8, 2, places=3, every=13, noise=0.1, rng=rng),
    "sleeping": lambda rng: SleepingArms.sample(3, 8, 2, awake=3, noise=0.1, rng=rng),
    "replay": lambda rng: table(rng, fixed=False),
    "replay, arms that stay": lambda rng: table(rng, fixed=True),
}


def true_means(world: Any, features: np.ndarray, step: int) -> np.ndarray:
    """Return the means of the arms on offer in a round, from what the classes say they are."""
    if isinstance(world, Replay):
        return np.asarray(world.rewards[step % len(world.rewards)])
    if isinstance(world, DriftingArms):
        corners = np.arange(len(world.path)) * world.every
        path = world.path.reshape(len(corners), -1).T
        theta = [np.interp(step, corners, values) for values in path]
        return np.asarray(features @ np.reshape(theta, world.path.shape[1:]).T)
    if isinstance(world, LogisticArms):
        return np.asarray(1 / (1 + np.exp(-features @ world.coefficients.T)))
    if isinstance(world, BernoulliArms):
        return world.means
    return np.asarray(features @ world.theta.T)


@pytest.mark.parametrize("name", WORLDS)
def test_regret_is_that_of_a_plain_loop(name: str) -> None:
    world = WORLDS[name](np.random.default_rng(3))
    trace = simulate(mogro.RandomArm, world, rounds=40, repeats=2, seed=9, checkpoints=[17])
    contexts = [stream(9, 0, r, Purpose.CONTEXTS) for r in range(2)]
    expected = np.zeros((2, 2))
    for t in range(40):
        given_ = {"step": t} if isinstance(world, Replay) else {}
        for r in range(2):
            means = true_means(world, world.contexts(rng=contexts[r], **given_), t)
            arm = int(trace.arms[t, 0, r])
            expected[0, r] += mogro.pareto.gaps(means, arms=arm)
            expected[1, r] += mogro.pareto.effective_gaps(means, arms=arm)
        if t + 1 in (17, 40):
            row = [17, 40].index(t + 1)
            np.testing.assert_allclose(trace.pareto_regret[row, 0], expected[0], atol=1e-11)
            np.testing.assert_allclose(trace.effective_regret[row, 0], expected[1], atol=1e-11)


@pytest.mark.parametrize("name", WORLDS)
def test_cut_into_parts_it_is_the_same_to_the_bit(name: str) -> None:
    places = [WORLDS[name](np.random.default_rng(i)) for i in range(2)]
    whole = simulate(mogro.MOGRO, places, rounds=30, repeats=3, seed=4)
    parts = [
        simulate(mogro.MOGRO, places, rounds=30, repeats=n, seed=4, start=(0, first))
        for first, n in ((0, 1), (1, 2))
    ]
    joined = join(parts, along="repeats")
    alone = [
        simulate(mogro.MOGRO, place, rounds=30, repeats=3, seed=4, start=(i, 0))
        for i, place in enumerate(places)
    ]
    for other in (joined, join(alone)):
        for field in ("arms", "effective_regret", "pareto_regret", "rewards"):
            assert np.array_equal(getattr(whole, field), getattr(other, field)), field


@pytest.mark.parametrize("name", WORLDS)
def test_pickled_and_shown(name: str) -> None:
    world = WORLDS[name](np.random.default_rng(0))
    again = pickle.loads(pickle.dumps(world))
    assert repr(again) == repr(world)
    assert f"arms={world.arms}" in repr(world)
    one, other = (
        simulate(mogro.RandomArm, place, rounds=5, seed=1).effective_regret
        for place in (world, again)
    )
    assert np.array_equal(one, other)


@examples(30)
@given(total=st.integers(1, 9), data=st.data())
def test_every_set_of_arms_awake_is_a_set(total: int, data: st.DataObject) -> None:
    awake = data.draw(st.integers(1, total))
    world = SleepingArms(np.arange(float(total))[:, None], np.ones((1, 1)), awake=awake, noise=0.0)
    seen = world.contexts(rng=np.random.default_rng(total), batch=(300,))[..., 0]
    assert (np.diff(seen, axis=-1) > 0).all()  # in their order, and none twice
    shares = np.bincount(seen.astype(int).ravel(), minlength=total) / 300
    assert np.abs(shares - awake / total).max() < 0.18  # six standard deviations


def test_a_replay_gives_the_rewards_of_its_rows() -> None:
    world = table(np.random.default_rng(0), fixed=False)
    trace = simulate(mogro.RandomArm, world, rounds=25, repeats=2, checkpoints=range(1, 26))
    steps = np.diff(trace.rewards[:, 0], axis=0, prepend=0)
    rows = np.arange(25)[:, None] % 11
    np.testing.assert_allclose(steps, world.rewards[rows, trace.arms[:, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("means: expected values from 0 to 1", lambda: BernoulliArms(np.array([[1.5]]))),
        ("means: expected finite", lambda: BernoulliArms(np.array([[np.nan]]))),
        ("coefficients: expected shape", lambda: LogisticArms(np.eye(2), np.ones((1, 3)))),
        ("path: expected shape", lambda: DriftingArms(np.eye(2), np.eye(2), every=1, noise=0)),
        (
            "number of places in path: expected",
            lambda: DriftingArms(np.eye(2), np.ones((1, 1, 2)), every=1, noise=0),
        ),
        (
            "every: expected",
            lambda: DriftingArms(np.eye(2), np.ones((2, 1, 2)), every=0, noise=0),
        ),
        ("awake: expected at most 2", lambda: SleepingArms(np.eye(2), np.eye(2), awake=3, noise=0)),
        ("rewards: expected shape", lambda: Replay(np.ones((2, 3)), np.ones((3, 1)))),
        ("features: expected shape", lambda: Replay(np.ones((2, 3, 1)), np.ones((1, 3, 1)))),
    ],
)
def test_refusals(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=message):
        call()

"""MOGRO against the paper's pseudo-code, and what it promises."""

from typing import Any

import numpy as np
import pytest
from tests.oracles import algorithm_1

import mogro
from mogro._validation import FloatArray
from mogro.environments import FixedArms


def worlds() -> dict[str, FloatArray]:
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    sample = FixedArms.sample(5, 30, 3, noise=0.1, rng=rng).features
    flat = FixedArms.sample(3, 30, 3, noise=0.1, rng=rng).features
    return {
        "all of the space": sample,
        "a subspace": np.hstack([flat, np.zeros((30, 2))]) @ turn,
        "few arms": sample[:3],
        "units from 0.1 to 100": sample * np.logspace(-1, 2, 5),
        "duplicates and zeros": np.vstack([sample[:6], sample[:6], np.zeros((2, 5))]),
    }


@pytest.mark.parametrize("kind", worlds())
@pytest.mark.parametrize("weights", ["random", "round robin"])
@pytest.mark.parametrize(
    ("threshold", "rounds"),
    [
        (1.0, 400),
        pytest.param(0.1, 400, marks=pytest.mark.slow),
        pytest.param(3.0, 5000, marks=pytest.mark.slow),
    ],
)
def test_the_papers_algorithm(kind: str, weights: str, threshold: float, rounds: int) -> None:
    """Exactly, by the recipe in the docstring; in rounds that explore and that are greedy."""
    features = worlds()[kind]
    rng = np.random.default_rng(1)
    theta = np.abs(rng.standard_normal((3, 5))) / np.abs(features).max(axis=0)
    threshold *= np.square(np.abs(features).max(axis=0)).min()
    rewards = features @ theta.T + 0.1 * rng.standard_normal((rounds, len(features), 3))
    random = weights == "random"
    rule = mogro.BasisRoundRobin(features)
    expected = algorithm_1.play(
        features,
        rewards,
        basis=rule.basis,
        threshold=threshold,
        rng=np.random.default_rng(2) if random else None,
    )
    policy = mogro.MOGRO(
        5,
        3,
        threshold=threshold,
        exploration=rule,
        scalarization=mogro.RandomWeights() if random else mogro.RoundRobin(),
    )
    own = np.random.default_rng(2)
    for t, arm in enumerate(expected):
        assert policy.select(features, rng=own) == arm, f"round {t + 1}"
        policy.update(features[arm], rewards[t, arm])
    assert not policy.exploring


@pytest.mark.parametrize("kind", ["all of the space", "a subspace", "few arms"])
@pytest.mark.parametrize("scale", [1e4, 1e5, 1e7])
def test_a_threshold_far_below_the_squares_of_features(kind: str, scale: float) -> None:
    """A flat prior weighs more than it, but is no observation."""
    features = scale * worlds()[kind]
    rng = np.random.default_rng(3)
    rewards = features @ rng.standard_normal((5, 3)) / scale
    rewards = rewards + 0.1 * rng.standard_normal((50, len(features), 3))
    rule = mogro.BasisRoundRobin(features)
    expected = algorithm_1.play(features, rewards, basis=rule.basis, threshold=1.0, rng=None)
    for exploration in (rule, mogro.WeakestDirection()):
        policy = mogro.MOGRO(
            5, 3, threshold=1.0, exploration=exploration, scalarization=mogro.RoundRobin()
        )
        explored = 0
        for t, arm in enumerate(expected):
            choice = policy.select(features, rng=rng)
            assert exploration is not rule or choice == arm, f"round {t + 1}"
            policy.update(features[choice], rewards[t, choice])
            explored += bool(policy.exploring)
        assert explored == rule.basis.size


@pytest.mark.slow
@pytest.mark.parametrize("size", [(5, 50, 5), (10, 200, 10)])
def test_effective_regret_against_baselines(size: tuple[int, int, int]) -> None:
    """The paper's fixed instances, pooled over runs: 3 instances with 2 repeats."""
    d, K, M = size
    rounds, instances, repeats = 1000, 3, 2
    sampled = [
        FixedArms.sample(d, K, M, noise=0.1, rng=np.random.default_rng([9, i]))
        for i in range(instances)
    ]
    features = np.stack([world.features for world in sampled])[:, None]
    means = np.stack([world.features @ world.theta.T for world in sampled])
    gaps = mogro.pareto.effective_gaps(means)
    batch = (instances, repeats)
    makers = {
        "default": mogro.MOGRO(d, M, batch=batch),
        "threshold 0.1": mogro.MOGRO(d, M, threshold=0.1, batch=batch),
        "ucb": mogro.UCB(d, M, noise=0.1, delta=1 / rounds, batch=batch),
        "epsilon": mogro.EpsilonGreedy(d, M, batch=batch),
    }
    at = np.indices(batch)[0]
    total, late = {}, {}
    for name, policy in makers.items():
        keys = [
            [np.random.default_rng([7, i, j]) for j in range(repeats)] for i in range(instances)
        ]
        rng, noise = mogro.Streams(keys, ahead=True), np.random.default_rng(8)
        regret = np.empty(rounds)
        for t in range(rounds):
            arms = np.asarray(policy.select(features, rng=rng))
            shocks = 0.1 * noise.standard_normal((*batch, M))
            policy.update(features[at, 0, arms], means[at, arms] + shocks)
            regret[t] = gaps[at, arms].sum()
        total[name], late[name] = regret.sum(), regret[rounds // 2 :].sum()
    for ours in ("default", "threshold 0.1"):
        assert total[ours] < total["ucb"]
        assert total[ours] < total["epsilon"]
        assert late[ours] < 0.01 * late["epsilon"]


def test_a_plain_bandit_through_identity_features() -> None:
    rng = np.random.default_rng(0)
    means = np.array([[1.0, 0.0], [0.0, 1.0], [0.4, 0.4], [0.1, 0.9]])
    policy = mogro.MOGRO(4, 2)
    sums, counts = np.zeros((4, 2)), np.zeros(4)
    for _ in range(400):
        arm = int(policy.select(np.eye(4), rng=rng))
        reward = means[arm] + 0.1 * rng.standard_normal(2)
        policy.update(np.eye(4)[arm], reward)
        sums[arm] += reward
        counts[arm] += 1
    np.testing.assert_allclose(policy.theta.T, sums / counts[:, None])  # averages of each arm
    assert counts[0] > 100
    assert counts[1] > 100
    assert counts[2] < 10


def test_learning_from_a_log() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 4))
    y = x @ rng.standard_normal((4, 2)) + 0.1 * rng.standard_normal((200, 2))
    slow, fast = mogro.MOGRO(4, 2), mogro.MOGRO(4, 2)
    for row, reward in zip(x, y, strict=True):
        slow.update(row, reward)
    fast.learn(x, y)
    np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-10)
    np.testing.assert_allclose(fast.estimate(x[:5]).errors, slow.estimate(x[:5]).errors, rtol=1e-9)
    fast.select(x, rng=rng)
    assert not fast.exploring  # the log has taught every direction


def test_one_policy_for_many_kinds_of_offers() -> None:
    """Arms, their number and their precision may change from round to round."""
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((2, 3))
    policy = mogro.MOGRO(3, 2)
    for t in range(300):
        x = rng.standard_normal((1 + t % 7, 3)).astype(np.float32 if t % 2 else np.float64)
        arm = int(policy.select(x, rng=rng))
        policy.update(x[arm], theta @ x[arm] + 0.1 * rng.standard_normal(2))
    assert np.abs(policy.theta - theta).max() < 0.1
    integers = policy.select(np.eye(3, dtype=int).tolist(), rng=rng)
    assert isinstance(integers, int)


def test_exploring_is_a_plain_bool_or_an_array_of_its_own() -> None:
    assert mogro.MOGRO(2, 1).exploring is True
    policy = mogro.MOGRO(2, 1, batch=(2,))
    told = policy.exploring
    assert isinstance(told, np.ndarray)
    told[:] = False
    assert np.all(policy.exploring)


def test_repr_shows_what_differs_from_the_defaults() -> None:
    assert repr(mogro.MOGRO(3, 2)) == "MOGRO(dim=3, objectives=2)"
    shown = repr(mogro.MOGRO(3, 2, threshold=1, scalarization=mogro.RoundRobin(), batch=(4,)))
    assert shown == (
        "MOGRO(dim=3, objectives=2, threshold=1.0, scalarization=RoundRobin(), batch=(4,))"
    )
    assert "noise=0.1" in repr(mogro.UCB(2, 2, noise=0.1, delta=0.1))


def test_arms_that_were_settled_are_looked_at_again_once_they_differ() -> None:
    rng = np.random.default_rng(0)
    policy = mogro.MOGRO(3, 2, threshold=0.1)
    arms = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    for _ in range(20):
        arm = policy.select(arms, rng=rng)
        policy.update(arms[arm], rng.standard_normal(2))
    assert not policy.exploring
    arms[1] = [0.0, 0.0, 1.0]  # in place: the same array, a direction never seen
    assert policy.select(arms, rng=rng) == 1
    assert policy.exploring


def test_arms_settled_before_a_restore_are_looked_at_again() -> None:
    rng = np.random.default_rng(0)
    arms = np.eye(3)[:2]
    policy, fresh = mogro.MOGRO(3, 2), mogro.MOGRO(3, 2)
    for _ in range(20):
        policy.update(arms[policy.select(arms, rng=rng)], rng.standard_normal(2))
    policy.load_state(fresh.save_state())
    policy.select(arms, rng=rng)
    assert policy.exploring


@pytest.mark.parametrize("place", range(4))
def test_of_many_arms_a_new_one_is_explored_wherever_it_stands(place: int) -> None:
    rng = np.random.default_rng(0)
    policy = mogro.MOGRO(3, 1)
    known = rng.standard_normal((200, 3)) * [1, 1, 0]
    policy.learn(known, known @ [[1.0], [2.0], [0.0]])
    arms = rng.standard_normal((200, 3)) * [1, 1, 0]
    arms[place] = [0.0, 0.0, 0.1]  # never seen; by the estimates not the best
    pulled = []
    for _ in range(32):  # every eighth round looks at 50 of these arms
        pulled.append(policy.select(arms, rng=rng))
        policy.update(arms[pulled[-1]], arms[pulled[-1]] @ [[1.0], [2.0], [0.0]])
    assert pulled.count(place) == 1


def _play(features: FloatArray, means: FloatArray) -> tuple[list[int], int]:
    """Return what the default pulls in 200 rounds, and in how many of them it explored."""
    policy, rng = mogro.MOGRO(features.shape[1], means.shape[1]), np.random.default_rng(1)
    pulled, explored = [], 0
    for _ in range(200):
        pulled.append(int(policy.select(features, rng=rng)))
        explored += bool(policy.exploring)
        policy.update(features[pulled[-1]], means[pulled[-1]] + 0.01 * rng.standard_normal(2))
    return pulled, explored


def test_without_a_threshold_the_units_of_features_decide_nothing() -> None:
    features = np.random.default_rng(0).standard_normal((20, 5))
    scaled = features * [1e-8, 1e-3, 1.0, 1e3, 1e8]
    assert _play(features, features[:, :2])[0] == _play(scaled, features[:, :2])[0]


@pytest.mark.parametrize("offset", [0.0, 10.0, 300.0])
def test_without_a_threshold_an_offset_of_features_prolongs_nothing(offset: float) -> None:
    features = np.random.default_rng(0).standard_normal((20, 5))
    moved = np.hstack([features + offset, np.ones((20, 1))])
    assert 6 <= _play(moved, features[:, :2])[1] <= 12


@pytest.mark.parametrize("objectives", [1, 3])
def test_without_a_threshold_no_arm_is_lost_for_good(objectives: int) -> None:
    rng = np.random.default_rng(0)
    arms = np.array([[1.0], [0.0]])
    policy = mogro.MOGRO(1, objectives)
    policy.learn(np.zeros((5000, 1)), 5 * rng.standard_normal((5000, objectives)))
    # Bad luck: the better arm looks worse by three standard errors of the sum of objectives.
    policy.learn(arms[:1], np.full((1, objectives), -15 / objectives**0.5))
    pulled = []
    for _ in range(200):  # one round in 184 is optimistic by more than four
        pulled.append(policy.select(arms, rng=rng))
        policy.update(arms[pulled[-1]], 5 * rng.standard_normal(objectives))
    assert 0 in pulled


@pytest.mark.parametrize("prior", ["flat", mogro.priors.Learned, 1.0, None])
def test_prior_is_one_of_the_priors(prior: Any) -> None:
    with pytest.raises(ValueError, match=r"prior: expected one of mogro\.priors, got"):
        mogro.MOGRO(3, 1, prior=prior)
    if prior is not None:
        with pytest.raises(ValueError, match=r"prior: expected one of mogro\.priors, got"):
            mogro.Agent([mogro.Objective("a")], arms=2, seed=0, prior=prior)

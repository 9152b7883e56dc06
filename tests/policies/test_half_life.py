"""Policies that forget: an observation counts for half after so many updates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import least_squares
from tests.properties import examples, mostly_slow

import mogro
from mogro._validation import FloatArray
from mogro.priors import Fixed, Flat, Prior

PRIORS = [Flat(), Fixed(0.5), Fixed(2.0, mean=[1.0, -1.0, 0.5])]


def fitted(
    prior: Prior, x: FloatArray, y: FloatArray, half_life: float
) -> tuple[least_squares.Fit, FloatArray]:
    """Return the weighted least squares of a history, and the weights: the last counts for 1."""
    weights = 0.5 ** (np.arange(len(x) - 1, -1, -1) / half_life)
    if isinstance(prior, Fixed):
        precision, mean = np.asarray(prior.precision), np.asarray(prior.mean)
        return least_squares.ridge(x, y, precision=precision, mean=mean, weights=weights), weights
    sizes = np.sqrt(np.average(np.square(x), axis=0, weights=weights))
    return least_squares.minimum_norm(x, y, sizes=sizes, weights=weights), weights


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("half_life", mostly_slow([20.0, 2.0, 1000.0]))
@pytest.mark.parametrize("batch", [(), (2,)])
def test_updates_are_weighted_least_squares(
    prior: Prior, half_life: float, batch: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((80, *batch, 3)), rng.standard_normal((80, *batch, 2))
    arms = rng.standard_normal((5, 3))
    policy = mogro.MOGRO(3, 2, prior=prior, half_life=half_life, batch=batch)
    for n in range(80):
        policy.update(x[n], y[n])
        if n < 20:
            continue
        estimate = policy.estimate(arms)
        for at in np.ndindex(batch):
            seen, rewards = x[: n + 1, *at], y[: n + 1, *at]
            expected, weights = fitted(prior, seen, rewards, half_life)
            assert policy.posterior.n[at] == pytest.approx(weights.sum())
            np.testing.assert_allclose(policy.theta[at], expected.theta, rtol=1e-5, atol=1e-6)
            if expected.free > 1.001:
                noise = expected.squares / expected.free
                np.testing.assert_allclose(policy.posterior.noise[at], noise, rtol=1e-5)
                V = (seen * weights[:, None]).T @ seen
                precision = np.asarray(prior.precision) if isinstance(prior, Fixed) else 0.0
                S = np.linalg.inv(V + precision * np.eye(3))
                errors = np.sqrt(np.outer(np.diag(arms @ S @ arms.T), noise))
                np.testing.assert_allclose(estimate.errors[at], errors, rtol=1e-4)


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 40), st.sampled_from(PRIORS))
@examples(40)
def test_a_log_is_one_update_after_the_other(
    seed: int, first: int, second: int, prior: Prior
) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((first + second, 3)), rng.standard_normal((first + second, 2))
    one, other = (mogro.MOGRO(3, 2, prior=prior, half_life=7.0) for _ in range(2))
    for observation in zip(x, y, strict=True):
        one.update(*observation)
    other.learn(x[:first], y[:first])
    other.learn(x[first:], y[first:])
    for name in ("n", "V", "b", "y2"):
        ours, theirs = getattr(one.posterior, name), getattr(other.posterior, name)
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12)
    expected, weights = fitted(prior, x, y, 7.0)
    for policy in (one, other):
        root = np.sqrt(weights)[:, None]
        off = root * (x @ (policy.theta - expected.theta).T)
        assert np.abs(off).max() <= 1e-4 * np.abs(root * y).max() + 1e-6


def test_greedy_choices_are_those_of_the_weighted_estimates() -> None:
    """With a threshold that is soon reached, and one objective, nothing is random."""
    rng = np.random.default_rng(1)
    arms = rng.standard_normal((8, 3))
    policy = mogro.MOGRO(3, 1, threshold=0.05, half_life=15.0)
    history: list[FloatArray] = []
    rewards: list[list[float]] = []
    greedy = 0
    for t in range(300):
        theta = np.array([np.cos(t / 60), np.sin(t / 60), 0.3])
        arm = policy.select(arms, rng=rng)
        if not policy.exploring:
            greedy += 1
            expected, _ = fitted(Flat(), np.array(history), np.array(rewards), 15.0)
            assert arm == (arms @ expected.theta[0]).argmax()
        history.append(arms[arm])
        rewards.append([arms[arm] @ theta + 0.1 * rng.standard_normal()])
        policy.update(history[-1], rewards[-1])
    assert greedy > 150


def test_exploration_goes_by_what_is_left() -> None:
    rng = np.random.default_rng(2)
    arms = rng.standard_normal((6, 3))
    policy, B = mogro.MOGRO(3, 2, threshold=1.0, half_life=9.0), 1.0
    V = np.zeros((3, 3))
    explored = 0
    for _ in range(200):
        least = float(np.linalg.eigvalsh(V)[0])
        arm = policy.select(arms, rng=rng)
        if abs(least - B) > 1e-6:
            assert policy.exploring == (least < B)
        explored += bool(policy.exploring)
        policy.update(arms[arm], rng.standard_normal(2))
        V = 0.5 ** (1 / 9) * V + np.outer(arms[arm], arms[arm])
    assert 3 < explored < 200


def test_a_policy_forgets_in_simulations_too() -> None:
    rng = np.random.default_rng(3)
    worlds = [mogro.environments.FixedArms.sample(3, 8, 2, noise=0.3, rng=rng) for _ in range(2)]
    found = mogro.simulate(
        lambda dim, objectives, batch: mogro.MOGRO(dim, objectives, half_life=10.0, batch=batch),
        worlds,
        rounds=60,
        repeats=2,
        seed=1,
        probe=lambda policy: policy.posterior.n[..., 0],
    )
    expected = (1 - 0.5 ** (found.checkpoints / 10)) / (1 - 0.5**0.1)
    assert (found.checkpoints == np.arange(1, 61)).all()
    np.testing.assert_allclose(found.probed, np.broadcast_to(expected[:, None, None], (60, 2, 2)))


def test_one_that_forgets_follows_a_world_that_changes() -> None:
    means = np.array([1.0, 0.0])
    pulls = {}
    for half_life in (None, 50.0):
        rng = np.random.default_rng(4)
        policy = mogro.MOGRO(2, 1, half_life=half_life, batch=(20,))
        soon = np.zeros(20)
        for t in range(750):
            now = means if t < 600 else means[::-1]
            arm = np.asarray(policy.select(np.eye(2), rng=rng))
            soon += (t >= 650) & (t < 750) & (arm == 1)
            reward = now[arm] + 0.5 * rng.standard_normal(20)
            policy.update(np.eye(2)[arm], reward[:, None])
        pulls[half_life] = soon.mean()
    assert pulls[50.0] > 80  # of 100
    assert pulls[None] < 20


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e60, 1e160, 1e300])
def test_bad_numbers_do_not_even_fade_anything(bad: float) -> None:
    policy = mogro.MOGRO(2, 1, half_life=3.0)
    policy.update([1.0, 0.0], [1.0])
    before = policy.save_state()
    for x, y in (([bad, 0.0], [1.0]), ([1.0, 0.0], [bad])):
        with pytest.raises(ValueError, match=r"features|reward"):
            policy.update(x, y)
        with pytest.raises(ValueError, match=r"features|rewards"):
            policy.learn([x], [y])
    after = policy.save_state()
    assert all((before[name] == after[name]).all() for name in before)


@pytest.mark.parametrize("half_life", [0, -1.0, np.nan, np.inf, "a", True])
def test_half_lives_that_are_none_are_refused(half_life: object) -> None:
    with pytest.raises(ValueError, match="half_life"):
        mogro.MOGRO(2, 1, half_life=half_life)  # type: ignore[arg-type]

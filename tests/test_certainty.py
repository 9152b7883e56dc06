"""What is certain about fronts: against slow oracles, and by simulation."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracles import certainty as oracle
from tests.properties import mostly_slow

import mogro
from mogro.policies import FrontIdentification

EYE = np.eye(4)


def learned(arms: np.ndarray, means: np.ndarray, counts: np.ndarray, seed: int) -> mogro.MOGRO:
    rng = np.random.default_rng(seed)
    policy = mogro.MOGRO(arms.shape[1], means.shape[1])
    places = np.repeat(np.arange(len(arms)), counts)
    policy.learn(arms[places], means[places] + rng.normal(size=(len(places), means.shape[1])))
    return policy


@pytest.mark.parametrize("effective", [False, True])
@pytest.mark.parametrize("kind", ["separate", "dense", "scaled", "copies", "one"])
@pytest.mark.parametrize("seed", mostly_slow(range(6), fast=2))
def test_claims_are_those_of_the_oracle(kind: str, seed: int, effective: bool) -> None:
    rng = np.random.default_rng(seed)
    arms = {
        "separate": np.eye(6),
        "dense": rng.normal(size=(7, 3)),
        "scaled": np.diag(rng.uniform(0.5, 2, 5)),
        "copies": rng.normal(size=(6, 2))[[0, 1, 2, 0, 4, 1]],
        "one": np.array([[1.0, 2.0]]),
    }[kind]
    M = 1 + seed % 3
    means = arms @ rng.normal(size=(arms.shape[1], M))
    counts = rng.integers(20, 400, len(arms)) * (1 + 9 * (seed > 2))
    policy = learned(arms, means, counts, seed)
    if kind == "one":
        policy.update([1.0, 0.0], [0.0] * M)
    V, theta = policy.posterior.V[0], policy.theta
    on, off = oracle.classify(V, theta, arms, delta=0.1, effective=effective)
    known = policy.front_confidence(arms, noise=1.0, delta=0.1, effective=effective)
    assert known.on.tolist() == on
    assert known.off.tolist() == off
    assert not (known.on & known.off).any()


def test_noise_of_each_objective_is_a_unit() -> None:
    rng = np.random.default_rng(0)
    means, units = rng.normal(size=(4, 3)), np.array([0.1, 1.0, 30.0])
    policy = learned(EYE, means, np.full(4, 300), 0)
    scaled = mogro.MOGRO(4, 3)
    scaled.learn(np.repeat(EYE, 300, 0), np.repeat(policy.estimate(EYE).values * units, 300, 0))
    plain = policy.front_confidence(EYE, noise=1.0)
    other = scaled.front_confidence(EYE, noise=units.tolist())
    np.testing.assert_array_equal(plain, other)
    assert plain.on.any()


def test_unknown_arms_are_open() -> None:
    policy = mogro.MOGRO(3, 2)
    assert policy.front_confidence(np.eye(3), noise=1.0).open.all()
    policy.learn(np.repeat(np.eye(3)[:2], 500, 0), np.repeat([[9.0, 9.0], [0.0, 0.0]], 500, 0))
    for effective in (False, True):
        known = policy.front_confidence(np.eye(3), noise=1.0, effective=effective)
        assert known.off.tolist() == [False, True, False]
        assert not known.on.any()


def test_prior_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    arms, rewards = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    known = []
    for prior in (mogro.priors.Flat(), mogro.priors.Fixed(50.0, mean=3.0)):
        policy = mogro.MOGRO(3, 2, prior=prior)
        policy.learn(arms, rewards + arms[:, :2] * 3)
        known.append(policy.front_confidence(arms[:10], noise=1.0, tolerance=0.2))
    np.testing.assert_array_equal(known[0], known[1])
    assert (known[0].on | known[0].off).any()


def test_what_fades_is_never_certain() -> None:
    with pytest.raises(ValueError, match="half_life: expected None, got 10"):
        mogro.MOGRO(2, 2, half_life=10.0).front_confidence(np.eye(2), noise=1.0)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"noise": 0.0}, "noise: expected numbers above 0"),
        ({"noise": [1.0, 2.0, 3.0]}, "noise: expected a number, or one for each of 2 objectives"),
        ({"noise": 1.0, "delta": 0.0}, "delta: expected"),
        ({"noise": 1.0, "delta": 1.5}, "delta: expected"),
        ({"noise": 1.0, "tolerance": -1.0}, "tolerance: expected"),
        ({"noise": 1.0, "ridge": 0.0}, "ridge: expected"),
    ],
)
def test_refusals(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mogro.MOGRO(2, 2).front_confidence(np.eye(2), **setting)
    with pytest.raises(ValueError, match=message):
        FrontIdentification(2, 2, **setting)


def ever_wrong(make: Any, world: Any, *, noise: float, delta: float, runs: int) -> np.ndarray:
    """Return which runs ever classified an arm wrongly, and which decided all arms."""
    front = mogro.pareto.front(world.means)

    def look(policy: Any) -> np.ndarray:
        known = policy.front_confidence(world.features, noise=noise, delta=delta)
        wrong = (known.on & ~front | known.off & front).any(-1)
        return np.stack([wrong, ~known.open.any(-1)], axis=-1)

    times = np.unique(np.geomspace(2, 400, 30).astype(int)).tolist()
    trace = mogro.simulate(make, world, rounds=400, repeats=runs, checkpoints=times, probe=look)
    return np.asarray(trace.probed[:, 0].max(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("dense", [False, True])
def test_claims_are_right_at_all_times(dense: bool) -> None:
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.2], [-1.0, 0.2]]) if dense else EYE
    theta = np.eye(2) if dense else np.array([[1.0, 0.0, 0.4, -0.5], [0.0, 1.0, -0.6, 0.4]])
    world = mogro.environments.FixedArms(arms, theta, noise=0.3)
    make = partial(FrontIdentification, noise=0.3, delta=0.2)
    wrong, decided = ever_wrong(make, world, noise=0.3, delta=0.2, runs=200).T
    assert wrong.mean() <= 0.2
    assert decided.mean() > 0.5  # the region is no wider than it has to be
    wrong, _ = ever_wrong(make, world, noise=0.01, delta=0.2, runs=200).T
    assert wrong.mean() > 0.2  # and the test can fail: the noise is thirty times what was said


def test_run_ends_when_all_have_finished() -> None:
    world = mogro.environments.FixedArms(
        EYE, np.array([[1, 0, 0.5, -0.4], [0, 1, -0.4, 0.5]]), noise=0.15
    )
    make = partial(FrontIdentification, noise=0.15)
    run = partial(
        mogro.simulate,
        make,
        world,
        rounds=5000,
        until=FrontIdentification.is_finished,
        probe=lambda policy: policy.identified().on,
    )
    trace = run(repeats=3, checkpoints=[7, 5000])
    assert 7 < trace.rounds == trace.finished.max() < 5000
    assert trace.checkpoints.tolist() == [7, trace.rounds]
    assert trace.probed[-1, 0].tolist() == [[1, 1, 0, 0]] * 3
    assert trace.pulls()[-1].sum(-1).tolist() == [[trace.rounds] * 3]
    for repeat in range(3):
        alone = run(checkpoints=[7, 5000], start=(0, repeat))
        assert alone.finished[0, 0] == trace.finished[0, repeat] == alone.rounds
        plain = mogro.simulate(make, world, rounds=alone.rounds, start=(0, repeat))
        np.testing.assert_array_equal(plain.arms, alone.arms)
        assert plain.effective_regret[-1] == alone.effective_regret[-1]
        assert (plain.finished == 0).all()


def test_single_learner_without_a_probe_ends_too() -> None:
    world = mogro.environments.FixedArms(np.eye(2), np.eye(2)[[0, 0]], noise=0.1)
    make = partial(FrontIdentification, noise=0.1)
    trace = mogro.simulate(make, world, rounds=500, until=FrontIdentification.is_finished)
    assert trace.rounds == trace.finished[0, 0] < 100
    assert trace.checkpoints[-1] == trace.rounds == len(trace.arms)
    np.testing.assert_allclose(trace.effective_regret[-1, 0, 0], (trace.arms == 1).sum())


def test_until_is_checked() -> None:
    world = mogro.environments.FixedArms(np.eye(2), np.eye(2), noise=0.1)
    with pytest.raises(ValueError, match="until: expected it to return numbers in the shape"):
        mogro.simulate(mogro.MOGRO, world, rounds=5, repeats=2, until=lambda policy: True)


def test_finished_policy_goes_on_after_loading(tmp_path: Path) -> None:
    world = mogro.environments.FixedArms(np.eye(3), np.arange(6.0).reshape(2, 3), noise=2.0)
    policy = FrontIdentification(3, 2, noise=2.0, tolerance=0.1)
    rng, arms = np.random.default_rng(0), []
    for step in range(700):
        if step == 433:  # between two looks
            policy.save(tmp_path / "policy.npz")
        arms.append(policy.select(world.features, rng=rng))
        policy.update(world.features[arms[-1]], world.means[arms[-1]] + rng.normal(size=2))
    again, rng = FrontIdentification.load(tmp_path / "policy.npz"), np.random.default_rng(0)
    rng.normal(size=(433, 2))
    for arm in arms[433:]:
        assert again.select(world.features, rng=rng) == arm
        again.update(world.features[arm], world.means[arm] + rng.normal(size=2))
    assert again.identified().off.tolist() == policy.identified().off.tolist()


@pytest.mark.slow
def test_fewer_pulls_than_in_turn() -> None:
    means = np.array([[1.0, 0.0], [0.9, 0.3], [0.0, 0.0], [-1.0, -1.0], [-0.5, -2.0]])
    world = mogro.environments.FixedArms(np.eye(5), means.T, noise=0.5)
    make = partial(FrontIdentification, noise=0.5)
    trace = mogro.simulate(
        make, world, rounds=50_000, repeats=5, until=FrontIdentification.is_finished
    )
    policy = mogro.MOGRO(5, 2)
    turns = int(trace.finished.mean() // 5)
    policy.learn(np.repeat(np.eye(5), turns, axis=0), np.repeat(means, turns, axis=0))
    assert policy.front_confidence(np.eye(5), noise=0.5).open.any()


def test_tolerance_is_no_share_of_uniform_draws() -> None:
    agent = mogro.Agent(
        [mogro.Objective("a"), mogro.Objective("b")],
        arms=2,
        seed=0,
        policy=lambda d, m: FrontIdentification(d, m, noise=0.1, tolerance=2.0),
    )
    rng, arms = np.random.default_rng(0), {"x": [1.0, 0.1], "y": [0.2, 0.9], "z": [0.7, 0.8]}
    for _ in range(20):
        decision = agent.decide(arms)
        assert not decision.event.uniform
        assert decision.propensity == 1
        agent.reward(decision.id, {"a": rng.normal(), "b": rng.normal()})
    assert sorted(agent.probabilities(arms).values) == [0, 0, 1]


def test_arms_that_change_in_place_are_new_arms() -> None:
    policy, arms, rng = FrontIdentification(2, 2, noise=0.1), np.eye(2), np.random.default_rng(0)
    while not policy.is_finished():
        arm = policy.select(arms, rng=rng)
        policy.update(arms[arm], arms[arm] + 0.1 * rng.normal(size=2))
    assert policy.identified().on.all()
    arms[:] = [[1.0, 1.0], [0.1, 0.1]]
    policy.select(arms, rng=rng)
    assert not policy.identified().on[1]


@pytest.mark.parametrize("seed", mostly_slow([0, 1, 5, 10, 13, 15], fast=2))
def test_batch_is_its_single_learners_whatever_their_arms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, K, M = 4, int(rng.integers(2, 6)), 1 + seed % 2
    arms = rng.normal(size=(size, K, K))
    if seed % 5 == 0:
        arms[1:] = np.eye(K)
    make = partial(FrontIdentification, K, M, noise=0.5, tolerance=0.3)
    together, apart = make(batch=(size,)), [make() for _ in range(size)]
    theta = rng.normal(size=(M, K))
    dense = rng.normal(size=(size, K))
    dense[2:] = np.eye(K)[0]
    for policy, features in ((together, dense), *zip(apart, dense, strict=True)):
        policy.update(features, np.zeros((*policy.batch, M)))
    for _ in range(60):
        chosen = together.select(arms, rng=rng)
        alone = [p.select(each, rng=rng) for p, each in zip(apart, arms, strict=True)]
        assert np.array_equal(chosen, np.array(alone))
        known = [policy.identified() for policy in apart]
        np.testing.assert_array_equal(together.identified().on, [each.on for each in known])
        np.testing.assert_array_equal(together.identified().off, [each.off for each in known])
        x = arms[np.arange(size), chosen]
        y = x @ theta.T + 0.5 * rng.normal(size=(size, M))
        together.update(x, y)
        for policy, features, reward in zip(apart, x, y, strict=True):
            policy.update(features, reward)


@pytest.mark.parametrize(
    ("until", "message"),
    [
        (lambda policy: (policy.posterior.n >= 3) * 1, "until: expected it to return True or"),
        (lambda policy: np.ones((1, 2, 1), dtype=bool), "until: expected it to return True or"),
        ("yes", "until: expected a function"),
    ],
)
def test_until_says_yes_or_no(until: Any, message: str) -> None:
    world = mogro.environments.FixedArms(np.eye(2), np.eye(2), noise=0.1)
    with pytest.raises(ValueError, match=message):
        mogro.simulate(mogro.MOGRO, world, rounds=5, repeats=2, until=until)

"""Bad input is refused with a ValueError that names the argument, and changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mogro
from mogro.policies import LinearPolicy

BATCHES: tuple[tuple[int, ...], ...] = ((), (2,))
NOT_SIZES: tuple[Any, ...] = (0, -1, 1.0, 2.5, True, None, "3", np.nan, [2])
NOT_NUMBERS: tuple[Any, ...] = (np.nan, np.inf, -np.inf, "1", None, [1.0], True, 10**400)


def policies(batch: tuple[int, ...]) -> dict[str, LinearPolicy]:
    return {
        "mogro": mogro.MOGRO(3, 2, batch=batch),
        "hypervolume": mogro.MOGRO(3, 2, scalarization=mogro.RandomHypervolume(), batch=batch),
        "uniform": mogro.MOGRO(3, 2, exploration=mogro.Uniform(), threshold=5.0, batch=batch),
        "epsilon": mogro.EpsilonGreedy(3, 2, batch=batch),
        "ucb": mogro.UCB(3, 2, noise=0.1, delta=0.1, batch=batch),
        "thompson": mogro.ThompsonSampling(3, 2, noise=0.1, delta=0.1, batch=batch),
        "effective": mogro.ThompsonSampling(
            3, 2, noise=0.1, delta=0.1, selection=mogro.EffectiveFront(), batch=batch
        ),
        "random": mogro.RandomArm(3, 2, batch=batch),
    }


def bad_arms(batch: tuple[int, ...]) -> list[Any]:
    good = np.ones((*batch, 4, 3))
    spoiled = []
    for value in (np.nan, np.inf, -np.inf):
        for arm in (0, 3):
            one = good.copy()
            one[..., arm, 1] = value
            spoiled.append(one)
    return [
        *spoiled,
        good[..., :0, :],  # no arms
        good[..., :2],  # d too small
        np.ones((4, 4)),
        np.ones(3),
        np.ones((7, 4, 3)),  # another batch
        np.ones((2, 2, 2, 4, 3)),
        np.ones((4, 3), dtype=complex),
        [[1.0, 2.0, 3.0], [1.0]],
        "arms",
        None,
    ]


@pytest.mark.parametrize("rounds", [0, 8])
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", policies(()))
def test_bad_features_and_rewards(name: str, batch: tuple[int, ...], rounds: int) -> None:
    policy = policies(batch)[name]
    rng = np.random.default_rng(0)
    good = rng.standard_normal((*batch, 4, 3))
    for _ in range(rounds):
        policy.select(good, rng=rng)
        policy.update(good[..., rounds % 4, :], rng.standard_normal((*batch, 2)))
    before = policy.save_state()
    for arms in bad_arms(batch):
        with pytest.raises(ValueError, match="features"):
            policy.select(arms, rng=rng)
    for no_rng in (None, 0, np.random.RandomState(0)):
        with pytest.raises(ValueError, match="rng: expected a numpy"):
            policy.select(good, rng=no_rng)  # type: ignore[arg-type]
    x, y = good[..., 0, :], np.ones((*batch, 2))
    for value in (np.nan, np.inf, -np.inf, 1e200):
        spoiled_x, spoiled_y = x.copy(), y.copy()
        spoiled_x[..., 2] = value
        spoiled_y[..., 1] = value
        if not (name == "commit" and rounds):  # which no longer looks at what it is given
            with pytest.raises(ValueError, match="features"):
                policy.update(spoiled_x, y)
            with pytest.raises(ValueError, match="reward"):
                policy.update(x, spoiled_y)
        with pytest.raises(ValueError, match="features"):
            policy.learn(spoiled_x[..., None, :], y[..., None, :])
        with pytest.raises(ValueError, match="rewards"):
            policy.learn(x[..., None, :], spoiled_y[..., None, :])
    shapes: list[tuple[Any, Any, str]] = [
        (x[..., :2], y, "features"),
        (x, y[..., :1], "reward"),
        (x[None], y, "features"),
        (x, y[None], "reward"),
        (1.0, y, "features"),
        (x, "high", "reward"),
        (None, y, "features"),
    ]
    for features, reward, argument in shapes:
        with pytest.raises(ValueError, match=f"{argument}: expected"):
            policy.update(features, reward)
        with pytest.raises(ValueError, match=r"(features|rewards): expected"):
            policy.learn(features, reward)
    with pytest.raises(ValueError, match="rewards: expected"):
        policy.learn(good, np.ones((*batch, 3, 2)))  # four features, three rewards
    for noise in (-1.0, np.nan, np.inf, "a"):
        with pytest.raises(ValueError, match="noise"):
            policy.estimate(good, noise=noise)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="features"):
        policy.estimate(np.full((4, 3), np.nan))
    after = policy.save_state()
    assert before.keys() == after.keys()
    for key in before:
        assert np.array_equal(before[key], after[key]), key


def test_a_bad_feature_is_named_by_its_place_in_what_was_given() -> None:
    arms = np.ones((4, 3))
    arms[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"features: .* nan at \(2, 1\)"):
        mogro.MOGRO(3, 2).select(arms, rng=np.random.default_rng(0))


MAKERS: dict[str, Callable[..., Any]] = {
    "MOGRO": mogro.MOGRO,
    "epsilon": mogro.EpsilonGreedy,
    "ucb": lambda dim, objectives, **k: mogro.UCB(dim, objectives, noise=0.1, delta=0.1, **k),
    "thompson": lambda dim, objectives, **k: mogro.ThompsonSampling(
        dim, objectives, noise=0.1, delta=0.1, **k
    ),
    "random": mogro.RandomArm,
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("bad", NOT_SIZES)
def test_bad_sizes(name: str, bad: Any) -> None:
    make = MAKERS[name]
    with pytest.raises(ValueError, match="dim: expected an integer >= 1"):
        make(bad, 2)
    with pytest.raises(ValueError, match="objectives: expected an integer >= 1"):
        make(2, bad)
    with pytest.raises(ValueError, match="batch"):
        make(2, 2, batch=(bad,))
    with pytest.raises(ValueError, match="batch: expected a tuple"):
        make(2, 2, batch=3)


@pytest.mark.parametrize("bad", [*NOT_NUMBERS, -0.1])
def test_bad_constants(bad: Any) -> None:
    for make in (mogro.UCB, mogro.ThompsonSampling):
        with pytest.raises(ValueError, match="noise: expected"):
            make(2, 2, noise=bad, delta=0.1)
        with pytest.raises(ValueError, match="delta: expected"):
            make(2, 2, noise=0.1, delta=bad)
        with pytest.raises(ValueError, match="ridge: expected"):
            make(2, 2, noise=0.1, delta=0.1, ridge=bad)
        with pytest.raises(ValueError, match="norm: expected"):
            make(2, 2, noise=0.1, delta=0.1, norm=bad)
    with pytest.raises(ValueError, match="epsilon: expected"):
        mogro.EpsilonGreedy(2, 2, epsilon=bad)
    with pytest.raises(ValueError, match="ridge: expected"):
        mogro.EpsilonGreedy(2, 2, ridge=bad)
    if bad is not None:
        with pytest.raises(ValueError, match="threshold: expected"):
            mogro.MOGRO(2, 2, threshold=bad)


def test_constants_out_of_range() -> None:
    for make in (mogro.UCB, mogro.ThompsonSampling):
        for delta in (0.0, 1.1):
            with pytest.raises(ValueError, match="delta: expected"):
                make(2, 2, noise=0.1, delta=delta)
        with pytest.raises(ValueError, match="ridge: expected"):
            make(2, 2, noise=0.1, delta=0.1, ridge=0.0)
    with pytest.raises(ValueError, match="epsilon: expected"):
        mogro.EpsilonGreedy(2, 2, epsilon=1.1)
    with pytest.raises(ValueError, match="threshold: expected"):
        mogro.MOGRO(2, 2, threshold=0.0)


@pytest.mark.parametrize("bad", [size for size in NOT_SIZES if size is not None])
def test_bad_numbers_of_samples(bad: Any) -> None:
    with pytest.raises(ValueError, match="samples: expected"):
        mogro.ThompsonSampling(2, 2, noise=0.1, delta=0.1, samples=bad)


def test_bad_selection() -> None:
    for bad in (None, "front", mogro.EffectiveFront, mogro.RandomWeights):
        with pytest.raises(ValueError, match="selection: expected"):
            mogro.ThompsonSampling(2, 2, noise=0.1, delta=0.1, selection=bad)  # type: ignore[arg-type]


def test_hyper_parameters_are_frozen() -> None:
    for policy in policies(()).values():
        with pytest.raises(AttributeError):
            policy.dim = 7


def test_large_features_of_single_precision_are_welcome() -> None:
    arms = np.array([[1.7e12, 1.0], [1.7e12, 2.0]], dtype=np.float32)  # milliseconds
    assert mogro.MOGRO(2, 1).select(arms, rng=np.random.default_rng(0)) == 1  # it tells more


def test_many_arms_do_not_widen_ties() -> None:
    rng = np.random.default_rng(0)
    arms = np.ones((200_000, 3), dtype=np.float32)
    arms[:, 1:] = rng.standard_normal((200_000, 2))
    policy = mogro.EpsilonGreedy(3, 1, epsilon=0.0, ridge=1e-12)
    policy.learn(np.eye(3), [[100.0], [0.01], [0.0]])
    chosen = policy.select(arms, rng=rng)
    best = (arms.astype(np.float64) @ [100.0, 0.01, 0.0]).max()
    assert best - arms[chosen].astype(np.float64) @ [100.0, 0.01, 0.0] < 5e-4

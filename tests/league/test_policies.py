"""Baselines of other papers: what is known of each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.league.policies import (
    MOGLMUCB,
    AlphaFairness,
    ExploreThenCommit,
    FrankWolfe,
    GiniOGDE,
    ParetoThompsonSampling,
    ParetoUCB1,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from tests.properties import examples

import mogro
from mogro.testing import check_policy

MAKERS: dict[str, Callable[..., Any]] = {
    "frank wolfe": lambda d, m, batch: FrankWolfe(d, m, noise=0.1, delta=0.01, batch=batch),
    "pareto ucb1": lambda d, m, batch: ParetoUCB1(d, m, batch=batch),
    "pareto thompson": lambda d, m, batch: ParetoThompsonSampling(d, m, batch=batch),
    "gini ogde": lambda d, m, batch: GiniOGDE(d, m, batch=batch),
    "moglm ucb": lambda d, m, batch: MOGLMUCB(d, m, batch=batch),
    "explore then commit": lambda d, m, batch: ExploreThenCommit(d, m, batch=batch),
}


@pytest.mark.parametrize("name", MAKERS)
def test_conformance(name: str) -> None:
    check_policy(MAKERS[name], rounds=2_000)


# Two optimal arms, one in between that both beat in one objective only, two that are dominated.
MEANS = np.array([[0.8, 0.2], [0.2, 0.8], [0.5, 0.5], [0.1, 0.1], [0.2, 0.3]])


def play(policy, means: np.ndarray, rounds: int, seed: int = 0) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Play Bernoulli arms, and return the pulls, (K,)."""
    rng = np.random.default_rng(seed)
    features = np.eye(len(means))
    pulls = np.zeros(len(means), dtype=int)
    for _ in range(rounds):
        arm = policy.select(features, rng=rng)
        reward = (rng.random(means.shape[1]) < means[arm]).astype(float)
        policy.update(features[arm], reward, arm=arm)
        pulls[arm] += 1
    return pulls


@pytest.mark.parametrize("make", [ParetoUCB1, ParetoThompsonSampling])
def test_pareto_arms_share_the_pulls(make: type[ParetoUCB1] | type[ParetoThompsonSampling]) -> None:
    pulls = play(make(5, 2), MEANS, 4000)
    assert pulls[3:].sum() < 0.2 * pulls.sum()
    assert pulls[:3].min() > 0.7 * pulls[:3].mean()  # fair to the front


def test_the_index_of_pareto_ucb1() -> None:
    policy = ParetoUCB1(2, 3, front_size=2)
    rng = np.random.default_rng(0)
    for arm in (0, 1, 0, 0):
        policy.select(np.eye(2), rng=rng)
        policy.update(np.eye(2)[arm], [1.0, 0.5, arm], arm=arm)
    spread = 2 * np.log(4 * (3 * 2) ** 0.25)
    means = np.array([[1.0, 0.5, 0.0], [1.0, 0.5, 1.0]])
    expected = means + np.sqrt([[spread / 3], [spread / 1]])
    np.testing.assert_allclose(policy.indices, expected)


@pytest.mark.parametrize("make", [ParetoUCB1, GiniOGDE])
def test_every_arm_is_pulled_once_at_first(make: type[ParetoUCB1] | type[GiniOGDE]) -> None:
    assert play(make(5, 2), MEANS, 5).tolist() == [1] * 5


def gini_optimum(means: np.ndarray, weights: np.ndarray) -> float:
    """The largest generalised Gini index of a mixture, by linear programming (Ogryczak).

    The sum of the j smallest of y is the largest j r - sum_m d_m with d_m >= r - y_m and d_m >= 0.
    """
    arms, objectives = means.shape
    steps = -np.diff(np.append(weights, 0.0))
    count = arms + objectives + objectives**2
    cost = np.zeros(count)
    above, bound = [], []
    for j in range(objectives):
        cost[arms + j] = -steps[j] * (j + 1)
        for m in range(objectives):
            slack = arms + objectives + j * objectives + m
            cost[slack] = steps[j]
            row = np.zeros(count)
            row[:arms], row[arms + j], row[slack] = -means[:, m], 1, -1
            above.append(row)
            bound.append(0.0)
    whole = np.zeros(count)
    whole[:arms] = 1
    limits = [(0, None)] * arms + [(None, None)] * objectives + [(0, None)] * objectives**2
    found = linprog(cost, above, bound, whole[None], [1.0], bounds=limits)
    assert found.fun is not None
    return -found.fun


def gini(rewards: np.ndarray, weights: np.ndarray) -> float:
    return float(np.sort(rewards) @ weights)


def test_the_mixture_has_nearly_the_best_gini_index() -> None:
    weights = np.array([1.0, 0.5, 0.25])
    means = np.random.default_rng(4).random((6, 3))
    best = gini_optimum(means, weights)
    policy = GiniOGDE(6, 3)
    play(policy, means, 6000)
    got = gini(policy.mixture @ means, weights)
    assert max(gini(arm, weights) for arm in means) + 0.02 < got <= best + 1e-9
    assert got > best - 0.05


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4))
@examples(25)
def test_mixtures_stay_on_the_truncated_simplex(seed: int, arms: int, objectives: int) -> None:
    policy = GiniOGDE(arms, objectives, delta=0.2)
    rounds = arms + seed % 40
    play(policy, np.random.default_rng(seed).random((arms, objectives)), rounds, seed)
    assert policy.mixture.sum() == pytest.approx(1)
    step = (2 * np.log(10) / rounds) ** 0.5 / (1 - arms**-0.5) if arms > 1 else 1.0
    assert (policy.mixture >= min(1, step) / arms - 1e-12).all()


def test_one_online_newton_step() -> None:
    policy = MOGLMUCB(2, 2, ridge=2.0, norm=1.0)
    slope = np.exp(1) / (1 + np.exp(1)) ** 2
    assert policy.kappa == pytest.approx(slope)
    x, reward = np.array([0.6, 0.8]), np.array([1.0, 0.0])
    policy.update(x, reward)
    matrix = 2 * np.eye(2) + slope / 2 * np.outer(x, x)
    step = np.linalg.solve(matrix, x)
    np.testing.assert_allclose(policy.theta, [step / 2, -step / 2])


@given(st.integers(0, 2**32 - 1))
@examples(15)
def test_newton_steps_are_projected_by_the_norm_of_z(seed: int) -> None:
    rng = np.random.default_rng(seed)
    policy = MOGLMUCB(3, 1, norm=0.4)
    matrix = np.eye(3)
    theta = np.zeros(3)
    for _ in range(8):
        x = rng.normal(size=3)
        matrix += policy.kappa / 2 * np.outer(x, x)
        reward = rng.choice([-3.0, 4.0])
        free = theta - np.linalg.solve(matrix, x) * (1 / (1 + np.exp(-theta @ x)) - reward)
        policy.update(x, [reward])
        theta = policy.theta[0]
        assert np.linalg.norm(theta) <= 0.4 + 1e-9
        nearest = minimize(  # type: ignore[call-overload]
            lambda t, free=free, matrix=matrix: (t - free) @ matrix @ (t - free),
            0.3 * free / np.linalg.norm(free),
            constraints={"type": "ineq", "fun": lambda t: 0.16 - t @ t},
            options={"ftol": 1e-12},
        ).x
        np.testing.assert_allclose(theta, nearest, atol=1e-3)


def test_logistic_parameters_are_learned() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([[0.8, -0.4], [-0.2, 0.6]])
    policy = MOGLMUCB(2, 2)
    for _ in range(8000):
        x = rng.normal(size=2) / 2
        policy.update(x, rng.random(2) < 1 / (1 + np.exp(-truth @ x)))
    np.testing.assert_allclose(policy.theta, truth, atol=0.15)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 3.0])
def test_frank_wolfe_reaches_the_best_average(alpha: float) -> None:
    means = np.array([[1.0, 0.05], [0.1, 0.6], [0.4, 0.2]])
    utility = AlphaFairness(alpha, offset=0.01)
    policy = FrankWolfe(3, 2, noise=0.05, delta=0.01, utility=utility)
    rng = np.random.default_rng(0)
    total = np.zeros(2)
    for _ in range(1500):
        arm = policy.select(np.eye(3), rng=rng)
        reward = means[arm] + 0.05 * rng.normal(size=2)
        policy.update(np.eye(3)[arm], reward)
        total += means[arm] / 1500

    def value(rewards: np.ndarray) -> float:
        if alpha == 1:
            return float(np.log(rewards + 0.01).sum())
        return float(((rewards + 0.01) ** (1 - alpha) / (1 - alpha)).sum())

    shares = np.linspace(0, 1, 1001)[:, None]
    mixtures = shares * means[0] + (1 - shares) * means[1]  # the third arm is below their line
    best = max(mixtures, key=value)
    np.testing.assert_allclose(total, best, atol=0.06)


def test_the_gradient_is_that_of_the_utility() -> None:
    y, h = np.array([0.3, 0.7]), 1e-6
    for alpha in (0.5, 2.0):
        u = [((y + s * h + 0.1) ** (1 - alpha)) / (1 - alpha) for s in (-1, 1)]
        found = AlphaFairness(alpha, offset=0.1).gradient(y)
        np.testing.assert_allclose(found, (u[1] - u[0]) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("make", [ParetoUCB1, ParetoThompsonSampling, GiniOGDE, MOGLMUCB])
def test_an_agent_refuses_a_learner_of_its_own(make: type[ParetoUCB1]) -> None:
    with pytest.raises(ValueError, match=r"policy: .*learn in another way"):
        mogro.Agent([mogro.Objective("a"), mogro.Objective("b")], arms=2, seed=0, policy=make)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [ParetoUCB1, ParetoThompsonSampling, GiniOGDE])
def test_what_is_learned_stays_one_object(make: Callable[[int, int], Any]) -> None:
    """The first round tells how many arms there are; the settings do not change by that."""
    policy = make(2, 2)
    before = policy.learned
    assert before.pulls.shape == (0,)
    arm = policy.select(np.eye(2), rng=np.random.default_rng(0))
    policy.update(np.eye(2)[arm], np.array([1.0, 0.0]), arm=arm)
    assert policy.learned is before
    assert before.pulls.sum() == 1


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    policy = ParetoUCB1(2, 2)
    with pytest.raises(ValueError, match="select"):
        policy.update(np.ones(2), np.ones(2), arm=0)
    policy.select(np.eye(2), rng=rng)
    with pytest.raises(ValueError, match="features: expected the 2 arms"):
        policy.select(np.ones((3, 2)), rng=rng)
    for arm in (2, -1, 0.5, [0]):
        with pytest.raises(ValueError, match="arm: expected places"):
            policy.update(np.ones(2), np.ones(2), arm=arm)
    with pytest.raises(ValueError, match="reward"):
        policy.update(np.ones(2), [np.nan, 1], arm=0)
    assert not policy.learned.pulls.any()
    with pytest.raises(ValueError, match="features"):
        MOGLMUCB(2, 2).select(np.ones((4, 3, 2)), rng=rng)
    with pytest.raises(ValueError, match="weights"):
        GiniOGDE(2, 2, weights=[0.1, 0.2])
    with pytest.raises(ValueError, match="utility"):
        FrankWolfe(2, 2, noise=1, delta=0.1, utility=AlphaFairness)  # type: ignore[arg-type]


def test_explore_then_commit_never_learns_again() -> None:
    batch, dim = (6,), 3
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((6, 8, dim)) * np.linspace(0.3, 1, 6)[:, None, None]
    together = ExploreThenCommit(dim, 2, threshold=1.0, batch=batch)
    alone = [ExploreThenCommit(dim, 2, threshold=1.0) for _ in range(6)]
    frozen: dict[int, np.ndarray] = {}
    ended = []
    for t in range(600):  # longer than the model's renewals
        pulls = np.asarray(together.select(arms, rng=rng))
        exploring = np.asarray(together.exploring)
        x = arms[np.arange(6), pulls]
        y = rng.standard_normal((6, 2))
        for learner in range(6):
            alone[learner].select(arms[learner], rng=np.random.default_rng(0))
            if exploring[learner]:
                assert learner not in frozen
            elif learner not in frozen:
                frozen[learner] = together.theta[learner]
                ended.append(t)
        for learner in range(6):
            alone[learner].update(x[learner], y[learner])
        together.update(x, y)
        for learner, theta in frozen.items():
            # A review takes away the pull of the flat prior, 1e-9 of the mean squares of features
            # against eigenvalues of V that are at least the threshold, 1.
            pull = 1e-9 * (arms[learner] ** 2).max() * np.linalg.norm(theta, axis=1).max()
            for estimate in (together.theta[learner], alone[learner].theta):
                np.testing.assert_allclose(estimate, theta, rtol=0, atol=pull)
    assert len(set(ended)) > 2  # they did not end together
    assert len(frozen) == 6
    errors = together.estimate(arms).errors
    for learner in range(6):
        own = alone[learner].estimate(arms[learner]).errors
        np.testing.assert_allclose(errors[learner], own, rtol=1e-8)


def test_what_explore_then_commit_says_of_its_errors() -> None:
    """Rounds after the exploration teach nothing, so errors do not shrink."""
    rng = np.random.default_rng(0)
    policy = ExploreThenCommit(2, 1, threshold=5.0)
    arms = np.array([[1.0, 0.0], [0.0, 1.0]])
    while True:
        arm = int(policy.select(arms, rng=rng))
        if not policy.exploring:
            break
        policy.update(arms[arm], rng.standard_normal(1))
    before = policy.estimate(arms).errors
    for _ in range(300):
        policy.update(arms[policy.select(arms, rng=rng)], rng.standard_normal(1))
    np.testing.assert_allclose(policy.estimate(arms).errors, before, rtol=1e-9)

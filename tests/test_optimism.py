"""Without a threshold MOGRO follows the noise: optimistic rounds."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.oracles import optimism as oracle
from tests.properties import examples

import mogro
from mogro._validation import FloatArray
from mogro.priors import Flat, Learned, Prior
from mogro.scalarization import Scalarization


def learned(
    seed: int, n: int, d: int = 3, M: int = 2, K: int = 6, **settings: object
) -> tuple[mogro.MOGRO, FloatArray, FloatArray, FloatArray]:
    """Return a policy that has learned a log (n, d), (n, M), and other arms (K, d)."""
    rng = np.random.default_rng(seed)
    log, arms = rng.standard_normal((n, d)), rng.standard_normal((K, d))
    rewards = log @ rng.standard_normal((d, M)) + 2 * rng.standard_normal((n, M))
    policy = mogro.MOGRO(d, M, **settings)  # type: ignore[arg-type]
    policy.learn(log, rewards)
    return policy, log, rewards, arms


class Own:
    """Weights that nobody knows before they are drawn."""

    def __init__(self, vector: FloatArray) -> None:
        self.vector = vector

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: object
    ) -> FloatArray:
        return self.vector


def assert_choices_are_those_of_the_slow_rule(
    seed: int, n: int, M: int, K: int, steps: int, *, known: bool
) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(M))
    how = mogro.FixedWeights(weights.tolist()) if known else Own(weights)
    policy, log, rewards, arms = learned(seed, n, M=M, K=K, scalarization=how)
    inverse = np.linalg.inv(log.T @ log)
    assume((np.vecdot(arms @ inverse, arms) < 9.9).all())  # no arm calls for exploration
    rng = np.random.default_rng(0)
    estimates = arms @ np.linalg.lstsq(log, rewards, rcond=None)[0] @ weights
    for step in range(steps):
        turn = oracle.turn_of_optimism(step, n)
        wanted = estimates
        if turn is not None:
            bonuses = weights * oracle.estimates_and_bonuses(log, rewards, arms, turn)[1]
            total = np.linalg.norm(bonuses, axis=1) if known else bonuses.sum(axis=1)
            wanted = estimates + total
        assert policy.probabilities(arms).values[wanted.argmax()] == pytest.approx(1)
        assert policy.select(arms, rng=rng) == wanted.argmax()
        assert policy.exploring == (wanted.argmax() != estimates.argmax())


@given(st.integers(0, 2**32), st.integers(5, 500), st.integers(1, 4), st.booleans())
@examples(40)
def test_choices_are_those_of_the_slow_rule(seed: int, n: int, M: int, known: bool) -> None:
    assert_choices_are_those_of_the_slow_rule(seed, n, M, 8, 20, known=known)


@given(st.integers(0, 2**32), st.integers(5, 200))
@examples(20)
def test_errors_of_a_known_sum_are_those_of_its_objectives_with_a_learned_prior(
    seed: int, n: int
) -> None:
    weights = np.array([0.6, 0.1, 0.3])
    how = mogro.FixedWeights(weights.tolist())
    policy, _, _, arms = learned(seed, n, M=3, prior=Learned(), scalarization=how)
    optimism = policy.optimism(policy.beliefs(), policy.step, how)
    assert optimism is not None
    squares = np.einsum("kd,mde,ke->km", arms, policy.posterior.S, arms)
    error = np.sqrt(squares * policy.posterior.noise @ weights**2)
    scores = arms @ policy.theta.T @ weights + optimism.width * error
    assert policy.probabilities(arms).values[scores.argmax()] == pytest.approx(1)
    assert policy.select(arms, rng=np.random.default_rng(0)) == scores.argmax()


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(30, 1000), st.integers(250, 800))
@examples(10)
def test_of_many_arms_a_round_is_optimistic_about_some(seed: int, n: int, K: int) -> None:
    assert_choices_are_those_of_the_slow_rule(seed, n, 2, K, 30, known=True)


def test_nonlinear_scalarisations_are_optimistic_too() -> None:
    policy, log, rewards, arms = learned(1, 40, scalarization=mogro.RandomChebyshev([-9.0, -9.0]))
    values = np.add(*oracle.estimates_and_bonuses(log, rewards, arms, 0))
    rng = np.random.default_rng(0)
    weights = mogro.RandomWeights().weights(2, step=0, batch=(), rng=np.random.default_rng(0))
    expected = mogro.RandomChebyshev([-9.0, -9.0]).score(values, weights).argmax()
    assert policy.select(arms, rng=rng) == expected


def test_a_threshold_of_ones_own_is_never_optimistic() -> None:
    policy, _, _, arms = learned(3, 10, threshold=0.01)
    rng = np.random.default_rng(1)
    for _ in range(200):
        arm = policy.select(arms, rng=rng)
        policy.update(arms[arm], rng.standard_normal(2))
        assert not policy.exploring


@pytest.mark.parametrize("arms", [np.eye(6), np.random.default_rng(2).standard_normal((20, 3))])
def test_pure_noise_is_explored_for_a_root_of_the_rounds(arms: FloatArray) -> None:
    rng = np.random.default_rng(0)
    policy = mogro.MOGRO(arms.shape[1], 2, batch=(10,))
    explored = []
    for _ in range(1600):
        arm = policy.select(arms, rng=rng)
        policy.update(arms[arm], rng.standard_normal((10, 2)))
        explored.append(policy.exploring)
    total = np.array(explored).cumsum(axis=0)
    for rounds in (100, 400, 1600):
        assert (total[rounds - 1] <= 6 * np.sqrt(rounds) + 40).all()
    assert (total[-1] > 40).all()  # yet it does not stop either


@pytest.mark.slow
def test_rare_clicks_do_not_hide_the_good_arms() -> None:
    """Two of ten arms are good for one objective each, and most of the first tries show nothing."""
    runs, rng = 100, np.random.default_rng(0)
    means = rng.uniform(0.02, 0.03, (runs, 10, 2))
    means[:, 0, 0] = means[:, 1, 1] = 0.12
    policy = mogro.MOGRO(10, 2, batch=(runs,))
    each, arms = np.arange(runs), np.eye(10)
    for _ in range(5000):
        arm = policy.select(arms, rng=rng)
        clicks = rng.random((runs, 2)) < means[each, arm]
        policy.update(arms[arm], clicks.astype(np.float64))
    found = (policy.theta.argmax(axis=-1) == [0, 1]).all(axis=-1)
    assert found.sum() >= 84  # 92 of 100 on average, by 400 runs


@pytest.mark.slow
def test_a_linear_oracle_is_asked_for_estimates_as_far_off_as_they_may_be() -> None:
    policy, log, rewards, _ = learned(7, 50, M=1)
    asked = []

    def sphere(v: FloatArray) -> FloatArray:
        asked.append(v)
        return v / max(float(np.linalg.norm(v)), 1e-9)

    rng = np.random.default_rng(0)
    for _ in range(4000):
        policy.copy().choose(sphere, rng=rng)
    residuals = rewards[:, 0] - log @ policy.theta[0]
    covariance = residuals @ residuals / 47 * np.linalg.inv(log.T @ log)
    width = 1.5 + math.log(50) / 3  # the first optimistic round is a wide one
    off = (np.array(asked) - policy.theta[0]) / width
    np.testing.assert_allclose(np.mean(off, axis=0), 0, atol=0.03)
    np.testing.assert_allclose(np.cov(off.T), covariance, atol=0.012)
    policy.choose(sphere, rng=rng)
    assert policy.exploring
    policy.choose(sphere, rng=rng)  # not the turn of its optimism
    assert not policy.exploring
    np.testing.assert_array_equal(asked[-1], policy.theta[0])


@pytest.mark.slow
def test_every_one_of_many_arms_has_its_turn() -> None:
    rng = np.random.default_rng(0)
    arms = np.eye(600)
    policy = mogro.MOGRO(600, 1)
    policy.learn(np.tile(arms, (4, 1)), rng.standard_normal((2400, 1)))
    chosen = {policy.select(arms, rng=rng) % 3 for _ in range(400)}
    assert chosen == {0, 1, 2}


@pytest.mark.parametrize("prior", [Flat(), Learned()])
def test_every_one_of_many_arms_has_its_turn_in_wide_rounds(prior: Prior) -> None:
    policy, *_ = learned(0, 3000, prior=prior)
    rounds = [policy.optimism(policy.beliefs(), step, policy.selection) for step in range(4000)]
    widest = max(each.width for each in rounds if each is not None)
    for every in (2, 4, 8):  # one arm in so many
        turns = {each.turn % every for each in rounds if each is not None and each.width == widest}
        assert turns == set(range(every))


def test_rounds_are_optimistic_more_often_where_nothing_else_explores() -> None:
    """A flat prior has rounds before to explore, and random weights of many explore themselves."""

    def optimistic(prior: Prior, M: int, how: Scalarization) -> float:
        policy, *_ = learned(0, 900, M=M, prior=prior)
        beliefs = policy.beliefs()
        return float(np.mean([bool(policy.optimism(beliefs, step, how)) for step in range(300)]))

    fixed = mogro.FixedWeights([0.5, 0.5])
    assert optimistic(Learned(), 2, fixed) == 1 / 3
    assert optimistic(Learned(), 1, mogro.RandomWeights()) == 1 / 3
    assert optimistic(Learned(), 2, mogro.RandomWeights()) == 1 / 10
    assert optimistic(Flat(), 2, fixed) == 1 / 10


@pytest.mark.parametrize("K", [6, 600])
def test_weights_that_are_no_numbers_are_refused_by_name(K: int) -> None:
    own = Own(np.array([0.5, 0.5]))
    policy, _, _, arms = learned(0, 50, K=K, scalarization=own)
    own.vector = np.array([0.5, np.nan])
    with pytest.raises(ValueError, match="weights: expected finite values"):
        policy.select(arms, rng=np.random.default_rng(0))


@pytest.mark.parametrize("scalarization", [mogro.RandomWeights(), mogro.RandomChebyshev()])
def test_copies_of_an_arm_stay_with_the_first(scalarization: Scalarization) -> None:
    """In the first rounds errors of copies differ by more than estimates: S has large numbers."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arms = rng.standard_normal((2, 4))[rng.integers(0, 2, 7)]
        policy = mogro.MOGRO(4, 2, scalarization=scalarization)
        for _ in range(20):
            arm = int(policy.select(arms, rng=rng))
            assert not (arms[:arm] == arms[arm]).all(axis=-1).any()
            policy.update(arms[arm], arms[arm].sum() + rng.standard_normal(2))

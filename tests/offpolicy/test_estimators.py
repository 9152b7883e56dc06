"""Estimators against loops, and against what must not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from tests.offpolicy.logs import Log, draw
from tests.oracles import offpolicy as oracle
from tests.properties import examples

from mogro import offpolicy
from mogro.offpolicy import Evaluation


def assert_close(one: ArrayLike, other: ArrayLike) -> None:
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-10, atol=1e-10)


def by_objective(function: object, log: Log, *, predicted: bool = False) -> np.ndarray:
    values = []
    for m in range(log.rewards.shape[1]):
        own = (log.predictions[..., m],) if predicted else ()
        given = (log.rewards[:, m], log.logged, log.arms, log.probabilities, *own)
        values.append(function(*given))  # type: ignore[operator]
    return np.array(values)


@pytest.mark.parametrize("seed", range(5))
def test_formulas(seed: int) -> None:
    log = draw(seed, 300, arms=seed + 1)
    robust = (log.rewards, log.logged, log.arms, log.probabilities, log.predictions)
    for ours, theirs in (
        (offpolicy.ips(*log.weighted), by_objective(oracle.ips, log)),
        (offpolicy.snips(*log.weighted), by_objective(oracle.snips, log)),
        (
            offpolicy.doubly_robust(*robust),
            by_objective(oracle.doubly_robust, log, predicted=True),
        ),
        (
            offpolicy.doubly_robust(*robust, self_normalised=True),
            by_objective(oracle.self_normalised_doubly_robust, log, predicted=True),
        ),
    ):
        assert_close(ours.value, theirs)


@pytest.mark.parametrize("varying", [False, True])
def test_predictions_are_those_of_a_fit_to_the_other_folds(varying: bool) -> None:
    log = draw(7, 200)
    rng = np.random.default_rng(0)
    features = rng.standard_normal((200, 4, 3) if varying else (4, 3))
    predictions = offpolicy.cross_fitted(log.rewards, log.arms, features, folds=3)
    own = features[np.arange(200), log.arms] if varying else features[log.arms]
    for i in (0, 1, 2, 50):  # one row of each fold, and another
        others = np.arange(200) % 3 != i % 3
        theta = oracle.least_squares(own[others], log.rewards[others])
        offered = features[i] if varying else features
        assert_close(predictions[i], offered @ theta)


def test_covariance_of_ips_is_that_of_a_mean() -> None:
    log = draw(1, 500)
    weighted = log.rewards * (log.target / log.logged)[:, None]
    result = offpolicy.ips(*log.weighted)
    assert_close(result.covariance, np.cov(weighted.T) / 500)
    cubes = ((weighted - weighted.mean(axis=0)) ** 3).mean(axis=0) / weighted.std(axis=0) ** 3
    assert_close(result.skewness, cubes / np.sqrt(500))


def jackknife(method: object, log: Log) -> np.ndarray:
    """Return the jackknife covariance of an estimate."""
    n = len(log.rewards)
    values = []
    for i in range(n):
        keep = np.arange(n) != i
        values.append(method(*(each[keep] for each in log)).value)  # type: ignore[operator]
    deviations = np.array(values) - np.mean(values, axis=0)
    return np.asarray(deviations.T @ deviations * (n - 1) / n)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("normalised", [False, True])
def test_the_delta_method_agrees_with_the_jackknife(normalised: bool, missing: bool) -> None:
    log = draw(3, 400, objectives=2)
    if missing:
        gone = np.random.default_rng(0).random(log.rewards.shape) < 0.2 + 0.1 * log.arms[:, None]
        log = log._replace(rewards=np.where(gone, np.nan, log.rewards))

    def method(*arrays: np.ndarray) -> Evaluation:
        return offpolicy.doubly_robust(*arrays, self_normalised=normalised)

    result = method(*log)
    expected = jackknife(method, log)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (abs(result.covariance - expected) < 0.1 * scale).all()  # equal to first order


@pytest.mark.parametrize("normalised", [False, True])
def test_missing_rewards_count_by_their_arm(normalised: bool) -> None:
    log = draw(2, 250)
    rng = np.random.default_rng(1)
    observed = rng.random(log.rewards.shape) < 0.9 - 0.2 * log.arms[:, None]
    method = offpolicy.snips if normalised else offpolicy.ips
    holes = np.where(observed, log.rewards, np.nan)
    result = method(holes, log.logged, log.target, arms=log.arms)
    weights = log.target / log.logged
    for m in range(3):
        expected = oracle.by_arm(
            log.rewards[:, m], weights, log.arms, observed[:, m], self_normalised=normalised
        )
        assert result.value[m] == pytest.approx(expected, rel=1e-10)
    renumbered = method(holes, log.logged, log.target, arms=10**12 * log.arms)
    np.testing.assert_array_equal(renumbered.value, result.value)
    np.testing.assert_array_equal(renumbered.covariance, result.covariance)


def test_missing_by_arm_is_unbiased_where_plain_normalisation_is_not() -> None:
    rng = np.random.default_rng(0)
    n = 200_000
    arms = rng.integers(2, size=n)
    rewards = np.where(arms == 0, 0.2, 0.8)[:, None] + 0.1 * rng.standard_normal((n, 1))
    rewards[rng.random(n) < np.where(arms == 0, 0.8, 0.1)] = np.nan
    log = rewards, np.full(n, 0.5), np.full(n, 0.5)
    for method in (offpolicy.ips, offpolicy.snips):
        low, high = method(*log, arms=arms).interval(0.999)[0]
        assert low < 0.5 < high
        assert method(*log).value[0] > 0.65  # the arm that is seen more counts more


@given(seed=st.integers(0, 10**6), rows=st.integers(1, 40), objectives=st.integers(1, 3))
@examples(40)
def test_invariants(seed: int, rows: int, objectives: int) -> None:
    log = draw(seed, rows, objectives=objectives)
    plain = offpolicy.snips(*log.weighted)
    if plain.rows < 2 or np.isnan(plain.value).any():
        return
    shifted = offpolicy.snips(log.rewards * 2 + 5, log.logged, log.target)
    np.testing.assert_allclose(shifted.value, plain.value * 2 + 5, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(shifted.error, plain.error * 2, rtol=1e-6, atol=1e-9)
    order = np.random.default_rng(seed).permutation(rows)
    mixed = offpolicy.snips(*(each[order] for each in log.weighted))
    np.testing.assert_allclose(mixed.value, plain.value, rtol=1e-9, atol=1e-9)
    assert np.linalg.eigvalsh(plain.covariance).min() >= -1e-9 * abs(plain.covariance).max()
    assert (plain.effective_size <= rows * (1 + 1e-9)).all()
    for m in range(objectives):  # an objective has the value it has alone
        alone = offpolicy.snips(log.rewards[:, [m]], log.logged, log.target)
        np.testing.assert_allclose(alone.value, plain.value[[m]], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(alone.interval(), plain.interval()[[m]], rtol=1e-6, atol=1e-9)


def test_a_log_of_the_target_itself_is_a_mean() -> None:
    log = draw(4, 100)
    ones = np.full(100, 0.5)
    for method in (offpolicy.ips, offpolicy.snips):
        result = method(log.rewards, ones, ones)
        assert_close(result.value, log.rewards.mean(axis=0))
        assert_close(result.error, log.rewards.std(axis=0, ddof=1) / 10)
        np.testing.assert_allclose(result.effective_size, 100)


def test_large_offsets_cost_no_digits() -> None:
    log = draw(5, 1000)
    near, far = (
        offpolicy.doubly_robust(
            *(log.rewards + shift, log.logged, log.arms, log.probabilities),
            log.predictions + shift,
        )
        for shift in (0.0, 1e8)
    )
    np.testing.assert_allclose(far.error, near.error, rtol=1e-6)


def test_errors_of_propensities_widen_and_count_the_bias() -> None:
    log = draw(6, 2000)
    exact = offpolicy.ips(*log.weighted)
    none = offpolicy.ips(*log.weighted, errors=np.zeros(2000))
    np.testing.assert_array_equal(none.covariance, exact.covariance)
    noisy = offpolicy.ips(*log.weighted, errors=0.2 * log.logged)
    np.testing.assert_array_equal(noisy.value, exact.value)
    weighted = log.rewards * (log.target / log.logged)[:, None]
    bias = 0.04 * weighted.mean(axis=0)
    extra = 0.04 * (weighted**2).sum(axis=0) / 2000**2 + bias**2
    np.testing.assert_allclose(noisy.error**2, exact.error**2 + extra, rtol=1e-9)
    np.testing.assert_allclose(noisy.bias, abs(bias), rtol=1e-9)


@pytest.mark.parametrize("ridge", [-1.0, float("nan")])
def test_a_penalty_below_zero_is_refused(ridge: float) -> None:
    with pytest.raises(ValueError, match="ridge"):
        offpolicy.cross_fitted(np.ones((4, 1)), [0, 1, 0, 1], np.eye(2), ridge=ridge)

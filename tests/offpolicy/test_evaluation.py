"""What the result says: support, trust, intervals; degenerate logs are logs."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t
from tests.offpolicy.logs import draw
from tests.properties import examples

from mogro import offpolicy
from mogro.offpolicy import Evaluation

BOTH = [offpolicy.ips, offpolicy.snips]


def assert_silent(found: Evaluation) -> None:
    """No number looks fine."""
    assert repr(found).startswith("NO SUPPORT")
    assert not found.trusted
    for numbers in (
        *(found.value, found.error, found.covariance, found.interval()),
        found.region().bounds,
    ):
        assert np.isnan(numbers).all()
    assert not found.region().contains(np.zeros(len(found.value)))


@pytest.mark.parametrize("method", BOTH)
def test_a_target_that_was_never_logged(method: object) -> None:
    rewards = np.random.default_rng(0).random((1000, 2))
    result = method(rewards, np.ones(1000), np.zeros(1000))  # type: ignore[operator]
    assert_silent(result)
    assert result.unsupported.tolist() == [1, 1]


@pytest.mark.parametrize("method", BOTH)
def test_a_greedy_log_and_another_greedy_target(method: object) -> None:
    rng = np.random.default_rng(0)
    agrees = rng.random(1000) < 0.6
    rewards = rng.random((1000, 2))
    result = method(rewards, np.ones(1000), agrees.astype(float))  # type: ignore[operator]
    assert_silent(result)
    np.testing.assert_allclose(result.unsupported, 1 - agrees.mean())


def test_an_arm_that_was_never_logged() -> None:
    log = draw(0, 1000, arms=3)
    arms = np.minimum(log.arms, 1)
    result = offpolicy.doubly_robust(
        log.rewards, np.full(1000, 0.5), arms, np.tile([0.4, 0.3, 0.3], (1000, 1)), log.predictions
    )
    assert (result.unsupported == 0).all()  # the log does not say that it was impossible
    assert result.undrawn == pytest.approx(0.3, abs=0.05)
    assert not result.trusted
    assert "of what the target would choose was not drawn" in result.warnings[0]
    bounds = result.interval()
    assert (bounds[:, 0] < result.value).all()
    assert (bounds[:, 1] > result.value).all()
    residuals = log.rewards - log.predictions[np.arange(1000), arms]
    assert (np.ptp(bounds, axis=1) > 0.3 * np.ptp(residuals, axis=0)).all()


def test_propensities_of_zero() -> None:
    log = draw(0, 2000)
    logged = log.logged.copy()
    logged[::10] = 0
    assert_silent(offpolicy.ips(log.rewards, logged, log.target))
    target = np.where(logged == 0, 0, log.target)  # not wanted either: nothing is lost by them
    result = offpolicy.snips(log.rewards, logged, target)
    assert (result.unsupported <= 0.1).all()


def test_an_arm_whose_rewards_were_never_observed() -> None:
    log = draw(1, 3000)
    rewards = log.rewards.copy()
    rewards[log.arms == 2, 0] = np.nan
    result = offpolicy.snips(rewards, log.logged, log.target, arms=log.arms)
    assert np.isnan(result.value).tolist() == [True, False, False]
    assert result.unsupported[0] > 0.1
    assert (result.unsupported[1:] == 0).all()
    assert "NO SUPPORT" in result.warnings[0]
    assert "objective 0" in result.warnings[0]
    assert np.isfinite(result.covariance[1:, 1:]).all()


def test_support_is_not_denied_where_it_exists() -> None:
    """Heavy weights: the mean weight is often far below 1 by chance."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        rare = rng.random(2000) < 0.01
        logged, target = np.where(rare, 0.01, 0.99), np.where(rare, 0.6, 0.4)
        result = offpolicy.ips(rng.random((2000, 1)), logged, target)
        assert np.isfinite(result.value).all()


@pytest.mark.parametrize("usual", [0.95, 0.3])
@pytest.mark.parametrize("chance", [0.0125, 0.003])
@pytest.mark.parametrize("method", BOTH)
def test_what_was_possible_and_not_drawn_makes_intervals_wider(
    method: object, chance: float, usual: float
) -> None:
    """A twentieth of the target's choices has a small probability, and other rewards."""
    held = refused = wide = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rare = rng.random(2000) < 0.05
        p = np.where(rare, chance, usual)
        hit = rng.random(2000) < p
        rewards = (rng.random((2000, 1)) < np.where(rare, 0.9, 0.3)[:, None]) * 1.0
        result = method(rewards, np.where(hit, p, 1 - p), hit * 1.0)  # type: ignore[operator]
        refused += bool(np.isnan(result.value).any())
        wide += result.undrawn > 0
        low, high = result.interval()[0]
        held += bool(low <= 0.05 * 0.9 + 0.95 * 0.3 <= high)
        assert result.undrawn == 0 or not result.trusted
    assert refused == 0
    assert wide > 30  # about 0.28 of 200 logs have none of the rare choices
    assert held / 200 > 0.93


def test_scores_of_what_was_not_drawn_are_intervals_the_other_way_round() -> None:
    rng = np.random.default_rng(0)
    hit = rng.random(2000) < 0.95
    logged = np.where(hit, 0.95, 0.05)
    target = np.where(hit & (rng.random(2000) < 0.9), 0.95, 0.0)  # a tenth is elsewhere
    result = offpolicy.snips(rng.random((2000, 1)), logged, target)
    assert result.undrawn > 0.1
    low, high = result.interval(0.9)[0]
    z = NormalDist().inv_cdf(0.95)
    assert result.scores([low])[0] == pytest.approx(z)
    assert result.scores([high])[0] == pytest.approx(-z)
    assert result.scores(result.value)[0] == pytest.approx(0, abs=0.01)


def test_few_rows_are_not_trusted() -> None:
    log = draw(0, 150)
    result = offpolicy.snips(*log.weighted)
    assert not result.trusted
    assert "effective size" in repr(result).splitlines()[0]
    long = offpolicy.snips(*draw(0, 5000).weighted)
    assert long.trusted
    assert long.warnings == ()
    assert repr(long).startswith("5,000 rows")


def test_no_variation_and_rare_events_are_not_trusted() -> None:
    half = np.full(1000, 0.5)
    clicks = np.zeros((1000, 2))
    clicks[0, 1] = 1
    result = offpolicy.ips(clicks, half, half)
    assert not result.trusted
    assert [words.split(": ")[1][:9] for words in result.warnings] == ["no variat", "a few row"]


def test_wrong_probabilities_are_noticed() -> None:
    log = draw(0, 5000)
    result = offpolicy.ips(log.rewards, log.logged / 2, log.target)
    assert "mean weight" in result.warnings[0]
    vague = offpolicy.ips(*log.weighted, errors=log.logged)
    assert any("propensities" in words for words in vague.warnings)


@pytest.mark.parametrize("method", BOTH)
def test_one_row_one_objective(method: object) -> None:
    result = method([[2.0]], [0.5], [0.5])  # type: ignore[operator]
    assert result.value == 2
    assert np.isnan(result.error)
    assert not result.trusted
    assert repr(result).startswith("NOT TO BE TRUSTED")


def test_one_arm() -> None:
    log = draw(0, 300, arms=1)
    result = offpolicy.doubly_robust(*log)
    np.testing.assert_allclose(result.value, log.rewards.mean(axis=0), rtol=1e-9)


def test_an_objective_that_was_never_observed() -> None:
    log = draw(0, 1000)
    rewards = log.rewards.copy()
    rewards[:, 1] = np.nan
    for found in (
        offpolicy.ips(rewards, log.logged, log.target),
        offpolicy.snips(rewards, log.logged, log.target, arms=log.arms),
        offpolicy.doubly_robust(rewards, *log[1:]),
    ):
        assert np.isnan(found.value).tolist() == [False, True, False]
        assert np.isnan(found.interval()[1]).all()
        assert np.isfinite(found.interval()[[0, 2]]).all()
        assert np.isfinite(found.region().bounds[[0, 2]]).all()


def test_intervals_nest_and_regions_hold_intervals() -> None:
    result = offpolicy.snips(*draw(3, 800).weighted)
    narrow, wide = result.interval(0.5), result.interval(0.99)
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (narrow[:, 0] < result.value).all()
    assert (result.value < narrow[:, 1]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()
    region = result.region(0.95)
    assert (region.bounds[:, 0] < result.interval()[:, 0]).all()
    assert (region.bounds[:, 1] > result.interval()[:, 1]).all()
    assert region.contains(result.value)
    assert not region.contains(result.value + np.array([0, 10, 0]))


def test_one_objective_has_its_interval_as_region() -> None:
    result = offpolicy.ips(*draw(0, 500, objectives=1).weighted)
    np.testing.assert_array_equal(result.region().bounds, result.interval())


def test_equal_objectives_need_no_wider_region() -> None:
    log = draw(0, 500, objectives=1)
    result = offpolicy.ips(np.repeat(log.rewards, 3, axis=1), log.logged, log.target)
    np.testing.assert_allclose(result.region().bounds, result.interval(), rtol=0.02)


def test_skewness_moves_the_interval_towards_the_tail() -> None:
    rng = np.random.default_rng(0)
    clicks = rng.random((2000, 1)) < 0.01
    half = np.full(2000, 0.5)
    result = offpolicy.ips(clicks, half, half)
    low, high = result.interval()[0]
    assert high - result.value[0] > 1.2 * (result.value[0] - low)
    assert low > 0


def test_refusals() -> None:
    log = draw(0, 10)
    r, p, t = log.weighted
    result = offpolicy.ips(r, p, t)
    for level in (0, 1, 1.5, "0.9"):
        with pytest.raises(ValueError, match="level: "):
            result.interval(level)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="point: "):
        result.region().contains([1.0])
    for bad, name in (
        ((r[:, 0], p, t), "rewards"),
        ((np.full_like(r, np.inf), p, t), "rewards"),
        ((np.empty((0, 2)), p, t), "rewards"),
        ((r, p[:5], t), "logged"),
        ((r, -p, t), "logged"),
        ((r, np.full(10, np.nan), t), "logged"),
        ((r, p, t + 1), "target"),
        ((r, p, "x"), "target"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            offpolicy.snips(*bad)
    with pytest.raises(ValueError, match=r"^arms: "):
        offpolicy.ips(r, p, t, arms=[0])
    with pytest.raises(ValueError, match=r"^errors: "):
        offpolicy.ips(r, p, t, errors=-p)


def test_refusals_of_tables() -> None:
    log = draw(0, 10)
    r, p, a, q, m = log
    for bad, name in (
        ((r, p, a + 4, q, m), "arms"),
        ((r, p, a.astype(float), q, m), "arms"),
        ((r, p, a, q / 2, m), "probabilities"),
        ((r, p, a, q[:, :0], m), "probabilities"),
        ((r, p, a, q, m[:, :2]), "predictions"),
        ((r, p, a, q, m * np.nan), "predictions"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            offpolicy.doubly_robust(*bad)
    for changed, name in (
        ({"features": np.full((4, 2), np.nan)}, "features"),
        ({"arms": a[:5]}, "arms"),
        ({"arms": a + 4}, "arms"),
    ):
        given = {"arms": a, "features": np.eye(4)} | changed
        with pytest.raises(ValueError, match=f"^{name}: "):
            offpolicy.cross_fitted(r, given["arms"], given["features"])
    with pytest.raises(ValueError, match=r"^folds: "):
        offpolicy.cross_fitted(r, a, np.eye(4), folds=1)


def test_callers_arrays_stay_as_they_are() -> None:
    log = draw(0, 50)
    for each in log:
        each.setflags(write=False)
    offpolicy.doubly_robust(*log)
    offpolicy.cross_fitted(log.rewards, log.arms, np.eye(4))
    offpolicy.snips(*log.weighted, errors=log.logged)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_scores_are_intervals_the_other_way_round(level: float) -> None:
    log = draw(1, 500)
    result = offpolicy.snips(*log.weighted)
    low, high = result.interval(level).T
    z = NormalDist().inv_cdf((1 + level) / 2)
    np.testing.assert_allclose(result.scores(low), z, rtol=1e-6)
    np.testing.assert_allclose(result.scores(high), -z, rtol=1e-6)
    assert (np.diff([result.scores(low - step) for step in range(5)], axis=0) > 0).all()


@given(
    weights=st.lists(st.floats(0.01, 100), min_size=2, max_size=30), seen=st.integers(0, 2**30 - 1)
)
@examples(50)
def test_degrees_of_freedom_are_those_of_the_largest_weights(
    weights: list[float], seen: int
) -> None:
    target = np.array(weights) / 100
    n = len(target)
    rewards = np.arange(2.0 * n).reshape(n, 2)
    rewards[[seen >> k & 1 == 1 for k in range(n)], 1] = np.nan
    parts = [
        offpolicy.weighted_rows(rewards[rows], np.full(n, 0.01)[rows], target[rows])
        for rows in (slice(0, n // 2), slice(n // 2, n))
    ]
    estimates = offpolicy.estimate(parts)
    for m in range(2):
        own = np.array(weights)[~np.isnan(rewards[:, m])]
        expected = (own**2).sum() ** 2 / (own**4).sum() if len(own) else 0.0
        assert estimates.degrees_of_freedom[m] == pytest.approx(expected)
    assert (estimates.degrees_of_freedom <= estimates.effective_size * (1 + 1e-9)).all()


def test_a_few_large_weights_make_intervals_wider() -> None:
    """Rows come in pairs that cancel, so that nothing is skewed: Student's t is all there is."""
    weights = np.repeat([1.0] * 300 + [40.0] * 8, 2)
    rewards = np.tile([[1.0], [-1.0]], (308, 1))
    result = offpolicy.snips(rewards, np.full(616, 0.01), weights / 100)
    assert result.skewness[0] == pytest.approx(0)
    assert result.degrees_of_freedom[0] == pytest.approx(
        (600 + 16 * 1600) ** 2 / (600 + 16 * 40**4)
    )
    reach = t.ppf(0.975, result.degrees_of_freedom[0] - 1)
    assert reach > 2.1
    np.testing.assert_allclose(result.interval()[0] / result.error[0], [-reach, reach], rtol=1e-6)
    score = result.scores(result.interval()[:, 0])
    assert NormalDist().cdf(float(score[0])) == pytest.approx(0.975)

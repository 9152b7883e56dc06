"""The posterior against least squares from the whole history."""

import copy
import itertools
from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from tests.oracles import least_squares
from tests.properties import examples, mostly_slow

from mogro._derived_posteriors import with_features, with_objectives
from mogro._validation import FloatArray
from mogro.policies import MOGRO
from mogro.posterior import Posterior
from mogro.priors import _FLAT_SHARE as FLAT
from mogro.priors import Fixed, Flat, Learned, Prior

KINDS = ("random", "duplicate", "zero", "collinear", "subspace", "axes", "mixed", "constant")
NUMBERS = ("S", "theta", "noise", "n", "V")


def history(kind: str, dim: int, rounds: int, seed: int) -> FloatArray:
    """Return features (n, d) that are degenerate in the way named."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rounds, dim))
    if kind == "duplicate":
        x = x[rng.integers(0, 2, rounds) % len(x)]
    elif kind == "zero":
        x[rng.random(rounds) < 0.5] = 0
    elif kind == "collinear":
        x = np.outer(rng.standard_normal(rounds), x[0])
    elif kind == "subspace":
        part = max(1, dim // 2)
        x = x[:, :part] @ np.linalg.qr(rng.standard_normal((dim, dim)))[0][:part]
    elif kind == "axes":
        x = np.eye(dim)[rng.integers(0, dim, rounds)]
    elif kind == "mixed":
        x *= rng.random(dim) < 0.7
        x[::3] = x[0]
    elif kind == "constant":
        x[:, 0] = 1.0
        x[:, -1] = 3 * x[:, 0]  # a multiple of another column
    return x


@st.composite
def histories(draw: st.DrawFn, powers: int = 8) -> tuple[FloatArray, FloatArray]:
    """Draw features (n, d), in units from ``10 ** -powers`` to ``10 ** powers``, and rewards."""
    dim = draw(st.integers(1, 6))
    rounds, seed = draw(st.integers(1, 40)), draw(st.integers(0, 2**32))
    rng = np.random.default_rng([seed, 1])
    units = 10.0 ** rng.integers(-powers, powers, dim, endpoint=True)
    x = units * history(draw(st.sampled_from(KINDS)), dim, rounds, seed)
    y = rng.standard_normal((rounds, draw(st.integers(1, 3)))) * draw(st.sampled_from([1.0, 1e4]))
    return x, y


def updated(x: FloatArray, y: FloatArray, prior: Prior = Flat()) -> Posterior:  # noqa: B008
    """Return a posterior that has learned one observation after the other."""
    posterior = Posterior(x.shape[-1], y.shape[-1], prior=prior)
    for observation in zip(x, y, strict=True):
        posterior.update(*observation)
    return posterior


def root_mean_squares(x: FloatArray) -> FloatArray:
    sizes = np.sqrt(np.square(x).mean(axis=0))
    return np.where(sizes > 0, sizes, 1.0)


def sizes_of(posterior: Posterior) -> FloatArray:
    """Return the root mean squares of features to which a flat prior is relative, (d,)."""
    sizes = np.where(posterior._precision > 1e-120, posterior._precision, 0.0) / FLAT
    return np.asarray(np.sqrt(np.broadcast_to(sizes, (1, posterior.dim))[0]))


def is_covered(x: FloatArray) -> bool:
    """Tell whether every u has ``u' V u`` of a tenth of a mean squared norm, in scaled columns."""
    scaled = x / root_mean_squares(x)
    least = np.linalg.eigvalsh(scaled.T @ scaled)[0]
    return bool(least >= 0.1 * np.square(scaled).sum(axis=1).mean())


def felt(x: FloatArray) -> float:
    """Return how much a flat prior, 1e-9, may be felt beside scaled observations (n, d).

    That is where it is neither far below nor far above what was seen along some direction.
    """
    seen = np.square(np.linalg.svd(x, compute_uv=False))
    return float(1e-8 / seen[seen > 1e-14].min(initial=1.0))


def assert_same(
    expected: Posterior, posterior: Posterior, x: FloatArray, *, digits: int = 5
) -> None:
    """Assert that two posteriors of a history (n, d) say the same, and that S fits the sums.

    Along directions that were never seen, all that counts is that they are unknown.
    """
    size = np.sqrt(np.einsum("...ii->...i", expected.V))
    bound = size[..., :, None] * size[..., None, :]
    assert (np.abs(posterior.V - expected.V) <= 1e-13 * (len(x) + 1) * bound).all()
    for name in ("n", "y2"):
        np.testing.assert_allclose(getattr(posterior, name), getattr(expected, name), rtol=1e-9)
    np.testing.assert_allclose(posterior._precision, expected._precision, rtol=1e-9)
    assert_inverse(posterior)
    reward = np.sqrt(expected.y2.max(initial=0)) or 1.0
    off = x @ (posterior.theta - expected.theta).T / reward
    assert np.abs(off).max(initial=0) <= 10.0**-digits
    assert np.abs(posterior.noise - expected.noise).max(initial=0) <= 10.0**-digits * reward**2


def assert_inverse(posterior: Posterior) -> None:
    """Assert ``S (V + Lambda) = I``: nearly, and once renewed up to rounding.

    That is relative to the condition of that sum, in columns of one size.
    """
    _assert_inverse(posterior, at_least=1e-4)
    renewed = posterior.copy()
    renewed.renew()
    _assert_inverse(renewed, at_least=0.0)


def _assert_inverse(posterior: Posterior, *, at_least: float) -> None:
    precisions = np.broadcast_to(posterior._precision, (len(posterior.S), posterior.dim))
    for S, V, precision in zip(posterior.S, posterior.V, precisions, strict=True):
        precise = V + np.diag(precision)
        size = np.sqrt(np.diag(precise))
        scaled, inverse = precise / np.outer(size, size), S * np.outer(size, size)
        condition = np.linalg.cond(scaled)
        bound = max(1e-14 * len(size) * condition, at_least)
        np.testing.assert_allclose(inverse @ scaled, np.eye(len(size)), atol=bound)
        np.testing.assert_allclose(inverse, inverse.T, atol=1e-14 * np.abs(inverse).max())
        assert np.linalg.eigvalsh(inverse)[0] > -1e-14 * np.abs(inverse).max()


# Sums


@given(histories())
@examples(100)
def test_sums_are_those_of_the_history(case: tuple[FloatArray, FloatArray]) -> None:
    x, y = case
    block = Posterior(x.shape[1], y.shape[1])
    block.learn(x, y)
    for posterior in (updated(x, y), block):
        assert posterior.n == len(x)
        for found, expected, bound in (
            (posterior.V[0], x.T @ x, np.abs(x).T @ np.abs(x)),
            (posterior.b, y.T @ x, np.abs(y).T @ np.abs(x)),
            (posterior.y2, np.square(y).sum(axis=0), np.square(y).sum(axis=0)),
        ):
            assert (np.abs(found - expected) <= 1e-14 * len(x) * bound).all()


@given(histories(), st.sampled_from([Flat(), Fixed(0.5), Fixed(2.0, mean=-1.5)]))
@examples(100)
def test_s_inverts_the_sum_of_v_and_the_prior(
    case: tuple[FloatArray, FloatArray], prior: Prior
) -> None:
    x, y = case
    posterior = Posterior(x.shape[1], y.shape[1], prior=prior)
    assert_inverse(posterior)
    for observation in zip(x, y, strict=True):
        posterior.update(*observation)
        assert_inverse(posterior)


@given(histories(powers=3), st.integers(0, 2**32))
@examples(100)
def test_updates_are_a_block_in_any_order(case: tuple[FloatArray, FloatArray], seed: int) -> None:
    x, y = case
    order = np.random.default_rng(seed).permutation(len(x))
    cut = seed % len(x)
    block, shuffled, halves = (Posterior(x.shape[1], y.shape[1]) for _ in range(3))
    block.learn(x, y)
    shuffled.learn(x[order], y[order])
    if cut:
        halves.learn(x[:cut], y[:cut])
    for observation in zip(x[cut:], y[cut:], strict=True):
        halves.update(*observation)
    sequence = updated(x, y)
    for posterior in (halves, sequence):
        posterior.renew()  # sizes of features are those of the last renewal
    for posterior in (shuffled, halves, sequence):
        assert_same(block, posterior, x)


# Estimates


@given(st.integers(1, 8), st.integers(1, 60), st.integers(0, 2**32), st.sampled_from(KINDS))
@examples(200)
def test_predictions_are_those_of_lstsq(dim: int, rounds: int, seed: int, kind: str) -> None:
    """To 1e-8 of the largest, in units from 1e-8 to 1e8; the bar of the default's threshold."""
    rng = np.random.default_rng([seed, 2])
    x = history(kind, dim, rounds, seed) * 10.0 ** rng.integers(-8, 8, dim, endpoint=True)
    theta = rng.standard_normal((dim, 2)) / root_mean_squares(x)[:, None]
    y = x @ theta + rng.choice([0.0, 1.0, 10.0]) * rng.standard_normal((rounds, 2))
    posterior, block = Posterior(dim, 2), Posterior(dim, 2)
    for n in range(1, rounds + 1):
        posterior.update(x[n - 1], y[n - 1])
        if is_covered(x[:n]):
            expected = (
                x @ least_squares.minimum_norm(x[:n], y[:n], sizes=root_mean_squares(x[:n])).theta.T
            )
            bar = 1e-8 * np.abs(expected[:n]).max()
            assert np.abs(x[:n] @ posterior.theta.T - expected[:n]).max() <= bar
    if is_covered(x):
        block.learn(x, y)
        assert np.abs(x @ block.theta.T - expected).max() <= bar


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
def test_rows_that_are_mostly_zero(share: float) -> None:
    """Predictions are those of lstsq to 1e-8, in units from 1e-8 to 1e8."""
    for seed in range(15):
        rng = np.random.default_rng([seed, int(100 * share)])
        dim, rounds = 1 + seed % 4, 120
        x = rng.standard_normal((rounds, dim)) * 10.0 ** rng.integers(-8, 8, dim, endpoint=True)
        x[rng.random(rounds) < share] = 0
        y = x @ (rng.standard_normal((dim, 2)) / root_mean_squares(x)[:, None])
        y += rng.choice([0.0, 1.0, 10.0]) * rng.standard_normal((rounds, 2))
        posterior = Posterior(dim, 2)
        for n in range(1, rounds + 1):
            posterior.update(x[n - 1], y[n - 1])
            if x[n - 1].any() and is_covered(x[:n]):
                fit = least_squares.minimum_norm(x[:n], y[:n], sizes=root_mean_squares(x[:n]))
                expected = x[:n] @ fit.theta.T
                off = np.abs(x[:n] @ posterior.theta.T - expected).max()
                assert off <= 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("arms", [None, 15])
@pytest.mark.parametrize("apart", [False, True])
def test_many_features_at_first(arms: int | None, apart: bool) -> None:
    """As soon as there are more observations than features, or than arms that span fewer."""
    rng, dim, rounds = np.random.default_rng(7), 30, 90
    x = rng.standard_normal((rounds, dim))
    x = x if arms is None else x[rng.integers(0, arms, rounds)]
    y = x @ rng.standard_normal((dim, 2)) + rng.standard_normal((rounds, 2))
    units, posterior, compared = (
        10.0 ** rng.integers(-8, 8, dim, endpoint=True),
        Posterior(dim, 2),
        0,
    )
    if apart:
        posterior.separate()
    for n in range(1, rounds + 1):
        posterior.update(units * x[n - 1], y[n - 1])
        seen = np.square(np.linalg.svd(x[:n], compute_uv=False))
        if seen[seen > 1e-9].min() >= 0.1 * dim:
            expected = x[:n] @ np.linalg.lstsq(x[:n], y[:n], rcond=1e-12)[0]
            off = np.abs((units * x[:n]) @ posterior.theta.T - expected).max()
            assert off <= 1e-9 * np.abs(expected).max()
            compared += 1
    assert compared > 20


@pytest.mark.parametrize("batch", [(), (3,)])
def test_estimates_do_not_depend_on_when_they_were_renewed(batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    often, seldom = (Posterior(4, 2, batch=batch) for _ in range(2))
    for n in range(60):
        x, y = 10 * rng.standard_normal((*batch, 4)), rng.standard_normal((*batch, 2))
        x[..., 0] = 1.0
        for posterior in (often, seldom):
            posterior.update(x, y)
        if n % 7 == 0:
            often.renew()
        if n > 8:
            effects, others = (each.theta * [1, 10, 10, 10] for each in (often, seldom))
            np.testing.assert_allclose(effects, others, rtol=0, atol=1e-9 * np.abs(others).max())
            np.testing.assert_allclose(often.noise, seldom.noise, rtol=1e-9)


def test_a_new_feature_needs_no_renewal() -> None:
    """Which would make d arms with a feature each take d times d^3."""
    posterior = Posterior(30, 2)
    before, rng = posterior.version, np.random.default_rng(5)
    rewards = rng.standard_normal((30, 2))
    for n, x in enumerate(np.eye(30)):
        posterior.update(3.0 * x, rewards[n])
    assert posterior.version == before
    np.testing.assert_allclose(posterior.theta, rewards.T / 3, rtol=1e-8)
    assert_inverse(posterior)


def creeping(dim: int, rounds: int, seed: int) -> FloatArray:
    """Return features in which a direction is seen a little more every other time."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rounds, dim))
    part = 3e-3 * 50.0 ** (np.maximum(np.arange(rounds) - 2 * dim, 0) // 2)
    x[:, -1] = np.where(np.arange(rounds) < 2 * dim, 0, np.minimum(part, 1))
    return np.asarray(x @ np.linalg.qr(rng.standard_normal((dim, dim)))[0])


@pytest.mark.parametrize("seed", range(10))
def test_digits_are_not_lost_little_by_little(seed: int) -> None:
    """No update by itself shrinks a variance by much."""
    dim, rounds = 2 + seed % 7, 80
    x = creeping(dim, rounds, seed)
    y = np.random.default_rng([seed, 1]).standard_normal((rounds, 2))
    posterior = updated(x, y)
    expected = x @ least_squares.minimum_norm(x, y, sizes=root_mean_squares(x)).theta.T
    assert is_covered(x)
    assert np.abs(x @ posterior.theta.T - expected).max() <= 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["few arms", "one-hot beside a constant", "float32"])
@pytest.mark.parametrize("seed", range(4))
def test_directions_that_stay_unknown_take_no_digits(kind: str, seed: int) -> None:
    """Predictions are those of lstsq between renewals too, in units from 1e-8 to 1e8."""
    rng = np.random.default_rng(seed)
    dim, rounds = 3 + 2 * seed, 250
    if kind == "few arms":
        x = rng.standard_normal((dim - 2, dim))[rng.integers(0, dim - 2, rounds)]
    elif kind == "float32":
        x = rng.standard_normal((rounds, dim)).astype(np.float32).astype(np.float64)
        x[:, -1] = x[:, 0]
    else:
        x = np.column_stack([np.ones(rounds), np.eye(dim - 1)[rng.integers(0, dim - 1, rounds)]])
    y = x @ rng.standard_normal((dim, 2)) + 0.1 * rng.standard_normal((rounds, 2))
    x = x * 10.0 ** rng.integers(-8, 8, dim, endpoint=True)
    posterior = Posterior(dim, 2)
    for n in range(1, rounds + 1):
        posterior.update(x[n - 1], y[n - 1])
        if n >= 4 * dim and n % 5 == 0:
            fit = least_squares.minimum_norm(x[:n], y[:n], sizes=root_mean_squares(x[:n]))
            expected = x[:n] @ fit.theta.T
            off = np.abs(x[:n] @ posterior.theta.T - expected).max()
            assert off <= 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("rate", [1.05, 1.3, 2.0, 30.0])
def test_features_may_grow_in_a_subspace(rate: float) -> None:
    """From a millionth of a millionth on: no prediction is far off."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        dim, rounds = 3 + seed, 200
        x = rng.standard_normal((rounds, dim // 2)) @ rng.standard_normal((dim // 2, dim))
        x *= np.minimum(1e-12 * rate ** np.arange(rounds), 1.0)[:, None]
        y = x @ rng.standard_normal((dim, 2)) / np.abs(x).max()
        posterior = Posterior(dim, 2)
        for n in range(rounds):
            posterior.update(x[n], y[n])
            if n > 2 * dim:
                off = np.abs(x[: n + 1] @ posterior.theta.T - y[: n + 1]).max()
                assert off <= 1e-5 * np.abs(y[: n + 1]).max()


@given(histories())
@examples(150)
def test_at_first_estimates_are_near_those_of_least_norm(
    case: tuple[FloatArray, FloatArray],
) -> None:
    """In columns of one size; and what was never seen has large standard errors."""
    x, y = case
    posterior = Posterior(x.shape[1], y.shape[1])
    for n in range(1, len(x) + 1):
        posterior.update(x[n - 1], y[n - 1])
        sizes = np.where(sizes_of(posterior) > 0, sizes_of(posterior), 1.0)
        expected = least_squares.minimum_norm(x[:n], y[:n], sizes=sizes)
        _, lengths, directions = np.linalg.svd(x[:n] / sizes)
        spans = np.square(np.pad(lengths, (0, x.shape[1] - len(lengths))))
        for direction in directions[spans < 1e-14] * sizes:
            assert direction @ posterior.S[0] @ direction > 1e5
        largest, renewed = np.abs(y[:n]).max(), posterior.copy()
        renewed.renew()
        for fitted, bar in ((posterior, 1e-3), (renewed, 1e-6)):
            assert np.isfinite(fitted.theta).all()
            near = np.abs(x[:n] @ (fitted.theta - expected.theta).T).max()
            assert near <= (bar + felt(x[:n] / sizes)) * largest


@given(histories(powers=1), st.booleans(), st.booleans(), st.integers(0, 2**32))
@examples(100)
def test_a_fixed_prior_is_ridge_regression(
    case: tuple[FloatArray, FloatArray], each: bool, centred: bool, seed: int
) -> None:
    x, y = case
    rng = np.random.default_rng(seed)
    precision = rng.uniform(0.5, 5, x.shape[1] if each else None)
    mean = (
        np.zeros((y.shape[1], x.shape[1])) if centred else rng.normal(size=(y.shape[1], len(x.T)))
    )
    posterior = updated(x, y, Fixed(precision, mean=mean.tolist()))
    block = Posterior(x.shape[1], y.shape[1], prior=Fixed(precision, mean=mean.tolist()))
    block.learn(x, y)
    expected = least_squares.ridge(x, y, precision=precision, mean=mean)
    size = np.abs(expected.theta).max()
    for fitted in (posterior, block):
        np.testing.assert_allclose(fitted.theta, expected.theta, rtol=1e-8, atol=1e-10 * size)
        if expected.free > 1.001:
            np.testing.assert_allclose(fitted.noise, expected.squares / expected.free, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e3, 1e8, 1e15, 1e45])
def test_a_fixed_prior_far_below_the_features(scale: float) -> None:
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((2, 4))
    posterior = Posterior(4, 2, prior=Fixed(1.0))
    for _ in range(600):
        x = scale * rng.standard_normal(4)
        posterior.update(x, theta @ x)
    np.testing.assert_allclose(posterior.theta, theta, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("dim", "rounds"), [(30, 12), (30, 30), (75, 160)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_more_features_than_observations(dim: int, rounds: int, dtype: type) -> None:
    rng = np.random.default_rng(dim + rounds)
    x: FloatArray = rng.standard_normal((rounds, dim)).astype(dtype)
    y = rng.standard_normal((rounds, 2))
    posterior = updated(x.astype(np.float64), y)
    expected = least_squares.minimum_norm(x, y, sizes=sizes_of(posterior))
    np.testing.assert_allclose(posterior.theta, expected.theta, atol=1e-5)


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-6, 3e-7, 1e-7, 1e-8, 1e-9])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_nearly_collinear_features_are_never_wrong_for_certain(gap: float, noise: float) -> None:
    theta = np.array([[0.5, 1.5]])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        z = rng.standard_normal(300)
        x = np.stack([z, z + gap * rng.standard_normal(300)], axis=1)
        posterior = updated(x, x @ theta.T + noise * rng.standard_normal((300, 1)))
        arms = np.vstack([np.eye(2), x[:3], [[1.0, 1.0]]])
        beliefs = posterior.beliefs()
        errors = np.sqrt(beliefs.variances(arms)[:, 0] * max(float(posterior.noise[0]), 1e-10))
        assert (np.abs(beliefs.estimates(arms) - arms @ theta.T)[:, 0] <= 5 * errors).all()


# Noise


@given(histories(powers=4))
@examples(150)
def test_noise_is_that_of_the_residuals(case: tuple[FloatArray, FloatArray]) -> None:
    x, y = case
    posterior, block = updated(x, y), Posterior(x.shape[1], y.shape[1])
    block.learn(x, y)
    expected = least_squares.minimum_norm(x, y, sizes=root_mean_squares(x))
    for fitted in (posterior, block):
        if expected.free >= 1:
            noise = expected.squares / expected.free
        else:
            noise = np.square(y).mean(axis=0)
        close = 1e-4 if expected.free > len(x) - x.shape[1] else 1e-6
        least = felt(x / root_mean_squares(x)) * np.square(y).max()
        np.testing.assert_allclose(fitted.noise, noise, rtol=close, atol=least)


def test_noise_before_the_first_reward() -> None:
    assert Posterior(2, 3).noise.tolist() == [1, 1, 1]
    assert Posterior(2, 1, batch=(2,)).noise.tolist() == [[1], [1]]


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4])
def test_noise_far_below_the_rewards(offset: float, size: float) -> None:
    """The difference of two sums of squares would have lost it."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(2000), rng.standard_normal(2000)])
    shocks = 1e-3 * rng.standard_normal((2000, 1))
    y = size * (offset * x[:, :1] + shocks)
    posterior, block = updated(x, y), Posterior(2, 1)
    block.learn(x, y)
    expected = least_squares.minimum_norm(x, y, sizes=np.ones(2))
    for fitted in (posterior, block):
        np.testing.assert_allclose(fitted.noise, expected.squares / 1998, rtol=1e-3)


def test_standard_errors_are_those_of_textbook_least_squares() -> None:
    rng = np.random.default_rng(0)
    x, arms = rng.standard_normal((40, 3)), rng.standard_normal((5, 3))
    y = x @ rng.standard_normal((3, 2)) + 0.3 * rng.standard_normal((40, 2))
    beliefs = updated(x, y).beliefs()
    theta = np.linalg.solve(x.T @ x, x.T @ y)
    np.testing.assert_allclose(beliefs.estimates(arms), arms @ theta, rtol=1e-8)
    np.testing.assert_allclose(beliefs.noise, np.square(y - x @ theta).sum(axis=0) / 37, rtol=1e-8)
    spread = np.diag(arms @ np.linalg.inv(x.T @ x) @ arms.T)
    np.testing.assert_allclose(beliefs.variances(arms)[:, 0], spread, rtol=1e-7)


def test_standard_errors_cover() -> None:
    rng = np.random.default_rng(1)
    theta, arms = rng.standard_normal((2, 3)), rng.standard_normal((4, 3))
    posterior = Posterior(3, 2, batch=(2000,))
    x = rng.standard_normal((2000, 30, 3))
    posterior.learn(x, x @ theta.T + 0.5 * rng.standard_normal((2000, 30, 2)))
    beliefs = posterior.beliefs()
    errors = np.sqrt(beliefs.variances(arms) * beliefs.noise[:, None, :])
    off = np.abs(beliefs.estimates(arms) - arms @ theta.T) / errors
    assert abs((off < 2.0518).mean() - 0.95) < 0.01  # Student's t, 27 degrees of freedom


# Weights


@given(histories(powers=2), st.integers(0, 2**32), st.booleans())
@examples(100)
def test_objectives_observed_apart_are_separate_posteriors(
    case: tuple[FloatArray, FloatArray], seed: int, block: bool
) -> None:
    x, y = case
    rng = np.random.default_rng(seed)
    observed = rng.random(y.shape) < 0.6
    weights = np.where(observed, rng.choice([0.3, 1.0, 2.0], y.shape), 0.0)
    y = np.where(observed, y, np.nan)  # what was not observed may be anything
    posterior = Posterior(x.shape[1], y.shape[1])
    posterior.separate()
    if block:
        posterior.learn(x, y, weights)
    else:
        for observation in zip(x, y, weights, strict=True):
            posterior.update(*observation)
        posterior.renew()
    for m in range(y.shape[1]):
        seen, alone = observed[:, m], Posterior(x.shape[1], 1)
        root = np.sqrt(weights[seen, m])[:, None]
        if seen.any():
            alone.learn(root * x[seen], root * y[seen, m : m + 1])
        alone.n = weights[:, m].sum(keepdims=True)  # of the noise: what observations weigh
        alone.renew()
        alone.separate()
        part = with_objectives(posterior, [m])
        assert_same(alone, part, root * x[seen])


@given(histories(powers=2), st.sampled_from([Flat(), Fixed(0.7, mean=0.5)]), st.integers(0, 2**32))
@examples(100)
def test_weights_are_those_of_weighted_least_squares(
    case: tuple[FloatArray, FloatArray], prior: Prior, seed: int
) -> None:
    x, y = case
    weights = np.random.default_rng(seed).uniform(0.1, 3, len(x))
    everyone = np.repeat(weights[:, None], y.shape[1], axis=1)
    one, other = (Posterior(x.shape[1], y.shape[1], prior=prior) for _ in range(2))
    for observation in zip(x, y, everyone, strict=True):
        one.update(*observation)
    other.learn(x, y, everyone)
    for posterior in (one, other):
        assert not posterior.apart
        assert_weighted_fit(posterior, x, y, weights)


def assert_weighted_fit(
    posterior: Posterior, x: FloatArray, y: FloatArray, weights: FloatArray
) -> None:
    """Assert that predictions and noise are those of weighted least squares."""
    sizes = np.where(sizes_of(posterior) > 0, sizes_of(posterior), 1.0)
    if isinstance(posterior.prior, Fixed):
        precision, mean = np.asarray(posterior.prior.precision), np.asarray(posterior.prior.mean)
        expected = least_squares.ridge(x, y, precision=precision, mean=mean, weights=weights)
    else:
        expected = least_squares.minimum_norm(x, y, sizes=sizes, weights=weights)
    root, renewed = np.sqrt(weights)[:, None], posterior.copy()
    renewed.renew()
    prior = 0.0 if isinstance(posterior.prior, Fixed) else felt(root * x / sizes)
    for fitted, bar in ((posterior, 1e-3), (renewed, 1e-6)):
        off = np.abs(root * (x @ (fitted.theta - expected.theta).T)).max()
        assert off <= (bar + prior) * np.abs(root * y).max()
    if expected.free > 1.001:
        noise, least = expected.squares / expected.free, (1e-12 + prior) * np.square(y).max()
        np.testing.assert_allclose(posterior.noise, noise, rtol=1e-4, atol=least)


def test_objectives_share_until_one_is_observed_alone() -> None:
    posterior = Posterior(2, 2)
    posterior.update(np.array([1.0, 0.0]), np.array([1.0, 2.0]), np.ones(2))
    assert posterior.S.shape == (1, 2, 2)
    posterior.update(np.array([0.0, 1.0]), np.array([3.0, np.inf]), np.array([1.0, 0.0]))
    assert posterior.S.shape == (2, 2, 2)
    assert posterior.n.tolist() == [2, 1]
    np.testing.assert_allclose(posterior.theta, [[1, 3], [2, 0]], atol=1e-8)


# Decay


@pytest.mark.parametrize("prior", [Flat(), Fixed(0.5), Fixed(2.0, mean=[1.0, -1.0, 0.5])], ids=repr)
@pytest.mark.parametrize("half_life", [0.5, 3.0, 100.0])
def test_decay_is_weighted_least_squares(prior: Prior, half_life: float) -> None:
    """One learner fades at a speed of its own beside another."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((60, 2, 3)), rng.standard_normal((60, 2, 2))
    speeds = np.array([0.5, 0.5 ** (1 / half_life)])
    posterior = Posterior(3, 2, prior=prior, batch=(2,))
    for n in range(60):
        posterior.decay(speeds)
        posterior.update(x[n], y[n])
        for learner, speed in enumerate(speeds):
            weights = speed ** np.arange(n, -1, -1.0)
            seen, rewards = x[: n + 1, learner], y[: n + 1, learner]
            assert posterior.n[learner] == pytest.approx(weights.sum())
            np.testing.assert_allclose(
                posterior.V[learner, 0], (seen * weights[:, None]).T @ seen, atol=1e-12
            )
            np.testing.assert_allclose(
                posterior.y2[learner], weights @ np.square(rewards), rtol=1e-10
            )
            if n >= 10 and half_life > 0.5:  # else rank and noise hang on the last digits
                alone = one_of(posterior, learner)
                assert_weighted_fit(alone, seen, rewards, weights)


def one_of(posterior: Posterior, learner: int) -> Posterior:
    """Return one learner of a batch (R,)."""
    alone = Posterior(posterior.dim, posterior.objectives, prior=posterior.prior)
    state = posterior.save_state()
    alone.load_state(
        {name: array[learner] if array.ndim else array for name, array in state.items()}
    )
    return alone


def test_objectives_may_fade_at_speeds_of_their_own() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    posterior = Posterior(3, 2)
    for n in range(40):
        posterior.decay(np.array([0.9, 1.0]))
        posterior.update(x[n], y[n])
    for m, speed in enumerate((0.9, 1.0)):
        weights = speed ** np.arange(39, -1, -1.0)
        assert_weighted_fit(with_objectives(posterior, [m]), x, y[:, m : m + 1], weights)


def test_everything_may_fade_at_once() -> None:
    for prior, expected in ((Flat(), [[3.0, 0.0]]), (Fixed(1.0), [[1.5, 0.0]])):
        posterior = Posterior(2, 1, prior=prior)
        posterior.update(np.ones(2), np.ones(1))
        posterior.decay(0.0)
        np.testing.assert_allclose(posterior.theta, 0, atol=1e-12)
        posterior.update(np.array([1.0, 0.0]), np.array([3.0]))
        np.testing.assert_allclose(posterior.theta, expected, atol=1e-7)


@pytest.mark.parametrize("turn", [0.0, 0.3])
def test_what_was_not_observed_for_long_is_unknown_again(turn: float) -> None:
    """The first feature, or a direction in the plane of two, comes back after a long time."""
    first, second = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    posterior = Posterior(2, 1)
    posterior.update(1e3 * first, np.array([5e3]))
    for _ in range(2_000):
        posterior.decay(0.5 ** (1 / 4))
        posterior.update(second, np.array([2.0]))
    assert np.isfinite(posterior.S).all()
    assert first @ posterior.S[0] @ first > 1e5
    assert float(posterior.theta[0] @ second) == pytest.approx(2.0)
    posterior.update(first, np.array([7.0]))
    assert posterior.theta[0] == pytest.approx(7 * first + 2 * second, rel=1e-5)


@pytest.mark.parametrize("prior", [Flat(), Fixed(1.0)], ids=repr)
def test_decays_without_updates_lead_back_to_the_prior(prior: Prior) -> None:
    posterior = updated(np.eye(2), np.array([[5.0], [7.0]]), prior)
    for _ in range(500):
        posterior.decay(0.35)  # to 1e-228 of what it was
    assert np.isfinite(posterior.S).all()
    assert (posterior.noise >= 0).all()
    np.testing.assert_allclose(posterior.theta, 0, atol=1e-6)


# Fewer observations, other features and objectives


@given(st.sampled_from([Flat(), Fixed(0.7, mean=0.5), Learned()]), st.integers(0, 2**32))
@examples(80)
def test_observations_that_are_taken_out_leave_the_others(prior: Prior, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim, cut = int(rng.integers(1, 4)), int(rng.integers(0, 31))
    x, y = rng.integers(-2, 3, (30, dim)).astype(float), rng.standard_normal((30, 2))
    weights = rng.choice([0.0, 0.5, 1.0], (30, 2))
    every, expected = (Posterior(dim, 2, prior=prior) for _ in "12")
    every.separate()
    expected.separate()
    every.learn(x, y, weights)
    expected.learn(x[cut:], y[cut:], weights[cut:])
    left = every.copy()
    left.learn(x[:cut], y[:cut], -weights[:cut])
    for name in ("n", "V", "b", "y2"):
        wanted = getattr(expected, name)
        np.testing.assert_allclose(getattr(left, name), wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(left.uses, expected.uses, rtol=1e-9, atol=1e-9)
    assert left.theta == pytest.approx(expected.theta, abs=1e-4)
    assert np.isfinite(left.W).all()


@given(histories(powers=3), st.integers(0, 2**32), st.booleans())
@examples(80)
def test_features_that_come_and_go(
    case: tuple[FloatArray, FloatArray], seed: int, apart: bool
) -> None:
    """As if they had been zero before, or had never been there."""
    x, y = case
    dim, rng = x.shape[1], np.random.default_rng(seed)
    places = [*rng.permutation(dim)[: rng.integers(1, dim + 1)].tolist(), None]
    rng.shuffle(places)
    columns = [np.zeros(len(x)) if place is None else x[:, place] for place in places]
    expected, now = Posterior(len(places), y.shape[1]), np.column_stack(columns)
    expected.learn(now, y)
    posterior = updated(x, y)
    before = posterior.save_state()
    if apart:
        expected.separate()
        posterior.separate()
        before = posterior.save_state()
    matrix = np.zeros((len(places), dim))
    for row, place in enumerate(places):
        matrix[row, [] if place is None else place] = 1
    expected.separate()
    assert_same(expected, with_features(posterior, matrix, Flat()), now)
    assert_equal_states(before, posterior.save_state())


@pytest.mark.parametrize("prior", [Flat(), Fixed(2.0), Learned()], ids=repr)
def test_features_of_a_linear_map_and_objectives_of_other_units(prior: Prior) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((60, 3)), rng.standard_normal((60, 2))
    x[:, 0] = 1.0
    matrix = np.array([[1.0, 0, 0], [-0.5, 2.0, 0], [0, 0, 0], [0, 0, 1.0]])
    now, factors = x @ matrix.T, np.array([1.0, -3.0, 1.0])
    before = updated(x[:20], y[:20])
    made = with_features(with_objectives(before, [None, 1, 0], factors), matrix, prior)
    assert made.n.tolist() == [0, 20, 20]
    for observation, values in zip(now[20:], y[20:], strict=True):
        made.update(observation, np.array([0.0, -3 * values[1], values[0]]), np.array([0, 1.0, 1]))
    expected = Posterior(4, 3, prior=prior)
    weights = np.repeat([[0.0, 1.0, 1.0]], 60, axis=0)
    expected.learn(now, np.column_stack([y[:, 0], -3 * y[:, 1], y[:, 0]]), weights)
    for fitted in (expected, made):
        fitted.renew()
    assert_same(expected, made, now)


@given(histories(powers=3), st.integers(0, 2**32), st.booleans())
@examples(80)
def test_objectives_that_come_and_go(
    case: tuple[FloatArray, FloatArray], seed: int, apart: bool
) -> None:
    """In other units, as if they had been so all along; a new one has seen nothing."""
    x, y = case
    rng = np.random.default_rng(seed)
    places = [*rng.permutation(y.shape[1]).tolist(), None]
    factors = rng.choice([-2.0, 0.01, 1.0, 30.0], len(places))
    posterior = updated(x, y)
    if apart:
        posterior.separate()
    other = with_objectives(posterior, places, factors)
    for m, (place, factor) in enumerate(zip(places, factors, strict=True)):
        alone = with_objectives(other, [m])
        if place is None:
            expected = Posterior(x.shape[1], 1)
        else:
            expected = updated(x, factor * y[:, place : place + 1])
        expected.separate()
        assert_same(expected, alone, x)
        for fitted in (alone, expected):
            fitted.update(x[0], np.ones(1))
        assert_same(expected, alone, x)


@given(histories(powers=1), st.integers(0, 2**32), st.booleans())
@examples(40)
def test_objectives_in_other_units_with_a_fixed_prior(
    case: tuple[FloatArray, FloatArray], seed: int, each: bool
) -> None:
    """The prior stays as it was said to be."""
    x, y = case
    rng = np.random.default_rng(seed)
    mean = rng.standard_normal((y.shape[1], x.shape[1])) if each else 0.7
    places = rng.permutation(y.shape[1]).tolist()
    factors = rng.choice([-2.0, 0.01, 1.0, 30.0], len(places))
    prior = Fixed(0.5, mean=np.asarray(mean).tolist())
    expected = updated(x, factors * y[:, places], prior)
    expected.renew()
    expected.separate()
    posterior = with_objectives(updated(x, y, prior), places, factors)
    assert_same(expected, posterior, x, digits=9)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("prior", [Flat(), Fixed(0.5, mean=2.0)], ids=repr)
def test_separate_sums_change_no_number(batch: tuple[int, ...], prior: Prior) -> None:
    rng = np.random.default_rng(5)
    shared = Posterior(3, 2, prior=prior, batch=batch)
    shared.learn(rng.standard_normal((*batch, 20, 3)), rng.standard_normal((*batch, 20, 2)))
    apart = shared.copy()
    apart.separate()
    for _ in range(300):
        for name in NUMBERS:
            one, other = getattr(shared, name), getattr(apart, name)
            np.testing.assert_allclose(
                np.broadcast_to(one, other.shape), other, rtol=1e-9, atol=1e-12
            )
        x, y = rng.standard_normal((*batch, 3)), rng.standard_normal((*batch, 2))
        shared.update(x, y)
        apart.update(x, y)


# Copies and states


def assert_equal_states(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def teach(posterior: Posterior, rng: np.random.Generator, *, weights: bool) -> None:
    """Let a posterior learn in some way."""
    lead, d, m = posterior.batch, posterior.dim, posterior.objectives
    way = rng.random()
    if way < 0.1:
        posterior.decay(rng.uniform(0.5, 1.0, lead))
    elif way < 0.2:
        posterior.learn(rng.standard_normal((*lead, 3, d)), rng.standard_normal((*lead, 3, m)))
    else:
        x = rng.standard_normal((*lead, d)) * rng.choice([0.0, 1.0], (*lead, d), p=[0.3, 0.7])
        observed = rng.choice([0.0, 1.0], (*lead, m)) if weights else None
        posterior.update(x, rng.standard_normal((*lead, m)), observed)


@pytest.mark.parametrize("weights", [False, True], ids=["shared", "apart"])
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("rounds", mostly_slow([0, 1, 40, 300], fast=3))
def test_a_state_goes_on_to_the_bit(rounds: int, batch: tuple[int, ...], weights: bool) -> None:
    rng = np.random.default_rng(rounds)
    first = Posterior(4, 2, batch=batch)
    for _ in range(rounds):
        teach(first, rng, weights=weights)
    second, third = Posterior(4, 2, batch=batch), first.copy()
    second.load_state(first.save_state())
    later = [np.random.default_rng(9) for _ in range(3)]
    for _ in range(300):
        for posterior, draws in zip((first, second, third), later, strict=True):
            teach(posterior, draws, weights=weights)
    for name in NUMBERS:
        for other in (second, third):
            np.testing.assert_array_equal(getattr(first, name), getattr(other, name), err_msg=name)
    assert_equal_states(first.save_state(), second.save_state())


def test_a_state_fits_whatever_the_posterior_has_become() -> None:
    """Sums are shared in the state and separate in the posterior, and the other way round."""
    x, y = np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]])
    shared, apart = updated(x, y), updated(x, y)
    apart.update(np.ones(2), np.ones(2), np.array([1.0, 0.0]))
    for source in (shared, apart):
        for target in (updated(x, y), apart.copy()):
            version = target.version
            target.load_state(source.save_state())
            assert target.apart == source.apart
            assert target.version > version
            assert_equal_states(target.save_state(), source.save_state())


def test_a_state_that_does_not_fit_is_refused() -> None:
    posterior = updated(np.eye(3), np.ones((3, 2)))
    before = posterior.save_state()
    with pytest.raises(ValueError, match="missing"):
        posterior.load_state({name: array for name, array in before.items() if name != "sums"})
    for other in (Posterior(3, 3), Posterior(2, 2), Posterior(3, 2, batch=(2,))):
        with pytest.raises(ValueError, match="shape"):
            posterior.load_state(other.save_state())
    assert_equal_states(before, posterior.save_state())


def test_states_and_copies_are_independent() -> None:
    posterior = updated(np.eye(3), np.ones((3, 2)))
    expected = posterior.theta.copy()
    copy = posterior.copy()
    for array in posterior.save_state().values():
        if array.ndim:
            array[...] = 7
    posterior.update(np.ones(3), np.zeros(2))
    np.testing.assert_array_equal(copy.theta, expected)
    np.testing.assert_array_equal(copy.V[0], np.eye(3))


# Batches


KINDS_OF_LEARNING = ("update", "weights", "decay", "decays", "blocks", "everything")


def steps(how: str, batch: tuple[int, ...], dim: int, objectives: int, rounds: int) -> list[tuple]:  # type: ignore[type-arg]
    """Return calls of a posterior: a method, and arguments over the batch."""
    rng = np.random.default_rng(rounds)
    kinds = itertools.cycle(KINDS)
    x = np.stack(
        [history(next(kinds), dim, rounds, seed=sum(at)) for at in np.ndindex(batch)], axis=1
    ).reshape(rounds, *batch, dim)
    y = rng.standard_normal((rounds, *batch, objectives))
    made: list[tuple] = []  # type: ignore[type-arg]
    for n in range(rounds):
        if how == "decay" or (how == "everything" and n % 9 == 1):
            made.append(("decay", np.full(batch, 0.97)))
        if how == "decays":
            made.append(("decay", rng.uniform(0.4, 1, batch)))
        if how in ("blocks", "everything") and n % 50 == 17:
            many = (
                rng.standard_normal((*batch, 5, dim)),
                rng.standard_normal((*batch, 5, objectives)),
            )
            made.append(("learn", *many))
        observed = rng.choice([0.0, 0.5, 1.0], (*batch, objectives))
        weighted = how == "weights" or (how == "everything" and n > 100)
        made.append(("update", x[n], y[n], observed) if weighted else ("update", x[n], y[n]))
    return made


@pytest.mark.parametrize("how", KINDS_OF_LEARNING)
@pytest.mark.parametrize("prior", [Flat(), Fixed(0.5, mean=1.0)], ids=["flat", "fixed"])
@pytest.mark.parametrize(
    ("batch", "dim", "objectives"),
    [((2, 1), 1, 1), ((2,), 5, 2), pytest.param((8,), 4, 3, marks=pytest.mark.slow)],
)
def test_a_batch_is_separate_learners_to_the_bit(
    how: str, prior: Prior, batch: tuple[int, ...], dim: int, objectives: int
) -> None:
    """Through renewals, of all and of some learners."""
    together = Posterior(dim, objectives, prior=prior, batch=batch)
    alone = {at: Posterior(dim, objectives, prior=prior) for at in np.ndindex(batch)}
    for number, (name, *arguments) in enumerate(steps(how, batch, dim, objectives, 280)):
        getattr(together, name)(*arguments)
        for at, posterior in alone.items():
            if together.apart and not posterior.apart:  # some other learner made it so
                posterior.separate()
            getattr(posterior, name)(*(argument[at] for argument in arguments))
        if number % 13 == 0 or (number > 250 and number % 3 == 0):
            for at, posterior in alone.items():
                for part in NUMBERS:
                    ours, theirs = getattr(together, part)[at], getattr(posterior, part)
                    np.testing.assert_array_equal(ours, theirs, err_msg=f"{number} {at} {part}")


@pytest.mark.parametrize("seed", mostly_slow(range(60), fast=15))
def test_a_batch_of_degenerate_learners_is_its_learners(seed: int) -> None:
    """No learner is renewed because of another, whatever the others see."""
    rng = np.random.default_rng(seed)
    dim, learners, rounds = int(rng.integers(2, 6)), 4, 40
    x = np.stack(
        [
            history(str(rng.choice(KINDS)), dim, rounds, int(rng.integers(100)))
            * 10.0 ** rng.integers(-4, 4, dim)
            for _ in range(learners)
        ],
        axis=1,
    )
    y = rng.standard_normal((rounds, learners, 2))
    together, alone = Posterior(dim, 2, batch=(4,)), [Posterior(dim, 2) for _ in range(learners)]
    for n in range(rounds):
        together.update(x[n], y[n])
        for learner, posterior in enumerate(alone):
            posterior.update(x[n, learner], y[n, learner])
            for name in NUMBERS:
                ours, theirs = getattr(together, name)[learner], getattr(posterior, name)
                np.testing.assert_array_equal(ours, theirs, err_msg=f"{n} {learner} {name}")


# A long life


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "rounds", [3_000, pytest.param(200_000, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_a_direction_never_seen_stays_unknown(rounds: int, turned: bool) -> None:
    """A million observations of the others, the last ones one by one; then it is seen."""
    rng = np.random.default_rng(6)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0] if turned else np.eye(4)
    theta = rng.standard_normal((4, 2))
    posterior = Posterior(4, 2)
    x = np.column_stack([rng.standard_normal((10_000, 3)), np.zeros(10_000)]) @ turn
    y = x @ theta + rng.standard_normal((10_000, 2))
    for _ in range(1_000_000 // 10_000 - rounds // 10_000):
        posterior.learn(x, y)
    for n in range(rounds):
        posterior.update(x[n % 10_000], y[n % 10_000])
        if n % 1_000 == 999:
            assert turn[3] @ posterior.S[0] @ turn[3] > 1e4
    weights = (
        1_000_000 // 10_000
        - rounds // 10_000
        + np.bincount(np.arange(rounds) % 10_000, minlength=10_000)
    )
    expected = least_squares.minimum_norm(
        x, y, sizes=np.ones(4), weights=weights.astype(float)
    ).theta
    assert np.abs(x @ (posterior.theta - expected).T).max() < 1e-5
    for _ in range(20):
        posterior.update(2 * turn[3], np.array([6.0, -2.0]))
    np.testing.assert_allclose(posterior.theta @ turn[3], [3, -1], rtol=1e-6)
    assert turn[3] @ posterior.S[0] @ turn[3] == pytest.approx(1 / 80, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("arm", [[0.1, 0.7, -0.3], [1 / 3, 1 / 3, 1 / 3], [1e6, 1.0, 1e-6]])
def test_many_equal_observations_teach_one_direction(arm: list[float]) -> None:
    """Sums that always round the same way."""
    x, y = np.array(arm), np.array([1.0])
    posterior = Posterior(3, 1)
    for _ in range(200_000):
        posterior.update(x, y)
    assert posterior.theta[0] @ x == pytest.approx(1, rel=1e-6)
    scaled = posterior.S[0] * np.outer(x, x)
    assert np.linalg.eigvalsh(scaled)[1] > 1e3
    np.testing.assert_allclose(posterior.noise, 0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [Flat(), Fixed(1e-3)], ids=repr)
def test_no_drift(prior: Prior) -> None:
    """Two hundred thousand updates one by one, in badly scaled and turned columns."""
    rng = np.random.default_rng(7)
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    spread = np.diag(np.logspace(0, -3, 6)) @ turn
    posterior = Posterior(6, 2, prior=prior)
    x = rng.standard_normal((200_000, 6)) @ spread
    y = x @ rng.standard_normal((6, 2)) + rng.standard_normal((200_000, 2))
    for n in range(200_000):
        posterior.update(x[n], y[n])
    V = x.T @ x
    np.testing.assert_allclose(posterior.V[0], V, atol=1e-11 * np.abs(V).max())
    fit = least_squares.ridge(x, y, precision=1e-3 if isinstance(prior, Fixed) else 1e-12)
    expected = x @ fit.theta.T
    assert np.abs(x @ posterior.theta.T - expected).max() <= 1e-8 * np.abs(expected).max()
    np.testing.assert_allclose(posterior.noise, fit.squares / fit.free, rtol=1e-8)


# What is handed out, and what is refused


@pytest.mark.parametrize("weights", [False, True], ids=["shared", "apart"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_what_was_handed_out_never_changes(batch: tuple[int, ...], weights: bool) -> None:
    rng = np.random.default_rng(4)
    posterior = Posterior(4, 2, batch=batch)
    for _ in range(300):
        beliefs = posterior.beliefs()
        handed = {name: getattr(posterior, name) for name in NUMBERS}
        told = {name: getattr(beliefs, name) for name in ("theta", "S", "n")}
        copies = {name: np.array(array) for name, array in (handed | told).items()}
        noise, S = posterior.noise.copy(), posterior.S
        teach(posterior, rng, weights=weights)
        for name, array in (handed | told).items():
            np.testing.assert_array_equal(array, copies[name], err_msg=name)
        np.testing.assert_array_equal(beliefs.noise, noise)  # asked for afterwards
        np.testing.assert_array_equal(beliefs.S, S)


def test_arguments_are_left_alone() -> None:
    posterior = Posterior(2, 2)
    x, y, weights = np.ones(2), np.ones(2), np.array([0.5, 0.0])
    for array in (x, y, weights):
        array.flags.writeable = False
    posterior.update(x, y)
    posterior.update(x, y, weights)
    posterior.learn(x[None], y[None], weights[None])
    assert (x == 1).all()


@pytest.mark.parametrize("prior", [Flat(), Fixed(1.0)], ids=repr)
@pytest.mark.parametrize("learned", [0, 1, 5])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e51, 1e80, 1e160, 1e308])
def test_bad_numbers_are_refused_before_anything_changes(
    bad: float, learned: int, prior: Prior
) -> None:
    posterior = Posterior(3, 2, prior=prior)
    for row in np.random.default_rng(0).standard_normal((learned, 3)):
        posterior.update(row, np.ones(2))
    before, version = posterior.save_state(), posterior.version
    ways: list[Callable[[FloatArray, FloatArray], None]] = [
        posterior.update,
        lambda x, y: posterior.learn(x[None], y[None]),
        lambda x, y: posterior.update(x, y, np.ones(2)),
        lambda x, y: posterior.update(x, y, np.array([1.0, 0.5])),
        lambda x, y: posterior.learn(x[None], y[None], np.array([[1.0, 0.5]])),
    ]
    for way in ways:
        for place in range(3):
            x = np.array([1.0, 0.0, 0.0])
            x[place] = bad
            with pytest.raises(ValueError, match="features"):
                way(x, np.ones(2))
        with pytest.raises(ValueError, match="reward"):
            way(np.ones(3), np.array([0.0, bad]))
        assert_equal_states(before, posterior.save_state())
        assert posterior.version == version


def test_what_is_just_too_large_is_refused_or_learned_whole() -> None:
    policy = MOGRO(6, 3, half_life=2.0)
    policy.update(np.ones(6), np.ones(3))
    for z in np.random.default_rng(0).standard_normal((200, 9)):
        z *= 1e50 / np.linalg.norm(z)
        once = copy.deepcopy(policy)
        try:
            once.update(z[:6], z[6:])
        except ValueError:
            assert_equal_states(policy.posterior.save_state(), once.posterior.save_state())
        else:
            np.testing.assert_allclose(once.posterior.V[0], np.outer(z[:6], z[:6]))


@pytest.mark.parametrize("scale", [1e-55, 1e-45, 1e-30, 1e-10, 1e10, 1e30, 1e45])
def test_all_features_may_be_large_or_small(scale: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    plain, scaled = updated(x, y), updated(scale * x, y)
    np.testing.assert_allclose(scaled.theta * scale, plain.theta, rtol=1e-8)
    np.testing.assert_allclose(scaled.S * scale**2, plain.S, rtol=1e-8)
    np.testing.assert_allclose(scaled.noise, plain.noise, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-200, 1e-170, 5e-324])
def test_features_whose_squares_vanish_count_as_zero(scale: float) -> None:
    posterior = Posterior(2, 1)
    for _ in range(3):
        posterior.update(scale * np.array([1.0, 1.0]), np.array([1.0]))
    np.testing.assert_allclose(posterior.theta, 0, atol=1e-6)
    posterior.update(np.array([1.0, 0.0]), np.array([2.0]))
    np.testing.assert_allclose(posterior.theta, [[2.0, 0.0]], atol=1e-6)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "3"])
def test_bad_sizes_are_refused(bad: int) -> None:
    with pytest.raises(ValueError, match="dim"):
        Posterior(bad, 1)
    with pytest.raises(ValueError, match="batch"):
        Posterior(1, 1, batch=(bad,))
    with pytest.raises(ValueError, match="objectives"):
        Posterior(1, bad)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_young_estimates_are_least_squares_where_rewards_cancel(size: float) -> None:
    posterior = Posterior(1, 1)
    for reward in (1.0, -1.0 + 1e-3):
        posterior.update(np.array([size]), np.array([reward]))
    assert posterior.theta.item() * size == pytest.approx(5e-4, rel=1e-8)

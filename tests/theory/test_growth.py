import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mogro
from mogro.theory import diversity_left, noise_sum_bound, radius_cap, threshold_round_robin
from paper.lab.lemmas import (
    estimation_error,
    estimation_error_round_robin,
    gram_growth,
    gram_growth_failure,
    gram_growth_round_robin,
)


@given(
    st.integers(1, 10**6),
    st.integers(0, 10**5),
    st.floats(1e-6, 1),
    st.floats(0, 50),
    st.floats(0.1, 4),
)
def test_growth_written_out(later: int, start: int, inc: float, B: float, xmax: float) -> None:
    t = start + later
    grown = gram_growth(t, initial_rounds=start, threshold=B, increment=inc)
    assert grown == pytest.approx(B + inc / 2 * later)
    failure = gram_growth_failure(t, initial_rounds=start, increment=inc, dim=3, feature_norm=xmax)
    assert failure == pytest.approx(min(1, 3 * math.exp(-inc * later / 10 / xmax**2)))
    by_cycles = gram_growth_round_robin(
        t, initial_rounds=start, threshold=B, left=inc, objectives=4
    )
    assert by_cycles == pytest.approx(B + max(0, t + 1 - start - 4) * inc)
    assert by_cycles <= B + (later // 4) * 4 * inc + 1e-9 * by_cycles  # whole cycles only


@given(st.integers(0, 1000), st.integers(1, 10**6), st.floats(1e-3, 1), st.floats(1e-6, 0.5))
def test_errors_written_out(start: int, later: int, inc: float, delta: float) -> None:
    t = 2 * start + later
    found = estimation_error(
        t, initial_rounds=start, increment=inc, noise=0.5, dim=3, delta=delta, feature_norm=2.0
    )
    expected = 4 * 0.5 * 2 / inc * math.sqrt(3 * math.log(3 * t / delta) / (t - start))
    assert found == pytest.approx(expected)
    t = 2 * start + 8 + later
    found = estimation_error_round_robin(
        t, initial_rounds=start, left=inc, objectives=4, noise=0.5, dim=3, delta=delta
    )
    expected = 2 * 0.5 / inc * math.sqrt(3 * math.log(3 * t / delta) / (t - start - 4))
    assert found == pytest.approx(expected)
    # With lambda' = lambda / 3 it is the paper's 6 sigma / lambda.
    assert found == pytest.approx(
        6 * 0.5 / (3 * inc) * math.sqrt(3 * math.log(3 * t / delta) / (t - start - 4))
    )


@pytest.mark.parametrize("xmax", [0.5, 1.0, 4.0, 25.0])
@pytest.mark.parametrize("dim", [1, 3])
def test_noise_sum_holds_for_every_feature_norm(xmax: float, dim: int) -> None:
    rng = np.random.default_rng(0)
    runs, t, sigma, delta = 2000, 50, 0.7, 0.1
    x = rng.standard_normal((runs, t, dim))
    x *= xmax / np.linalg.norm(x, axis=2, keepdims=True)
    sums = np.linalg.norm(
        np.einsum("rtd,rt->rd", x, sigma * rng.standard_normal((runs, t))), axis=1
    )
    bound = noise_sum_bound(t, noise=sigma, dim=dim, delta=delta, feature_norm=xmax)
    assert (sums > bound).mean() <= delta
    if xmax == 25:  # the root of x_max, as the paper has it, is not enough
        assert (sums > bound / math.sqrt(xmax)).mean() > delta


def test_round_robin_on_a_dense_circle_grows_as_the_lemma_says() -> None:
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle, theta = np.column_stack([np.cos(angles), np.sin(angles)]), np.eye(2)
    gamma, rounds, noise = math.cos(math.pi / 200) - 1e-9, 1500, 0.1
    alpha = radius_cap(0.5, gamma)
    left = diversity_left(0.5, alpha, gamma)
    threshold = threshold_round_robin(alpha, noise=noise, dim=2, rounds=rounds)
    policy = mogro.MOGRO(2, 2, threshold=threshold, scalarization=mogro.RoundRobin())
    rng, gram, start = np.random.default_rng(0), np.zeros((2, 2)), 0
    for t in range(1, rounds + 1):
        x = circle[policy.select(circle, rng=rng)]
        start += bool(policy.exploring)
        policy.update(x, theta @ x + noise * rng.standard_normal(2))
        gram += np.outer(x, x)
        if t > start:
            guaranteed = gram_growth_round_robin(
                t, initial_rounds=start, threshold=threshold, left=left, objectives=2
            )
            assert np.linalg.eigvalsh(gram)[0] >= guaranteed - 1e-9
    assert start < rounds / 5
    error = np.linalg.norm(policy.theta - theta, axis=1).max()
    assert error <= estimation_error_round_robin(
        rounds + 1,
        initial_rounds=start,
        left=left,
        objectives=2,
        noise=noise,
        dim=2,
        delta=1 / rounds,
    )


def test_refusals() -> None:
    with pytest.raises(ValueError, match="rounds"):
        gram_growth(10, initial_rounds=11, threshold=1.0, increment=0.1)
    with pytest.raises(ValueError, match="rounds: expected at least 12"):
        estimation_error(10, initial_rounds=6, increment=0.1, noise=1.0, dim=2, delta=0.1)
    with pytest.raises(ValueError, match="rounds: expected at least 12"):
        estimation_error_round_robin(
            10, initial_rounds=3, left=0.1, objectives=3, noise=1.0, dim=2, delta=0.1
        )

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import theory as oracle
from tests.properties import examples

from mogro.theory import (
    distance_bound,
    diversity_left,
    eigenvalue_increment,
    goodness_needed,
    objective_diversity,
    radius_cap,
    span_coordinates,
)

alphas, gammas, lambdas = st.floats(0, 1), st.floats(0.01, 1), st.floats(1e-3, 1)


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 6))
def test_diversity_is_the_smallest_eigenvalue(seed: int, dim: int, objectives: int) -> None:
    theta = np.random.default_rng(seed).standard_normal((objectives, dim))
    expected = np.linalg.eigvalsh(theta.T @ theta / objectives)[0]
    found = objective_diversity(theta)
    assert found == pytest.approx(expected, abs=1e-12)
    if objectives < dim:
        assert found == 0
    unit = theta / np.linalg.norm(theta, axis=1, keepdims=True)
    assert objective_diversity(unit) <= 1 / dim + 1e-12


def test_diversity_within_the_span_of_the_features() -> None:
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((5, 5)))[0][:, :3]
    features, theta = rng.standard_normal((9, 3)) @ basis.T, rng.standard_normal((4, 5))
    directions = rng.standard_normal((20_000, 3)) @ basis.T
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    found = objective_diversity(theta, features=features)
    assert objective_diversity(theta) == 0
    sampled = np.square(directions @ theta.T).mean(axis=1).min()
    assert found <= sampled <= found * 1.1 + 1e-3


def test_span_coordinates_keep_all_inner_products() -> None:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((9, 2)) @ rng.standard_normal((2, 5))
    theta = rng.standard_normal((3, 5))
    small = span_coordinates(features, theta)
    assert small.features.shape == (9, 2)
    np.testing.assert_allclose(small.features @ small.features.T, features @ features.T)
    np.testing.assert_allclose(small.features @ small.theta.T, features @ theta.T)
    full = rng.standard_normal((9, 5))
    assert (span_coordinates(full, theta).features == full).all()
    orthogonal = span_coordinates([[1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    assert not orthogonal.theta[0].any()
    assert objective_diversity([[0.0, 1.0], [1.0, 0.0]], features=[[1.0, 0.0]]) == 0.5


@given(alphas, gammas)
def test_distance_bound_has_two_forms(alpha: float, gamma: float) -> None:
    found = distance_bound(alpha, gamma)
    assert found == pytest.approx(oracle.distance_by_angles(alpha, gamma), abs=1e-12)
    assert found == pytest.approx(oracle.distance(alpha, gamma), abs=1e-7)


@given(alphas, gammas, st.floats(1e-2, 5))
def test_relaxed_distance_bounds(alpha: float, gamma: float, size: float) -> None:
    relaxed = distance_bound(size * alpha, gamma, smallest_norm=size)
    assert relaxed == pytest.approx(distance_bound(min(alpha, 1), gamma), abs=1e-6)
    xmax = distance_bound(alpha, size * gamma, feature_norm=size)
    assert xmax == pytest.approx(oracle.distance_xmax(alpha, gamma, 1), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("xmax", "smallest"), [(None, 1.0), (None, 0.5), (2.5, 1.0), (0.7, 2.0)])
@pytest.mark.parametrize("dim", [2, 3, 6])
def test_good_arms_are_as_near_as_the_lemma_says(
    xmax: float | None, smallest: float, dim: int
) -> None:
    rng = np.random.default_rng(0)
    longest, closest = xmax or 1.0, 0.0
    alpha, gamma = 0.4 * smallest, 0.8 * longest
    bound = distance_bound(alpha, gamma, feature_norm=xmax, smallest_norm=smallest)
    for _ in range(4000):
        theta = rng.standard_normal(dim)
        theta *= smallest * (1 + rng.random()) / np.linalg.norm(theta)
        offset = rng.standard_normal(dim)
        estimate = theta + alpha * rng.random() ** 0.2 * offset / np.linalg.norm(offset)
        axis = estimate / np.linalg.norm(estimate)
        across = rng.standard_normal(dim)
        across -= (across @ axis) * axis
        height = gamma + (longest - gamma) * rng.random() ** 3
        width = math.sqrt(longest**2 - height**2) * rng.random() ** 0.2
        x = height * axis + width * across / np.linalg.norm(across)
        scaled = x if xmax is None else x / gamma
        closest = max(closest, float(np.linalg.norm(theta / np.linalg.norm(theta) - scaled)))
    assert closest <= bound + 1e-12
    assert closest >= 0.7 * bound


@given(lambdas, st.floats(0, 1))
def test_cap_has_two_forms_and_leaves_a_third(lam: float, share: float) -> None:
    needed = goodness_needed(lam)
    gamma = needed + (1 - needed) * (0.01 + 0.99 * share)
    found = radius_cap(lam, gamma)
    assert found == pytest.approx(oracle.cap(lam, gamma), abs=1e-7)
    assert found == pytest.approx(oracle.cap_by_angles(lam, gamma), abs=1e-7)
    assert diversity_left(lam, found, gamma) == pytest.approx(lam / 3, rel=1e-6)
    assert diversity_left(lam, found / 2, gamma) > lam / 3


def test_cap_vanishes_where_goodness_just_fails() -> None:
    for lam in (0.01, 0.2, 0.5):
        needed = goodness_needed(lam)
        assert radius_cap(lam, needed + 1e-12) < 1e-3
        with pytest.raises(ValueError, match="gamma"):
            radius_cap(lam, needed)
        caps = [radius_cap(lam, g) for g in np.linspace(needed, 1, 9)[1:]]
        assert (np.diff(caps) > 0).all()


@examples(60)
@given(lambdas, st.floats(0.02, 1), st.floats(0.1, 10), st.floats(0.2, 1), st.floats(1, 3))
def test_relaxed_versions(lam: float, share: float, xmax: float, low: float, high: float) -> None:
    for feature_norm, norms in ((xmax, None), (None, (low, high)), (xmax, (low, high))):
        largest = 1.0 if norms is None else high
        smallest = 1.0 if norms is None else low
        top = 1.0 if feature_norm is None else feature_norm
        scaled = lam / largest**2
        needed = goodness_needed(lam, feature_norm=feature_norm, parameter_norms=norms)
        if feature_norm is None:
            assert needed == pytest.approx(1 - lam**2 / (8 * high**4))
        elif lam > 0.01:
            written = xmax / scaled * math.sqrt(2 * math.sqrt(1 + scaled**2) - 2)
            assert needed == pytest.approx(written, rel=1e-6)
        gamma = needed + (top - needed) * share
        alpha = radius_cap(lam, gamma, feature_norm=feature_norm, parameter_norms=norms)

        def left(
            a: float,
            g: float,
            feature_norm: float | None = feature_norm,
            norms: tuple[float, float] | None = norms,
        ) -> float:
            return diversity_left(lam, a, g, feature_norm=feature_norm, parameter_norms=norms)

        # At the level needed nothing is left, above it alpha = 0 leaves something, the cap a third.
        assert left(0.0, needed) == pytest.approx(0, abs=1e-6 * top**2)
        assert left(0.0, gamma) > 0
        assert left(alpha, gamma) == pytest.approx(left(0.0, gamma) / 3, rel=1e-3, abs=1e-9)
        if feature_norm is not None:
            written = oracle.left_xmax(scaled, alpha / smallest, gamma, xmax)
            assert left(alpha, gamma) == pytest.approx(written, abs=1e-5 * xmax**2)
        else:
            written = scaled - 2 * oracle.distance(alpha / smallest, gamma)
            assert left(alpha, gamma) == pytest.approx(written, abs=1e-6)


@pytest.mark.parametrize("xmax", [0.5, 1.0, 3.0])
def test_relaxed_lemma_holds_for_drawn_arms(xmax: float) -> None:
    # Arms that are good for estimates within alpha of every objective: the smallest eigenvalue of
    # their mean outer product is at least what is left.
    rng = np.random.default_rng(2)
    theta = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    lam = objective_diversity(theta)
    needed = goodness_needed(lam, feature_norm=xmax)
    gamma = needed + 0.5 * (xmax - needed)
    alpha = radius_cap(lam, gamma, feature_norm=xmax)
    left = diversity_left(lam, alpha, gamma, feature_norm=xmax)
    assert left > 0
    for _ in range(300):
        arms = []
        for parameter in theta:
            turn = math.asin(alpha) * rng.uniform(-1, 1) + math.acos(gamma / xmax) * rng.choice(
                [-1, 1]
            )
            cosine, sine = math.cos(turn), math.sin(turn)
            arms.append(xmax * np.array([[cosine, -sine], [sine, cosine]]) @ parameter)
        gram = sum(np.outer(x, x) for x in arms) / len(theta)
        assert np.linalg.eigvalsh(gram)[0] >= left


def test_increment() -> None:
    assert eigenvalue_increment(0.2, phi=0.5, objectives=4) == pytest.approx(0.4)
    halved = eigenvalue_increment(0.2, phi=0.5, objectives=4, goodness_probability=0.5)
    assert halved == pytest.approx(0.2)
    with pytest.raises(ValueError, match="phi"):
        eigenvalue_increment(0.2, phi=1.5, objectives=4)


def test_refusals() -> None:
    for lam in (0.0, -1.0, 1.5, math.nan):
        with pytest.raises(ValueError, match="lam"):
            goodness_needed(lam)
    with pytest.raises(ValueError, match="alpha"):
        distance_bound(1.5, 0.9)
    for gamma in (0.0, 1.2, math.inf):
        with pytest.raises(ValueError, match="gamma"):
            distance_bound(0.5, gamma)
    with pytest.raises(ValueError, match="theta"):
        objective_diversity([[0.0, 0.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="features"):
        objective_diversity([[1.0, 0.0]], features=[[0.0, 0.0]])
    with pytest.raises(ValueError, match="parameter_norms"):
        goodness_needed(0.5, parameter_norms=(2.0, 1.0))

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.goodness import (
    radius_by_arcs,
    radius_by_circles,
    radius_on_mesh,
    sphere_mesh,
)
from tests.properties import examples

from mogro._validation import FloatArray
from mogro.theory import (
    goodness,
    goodness_level,
    goodness_needed,
    radius_cap,
    span_coordinates,
)
from mogro.theory.goodness import best_goodness


def unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def circle(arms: int) -> FloatArray:
    angles = np.linspace(0, 2 * np.pi, arms, endpoint=False)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def sphere(rng: np.random.Generator, arms: int, dim: int) -> FloatArray:
    return unit(rng.standard_normal((arms, dim)))


def ball(rng: np.random.Generator, arms: int, dim: int) -> FloatArray:
    return sphere(rng, arms, dim) * rng.random((arms, 1)) ** (1 / dim)


def near(rng: np.random.Generator, arms: int, dim: int) -> FloatArray:
    first = np.eye(dim)[0]
    return unit(first + 0.2 * rng.standard_normal((arms, dim)))


SETS: list[Callable[[np.random.Generator, int, int], FloatArray]] = [sphere, ball, near]


def instances(dim: int, number: int) -> list[tuple[FloatArray, FloatArray, float]]:
    found = []
    for seed in range(number):
        rng = np.random.default_rng([dim, seed])
        features = SETS[seed % 3](rng, int(rng.integers(1, 40)), dim)
        theta = unit(rng.standard_normal((int(rng.integers(1, 4)), dim)))
        if seed % 2:  # objectives with an arm of their own, as in the paper's instances
            theta = unit(features[: len(theta)])
        gamma = float(rng.choice([rng.random(), 1 - 0.1 * rng.random(), 1 - 0.01 * rng.random()]))
        found.append((features, theta, gamma))
    return found


def test_the_radius_is_the_largest_in_the_plane() -> None:
    for features, theta, gamma in instances(2, 240):
        truth = min(radius_by_arcs(features, parameter, gamma) for parameter in theta)
        assert goodness(features, theta, gamma=gamma) == pytest.approx(truth, abs=1e-9)


@pytest.mark.slow
def test_the_radius_is_no_larger_than_the_truth_in_space() -> None:
    mesh, tight = sphere_mesh(20_000), 0
    for features, theta, gamma in instances(3, 60):
        found = goodness(features, theta, gamma=gamma)
        truth = min(radius_by_circles(features, parameter, gamma) for parameter in theta)
        above = min(radius_on_mesh(features, parameter, gamma, mesh) for parameter in theta)
        assert found <= min(truth, above) + 1e-9
        assert (found > 0) == (truth > 0)
        tight += truth - found < 1e-6
    assert tight >= 0.5 * 60


@pytest.mark.parametrize("dim", [4, 5, 8])
def test_no_uncovered_direction_within_the_lower_bound(dim: int) -> None:
    rng = np.random.default_rng(dim)
    for features, theta, gamma in instances(dim, 12):
        found = goodness(features, theta, gamma=gamma)
        assert 0 <= found <= 1
        for parameter in theta:
            steps = unit(rng.standard_normal((2000, dim))) * rng.random((2000, 1))
            inside = parameter + found * (1 - 1e-9) * steps
            if found > 0:
                assert ((inside @ features.T).max(axis=1) >= gamma * norms(inside)).all()


def norms(vectors: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(vectors, axis=1))


def test_dense_circle_is_good_in_all_directions() -> None:
    assert goodness(circle(1000), np.eye(2), gamma=0.9999) == pytest.approx(1)
    assert goodness(circle(100), np.eye(2), gamma=0.9996) < 1


def test_one_arm_by_hand() -> None:
    # The cap around e1 reaches arccos 0.8 far; e2 is not in it.
    assert goodness([[1, 0, 0]], [[1, 0, 0]], gamma=0.8) == pytest.approx(0.6)
    assert goodness([[1, 0, 0]], [[1, 0, 0], [0, 1, 0]], gamma=0.8) == 0
    # At 30 degrees, of the 60 that the arm of length 2 covers, 30 are left.
    tilted = [[math.sqrt(3), 1, 0]]
    assert goodness(tilted, [[1, 0, 0]], gamma=1.0) == pytest.approx(0.5)


def test_line() -> None:
    assert goodness([[1.0], [-0.2]], [[1.0]], gamma=0.9) == 1
    assert goodness([[1.0], [-0.2]], [[1.0], [-1.0]], gamma=0.9) == 0


@examples(30)
@given(st.integers(0, 10_000), st.floats(0.05, 20), st.floats(0.05, 20))
def test_scales_as_it_must(seed: int, of_features: float, of_theta: float) -> None:
    features, theta, gamma = instances(3, 1)[0]
    rng = np.random.default_rng(seed)
    features = sphere(rng, 20, 3)
    base = goodness(features, theta, gamma=gamma)
    scaled = goodness(of_features * features, theta, gamma=min(1, of_features * gamma))
    if of_features * gamma <= 1:
        assert scaled == pytest.approx(base, abs=1e-5)
    wider = goodness(features, of_theta * theta, gamma=gamma)
    assert wider == pytest.approx(of_theta * base, rel=1e-6, abs=1e-9)


@examples(25)
@given(st.integers(0, 10_000))
def test_radius_falls_as_the_level_rises_and_more_arms_only_help(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, theta = sphere(rng, 25, 3), unit(rng.standard_normal((2, 3)))
    levels = np.sort(rng.random(4)) * 0.98 + 0.01
    radii = [goodness(features, theta, gamma=float(g)) for g in levels]
    for wide, narrow in itertools.pairwise(radii):
        assert narrow <= wide + 1e-9
    more = goodness(np.concatenate([features, sphere(rng, 25, 3)]), theta, gamma=float(levels[1]))
    assert more >= radii[1] - 1e-9


def test_duplicates_zeros_and_order_change_nothing() -> None:
    rng = np.random.default_rng(3)
    features, theta = sphere(rng, 20, 3), unit(rng.standard_normal((2, 3)))
    base = goodness(features, theta, gamma=0.5)
    other = np.concatenate([np.zeros((2, 3)), features[::-1], features])
    changed = goodness(other, theta[::-1], gamma=0.5)
    assert changed == pytest.approx(base, abs=1e-12)


def test_arguments_stay_untouched() -> None:
    features, theta = circle(7), np.eye(2)
    features.setflags(write=False)
    theta.setflags(write=False)
    goodness(features, theta, gamma=0.7)
    goodness_level(features, theta)


def test_level_at_radius_zero_is_the_worst_best_mean() -> None:
    rng = np.random.default_rng(0)
    features, theta = ball(rng, 30, 4), unit(rng.standard_normal((3, 4)))
    expected = (features @ theta.T).max(axis=0).min()
    assert goodness_level(features, 3 * theta) == pytest.approx(expected)
    assert goodness_level([[-1.0, 0.0]], [[1.0, 0.0]]) == 0


def test_best_pair_balances_cap_and_radius() -> None:
    lam = 0.5

    def cap(gamma: float) -> float:
        return radius_cap(lam, gamma)

    for arms in (40, 100):
        found = best_goodness(circle(arms), np.eye(2), needed=goodness_needed(lam), cap=cap)
        assert found is not None
        gamma, alpha = found
        assert alpha == cap(gamma)
        assert goodness(circle(arms), np.eye(2), gamma=gamma) >= alpha - 1e-9
        for other in np.linspace(goodness_needed(lam) + 1e-6, 1, 20):
            radius = goodness(circle(arms), np.eye(2), gamma=other)
            assert min(radius, cap(other)) <= alpha + 1e-6
    # Two arms of their own: radius and cap meet where sin(arccos gamma) is the cap.
    found = best_goodness(np.eye(2), np.eye(2), needed=goodness_needed(lam), cap=cap)
    assert found is not None
    assert found[1] == pytest.approx(math.sqrt(1 - found[0] ** 2), rel=1e-5)
    short = np.diag([1.0, 0.9])
    assert best_goodness(short, np.eye(2), needed=goodness_needed(lam), cap=cap) is None


def test_features_in_a_subspace() -> None:
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0][:, :2]
    small = span_coordinates(circle(50) @ turn.T, np.eye(2) @ turn.T)
    assert small.features.shape == (50, 2)
    assert goodness(*small, gamma=0.9) == pytest.approx(1)


@pytest.mark.parametrize(
    ("features", "theta", "gamma", "message"),
    [
        (np.zeros((3, 2)), np.eye(2), 0.5, "features"),
        (np.eye(2), np.zeros((1, 2)), 0.5, "theta"),
        (np.eye(2), np.eye(3), 0.5, "theta"),
        (np.eye(2), np.eye(2), 0.0, "gamma"),
        (np.eye(2), np.eye(2), -0.1, "gamma"),
        (np.eye(2), np.eye(2), 1.1, "gamma"),
        (np.eye(2), np.eye(2), math.nan, "gamma"),
        ([[math.nan, 0.0]], np.eye(2), 0.5, "features"),
    ],
)
def test_refusals(features: FloatArray, theta: FloatArray, gamma: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        goodness(features, theta, gamma=gamma)

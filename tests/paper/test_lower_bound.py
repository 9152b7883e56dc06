"""The geometry that the proof of the lower bound uses, for every instance and separation."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mogro._validation import FloatArray
from mogro.environments import FixedArms
from mogro.pareto import effective_gaps
from paper.lab.lower_bound import lower_bound_instance


def largest(dim: int) -> float:
    return 1.0 if dim == 2 else math.sqrt(dim / (5 * dim - 1))


@st.composite
def families(draw: st.DrawFn) -> tuple[float, list[FixedArms]]:
    """A separation and all d instances that share it."""
    dim = draw(st.integers(2, 7))
    epsilon = draw(st.floats(1e-3, 0.999)) * largest(dim)
    return epsilon, [lower_bound_instance(dim, epsilon=epsilon, instance=j) for j in range(dim)]


def pareto_gaps(means: FloatArray) -> FloatArray:
    better = means[:, None] - means[None]
    return np.asarray(better.min(axis=-1).max(axis=0))


@given(families())
def test_instances_share_unit_arms_and_their_parameters_are_arms(
    family: tuple[float, list[FixedArms]],
) -> None:
    _, worlds = family
    d = worlds[0].dim
    for j, world in enumerate(worlds):
        assert (world.arms, world.objectives) == (d * d, d)
        assert np.array_equal(world.features, worlds[0].features)
        assert np.array_equal(world.theta, world.features[j::d])
        np.testing.assert_allclose(np.linalg.norm(world.features, axis=1), 1, atol=1e-12)


@given(families())
def test_parameters_span_the_space(family: tuple[float, list[FixedArms]]) -> None:
    epsilon, worlds = family
    for world in worlds:
        # Not a rank: the smallest singular value falls with epsilon, but never to zero.
        smallest = np.linalg.svd(world.theta, compute_uv=False)[-1]
        gap_of_the_plane = (1 - epsilon) / 4 if world.dim == 2 else math.inf
        assert smallest > min(epsilon, gap_of_the_plane) / 10


@given(families())
def test_first_objectives_have_inner_product_one_minus_epsilon_squared(
    family: tuple[float, list[FixedArms]],
) -> None:
    epsilon, worlds = family
    first = [world.theta[0] for world in worlds]
    for one, other in itertools.combinations(first, 2):
        assert one @ other == pytest.approx(1 - epsilon**2, abs=1e-12)


@given(families())
def test_other_inner_products_stay_below_those_of_the_proof(
    family: tuple[float, list[FixedArms]],
) -> None:
    epsilon, worlds = family
    d = worlds[0].dim
    for j, other in itertools.permutations(range(d), 2):
        products = worlds[j].theta @ worlds[other].theta.T
        if d == 2:
            assert products[1, 0] < 1 - epsilon**2 + 1e-12
        else:
            assert (products[0, 1:] < 1 - 3 * epsilon**2 + 1e-12).all()
            assert (products[1:, 0] < 1 - 3 * epsilon**2 + 1e-12).all()
            assert (products[1:, 1:] <= 1 - 4 * epsilon**2 + 1e-12).all()


@given(families())
def test_no_arm_has_a_smaller_gap_than_its_single_objective_stand_in(
    family: tuple[float, list[FixedArms]],
) -> None:
    """The inequality of Lemma LB_SO: arm m d + i costs at least what arm i costs objective 0."""
    epsilon, worlds = family
    d = worlds[0].dim
    for j, world in enumerate(worlds):
        gaps = pareto_gaps(world.means).reshape(d, d)
        single = 1 - world.means[:d, 0]
        expected = np.where(np.arange(d) == j, 0, epsilon**2)
        np.testing.assert_allclose(single, expected, atol=1e-12)
        np.testing.assert_allclose(gaps[0], expected, atol=1e-12)
        np.testing.assert_allclose(gaps[:, j], 0, atol=1e-12)
        assert (gaps >= expected - 1e-12).all()


@pytest.mark.slow
@given(families(), st.integers(0, 4), st.integers(0, 9))
def test_more_arms_and_objectives_change_no_gap(
    family: tuple[float, list[FixedArms]], more_objectives: int, more_arms: int
) -> None:
    epsilon, worlds = family
    d = worlds[0].dim
    for j, world in enumerate(worlds):
        large = lower_bound_instance(
            d, epsilon=epsilon, instance=j, objectives=d + more_objectives, arms=d * d + more_arms
        )
        assert (large.arms, large.objectives) == (d * d + more_arms, d + more_objectives)
        # The same problem at its place, and copies of its last arm and objective after it.
        stand_in = np.minimum(np.arange(large.arms), d * d - 1)
        column = np.minimum(np.arange(large.objectives), d - 1)
        assert np.array_equal(large.features, world.features[stand_in])
        assert np.array_equal(large.theta, world.theta[column])
        for gaps in (pareto_gaps, effective_gaps):
            expected = gaps(world.means)[stand_in]
            np.testing.assert_allclose(gaps(large.means), expected, atol=1e-12)
        # Lemma LB_SO: an arm costs no less than its stand-in below d costs objective 0.
        single = 1 - large.means[stand_in % d, 0]
        assert (pareto_gaps(large.means) >= single - 1e-12).all()


@pytest.mark.parametrize("dim", [3, 5])
def test_instances_of_any_size_share_their_arms(dim: int) -> None:
    worlds = [
        lower_bound_instance(dim, rounds=1000, instance=j, objectives=2 * dim, arms=3 * dim * dim)
        for j in range(dim)
    ]
    for world in worlds:
        assert np.array_equal(world.features, worlds[0].features)
        assert np.linalg.matrix_rank(world.theta) == dim


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dim", [3, 4, 5, 6])
def test_the_gap_of_three_epsilon_squared_is_effective_and_not_strict(
    dim: int, share: float
) -> None:
    """An erratum: "more than 3 epsilon^2" is at least that, and for the effective gap only."""
    epsilon = share * largest(dim)
    world = lower_bound_instance(dim, epsilon=epsilon)
    effective = effective_gaps(world.means).reshape(dim, dim)[1:, 1:]
    assert effective.min() == pytest.approx(3 * epsilon**2, rel=1e-9)
    others = pareto_gaps(world.means).reshape(dim, dim)[1:, 1:]
    assert 2 * epsilon**2 <= others.min() < 3 * epsilon**2


def test_in_the_plane_the_second_objective_is_of_unit_length_too() -> None:
    """The paper's equation of k' has epsilon where epsilon' belongs; then it would not be."""
    world = lower_bound_instance(2, epsilon=0.2)
    k = (math.sqrt(2 - 0.6**2) - 0.6) / 2
    np.testing.assert_allclose(world.theta[1], [k + 0.6, k])
    assert np.linalg.norm(world.theta[1]) == pytest.approx(1)


@given(st.integers(2, 6), st.integers(1, 10**6))
def test_rounds_set_the_separation_of_the_theorem(dim: int, rounds: int) -> None:
    squared = 1 - 1 / (1 + math.sqrt(dim / rounds) / 2)
    if squared > largest(dim) ** 2:
        with pytest.raises(ValueError, match=rf"got .* from rounds={rounds}"):
            lower_bound_instance(dim, rounds=rounds)
    else:
        world = lower_bound_instance(dim, rounds=rounds)
        # Scaled to 1/2 for the worse arms, the best arm is ahead by sqrt(d / T) / 4.
        scaled = world.means[:dim, 0] * (1 / 2 + math.sqrt(dim / rounds) / 4)
        assert scaled[0] == pytest.approx(1 / 2 + math.sqrt(dim / rounds) / 4)
        np.testing.assert_allclose(scaled[1:], 1 / 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 1, "epsilon": 0.1}, "dim: expected an integer >= 2, got 1"),
        ({"dim": 3}, "rounds, epsilon: expected exactly one, got rounds=None, epsilon=None"),
        ({"dim": 3, "rounds": 9, "epsilon": 0.1}, "rounds, epsilon: expected exactly one"),
        ({"dim": 3, "rounds": 0}, "rounds: expected an integer >= 1, got 0"),
        ({"dim": 3, "epsilon": 0.0}, "epsilon: expected a value above 0 and .* got 0"),
        ({"dim": 3, "epsilon": 0.5}, "epsilon: expected .* 0.4629 .* dimension 3 .* got 0.5"),
        ({"dim": 2, "epsilon": 1.0}, "epsilon: expected .* below 1 in dimension 2"),
        (
            {"dim": 3, "epsilon": 0.1, "instance": 3},
            "instance: expected .* 0 to 2, got 3",
        ),
        (
            {"dim": 3, "epsilon": 0.1, "instance": -1},
            "instance: expected .* 0 to 2, got -1",
        ),
        ({"dim": 3, "epsilon": 0.1, "objectives": 2}, "objectives: expected an integer >= 3, got"),
        ({"dim": 3, "epsilon": 0.1, "arms": 8}, "arms: expected an integer >= 9, got 8"),
        ({"dim": 3, "epsilon": 0.1, "noise": -1}, "noise: expected a finite number >= 0, got -1"),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lower_bound_instance(**arguments)

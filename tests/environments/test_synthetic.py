import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from mogro._streams import Streams
from mogro._validation import FloatArray
from mogro.environments import FixedArms, LinearEnvironment, VaryingContexts
from mogro.pareto import front

sizes = st.integers(1, 12)
seeds = st.integers(0, 2**32)
kinds = pytest.mark.parametrize("kind", [FixedArms, VaryingContexts])


def norms(vectors: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(vectors, axis=-1))


@kinds
@given(dim=sizes, arms=st.integers(1, 40), objectives=sizes, seed=seeds)
def test_sampled_instances_have_the_sizes_asked_for(
    kind: Any, dim: int, arms: int, objectives: int, seed: int
) -> None:
    world = kind.sample(dim, arms, objectives, noise=0.5, rng=np.random.default_rng(seed))
    assert isinstance(world, LinearEnvironment)
    assert (world.dim, world.arms, world.objectives, world.noise) == (dim, arms, objectives, 0.5)
    assert world.theta.shape == (objectives, dim)
    assert (world.theta >= 0).all()
    np.testing.assert_allclose(norms(world.theta), 1)
    assert world.contexts(rng=np.random.default_rng(seed)).shape == (arms, dim)


@given(dim=sizes, arms=st.integers(1, 40), objectives=sizes, seed=seeds)
def test_the_first_2m_fixed_arms_are_long_and_the_others_short(
    dim: int, arms: int, objectives: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lengths = norms(FixedArms.sample(dim, arms, objectives, noise=0.1, rng=rng).features)
    long, short = lengths[: 2 * objectives], lengths[2 * objectives :]
    assert (long >= 0.75 - 1e-12).all()
    assert (long <= 1 + 1e-12).all()
    assert (short <= 0.75 + 1e-12).all()


def test_fixed_arms_follow_the_distribution_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    worlds = [FixedArms.sample(3, 6, 2, noise=0.1, rng=rng) for _ in range(6000)]
    features = np.array([world.features for world in worlds])
    theta = np.array([world.theta for world in worlds])
    lengths = norms(features)
    # U(3/4, 1) has mean 7/8; the length in the ball of radius 3/4 has mean 3/4 * d / (d + 1).
    np.testing.assert_allclose(lengths[:, :4].mean(axis=0), 7 / 8, atol=5 * 0.0722 / 77)
    np.testing.assert_allclose(lengths[:, 4:].mean(axis=0), 9 / 16, atol=5 * 0.146 / 77)
    cosine = np.einsum("rmd,rmd->rm", features[:, :2], theta) / lengths[:, :2]
    reference = theta[:, 0] + np.sqrt(0.1) * rng.standard_normal((6000, 3))
    expected = np.einsum("rd,rd->r", reference, theta[:, 0]) / norms(reference)
    np.testing.assert_allclose(cosine.mean(axis=0), expected.mean(), atol=0.01)
    np.testing.assert_allclose(features[:, 2:].mean(axis=0), 0, atol=0.035)


def test_parameters_are_uniform_on_the_positive_sphere() -> None:
    theta = VaryingContexts.sample(3, 1, 20_000, noise=0, rng=np.random.default_rng(0)).theta
    # By Archimedes each coordinate of a uniform point on the sphere in R^3 is uniform.
    shares = np.histogram(theta[:, 0], bins=10, range=(0, 1))[0] / len(theta)
    np.testing.assert_allclose(shares, 0.1, atol=0.011)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_varying_arms_are_uniform_in_the_ball(dim: int) -> None:
    world = VaryingContexts(np.ones((1, dim)), arms=40_000, noise=0)
    features = world.contexts(rng=np.random.default_rng(0))
    volumes = norms(features) ** dim
    shares = np.histogram(volumes, bins=10, range=(0, 1))[0] / len(volumes)
    np.testing.assert_allclose(shares, 0.1, atol=0.008)
    np.testing.assert_allclose(
        features.T @ features / len(features), np.eye(dim) / (dim + 2), atol=0.01
    )


def test_equal_generators_give_equal_instances_and_the_same_parameters_for_both_kinds() -> None:
    fixed, again = (
        FixedArms.sample(4, 9, 3, noise=1, rng=np.random.default_rng(5)) for _ in range(2)
    )
    assert np.array_equal(fixed.features, again.features)
    varying = VaryingContexts.sample(4, 9, 3, noise=1, rng=np.random.default_rng(5))
    assert np.array_equal(fixed.theta, varying.theta)


@kinds
@examples(40)
@given(dim=sizes, arms=sizes, objectives=sizes, learners=sizes, seed=seeds, ahead=st.booleans())
def test_a_batch_sees_to_the_bit_what_separate_learners_see(
    kind: Any, dim: int, arms: int, objectives: int, learners: int, seed: int, ahead: bool
) -> None:
    world = kind.sample(dim, arms, objectives, noise=0.3, rng=np.random.default_rng(seed))

    def generators() -> list[np.random.Generator]:
        return [np.random.default_rng([seed, learner]) for learner in range(learners)]

    together = Streams(generators(), ahead=ahead)
    separate = [Streams(g, ahead=True) if ahead else g for g in generators()]  # type: ignore[arg-type]
    for step in range(3):
        features = np.broadcast_to(
            world.contexts(rng=together, batch=(learners,)), (learners, arms, dim)
        )
        rewards = world.observe(features[:, step % arms], rng=together)
        for learner, rng in enumerate(separate):
            alone = world.contexts(rng=rng)
            assert np.array_equal(features[learner], alone)
            assert np.array_equal(rewards[learner], world.observe(alone[step % arms], rng=rng))


@given(dim=sizes, arms=sizes, objectives=sizes, seed=seeds)
def test_means_of_a_batch_of_contexts_are_those_of_each(
    dim: int, arms: int, objectives: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    world = VaryingContexts.sample(dim, arms, objectives, noise=0, rng=rng)
    features = world.contexts(rng=rng, batch=(4,))
    means = world.means(features)
    np.testing.assert_allclose(means, np.einsum("rkd,md->rkm", features, world.theta), atol=1e-14)
    for learner in range(4):
        assert np.array_equal(means[learner], world.means(features[learner]))
    np.testing.assert_allclose(world.observe(features, rng=rng), means, atol=1e-14)


@given(dim=sizes, arms=sizes, objectives=sizes, seed=seeds, data=st.data())
def test_rewards_of_fixed_arms_are_those_of_their_features(
    dim: int, arms: int, objectives: int, seed: int, data: st.DataObject
) -> None:
    world = FixedArms.sample(dim, arms, objectives, noise=0.2, rng=np.random.default_rng(seed))
    np.testing.assert_allclose(world.means, world.features @ world.theta.T, atol=1e-14)
    shape = data.draw(st.sampled_from([(), (1,), (5,), (2, 3)]))
    chosen = np.random.default_rng(seed).integers(arms, size=shape)
    by_arm = world.reward(chosen, rng=np.random.default_rng(1))
    by_features = world.observe(world.features[chosen], rng=np.random.default_rng(1))
    assert by_arm.shape == (*shape, objectives)
    assert np.array_equal(by_arm, by_features)


@kinds
def test_noise_is_normal_added_and_the_same_whatever_is_chosen(kind: Any) -> None:
    world = kind.sample(3, 5, 2, noise=0.7, rng=np.random.default_rng(0))
    x = np.random.default_rng(1).random((4, 3))
    z = np.random.default_rng(2).standard_normal((4, 2))
    for chosen in (x, -x, 0 * x):
        rewards = world.observe(chosen, rng=np.random.default_rng(2))
        np.testing.assert_allclose(rewards, chosen @ world.theta.T + 0.7 * z, atol=1e-14)


def test_fixed_arms_draw_nothing_for_their_contexts() -> None:
    world = FixedArms(np.eye(3), np.eye(3), noise=1)
    rng = np.random.default_rng(0)
    assert world.contexts(rng=rng, batch=(7,)) is world.features
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_arrays_are_copied_and_read_only() -> None:
    features, theta = np.eye(3, dtype=np.float32), np.ones((2, 3))
    fixed = FixedArms(features, theta, noise=0)
    varying = VaryingContexts(theta, arms=2, noise=0)
    features[:] = 9
    theta[:] = 9
    assert np.array_equal(fixed.means, np.ones((3, 2)))
    assert np.array_equal(varying.theta, np.ones((2, 3)))
    for array in (fixed.features, fixed.theta, fixed.means, varying.theta):
        assert array.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
    with pytest.raises(AttributeError):
        fixed.noise = 2.0  # type: ignore[misc]


@kinds
def test_instances_survive_pickle_and_copy(kind: Any) -> None:
    world = kind.sample(3, 5, 2, noise=0.7, rng=np.random.default_rng(0))
    for twin in (pickle.loads(pickle.dumps(world)), copy.deepcopy(world)):
        assert np.array_equal(twin.theta, world.theta)
        assert not twin.theta.flags.writeable
        assert repr(twin) == repr(world)


def test_short_descriptions() -> None:
    fixed = FixedArms(np.eye(2), np.ones((3, 2)), noise=0.1)
    varying = VaryingContexts(np.ones((3, 2)), arms=7, noise=0)
    assert repr(fixed) == "FixedArms(dim=2, arms=2, objectives=3, noise=0.1)"
    assert repr(varying) == "VaryingContexts(dim=2, arms=7, objectives=3, noise=0)"


@pytest.mark.parametrize(
    ("features", "theta", "noise", "message"),
    [
        ([1.0, 2.0], np.eye(2), 0.1, r"features: expected shape \(K, d\), got \(2,\)"),
        (np.empty((0, 2)), np.eye(2), 0.1, r"features: expected shape \(K, d\), got \(0, 2\)"),
        ([[1.0, np.nan]], np.eye(2), 0.1, r"features: expected finite values, got nan at \(0, 1\)"),
        (np.eye(2), np.eye(3), 0.1, r"theta: expected shape \(M, 2\), got \(3, 3\)"),
        (np.eye(2), [[1.0, np.inf]], 0.1, "theta: expected finite values"),
        (np.eye(2), [["a", "b"]], 0.1, "theta: expected an array of real numbers"),
        (np.eye(2), np.eye(2), -0.1, "noise: expected a finite number >= 0, got -0.1"),
        (np.eye(2), np.eye(2), np.nan, "noise: expected a finite number >= 0, got nan"),
    ],
)
def test_fixed_arms_refuse(features: Any, theta: Any, noise: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FixedArms(features, theta, noise=noise)


def test_varying_contexts_refuse() -> None:
    with pytest.raises(ValueError, match=r"theta: expected shape \(M, d\), got \(2,\)"):
        VaryingContexts(np.ones(2), arms=2, noise=0)
    with pytest.raises(ValueError, match=r"arms: expected an integer >= 1, got 0"):
        VaryingContexts(np.eye(2), arms=0, noise=0)
    with pytest.raises(ValueError, match="noise: expected a finite number >= 0, got 'loud'"):
        VaryingContexts(np.eye(2), arms=2, noise="loud")  # type: ignore[arg-type]
    world = VaryingContexts(np.eye(2), arms=2, noise=0)
    with pytest.raises(ValueError, match=r"features: expected shape \(..., K, 2\), got \(2,\)"):
        world.means(np.ones(2))


@kinds
@pytest.mark.parametrize("name", ["dim", "arms", "objectives"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None])
def test_samples_refuse_sizes_that_are_none(kind: Any, name: str, value: object) -> None:
    sizes = {"dim": 2, "arms": 3, "objectives": 2} | {name: value}
    with pytest.raises(ValueError, match=f"{name}: expected an integer >= 1, got"):
        kind.sample(**sizes, noise=0.1, rng=np.random.default_rng(0))


@kinds
def test_samples_refuse_what_is_no_generator(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"rng: expected a numpy.random.Generator, got 0"):
        kind.sample(2, 3, 2, noise=0.1, rng=0)


@pytest.mark.parametrize("arm", [3, -1, 0.0, [0, 3], "0", None, [[0], [1, 2]]])
def test_rewards_of_arms_that_do_not_exist_are_refused(arm: Any) -> None:
    rng = np.random.default_rng(0)
    world = FixedArms(np.eye(3), np.eye(3), noise=0.1)
    with pytest.raises(ValueError, match="arm: expected integers from 0 to 2, got"):
        world.reward(arm, rng=rng)
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


@pytest.mark.parametrize("conflict", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("objectives", [1, 2, 4])
def test_conflict_sets_the_cosines_of_the_parameters(objectives: int, conflict: float) -> None:
    rng = np.random.default_rng(0)
    theta = FixedArms.sample(5, 9, objectives, noise=0.1, rng=rng, conflict=conflict).theta
    cosine = 1 - conflict * objectives / max(objectives - 1, 1)
    expected = np.where(np.eye(objectives) > 0, 1.0, cosine)
    np.testing.assert_allclose(theta @ theta.T, expected, atol=1e-12)


def test_conflict_needs_room() -> None:
    rng = np.random.default_rng(0)
    assert FixedArms.sample(2, 9, 3, noise=0.1, rng=rng, conflict=1.0).dim == 2
    with pytest.raises(ValueError, match="conflict: expected at least 3 features for 3 objectives"):
        FixedArms.sample(2, 9, 3, noise=0.1, rng=rng, conflict=0.5)
    with pytest.raises(ValueError, match="conflict: expected"):
        FixedArms.sample(2, 9, 3, noise=0.1, rng=rng, conflict=1.5)


def test_opposed_objectives_have_larger_fronts() -> None:
    rng, sizes = np.random.default_rng(0), []
    for conflict in (0.0, 0.5, 1.0):
        worlds = [
            FixedArms.sample(5, 50, 2, noise=0.1, rng=rng, conflict=conflict) for _ in range(30)
        ]
        sizes.append(np.mean([front(world.means).sum() for world in worlds]))
    assert sizes[0] == 1
    assert sizes == sorted(sizes)
    assert sizes[2] > 10

"""What a batch that shares its arms chooses is what every learner would choose alone."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

import mogro
from mogro._algebra import rounding
from mogro._screening import (
    deviation_bounds,
    is_shared,
    screened_arms,
    shared_deviations,
    shared_scores,
)
from mogro._ties import leaders, scores_of
from mogro.environments import FixedArms
from mogro.posterior import Posterior
from mogro.priors import Fixed
from mogro.valuation import Optimism

KINDS = ("usual", "ties", "copies", "nearly", "subspace", "units")


def some_arms(kind: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    if kind == "ties":
        return rng.integers(-1, 2, shape).astype(float)
    arms = rng.normal(size=shape)
    if kind == "copies":
        arms[..., shape[-2] // 2 :, :] = arms[..., : shape[-2] - shape[-2] // 2, :]
    elif kind == "nearly":
        arms[..., 1:, :] = arms[..., :1, :] * (1 + 1e-15 * rng.normal(size=arms[..., 1:, :].shape))
    elif kind == "subspace":
        arms[..., -1] = arms[..., 0]
    elif kind == "units":
        arms *= 10.0 ** np.arange(-4, -4 + 2 * shape[-1], 2)
    return arms


@pytest.mark.slow
@examples(60)
@given(
    kind=st.sampled_from(KINDS),
    lead=st.sampled_from([(), (1,), (1, 1), (2, 1)]),
    sizes=st.tuples(st.integers(1, 12), st.integers(2, 5), st.integers(1, 4)),
    threshold=st.sampled_from([None, 0.5]),
    seed=st.integers(0, 10_000),
)
def test_a_batch_is_its_learners(
    kind: str, lead: tuple[int, ...], sizes: tuple[int, int, int], threshold: Any, seed: int
) -> None:
    (K, d, M), rng = sizes, np.random.default_rng(seed)
    batch = {0: (3,), 1: (3,), 2: (2, 3)}[len(lead)]
    arms = some_arms(kind, rng, (*lead, K, d))
    everywhere = np.broadcast_to(arms, (*batch, K, d))
    theta = rng.integers(-2, 3, (M, d)).astype(float)
    together = mogro.MOGRO(d, M, threshold=threshold, batch=batch)
    generators = np.empty(batch, dtype=object)
    alone = {}
    for learner in np.ndindex(*batch):
        generators[learner] = np.random.default_rng([seed, *learner])
        source = np.random.default_rng([seed, *learner])
        alone[learner] = mogro.MOGRO(d, M, threshold=threshold), source
    streams = mogro.Streams(generators)
    for _ in range(40):
        chosen: Any = together.select(arms, rng=streams)
        x = np.take_along_axis(everywhere, chosen[..., None, None], axis=-2)[..., 0, :]
        y = np.einsum("...d,md->...m", x, theta) + 0.1 * rng.normal(size=(*batch, M)).round(1)
        for learner, (policy, source) in alone.items():
            assert policy.select(everywhere[learner], rng=source) == chosen[learner]
            assert policy.exploring == together.exploring[learner]  # type: ignore[index]
            policy.update(x[learner], y[learner])
        together.update(x, y)
    for learner, (policy, _) in alone.items():
        assert np.array_equal(policy.theta, together.theta[learner])


class WeightsOfBothSigns:
    """A scalarisation that may want less of an objective."""

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: Any
    ) -> np.ndarray[Any, Any]:
        return np.asarray(rng.standard_normal((*batch, objectives)))


@pytest.mark.parametrize(
    ("kind", "K"),  # rounds are optimistic about some of many arms only
    [("usual", 40), ("copies", 40), ("usual", 600), ("copies", 600), ("ties", 600)],
)
@pytest.mark.parametrize("how", [mogro.RandomWeights(), WeightsOfBothSigns()])
def test_optimistic_rounds_of_a_batch_are_those_of_its_learners(
    kind: str, K: int, how: Any
) -> None:
    rng, R, d, M = np.random.default_rng(K), 3, 4, 2
    arms, theta = some_arms(kind, rng, (K, d)), rng.normal(size=(M, d))
    together = mogro.MOGRO(d, M, scalarization=how, batch=(R,))
    alone = [mogro.MOGRO(d, M, scalarization=how) for _ in range(R)]
    streams = mogro.Streams([np.random.default_rng(i) for i in range(R)])
    sources = [np.random.default_rng(i) for i in range(R)]
    optimistic = 0
    for _ in range(60):
        chosen: Any = together.select(arms, rng=streams)
        optimistic += int(np.count_nonzero(together.exploring))
        y = arms[chosen] @ theta.T + 0.3 * rng.normal(size=(R, M))
        for i, (policy, source) in enumerate(zip(alone, sources, strict=True)):
            assert policy.select(arms, rng=source) == chosen[i]
            assert policy.exploring == together.exploring[i]  # type: ignore[index]
            policy.update(arms[chosen[i]], y[i])
        together.update(arms[chosen], y)
    assert optimistic > R * d  # beyond the first rounds


@examples(100)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10_000), dim=st.integers(2, 12))
def test_rounding_is_bounded(kind: str, seed: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    arms = some_arms(kind, rng, (1, 9, dim))
    directions = rng.normal(size=(4, dim))
    precise: Any = arms[0].astype(np.longdouble)
    scores, error = shared_scores(arms, directions)
    assert (np.abs(scores - directions @ precise.T) <= error).all()
    roots = rng.normal(size=(4, dim, dim)) * 10.0 ** rng.integers(-6, 6, (4, 1, dim))
    check_deviations(arms, roots)


def check_deviations(arms: Any, roots: Any) -> None:
    deviations, bounds = shared_deviations(arms, roots), deviation_bounds(arms, roots, np.ones(1))
    precise = arms.reshape(arms.shape[-2:]).astype(np.longdouble)
    parts = np.einsum("rij,kj->rki", roots.astype(np.longdouble), precise)
    exact, share = np.sqrt(np.square(parts).sum(axis=-1)), rounding(arms.shape[-1])
    assert (np.abs(deviations - exact) <= 2 * share * bounds).all()
    assert (exact <= (1 + 2 * share) * bounds).all()


def test_what_is_shared() -> None:
    assert is_shared(np.ones((5, 2)))
    assert is_shared(np.ones((1, 5, 2)))
    assert is_shared(np.ones((4, 1, 5, 2)))
    assert not is_shared(np.ones((3, 5, 2)))
    assert not is_shared(np.ones((1, 3, 5, 2)))


def test_leaders_and_those_behind_them() -> None:
    scores = np.array([[1.0, 3.0, 2.0], [1.0, 2.0, 2.0], [0.0, 1.0, np.nan], [-1.0, -1.5, -2.0]])
    before = scores.copy()
    best, tops, seconds = leaders(scores)
    assert best.tolist() == [1, 1, 2, 0]
    np.testing.assert_array_equal(tops, [3.0, 2.0, np.nan, -1.0])
    np.testing.assert_array_equal(seconds, [2.0, 2.0, 1.0, -1.5])
    np.testing.assert_array_equal(scores, before)
    assert leaders(np.array([[7.0]]))[2].tolist() == [-np.inf]  # a single arm
    assert scores_of(scores, np.array([1, 2, 0, 1])).tolist() == [3.0, 2.0, 0.0, -1.5]


@pytest.mark.parametrize("behind", [0.0, 1e-15, 1e-6, 1.0])
@pytest.mark.parametrize("optimism", [None, Optimism(1.0, 0), Optimism(1e-3, 0)])
def test_nobody_is_in_doubt_but_those_whose_best_arms_tie(
    behind: float, optimism: Optimism | None
) -> None:
    arms = np.array([[1.0, 0.0], [1.0 - behind, 0.0], [0.0, 1.0]])
    beliefs, weights = Posterior(2, 1, prior=Fixed(1e6), batch=(2,)).beliefs(), np.ones((2, 1))
    directions = np.array([[1.0, 0.0], [0.0, 1.0]])  # the second learner prefers another arm
    arm, another, doubtful = screened_arms(arms, beliefs, weights, directions, optimism)
    assert arm[1] == 2
    assert doubtful.tolist() == ([0] if behind < 1e-9 else [])
    assert not another[1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_bad_features_are_refused_as_for_one_learner(bad: float) -> None:
    world = FixedArms.sample(3, 8, 2, noise=0.1, rng=np.random.default_rng(0))
    policy, rng = mogro.MOGRO(3, 2, threshold=0.1, batch=(4,)), np.random.default_rng(1)
    for _ in range(50):
        arms: Any = policy.select(world.features, rng=rng)
        policy.update(world.features[arms], world.means[arms])
    assert not np.any(policy.exploring)
    features = np.array(world.features)
    features[5, 1] = bad
    with pytest.raises(ValueError, match="features: expected"):
        policy.select(features, rng=rng)


@pytest.mark.parametrize("size", [1.0, 1e5, 1e25])
def test_deviations_of_single_precision_are_as_precise(size: float) -> None:
    """Products of features have twice their digits."""
    rng = np.random.default_rng(0)
    arms = (size * rng.standard_normal((20, 4))).astype(np.float32)
    check_deviations(arms, rng.standard_normal((3, 4, 4)))


def test_no_arm_may_be_left() -> None:
    assert shared_deviations(np.ones((1, 0, 4)), np.ones((3, 4, 4))).shape == (3, 0)

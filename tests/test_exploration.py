"""The first rounds."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, example, given
from tests.oracles import exploration as oracle
from tests.properties import examples

import mogro
from mogro._validation import FloatArray
from mogro.exploration import (
    ExplorationCache,
    ExplorationContext,
    largest_variance,
    needed_exploration,
)
from mogro.posterior import Posterior
from mogro.priors import Fixed

KINDS = ("random", "duplicates", "zeros", "collinear", "few", "subspace", "axes", "flat")


def arms_like(kind: str, dim: int, arms: int, seed: int) -> FloatArray:
    """Return features (K, d) that are degenerate in the way named."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((arms, dim))
    x /= np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True))
    if kind == "duplicates":
        x = x[rng.integers(0, max(1, arms // 2), arms)]
    elif kind == "zeros":
        x[rng.random(arms) < 0.5] = 0
    elif kind == "collinear":
        x = np.outer(rng.uniform(-1, 1, arms), x[0])
    elif kind == "few":
        x = x[: max(1, dim - 1)]
    elif kind == "subspace":
        part = max(1, dim // 2)
        x = x[:, :part] @ np.linalg.qr(rng.standard_normal((dim, dim)))[0][:part]
    elif kind == "axes":
        x = np.eye(dim)[rng.integers(0, dim, arms)]
    elif kind == "flat":
        x[:, -1] *= 0.03
    return x


arm_sets = st.builds(
    arms_like,
    st.sampled_from(KINDS),
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(0, 2**32),
)


def explore(policy: mogro.MOGRO, features: FloatArray, *, limit: int = 2000) -> list[int]:
    """Play until exploration ends or the limit is reached, and return the arms pulled."""
    rng = np.random.default_rng(0)
    pulls: list[int] = []
    while len(pulls) < limit:
        arm = int(policy.select(features, rng=rng))
        if not policy.exploring:
            return pulls
        policy.update(features[arm], rng.standard_normal(policy.objectives))
        pulls.append(arm)
    return pulls


def moments(x: FloatArray) -> FloatArray:
    wide = x.astype(np.float64)
    return np.asarray(wide.T @ wide)


# The largest variance in a span


@given(arm_sets, st.integers(0, 2**32), st.integers(0, 2), st.booleans())
@examples(200)
def test_largest_variance_against_the_definition(
    x: FloatArray, seed: int, powers: int, single: bool
) -> None:
    """In units of up to a hundred to one: more, and the oracle has no digits left."""
    rng = np.random.default_rng(seed)
    dim = x.shape[1]
    x = x * 10.0 ** rng.integers(-powers, powers, dim, endpoint=True)
    if single:
        x = x.astype(np.float32)
    S = moments(rng.standard_normal((dim + 2, dim)))
    expected = oracle.largest_variance(x.astype(np.float64), S)
    spread = np.linalg.svd(oracle.independent(x.astype(np.float64)), compute_uv=False)
    assume(not len(spread) or spread[-1] > 1e-4 * spread[0])  # or digits are lost on either side
    assert largest_variance(x, S) == pytest.approx(expected, rel=1e-3 if single else 1e-5)


@given(st.integers(1, 6), st.integers(0, 2**32), st.integers(0, 8))
@examples(60)
def test_arms_that_span_all_of_the_space(dim: int, seed: int, powers: int) -> None:
    """Whatever the units of the features and the sizes of the arms."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((3 * dim, dim)) * 10.0 ** rng.integers(-8, 8, (3 * dim, 1))
    x *= 10.0 ** rng.integers(-powers, powers, dim, endpoint=True)
    S = moments(rng.standard_normal((dim + 2, dim)))
    assert largest_variance(x, S) == pytest.approx(np.linalg.eigvalsh(S)[-1], rel=1e-9)


@pytest.mark.parametrize("columns", [(1e7, 1.0), (1.0, 1e-7), (1e5, 1e-5)])
@pytest.mark.parametrize("arms", [2, 40])
def test_the_span_does_not_depend_on_units(columns: tuple[float, float], arms: int) -> None:
    x = np.random.default_rng(0).standard_normal((arms, 3))
    x[:, 2] = x[:, 0] + x[:, 1]  # two dimensions of three, whatever the units
    scale = np.array([*columns, columns[0]])
    basis = np.linalg.qr(scale[:, None] * np.array([[1.0, 0], [0, 1], [1, 1]]))[0]
    inside = np.linalg.inv(basis.T @ moments(x * scale) @ basis)
    found = largest_variance(x * scale, basis @ inside @ basis.T)
    assert found == pytest.approx(np.linalg.eigvalsh(inside)[-1], rel=1e-4)


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("arms", [3, 30])
def test_arms_of_other_sizes_hide_nothing(size: float, arms: int) -> None:
    x = arms_like("random", 5, arms, seed=6)
    S = np.diag([1.0, 2, 3, 4, 5])
    expected = largest_variance(x, S)
    x[1] *= size
    assert largest_variance(x, S) == pytest.approx(expected)


def test_many_arms() -> None:
    rng = np.random.default_rng(0)
    S = moments(rng.standard_normal((40, 20)))
    x = rng.standard_normal((2000, 20))
    assert largest_variance(x, S) == pytest.approx(np.linalg.eigvalsh(S)[-1])
    x[:, -1] = 0
    x[1234, -1] = 1e-3  # of many arms, one alone has the last direction
    assert largest_variance(x, S) == pytest.approx(np.linalg.eigvalsh(S)[-1], rel=1e-6)
    x[1234, -1] = 0
    assert largest_variance(x, S) == pytest.approx(np.linalg.eigvalsh(S[:-1, :-1])[-1], rel=1e-6)


def test_a_batch_looks_as_its_learners_do_alone() -> None:
    rng = np.random.default_rng(8)
    kinds = ("random", "zeros", "collinear", "axes", "subspace")
    x = np.stack([arms_like(kind, 4, 6, seed=9) for kind in kinds])
    x[3] *= 1e7
    S = np.stack([moments(rng.standard_normal((6, 4))) for _ in kinds])
    alone = [largest_variance(arms, each) for arms, each in zip(x, S, strict=True)]
    np.testing.assert_allclose(largest_variance(x, S), alone, rtol=1e-9)


# When exploration ends


@given(arm_sets, st.sampled_from([1e-9, 1e-3, 1.0, 1e3, 1e9]), st.sampled_from([0.05, 0.4, 3.0]))
@example(np.eye(4)[2:], 1.0, 2.0)
@examples(150)
def test_with_a_threshold_exploration_ends_where_the_paper_says(
    x: FloatArray, scale: float, share: float
) -> None:
    x = scale * x
    B = share * float(np.square(x).sum(axis=1).max()) or 1.0
    for rule in (mogro.Uniform(), mogro.BasisRoundRobin(x), mogro.WeakestDirection()):
        policy = mogro.MOGRO(x.shape[1], 1, threshold=B, exploration=rule)
        pulls = explore(policy, x, limit=60)  # arms that are nearly collinear take long
        V = np.zeros((x.shape[1], x.shape[1]))
        for arm in pulls:
            assert oracle.smallest_in_span(V, x) < B * (1 + 1e-7)
            V += np.outer(x[arm], x[arm])
        if len(pulls) < 60:
            assert oracle.smallest_in_span(V, x) >= B * (1 - 1e-7)


@given(
    st.integers(1, 5),
    st.integers(1, 9),
    st.integers(0, 2**32),
    st.sampled_from([np.float32, float]),
)
@examples(60)
def test_units_from_a_millionth_to_a_million(dim: int, arms: int, seed: int, dtype: type) -> None:
    """The paper's test is in raw units; S decides it with the digits that V has lost."""
    rng = np.random.default_rng(seed)
    x = arms_like("random", dim, arms, seed) * 10.0 ** rng.integers(-6, 6, dim, endpoint=True)
    x = x.astype(dtype)
    B = 0.3 * float(np.square(np.abs(x).max(axis=0)).min())
    policy = mogro.MOGRO(dim, 1, threshold=B)
    pulls = explore(policy, x, limit=100)
    V = moments(x[pulls]) if pulls else np.zeros((dim, dim))
    largest = np.abs(x).max(axis=0).astype(np.float64)
    if arms >= dim:  # in columns of one size, a lower bound that has all digits
        scaled = V / np.outer(largest, largest)
        least = np.linalg.eigvalsh(scaled)[0] * np.square(largest).min()
        assert len(pulls) == 100 or least <= B * 1.001 or not policy.exploring
        if len(pulls) < 100:
            assert np.linalg.eigvalsh(np.linalg.inv(scaled) / np.outer(largest, largest))[-1] <= (
                1.001 / B
            )


@given(arm_sets, st.integers(0, 2**32), st.integers(1, 6))
@examples(100)
def test_arms_that_cannot_reach_what_else_is_in_v(x: FloatArray, seed: int, logged: int) -> None:
    """V has something outside the span of the arms: exploration ends all the same."""
    rng = np.random.default_rng(seed)
    policy = mogro.MOGRO(x.shape[1], 1, threshold=0.3)
    log = rng.standard_normal((logged, x.shape[1])) * 0.5
    policy.learn(log, np.ones((logged, 1)))
    pulls = explore(policy, 3 * x, limit=100)
    within = oracle.smallest_in_span(moments(3 * x[pulls]), 3 * x)
    # What the arms taught by themselves would do, so with the log they need no more.
    assert len(pulls) < 100 or within < 0.3
    if len(pulls) < 100:
        assert oracle.known_in_span(policy.posterior.V[0], 3 * x) >= 0.3 * (1 - 1e-6)


@given(arm_sets, st.integers(0, 2**32))
@example(arms_like("random", 4, 3, 0), 0)  # the first arm is the cache's random vector
@examples(60)
def test_a_learner_explores_just_as_long_as_its_variances_are_large(
    x: FloatArray, seed: int
) -> None:
    """Arms that come and go: every round decides by what is on offer."""
    rng = np.random.default_rng(seed)
    policy = mogro.MOGRO(x.shape[1], 1, threshold=0.3)
    for _ in range(30):
        offered = x[rng.random(len(x)) < 0.5] if rng.random() < 0.8 else x[:1]
        if len(offered) == 0:
            continue
        known = oracle.known_in_span(policy.posterior.V[0], offered)
        arm = int(policy.select(offered, rng=rng))
        if abs(known - 0.3) > 1e-6:
            assert policy.exploring == (known < 0.3)
        policy.update(offered[arm], np.ones(1))


@given(arm_sets, st.sampled_from([np.float32, np.float64]))
@example(arms_like("random", 2, 10, 287), np.float32)  # then an optimistic round
@examples(100)
def test_without_a_threshold_it_ends_soon(x: FloatArray, dtype: type) -> None:
    """Once every arm on offer has a variance of at most 10."""
    x = x.astype(dtype)
    policy, rng = mogro.MOGRO(x.shape[1], 2), np.random.default_rng(0)
    pulls: list[int] = []  # without what optimistic rounds try
    while policy.needed_exploration(x, policy.beliefs(), step=policy.step, cache=None) is not None:
        pulls.append(int(policy.select(x, rng=rng)))
        policy.update(x[pulls[-1]], rng.standard_normal(2))
        assert len(pulls) <= 2 * x.shape[1]
    wide = x.astype(np.float64)
    if pulls:
        inverse = np.linalg.pinv(moments(wide[pulls]), rcond=1e-10, hermitian=True)
        assert (np.vecdot(wide @ inverse, wide) <= 10 * (1 + 1e-5)).all()
        assert np.linalg.matrix_rank(wide[pulls], 1e-5) == np.linalg.matrix_rank(wide, 1e-5)
    else:
        assert not x.any()


def test_a_null_vector_that_is_orthogonal_to_every_arm() -> None:
    arms = np.eye(4)[2:]
    assert sorted(explore(mogro.MOGRO(4, 2, threshold=2.0), arms)) == [0, 0, 1, 1]
    assert sorted(explore(mogro.MOGRO(4, 2), arms)) == [0, 1]
    turned = arms @ np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    assert sorted(explore(mogro.MOGRO(4, 2, threshold=1.9), turned)) == [0, 0, 1, 1]


@pytest.mark.parametrize("threshold", [None, 0.1])
def test_zero_arms_teach_nothing(threshold: float | None) -> None:
    assert explore(mogro.MOGRO(3, 2, threshold=threshold), np.zeros((4, 3))) == []
    arms = np.array([[0.0, 0, 0], [0, 1, 0]])
    assert explore(mogro.MOGRO(3, 2, threshold=threshold), arms) == [1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threshold", [None, 0.1])
def test_rounding_of_features_is_no_direction(dtype: type[np.floating], threshold: float) -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((20, 6))
    x[:, 5] = 0
    x = (x @ np.linalg.qr(rng.standard_normal((6, 6)))[0]).astype(dtype)
    column = np.hstack([x, np.zeros((20, 1))]).astype(dtype)
    column[0, -1] = 0.3 * np.finfo(dtype).eps  # a column that should be zero
    for arms in (x, x[:3], np.vstack([x[:3], x[:3]]), column):
        policy = mogro.MOGRO(arms.shape[1], 1, threshold=threshold)
        assert len(explore(policy, arms)) < 60


@given(arm_sets, st.integers(0, 2**32))
@examples(40)
def test_without_a_threshold_the_units_of_features_decide_nothing(x: FloatArray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.integers(-6, 6, x.shape[1], endpoint=True)
    size = 10.0 ** rng.integers(-20, 20)
    played = []
    for scale in (np.ones(x.shape[1]), units, np.full(x.shape[1], size)):
        policy, draws = mogro.MOGRO(x.shape[1], 2), np.random.default_rng(seed)
        pulls = []
        for _ in range(40):
            arm = int(policy.select(x * scale, rng=draws))
            pulls.append((arm, policy.exploring))
            policy.update(x[arm] * scale, x[arm].sum() + draws.standard_normal(2))
        played.append(pulls)
    assert played[0] == played[1] == played[2]


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e6, 1e30])
def test_a_threshold_in_proportion_makes_the_same_choices(scale: float) -> None:
    x = arms_like("random", 4, 15, seed=3)
    found = explore(mogro.MOGRO(4, 2, threshold=0.7 * scale**2), scale * x)
    assert found == explore(mogro.MOGRO(4, 2, threshold=0.7), x)


@pytest.mark.parametrize("threshold", [None, 0.1])
def test_exploration_resumes_on_something_new(threshold: float | None) -> None:
    policy = mogro.MOGRO(3, 1, threshold=threshold)
    plane = np.array([[1.0, 0, 0], [0, 1.0, 0], [0.6, 0.6, 0]])
    assert len(explore(policy, plane)) == 2
    assert explore(policy, plane) == []
    beyond = np.vstack([plane, [0.5, 0, 0.5]])
    assert explore(policy, beyond) == [3]
    for x in (beyond, plane, np.ones((1, 3))):  # all is known
        assert explore(policy, x) == []


@pytest.mark.parametrize("threshold", [None, 0.1])
def test_a_learner_that_forgets_explores_again(threshold: float | None) -> None:
    """Without a threshold every eighth round looks."""
    policy = mogro.MOGRO(2, 1, threshold=threshold, half_life=4.0)
    rng = np.random.default_rng(0)
    for x in np.eye(2):
        policy.update(x, np.ones(1))
    for _ in range(20):
        policy.update(np.array([1.0, 0.0]), np.ones(1))
    explored = []
    for _ in range(8):
        arm = policy.select(np.eye(2), rng=rng)
        explored.append(bool(policy.exploring) and arm == 1)
    assert any(explored)


# How to explore


def test_basis_round_robin_takes_turns_over_a_basis() -> None:
    x = arms_like("random", 4, 15, seed=1)
    rule = mogro.BasisRoundRobin(x)
    assert len(set(rule.basis.tolist())) == np.linalg.matrix_rank(x[rule.basis]) == 4
    pulls = explore(mogro.MOGRO(4, 2, threshold=1.0, exploration=rule), x)
    assert pulls == [int(rule.basis[t % 4]) for t in range(len(pulls))]
    turns = np.ceil(1.0 / np.linalg.eigvalsh(moments(x[rule.basis]))[0])
    assert len(pulls) <= 4 * turns  # notes: T_0 <= ceil(B / lambda_S) |S|


def test_bases_of_different_length_in_a_batch() -> None:
    full, line = arms_like("random", 3, 5, seed=2), arms_like("collinear", 3, 5, seed=2)
    rule = mogro.BasisRoundRobin(np.stack([full, line]))
    policy = mogro.MOGRO(3, 1, threshold=0.5, exploration=rule, batch=(2,))
    alone = [
        mogro.MOGRO(3, 1, threshold=0.5, exploration=mogro.BasisRoundRobin(x)) for x in (full, line)
    ]
    rng = np.random.default_rng(0)
    for _ in range(20):
        arms = np.asarray(policy.select(np.stack([full, line]), rng=rng))
        for learner, x in enumerate((full, line)):
            if np.asarray(policy.exploring)[learner]:
                assert alone[learner].select(x, rng=rng) == arms[learner]
                alone[learner].update(x[arms[learner]], np.ones(1))
        policy.update(np.stack([full[arms[0]], line[arms[1]]]), np.ones((2, 1)))
    assert not np.asarray(policy.exploring)[1]


def test_basis_of_other_arms_is_refused() -> None:
    policy = mogro.MOGRO(3, 1, exploration=mogro.BasisRoundRobin(np.eye(3)))
    with pytest.raises(ValueError, match="features: expected the 3 arms"):
        policy.select(np.ones((4, 3)), rng=np.random.default_rng(0))
    bad: list[Any] = [np.nan, [[np.inf, 0.0]], [[]], [1.0], "a"]
    for features in bad:
        with pytest.raises(ValueError, match="features"):
            mogro.BasisRoundRobin(features)


def test_basis_keeps_its_own_copy_of_the_features() -> None:
    x = np.eye(3)
    rule = mogro.BasisRoundRobin(x)
    x[:] = 0
    assert (rule.features == np.eye(3)).all()


@pytest.mark.slow
@pytest.mark.parametrize("batch", [(), (3,)])
def test_uniform_exploration_is_uniform(batch: tuple[int, ...]) -> None:
    policy = mogro.MOGRO(2, 1, threshold=1e9, exploration=mogro.Uniform(), batch=batch)
    rng = np.random.default_rng(0)
    x = arms_like("random", 2, 5, seed=0)
    pulls = np.array([policy.select(x, rng=rng) for _ in range(6000)]).ravel()
    counts = np.bincount(pulls, minlength=5)
    assert np.abs(counts / len(pulls) - 0.2).max() < 0.02
    assert np.all(policy.exploring)


@pytest.mark.parametrize(("sizes", "share"), [((5, 50, 5), 0.7), ((10, 200, 10), 0.5)])
def test_weakest_direction_needs_fewer_rounds(sizes: tuple[int, int, int], share: float) -> None:
    d, K, M = sizes
    rounds: dict[str, list[int]] = {"weakest": [], "basis": []}
    for seed in range(6):
        world = mogro.environments.FixedArms.sample(
            d, K, M, noise=0.1, rng=np.random.default_rng(seed)
        )
        for name, rule in (
            ("weakest", mogro.WeakestDirection()),
            ("basis", mogro.BasisRoundRobin(world.features)),
        ):
            policy = mogro.MOGRO(d, M, threshold=1.0, exploration=rule)
            rounds[name].append(len(explore(policy, world.features)))
    assert np.median(rounds["weakest"]) <= share * np.median(rounds["basis"])


def contexts(arms: FloatArray, S: FloatArray, threshold: float | None) -> ExplorationContext:
    root = np.linalg.cholesky(S).T
    return ExplorationContext(arms[None], root[None], threshold, np.array([0]), (), 0)


@given(arm_sets, st.integers(0, 2**32))
@examples(100)
def test_gains_do_not_depend_on_coordinates(x: FloatArray, seed: int) -> None:
    """Turned, mirrored and permuted, LAPACK gives other eigenvectors of the same eigenspaces."""
    dim = x.shape[1]
    rng = np.random.default_rng(seed)
    S = np.diag(rng.choice([0.5, 1.0, 2.0], dim))  # eigenvalues that are often equal
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    ways = (np.eye(dim)[rng.permutation(dim)] * rng.choice([-1, 1], dim), turn)
    expected = contexts(x, S, 1.0).gains
    for way in ways:
        found = contexts(x @ way, way.T @ S @ way, 1.0).gains
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@given(arm_sets, st.integers(0, 2**32))
@examples(100)
def test_the_weakest_direction_is_that_of_the_largest_variance(x: FloatArray, seed: int) -> None:
    """Of those arms, or equal ones, the first that adds most along it."""
    assume(x.any())
    dim = x.shape[1]
    S = moments(np.random.default_rng(seed).standard_normal((dim + 1, dim)))
    basis = oracle.span(x)
    values, vectors = np.linalg.eigh(basis.T @ S @ basis)
    assume(len(values) == 1 or values[-2] < 0.999 * values[-1])
    gains = np.square(x @ basis @ vectors[:, -1])
    context = contexts(x, S, 1.0)
    np.testing.assert_allclose(context.gains[0], gains, rtol=1e-5, atol=1e-8)
    arm = mogro.WeakestDirection().choose(context, rng=np.random.default_rng(0))
    assert gains[arm] >= gains.max() * (1 - 1e-6)
    assert arm == np.flatnonzero((x == x[arm]).all(axis=1))[0]


def test_gains_of_equal_eigenvalues_are_squared_norms() -> None:
    x = arms_like("random", 6, 4, seed=5)
    found = contexts(x, np.eye(6) / 3, 1.0).gains
    np.testing.assert_allclose(found[0], np.square(x).sum(axis=1))


def test_without_a_threshold_gains_are_variances() -> None:
    x, S = arms_like("random", 3, 8, seed=5), np.diag([1.0, 2.0, 3.0])
    np.testing.assert_allclose(contexts(x, S, None).gains[0], np.vecdot(x @ S, x))


@pytest.mark.parametrize("exploration", [None, "uniform", mogro.WeakestDirection, 3])
def test_what_is_no_exploration_is_refused(exploration: object) -> None:
    with pytest.raises(ValueError, match="exploration"):
        mogro.MOGRO(2, 2, exploration=exploration)  # type: ignore[arg-type]


def test_features_of_single_precision_may_be_large() -> None:
    x = 1e25 * np.eye(3, dtype=np.float32)
    for threshold in (None, 1e49):
        assert len(explore(mogro.MOGRO(3, 1, threshold=threshold), x)) == 3


# Objectives with an S each


def test_the_objective_that_is_known_least_decides() -> None:
    posterior = Posterior(2, 2)
    posterior.update(np.array([1.0, 0.0]), np.ones(2))
    posterior.update(np.array([0.0, 1.0]), np.ones(2), np.array([1.0, 0.0]))
    for threshold in (None, 0.5):
        context = needed_exploration(np.eye(2), posterior.beliefs(), threshold, step=0)
        assert context is not None
        assert mogro.WeakestDirection().choose(context, rng=np.random.default_rng(0)) == [1]
    posterior.update(np.array([0.0, 1.0]), np.ones(2), np.array([0.0, 1.0]))
    for threshold in (None, 0.5):
        assert needed_exploration(np.eye(2), posterior.beliefs(), threshold, step=0) is None


# What is remembered never changes an answer


def some_arms(rng: np.random.Generator, dim: int, basis: FloatArray) -> FloatArray:
    """Arms of a round: anywhere, in a subspace, few, tiny, or single precision."""
    kind, count = rng.integers(7), int(rng.integers(1, 9))
    x = rng.standard_normal((count, dim))
    if kind == 0:
        x = x[:, : len(basis)] @ basis
    elif kind == 1:
        x = x[:1] * 3
    elif kind == 2:
        x = (x[:, : len(basis)] @ basis).astype(np.float32)
    elif kind == 3:
        x = np.eye(dim)[rng.integers(0, dim, count)]
    elif kind == 4:
        x = x * 1e-10
    elif kind == 5:
        x = x * (rng.random(dim) < 0.5)
    return np.asarray(x)


@given(
    st.integers(0, 2**32),
    st.sampled_from([(), (1,), (3,), (2, 2)]),
    st.sampled_from([None, 0.5, 0.02]),
    st.sampled_from([None, 5.0, 100.0]),
    st.booleans(),
)
@examples(30)
def test_what_is_remembered_never_changes_an_answer(
    seed: int,
    batch: tuple[int, ...],
    threshold: float | None,
    half_life: float | None,
    flat: bool,
) -> None:
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 6))
    prior = {} if flat else {"prior": Fixed(0.1)}
    policy, fresh = (
        mogro.MOGRO(dim, 1, threshold=threshold, half_life=half_life, batch=batch, **prior)  # type: ignore[arg-type]
        for _ in range(2)
    )
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0][: max(1, dim // 2)]
    kept = [some_arms(rng, dim, basis) for _ in range(3)]
    narrow = rng.random() < 0.5  # whether arms stay within a subspace for long
    for step in range(80):
        arms = kept[int(rng.integers(3))] if rng.random() < 0.5 else some_arms(rng, dim, basis)
        if narrow and step < 50:
            arms = rng.standard_normal((3, len(basis))) @ basis
        if batch and rng.random() < 0.3:
            arms = np.stack([arms] * batch[-1]) * (1 + np.arange(batch[-1]))[:, None, None]
        object.__setattr__(fresh, "_cache", ExplorationCache())
        chosen = [
            np.asarray(each.select(arms, rng=np.random.default_rng(step)))
            for each in (policy, fresh)
        ]
        assert (chosen[0] == chosen[1]).all()
        assert (np.asarray(policy.exploring) == np.asarray(fresh.exploring)).all()
        offered = np.broadcast_to(arms, (*batch, *arms.shape[-2:]))
        x = np.take_along_axis(offered, chosen[0][..., None, None], axis=-2)[..., 0, :]
        x = np.where(rng.random((*batch, 1)) < 0.8, x, 0.0)
        for each in (policy, fresh):
            each.update(x, np.zeros((*batch, 1)))


def test_a_learner_that_spans_everything_beside_one_that_does_not() -> None:
    arms = np.stack([np.eye(3), np.eye(3)[[0, 1, 1]]])
    policy = mogro.MOGRO(3, 1, threshold=1.0, batch=(2,))
    rng = np.random.default_rng(0)
    for _ in range(12):
        chosen = np.asarray(policy.select(arms, rng=rng))
        policy.update(arms[[0, 1], chosen], np.zeros((2, 1)))
    assert not np.asarray(policy.exploring).any()
    policy.select(np.eye(3), rng=rng)
    assert np.asarray(policy.exploring).tolist() == [False, True]


def test_arms_changed_in_place_are_other_arms() -> None:
    for threshold in (None, 0.5):
        policy = mogro.MOGRO(2, 1, threshold=threshold)
        x = np.array([[1.0, 0.0]])
        assert explore(policy, x) == [0]
        x[0] = 0.0, 1.0
        assert explore(policy, x) == [0]


@pytest.mark.parametrize("seed", range(12))
def test_arms_that_were_known_need_no_look(seed: int) -> None:
    """Whatever arms come, and whatever fades, in place or not, the answer is that of a look."""
    rng = np.random.default_rng(seed)
    dim, batch = 3, ((), (2,))[seed % 2]
    posterior, cache, explored = Posterior(dim, 1, batch=batch), ExplorationCache(), 0
    arms = rng.standard_normal((150, dim))
    for step in range(120):
        if rng.random() < 0.05:
            arms[rng.integers(150)] *= 10.0  # in place
        if rng.random() < 0.05:
            posterior.decay(0.01)
        beliefs = posterior.beliefs()
        found, fresh = (
            needed_exploration(arms, beliefs, None, step=step, cache=each) for each in (cache, None)
        )
        assert (found is None) == (fresh is None)
        if found is not None and fresh is not None:
            np.testing.assert_array_equal(found.learners, fresh.learners)
            explored += 1
        chosen = arms[rng.integers(0, 150, batch)]
        posterior.update(chosen, rng.standard_normal((*batch, 1)))
    assert 0 < explored < 120


def test_what_is_known_up_to_one_threshold_is_not_up_to_another() -> None:
    posterior, cache, arms = Posterior(2, 1), ExplorationCache(), np.eye(2)
    posterior.learn(np.eye(2), np.ones((2, 1)))
    beliefs = posterior.beliefs()
    for _ in range(2):
        for threshold, explores in ((None, False), (0.5, False), (2.0, True)):
            found = needed_exploration(arms, beliefs, threshold, step=0, cache=cache)
            assert (found is not None) == explores


@pytest.mark.parametrize("batch", [(), (2,)])
def test_that_everything_is_known_holds_for_no_features_beyond_the_resolution(
    batch: tuple[int, ...],
) -> None:
    """What is known up to a threshold is not known up to the one that larger features count as."""
    posterior, cache = Posterior(2, 1, batch=batch), ExplorationCache()
    posterior.learn(np.ones((*batch, 1, 1)) * np.eye(2), np.ones((*batch, 2, 1)))
    beliefs = posterior.beliefs()
    for scale, explores in ((1.0, False), (1e6, True), (1e3, False), (-1e6, True), (1.0, False)):
        arms = scale * np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
        for each in (cache, None):
            context = needed_exploration(arms, beliefs, 1.0, step=0, cache=each)
            assert (context is not None) == explores


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("dim", [2, 4, 7])
def test_with_a_threshold_features_that_no_arm_has_need_no_exploration(
    dim: int, fixed: bool
) -> None:
    rng = np.random.default_rng(dim)
    policy = mogro.MOGRO(dim, 1, threshold=5.0, exploration=mogro.Uniform())
    arms = rng.standard_normal((6, dim))
    for _ in range(100):
        arms = arms if fixed else rng.standard_normal((6, dim))
        arms[:, ::2] = 0
        least = np.linalg.eigvalsh(policy.posterior.V[0, 1::2, 1::2])[0]
        arm = policy.select(arms, rng=rng)
        assert policy.exploring == (least < 5.0)
        policy.update(arms[arm], rng.standard_normal(1))


@pytest.mark.parametrize("scale", [1e-5, 1e-6, 1e-8])
def test_small_arms_are_explored_as_long_as_the_paper_says(scale: float) -> None:
    rng = np.random.default_rng(0)
    policy, arms = mogro.MOGRO(3, 1, threshold=1.0), scale * rng.standard_normal((6, 3))
    for _ in range(20):
        arm = policy.select(arms, rng=rng)
        assert policy.exploring
        policy.update(arms[arm], rng.standard_normal(1))
    assert np.linalg.matrix_rank(policy.posterior.V[0] / scale**2, tol=1e-3) == 3


@pytest.mark.parametrize("answer", [[99], [-1], None, [1.5], [0, 1], 2, [True]])
def test_an_exploration_that_names_no_arm_is_refused(answer: Any) -> None:
    class Broken:
        def choose(self, context: ExplorationContext, *, rng: Any) -> Any:
            return answer

    policy = mogro.MOGRO(dim=3, objectives=2, exploration=Broken())
    with pytest.raises(ValueError, match="exploration: expected"):
        policy.select(np.eye(3), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="exploration: expected"):
        policy.probabilities(np.eye(3))

"""The first rounds."""

import warnings
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from tests.oracles import exploration as oracle

import mogro
from mogro._validation import BoolArray, FloatArray
from mogro.exploration import Settled, default_threshold, explores, gains, needs
from mogro.linear import LinearModel

KINDS = ("random", "duplicates", "zeros", "collinear", "few", "subspace", "axes", "flat")


def arms_of(kind: str, dim: int, arms: int, seed: int) -> FloatArray:
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
    arms_of,
    st.sampled_from(KINDS),
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(0, 2**32),
)


def explore(policy: mogro.MOGRO, features: FloatArray, *, limit: int = 5000) -> list[int]:
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


@given(arm_sets, st.sampled_from([1e-3, 1.0, 1e3]))
@settings(max_examples=150, deadline=None)
def test_weakest_direction_and_exit_against_the_definitions(x: FloatArray, scale: float) -> None:
    x = scale * x
    largest = float(np.square(x).sum(axis=1).max())
    policy = mogro.MOGRO(x.shape[1], 1, threshold=0.4 * largest or 1.0)
    assert policy.threshold is not None
    pulls = explore(policy, x, limit=300)  # arms that are nearly collinear take long
    V = np.zeros((x.shape[1], x.shape[1]))
    for arm in pulls:
        assert oracle.smallest_in_span(V, x) < policy.threshold * (1 + 1e-9)
        gains = oracle.gains(V, x)
        assert gains[arm] >= gains.max() * (1 - 1e-6)
        ties = np.flatnonzero((x == x[arm]).all(axis=1))
        assert arm == ties[0]  # of equal arms the first
        V += np.outer(x[arm], x[arm])
    if len(pulls) < 300:
        assert oracle.smallest_in_span(V, x) >= policy.threshold * (1 - 1e-9)


@given(arm_sets)
@settings(max_examples=40, deadline=None)
def test_every_exploration_ends_where_the_definition_says(x: FloatArray) -> None:
    largest = float(np.square(x).sum(axis=1).max())
    rules = (mogro.Uniform(), mogro.BasisRoundRobin(x), mogro.WeakestDirection())
    for rule in rules:
        B = 0.05 * largest or 1.0
        policy = mogro.MOGRO(x.shape[1], 1, threshold=B, exploration=rule)
        V = np.zeros((x.shape[1], x.shape[1]))
        pulls = explore(policy, x, limit=300)
        for arm in pulls:
            assert oracle.smallest_in_span(V, x) < B * (1 + 1e-9)
            V += np.outer(x[arm], x[arm])
        if len(pulls) < 300:
            assert oracle.smallest_in_span(V, x) >= B * (1 - 1e-9)


def test_a_null_vector_that_is_orthogonal_to_every_arm() -> None:
    arms = np.eye(4)[2:]
    policy = mogro.MOGRO(4, 2, threshold=2.0)
    assert sorted(explore(policy, arms)) == [0, 0, 1, 1]
    turned = arms @ np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    assert sorted(explore(mogro.MOGRO(4, 2, threshold=1.9), turned)) == [0, 0, 1, 1]


def test_zero_arms_teach_nothing() -> None:
    assert explore(mogro.MOGRO(3, 2), np.zeros((4, 3))) == []
    assert explore(mogro.MOGRO(3, 2), np.array([[0.0, 0, 0], [0, 1, 0]])) == [1]
    assert explore(mogro.MOGRO(2, 1), 1e-170 * np.eye(2)) == []  # squares vanish


@pytest.mark.parametrize("scale", [1e-60, 1e-30, 1e-6, 1.0, 1e6, 1e30, 1e60])
def test_the_default_threshold_scales_with_the_features(scale: float) -> None:
    x = arms_of("random", 4, 15, seed=3)
    assert explore(mogro.MOGRO(4, 2), scale * x) == explore(mogro.MOGRO(4, 2), x)


def test_basis_round_robin_takes_turns_over_a_basis() -> None:
    x = arms_of("random", 4, 15, seed=1)
    rule = mogro.BasisRoundRobin(x)
    assert len(set(rule.basis.tolist())) == np.linalg.matrix_rank(x[rule.basis]) == 4
    pulls = explore(mogro.MOGRO(4, 2, threshold=1.0, exploration=rule), x)
    assert pulls == [int(rule.basis[t % 4]) for t in range(len(pulls))]
    sum_of_basis = x[rule.basis].T @ x[rule.basis]
    turns = np.ceil(1.0 / np.linalg.eigvalsh(sum_of_basis)[0])
    assert len(pulls) <= 4 * turns  # notes: T_0 <= ceil(B / lambda_S) |S|


def test_bases_of_different_length_in_a_batch() -> None:
    full, line = arms_of("random", 3, 5, seed=2), arms_of("collinear", 3, 5, seed=2)
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
    x = arms_of("random", 2, 5, seed=0)
    pulls = np.array([policy.select(x, rng=rng) for _ in range(6000)]).ravel()
    counts = np.bincount(pulls, minlength=5)
    assert np.abs(counts / len(pulls) - 0.2).max() < 0.02
    assert np.all(policy.exploring)


@pytest.mark.parametrize(("sizes", "share"), [((5, 50, 5), 0.7), ((10, 200, 10), 0.5)])
def test_weakest_direction_needs_fewer_rounds(sizes: tuple[int, int, int], share: float) -> None:
    d, K, M = sizes
    rounds: dict[str, list[int]] = {"weakest": [], "basis": []}
    for seed in range(10):
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


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "flat"])
def test_features_of_single_precision(kind: str) -> None:
    x = arms_of(kind, 4, 10, seed=4).astype(np.float32)
    pulls = explore(mogro.MOGRO(4, 2), x)
    assert len(pulls) < 40
    rank = np.linalg.matrix_rank(x.astype(np.float64), rtol=1e-5)
    assert np.linalg.matrix_rank(x[pulls].astype(np.float64), rtol=1e-5) == rank if pulls else True


def test_exploration_resumes_on_something_new_or_larger() -> None:
    policy = mogro.MOGRO(3, 1)
    plane = np.array([[1.0, 0, 0], [0, 1.0, 0], [0.6, 0.6, 0]])
    assert len(explore(policy, plane)) == 2
    assert explore(policy, plane) == []
    beyond = np.vstack([plane, [0.5, 0, 0.5]])
    assert explore(policy, beyond) == [3]
    for x in (beyond, plane, np.ones((1, 3))):  # all is known
        assert explore(policy, x) == []
    assert sorted(explore(policy, 100 * np.eye(3))) == [0, 1, 2]  # but not at this scale


def test_larger_features_raise_the_default_threshold_in_a_subspace() -> None:
    policy = mogro.MOGRO(3, 1)
    plane = np.array([[1.0, 0, 0], [0, 1.0, 0]])
    assert len(explore(policy, plane)) == 2
    assert len(explore(policy, 10 * plane)) == 2


def sum_of_squares(x: FloatArray) -> FloatArray:
    return np.asarray(x.T @ x)


@given(
    arm_sets,
    st.integers(0, 2**32),
    st.integers(1, 6),
)
@settings(max_examples=150, deadline=None)
def test_arms_that_cannot_reach_what_else_is_in_v(x: FloatArray, seed: int, logged: int) -> None:
    """V has something outside the span of the arms: exploration ends all the same."""
    rng = np.random.default_rng(seed)
    policy = mogro.MOGRO(x.shape[1], 1, threshold=0.3)
    log = rng.standard_normal((logged, x.shape[1])) * 0.5
    policy.learn(log, np.ones((logged, 1)))
    pulls = explore(policy, 3 * x, limit=300)
    within = oracle.smallest_in_span(sum_of_squares(3 * x[pulls]), 3 * x)
    # What the arms taught by themselves would do, so with the log they need no more.
    assert len(pulls) < 300 or within < 0.3
    if len(pulls) < 300:
        assert oracle.known_in_span(policy.model.gram, 3 * x) >= 0.3 * (1 - 1e-6)


@given(arm_sets, st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
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
        known = oracle.known_in_span(policy.model.gram, offered)
        arm = int(policy.select(offered, rng=rng))
        if abs(known - 0.3) > 1e-6:
            assert policy.exploring == (known < 0.3)
        policy.update(offered[arm], np.ones(1))


def learned(dim: int, log: FloatArray, *, batch: tuple[int, ...] = ()) -> LinearModel:
    """Return a model with observations (n, d) in it."""
    model = LinearModel(dim, 1, batch=batch)
    for x in log:
        model.update(np.broadcast_to(x, (*batch, dim)).copy(), np.zeros((*batch, 1)))
    return model


def needs_of(model: LinearModel, arms: FloatArray) -> float:
    unseen = None if model.full else model.unseen[None]
    return float(needs(arms[None], model.inverse[None], unseen)[0])


@given(arm_sets, arm_sets, st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_needs_against_the_definition(x: FloatArray, y: FloatArray, seed: int) -> None:
    dim = max(x.shape[1], y.shape[1])
    x, y = (np.pad(z, ((0, 0), (0, dim - z.shape[1]))) for z in (x, y))
    rng = np.random.default_rng(seed)
    log = y[rng.integers(0, len(y), rng.integers(0, 8))]
    found = needs_of(learned(dim, log), x)
    known = oracle.known_in_span(sum_of_squares(log), x)
    assert found * known == pytest.approx(1, rel=1e-6) or (found, known) in {
        (0.0, np.inf),
        (np.inf, 0.0),
    }


@given(arm_sets, st.integers(0, 2**32), st.integers(0, 6))
@settings(max_examples=100, deadline=None)
def test_gains_do_not_depend_on_coordinates(x: FloatArray, seed: int, logged: int) -> None:
    """Turned, mirrored and permuted, LAPACK gives other eigenvectors of the same eigenspaces."""
    dim = x.shape[1]
    rng = np.random.default_rng(seed)
    log = x[rng.integers(0, len(x), logged)]
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    found = []
    for how in (np.eye(dim), np.eye(dim)[rng.permutation(dim)] * rng.choice([-1, 1], dim), turn):
        model = learned(dim, log @ how)
        unseen = None if model.full else model.unseen[None]
        found.append(gains((x @ how)[None], model.inverse[None], unseen)[0])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-6, atol=1e-9)


def test_gains_of_equal_eigenvalues_are_squared_norms() -> None:
    x = arms_of("random", 6, 4, seed=5)
    for inverse, unseen in ((np.zeros((6, 6)), np.eye(6)), (np.eye(6) / 3, None)):
        found = gains(x[None], inverse[None], None if unseen is None else unseen[None])
        np.testing.assert_allclose(found[0], np.square(x).sum(axis=1))


@pytest.mark.parametrize("columns", [(1e7, 1.0), (1.0, 1e-7), (1e5, 1e-5)])
@pytest.mark.parametrize("arms", [2, 40])
def test_the_span_does_not_depend_on_units(columns: tuple[float, float], arms: int) -> None:
    """A need has the unit of the features; whether there is one has not."""
    x = np.random.default_rng(0).standard_normal((arms, 3))
    x[:, 2] = x[:, 0] + x[:, 1]  # two dimensions of three, whatever the units
    scale = np.array([*columns, columns[0]])
    V = sum_of_squares(x * scale)
    basis = np.linalg.qr(scale[:, None] * np.array([[1.0, 0], [0, 1], [1, 1]]))[0]
    inside = np.linalg.inv(basis.T @ V @ basis)
    inverse = basis @ inside @ basis.T
    found = needs((x * scale)[None], inverse[None], None)[0]
    assert found == pytest.approx(np.linalg.eigvalsh(inside)[-1], rel=1e-4)


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("arms", [3, 30])
def test_arms_of_other_sizes_hide_nothing(size: float, arms: int) -> None:
    x = arms_of("random", 5, arms, seed=6)
    x[1] *= size
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    inverse = np.diag([1.0, 2, 3, 4, 5])[None]
    found = needs(np.stack([x, unit]), np.tile(inverse, (2, 1, 1)), None)
    assert found[0] == pytest.approx(found[1])
    never = (
        np.eye(5)
        - np.linalg.qr(np.delete(x, 1, axis=0)[:2].T)[0]
        @ np.linalg.qr(np.delete(x, 1, axis=0)[:2].T)[0].T
    )
    assert needs(x[:3][None], inverse, never[None])[0] == np.inf  # only arm 1 is new
    assert gains(x[:3][None], inverse, never[None])[0].argmax() == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_features_is_no_direction(dtype: type[np.floating]) -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((20, 6))
    x[:, 5] = 0
    x = (x @ np.linalg.qr(rng.standard_normal((6, 6)))[0]).astype(dtype)
    column = np.hstack([x, x[:, :1] - np.sqrt(x[:, :1] ** 2) * np.sign(x[:, :1])]).astype(dtype)
    column[0, -1] = 0.3 * np.finfo(dtype).eps  # a column that should be zero
    for arms in (x, x[:3], np.vstack([x[:3], x[:3]]), column):
        policy = mogro.MOGRO(arms.shape[1], 1)
        assert len(explore(policy, arms)) < 60
        assert not policy.exploring


@pytest.mark.parametrize(("arms", "dim"), [(300, 60), (1000, 20), (150, 100)])
def test_many_arms_are_looked_at_in_parts(arms: int, dim: int) -> None:
    rng = np.random.default_rng(0)
    x, log = rng.standard_normal((arms, dim)), rng.standard_normal((2 * dim, dim))
    x[:, -1] *= 1e-4
    for seen in (dim // 2, 2 * dim):
        V = sum_of_squares(log[:seen])
        model = LinearModel(dim, 1)
        model.learn(log[:seen], np.zeros((seen, 1)))
        need = needs(x[None], model.inverse[None], model.unseen[None] if seen < dim else None)[0]
        assert 1 / need == pytest.approx(oracle.known_in_span(V, x), rel=1e-6, abs=1e-9)
    assert default_threshold(x) == pytest.approx(0.1 * np.square(x).sum(axis=1).mean(), rel=1e-12)
    x[arms // 2, dim // 2] = np.nan
    assert np.isnan(default_threshold(x))


def test_the_default_threshold_is_a_tenth_of_the_mean_square() -> None:
    x = np.random.default_rng(0).standard_normal((2, 7, 3))
    np.testing.assert_allclose(default_threshold(x), 0.1 * np.square(x).sum(axis=2).mean(axis=1))
    many = np.random.default_rng(0).standard_normal((5000, 3)).astype(np.float32)
    assert default_threshold(many) == pytest.approx(0.3, rel=0.4)


def some_arms(rng: np.random.Generator, dim: int, basis: FloatArray) -> FloatArray:
    """Arms of a round: anywhere, in a subspace, few, large, or single precision."""
    kind, count = rng.integers(5), int(rng.integers(1, 9))
    x = rng.standard_normal((count, dim))
    if kind == 0:
        x = x[:, : len(basis)] @ basis
    elif kind == 1:
        x = x[:1] * 3
    elif kind == 2:
        x = (x[:, : len(basis)] @ basis).astype(np.float32)
    elif kind == 3:
        x = np.eye(dim)[rng.integers(0, dim, count)]
    return np.asarray(x)


@pytest.mark.slow
@given(
    st.integers(0, 2**32), st.sampled_from([(), (1,), (3,), (2, 2)]), st.sampled_from([None, 0.5])
)
@settings(max_examples=60, deadline=None)
def test_what_is_settled_never_changes_an_answer(
    seed: int, batch: tuple[int, ...], usual: float | None
) -> None:
    rng = np.random.default_rng(seed)
    dim, n = int(rng.integers(1, 6)), int(np.prod(batch))
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0][: max(1, dim // 2)]
    model, settled = LinearModel(dim, 1, batch=batch), Settled(batch)
    kept = [some_arms(rng, dim, basis) for _ in range(3)]
    narrow = rng.random() < 0.5  # whether arms stay within a subspace for long
    for step in range(60):
        arms = kept[int(rng.integers(3))] if rng.random() < 0.5 else some_arms(rng, dim, basis)
        if narrow and step < 50:
            arms = rng.standard_normal((3, len(basis))) @ basis
        if batch and rng.random() < 0.3:
            arms = np.stack([arms] * batch[-1]) * (1 + np.arange(batch[-1]))[:, None, None]
        threshold = usual if usual is None else usual * float(rng.choice([1, 1, 1, 3, 0.3]))
        expected, sure = stateless(model, arms, threshold, batch)
        found: BoolArray = np.zeros(n, dtype=np.bool_)
        if not settled.covers(arms, threshold):
            context = settled.look(arms, model.inverse, model.unseen, threshold, step=step)
            if context is not None:
                found[context.learners] = True
                offered = np.broadcast_to(arms, (*batch, *arms.shape[-2:]))
                assert (context.arms == offered.reshape(n, *arms.shape[-2:])[found]).all()
                fresh = gains(context.arms, context.inverse, context.unseen)
                assert (context.gains == fresh).all()
        assert (found == expected)[sure].all()
        x = rng.standard_normal((*batch, dim)) * rng.choice([0.1, 1])
        x = x[..., : len(basis)] @ basis if narrow else x
        model.update(np.where(rng.random((*batch, 1)) < 0.7, x, 0.0), np.zeros((*batch, 1)))
        if rng.random() < 0.05:
            model.decay(np.full(batch, 0.3))
            settled.reset()


def stateless(
    model: LinearModel, arms: FloatArray, threshold: float | None, batch: tuple[int, ...]
) -> tuple[BoolArray, BoolArray]:
    """Return who has to explore, one learner at a time, and where that is not a close call."""
    answers, sure = [], []
    offered = np.broadcast_to(arms, (*batch, *arms.shape[-2:]))
    for where in np.ndindex(batch):
        B = default_threshold(offered[where]) if threshold is None else threshold
        unseen = None if model.full else model.unseen[where][None]
        need = needs(offered[where][None], model.inverse[where][None], unseen)
        answers.append(bool(explores(need, B)[0]))
        sure.append(abs(float(need[0] * B) - 1) > 1e-6)
    return np.array(answers), np.array(sure)


def test_the_same_bytes_in_another_shape_or_type_are_other_arms() -> None:
    eye = np.eye(2)
    line = np.array([[1.0, 0.0], [2.0, 0.0]])
    settled = Settled((2, 2))
    rows = np.stack([eye, line])[:, None]  # learners of the first axis differ
    model = LinearModel(2, 1, batch=(2, 2))
    model.update(np.broadcast_to([1.0, 0.0], (2, 2, 2)).copy(), np.zeros((2, 2, 1)))
    model.update(np.array([[[0.0, 1]] * 2, [[0.0, 0]] * 2]), np.zeros((2, 2, 1)))
    assert settled.look(rows, model.inverse, model.unseen, 0.1, step=0) is None
    assert settled.covers(rows, 0.1)
    columns = rows.swapaxes(0, 1)  # the same bytes, but learners of the second axis differ
    assert columns.tobytes() == rows.tobytes()
    assert not settled.covers(columns, 0.1)
    context = settled.look(columns, model.inverse, model.unseen, 0.1, step=0)
    assert context is not None
    assert context.learners.tolist() == [2]

    policy = mogro.MOGRO(2, 1)
    assert len(explore(policy, line)) == 1
    single = np.ascontiguousarray(line).view(np.float32).reshape(-1, 2)
    assert single.tobytes() == line.tobytes()
    assert explore(policy, single) != []  # has a part in the second direction


def test_arms_changed_in_place_are_other_arms() -> None:
    policy = mogro.MOGRO(2, 1)
    x = np.array([[1.0, 0.0]])
    assert explore(policy, x) == [0]
    x[0] = 0.0, 1.0
    assert explore(policy, x) == [0]


def test_a_batch_explores_as_its_learners_do_alone() -> None:
    rng = np.random.default_rng(8)
    x = np.stack([arms_of(kind, 4, 6, seed=9) for kind in ("random", "zeros", "collinear", "axes")])
    x[3] *= 1e7
    inverse = np.stack([sum_of_squares(rng.standard_normal((6, 4))) for _ in range(4)])
    unseen = np.stack([np.zeros((4, 4)), np.diag([1.0, 0, 0, 0]), np.zeros((4, 4)), np.eye(4)])
    for hidden in (None, unseen):
        for function in (needs, gains):
            alone = [
                function(
                    x[i : i + 1], inverse[i : i + 1], None if hidden is None else hidden[i, None]
                )
                for i in range(4)
            ]
            assert (function(x, inverse, hidden) == np.concatenate(alone)).all()


def test_the_warning_comes_once_and_only_if_true() -> None:
    x = np.eye(4) * 2  # squared norm 4: at most 4 t / 4 after t rounds
    rng = np.random.default_rng(0)
    policy = mogro.MOGRO(4, 1, threshold=10.5, rounds=10)
    with pytest.warns(UserWarning, match="exploration cannot end within 10 rounds") as caught:
        policy.select(x, rng=rng)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(10):
            policy.update(x[policy.select(x, rng=rng)], np.ones(1))
        silent = (
            mogro.MOGRO(4, 1, threshold=10.5),  # nothing promised
            mogro.MOGRO(4, 1, threshold=4.0, rounds=10),
            mogro.MOGRO(4, 1, rounds=4),
        )
        for one in silent:
            for _ in range(10):
                one.update(x[one.select(x, rng=rng)], np.ones(1))


def test_no_warning_in_a_subspace_or_after_a_log() -> None:
    rng = np.random.default_rng(0)
    line = np.array([[1.0, 1, 1, 1]])  # one dimension of four: 4 t after t rounds
    policy = mogro.MOGRO(4, 1, threshold=10.0, rounds=3)
    logged = mogro.MOGRO(4, 1, threshold=10.0, rounds=3)
    logged.learn(np.repeat(np.eye(4), 9, axis=0), np.ones((36, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            policy.update(line[policy.select(line, rng=rng)], np.ones(1))
        logged.select(2 * np.eye(4), rng=rng)
    assert not policy.exploring


@given(arm_sets, st.integers(1, 60), st.sampled_from([0.05, 0.5, 2.0, 10.0]))
@settings(max_examples=100, deadline=None)
def test_warnings_are_never_false(x: FloatArray, rounds: int, threshold: float) -> None:
    policy = mogro.MOGRO(x.shape[1], 1, threshold=threshold, rounds=rounds)
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(rounds):
            policy.update(x[policy.select(x, rng=rng)], np.ones(1))
        policy.select(x, rng=rng)
    assert len(caught) <= 1
    assert not caught or policy.exploring


def test_no_warning_where_the_threshold_is_reached_up_to_rounding() -> None:
    rng = np.random.default_rng(0)
    units = rng.standard_normal((50, 1, 3))
    for x in units / np.linalg.norm(units, axis=-1, keepdims=True):
        policy = mogro.MOGRO(3, 1, threshold=2.0, rounds=2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                policy.update(x[policy.select(x, rng=rng)], np.ones(1))
            policy.select(x, rng=rng)
        assert not policy.exploring


@pytest.mark.parametrize("exploration", [None, "uniform", mogro.WeakestDirection, 3])
def test_what_is_no_exploration_is_refused(exploration: object) -> None:
    with pytest.raises(ValueError, match="exploration"):
        mogro.MOGRO(2, 2, exploration=exploration)  # type: ignore[arg-type]

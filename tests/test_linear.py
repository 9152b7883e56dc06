"""The linear model against least squares from the whole history."""

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings
from tests.oracles import least_squares

from mogro._validation import FloatArray
from mogro.linear import LinearModel, spectrum

KINDS = ("random", "duplicate", "zero", "collinear", "subspace", "axes", "mixed")


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
    return x


@st.composite
def histories(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, float]:
    """Draw features, rewards and a ridge (relative to the scale of the features)."""
    dim = draw(st.integers(1, 6))
    rounds = draw(st.integers(1, 25))
    seed = draw(st.integers(0, 2**32))
    scale = draw(st.sampled_from([1.0, 1e-6, 1e6, 1e-100, 1e100]))
    x = scale * history(draw(st.sampled_from(KINDS)), dim, rounds, seed)
    y = np.random.default_rng([seed, 1]).standard_normal((rounds, draw(st.integers(1, 4))))
    return x, y, draw(st.sampled_from([0.0, 1.0])) * scale**2


@given(histories())
@settings(max_examples=150, deadline=None)
def test_estimates_after_every_update(case: tuple[FloatArray, FloatArray, float]) -> None:
    x, y, ridge = case
    model = LinearModel(x.shape[1], y.shape[1], ridge=ridge)
    for n in range(1, len(x) + 1):
        model.update(x[n - 1], y[n - 1])
        expected = least_squares.solve(x[:n], y[:n], ridge=ridge)
        size = np.abs(x).max() or 1.0
        np.testing.assert_allclose(model.theta * size, expected * size, rtol=1e-7, atol=1e-7)
        assert model.count == n


@given(histories())
@settings(max_examples=100, deadline=None)
def test_invariants_of_a_pseudo_inverse(case: tuple[FloatArray, FloatArray, float]) -> None:
    x, y, ridge = case
    model = LinearModel(x.shape[1], y.shape[1], ridge=ridge)
    for observation in zip(x, y, strict=True):
        model.update(*observation)
    size = np.square(x).sum() or 1.0  # invariants hold for V in any unit: take a handy one
    V, inverse = model.gram / size, model.inverse * size
    both = V @ inverse
    np.testing.assert_allclose(both @ V, V, atol=1e-9 * np.abs(V).max())
    np.testing.assert_allclose(inverse @ both, inverse, atol=1e-8 * np.abs(inverse).max())
    np.testing.assert_allclose(both, both.T, atol=1e-8)
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12 * np.abs(inverse).max())
    direct = ridge * np.eye(x.shape[1]) + x.T @ x
    np.testing.assert_allclose(model.gram, direct, rtol=1e-12, atol=1e-13 * np.abs(direct).max())
    size_of_b = np.abs(x).max() * np.abs(y).max() * len(x)
    np.testing.assert_allclose(model.moments, y.T @ x, rtol=1e-12, atol=1e-13 * size_of_b)


@given(histories())
@settings(max_examples=100, deadline=None)
def test_a_log_teaches_what_updates_teach(case: tuple[FloatArray, FloatArray, float]) -> None:
    x, y, ridge = case
    slow, fast, halves = (LinearModel(x.shape[1], y.shape[1], ridge=ridge) for _ in range(3))
    for observation in zip(x, y, strict=True):
        slow.update(*observation)
    fast.learn(x, y)
    cut = len(x) // 2
    for observation in zip(x[:cut], y[:cut], strict=True):
        halves.update(*observation)
    halves.learn(x[cut:], y[cut:])
    size = np.abs(x).max() or 1.0
    expected = least_squares.residual_squares(x, y, ridge=ridge)
    for model in (slow, fast, halves):
        assert model.count == len(x)
        np.testing.assert_allclose(model.theta * size, slow.theta * size, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(model.squares, expected, rtol=1e-7, atol=1e-7)
        assert model.rank == slow.rank


@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("batch", [(1,), (4,), (2, 3)])
def test_a_batch_is_separate_models_to_the_bit(batch: tuple[int, ...], ridge: float) -> None:
    dim, objectives, rounds = 4, 3, 600  # more than two renewals
    together = LinearModel(dim, objectives, ridge=ridge, batch=batch)
    alone = {at: LinearModel(dim, objectives, ridge=ridge) for at in np.ndindex(batch)}
    kinds = itertools.cycle(KINDS)
    x = {at: history(next(kinds), dim, rounds, seed=sum(at)) for at in alone}
    y = np.random.default_rng(0).standard_normal((rounds, *batch, objectives))
    for n in range(rounds):
        together.update(np.stack([x[at][n] for at in alone]).reshape(*batch, dim), y[n])
        for at, model in alone.items():
            model.update(x[at][n], y[n][at])
    for at, model in alone.items():
        for name in ("theta", "inverse", "gram", "moments", "squares", "rank"):
            assert (getattr(together, name)[at] == getattr(model, name)).all(), (at, name)
        one, many = model.estimate(np.eye(dim)), together.estimate(np.eye(dim))
        assert (one.errors == many.errors[at]).all()


def test_standard_errors_are_those_of_textbook_least_squares() -> None:
    rng = np.random.default_rng(0)
    x, arms = rng.standard_normal((40, 3)), rng.standard_normal((5, 3))
    y = x @ rng.standard_normal((3, 2)) + 0.3 * rng.standard_normal((40, 2))
    model = LinearModel(3, 2)
    for observation in zip(x, y, strict=True):
        model.update(*observation)
    theta = np.linalg.solve(x.T @ x, x.T @ y)
    noise = np.sqrt(np.square(y - x @ theta).sum(axis=0) / (40 - 3))
    spread = np.sqrt(np.diag(arms @ np.linalg.inv(x.T @ x) @ arms.T))
    found = model.estimate(arms)
    np.testing.assert_allclose(found.values, arms @ theta, rtol=1e-10)
    np.testing.assert_allclose(found.errors, np.outer(spread, noise), rtol=1e-9)
    known = model.estimate(arms, noise=0.3)
    np.testing.assert_allclose(known.errors, np.outer(spread, [0.3, 0.3]), rtol=1e-9)


@pytest.mark.parametrize("noise", [None, 0.0, 0.5])
def test_errors_where_nothing_was_seen(noise: float | None) -> None:
    model = LinearModel(3, 2)
    for _ in range(5):
        model.update(np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0]))
    arms = np.array([[2.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    errors = model.estimate(arms, noise=noise).errors
    assert np.isfinite(errors[0]).all()
    assert np.isinf(errors[1:3]).all()
    assert (errors[3] == 0).all()


def test_errors_are_infinite_until_the_noise_can_be_told() -> None:
    model = LinearModel(2, 1)
    for x in np.eye(2):
        model.update(x, np.array([1.0]))
        assert np.isinf(model.estimate(np.eye(2)).errors).all()
    model.update(np.array([1.0, 0.0]), np.array([3.0]))
    # Two observations 1 and 3 of the first arm: variance 2, halved for their mean.
    np.testing.assert_allclose(model.estimate(np.eye(2)).errors[:, 0], [1.0, np.sqrt(2)])


def test_standard_errors_cover() -> None:
    rng = np.random.default_rng(1)
    theta, arms = rng.standard_normal((2, 3)), rng.standard_normal((4, 3))
    batch = 2000
    model = LinearModel(3, 2, batch=(batch,))
    for _ in range(30):
        x = rng.standard_normal((batch, 3))
        model.update(x, x @ theta.T + 0.5 * rng.standard_normal((batch, 2)))
    found = model.estimate(arms)
    off = np.abs(found.values - arms @ theta.T) / found.errors
    assert abs((off < 2.0518).mean() - 0.95) < 0.01  # Student's t, 27 degrees of freedom


def test_learners_that_sit_out_stay_as_they_are() -> None:
    rng = np.random.default_rng(2)
    together, alone = LinearModel(2, 1, batch=(2,)), LinearModel(2, 1)
    for n in range(100):
        x, y = rng.standard_normal((2, 2)), rng.standard_normal((2, 1))
        together.update_some(np.array([True, n < 10]), x, y)
        if n < 10:
            alone.update(x[1], y[1])
    np.testing.assert_array_equal(together.theta[1], alone.theta)
    arms = rng.standard_normal((3, 2))
    errors = together.estimate(arms).errors[1]
    np.testing.assert_allclose(errors, alone.estimate(arms).errors, rtol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("learned", [0, 1, 5])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e160, 1e200, 1e308])
def test_bad_numbers_are_refused_before_anything_changes(
    bad: float, learned: int, ridge: float
) -> None:
    model = LinearModel(3, 2, ridge=ridge)
    x = np.random.default_rng(0).standard_normal((5, 3))
    for row in x[:learned]:
        model.update(row, np.ones(2))
    before = model.save_state()
    for position in range(3):
        features = np.array([1.0, 0.0, 0.0])
        features[position] = bad
        with pytest.raises(ValueError, match="features"):
            model.update(features, np.ones(2))
        if np.isfinite(bad):  # the policy looks for the others
            with pytest.raises(ValueError, match="features"):
                model.learn(features[None], np.ones((1, 2)))
    with pytest.raises(ValueError, match="reward"):
        model.update(np.ones(3), np.array([0.0, bad]))
    after = model.save_state()
    assert all((after[name] == before[name]).all() for name in before)


@pytest.mark.parametrize("scale", [1e-200, 1e-170, 1e-155, 1e-145, 5e-324])
def test_features_whose_squares_vanish_count_as_zero(scale: float) -> None:
    model = LinearModel(2, 1)
    for _ in range(3):
        model.update(scale * np.array([1.0, 1.0]), np.array([1.0]))
    assert (model.theta == 0).all()
    model.update(np.array([1.0, 0.0]), np.array([2.0]))
    np.testing.assert_allclose(model.theta, [[2.0, 0.0]])


@pytest.mark.parametrize("scale", [1e3, 1e8, 1e15, 1e60])
def test_a_ridge_far_below_the_features(scale: float) -> None:
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((2, 4))
    model = LinearModel(4, 2, ridge=1.0)
    for _ in range(600):
        x = scale * rng.standard_normal(4)
        model.update(x, theta @ x)
    np.testing.assert_allclose(model.theta, theta, rtol=1e-5, atol=1e-5)
    assert np.isfinite(model.variances(scale * np.eye(4))).all()


@example(1)
@given(st.integers(0, 700))
@settings(max_examples=10, deadline=None)
def test_restore_goes_on_to_the_bit(rounds: int) -> None:
    rng = np.random.default_rng(rounds)
    x, y = rng.standard_normal((rounds + 300, 2, 3)), rng.standard_normal((rounds + 300, 2, 2))
    x[:, 1, 2] = 0  # one learner stays in a subspace
    first = LinearModel(3, 2, batch=(2,))
    for n in range(rounds):
        first.update(x[n], y[n])
    second = LinearModel(3, 2, batch=(2,))
    second.load_state(first.save_state())
    for n in range(rounds, rounds + 300):
        first.update(x[n], y[n])
        second.update(x[n], y[n])
    ours, theirs = first.save_state(), second.save_state()
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in ours)


def test_restore_refuses_what_does_not_fit() -> None:
    model = LinearModel(3, 2)
    before = model.save_state()
    with pytest.raises(ValueError, match="missing"):
        model.load_state({name: array for name, array in before.items() if name != "rank"})
    with pytest.raises(ValueError, match="shape"):
        model.load_state(LinearModel(3, 3).save_state())
    with pytest.raises(ValueError, match="type"):
        model.load_state(before | {"sums": before["sums"].astype(np.float32)})
    after = model.save_state()
    assert all((after[name] == before[name]).all() for name in before)


def test_arrays_are_copies() -> None:
    model = LinearModel(2, 1)
    model.update(np.array([1.0, 0.0]), np.array([1.0]))
    for array in model.save_state().values():
        array.fill(7)
    assert (model.theta == [[1.0, 0.0]]).all()


def scales(kind: str) -> FloatArray:
    """Return the map (d, d) from normal to badly scaled features: V has condition 1e6."""
    dim = 6
    sizes = np.diag(np.logspace(0, -3, dim))
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((dim, dim)))[0]
    if kind == "axes":
        return np.asarray(sizes)
    if kind == "rotated":
        return np.asarray(sizes @ turn)
    narrow = np.diag(np.concatenate([np.logspace(0, -3, 4), [0.0, 0.0]]))
    return np.asarray(narrow @ turn)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["axes", "rotated", "subspace"])
def test_a_million_updates_with_badly_scaled_features(kind: str) -> None:
    """The last 50,000 one by one, the others from a log."""
    rng = np.random.default_rng(6)
    spread = scales(kind)
    rank = np.linalg.matrix_rank(spread)
    model = LinearModel(6, 2)
    x = rng.standard_normal((50_000, 6)) @ spread
    y = x @ rng.standard_normal((6, 2)) + rng.standard_normal((50_000, 2))
    model.learn(np.tile(x, (19, 1)), np.tile(y, (19, 1)))
    for n in range(50_000):
        model.update(x[n], y[n])
        if n % 9973 == 0:
            check_against_direct_solve(model, rank)
    check_against_direct_solve(model, rank)
    assert model.count == 1_000_000
    direct = 20 * x.T @ x
    assert np.abs(model.gram - direct).max() <= 1e-11 * np.abs(direct).max()


@pytest.mark.slow
def test_a_million_updates_one_by_one() -> None:
    """Twenty thousand rounds of fifty learners."""
    rng = np.random.default_rng(7)
    kinds = ["axes", "rotated", "subspace"] * 17
    spread = np.stack([scales(kind) for kind in kinds[:50]])
    rank = np.array([np.linalg.matrix_rank(each) for each in spread])
    model = LinearModel(6, 2, batch=(50,))
    for _ in range(20_000):
        x = np.vecmat(rng.standard_normal((50, 6)), spread)
        model.update(x, rng.standard_normal((50, 2)))
    assert (model.rank == rank).all()
    for learner, r in enumerate(rank):
        check_solution(model.theta[learner], model.gram[learner], model.moments[learner], int(r))


def check_against_direct_solve(model: LinearModel, rank: int) -> None:
    assert model.rank == rank
    check_solution(model.theta, model.gram, model.moments, rank)


def check_solution(theta: FloatArray, V: FloatArray, b: FloatArray, rank: int) -> None:
    values, vectors = np.linalg.eigh(V)
    inside = vectors[:, len(V) - rank :]
    coefficients = np.linalg.solve(inside.T @ V @ inside, inside.T @ b.T)
    expected = (inside @ coefficients).T
    assert values[-1] / values[-rank] > 1e5
    assert np.abs(theta - expected).max() <= 1e-8 * np.abs(expected).max()


def test_many_equal_observations_have_rank_one() -> None:
    for rounds in (10, 1000, 1_000_000):
        model = LinearModel(3, 1)
        model.learn(np.tile([0.1, 0.7, -0.3], (rounds, 1)), np.ones((rounds, 1)))
        assert model.rank == 1


def test_spectrum_of_a_batch() -> None:
    rng = np.random.default_rng(0)
    model = LinearModel(3, 1, batch=(2, 2))
    for _ in range(5):
        model.update(rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 2, 1)))
    values, vectors, _ = model.spectrum(np.array([2, 0]))
    for (i, j), found, basis in zip([(1, 0), (0, 0)], values, vectors, strict=True):
        np.testing.assert_allclose(found, np.linalg.eigvalsh(model.gram[i, j]), rtol=1e-12)
        np.testing.assert_allclose(model.gram[i, j] @ basis, basis * found, atol=1e-12)
    alone = spectrum(model.gram[1, 0], additions=5)
    assert (alone.values == values[0]).all()


def test_bad_sizes_are_refused() -> None:
    for dim in (0, -1, 1.5, True, "3"):
        with pytest.raises(ValueError, match="dim"):
            LinearModel(dim, 1)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="batch"):
            LinearModel(1, 1, batch=(dim,))  # type: ignore[arg-type]
    for objectives in (-1, 1.5, True, "3"):
        with pytest.raises(ValueError, match="objectives"):
            LinearModel(1, objectives)  # type: ignore[arg-type]
    for ridge in (-1.0, np.nan, np.inf, "a"):
        with pytest.raises(ValueError, match="ridge"):
            LinearModel(1, 1, ridge=ridge)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1e3, 1e5, 1e8])
def test_one_arm_of_any_size_with_a_ridge_is_estimated_by_its_mean(size: float) -> None:
    for seed in range(5):
        x = size * np.random.default_rng(seed).standard_normal(3)
        model = LinearModel(3, 1, ridge=1.0)
        for t in range(100):
            model.update(x, np.array([4.0 + 2 * (t % 2)]))
        expected = 5 / (1 + 1 / (100 * x @ x))
        assert abs(float(model.theta[0] @ x) - expected) < 1e-6


def taught(x: FloatArray, y: FloatArray, way: str, ridge: float = 0.0) -> LinearModel:
    """Return a model that has learned in the way named."""
    model = LinearModel(x.shape[1], y.shape[1], ridge=ridge)
    if way == "learn":
        model.learn(x, y)
        return model
    for observation in zip(x, y, strict=True):
        if way == "decay":
            model.decay(np.asarray(0.999))
        model.update(*observation)
    return model


WAYS = st.sampled_from(["update", "learn", "decay"])


@given(st.integers(1, 6), st.integers(0, 2**32), WAYS, st.lists(st.integers(-8, 8), min_size=6))
@settings(max_examples=40, deadline=None)
def test_units_of_features_do_not_matter(dim: int, seed: int, way: str, powers: list[int]) -> None:
    rng = np.random.default_rng(seed)
    x, arms = rng.standard_normal((40, dim)), rng.standard_normal((5, dim))
    y = rng.standard_normal((40, 2))
    scale = 10.0 ** np.array(powers[:dim])
    plain, scaled = taught(x, y, way), taught(x * scale, y, way)
    one, other = plain.estimate(arms), scaled.estimate(arms * scale)
    np.testing.assert_allclose(other.values, one.values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(other.errors, one.errors, rtol=1e-9)
    assert plain.full
    assert scaled.full


@given(st.integers(2, 6), st.integers(0, 2**32), WAYS, st.lists(st.integers(-4, 4), min_size=6))
@settings(max_examples=40, deadline=None)
def test_units_of_features_do_not_matter_in_a_subspace(
    dim: int, seed: int, way: str, powers: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, dim))
    base = rng.standard_normal((rank, dim))
    x, y = rng.standard_normal((40, rank)) @ base, rng.standard_normal((40, 2))
    arms = np.vstack([rng.standard_normal((4, rank)) @ base, rng.standard_normal((2, dim))])
    scale = 10.0 ** np.array(powers[:dim])
    plain, scaled = taught(x, y, way), taught(x * scale, y, way)
    assert plain.rank == scaled.rank == rank
    one, other = plain.estimate(arms), scaled.estimate(arms * scale)
    np.testing.assert_allclose(other.values[:4], one.values[:4], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(other.errors[:4], one.errors[:4], rtol=1e-7)
    assert np.isfinite(one.errors[:4]).all()
    assert np.isinf(one.errors[4:]).all()
    assert np.isinf(other.errors[4:]).all()


@pytest.mark.parametrize("ridge", [0.0, 1e-9])
@pytest.mark.parametrize("way", ["update", "learn", "decay"])
def test_features_of_very_different_sizes(way: str, ridge: float) -> None:
    theta = np.array([[0.5, 1.5]])
    x = np.random.default_rng(0).random((500, 2)) * [1e7, 1.0]
    found = taught(x, x @ theta.T, way, ridge).estimate(np.eye(2))
    np.testing.assert_allclose(found.values[:, 0], theta[0], rtol=1e-6)
    assert (np.abs(found.values[:, 0] - theta[0]) <= 4 * found.errors[:, 0]).all()


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-6, 3e-7, 1e-7, 1e-8, 1e-9])
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("way", ["update", "learn", "decay"])
def test_nearly_collinear_features_are_never_wrong_for_certain(
    gap: float, noise: float, way: str
) -> None:
    theta = np.array([[0.5, 1.5]])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        z = rng.standard_normal(300)
        x = np.stack([z, z + gap * rng.standard_normal(300)], axis=1)
        model = taught(x, x @ theta.T + noise * rng.standard_normal((300, 1)), way)
        arms = np.vstack([np.eye(2), x[:3], [[1.0, 1.0]]])
        found = model.estimate(arms)
        assert (np.abs(found.values - arms @ theta.T) <= 5 * found.errors).all()
        if model.rank == 1:
            assert np.isinf(found.errors[:2]).all()


@given(histories())
@settings(max_examples=60, deadline=None)
def test_unseen_is_the_projector_on_the_null_space(
    case: tuple[FloatArray, FloatArray, float],
) -> None:
    x, y, ridge = case
    dim = x.shape[1]
    model = LinearModel(dim, y.shape[1], ridge=ridge)
    for n in range(1, len(x) + 1):
        model.update(x[n - 1], y[n - 1])
        inside = np.linalg.pinv(x[:n], rcond=1e-7) @ x[:n]
        expected = np.eye(dim) - inside if ridge == 0 else np.zeros((dim, dim))
        np.testing.assert_allclose(model.unseen, expected, atol=1e-8)
        assert model.rank == dim - round(float(np.trace(expected)))
        assert model.full == (model.rank == dim)
        assert not (model.full and model.unseen.any())


@pytest.mark.parametrize(("dim", "rounds"), [(30, 12), (30, 30), (75, 160)])
def test_estimates_are_those_of_lstsq(dim: int, rounds: int) -> None:
    """Fewer observations than features, as many, and more; float32, too."""
    rng = np.random.default_rng(dim + rounds)
    for dtype in (np.float64, np.float32):
        x = rng.standard_normal((rounds, dim)).astype(dtype).astype(np.float64)
        y = rng.standard_normal((rounds, 2))
        model = taught(x, y, "update")
        expected = np.linalg.lstsq(x, y, rcond=None)[0].T
        np.testing.assert_allclose(model.theta, expected, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(model.inverse, np.linalg.pinv(x.T @ x), rtol=1e-6, atol=1e-6)


def test_arms_in_float32_are_outside_only_beyond_their_own_rounding() -> None:
    rng = np.random.default_rng(3)
    base = rng.standard_normal((2, 5))
    model = taught(rng.standard_normal((50, 2)) @ base, rng.standard_normal((50, 1)), "update")
    arms = rng.standard_normal((20, 2)) @ base
    assert np.isfinite(model.variances(arms)).all()
    assert np.isfinite(model.variances(arms.astype(np.float32))).all()
    arms[:, 0] += 1e-3
    assert np.isinf(model.variances(arms.astype(np.float32))).all()
    arms[:, 0] += 1e-9 - 1e-3
    assert np.isinf(model.variances(arms)).all()


PROPERTIES = ("theta", "inverse", "unseen", "rank", "squares", "totals", "gram", "moments")


@pytest.mark.parametrize("batch", [(), (2,)])
def test_what_was_handed_out_never_changes(batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    model = LinearModel(4, 2, batch=batch)

    def teach(step: int) -> None:
        x, y = rng.standard_normal((*batch, 4)), rng.standard_normal((*batch, 2))
        if step % 7 == 3:
            model.decay(np.full(batch, 0.6))
        elif step % 7 == 5:
            model.learn(x[..., None, :], y[..., None, :])
        else:
            model.update(x, y)

    for step in range(40):
        handed = [getattr(model, name) for name in PROPERTIES]
        copies = [array.copy() for array in handed]
        teach(step)
        assert all((old == kept).all() for old, kept in zip(handed, copies, strict=True))
    for name in PROPERTIES[:6]:
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, name)[...] = 0


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_a_gram_matrix_without_objectives(ridge: float) -> None:
    x = np.random.default_rng(5).standard_normal((30, 3))
    alone, beside = LinearModel(3, 0, ridge=ridge), LinearModel(3, 2, ridge=ridge)
    for row in x:
        alone.update(row, np.empty(0))
        beside.update(row, np.ones(2))
    np.testing.assert_allclose(alone.inverse, beside.inverse, rtol=1e-12, atol=1e-14)
    assert alone.theta.shape == (0, 3)
    assert alone.estimate(x).values.shape == (30, 0)


@pytest.mark.parametrize(("dim", "objectives"), [(1, 0), (1, 1), (3, 1), (5, 0), (5, 2), (7, 4)])
def test_a_batch_is_separate_models_to_the_bit_in_odd_sizes(dim: int, objectives: int) -> None:
    """Where arrays of a batch begin in memory must not matter; some learners add directions."""
    rng = np.random.default_rng(dim)
    x = rng.standard_normal((40, 3, dim))
    x[:, 1] = x[rng.integers(0, 2, 40), 1]
    x[:, 2] *= 10.0 ** np.arange(dim)
    y = rng.standard_normal((40, 3, objectives))
    together = LinearModel(dim, objectives, batch=(3,))
    alone = [LinearModel(dim, objectives) for _ in range(3)]
    for n in range(40):
        together.update(x[n], y[n])
        for learner, model in enumerate(alone):
            model.update(x[n, learner], y[n, learner])
            for name in PROPERTIES:
                ours, theirs = getattr(together, name)[learner], getattr(model, name)
                assert (ours == theirs).all(), (n, learner, name)


def test_a_state_has_room_only_for_what_was_learned() -> None:
    state = LinearModel(200, 2).save_state()
    assert state["recent"].shape[0] == 0

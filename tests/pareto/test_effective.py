import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.effective import effective_front_exactly, effective_gap
from tests.pareto.problems import KINDS, ball_means, problem, small_integers
from tests.properties import examples

from mogro import pareto
from mogro._validation import FloatArray
from mogro.pareto import _matrix_games


def spread(means: FloatArray) -> float:
    return float(np.ptp(means, axis=0).max()) or 1.0


@pytest.mark.slow
@given(
    st.integers(0, KINDS - 1),
    st.sampled_from([1, 2, 3, 8, 30, 70, 130]),
    st.integers(1, 12),
    st.sampled_from([1e-12, 1.0, 1e12]),
    st.integers(0, 2**32 - 1),
)
@examples(150)
def test_gaps_and_certificates(
    kind: int, arms: int, objectives: int, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    means = problem(kind, arms, objectives, rng) * scale
    unit = spread(means)
    proof = pareto.effective_certificates(means)
    assert (proof.gaps >= pareto.gaps(means) - 1e-12 * unit).all()
    assert (proof.weights >= 0).all()
    assert (proof.shares >= 0).all()
    np.testing.assert_allclose(proof.weights.sum(-1), 1)
    np.testing.assert_allclose(proof.shares.sum(-1), 1)
    near = means - means[0]
    upper = (proof.weights @ near.T).max(1) - (proof.weights * near).sum(1)
    lower = np.einsum("gs,gsm->gm", proof.shares, near[proof.support]) - near
    np.testing.assert_allclose(upper, proof.gaps, atol=1e-10 * unit)
    np.testing.assert_allclose(lower.min(1), proof.gaps, atol=1e-10 * unit)
    for arm in rng.integers(0, arms, size=3):
        expected = effective_gap(means, arm)
        assert abs(proof.gaps[arm] - expected) <= 1e-9 * unit
        assert abs(pareto.effective_gaps(means, arms=int(arm)) - expected) <= 1e-9 * unit


@pytest.mark.slow
@pytest.mark.parametrize(("arms", "objectives"), [(2000, 3), (800, 12), (600, 7)])
@pytest.mark.parametrize("kind", range(KINDS))
def test_gaps_of_many_arms(kind: int, arms: int, objectives: int) -> None:
    rng = np.random.default_rng(kind)
    means = problem(kind, arms, objectives, rng)
    gaps, members = pareto.effective_gaps(means), pareto.effective_front(means)
    assert members.any()
    assert not gaps[members].any()
    assert (members <= pareto.front(means)).all()
    for arm in rng.integers(0, arms, size=2):
        assert abs(gaps[arm] - effective_gap(means, arm)) <= 1e-9 * spread(means)
    few = rng.integers(0, arms, size=5)
    np.testing.assert_allclose(
        pareto.effective_gaps(means, arms=few), gaps[few], atol=1e-12 * spread(means)
    )


@pytest.mark.slow
@given(small_integers)
@examples(150)
def test_membership_is_exact_on_small_integers(means: FloatArray) -> None:
    members = effective_front_exactly(means)
    np.testing.assert_array_equal(pareto.effective_front(means), members)
    assert not pareto.effective_gaps(means)[members].any()


def test_membership_on_integer_planes_and_with_copies() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        objectives = int(rng.integers(2, 7))
        means = rng.integers(0, 5, size=(15, objectives)).astype(float)
        means[:, -1] = 5 * objectives - means[:, :-1].sum(1)
        means = means[rng.integers(0, 15, size=20)]
        np.testing.assert_array_equal(pareto.effective_front(means), effective_front_exactly(means))


@pytest.mark.parametrize(
    ("means", "members", "gaps"),
    [
        ([[3.0]], [True], [0]),
        ([[1.0], [3.0], [3.0]], [False, True, True], [2, 0, 0]),
        ([[1.0, 1.0], [1.0, 0.0]], [True, False], [0, 0]),
        ([[2.0, 0], [0, 2], [1, 1], [0.5, 0.5]], [True, True, True, False], [0, 0, 0, 0.5]),
        ([[5.0, 5.0]] * 4, [True] * 4, [0] * 4),
        ([[1.0, 1, 0], [1, 0, 1], [1, 0.4, 0.4]], [True, True, False], [0, 0, 0]),
    ],
)
def test_conventions(means: list[list[float]], members: list[bool], gaps: list[float]) -> None:
    for scale in (1.0, 2.0**-60, 2.0**60):
        scaled = np.array(means) * scale
        assert pareto.effective_front(scaled).tolist() == members
        np.testing.assert_allclose(pareto.effective_gaps(scaled), np.array(gaps) * scale)


@pytest.mark.parametrize("exponent", [-1000, -300, 300, 1000])
@pytest.mark.parametrize("arms", [20, 150])
def test_extreme_sizes(exponent: int, arms: int) -> None:
    means = ball_means(arms, 4, np.random.default_rng(0))
    chosen = np.arange(0, arms, 7)
    scaled = np.ldexp(means, exponent)
    for some in (None, chosen):
        expected = np.ldexp(pareto.effective_gaps(means, arms=some), exponent)
        np.testing.assert_allclose(pareto.effective_gaps(scaled, arms=some), expected, rtol=1e-9)
    np.testing.assert_array_equal(pareto.effective_front(scaled), pareto.effective_front(means))


def test_gaps_of_the_largest_numbers() -> None:
    means = np.array([[1.0, -1.0], [-1.0, 1.0], [-0.25, -0.25]])
    for scale in (1e300, 1e307, 1.7e308):  # differences overflow, gaps do not
        np.testing.assert_allclose(pareto.effective_gaps(scale * means) / scale, [0, 0, 0.25])


@pytest.mark.slow
def test_every_point_of_a_sphere_is_a_member() -> None:
    means = np.abs(np.random.default_rng(3).normal(size=(1500, 3)))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    assert pareto.effective_front(means).all()
    assert not pareto.effective_gaps(means).any()


def test_invariance_to_order_common_scale_and_shifts() -> None:
    rng = np.random.default_rng(1)
    means = ball_means(60, 4, rng)
    gaps, order = pareto.effective_gaps(means), rng.permutation(60)
    np.testing.assert_allclose(pareto.effective_gaps(means[order]), gaps[order], atol=1e-14)
    np.testing.assert_allclose(pareto.effective_gaps(means * 8 + rng.normal(size=4)), gaps * 8)


@pytest.mark.parametrize(("arms", "objectives"), [(6, 2), (40, 5), (90, 4), (150, 3)])
def test_a_batch_is_its_problems_to_the_bit(arms: int, objectives: int) -> None:
    means = ball_means(arms, objectives, np.random.default_rng(2), problems=(3, 5))
    for function in (pareto.effective_gaps, pareto.effective_front):
        alone = [[function(one) for one in row] for row in means]
        np.testing.assert_array_equal(function(means), alone)
    chosen = np.random.default_rng(0).integers(0, arms, size=(3, 5))
    alone_chosen = [
        [pareto.effective_gaps(one, arms=int(a)) for one, a in zip(row, arm, strict=True)]
        for row, arm in zip(means, chosen, strict=True)
    ]
    np.testing.assert_array_equal(pareto.effective_gaps(means, arms=chosen), alone_chosen)


def test_what_the_simplex_cannot_prove_is_solved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    means = ball_means(30, 4, np.random.default_rng(0))
    expected = pareto.effective_gaps(means)
    good = _matrix_games._by_simplex

    def spoilt(*args: object, **options: object) -> _matrix_games.Games:
        games = good(*args, **options)  # type: ignore[arg-type]
        return games._replace(lower=games.lower - 1, upper=games.upper + 1)

    monkeypatch.setattr(_matrix_games, "_by_simplex", spoilt)
    np.testing.assert_allclose(pareto.effective_gaps(means), expected, atol=1e-9)


@pytest.mark.parametrize("shape", [(3, 1), (1, 2), (1, 1), (2, 4, 1), (1, 1, 3), (5, 3)])
def test_nothing_given_is_changed(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    means = 1 + rng.random(shape)
    means.setflags(write=False)
    before = means.copy()
    pareto.front(means), pareto.gaps(means)
    pareto.effective_front(means), pareto.effective_gaps(means)
    pareto.random_member(means, rng=rng), pareto.random_effective_member(means, rng=rng)
    np.testing.assert_array_equal(means, before)


def test_members_inside_a_face_stay_members_beside_an_outlier() -> None:
    t = np.linspace(0, 1, 150)
    face = np.stack([t, 1 - t], axis=1)
    means = np.append(face * 3e-4 + 1, [[0.0, 0.0]], axis=0)
    assert pareto.effective_front(means)[:-1].all()
    means = np.append(face[::15], [[-1e4, -1e4 / 3]], axis=0)
    rng = np.random.default_rng(0)
    drawn = {int(pareto.random_effective_member(means, rng=rng)) for _ in range(300)}
    assert drawn == set(np.flatnonzero(pareto.effective_front(means)))


def test_members_stay_members_beside_an_outlier_that_is_one() -> None:
    means = np.array([[7.0, 3, 0], [6, 3, 8], [4, 3, 1], [2.5e11, -8.3e8, 2.6e11]])
    assert effective_front_exactly(means).tolist() == [True, True, False, True]
    assert pareto.effective_front(means).tolist() == [True, True, False, True]


def test_no_problems_have_no_gaps() -> None:
    assert pareto.effective_gaps(np.empty((0, 4, 2))).shape == (0, 4)
    assert pareto.effective_front(np.empty((0, 4, 2))).shape == (0, 4)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_a_dominated_outlier_changes_nothing(order: list[int]) -> None:
    means = np.array([[1, -1], [-2, 8], [-1e10, -9e10]])
    members = np.array([True, True, False])
    assert pareto.effective_front(means[order]).tolist() == members[order].tolist()
    rng = np.random.default_rng(0)
    drawn = {int(pareto.random_effective_member(means, rng=rng)) for _ in range(100)}
    assert drawn == {0, 1}


@pytest.mark.slow
@given(st.data())
@examples(200)
def test_membership_beside_outliers_is_exact_in_any_order(data: st.DataObject) -> None:
    arms, objectives = data.draw(st.integers(2, 8)), data.draw(st.integers(2, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    means = rng.integers(-9, 10, size=(arms, objectives)).astype(float)
    for _ in range(data.draw(st.integers(1, 2))):
        size = 10.0 ** rng.uniform(4, 12)
        sides = data.draw(st.sampled_from([(-1,), (-1, 1)]))  # dominated, or perhaps on the front
        outlier = np.rint(size * rng.random(objectives)) * rng.choice(sides, objectives)
        means[rng.integers(arms)] = outlier
    if data.draw(st.booleans()):
        means += 1000.0 * rng.integers(-1000, 1000, size=objectives)
    members = effective_front_exactly(means)
    np.testing.assert_array_equal(pareto.effective_front(means), members)
    order = rng.permutation(arms)
    np.testing.assert_array_equal(pareto.effective_front(means[order]), members[order])


@given(st.integers(0, 2**32 - 1), st.integers(4, 12))
@examples(100)
def test_gaps_do_not_depend_on_a_dominated_outlier(seed: int, power: int) -> None:
    rng = np.random.default_rng(seed)
    arms, objectives = int(rng.integers(3, 9)), int(rng.integers(2, 5))
    means = rng.integers(-9, 10, size=(arms, objectives)).astype(float)
    outlier = -np.rint(10.0**power * (0.1 + rng.random((1, objectives))))
    place = int(rng.integers(arms + 1))
    beside = np.insert(means, place, outlier, axis=0)
    proof = pareto.effective_certificates(beside)
    np.testing.assert_allclose(
        np.delete(proof.gaps, place), pareto.effective_gaps(means), atol=1e-9
    )
    mixtures = np.einsum("gs,gsm->gm", proof.shares, beside[proof.support])
    lead = np.delete((mixtures - beside).min(1), place)
    np.testing.assert_allclose(lead, pareto.effective_gaps(means), atol=1e-9)

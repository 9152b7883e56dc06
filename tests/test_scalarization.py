"""What the greedy step maximises."""

import numpy as np
import pytest
from scipy.special import betainc

import mogro
from mogro._algebra import sums
from mogro._validation import FloatArray
from mogro.scalarization import RandomChebyshev, RandomHypervolume, RandomWeights

BULGE = np.array([[1.0, 0.0], [0.45, 0.45], [0.0, 1.0]])  # the middle is below the line


def draw(scalarization: mogro.RandomWeights, objectives: int, n: int) -> FloatArray:
    return scalarization.weights(objectives, step=0, batch=(n,), rng=np.random.default_rng(0))


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (8,), (9,), (300,), (4, 3), (2, 3, 9)])
def test_sums_of_few_numbers_have_the_bits_of_numpy(shape: tuple[int, ...]) -> None:
    for seed in range(20):
        numbers = np.random.default_rng(seed).standard_exponential(shape)
        wanted = np.add.reduce(numbers, axis=-1, keepdims=True)
        np.testing.assert_array_equal(np.broadcast_to(sums(numbers), wanted.shape), wanted)


@pytest.mark.parametrize("concentration", [1.0, 0.2, 5, [1.0, 0.5, 0.1], np.array([3, 1, 2])])
def test_weights_are_dirichlet(concentration: float | list[float]) -> None:
    weights = draw(RandomWeights(concentration), 3, 40_000)
    alpha = np.broadcast_to(np.asarray(concentration, dtype=float), 3)
    total = alpha.sum()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    mean = alpha / total
    np.testing.assert_allclose(weights.mean(axis=0), mean, atol=0.01)
    variance = mean * (1 - mean) / (total + 1)
    np.testing.assert_allclose(weights.var(axis=0), variance, rtol=0.05)


@pytest.mark.parametrize("concentration", [2, 2.0, np.int64(2), np.float32(2)])
def test_any_number_is_a_concentration(concentration: float) -> None:
    assert RandomWeights(concentration) == RandomWeights(2.0)


def test_tiny_weights_have_their_law() -> None:
    weights = draw(RandomWeights(0.02), 3, 20_000)
    assert (weights > 0).mean() > 0.999
    for bound in (1e-5, 1e-17, 1e-50, 1e-100):
        part = float(betainc(0.02, 0.04, bound))
        assert abs((weights < bound).mean(axis=0) - part).max() < 4 * np.sqrt(part / 20_000)


def test_the_smallest_concentrations_give_corners() -> None:
    weights = draw(RandomWeights([5e-324, 1e-300, 1e-310]), 3, 200)
    np.testing.assert_array_equal(weights.max(axis=1), 1)
    assert (weights.argmax(axis=1) == 1).all()


@pytest.mark.parametrize(
    "concentration", [0, -1.0, np.nan, np.inf, True, "a", [], [1.0, 0.0], [1.0, np.nan], [[1.0]]]
)
def test_bad_concentrations_are_refused(concentration: object) -> None:
    for kind in (RandomWeights, lambda c: RandomChebyshev(concentration=c)):
        with pytest.raises(ValueError, match="concentration"):
            kind(concentration)  # type: ignore[arg-type]


def test_round_robin_takes_turns() -> None:
    rng = np.random.default_rng(0)
    turns = [mogro.RoundRobin().weights(3, step=t, batch=(), rng=rng) for t in range(7)]
    np.testing.assert_array_equal(np.argmax(turns, axis=1), [0, 1, 2, 0, 1, 2, 0])
    np.testing.assert_array_equal(np.sum(turns, axis=1), 1)


@pytest.mark.parametrize("weights", [[0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0], [], [[1.0]], "a"])
def test_weights_off_the_simplex_are_refused(weights: object) -> None:
    with pytest.raises(ValueError, match="weights"):
        mogro.FixedWeights(weights)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "scalarization",
    [
        RandomWeights([1.0, 2.0]),
        mogro.FixedWeights([0.5, 0.5]),
        RandomHypervolume([0.0, 0.0]),
        RandomChebyshev([0.0, 0.0]),
        RandomChebyshev(concentration=[1.0, 1.0]),
    ],
)
def test_a_wrong_number_of_objectives_is_refused_when_the_policy_is_made(
    scalarization: mogro.RandomWeights,
) -> None:
    mogro.MOGRO(4, 2, scalarization=scalarization)
    with pytest.raises(ValueError, match=r"concentration|weights|reference"):
        mogro.MOGRO(4, 3, scalarization=scalarization)
    with pytest.raises(ValueError, match=r"concentration|weights|reference"):
        mogro.ThompsonSampling(4, 3, noise=0.1, delta=0.1, selection=scalarization)


@pytest.mark.parametrize("scalarization", [None, "random", RandomWeights, 3])
def test_what_is_no_scalarisation_is_refused(scalarization: object) -> None:
    with pytest.raises(ValueError, match="scalarization"):
        mogro.MOGRO(2, 2, scalarization=scalarization)  # type: ignore[arg-type]


def test_directions_of_hypervolume_weights() -> None:
    weights = RandomHypervolume().weights(4, step=0, batch=(20_000,), rng=np.random.default_rng(0))
    assert (weights > 0).all()
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1)
    np.testing.assert_allclose(np.square(weights).mean(axis=0), 0.25, atol=0.01)


def test_hypervolume_scores_in_expectation() -> None:
    """The mean over directions of the largest power of the score is the hypervolume above z."""
    scalarization = RandomHypervolume([0.0, 0.0])
    weights = scalarization.weights(2, step=0, batch=(200_000,), rng=np.random.default_rng(0))
    best = scalarization.score(BULGE + 0.1, weights).max(axis=1)
    exact = 1.1 * 0.1 + (1.1 - 0.1) * 0.1 + 0.45 * 0.45  # corners, then the middle's own square
    assert abs(np.pi / 4 * np.square(best).mean() - exact) < 0.005


@pytest.mark.parametrize("scalarization", [RandomHypervolume(), RandomChebyshev()])
def test_nonlinear_scalarisations_reach_what_no_linear_weight_reaches(
    scalarization: RandomHypervolume | RandomChebyshev,
) -> None:
    rng = np.random.default_rng(0)
    linear = RandomWeights().weights(2, step=0, batch=(5000,), rng=rng)
    assert set((linear @ BULGE.T).argmax(axis=1)) == {0, 2}
    weights = scalarization.weights(2, step=0, batch=(5000,), rng=rng)
    best = scalarization.score(BULGE, weights).argmax(axis=1)
    assert set(best) == {0, 1, 2}


def test_mogro_pulls_an_arm_that_no_linear_weight_reaches() -> None:
    pulls = {}
    for scalarization in (RandomHypervolume(), RandomWeights()):
        rng = np.random.default_rng(0)
        policy = mogro.MOGRO(3, 2, scalarization=scalarization)
        arms = []
        for _ in range(300):
            arm = int(policy.select(np.eye(3), rng=rng))
            policy.update(np.eye(3)[arm], BULGE[arm] + 0.01 * rng.standard_normal(2))
            arms.append(arm)
        pulls[type(scalarization)] = np.bincount(arms, minlength=3)
    assert pulls[RandomHypervolume][1] > 50
    assert pulls[RandomWeights][1] < 10


def test_the_default_reference_is_a_tenth_of_the_range_below() -> None:
    values = np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]])
    weights = np.array([0.6, 0.8])
    implicit = RandomHypervolume().score(values, weights)
    explicit = RandomHypervolume([0.8, 4.0]).score(values, weights)  # no range: 1 below
    np.testing.assert_allclose(implicit, explicit)
    batch = RandomHypervolume().score(np.stack([values, 2 * values]), np.stack([weights] * 2))
    assert (batch[0] == implicit).all()


def test_hypervolume_formula() -> None:
    rng = np.random.default_rng(0)
    values, weights, z = rng.standard_normal((5, 3)), rng.random(3) + 0.1, [-0.5, 0.0, -3.0]
    expected = [min(max(0.0, y[m] - z[m]) / weights[m] for m in range(3)) for y in values]
    np.testing.assert_allclose(RandomHypervolume(z).score(values, weights), expected)


def test_chebyshev_formula() -> None:
    rng = np.random.default_rng(0)
    values, weights, z = rng.standard_normal((5, 3)), rng.dirichlet(np.ones(3)), [-0.5, 0.0, 1.0]
    expected = []
    for y in values:
        parts = [weights[m] * (y[m] - z[m]) for m in range(3)]
        expected.append(min(parts) + 0.2 * sum(parts))
    np.testing.assert_allclose(RandomChebyshev(z, rho=0.2).score(values, weights), expected)


@pytest.mark.parametrize("rho", [-0.1, np.nan, np.inf, "a"])
def test_bad_rho_is_refused(rho: object) -> None:
    with pytest.raises(ValueError, match="rho"):
        RandomChebyshev(rho=rho)  # type: ignore[arg-type]


@pytest.mark.parametrize("reference", [[np.nan], [np.inf, 0.0], [], [[0.0]], "a", 1.0])
def test_bad_references_are_refused(reference: object) -> None:
    for kind in (RandomHypervolume, RandomChebyshev):
        with pytest.raises(ValueError, match="reference"):
            kind(reference)  # type: ignore[arg-type]


class Alternate:
    """A user's own, linear."""

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: mogro.Rng
    ) -> FloatArray:
        return np.asarray(np.eye(objectives)[-1 if step % 2 else 0])


class Ranks(Alternate):
    """A user's own, not linear; its scores are integers."""

    def score(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        best = (values * weights[..., None, :]).sum(axis=-1)
        return np.asarray(best.argsort(axis=-1).argsort(axis=-1))


@pytest.mark.parametrize("scalarization", [Alternate(), Ranks()])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_users_own_class(scalarization: Alternate, batch: tuple[int, ...]) -> None:
    policy = mogro.MOGRO(2, 2, scalarization=scalarization, batch=batch)
    eye = np.broadcast_to(np.eye(2), (*batch, 2, 2))
    policy.learn(eye, eye)
    rng = np.random.default_rng(0)
    arms = [policy.select(np.eye(2), rng=rng) for _ in range(4)]
    for step, arm in enumerate(arms):
        np.testing.assert_array_equal(arm, np.full(batch, step % 2))


def test_a_users_class_that_gives_nonsense_is_refused() -> None:
    class TooMany(Alternate):
        def weights(
            self, objectives: int, *, step: int, batch: tuple[int, ...], rng: mogro.Rng
        ) -> FloatArray:
            return np.ones(objectives + 1)

    class OneScore(Alternate):
        def score(self, values: FloatArray, weights: FloatArray) -> FloatArray:
            return np.array(1.0)

    with pytest.raises(ValueError, match="expected weights for 2 objectives"):
        mogro.MOGRO(2, 2, scalarization=TooMany())
    with pytest.raises(ValueError, match="score"):
        mogro.MOGRO(2, 2, scalarization=OneScore())


@pytest.mark.parametrize("policy", ["thompson", "mogro"])
def test_round_robin_counts_selections_not_updates(policy: str) -> None:
    made: dict[str, mogro.policies.LinearPolicy] = {
        "mogro": mogro.MOGRO(3, 3, scalarization=mogro.RoundRobin()),
        "thompson": mogro.ThompsonSampling(
            3, 3, noise=0.0, norm=0.0, delta=1.0, selection=mogro.RoundRobin()
        ),
    }
    one = made[policy]
    one.learn(np.repeat(np.eye(3), 10, axis=0), np.repeat(np.eye(3), 10, axis=0))
    rng = np.random.default_rng(0)
    assert [one.select(np.eye(3), rng=rng) for _ in range(6)] == [0, 1, 2, 0, 1, 2]

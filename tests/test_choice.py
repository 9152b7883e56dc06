"""One way to choose: ties, refusals, uniform shares, per-objective Gram matrices."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mogro
from mogro._validation import FloatArray
from mogro.choice import Beliefs, Coverage, choose, probabilities

ARMS = np.array([[1.0, 0.0], [1.05, 0.0], [0.0, 1e5]])


def known(theta: FloatArray, *, grams: int = 1) -> Beliefs:
    """Return beliefs of one learner that has seen everything, with these estimates (M, d)."""
    objectives, dim = theta.shape
    inverse = np.broadcast_to(1e-9 * np.eye(dim), (grams, dim, dim))
    return Beliefs(
        theta,
        inverse,
        None,
        np.full(grams, 1e9),
        np.full(grams, dim),
        np.zeros(objectives),
        np.zeros(objectives),
        Coverage(inverse, None),
    )


def picks(arms: FloatArray, theta: FloatArray, policy: mogro.MOGRO, n: int = 200) -> set[int]:
    rng = np.random.default_rng(0)
    return {int(choose(policy, arms, known(theta), step=t, rng=rng).arm) for t in range(n)}


SELECTIONS: list[mogro.Scalarization] = [
    mogro.RandomWeights(),
    mogro.RandomWeights(0.2),
    mogro.RoundRobin(),
    mogro.FixedWeights([0.5, 0.5]),
    mogro.RandomHypervolume(),
    mogro.RandomChebyshev(),
]


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_outlier_that_does_not_compete_makes_no_ties(
    selection: mogro.Scalarization, dtype: type
) -> None:
    policy = mogro.MOGRO(2, 2, scalarization=selection)
    theta = np.array([[1.0, -1.0], [1.0, -1.0]])  # the outlier is far behind
    assert picks(ARMS.astype(dtype), theta, policy) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
def test_equal_scores_of_different_arms_are_drawn_each_alike(
    selection: mogro.Scalarization,
) -> None:
    arms = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    theta = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    policy = mogro.MOGRO(3, 2, scalarization=selection)
    rng = np.random.default_rng(1)
    drawn = [int(choose(policy, arms, known(theta), step=0, rng=rng).arm) for _ in range(2000)]
    shares = np.bincount(drawn, minlength=4) / 2000
    np.testing.assert_allclose(shares, [0.5, 0.5, 0.0, 0.0], atol=0.05)  # the copy never


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
def test_before_any_reward_every_arm_is_chosen_alike(selection: mogro.Scalarization) -> None:
    policy = mogro.MOGRO(3, 2, scalarization=selection)
    assert picks(np.eye(3), np.zeros((2, 3)), policy) == {0, 1, 2}


@given(st.integers(0, 2**32), st.integers(2, 30), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=50, deadline=None)
def test_copies_stay_with_the_first(seed: int, count: int, dtype: type) -> None:
    """Products of equal rows may differ in the last digits, depending on where they stand."""
    rng = np.random.default_rng(seed)
    single: FloatArray = rng.standard_normal((count, 7)).astype(dtype)
    arms = np.concatenate([single, single[rng.permutation(count)], single])
    policy = mogro.MOGRO(7, 2, scalarization=SELECTIONS[seed % len(SELECTIONS)])
    theta = rng.standard_normal((2, 7))
    for step in range(5):
        assert choose(policy, arms, known(theta), step=step, rng=rng).arm < count


def supports(policy: mogro.MOGRO, arms: FloatArray, theta: FloatArray) -> tuple[set[int], set[int]]:
    """Return the arms that are chosen in 64 choices, and those that may be by their probability."""
    rng = np.random.default_rng(1)
    chances = probabilities(policy, arms, known(theta), step=0, rng=rng)
    chosen = {int(choose(policy, arms, known(theta), step=0, rng=rng).arm) for _ in range(64)}
    return chosen, set(np.flatnonzero(chances.values + chances.errors > 0.1).tolist())


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("beside", [0, 5000], ids=["few", "many"])
def test_digits_of_single_precision_decide(selection: mogro.Scalarization, beside: int) -> None:
    """They are exact, so that probabilities can tell the better arm: a choice has to, too."""
    step = float(np.finfo(np.float32).eps)
    arms = np.array([[1.0, 0.0], [1.0 + step, 0.0], *[[-1.0, 0.0]] * beside], dtype=np.float32)
    policy = mogro.MOGRO(2, 2, threshold=1.0, scalarization=selection)
    theta = np.array([[0.1, 0.3], [0.7, -0.3]])
    assert supports(policy, np.repeat(arms, 4, axis=1), np.repeat(theta, 4, axis=1)) == ({1}, {1})
    batch = [
        choose(policy, arms[:9], known(theta).take(np.zeros(5, int)), step=0, rng=rng).arm
        for rng in (np.random.default_rng(0),)
    ]
    assert batch[0].tolist() == [1] * 5


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("sign", [-1, 1])
def test_what_cancels_up_to_rounding_ties(
    selection: mogro.Scalarization, size: float, sign: int
) -> None:
    """Two arms are worth 0, one of them but for rounding, which its value does not show."""
    arms = size * np.array([[0.0, 0.0], [sign, -sign], [-1.0, -1.0]])
    theta = np.array([[0.3, 0.1 + 0.2], [0.3, 0.1 + 0.2]])
    assert theta[0, 0] != theta[0, 1]
    policy = mogro.MOGRO(2, 2, threshold=1e-30, scalarization=selection)
    assert supports(policy, arms, theta) == ({0, 1}, {0, 1})


@pytest.mark.parametrize("seed", range(30))
def test_arms_that_gave_the_same_are_chosen_as_their_probabilities_say(seed: int) -> None:
    """Estimates then differ by the rounding of learning."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 25))
    arms = rng.standard_normal((int(rng.integers(2, dim + 1)), dim))
    policy = mogro.MOGRO(dim, 2, threshold=1e-9, scalarization=SELECTIONS[seed % len(SELECTIONS)])
    for x in np.tile(arms, (3, 1)):
        policy.update(x, np.ones(2))
    for _ in range(10):
        chances = policy.probabilities(arms, rng=rng)
        arm = policy.select(arms, rng=rng)
        assert chances.values[arm] + 4 * chances.errors[arm] > 0.01 / len(arms)


def test_no_random_number_is_drawn_where_nothing_ties() -> None:
    policy = mogro.MOGRO(2, 1, scalarization=mogro.FixedWeights([1.0]))
    rng = np.random.default_rng(3)
    choose(policy, np.eye(2), known(np.array([[1.0, 0.5]])), step=0, rng=rng)
    assert rng.bit_generator.state == np.random.default_rng(3).bit_generator.state


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite_are_refused(
    selection: mogro.Scalarization, bad: float
) -> None:
    arms = np.array([[1.0, 0.0], [0.0, bad]])
    policies = [
        mogro.MOGRO(2, 2, scalarization=selection),
        mogro.MOGRO(2, 2, scalarization=mogro.RandomHypervolume([-9.0, -9.0])),
        mogro.UCB(2, 2, noise=1.0, delta=0.1),
        mogro.EpsilonGreedy(2, 2),
        mogro.RandomArm(2, 2),
        mogro.ThompsonSampling(2, 2, noise=1.0, delta=0.1),
    ]
    for policy in policies:
        with pytest.raises(ValueError, match="features"):
            choose(policy, arms, known(np.ones((2, 2))), step=0, rng=np.random.default_rng(0))


class Broken:
    """A scalarisation that gives no numbers."""

    def weights(self, objectives: int, *, step: int, batch: object, rng: object) -> FloatArray:
        return np.full(objectives, np.nan if step else 1.0)


class BrokenScore(Broken):
    """One that hides it."""

    def score(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        return np.asarray(values.sum(axis=-1))


@pytest.mark.parametrize("own", [Broken(), BrokenScore()])
def test_weights_that_are_no_numbers_are_refused(own: Broken) -> None:
    policy = mogro.MOGRO(2, 2, scalarization=own)
    with pytest.raises(ValueError, match="weights"):
        choose(policy, np.eye(2), known(np.eye(2)), step=1, rng=np.random.default_rng(0))


@dataclass(frozen=True, eq=False, repr=False)
class Saying(mogro.LinearPolicy):
    """A policy of one's own that says anything of arms."""

    dim: int
    objectives: int
    _: KW_ONLY
    says: Callable[[int], Any]
    batch: tuple[int, ...] = ()

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: mogro.Rng) -> FloatArray:
        said: FloatArray = self.says(arms.shape[-2])
        return said


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        (lambda count: None, "an array of real numbers, got None"),
        (lambda count: np.zeros((count - 1, 2)), r"shape \(..., 3, 2\), got \(2, 2\)"),
        (lambda count: np.zeros((count, 5)), r"shape \(..., 3, 2\), got \(3, 5\)"),
        (lambda count: 0.0, r"shape \(..., 3, 2\), got \(\)"),
    ],
)
def test_values_of_ones_own_that_fit_no_arms_are_refused(
    says: Callable[[int], Any], expected: str
) -> None:
    policy = Saying(2, 2, says=says)
    rng = np.random.default_rng(0)
    for ask in (policy.select, policy.probabilities):
        with pytest.raises(ValueError, match=f"values: expected {expected}"):
            ask(np.ones((3, 2)), rng=rng)


def test_values_may_be_a_list() -> None:
    policy = Saying(1, 1, says=lambda count: [[float(n)] for n in range(count)])
    rng = np.random.default_rng(0)
    assert policy.select(np.arange(4.0)[:, None], rng=rng) == 3
    assert policy.probabilities(np.arange(4.0)[:, None], rng=rng).values.tolist() == [0, 0, 0, 1]


def test_a_uniform_share_comes_before_everything_else() -> None:
    policy = mogro.MOGRO(2, 2, scalarization=mogro.FixedWeights([1.0, 0.0]))
    rng = np.random.default_rng(0)
    found = [
        choose(policy, np.eye(2), known(np.eye(2)), step=0, rng=rng, uniform=0.5)
        for _ in range(4000)
    ]
    assert np.mean([bool(one.uniform) for one in found]) == pytest.approx(0.5, abs=0.03)
    assert np.mean([int(one.arm) for one in found]) == pytest.approx(0.25, abs=0.03)
    assert all(one.weights is None for one in found if one.uniform)


@dataclass(frozen=True, eq=False, repr=False)
class Optimist(mogro.LinearPolicy):
    """A policy of one's own: half a standard deviation of optimism, and random weights."""

    dim: int
    objectives: int
    _: KW_ONLY
    bonus: float = 0.5
    ridge: float = 1.0
    batch: tuple[int, ...] = ()

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: mogro.Rng) -> FloatArray:
        return np.asarray(beliefs.estimates(arms) + self.bonus * np.sqrt(beliefs.variances(arms)))


Make = Callable[..., mogro.LinearPolicy]
ALL: dict[str, Make] = {
    "mogro": lambda d, m, batch=(): mogro.MOGRO(d, m, batch=batch),
    "round robin": lambda d, m, batch=(): mogro.MOGRO(
        d, m, scalarization=mogro.RoundRobin(), batch=batch
    ),
    "hypervolume": lambda d, m, batch=(): mogro.MOGRO(
        d, m, scalarization=mogro.RandomHypervolume(), batch=batch
    ),
    "chebyshev": lambda d, m, batch=(): mogro.MOGRO(
        d, m, scalarization=mogro.RandomChebyshev(), batch=batch
    ),
    "commit": lambda d, m, batch=(): mogro.ExploreThenCommit(d, m, batch=batch),
    "ucb": lambda d, m, batch=(): mogro.UCB(d, m, noise=0.1, delta=0.1, batch=batch),
    "thompson": lambda d, m, batch=(): mogro.ThompsonSampling(
        d, m, noise=0.1, delta=0.1, batch=batch
    ),
    "thompson front": lambda d, m, batch=(): mogro.ThompsonSampling(
        d, m, noise=0.1, delta=0.1, selection=mogro.EffectiveFront(), batch=batch
    ),
    "epsilon": lambda d, m, batch=(): mogro.EpsilonGreedy(d, m, batch=batch),
    "random": lambda d, m, batch=(): mogro.RandomArm(d, m, batch=batch),
    "own": Optimist,
}


@pytest.mark.parametrize("name", ALL)
def test_one_gram_matrix_or_one_each_is_the_same(name: str) -> None:
    """Beliefs of objectives that were always observed together, written both ways."""
    policy = ALL[name](4, 3)
    world = np.random.default_rng(5)
    arms = world.standard_normal((9, 4))
    for _ in range(25):
        shared = policy.beliefs()
        each = shared._replace(
            inverse=np.repeat(shared.inverse, 3, axis=-3),
            unseen=None if shared.unseen is None else np.repeat(shared.unseen, 3, axis=-3),
            counts=np.full(3, shared.counts),
            ranks=np.repeat(shared.ranks, 3),
        )
        each = each._replace(coverage=Coverage(each.inverse, each.unseen))
        step = policy.learned.step
        one, other = (
            choose(policy, arms, beliefs, step=step, rng=np.random.default_rng(step))
            for beliefs in (shared, each)
        )
        assert one.arm == other.arm
        assert one.exploring == other.exploring
        arm = policy.select(arms, rng=np.random.default_rng(step))
        assert arm == one.arm
        policy.update(arms[arm], world.standard_normal(3))


@pytest.mark.parametrize("name", ALL)
def test_beliefs_do_not_change_when_the_policy_learns(name: str) -> None:
    policy = ALL[name](3, 2)
    rng = np.random.default_rng(0)
    for _ in range(8):
        before = policy.beliefs()
        kept = [None if part is None else np.array(part) for part in before[:-1]]
        arm = policy.select(np.eye(3), rng=rng)
        policy.update(np.eye(3)[arm], rng.standard_normal(2))
        for was, now in zip(kept, before[:-1], strict=True):
            if was is not None:
                np.testing.assert_array_equal(was, now)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_probabilities_are_those_of_choices(name: str) -> None:
    policy = ALL[name](3, 2)
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((6, 3))
    arms[4] = arms[1]  # a copy
    for learned in (0, 20):
        for _ in range(learned):
            arm = policy.select(arms, rng=rng)
            policy.update(arms[arm], np.array([1.0, -1.0]) * arms[arm, :2] + rng.normal(size=2))
        found = policy.probabilities(arms)
        drawn = [int(policy.copy().select(arms, rng=rng)) for _ in range(1500)]
        shares = np.bincount(drawn, minlength=6) / 1500
        np.testing.assert_allclose(found.values.sum(), 1, atol=1e-9)
        error = np.sqrt(found.errors**2 + shares * (1 - shares) / 1500)
        assert (np.abs(found.values - shares) <= 4.5 * error + 2e-3).all()
        batch = ALL[name](3, 2, batch=(2,))
        assert batch.probabilities(arms).values.shape == (2, 6)


@pytest.mark.parametrize("power", [-400, 200, 400])
@pytest.mark.parametrize("shape", [(1, 4, 2), (6, 1, 3), (7, 5, 1), (40, 6, 3)])
def test_powers_of_two_change_no_choice(shape: tuple[int, int, int], power: int) -> None:
    """Numbers that could overflow are chosen among in another way than moderate ones."""
    arms, dim, objectives = shape
    rng = np.random.default_rng(0)
    x, theta = rng.standard_normal((arms, dim)), rng.standard_normal((objectives, dim))
    x[arms // 2 :] = x[: arms - arms // 2]  # copies
    policy = mogro.MOGRO(dim, objectives, threshold=1e-300)
    for theirs in (x, x[::-1], np.asfortranarray(x)):
        found = []
        for scale in (1.0, 2.0**power):
            draws = np.random.default_rng(1)
            large, small = theirs * scale, known(theta / scale)
            found.append(
                [int(choose(policy, large, small, step=t, rng=draws).arm) for t in range(20)]
            )
        assert found[0] == found[1]

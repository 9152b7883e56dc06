"""One way to choose: ties, refusals, arms that are never chosen, uniform shares, batches."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples, mostly_slow

import mogro
from mogro._validation import FloatArray
from mogro.beliefs import Beliefs
from mogro.choice import Choice, ChoiceRule, choose
from mogro.posterior import Posterior
from mogro.priors import Fixed
from mogro.probability import Probabilities
from mogro.propensity import probabilities
from mogro.scalarization import Scalarization
from mogro.selection import Selection

ARMS = np.array([[1.0, 0.0], [1.05, 0.0], [0.0, 1e5]])


def known(theta: FloatArray, batch: tuple[int, ...] = ()) -> Beliefs:
    """Return beliefs of learners that know these estimates (M, d) for certain."""
    objectives, dim = theta.shape
    prior = Fixed(1e9, mean=theta.tolist())
    return Posterior(dim, objectives, prior=prior, batch=batch).beliefs()


def pick(
    policy: ChoiceRule, arms: FloatArray, beliefs: Beliefs, rng: mogro.Rng, step: int = 0
) -> Choice:
    return choose(policy, arms, beliefs, step=step, rng=rng, explore=None)


def chances(policy: ChoiceRule, arms: FloatArray, beliefs: Beliefs, step: int = 0) -> Probabilities:
    rng = np.random.default_rng(1)
    return probabilities(policy, arms, beliefs, step=step, rng=rng, explore=None)


def greedy(dim: int, objectives: int, selection: Scalarization | None = None) -> mogro.MOGRO:
    """Return a policy that does not explore, and is never optimistic."""
    how = mogro.RandomWeights() if selection is None else selection
    return mogro.MOGRO(dim, objectives, threshold=1e-30, scalarization=how)


def picks(arms: FloatArray, theta: FloatArray, policy: ChoiceRule, n: int = 64) -> set[int]:
    rng, beliefs = np.random.default_rng(0), known(theta)
    return {int(pick(policy, arms, beliefs, rng, step).arm) for step in range(n)}


SELECTIONS: list[Scalarization] = [
    mogro.RandomWeights(),
    mogro.RandomWeights(0.2),
    mogro.RoundRobin(),
    mogro.FixedWeights([0.5, 0.5]),
    mogro.RandomHypervolume(),
    mogro.RandomChebyshev(),
]
FRONTS: list[Any] = [mogro.ParetoFront(), mogro.EffectiveFront()]


# Ties


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_outlier_that_does_not_compete_makes_no_ties(
    selection: Scalarization, dtype: type
) -> None:
    theta = np.array([[1.0, -1.0], [1.0, -1.0]])  # the outlier is far behind
    assert picks(ARMS.astype(dtype), theta, greedy(2, 2, selection)) == {1}


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
def test_equal_scores_of_different_arms_are_drawn_each_alike(
    selection: Scalarization,
) -> None:
    arms = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    theta = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    policy, rng, beliefs = greedy(3, 2, selection), np.random.default_rng(1), known(theta)
    drawn = [int(pick(policy, arms, beliefs, rng).arm) for _ in range(600)]
    counts = np.bincount(drawn, minlength=4)
    assert counts[2:].tolist() == [0, 0]  # the copy never
    assert abs(counts[0] - 300) < 60
    np.testing.assert_allclose(chances(policy, arms, beliefs).values, [0.5, 0.5, 0, 0], atol=0.05)


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
def test_before_any_reward_every_arm_is_chosen_alike(
    selection: Scalarization,
) -> None:
    assert picks(np.eye(3), np.zeros((2, 3)), greedy(3, 2, selection)) == {0, 1, 2}


@given(st.integers(0, 2**32), st.integers(2, 30), st.sampled_from([np.float32, np.float64]))
@examples(50)
def test_copies_stay_with_the_first(seed: int, count: int, dtype: type) -> None:
    """Products of equal rows may differ in the last digits, depending on where they stand."""
    rng = np.random.default_rng(seed)
    single: FloatArray = rng.standard_normal((count, 7)).astype(dtype)
    arms = np.concatenate([single, single[rng.permutation(count)], single])
    policy = greedy(7, 2, SELECTIONS[seed % len(SELECTIONS)])
    beliefs = known(rng.standard_normal((2, 7)))
    for step in range(5):
        assert pick(policy, arms, beliefs, rng, step).arm < count


def supports(policy: ChoiceRule, arms: FloatArray, theta: FloatArray) -> tuple[set[int], set[int]]:
    """Return the arms that are chosen in 64 choices, and those that may be by their probability."""
    rng, beliefs = np.random.default_rng(1), known(theta)
    told = chances(policy, arms, beliefs)
    chosen = {int(pick(policy, arms, beliefs, rng).arm) for _ in range(64)}
    return chosen, set(np.flatnonzero(told.values + told.errors > 0.1).tolist())


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("beside", [0, 5000], ids=["few", "many"])
def test_digits_of_single_precision_decide(selection: Scalarization, beside: int) -> None:
    """They are exact, so that probabilities can tell the better arm: a choice has to, too."""
    step = float(np.finfo(np.float32).eps)
    arms = np.array([[1.0, 0.0], [1.0 + step, 0.0], *[[-1.0, 0.0]] * beside], dtype=np.float32)
    policy = greedy(2, 2, selection)
    theta = np.array([[0.1, 0.3], [0.7, -0.3]])
    assert supports(policy, np.repeat(arms, 4, axis=1), np.repeat(theta, 4, axis=1)) == ({1}, {1})
    batch = pick(policy, arms[:9], known(theta, batch=(5,)), np.random.default_rng(0))
    assert batch.arm.tolist() == [1] * 5


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("size", [2.0**-30, 1.0, 2.0**30])
@pytest.mark.parametrize("sign", [-1, 1])
def test_what_cancels_up_to_rounding_ties(selection: Scalarization, size: float, sign: int) -> None:
    """Two arms are worth 1, one of them but for rounding, which its value does not show."""
    arms = np.array([[1.0, 0.0, 0.0], [1.0, sign * size, -sign * size], [-1.0, 0.0, 0.0]])
    theta = np.array([[1.0, 0.3 / size, (0.1 + 0.2) / size]] * 2)
    assert theta[0, 1] != theta[0, 2]
    assert supports(greedy(3, 2, selection), arms, theta) == ({0, 1}, {0, 1})


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_unit_of_a_feature_makes_no_ties(selection: Scalarization, unit: float) -> None:
    """Arms and estimates are large in one feature each, their products are not."""
    arms = np.array([[1.0, 1.0], [1.0, 1.001], [1.0, -1.0]]) * [unit, 1.0]
    theta = np.array([[1.0, 1.0], [2.0, 2.0]]) / [unit, 1.0]
    assert supports(greedy(2, 2, selection), arms, theta) == ({1}, {1})


@pytest.mark.parametrize("seed", range(12))
def test_arms_that_gave_the_same_are_chosen_as_their_probabilities_say(seed: int) -> None:
    """Estimates then differ by the rounding of learning."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 25))
    arms = rng.standard_normal((int(rng.integers(2, dim + 1)), dim))
    policy = greedy(dim, 2, SELECTIONS[seed % len(SELECTIONS)])
    for x in np.tile(arms, (3, 1)):
        policy.update(x, np.ones(2))
    for _ in range(6):
        told = policy.probabilities(arms, rng=rng)
        arm = policy.select(arms, rng=rng)
        assert told.values[arm] + 4 * told.errors[arm] > 0.01 / len(arms)


def test_no_random_number_is_drawn_where_nothing_ties() -> None:
    policy = greedy(2, 1, mogro.FixedWeights([1.0]))
    rng = np.random.default_rng(3)
    pick(policy, np.eye(2), known(np.array([[1.0, 0.5]])), rng)
    assert rng.bit_generator.state == np.random.default_rng(3).bit_generator.state


@pytest.mark.parametrize("power", [-100, 100])
@pytest.mark.parametrize("shape", [(1, 4, 2), (6, 1, 3), (7, 5, 1), (40, 6, 3)])
def test_powers_of_two_change_no_choice(shape: tuple[int, int, int], power: int) -> None:
    arms, dim, objectives = shape
    rng = np.random.default_rng(0)
    x, theta = rng.standard_normal((arms, dim)), rng.standard_normal((objectives, dim))
    x[arms // 2 :] = x[: arms - arms // 2]  # copies
    policy = greedy(dim, objectives)
    for theirs in (x, x[::-1], np.asfortranarray(x)):
        found = []
        for scale in (1.0, 2.0**power):
            draws = np.random.default_rng(1)
            large, small = theirs * scale, known(theta / scale)
            found.append([int(pick(policy, large, small, draws, t).arm) for t in range(20)])
        assert found[0] == found[1]


# Numbers that are none


@pytest.mark.parametrize("selection", [*SELECTIONS, *FRONTS], ids=repr)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_features_that_are_not_finite_are_refused(
    selection: Selection, bad: float, batch: tuple[int, ...]
) -> None:
    arms = np.array([[1.0, 0.0], [0.0, bad]])
    beliefs = known(np.ones((2, 2)), batch)
    policies: list[mogro.policies.LinearPolicy] = [
        mogro.MOGRO(2, 2, threshold=1e-30),
        mogro.UCB(2, 2, noise=1.0, delta=0.1),
        mogro.EpsilonGreedy(2, 2),
        mogro.RandomArm(2, 2),
        mogro.ThompsonSampling(2, 2, noise=1.0, delta=0.1),
    ]
    for policy in policies:
        rng = np.random.default_rng(0)
        with pytest.raises(ValueError, match="features"):
            choose(policy, arms, beliefs, step=0, rng=rng, explore=None, selection=selection)


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_features_whose_squares_are_too_large_are_refused(
    selection: Selection, batch: tuple[int, ...]
) -> None:
    """And nothing else is said: no warning goes before."""
    arms, rng = np.array([[1.0, 0.0], [0.0, 1e200]]), np.random.default_rng(0)
    beliefs = known(np.ones((2, 2)), batch)
    for policy in (mogro.MOGRO(2, 2, threshold=1e-30), mogro.UCB(2, 2, noise=1.0, delta=0.1)):
        with pytest.raises(ValueError, match="features"):
            choose(policy, arms, beliefs, step=0, rng=rng, explore=None, selection=selection)


class Own:
    """A scalarisation of one's own, with weights that may be no numbers."""

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = 1.0  # while it is checked
        self.later = weight

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: object
    ) -> FloatArray:
        return np.full((*batch, objectives), self.later if step else self.weight)


class OwnScore(Own):
    """One that scores, and hides the weights."""

    def __init__(self, weight: float = 1.0, scores: Any = None) -> None:
        super().__init__(weight)
        self.scores = scores

    def score(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        if self.scores is None or values.shape[-2] != len(self.scores):
            return np.asarray(values.sum(axis=-1))
        return np.asarray(np.broadcast_to(self.scores, values.shape[:-1]), dtype=float)


@pytest.mark.parametrize("own", [Own(np.nan), OwnScore(np.nan), Own(np.inf), OwnScore(np.inf)])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_weights_that_are_no_numbers_are_refused(own: Own, batch: tuple[int, ...]) -> None:
    policy, rng = greedy(2, 2, own), np.random.default_rng(0)
    with pytest.raises(ValueError, match="weights"):
        pick(policy, np.array([[1.0, 1.0], [1.0, 2.0]]), known(np.ones((2, 2)), batch), rng, step=1)


@dataclass(frozen=True, eq=False, repr=False)
class Saying(mogro.policies.LinearPolicy):
    """A policy of one's own that says anything of arms."""

    dim: int
    objectives: int
    _: KW_ONLY
    says: Callable[[int], Any]
    how: Any = mogro.RandomWeights()  # noqa: RUF009
    batch: tuple[int, ...] = ()

    @property
    def selection(self) -> Selection:
        chosen: Selection = self.how
        return chosen

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
        (lambda count: np.full((count, 2), np.nan), "numbers or -inf"),
        (lambda count: np.eye(count, 2) * np.inf, "numbers or -inf"),
        (lambda count: np.full((count, 2), -np.inf), "an arm .*-inf for all"),
    ],
)
@pytest.mark.parametrize("how", [*SELECTIONS, *FRONTS], ids=repr)
def test_values_that_no_arm_can_be_chosen_by_are_refused(
    says: Callable[[int], Any], expected: str, how: Selection
) -> None:
    rng = np.random.default_rng(0)
    for batch in ((), (2,)):
        policy = Saying(2, 2, says=says, how=how, batch=batch)
        for ask in (policy.select, policy.probabilities):
            with (
                np.errstate(invalid="ignore"),
                pytest.raises(ValueError, match=f"values: expected {expected}"),
            ):
                ask(np.arange(6.0).reshape(3, 2), rng=rng)


def test_values_may_be_a_list() -> None:
    policy = Saying(1, 1, says=lambda count: [[float(n)] for n in range(count)])
    rng = np.random.default_rng(0)
    assert policy.select(np.arange(4.0)[:, None], rng=rng) == 3
    assert policy.probabilities(np.arange(4.0)[:, None], rng=rng).values.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("how", [*SELECTIONS, *FRONTS], ids=repr)
def test_values_may_be_the_same_for_a_whole_batch(how: Selection) -> None:
    """A policy that does not look at its beliefs need not care for the batch."""
    policy = Saying(2, 2, says=lambda count: np.arange(2.0 * count).reshape(count, 2), how=how)
    many = Saying(2, 2, says=policy.says, how=how, batch=(3,))
    rng = np.random.default_rng(0)
    arms = np.arange(8.0).reshape(4, 2)
    assert np.asarray(many.select(arms, rng=rng)).tolist() == [policy.select(arms, rng=rng)] * 3


# Never


@pytest.mark.slow
@pytest.mark.parametrize("how", [*SELECTIONS, *FRONTS], ids=repr)
@pytest.mark.parametrize("objective", [0, 1, slice(None)], ids=["first", "second", "both"])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_arms_worth_minus_infinity_are_never_chosen(
    how: Selection, objective: int | slice, batch: tuple[int, ...]
) -> None:
    """In whatever objective; all else is as if they were not there."""
    worth = np.array([[9.0, 9.0], [1.0, 0.0], [0.45, 0.45], [0.0, 1.0], [8.0, 8.0]])
    never = worth.copy()
    never[[0, 4], objective] = -np.inf
    arms = np.arange(10.0).reshape(5, 2)
    policy = Saying(2, 2, says=lambda count: never, how=how, batch=batch)
    without = Saying(2, 2, says=lambda count: worth[1:4], how=how)
    rng = np.random.default_rng(0)
    for _ in range(40):
        told, expected = policy.probabilities(arms), without.probabilities(arms[1:4])
        assert (told.values[..., [0, 4]] == 0).all()
        error = np.hypot(told.errors[..., 1:4], expected.errors)
        assert (np.abs(told.values[..., 1:4] - expected.values) <= 4 * error + 1e-9).all()
        chosen = np.asarray(policy.select(arms, rng=rng))
        assert (expected.values + expected.errors > 0)[chosen - 1].all()
        assert ((chosen > 0) & (chosen < 4)).all()
        without.select(arms[1:4], rng=rng)


@pytest.mark.parametrize("batch", [(), (3,)])
def test_scores_of_minus_infinity_are_never_chosen(batch: tuple[int, ...]) -> None:
    own = OwnScore(scores=[-np.inf, 1.0, -np.inf])
    policy, rng = greedy(3, 2, own), np.random.default_rng(0)
    beliefs = known(np.ones((2, 3)), batch)
    for _ in range(10):
        assert (np.asarray(pick(policy, np.eye(3), beliefs, rng).arm) == 1).all()


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([-np.inf] * 3, "an arm with a score above -inf, got -inf for all arms"),
        ([0.0, np.nan, 1.0], "numbers or -inf, got nan"),
        ([0.0, np.inf, 1.0], "numbers or -inf, got inf"),
    ],
)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_scores_that_no_arm_can_be_chosen_by_are_refused(
    scores: list[float], expected: str, batch: tuple[int, ...]
) -> None:
    policy, rng = greedy(3, 2, OwnScore(scores=scores)), np.random.default_rng(0)
    beliefs = known(np.ones((2, 3)), batch)
    with pytest.raises(ValueError, match=f"scores: expected {expected}"):
        pick(policy, np.eye(3), beliefs, rng)


# A uniform share


def test_a_uniform_share_comes_before_everything_else() -> None:
    policy = greedy(2, 2, mogro.FixedWeights([1.0, 0.0]))
    rng, beliefs = np.random.default_rng(0), known(np.eye(2))
    found = [
        choose(policy, np.eye(2), beliefs, step=0, rng=rng, explore=None, epsilon=0.5)
        for _ in range(2000)
    ]
    assert np.mean([bool(choice.uniform) for choice in found]) == pytest.approx(0.5, abs=0.05)
    assert np.mean([int(choice.arm) for choice in found]) == pytest.approx(0.25, abs=0.04)
    assert all(choice.weights is None for choice in found if choice.uniform)
    assert not any(choice.exploring for choice in found if choice.uniform)


@pytest.mark.parametrize(("given_", "own"), [(0.0, 0.3), (0.3, 0.0), (0.5, 0.5), (1.0, 0.2)])
def test_shares_of_a_policy_and_of_a_decision_come_together(given_: float, own: float) -> None:
    policy = mogro.EpsilonGreedy(2, 1, epsilon=own)
    beliefs = known(np.array([[1.0, 0.0]]))
    told = probabilities(
        policy,
        np.eye(2),
        beliefs,
        step=0,
        rng=np.random.default_rng(0),
        explore=None,
        epsilon=given_,
    )
    share = 1 - (1 - given_) * (1 - own)
    np.testing.assert_allclose(told.values, [1 - share / 2, share / 2])


# Every policy


@dataclass(frozen=True, eq=False, repr=False)
class Optimist(mogro.policies.LinearPolicy):
    """A policy of one's own: half a standard deviation of optimism, and random weights."""

    dim: int
    objectives: int
    _: KW_ONLY
    bonus: float = 0.5
    prior: mogro.priors.Prior = Fixed(1.0)  # noqa: RUF009
    half_life: float | None = None
    batch: tuple[int, ...] = ()

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: mogro.Rng) -> FloatArray:
        return np.asarray(beliefs.estimates(arms) + self.bonus * np.sqrt(beliefs.variances(arms)))


Make = Callable[..., mogro.policies.LinearPolicy]
BOUNDS: dict[str, Any] = {"noise": 0.1, "delta": 0.1}
ALL: dict[str, Make] = {
    "mogro": mogro.MOGRO,
    "threshold": lambda d, m, **more: mogro.MOGRO(d, m, threshold=0.3, **more),
    "uniform": lambda d, m, **more: mogro.MOGRO(
        d, m, threshold=0.3, exploration=mogro.Uniform(), **more
    ),
    "round robin": lambda d, m, **more: mogro.MOGRO(d, m, scalarization=mogro.RoundRobin(), **more),
    "hypervolume": lambda d, m, **more: mogro.MOGRO(
        d, m, scalarization=mogro.RandomHypervolume(), **more
    ),
    "chebyshev": lambda d, m, **more: mogro.MOGRO(
        d, m, scalarization=mogro.RandomChebyshev(), **more
    ),
    "forgetful": lambda d, m, **more: mogro.MOGRO(d, m, half_life=7.0, **more),
    "forgetful threshold": lambda d, m, **more: mogro.MOGRO(
        d, m, threshold=0.2, half_life=7.0, **more
    ),
    "ridge": lambda d, m, **more: mogro.MOGRO(d, m, prior=Fixed(0.5, mean=1.0), **more),
    "ucb": lambda d, m, **more: mogro.UCB(d, m, **BOUNDS, **more),
    "thompson": lambda d, m, **more: mogro.ThompsonSampling(d, m, **BOUNDS, **more),
    "thompson front": lambda d, m, **more: mogro.ThompsonSampling(
        d, m, selection=mogro.EffectiveFront(), **BOUNDS, **more
    ),
    "epsilon": mogro.EpsilonGreedy,
    "random": mogro.RandomArm,
    "own": Optimist,
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", mostly_slow(["changing", "shared", "fixed"]))
def test_a_batch_is_separate_learners_to_the_bit(name: str, kind: str) -> None:
    """Arms, ways of exploring and what is learned, through renewals and ties."""
    batch, dim, objectives = (2, 2), 3, 2
    world = np.random.default_rng(5)
    together = ALL[name](dim, objectives, batch=batch)
    alone = {at: ALL[name](dim, objectives) for at in np.ndindex(batch)}
    seeds = [[np.random.default_rng([i, j]) for j in range(2)] for i in range(2)]
    rng = mogro.Streams(seeds)
    own = {(i, j): np.random.default_rng([i, j]) for i, j in alone}
    fixed = world.standard_normal((*batch, 6, dim))
    fixed[..., 4, :] = fixed[..., 1, :]
    fixed[0, 1] = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    fixed[1, 0, :, 2] = 0
    shared = np.concatenate([fixed[0, 0], np.eye(3), 1e-6 * np.eye(3)]) * [1e4, 1.0, 1e-4]
    for step in range(300 if name in ("mogro", "forgetful") else 80):
        arms = fixed
        if kind == "changing":
            arms = world.standard_normal((*batch, 4, dim))
        elif kind == "shared":
            arms = shared if step % 2 else shared[::-1].astype(np.float32)
        offered = np.broadcast_to(arms, (*batch, *arms.shape[-2:]))
        chosen = np.asarray(together.select(arms, rng=rng))
        rewards = np.round(world.standard_normal((*batch, objectives)), 1)
        for at, policy in alone.items():
            assert policy.select(offered[at], rng=own[at]) == chosen[at], (step, at)
            assert policy.exploring == np.asarray(together.exploring)[at], (step, at)
            policy.update(offered[at][chosen[at]], rewards[at])
        x = np.take_along_axis(offered, chosen[..., None, None], axis=-2)[..., 0, :]
        together.update(x, rewards)
        for at, policy in alone.items():
            assert (policy.theta == together.theta[at]).all(), (step, at)


@given(st.integers(0, 2**32), st.sampled_from([None, 0.3]), st.sampled_from([np.float32, float]))
@examples(40)
def test_learners_that_share_arms_do_what_they_would_do_alone(
    seed: int, threshold: float | None, dtype: type
) -> None:
    """One product for all of them rounds otherwise: arms in odd units, with copies and ties."""
    rng = np.random.default_rng(seed)
    dim, learners = int(rng.integers(1, 6)), 5
    base = rng.standard_normal((dim if rng.random() < 0.7 else 1, dim))
    arms = rng.standard_normal((int(rng.integers(1, 30)), len(base))) @ base
    arms = np.round(arms, int(rng.integers(1, 4))) * 10.0 ** rng.integers(-6, 7, dim)
    arms = arms[rng.integers(0, len(arms), len(arms))].astype(dtype)
    largest = float(np.square(arms, dtype=np.float64).sum(axis=1).max()) or 1.0
    B = None if threshold is None else threshold * largest
    together = mogro.MOGRO(dim, 2, threshold=B, batch=(learners,))
    alone = [mogro.MOGRO(dim, 2, threshold=B) for _ in range(learners)]
    rngs = mogro.Streams([np.random.default_rng([seed, i]) for i in range(learners)])
    own = [np.random.default_rng([seed, i]) for i in range(learners)]
    for _ in range(25):
        chosen = np.asarray(together.select(arms, rng=rngs))
        rewards = np.round(rng.standard_normal((learners, 2)), 1)
        exploring = np.asarray(together.exploring)
        for i, policy in enumerate(alone):
            assert policy.select(arms, rng=own[i]) == chosen[i]
            assert policy.exploring == exploring[i]
            policy.update(arms[chosen[i]], rewards[i])
        together.update(arms[chosen], rewards)


@pytest.mark.parametrize("name", ALL)
def test_one_s_or_one_each_is_the_same(name: str) -> None:
    """Beliefs of objectives that were always observed together, written both ways."""
    policy = ALL[name](4, 3)
    world = np.random.default_rng(5)
    arms = world.standard_normal((9, 4))
    for _ in range(25):
        apart = policy.posterior.copy()
        apart.separate()
        step, found = policy.step, []
        for beliefs in (policy.beliefs(), apart.beliefs()):
            explore = policy.needed_exploration(arms, beliefs, step=step, cache=None)
            rng = np.random.default_rng(step)
            found.append(choose(policy, arms, beliefs, step=step, rng=rng, explore=explore))
        assert found[0].arm == found[1].arm
        assert found[0].exploring == found[1].exploring
        arm = policy.select(arms, rng=np.random.default_rng(step))
        assert arm == found[0].arm
        policy.update(arms[arm], world.standard_normal(3))


@pytest.mark.parametrize("name", ALL)
def test_beliefs_do_not_change_when_the_policy_learns(name: str) -> None:
    policy = ALL[name](3, 2)
    rng = np.random.default_rng(0)
    for _ in range(8):
        before = policy.beliefs()
        kept = [np.array(part) for part in (before.theta, before.S, before.n)]
        arm = policy.select(np.eye(3), rng=rng)
        policy.update(np.eye(3)[arm], rng.standard_normal(2))
        for was, now in zip(kept, (before.theta, before.S, before.n), strict=True):
            np.testing.assert_array_equal(was, now)


def frequencies_fit(policy: mogro.policies.LinearPolicy, arms: FloatArray, draws: int) -> float:
    """Return the p-value of choices against the policy's own probabilities.

    By a chi-square test on arms with at least five expected choices, the others together; standard
    errors of the probabilities count as more draws would.
    """
    told, rng = policy.probabilities(arms), np.random.default_rng(7)
    np.testing.assert_allclose(told.values.sum(), 1, atol=1e-9)
    copies = [policy.copy() for _ in range(draws)]
    counts = np.bincount([int(each.select(arms, rng=rng)) for each in copies], minlength=len(arms))
    assert (counts[(told.values == 0) & (told.errors == 0)] == 0).all()
    expected = draws * told.values
    often = expected >= 5
    observed = np.append(counts[often], counts[~often].sum())
    wanted = np.append(expected[often], expected[~often].sum())
    spread = np.append(
        wanted[:-1] + np.square(draws * told.errors[often]),
        wanted[-1] + np.square(draws * told.errors[~often]).sum() + 1e-9,
    )
    free = max(1, int(often.sum()) - (wanted[-1] < 1e-6))
    statistic = float((np.square(observed - wanted) / spread).sum())
    return float(scipy.stats.chi2.sf(statistic, free))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("learned", mostly_slow([3, 0, 20]))
@pytest.mark.parametrize("draws", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_choices_are_as_frequent_as_their_probabilities(
    name: str, learned: int, draws: int
) -> None:
    policy = ALL[name](3, 2)
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((6, 3))
    arms[4] = arms[1]  # a copy
    for _ in range(learned):
        arm = policy.select(arms, rng=rng)
        policy.update(arms[arm], np.array([1.0, -1.0]) * arms[arm, :2] + rng.normal(size=2))
    assert frequencies_fit(policy, arms, draws) > 1e-4
    assert ALL[name](3, 2, batch=(2,)).probabilities(arms).values.shape == (2, 6)

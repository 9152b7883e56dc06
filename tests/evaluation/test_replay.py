"""A learning policy on a log gets what it would have got by itself."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.evaluation.worlds import make_table, small_world

import mogro
from mogro import MOGRO, Objective, Rng, RoundRobin
from mogro._validation import FloatArray

ROUNDS, RUNS = 25, 100


class Anything:
    """Takes any arm; any object with two methods will do."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def select(self, features: np.ndarray, *, rng: Rng) -> int:
        return int(rng.random((1,))[0] * len(features))

    def update(self, features: np.ndarray, reward: np.ndarray) -> None:
        self.seen.append(reward)


def policy(batch: tuple[int, ...] = ()) -> MOGRO:
    return MOGRO(dim=4, objectives=2, scalarization=RoundRobin(), batch=batch)


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    """Return mean rewards of rounds of the policy itself, (runs, 2)."""
    world, rng = small_world(arms=4), np.random.default_rng(1)
    learners, each, total = policy((RUNS,)), np.arange(RUNS), np.zeros((RUNS, 2))
    for _ in range(ROUNDS):
        contexts = rng.integers(len(world.features), size=RUNS)
        features = world.features[contexts]
        arms = np.asarray(learners.select(features, rng=rng))
        rewards = (rng.random((RUNS, 2)) < world.means[contexts, arms]).astype(float)
        learners.update(features[each, arms], world.units.inward(rewards))
        total += rewards
    return total / ROUNDS


@pytest.mark.slow
@pytest.mark.parametrize("minimum", [None, 0.1])
def test_replay_is_unbiased(minimum: float | None, truth: np.ndarray) -> None:
    world = small_world(arms=4)
    rng = np.random.default_rng(0)
    found = np.array(
        [
            mogro.evaluation.replay(
                run.table, policy(), rng=rng, rounds=ROUNDS, minimum=minimum
            ).evaluation.value
            for run in world.steady_runs(RUNS, 500, rng, uniform=0.4)
        ]
    )
    apart = found.mean(axis=0) - truth.mean(axis=0)
    error = np.sqrt((found.var(axis=0) + truth.var(axis=0)) / RUNS)
    assert (abs(apart) < 4 * error).all()
    np.testing.assert_allclose(found.std(axis=0), truth.std(axis=0), rtol=0.35)


def varying(rng: np.random.Generator, n: int) -> pa.Table:
    """Two kinds of rounds, with two arms that pay 0 or with six that pay 1."""
    many = rng.random(n) < 0.5
    sizes = np.where(many, 6, 2)
    return make_table(
        [Objective("pay")],
        rewards=many[:, None].astype(float),
        propensities=1 / sizes,
        chosen=(rng.random(n) * sizes).astype(int),
        offered=[[str(k) for k in range(size)] for size in sizes],
        estimates=[np.zeros((size, 1)) for size in sizes],
        features=[np.eye(6)[:size] for size in sizes],
        uniform=np.ones(n, dtype=bool),
        share=1.0,
    )


@pytest.mark.parametrize("minimum", [None, 1 / 6])
def test_rounds_with_few_arms_are_not_preferred(minimum: float | None) -> None:
    rng = np.random.default_rng(1)
    found = mogro.evaluation.replay(varying(rng, 6000), Anything(), rng=rng, minimum=minimum)
    assert abs(found.evaluation.value[0] - 0.5) < 4 * 0.5 / np.sqrt(len(found.rewards))


def test_the_policy_given_stays_as_it_is_and_sees_units() -> None:
    world = replace(
        small_world(arms=2), objectives=(Objective("click"), Objective("cost", direction="min"))
    )
    table = next(world.steady_runs(1, 200, np.random.default_rng(0), uniform=1.0)).table
    given = Anything()
    found = mogro.evaluation.replay(table, given, rng=np.random.default_rng(0))
    assert given.seen == []
    assert found.rewards.min() == 0
    assert "exchangeable" in str(found)
    assert (np.diff(found.rows) > 0).all()
    again = mogro.evaluation.replay(table, given, rng=np.random.default_rng(0), rounds=20)
    np.testing.assert_array_equal(again.rewards, found.rewards[:20])


def test_missing_rewards_are_left_out() -> None:
    world = small_world(arms=2)
    table = next(world.steady_runs(1, 100, np.random.default_rng(0), uniform=1.0)).table
    place = table.schema.get_field_index("reward_click")
    table = table.set_column(place, "reward_click", pa.nulls(100, pa.float64()))
    with pytest.raises(ValueError, match="log: expected rows in which the policy"):
        mogro.evaluation.replay(table, Anything(), rng=np.random.default_rng(0))


def test_rows_that_have_all_rewards_are_no_sample_where_one_is_given_another() -> None:
    world = replace(
        small_world(arms=2), objectives=(Objective("click"), Objective("dwell", given="click"))
    )
    table = next(world.steady_runs(1, 100, np.random.default_rng(0), uniform=1.0)).table
    with pytest.raises(ValueError, match="log: expected no objective with given="):
        mogro.evaluation.replay(table, Anything(), rng=np.random.default_rng(0))


class ByPlace(Anything):
    """Asks which arm it was."""

    def update(self, features: np.ndarray, reward: np.ndarray, *, arm: int) -> None:  # type: ignore[override]
        assert (features == np.eye(4)[arm]).all()


def test_policies_that_ask_for_the_arm_are_told() -> None:
    rng = np.random.default_rng(0)
    actions = rng.integers(4, size=200)
    feedback = {"action": actions, "reward": np.ones(200), "pscore": np.full(200, 0.25)}
    assert len(mogro.evaluation.replay(feedback, ByPlace(), rng=rng, minimum=0.25).rewards) > 20


def test_contexts_become_products() -> None:
    n, rng = 60, np.random.default_rng(0)
    table = make_table(
        [Objective("click")],
        rewards=rng.random((n, 1)),
        propensities=np.full(n, 0.5),
        chosen=rng.integers(2, size=n),
        offered=[["a", "b"]] * n,
        estimates=np.zeros((n, 2, 1)),
        features=np.tile(np.eye(2), (n, 1, 1)),
        contexts=rng.random((n, 3)),
        uniform=np.ones(n, dtype=bool),
    )

    def products(arms: FloatArray, context: FloatArray) -> FloatArray:
        return (arms[:, :, None] * context).reshape(len(arms), -1)

    learner = MOGRO(dim=6, objectives=1)
    assert len(mogro.evaluation.replay(table, learner, rng=rng, features=products).rewards) > 10


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    table = next(small_world().steady_runs(1, 100, rng, uniform=0.5)).table
    with pytest.raises(ValueError, match="rounds: expected at most the"):
        mogro.evaluation.replay(table, policy(), rng=rng, rounds=1000)
    with pytest.raises(ValueError, match=r"minimum: expected at most the smallest propensity 0\.1"):
        mogro.evaluation.replay(table, policy(), rng=rng, minimum=0.3)
    with pytest.raises(ValueError, match="features: expected None"):
        mogro.evaluation.replay(table, policy(), rng=rng, features=lambda arms, _: arms)
    drawn = table.schema.get_field_index("uniform")
    never = table.set_column(drawn, "uniform", pa.array([False] * 100))
    with pytest.raises(ValueError, match="minimum: expected the smallest propensity"):
        mogro.evaluation.replay(never, policy(), rng=rng)

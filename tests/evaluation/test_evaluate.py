"""Values from a log are the truth, as often as they say; and where there is none, no number."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tests.evaluation.worlds import (
    OBJECTIVES,
    make_table,
    one_sided_table,
    other_direction,
    small_world,
)
from tests.properties import examples

import mogro
from mogro import Objective, offpolicy

RUNS = 100
# Below with probability 1 in 10,000 if true coverage is 94.5 %.
LEAST = 0.945 - 3.72 * np.sqrt(0.945 * 0.055 / RUNS)
WEIGHTS = {"click": 1.0, "subscribe": 0.1}


@pytest.fixture(scope="module")
def run() -> pa.Table:
    return next(small_world().runs(1, 400, np.random.default_rng(0), uniform=0.3)).table


def tiny(**changes: object) -> pa.Table:
    """Return a log of four decisions between two arms, of two objectives."""
    given: dict[str, object] = {
        "rewards": np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 4.0]]),
        "propensities": np.array([0.5, 0.25, 0.5, 0.75]),
        "chosen": np.array([0, 1, 1, 0]),
        "offered": [["a", "b"], ["a", "b"], ["b", "c", "a"], ["a", "b"]],
        "estimates": [[[1, 0], [0, 1]], [[1, 0], [0, 1]], [[0, 1], [3, 0], [2, 0]], [[1, 0]] * 2],
        "features": [np.eye(2), np.eye(2), np.eye(3)[:, :2], np.eye(2)],
    }
    plain = (Objective("click"), Objective("dwell"))
    objectives = changes.pop("objectives", plain)
    return make_table(objectives, **(given | changes))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("predictions", [True, False])
def test_intervals_of_weights_on_logs_of_learning_agents(predictions: bool) -> None:
    world = small_world() if predictions else other_direction(small_world())
    held, together, apart = [], [], []
    for run in world.runs(RUNS, 700, np.random.default_rng(5), uniform=0.5):
        result = mogro.evaluate(run.table, WEIGHTS, predictions=predictions)
        truth = world.value(run, list(WEIGHTS.values()))
        low, high = result.interval().T
        held.append((low <= truth) & (truth <= high))
        together.append(result.region().contains(truth))
        apart.append((result.value - truth) / result.error)
    assert np.mean(held, axis=0).min() >= LEAST
    assert np.mean(together) >= LEAST
    assert (abs(np.mean(apart, axis=0)) < 4 / np.sqrt(RUNS)).all()


@pytest.mark.slow
def test_ips_is_unbiased() -> None:
    world = small_world()
    apart = []
    for run in world.steady_runs(RUNS, 300, np.random.default_rng(4), uniform=0.3):
        result = mogro.evaluate(run.table, WEIGHTS, predictions=False, self_normalised=False)
        apart.append(result.value - world.value(run, list(WEIGHTS.values())))
    error = np.std(apart, axis=0) / np.sqrt(RUNS)
    assert (abs(np.mean(apart, axis=0)) < 4 * error).all()


@examples(30)
@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_weights_are_a_scalarisation_that_is_fixed(seed: int, share: float) -> None:
    """Any number of arms in a row, copies and ties among them: the fast way is the slow one."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=12)
    table = make_table(
        OBJECTIVES,
        rewards=rng.random((12, 2)),
        propensities=rng.uniform(0.1, 1.0, 12),
        chosen=(rng.random(12) * sizes).astype(int),
        offered=[[str(k) for k in range(size)] for size in sizes],
        estimates=[rng.integers(-2, 3, size=(size, 2)) * 0.1 for size in sizes],
        features=[np.zeros((size, 1)) for size in sizes],
    )
    weights = {"click": 1 - share, "subscribe": share}
    fast = mogro.evaluate(table, weights)
    slow = mogro.evaluate(table, mogro.FixedWeights([1 - share, share]))
    for name in ("value", "covariance", "effective_size", "largest_weight", "unsupported"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-9, atol=1e-12)


def test_by_hand() -> None:
    table = tiny()
    result = mogro.evaluate(table, {"click": 1}, predictions=False, self_normalised=False)
    # Best for clicks: a, a, c, and in the last row both alike.
    np.testing.assert_allclose(
        result.value, np.array([1 / 0.5, 0.0]) / 4 + np.array([1, 1]) / 0.5 / 4 + [0, 0.5 * 4 / 3]
    )
    assert result.names == ("click", "dwell")
    assert "dwell" in str(result)


def test_directions_and_units_change_what_is_best() -> None:
    objectives = (Objective("click"), Objective("dwell", direction="min", unit=0.1))
    result = mogro.evaluate(
        tiny(objectives=objectives), {"click": 1, "dwell": 1}, predictions=False
    )
    wanted = np.array([1.0, 0.0, 1.0, 0.5])  # dwell is bad, and ten times as important
    other = offpolicy.snips(
        [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 4.0]], [0.5, 0.25, 0.5, 0.75], wanted
    )
    np.testing.assert_allclose(result.value, other.value)


def test_doubly_robust_goes_by_what_was_believed() -> None:
    predictions = np.zeros((4, 3, 2))
    predictions[:2, :2] = np.eye(2)
    predictions[2], predictions[3, :2] = [[0, 1], [3, 0], [2, 0]], [1, 0]
    wanted = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]])
    table = tiny()
    other = offpolicy.doubly_robust(
        [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 4.0]],
        *([0.5, 0.25, 0.5, 0.75], [0, 1, 1, 0], wanted, predictions),
        self_normalised=True,
    )
    for policy in ({"click": 2}, wanted, mogro.FixedWeights([1.0, 0.0])):
        result = mogro.evaluate(table, policy)
        np.testing.assert_allclose(result.value, other.value)
        np.testing.assert_allclose(result.covariance, other.covariance)


def test_a_policy_without_beliefs_selects_by_those_of_the_log() -> None:
    table = tiny()
    fresh = mogro.MOGRO(dim=2, objectives=2, scalarization=mogro.FixedWeights([1.0, 0.0]))
    np.testing.assert_allclose(
        mogro.evaluate(table, fresh).value, mogro.evaluate(table, {"click": 1}).value
    )
    anything = mogro.evaluate(table, mogro.RandomArm(dim=2, objectives=2), predictions=False)
    uniform = np.array([1 / 2, 1 / 2, 1 / 3, 1 / 2])
    np.testing.assert_allclose(
        anything.value, mogro.evaluate(table, uniform, predictions=False).value
    )
    with pytest.raises(ValueError, match="policy: expected a policy that has learned"):
        mogro.evaluate(table, mogro.UCB(dim=2, objectives=2, noise=1.0, delta=0.1))


def test_a_policy_with_beliefs_goes_by_them() -> None:
    policy = mogro.MOGRO(dim=2, objectives=2, scalarization=mogro.FixedWeights([1.0, 0.0]))
    policy.learn(
        np.eye(2).repeat(50, axis=0), np.array([[0.0, 1.0], [1.0, 0.0]]).repeat(50, axis=0)
    )
    result = mogro.evaluate(tiny(), policy, predictions=False)
    second = np.array([0.0, 1.0, 1.0, 0.0])  # the arm with the second feature, always
    np.testing.assert_allclose(
        result.value, mogro.evaluate(tiny(), second, predictions=False).value
    )
    learned = mogro.MOGRO(dim=3, objectives=2)
    learned.learn(np.eye(3), np.ones((3, 2)))
    with pytest.raises(ValueError, match="dim=2"):
        mogro.evaluate(tiny(), learned)


def test_without_support_it_says_so_first() -> None:
    table = one_sided_table()
    for predictions in (True, False):
        result = mogro.evaluate(table, {"subscribe": 1}, predictions=predictions)
        assert str(result).startswith("NO SUPPORT: 100%")
        assert np.isnan(result.value).all()
        assert np.isnan(result.interval()).all()


def test_chunks_of_parquet_are_the_whole(run: pa.Table, tmp_path: Path) -> None:
    for part in range(4):
        parquet.write_table(run.slice(part * 100, 100), tmp_path / f"{part}.parquet")
    whole, parts = mogro.evaluate(run, WEIGHTS), mogro.evaluate(tmp_path, WEIGHTS)
    np.testing.assert_allclose(parts.value, whole.value, rtol=1e-12)
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-9)
    assert parts.rows == 400
    again = mogro.evaluate(str(tmp_path / "0.parquet"), WEIGHTS)
    assert again.rows == 100


def test_missing_rewards_are_stood_for_by_others_of_their_arm() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    chosen = rng.integers(2, size=n)
    rewards = np.array([[1.0, 5.0], [2.0, 7.0]])[chosen]
    gone = rng.random(n) < np.array([0.1, 0.6])[chosen]
    rewards[gone, 1] = np.nan
    table = make_table(
        OBJECTIVES,
        rewards=rewards,
        propensities=np.full(n, 0.5),
        chosen=chosen,
        offered=[["a", "b"]] * n,
        estimates=np.zeros((n, 2, 2)),
        features=np.tile(np.eye(2), (n, 1, 1)),
    )
    for predictions in (True, False):
        result = mogro.evaluate(table, np.full((n, 2), 0.5), predictions=predictions)
        low, high = result.interval(0.999).T
        truth = np.array([1.5, 6.0])  # a mean over what came would be 5.6
        assert ((low <= truth) & (truth <= high)).all()
        assert high[1] < 6.3


def test_open_windows_do_not_count() -> None:
    objectives = (Objective("click"), Objective("dwell", window=2.0))
    status = {"dwell": ["learned", "pending", "learned", "learned"]}
    rewards = np.array([[1.0, 3.0], [0.0, np.nan], [1.0, 9.0], [0.0, 9.0]])
    table = tiny(objectives=objectives, status=status, rewards=rewards)
    result = mogro.evaluate(table, np.full(4, 0.5))
    np.testing.assert_allclose(result.value, [1.0, 3.0])
    assert "3 rows are left out, because their windows may be open" in str(result)


def test_rows_without_a_propensity_are_left_out() -> None:
    table = tiny(propensities=np.array([0.5, np.nan, 0.5, 0.75]))
    result = mogro.evaluate(table, np.full(4, 0.5), self_normalised=False)
    np.testing.assert_allclose(result.value, np.array([2, 1 + 8 / 3]) / 3)
    assert "1 rows without a propensity" in str(result)


def test_errors_of_propensities_count() -> None:
    n = 500
    rewards = np.random.default_rng(0).random((n, 2))

    def log(errors: np.ndarray) -> pa.Table:
        return make_table(
            OBJECTIVES,
            rewards=rewards,
            propensities=np.full(n, 0.5),
            chosen=np.zeros(n, dtype=int),
            offered=[["a", "b"]] * n,
            estimates=np.zeros((n, 2, 2)),
            features=np.zeros((n, 2, 1)),
            errors=errors,
        )

    sure = mogro.evaluate(log(np.zeros(n)), np.full(n, 0.5))
    table = log(np.full(n, 0.05))
    assert (mogro.evaluate(table, np.full(n, 0.5)).error > sure.error).all()


@pytest.mark.parametrize(
    ("log", "policy", "words"),
    [
        (3, {"click": 1}, "log: expected an Agent"),
        ("nowhere", {"click": 1}, "log: expected a folder of Parquet files"),
        (pa.table({"a": [1]}), {"click": 1}, "log: expected a table that agent.log"),
        (tiny(), {"clicks": 1}, "weights: expected objectives"),
        (tiny(), {"click": -1}, "weights: expected numbers >= 0"),
        (tiny(), {"click": 0}, "weights: expected numbers >= 0"),
        (tiny(), np.full(3, 0.5), "policy: expected probabilities for each of the 4 rows"),
        (tiny(), np.full(5, 0.5), "policy: expected probabilities for each of the 4 rows"),
        (tiny(), np.full((4, 2), 0.5), "policy: expected probabilities of the 3 arms"),
        (tiny(), np.full((4, 3), 1 / 3), "policy: expected probabilities of the 3 arms"),
        (tiny(), np.zeros((4, 1, 1)), r"policy: expected probabilities \(n,\)"),
        (tiny(), mogro.MOGRO(dim=2, objectives=3), "policy: expected a policy for 2 objectives"),
        (tiny(), mogro.FixedWeights([0.2, 0.3, 0.5]), "expected one for each of 2 objectives"),
        (tiny(propensities=np.full(4, np.nan)), {"click": 1}, "log: expected rows with prop"),
        (tiny(chosen=np.array([0, 1, 1, 0])).drop_columns("offered"), {"click": 1}, "offered"),
    ],
)
def test_refusals(log: object, policy: object, words: str) -> None:
    with pytest.raises((ValueError, KeyError), match=words):
        mogro.evaluate(log, policy)


def test_logs_that_keep_no_arms_take_probabilities_only() -> None:
    table = tiny()
    for name in ("offered", "offered_features", "offered_estimates"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.field(place), pa.nulls(4, table.field(place).type))
    assert mogro.evaluate(table, np.full(4, 0.5)).rows == 4
    for policy in ({"click": 1}, mogro.RandomWeights()):
        with pytest.raises(ValueError, match="offered_estimates"):
            mogro.evaluate(table, policy)
    with pytest.raises(ValueError, match="does not record the arms on offer"):
        mogro.evaluate(table, np.full((4, 3), 1 / 3))


@pytest.mark.parametrize("log", [[], [{"id": "v1"}], [1, 2], {}])
def test_what_is_no_log_is_refused(log: Any) -> None:
    with pytest.raises(ValueError, match="log: expected an Agent, its file or address, a table"):
        mogro.evaluate(log, WEIGHTS)


def test_a_log_without_some_columns_is_refused() -> None:
    table = tiny()
    for name in ("propensity", "time", "reward_click", "offered_estimates"):
        with pytest.raises(ValueError, match=rf"log: expected all columns .* \['{name}'\]"):
            mogro.evaluate(table.drop_columns([name]), {"click": 1})


@pytest.mark.parametrize("policy", [None, "best"])
def test_what_is_no_target_is_refused(policy: Any) -> None:
    with pytest.raises(ValueError, match="policy: expected weights by objective, a scalarisation"):
        mogro.evaluate(tiny(), policy)


def test_a_class_is_no_target() -> None:
    with pytest.raises(ValueError, match="got the class MOGRO"):
        mogro.evaluate(tiny(), mogro.MOGRO)

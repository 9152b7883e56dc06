"""What a product manager asks: some objectives, as it was, by the model, and what it would take."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.news import TRADE_OFFS, News
from tests.evaluation.worlds import make_table

from mogro import Agent, Objective, evaluate, what_if
from mogro.evaluation import decisions_needed

STORIES = {"news": [1.0, 0.0], "essay": [0.0, 1.0]}
OBJECTIVES = [
    Objective("click", window=10.0, default=0.0),
    Objective("subscribe", window=150.0, default=0.0),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, rng = tmp_path_factory.mktemp("agent") / "shop.db", np.random.default_rng(0)
    with Agent.open(place, OBJECTIVES, arms=2, seed=1, epsilon=0.1) as agent:
        for n in range(400):
            decision = agent.decide(STORIES, now=float(n))
            rates = (0.4, 0.1) if decision.arm == "news" else (0.3, 0.3)
            values = {
                o.name: 1.0 for o, p in zip(OBJECTIVES, rates, strict=True) if rng.random() < p
            }
            agent.reward(decision.id, values, now=float(n))
    return place


@pytest.mark.slow
def test_a_journal_by_its_path(path: Path) -> None:
    with Agent.open(path) as agent:
        there = what_if(agent, 2)
    for log in (path, str(path)):
        np.testing.assert_array_equal(what_if(log, 2).value, there.value)
    for wrong in (path.parent, path.parent / "other.db"):
        with pytest.raises(ValueError, match="log: expected a folder of Parquet files"):
            what_if(wrong)


@pytest.mark.slow
def test_some_objectives_keep_their_rows(path: Path) -> None:
    every, some = what_if(path, 2), what_if(path, 2, objectives=["click"])
    assert every.evaluations[0].rows == 250  # windows of subscriptions are open
    assert some.evaluations[0].rows == 390
    assert some.objective_set.names == ("click",)
    assert some.trade_offs == every.trade_offs
    assert evaluate(path, {"subscribe": 1}, objectives=["click"]).rows == 390
    for wrong in (["sale"], [], "click"):
        with pytest.raises(ValueError, match="objectives: expected a list of some of"):
            what_if(path, 2, objectives=wrong)


def test_as_it_was(path: Path) -> None:
    result = what_if(path, 2, objectives=["click"])
    with Agent.open(path) as agent:
        clicks = agent.log()["reward_click"].to_numpy()[:390]
    assert result.logged.value == pytest.approx(clicks.mean())
    assert result.logged.error == pytest.approx(clicks.std(ddof=1) / np.sqrt(390))
    assert "as it was" in str(result)


@pytest.mark.slow
def test_intervals_of_the_model_cover() -> None:
    """60 logs, five trade-offs, two objectives: the standard error is about 1.5 %."""
    world, held = News(), []
    for log in world.quick_logs(60, 0, rows=200):
        result, truth = what_if(log, TRADE_OFFS), world.beside(log)
        assert result.model is not None
        bounds = result.model[1]
        held.append((bounds[..., 0] <= truth) & (truth <= bounds[..., 1]))
        assert bounds.min() >= 0
    assert 0.9 <= np.mean(held) <= 0.99
    assert "by the model" in str(result)
    assert "would tell" in str(result) or result.distinguishable()[0, -1]


def test_the_model_knows_contexts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with Agent.open(
        tmp_path / "a.db", [Objective("sale")], arms=2, context=1, seed=0, epsilon=0.2
    ) as agent:
        for _ in range(300):
            side = float(rng.integers(2))
            decision = agent.decide(STORIES, context=[side])
            sale = float((decision.arm == "news") == bool(side)) + 0.1 * rng.standard_normal()
            agent.reward(decision.id, {"sale": sale})
        result = what_if(agent, 1)
    assert result.model is not None
    assert result.model[0].item() == pytest.approx(result.value.item(), abs=0.1)


@pytest.mark.parametrize("epsilon", [0.1, 0.4])
def test_as_many_decisions_as_are_needed(epsilon: float) -> None:
    """The agent chooses a third arm: two others are told apart in four of five logs."""
    rates, told = np.array([0.3, 0.4, 0.5]), 0
    n = decisions_needed(0.1, noise=0.48, arms=3, epsilon=epsilon)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        arms = np.where(rng.random(n) < epsilon, rng.integers(3, size=n), 2)
        logged = epsilon / 3 + (1 - epsilon) * (arms == 2)
        clicks = (rng.random(n) < rates[arms]).astype(float)
        weights = ((arms == 1) * 1.0 - (arms == 0)) / logged
        difference = weights * (clicks - 0.35)  # with a prediction
        told += abs(difference.mean()) > 1.96 * difference.std() / np.sqrt(n)
    assert 0.72 <= told / 300 <= 0.88


def test_what_is_needed_grows_as_it_should() -> None:
    usual = {"noise": 0.3, "arms": 10, "epsilon": 0.02}
    base = decisions_needed(0.01, **usual)  # type: ignore[arg-type]
    assert decisions_needed(0.02, **usual) == pytest.approx(base / 4, rel=1e-3)  # type: ignore[arg-type]
    assert decisions_needed(0.01, **usual | {"epsilon": 0.04}) == pytest.approx(base / 2, rel=1e-3)  # type: ignore[arg-type]
    assert decisions_needed(9.0, **usual) == 25_000  # type: ignore[arg-type]  # a hundred draws
    for wrong in ({"difference": 0.0}, {"epsilon": 0.0}, {"differing": 0.0}, {"power": 1.0}):
        with pytest.raises(ValueError, match="expected"):
            decisions_needed(**{"difference": 0.1, **usual} | wrong)  # type: ignore[arg-type]


def test_going_on_tells_what_it_says() -> None:
    """A log that does not tell two policies apart says how many more rows would."""

    rates = np.array([[0.30, 0.36], [0.36, 0.30]])

    def log(seed: int, n: int) -> pa.Table:
        rng = np.random.default_rng(seed)
        chosen = rng.integers(2, size=n)
        return make_table(
            [Objective("first"), Objective("second")],
            rewards=(rng.random((n, 2)) < rates[chosen]).astype(float),
            propensities=np.full(n, 0.5),
            chosen=chosen,
            offered=[["a", "b"]] * n,
            estimates=np.broadcast_to(rates, (n, 2, 2)),
            features=np.broadcast_to(np.eye(2), (n, 2, 2)),
        )

    asked = [{"first": 1.0}, {"second": 1.0}]
    first = what_if(log(3, 250), asked)
    need = first.needed(0, 1)
    assert need is not None
    assert need.epsilon == 0.0
    assert not first.distinguishable()[0, 1]
    assert "Going on as it is" in first.advice
    more = what_if(log(4, 250 + 2 * need.decisions), asked)
    assert more.distinguishable()[0, 1]
    assert not more.advice


def test_intervals_of_rates_are_within_0_and_1() -> None:
    rng = np.random.default_rng(0)
    rare = rng.random(30) < 0.03  # of few rows, one weighs a lot
    table = make_table(
        [Objective("click"), Objective("money")],
        rewards=np.column_stack([rng.random(30) < 0.5, 1.0 + rng.random(30)]).astype(float),
        propensities=np.where(rare, 0.03, 0.97),
        chosen=rare.astype(int),
        offered=[["a", "b"]] * 30,
        estimates=np.tile([[[0.0, 0.0], [1.0, 1.0]]], (30, 1, 1)),
        features=np.tile(np.eye(2), (30, 1, 1)),
    )
    click, money = evaluate(table, {"click": 1}).interval()
    assert click[0] == 0
    assert click[1] == 1
    assert money[1] > 2
    model = what_if(table, [{"click": 1}, {"money": 1}]).model
    assert model is not None
    assert ((model[1][:, 0] >= 0) & (model[1][:, 0] <= 1)).all()
    assert (model[1][:, 1] > 1).all()

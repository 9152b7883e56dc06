"""Decisions with their rewards as a table, and learning from it."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.agent.stories import change
from tests.agent.test_agreement import POLICIES
from tests.properties import mostly_slow

import mogro
from mogro.agent.decision_inputs import DecisionInputs
from mogro.agent.features.arms import make_offer

NAMES = ("a", "b", "c")
FEATURES = np.random.default_rng(8).standard_normal((7, 4))
IDS = [f"arm {k}" for k in range(7)]
# None of these asks the test's own arms, or a class of the test's own.
WRITTEN = [name for name in POLICIES if name not in ("basis", "own", "oracle")]


def opened(path: Path, **options: Any) -> mogro.Agent:
    objectives = [mogro.Objective(name, unit=2.0) for name in NAMES]
    return mogro.Agent.open(path, objectives, **({"arms": 4, "seed": 5} | options))


def reward(agent: mogro.Agent, decision: mogro.agent.Decision, rng: np.random.Generator) -> None:
    agent.reward(decision.id, dict(zip(NAMES, rng.standard_normal(3).tolist(), strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_the_log_knows_what_the_decision_knew(name: str, tmp_path: Path) -> None:
    agent = opened(tmp_path / "a.db", policy=POLICIES[name], epsilon=0.2)
    rng = np.random.default_rng(3)
    made = []
    for n in range(16):
        options: dict[str, Any] = {}
        if n % 2:
            options["eligible"] = rng.permutation([True] * 5 + [False] * 2)
        if n % 3 == 1:
            options["weights"] = {"a": 1.0, "c": 2.0}
        if n % 3 == 2:
            options |= {"weights": mogro.RandomWeights(2.0), "at_least": {"b": -1e3}}
        believed = agent.estimate(IDS, FEATURES).values
        decision = agent.decide(IDS, FEATURES, **options)
        kept = np.flatnonzero(options.get("eligible", np.ones(7, dtype=bool)))
        made.append((decision, believed[kept], [IDS[k] for k in kept], FEATURES[kept]))
        reward(agent, decision, rng)
    log = agent.log().to_pylist()
    agent.close()
    with mogro.Agent.open(tmp_path / "a.db") as again:
        assert again.log().to_pylist() == log
        for row, (decision, believed, ids, features) in zip(log, made, strict=True):
            assert (row["id"], row["arm"]) == (decision.id, decision.arm)
            assert row["offered"] == ids
            assert row["offered_features"] == features.ravel().tolist()
            assert row["offered_estimates"] == pytest.approx(believed.ravel(), abs=1e-12)
            chances = decision.propensity, decision.propensity_error
            assert (row["propensity"], row["propensity_error"]) == chances  # to the bit
            weights = decision.weights
            assert row["weights"] == (None if weights is None else list(weights.values()))
            found = again.decision(decision.id).decision
            assert found == decision
            assert (found.propensity, found.propensity_error) == chances
            if not (decision.exploring or decision.uniform):
                assert found.arm in str(again.explain(found))


def test_positions_say_what_a_decision_was_based_on(tmp_path: Path) -> None:
    agent = opened(tmp_path / "a.db", prior=mogro.priors.Flat())
    rng = np.random.default_rng(0)
    for n in range(4):
        for decision in agent.decide_top(IDS, FEATURES[:, ::-1] if n == 2 else FEATURES, top=3):
            reward(agent, decision, rng)
    log = agent.log().to_pylist()
    # Arms are written down before the first decision, and before the third round.
    assert [row["position"] for row in log] == [2, 3, 4, 8, 9, 10, 15, 16, 17, 21, 22, 23]
    assert [row["basis"] for row in log] == [row["position"] - 1 for row in log]
    assert all(row["grouped"] for row in log)
    assert [len(row["offered"]) for row in log] == [7, 6, 5] * 4  # what was left


def test_arms_in_a_context_and_of_a_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = mogro.Catalogue(3, dtype=np.float32)
    features = np.random.default_rng(1).random((30, 3)).astype(np.float32)
    shop.add([str(k) for k in range(30)], features)
    objectives = [mogro.Objective("a"), mogro.Objective("b", direction="min", offset=3.0)]
    agent = mogro.Agent.open(
        tmp_path / "a.db",
        objectives,
        arms=3,
        context=2,
        seed=1,
        policy=partial(mogro.MOGRO, threshold=0.5),
    )
    rng, made = np.random.default_rng(2), []
    for n in range(80):
        context = rng.standard_normal(2)
        mask = rng.random(30) < 0.5
        made.append((agent.decide(shop, context=context, eligible=mask), context, mask))
        agent.reward(made[-1][0].id, {"a": rng.random(), "b": rng.random()})
        if n == 40:
            shop.remove(["3"])
            shop.add(["3"], features[3:4])
            shop.update(["4"], features[5:6])
    whole = agent.log()
    monkeypatch.setattr("mogro.agent.log._MAX_ARMS", 12)
    short = agent.log()
    exploited = 0
    for row, less, (decision, context, mask) in zip(
        whole.to_pylist(), short.to_pylist(), made, strict=True
    ):
        assert row["context"] == context.tolist()
        assert row["propensity"] == less["propensity"] == decision.propensity
        assert len(row["offered"]) == mask.sum()
        assert (less["offered"] is None) == (mask.sum() > 12)
        estimates = np.array(row["offered_estimates"]).reshape(-1, 2)
        mine = estimates[row["offered"].index(decision.arm)]
        assert mine == pytest.approx(list(decision.estimates.values()))
        exploited += not decision.exploring
        found = agent.decision(decision.id).decision
        assert str(found) == str(decision)
        if not decision.exploring:
            assert (found.propensities.values == decision.propensities.values).all()
    assert exploited > 10
    agent.close()


def explored(decision: mogro.agent.Decision) -> bool:
    """Whether there was something to explore when it was made."""
    assert isinstance(decision.inputs, DecisionInputs)
    return decision.inputs.explore is not None


def test_a_journal_of_constrained_decisions(tmp_path: Path) -> None:
    agent = opened(tmp_path / "a.db", epsilon=0.5, prior=mogro.priors.Flat())
    rng, made = np.random.default_rng(2), []
    for _ in range(40):
        made.append(agent.decide(IDS, FEATURES, at_least={"a": 0.0}, weights=[1.0, 1.0, 1.0]))
        agent.reward(made[-1].id, dict(zip(NAMES, (1.0, *rng.random(2).tolist()), strict=True)))
    for row, decision in zip(agent.log().to_pylist(), made, strict=True):
        assert row["propensity"] == decision.propensity
        found = agent.decision(decision.id).decision
        assert found.propensity == decision.propensity
        if explored(decision):
            with pytest.raises(ValueError, match="holds only the propensity of the chosen"):
                _ = found.propensities
        else:
            assert (found.propensities.values == decision.propensities.values).all()
            assert found.propensities.arms == decision.propensities.arms
    assert any(explored(decision) for decision in made)
    assert any(decision.uniform and not explored(decision) for decision in made)
    agent.close()


STORIES = [
    mogro.Objective("click", window=10.0, default=0.0),
    mogro.Objective("watch", window=20.0),
    mogro.Objective("stars", given="click"),
]


@pytest.mark.parametrize("in_journal", [True, False])
def test_rewards_and_what_became_of_them(in_journal: bool, tmp_path: Path) -> None:
    agent = mogro.Agent(STORIES, arms=1, seed=1, correct_within=0.0)
    if in_journal:
        agent = mogro.Agent.open(tmp_path / "a.db", STORIES, arms=1, seed=1, correct_within=0.0)
    arms = {"x": [1.0]}
    for id in ("all", "none", "unmet", "late", "open"):
        agent.decide(arms, id=id, now=0.0 if id != "open" else 60.0)
        if id == "all":
            agent.reward(id, {"click": 1.0, "watch": 2.0, "stars": 3.0}, now=1.0)
        if id == "unmet":
            agent.reward(id, {"watch": 4.0, "stars": 1.0}, now=1.0)
        if id == "late":
            agent.reward(id, {"watch": 5.0}, now=20.1)
            agent.reward(id, {"click": 7.0}, now=20.1)
    agent.reward("open", {"click": 1.0}, now=60.0)

    def seen(table: pa.Table) -> dict[str, list[tuple[float | None, str]]]:
        names = ("click", "watch", "stars")
        return {
            row["id"]: [(row[f"reward_{n}"], row[f"status_{n}"]) for n in names]
            for row in table.to_pylist()
        }

    learned = {
        "all": [(1.0, "learned"), (2.0, "learned"), (3.0, "learned")],
        "none": [(0.0, "defaulted"), (None, "missing"), (None, "unmet")],
        "unmet": [(0.0, "defaulted"), (4.0, "learned"), (None, "unmet")],
        "late": [(0.0, "defaulted"), (None, "late"), (None, "unmet")],
        "open": [(None, "pending"), (None, "pending"), (None, "pending")],
    }
    assert seen(agent.log()) == seen(agent.log(rewards="learned")) == learned
    received = {"late": [(7.0, "defaulted"), (5.0, "late"), (None, "unmet")]}
    assert seen(agent.log(rewards="received")) == learned | received
    with pytest.raises(ValueError, match="rewards: expected 'learned' or 'received', got 'all'"):
        agent.log(rewards="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="log: expected one with rewards='learned'"):
        agent.learn(agent.log(rewards="received"))
    agent.close()


def test_the_log_judges_by_what_the_agent_learned() -> None:
    """What comes after its window, without a default, is neither learned nor in the log."""
    stars = mogro.Objective("stars", window=5.0)
    agent = mogro.Agent([stars], arms=1, seed=0, correct_within=0.0)
    for n in range(60):
        agent.decide({"x": [1.0]}, id=str(n), now=10.0 * n)
        agent.reward(str(n), {"stars": 5.0 if n % 2 else 1.0}, now=10.0 * n + 6.0 * (n % 2))
    values = agent.log()["reward_stars"].drop_null().to_numpy()
    assert values.mean() == pytest.approx(agent.estimate({"x": [1.0]}).values.item(), rel=1e-6)
    assert agent.log(rewards="received")["reward_stars"].null_count == 0


def test_an_agent_in_memory_has_a_log_of_what_it_holds() -> None:
    agent = mogro.Agent([mogro.Objective("a")], arms=4, seed=0)
    agent.reward(agent.decide(IDS, FEATURES, id="one").id, {"a": 2.0})
    agent.decide(IDS, FEATURES, id="two", now=3.0)
    one, two = agent.log().to_pylist()
    assert (one["time"], one["reward_a"], two["time"], two["reward_a"]) == (None, 2.0, 3.0, None)
    assert one["offered"] is one["propensity"] is one["basis"] is one["position"] is None


def test_a_file_is_the_table(tmp_path: Path) -> None:
    agent = opened(tmp_path / "a.db", epsilon=0.1)
    for _ in range(5):
        reward(agent, agent.decide(IDS, FEATURES), np.random.default_rng(0))
    path = agent.export(tmp_path / "log")
    table = agent.log()
    agent.close()
    assert path.parent == tmp_path / "log"
    again = pq.read_table(path)
    assert again.equals(table)
    assert again.schema.metadata[b"mogro"] == table.schema.metadata[b"mogro"]


def test_an_empty_log_has_the_same_columns(tmp_path: Path) -> None:
    agent = opened(tmp_path / "a.db")
    empty = agent.log()
    agent.decide(IDS, FEATURES)
    assert empty.num_rows == 0
    assert agent.log().schema.equals(empty.schema)
    agent.close()


def test_arms_are_known_by_their_content() -> None:
    events = [
        make_offer(["a", "b"], np.array([[1.0, 2.0], [3.0, 4.0]])),
        make_offer(["a", "b"], np.array([[1.0, 2.0], [3.0, 5.0]])),
        make_offer(["a", "c"], np.array([[1.0, 2.0], [3.0, 4.0]])),
        make_offer(["a', 'b"], np.array([[1.0, 2.0, 3.0, 4.0]])),
    ]
    assert len({digest for digest, *_ in events}) == 4
    again = make_offer(("a", "b"), np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]))
    assert again[0] == events[0][0]


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mogro.Agent([mogro.Objective("a")], arms=1, seed=0)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        agent.log()


OBJECTIVES = [
    mogro.Objective("click", window=10.0, default=0.0),
    mogro.Objective("cost", direction="min", unit=3.0, offset=1.0, window=30.0),
    mogro.Objective("stars", given="click", window=40.0),
]


def traffic(agent: mogro.Agent) -> None:
    rng = np.random.default_rng(4)
    for n in range(60):
        arms = dict(zip(IDS, rng.standard_normal((7, 3)), strict=False))
        decision = agent.decide(arms, now=float(n))
        for name in ("click", "cost", "stars"):
            if rng.random() < 0.6:
                agent.reward(decision.id, {name: float(rng.integers(0, 4))}, now=float(n))
    agent.expire(now=45.0 + 60.0)


@pytest.mark.parametrize("half_life", [None, mogro.HalfLife(time=25.0)])
def test_who_learns_from_a_log_has_seen_it_all(
    half_life: mogro.HalfLife | None, tmp_path: Path
) -> None:
    def make(seed: int) -> mogro.Agent:
        return mogro.Agent(
            OBJECTIVES, arms=3, seed=seed, prior=mogro.priors.Flat(), half_life=half_life
        )

    old, new = make(1), make(2)
    traffic(old)
    log = old.log()
    assert new.learn(log) == 60
    new.expire(now=105.0)
    assert new.theta == pytest.approx(old.theta, abs=1e-9)
    assert new.intercept == pytest.approx(old.intercept, abs=1e-9)
    assert new.observations == pytest.approx(old.observations)
    for name in ("learned", "defaulted", "missing", "unmet", "pending"):
        assert new.counters[name] == old.counters[name]
    arms = dict(zip(IDS, FEATURES[:, :3], strict=True))
    assert new.estimate(arms).errors == pytest.approx(old.estimate(arms).errors)
    before = new.counters
    assert new.learn(log) == 0
    assert new.counters == before
    assert new.log().equals(log)


def test_what_was_learned_from_a_log_is_in_the_journal(tmp_path: Path) -> None:
    old = mogro.Agent(OBJECTIVES, arms=3, seed=1, prior=mogro.priors.Flat())
    traffic(old)
    old.decide(dict(zip(IDS, FEATURES[:, :3], strict=True)), id="open", now=106.0)
    with mogro.Agent.open(
        tmp_path / "a.db", OBJECTIVES, arms=3, seed=9, prior=mogro.priors.Flat()
    ) as new:
        assert new.learn(old.log()) == 61
        new.save(tmp_path / "one")
    with mogro.Agent.open(tmp_path / "a.db") as new:
        new.save(tmp_path / "two")
        assert new.theta == pytest.approx(old.theta, abs=1e-9)
        assert new.log().column("id").to_pylist() == old.log().column("id").to_pylist()
        assert set(new.decision("open").status.values()) == {"pending"}
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_objectives_of_a_log_may_be_others() -> None:
    old = mogro.Agent(OBJECTIVES, arms=3, seed=1)
    traffic(old)
    likes = mogro.Objective("likes")
    new = mogro.Agent([likes, OBJECTIVES[1]], arms=3, seed=1)
    new.learn(old.log())
    assert new.theta[1] == pytest.approx(old.theta[1], abs=1e-9)
    assert new.observations["likes"] == 0
    assert new.counters["missing"] >= 60


def test_what_is_no_log() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=1)
    traffic(agent)
    log, other = agent.log(), mogro.Agent(OBJECTIVES, arms=4, seed=1)
    with pytest.raises(ValueError, match="the same features as here"):
        other.learn(log)
    for bad in (None, pa.table({"id": ["x"]}), [1]):
        with pytest.raises(ValueError, match=r"log: expected a table that agent.log\(\) gave"):
            other.learn(bad)
    fresh = mogro.Agent(OBJECTIVES, arms=3, seed=1)
    about = log.schema.metadata
    place = log.column_names.index("reward_cost")
    for value, told in ((float("inf"), "finite"), (None, "expected what was learned")):
        column = pa.array([value] * 60, pa.float64())
        wrong = log.set_column(place, "reward_cost", column)
        with pytest.raises(ValueError, match=told):
            fresh.learn(wrong.replace_schema_metadata(about))
    assert fresh.counters["decisions"] == 0


def test_what_is_in_a_log_twice_is_learned_once() -> None:
    old = mogro.Agent(OBJECTIVES, arms=3, seed=1)
    traffic(old)
    log = old.log()
    once, twice = (mogro.Agent(OBJECTIVES, arms=3, seed=2) for _ in "12")
    assert once.learn(log) == twice.learn(pa.concat_tables([log, log])) == 60
    assert twice.log().equals(once.log())
    assert (twice.theta == once.theta).all()


@pytest.mark.parametrize(
    "column", mostly_slow(["arm", "time", "features", "reward_click", "reward_cost"])
)
def test_decisions_that_differ_under_one_id(tmp_path: Path, column: str) -> None:
    old = mogro.Agent(OBJECTIVES, arms=3, seed=1)
    traffic(old)
    change(old, replace(OBJECTIVES[0], default=0.5))  # what was learned is another default's
    log = old.log()
    values = log[column].to_pylist()
    row = next(n for n in range(30, 60) if values[n] is not None)
    other: dict[str, object] = {"arm": "another", "features": [0.5, 0.5, 0.5]}
    values[row] = other.get(column, 99.0)
    changed = log.set_column(
        log.column_names.index(column), column, pa.array(values, log.schema.field(column).type)
    ).replace_schema_metadata(log.schema.metadata)
    for known in (log, None):
        with mogro.Agent.open(tmp_path / f"{known is None}", OBJECTIVES, arms=3, seed=2) as new:
            if known is not None:
                new.learn(known)
            before = new.counters
            given = changed if known is not None else pa.concat_tables([log, changed])
            with pytest.raises(ValueError, match=f"log: decision {log['id'][row].as_py()!r}: "):
                new.learn(given)
            assert new.counters == before
            assert new.learn(log) == 60 - before["decisions"]


def test_a_log_is_learned_in_several_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mogro.agent.agent._DECISIONS_PER_COMMIT", 7)
    old = mogro.Agent(OBJECTIVES, arms=3, seed=1, prior=mogro.priors.Flat())
    traffic(old)
    with mogro.Agent.open(
        tmp_path / "a.db", OBJECTIVES, arms=3, seed=1, prior=mogro.priors.Flat()
    ) as new:
        assert new.learn(old.log()) == 60
        assert new.learn(old.log()) == 0
        assert new.theta == pytest.approx(old.theta, abs=1e-9)


def test_ids_that_are_no_utf_8(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as agent:
        arms = {"\ud800": [1.0] * 4, "\u00e9": [2.0] * 4}
        agent.observe(arms, arm="\ud800", id="one \ud800", now=0.0)
        agent.observe(arms, arm="\u00e9", id="two \u00e9", now=0.0)
        (one, two) = pq.read_table(agent.export(tmp_path)).to_pylist()
    assert (one["id"], one["arm"], one["offered"]) == (
        "one \\ud800",
        "\\ud800",
        ["\\ud800", "\u00e9"],
    )
    assert (two["id"], two["arm"]) == ("two \u00e9", "\u00e9")

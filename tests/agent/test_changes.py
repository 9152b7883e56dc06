"""Objectives that come, go and change while an agent is running; see also test_stateful."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.agent.stories import add, change, retire, worth

import mogro
from mogro.agent import UnknownObjective

FEATURES = np.random.default_rng(5).standard_normal((6, 3))
IDS = list("uvwxyz")
SALES, COST = mogro.Objective("sales"), mogro.Objective("cost", direction="min", unit=2.0)
CLICK = mogro.Objective("click", window=10.0, default=0.0)


def live(agent: mogro.Agent, start: int, rounds: int) -> list[tuple[str, bool]]:
    """Let an agent decide and learn, and return what it chose."""
    made = []
    for n in range(start, start + rounds):
        rng = np.random.default_rng([7, n])
        decision = agent.decide(IDS, FEATURES, id=str(n), now=float(n))
        made.append((decision.arm, decision.exploring))
        values = {one.name: float(rng.random()) for one in agent.objectives}
        if n % 3:
            agent.reward(decision.id, values, now=float(n))
    return made


def test_what_stays_is_known_as_before() -> None:
    agent = mogro.Agent([SALES, CLICK], arms=3, seed=1)
    live(agent, 0, 30)
    before, seen = agent.theta, agent.observations
    add(agent, COST)
    assert agent.theta == pytest.approx(np.vstack([before, np.zeros(3)]))
    assert agent.observations == seen | {"cost": 0.0}
    assert agent.decision("0").status["cost"] == "missing"
    change(agent, replace(SALES, unit=5.0))
    assert agent.theta[:2] == pytest.approx(before)
    retire(agent, "click")
    assert agent.theta == pytest.approx(np.vstack([before[:1], np.zeros(3)]))


@pytest.mark.parametrize("half_life", [None, mogro.HalfLife(updates=20.0)])
def test_an_objective_that_came_and_went_leaves_nothing_behind(
    half_life: mogro.HalfLife | None,
) -> None:
    """Also what is in flight is the same: the same decisions explore."""
    agent, twin = (mogro.Agent([SALES, CLICK], arms=3, seed=1, half_life=half_life) for _ in "12")
    for start in (0, 2, 40):
        assert live(agent, start, 2) == live(twin, start, 2)
        add(agent, mogro.Objective("fame", window=3.0))
        retire(agent, "fame")
    assert live(agent, 50, 40) == live(twin, 50, 40)
    assert agent.theta == pytest.approx(twin.theta, abs=1e-9)


def test_a_new_objective_is_explored() -> None:
    policy = partial(mogro.MOGRO, threshold=0.1)
    agent = mogro.Agent([SALES], arms=3, seed=1, policy=policy)
    live(agent, 0, 30)
    assert not agent.decide(IDS, FEATURES, now=30.0).exploring
    add(agent, COST)
    assert agent.decide(IDS, FEATURES, now=31.0).exploring


def test_who_waited_for_what_is_retired_is_done() -> None:
    agent = mogro.Agent([SALES, CLICK], arms=3, seed=1, retention=mogro.Retention(decisions=2))
    for n in range(4):
        agent.decide(IDS, FEATURES, id=str(n), now=0.0)
        agent.reward(str(n), {"sales": 1.0}, now=0.0)
    retire(agent, "click")
    assert agent.counters["completed"] == 2
    assert agent.counters["forgotten"] == 2
    assert [record.decision.id for record in agent.decisions()] == ["2", "3"]
    with pytest.raises(UnknownObjective):
        agent.reward("2", {"click": 1.0}, now=1.0)


@pytest.mark.parametrize("at_once", [True, False])
def test_nothing_is_learned_of_a_new_objective_from_old_decisions(at_once: bool) -> None:
    agent = mogro.Agent([SALES], arms=3, seed=1)
    agent.decide(IDS, FEATURES, id="old")
    add(agent, COST)
    if at_once:
        assert agent.reward("old", {"sales": 1.0, "cost": 5.0}) == (1, 0, 0, 0, 1)
    else:
        agent.reward("old", {"sales": 1.0})
        agent.reward("old", {"cost": 5.0})
    assert agent.observations == {"sales": 1.0, "cost": 0.0}
    assert agent.decision("old").status == {"sales": "learned", "cost": "missing"}


def test_a_value_that_waits_for_no_window_any_more_is_learned() -> None:
    agent = mogro.Agent([CLICK], arms=3, seed=1)
    for id in ("come", "open"):
        agent.decide(IDS, FEATURES, id=id, now=0.0)
    agent.decide(IDS, FEATURES, id="unseen", activate=False, now=0.0)
    for id in ("come", "unseen"):
        agent.reward(id, {"click": 1.0}, now=1.0)
    change(agent, mogro.Objective("click"))
    assert [one.status["click"] for one in agent.decisions()] == ["learned", "pending", "pending"]
    assert agent.observations == {"click": 1.0}
    agent.activate("unseen")
    assert agent.observations == {"click": 2.0}


def test_decisions_are_explained_by_the_objectives_they_had() -> None:
    agent = mogro.Agent([SALES, CLICK], arms=3, seed=1)
    live(agent, 0, 20)
    decision = agent.decide(IDS, FEATURES, now=20.0)
    before = str(agent.explain(decision))
    change(agent, replace(SALES, unit=5.0))
    add(agent, COST)
    assert str(agent.explain(decision)) == before
    retire(agent, "sales")
    assert str(agent.explain(decision)) == before


@pytest.mark.parametrize("way", ["journal", "memory", "file"])
def test_windows_and_defaults_from_now_on(tmp_path: Path, way: str) -> None:
    if way == "journal":
        made = mogro.Agent.open(tmp_path / "a.db", [CLICK], arms=3, seed=1)
    else:
        made = mogro.Agent([CLICK], arms=3, seed=1)
    with made as agent:
        for n, id in enumerate(("old", "waiting")):
            agent.decide(IDS, FEATURES, id=id, now=9.0 * n)
        agent.expire(now=10.0)
        change(agent, replace(CLICK, window=30.0, default=1.0))
        assert agent.expire(now=38.0) == 0
        assert agent.expire(now=39.0) == 1
        change(agent, replace(CLICK, window=5.0, default=2.0))
        agent.decide(IDS, FEATURES, id="new", now=40.0)
        agent.expire(now=45.0)
        if way == "file":
            agent.save(tmp_path / "a")
            agent = mogro.Agent.load(tmp_path / "a")
        log = agent.log().to_pylist()
    assert [(row["reward_click"], row["status_click"]) for row in log] == [
        (0.0, "defaulted"),
        (1.0, "defaulted"),
        (2.0, "defaulted"),
    ]


def test_all_who_share_a_journal_follow(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    one = mogro.Agent.open(path, [SALES, CLICK], arms=3, seed=1, snapshot_every=9)
    two = mogro.Agent.open(path)
    live(one, 0, 10)
    two.decide(IDS, FEATURES, id="early", now=10.0)
    add(one, COST)
    made = two.decide(IDS, FEATURES, id="late", weights={"cost": 1.0}, now=11.0)
    assert set(made.estimates) == {"sales", "click", "cost"}
    retire(two, "sales")
    live(one, 20, 10)
    one.expire(now=40.0)
    believed = one.estimate(IDS, FEATURES).values
    last = one.decide(IDS, FEATURES, id="last", now=40.0)
    rows = {row["id"]: row for row in two.log().to_pylist()}
    names = [name for name in two.log().column_names if name.startswith("reward_")]
    assert names == ["reward_click", "reward_cost"]
    assert rows["last"]["propensity"] == last.propensity
    assert rows["last"]["offered_estimates"] == pytest.approx(believed.ravel(), abs=1e-9)
    early = np.array(rows["early"]["offered_estimates"]).reshape(-1, 2)
    assert np.isfinite(early[:, 0]).all()
    assert np.isnan(early[:, 1]).all()
    assert rows["early"]["propensity"] is not None
    assert two.decision("early").decision.propensity == rows["early"]["propensity"]
    for agent, name in ((one, "one"), (two, "two")):
        agent.save(tmp_path / name)
        agent.close()
    with mogro.Agent.open(path) as again:
        again.save(tmp_path / "three")
        assert [one.name for one in again.objectives] == ["click", "cost"]
    saved = {(tmp_path / name).read_bytes() for name in ("one", "two", "three")}
    assert len(saved) == 1
    # As it is now, or was at some time; nothing else.
    for given in ([SALES, CLICK], [CLICK, COST], [SALES, CLICK, COST]):
        with mogro.Agent.open(path, given, arms=3, seed=1) as again:
            assert again.objectives == (CLICK, COST)
    for wrong, seed, told in (
        ([SALES], 1, "has objectives .*'click'.* not .*'sales'.* nor has it ever had"),
        ([CLICK], 1, "has objectives .* not "),
        ([CLICK, COST], 2, "has seed 1, not 2"),
    ):
        with pytest.raises(mogro.errors.DifferentConfig, match=told):
            mogro.Agent.open(path, wrong, arms=3, seed=seed)


@dataclass(frozen=True)
class Tilted:
    """Weights of one's own."""

    tilt: float

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: mogro.Rng
    ) -> NDArray[np.float64]:
        raw = self.tilt ** np.arange(objectives)
        return np.broadcast_to(raw / raw.sum(), (*batch, objectives))


def test_policies_for_another_number_of_objectives(tmp_path: Path) -> None:
    fixed = partial(mogro.MOGRO, scalarization=mogro.FixedWeights([0.3, 0.7]))
    agent = mogro.Agent([SALES, CLICK], arms=3, seed=1, policy=fixed)
    with pytest.raises(
        ValueError, match="policy: expected a new policy for 4 features and 3 objectives"
    ):
        add(agent, COST)
    assert agent.objectives == (SALES, CLICK)
    add(agent, COST, policy=mogro.MOGRO)
    live(agent, 0, 20)
    retire(agent, "cost", policy=partial(mogro.UCB, noise=0.1, delta=0.1))
    live(agent, 20, 5)
    own = partial(mogro.MOGRO, scalarization=Tilted(0.5))
    path = tmp_path / "a.db"
    with mogro.Agent.open(
        path, [SALES, CLICK], arms=3, seed=1, policy=own, snapshot_every=5
    ) as kept:
        live(kept, 0, 10)
        add(kept, COST)
        live(kept, 10, 10)
        kept.save(tmp_path / "one")
    with mogro.Agent.open(path, types=[Tilted]) as kept:
        kept.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_condition_that_was_met_by_its_default_stays_met() -> None:
    sale = mogro.Objective("sale", window=5.0, default=1.0)
    agent = mogro.Agent(
        [sale, mogro.Objective("stars", given="sale")], arms=1, seed=1, prior=mogro.priors.Flat()
    )
    agent.decide({"a": [1.0]}, id="visit", now=0.0)
    agent.expire(5.0)
    change(agent, replace(sale, default=0.0))
    agent.reward("visit", {"stars": 4.0}, now=6.0)
    assert agent.observations == {"sale": 1.0, "stars": 1.0}
    assert worth(agent, 1.0) == pytest.approx([1.0, 4.0])


def test_refusals() -> None:
    agent = mogro.Agent([SALES, CLICK], arms=3, seed=1)
    stars = mogro.Objective("stars", given="click")
    add(agent, stars)
    with pytest.raises(ValueError, match="given"):
        retire(agent, "click")
    with pytest.raises(ValueError, match="different names"):
        add(agent, mogro.Objective("sales", unit=3.0))
    for bad in (replace(SALES, direction="min"), replace(SALES, offset=1.0)):
        with pytest.raises(ValueError, match=r"objectives: expected (direction|offset) .* to stay"):
            change(agent, bad)
    with pytest.raises(ValueError, match=r"expected a list of mogro\.Objective"):
        agent.reconfigure(objectives=["cost"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="seed: cannot be changed"):
        agent.reconfigure(seed=3)  # type: ignore[call-arg]
    retire(agent, "stars")
    retire(agent, "click")
    with pytest.raises(ValueError, match="at least one"):
        retire(agent, "sales")
    assert agent.objectives == (SALES,)

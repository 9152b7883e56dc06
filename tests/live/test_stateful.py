"""Decide, reward, expire, save, load, merge and forget in any order, against the slow agent."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.oracles.live import SlowAgent

import mogro
from mogro.live import BadReward, CannotMerge, ConflictingReward, UnknownDecision, UnknownObjective

OBJECTIVES = [
    mogro.Objective("click"),
    mogro.Objective("watch", unit=60.0, offset=10.0, window=20.0),
    mogro.Objective("cost", direction="min", window=30.0, default=0.5),
]
# Small integers: in general position, collinear, equal and zero.
POOL = {
    "a": [1, 0, 0], "b": [0, 1, 0], "c": [1, 1, 0], "d": [0, 0, 2],
    "e": [1, -1, 1], "f": [2, 2, 0], "g": [0, 0, 0], "h": [1, 1, 0],
}  # fmt: skip
HALF_LIVES = [None, mogro.HalfLife(updates=8.0), mogro.HalfLife(time=200.0)]
VALUES = st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0])


class Machine(RuleBasedStateMachine):
    """Two agents, each beside its slow twin, at one time."""

    @initialize(half_life=st.sampled_from(HALF_LIVES))
    def start(self, half_life: mogro.HalfLife | None) -> None:
        self.half_life = half_life
        self.now = 0.0
        self.seed = 0
        self.pairs = [self.fresh(), self.fresh()]
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def fresh(self) -> tuple[mogro.Agent, SlowAgent]:
        self.seed += 1
        agent = mogro.Agent(OBJECTIVES, dim=3, seed=self.seed, half_life=self.half_life)
        return agent, SlowAgent(OBJECTIVES, 3, self.half_life)

    @rule(
        which=st.integers(0, 1),
        offers=st.lists(st.sets(st.sampled_from(sorted(POOL)), min_size=1), min_size=1, max_size=4),
    )
    def decide(self, which: int, offers: list[set[str]]) -> None:
        for offered in offers:
            self.decide_once(*self.pairs[which], offered)

    def decide_once(self, agent: mogro.Agent, slow: SlowAgent, offered: set[str]) -> None:
        arms = {arm: POOL[arm] for arm in sorted(offered)}
        decision = agent.decide(arms, now=self.now)
        assert decision.arm in offered
        slow.decide(decision.id, decision.arm, np.array(POOL[decision.arm], float), self.now)
        again = agent.decide({"other": [5.0, 5.0, 5.0]}, id=decision.id, now=self.now + 1)
        assert again == decision

    @precondition(lambda self: any(slow.decisions for _, slow in self.pairs))
    @rule(data=st.data(), click=VALUES, watch=VALUES, cost=VALUES)
    def reward(self, data: st.DataObject, click: float, watch: float, cost: float) -> None:
        agent, slow = data.draw(st.sampled_from([p for p in self.pairs if p[1].decisions]))
        id = data.draw(st.sampled_from(sorted(slow.decisions)))
        names = data.draw(st.sets(st.sampled_from(["click", "watch", "cost"]), min_size=1))
        values = {n: {"click": click, "watch": watch, "cost": cost}[n] for n in sorted(names)}
        made = slow.decisions[id]
        before = {o.name: made.values[m] for m, o in enumerate(OBJECTIVES)}
        if any(before[n] not in (None, v) for n, v in values.items()):
            with pytest.raises(ConflictingReward):
                agent.reward(id, values, now=self.now)
            return
        # The windows of this decision close first.
        only = SlowAgent(OBJECTIVES, 3, self.half_life, {id: made}, now=slow.now)
        only.pairs = slow.pairs
        only.expire(self.now)
        assert agent.reward(id, values, now=self.now) == slow.reward(id, values)

    @rule(which=st.integers(0, 1))
    def refused(self, which: int) -> None:
        agent, slow = self.pairs[which]
        with pytest.raises(UnknownDecision):
            agent.reward("nobody", {"click": 1.0}, now=self.now)
        for id in list(slow.decisions)[:1]:
            with pytest.raises(UnknownObjective):
                agent.reward(id, {"likes": 1.0, "click": 1.0}, now=self.now)
            with pytest.raises(BadReward):
                agent.reward(id, {"watch": float("nan")}, now=self.now)

    @rule(passed=st.sampled_from([1.0, 5.0, 15.0, 40.0]))
    def wait(self, passed: float) -> None:
        self.now += passed

    @rule(which=st.integers(0, 1))
    def expire(self, which: int) -> None:
        agent, slow = self.pairs[which]
        assert agent.expire(self.now) == slow.expire(self.now)

    @rule(which=st.integers(0, 1), age=st.sampled_from([0.0, 10.0]))
    def forget(self, which: int, age: float) -> None:
        agent, slow = self.pairs[which]
        assert agent.forget(before=self.now - age) == slow.forget(self.now - age)

    @rule(which=st.integers(0, 1))
    def save_and_load(self, which: int) -> None:
        agent, slow = self.pairs[which]
        path = Path(self.folder.name) / "agent"
        agent.save(path)
        self.pairs[which] = mogro.Agent.load(path), slow

    @rule()
    def merge(self) -> None:
        (agent, slow), (other, other_slow) = self.pairs
        agent.merge(other)
        slow.merge(other_slow)
        with pytest.raises(CannotMerge):
            agent.merge(other)
        self.pairs = [(agent, slow), self.fresh()]

    @invariant()
    def same(self) -> None:
        for agent, slow in getattr(self, "pairs", []):
            expected = slow.theta()
            assert agent.theta == pytest.approx(expected, rel=1e-9, abs=1e-9 * 60)
            assert list(agent.observations.values()) == pytest.approx(slow.observations())
            counted = agent.counters
            waiting = sum("pending" in made.state for made in slow.decisions.values())
            assert counted["pending"] == waiting
            assert counted["completed"] == len(slow.decisions) - waiting
            books = agent._desk.books
            assert books.steering is not None
            if not books.steering._over:
                total = books.steering._total(books.learner, books.ledger)
                for m in range(3):
                    assert total[m] == pytest.approx(slow.gram(m), abs=1e-9)


Machine.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestAgent = Machine.TestCase

"""All that can happen to an agent, in any order, against the slow agent."""

import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.agent.replaying import replayed
from tests.agent.stories import add, change, retire
from tests.oracles.agent import SlowAgent

import mogro
from mogro.agent import BadReward, ConflictingReward, UnknownDecision, UnknownObjective
from mogro.agent.events import Event, from_plain, to_plain

WORLDS = {
    "plain": [
        mogro.Objective("click"),
        mogro.Objective("watch", unit=60.0, offset=10.0, window=20.0),
        mogro.Objective("cost", direction="min", window=30.0, default=0.5),
    ],
    "conditions": [
        mogro.Objective("dwell", given="click", window=15.0, revise="last"),
        mogro.Objective("click", window=5.0, default=0.0),
        mogro.Objective("sale", given="dwell", unit=2.0, window=40.0, default=-1.0),
    ],
    "revisions": [
        mogro.Objective("most", window=20.0, default=0.5, revise="max"),
        mogro.Objective("last", window=10.0, revise="last"),
        mogro.Objective("rating", given="most"),
    ],
    "late conditions": [
        mogro.Objective("sale"),
        mogro.Objective("returned", given="sale", window=10.0, default=0.0),
        mogro.Objective("stars", given="sale", window=20.0, revise="last"),
    ],
}
# Small integers: in general position, collinear, equal and zero.
POOL = {
    "a": [1, 0, 0], "b": [0, 1, 0], "c": [1, 1, 0], "d": [0, 0, 2],
    "e": [1, -1, 1], "f": [2, 2, 0], "g": [0, 0, 0], "h": [1, 1, 0],
}  # fmt: skip
HALF_LIVES = [None, mogro.HalfLife(updates=8.0), mogro.HalfLife(time=200.0)]
VALUES = st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0])


class Machine(RuleBasedStateMachine):
    """An agent beside its slow twin."""

    @initialize(
        half_life=st.sampled_from(HALF_LIVES),
        world=st.sampled_from(sorted(WORLDS)),
        activation_timeout=st.sampled_from([None, 12.0]),
    )
    def start(
        self, half_life: mogro.HalfLife | None, world: str, activation_timeout: float | None
    ) -> None:
        self.initial = self.objectives = WORLDS[world]
        self.half_life = half_life
        self.activation_timeout = activation_timeout
        self.now = 0.0
        self.events: list[Event] = []
        self.agent = self.fresh()
        self.slow = SlowAgent(self.objectives, 3, half_life, activation_timeout or math.inf)
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        self.agent.save(Path(self.folder.name) / "one")
        again = [from_plain(json.loads(json.dumps(to_plain(event)))) for event in self.events]
        replayed(self.fresh(), again, Path(self.folder.name) / "two")
        one, two = (Path(self.folder.name, name).read_bytes() for name in ("one", "two"))
        self.folder.cleanup()
        assert one == two  # the same events, the same bits

    def fresh(self) -> mogro.Agent:
        return mogro.Agent(
            self.initial,
            arms=3,
            seed=1,
            half_life=self.half_life,
            activation_timeout=self.activation_timeout,
            max_step=1e9,  # see test_clock
            correct_within=0.0,  # see test_late_truth
            prior=mogro.priors.Flat(),  # the slow one knows least squares
            on_event=self.events.append,
        )

    @rule(
        offers=st.lists(st.sets(st.sampled_from(sorted(POOL)), min_size=1), min_size=1, max_size=4),
        behind=st.sampled_from([0.0, 0.0, 7.0]),
        active=st.sampled_from([True, True, False]),
    )
    def decide(self, offers: list[set[str]], behind: float, active: bool) -> None:
        for offered in offers:
            arms = {arm: POOL[arm] for arm in sorted(offered)}
            now = self.now - behind
            decision = self.agent.decide(arms, activate=active, now=now)
            assert decision.arm in offered
            x = np.array(POOL[decision.arm], float)
            self.slow.decide(decision.id, x, now, active=active)
            again = self.agent.decide({"other": [5.0, 5.0, 5.0]}, id=decision.id, now=self.now + 1)
            assert again == decision

    @rule(
        arm=st.sampled_from(sorted(POOL)),
        value=st.none() | VALUES,
        propensity=st.sampled_from([None, 0.5]),
    )
    def observe(self, arm: str, value: float | None, propensity: float | None) -> None:
        name = self.objectives[0].name
        rewards = None if value is None else {name: value}
        made = self.agent.observe(
            POOL, arm=arm, rewards=rewards, propensity=propensity, now=self.now
        )
        self.slow.decide(made.id, np.array(POOL[arm], float), self.now)
        if rewards is not None:
            self.slow.reward(made.id, rewards, self.now)
        again = self.agent.observe(POOL, arm=arm, rewards=rewards, id=made.id, now=self.now)
        assert again == made

    @precondition(lambda self: bool(self.slow.decisions))
    @rule(data=st.data(), behind=st.sampled_from([0.0, 0.0, 3.0]))
    def activate(self, data: st.DataObject, behind: float) -> None:
        id = data.draw(st.sampled_from(sorted(self.slow.decisions)))
        now = self.now - behind
        assert self.agent.activate(id, now=now) == self.slow.activate(id, now)

    @precondition(lambda self: bool(self.slow.decisions))
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.slow.decisions)))
        assert self.agent.withdraw(id, now=self.now) == self.slow.withdraw(id, self.now)
        assert self.agent.withdraw(id) == 0

    @precondition(lambda self: bool(self.slow.decisions))
    @rule(data=st.data(), behind=st.sampled_from([0.0, 0.0, 3.0]))
    def reward(self, data: st.DataObject, behind: float) -> None:
        id = data.draw(st.sampled_from(sorted(self.slow.decisions)))
        names = [one.name for one in self.objectives]
        values = data.draw(st.dictionaries(st.sampled_from(names), VALUES, min_size=1))
        if self.slow.conflicts(id, values):
            with pytest.raises(ConflictingReward):
                self.agent.reward(id, values, now=self.now - behind)
            return
        expected = self.slow.reward(id, values, self.now - behind)
        assert self.agent.reward(id, values, now=self.now - behind) == expected

    @rule()
    def refused(self) -> None:
        with pytest.raises(UnknownDecision):
            self.agent.reward("nobody", {self.objectives[0].name: 1.0}, now=self.now + 1e6)
        with pytest.raises(UnknownDecision):
            self.agent.activate("nobody", now=self.now + 1e6)
        with pytest.raises(UnknownDecision):
            self.agent.withdraw("nobody", now=self.now + 1e6)
        for id in list(self.slow.decisions)[:1]:
            with pytest.raises(UnknownObjective):
                self.agent.reward(id, {"likes": 1.0}, now=self.now + 1e6)
            with pytest.raises(BadReward):
                self.agent.reward(id, {self.objectives[0].name: np.nan}, now=self.now + 1e6)

    @precondition(lambda self: len(self.objectives) < 5)
    @rule(window=st.sampled_from([None, 12.0]), default=st.sampled_from([None, 0.5]))
    def add(self, window: float | None, default: float | None) -> None:
        name = f"new {len(self.events)}"
        new = mogro.Objective(name, window=window, default=default if window else None)
        add(self.agent, new)
        assert not self.agent.reconfigure(objectives=self.agent.objectives).changes
        self.go_on_with([*self.objectives, new])

    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(self.objectives))
        left = [one for one in self.objectives if one is not gone]
        if not left or any(one.given == gone.name for one in left):
            with pytest.raises(ValueError, match="expected"):
                retire(self.agent, gone.name)
            return
        retire(self.agent, gone.name)
        self.go_on_with(left)

    @rule(data=st.data(), unit=st.sampled_from([0.5, 3.0]), length=st.sampled_from([4.0, 25.0]))
    def change(self, data: st.DataObject, unit: float, length: float) -> None:
        old = data.draw(st.sampled_from(self.objectives))
        window = None if old.window is None else length
        default = None if old.default is None else -length
        new = replace(old, unit=unit, window=window, default=default)
        change(self.agent, new)
        change(self.agent, new)
        self.go_on_with([new if one is old else one for one in self.objectives])

    def go_on_with(self, objectives: list[mogro.Objective]) -> None:
        self.objectives = objectives
        self.slow.change(objectives)
        assert self.agent.objectives == tuple(objectives)

    @rule(passed=st.sampled_from([1.0, 5.0, 15.0, 40.0]))
    def wait(self, passed: float) -> None:
        self.now += passed

    @rule()
    def expire(self) -> None:
        assert self.agent.expire(self.now) == self.slow.expire(self.now)

    @precondition(lambda self: bool(self.slow.decisions))
    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.slow.decisions)))
        assert self.agent.erase(id) == 1
        del self.slow.decisions[id]

    @rule()
    def save_and_load(self) -> None:
        path = Path(self.folder.name) / "agent"
        self.agent.save(path)
        self.agent = mogro.Agent.load(path, on_event=self.events.append)

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "agent"):
            return
        for m, (features, values) in enumerate(self.slow.fitted()):
            estimates = features @ self.agent.theta[m] + self.agent.intercept[m]
            assert estimates == pytest.approx(values, rel=1e-7, abs=1e-7 * 60)
        assert list(self.agent.observations.values()) == pytest.approx(self.slow.observations())
        counted = self.agent.counters
        waiting = sum("pending" in made.status for made in self.slow.decisions.values())
        assert counted["pending"] == waiting
        assert counted["completed"] == len(self.slow.decisions) - waiting


Machine.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestAgent = Machine.TestCase

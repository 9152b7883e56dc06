"""What an agent hands out cannot be used to change it; copies are agents of their own."""

import copy
import pickle
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import mogro

ARMS = {"x": [1.0, 0.0], "y": [0.0, 1.0], "z": [1.0, 0.9]}
OBJECTIVES = [mogro.Objective("a"), mogro.Objective("b", window=50.0, default=0.0)]


class Shared:
    """Weights that give away their own array."""

    def __init__(self) -> None:
        self.vector = np.array([0.5, 0.5])

    def weights(self, objectives: int, **_: object) -> np.ndarray:
        return self.vector


@dataclass(frozen=True)
class Spoiling:
    """A baseline that writes to the features that it is shown."""

    def __call__(self, ids: tuple[str, ...], features: np.ndarray, context: object) -> str:
        features[:] = 9.0
        return ids[0]


def greedy(dim: int, objectives: int) -> mogro.EpsilonGreedy:
    return mogro.EpsilonGreedy(dim, objectives, epsilon=0.0)


def lived() -> mogro.Agent:
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=3, half_life=mogro.HalfLife(updates=30.0))
    for n in range(20):
        decision = agent.decide(ARMS, now=float(n))
        agent.reward(decision.id, {"a": float(n % 3), "b": float(n % 2)}, now=float(n))
    return agent


def test_propensities_cannot_be_changed() -> None:
    agent = lived()
    one, two = (agent.decide(ARMS, now=20.0).propensities for _ in range(2))
    assert isinstance(one.arms, tuple)
    for array in (one.values, one.errors):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert two.arms == tuple(ARMS)


def test_a_decision_cannot_be_changed() -> None:
    decision = lived().decide(ARMS, now=20.0)
    for name in ("id", "arm", "exploring", "uniform", "time", "weights", "estimates", "more"):
        with pytest.raises(AttributeError):
            setattr(decision, name, "other")
    with pytest.raises(ValueError, match="read-only"):
        decision.inputs.arms.features[:] = 0


def test_who_is_told_of_events_cannot_change_the_agent() -> None:
    told: list[Any] = []
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=3, on_event=told.append, policy=greedy)
    agent.decide(ARMS, weights=[1, 1], now=0.0)
    agent.observe(ARMS, arm="y", now=0.0)
    for event in told:
        for array in (event.features, event.weights, event.estimates):
            if array is not None:
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 9.0
    assert any(event.weights is not None for event in told)


def test_weights_of_ones_own_stay_ones_own() -> None:
    mine = Shared()
    agent = lived()
    decision = agent.decide(ARMS, weights=mine, now=20.0)
    mine.vector[:] = 1.0, 0.0
    assert decision.weights == {"a": 0.5, "b": 0.5}


def test_nothing_is_remembered_of_other_callers() -> None:
    names = ["x", "y"]
    one, two = (mogro.Agent([mogro.Objective("a")], arms=1, seed=s) for s in (0, 1))
    first = one.decide(names, [[1.0], [2.0]])
    names[1] = "other"
    second = two.decide(["x", "y"], [[1.0], [2.0]])
    assert first.propensities.arms == second.propensities.arms == ("x", "y")


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))])
def test_a_copy_goes_on_by_itself(how: "partial[mogro.Agent]") -> None:
    agent = lived()
    other = how(agent)
    assert repr(other) == repr(agent)
    expected = agent.theta
    arms = [other.decide(ARMS, id=str(n), now=20.0).arm for n in range(10)]
    other.reward("0", {"a": 99.0}, now=20.0)
    assert (agent.theta == expected).all()
    assert agent.counters["decisions"] == 20
    assert [agent.decide(ARMS, id=str(n), now=20.0).arm for n in range(10)] == arms


def test_a_decision_can_be_copied_and_pickled() -> None:
    decision = lived().decide(ARMS, now=20.0)
    assert copy.copy(decision) == copy.deepcopy(decision) == decision
    bare = pickle.loads(pickle.dumps(decision))
    assert bare == decision
    assert bare.estimates == decision.estimates
    with pytest.raises(ValueError, match="its inputs are known only"):
        _ = bare.propensity
    expected = decision.propensity
    assert pickle.loads(pickle.dumps(decision)).propensity == expected


def test_an_error_can_be_pickled() -> None:
    agent = mogro.Agent([mogro.Objective("a")], arms=1, seed=0)
    for _ in range(4):
        agent.reward(agent.decide({"x": [1.0]}).id, {"a": 1.0})
    with pytest.raises(mogro.agent.InfeasibleConstraints) as caught:
        agent.decide({"x": [1.0]}, at_least={"a": 2.0})
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.best, str(again)) == (caught.value.best, str(caught.value))


def test_decisions_keep_what_they_were_based_on() -> None:
    """Learning goes on; propensities and explanations stay those of the moment."""
    agent = lived()
    before = copy.deepcopy(agent).decide(ARMS, id="early", now=20.0).propensities.values
    early = agent.decide(ARMS, id="early", now=20.0)
    twin = copy.deepcopy(agent)
    expected = twin.decide(ARMS, id="other", now=20.0)
    values = expected.propensities.values.copy()
    later = agent.decide(ARMS, id="other", now=20.0)
    for n in range(100):
        agent.reward(agent.decide(ARMS, now=20.0 + n).id, {"a": float(n), "b": -1.0}, now=20.0 + n)
    assert (later.propensities.values == values).all()
    assert (early.propensities.values == before).all()


@pytest.mark.parametrize("arms", [3, 600])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arms_that_change_in_place_are_read_again(arms: int, order: Any) -> None:
    """The same array as before, with other numbers: what was chosen has the new ones."""
    rng = np.random.default_rng(0)
    features = np.asarray(rng.standard_normal((arms, 8)), order=order)
    ids = [f"arm {k}" for k in range(arms)]
    events: list[Any] = []
    agent = mogro.Agent([mogro.Objective("a")], arms=8, seed=0, on_event=events.append)
    for _ in range(30):
        decision = agent.decide(ids, features)
        assert events[-1].features.tolist() == [1.0, *features[ids.index(decision.arm)]]
        agent.reward(decision.id, {"a": rng.standard_normal()})
        features[rng.integers(arms)] += 1.0
        ids[0] = f"arm {rng.integers(-9, 0)}"
    features[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"features: expected finite values, got nan at \(1, 2\)"):
        agent.decide(ids, features)


def test_a_policy_that_decides_by_another_agent_draws_the_same() -> None:
    """A decision's random numbers are its own, whatever else its thread decides meanwhile."""

    class Curious:
        def weights(self, objectives: int, *, rng: np.random.Generator, **_: object) -> np.ndarray:
            if other is not None:
                other.decide(ARMS)
            return rng.dirichlet(np.ones(objectives))

    def weights_drawn() -> list[Any]:
        agent = mogro.Agent([mogro.Objective("a"), mogro.Objective("b")], arms=2, seed=1)
        for arm in "xyzxyz":
            agent.observe(ARMS, arm=arm, rewards={"a": 1.0, "b": 2.0})
        events = [agent.decide(ARMS, weights=curious).event for _ in range(6)]
        return [None if event.weights is None else event.weights.tolist() for event in events]

    curious: Any = Curious()
    other: mogro.Agent | None = None
    expected = weights_drawn()
    assert any(expected)
    other = mogro.Agent([mogro.Objective("a")], arms=2, seed=2)
    assert weights_drawn() == expected


def test_a_baseline_cannot_change_arms_that_are_remembered() -> None:
    agent = mogro.Agent([mogro.Objective("a")], arms=2, seed=0, holdout=0.999, baseline=Spoiling())
    with pytest.raises(ValueError, match="read-only"):
        agent.decide(ARMS)


def test_beliefs_of_a_decision_stay_when_what_was_in_flight_is_dropped() -> None:
    def roots(*, at_once: bool) -> list[Any]:
        rng, last = np.random.default_rng(0), mogro.Retention(decisions=1)
        objectives = [mogro.Objective("a"), mogro.Objective("b")]
        agent = mogro.Agent(objectives, arms=2, seed=0, retention=last)
        beliefs: list[Any] = []
        for n in range(80):
            decision: Any = agent.decide(list("wxyz"), rng.standard_normal((4, 2)), id=str(n))
            beliefs.append(decision.inputs.beliefs.expected)
            if at_once:
                assert beliefs[-1].W.size
            if n > 5:
                a, b = rng.standard_normal(2)
                agent.reward(str(n - 5), {"a": a, "b": b})
        return [expected.W.tolist() for expected in beliefs]

    assert roots(at_once=False) == roots(at_once=True)

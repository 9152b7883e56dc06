"""Effects of single arms beside a slow model that has a column for every arm."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples, mostly_slow

import mogro
from mogro._validation import FloatArray
from mogro.agent import ConflictingReward, UnknownDecision
from mogro.agent.state.arm_effects import ArmEffects
from mogro.posterior import Posterior
from mogro.priors import Learned

ARMS, SIZE, OBJECTIVES = 5, 3, 2
RATIOS = np.array([0.7, 4.0])
Observation = tuple[int, FloatArray, list[tuple[int, float]]]


def observed(seed: int, count: int) -> list[Observation]:
    """Return observations of arms, of some or all objectives."""
    rng = np.random.default_rng(seed)
    rows: list[Observation] = []
    for _ in range(count):
        which = rng.random(OBJECTIVES) < 0.8
        values = [(int(m), float(rng.normal(m, 2))) for m in np.flatnonzero(which)]
        rows.append((int(rng.integers(ARMS)), np.append(1.0, rng.standard_normal(2)), values))
    return rows


def learned(rows: Sequence[Observation]) -> tuple[Posterior, ArmEffects]:
    """Return what is learned one by one."""
    posterior = Posterior(SIZE, OBJECTIVES, prior=Learned([-1, 0, 0]))
    effects = ArmEffects(SIZE, OBJECTIVES)
    effects.ratios = RATIOS
    for arm, x, values in rows:
        effects.learn(posterior, str(arm), x, values)
    return posterior, effects


def oracle(
    rows: Sequence[Observation], precision: FloatArray, ratios: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return theta, effects and the squares of residuals and priors, with a column for each arm."""
    both, squares = [], []
    for m, ratio in enumerate(ratios):
        seen = [(arm, x, value) for arm, x, values in rows for k, value in values if k == m]
        z = np.array([np.append(x, np.eye(ARMS)[arm]) for arm, x, _ in seen])
        y = np.array([value for *_, value in seen])
        Lambda = np.append(precision[m], np.full(ARMS, ratio))
        theta = np.linalg.solve(z.T @ z + np.diag(Lambda), z.T @ y)
        both.append(theta)
        squares.append(np.square(y - z @ theta).sum() + Lambda @ np.square(theta))
    split = np.array(both)
    return split[:, :SIZE], split[:, SIZE:], np.array(squares)


def assert_equals_oracle(
    posterior: Posterior, effects: ArmEffects, rows: Sequence[Observation]
) -> None:
    theta, wanted, squares = oracle(rows, posterior._precision, effects.ratios)
    np.testing.assert_allclose(posterior.theta, theta, atol=1e-7)
    columns = effects.columns([str(arm) for arm in range(ARMS)], posterior.theta, {})
    np.testing.assert_allclose(columns[:, :OBJECTIVES], wanted.T, atol=1e-7)
    np.testing.assert_allclose(posterior._squares[:, 0], squares, rtol=1e-6)


@given(st.integers(0, 2**32), st.integers(8, 60))
@examples(30)
def test_effects_are_those_of_a_column_for_every_arm(seed: int, count: int) -> None:
    rows = observed(seed, count)
    posterior, effects = learned(rows)
    assert_equals_oracle(posterior, effects, rows)


@given(st.integers(0, 2**32), st.integers(8, 60))
@examples(30)
def test_other_ratios_are_as_if_they_had_been_there_from_the_beginning(
    seed: int, count: int
) -> None:
    rows = observed(seed, count)
    posterior, effects = learned(rows)
    effects.set_ratios(posterior, np.array([30.0, 0.05]))
    assert_equals_oracle(posterior, effects, rows)


@given(st.integers(0, 2**32), st.integers(8, 40))
@examples(30)
def test_late_values_are_as_if_they_had_come_in_time(seed: int, count: int) -> None:
    rows = observed(seed, count)
    posterior, effects = learned(rows)
    rng = np.random.default_rng(seed)
    for place in rng.permutation(count)[:4].tolist():
        arm, x, values = rows[place]
        other = [(m, value + 1.0) for m, value in values[:1]]
        effects.unlearn(posterior, str(arm), x, values)
        effects.learn(posterior, str(arm), x, other)
        rows[place] = arm, x, other
    if all(len([1 for row in rows for k, _ in row[2] if k == m]) > 3 for m in range(OBJECTIVES)):
        assert_equals_oracle(posterior, effects, rows)


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_the_size_of_effects_is_learned(spread: float) -> None:
    rng, rows = np.random.default_rng(0), []
    hits = rng.normal(0, spread, 60)
    for _ in range(1500):
        arm, x = int(rng.integers(60)), np.append(1.0, rng.standard_normal(2))
        rows.append((arm, x, [(0, x[1] + hits[arm] + rng.standard_normal())]))
    posterior, effects = learned(rows)
    ratio = effects.likely_ratios(posterior)[0]
    if spread:
        assert 0.1 < ratio < 0.4  # 0.25, less for caution
    else:
        assert ratio > 15


# ---- agents


def hits_agent(path: Path | None = None, **options: object) -> mogro.Agent:
    objectives = [mogro.Objective("click"), mogro.Objective("sale", window=20.0, default=0.0)]
    given = {"arms": 1, "context": 1, "seed": 3, "arm_effects": True, "clock": None} | options
    if path is None:
        return mogro.Agent(objectives, **given)  # type: ignore[arg-type]
    return mogro.Agent.open(path, objectives, **given)  # type: ignore[arg-type]


def live(agent: mogro.Agent, rounds: int, start: int = 0) -> None:
    """Make decisions, some of whose sales never come, come late, or are withdrawn."""
    rng = np.random.default_rng([7, start])
    features = {f"arm {k}": [k / 4] for k in range(8)}
    waiting: list[str] = []
    for t in range(start, start + rounds):
        now = float(t)
        decision = agent.decide(features, context=[float(rng.random())], now=now)
        hit = decision.arm == "arm 3"
        agent.reward(decision.id, {"click": float(rng.random() < 0.2 + 0.6 * hit)}, now=now)
        if rng.random() < 0.6:
            waiting.append(decision.id)
        if len(waiting) > 30:  # some windows have closed
            agent.reward(waiting.pop(0), {"sale": float(rng.random() < 0.3)}, now=now)


@pytest.mark.slow
def test_a_hit_is_found_that_features_do_not_explain() -> None:
    agent = hits_agent()
    live(agent, 400)
    names = [f"arm {k}" for k in range(8)]
    features = [[k / 4] for k in range(8)]
    values = agent.estimate(names, features, context=[0.5]).values[:, 0]
    assert values.argmax() == 3
    plain = hits_agent(arm_effects=False)
    live(plain, 400)
    less = plain.estimate(names, features, context=[0.5]).values[:, 0]
    assert abs(values[3] - 0.8) < abs(less[3] - 0.8) / 2
    assert agent.front(dict(zip(names, features, strict=True)), context=[0.5]).arms[0] == "arm 3"


def assert_equal_states(agent: mogro.Agent, other: mogro.Agent) -> None:
    np.testing.assert_array_equal(other.theta, agent.theta)
    mine, theirs = agent._state.learner.effects, other._state.learner.effects
    assert mine is not None
    assert theirs is not None
    assert mine.sums.keys() == theirs.sums.keys()
    for arm, sums in mine.sums.items():
        np.testing.assert_array_equal(sums, theirs.sums[arm])
    np.testing.assert_array_equal(mine.ratios, theirs.ratios)
    assert other._state.pending_by_arm == agent._state.pending_by_arm


@pytest.mark.parametrize("retention", mostly_slow([None, 90.0]))
def test_replay_and_files_give_the_state_to_the_bit(
    tmp_path: Path, retention: float | None
) -> None:
    path = tmp_path / "agent.db"
    agent = hits_agent(path, retention=retention)
    live(agent, 150)
    agent.save(tmp_path / "agent.npz")
    loaded = mogro.Agent.load(tmp_path / "agent.npz", clock=None)
    opened = mogro.Agent.open(path, clock=None)
    for other in (opened, loaded):
        assert_equal_states(agent, other)
    opened.close()
    agent.close()


def void_some(agent: mogro.Agent, position: int) -> None:
    """Void an event, if it is one that can be."""
    try:
        agent.void(position)
    except ValueError as error:
        assert str(error).startswith("position: expected")  # noqa: PT017


@pytest.mark.parametrize("seed", mostly_slow(range(8)))
def test_a_random_life_is_replayed_to_the_bit(tmp_path: Path, seed: int) -> None:
    """Conditions, late and revised values, withdrawals, erasures, voids, other objectives."""
    objectives = [
        mogro.Objective("click", window=5.0, default=0.0),
        mogro.Objective("dwell", given="click", window=15.0, revise="last"),
        mogro.Objective("stars"),
    ]
    path, rng = tmp_path / "agent.db", np.random.default_rng(seed)
    agent = mogro.Agent.open(
        path, objectives, arms=2, seed=seed, arm_effects=True, clock=None, epsilon=0.3
    )
    arms = {f"arm {k}": rng.standard_normal(2) for k in range(6)}
    ids: list[str] = []
    for t in range(120):
        now, kind = float(t), rng.integers(12)
        if kind < 5 or not ids:
            many = 1 + int(kind == 0)
            ids += [each.id for each in agent.decide_top(arms, top=many, now=now)]
            continue
        id = ids[-1 - int(rng.integers(min(len(ids), 25)))]
        name = ["click", "dwell", "stars"][int(rng.integers(3))]
        with suppress(ConflictingReward, UnknownDecision):
            if kind < 10:
                agent.reward(id, {name: float(rng.integers(2))}, now=now)
            elif kind == 10:
                agent.withdraw(id, now=now)
            elif seed % 2:
                void_some(agent, int(rng.integers(1, agent._state.position)))
            else:
                agent.erase(id)
    if seed % 2:
        agent.reconfigure(objectives=[*objectives[:2], mogro.Objective("sale")])
    opened = mogro.Agent.open(path, clock=None)
    assert_equal_states(agent, opened)
    opened.close()
    agent.close()


@pytest.mark.parametrize("budgets", [[], [mogro.Budget("click", at_most=0.4)]])
def test_a_journal_knows_the_probabilities(tmp_path: Path, budgets: list[mogro.Budget]) -> None:
    agent = hits_agent(tmp_path / "agent.db", policy=None, budgets=budgets)
    live(agent, 60)
    features = {f"arm {k}": [k / 4] for k in range(8)}
    for t in range(60, 80):
        decision = agent.decide(features, context=[0.3], now=float(t))
        again = agent.decision(decision.id).decision
        assert again.propensity == pytest.approx(decision.propensity, abs=1e-12)
        if not decision.exploring:
            np.testing.assert_allclose(
                again.propensities.values, decision.propensities.values, atol=1e-12
            )
    agent.close()


def test_a_journal_tells_arms_with_the_same_features_apart(tmp_path: Path) -> None:
    agent = hits_agent(tmp_path / "agent.db")
    twins, rng = {"miss": [0.5], "hit": [0.5], "other": [0.1]}, np.random.default_rng(0)
    for t in range(40):
        decision = agent.decide(twins, context=[float(rng.random())], now=float(t))
        again = agent.decision(decision.id).decision
        assert again.propensity == pytest.approx(decision.propensity, abs=1e-12)
        values = {"click": float(decision.arm == "hit"), "sale": float(rng.random())}
        agent.reward(decision.id, values, now=float(t))
    agent.close()


def test_what_is_in_flight_counts() -> None:
    agent = hits_agent()
    live(agent, 40)
    effects = agent._state.learner.effects
    assert effects is not None
    theta = agent._state.learner.theta
    alone, waiting = (effects.columns(["arm 1"], theta, each)[0] for each in ({}, {"arm 1": 9}))
    np.testing.assert_array_equal(alone[:4], waiting[:4])
    total = 1 / alone[4:] ** 2
    np.testing.assert_allclose(1 / waiting[4:] ** 2, total + 9)


def test_decisions_in_flight_count_from_when_arms_have_effects() -> None:
    agent = mogro.Agent([mogro.Objective("sale")], arms=1, seed=0)
    arms = {"a": [0.0], "b": [1.0]}
    ids = [agent.decide(arms, eligible=[n % 3 > 0, n % 3 == 0]).id for n in range(4)]
    agent.reconfigure(arm_effects=True)
    assert agent._state.pending_by_arm == {"a": 2, "b": 2}
    agent.reward(ids[1], {"sale": 1.0})
    agent.decide({"c": [0.0]})
    assert agent._state.pending_by_arm == {"a": 1, "b": 2, "c": 1}
    agent.reconfigure(arm_effects=False)
    agent.withdraw(ids[0])
    agent.reconfigure(arm_effects=True)
    assert agent._state.pending_by_arm == {"a": 1, "b": 1, "c": 1}


def test_it_is_learned_again_by_another_configuration() -> None:
    agent = hits_agent(arm_effects=False)
    live(agent, 100)
    agent.reconfigure(arm_effects=True, prior=mogro.priors.Learned())
    effects = agent._state.learner.effects
    assert effects is not None
    counted = sum(sums[0, 0] for sums in effects.sums.values())
    assert counted == agent._state.learner.observation_weights[0] == 100


def test_effects_of_arms_that_nobody_remembers_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mogro.agent.state.state._SPARE_ARMS", 4)
    agent = mogro.Agent(
        [mogro.Objective("click")],
        arms=1,
        seed=0,
        arm_effects=True,
        retention=mogro.Retention(decisions=3),
    )
    for k in range(40):
        decision = agent.decide({f"arm {k}": [1.0]})
        agent.reward(decision.id, {"click": 1.0})
    effects = agent._state.learner.effects
    assert effects is not None
    assert len(effects.sums) <= 10
    assert "arm 39" in effects.sums
    with pytest.raises(ValueError, match="arm_effects: expected all decisions to learn again"):
        agent.reconfigure(arms=2)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ValueError, match="arm_effects: expected no half_life"):
        hits_agent(half_life=mogro.HalfLife(updates=9.0))
    with pytest.raises(ValueError, match="arm_effects: expected a prior that is learned"):
        hits_agent(prior=mogro.priors.Flat())
    policy = partial(mogro.MOGRO, threshold=3.0)  # errors of effects would never be below it
    with pytest.raises(ValueError, match="arm_effects: expected no threshold, got 3"):
        hits_agent(policy=policy, prior=Learned())
    agent = hits_agent()
    with pytest.raises(ValueError, match="arm_effects: expected no threshold, got 3"):
        agent.reconfigure(policy=policy, now=0.0)
    with pytest.raises(ValueError, match="confidence: expected an agent without arm_effects"):
        agent.front({"a": [1.0]}, context=[0.0], confidence=0.9, noise=1.0)

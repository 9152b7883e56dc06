"""Subjects who are held out: who they are, what they get, what the log says, and the lift."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from tests.properties import mostly_slow

from mogro import Agent, Objective
from mogro.agent.lift import measure_lift
from mogro.evaluation import evaluate, lift

ARMS = {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0], "c": [0.0, 0.0, 1.0]}
RATES = {"a": 0.2, "b": 0.5, "c": 0.3}
CLICK = [Objective("click")]


@dataclass(frozen=True)
class Last:
    """Names the last arm."""

    def __call__(
        self, arms: tuple[str, ...], features: np.ndarray, context: np.ndarray | None
    ) -> str:
        assert features.shape[0] == len(arms)
        return arms[-1]


@pytest.mark.slow
def test_a_share_of_subjects_is_held_out_for_good() -> None:
    agent = Agent(CLICK, arms=3, seed=3, holdout=0.2)
    first = {n: agent.decide(ARMS, subject=f"user {n}").holdout for n in range(1500)}
    assert binomtest(sum(first.values()), 1500, 0.2).pvalue > 1e-4
    for n in range(0, 1500, 7):
        assert agent.decide(ARMS, subject=f"user {n}").holdout == first[n]
    other = Agent(CLICK, arms=3, seed=4, holdout=0.2)
    assert [other.decide(ARMS, subject=f"user {n}").holdout for n in range(99)] != [
        first[n] for n in range(99)
    ]


def test_without_subjects_each_decision_has_its_own() -> None:
    agent = Agent(CLICK, arms=3, seed=3, holdout=0.5)
    held = [agent.decide(ARMS).holdout for _ in range(400)]
    assert binomtest(sum(held), 400, 0.5).pvalue > 1e-4


@pytest.mark.parametrize(
    ("baseline", "chances"),
    [
        (None, [1 / 3] * 3),
        ("b", [0.0, 1.0, 0.0]),
        ("gone", [1 / 3] * 3),
        (Last(), [0.0, 0.0, 1.0]),
    ],
)
def test_propensities_of_the_baseline_are_its_frequencies(
    baseline: object, chances: list[float], tmp_path: Path
) -> None:
    with Agent.open(
        tmp_path / "a.db",
        CLICK,
        arms=3,
        seed=0,
        holdout=1.0,
        baseline=baseline,  # type: ignore[arg-type]
    ) as agent:
        made = [agent.decide(ARMS, at_least={"click": 9.0}) for _ in range(300)]
        assert all(d.propensities.values.tolist() == pytest.approx(chances) for d in made)
        assert all(d.propensity == chances["abc".index(d.arm)] for d in made)
        for place, arm in enumerate("abc"):
            times = sum(d.arm == arm for d in made)
            assert binomtest(times, 300, chances[place]).pvalue > 1e-4
        table = agent.log()
        assert table["propensity"].to_pylist() == [d.propensity for d in made]
        assert set(table["holdout"].to_pylist()) == {True}
        assert agent.decision(made[0].id).decision.propensity == made[0].propensity
        assert "baseline" in str(agent.explain(made[0]))


def test_files_and_journals_go_on_to_the_bit(tmp_path: Path) -> None:
    options = {"arms": 3, "seed": 5, "holdout": 0.4, "baseline": Last()}
    agent = Agent(CLICK, **options)  # type: ignore[arg-type]
    with Agent.open(tmp_path / "a.db", CLICK, **options) as kept:  # type: ignore[arg-type]
        for n in range(60):
            for each in (agent, kept):
                decision = each.decide(ARMS, subject=f"user {n % 20}")
                each.reward(decision.id, {"click": float(n % 3 == 0)})
    agent.save(tmp_path / "agent")
    with pytest.raises(ValueError, match="Last"):
        Agent.load(tmp_path / "agent")
    loaded = Agent.load(tmp_path / "agent", types=[Last])
    with Agent.open(tmp_path / "a.db", types=[Last]) as opened:
        for n in range(60):
            arms = {
                (d.arm, d.holdout, d.event.subject)
                for d in (
                    each.decide(ARMS, subject=f"user {n}") for each in (agent, loaded, opened)
                )
            }
            assert len(arms) == 1
        assert opened.log()["subject"].to_pylist() == agent.log()["subject"].to_pylist()
    copy = Agent(CLICK, **options)  # type: ignore[arg-type]
    copy.learn(agent.log())
    for name in ("subject", "holdout", "arm", "reward_click"):
        assert copy.log()[name].to_pylist() == agent.log()[name].to_pylist()


def test_one_subject_has_all_of_a_group() -> None:
    agent = Agent(CLICK, arms=3, seed=0, holdout=0.5, baseline="c")
    for n in range(40):
        group = agent.decide_top(ARMS, top=3, at_least={"click": -9.0})
        assert len({d.holdout for d in group}) == 1
        assert {d.arm for d in group} == set("abc")
        assert not group[0].holdout or group[0].arm == "c"
        again = agent.decide_top(ARMS, top=2, subject=f"user {n}")
        assert {d.holdout for d in again} == {agent.decide(ARMS, subject=f"user {n}").holdout}


def test_sticky_choices_follow_from_the_subject() -> None:
    agent = Agent(CLICK, arms=3, seed=0, epsilon=1.0)
    first = [agent.decide(ARMS, subject=f"user {n}", sticky=True) for n in range(300)]
    again = [agent.decide(ARMS, subject=f"user {n}", sticky=True) for n in range(300)]
    assert [d.arm for d in first] == [d.arm for d in again]
    loose = [agent.decide(ARMS, subject=f"user {n}").arm for n in range(300)]
    assert loose != [d.arm for d in first]
    for arm in ARMS:
        assert binomtest(sum(d.arm == arm for d in first), 300, 1 / 3).pvalue > 1e-4
    assert first[0].propensity == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"holdout": 1.5}, "holdout: expected"),
        ({"baseline": 3}, "baseline: expected the id of an arm"),
        ({"baseline": lambda arms, features, context: "a"}, "baseline: expected one that can be"),
    ],
)
def test_refused_settings(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Agent(CLICK, arms=3, seed=0, **options)  # type: ignore[arg-type]


def test_refused_calls_leave_nothing() -> None:
    agent = Agent(CLICK, arms=3, seed=0)
    for call, words in (
        ({"subject": 7}, "subject: expected a string"),
        ({"subject": ""}, "subject: expected a string"),
        ({"sticky": True}, "subject: expected one, because"),
    ):
        with pytest.raises(ValueError, match=words):
            agent.decide(ARMS, **call)
    assert agent.counters["decisions"] == 0


@pytest.mark.slow
def test_rows_of_a_baseline_that_draws_nothing_do_not_judge_others(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with Agent.open(
        tmp_path / "a.db", CLICK, arms=3, seed=0, holdout=0.2, baseline="a", epsilon=0.5
    ) as agent:
        for _ in range(400):
            decision = agent.decide(ARMS)
            agent.reward(decision.id, {"click": float(rng.random() < RATES[decision.arm])})
        evaluation = evaluate(agent, {"click": 1})
        held = sum(agent.log()["holdout"].to_pylist())
        assert evaluation.rows == 400 - held
        assert f"{held} rows of a baseline" in str(evaluation)
        rows = agent.log().select(["holdout", "reward_click"]).to_pylist()
        first = [row["holdout"] for row in rows].index(True) + 1
        measured = lift(agent)[0]
        for part, held_out in ((measured.agent, False), (measured.baseline, True)):
            clicks = [row["reward_click"] for row in rows[first:] if row["holdout"] == held_out]
            assert part.value == pytest.approx(np.mean(clicks))
        assert measured.difference.value == measured.agent.value - measured.baseline.value
    with pytest.raises(ValueError, match="holdout="):
        lift(Agent(CLICK, arms=3, seed=0))


@pytest.mark.parametrize("kind", mostly_slow(["heavy users", "even", "rare", "money"]))
def test_intervals_of_the_lift_cover(kind: str) -> None:
    """Of 95 %, by subjects who resemble themselves; 400 worlds, standard error 1.1 %."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        count = 1 + rng.poisson(4, 600) if kind != "heavy users" else 1 + rng.geometric(0.1, 600)
        held = np.repeat(rng.random(600) < 0.2, count)
        taste = np.repeat(rng.beta(*((0.2, 19.8) if kind == "rare" else (1.0, 4.0)), 600), count)
        truth = 0.5 * taste.mean() if kind != "money" else 2.0
        if kind == "money":
            taste_of = np.repeat(rng.gamma(0.5, 8.0, 600), count)
            rewards = taste_of * rng.random(len(held)) + 2.0 * ~held
        else:
            truth = 0.5 * (0.01 if kind == "rare" else 0.2)
            rewards = (rng.random(len(held)) < taste * np.where(held, 0.5, 1.0)).astype(float)
        subjects = np.repeat(np.arange(600), count)
        difference = measure_lift("click", rewards, held, subjects).difference
        hits += difference.low <= truth <= difference.high
    assert 0.92 <= hits / 400 <= 0.985

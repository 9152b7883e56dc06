import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mogro

OBJECTIVES = [mogro.Objective("a"), mogro.Objective("b", window=1e9)]
FEATURES = np.random.default_rng(0).standard_normal((40, 4))
IDS = [str(k) for k in range(40)]
TRUTH = FEATURES @ np.random.default_rng(1).standard_normal((4, 2))


def together(*works: Callable[[], None]) -> None:
    """Run functions in threads at once, and raise what any of them raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        start.wait()
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.slow
def test_many_threads_leave_what_one_would_leave(tmp_path: Path) -> None:
    flat = mogro.priors.Flat()  # estimates are least squares
    agent = mogro.Agent(OBJECTIVES, arms=4, seed=0, prior=flat)
    seen: list[list[tuple[str, int]]] = [[] for _ in range(4)]

    def work(number: int) -> None:
        for n in range(150):
            decision = agent.decide(IDS, FEATURES, now=float(n))
            arm = int(decision.arm)
            seen[number].append((decision.id, arm))
            agent.reward(decision.id, {"a": TRUTH[arm, 0]}, now=float(n))
            agent.reward(decision.id, {"b": TRUTH[arm, 1]}, now=float(n))
            _ = agent.theta, decision.propensity

    def save() -> None:
        for _ in range(20):
            agent.save(tmp_path / "agent")
            loaded = mogro.Agent.load(tmp_path / "agent")
            assert loaded.counters["decisions"] >= loaded.counters["learned"] / 2

    together(*(lambda number=number: work(number) for number in range(4)), save)
    ids = [id for part in seen for id, _ in part]
    assert len(set(ids)) == len(ids) == 600
    assert agent.counters["learned"] == 1200
    assert agent.counters["pending"] == 0
    arms = [arm for part in seen for _, arm in part]
    expected = np.linalg.lstsq(FEATURES[arms], TRUTH[arms], rcond=None)[0].T
    assert agent.theta == pytest.approx(expected, abs=1e-9)


def test_one_id_is_decided_once_however_many_ask_at_once() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=4, seed=0)
    answers: list[list[str]] = [[] for _ in range(4)]

    def ask(number: int) -> None:
        rng = np.random.default_rng(number)
        for n in range(200):
            mine = rng.permutation(40)[:10]  # not even the arms are the same
            arms = {IDS[k]: FEATURES[k] for k in mine}
            answers[number].append(agent.decide(arms, id=str(n), now=0.0).arm)

    together(*(lambda number=number: ask(number) for number in range(4)))
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert agent.counters["decisions"] == 200


def test_a_reward_is_learned_once_however_many_bring_it() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=4, seed=0)
    for n in range(200):
        agent.decide(IDS, FEATURES, id=str(n), now=0.0)
    learned = [0] * 4

    def bring(number: int) -> None:
        for n in range(200):
            learned[number] += agent.reward(str(n), {"a": 1.0, "b": 2.0}, now=0.0).learned

    together(*(lambda number=number: bring(number) for number in range(4)))
    assert sum(learned) == 400
    assert agent.observations == {"a": 200.0, "b": 200.0}


def test_exploring_decisions_see_each_other() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=4, seed=0)
    arms: list[str] = []

    def explore() -> None:
        arms.append(agent.decide(list("wxyz"), np.eye(4), now=0.0).arm)

    together(*(explore for _ in range(4)))
    assert sorted(arms) == list("wxyz")

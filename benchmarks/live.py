"""What a live decision costs: time against MOGRO, memory of pending decisions, large catalogues.

Run with ``python benchmarks/live.py``. Times are the least of several turns in the same run, since
a shared machine only ever adds time; memory is what the process holds beyond what it held before.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import tempfile
import time
import uuid
from collections.abc import Callable

import numpy as np

import mogro
from mogro.agent.features.feature_map import FeatureMap

NAMES = ("click", "watch", "stars")
OBJECTIVES = [mogro.Objective(name) for name in NAMES]


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def decision_and_reward(*, rounds: int = 40, turns: int = 300) -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((100, 20))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    rewards = features @ rng.standard_normal((20, 3)) + 0.1 * rng.standard_normal((100, 3))
    reward_dicts = [dict(zip(NAMES, row, strict=True)) for row in rewards.tolist()]
    ids = [f"arm {k}" for k in range(100)]
    index = {name: k for k, name in enumerate(ids)}
    policy = mogro.MOGRO(20, 3)
    agent = mogro.Agent(OBJECTIVES, arms=20, seed=0)
    names = iter([str(uuid.UUID(int=n)) for n in range((turns + 5) * rounds)])

    def bare() -> None:
        for _ in range(rounds):
            arm = policy.select(features, rng=rng)
            policy.update(features[arm], rewards[arm])

    def live() -> None:
        for _ in range(rounds):
            decision = agent.decide(ids, features, id=next(names))
            agent.reward(decision.id, reward_dicts[index[decision.arm]])

    for _ in range(3):
        bare()
        live()
    times = np.array([(seconds(bare), seconds(live)) for _ in range(turns)]).min(axis=0) / rounds
    print(
        f"decide + full reward, d=20, M=3, K=100: {1e6 * times[1]:.0f} us, "
        f"{times[1] / times[0]:.2f} times MOGRO's select + update ({1e6 * times[0]:.0f} us)"
    )


def held() -> float:
    """Megabytes that this process holds now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def pending(*, decisions: int = 1_000_000) -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((10, 20))
    ids = [f"arm {k}" for k in range(10)]
    agent = mogro.Agent(OBJECTIVES, arms=20, seed=0)
    before = held()
    for n in range(decisions):
        agent.decide(ids, features, id=str(uuid.UUID(int=n)))
    print(
        f"{decisions:,} pending decisions, d=20, M=3, ids of 36 characters: "
        f"{held() - before:.0f} MB (bar: 500)"
    )
    path = os.path.join(tempfile.mkdtemp(), "agent")
    start = time.perf_counter()
    agent.save(path)
    saved = time.perf_counter()
    mogro.Agent.load(path)
    size = os.path.getsize(path) / 1e6
    print(
        f"  saved in {saved - start:.1f} s, loaded in {time.perf_counter() - saved:.1f} s, "
        f"{size:.0f} MB"
    )
    os.unlink(path)


def catalogue(*, arms: int = 1_000_000, dim: int = 32) -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((arms, dim), dtype=np.float32)
    shop = mogro.Catalogue(dim, dtype=np.float32)
    shop.add([str(k) for k in range(arms)], features)
    agent = mogro.Agent(OBJECTIVES, arms=dim, seed=0)
    slopes = rng.standard_normal((3, dim))
    start = time.perf_counter()
    explored = 0
    while True:
        decision = agent.decide(shop)
        if not decision.exploring:
            break
        explored += 1
        values = slopes @ features[int(decision.arm)]
        agent.reward(decision.id, dict(zip(NAMES, values.tolist(), strict=True)))
    each = (time.perf_counter() - start) / max(explored, 1)
    direction = rng.standard_normal(dim).astype(np.float32)
    times = [(seconds(lambda: features @ direction), seconds(lambda: agent.decide(shop)))
             for _ in range(30)]  # fmt: skip
    bare, live = np.array(times).min(axis=0)
    print(
        f"catalogue of {arms:,} arms, d={dim}, float32: {1e3 * live:.1f} ms a decision, "
        f"{live / bare:.2f} times the bare product ({1e3 * bare:.1f} ms); "
        f"the {explored} decisions to explore took {each:.2f} s each"
    )


def context(*, rounds: int = 20, turns: int = 60) -> None:
    """A context beside 200 arms, against an agent that is given the products."""
    rng = np.random.default_rng(0)
    both, ids = FeatureMap(8, 6), [f"arm {k}" for k in range(200)]
    arms, contexts = rng.standard_normal((200, 8)) / 3, rng.standard_normal((500, 6)) / 3
    arms_in_contexts = [both.in_context(one).learner_features(arms)[:, 1:] for one in contexts]
    truth = rng.standard_normal((3, both.learner_dim - 1))
    agents = (
        mogro.Agent(OBJECTIVES, arms=8, context=6, seed=0),
        mogro.Agent(OBJECTIVES, arms=both.learner_dim - 1, seed=0),
    )
    index = {name: k for k, name in enumerate(ids)}

    def round_of(agent: mogro.Agent, n: int) -> None:
        if agent is agents[0]:
            decision = agent.decide(ids, arms, context=contexts[n])
        else:
            decision = agent.decide(ids, arms_in_contexts[n])
        values = truth @ arms_in_contexts[n][index[decision.arm]]
        agent.reward(decision.id, dict(zip(NAMES, values.tolist(), strict=True)))

    def some(agent: mogro.Agent) -> None:
        for n in rng.integers(500, size=rounds).tolist():
            round_of(agent, n)

    def products() -> None:
        for n in range(rounds):
            both.in_context(contexts[n]).learner_features(arms)

    for _ in range(40):  # until there is nothing to explore
        for agent in agents:
            some(agent)
    steps = [lambda: some(agents[0]), lambda: some(agents[1]), products]
    times = np.array([[seconds(step) for step in steps] for _ in range(turns)])
    low = np.quantile(times, 0.25, axis=0) / rounds
    print(
        f"decide + reward in a context, A=8, C=6, K=200: {1e6 * low[0]:.0f} us, "
        f"{low[0] / low[1]:.2f} times an agent with dim=63 ({1e6 * low[1]:.0f} us), which has to "
        f"be given the products ({1e6 * low[2]:.0f} us)"
    )


def context_and_catalogue(*, turns: int = 200) -> None:
    """A context beside 100,000 arms, against the bare product of the arms with a vector."""
    rng = np.random.default_rng(0)
    both = FeatureMap(16, 8)
    features, contexts = rng.standard_normal((100_000, 16)) / 4, rng.standard_normal((999, 8)) / 3
    shop = mogro.Catalogue(16)
    shop.add([str(k) for k in range(len(features))], features)
    agent = mogro.Agent(OBJECTIVES, arms=16, context=8, seed=0)
    truth, few = rng.standard_normal((3, both.learner_dim)), [str(k) for k in range(40)]
    for one in contexts:  # until there is nothing to explore
        arms = features[rng.integers(len(features), size=40)]
        decision = agent.decide(few, arms, context=one)
        values = truth @ both.in_context(one).learner_features(arms[int(decision.arm)])
        agent.reward(decision.id, dict(zip(NAMES, values.tolist(), strict=True)))
    explored, times, vector = agent.counters["explored"], [], rng.standard_normal(16)
    for n in range(turns + 30):
        start = time.process_time()
        decision = agent.decide(shop, context=contexts[n])
        elapsed = time.process_time() - start
        agent.reward(decision.id, dict.fromkeys(NAMES, 1.0))
        times.append((elapsed, seconds(lambda: features @ vector)))
    low = np.quantile(np.array(times[30:]), 0.25, axis=0)
    print(
        f"decide in a context, A=16, C=8, K=100,000: {1e3 * low[0]:.2f} ms, "
        f"{low[0] / low[1]:.2f} times the bare product ({1e3 * low[1]:.2f} ms); "
        f"{agent.counters['explored'] - explored} of them explored"
    )


if __name__ == "__main__":
    decision_and_reward()
    context()
    context_and_catalogue()
    catalogue()
    pending()

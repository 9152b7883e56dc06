"""Processes that share a file: one order of events, one state, no errors."""

import json
from pathlib import Path

from tests.agent.journal.worlds import ARMS, in_memory, in_processes, opened, saved

import mogro


def traffic(shop: str, folder: Path, worker: int, rounds: int) -> None:
    """Decide and reward, some of it about the same ids as the other workers; note what came."""
    made, kept = [], []
    with opened(shop) as agent:
        for n in range(rounds):
            own = agent.decide(ARMS, now=float(n))
            agent.reward(own.id, {"click": float(n % 2)}, now=float(n))
            shared = agent.decide(dict(reversed(ARMS.items())), id=f"shared {n}", now=float(n))
            made.append([own.id, shared.arm])
            try:
                agent.reward(shared.id, {"click": float(worker)}, now=float(n))
                kept.append(n)
            except mogro.errors.ConflictingReward:
                pass
    (folder / f"made {worker}").write_text(json.dumps([made, kept]))


def open_at_once(shop: str, worker: int) -> None:
    with opened(shop) as agent:
        agent.decide(ARMS, id=str(worker), now=0.0)


def test_eight_processes_share_a_file(tmp_path: Path, shop: str) -> None:
    rounds = 12
    in_processes(traffic, *((shop, tmp_path, worker, rounds) for worker in range(8)))
    told = [json.loads((tmp_path / f"made {worker}").read_text()) for worker in range(8)]
    own = [id for made, _ in told for id, _ in made]
    assert len(set(own)) == len(own) == 8 * rounds  # ids that are made up
    for n in range(rounds):
        assert len({made[n][1] for made, _ in told}) == 1  # one decision for one id
        assert sum(n in kept for _, kept in told) == 1  # of conflicting rewards the first counts
    with mogro.Agent.open(shop) as agent:
        assert agent.counters["decisions"] == 9 * rounds
        assert agent.counters["learned"] == 9 * rounds


def test_processes_that_create_it_at_once(shop: str) -> None:
    in_processes(open_at_once, *((shop, worker) for worker in range(6)))
    with mogro.Agent.open(shop) as agent:
        assert agent.counters["decisions"] == 6


def save_at_the_end(shop: str, folder: Path, worker: int, rounds: int) -> None:
    """Learn beside others; when all have done so, save what this process has come to know."""
    with opened(shop) as agent:
        for n in range(rounds):
            decision = agent.decide(ARMS, id=f"{worker} {n}", now=float(n))
            _ = agent.theta if (n + worker) % 3 else agent.counters  # looking changes nothing
            agent.reward(decision.id, {"click": worker + n / 7}, now=float(n))
        agent.decide(ARMS, id=f"{worker} done", now=float(rounds))
        while agent.counters["decisions"] < 4 * (rounds + 1):
            pass
        agent.save(folder / f"saved {worker}")


def test_all_know_the_same_when_traffic_stops(tmp_path: Path, shop: str) -> None:
    in_processes(save_at_the_end, *((shop, tmp_path, worker, 20) for worker in range(4)))
    contents = {(tmp_path / f"saved {worker}").read_bytes() for worker in range(4)}
    with mogro.Agent.open(shop) as agent:
        contents.add(saved(agent, tmp_path / "again"))
    assert len(contents) == 1


def explore(shop: str) -> None:
    with opened(shop, prior=mogro.priors.Flat()) as agent:
        for _ in range(10):
            agent.decide(ARMS, now=0.0)


def test_several_processes_explore_no_more_than_one(shop: str) -> None:
    """Each decision knows what the others have in flight."""
    in_processes(explore, *((shop,) for _ in range(4)))
    alone = in_memory(prior=mogro.priors.Flat())
    for _ in range(40):
        alone.decide(ARMS, now=0.0)
    with mogro.Agent.open(shop) as agent:
        assert agent.counters == alone.counters
        assert 0 < agent.counters["explored"] < 40

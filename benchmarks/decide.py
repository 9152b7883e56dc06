"""Decide and learn, one decision at a time: mogro against its peers."""

import time
from collections.abc import Iterator
from itertools import cycle

import numpy as np

import mogro
from benchmarks import live
from benchmarks.common import Line, Step, Times, duration, race, ratio, typical, unit_rows
from benchmarks.peers import GREEDY, OPTIMIST, PARSED, PEERS, THOMPSON, Peer

SECTION = "decide"
DIM, OBJECTIVES = 20, 3
ARMS = (10, 100, 1000, 10_000)
AGENT, ONLINE = "mogro.Agent", "MOGRO-RW"
OURS = {GREEDY: ONLINE, OPTIMIST: "UCB", THOMPSON: "ThompsonSampling"}
_WARM_UP = 500  # rounds before anything is timed: exploration is over


def policy_round(
    policy: mogro.MOGRO | mogro.UCB | mogro.ThompsonSampling,
    features: np.ndarray,
    rewards: np.ndarray,
) -> Step:
    """Return a round of a policy of mogro, with its first rounds played."""
    rng = np.random.default_rng(0)
    values = cycle(rewards)

    def step() -> None:
        arm = policy.select(features, rng=rng)
        policy.update(features[arm], next(values))

    for _ in range(_WARM_UP):
        step()
    return step


def agent_round(features: np.ndarray, rewards: np.ndarray) -> Step:
    """Return a decision of an agent and its reward, everything booked under an id."""
    agent = mogro.Agent(live.OBJECTIVES, arms=features.shape[1], seed=0)
    arms = [f"arm {k}" for k in range(len(features))]
    values = cycle([dict(zip(live.NAMES, row, strict=True)) for row in rewards.tolist()])

    def step() -> None:
        agent.reward(agent.decide(arms, features).id, next(values))

    for _ in range(_WARM_UP):
        step()
    return step


def contestants(arms: int, rng: np.random.Generator) -> tuple[dict[str, Step], dict[str, str]]:
    """Return everybody's round, and why some cannot take part."""
    features = unit_rows(rng, arms, DIM)
    rewards = rng.standard_normal((1000, OBJECTIVES))
    optimist = mogro.UCB(DIM, OBJECTIVES, noise=0.1, delta=0.001)
    sampler = mogro.ThompsonSampling(DIM, OBJECTIVES, noise=0.1, delta=0.001)
    steps: dict[str, Step] = {
        ONLINE: policy_round(mogro.MOGRO(DIM, OBJECTIVES), features, rewards),
        AGENT: agent_round(features, rewards),
        OURS[OPTIMIST]: policy_round(optimist, features, rewards),
        OURS[THOMPSON]: policy_round(sampler, features, rewards),
    }
    absent = {}
    for peer in PEERS:
        try:
            steps[peer.name] = peer.make(features, rewards[:, 0].copy())
            _warm(steps[peer.name])
        except Exception as error:  # a peer may fail in any way: the table says so
            steps.pop(peer.name, None)
            absent[peer.name] = f"{type(error).__name__}: {error}".splitlines()[0][:80]
    return steps, absent


def _warm(step: Step, *, most: float = 0.5) -> None:
    """Play first rounds, as many as ours or for some seconds."""
    start = time.process_time()
    for _ in range(_WARM_UP):
        step()
        if time.process_time() - start > most:
            return


def lines() -> Iterator[Line]:
    """Measure."""
    rng = np.random.default_rng(0)
    for arms in ARMS:
        steps, absent = contestants(arms, rng)
        times = race(steps, repeats=25, budget=0.6 if arms < 1000 else 1.2)
        yield Line(
            SECTION,
            ratio(times[AGENT], times[ONLINE]),
            f"{AGENT} / {ONLINE}",
            _setting(arms),
            _figures(times, AGENT, ONLINE),
            note="ids, books, checks, locks",
        )
        yield from _against_peers(arms, times, absent)


def _against_peers(arms: int, times: Times, absent: dict[str, str]) -> Iterator[Line]:
    present = [peer for peer in PEERS if peer.name in times]
    for peer in PEERS:
        ours = OURS[peer.kind]
        if peer.name in absent:
            yield Line(
                SECTION, None, f"{peer.name} / {ours}", _setting(arms), note=absent[peer.name]
            )
            continue
        bar, least = "", 0.0
        if peer.kind != GREEDY and peer.policy and arms >= 100:
            bar, least = "> 1", 1.0
        elif peer.kind != GREEDY and arms >= 1000:  # an estimator by hand: a quarter slower at most
            bar, least = "> 0.8", 0.8
        slower = ratio(times[peer.name], times[ours])
        yield Line(
            SECTION,
            slower,
            f"{peer.name} / {ours}",
            _setting(arms),
            _figures(times, peer.name, ours),
            bar=bar,
            met=slower.value > least if bar else None,
            note=peer.learns if peer.policy else f"{peer.learns}, its estimator by hand, no policy",
        )
    policies = [peer for peer in present if peer.policy]
    yield _bar(arms, times, "fastest policy of a peer", policies)
    taking = [peer for peer in policies if peer.learns != PARSED]
    yield _bar(arms, times, "fastest policy of a peer, arms may change", taking)


def _bar(arms: int, times: Times, title: str, peers: list[Peer]) -> Line:
    fastest = min(peers, key=lambda peer: typical(times[peer.name])).name
    least = 2.0 if arms < 100 else 5.0
    slower = ratio(times[fastest], times[ONLINE])
    return Line(
        SECTION,
        slower,
        f"{title} / {ONLINE}",
        _setting(arms),
        _figures(times, fastest, ONLINE),
        bar=f">= {least:g}",
        met=slower.value >= least,
        note=fastest,
    )


def _setting(arms: int) -> str:
    return f"K = {arms:,}"


def _figures(times: Times, above: str, below: str) -> str:
    return f"{duration(typical(times[above]))} / {duration(typical(times[below]))}"

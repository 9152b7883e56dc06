"""Whether agents choose arms as often as their propensities say: chi-square tests.

Every policy with every selection, for two and four objectives: plainly, among eligible arms, with
constraints, the second of two, and with a share of uniform draws.

    python -m benchmarks.frequencies          # 1,500 ids a case, some minutes
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

import mogro
from mogro import (
    FixedWeights,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
)
from mogro.agent import Decision
from mogro.scalarization import Scalarization
from mogro.selection import EffectiveFront, ParetoFront

ARMS = [str(k) for k in range(12)]
FEATURES = np.random.default_rng(0).standard_normal((len(ARMS), 3))
SAMPLE = 24  # decisions of a kind whose propensities are asked for
IDS = 1500
Ask = Callable[[mogro.Agent, int], Decision]


class Case(NamedTuple):
    """A policy, a number of objectives, and what an agent is asked."""

    policy: str
    objectives: int
    request: str


class Verdict(NamedTuple):
    """How likely frequencies like these are, and the smallest propensity of an arm chosen."""

    chance: float
    least: float


def _mogro(scalarization: Scalarization) -> Any:
    return partial(mogro.MOGRO, threshold=0.1, scalarization=scalarization)


def _confident(policy: Any, **settings: object) -> Any:
    return partial(policy, noise=0.3, delta=0.1, **settings)


POLICIES: dict[str, Callable[[int], Any]] = {
    "MOGRO, RandomWeights()": lambda _: _mogro(RandomWeights()),
    "MOGRO, RandomWeights(0.3)": lambda _: _mogro(RandomWeights(0.3)),
    "MOGRO, RandomChebyshev()": lambda _: _mogro(RandomChebyshev()),
    "MOGRO, RandomChebyshev(rho=0)": lambda _: _mogro(RandomChebyshev(rho=0.0)),
    "MOGRO, RandomHypervolume()": lambda _: _mogro(RandomHypervolume()),
    "MOGRO, RoundRobin()": lambda _: _mogro(RoundRobin()),
    "MOGRO, FixedWeights": lambda m: _mogro(FixedWeights([1 / m] * m)),
    "UCB, ParetoFront()": lambda _: _confident(mogro.UCB),
    "UCB, EffectiveFront()": lambda _: _confident(mogro.UCB, selection=EffectiveFront()),
    "UCB, RandomHypervolume()": lambda _: _confident(mogro.UCB, selection=RandomHypervolume()),
    "UCB, RandomWeights()": lambda _: _confident(mogro.UCB, selection=RandomWeights()),
    "ThompsonSampling": lambda _: _confident(mogro.ThompsonSampling),
    "ThompsonSampling, EffectiveFront()": lambda _: _confident(
        mogro.ThompsonSampling, selection=EffectiveFront()
    ),
    "ThompsonSampling, ParetoFront()": lambda _: _confident(
        mogro.ThompsonSampling, selection=ParetoFront()
    ),
    "ThompsonSampling, RandomChebyshev()": lambda _: _confident(
        mogro.ThompsonSampling, selection=RandomChebyshev()
    ),
    "EpsilonGreedy": lambda _: partial(mogro.EpsilonGreedy, epsilon=0.2),
    "RandomArm": lambda _: mogro.RandomArm,
}


def _second(agent: mogro.Agent, number: int) -> Decision:
    return agent.decide_top(ARMS, FEATURES, id=f"{number}", top=2)[1]


def _plainly(agent: mogro.Agent, number: int, **options: Any) -> Decision:
    return agent.decide(ARMS, FEATURES, id=f"{number}", **options)


REQUESTS: dict[str, Ask] = {
    "plain": _plainly,
    "eligible": partial(_plainly, eligible=np.arange(len(ARMS)) % 3 > 0),
    "constraints": partial(_plainly, at_least={"m0": -0.5}, at_most={"m1": 1.0}),
    "second of two": _second,
    "epsilon": _plainly,
}


def taught(case: Case) -> mogro.Agent:
    """Return an agent that knows the arms somewhat."""
    rng = np.random.default_rng(case.objectives)
    names = [f"m{m}" for m in range(case.objectives)]
    truth = FEATURES @ rng.standard_normal((3, case.objectives))
    agent = mogro.Agent(
        [mogro.Objective(name) for name in names],
        arms=3,
        seed=5,
        policy=POLICIES[case.policy](case.objectives),
        epsilon=0.2 if case.request == "epsilon" else 0.0,
    )
    for n in range(60):
        decision = agent.decide(ARMS, FEATURES, id=f"taught {n}")
        noisy = truth[int(decision.arm)] + 0.3 * rng.standard_normal(case.objectives)
        agent.reward(decision.id, dict(zip(names, noisy.tolist(), strict=True)))
    return agent


def judge(case: Case, ids: int) -> Verdict:
    """Compare how often arms were chosen with their propensities.

    Those of decisions that differ by their id only are the same but for their estimation: some are
    asked, and averaged. Decisions differ by their place in a cycle of weights, or by the first arm
    of two.
    """
    agent, ask = taught(case), REQUESTS[case.request]
    kinds: dict[object, list[Decision]] = {}
    for number in range(ids):
        decision = ask(agent, number)
        kind: object = number % case.objectives
        if case.request == "second of two":
            kind = agent.decision(f"{number}").decision.arm, (2 * number) % case.objectives
        kinds.setdefault(kind, []).append(decision)
    all_decisions = [decision for decisions in kinds.values() for decision in decisions]
    arm_counts = Counter(decision.arm for decision in all_decisions)
    expected = dict.fromkeys(ARMS, 0.0)
    for decisions in kinds.values():
        propensities = [decision.propensities for decision in decisions[:SAMPLE]]
        for chances in propensities:
            for arm, value in zip(chances.arms, chances.values.tolist(), strict=True):
                expected[arm] += value * len(decisions) / len(propensities)
    rarest = {decision.arm: decision for decision in all_decisions}
    least = min(decision.propensity for decision in rarest.values())
    return Verdict(_chance([arm_counts[arm] for arm in ARMS], list(expected.values())), least)


def _chance(counts: list[int], expected: list[float]) -> float:
    """Return the p-value of a chi-square test; cells with few are one."""
    many = [k for k, value in enumerate(expected) if value >= 5]
    cells = [(counts[k], expected[k]) for k in many]
    pooled = sum(counts) - sum(cell[0] for cell in cells), sum(expected) - sum(c[1] for c in cells)
    if pooled[1] >= 1:
        cells.append(pooled)
    elif pooled[0] > 5 + 5 * pooled[1]:
        return 0.0
    if len(cells) < 2:
        return 1.0
    statistic = sum((count - value) ** 2 / value for count, value in cells)
    return float(chi2.sf(statistic, len(cells) - 1))


def cases() -> Iterator[Case]:
    """Give every combination."""
    for policy in POLICIES:
        for objectives in (2, 4):
            for request in REQUESTS:
                yield Case(policy, objectives, request)


def main() -> None:
    ids = int(sys.argv[1]) if len(sys.argv) > 1 else IDS
    verdicts = {case: judge(case, ids) for case in cases()}
    for case, verdict in sorted(verdicts.items(), key=lambda item: item[1].chance):
        print(f"{verdict.chance:9.2g} {verdict.least:9.2g}  {' / '.join(map(str, case))}")
    chances = np.array([verdict.chance for verdict in verdicts.values()])
    print(f"{len(chances)} cases; least p-value {chances.min():.2g}, mean {chances.mean():.2f};")
    print(f"least propensity of an arm chosen {min(v.least for v in verdicts.values()):.2g}")


if __name__ == "__main__":
    main()

"""Budgets on real prompts and in worlds where the best budgeted policy is known.

    python -m benchmarks.budgets FOLDER [part ...]

FOLDER holds the unpacked wheel of paretobandit 0.1.1. Parts are the functions in ``PARTS`` and
``WITHOUT_PROMPTS``, and ``processes``; each writes a file into ``out/budgets``. BUDGETS.md has what
was measured.
"""

import copy
import itertools
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

import mogro
from benchmarks.field.routing import MODELS, read_prompts
from mogro.agent import events
from mogro.agent.decision_inputs import DecisionInputs

OUT = Path("out", "budgets")
TARGETS = (2.9e-5, 3.5e-5, 8.3e-5, 2.3e-4, 6.6e-4, 1.9e-3, 5.3e-3, 1.5e-2)  # dollars a prompt
KNOWN, SIZE, BURST = 1785, 24, 20  # prompts for the warm start, features, decisions' worth
HALF_LIFE = 231  # observations: what the forgetting of paretobandit (0.997) comes to
PHASE = 608  # prompts of each of three phases, of which the second differs
CHANGED_TARGETS = (2.3e-4, 3.0e-4, 6.62e-4, 1.87e-3)  # the last three are those of paretobandit
CHEAP, BROKEN = 0.1 / 5.625, 0.75  # its factor of the dearest model's price, and bad quality
ORDERS = int(os.environ.get("ORDERS", "20"))
ARMS = np.eye(len(MODELS))
LIST = (2.9e-5, 5.0e-4, 1.5e-2)  # what a usual prompt costs, by the models' list prices
OBJECTIVES = [mogro.Objective("quality"), mogro.Objective("cost", direction="min", unit=0.001)]


class Prompts(NamedTuple):
    """Features (n, d), quality and cost in dollars (n, K) of every model."""

    features: np.ndarray
    quality: np.ndarray
    cost: np.ndarray


@cache
def read(folder: Path) -> Prompts:
    """Read all prompts; features are principal components of hashed words, whitened."""
    words, quality, cents = read_prompts(folder)
    return Prompts(words[:, :SIZE] / words[:, :SIZE].std(axis=0), quality, cents / 100)


def orders(prompts: Prompts) -> list[np.ndarray]:
    """Return the prompts of the test in different orders."""
    rng = np.random.default_rng(0)
    count = len(prompts.cost) - KNOWN
    return [KNOWN + rng.permutation(count) for _ in range(ORDERS)]


def new_agent(seed: int, half_life: float | None = None) -> mogro.Agent:
    """Return a router that knows nothing."""
    return mogro.Agent(
        OBJECTIVES,
        arms=len(MODELS),
        context=SIZE,
        seed=seed,
        retention=mogro.Retention(decisions=100),
        half_life=None if half_life is None else mogro.HalfLife(updates=half_life),
    )


def tell(agent: mogro.Agent, context: np.ndarray, model: int, values: dict[str, float]) -> None:
    """Let an agent know what came of a prompt, or what one costs."""
    agent.observe(MODELS, ARMS, arm=MODELS[model], context=context, rewards=values)


def warm_agent(prompts: Prompts, half_life: float | None = None) -> mogro.Agent:
    """Return a router that knows what all models made of other prompts."""
    agent = new_agent(0, half_life)
    for n in range(KNOWN):
        for k in range(len(MODELS)):
            values = {"quality": float(prompts.quality[n, k]), "cost": float(prompts.cost[n, k])}
            tell(agent, prompts.features[n], k, values)
    return agent


def told_agent(seed: int) -> mogro.Agent:
    """Return a router that knows the list prices, each as one observation."""
    agent = new_agent(seed)
    for k, price in enumerate(LIST):
        tell(agent, np.zeros(SIZE), k, {"cost": price})
    return agent


class Played(NamedTuple):
    """Quality, cost and model of every prompt, (T,) each, and the largest expected overdraft."""

    quality: np.ndarray
    cost: np.ndarray
    model: np.ndarray
    overdraft: float


Change = Callable[[np.ndarray, np.ndarray], None]  # what becomes of quality and cost, (K,) each


def play(
    agent: mogro.Agent,
    prompts: Prompts,
    order: np.ndarray,
    target: float,
    *,
    change: Change | None = None,
    delay: int = 0,
) -> Played:
    """Route prompts under a budget; weights are all on quality. The second phase may be changed.

    The overdraft is what is expected to be spent beyond n times the target and the burst, in
    decisions' worth, wherever some arm would have kept that limit.
    """
    agent.reconfigure(budgets=[mogro.Budget("cost", at_most=target, burst=BURST)])
    rng = np.random.default_rng(int(order[0]))
    waiting: list[tuple[int, str, dict[str, float]]] = []
    rows, overdraft = [], -np.inf
    for t, n in enumerate(order):
        decision = agent.decide(MODELS, ARMS, context=prompts.features[n], weights={"quality": 1.0})
        k = MODELS.index(decision.arm)
        if _had_choice(decision):
            overdraft = max(overdraft, -agent.budgets[0].room / target)
        qualities, costs = prompts.quality[n].copy(), prompts.cost[n].copy()
        if change is not None and PHASE <= t < 2 * PHASE:
            change(qualities, costs)
        quality, cost = float(qualities[k]), float(costs[k])
        rows.append((quality, cost, k))
        due = t + int(rng.integers(delay + 1))
        waiting.append((due, decision.id, {"quality": quality, "cost": cost}))
        for item in [item for item in waiting if item[0] <= t]:
            agent.reward(*item[1:])
            waiting.remove(item)
    quality, cost, model = np.array(rows).T
    return Played(quality, cost, model, overdraft)


def _had_choice(decision: mogro.agent.Decision) -> bool:
    """Tell whether an arm was expected to keep the limit of the budget."""
    assert isinstance(decision.inputs, DecisionInputs)
    terms = decision.inputs.budget_terms
    assert terms is not None
    return bool(terms.expected.of_all.counted.min() <= terms.balances[0].room)


def summary(played: Sequence[Played], target: float) -> dict[str, object]:
    """Return what a table needs: ratios with their spread over orders, quality, phases."""
    cost = np.stack([each.cost for each in played])
    quality = np.stack([each.quality for each in played])
    running = cost.cumsum(axis=1) / np.arange(1, cost.shape[1] + 1) / target
    thirds = [np.array_split(each, 3, axis=1) for each in (cost / target, quality)]
    error = running[:, -1].std(ddof=1) / np.sqrt(len(played))
    return {
        "target": target,
        "orders": len(played),
        "ratio": running[:, -1].mean(),
        "ratio_low": running[:, -1].mean() - 1.96 * error,
        "ratio_high": running[:, -1].mean() + 1.96 * error,
        "ratio_max": running[:, -1].max(),
        "quality": quality.mean(),
        "phases": [part.mean() for part in thirds[0]],
        "phases_high": [
            part.mean() + 1.96 * part.mean(axis=1).std(ddof=1) / np.sqrt(len(played))
            for part in thirds[0]
        ],
        "phase_quality": [part.mean() for part in thirds[1]],
        "running_mean": float(np.median(running[:, 500:].max(axis=1))),
        "running_max": running[:, 500:].max(),
        "overdraft": max(each.overdraft for each in played),
        "realised_overdraft": float(
            ((running - 1) * np.arange(1, cost.shape[1] + 1) - BURST).max()
        ),
    }


def targets(prompts: Prompts) -> list[dict[str, object]]:
    """All targets, with the warm start."""
    known = warm_agent(prompts)
    return [
        summary([play(copy.deepcopy(known), prompts, o, t) for o in orders(prompts)], t)
        for t in TARGETS
    ]


def told(prompts: Prompts) -> list[dict[str, object]]:
    """All targets that can be kept, with list prices known."""
    return _fresh(prompts, told_agent, 0)


def told_late(prompts: Prompts) -> list[dict[str, object]]:
    """The same with costs that come up to 200 decisions later."""
    return _fresh(prompts, told_agent, 200)


def cold(prompts: Prompts) -> list[dict[str, object]]:
    """All targets that can be kept, with nothing known."""
    return _fresh(prompts, new_agent, 0)


def _fresh(
    prompts: Prompts, make: Callable[[int], mogro.Agent], delay: int
) -> list[dict[str, object]]:
    return [
        summary(
            [
                play(make(seed), prompts, order, target, delay=delay)
                for seed, order in enumerate(orders(prompts))
            ],
            target,
        )
        for target in TARGETS[1:7]
    ]


def _changed(prompts: Prompts, change: Change) -> list[dict[str, object]]:
    """Three phases, as paretobandit has them: the third has the prompts of the first again."""
    known, again = warm_agent(prompts, half_life=HALF_LIFE), np.random.default_rng(1)
    phases = [
        np.concatenate([o[: 2 * PHASE], again.permutation(o[:PHASE])]) for o in orders(prompts)
    ]
    return [
        summary([play(copy.deepcopy(known), prompts, o, t, change=change) for o in phases], t)
        for t in CHANGED_TARGETS
    ]


def drift(prompts: Prompts) -> list[dict[str, object]]:
    """The dearest model costs a fifty-sixth in the second phase; nobody tells."""

    def change(quality: np.ndarray, cost: np.ndarray) -> None:
        cost[2] *= CHEAP

    return _changed(prompts, change)


def failure(prompts: Prompts) -> list[dict[str, object]]:
    """The middle model has a quality of 0.75 in the second phase; nobody tells."""

    def change(quality: np.ndarray, cost: np.ndarray) -> None:
        quality[1] = BROKEN

    return _changed(prompts, change)


def delays(prompts: Prompts) -> list[dict[str, object]]:
    """Costs come up to 200 decisions later."""
    known = warm_agent(prompts)
    return [
        summary([play(copy.deepcopy(known), prompts, o, t, delay=200) for o in orders(prompts)], t)
        for t in TARGETS[1:7]
    ]


def _worker(path: str, folder: str, target: float, numbers: np.ndarray) -> None:
    prompts = read(Path(folder))
    with mogro.Agent.open(path) as agent:
        for n in numbers:
            decision = agent.decide(
                MODELS, ARMS, context=prompts.features[n], weights={"quality": 1.0}
            )
            k = MODELS.index(decision.arm)
            agent.reward(
                decision.id,
                {"quality": float(prompts.quality[n, k]), "cost": float(prompts.cost[n, k])},
            )


def processes(prompts: Prompts, folder: str = "") -> list[dict[str, object]]:
    """Four processes on one journal: the account afterwards, and every step of it by replay."""
    target, rows = 2.3e-4, list[dict[str, object]]()
    for order in orders(prompts)[:2]:
        with tempfile.TemporaryDirectory() as place:
            path = str(Path(place, "router.db"))
            budgets = [mogro.Budget("cost", at_most=target, burst=BURST)]
            with mogro.Agent.open(
                path, OBJECTIVES, arms=len(MODELS), context=SIZE, seed=0, budgets=budgets
            ) as agent:
                for k, price in enumerate(LIST):
                    tell(agent, np.zeros(SIZE), k, {"cost": price})
            parts = np.array_split(order[:1200], 4)
            workers = [
                multiprocessing.Process(target=_worker, args=(path, folder, target, part))
                for part in parts
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            with mogro.Agent.open(path) as agent:
                (status,) = agent.budgets
                rows.append(
                    {
                        "target": target,
                        "decisions": status.decisions,
                        "ratio": status.forecast / target,
                        "overdraft": _worst(agent, target),
                    }
                )
    return rows


def _worst(agent: mogro.Agent, target: float) -> float:
    """Return the largest expected overdraft, in decisions' worth, where there was a choice."""
    spent: dict[str, float] = {}
    worst = -np.inf
    for _, event in agent.events():
        if isinstance(event, events.Decided) and not event.made_elsewhere:
            assert event.budget_record is not None
            (expected,) = agent.config.spending.expected(event.estimates)
            spent[event.id] = expected + (event.budget_record.surcharge or [0.0])[0]
            left = event.evidence.allowed if event.evidence is not None else None
            if left is None or left.sum() > 1:
                beyond = sum(spent.values()) / target - len(spent) - BURST
                worst = max(worst, beyond)
        elif isinstance(event, events.Rewarded) and event.id in spent:
            spent[event.id] = event.values["cost"]
    return worst


CHECKPOINTS = (500, 1000, 2000, 4000, 8000)


class World(NamedTuple):
    """Four kinds of requests and four arms: means of quality, cost and stay, (4, 4, 3)."""

    means: np.ndarray
    at_most: float
    at_least: float

    def best(self) -> float:
        """Return the quality of the best policy that keeps both bounds on average."""
        flat = self.means.reshape(-1, 3) / 4  # kinds come equally often
        answer = linprog(
            -flat[:, 0],
            A_ub=np.stack([flat[:, 1], -flat[:, 2]]),
            b_ub=[self.at_most, -self.at_least],
            A_eq=np.kron(np.eye(4), np.ones(4)),
            b_eq=np.ones(4),
            bounds=(0, 1),
        )
        return np.nan if answer.fun is None else -float(answer.fun)


def new_world(seed: int) -> World:
    """Return a world in which both bounds bind: dear arms are good, and where few stay."""
    rng = np.random.default_rng(seed)
    while True:
        quality = np.sort(rng.uniform(0.2, 0.9, (4, 4)), axis=1)
        cost = np.sort(rng.uniform(0.5, 8.0, (4, 4)), axis=1)
        stay = rng.uniform(0.3, 0.9, (4, 4))
        cheap, free = cost.min(axis=1).mean(), cost[:, -1].mean()
        world = World(np.stack([quality, cost, stay], axis=-1), (cheap + free) / 2, 0.6)
        loose = world._replace(at_least=0.0).best()
        if world.best() < loose - 0.01:
            return world


def worlds(seeds: int = 30) -> list[dict[str, object]]:
    """Loss to the best policy by the number of decisions, its slope, and both budgets."""
    losses, kept = [], []
    for seed in range(seeds):
        world, rng = new_world(seed), np.random.default_rng(1000 + seed)
        agent = mogro.Agent(
            [
                mogro.Objective("quality"),
                mogro.Objective("cost", direction="min"),
                mogro.Objective("stay"),
            ],
            arms=4,
            context=4,
            seed=seed,
            retention=mogro.Retention(decisions=100),
            budgets=[
                mogro.Budget("cost", at_most=world.at_most),
                mogro.Budget("stay", at_least=world.at_least),
            ],
        )
        earned = np.zeros(CHECKPOINTS[-1])
        for t in range(len(earned)):
            kind = int(rng.integers(4))
            decision = agent.decide(
                list("abcd"), np.eye(4), context=np.eye(4)[kind], weights={"quality": 1}
            )
            means = world.means[kind, "abcd".index(decision.arm)]
            earned[t] = means[0]
            values = means * [1, rng.gamma(4.0, 0.25), 1] + [0.1, 0, 0] * rng.standard_normal(3)
            values[2] = rng.random() < means[2]
            agent.reward(decision.id, dict(zip(("quality", "cost", "stay"), values, strict=True)))
        losses.append([t * world.best() - earned[:t].sum() for t in CHECKPOINTS])
        kept.append([status.forecast / status.target for status in agent.budgets])
    mean = np.mean(losses, axis=0)
    slope = np.polyfit(np.log(CHECKPOINTS), np.log(mean), 1)[0]
    return [{"losses": mean.tolist(), "slope": slope, "ratios": np.array(kept).tolist()}]


def coverage(runs: int = 25) -> list[dict[str, object]]:
    """How often realised spend keeps its limit with a known maximum, by how late costs come."""
    rows, chances = list[dict[str, object]](), np.array([0.02, 0.1, 0.3])  # to cost 10
    for late, burst in itertools.product((0, 20), (200, 500)):
        played = []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            agent = mogro.Agent(
                [mogro.Objective("quality"), mogro.Objective("cost", direction="min")],
                arms=3,
                seed=seed,
                budgets=[mogro.Budget("cost", at_most=0.5, burst=burst, max_cost=10.0)],
            )
            spent, waiting = 0.0, list[tuple[str, dict[str, float]]]()
            for n in range(1, 301):
                decision = agent.decide(list("abc"), np.eye(3), weights={"quality": 1})
                arm = "abc".index(decision.arm)
                cost = 10.0 * float(rng.random() < chances[arm])
                spent += cost
                choice = len(decision.propensities.arms) > 1
                played.append((choice, spent <= 0.5 * (n + burst), cost))
                waiting.append((decision.id, {"quality": 0.2 * arm + rng.random(), "cost": cost}))
                if len(waiting) > late:
                    agent.reward(*waiting.pop(0))
        choices, kept, costs = np.array(played).T
        rows.append(
            {
                "late": late,
                "burst": burst,
                "choices": choices.mean(),
                "kept": kept.mean(),
                "kept_with_choice": kept[choices > 0].mean() if choices.any() else None,
                "mean_cost": costs.mean(),
            }
        )
    return rows


def cost(blocks: int = 24) -> list[dict[str, object]]:
    """Time of a decision and its reward, with two budgets and without, by blocks in turns.

    The dearest arms cost twice the bound, for which there is room, or 25 times.
    """
    rows, names = [], [f"a{k}" for k in range(100)]
    for arms, context, dearest in itertools.product((3, 10, 100), (0, 5), (3.0, 37.5)):
        rng, size = np.random.default_rng(0), min(arms, 10)
        offer = dict(zip(names[:arms], rng.standard_normal((arms, size)), strict=True))
        budgets = [mogro.Budget("cost", at_most=1.5), mogro.Budget("quality", at_least=0.1)]
        agents = [
            mogro.Agent(OBJECTIVES, arms=size, context=context or None, seed=0, budgets=each)
            for each in ((), budgets)
        ]
        contexts = rng.standard_normal((50, context)) if context else [None] * 50
        costs = np.resize([1.0, 2.0, dearest], arms)
        times = np.zeros((blocks, 2))
        for block in range(blocks):
            noise = rng.lognormal(-0.02, 0.2, 50)
            for side in (block % 2, 1 - block % 2):
                agent, start = agents[side], time.perf_counter()
                for given, factor in zip(contexts, noise, strict=True):
                    decision = agent.decide(offer, context=given, weights={"quality": 1.0})
                    price = float(costs[int(decision.arm[1:])])
                    values = {"quality": 0.3 * price**0.5, "cost": price * factor}
                    agent.reward(decision.id, values)
                times[block, side] = (time.perf_counter() - start) / len(contexts) * 1e6
        without, both = np.median(times[blocks // 4 :], axis=0)
        row = {"arms": arms, "context": context, "dearest": dearest, "without": without}
        rows.append({**row, "ratio": both / without})
    return rows


def main(folder: str = "", *parts: str) -> None:
    """Run parts, and print what there is."""
    if not folder:
        sys.exit(__doc__)
    OUT.mkdir(parents=True, exist_ok=True)
    for part in parts:
        start = time.process_time()
        if part == "processes":
            rows = processes(read(Path(folder)), folder)
        elif part in WITHOUT_PROMPTS:
            rows = WITHOUT_PROMPTS[part]()
        else:
            rows = PARTS[part](read(Path(folder)))
        (OUT / f"{part}.json").write_text(json.dumps(rows, indent=1))
        print(f"{part}: {time.process_time() - start:.0f} s", file=sys.stderr)


WITHOUT_PROMPTS = {"worlds": worlds, "coverage": coverage, "cost": cost}
PARTS: dict[str, Callable[[Prompts], list[dict[str, object]]]] = {
    each.__name__: each for each in (targets, told, told_late, cold, drift, failure, delays)
}

if __name__ == "__main__":
    main(*sys.argv[1:])

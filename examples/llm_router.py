"""A router of prompts to language models that keeps a budget, with a dial for every request.

Three models answer prompts: a small one that is cheap and fast, and fails at hard prompts, a middle
one, and a large one, which is best at code and mathematics and costs a hundred times as much as the
small one. What a prompt needs is not known, only what it looks like. Some requests want the best
answer, others want it fast: the dial. All of them together may cost so much a prompt on average,
from the first one: the budget. One agent serves all, because it learns quality, cost and time
apart.

Prompts and answers are made up; ``benchmarks/budgets.py`` has real ones, without the dial.

Run with ``python examples/llm_router.py``.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import mogro

PROMPTS = 3000
MODELS = {name: {"model": name} for name in ("small", "middle", "large")}
OBJECTIVES = [
    mogro.Objective("quality", unit=0.1),  # of an answer, from 0 to 1, as a judge sees it
    mogro.Objective("cost", direction="min", unit=0.01),  # dollars
    mogro.Objective("seconds", direction="min", unit=10.0),
]
DIALS: dict[str, dict[str, float]] = {
    "best": {"quality": 1, "seconds": 0},
    "fast": {"quality": 1, "seconds": 1},
}
BUDGET = 0.004  # dollars a prompt
LIST = {"small": 0.0002, "middle": 0.002, "large": 0.02}  # what a usual prompt costs
# Products of both: what a prompt looks like may matter to one model and not to another.
ARMS = mogro.Encoder(model=mogro.Category(*MODELS))
PROMPT = mogro.Encoder(
    words=mogro.Number(mean=25, std=15), digits=mogro.Number(), code=mogro.Number()
)
WORDS = {
    "chat": "please tell me a story about my holiday and why the sea is so blue today",
    "maths": "what is 17 times 3 plus 250 if 4 of 96 apples are 12 and x equals 8",
    "code": "def f(x): return x[0] # fix this loop; for i in range(n): print(f(i))",
}


class World:
    """People who ask, and models that answer."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def prompt(self) -> str:
        words = WORDS[self.rng.choice(list(WORDS))].split()
        return " ".join(self.rng.choice(words, size=self.rng.integers(5, 50)))

    def answer(self, prompt: str, model: str) -> dict[str, float]:
        """Return what came of it."""
        words, rng = look(prompt), self.rng
        skill, price, pace = {
            "small": (0.75, 0.0002, 1.0), "middle": (0.9, 0.002, 3.0), "large": (0.93, 0.02, 12.0)
        }[model]  # fmt: skip
        weakness = {"small": 1.5, "middle": 0.5, "large": 0.1}[model]
        hard = 0.2 * min(1.0, 4 * words["digits"]) + 0.2 * words["code"]
        quality = np.clip(skill - weakness * hard + 0.1 * rng.standard_normal(), 0, 1)
        length = rng.gamma(4.0, 0.25) * (0.5 + words["words"] / 50)
        return {"quality": float(quality), "cost": price * length, "seconds": pace * length}


def look(prompt: str) -> dict[str, Any]:
    """Return what a prompt looks like."""
    words = prompt.split()
    digits = sum(word.strip(":;").isdigit() for word in words) / len(words)
    return {"words": len(words), "digits": digits, "code": bool(re.search(r"[=\[\]#():]", prompt))}


def summary(rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return means, and how often each model was chosen."""
    means = [np.mean([got[objective.name] for _, got in rows]) for objective in OBJECTIVES]
    shares = Counter(model for model, _ in rows)
    chosen = ", ".join(f"{model} {shares[model] / len(rows):.0%}" for model in MODELS)
    return f"quality {means[0]:.3f}, {1000 * means[1]:6.2f} m$, {means[2]:5.1f} s   {chosen}"


def main() -> None:
    world = World(0)
    agent = mogro.Agent(
        OBJECTIVES,
        arms=ARMS,
        context=PROMPT,
        seed=7,
        budgets=[mogro.Budget("cost", at_most=BUDGET, burst=20)],
    )
    for model, price in LIST.items():  # known beforehand; what others decided does not count
        record = {"words": 25, "digits": 0.0, "code": False}
        agent.observe(MODELS, arm=model, context=record, rewards={"cost": price})
    served: dict[str, list[tuple[str, Mapping[str, float]]]] = {dial: [] for dial in DIALS}
    for number in range(PROMPTS):
        prompt, dial = world.prompt(), list(DIALS)[world.rng.integers(len(DIALS))]
        decision = agent.decide(MODELS, context=look(prompt), weights=DIALS[dial])
        got = world.answer(prompt, decision.arm)
        agent.reward(decision.id, got)
        if number >= PROMPTS // 2:
            served[dial].append((decision.arm, got))
        if number + 1 in (100, 1000, PROMPTS):
            (status,) = agent.budgets
            print(
                f"after {number + 1:4} prompts: ${status.forecast:.5f} a prompt of "
                f"${status.target:.5f}, price {status.price:.3g} a dollar"
            )
    print("\nthe second half:")
    for dial, rows in served.items():
        print(f"{dial:14}", summary(rows))
    for model in MODELS:
        answers = [(model, world.answer(world.prompt(), model)) for _ in range(500)]
        print(f"always {model:7}", summary(answers))
    agent.reconfigure(budgets=[mogro.Budget("cost", at_most=2 * BUDGET, burst=20)])
    question = look("what is 17 times 3 plus 250")
    print("\nWhat is 17 times 3 plus 250? With twice the budget:")
    print(agent.explain(agent.decide(MODELS, context=question, weights=DIALS["best"])))
    capped = agent.decide(MODELS, context=question, at_most={"seconds": 5.0}, certainty=0.9)
    print("\nsurely within five seconds:", capped.arm)


if __name__ == "__main__":
    main()

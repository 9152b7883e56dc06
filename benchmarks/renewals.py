"""What learning the prior costs an agent: ``python -m benchmarks.renewals [rounds]``.

Processor time of :meth:`Posterior.evidence` and :meth:`Posterior.learn_prior`, as a share of all
other time of decisions with their rewards, for ten arms and three objectives. Bars: at most 15 %,
and no call above 30 ms.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mogro import Agent, Objective
from mogro.posterior import Posterior


def timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """Return a function that notes its processor time."""

    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = function(*args, **kwargs)
        seconds.append(time.process_time() - start)
        return result

    return call


def measure(arms: int, contexts: int, rounds: int, renewals: list[float]) -> None:
    """Print the share for an agent with so many features of arms and contexts."""
    rng, names = np.random.default_rng(0), ("a", "b", "c")
    agent = Agent([Objective(name) for name in names], arms=arms, context=contexts, seed=0)
    ids, offered = [str(arm) for arm in range(10)], rng.standard_normal((10, arms))
    calls: list[float] = []
    decide, reward = timed(agent.decide, calls), timed(agent.reward, calls)
    renewals.clear()
    for _ in range(rounds):
        decision = decide(ids, offered, context=rng.standard_normal(contexts))
        reward(decision.id, dict(zip(names, rng.standard_normal(3).tolist(), strict=True)))
    share = sum(renewals) / (sum(calls) - sum(renewals))
    print(f"d = {(1 + arms) * (1 + contexts)}: {100 * share:.1f} %, {1e3 * max(calls):.1f} ms")


def main(rounds: str = "800") -> None:
    """Print both sizes."""
    renewals: list[float] = []
    for name in ("evidence", "learn_prior"):
        setattr(Posterior, name, timed(getattr(Posterior, name), renewals))
    for arms, contexts in ((2, 6), (11, 9)):
        measure(arms, contexts, int(rounds), renewals)


if __name__ == "__main__":
    main(*sys.argv[1:])

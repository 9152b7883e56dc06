"""Simulations as pieces of work: a contender in a world, a few instances at a time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro.environments import Environment
from mogro.experiments.contenders import Contender
from mogro.experiments.scale import Scale
from mogro.experiments.worlds import World
from mogro.simulation import Trace, simulate
from mogro.simulation.parallel import Arrays, Results

_TOGETHER = 5  # instances in one piece: enough to step together, few enough to share the work
Probe = Callable[[Any, Sequence[Environment]], NDArray[Any]]


@dataclass(frozen=True)
class Part:
    """Some instances of a run."""

    world: World
    contender: Contender
    rounds: int
    repeats: int
    seed: int
    first: int
    instances: int
    probe: Probe | None = None

    def __repr__(self) -> str:
        probe = None if self.probe is None else f"{self.probe.__module__}.{self.probe.__name__}"
        return (
            f"Part({self.world!r}, {self.contender!r}, rounds={self.rounds}, "
            f"repeats={self.repeats}, seed={self.seed}, first={self.first}, "
            f"instances={self.instances}, probe={probe})"
        )

    @property
    def alone(self) -> bool:
        """Others may run meanwhile."""
        return False

    @property
    def cost(self) -> float:
        """Seconds, roughly."""
        dim, arms, objectives = self.world.sizes
        learner_rounds = self.rounds * self.repeats * self.instances
        return learner_rounds * (5e-6 + 2e-9 * arms * dim * objectives) * _weight(self.contender)

    def trace(self) -> Trace:
        """Simulate."""
        numbers = range(self.first, self.first + self.instances)
        worlds = [self.world.instance(number, self.seed) for number in numbers]
        probe = self.probe
        return simulate(
            lambda dim, objectives, batch: self.contender.policy(
                worlds, rounds=self.rounds, batch=batch
            ),
            worlds,
            rounds=self.rounds,
            repeats=self.repeats,
            seed=(self.seed, *self.world.sizes),
            probe=None if probe is None else lambda policy: probe(policy, worlds),
            start=(self.first, 0),
        )

    def run(self) -> Arrays:
        """Simulate, and keep what tables are made of."""
        trace = self.trace()
        return {
            "rounds": np.asarray(trace.checkpoints),
            "pareto": trace.pareto_regret,
            "effective": trace.effective_regret,
            "rewards": trace.rewards,
            "probed": trace.probed,
        }


def _weight(contender: Contender) -> float:
    return {"MOL-TS": 5.0, "MOLB-UCB": 2.0, "MOLB-eps-greedy": 2.0}.get(contender.label, 1.0)


def parts(
    world: World,
    contender: Contender,
    scale: Scale,
    *,
    rounds: int,
    instances: int | None = None,
    repeats: int | None = None,
    probe: Probe | None = None,
) -> list[Part]:
    """Return the parts of a run; instances and repeats are the scale's unless given."""
    count = scale.instances if instances is None else instances
    return [
        Part(
            world,
            contender,
            scale.horizon(rounds),
            scale.repeats if repeats is None else repeats,
            scale.seed,
            first,
            min(_TOGETHER, count - first),
            probe,
        )
        for first in range(0, count, _TOGETHER)
    ]


def gather(results: Results, pieces: Iterable[Part]) -> Arrays:
    """Return the results of parts as one, with axes (checkpoints, instances, repeats, ...)."""
    found = [results[piece] for piece in pieces]
    whole = {
        name: np.concatenate([part[name] for part in found], axis=1)
        for name in found[0]
        if name != "rounds"
    }
    return whole | {"rounds": found[0]["rounds"]}

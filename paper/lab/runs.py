"""Simulations as tasks: a contender in a world, a few instances at a time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mogro.environments import LinearEnvironment
from mogro.simulation import Trace, simulate
from paper.lab.contenders import Contender
from paper.lab.worlds import World

if TYPE_CHECKING:
    from paper.lab.parallel import Arrays, Results, Task
    from paper.lab.scale import Scale

_TOGETHER = 80  # instances in one task: enough to step together, few enough to share the work
_SLOW = {"MOL-TS": 5.0, "MOLB-UCB": 2.0, "MOLB-eps-greedy": 2.0}
Probe = Callable[[Any, Sequence[LinearEnvironment]], NDArray[Any]]


@dataclass(frozen=True)
class Simulation:
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
            f"Simulation({self.world!r}, {self.contender!r}, rounds={self.rounds}, "
            f"repeats={self.repeats}, seed={self.seed}, first={self.first}, "
            f"instances={self.instances}, probe={probe})"
        )

    exclusive: ClassVar[bool] = False

    @property
    def cost(self) -> float:
        """Seconds, roughly."""
        dim, arms, objectives = self.world.sizes
        learner_rounds = self.rounds * self.repeats * self.instances
        return (
            learner_rounds
            * (5e-6 + 2e-9 * arms * dim * objectives)
            * _SLOW.get(self.contender.label, 1.0)
        )

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

    def run(self) -> "Arrays":
        """Simulate, and keep what tables are made of."""
        trace = self.trace()
        return {
            "rounds": np.asarray(trace.checkpoints),
            "pareto": trace.pareto_regret,
            "effective": trace.effective_regret,
            "rewards": trace.rewards,
            "probed": trace.probed,
        }


def split(
    world: World,
    contender: Contender,
    scale: "Scale",
    *,
    rounds: int,
    sample: tuple[int, int],
    probe: Probe | None = None,
) -> list[Simulation]:
    """Return the tasks of a run with a sample of instances and repeats, or what the scale has."""
    count, repeats = scale.sample(*sample)
    return [
        Simulation(
            world,
            contender,
            scale.horizon(rounds),
            repeats,
            scale.seed,
            first,
            min(_TOGETHER, count - first),
            probe,
        )
        for first in range(0, count, _TOGETHER)
    ]


def by_run(tasks: "Iterable[Task]") -> dict[tuple[World, Contender], list[Simulation]]:
    """Return the simulations among tasks by what is run: the tasks of each contender in a world."""
    runs: dict[tuple[World, Contender], list[Simulation]] = {}
    for task in tasks:
        if isinstance(task, Simulation):
            runs.setdefault((task.world, task.contender), []).append(task)
    return runs


def gather(results: "Results", tasks: Iterable[Simulation]) -> "Arrays":
    """Return the results of tasks as one, with axes (checkpoints, instances, repeats, ...)."""
    parts = [results[task] for task in tasks]
    tables = {
        name: np.concatenate([part[name] for part in parts], axis=1)
        for name in parts[0]
        if name != "rounds"
    }
    return tables | {"rounds": parts[0]["rounds"]}

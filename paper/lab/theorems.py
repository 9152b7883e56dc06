"""MOGRO as the theorems have it, beside what they say about the run."""

from dataclasses import dataclass
from functools import cache

from mogro import theory
from mogro.environments import FixedArms
from mogro.scalarization import RandomWeights, RoundRobin
from paper.lab.contenders import RR, RW, Greedy
from paper.lab.runs import Probe, Simulation
from paper.lab.scale import Scale
from paper.lab.worlds import Circle, FreshCircle

GREEDY_FOR: dict[str, RandomWeights | RoundRobin] = {
    RW.label: RandomWeights(),
    RR.label: RoundRobin(),
}


@dataclass(frozen=True)
class Setup:
    """A problem with one instance, a horizon, and MOGRO-RW or MOGRO-RR.

    ``epsilon`` is the slack of the fairness index, None for that of the diagnosis.
    """

    world: Circle | FreshCircle
    rounds: int
    label: str = RW.label
    epsilon: float | None = None

    @property
    def said(self) -> theory.Diagnosis:
        """What the theory says; computed once in a process."""
        return _diagnosis(self)

    def simulation(self, scale: Scale, *, repeats: int, probe: Probe | None = None) -> Simulation:
        """Return the run with the threshold of the theorem and the paper's exploration."""
        contender = Greedy(
            self.label,
            GREEDY_FOR[self.label],
            threshold=self.said.guarantees.threshold,
            exploration=None,
        )
        _, runs = scale.sample(1, repeats)
        return Simulation(self.world, contender, self.rounds, runs, scale.seed, 0, 1, probe)


@cache
def _diagnosis(setup: Setup) -> theory.Diagnosis:
    problem = setup.world.instance(0, 0)
    return theory.diagnose(
        problem.features if isinstance(problem, FixedArms) else problem.contexts,
        problem.theta,
        noise=setup.world.noise,
        rounds=setup.rounds,
        scalarization=GREEDY_FOR[setup.label],
        epsilon=setup.epsilon,
    )


def horizons(scale: Scale, rounds: int) -> tuple[int, int, int]:
    """Return a quarter of the rounds of a figure, all of them, and four times as many."""
    middle = scale.horizon(rounds)
    return max(1, middle // 4), middle, 4 * middle

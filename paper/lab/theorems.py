"""MOGRO as the theorems have it, beside what they say about the run."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from mogro import theory
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
        """What the theory says about arms that stay; computed once in a process."""
        return _diagnosis(self)

    @property
    def guarantees(self) -> theory.Guarantees:
        """What the theorems promise."""
        if isinstance(self.world, FreshCircle):
            return _fresh_guarantees(self.world, self.rounds)
        return self.said.guarantees

    def simulation(self, scale: Scale, *, repeats: int, probe: Probe | None = None) -> Simulation:
        """Return the run with the threshold of the theorem and the paper's exploration."""
        contender = Greedy(
            self.label,
            GREEDY_FOR[self.label],
            threshold=self.guarantees.threshold,
            exploration=None,
        )
        _, runs = scale.sample(1, repeats)
        return Simulation(self.world, contender, self.rounds, runs, scale.seed, 0, 1, probe)


@cache
def _diagnosis(setup: Setup) -> theory.Diagnosis:
    assert isinstance(setup.world, Circle)
    problem = setup.world.instance(0, 0)
    return theory.diagnose(
        problem.features,
        problem.theta,
        noise=setup.world.noise,
        rounds=setup.rounds,
        scalarization=GREEDY_FOR[setup.label],
        epsilon=setup.epsilon,
    )


@cache
def _fresh_guarantees(world: FreshCircle, rounds: int) -> theory.Guarantees:
    """Return what the corollary for stochastic contexts promises MOGRO-RW.

    On the circle q_gamma is known: one of K arms is within arccos gamma of a direction. A higher
    gamma is reached less often, but leaves a larger alpha. The corollary has no bound on T_0;
    uniform pulls add E[x x^T] = I / 2 a round.
    """
    theta = np.eye(2)
    lam = theory.objective_diversity(theta)
    needed = theory.goodness_needed(lam)
    gamma = needed + 0.75 * (1 - needed)
    alpha = theory.radius_cap(lam, gamma)
    increment = theory.eigenvalue_increment(
        theory.diversity_left(lam, alpha, gamma),
        phi=theory.regularity(theta, 1.0, epsilon=alpha / 2).phi.low,
        objectives=2,
        goodness_probability=1 - (1 - math.acos(gamma) / math.pi) ** world.arms,
    )
    B = theory.threshold_random_weights(alpha, noise=world.noise, dim=2, rounds=rounds)
    start = math.ceil(2 * B)
    regret = theory.regret_bound_random_weights(
        increment=increment,
        noise=world.noise,
        dim=2,
        objectives=2,
        rounds=rounds,
        initial_rounds=start,
    )
    return theory.Guarantees(
        epsilon=0.1,
        threshold=B,
        hypothetical=False,
        unreachable=rounds / 2 < B,
        initial_rounds=start,
        increment=increment,
        regret=regret,
        vacuous=regret >= 2 * rounds,
    )


def horizons(scale: Scale, rounds: int) -> tuple[int, int, int]:
    """Return a quarter of the rounds of a figure, all of them, and four times as many."""
    middle = scale.horizon(rounds)
    return max(1, middle // 4), middle, 4 * middle

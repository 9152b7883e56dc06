"""Goodness and its relatives on the appendix's examples, as a task."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mogro import theory
from mogro.environments.examples import (
    DrawnArms,
    finite_net,
    one_continuous_arm,
    small_ball,
    tailed_arms,
)

if TYPE_CHECKING:
    from mogro.simulation.parallel import Arrays

Measure = Callable[[DrawnArms, int, np.random.Generator], float]


def _diversity(world: DrawnArms, samples: int, rng: np.random.Generator) -> float:
    return theory.context_diversity(world.contexts, samples=samples, rng=rng).value


def _exponent(world: DrawnArms, samples: int, rng: np.random.Generator) -> float:
    """Return the exponent that the tails of all arms have in common; 0 if there is none."""
    shape = theory.beta_regularity(world.contexts, samples=samples, rng=rng)
    return float(shape.exponents.mean()) if shape.holds else 0.0


@dataclass(frozen=True)
class Example:
    """Arms, the condition that goodness is compared with, and which hold by the paper."""

    name: str
    world: DrawnArms
    good: bool
    rival: bool
    condition: str = "context diversity"
    gamma: float = 0.99  # in the plane more than 1 - (1/2)^2 / 18 is needed, on the line 1 - 1 / 18


_MEASURES: dict[str, Measure] = {"context diversity": _diversity, "beta-regularity": _exponent}
_AXES = np.eye(2)
_ANGLES = np.linspace(0, 2 * np.pi, 32, endpoint=False)
_NET = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
_FIXED = [[0.5, 0.0], [0.0, 0.5]]
EXAMPLES = (
    Example("1: one continuous arm", one_continuous_arm(_AXES, _FIXED, noise=0.1), True, False),
    Example("2: a finite net", finite_net(_AXES, _NET, arms=4, noise=0.1), True, False),
    Example("3: half the radius", small_ball(_AXES, arms=4, noise=0.1), False, True),
    Example(
        "one tail for all", tailed_arms([1.0, 1.0, 1.0], noise=0.1), True, True, "beta-regularity"
    ),
    Example(
        "some arms at 0", tailed_arms([1.0, None, None], noise=0.1), True, False, "beta-regularity"
    ),
    Example(
        "several tails", tailed_arms([1.0, 2.0, 4.0], noise=0.1), True, False, "beta-regularity"
    ),
)


@dataclass(frozen=True)
class Judgement:
    """Both conditions on one of the examples."""

    example: int
    samples: int
    seed: int

    alone: ClassVar[bool] = False

    @property
    def cost(self) -> float:
        """Seconds, roughly."""
        return self.samples / 50_000

    def run(self) -> "Arrays":
        """Estimate them."""
        example = EXAMPLES[self.example]
        rng = np.random.default_rng((self.seed, self.example))
        good = theory.context_goodness(
            example.world.contexts, gamma=example.gamma, samples=self.samples, rng=rng
        )
        rival = _MEASURES[example.condition](example.world, self.samples, rng)
        return {"values": np.array([good.value, good.low, good.high, rival])}

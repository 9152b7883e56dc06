"""Problems on which the theory is tried out: some meet its assumptions, most do not."""

import math

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import FixedArms
from mogro.theory._problem import Problem
from paper.lab.appendix import DrawnArms


def circle(arms: int, *, first: float = 0.0) -> FloatArray:
    """Unit vectors all around, counted from an angle."""
    angles = first + np.linspace(0, 2 * np.pi, arms, endpoint=False)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def turned(angle: float) -> FloatArray:
    """Two orthogonal objectives."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, s], [-s, c]])


def circle_contexts(arms: int, *, noise: float) -> DrawnArms:
    """Arms anywhere on the unit circle in each round, one objective along each axis."""

    def draw(rng: Rng, batch: tuple[int, ...]) -> FloatArray:
        angles = rng.random((*batch, arms)) * 2 * np.pi
        return np.stack([np.cos(angles), np.sin(angles)], axis=-1)

    return DrawnArms(np.eye(2), draw, arms=arms, noise=noise)


def random_problem(dim: int, arms: int, objectives: int, seed: int) -> Problem:
    """The paper's kind of instance."""
    rng = np.random.default_rng(seed)
    world = FixedArms.sample(dim, arms, objectives, noise=0.1, rng=rng)
    return Problem(world.features, world.theta)


# Good arms for both objectives, and arms that look good if the first estimates are wrong.
PLAIN = np.array([[-0.72, -0.68], [0.73, -0.68], [-0.68, 0.73], [1.0, 0.0], [0.0, 1.0]])

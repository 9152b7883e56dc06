"""What the linear worlds share: their reward model and how they show themselves."""

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments.protocol import Environment


def read_only(array: FloatArray) -> FloatArray:
    """Return a float64 copy that nobody can change."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy


def mean_rewards(x: FloatArray, theta: FloatArray) -> FloatArray:
    """Return x . theta_m for all objectives, (..., M), for features ``x`` of shape (..., d)."""
    # On contiguous arrays einsum rounds alike with and without batch axes; a matrix product
    # over the batch does not.
    return np.asarray(np.einsum("...d,md->...m", np.ascontiguousarray(x), theta))


def with_noise(means: FloatArray, noise: float, rng: Rng) -> FloatArray:
    """Add independent normal noise; its numbers do not depend on the means."""
    return np.asarray(means + noise * rng.standard_normal(means.shape))


def observe(x: ArrayLike, theta: FloatArray, noise: float, rng: Rng) -> FloatArray:
    """Check features (*batch, d) and return noisy reward vectors (*batch, M) for them."""
    chosen = check.floats(x, "x", shape=(..., theta.shape[1]))
    return with_noise(mean_rewards(chosen, theta), noise, rng)


def _facts(world: Environment) -> dict[str, str]:
    return {
        "dim": str(world.dim),
        "arms": str(world.arms),
        "objectives": str(world.objectives),
        "noise": f"{world.noise:g}",
    }


def text(world: Environment) -> str:
    facts = ", ".join(f"{name}={value}" for name, value in _facts(world).items())
    return f"{type(world).__name__}({facts})"


def html(world: Environment) -> str:
    facts = _facts(world)
    names = "".join(f"<th>{name}</th>" for name in facts)
    values = "".join(f"<td>{value}</td>" for value in facts.values())
    return (
        f"<table><caption>{type(world).__name__}</caption><tr>{names}</tr><tr>{values}</tr></table>"
    )

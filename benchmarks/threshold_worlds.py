"""Worlds in which thresholds are compared: arms, means and noise, drawn by a seed."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.environments import FixedArms

_SETS = 40  # sets of arms on offer in a world with contexts


class World(NamedTuple):
    """Sets of arms (P, K, d), one of which is on offer in a round, and means (P, K, M).

    ``noise`` is the standard deviation of normal noise; None stands for clicks.
    """

    features: FloatArray
    means: FloatArray
    noise: float | None


Draw = Callable[[np.random.Generator], World]


def paper(noise: float, d: int = 5, K: int = 50, M: int = 5) -> Draw:
    """Return instances of the paper's experiments."""

    def draw(rng: np.random.Generator) -> World:
        world = FixedArms.sample(d, K, M, noise=noise, rng=rng)
        return World(world.features[None], world.means[None], noise)

    return draw


def plain(K: int, M: int, low: float, high: float, noise: float | None = None) -> Draw:
    """Return arms without features, with means drawn uniformly: clicks unless there is noise."""

    def draw(rng: np.random.Generator) -> World:
        return World(np.eye(K)[None], rng.uniform(low, high, (1, K, M)), noise)

    return draw


def good_arms(K: int, M: int, low: float, high: float, good: float) -> Draw:
    """Return arms without features with rare clicks, one arm for each objective with more."""

    def draw(rng: np.random.Generator) -> World:
        means = rng.uniform(low, high, (K, M))
        means[np.arange(M), np.arange(M)] = good
        return World(np.eye(K)[None], means[None], None)

    return draw


def shared(base: float, spread: float, M: int = 2, K: int = 60, d: int = 8) -> Draw:
    """Return clicks that depend on features shared by all arms, and a constant."""

    def draw(rng: np.random.Generator) -> World:
        features = np.hstack([rng.standard_normal((K, d)) / np.sqrt(d), np.ones((K, 1))])
        theta = np.hstack([spread * rng.standard_normal((M, d)), np.full((M, 1), base)])
        return World(features[None], np.clip(features @ theta.T, 0.005, 0.995)[None], None)

    return draw


def outlier(noise: float, factor: float = 12) -> Draw:
    """Return the paper's instances with one arm many times larger."""

    def draw(rng: np.random.Generator) -> World:
        world = FixedArms.sample(5, 50, 3, noise=noise, rng=rng)
        features = world.features.copy()
        features[0] *= factor
        return World(features[None], (features @ world.theta.T)[None], noise)

    return draw


def moved(noise: float, units: float = 1, offset: float = 0) -> Draw:
    """Return the paper's instances with a constant, in other units and with other origins.

    Features come in units from 1 to ``units``, after all have been moved by an offset, in their
    standard deviations. Rewards stay the same.
    """

    def draw(rng: np.random.Generator) -> World:
        world = FixedArms.sample(5, 50, 3, noise=noise, rng=rng)
        shifted = world.features + offset * world.features.std()
        features = np.hstack([shifted * np.geomspace(1, units, 5), np.ones((50, 1))])
        return World(features[None], world.means[None], noise)

    return draw


def scales(noise: float) -> Draw:
    """Return the paper's instances with features in units from 1 to 1000."""

    def draw(rng: np.random.Generator) -> World:
        world = FixedArms.sample(5, 50, 3, noise=noise, rng=rng)
        return World((world.features * np.geomspace(1, 1000, 5))[None], world.means[None], noise)

    return draw


def arm_scales(noise: float) -> Draw:
    """Return the paper's instances with arms of sizes from 1 to 1000."""

    def draw(rng: np.random.Generator) -> World:
        world = FixedArms.sample(5, 50, 3, noise=noise, rng=rng)
        features = world.features * rng.permutation(np.geomspace(1, 1000, 50))[:, None]
        return World(features[None], (features @ world.theta.T)[None], noise)

    return draw


def contexts(noise: float, d: int = 5, M: int = 3, K: int = 20) -> Draw:
    """Return arms that change from round to round."""

    def draw(rng: np.random.Generator) -> World:
        theta = FixedArms.sample(d, 3 * M, M, noise=noise, rng=rng).theta
        features = rng.standard_normal((_SETS, K, d)) / np.sqrt(d)
        return World(features, features @ theta.T, noise)

    return draw


def products(base: float, spread: float, K: int = 10, A: int = 3, C: int = 2, M: int = 2) -> Draw:
    """Return clicks that depend on products of arms with a context."""

    def draw(rng: np.random.Generator) -> World:
        arms = np.hstack([np.ones((K, 1)), rng.standard_normal((K, A))])
        users = np.hstack([np.ones((_SETS, 1)), rng.standard_normal((_SETS, C))])
        features = np.einsum("pc,ka->pkca", users, arms).reshape(_SETS, K, -1)
        theta = spread * rng.standard_normal((M, features.shape[-1]))
        theta[:, 0] = base
        return World(features, np.clip(features @ theta.T, 0.01, 0.99), None)

    return draw


def flat(noise: float, M: int = 3) -> Draw:
    """Return the paper's instances with a last objective that no arm changes."""

    def draw(rng: np.random.Generator) -> World:
        world = FixedArms.sample(5, 50, M, noise=noise, rng=rng)
        means = world.means.copy()
        means[:, -1] = 0
        return World(world.features[None], means[None], noise)

    return draw


QUIET = ("paper, noise 0.01", "paper, noise 0.1", "paper (10, 200, 10), noise 0.1")
WORLDS: dict[str, Draw] = {
    "paper, noise 0.01": paper(0.01),
    "paper, noise 0.1": paper(0.1),
    "paper, noise 0.3": paper(0.3),
    "paper, noise 1": paper(1.0),
    "paper, noise 3": paper(3.0),
    "paper (10, 200, 10), noise 0.1": paper(0.1, 10, 200, 10),
    "paper (10, 200, 10), noise 1": paper(1.0, 10, 200, 10),
    "paper (10, 100, 3), noise 0.5": paper(0.5, 10, 100, 3),
    "paper, 1 objective, noise 0.5": paper(0.5, M=1),
    "paper, 2 objectives, noise 0.5": paper(0.5, M=2),
    "paper, 10 objectives, noise 1": paper(1.0, M=10),
    "10 arms, clicks 2.5 %, two 12 %": good_arms(10, 2, 0.02, 0.03, 0.12),
    "10 arms, clicks 1 %, two 5 %": good_arms(10, 2, 0.008, 0.012, 0.05),
    "10 arms, clicks 10 %, two 30 %": good_arms(10, 2, 0.08, 0.12, 0.3),
    "20 arms, clicks 40 %, two 60 %": good_arms(20, 2, 0.35, 0.45, 0.6),
    "30 arms, clicks 3 %, three 12 %": good_arms(30, 3, 0.02, 0.04, 0.12),
    "10 arms, clicks 2.5 %, one 12 %": good_arms(10, 1, 0.02, 0.03, 0.12),
    "10 arms, clicks 1 to 50 %": plain(10, 2, 0.01, 0.5),
    "10 arms, clicks 1 to 10 %, M = 3": plain(10, 3, 0.01, 0.1),
    "20 arms, clicks 1 to 5 %": plain(20, 2, 0.01, 0.05),
    "20 arms, rewards 0 to 1, noise 0.05": plain(20, 2, 0, 1, 0.05),
    "20 arms, rewards 0 to 1, noise 0.5": plain(20, 2, 0, 1, 0.5),
    "10 arms, rewards 0 to 1, M = 5, noise 1": plain(10, 5, 0, 1, 1.0),
    "shared features, clicks 3 %": shared(0.03, 0.012),
    "shared features, clicks 10 %": shared(0.1, 0.04),
    "shared features, clicks 30 %, M = 3": shared(0.3, 0.1, M=3),
    "one arm 12 times larger, noise 0.5": outlier(0.5),
    "features in units 1 to 1000, noise 0.3": scales(0.3),
    "arms of sizes 1 to 1000, noise 30": arm_scales(30.0),
    "contexts, noise 0.1": contexts(0.1),
    "contexts, noise 1": contexts(1.0),
    "contexts, noise 3": contexts(3.0),
    "contexts, 1 objective, noise 0.5": contexts(0.5, M=1),
    "contexts (10, 20, 5), noise 1": contexts(1.0, d=10, M=5),
    "contexts times arms, clicks 20 %": products(0.2, 0.03),
}
# The same rewards by other features: the first of each pair beside the second.
TWINS: dict[str, tuple[Draw, Draw]] = {
    "units 1 to 1000": (scales(0.3), paper(0.3, M=3)),
    "a constant, units 1 to 1e12": (moved(0.3, units=1e12), moved(0.3)),
    "a constant, offset of 20 standard deviations": (moved(0.3, offset=20), moved(0.3)),
    "a constant, offset of 300, units 1 to 1000": (moved(0.3, 1000, 300), moved(0.3)),
}
# In which nothing can be learned, or nothing about an objective; no arm has any regret there.
NOISE = {
    "pure noise, 1 objective": flat(1.0, M=1),
    "one objective flat, noise 1": flat(1.0),
    "equal clicks of 5 %": plain(10, 2, 0.05, 0.05),
}

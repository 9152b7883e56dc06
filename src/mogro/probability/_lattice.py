"""Random weights on shifted lattices: the laws that scalarisations draw their weights from.

Only the direction of a weight vector decides which arm is best, and a random direction can be made
of independent positive numbers, one for each objective: Gamma numbers for Dirichlet weights. On a
lattice of n points every coordinate takes the same n equidistant places, in another order, so the
quantiles of a law are needed at n places only, however many weight vectors are made of them.
"""

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray

# Generators a of the lattices (1, a, a^2, ...) / n; of 200 tried, best for 3, 5 and 10 dimensions.
GENERATORS = {
    16: 3,
    32: 5,
    64: 11,
    128: 59,
    256: 121,
    512: 185,
    1024: 131,
    2048: 549,
    4096: 563,
}
_NODES = 256  # at which the quantiles of a Gamma number are computed; others are interpolated
_TAIL = 1e-9  # no quantile of a lattice is further out
_DEEP = 80.0  # logarithms of weights beyond which single precision ends
_SMALL = -20.0  # logarithms of Gamma numbers below which x^a / Gamma(a + 1) is their law


class Law(Protocol):
    """The law of random weights: independent positive numbers, up to a common factor."""

    @property
    def objectives(self) -> int:
        """How many weights there are."""
        ...

    def logarithms(self, places: FloatArray) -> FloatArray:
        """Return the logarithms (M, n) of the quantiles at rising places (n,) in (0, 1)."""
        ...

    def below(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return P(w_1 / w_2 < first / second), for two objectives."""
        ...

    def above(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return P(w_1 / w_2 > first / second), precise where it is small."""
        ...


@dataclass(frozen=True)
class Dirichlet:
    """Weights on the simplex."""

    concentration: tuple[float, ...]

    @property
    def objectives(self) -> int:
        """How many weights there are."""
        return len(self.concentration)

    def logarithms(self, places: FloatArray) -> FloatArray:
        """Return the logarithms (M, n) of Gamma quantiles."""
        each = {a: _gamma_logarithms(a, places) for a in set(self.concentration)}
        return np.array([each[a] for a in self.concentration])

    def below(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return P(w_1 / w_2 < first / second)."""
        from scipy.special import betainc

        a, b = self.concentration
        return np.asarray(betainc(a, b, first / (first + second)))

    def above(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return P(w_1 / w_2 > first / second)."""
        from scipy.special import betainc

        a, b = self.concentration
        return np.asarray(betainc(b, a, second / (first + second)))


@dataclass(frozen=True)
class InverseNormal:
    """One over the absolute values of normal numbers, as random hypervolumes multiply by them."""

    objectives: int

    def logarithms(self, places: FloatArray) -> FloatArray:
        """Return the logarithms (M, n) of the quantiles."""
        from scipy.special import ndtri

        return np.tile(-np.log(-ndtri(places / 2)), (self.objectives, 1))

    def below(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return P(w_1 / w_2 < first / second): the angle is uniform."""
        return np.asarray(np.arctan2(first, second) / (np.pi / 2))

    def above(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return P(w_1 / w_2 > first / second)."""
        return np.asarray(np.arctan2(second, first) / (np.pi / 2))


def _gamma_logarithms(shape: float, places: FloatArray) -> FloatArray:
    if shape == 1:
        return np.asarray(np.log(-np.log1p(-places)))
    # The logarithm of a quantile hardly bends over the logit of its place: a coarse table serves.
    nodes, table, slope = _gamma_table(shape)
    logit = np.log(places) - np.log1p(-places)
    step = nodes[1] - nodes[0]
    low = np.clip(((logit - nodes[0]) / step).astype(np.int64), 0, len(nodes) - 2)
    t = (logit - nodes[low]) / step
    start, rise = table[low], table[low + 1] - table[low]
    left, right = step * slope[low] - rise, rise - step * slope[low + 1]
    return np.asarray(start + t * rise + t * (1 - t) * ((1 - t) * left + t * right))


@cache
def _gamma_table(shape: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return logits, the logarithms of the quantiles there, and their derivatives."""
    from scipy.special import gammainccinv, gammaincinv, gammaln

    end = -np.log(_TAIL)
    nodes = np.linspace(-end, end, _NODES)
    low, high = 1 / (1 + np.exp(-nodes)), 1 / (1 + np.exp(nodes))
    small = (np.log(low) + gammaln(shape + 1)) / shape
    with np.errstate(divide="ignore"):
        exact = np.log(np.where(low < 0.5, gammaincinv(shape, low), gammainccinv(shape, high)))
    table = np.where(small < _SMALL, small, exact)
    density = shape * table - np.exp(np.maximum(table, -700)) - gammaln(shape)  # of the logarithm
    return nodes, table, np.asarray(np.exp(np.log(low) + np.log(high) - density))


@dataclass(frozen=True)
class Lattice:
    """The weights of one law on the lattice of n points, shifted at random.

    Shifts are whole steps, different in every coordinate, and a part of a step common to all
    coordinates and all draws of this lattice.
    """

    quantiles: FloatArray  # (2 M n,): those of each objective or their logarithms, rising, twice
    places: IntArray  # (n, M) in the quantiles
    deep: bool  # quantiles leave the range of floating-point numbers

    @classmethod
    def of(cls, law: Law, points: int, *, rng: Rng) -> "Lattice":
        """Compute the quantiles of a law; ``points`` is a power of two with a generator."""
        part = float(np.clip(rng.random(1)[0], _TAIL * points, 1 - _TAIL * points))
        logarithms = law.logarithms((np.arange(points) + part) / points)
        generator = GENERATORS[points]
        steps = np.array([pow(generator, m, points) for m in range(law.objectives)])
        places = np.multiply.outer(np.arange(points), steps) % points
        places += 2 * points * np.arange(law.objectives)
        deep = bool(np.abs(logarithms).max() > _DEEP)
        quantiles = logarithms if deep else np.exp(logarithms)
        return cls(np.concatenate([quantiles, quantiles], axis=1).ravel(), places, deep)

    def draw(self, *, rng: Rng) -> FloatArray:
        """Return weights (n, M), up to a factor for each point."""
        points, objectives = self.places.shape
        shifts = (rng.random(objectives) * points).astype(np.int64)
        weights: FloatArray = self.quantiles.take(self.places + shifts)
        if self.deep:
            weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        return weights

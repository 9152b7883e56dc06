"""Random weights on shifted lattices: the laws that scalarisations draw their weights from.

Only the direction of a weight vector decides which arm is best. It is made by breaking a stick:
each weight takes a random part of what is left, a Beta number for Dirichlet weights, the last one
the rest, so that M weights need a lattice of M - 1 dimensions. On a lattice of n points every
coordinate takes the same n equidistant places, in another order, so the quantiles of a law are
needed at n places only, however many weight vectors are made of them.
"""

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray

# Generators a of the lattices (1, a, a^2, ...) / n, best of some tried for 3 to 10 objectives.
GENERATORS = {16: 3, 32: 5, 64: 11, 128: 59, 256: 59, 512: 185, 1024: 131, 2048: 549}
_NODES = 257  # at which the quantiles of a Beta number are computed; others are interpolated
_FINE = 8  # places for each point, in all coordinates together, if there are not more of these
_TAIL = 1e-9  # no quantile of a lattice is further out
_DEEP = 600.0  # logarithms of weights near the end of double precision
_SMALL = -20.0  # logarithms of Beta numbers below which x^a / (a B(a, b)) is their law


class Law(Protocol):
    """The law of random weights, up to a common factor."""

    @property
    def objectives(self) -> int:
        """How many weights there are."""
        ...

    def sticks(self, places: FloatArray) -> FloatArray:
        """Return logarithms (2, M - 1, n) of parts taken and left, at rising places in (0, 1)."""
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

    def sticks(self, places: FloatArray) -> FloatArray:
        """Return logarithms (2, M - 1, n) of Beta quantiles and what they leave of 1."""
        rest = np.cumsum(self.concentration[::-1])[::-1][1:]
        parts = zip(self.concentration, rest.tolist(), strict=False)
        return np.stack([_beta_logarithms(a, b, places) for a, b in parts], axis=1)

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

    def sticks(self, places: FloatArray) -> FloatArray:
        """Return logarithms (2, M - 1, n): squares of normal numbers are Gamma numbers."""
        return -0.5 * Dirichlet((0.5,) * self.objectives).sticks(places)

    def below(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return P(w_1 / w_2 < first / second): the angle is uniform."""
        return np.asarray(np.arctan2(first, second) / (np.pi / 2))

    def above(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return P(w_1 / w_2 > first / second)."""
        return np.asarray(np.arctan2(second, first) / (np.pi / 2))


def _beta_logarithms(a: float, b: float, places: FloatArray) -> FloatArray:
    """Return the logarithms (2, n) of the quantiles x of Beta numbers, and of 1 - x."""
    if a == 1:
        left = np.log1p(-places) / b
        return np.array([np.log(-np.expm1(left)), left])
    # The logit of a quantile hardly bends over the logit of its place: a coarse table serves.
    nodes, table, slope = _beta_table(a, b)
    logit = np.log(places) - np.log1p(-places)
    step = nodes[1] - nodes[0]
    low = np.clip(((logit - nodes[0]) / step).astype(np.int64), 0, len(nodes) - 2)
    t = (logit - nodes[low]) / step
    start, rise = table[low], table[low + 1] - table[low]
    left, right = step * slope[low] - rise, rise - step * slope[low + 1]
    found = start + t * rise + t * (1 - t) * ((1 - t) * left + t * right)
    return -np.logaddexp(0, [-found, found])


@cache
def _beta_table(a: float, b: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return logits of places, the logits of the quantiles there, and their derivatives."""
    from scipy.special import betaincinv, betaln

    middle = np.log(b / a)  # where Beta numbers with small parameters go from 0 to 1
    end = -np.log(_TAIL) + abs(middle)
    nodes = middle + np.linspace(-end, end, _NODES)
    logs = -np.logaddexp(0, [-nodes, nodes])  # of places, and what they leave of 1
    small = (logs + np.log([[a], [b]]) + betaln(a, b)) / np.array([[a], [b]])
    with np.errstate(divide="ignore", over="ignore"):
        exact = np.log([betaincinv(a, b, np.exp(logs[0])), betaincinv(b, a, np.exp(logs[1]))])
    parts = np.where(small < _SMALL, small, exact)
    density = a * parts[0] + b * parts[1] - betaln(a, b)  # of the logit
    return nodes, parts[0] - parts[1], np.exp(logs.sum(axis=0) - density)


@dataclass(frozen=True)
class Lattice:
    """The weights of one law on the lattice of n points, shifted at random.

    Shifts are parts of a step, different in every coordinate, and a part of such a part common to
    all coordinates and all draws of this lattice.
    """

    parts: FloatArray  # (2, M - 1, 2 n f): taken and left, or their logarithms, rising, twice
    places: IntArray  # (M - 1, n) of the points among the parts
    deep: bool  # weights leave the range of floating-point numbers

    @classmethod
    def of(cls, law: Law, points: int, *, rng: Rng) -> "Lattice":
        """Compute the quantiles of a law; ``points`` is a power of two with a generator."""
        coordinates = law.objectives - 1
        fine = max(1, _FINE // coordinates)
        number = fine * points
        part = float(np.clip(rng.random(1)[0], _TAIL * number, 1 - _TAIL * number))
        sticks = law.sticks((np.arange(number) + part) / number)
        steps = [pow(GENERATORS[points], m, points) for m in range(coordinates)]
        places = fine * (np.multiply.outer(steps, np.arange(points)) % points)
        deep = bool(np.abs(sticks).max(axis=(0, 2)).sum() > _DEEP)
        parts = sticks if deep else np.exp(sticks)
        return cls(np.concatenate([parts, parts], axis=2), places, deep)

    def draw(self, replicates: int, *, rng: Rng) -> FloatArray:
        """Return weights (replicates * n, M), up to a factor for each point."""
        coordinates, points = self.places.shape
        combine = np.add if self.deep else np.multiply
        weights = np.empty((coordinates + 1, replicates, points))
        left = weights[-1]
        left[:] = 0 if self.deep else 1
        shifts = rng.random((coordinates, replicates, 1)) * (self.parts.shape[2] // 2)
        for m, shift in enumerate(shifts.astype(np.int64)):
            places = self.places[m] + shift
            combine(left, self.parts[0, m].take(places), out=weights[m])
            combine(left, self.parts[1, m].take(places), out=left)
        weights = weights.reshape(len(weights), -1)
        if self.deep:
            weights = np.exp(weights - weights.max(axis=0))
        return np.ascontiguousarray(weights.T)

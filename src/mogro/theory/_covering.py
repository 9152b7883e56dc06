"""The direction nearest to a given one that no arm of a set covers.

An arm x covers the unit vectors u with x . u >= level. The uncovered ones are the points of the
unit sphere in the polytope P = {u: x . u < level for every arm}. The one nearest to a unit vector
t maximises t . u. Where the maximum over P lies outside the ball, the convex problem over P and
the ball has the same optimum, and its dual certifies it. Where it lies inside, sinking the
level t . u >= c from there, P first meets the sphere on an edge: the vertices are walked from
the top, and at every moment the highest vertex not yet visited certifies a bound.
"""

import heapq
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray

_WIDER = 1e-11  # levels are raised by this share at random: no vertex has more than d facets
_TILT = 1e-13  # and the direction is tilted by this: no edge is level
_BOX = 2.0  # P is cut by a box that holds the ball, so that a highest vertex exists
_VERTICES = 2000  # visited at most
_PIVOTS = 10_000
_FLAT = 1e-12
_ROUNDING = 1e-14  # an arm that misses the level by a smaller share may be at it


@dataclass(frozen=True)
class Uncovered:
    """What is known of the uncovered direction nearest to a given one.

    Attributes
    ----------
    ceiling
        No uncovered direction has a larger cosine with the given one. At most 0: none at an acute
        angle.
    witness
        An uncovered unit vector, checked to be so, as near as one was found; or None.
    """

    ceiling: float
    witness: FloatArray | None


class Cover:
    """The arms around a unit vector, asked at one level or at several.

    What does not depend on the level is prepared once. The highest vertex at one level is a start
    of the search at the next, often its end: without the box P only changes its size.
    """

    def __init__(self, features: FloatArray, direction: FloatArray) -> None:
        self._features, self._direction = features, direction
        self._best = float((features @ direction).max())
        rng = np.random.default_rng(0)
        dim = direction.size
        self._rows = np.concatenate([features, np.eye(dim), -np.eye(dim)])
        self._wider = 1 + _WIDER * (1 + rng.random(len(self._rows)))
        self._tilted = direction + _TILT * rng.uniform(-1, 1, dim)
        self._top = len(features) + np.arange(dim) + dim * (self._tilted < 0)  # of the box

    def nearest_uncovered(self, level: float, *, floor: float = 0.0) -> Uncovered:
        """Bound the cosine between the vector and the nearest direction that no arm covers.

        A ceiling of at most ``floor`` is as good as any lower one to the caller.
        """
        features, direction = self._features, self._direction
        if self._best < level:
            missed = self._best < level * (1 - _ROUNDING)
            return Uncovered(1.0, direction if missed else None)
        if direction.size == 1:
            return Uncovered(-1.0, None)  # the only other direction is the opposite one
        arms, dim = features.shape
        heights = np.concatenate([np.full(arms, level), np.full(2 * dim, _BOX)]) * self._wider
        polytope = _Polytope(self._rows, heights, arms)
        top = _highest_vertex(polytope, self._tilted, self._top)
        if top is None:
            return Uncovered(1.0, None)
        self._top = top
        slack = 2 * _TILT * math.sqrt(dim)
        if np.linalg.norm(polytope.vertex(top)) < 1:
            ceiling, found = _walk(polytope, self._tilted, top, floor - 2 * slack)
        else:
            ceiling, found = _relaxed(polytope, direction, top)
        witness = None if found is None else _sharpened(features, level, *found)
        return Uncovered(min(1.0, ceiling + slack), witness)


@dataclass
class _Polytope:
    """Points u with rows @ u <= heights; the first ``arms`` rows are the arms, then a box."""

    rows: FloatArray
    heights: FloatArray
    arms: int

    def vertex(self, basis: NDArray[np.intp]) -> FloatArray:
        return np.asarray(np.linalg.solve(self.rows[basis], self.heights[basis]))


def _highest_vertex(
    polytope: _Polytope, direction: FloatArray, basis: NDArray[np.intp]
) -> NDArray[np.intp] | None:
    """Return the d rows that meet at the vertex with the largest t . u (dual simplex).

    It starts from rows whose mixture is t, wherever they meet.
    """
    for _ in range(_PIVOTS):
        inverse = np.linalg.inv(polytope.rows[basis])
        excess = polytope.rows @ (inverse @ polytope.heights[basis]) - polytope.heights
        excess[basis] = 0
        entering = int(excess.argmax())
        if excess[entering] <= 1e-15:
            return basis
        prices = direction @ inverse
        shares = polytope.rows[entering] @ inverse
        ratios = _ratios(np.maximum(prices, 0), shares)
        basis = basis.copy()
        basis[ratios.argmin()] = entering
    return None


@dataclass(order=True)
class _Visit:
    """A vertex inside the ball, to be visited from the highest down."""

    negative_height: float
    basis: NDArray[np.intp] = field(compare=False)


_Found = tuple[FloatArray, NDArray[np.intp]]  # a point of P on the sphere, and its tight rows


def _walk(
    polytope: _Polytope, direction: FloatArray, top: NDArray[np.intp], floor: float
) -> tuple[float, _Found | None]:
    """Sink from the top vertex, inside the ball, until an edge leaves the ball."""
    best = floor
    found: _Found | None = None
    queue = [_Visit(-float(direction @ polytope.vertex(top)), top)]
    seen = {frozenset(top.tolist())}
    for _ in range(_VERTICES):
        if not queue or -queue[0].negative_height <= best:
            return best, found
        basis = heapq.heappop(queue).basis
        inverse = np.linalg.inv(polytope.rows[basis])
        vertex = inverse @ polytope.heights[basis]
        edges, lengths, entering = _edges(polytope, basis, inverse, vertex)
        to_sphere = _to_sphere(vertex, edges)
        steps = np.minimum(lengths, to_sphere)
        ends = vertex[:, None] + steps * edges
        heights = direction @ ends
        for j in np.flatnonzero((direction @ edges < 0) & (heights > best)):
            if to_sphere[j] <= lengths[j]:
                if heights[j] > best:
                    best, found = float(heights[j]), (ends[:, j], np.delete(basis, j))
                continue
            neighbour = basis.copy()
            neighbour[j] = entering[j]
            key = frozenset(neighbour.tolist())
            if key not in seen:
                seen.add(key)
                heapq.heappush(queue, _Visit(-float(heights[j]), neighbour))
    return max(best, -queue[0].negative_height if queue else best), found


def _edges(
    polytope: _Polytope, basis: NDArray[np.intp], inverse: FloatArray, vertex: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Return the edges from a vertex: directions (d, d) as columns, lengths, the rows they meet."""
    edges = -inverse / np.linalg.norm(inverse, axis=0)
    slopes = polytope.rows @ edges
    slopes[basis] = 0
    room = np.maximum(polytope.heights - polytope.rows @ vertex, 0)
    steps = _ratios(room[:, None], slopes)
    entering = steps.argmin(axis=0)
    return edges, steps[entering, np.arange(len(basis))], entering


def _ratios(values: FloatArray, rates: FloatArray) -> FloatArray:
    """Return values / rates, infinite where the rate is not positive."""
    ratios = np.full(rates.shape, np.inf)
    np.divide(values, rates, out=ratios, where=rates > _FLAT)
    return ratios


def _to_sphere(start: FloatArray, edges: FloatArray) -> FloatArray:
    """Return how far from a point inside the ball the sphere is, along unit vectors (d, n)."""
    along = start @ edges
    return np.asarray(np.sqrt(np.maximum(along**2 + 1 - start @ start, 0)) - along)


def _relaxed(
    polytope: _Polytope, direction: FloatArray, top: NDArray[np.intp]
) -> tuple[float, _Found | None]:
    """Maximise t . u over P and the ball, when the highest vertex is not inside the ball.

    The points of P nearest to s t run from inside the ball towards the highest vertex as s grows;
    where they leave the ball is the optimum. Its tight rows give it, and its dual, in closed form.
    """
    rows, heights = polytope.rows[: polytope.arms], polytope.heights[: polytope.arms]
    vertex = polytope.vertex(top)
    ceiling = min(1.0, float(direction @ vertex) + _FLAT)
    found: _Found | None = None
    inside: _Found | None = None
    nearer, further = 1.0, math.inf
    while nearer < 1e9 and further / nearer > 1 + 1e-14:
        middle = 2 * nearer if further == math.inf else math.sqrt(nearer * further)
        projected = _projection(rows, heights, middle * direction)
        if projected is None:
            return ceiling, found
        point, tight = projected
        if np.linalg.norm(point) >= 1:
            further = middle
        else:
            nearer, inside = middle, (point, tight)
        if (exact := _on_sphere(rows[tight], heights[tight], point)) is None:
            continue
        ceiling = min(ceiling, _dual_value(rows, heights, direction, exact, tight))
        if (rows @ exact - heights).max() <= 1e-14:
            found = (exact, tight)
            if ceiling - direction @ exact < _FLAT:
                return ceiling, found
    if found is None and inside is not None:
        # A whole facet faces the direction: all its points, also those on the sphere, are highest.
        point, tight = inside
        outwards = (vertex - point) / np.linalg.norm(vertex - point)
        found = (point + _to_sphere(point, outwards) * outwards, tight)
    return ceiling, found


def _projection(
    rows: FloatArray, heights: FloatArray, point: FloatArray
) -> tuple[FloatArray, NDArray[np.intp]] | None:
    """Return the point of {rows @ u <= heights} nearest to a given one, and its tight rows.

    Least distance programming (Lawson and Hanson): one problem of non-negative least squares.
    """
    from scipy.optimize import nnls

    depth = rows @ point - heights
    size = max(1.0, float(np.abs(depth).max()))
    stacked = np.concatenate([-rows.T, depth[None] / size])
    target = np.zeros(len(stacked))
    target[-1] = 1
    try:
        multipliers, _ = nnls(stacked, target)
    except RuntimeError:  # too many iterations
        return None
    residual = stacked @ multipliers - target
    if residual[-1] > -1e-14:
        return None
    return point - size * residual[:-1] / residual[-1], np.flatnonzero(multipliers > 0)


def _on_sphere(rows: FloatArray, heights: FloatArray, near: FloatArray) -> FloatArray | None:
    """Return the unit vector with rows @ u = heights next to a given point, if there is one."""
    base, _, rank, _ = np.linalg.lstsq(rows, heights)
    rest = near - np.linalg.lstsq(rows, rows @ near)[0]
    height = 1 - float(base @ base)
    if rank == near.size or height < 0 or np.linalg.norm(rest) < _FLAT:
        return None
    return np.asarray(base + math.sqrt(height) * rest / np.linalg.norm(rest))


def _dual_value(
    rows: FloatArray,
    heights: FloatArray,
    direction: FloatArray,
    point: FloatArray,
    tight: NDArray[np.intp],
) -> float:
    """Bound t . u over P and the ball by h . y + |t - R^T y|, which holds for every y >= 0."""
    system = np.column_stack([rows[tight].T, point])
    prices = np.maximum(np.linalg.lstsq(system, direction)[0][:-1], 0)
    return float(heights[tight] @ prices + np.linalg.norm(direction - prices @ rows[tight]))


def _sharpened(
    features: FloatArray, level: float, point: FloatArray, tight: NDArray[np.intp]
) -> FloatArray | None:
    """Move a point of the widened P onto the sphere and inside P itself."""
    tight = tight[tight < len(features)]
    lower = np.full(tight.size, level * (1 - _WIDER))
    witness = _on_sphere(features[tight], lower, point)
    if witness is None or (features @ witness).max() >= level * (1 - _ROUNDING):
        return None
    return witness / np.linalg.norm(witness)

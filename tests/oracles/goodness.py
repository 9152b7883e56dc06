"""Goodness the slow, obvious way: in the plane by arcs, in space by circles and on a mesh."""

import math

import numpy as np

from mogro._validation import FloatArray


def radius_by_arcs(features: FloatArray, parameter: FloatArray, gamma: float) -> float:
    """Return the largest alpha for one objective in the plane, from the ends of covered arcs.

    The nearest uncovered direction is the parameter's own, or just outside the end of an arc.
    """
    size = float(np.linalg.norm(parameter))
    own = math.atan2(parameter[1], parameter[0])
    lengths = np.linalg.norm(features, axis=1)
    long = lengths >= gamma
    centres = np.arctan2(features[long, 1], features[long, 0])
    halves = np.arccos(np.clip(gamma / lengths[long], -1, 1))
    if not _covered(features, own, gamma):
        return 0.0
    nearest = math.pi
    ends = [(c + h, 1) for c, h in zip(centres, halves, strict=True)]
    ends += [(c - h, -1) for c, h in zip(centres, halves, strict=True)]
    for end, outside in ends:
        if not _covered(features, end + 1e-11 * outside, gamma):
            nearest = min(nearest, abs(math.remainder(end - own, 2 * math.pi)))
    return size * math.sin(nearest) if nearest < math.pi / 2 else size


def _covered(features: FloatArray, angle: float, gamma: float) -> bool:
    return bool((features @ np.array([math.cos(angle), math.sin(angle)])).max() >= gamma)


def sphere_mesh(points: int) -> FloatArray:
    """Return points spread evenly over the unit sphere (a Fibonacci spiral)."""
    i = np.arange(points) + 0.5
    polar, azimuth = np.arccos(1 - 2 * i / points), np.pi * (1 + math.sqrt(5)) * i
    return np.column_stack(
        [np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)]
    )


def radius_on_mesh(
    features: FloatArray, parameter: FloatArray, gamma: float, mesh: FloatArray
) -> float:
    """Return an upper bound on the largest alpha for one objective that a finer mesh lowers."""
    size = float(np.linalg.norm(parameter))
    free = mesh[(mesh @ features.T).max(axis=1) < gamma]
    cosine = float((free @ parameter).max(initial=0.0)) / size
    return size * math.sqrt(max(0.0, 1 - cosine**2))


def radius_by_circles(features: FloatArray, parameter: FloatArray, gamma: float) -> float:
    """Return the largest alpha for one objective in space, from the circles that arms cover.

    The nearest uncovered direction is the parameter's own, the point nearest to it on one of the
    circles x . u = gamma, or a point where two circles meet.
    """
    size = float(np.linalg.norm(parameter))
    direction = parameter / size
    if (features @ direction).max() < gamma:
        return 0.0
    candidates = [_nearest(x, direction, gamma) for x in features if np.linalg.norm(x) > gamma]
    for i in range(len(features)):
        for j in range(i):
            candidates += _meeting(features[i], features[j], gamma)
    points = np.array([u for u in candidates if u is not None]).reshape(-1, 3)
    free = points[(points @ features.T).max(axis=1) <= gamma + 1e-10]
    cosine = float((free @ direction).max(initial=0.0))
    return size * math.sqrt(max(0.0, 1 - cosine**2))


def _nearest(x: FloatArray, direction: FloatArray, gamma: float) -> FloatArray | None:
    length = float(np.linalg.norm(x))
    axis = x / length
    across = direction - (direction @ axis) * axis
    if np.linalg.norm(across) < 1e-9:  # all points of the circle are equally near: take any
        across = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    across /= np.linalg.norm(across)
    height = gamma / length
    return np.asarray(height * axis + math.sqrt(1 - height**2) * across)


def _meeting(x: FloatArray, y: FloatArray, gamma: float) -> list[FloatArray | None]:
    normal = np.cross(x, y)
    if np.linalg.norm(normal) < 1e-9:
        return []
    base = np.linalg.lstsq(np.stack([x, y]), np.full(2, gamma))[0]
    rest = 1 - float(base @ base)
    if rest < 0:
        return []
    step = math.sqrt(rest) * normal / np.linalg.norm(normal)
    return [base + step, base - step]

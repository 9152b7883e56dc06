"""Random and degenerate means for the tests of this folder."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mogro._validation import FloatArray

KINDS = 9


def problem(kind: int, arms: int, objectives: int, rng: np.random.Generator) -> FloatArray:
    """Return means (arms, objectives); each kind is a different way to be difficult."""
    if kind == 0:
        return rng.normal(size=(arms, objectives))
    if kind == 1:  # many ties and duplicates
        return rng.integers(0, 3, size=(arms, objectives)).astype(float)
    if kind == 2:
        return rng.integers(0, 10, size=(arms, objectives)).astype(float)
    if kind == 3:  # on a line
        return np.outer(rng.random(arms), rng.normal(size=objectives)) + rng.normal(size=objectives)
    if kind == 4:  # all equal
        return np.full((arms, objectives), rng.normal())
    if kind == 5:  # all on one face
        return rng.dirichlet(np.ones(objectives), arms)
    if kind == 6:  # a large offset and a small spread
        return rng.normal(size=(arms, objectives)) * 1e-6 + 1e6
    if kind == 7:  # in a plane
        return rng.random((arms, 2)) @ rng.normal(size=(2, objectives))
    corners = rng.normal(size=(min(arms, objectives + 2), objectives))  # mixtures of a few corners
    means = rng.dirichlet(np.ones(len(corners)), arms) @ corners
    means[: len(corners)] = corners
    return np.asarray(means)


def ball_means(
    arms: int, objectives: int, rng: np.random.Generator, *, problems: tuple[int, ...] = ()
) -> FloatArray:
    """Means of features that are uniform in the ball, under positive unit parameters."""
    dim = max(2, objectives)
    features = rng.normal(size=(*problems, arms, dim))
    features /= np.linalg.norm(features, axis=-1, keepdims=True)
    features *= rng.random((*problems, arms, 1)) ** (1 / dim)
    theta = np.abs(rng.normal(size=(*problems, objectives, dim)))
    theta /= np.linalg.norm(theta, axis=-1, keepdims=True)
    return np.asarray(features @ theta.swapaxes(-1, -2))


small_integers = hnp.arrays(
    float,
    st.tuples(st.integers(1, 12), st.integers(1, 5)),
    elements=st.integers(-4, 4).map(float),
)

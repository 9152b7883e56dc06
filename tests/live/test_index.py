"""The exact index stays exact when it looks at a copy in single precision first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mogro._validation import BoolArray, FloatArray
from mogro.live import ExactIndex

K, D = 2**15, 8


def plain(arms: FloatArray, direction: FloatArray, eligible: BoolArray | None) -> list[int]:
    """The best arms and those that equal them, in longer numbers."""
    scores = arms.astype(np.longdouble) @ direction.astype(np.longdouble)
    if eligible is not None:
        scores[~eligible] = -np.inf
    norms = np.linalg.norm(arms, axis=1) * np.linalg.norm(direction)
    return np.flatnonzero(scores >= scores.max() - 1e-17 * norms).tolist()


def arms_of(kind: str, rng: np.random.Generator) -> FloatArray:
    arms = rng.standard_normal((K, D))
    if kind == "near":  # many differ by less than single precision can tell
        arms = 1 + 1e-9 * arms
        arms[:, 0] += 1e-3 * rng.random(K)
    elif kind == "copies":
        arms = arms[rng.integers(K // 4, size=K)]
    elif kind == "outlier":
        arms[rng.integers(K)] *= 1e6
    elif kind == "sizes":
        arms *= 10.0 ** rng.integers(-60, 60, size=(K, 1))
    elif kind == "large":
        arms *= 1e100
    elif kind == "tiny":
        arms *= 1e-100
    elif kind == "equal":
        arms[:] = arms[0]
    elif kind == "zero":
        arms[:] = 0
    return arms


@pytest.mark.parametrize(
    "kind", ["any", "near", "copies", "outlier", "sizes", "large", "tiny", "equal", "zero"]
)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), some=st.booleans())
def test_it_names_the_best_arms_whatever_it_looks_at(kind: str, seed: int, some: bool) -> None:
    rng = np.random.default_rng(seed)
    arms = arms_of(kind, rng)
    index = ExactIndex(arms)
    eligible = rng.random(K) < 0.5 if some else None
    for _ in range(20):
        index.best(rng.standard_normal(D), eligible=None)
    for size in (1.0, 1e-30, 1e30):
        direction = size * rng.standard_normal(D)
        found = index.best(direction, eligible=eligible)
        first = ExactIndex(arms).best(direction, eligible=eligible)  # which has no copy yet
        assert found.tolist() == first.tolist()
        assert set(plain(arms, direction, eligible)) <= set(found.tolist())
    nothing = index.best(np.zeros(D), eligible=eligible)
    assert len(nothing) == (K if eligible is None else eligible.sum())

"""Rewards of all instances at once are those that every environment gives by itself."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mogro.environments import FixedArms, VaryingContexts
from mogro.simulation._rewards import LinearTogether, OneByOne, make_rewards


def generators(instances: int, repeats: int) -> Any:
    rows = [[np.random.default_rng((i, r)) for r in range(repeats)] for i in range(instances)]
    return np.array(rows, dtype=object)


@settings(max_examples=60, deadline=None)
@given(
    instances=st.integers(1, 6),
    repeats=st.integers(1, 6),
    dim=st.integers(1, 17),
    objectives=st.integers(1, 7),
    seed=st.integers(0, 1000),
)
def test_to_the_bit(instances: int, repeats: int, dim: int, objectives: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    worlds = [
        FixedArms(
            rng.normal(size=(4, dim)), rng.normal(size=(objectives, dim)), noise=float(rng.random())
        )
        for _ in range(instances)
    ]
    together = LinearTogether(worlds, generators(instances, repeats))
    alone = OneByOne(worlds, generators(instances, repeats))
    for _ in range(3):
        x = rng.normal(size=(instances, repeats, dim))
        arms = np.zeros((instances, repeats), dtype=np.int64)
        assert np.array_equal(together.observe(x, arms, 0), alone.observe(x, arms, 0))


class Own(FixedArms):  # type: ignore[misc]
    """An environment that may do as it likes."""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(FixedArms, LinearTogether), (VaryingContexts, LinearTogether), (Own, OneByOne)],
)
def test_only_what_is_known_is_done_at_once(kind: Any, expected: type) -> None:
    rng = np.random.default_rng(0)
    worlds = [
        FixedArms.sample(3, 8, 2, noise=0.1, rng=rng),
        kind.sample(3, 8, 2, noise=0.1, rng=rng),
    ]
    assert type(make_rewards(worlds, generators(2, 1))) is expected

"""Rewards of all instances at once are those that every environment gives by itself."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

import mogro
from mogro import Streams
from mogro.environments import FixedArms, VaryingContexts
from mogro.simulation import Purpose, stream
from mogro.simulation._worlds import Worlds


class Asked:
    """A world that may do as it likes, so that it is asked by itself."""

    def __init__(self, world: Any) -> None:
        self._world = world
        for name in ("dim", "arms", "objectives", "theta", "contexts", "observe"):
            setattr(self, name, getattr(world, name))


@examples(60)
@given(
    kinds=st.lists(st.sampled_from([FixedArms, VaryingContexts]), min_size=1, max_size=6),
    repeats=st.integers(1, 6),
    sizes=st.tuples(st.integers(1, 17), st.integers(1, 7), st.integers(1, 7)),
    seed=st.integers(0, 1000),
)
def test_to_the_bit(kinds: list[Any], repeats: int, sizes: tuple[int, int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    worlds = [kind.sample(*sizes, noise=float(rng.random()), rng=rng) for kind in kinds]
    together = Worlds(worlds, repeats, (seed,), (2, 1))
    asked: list[Any] = [Asked(world) for world in worlds]
    alone = Worlds(asked, repeats, (seed,), (2, 1))
    noise = [
        Streams([stream(seed, 2 + i, 1 + r, Purpose.NOISE) for r in range(repeats)], ahead=True)
        for i in range(len(worlds))
    ]
    for t in range(3):
        (features, means), (theirs, other_means) = together.offer(t), alone.offer(t)
        assert np.array_equal(theirs, features)
        arms = rng.integers(sizes[1], size=(len(worlds), repeats))
        x, rewards = together.observe(features, arms, t)
        assert np.array_equal(x, alone.observe(features, arms, t)[0])
        for i, world in enumerate(worlds):
            for r in range(repeats):
                assert np.array_equal(x[i, r], features[i, r % features.shape[1], arms[i, r]])
            assert np.array_equal(rewards[i], world.observe(x[i], rng=noise[i]))
        for told in (means, other_means):
            for i, world in enumerate(worlds):
                expected = features[i] @ world.theta.T
                np.testing.assert_allclose(told[i], expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("staying", [True, False])
def test_what_stays_comes_as_the_very_same_array(staying: bool) -> None:
    kind: Any = FixedArms if staying else VaryingContexts
    worlds = Worlds(
        [kind.sample(3, 4, 2, noise=0.1, rng=np.random.default_rng(0))], 2, (0,), (0, 0)
    )
    (first, means), (second, later) = worlds.offer(0), worlds.offer(1)
    assert (first is second) == staying
    assert (means is later) == staying
    assert not first.flags.writeable


@pytest.mark.parametrize("answer", [None, "ab", [1.0], [np.nan, 1.0]])
def test_rewards_that_are_no_numbers_are_refused(answer: Any) -> None:
    class Broken:
        dim, arms, objectives = 3, 4, 2
        theta = np.ones((2, 3))

        def contexts(self, *, rng: Any) -> Any:
            return np.ones((4, 3))

        def observe(self, x: Any, *, rng: Any) -> Any:
            return answer

    with pytest.raises(ValueError, match="environment: expected finite rewards of shape"):
        mogro.simulate(mogro.MOGRO, Broken(), rounds=3)
    Broken.theta = np.ones((3, 2))
    with pytest.raises(ValueError, match=r"environment: expected theta of shape \(2, 3\), got"):
        mogro.simulate(mogro.MOGRO, Broken(), rounds=3)

"""A batch of generators gives to each learner what its own generator gives."""

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mogro._streams import Rng, Streams, part_of
from mogro._validation import FloatArray

Draw = Callable[[Rng, tuple[int, ...]], FloatArray]
draws: dict[str, Draw] = {
    "random": lambda rng, size: rng.random(size),
    "normal": lambda rng, size: rng.standard_normal(size),
    "exponential": lambda rng, size: rng.standard_exponential(size),
    "dirichlet": lambda rng, size: rng.dirichlet([1.0, 0.5, 3.0], size),
    "sparse dirichlet": lambda rng, size: rng.dirichlet([0.01, 0.02], size),
}
kinds = st.sampled_from(list(draws.values()))
batches = st.lists(st.integers(1, 4), max_size=2).map(tuple)
shapes = st.lists(st.integers(0, 4), max_size=2).map(tuple)


def generators(batch: tuple[int, ...]) -> Any:
    result = np.empty(batch, dtype=object)
    for learner in np.ndindex(*batch):
        result[learner] = np.random.default_rng([17, *learner])
    return result


@given(batch=batches, steps=st.lists(st.tuples(kinds, shapes), max_size=6))
def test_equal_to_the_bit_with_separate_generators(
    batch: tuple[int, ...], steps: list[tuple[Draw, tuple[int, ...]]]
) -> None:
    streams, separate = Streams(generators(batch)), generators(batch)
    assert streams.batch == batch
    for draw, shape in steps:
        values = draw(streams, batch + shape)
        assert values.shape[: len(batch + shape)] == batch + shape
        for learner in np.ndindex(*batch):
            assert np.array_equal(values[learner], draw(separate[learner], shape))


@given(
    size=st.integers(1, 5),
    ahead=st.booleans(),
    steps=st.lists(st.tuples(kinds, shapes, st.sets(st.integers(0, 4))), max_size=8),
)
def test_some_learners_draw_and_the_others_do_not_notice(
    size: int, ahead: bool, steps: list[tuple[Draw, tuple[int, ...], set[int]]]
) -> None:
    streams = Streams(generators((size,)), ahead=ahead)
    alone = [Streams([g], ahead=ahead) for g in generators((size,))]
    for draw, shape, members in steps:
        chosen = np.array([i for i in sorted(members) if i < size], dtype=np.intp)
        values = draw(streams.take(chosen), (len(chosen), *shape))
        assert values.shape[: 1 + len(shape)] == (len(chosen), *shape)
        for row, learner in enumerate(chosen):
            assert np.array_equal(values[row], draw(alone[learner], (1, *shape))[0])


@pytest.mark.parametrize("seed", range(20))
def test_rounds_of_all_and_draws_of_some_may_alternate(seed: int) -> None:
    """Also where all are in step again after a block in which they were not."""
    rng, streams = np.random.default_rng(seed), Streams(generators((3,)), ahead=True)
    alone = [Streams([g], ahead=True) for g in generators((3,))]
    for _ in range(60):
        number, rounds = int(rng.integers(5, 600)), int(rng.integers(1, 6))
        chosen = np.arange(3) if rng.random() < 0.8 else rng.permutation(3)[:2]
        for _ in range(rounds):
            part = streams if len(chosen) == 3 else streams.take(chosen)
            values = part.random((len(chosen), number))
            for row, learner in zip(values, chosen.tolist(), strict=True):
                np.testing.assert_array_equal(row, alone[learner].random((1, number))[0])


@given(batch=batches, steps=st.lists(st.tuples(kinds, shapes), max_size=6))
def test_drawing_ahead_does_not_depend_on_the_batch(
    batch: tuple[int, ...], steps: list[tuple[Draw, tuple[int, ...]]]
) -> None:
    streams, separate = Streams(generators(batch), ahead=True), generators(batch)
    alone = {learner: Streams([separate[learner]], ahead=True) for learner in np.ndindex(*batch)}
    for draw, shape in steps:
        values = draw(streams, batch + shape)
        for learner, stream in alone.items():
            assert np.array_equal(values[learner], draw(stream, (1, *shape))[0])


@pytest.mark.parametrize("kind", draws)
@pytest.mark.parametrize("shape", [(), (3,), (50, 2), (3000,), (5000,)])
def test_blocks_of_one_kind_are_what_single_draws_give(kind: str, shape: tuple[int, ...]) -> None:
    draw = draws[kind]
    rounds = 5000 // math.prod(shape) + 3
    streams, single = Streams([np.random.default_rng(3)], ahead=True), np.random.default_rng(3)
    for _ in range(rounds):
        assert np.array_equal(draw(streams, (1, *shape))[0], draw(single, shape))


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("kind", draws)
def test_draws_of_one_kind_come_in_order_whatever_their_extents(kind: str, axes: int) -> None:
    draw, rng = draws[kind], np.random.default_rng(5)
    streams, single = Streams([np.random.default_rng(3)], ahead=True), np.random.default_rng(3)
    for _ in range(300):
        shape = tuple(rng.integers(5, 60, size=axes).tolist())
        assert np.array_equal(draw(streams, (1, *shape))[0], draw(single, shape))


def test_a_coin_and_one_number_for_each_arm_do_not_share_a_block() -> None:
    streams, single = Streams([np.random.default_rng(3)], ahead=True), np.random.default_rng(3)
    coins, arms = single.random((1024, 2)), single.random((40, 50))
    for coin, scores in zip(coins, arms, strict=False):
        assert np.array_equal(streams.random((1, 2))[0], coin)
        assert np.array_equal(streams.random((1, 50))[0], scores)


@pytest.mark.parametrize("kind", draws)
def test_a_block_holds_whole_draws_so_that_kinds_interleave_as_before(kind: str) -> None:
    """With one shape for each kind a block is as many whole draws as go into 2048 numbers."""
    draw = draws[kind]
    each = draw(np.random.default_rng(0), ()).size
    streams, single = Streams([np.random.default_rng(3)], ahead=True), np.random.default_rng(3)
    for _ in range(3):
        block = 2048 // (7 * each)
        ours = [draw(streams, (1, 7))[0] for _ in range(block)]
        assert np.array_equal(ours, draw(single, (block, 7)))
        if kind != "normal":
            ahead = single.standard_normal(2048)
            assert np.array_equal([streams.standard_normal(1)[0] for _ in range(2048)], ahead)


def test_memory_does_not_grow_with_the_number_of_shapes() -> None:
    streams = Streams(generators((50,)), ahead=True)
    streams.random((50, 300))
    tracemalloc.start()
    for arms in range(1, 301):
        streams.random((50, arms))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 8 * 50 * 2048 * 8  # a few blocks, not three hundred


def test_a_kind_is_its_concentration_and_shape_too() -> None:
    streams = Streams([np.random.default_rng(0)], ahead=True)
    assert streams.dirichlet([1.0, 1.0], (1,)).shape == (1, 2)
    assert streams.dirichlet([1.0, 1.0, 1.0], (1,)).shape == (1, 3)
    even, uneven = streams.dirichlet([1e6, 1e6], 1), streams.dirichlet([1e6, 1.0], 1)
    np.testing.assert_allclose(even, [[0.5, 0.5]], atol=0.01)
    np.testing.assert_allclose(uneven, [[1.0, 0.0]], atol=0.01)


def test_drawn_values_are_the_callers_own() -> None:
    streams = Streams([np.random.default_rng(0)], ahead=True)
    first = streams.random((1, 2))
    first[:] = 7
    expected = np.random.default_rng(0).random((2, 2))
    assert np.array_equal(streams.random((1, 2))[0], expected[1])


def test_positions_are_flat_and_may_have_any_shape() -> None:
    part = Streams(generators((2, 3))).take(np.array([[5, 0], [1, 2]]))
    assert part.batch == (2, 2)
    values = part.random((2, 2))
    again = part.take(np.array([0])).random(1)
    twin = generators((2, 3))
    assert values[0, 0] == twin[1, 2].random()
    assert values[1, 0] == twin[0, 1].random()
    assert again[0] == twin[1, 2].random()


def test_a_plain_generator_serves_any_part() -> None:
    rng = np.random.default_rng(0)
    assert part_of(rng, np.array([1])) is rng
    streams = Streams(generators((3,)))
    part = part_of(streams, np.array([1]))
    assert part.random((1,))[0] == generators((3,))[1].random()


def test_sizes_must_begin_with_the_batch() -> None:
    streams = Streams(generators((3,)))
    assert streams.random(3).shape == streams.random(np.int64(3)).shape == (3,)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"size: expected the leading axes \(3,\), got \(2, 3\)"):
        streams.random((2, 3))
    with pytest.raises(ValueError, match=r"size: expected the leading axes \(3,\), got \(\)"):
        streams.standard_normal(())


@pytest.mark.parametrize("wrong", [[], [0], [np.random.default_rng(0), None], None])
def test_only_generators_are_taken(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"generators: expected numpy\.random\.Generator objects"):
        Streams(wrong)


def test_normal_and_uniform_numbers_are_those_of_the_generators() -> None:
    means, scales = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    for ahead in (True, False):
        streams = Streams([np.random.default_rng(i) for i in range(2)], ahead=ahead)
        normal, uniform = streams.normal(means, scales), streams.uniform(-means, scales)
        for i in range(2):
            rng = np.random.default_rng(i)
            np.testing.assert_allclose(normal[i], rng.normal(means[i], scales), rtol=1e-14)
            if not ahead:
                np.testing.assert_allclose(uniform[i], rng.uniform(-means[i], scales), rtol=1e-14)
    assert streams.normal(size=(2, 4)).shape == streams.uniform(size=(2, 4)).shape == (2, 4)


def test_what_cannot_be_drawn_says_how_it_can() -> None:
    streams = Streams([np.random.default_rng(0)])
    with pytest.raises(AttributeError, match=r"no poisson: only random, .* plain numpy"):
        streams.poisson(1.0)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        streams.nothing  # noqa: B018

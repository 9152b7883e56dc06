"""Chunks of a log and their order change nothing but the rounding."""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.offpolicy.logs import Log, draw
from tests.properties import examples

from mogro.offpolicy import (
    Evaluation,
    Rows,
    estimate,
    predicted_rows,
    snips,
    weighted_rows,
)
from mogro.offpolicy.influence import Estimate, joint_covariance


def part_of(log: Log, start: int, stop: int, *, predicted: bool, errors: bool = False) -> Rows:
    part = Log(*(each[start:stop] for each in log))
    noise = 0.1 * part.logged if errors else None
    if predicted:
        return predicted_rows(*part, errors=noise)
    return weighted_rows(*part.weighted, arms=part.arms, errors=noise)


def assert_same(one: Evaluation, other: Evaluation) -> None:
    assert one.rows == other.rows
    for name in (
        *("value", "covariance", "skewness", "effective_size", "largest_weight", "bias"),
        *(
            "unsupported",
            "undrawn",
            "slack",
            "mean_weight",
            "mean_weight_error",
            "propensity_error",
        ),
    ):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-8, atol=1e-10, err_msg=name
        )


@given(
    seed=st.integers(0, 1000),
    cuts=st.lists(st.integers(1, 119), max_size=5),
    predicted=st.booleans(),
    normalised=st.booleans(),
    missing=st.booleans(),
)
@examples(40)
def test_any_chunks_in_any_order(
    seed: int,
    cuts: list[int],
    predicted: bool,
    normalised: bool,
    missing: bool,
) -> None:
    log = draw(seed, 120)
    rng = np.random.default_rng(seed)
    if missing:
        gone = rng.random(log.rewards.shape) < 0.3
        log = log._replace(rewards=np.where(gone, np.nan, log.rewards))
    edges = [0, *sorted(set(cuts)), 120]
    spans = list(itertools.pairwise(edges))

    def read(order: Iterable[int]) -> Iterator[Rows]:
        for i in order:
            yield part_of(log, *spans[i], predicted=predicted, errors=True)

    mixed = rng.permutation(len(spans)).tolist()
    whole = part_of(log, 0, 120, predicted=predicted, errors=True)
    expected = estimate([whole], self_normalised=normalised)
    assert_same(estimate(read(mixed), self_normalised=normalised), expected)


def test_arrays_are_one_chunk() -> None:
    log = draw(0, 20_000)  # several blocks
    chunks = [
        part_of(log, start, start + 3000, predicted=False) for start in range(0, 20_000, 3000)
    ]
    assert_same(estimate(chunks, self_normalised=True), snips(*log.weighted))


def test_refusals() -> None:
    log = draw(0, 10)
    rows = part_of(log, 0, 10, predicted=True)
    narrow = Log(*log[:3], log.probabilities, log.predictions[..., :2])._replace(
        rewards=log.rewards[:, :2]
    )
    others = part_of(narrow, 0, 10, predicted=True)
    with pytest.raises(ValueError, match=r"rows: expected the same objectives.*got \[2, 3\]"):
        estimate([rows, others])
    fewer = part_of(draw(0, 10, arms=3), 0, 10, predicted=True)
    with pytest.raises(ValueError, match=r"rows: expected the same arms.*got \[3, 4\]"):
        estimate([rows, fewer])
    with pytest.raises(ValueError, match="rows: expected at least one"):
        estimate([])


@pytest.mark.parametrize("predicted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_influences_are_what_rows_move(predicted: bool, missing: bool) -> None:
    log = draw(3, 400)
    if missing:
        gone = np.random.default_rng(0).random(log.rewards.shape) < 0.3
        log = log._replace(rewards=np.where(gone, np.nan, log.rewards))
    rows = part_of(log, 0, 400, predicted=predicted)
    whole = Estimate(rows, self_normalised=True)
    moved = whole.influences(slice(None))
    np.testing.assert_allclose(moved.sum(axis=0), 0, atol=1e-9)
    once = estimate([rows], self_normalised=True)
    np.testing.assert_allclose(moved.T @ moved / (400 * 399), once.covariance, rtol=1e-9)
    both = joint_covariance([whole, whole], 400)
    np.testing.assert_allclose(both, np.tile(once.covariance, (2, 2)), rtol=1e-9)
    # A row that counts a little more moves the estimate by its influence, over n.
    again = part_of(log, 7, 8, predicted=predicted)
    step = estimate([rows, again], self_normalised=True).value - once.value
    np.testing.assert_allclose(step, moved[7] / 400, atol=0.02 * abs(moved / 400).max())

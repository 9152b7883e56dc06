"""Sums: chunks, order and workers change nothing but the rounding."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.offpolicy.logs import Log, draw
from tests.properties import examples

from mogro.offpolicy import (
    Evaluation,
    Rows,
    Sums,
    predicted_rows,
    snips,
    weighted_rows,
)


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
    whole = Sums(
        3,
        self_normalised=normalised,
        predictions=predicted,
        missing=missing,
        arm_count=4,
    )
    parts = []
    edges = [0, *sorted(set(cuts)), 120]
    for start, stop in itertools.pairwise(edges):
        part = whole.empty()
        part.add(part_of(log, start, stop, predicted=predicted, errors=True))
        parts.append(pickle.loads(pickle.dumps(part)))  # as an executor would
    whole.add(part_of(log, 0, 120, predicted=predicted, errors=True))
    total = whole.empty()
    for i in rng.permutation(len(parts)):
        total.merge(parts[i])
    assert_same(total.result(), whole.result())


def test_array_functions_are_sums() -> None:
    log = draw(0, 20_000)  # several blocks
    sums = Sums(3, self_normalised=True)
    for start in range(0, 20_000, 3000):
        sums.add(part_of(log, start, start + 3000, predicted=False))
    assert_same(sums.result(), snips(*log.weighted))
    assert len(sums) == 20_000


def test_refusals() -> None:
    log = draw(0, 10)
    rows = part_of(log, 0, 10, predicted=False)
    with pytest.raises(ValueError, match="objectives: "):
        Sums(0)
    with pytest.raises(ValueError, match="rows: expected 2 objectives, got 3"):
        Sums(2).add(rows)
    with pytest.raises(ValueError, match="rows: expected predictions, got no"):
        Sums(3, predictions=True).add(rows)
    with pytest.raises(ValueError, match="rows: expected no predictions, got"):
        Sums(3).add(part_of(log, 0, 10, predicted=True))
    with pytest.raises(ValueError, match="rows: expected arms from 0 to 0"):
        Sums(3, arm_count=1).add(rows)
    with pytest.raises(ValueError, match="rows: expected arms, one of 4"):
        Sums(3, arm_count=4).add(weighted_rows(*log.weighted))
    holes = weighted_rows(np.full((10, 3), np.nan), log.logged, log.target)
    with pytest.raises(ValueError, match=r"rows: .*missing=True"):
        Sums(3).add(holes)
    with pytest.raises(ValueError, match="rows: expected at least one"):
        Sums(3).result()
    with pytest.raises(ValueError, match="other: "):
        Sums(3).merge(Sums(3, self_normalised=True))


@pytest.mark.parametrize("predicted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_influences_are_what_rows_move(predicted: bool, missing: bool) -> None:
    log = draw(3, 400)
    if missing:
        gone = np.random.default_rng(0).random(log.rewards.shape) < 0.3
        log = log._replace(rewards=np.where(gone, np.nan, log.rewards))
    rows = part_of(log, 0, 400, predicted=predicted)
    sums = Sums(
        3,
        self_normalised=True,
        predictions=predicted,
        missing=missing,
        arm_count=4 if missing else None,
    )
    sums.add(rows)
    moved = sums.influences(rows)
    np.testing.assert_allclose(moved.sum(axis=0), 0, atol=1e-9)
    covariance = sums.result().covariance
    np.testing.assert_allclose(moved.T @ moved / (400 * 399), covariance, rtol=1e-9)
    # A row that counts a little more moves the estimate by its influence, over n.
    twice = sums.empty()
    twice.add(rows)
    twice.add(part_of(log, 7, 8, predicted=predicted))
    step = twice.result().value - sums.result().value
    np.testing.assert_allclose(step, moved[7] / 400, atol=0.02 * abs(moved / 400).max())

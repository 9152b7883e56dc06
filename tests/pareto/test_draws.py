import numpy as np
import pytest
from tests.pareto.problems import KINDS, ball_means, problem

from mogro import pareto
from mogro._streams import Streams
from mogro._validation import FloatArray

DRAWS = [
    (pareto.random_member, pareto.front),
    (pareto.random_effective_member, pareto.effective_front),
]


@pytest.mark.parametrize("kind", range(KINDS))
def test_a_large_problem_alone_draws_what_it_draws_in_a_batch(kind: int) -> None:
    rng = np.random.default_rng(kind)
    for arms, objectives in ((1000, 5), (300, 10), (4000, 3)):
        means = problem(kind, arms, objectives, rng)
        alone = pareto.random_member(means, rng=np.random.default_rng(1))
        batch = Streams([np.random.default_rng(1), np.random.default_rng(2)])
        assert alone == pareto.random_member(np.array([means, means]), rng=batch)[0]
        assert pareto.front(means)[alone]


@pytest.mark.parametrize(("draw", "front"), DRAWS)
@pytest.mark.parametrize("kind", range(KINDS))
def test_batches_draw_members_and_what_single_problems_draw(
    kind: int, draw: object, front: object
) -> None:
    assert callable(draw)
    assert callable(front)
    rng = np.random.default_rng(kind)
    for arms, objectives in ((1, 2), (9, 1), (20, 3), (70, 6)):
        means = np.array([problem(kind, arms, objectives, rng) for _ in range(6)])
        means = means.reshape(2, 3, arms, objectives)
        streams = Streams([[np.random.default_rng(3 * i + j) for j in range(3)] for i in range(2)])
        drawn = draw(means, rng=streams)
        assert drawn.shape == (2, 3)
        assert np.take_along_axis(front(means), drawn[..., None], -1).all()
        alone = [
            [draw(means[i, j], rng=np.random.default_rng(3 * i + j)) for j in range(3)]
            for i in range(2)
        ]
        np.testing.assert_array_equal(drawn, alone)


@pytest.mark.parametrize(("draw", "front"), DRAWS)
def test_draws_are_uniform(draw: object, front: object) -> None:
    assert callable(draw)
    assert callable(front)
    means = _with_copies()
    members = np.flatnonzero(front(means))
    rng = np.random.default_rng(0)
    repeats = 4000
    drawn = draw(np.broadcast_to(means, (repeats, *means.shape)), rng=rng)
    counts = np.bincount(drawn, minlength=len(means))
    assert counts.sum() == counts[members].sum() == repeats
    expected = repeats / len(members)
    assert (np.abs(counts[members] - expected) < 5 * np.sqrt(expected)).all()


def _with_copies() -> FloatArray:
    means = ball_means(12, 3, np.random.default_rng(5))
    best = means[pareto.effective_front(means)][0]
    return np.concatenate([means, [best]])


@pytest.mark.slow
def test_a_draw_where_most_members_of_the_front_are_beaten_by_mixtures() -> None:
    t = np.random.default_rng(0).random(500)
    means = np.stack([t, (1 - np.sqrt(t)) ** 2], axis=1)  # all on the Pareto front, and concave
    members = np.flatnonzero(pareto.effective_front(means))
    rng = np.random.default_rng(1)
    keys = np.random.default_rng(1).random((20, 500))
    drawn = [int(pareto.random_effective_member(means, rng=rng)) for _ in range(20)]
    assert drawn == [int(members[key[members].argmin()]) for key in keys]

"""Fast comparisons of many arms agree with slow ones, at the same weights."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.oracles.probability import wins

from mogro._validation import FloatArray
from mogro.probability._race import BoundedRace, Points, Race
from mogro.probability._scores import Scores

KINDS = {"linear": (0.0, 1.0), "minimum": (1.0, 0.0), "both": (1.0, 0.0625)}


def some_values(kind: str, arms: int, objectives: int, rng: np.random.Generator) -> FloatArray:
    values: FloatArray = rng.normal(size=(arms, objectives))
    if kind == "grid":  # many ties
        values = rng.integers(0, 4, (arms, objectives)).astype(float)
    elif kind == "signs":
        values = rng.integers(-2, 3, (arms, objectives)).astype(float)
    elif kind == "constant":
        values[:, :: max(1, objectives // 2)] = 0.5
    elif kind == "zero":
        values[:, 0] = 0
    elif kind == "copies":
        values = values[rng.integers(0, max(1, arms // 3), arms)]
    elif kind == "positive":
        values = np.abs(values)
    elif kind == "merging":  # shared values that single precision does not tell apart
        values = 1 + rng.integers(0, 3, (arms, objectives)) * 1e-9
    elif kind == "tiny":
        values *= 2.0**-200
    return values


def some_points(race: Race, rng: np.random.Generator) -> Points:
    """Weights of which sums are exact, and others: spread widely, or zero."""
    objectives = race.scores.values.shape[1]
    exact = rng.integers(1, 9, (20, objectives)) / 8
    wide = np.exp(rng.normal(size=(20, objectives)) * rng.choice([0.3, 2, 40], (20, 1)))
    wide[:3, 0] = 0
    weights = np.concatenate([exact, wide])
    times = rng.integers(1, 5, len(weights)).astype(float)
    return race.points(weights, times, np.sort(rng.integers(0, 3, len(weights))), 3)


def expected(scores: Scores, points: Points) -> FloatArray:
    won = wins(scores.values, points.weights, scores.bend, scores.total, scores.sizes)
    found = np.zeros((points.replicates, won.shape[1]))
    np.add.at(found, points.replicate, points.times[:, None] * won)
    return found


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        ["normal", "grid", "signs", "constant", "zero", "copies", "positive", "merging", "tiny"]
    ),
    st.sampled_from(list(KINDS)),
    st.sampled_from([1, 2, 3, 20, 150]),
    st.integers(2, 7),
)
@settings(deadline=None, max_examples=200)
@example(0, "grid", "minimum", 400, 3)
@example(0, "constant", "minimum", 1000, 3)
@example(0, "merging", "minimum", 400, 4)
@example(0, "copies", "both", 400, 7)
def test_races_are_as_slow_ones(
    seed: int, values: str, kind: str, arms: int, objectives: int
) -> None:
    rng = np.random.default_rng(seed)
    given = some_values(values, arms, objectives, rng)
    scores = Scores(given, *KINDS[kind], np.abs(given).max(axis=0))
    race = Race.of(scores)
    points = some_points(race, rng)
    slow = expected(scores, points)
    np.testing.assert_allclose(race.wins(points), slow, rtol=1e-12, atol=1e-12)
    strong = rng.permutation(arms)[: 1 + arms // 5]
    few = race.take(strong)
    first = few.run(points)
    np.testing.assert_allclose(
        first.won, expected(scores.take(strong), points), rtol=1e-12, atol=1e-12
    )
    if scores.bend:
        won = BoundedRace(race, points, first.level).wins(points, first.level)
        np.testing.assert_allclose(won, slow, rtol=1e-12, atol=1e-12)
    rows = np.flatnonzero(rng.random(len(points.times)) < 0.5)
    some = points.take(rows)._replace(times=1.5 * points.times[rows])
    np.testing.assert_allclose(
        few.again(some, first.take(rows)),
        expected(scores.take(strong), some),
        rtol=1e-12,
        atol=1e-12,
    )


def test_a_near_winner_is_named() -> None:
    rng = np.random.default_rng(0)
    for bend, total in KINDS.values():
        values = some_values("positive", 200, 4, rng)
        sizes = values.max(axis=0)
        race = Race.of(Scores(values, bend, total, sizes))
        points = some_points(race, rng)
        won = wins(values, points.weights, bend, total, sizes)
        exact = np.asarray(points.weights.min(axis=1) > 0)
        assert (won[exact, race.run(points).best[exact]] > 0).all()

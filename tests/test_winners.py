"""Who wins at given weights, beside every score in double precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from mogro._integration import WeightDistribution, _Nets, _Refinement, estimate
from mogro._validation import BoolArray, FloatArray
from mogro._winners import Scores, count_wins

KINDS = {"sums": (0.0, 1.0), "minima": (1.0, 0.0), "both": (1.0, 0.05)}
SHAPES = ("normal", "levels", "clusters", "below", "constant", "large")


def draw(shape: str, arms: int, objectives: int, rng: np.random.Generator) -> FloatArray:
    values = rng.normal(size=(arms, objectives))
    if shape == "levels":
        return rng.integers(0, 4, values.shape).astype(float)
    if shape == "clusters":
        return values[rng.integers(0, min(4, arms), arms)] + 1e-9 * values
    if shape == "constant":
        values[:, 0] = 1.0
    if shape == "below":
        return values - 3.0
    return 1e25 * np.abs(values) if shape == "large" else np.abs(values)


def shares(scores: Scores, weights: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return who wins how much at each of the weights, (n, K), and where rounding decides who ties.

    This is by all terms of all scores.
    """
    terms = weights[:, None, :] * scores.values
    table = scores.min_factor * terms.min(axis=2) + scores.sum_factor * terms.sum(axis=2)
    behind = table.max(axis=1)[:, None] - table
    slack = scores.slack(weights, table.max(axis=1))[:, None]
    tied = behind <= slack
    rounded = (np.abs(behind - slack) < 0.1 * slack).any(axis=1)
    return np.asarray(tied / tied.sum(axis=1, keepdims=True)), np.asarray(rounded)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(list(KINDS)),
    st.sampled_from(SHAPES),
    st.sampled_from([1, 2, 40, 200, 301]),
    st.integers(1, 6),
    st.sampled_from([80, 700]),  # of many weights, minima look at some arms only
)
@examples(60)
def test_winners_are_those_of_all_scores(
    seed: int, kind: str, shape: str, arms: int, objectives: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    values = draw(shape, arms, objectives, rng)
    scores = Scores(values, *KINDS[kind], np.abs(values).max(axis=0))
    weights = rng.exponential(size=(count, objectives)) ** rng.choice([1, 8])
    if rng.random() < 0.3:
        weights[rng.random(weights.shape) < 0.2] = 1e-40
    expected, rounded = shares(scores, weights)
    masses, net = np.where(rounded, 0.0, rng.random(count)), rng.integers(0, 4, count)
    wins = count_wins(scores, weights, masses=masses, net_indices=net, net_count=4)
    each = masses[:, None] * expected
    np.testing.assert_allclose(
        wins.counts, [each[net == n].sum(axis=0) for n in range(4)], atol=1e-9
    )
    np.testing.assert_allclose(wins.squares, np.square(each).sum(axis=0), atol=1e-9)
    assert (expected[np.arange(count), wins.best] > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_of_no_arm(kind: str) -> None:
    scores = Scores(np.ones((3, 2)), *KINDS[kind], np.ones(2))
    wins = count_wins(scores, np.empty((0, 2)))
    assert wins.counts.tolist() == [[0, 0, 0]]
    assert wins.best.shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("concentration", [(1.0,) * 4, (2.0, 1.0, 0.7, 1.0)])
def test_one_over_the_probability_of_a_rare_arm_is_right_on_average(
    kind: str, concentration: tuple[float, ...]
) -> None:
    rng = np.random.default_rng(3)
    values = np.abs(rng.normal(size=(300, 4)))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    scores, distribution = (
        Scores(values, *KINDS[kind], np.ones(4)),
        WeightDistribution(concentration, 1.0),
    )
    weights = rng.dirichlet(concentration, 400_000)
    won = sum(count_wins(scores, some).counts[0] for some in np.split(weights, 40))
    arm = int(np.abs(won / 400_000 - 0.001).argmin())
    truth, noise = won[arm] / 400_000, won[arm] ** -0.5
    runs = [estimate(scores, distribution, np.random.default_rng(seed), arm) for seed in range(30)]
    inverse = np.array([1 / values[arm] for values, _ in runs]) * truth
    claimed = np.sqrt(np.mean([errors[arm] ** 2 for _, errors in runs])) / truth
    assert abs(inverse.mean() - 1) < 4 * np.hypot(noise, inverse.std() / 30**0.5)
    assert 0.5 < claimed / inverse.std(ddof=1) < 2


@pytest.mark.parametrize("shape", ["normal", "levels"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("concentration", [(1.0,) * 4, (2.0, 1.0, 0.7, 1.0)])
def test_rivals_rule_out_no_weight_at_which_an_arm_wins(
    kind: str, concentration: tuple[float, ...], shape: str
) -> None:
    rng = np.random.default_rng(4)
    values = np.unique(draw(shape, 200, 4, rng), axis=0)
    scores, distribution = (
        Scores(values, *KINDS[kind], np.ones(4)),
        WeightDistribution(concentration, 1.0),
    )
    nets = _Nets(distribution, rng.integers(0, 1 << 30, (8, 3, 1), dtype=np.uint32))
    parts = (
        np.concatenate([np.roll(part, turn, axis=1) for turn in range(distribution.rotations)])
        for part in (nets.weights(0, 64)[0], nets.weights(64, 700)[0])
    )
    first, later = parts
    won = count_wins(scores, later).counts[0]
    arm = int(np.abs(won - 20).argmin())
    refinement = _Refinement(scores, nets, arm, first, count_wins(scores, first).best)
    kept, net = refinement.weights_without_better_rival(refinement.find_rivals(), 64, 700)
    assert count_wins(scores, kept).counts[0][arm] == pytest.approx(won[arm])
    assert len(kept) == len(net) < len(later) / 2


def test_the_choice_of_an_arm_that_ties_counts_as_a_share() -> None:
    values = np.random.default_rng(0).integers(0, 4, (600, 8)).astype(float)
    scores = Scores(values, 0.0, 1.0, np.full(8, 3.0))
    distribution = WeightDistribution((0.01,) * 8, 1.0)
    weights = np.random.default_rng(1).dirichlet((0.01,) * 8, 20_000)
    truth = count_wins(scores, weights).counts[0] / len(weights)
    arm = int(np.abs(np.log(np.maximum(truth, 1e-9) / 1e-4)).argmin())
    runs = [estimate(scores, distribution, np.random.default_rng(seed), arm) for seed in range(3)]
    assert np.mean([each[arm] for each, _ in runs]) == pytest.approx(truth[arm], rel=0.2)

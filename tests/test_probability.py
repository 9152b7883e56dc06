from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.probability import frequencies, two_objectives_by_grid
from tests.properties import examples

from mogro import (
    FixedWeights,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
    pareto,
)
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.probability import Probabilities, selection_probabilities
from mogro.scalarization import Scalarization
from mogro.selection import EffectiveFront, ParetoFront, Selection

RANDOM: dict[str, RandomWeights | RandomChebyshev | RandomHypervolume] = {
    "weights": RandomWeights(),
    "middling weights": RandomWeights(3.0),
    "corner weights": RandomWeights(0.2),
    "Chebyshev": RandomChebyshev(),
    "smooth Chebyshev": RandomChebyshev(rho=2.0, concentration=0.7),
    "sharp Chebyshev": RandomChebyshev(rho=0.0),
    "hypervolume": RandomHypervolume(),
}


def found(values: FloatArray, selection: Selection, *, seed: int = 0) -> Probabilities:
    rng = np.random.default_rng(seed)
    return selection_probabilities(values, selection, step=0, rng=rng)


def agree(result: Probabilities, seen: FloatArray, draws: int) -> bool:
    """Tell whether frequencies in so many draws are near estimates; both err like counts do."""
    middle = np.maximum((result.values + seen) / 2, 1 / draws)
    errors = result.errors * np.sqrt(middle / np.maximum(result.values, middle / 4))
    return bool(
        (np.abs(result.values - seen) <= 5 * np.hypot(np.sqrt(middle / draws), errors)).all()
    )


def shape(name: str, arms: int, objectives: int, rng: np.random.Generator) -> FloatArray:
    values = rng.normal(size=(arms, objectives))
    if name == "sphere":
        values = np.abs(values)
        values /= np.linalg.norm(values, axis=1, keepdims=True)
    elif name == "hollow":
        values = np.abs(values)
        values /= np.square(np.sqrt(values).sum(axis=1, keepdims=True))
    elif name == "constant column":
        values[:, 0] = 0.5
    elif name == "copies":
        values = values[rng.integers(0, max(1, arms // 3), arms)]
    elif name == "clusters":
        values = values[rng.integers(0, min(4, arms), arms)] + 1e-5 * values
    elif name == "far from zero":
        values = 1e6 + 1e-3 * values
    return values


SHAPES = ("normal", "sphere", "hollow", "constant column", "copies", "clusters", "far from zero")


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("kind", RANDOM)
@pytest.mark.parametrize("objectives", [2, 3, 5])
def test_probabilities_are_frequencies(kind: str, objectives: int, name: str) -> None:
    values = shape(name, 25, objectives, np.random.default_rng(objectives))
    selection = RANDOM[kind]
    result = found(values, selection)
    draws = 20_000
    seen = frequencies(values, selection, draws=draws, rng=np.random.default_rng(5))
    assert result.values.sum() == pytest.approx(1, abs=1e-9)
    assert (result.values >= 0).all()
    assert (result.errors == 0).all() == (objectives == 2)
    assert agree(result, seen, draws)


def test_two_linear_objectives_are_exact() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = shape(("normal", "sphere", "hollow")[seed % 3], 30, 2, rng)
        expected = two_objectives_by_grid(values, points=200_000)
        np.testing.assert_allclose(found(values, RandomWeights()).values, expected, atol=2e-5)


def test_known_probabilities() -> None:
    values = np.array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.75]])
    # The best arm changes where w = 3 (1 - w), and the law of w is w^a, Beta(a, 1).
    for concentration, expected in ((1.0, [0.25, 0.25, 0.5]), ((2.0, 1.0), [7 / 16, 1 / 16, 0.5])):
        answer = found(values, RandomWeights(concentration))
        np.testing.assert_allclose(answer.values, expected, atol=1e-14)
    # min(y_1 / n_1, y_2 / n_2) of (2, 1) and (1, 2) changes where n_1 = n_2.
    answer = found(np.array([[2.0, 1.0], [1.0, 2.0]]), RandomHypervolume([0.0, 0.0]))
    np.testing.assert_allclose(answer.values, [0.5, 0.5], atol=1e-14)


@pytest.mark.parametrize("concentration", [0.01, 0.003, [0.01, 2.0, 0.5]])
def test_tiny_concentrations(concentration: float | list[float]) -> None:
    values = np.random.default_rng(1).normal(size=(30, 3))
    selection = RandomWeights(concentration)
    result = found(values, selection)
    seen = frequencies(values, selection, draws=60_000, rng=np.random.default_rng(2))
    assert agree(result, seen, 60_000)


@pytest.mark.parametrize("arms", [30, 300])
@pytest.mark.parametrize("concentration", [0.02, [0.02, 0.05, 0.01]])
def test_minima_at_tiny_weights(concentration: float | list[float], arms: int) -> None:
    values = np.random.default_rng(1).normal(size=(arms, 3))
    middle = np.median(values, axis=0).tolist()  # most scores are below 0 then
    for reference in (None, middle):
        selection = RandomChebyshev(reference, rho=0.0, concentration=concentration)
        result = found(values, selection)
        seen = frequencies(values, selection, draws=5000, rng=np.random.default_rng(2))
        assert agree(result, seen, 5000)


def test_corners_tie_up_to_rounding() -> None:
    values = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 5.0]])
    result = found(values, RandomWeights(0.01))
    # With w_2 below 1e-15, which is likely, the first two arms have the same score.
    assert result.values[0] == pytest.approx(0.5 * 0.5 * 1e-15**0.01, rel=0.05)
    assert found(values, RandomWeights()).values[0] < 1e-14


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", RANDOM)
def test_equal_arms_share(kind: str, objectives: int) -> None:
    nothing = found(np.zeros((7, objectives)), RANDOM[kind])
    np.testing.assert_allclose(nothing.values, 1 / 7)
    values = np.random.default_rng(0).normal(size=(6, objectives))
    nudged = values * (1 + 2e-16 * np.arange(6)[:, None])
    twice = found(np.append(values, nudged, axis=0), RANDOM[kind]).values
    np.testing.assert_allclose(twice[:6], twice[6:], atol=1e-12)


def test_an_outlier_does_not_make_others_equal() -> None:
    values = np.array([[1.0, 0.0], [1.05, 0.0], [-1e17, -1e17]])
    np.testing.assert_allclose(found(values, RandomWeights()).values, [0, 1, 0], atol=1e-12)
    answer = found(values, FixedWeights([0.5, 0.5]))
    np.testing.assert_array_equal(answer.values, [0, 1, 0])


def test_fixed_weights_round_robin_and_one_objective() -> None:
    values = np.array([[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]])
    rng = np.random.default_rng(0)
    for step, expected in ((4, [0.5, 0.5, 0]), (5, [0, 0, 1])):
        answer = selection_probabilities(values, RoundRobin(), step=step, rng=rng)
        assert answer.values.tolist() == expected
        assert not answer.errors.any()
    assert found(values, FixedWeights([0.5, 0.5])).values.tolist() == [0, 1, 0]
    assert found(values[:, :1], RandomWeights()).values.tolist() == [0.5, 0.5, 0]


def test_fronts_are_uniform() -> None:
    values = np.random.default_rng(0).normal(size=(30, 3))
    for selection, members in (
        (ParetoFront(), pareto.front(values)),
        (EffectiveFront(), pareto.effective_front(values)),
    ):
        np.testing.assert_allclose(found(values, selection).values, members / members.sum())


@dataclass(frozen=True)
class Halves:
    """Weights of a user: one of two objectives at random, or both."""

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: Rng
    ) -> FloatArray:
        draw = rng.random((*batch, objectives)) < 0.5
        return np.where(draw.any(axis=-1, keepdims=True), draw, 1.0)


def test_scalarisations_of_users_are_drawn() -> None:
    values = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.9]])
    result = found(values, Halves())
    assert (np.abs(result.values - [0.25, 0.25, 0.5]) <= 4 * result.errors).all()


@dataclass(frozen=True)
class Worst:
    """Scores of a user: the smallest value of all, whatever the weights."""

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: Rng
    ) -> FloatArray:
        return np.ones((*batch, objectives))

    def score(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        return np.asarray(values.min(axis=-1))


def test_scores_of_users_are_asked() -> None:
    result = found(np.array([[1.0, 0.0], [0.3, 0.4], [0.3, 0.9]]), Worst())
    assert result.values.tolist() == [0, 0.5, 0.5]
    assert (result.errors > 0).all()


@pytest.mark.parametrize(
    ("arms", "selections"),  # of many arms most are ruled out at once
    [
        (60, [RandomWeights(), RandomChebyshev(), RandomHypervolume()]),
        (150, [RandomHypervolume()]),
    ],
)
def test_errors_are_honest(arms: int, selections: list[Scalarization]) -> None:
    values = np.random.default_rng(3).normal(size=(arms, 4))
    for selection in selections:
        rng = np.random.default_rng(4)
        truth = frequencies(values, selection, draws=200_000, rng=rng)
        runs = [found(values, selection, seed=seed) for seed in range(40)]
        large = truth >= 0.01
        off = np.array([(run.values - truth)[large] for run in runs])
        errors = np.array([run.errors[large] for run in runs])
        noise = np.sqrt(truth[large] / 200_000)  # of the oracle itself
        assert (np.abs(off) <= 2 * np.hypot(errors, noise)).mean() > 0.9
        assert (
            np.abs(off.mean(axis=0)) <= 4 * np.hypot(errors.mean(axis=0) / 40**0.5, noise)
        ).all()


@pytest.mark.parametrize(
    ("kind", "name"),  # on spheres all arms win, otherwise a few do nearly always
    [
        ("weights", "sphere"),
        ("weights", "normal"),
        ("Chebyshev", "normal"),
        ("hypervolume", "sphere"),
    ],
)
def test_a_thousand_arms(kind: str, name: str) -> None:
    values = shape(name, 1000, 4, np.random.default_rng(0))
    result = found(values, RANDOM[kind])
    draws = 5000
    seen = frequencies(values, RANDOM[kind], draws=draws, rng=np.random.default_rng(5))
    assert agree(result, seen, draws)
    large = seen >= 0.02
    assert (result.errors[large] <= 0.1 * seen[large]).all()


@pytest.mark.parametrize(
    ("name", "objectives"),
    [("sphere", 3), ("hollow", 3), ("constant column", 3), ("sphere", 5), ("hollow", 5)],
)
@pytest.mark.parametrize("kind", ["weights", "Chebyshev", "sharp Chebyshev", "hypervolume"])
def test_large_probabilities_of_a_thousand_arms(kind: str, name: str, objectives: int) -> None:
    values = shape(name, 1000, objectives, np.random.default_rng(1))
    answers = [found(values, RANDOM[kind], seed=seed) for seed in range(20)]
    several = np.array([answer.values for answer in answers])
    mean = several.mean(axis=0)
    large = mean >= 0.012
    spread = several[:, large].std(axis=0, ddof=1)
    assert (spread <= 0.1 * mean[large]).all()
    if large.any():  # errors are not too small; what replicates share makes some too large
        claimed = np.array([answer.errors[large] for answer in answers])
        ratio = np.sqrt(np.square(claimed).mean() / np.square(spread).mean())
        assert ratio > 0.7
    draws = 2000
    seen = frequencies(values, RANDOM[kind], draws=draws, rng=np.random.default_rng(5))
    off = np.abs(mean - seen)[large]
    assert (off <= 4 * np.hypot(np.sqrt(mean[large] / draws), spread / 20**0.5)).all()


@pytest.mark.parametrize("objectives", [3, 4, 6])
@pytest.mark.parametrize(
    "kind", ["sharp Chebyshev", "reference", "hypervolume", "zeros", "corners"]
)
@pytest.mark.parametrize("name", [*SHAPES, "one constant"])
def test_many_arms_of_any_shape(kind: str, objectives: int, name: str) -> None:
    values = shape(name, 300, objectives, np.random.default_rng(objectives))
    if name == "one constant":
        values = shape("sphere", 300, objectives, np.random.default_rng(objectives))
        values[:, 1] = 0.0
    middle = np.median(values, axis=0).tolist()
    selections: dict[str, RandomChebyshev | RandomHypervolume] = {
        "sharp Chebyshev": RandomChebyshev(rho=0.0),
        "reference": RandomChebyshev(rho=0.0, reference=middle),  # most arms are below it
        "hypervolume": RandomHypervolume(),
        "zeros": RandomHypervolume(middle),  # most arms are worth nothing
        "corners": RandomChebyshev(rho=0.0, concentration=0.5),
    }
    selection = selections[kind]
    answers = [found(values, selection, seed=seed) for seed in range(4)]
    mean = np.mean([answer.values for answer in answers], axis=0)
    error = np.linalg.norm([answer.errors for answer in answers], axis=0) / 4
    draws = 5000
    seen = frequencies(values, selection, draws=draws, rng=np.random.default_rng(5))
    assert mean.sum() == pytest.approx(1, abs=1e-9)
    assert agree(Probabilities(mean, error), seen, draws)


@pytest.mark.parametrize("factor", [1e-25, 1e25])
def test_units_of_many_arms_do_not_matter(factor: float) -> None:
    values = shape("sphere", 300, 4, np.random.default_rng(0))
    for selection in (RandomHypervolume(), RandomChebyshev(rho=0.0)):
        expected, scaled = found(values, selection), found(factor * values, selection, seed=1)
        spread = np.hypot(expected.errors, scaled.errors)
        assert (np.abs(expected.values - scaled.values) <= 7 * spread).all()


@pytest.mark.parametrize(("arms", "objectives"), [(140, 310), (9000, 4)])
def test_more_objectives_or_arms_than_usual(arms: int, objectives: int) -> None:
    values = np.random.default_rng(0).random((arms, objectives))
    result = found(values, RandomHypervolume())
    draws = 1000
    seen = frequencies(values, RandomHypervolume(), draws=draws, rng=np.random.default_rng(5))
    assert agree(result, seen, draws)


def test_near_ties_among_the_first_of_many_arms() -> None:
    values = shape("clusters", 1000, 3, np.random.default_rng(0))
    for selection in (RandomWeights(0.01), RandomWeights(0.2), RandomChebyshev(concentration=0.2)):
        result = found(values, selection)
        seen = frequencies(values, selection, draws=5000, rng=np.random.default_rng(5))
        assert agree(result, seen, 5000)


def test_an_objective_without_observations_decides_nothing() -> None:
    values = shape("sphere", 200, 2, np.random.default_rng(0))
    wide = np.insert(values, 1, 0.0, axis=1)
    for concentration, both in ((1.0, 1.0), ([1.0, 0.3, 2.0], [1.0, 2.0])):
        result = found(wide, RandomWeights(concentration))
        expected = found(values, RandomWeights(both))
        np.testing.assert_allclose(result.values, expected.values, atol=1e-12)
        assert not result.errors.any()


@pytest.mark.parametrize("kind", RANDOM)
def test_whoever_can_win_has_a_probability_or_an_error(kind: str) -> None:
    values = shape("sphere", 300, 4, np.random.default_rng(0))
    result = found(values, RANDOM[kind])
    assert ((result.values > 0) | (result.errors > 0)).all()  # all points of a sphere can


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(RANDOM)), st.integers(1, 6))
@examples(40)
def test_properties(seed: int, kind: str, objectives: int) -> None:
    rng = np.random.default_rng(seed)
    name = SHAPES[int(rng.integers(len(SHAPES)))]
    values = shape(name, int(rng.integers(1, 60)), objectives, rng)
    result = found(values, RANDOM[kind])
    again = found(values, RANDOM[kind])
    np.testing.assert_array_equal(result.values, again.values)
    order = rng.permutation(len(values))
    other = found(values[order], RANDOM[kind], seed=1)
    spread = np.hypot(result.errors[order], other.errors)
    assert (np.abs(other.values - result.values[order]) <= 6 * spread + 1e-9).all()
    if kind in ("weights", "middling weights") and name != "far from zero":  # ties aside
        moved = found(4.0 * values + rng.integers(-3, 4, objectives), RANDOM[kind], seed=2)
        spread = np.hypot(result.errors, moved.errors)
        assert (np.abs(moved.values - result.values) <= 6 * spread + 1e-7).all()


@pytest.mark.parametrize("values", [[[np.nan, 1.0]], [1.0, 2.0], np.empty((0, 2))])
def test_refusals(values: object) -> None:
    with pytest.raises(ValueError, match="values"):
        found(values, RandomWeights())  # type: ignore[arg-type]

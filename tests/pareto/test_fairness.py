import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import fairness as oracle
from tests.oracles.effective import effective_front_exactly
from tests.pareto.problems import KINDS, ball_means, problem
from tests.properties import examples

from mogro import pareto
from paper.lab.fairness_estimates import fairness_ball_estimate, fairness_lower_bound


@pytest.mark.slow
@given(st.integers(0, KINDS - 1), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**32 - 1))
@examples(15)
def test_the_index_is_that_of_trying_everything(
    kind: int, arms: int, objectives: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    means = problem(kind, arms, objectives, rng)
    pulls = rng.integers(0, 5, size=arms) + 1.0 * (np.arange(arms) == 0)
    size = float(np.ptp(means, axis=0).max()) or 1.0
    for epsilon in (0.05 * size, 0.4 * size, 2 * size):
        index = pareto.fairness_index(means, pulls, epsilon=epsilon)
        centred = (means - means[0]) / size
        assert index == pytest.approx(oracle.fairness_index(centred, pulls, epsilon / size))
        check_order(means, pulls, epsilon, rng)


def check_order(
    means: np.ndarray, pulls: np.ndarray, epsilon: float, rng: np.random.Generator
) -> None:
    index = pareto.fairness_index(means, pulls, epsilon=epsilon)
    ball = fairness_ball_estimate(means, pulls, epsilon=epsilon)
    lower = fairness_lower_bound(means, pulls, epsilon=epsilon)
    corners = np.eye(means.shape[1])
    weights = np.concatenate([corners, rng.dirichlet(np.ones(len(corners)), 2000)])
    values = (means - means[0]) @ weights.T
    served = pulls @ (values.max(axis=0) - values < epsilon * (1 + 1e-9))
    assert 0 <= ball <= lower <= index <= served.min() / pulls.sum() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_size_of_the_paper_says_nothing(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(seed)
    means = ball_means(200, 10, rng)
    pulls = 1 + rng.multinomial(20_000, rng.dirichlet(np.full(200, 0.2)))
    for epsilon in (0.1, 0.3):
        check_order(means, pulls, epsilon, rng)
    assert capfd.readouterr() == ("", "")


def test_a_distance_of_epsilon_is_not_within_epsilon() -> None:
    means = [[0.3, 0.0], [0.2, 0.0], [0.0, 0.3]]
    assert pareto.fairness_index(means, [0, 1, 1], epsilon=0.1) == 0.0
    assert fairness_lower_bound(means, [0, 1, 1], epsilon=0.1) == 0.0
    assert pareto.fairness_index(means, [0, 1, 1], epsilon=0.1001) == 0.5


@pytest.mark.parametrize(
    ("pulls", "epsilon", "message"),
    [
        ([1, 2, 3], 0.1, r"pulls: expected shape \(2,\), got \(3,\)"),
        ([1, -2], 0.1, "pulls: expected numbers >= 0, got -2"),
        ([0, 0], 0.1, "pulls: expected at least one pull"),
        ([1, 2], 0.0, "epsilon: expected a finite number > 0"),
    ],
)
def test_refusals(pulls: list[int], epsilon: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pareto.fairness_index([[1.0, 0.0], [0.0, 1.0]], pulls, epsilon=epsilon)


def test_an_arm_that_is_best_under_vanishing_weights_only_counts() -> None:
    means, pulls = [[1.0, 0.0], [1 - 1e-8, 1.0], [0.0, 0.0]], [0, 1, 0]
    for epsilon in (1e-9, 5e-9):
        assert pareto.fairness_index(means, pulls, epsilon=epsilon) == 0
        assert fairness_lower_bound(means, pulls, epsilon=epsilon) == 0
        assert fairness_ball_estimate(means, pulls, epsilon=epsilon) == 0


def test_an_arm_that_a_mixture_dominates_is_no_member() -> None:
    means = np.array([[3.0, 0, 3], [0, 3, 3], [1, 1, 3]])  # (1.5, 1.5, 3) is better than the last
    pulls = [5, 4, 1]
    assert fairness_lower_bound(means, pulls, epsilon=1.0) == 0.4
    assert fairness_ball_estimate(means, pulls, epsilon=1.0) == 0.4


@given(st.integers(0, 2**32 - 1))
@examples(60)
def test_bounds_go_through_the_effective_front_as_documented(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms, objectives = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    means = rng.integers(0, 4, size=(arms, objectives)).astype(float)
    pulls = rng.integers(0, 9, size=arms) + 1.0
    members = means[effective_front_exactly(means)]
    behind = (members[:, None] - means).max(axis=2)
    away = np.linalg.norm(members[:, None] - means, axis=2)
    for distance, bound in (
        (behind, fairness_lower_bound),
        (away, fairness_ball_estimate),
    ):
        expected = ((distance < 1.5) @ pulls).min() / pulls.sum()
        assert bound(means, pulls, epsilon=1.5) == pytest.approx(expected)

import numpy as np
import pytest
from tests.pareto.problems import ball_means

from mogro import pareto


@pytest.mark.parametrize("objectives", [1, 2, 3, 5])
def test_the_bracket_holds_the_share_under_any_weights(objectives: int) -> None:
    rng = np.random.default_rng(objectives)
    means = ball_means(10, objectives, rng, problems=(200,))
    arms = means.sum(-1).argmax(1)
    bracket = pareto.fairness_bracket(means, arms, epsilon=0.2, evaluations=300)
    weights = rng.dirichlet(np.full(objectives, 0.5), 2000)
    values = means @ weights.T
    pulled = np.take_along_axis(values, arms[:, None, None], 1)[:, 0]
    shares = (values.max(1) - pulled < 0.2).mean(0)
    assert 0 <= bracket.lower <= bracket.upper <= 1
    assert bracket.lower <= shares.min()
    finer = pareto.fairness_bracket(means, arms, epsilon=0.2, evaluations=600)
    assert bracket.lower <= finer.lower <= finer.upper <= bracket.upper
    if objectives <= 2:
        assert finer.lower == finer.upper


def test_arms_that_stay_give_the_exact_index() -> None:
    rng = np.random.default_rng(0)
    means = ball_means(12, 3, rng)
    arms = rng.integers(0, 12, size=100)
    pulls = np.bincount(arms, minlength=12)
    index = pareto.fairness_index(means, pulls, epsilon=0.3)
    bracket = pareto.fairness_bracket(
        np.broadcast_to(means, (100, 12, 3)), arms, epsilon=0.3, evaluations=3000
    )
    assert bracket.lower <= index <= bracket.upper
    assert bracket.upper - bracket.lower < 0.1


def test_refusals() -> None:
    means = np.zeros((4, 2, 2))
    with pytest.raises(ValueError, match=r"means: expected shape \(T, K, M\)"):
        pareto.fairness_bracket(means[0], [0], epsilon=0.1)
    with pytest.raises(ValueError, match="arms: expected shape"):
        pareto.fairness_bracket(means, [0, 0, 0], epsilon=0.1)
    with pytest.raises(ValueError, match="evaluations: expected an integer >= 1"):
        pareto.fairness_bracket(means, [0] * 4, epsilon=0.1, evaluations=0)

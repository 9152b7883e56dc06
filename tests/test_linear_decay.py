import numpy as np
import pytest
from numpy.typing import NDArray

from mogro.linear import LinearModel

Floats = NDArray[np.float64]


def penalised(x: Floats, y: Floats, weights: Floats, ridge: float) -> tuple[Floats, float]:
    """Slow weighted least squares: the estimate, and what is left of the penalised squares."""
    d = x.shape[1]
    rows = np.vstack([x * np.sqrt(weights)[:, None], np.sqrt(ridge) * np.eye(d)])
    target = np.concatenate([y * np.sqrt(weights), np.zeros(d)])
    theta = np.linalg.lstsq(rows, target, rcond=None)[0]
    return theta, float(np.square(rows @ theta - target).sum())


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("half_life", [0.5, 3.0, 100.0])
def test_decay_is_weighted_least_squares(ridge: float, half_life: float) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((60, 3)), rng.standard_normal((60, 2))
    gamma = np.array([0.5, 0.5 ** (1 / half_life)])  # one learner of its own speed beside it
    model = LinearModel(3, 1, ridge=ridge, batch=(2,))
    for n in range(60):
        model.decay(gamma)
        model.update(np.tile(x[n], (2, 1)), y[n][:, None])
        if n < 10:
            continue
        for m in range(2):
            weights = gamma[m] ** np.arange(n, -1, -1.0)
            theta, squares = penalised(x[: n + 1], y[: n + 1, m], weights, ridge)
            assert model.theta[m, 0] == pytest.approx(theta, rel=1e-7, abs=1e-7)
            assert model.squares[m, 0] == pytest.approx(squares, rel=1e-7, abs=1e-7)


@pytest.mark.slow
def test_a_direction_that_faded_below_rounding_counts_as_unseen() -> None:
    model = LinearModel(2, 1)
    gamma = np.asarray(0.5 ** (1 / 100))
    model.update(np.array([0.0, 1.0]), np.array([5.0]))
    for n in range(20_000):
        model.decay(gamma)
        model.update(np.array([1.0, 0.0]), np.array([2.0 + (-1) ** n]))
        assert np.abs(model.theta).max() < 6
        assert np.isfinite(model.inverse).all()
    assert model.theta[0, 1] == 0
    assert np.isinf(model.variances(np.array([[0.0, 1.0]]))).all()


def test_everything_may_fade_at_once() -> None:
    model = LinearModel(2, 1)
    model.update(np.ones(2), np.ones(1))
    model.decay(np.asarray(0.0))
    assert (model.theta == 0).all()
    model.update(np.array([1.0, 0.0]), np.array([3.0]))
    assert model.theta.tolist() == [[3.0, 0.0]]


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0.0, 0.3])
def test_features_long_unobserved_are_forgotten_before_numbers_run_out(turn: float) -> None:
    """The first feature, or a direction in the plane of two, comes back after a long time."""
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    first, second = rotation
    model = LinearModel(2, 1)
    model.update(1e3 * first, np.array([5e3]))
    for _ in range(6_000):
        model.decay(np.asarray(0.5 ** (1 / 4)))
        model.update(second, np.array([2.0]))
    assert model.rank == 1
    assert np.isinf(model.variances(first[None])).all()
    assert float(model.theta[0] @ second) == pytest.approx(2.0)
    model.update(first, np.array([7.0]))
    assert model.theta[0] == pytest.approx(7 * first + 2 * second)


def test_totals_fade_like_the_rest() -> None:
    model = LinearModel(1, 2)
    model.update(np.ones(1), np.array([1.0, 2.0]))
    model.decay(np.asarray(0.5))
    model.update(np.ones(1), np.array([4.0, 0.0]))
    model.learn(np.ones((2, 1)), np.array([[1.0, 1.0], [2.0, 3.0]]))
    assert model.totals.tolist() == [7.5, 5.0]

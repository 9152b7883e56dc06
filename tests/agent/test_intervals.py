"""Intervals of estimates: what they cover, and that rates stay rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import stdtrit

from mogro import Agent, HalfLife, Objective
from mogro._intervals import rate_interval
from mogro.priors import Flat

ARMS = {str(arm): row for arm, row in enumerate(np.eye(4).tolist())}


def drawn(
    agent: Agent, means: np.ndarray, n: int, rng: np.random.Generator, *, click: bool
) -> None:
    for _ in range(n):
        decision = agent.decide(ARMS)
        mean = means[int(decision.arm)]
        value = float(rng.random() < mean) if click else mean + rng.standard_normal()
        agent.reward(decision.id, {"reward": value})


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rate"), [(20, 0.01), (100, 0.25), (40, None)])
def test_coverage(n: int, rate: float | None) -> None:
    """60 logs of four arms: the standard error of coverage is about 1.5 %."""
    held = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        spread = 0.5 * rng.standard_normal(4)
        means = spread if rate is None else rate * np.exp(spread)
        agent = Agent([Objective("reward")], arms=4, seed=seed, epsilon=1.0)
        drawn(agent, means, n, rng, click=rate is not None)
        low, high = agent.estimate(ARMS).intervals[:, 0].T
        held.append((low <= means) & (means <= high))
    assert 0.9 <= np.mean(held) <= (0.985 if rate != 0.01 else 1.0)  # with 0.2 clicks on average


@given(rate=st.floats(0, 1), n=st.floats(0.5, 1e6), z=st.floats(0.1, 5))
def test_wilson_solves_its_equation(rate: float, n: float, z: float) -> None:
    low, high = rate_interval(rate, n, z)
    assert 0 <= low <= rate <= high <= 1

    def above(p: float) -> float:
        return float((rate - p) ** 2 - z**2 * p * (1 - p) / n)

    if 0.001 < rate < 0.999:
        assert low == pytest.approx(brentq(above, 0, rate), abs=1e-6)
        assert high == pytest.approx(brentq(above, rate, 1), abs=1e-6)


def test_nothing_yet_is_not_nothing() -> None:
    agent = Agent([Objective("reward")], arms=4, seed=0, epsilon=1.0)
    drawn(agent, np.zeros(4), 30, np.random.default_rng(0), click=True)
    low, high = agent.estimate(ARMS).intervals[:, 0].T
    assert (low == 0).all()
    assert (high > 0.05).all()
    assert "0 [0, 0]" not in str(agent.estimate(ARMS))


@pytest.mark.parametrize(
    "objective",
    [
        Objective("reward", direction="min"),
        Objective("reward", unit=0.1, offset=0.3),
        Objective("reward", unit=7.0, direction="min", offset=-2.0),
    ],
)
@pytest.mark.parametrize("half_life", [None, HalfLife(updates=30)])
def test_rates_are_known_in_any_unit(objective: Objective, half_life: HalfLife | None) -> None:
    rng = np.random.default_rng(1)
    agents = [
        Agent([each], arms=4, seed=0, epsilon=1.0, half_life=half_life)
        for each in (objective, Objective("reward"))
    ]
    for agent in agents:
        rng = np.random.default_rng(1)
        drawn(agent, np.array([0.02, 0.05, 0.9, 0.98]), 80, rng, click=True)
        bounds = agent.estimate(ARMS).intervals
        assert bounds.min() >= 0
        assert bounds.max() <= 1
    agents[0].reward(agents[0].decide(ARMS).id, {"reward": 0.5})
    bounds = agents[0].estimate(ARMS).intervals
    assert bounds.min() < 0 or bounds.max() > 1  # no rate any more


def test_intervals_of_least_squares_are_those_of_the_textbook() -> None:
    """The parameters use up observations: of 9, 4 stay free."""
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
    agent = Agent([Objective("reward")], arms=4, seed=0, prior=Flat())
    for row, value in zip(x.tolist(), y.tolist(), strict=True):
        agent.observe({"arm": row}, arm="arm", rewards={"reward": value})
    design = np.column_stack([np.ones(9), x])
    theta, squares, *_ = np.linalg.lstsq(design, y, rcond=None)
    arm = np.array([1.0, 0.5, -1.0, 2.0, 0.0])
    error = np.sqrt(squares[0] / 4 * (arm @ np.linalg.inv(design.T @ design) @ arm))
    half = stdtrit(4, 0.975) * error
    expected = [arm @ theta - half, arm @ theta + half]
    result = agent.estimate({"arm": arm[1:].tolist()}).intervals[0, 0]
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_before_the_first_reward_nothing_is_known() -> None:
    agent = Agent([Objective("reward")], arms=4, seed=0)
    low, high = agent.estimate(ARMS).intervals[:, 0].T
    assert ((low < -5) & (high > 5)).all()

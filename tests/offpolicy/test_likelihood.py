"""The likelihood interval against a general solver."""

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from mogro import offpolicy


def symmetric_log() -> tuple[np.ndarray, np.ndarray]:
    """Return weights and weighted rewards whose residuals have no skewness, at any slope."""
    weights = np.repeat([0.2, 0.5, 1.0, 1.6, 2.2, 0.1], 2)
    signs = np.tile([1.0, -1.0], 6)
    return weights, 0.3 * weights + 0.1 + 0.05 * signs


def extreme(
    weights: np.ndarray, products: np.ndarray, reach: float, *, worst: float | None
) -> float:
    """Minimise the value over distributions within reach; missing weight has the worst reward."""
    n = len(weights)
    free = worst is not None
    cost = np.append(products, 0.0 if worst is None else worst)

    def distance(q: np.ndarray) -> float:
        return float(((n * q[:n] - 1) ** 2).sum())

    constraints: Any = [
        {"type": "eq", "fun": lambda q: q[:n].sum() - 1},
        {"type": "eq", "fun": lambda q: q[:n] @ weights + q[n] * free - 1},
    ]
    start = np.append(np.full(n, 1 / n), max(1 - weights.mean(), 0.0) if free else 0.0)
    bounds: Any = [(None, None)] * n + [(0.0, None)]
    least = 0.0
    if not free:
        nearest = optimize.minimize(distance, start, bounds=bounds, constraints=constraints)
        least, start = distance(nearest.x), nearest.x
    constraints.append({"type": "ineq", "fun": lambda q: least + reach**2 - distance(q)})
    solve: Any = optimize.minimize
    found = solve(
        lambda q: float(cost @ q),
        start,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return float(found.fun)


@pytest.mark.parametrize("bounded", [False, True])
def test_extremes_over_distributions(bounded: bool) -> None:
    weights, products = symmetric_log()
    rewards, logged = (products / weights)[:, None], np.full(12, 0.4)
    found = offpolicy.ips(rewards, logged, weights * logged)
    reach = float(stats.t.ppf(0.9, found.effective_size[0] - 2))
    within = (-1.0, 4.0) if bounded else None
    low, high = found.likelihood_interval(0.8, within=within)[0]
    least = extreme(weights, products, reach, worst=None)
    most = -extreme(weights, -products, reach, worst=None)
    if within is not None:
        least = min(least, extreme(weights, products, reach, worst=within[0]))
        most = max(most, -extreme(weights, -products, reach, worst=-within[1]))
    assert low == pytest.approx(least, abs=1e-5)
    assert high == pytest.approx(most, abs=1e-5)

"""Following the advice of ``diagnose`` beside the default, on simulated problems."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.theory.worlds import PLAIN, circle, random_problem, turned

import mogro
from mogro import pareto
from mogro._validation import FloatArray
from mogro.environments import FixedArms
from mogro.theory import Diagnosis, diagnose
from mogro.theory._checks import Problem
from mogro.theory._trial import exploration_price, greedy_regret

REPEATS = 20
SCALARIZATIONS: dict[str, mogro.RandomWeights | mogro.RoundRobin] = {
    "RandomWeights()": mogro.RandomWeights(),
    "RandomWeights(1.0)": mogro.RandomWeights(),
    "RoundRobin()": mogro.RoundRobin(),
}
WORLDS: dict[str, Problem] = {
    "circle": Problem(circle(100, first=3.77), np.eye(2)),
    "turned": Problem(circle(100, first=3.77), turned(0.7)),
    "short arms": Problem(0.5 * circle(100, first=3.77), np.eye(2)),
    "close objectives": Problem(circle(200, first=2), np.array([[1.0, 0], [0.6, 0.8]])),
    "plain arms": Problem(PLAIN, np.eye(2)),
    "opposite arms": Problem(np.vstack([-circle(30)[2:6], np.eye(2)]), np.eye(2)),
    "few objectives": Problem(random_problem(4, 30, 4, 0).features, np.eye(4)[:2]),
    "random": random_problem(5, 50, 5, 1),
    "random in three dimensions": random_problem(3, 20, 3, 2),
    "one objective": Problem(circle(12, first=1), np.array([[1.0, 0.0]])),
}


def followed(found: Diagnosis) -> "partial[mogro.MOGRO]":
    """The policy that the advice names; its threshold only if it names one."""
    name = found.advice.policy.partition("scalarization=")[2][:-1]
    threshold = found.advice.threshold if "threshold=" in found.advice.policy else None
    return partial(mogro.MOGRO, threshold=threshold, scalarization=SCALARIZATIONS[name])


def regrets(make: Callable[..., Any], problem: Problem, noise: float, rounds: int) -> FloatArray:
    world = FixedArms(problem.features, problem.theta, noise=noise)
    trace = mogro.simulate(make, world, rounds=rounds, repeats=REPEATS, seed=1)
    return np.asarray(trace.effective_regret[-1, 0])


@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("name", WORLDS)
def test_the_advice_is_never_worse_than_the_default_by_more_than_it_promises(
    name: str, noise: float
) -> None:
    problem, rounds = WORLDS[name], 2000
    for scalarization in (mogro.RandomWeights(), mogro.RoundRobin()):
        found = diagnose(*problem, noise=noise, rounds=rounds, scalarization=scalarization)
        policy = followed(found)
        if policy.keywords["threshold"] is None:  # the default itself
            assert found.advice.gain == 0
            continue
        advised = regrets(policy, problem, noise, rounds)
        usual = partial(mogro.MOGRO, scalarization=policy.keywords["scalarization"])
        default = regrets(usual, problem, noise, rounds)
        assert advised.mean() <= default.mean() + found.advice.gain
        assert found.promises.regret is not None
        assert not found.promises.vacuous
        assert advised.mean() <= found.promises.regret
        # In fact it costs next to nothing, or pays.
        assert advised.mean() <= default.mean() + 2 * default.std() / REPEATS**0.5 + 0.1


def test_the_theorems_threshold_is_advised_where_it_pays() -> None:
    # Of these arms a wrong start may never be mended: the default can get stuck.
    found = diagnose(PLAIN, np.eye(2), noise=1.0, rounds=10**6, scalarization=mogro.RoundRobin())
    assert found.advice.threshold == found.promises.threshold
    assert found.advice.gain > 0
    assert f"threshold={found.promises.threshold:.4g}" in found.advice.policy
    assert "RoundRobin()" in found.advice.policy


def test_the_theorems_threshold_is_advised_where_it_costs_nothing() -> None:
    found = diagnose(*WORLDS["circle"], noise=1e-4, rounds=20_000)
    default = diagnose(*WORLDS["circle"], noise=0.0, rounds=20_000)  # where the default is taken
    assert found.advice.threshold == found.promises.threshold
    assert found.advice.price <= default.advice.price * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "noise", "rounds", "says"),
    [
        ("circle", 0.1, 20_000, "vacuous"),
        ("circle", 0.1, 10**6, "more than it can promise"),
        ("circle", 1.0, 20_000, "cannot be reached"),
        ("circle", 0.01, 20_000, "only if you need the guarantee"),
        ("circle", 0.0, 20_000, "not below the theorem's"),
        ("random", 0.1, 20_000, "No theorem applies"),
        ("few objectives", 0.1, 20_000, "No theorem applies"),
    ],
)
def test_the_default_is_advised_with_a_reason(
    name: str, noise: float, rounds: int, says: str
) -> None:
    found = diagnose(*WORLDS[name], noise=noise, rounds=rounds)
    assert says in found.advice.reasons[0]
    assert found.advice.gain == 0
    assert "threshold" not in found.advice.policy
    assert f"{found.advice.initial_rounds} rounds" in " ".join(str(found).split())


def test_a_bound_is_called_smaller_only_where_there_is_one() -> None:
    features = np.eye(2)  # both arms are best for an objective
    none = diagnose(0.5 * features, np.array([[1.0, 0], [0.6, 0.8]]), noise=0.1, rounds=1000)
    assert none.promises.regret is None
    assert "bound is smaller" not in str(none)
    vacuous = diagnose(features, np.eye(2), noise=1.0, rounds=1000)
    assert vacuous.promises.vacuous
    assert "bound is smaller" not in str(vacuous)
    some = diagnose(
        features, np.eye(2), noise=0.001, rounds=10**5, scalarization=mogro.RoundRobin()
    )
    assert "bound is smaller" in " ".join(str(some).split())


@pytest.mark.parametrize("name", WORLDS)
def test_the_price_is_what_exploration_costs(name: str) -> None:
    features, theta = WORLDS[name]
    found = diagnose(features, theta, noise=0.1, rounds=10_000)
    length = found.advice.initial_rounds
    assert length is not None
    spent = regrets(followed(found), WORLDS[name], 0.1, length)
    assert spent == pytest.approx(np.full(REPEATS, found.advice.price), abs=1e-9)


def test_a_price_beyond_what_is_tried_out_is_extrapolated() -> None:
    features, theta = np.diag([1.0, 0.01]), np.eye(2)
    bad = np.vstack([features, [[-1.0, 0.0]]])  # never explored: the first arm comes before it
    gaps = pareto.effective_gaps(bad @ theta.T)

    def price(threshold: float, rounds: int) -> Any:
        return exploration_price(
            lambda step: bad, lambda step: gaps + 1, threshold=threshold, rounds=rounds
        )

    exact = price(0.1, 2000)
    assert (exact.rounds, exact.regret) == (1001, 1001)
    long = price(1.0, 10**5)  # 1 + 10,000 rounds of the short arm
    assert long.rounds is None
    assert long.regret == pytest.approx(10_001, rel=0.01)
    short = price(1.0, 3000)  # the horizon ends first
    assert (short.length, short.regret) == (3000, 3000)


@pytest.mark.parametrize("random", [True, False])
def test_greedy_rounds_are_estimated_as_mogro_plays_them(random: bool) -> None:
    noise, rounds, problem = 0.7, 300, Problem(PLAIN, np.eye(2))
    gaps = pareto.effective_gaps(PLAIN @ np.eye(2).T)
    price = exploration_price(lambda step: PLAIN, lambda step: gaps, threshold=0.1, rounds=rounds)
    found = greedy_regret(
        PLAIN,
        np.eye(2),
        gaps,
        price.gram,
        weights=np.ones(2) if random else None,
        noise=noise,
        rounds=rounds - price.length,
    )
    kind = mogro.RandomWeights() if random else mogro.RoundRobin()
    make = partial(mogro.MOGRO, threshold=0.1, scalarization=kind)
    played = regrets(make, problem, noise, rounds)
    spread = 4 * np.hypot(played.std() / REPEATS**0.5, (found.high - found.low) / 4)
    assert abs(found.mean + price.regret - played.mean()) < spread

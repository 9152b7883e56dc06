"""Arms that budgets have room for: by arrays, and for one arm alone, as a plain loop says."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mogro
from mogro.agent import decision
from mogro.agent.affordable import BudgetTerms
from mogro.agent.decision_inputs import DecisionInputs
from mogro.agent.state.accounts import reviews_prices

ARMS = dict(zip("abc", np.eye(3).tolist(), strict=True))
MEANS = {"a": (0.5, 0.1), "b": (0.7, 0.4), "c": (0.9, 2.0)}  # quality and cost
OBJECTIVES = [mogro.Objective("quality"), mogro.Objective("cost", direction="min", unit=0.1)]


def fitting(terms: BudgetTerms, step: int) -> list[int]:
    """Return the places of arms that there is room for, one by one."""
    balances, arms = terms.balances, terms.all_arms
    budgets = [each.budget for each in balances]
    rooms, worths = [each.room for each in balances], [abs(budget.bound) for budget in budgets]
    counts, beliefs, fits, saves, keeps = terms.expected.of_all, terms.beliefs, [], [], []
    counted, untried = counts.counted, np.asarray(counts.unknown.any(axis=1))
    x = np.column_stack([np.ones(len(arms)), arms.raw_features])
    plain = terms.spending.all_expected(x @ terms.expected._observed.theta[:, : x.shape[1]].T)
    for k, row in enumerate(counted.tolist()):
        needed, ample = list[float](), terms.expected.informed
        for index, (balance, spend) in enumerate(zip(balances, row, strict=True)):
            told, budget = not counts.unknown.item(k, index), balance.budget
            strays = math.hypot((balance.caution if told else 1.0) * spend, balance.flight_strays)
            saves_some = told and spend <= budget.bound
            needed.append(budget.max_cost or spend + (0.0 if saves_some else strays))
            most = max(plain[k, index], counts.spends[k, index])
            ample = ample and most <= balance.ample
        if ample or all(much <= room for much, room in zip(needed, rooms, strict=True)):
            fits.append(k)
        usual = zip(counts.usual[k], budgets, strict=True)
        if not untried[k] and all(spend <= budget.bound for spend, budget in usual):
            saves.append(k)
        if all(spend <= room for spend, room in zip(row, rooms, strict=True)):
            keeps.append(k)
    if fits:
        return fits
    if untried.any() and not saves:
        trials = [k for k in np.flatnonzero(untried).tolist() if k in keeps or not keeps]
        if trials:
            return trials
    known = np.flatnonzero(~untried).tolist()
    exceeded = {k: sum(s > room for s, room in zip(counted[k], rooms, strict=True)) for k in known}
    known = [k for k in known if exceeded[k] == min(exceeded.values())]
    weights = [each.price * worth for each, worth in zip(balances, worths, strict=True)]

    def mean(values: Any) -> float:
        rows = zip(weights, values, worths, strict=True)
        return float(sum(w * v / worth for w, v, worth in rows) / sum(weights))

    spends = {k: mean(counted[k]) for k in known}
    if not saves and reviews_prices(step):
        squares = np.array([[row @ S @ row for S in beliefs.S] for row in arms.features])
        squares = np.broadcast_to(squares, (len(arms), 2))[:, ::-1]
        in_flight = beliefs.expected.W.mT @ beliefs.expected.W
        expected = np.array([[row @ S @ row for S in in_flight] for row in arms.features])
        expected = np.broadcast_to(expected, (len(arms), 2))[:, ::-1]
        if arms.view.contextual:
            expected = expected * np.maximum(counts.unsure / squares, 1)
        squares = expected
        noise = np.sqrt(beliefs.noise[::-1]) * [OBJECTIVES[1].unit, OBJECTIVES[0].unit]
        errors = np.sqrt(squares) * noise
        for k, size in enumerate(np.abs(counted[:, 0]).tolist()):
            deviation = max(min(noise[0], size * balances[0].caution / 3), 0.5 * size)
            errors[k, 0] = math.sqrt(squares[k, 0]) * deviation
        width = math.sqrt(2 * math.log(1 + max(each.decisions for each in balances)))
        largest = min(spends.values()) + mean(
            [budget.burst * worth / 2 for budget, worth in zip(budgets, worths, strict=True)]
        )
        known = [k for k in known if spends[k] <= largest]
        spends = {k: spends[k] - width * mean(errors[k]) for k in known}
    slack = 1e-9 * np.abs(counted / worths).max()
    return [k for k in known if spends[k] - slack <= min(spends.values())]


class InFull(BudgetTerms):
    """What budgets do, with a look at all arms in any case."""

    def take(self, rows: Sequence[int]) -> bool:
        """Find out which arms are left, and compare with the loop."""
        assert self.left.ids == tuple(self.all_arms.ids[k] for k in fitting(self, self._step))
        for row in range(len(self)):
            if self._is_left(row):  # alone, as among all
                assert self.fits[row]
        return False


@given(
    told=st.integers(1, 4),
    bound=st.floats(0.05, 3.0),
    burst=st.floats(0.5, 100.0),
    max_cost=st.sampled_from([None, None, 2.5]),
    delay=st.integers(0, 4),
    contextual=st.booleans(),
    weights=st.sampled_from([{"quality": 1}, mogro.RandomWeights(), None]),
    epsilon=st.sampled_from([0.0, 0.2]),
    seed=st.integers(0, 99),
)
def test_one_arm_alone_is_chosen_as_after_a_look_at_all(
    told: int,
    bound: float,
    burst: float,
    max_cost: float | None,
    delay: int,
    contextual: bool,
    weights: Any,
    epsilon: float,
    seed: int,
) -> None:
    budgets = [
        mogro.Budget("cost", at_most=bound, burst=burst, max_cost=max_cost),
        mogro.Budget("quality", at_least=0.6, burst=burst),
    ]
    context_size = 2 if contextual else None
    agents = [
        mogro.Agent(
            OBJECTIVES, arms=3, context=context_size, seed=seed, budgets=budgets, epsilon=epsilon
        )
        for _ in range(2)
    ]
    rng = np.random.default_rng(seed)
    arms = {arm: rng.standard_normal(3).tolist() for arm in MEANS}  # none of which tie
    waiting: list[tuple[str, dict[str, float]]] = []
    for arm in ("a", "b", "c", "a")[:told]:
        context = [0.0, 0.0] if contextual else None
        values = dict(zip(("quality", "cost"), MEANS[arm], strict=True))
        for agent in agents:
            agent.observe(arms, arm=arm, context=context, rewards=values)
    for _ in range(12):
        context = rng.standard_normal(2).tolist() if contextual else None
        quick = agents[0].decide(arms, context=context, weights=weights)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(decision, "BudgetTerms", InFull)
            slow = agents[1].decide(arms, context=context, weights=weights)
        assert quick == slow
        assert quick.exploring == slow.exploring
        assert quick.event.budget_record == slow.event.budget_record
        assert quick.propensities.arms == slow.propensities.arms
        assert quick.propensities.values.tolist() == slow.propensities.values.tolist()
        quality, cost = MEANS[quick.arm] + 0.1 * rng.standard_normal(2)
        waiting.append((quick.id, {"quality": quality, "cost": cost}))
        while len(waiting) > delay:
            for agent in agents:
                agent.reward(*waiting[0])
            waiting.pop(0)


@pytest.mark.parametrize(
    ("spent", "arm", "ample", "alone"),
    [(0.0, "a", True, True), (2.0, "a", False, True), (2.0, "c", False, False)],
)
def test_all_ways_are_taken(spent: float, arm: str, ample: bool, alone: bool) -> None:
    """An arm has ample room, or room by what it counts; or all are looked at."""
    budgets = [mogro.Budget("cost", at_most=0.5, burst=4)]
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=0, budgets=budgets)
    for name, (quality, cost) in 3 * list(MEANS.items()):
        agent.observe(ARMS, arm=name, rewards={"quality": quality, "cost": cost})
    agent.reward(agent.decide({"c": ARMS["c"]}).id, {"quality": 0.9, "cost": spent})
    inputs = agent.decide({arm: ARMS[arm]}, weights={"quality": 1}).inputs
    assert isinstance(inputs, DecisionInputs)
    terms = inputs.budget_terms
    assert terms is not None
    assert (terms.expected._last is None, terms._left is None) == (ample, alone)


@pytest.mark.parametrize("seed", range(4))
def test_if_all_that_is_known_is_too_dear_another_arm_is_tried(seed: int) -> None:
    agent = mogro.Agent(
        OBJECTIVES, arms=3, seed=seed, budgets=[mogro.Budget("cost", at_most=0.2, burst=2)]
    )
    tried = set[str]()
    for _ in range(3):  # the first two cost more than the bound, whichever they are
        made = agent.decide(ARMS, weights={"quality": 1})
        assert made.arm not in tried
        tried.add(made.arm)
        agent.reward(made.id, {"quality": 0.5, "cost": 5.0})


def test_of_arms_that_cost_the_same_rounding_leaves_none_out() -> None:
    """If no arm fits, all of the cheapest stay on offer."""
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=0, budgets=[mogro.Budget("cost", at_most=0.1)])
    for _ in range(2):
        for arm, (quality, _) in MEANS.items():
            agent.observe(ARMS, arm=arm, rewards={"quality": quality, "cost": 0.3})
    for _ in range(3):
        decision = agent.decide(ARMS)
        agent.reward(decision.id, {"quality": 0.5, "cost": 5.0})
    inputs = agent.decide(ARMS).inputs
    assert isinstance(inputs, DecisionInputs)
    assert inputs.budget_terms is not None
    terms = inputs.budget_terms
    counts = terms.expected.of_all._replace(counted=np.array([[0.3 + 1e-13], [0.3], [0.31]]))
    fits = terms._cheapest(counts, np.zeros(3, dtype=np.bool_), again=False)
    assert fits.tolist() == [True, True, False]


@pytest.mark.parametrize("seed", range(3))
def test_reviews_see_what_other_prices_would_do_as_a_loop_over_arms_says(seed: int) -> None:
    budgets = [
        mogro.Budget("cost", at_most=0.6, burst=30),
        mogro.Budget("quality", at_least=0.6, burst=30),
    ]
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=seed, budgets=budgets)
    rng, at_stake = np.random.default_rng(seed), list[tuple[float, ...]]()
    for _ in range(300):
        made = agent.decide(ARMS, weights={"quality": 1})
        inputs, record = made.inputs, made.event.budget_record
        assert isinstance(inputs, DecisionInputs)
        terms = inputs.budget_terms
        assert terms is not None
        assert record is not None
        if record.at_stake is not None:
            at_stake.append(record.at_stake)
            weights, paid = np.array([1.0, 0.0]), np.zeros(2)
            spending = terms.spending
            for index, balance in enumerate(terms.balances):
                if balance.surplus <= 0:
                    paid[spending.indices[index]] += spending.weights[index] * balance.price
            now, free, cheap = [], [], []
            for x, estimates in zip(terms.all_arms.features, terms.estimates, strict=True):
                error = math.sqrt(x @ inputs.beliefs.S[0] @ x * inputs.beliefs.noise[0])
                now.append(estimates @ (weights + terms.prices.weights))
                free.append(estimates @ (weights + paid) + 2 * error)
                cheap.append(estimates @ terms.prices.weights)
            for index, balance in enumerate(terms.balances):
                spends = terms.expected.of_all.spends[:, index]
                if balance.surplus > 0:
                    wanted = spends[np.argmax(free)] - spends[np.argmax(now)]
                else:
                    wanted = spends[np.argmax(now)] - spends[np.argmax(cheap)]
                assert math.isclose(record.at_stake[index], max(0.0, wanted), abs_tol=1e-9)
        quality, cost = MEANS[made.arm] + np.array([0.5, 0.05]) * rng.standard_normal(2)
        agent.reward(made.id, {"quality": quality, "cost": cost})
    assert {bool(any(amounts)) for amounts in at_stake} == {True, False}


@pytest.mark.slow
def test_optimistic_rounds_are_chosen_as_their_probabilities_say() -> None:
    """They are optimistic about what is spent, too."""
    explored = 0
    for seed in range(20):
        budgets = [mogro.Budget("cost", at_most=0.3, burst=30)]
        agent = mogro.Agent(OBJECTIVES, arms=3, seed=seed, budgets=budgets)
        rng = np.random.default_rng(seed)
        for arm, (quality, cost) in MEANS.items():  # else arms are alike
            agent.observe(ARMS, arm=arm, rewards={"quality": quality, "cost": cost})
        for _ in range(30):
            made = agent.decide(ARMS, weights={"quality": 1})
            inputs = made.inputs
            assert isinstance(inputs, DecisionInputs)
            optimism = inputs.policy.optimism(inputs.beliefs, inputs.step, inputs.selection)
            if optimism is not None:
                explored += made.exploring
                assert made.propensity == 1.0
            quality, cost = MEANS[made.arm] + 0.05 * rng.standard_normal(2)
            agent.reward(made.id, {"quality": quality, "cost": cost})
    assert explored > 10


@pytest.mark.parametrize("interactions", [True, False])
@pytest.mark.parametrize("effects", [False, True])
def test_spends_follow_a_context_as_far_as_it_is_relied_on(
    interactions: bool, effects: bool
) -> None:
    budget, rng = mogro.Budget("cost", at_most=0.5, burst=3), np.random.default_rng(0)
    agent = mogro.Agent(
        OBJECTIVES,
        arms=2,
        context=2,
        seed=0,
        budgets=[budget],
        interactions=interactions,
        arm_effects=effects,
    )
    arms = {name: rng.standard_normal(2) for name in "abcdef"}
    seen, costs, trusts = list[Any](), list[float](), set[float]()
    for n in range(150):
        context, arm = rng.standard_normal(2), str(rng.choice(list(arms)))
        if n < 30:
            agent.observe(arms, arm=arm, context=context, rewards={"cost": 3 + context[0]})
            seen.append((1.0, *arms[arm]))
            costs.append(3 + context[0])
            continue
        inputs = agent.decide(arms, context=context, weights={"quality": 1}).inputs
        assert isinstance(inputs, DecisionInputs)
        terms = inputs.budget_terms
        assert terms is not None
        counts, (balance,) = terms.expected.of_all, terms.balances
        trusts.add(balance.trust)
        posterior = agent.estimate(arms, context=context)
        cost = posterior.values[:, posterior.objectives.index("cost")]
        usual, spends = counts.usual[:, 0], counts.spends[:, 0]
        assert usual + counts.effects[:, 0] == pytest.approx(np.maximum(cost, 0))
        if not effects:
            theta = np.linalg.lstsq(np.array(seen), np.array(costs), rcond=None)[0]
            mean = np.maximum([theta @ (1.0, *x) for x in arms.values()], 0)
            assert usual == pytest.approx(mean, rel=1e-4)
        if terms.expected.informed:
            assert spends == pytest.approx(np.maximum(cost, 0))
            doubts = np.maximum(usual - spends, 0.0) * (1 - balance.trust)
            assert counts.counted[:, 0] == pytest.approx(spends + doubts)
        else:
            relied_on = np.maximum(usual + balance.trust * (cost - usual), 0)
            assert spends == pytest.approx(relied_on, rel=1e-3, abs=1e-6)
            assert counts.counted[:, 0] == pytest.approx(np.maximum(spends, 0))
        made = agent.decide(arms, context=context, weights={"quality": 1})
        agent.reward(made.id, {"quality": 0.5, "cost": 3 + context[0]})
        seen.append((1.0, *arms[made.arm]))
        costs.append(3 + context[0])
    assert len(trusts) > 20

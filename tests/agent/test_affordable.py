"""Arms that budgets have room for: by a bound and by arrays, as a plain loop over arms says."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mogro
from mogro.agent import affordable, decision
from mogro.agent.affordable import apply_budgets
from mogro.agent.budget import Spending
from mogro.agent.decision_inputs import DecisionInputs
from mogro.agent.objective_set import ObjectiveSet
from mogro.agent.state.accounts import looks

ARMS = dict(zip("abc", np.eye(3).tolist(), strict=True))
MEANS = {"a": (0.5, 0.1), "b": (0.7, 0.4), "c": (0.9, 2.0)}  # quality and cost
OBJECTIVES = [mogro.Objective("quality"), mogro.Objective("cost", direction="min", unit=0.1)]


def fitting(
    accounts: Any, counted: Any, usual: Any, unknown: Any, errors: Any, step: int
) -> list[int]:
    """Return the places of arms that there is room for, one by one; usual: in any context."""
    budgets, balances = (
        [each.budget for each in accounts],
        [each.balance(None) for each in accounts],
    )
    rooms, worths = [each.room for each in balances], [abs(budget.bound) for budget in budgets]
    fits, saves, keeps, untried = [], [], [], unknown.any(axis=1)
    for k, row in enumerate(counted.tolist()):
        needed = list[float]()
        for account, spend in zip(accounts, row, strict=True):
            told = not unknown[k, len(needed)]
            strays = account.caution * spend if told else spend
            strays = math.hypot(strays, account.caution * math.sqrt(account.flight_squares))
            saves_some = told and spend <= account.budget.bound
            needed.append(account.budget.max_cost or spend + (0.0 if saves_some else strays))
        if all(much <= room for much, room in zip(needed, rooms, strict=True)):
            fits.append(k)
        if not untried[k] and all(s <= b.bound for s, b in zip(usual[k], budgets, strict=True)):
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
    if looks(step):
        width = math.sqrt(2 * math.log(1 + max(account.decisions for account in accounts)))
        known = [k for k in known if spends[k] <= min(spends.values()) + 1]
        spends = {k: spends[k] - width * mean(errors[k]) for k in known}
    slack = 1e-9 * np.abs(counted / worths).max()
    return [k for k in known if spends[k] - slack <= min(spends.values())]


@given(
    told=st.integers(0, 3),
    bound=st.floats(0.05, 3.0),
    burst=st.floats(0.5, 100.0),
    max_cost=st.sampled_from([None, None, 2.5]),
    delay=st.integers(0, 4),
    contextual=st.booleans(),
    seed=st.integers(0, 99),
)
def test_what_a_bound_and_arrays_say_a_loop_says(
    told: int,
    bound: float,
    burst: float,
    max_cost: float | None,
    delay: int,
    contextual: bool,
    seed: int,
) -> None:
    looked = []

    def checked(
        spending: Any, accounts: Any, learner: Any, arms: Any, beliefs: Any, time: Any, step: int
    ) -> Any:
        left, believed, terms = apply_budgets(
            spending, accounts, learner, arms, beliefs, time, step
        )
        known, unsure = terms, spending.by_budget(beliefs.variances(arms.features))
        if contextual:
            plain = terms._replace(estimates=beliefs.estimates(arms.features))
            _, known, unsure = affordable._doubt_context(plain, accounts, learner, arms)
        counted, unknown = affordable._counted(known, accounts, arms, unsure)
        usual = known.usual if contextual else counted
        x, sizes = arms.features, np.abs([OBJECTIVES[1].unit, OBJECTIVES[0].unit])
        squares = np.array([[row @ S @ row for S in beliefs.S] for row in x])
        squares = np.broadcast_to(squares, (len(x), 2))[:, ::-1] * beliefs.noise[::-1]
        errors = np.sqrt(squares) * sizes  # of cost and quality
        wanted = fitting(accounts, counted, usual, unknown, errors, step)
        if terms.counted is not None or not contextual:
            assert left.ids == tuple(arms.ids[k] for k in wanted)
        looked.append(terms.counted is not None)
        return left, believed, terms

    budgets = [
        mogro.Budget("cost", at_most=bound, burst=burst, max_cost=max_cost),
        mogro.Budget("quality", at_least=0.6, burst=burst),
    ]
    agent = mogro.Agent(
        OBJECTIVES, arms=3, context=2 if contextual else None, seed=seed, budgets=budgets
    )
    rng = np.random.default_rng(seed)
    waiting: list[tuple[str, dict[str, float]]] = []
    for arm in list(MEANS)[:told]:
        context = [0.0, 0.0] if contextual else None
        agent.observe(ARMS, arm=arm, context=context, rewards={"cost": MEANS[arm][1]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decision, "apply_budgets", checked)
        for _ in range(12):
            context = rng.standard_normal(2).tolist() if contextual else None
            made = agent.decide(ARMS, context=context, weights={"quality": 1})
            quality, cost = MEANS[made.arm] + 0.1 * rng.standard_normal(2)
            waiting.append((made.id, {"quality": quality, "cost": cost}))
            while len(waiting) > delay:
                agent.reward(*waiting.pop(0))
    assert len(looked) == 12


def test_both_ways_are_taken() -> None:
    for burst, short in ((1.0, True), (1000.0, False)):
        budgets = [mogro.Budget("cost", at_most=0.5, burst=burst)]
        agent = mogro.Agent(OBJECTIVES, arms=3, seed=0, budgets=budgets)
        for arm, (quality, cost) in MEANS.items():
            agent.observe(ARMS, arm=arm, rewards={"quality": quality, "cost": cost})
        inputs = agent.decide(ARMS).inputs
        assert isinstance(inputs, DecisionInputs)
        assert inputs.budget_terms is not None
        assert (inputs.budget_terms.counted is not None) == short


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
    state, inputs = agent._state, agent.decide(ARMS).inputs
    assert isinstance(inputs, DecisionInputs)
    assert inputs.budget_terms is not None
    counted, unknown = np.array([[0.3 + 1e-13], [0.3], [0.31]]), np.zeros((3, 1), dtype=np.bool_)
    step = next(step for step in range(9) if not looks(step))
    fits = affordable._affordable(inputs.budget_terms, state.accounts, counted, unknown, step)
    assert fits.tolist() == [True, True, False]


@pytest.mark.parametrize("seed", range(3))
def test_looks_see_what_other_prices_would_do_as_a_loop_over_arms_says(seed: int) -> None:
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
            for x, estimates in zip(terms.features, terms.estimates, strict=True):
                error = math.sqrt(x @ inputs.beliefs.S[0] @ x * inputs.beliefs.noise[0])
                now.append(estimates @ (weights + terms.prices.weights))
                free.append(estimates @ (weights + paid) + 2 * error)
                cheap.append(estimates @ terms.prices.weights)
            chosen = list(ARMS).index(made.arm) if terms.affordable is None else np.argmax(now)
            for index, balance in enumerate(terms.balances):
                spends = terms.spends[:, index]
                if balance.surplus > 0:
                    wanted = spends[np.argmax(free)] - spends[chosen]
                else:
                    wanted = spends[chosen] - spends[np.argmax(cheap)]
                assert math.isclose(record.at_stake[index], max(0.0, wanted), abs_tol=1e-9)
        quality, cost = MEANS[made.arm] + np.array([0.5, 0.05]) * rng.standard_normal(2)
        agent.reward(made.id, {"quality": quality, "cost": cost})
    assert {bool(any(amounts)) for amounts in at_stake} == {True, False}


@pytest.mark.parametrize("arms", [1, 2, 40])
def test_the_least_and_the_most_are_those_of_all_arms(arms: int) -> None:
    budgets = [
        mogro.Budget("cost", at_most=0.6),
        mogro.Budget("cost", at_least=0.1),
        mogro.Budget("quality", at_most=0.6),
        mogro.Budget("quality", at_least=-0.6),
    ]
    for chosen in (budgets, budgets[:1], budgets[3:]):
        spending = Spending(chosen, ObjectiveSet(OBJECTIVES))
        for seed in range(20):
            estimates = np.random.default_rng(seed).standard_normal((arms, 2))
            spends = spending.all_expected(estimates)
            for found, wanted in (
                (spending.least_expected(estimates), spends.min(axis=0)),
                (spending.most_expected(estimates), spends.max(axis=0)),
            ):
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_optimistic_rounds_are_chosen_as_their_probabilities_say() -> None:
    """They are optimistic about what is spent, too."""
    explored = 0
    for seed in range(12):
        budgets = [mogro.Budget("cost", at_most=0.3, burst=30)]
        agent = mogro.Agent(OBJECTIVES, arms=3, seed=seed, budgets=budgets)
        rng = np.random.default_rng(seed)
        for _ in range(30):
            made = agent.decide(ARMS, weights={"quality": 1})
            inputs = made.inputs
            assert isinstance(inputs, DecisionInputs)
            optimism = inputs.policy.optimism(inputs.beliefs, inputs.step, inputs.selection)
            if optimism is not None and inputs.step >= 3:  # before, arms are alike
                explored += made.exploring
                assert made.propensity == 1.0
            quality, cost = MEANS[made.arm] + 0.05 * rng.standard_normal(2)
            agent.reward(made.id, {"quality": quality, "cost": cost})
    assert explored > 10


@pytest.mark.parametrize("interactions", [True, False])
@pytest.mark.parametrize("effects", [False, True])
def test_where_room_is_short_spends_follow_a_context_as_far_as_it_is_relied_on(
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
        terms, (account,) = inputs.budget_terms, agent._state.accounts
        assert terms is not None
        if terms.usual is None or terms.context_effects is None:
            assert inputs.beliefs is terms.beliefs
            continue
        trusts.add(trust := account.trust)
        posterior = agent.estimate(arms, context=context)
        cost = posterior.values[:, posterior.objectives.index("cost")]
        assert terms.usual[:, 0] + terms.context_effects[:, 0] == pytest.approx(np.maximum(cost, 0))
        if not effects:
            theta = np.linalg.lstsq(np.array(seen), np.array(costs), rcond=None)[0]
            usual = np.array([theta @ (1.0, *x) for x in arms.values()])
            assert terms.usual[:, 0] == pytest.approx(np.maximum(usual, 0), rel=1e-4)
            relied_on = np.maximum(usual + trust * (cost - usual), 0)
            assert terms.spends[:, 0] == pytest.approx(relied_on, rel=1e-3, abs=1e-6)
        made = agent.decide(arms, context=context, weights={"quality": 1})
        agent.reward(made.id, {"quality": 0.5, "cost": 3 + context[0]})
        seen.append((1.0, *arms[made.arm]))
        costs.append(3 + context[0])
    assert len(trusts) > 20

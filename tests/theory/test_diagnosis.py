import json
import math
from typing import Any

import numpy as np
import pytest
from tests.oracles.conditions import uniform_ball_goodness

import mogro
from mogro._validation import FloatArray
from mogro.environments import FixedArms, VaryingContexts
from mogro.theory import (
    Diagnosis,
    diagnose,
    goodness_level,
    goodness_needed,
    objective_diversity,
    radius_cap,
    regret_bound_random_weights,
    regret_bound_round_robin,
    regularity,
    threshold_random_weights,
)
from paper.lab.lower_bound import lower_bound_instance


def circle(arms: int) -> FloatArray:
    angles = np.linspace(0, 2 * np.pi, arms, endpoint=False)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def failing(found: Diagnosis) -> list[str]:
    return [assumption.name for assumption in found.assumptions if not assumption.holds]


@pytest.mark.parametrize(("dim", "arms"), [(5, 50), (10, 200)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_papers_instances_fail_goodness_and_b_is_unreachable(
    dim: int, arms: int, seed: int
) -> None:
    world = FixedArms.sample(dim, arms, dim, noise=0.1, rng=np.random.default_rng(seed))
    found = diagnose(world.features, world.theta, noise=0.1, rounds=1000)
    assert failing(found) == ["good arms"]
    lam = objective_diversity(world.theta)
    level = goodness_level(world.features, world.theta)
    assert found.goodness.diversity == pytest.approx(lam)
    assert found.goodness.level == pytest.approx(level)
    assert found.assumptions[2].margin == pytest.approx(level - goodness_needed(lam))
    assert 0.4 < level < 0.95
    # Even perfect arms would need this threshold.
    perfect = threshold_random_weights(radius_cap(lam, 1.0), noise=0.1, dim=dim, rounds=1000)
    assert found.guarantees.threshold == pytest.approx(perfect)
    assert perfect > 1000 / dim
    assert found.guarantees.hypothetical
    assert found.guarantees.unreachable
    assert found.guarantees.regret is None
    assert found.guarantees.vacuous
    text = str(found)
    for words in ("FAILS by 0.", "unreachable yes", "Guarantees: no theorem applies"):
        assert words in " ".join(text.split())


@pytest.mark.parametrize("arms", [60, 100, 500])
@pytest.mark.parametrize("theta", [np.eye(2), np.array([[0.6, 0.8], [0.8, -0.6], [-1.0, 0.0]])])
def test_a_dense_circle_meets_all_assumptions(arms: int, theta: FloatArray) -> None:
    found = diagnose(circle(arms), theta, noise=0.1, rounds=1_000_000)
    assert found.holds
    assert failing(found) == []
    assert found.goodness.version == "theorem"
    assert found.goodness.gamma is not None
    assert found.goodness.gamma > goodness_needed(found.goodness.diversity)
    assert "all hold" in str(found)


def test_bounds_of_a_dense_circle() -> None:
    found = diagnose(circle(200), np.eye(2), noise=0.1, rounds=10**6)
    good, guaranteed = found.goodness, found.guarantees
    assert good.alpha is not None
    assert good.diversity_left is not None
    assert good.diversity_left == pytest.approx(0.5 / 3, rel=1e-6)
    assert guaranteed.threshold == pytest.approx(
        threshold_random_weights(good.alpha, noise=0.1, dim=2, rounds=10**6)
    )
    phi = regularity(np.eye(2), 1.0, epsilon=good.alpha / 2).phi.value
    assert guaranteed.phi == pytest.approx(phi)
    assert guaranteed.increment == pytest.approx(good.diversity_left * phi * 2)
    assert guaranteed.initial_rounds is not None
    assert guaranteed.increment is not None
    assert guaranteed.regret == pytest.approx(
        regret_bound_random_weights(
            increment=guaranteed.increment,
            noise=0.1,
            dim=2,
            objectives=2,
            rounds=10**6,
            initial_rounds=guaranteed.initial_rounds,
        )
    )
    assert not guaranteed.vacuous
    assert not guaranteed.unreachable
    assert guaranteed.regret is not None
    assert guaranteed.regret < 2 * 10**6  # gaps are at most 2
    soon = diagnose(circle(200), np.eye(2), noise=0.1, rounds=1000)
    assert soon.holds
    assert soon.guarantees.regret is not None
    assert soon.guarantees.regret > 2 * 1000
    assert soon.guarantees.vacuous
    assert "vacuous yes" in " ".join(str(soon).split())


def test_round_robin_has_its_own_bound_and_no_fairness() -> None:
    found = diagnose(
        circle(200), np.eye(2), noise=0.1, rounds=10**5, scalarization=mogro.RoundRobin()
    )
    guaranteed = found.guarantees
    assert found.holds
    assert guaranteed.phi is None
    assert guaranteed.fairness is None
    assert guaranteed.initial_rounds is not None
    assert found.goodness.diversity_left is not None
    assert guaranteed.regret == pytest.approx(
        regret_bound_round_robin(
            diversity_left=found.goodness.diversity_left,
            noise=0.1,
            dim=2,
            objectives=2,
            rounds=10**5,
            initial_rounds=guaranteed.initial_rounds,
        )
    )


@pytest.mark.slow
def test_other_norms_use_the_relaxed_versions() -> None:
    parameters = diagnose(circle(300), np.diag([2.0, 1.0]), noise=0.1, rounds=10**6)
    assert parameters.holds
    assert parameters.goodness.version == "parameter norms"
    both = diagnose(3 * circle(300), np.diag([2.0, 1.0]), noise=0.1, rounds=10**6)
    assert both.holds
    assert both.goodness.version == "all norms"
    # Arms half as long as allowed are as good as any, once x_max is taken as it is.
    short = diagnose(0.5 * circle(300), np.eye(2), noise=0.1, rounds=10**6)
    assert short.holds
    assert short.goodness.version == "all norms"
    for found in (parameters, both, short):
        assert found.goodness.diversity_left is not None
        assert found.goodness.diversity_left > 0


def test_units_do_not_matter_to_the_relaxed_version() -> None:
    one = diagnose(3 * circle(100), np.eye(2), noise=0.3, rounds=10**6)
    two = diagnose(6 * circle(100), np.eye(2), noise=0.6, rounds=10**6)
    assert one.guarantees.regret is not None
    # Not to the last digit: a constant in B (lambda_min(V) >= 1) has a unit.
    assert two.guarantees.regret == pytest.approx(2 * one.guarantees.regret, rel=1e-3)


def test_features_in_a_subspace_are_judged_there() -> None:
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0][:, :2]
    flat = diagnose(circle(100) @ turn.T, np.eye(2) @ turn.T, noise=0.1, rounds=10**6)
    plane = diagnose(circle(100), np.eye(2), noise=0.1, rounds=10**6)
    assert (flat.dim, flat.rank) == (5, 2)
    assert flat.holds
    assert flat.guarantees.regret == pytest.approx(plane.guarantees.regret, rel=1e-3)


def test_too_few_objectives() -> None:
    rng = np.random.default_rng(0)
    found = diagnose(rng.standard_normal((20, 4)), np.eye(4)[:3], noise=0.1, rounds=1000)
    assert {"objectives span", "good arms"} <= set(failing(found))
    assert found.goodness.diversity == 0
    assert found.guarantees.threshold is None
    assert "3 of 4 dimensions" in " ".join(str(found).split())
    assert "NaN" not in found.to_json()


def test_equal_objectives_leave_random_weights_without_a_bound() -> None:
    theta = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = diagnose(circle(100), theta, noise=0.1, rounds=10**6)
    assert failing(found) == ["objectives apart"]
    assert found.guarantees.regret is None
    by_turns = diagnose(
        circle(100), theta, noise=0.1, rounds=10**6, scalarization=mogro.RoundRobin()
    )
    assert by_turns.holds
    assert by_turns.guarantees.regret is not None


def test_close_objectives_cap_the_radius() -> None:
    close = np.array([math.cos(0.05), math.sin(0.05)])
    theta = np.stack([np.eye(2)[0], np.eye(2)[1], close])
    found = diagnose(circle(400), theta, noise=0.1, rounds=10**6)
    assert found.holds
    assert found.goodness.separation is not None
    assert found.goodness.alpha is not None
    assert found.goodness.alpha <= found.goodness.separation


@pytest.mark.parametrize("noise", [0.0, 1e-4, 0.1])
@pytest.mark.parametrize(
    "kind",
    [
        mogro.RandomWeights(),
        mogro.RandomWeights(2.0),
        mogro.RandomWeights((1.0, 3.0)),
        mogro.RoundRobin(),
    ],
)
def test_what_to_run_can_be_typed_and_has_the_default_threshold(
    kind: mogro.RandomWeights | mogro.RoundRobin, noise: float
) -> None:
    found = diagnose(circle(200), np.eye(2), noise=noise, rounds=10**6, scalarization=kind)
    policy = eval(found.policy, vars(mogro))
    assert policy.threshold is None
    assert policy.scalarization == kind
    assert (policy.dim, policy.objectives) == (2, 2)
    assert found.policy in str(found)


def test_works_with_the_estimates_of_a_policy() -> None:
    rng = np.random.default_rng(0)
    policy = mogro.MOGRO(2, 2)
    for _ in range(400):
        x = circle(100)[policy.select(circle(100), rng=rng)]
        policy.update(x, np.eye(2) @ x + 0.05 * rng.standard_normal(2))
    found = diagnose(circle(100), policy.theta, noise=0.05, rounds=10**6)
    assert found.holds
    assert found.goodness.version != "theorem"  # estimates are not exactly of norm 1


def test_lower_bound_instances_have_perfect_arms_for_their_objectives() -> None:
    world = lower_bound_instance(3, rounds=1000)
    found = diagnose(world.features, world.theta, noise=1.0, rounds=1000)
    assert found.goodness.level == pytest.approx(1)
    assert found.guarantees.unreachable


def test_json_and_text() -> None:
    for features, theta in (
        (circle(100), np.eye(2)),
        (np.eye(2), np.eye(2)),
        (circle(9), [[1, 0]]),
    ):
        found = diagnose(features, theta, noise=0.1, rounds=1000)
        data: dict[str, Any] = json.loads(found.to_json())
        assert data["holds"] == found.holds
        assert data["arms"] == len(features)
        assert [a["name"] for a in data["assumptions"]] == [a.name for a in found.assumptions]
        assert "Assumptions" in repr(found)
        assert max(len(line) for line in str(found).splitlines()) <= 100


def test_no_noise_and_one_round() -> None:
    found = diagnose(circle(100), np.eye(2), noise=0.0, rounds=1)
    assert found.guarantees.threshold == 0
    assert "nan" not in str(found)


@pytest.mark.slow
def test_many_objectives_underflow_to_a_vacuous_bound() -> None:
    angles = np.linspace(0, np.pi / 2, 200)
    theta = np.column_stack([np.cos(angles), np.sin(angles)])
    found = diagnose(circle(300), theta, noise=0.1, rounds=1000)
    assert found.guarantees.vacuous
    assert json.loads(found.to_json())["guarantees"]["vacuous"]


@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-9, 1e-12])
def test_objectives_that_hardly_span(angle: float) -> None:
    theta = np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    for features in (circle(1000), 2 * circle(50)):
        found = diagnose(features, theta, noise=0.1, rounds=1000)
        assert found.guarantees.unreachable
        assert found.guarantees.threshold is None or found.guarantees.threshold > 1000
        assert "nan" not in str(found)


@pytest.mark.slow
def test_contexts_from_a_function_and_from_a_sample() -> None:
    world = VaryingContexts(np.eye(2), arms=40, noise=0.1)
    drawn = diagnose(world.contexts, np.eye(2), noise=0.05, rounds=10**6)
    sample = world.contexts(rng=np.random.default_rng(5), batch=(4000,))
    given = diagnose(sample, np.eye(2), noise=0.05, rounds=10**6)
    for found, looked_at in ((drawn, 20_000), (given, 4000)):
        good = found.goodness
        assert found.holds
        assert (found.arms, found.dim, found.rank, found.sampled_rounds) == (40, 2, 2, looked_at)
        assert good.gamma is not None
        assert good.probability is not None
        exact = uniform_ball_goodness(good.gamma, dim=2, arms=40)
        # Three times as wide as the interval: a fixed seed may be unlucky.
        middle, reach = good.probability.value, 3 * (good.probability.high - good.probability.low)
        assert abs(middle - exact) < reach
        assert good.alpha == pytest.approx(radius_cap(0.5, good.gamma))
        # Uniform pulls add E[x x^T] = I / 4 a round in the disc.
        assert found.guarantees.threshold is not None
        expected = found.guarantees.threshold * 4
        assert found.guarantees.initial_rounds == pytest.approx(expected, rel=0.02)
        assert found.guarantees.regret is not None
        words = " ".join(str(found).split())
        assert f"sampled rounds {looked_at}" in words
        assert "Estimates, not guarantees" in words
        assert f"probability {good.probability}" in words
        data = json.loads(found.to_json())
        assert data["goodness"]["probability"]["low"] == good.probability.low


@pytest.mark.slow
def test_contexts_of_other_norms_use_the_relaxed_versions() -> None:
    world = VaryingContexts(np.eye(2), arms=100, noise=0.1)

    def larger(*, rng: np.random.Generator, batch: tuple[int, ...]) -> FloatArray:
        return np.asarray(5 * world.contexts(rng=rng, batch=batch))

    found = diagnose(larger, np.diag([2.0, 1.0]), noise=0.1, rounds=10**6)
    assert found.goodness.version == "all norms"
    assert found.holds
    assert found.guarantees.increment is not None
    assert found.guarantees.increment > 0


def test_contexts_in_a_subspace_are_judged_there() -> None:
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0][:, :2]
    sample = VaryingContexts(np.eye(2), arms=40, noise=0.1).contexts(
        rng=np.random.default_rng(5), batch=(2000,)
    )
    flat = diagnose(sample @ turn.T, np.eye(2) @ turn.T, noise=0.01, rounds=10**6)
    assert (flat.dim, flat.rank) == (5, 2)
    assert flat.holds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("radius", "objectives"), [(0.5, 2), (1.0, 1)], ids=["never good", "too few objectives"]
)
def test_contexts_to_which_no_corollary_applies(radius: float, objectives: int) -> None:
    # A fixed long arm sets x_max; no other is good for any direction but its own.
    def contexts(*, rng: np.random.Generator, batch: tuple[int, ...]) -> FloatArray:
        arms = radius * rng.uniform(-0.7, 0.7, (*batch, 6, 2))
        arms[..., 0, :] = [1.0, 0.0]
        return arms

    found = diagnose(contexts, np.eye(2)[:objectives], noise=0.1, rounds=10**5)
    assert "good arms" in failing(found)
    assert found.guarantees.regret is None
    assert "no theorem applies" in str(found)
    assert "nan" not in str(found)


@pytest.mark.slow
def test_round_robin_has_no_corollary_for_contexts() -> None:
    world = VaryingContexts(np.eye(2), arms=100, noise=0.1)
    found = diagnose(
        world.contexts, np.eye(2), noise=0.01, rounds=10**6, scalarization=mogro.RoundRobin()
    )
    assert found.guarantees.regret is None
    assert "no theorem applies" in str(found)


@pytest.mark.parametrize(
    ("features", "theta", "changed", "name"),
    [
        (np.zeros((3, 2)), np.eye(2), {}, "features"),
        (np.eye(2), [[0.0, 0.0]], {}, "theta"),
        (np.eye(2), np.eye(3), {}, "theta"),
        ([[1.0, 0.0]], np.eye(2), {}, "objective 1"),
        (np.eye(2), np.eye(2), {"noise": -1.0}, "noise"),
        (np.eye(2), np.eye(2), {"noise": math.nan}, "noise"),
        (np.eye(2), np.eye(2), {"rounds": 0}, "rounds"),
        (np.eye(2), np.eye(2), {"scalarization": mogro.RandomHypervolume()}, "scalarization"),
        (np.eye(2), np.eye(2), {"scalarization": mogro.RandomWeights([1, 1, 1])}, "concentration"),
        ([[math.inf, 0.0]], np.eye(2), {}, "features"),
        (np.eye(2), np.eye(2), {"noise": 1e160}, r"noise: expected a number in \[0, 1e\+60\]"),
        (np.eye(2), np.eye(2), {"noise": 10**400}, "noise"),
        (np.eye(2), np.eye(2), {"rounds": 10**400}, r"rounds: expected at most 10\^18, got .* 401"),
        (np.eye(2), np.eye(2), {"rounds": 10**19}, "rounds: .* a number of 20 digits"),
        (np.eye(2), np.eye(2), {"epsilon": 0.0}, "epsilon"),
        (np.eye(2), np.eye(2), {"epsilon": math.nan}, "epsilon"),
        (np.eye(2), np.eye(2), {"scalarization": mogro.RandomWeights(1e300)}, "concentration"),
        (np.ones(3), np.eye(3), {}, r"features: expected shape \(K, d\), got \(3,\)"),
        (np.ones((2, 2, 2, 2)), np.eye(2), {}, "features: expected shape"),
        (np.ones((99, 3, 2)), np.eye(2), {}, "features: expected the arms of at least 100 rounds"),
        (np.zeros((200, 3, 2)), np.eye(2), {}, "features: expected at least one nonzero vector"),
        (np.full((200, 3, 2), math.nan), np.eye(2), {}, "features: expected finite"),
        (np.ones((200, 3, 2)), np.eye(3), {}, "theta"),
        (np.ones((200, 3, 2)), [[1.0, -1.0]], {}, "objective 0"),
        (lambda *, rng, batch: np.ones(3), np.eye(2), {}, r"features: expected shape \(1, K, d\)"),
        (
            lambda *, rng, batch: np.full((*batch, 2, 2), math.inf),
            np.eye(2),
            {},
            "features: .*finite",
        ),
        (
            lambda *, rng, batch: np.full((*batch, 2, 2), "x"),
            np.eye(2),
            {},
            "features: expected an array of real",
        ),
    ],
)
def test_refusals(features: Any, theta: FloatArray, changed: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        diagnose(features, theta, **({"noise": 0.1, "rounds": 1000} | changed))


def test_noise_by_objective_counts_by_the_largest() -> None:
    one = diagnose(circle(20), np.eye(2), noise=0.3, rounds=1000)
    assert diagnose(circle(20), np.eye(2), noise=[0.1, 0.3], rounds=1000) == one
    with pytest.raises(ValueError, match="noise: expected a number, or one for each of 2 obj"):
        diagnose(circle(20), np.eye(2), noise=[0.1, 0.3, 0.2], rounds=1000)


def test_contexts_may_ask_for_the_step() -> None:
    steps = []

    def contexts(*, rng: Any, step: int) -> FloatArray:
        steps.append(step)
        return np.asarray(rng.normal(size=(4, 2)))

    diagnosis = diagnose(contexts, np.eye(2), noise=0.1, rounds=1000)
    assert diagnosis.arms == 4
    assert set(steps) >= set(range(100))


def test_a_number_of_arms_that_varies_is_refused_by_name() -> None:
    def contexts(*, rng: Any) -> FloatArray:
        return np.asarray(rng.normal(size=(rng.integers(2, 5), 2)))

    with pytest.raises(
        ValueError, match=r"features: expected the same number of arms .* \(2, 2\) and \(4, 2"
    ):
        diagnose(contexts, np.eye(2), noise=0.1, rounds=1000)

"""Propensities are the frequencies of choices, and the arm chosen has one above 0."""

import numpy as np
import pytest
from benchmarks.frequencies import ARMS, FEATURES, Case, judge, taught

import mogro
from mogro import RandomChebyshev, RandomHypervolume, RandomWeights
from mogro.probability import counted_probabilities, selection_probabilities
from mogro.scalarization import Scalarization, is_nonlinear


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        Case("MOGRO, RandomWeights()", 4, "second of two"),
        Case("MOGRO, RandomChebyshev()", 4, "plain"),
        Case("MOGRO, RandomHypervolume()", 4, "constraints"),
        Case("MOGRO, RoundRobin()", 4, "epsilon"),
        Case("UCB, RandomHypervolume()", 4, "eligible"),
        Case("UCB, EffectiveFront()", 4, "plain"),
        Case("ThompsonSampling", 2, "constraints"),
        Case("ThompsonSampling, RandomChebyshev()", 4, "plain"),
        Case("EpsilonGreedy", 2, "eligible"),
        Case("RandomArm", 2, "second of two"),
    ],
    ids=str,
)
def test_arms_are_chosen_as_often_as_propensities_say(case: Case) -> None:
    verdict = judge(case, 250)
    assert verdict.chance > 1e-4
    assert verdict.least > 0


def test_an_arm_that_thompson_sampling_chose_has_a_propensity() -> None:
    agent = taught(Case("ThompsonSampling", 4, "plain"))
    decisions = [agent.decide(ARMS, FEATURES) for _ in range(300)]
    rarest = {decision.arm: decision for decision in decisions}
    assert all(decision.propensity >= 1 / 1025 for decision in rarest.values())


def test_a_choice_counts_so_that_one_over_its_share_is_right() -> None:
    probability, draws, runs = 0.002, 1024, 20_000
    wins = np.random.default_rng(0).binomial(draws, probability, runs)
    shares = [counted_probabilities(np.array([w, draws - w]), draws, 0).values[0] for w in wins]
    inverse = 1 / np.array(shares)
    expected = (1 - (1 - probability) ** (draws + 1)) / probability
    assert abs(inverse.mean() - expected) < 4 * inverse.std() / runs**0.5


def test_the_propensity_of_a_decision_is_its_probability() -> None:
    agent = taught(Case("MOGRO, RandomChebyshev()", 4, "plain"))
    before = agent.probabilities(ARMS, FEATURES)
    scores = []
    for _ in range(40):
        decision = agent.decide(ARMS, FEATURES)
        place = before.arms.index(decision.arm)
        error = np.hypot(decision.propensity_error, before.errors[place])
        scores.append((decision.propensity - before.values[place]) / error)
    assert np.abs(scores).max() < 5


SELECTIONS: list[Scalarization] = [
    RandomWeights(),
    RandomWeights(0.3),
    RandomChebyshev(),
    RandomHypervolume(),
]


def best(values: np.ndarray, selection: Scalarization, seed: int) -> int:
    rng = np.random.default_rng(seed)
    weights = selection.weights(values.shape[1], step=0, batch=(), rng=rng)
    scores = selection.score(values, weights) if is_nonlinear(selection) else values @ weights
    return int(scores.argmax())


@pytest.mark.slow
@pytest.mark.parametrize("objectives", [3, 6])
@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_what_was_chosen_is_looked_at_closely(selection: Scalarization, objectives: int) -> None:
    values = np.abs(np.random.default_rng(1).standard_normal((400, objectives)))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    plain = [
        selection_probabilities(values, selection, step=0, rng=np.random.default_rng(seed))
        for seed in range(12)
    ]
    for draw in range(2):
        chosen = best(values, selection, draw)
        answers = [
            selection_probabilities(
                values, selection, step=0, rng=np.random.default_rng(seed), chosen=chosen
            )
            for seed in range(12)
        ]
        several = np.array([answer.values[chosen] for answer in answers])
        assert (several > 0).all()
        others = np.array([answer.values[chosen] for answer in plain])
        spread = np.hypot(several.std(ddof=1), others.std(ddof=1)) / 12**0.5
        assert abs(several.mean() - others.mean()) < 6 * spread + 1e-12
        claimed = np.array([answer.errors[chosen] for answer in answers])
        # A standard deviation from twelve numbers may itself be off by a half.
        assert np.sqrt(np.square(claimed).mean()) > 0.3 * several.std(ddof=1)
        assert answers[0].values.sum() == pytest.approx(1)


def test_a_choice_at_the_edge_of_the_weights() -> None:
    values = np.random.default_rng(0).standard_normal((50, 4))
    for corner in np.eye(4):
        chosen = int((values @ corner).argmax())
        rng = np.random.default_rng(0)
        result = selection_probabilities(values, RandomWeights(), step=0, rng=rng, chosen=chosen)
        assert np.isfinite(result.values).all()
        assert result.values[chosen] > 0


def test_decisions_of_a_log_have_the_propensities_of_their_time(tmp_path: object) -> None:
    path = f"{tmp_path}/agent.db"
    objectives = [mogro.Objective(name) for name in "abcd"]
    settings = {"arms": 3, "seed": 1}
    rng = np.random.default_rng(0)
    with mogro.Agent.open(path, objectives, **settings) as agent:  # type: ignore[arg-type]
        told = []
        for n in range(30):
            decision = agent.decide(ARMS, FEATURES, id=f"{n}")
            told.append((decision.propensity, decision.propensity_error))
            agent.reward(decision.id, dict(zip("abcd", rng.random(4).tolist(), strict=True)))
    with mogro.Agent.open(path, objectives, **settings) as again:  # type: ignore[arg-type]
        log = again.log()
    read = zip(log["propensity"].to_pylist(), log["propensity_error"].to_pylist(), strict=True)
    assert list(read) == told
    assert min(value for value, _ in told) > 0

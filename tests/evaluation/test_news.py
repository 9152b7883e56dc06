"""The world of the benchmark of trade-offs: its shortcut is what agents do."""

import json

import numpy as np
import pytest
from benchmarks.news import NAMES, TRADE_OFFS, UNIFORM, News, probabilities

import mogro
from mogro import MOGRO


def test_probabilities_of_many_are_those_of_each() -> None:
    rng, world = np.random.default_rng(0), News()
    policy = MOGRO(dim=5, objectives=2, batch=(12,))
    for step in range(150):
        offers = world.offers(12, rng)
        arms = world.features[offers]
        chances = probabilities(policy, arms)
        if step < 30 or step % 20 == 0:
            np.testing.assert_allclose(chances, policy.probabilities(arms).values, atol=1e-9)
        stories = offers[np.arange(12), np.asarray(policy.select(arms, rng=rng))]
        policy.update(world.features[stories], world.react(stories, rng))


@pytest.mark.slow
def test_the_shortcut_logs_what_agents_log() -> None:
    world = News()
    several = list(world.quick_logs(30, seed=0, rows=300))
    quick = several[0]
    agent = world.agent_log(0, rows=300)
    assert set(quick.column_names) < set(agent.column_names)
    about = [json.loads(log.schema.metadata[b"mogro"])["objectives"] for log in (quick, agent)]
    assert about[0] == about[1]
    for log in (quick, agent):
        result = mogro.what_if(log, TRADE_OFFS)
        assert result.evaluations[0].rows == 300
        assert [evaluation.names for evaluation in result.evaluations] == [NAMES] * 5
        # The mean weight is 1 up to chance: propensities are those of the choices.
        for evaluation in result.evaluations:
            assert abs(evaluation.mean_weight - 1) < 5 * evaluation.mean_weight_error + 0.05
    own, *others = (log["propensity"].to_numpy() for log in (agent, *several))
    assert own.min() >= UNIFORM / 10 - 1e-12
    for figure in (np.mean, np.median, np.std):
        usual = np.array([figure(other) for other in others])
        assert abs(figure(own) - usual.mean()) < 5 * usual.std()


def test_the_truth_is_what_the_preferred_arms_are_worth() -> None:
    world = News()
    log = next(world.quick_logs(1, seed=1, rows=60))
    truth = world.beside(log)
    totals = np.zeros((len(TRADE_OFFS), 2))
    for row in log.to_pylist():
        beliefs = np.array(row["offered_estimates"]).reshape(-1, 2)
        worth = world.means[[int(name.split()[1]) for name in row["offered"]]]
        for place, weights in enumerate(TRADE_OFFS):
            scores = beliefs @ list(weights.values())
            best = np.flatnonzero(scores >= scores.max() - 1e-12)
            totals[place] += worth[best].mean(axis=0)
    np.testing.assert_allclose(truth, totals / 60)

"""Rounds of exploration are counted, whatever the checkpoints are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.paper.test_parallel import Here

from mogro._validation import FloatArray
from mogro.environments import Environment
from paper.lab.contenders import EPS, RR_AT_1, RW_AT_1, Greedy
from paper.lab.fairness import at_exploration_end
from paper.lab.parallel import run_tasks
from paper.lab.probes import explored
from paper.lab.regrets import finals, plan_runs
from paper.lab.runs import Simulation, split
from paper.lab.scale import Scale
from paper.lab.worlds import Fixed, Varying, World

SAMPLE = (2, 3)
WEAKEST = Greedy("MOGRO-RW, B = 0.1, weakest direction", threshold=0.1)


def still_exploring(policy: Any, worlds: Sequence[Environment]) -> FloatArray:
    return np.asarray(policy.exploring, dtype=np.float64)


@pytest.mark.parametrize("contender", [RW_AT_1, RR_AT_1, WEAKEST], ids=lambda one: one.label)
@pytest.mark.parametrize("world", [Fixed(5, 20, 3), Varying(5, 20, 3)])
def test_counted_as_if_every_round_were_looked_at(world: World, contender: Greedy) -> None:
    every_round = Simulation(world, contender, 100, 3, 0, 0, 2, still_exploring).trace()
    tasks = split(world, contender, Scale(), rounds=400, sample=SAMPLE, probe=explored)
    data = finals(tasks, run_tasks(tasks, executor=Here()))
    assert len(every_round.checkpoints) == 100
    assert np.array_equal(data["exploration"], every_round.probed.sum(axis=0).mean(axis=-1))


def test_what_came_after_exploration_is_unknown_if_it_never_ended() -> None:
    world = Fixed(5, 20, 3)
    tasks = plan_runs([world], (RW_AT_1, EPS), Scale(), sample=SAMPLE, rounds=10)
    data = finals(tasks, run_tasks(tasks, executor=Here()))
    ours = data["policy"] == RW_AT_1.label
    assert np.isnan(data["effective_explored"][ours]).all()
    assert (data["exploration"][ours] == 10).all()
    assert not np.isnan(data["effective_explored"][~ours]).any()


def test_exploration_ends_at_the_first_checkpoint_without_more() -> None:
    counts = np.array([[10.0, 4, 0], [18, 4, 0], [18, 4, 0]])[:, :, None]
    values = np.arange(9.0).reshape(3, 3, 1)
    assert at_exploration_end(values, counts)[:, 0].tolist() == [3, 1, 2]

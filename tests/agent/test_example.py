from pathlib import Path

import numpy as np
import pytest
from examples.recommender import draw, run

import mogro


@pytest.mark.slow
def test_the_recommender(tmp_path: Path) -> None:
    result = run(visitors=1500)
    counted = result.agent.counters
    assert counted["decisions"] == 1500
    assert counted["missing"] > 100  # most never said how satisfied they were
    assert result.agent.observations["satisfaction"] < 400
    truth = result.world.means
    inward = (truth - [0.0, 0.0, 3.0]) / [0.1, 60.0, 1.0]
    spread = inward.max(axis=0) - inward.min(axis=0)
    chosen = [result.world.names.index(arm) for arm in result.front.arms]
    gaps = mogro.pareto.effective_gaps(inward / spread, arms=chosen)
    wasted = float(gaps @ result.front.shares)
    assert wasted < 0.05  # the learned front lies close to the true one
    assert float(np.abs(result.front.values - truth[chosen]).max(axis=0)[1]) < 40.0  # seconds
    draw(result, str(tmp_path / "picture.png"))
    assert (tmp_path / "picture.png").stat().st_size > 5000

"""Theory beside runs: the problems are what they should be, and the claims can fail."""

import numpy as np
import pytest
from tests.simulation.test_parallel import Here

from mogro.experiments.figures import conditions, evidence
from mogro.experiments.lab.reproduce import Tables
from mogro.experiments.lab.scale import Scale
from mogro.experiments.lab.worlds import Circle
from mogro.simulation.parallel import run_tasks
from mogro.theory import diagnose, objective_diversity

SMALL = Scale(instances=1, repeats=6, rounds=40, quick=True)


@pytest.mark.parametrize("objectives", [2, 3, 5])
def test_the_circle_meets_the_assumptions_with_the_largest_lambda(objectives: int) -> None:
    world = Circle(objectives, 0.1).instance(0, 0)
    assert objective_diversity(world.theta) == pytest.approx(0.5)
    assert diagnose(world.features, world.theta, noise=0.1, rounds=100).holds


@pytest.fixture(scope="module")
def runs() -> Tables:
    results = run_tasks(evidence.FIGURE.tasks(SMALL), executor=Here())
    return evidence.FIGURE.tables(SMALL, results)


def verdicts(tables: Tables) -> dict[str, str]:
    return {claim.name: claim.verdict for claim in evidence.FIGURE.claims(tables)}


def test_evidence_holds_and_could_fail(runs: Tables) -> None:
    assert set(verdicts(runs).values()) == {"reproduced"}
    for column, factor, claim in (
        ("effective", 1e9, "regret below the theorems' bounds"),
        ("eigenvalue", 0.0, "the eigenvalue grows at the lemmas' rate"),
        ("error", 1e9, "the threshold keeps estimates within their radius"),
    ):
        worse = {**runs["runs"], column: runs["runs"][column] * factor}
        assert verdicts({**runs, "runs": worse})[claim] == "not reproduced"
    everything = np.full_like(runs["growth"]["below"], len(set(runs["runs"]["repeat"])))
    below = {**runs["growth"], "below": everything, "allowed": 0 * runs["growth"]["allowed"]}
    name = "the eigenvalue stays above the lemmas' line"
    assert verdicts({**runs, "growth": below})[name] == "not reproduced"


def test_growth_starts_where_the_theory_says_exploration_ends(runs: Tables) -> None:
    bounds, growth = runs["bounds"], runs["growth"]
    for i, policy in enumerate(bounds["policy"]):
        here = (growth["policy"] == policy) & (growth["rounds"] == bounds["rounds"][i])
        here &= (growth["noise"] == bounds["noise"][i]) & (
            growth["objectives"] == bounds["objectives"][i]
        )
        assert (growth["lowest"][here] >= bounds["threshold"][i] * (1 - 1e-9)).all()


def test_the_examples_come_out_as_the_paper_says() -> None:
    results = run_tasks(conditions.FIGURE.tasks(SMALL), executor=Here())
    tables = conditions.FIGURE.tables(SMALL, results)
    claims = conditions.FIGURE.claims(tables)
    assert [claim.verdict for claim in claims] == ["reproduced", "reproduced"]
    data = tables["conditions"]
    swapped = {"conditions": {**data, "goodness": 0 * data["goodness"], "low": 0 * data["low"]}}
    assert conditions.FIGURE.claims(swapped)[0].verdict == "not reproduced"

"""Theory beside runs: the problems are what they should be, and the claims can fail."""

import numpy as np
import pytest
from tests.paper.test_parallel import Here

from mogro.theory import diagnose, objective_diversity
from paper.figures import evidence, guarantees
from paper.lab.parallel import run_tasks
from paper.lab.reproduce import Tables
from paper.lab.scale import Scale
from paper.lab.tables import table
from paper.lab.worlds import Circle, FreshCircle

CELL = ("objectives", "noise", "rounds", "policy")
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
    rare = {
        "the eigenvalue stays above the lemmas' line",
        "estimates within the lemmas' bound",
        "the threshold keeps estimates within their radius",
    }
    for name, verdict in verdicts(runs).items():
        assert verdict == ("undecided" if name in rare else "reproduced"), name
    for column, factor, claim in (
        ("effective", 1e9, "regret below the theorems' bounds"),
        ("eigenvalue", 0.0, "the eigenvalue grows at the lemmas' rate"),
        ("error", 1e9, "the threshold keeps estimates within their radius"),
    ):
        worse = {**runs["runs"], column: runs["runs"][column] * factor}
        assert verdicts({**runs, "runs": worse})[claim] == "not reproduced"
    for lemma, column, claim in (
        ("growth", "below", "the eigenvalue stays above the lemmas' line"),
        ("estimates", "outside", "estimates within the lemmas' bound"),
    ):
        everything = np.full_like(runs[lemma][column], len(set(runs["runs"]["repeat"])))
        wrong = {**runs[lemma], column: everything, "allowed": 0 * runs[lemma]["allowed"]}
        assert verdicts({**runs, lemma: wrong})[claim] == "not reproduced"


def test_errors_of_estimates_are_judged_where_the_lemma_speaks(runs: Tables) -> None:
    rows, bounds = runs["estimates"], runs["bounds"]
    cells = zip(*(bounds[name].tolist() for name in CELL), strict=True)
    starts = dict(zip(cells, bounds["initial_rounds"].tolist(), strict=True))
    assert len(rows["round"])
    for *key, t in zip(*(rows[n].tolist() for n in (*CELL, "round")), strict=True):
        cycle = key[0] if key[-1] == "MOGRO-RR" else 0
        assert t >= 2 * (starts[tuple(key)] + cycle)
    assert (rows["largest"] >= rows["median"]).all()
    assert (rows["outside"] == 0)[rows["largest"] <= rows["bound"]].all()
    (claim,) = (
        claim
        for claim in evidence.FIGURE.claims(runs)
        if claim.name == "estimates within the lemmas' bound"
    )
    vacuous = (rows["allowed"] >= 1).sum()
    assert f"of {len(rows['round'])} bounds {vacuous} are vacuous" in claim.measure


def test_growth_starts_where_the_theory_says_exploration_ends(runs: Tables) -> None:
    bounds, growth = runs["bounds"], runs["growth"]
    for i, policy in enumerate(bounds["policy"]):
        here = (growth["policy"] == policy) & (growth["rounds"] == bounds["rounds"][i])
        here &= (growth["noise"] == bounds["noise"][i]) & (
            growth["objectives"] == bounds["objectives"][i]
        )
        assert (growth["lowest"][here] >= bounds["threshold"][i] * (1 - 1e-9)).all()


def test_the_fresh_circle_has_unit_arms_that_all_differ() -> None:
    world = FreshCircle(0.001).instance(0, 0)
    arms = world.contexts(rng=np.random.default_rng(0), batch=(3,))
    assert arms.shape == (3, 60, 2)
    assert np.linalg.norm(arms, axis=-1) == pytest.approx(1.0)
    assert len(np.unique(arms)) == arms.size


def test_guarantees_of_short_runs_are_vacuous_and_say_so() -> None:
    results = run_tasks(guarantees.FIGURE.tasks(SMALL), executor=Here())
    tables = guarantees.FIGURE.tables(SMALL, results)
    claims = guarantees.FIGURE.claims(tables)
    assert [claim.verdict for claim in claims] == ["undecided", "undecided"]
    for claim, cases in zip(claims, (6, 3), strict=True):
        assert f"{cases} of {cases} bounds are vacuous" in claim.measure
        assert all(case.where.endswith("bound vacuous") for case in claim.cases)
    fair = tables["bounds"]["theorem"] != "regret, fresh arms"
    assert (tables["bounds"]["all_runs"][fair] <= 1).all()
    for row, theorem in enumerate(tables["bounds"]["theorem"][fair]):
        runs = tables["runs"]
        here = runs["theorem"] == theorem
        here &= runs["rounds"] == tables["bounds"]["rounds"][row]
        # The least share of all pulls is no less than the mean of the least shares.
        assert runs["value"][here].mean() <= tables["bounds"]["all_runs"][row] + 1e-12


FAIRNESS, REGRET = "fairness, slack 1", "regret, fresh arms"


def guaranteed(index: float, regret: float) -> list[str]:
    """Return the verdicts where bounds are 0.2 and 100, and others vacuous."""
    bounds = [
        (FAIRNESS, 10, 0.0, "nothing"),
        (FAIRNESS, 40, 0.2, "something"),
        (REGRET, 10, 100.0, "nothing"),
        (REGRET, 90, 100.0, "something"),
    ]
    runs = [
        (theorem, rounds, repeat, (index if theorem == FAIRNESS else regret) * wobble)
        for theorem, rounds, *_ in bounds
        for repeat, wobble in enumerate((0.99, 1.0, 1.01))
    ]
    tables = {
        "bounds": table(("theorem", "rounds", "bound", "bound_says"), bounds),
        "runs": table(("theorem", "rounds", "repeat", "value"), runs),
    }
    return [str(claim.verdict) for claim in guarantees.FIGURE.claims(tables)]


@pytest.mark.parametrize(
    ("index", "regret", "expected"),
    [
        (0.3, 5.0, ["reproduced", "reproduced"]),
        (0.1, 5.0, ["not reproduced", "reproduced"]),
        (0.0, 120.0, ["not reproduced", "not reproduced"]),
        (0.2, 100.0, ["undecided", "undecided"]),
    ],
)
def test_guarantees_can_fail(index: float, regret: float, expected: list[str]) -> None:
    assert guaranteed(index, regret) == expected

"""What the claims of single figures rest on, with made-up tables."""

from typing import Any

import numpy as np
import pytest

from mogro.simulation import ConfidenceInterval
from paper.figures import fairness, fixed, threshold
from paper.lab.reproduce import Tables
from paper.lab.scale import Scale
from paper.lab.tables import table
from paper.report.claims import Claim

ROUNDS = (10, 20, 30, 40)


def fairness_tables(index: list[float], *, falling: float = 1.0) -> Tables:
    """Return tables in which every policy has these indices, the estimate shrinking over time."""
    names = ("policy", "instance", "members", "round", "index", "estimate", "single", "regret")
    policies = [f"Dirichlet({a:g})" for a in (1, 0.5, 0.1, 0.05, 0.01)]
    rows = [
        (policy, i, 4 + i, t, value, value * falling**t, 1.0, 1.0 + i)
        for label in [*policies, "MOGRO-RR", "one objective only"]
        for policy in (label, f"{label}, B = 1")
        for i, value in enumerate(index)
        for t in ROUNDS
    ]
    made = table(names, rows)
    return {"fairness": {**made, "regret_explored": made["regret"] * 0.995}}


def named(claims: list[Claim], name: str) -> Claim:
    return next(claim for claim in claims if claim.name == name)


def test_a_skewed_index_is_positive_if_it_is_in_every_instance() -> None:
    claims = fairness.FIGURE.claims(fairness_tables([1e-4, 1e-4, 1e-4, 1.0]))
    claim = named(claims, "positive exact fairness index")
    assert claim.verdict == "reproduced"
    assert all(case.number.low > 0 for case in claim.cases)
    assert claim.cases[0].where == "Dirichlet(1), smallest 0.0001"


def test_an_index_that_is_zero_somewhere_is_not_positive() -> None:
    claims = fairness.FIGURE.claims(fairness_tables([0.0, 0.5, 0.5, 0.5]))
    assert named(claims, "positive exact fairness index").verdict == "not reproduced"


@pytest.mark.parametrize(("falling", "verdict"), [(1.0, "reproduced"), (0.9, "not reproduced")])
def test_the_estimate_settles_by_itself(falling: float, verdict: str) -> None:
    claims = fairness.FIGURE.claims(fairness_tables([0.2, 0.3, 0.4], falling=falling))
    assert named(claims, "estimated fairness index has settled").verdict == verdict
    assert named(claims, "exact fairness index has settled").verdict == "reproduced"


def test_one_instance_is_too_few() -> None:
    claims = fairness.FIGURE.claims(fairness_tables([0.2]))
    assert named(claims, "positive exact fairness index").verdict == "undecided"
    assert np.isnan(named(claims, "positive exact fairness index").cases[0].number.low)


def test_members_are_counted_in_every_instance() -> None:
    claims = fairness.FIGURE.claims(fairness_tables([0.2, 0.3, 0.4]))
    claim = named(claims, "5 to 10 members of the effective front")
    assert claim.verdict == "not reproduced"
    assert claim.tally == "holds in 2, fails in 1 cases"
    assert claim.closest.number == ConfidenceInterval(4.0, 4.0, 4.0)


def test_regret_after_exploration_is_told_for_every_weighting() -> None:
    tables = fairness_tables([0.2, 0.3, 0.4])
    name = "no regret after exploration, every weighting"
    assert named(fairness.FIGURE.claims(tables), name).verdict == "reproduced"
    never = {**tables["fairness"], "regret_explored": np.full(2 * 7 * 3 * 4, np.nan)}
    assert named(fairness.FIGURE.claims({"fairness": never}), name).verdict == "undecided"


POLICIES = {
    "MOGRO-RW": (1.0, 1.3),
    "MOGRO-RR": (1.2, 1.25),
    "MOGRO-RW, B = 1": (2.0, 2.6),
    "MOGRO-RR, B = 1": (2.0, 2.6),
    "MOL-TS": (2.0, 2.5),
    "MOLB-eps-greedy": (3.0, 5.0),
    "MOLB-UCB": (2.0, 4.0),
}


def regret_rows(size: tuple[int, int, int], regrets: dict[str, tuple[float, float]]) -> list[Any]:
    """Return rows of three instances, 1, 2 and 3 times these Pareto and effective regrets."""
    return [
        (*size, policy, i, *(x * (i + 1) for x in (plain, effective, plain, effective, 0, 0)))
        for policy, (plain, effective) in regrets.items()
        for i in range(3)
    ]


def fixed_claims(*regrets: dict[str, tuple[float, float]]) -> list[Claim]:
    kinds = [f"{k}{when}" for when in ("", "_half", "_explored") for k in ("pareto", "effective")]
    names = ["dim", "arms", "objectives", "policy", "instance", *kinds]
    sizes = [(5, 50, 5), (10, 50, 10)]
    rows = [
        row for size, one in zip(sizes, regrets, strict=False) for row in regret_rows(size, one)
    ]
    return fixed.FIGURE.claims({"instances": table(names, rows)})


def test_fair_policies_pay_by_a_paired_double_ratio_and_best_policies_are_named() -> None:
    better = {**POLICIES, "MOLB-UCB": (0.5, 2.0)}
    claims = fixed_claims(POLICIES, better)
    pay = named(claims, "fair policies pay in effective regret, fixed arms")
    assert [case.number.value for case in pay.cases[:2]] == pytest.approx([5 / 3.9, 2 / 1.3])
    assert pay.verdict == "reproduced"
    best = named(claims, "both regrets have the same best policy, fixed arms")
    assert [case.outcome for case in best.cases] == ["holds", "fails"]
    assert best.closest.where == "(10, 50, 10): MOLB-UCB in Pareto, MOGRO-RR in effective"


def test_both_settings_have_verdicts_of_their_own() -> None:
    name = "MOGRO-RW lowest effective Pareto regret, fixed arms (other sizes)"
    claims = fixed_claims(POLICIES, POLICIES)  # the first is a size of the main figure
    verdicts = {claim.setting: claim.verdict for claim in claims if claim.name == name}
    assert all(len(claim.cases) == 1 for claim in claims if claim.name == name)
    assert verdicts == {
        "at mogro's default": "reproduced",
        "at B = 1 with the paper's exploration": "not reproduced",
    }


def test_what_is_certain_is_checked_in_every_row() -> None:
    name = "Pareto regret never above effective regret"
    assert named(fixed_claims(POLICIES), name).word == "passes"
    equal = {**POLICIES, "MOL-TS": (2.0, 2.0)}  # the mean ratio is 1: nothing is undecided
    assert named(fixed_claims(equal), name).verdict == "reproduced"
    wrong = {**POLICIES, "MOL-TS": (2.0, 2.0 - 1e-6)}
    assert named(fixed_claims(wrong), name).word == "does not pass"


def test_sizes_of_the_main_figure_count_once() -> None:
    tasks: Any = threshold.FIGURE.tasks(Scale(instances=1, repeats=1))
    regrets = {task.contender.label: (1.0, 2.0) for task in tasks}
    names = ["dim", "arms", "objectives", "policy", "instance", "pareto", "effective", *"abcd"]
    claims = threshold.FIGURE.claims({"instances": table(names, regret_rows((5, 50, 5), regrets))})
    assert {claim.setting for claim in claims} == {"at B = 0.1 with the paper's exploration"}

"""A diagnosis in words."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mogro.theory.diagnosis import Assumption, Diagnosis

_WIDTH = 92

Lines = list[tuple[str, str]]  # a name, and what there is to say


def report(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as text: sections of lines."""
    reason = "the default needs no threshold; the theorem's is for its guarantee, and costs regret"
    sections: dict[str, Lines] = {
        "Problem": _problem(diagnosis),
        f"Assumptions: {'all' if diagnosis.holds else 'not all'} hold": [
            (assumption.name, _assumption(assumption)) for assumption in diagnosis.assumptions
        ],
        "Guarantees": _guarantees(diagnosis),
        "Run": [("policy", diagnosis.policy), ("", reason)],
    }
    width = max(len(name) for lines in sections.values() for name, _ in lines) + 2
    return "\n\n".join(
        "\n".join([title, "-" * len(title), *(_line(name, words, width) for name, words in lines)])
        for title, lines in sections.items()
    )


def _line(name: str, words: str, width: int) -> str:
    return textwrap.fill(
        words, _WIDTH, initial_indent=name.ljust(width), subsequent_indent=" " * width
    )


def _problem(diagnosis: Diagnosis) -> Lines:
    sampled = diagnosis.sampled_rounds
    size = (
        f"{diagnosis.arms} arms{'' if sampled is None else ' a round'}, {diagnosis.dim} features, "
        f"{diagnosis.objectives} objectives"
    )
    if sampled is not None:
        size += f"; an estimate from {sampled} sampled rounds, not a guarantee"
    if diagnosis.rank < diagnosis.dim:
        size += f"; the features span {diagnosis.rank} dimensions, where all of this is judged"
    run = f"{diagnosis.rounds} rounds, noise {diagnosis.noise:g}"
    return [("size", size), ("run", f"{run}, greedy for {diagnosis.scalarization}")]


def _assumption(assumption: Assumption) -> str:
    if assumption.holds:
        return f"holds: {assumption.detail}"
    short = f": short by {-assumption.margin:.4g}" if assumption.margin else ""
    return f"FAILS: {assumption.detail}{short}"


def _guarantees(diagnosis: Diagnosis) -> Lines:
    guaranteed, good = diagnosis.guarantees, diagnosis.goodness
    if guaranteed.threshold is None:
        return [("none", "the objectives do not span: no theorem applies")]
    threshold = f"B = {guaranteed.threshold:.4g}"
    if guaranteed.unreachable or guaranteed.initial_rounds is None:
        limit = diagnosis.rounds * good.feature_norm**2 / diagnosis.rank
        threshold += (
            f"; UNREACHABLE: in {diagnosis.rounds} rounds lambda_min(V) stays below {limit:.4g}"
        )
    else:
        about, pulls = ("at most", "a basis round robin")
        if diagnosis.sampled_rounds is not None:
            about, pulls = ("about", "uniform pulls")
        threshold += f"; reached after {about} {guaranteed.initial_rounds} rounds of {pulls}"
    regret = fairness = "no theorem applies"
    if guaranteed.regret is not None:
        worst = 2 * diagnosis.rounds * good.bound_norm * good.largest_norm
        vacuous = "VACUOUS: " if guaranteed.vacuous else ""
        regret = f"{vacuous}at most {guaranteed.regret:.4g}, of {worst:.4g}"
    if guaranteed.fairness is not None:
        vacuous = "" if guaranteed.fairness else "VACUOUS: "
        fairness = f"index at least {guaranteed.fairness:.3g} at eps = {guaranteed.epsilon:.3g}"
        fairness = vacuous + fairness
    lines = [("threshold", threshold), ("regret", regret), ("fairness", fairness)]
    if good.gamma is None:
        lines[0] = ("threshold", f"even for perfect arms {threshold}")
        return lines
    return [("radius", f"alpha = {good.alpha:.4g} at gamma = {good.gamma:.6g}"), *lines]

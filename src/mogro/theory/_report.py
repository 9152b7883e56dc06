"""A diagnosis in words: sections of lines, shown as text."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mogro.theory.diagnosis import Diagnosis

_WIDTH = 92

Sections = dict[str, list[tuple[str, str]]]  # a name and what there is to say, under headings


def sections(diagnosis: Diagnosis) -> Sections:
    """Put a diagnosis into words."""
    verdict = "all hold" if diagnosis.holds else "not all hold"
    assumptions = []
    for assumption in diagnosis.assumptions:
        words = ("holds: " if assumption.holds else "FAILS: ") + assumption.detail
        short = (
            f": short by {-assumption.margin:.4g}"
            if not assumption.holds and assumption.margin
            else ""
        )
        assumptions.append((assumption.name, words + short))
    reason = "the default needs no threshold; the theorem's is for its guarantee, and costs regret"
    return {
        "Problem": _problem(diagnosis),
        f"Assumptions: {verdict}": assumptions,
        "Guarantees": _guarantees(diagnosis),
        "Run": [("policy", diagnosis.policy), ("", reason)],
    }


def text(parts: Sections) -> str:
    """Show sections as plain text."""
    width = max(len(name) for lines in parts.values() for name, _ in lines) + 2
    out: list[str] = []
    for title, lines in parts.items():
        out += [title, "-" * len(title)]
        for name, words in lines:
            start, later = name.ljust(width), " " * width
            out.append(textwrap.fill(words, _WIDTH, initial_indent=start, subsequent_indent=later))
        out.append("")
    return "\n".join(out[:-1])


def _problem(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    sampled = diagnosis.sampled_rounds
    size = (
        f"{diagnosis.arms} arms{'' if sampled is None else ' a round'}, {diagnosis.dim} features, "
        f"{diagnosis.objectives} objectives"
    )
    if sampled is not None:
        size += f"; an estimate from {sampled} sampled rounds, not a guarantee"
    if diagnosis.rank < diagnosis.dim:
        size += f"; the features span {diagnosis.rank} dimensions, where all of this is judged"
    run = (
        f"{diagnosis.rounds} rounds, noise {diagnosis.noise:g}, greedy for "
        f"{diagnosis.scalarization}"
    )
    return [("size", size), ("run", run)]


def _guarantees(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    guaranteed, good = diagnosis.guarantees, diagnosis.goodness
    if guaranteed.threshold is None:
        return [("none", "the objectives do not span: no theorem applies")]
    lines = []
    if good.gamma is not None:
        lines.append(("radius", f"alpha = {good.alpha:.4g} at gamma = {good.gamma:.6g}"))
    even = "even for perfect arms " if guaranteed.hypothetical else ""
    threshold = f"{even}B = {guaranteed.threshold:.4g}; {_reached(diagnosis)}"
    regret = fairness = "no theorem applies"
    if guaranteed.regret is not None:
        worst = 2 * diagnosis.rounds * good.bound_norm * good.largest_norm
        amount = (
            f"at most {guaranteed.regret:.4g}" if math.isfinite(guaranteed.regret) else "unbounded"
        )
        judged = (
            f"VACUOUS: it cannot exceed {worst:.4g}" if guaranteed.vacuous else f"of {worst:.4g}"
        )
        regret = f"{amount}, {judged}"
    if guaranteed.fairness == 0:
        fairness = f"VACUOUS: no positive bound on the index at eps = {guaranteed.epsilon:.3g}"
    elif guaranteed.fairness is not None:
        fairness = f"index at least {guaranteed.fairness:.3g} at eps = {guaranteed.epsilon:.3g}"
    return [*lines, ("threshold", threshold), ("regret", regret), ("fairness", fairness)]


def _reached(diagnosis: Diagnosis) -> str:
    """Say when exploration reaches the theorem's threshold."""
    guaranteed = diagnosis.guarantees
    if guaranteed.unreachable or guaranteed.initial_rounds is None:
        limit = diagnosis.rounds * diagnosis.goodness.feature_norm**2 / diagnosis.rank
        return f"UNREACHABLE: in {diagnosis.rounds} rounds lambda_min(V) stays below {limit:.4g}"
    if guaranteed.initial_rounds_bound is None:
        return f"reached after about {guaranteed.initial_rounds} rounds of uniform pulls"
    return (
        f"reached after {guaranteed.initial_rounds} rounds of a basis round robin "
        f"(bound: {guaranteed.initial_rounds_bound})"
    )

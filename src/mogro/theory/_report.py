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
    for each in diagnosis.assumptions:
        words = ("holds: " if each.holds else "FAILS: ") + each.detail
        short = f": short by {-each.margin:.4g}" if not each.holds and each.margin else ""
        assumptions.append((each.name, words + short))
    reason = "the default needs no threshold; the theorem's is for its guarantee, and costs regret"
    return {
        "Problem": _problem(diagnosis),
        f"Assumptions: {verdict}": assumptions,
        "Promises": _promises(diagnosis),
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
    conflict, sampled = diagnosis.conflict, diagnosis.sampled_rounds
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
    fronts = (
        f"{conflict.pareto_front:.4g} arms on the Pareto front, {conflict.effective_front:.4g} on "
        f"the effective front, {conflict.single_best:.4g} best for a single objective"
        + ("" if sampled is None else " (means over rounds)")
    )
    odds = (
        f"the best arm for one objective loses up to {conflict.largest:.0%} of another's range, "
        f"{conflict.mean:.0%} on average; least cosine of two parameters "
        f"{conflict.smallest_cosine:.2f}"
    )
    return [("size", size), ("run", run), ("fronts", fronts), ("conflict", odds)]


def _promises(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    promised, good = diagnosis.promises, diagnosis.goodness
    if promised.threshold is None:
        return [("none", "the objectives do not span: no theorem applies")]
    lines = []
    if good.gamma is not None:
        lines.append(("radius", f"alpha = {good.alpha:.4g} at gamma = {good.gamma:.6g}"))
    even = "even for perfect arms " if promised.hypothetical else ""
    threshold = f"{even}B = {promised.threshold:.4g}; {_reached(diagnosis)}"
    regret = fairness = "no theorem applies"
    if promised.regret is not None:
        worst = 2 * diagnosis.rounds * good.bound_norm * good.largest_norm
        amount = f"at most {promised.regret:.4g}" if math.isfinite(promised.regret) else "unbounded"
        judged = f"VACUOUS: it cannot exceed {worst:.4g}" if promised.vacuous else f"of {worst:.4g}"
        regret = f"{amount}, {judged}{_estimated(diagnosis)}"
    if promised.fairness == 0:
        fairness = f"VACUOUS: no positive bound on the index at eps = {promised.epsilon:.3g}"
    elif promised.fairness is not None:
        fairness = f"index at least {promised.fairness:.3g} at eps = {promised.epsilon:.3g}"
        fairness += _estimated(diagnosis)
    return [*lines, ("threshold", threshold), ("regret", regret), ("fairness", fairness)]


def _estimated(diagnosis: Diagnosis) -> str:
    return "" if diagnosis.goodness.probability is None else " (an estimate)"


def _reached(diagnosis: Diagnosis) -> str:
    """Say when exploration reaches the theorem's threshold."""
    promised = diagnosis.promises
    if promised.unreachable or promised.initial_rounds is None:
        limit = diagnosis.rounds * diagnosis.goodness.feature_norm**2 / diagnosis.rank
        return f"UNREACHABLE: in {diagnosis.rounds} rounds lambda_min(V) stays below {limit:.4g}"
    if promised.initial_rounds_bound is None:
        return f"reached after about {promised.initial_rounds} rounds of uniform pulls"
    return (
        f"reached after {promised.initial_rounds} rounds of a basis round robin "
        f"(bound: {promised.initial_rounds_bound})"
    )

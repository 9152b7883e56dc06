"""A diagnosis in words: one list of sections, shown as text or as HTML."""

from __future__ import annotations

import math
import textwrap
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from mogro.scalarization import RandomWeights, RoundRobin

if TYPE_CHECKING:
    from mogro.theory._versions import Assumption
    from mogro.theory.diagnosis import Diagnosis

_WIDTH = 92


class Line(NamedTuple):
    """A name and what there is to say about it."""

    name: str
    words: str


class Section(NamedTuple):
    """A heading and its lines."""

    title: str
    lines: list[Line]


def sections(found: Diagnosis) -> list[Section]:
    """Put a diagnosis into words."""
    return [
        Section("Problem", _problem(found)),
        Section(
            "Assumptions: all hold" if found.holds else "Assumptions: not all hold",
            [
                Line(a.name, ("holds: " if a.holds else "FAILS: ") + a.detail + _shortfall(a))
                for a in found.assumptions
            ],
        ),
        Section("Promises", _promise_lines(found)),
        Section("Advice", _advice_lines(found)),
    ]


def text(parts: list[Section]) -> str:
    """Show sections as plain text."""
    width = max(len(line.name) for part in parts for line in part.lines) + 2
    out: list[str] = []
    for part in parts:
        out += [part.title, "-" * len(part.title)]
        for line in part.lines:
            lead = line.name.ljust(width)
            wrapped = textwrap.wrap(line.words, _WIDTH - width) or [""]
            out += [lead + wrapped[0]] + [" " * width + rest for rest in wrapped[1:]]
        out.append("")
    return "\n".join(out[:-1])


def html(parts: list[Section]) -> str:
    """Show sections as one HTML table."""
    rows = []
    for part in parts:
        rows.append(f'<tr><th colspan="2" style="text-align:left">{escape(part.title)}</th></tr>')
        rows += [
            f'<tr><td style="text-align:left">{escape(line.name)}</td>'
            f'<td style="text-align:left">{escape(line.words)}</td></tr>'
            for line in part.lines
        ]
    return f"<table>{''.join(rows)}</table>"


def near(value: float, reference: float) -> str:
    """Write a number, by its distance to a reference it is just below."""
    gap = reference - value
    return f"{reference:.4g} - {gap:.3g}" if 0 < gap < 1e-3 * reference else f"{value:.6g}"


def scalarization_text(scalarization: RandomWeights | RoundRobin) -> str:
    """Write a scalarisation as its constructor call."""
    if isinstance(scalarization, RandomWeights):
        given = scalarization.concentration
        return "RandomWeights()" if given == 1 else f"RandomWeights({given!r})"
    return "RoundRobin()"


def _problem(found: Diagnosis) -> list[Line]:
    conflict = found.conflict
    sampled = found.sampled_rounds
    each = "" if sampled is None else " a round"
    size = f"{found.arms} arms{each}, {found.dim} features, {found.objectives} objectives"
    if sampled is not None:
        size += f"; an estimate from {sampled} sampled rounds, not a guarantee"
    if found.rank < found.dim:
        size += f"; the features span {found.rank} dimensions, where all of this is judged"
    return [
        Line("size", size),
        Line(
            "run", f"{found.rounds} rounds, noise {found.noise:g}, greedy for {found.scalarization}"
        ),
        Line(
            "fronts",
            f"{conflict.pareto_front:.4g} arms on the Pareto front, "
            f"{conflict.effective_front:.4g} on the effective front, "
            f"{conflict.single_best:.4g} best for a single objective"
            + ("" if sampled is None else " (means over rounds)"),
        ),
        Line(
            "conflict",
            f"the best arm for one objective loses up to {conflict.largest:.0%} of another's "
            f"range, {conflict.mean:.0%} on average; least cosine of two parameters "
            f"{conflict.smallest_cosine:.2f}",
        ),
    ]


def _shortfall(assumption: Assumption) -> str:
    if assumption.holds or assumption.margin == 0:
        return ""
    return f": short by {-assumption.margin:.4g}"


def _promise_lines(found: Diagnosis) -> list[Line]:
    promised, good = found.promises, found.goodness
    if promised.threshold is None:
        return [Line("none", "the objectives do not span: no theorem applies")]
    lines = []
    source = "certified" if good.probability is None else "of the theorem, for every direction"
    if good.gamma is not None:
        lines.append(
            Line("radius", f"alpha = {good.alpha:.4g} at gamma = {good.gamma:.6g} ({source})")
        )
    even = "even for perfect arms " if promised.hypothetical else ""
    lines.append(Line("threshold", f"{even}B = {promised.threshold:.4g}; {_reached(found)}"))
    worst = 2 * found.rounds * good.bound_norm * good.largest_norm
    if promised.regret is None:
        lines.append(Line("regret", "no theorem applies"))
    else:
        judged = f"VACUOUS: it cannot exceed {worst:.4g}" if promised.vacuous else f"of {worst:.4g}"
        judged += "" if good.probability is None else " (an estimate)"
        amount = f"at most {promised.regret:.4g}" if math.isfinite(promised.regret) else "unbounded"
        lines.append(Line("regret", f"{amount}, {judged}"))
    lines.append(Line("fairness", _fairness(found)))
    return lines


def _reached(found: Diagnosis) -> str:
    """Say when exploration reaches the theorem's threshold."""
    promised = found.promises
    if promised.unreachable or promised.initial_rounds is None:
        limit = found.rounds * found.goodness.feature_norm**2 / found.rank
        return f"UNREACHABLE: in {found.rounds} rounds lambda_min(V) stays below {limit:.4g}"
    if promised.initial_rounds_bound is None:
        return f"reached after about {promised.initial_rounds} rounds of uniform pulls"
    return (
        f"reached after {promised.initial_rounds} rounds of a basis round robin "
        f"(bound: {promised.initial_rounds_bound})"
    )


def _price(found: Diagnosis) -> str:
    """Say what the advised exploration costs."""
    advice = found.advice
    about = "about " if found.sampled_rounds is not None or advice.initial_rounds is None else ""
    length = (
        "more rounds than were tried out"
        if advice.initial_rounds is None
        else f"{advice.initial_rounds} rounds"
    )
    return f"exploring takes {length}, for a regret of {about}{advice.price:.3g}"


def _fairness(found: Diagnosis) -> str:
    promised = found.promises
    if promised.fairness is None:
        return "no theorem applies"
    if promised.fairness == 0:
        return f"VACUOUS: no positive bound on the index at eps = {promised.epsilon:.3g}"
    kind = "" if promised.fairness_guaranteed else " (an estimate)"
    return f"index at least {promised.fairness:.3g} at eps = {promised.epsilon:.3g}{kind}"


def _advice_lines(found: Diagnosis) -> list[Line]:
    advice = found.advice
    lines = [
        Line("policy", advice.policy),
        Line("threshold", f"{advice.threshold:.4g}"),
        Line("exploration", advice.exploration),
        Line("price", _price(found)),
    ]
    return lines + [Line("because" if i == 0 else "", r) for i, r in enumerate(advice.reasons)]

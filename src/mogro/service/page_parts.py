"""What the page shows beside the parts of a report; as HTML in which all names are escaped."""

from collections import Counter
from typing import Any

import numpy as np

from mogro import _page
from mogro._intervals import LEVEL
from mogro._validation import FloatArray
from mogro.service.hosted_agent import HostedAgent
from mogro.service.trade_off import WIDE, estimate_recent

_RECENT = 1000  # decisions
_NO_NOISE = (
    "What is certain of the front is not known: it takes the noise of rewards, a standard "
    "deviation for each objective (noise, in the file of the service)."
)


def make_parts(hosted: HostedAgent, changes: list[Any]) -> dict[str, str]:
    """Return all parts of the page that change: those of a report, and what else there is."""
    return report_parts(hosted) | {
        "listed": show_arms(hosted),
        "budgets": show_budgets(hosted),
        "changes": show_changes(changes),
    }


def report_parts(hosted: HostedAgent) -> dict[str, str]:
    """Return the parts of a report, with what is certain of the front or why that is not known."""
    agent, words = hosted.agent, _NO_NOISE
    if hosted.noise is not None:
        try:
            return agent.report_parts(confidence=LEVEL, noise=hosted.noise)
        except ValueError as error:  # as with half-lives
            words = f"What is certain of the front is not known: {error}."
    parts = agent.report_parts()
    return parts | {"front": parts["front"] + _page.messages([], [words])}


def show_arms(hosted: HostedAgent) -> str:
    """List arms: how often they were chosen, and what is believed of them in recent choices."""
    state = hosted.agent.freeze()
    names, ledger = state.objective_set.names, state.ledger
    history = [ledger.arms[row] for row in ledger.live().tolist()]
    ever, recent = Counter(history), Counter(history[-_RECENT:])
    believed: dict[str, list[FloatArray]] = {}
    for each in estimate_recent(hosted):
        for arm, value, error in zip(each.arms, each.values, each.errors, strict=True):
            believed.setdefault(arm, []).append(np.stack([value, error]))
    rows = []
    whole = max(recent.total(), 1)
    for arm in sorted({*believed, *ever}, key=lambda arm: (-recent[arm], -ever[arm], arm)):
        cells = ["not on offer"] * len(names)
        if arm in believed:
            means = np.mean(believed[arm], axis=0)
            cells = [f"{v:.4g} ± {WIDE * e:.2g}" for v, e in means.T]
        rows.append([arm, f"{ever[arm]:,}", f"{recent[arm] / whole:.1%}", *cells])
    heads = ["arm", "chosen", f"of the last {whole:,}", *(f"{name}, believed" for name in names)]
    region = '<div class="scroll" tabindex="0" role="region" aria-label="Arms">'
    return f"{region}{_page.table('All arms', heads, rows)}</div>"


def show_budgets(hosted: HostedAgent) -> str:
    """List budgets, where the agent has some."""
    rows = []
    for status in hosted.agent.budgets:
        bound = "at most" if status.budget.at_most is not None else "at least"
        state = "" if status.feasible else "out of reach: even the cheapest arms miss it"
        numbers = (status.spent, status.in_flight, status.room, status.price, status.forecast)
        shown = [f"{number:.4g}" for number in numbers]
        rows.append([status.budget.objective, f"{bound} {status.target:.4g}", *shown, state])
    if not rows:
        return ""
    heads = ["objective", "bound", "spent", "in flight", "room", "price", "forecast", ""]
    return "<h2>Budgets</h2>" + _page.table("Budgets", heads, rows)


def show_changes(changes: list[Any]) -> str:
    """List who changed what, the last ones."""
    if not changes:
        return "<p>Nothing was changed.</p>"
    rows = [
        [_moment(change.time), change.by, change.what, str(change.detail)]
        for change in changes[:20]
    ]
    return _page.table("Changes", ["when (UTC)", "key", "what", "to"], rows)


def _moment(time: float) -> str:
    return str(np.datetime64(int(time), "s")).replace("T", " ")


def show_decision(hosted: HostedAgent, id: str) -> dict[str, str]:
    """Return a decision with its rewards and its explanation, as HTML."""
    record = hosted.agent.decision(id)
    decision = record.decision
    facts = _page.facts(
        f"Decision {id}",
        {
            "arm": decision.arm,
            "expected": ", ".join(f"{n} {v:.4g}" for n, v in decision.estimates.items()),
            "rewards": ", ".join(f"{n} {v:.4g}" for n, v in record.rewards.items()) or "none yet",
            "status": ", ".join(f"{n} {s}" for n, s in record.status.items()),
        },
    )
    try:
        explanation = hosted.agent.explain(decision)
    except ValueError as error:
        return {"html": facts + _page.messages([], [str(error)])}
    names = hosted.agent.config.objective_set.names
    heads = ["instead of", *(f"lead in {name}, units" for name in names), "weighted"]
    rows = [
        [
            rival.arm,
            *(f"{rival.leads[name]:+.3g}" for name in names if name in rival.leads),
            "" if rival.total is None else f"{rival.total:+.3g}",
        ]
        for rival in explanation.rivals
    ]
    why = f"<p>{_page.text(decision.arm)}: {_page.text(explanation.reason)}.</p>"
    return {"html": facts + why + (_page.table("Other arms", heads, rows) if rows else "")}

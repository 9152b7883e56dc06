"""What the page shows beside a report, and what a trade-off would do, believed and by the log.

All names in HTML are escaped.
"""

from contextlib import suppress
from typing import Any

import numpy as np

from mogro import _page
from mogro._intervals import LEVEL
from mogro._validation import FloatArray
from mogro.agent import Agent, Estimates
from mogro.evaluation.trade_offs import WhatIf
from mogro.evaluation.whatif import read_trade_offs, what_if
from mogro.offpolicy.result import MIN_EFFECTIVE_SIZE
from mogro.service.hosted_agent import HostedAgent
from mogro.service.operations import ServiceRequest
from mogro.service.wire import ChangeAnswer

_MAX_DECISIONS = 20  # the last ones, on which a trade-off is tried


def make_parts(hosted_agent: HostedAgent, changes: list[ChangeAnswer]) -> dict[str, str]:
    """Return all parts of the page that change: those of a report, and what else there is."""
    return _report_parts(hosted_agent) | {
        "budgets": _budgets(hosted_agent),
        "changes": _changes(changes),
    }


def _report_parts(hosted_agent: HostedAgent) -> dict[str, str]:
    """Return the parts of a report, with what is certain of the front where noise is known."""
    confidence = None if hosted_agent.noise is None else LEVEL
    try:
        return hosted_agent.agent.report_parts(confidence=confidence, noise=hosted_agent.noise)
    except ValueError as error:  # as with half-lives
        message = f"What is certain of the front is not known: {error}."
        return hosted_agent.agent.report_parts() | {"front": _page.paragraphs([], [message])}


def _budgets(hosted_agent: HostedAgent) -> str:
    """List budgets, where the agent has some."""
    rows = []
    for status in hosted_agent.agent.budgets:
        bound = "at most" if status.budget.at_most is not None else "at least"
        note = "" if status.feasible else "out of reach: even the cheapest arms miss it"
        numbers = (status.spent, status.in_flight, status.room, status.price, status.forecast)
        cells = [f"{number:.4g}" for number in numbers]
        rows.append([status.budget.objective, f"{bound} {status.target:.4g}", *cells, note])
    headers = ["objective", "bound", "spent", "in flight", "room", "price", "forecast", ""]
    return "<h2>Budgets</h2>" + _page.html_table("Budgets", headers, rows) if rows else ""


def _changes(changes: list[ChangeAnswer]) -> str:
    """List who changed what, the last ones."""
    if not changes:
        return "<p>Nothing was changed.</p>"
    rows = []
    for change in changes[:20]:
        time = str(np.datetime64(int(change.time), "s")).replace("T", " ")
        rows.append([time, change.by, change.what, str(change.detail)])
    return _page.html_table("Changes", ["when (UTC)", "key", "what", "to"], rows)


def _recent_estimates(agent: Agent) -> list[Estimates]:
    """Return what is believed now of the arms that the last decisions had on offer."""
    ledger, estimates = agent.freeze().ledger, []
    for row in ledger.live()[-_MAX_DECISIONS:].tolist():
        with suppress(ValueError):  # not on record, or from before a change of the settings
            arms = agent.decision(ledger.ids[row]).decision.inputs.arms
            estimates.append(
                agent.estimate(list(arms.ids), arms.raw_features, context=arms.context)
            )
    return estimates


def show_front(request: ServiceRequest, _: None) -> dict[str, Any]:
    """Return trade-offs from one end to the other, with what each is believed to give."""
    objective_set, current_weights = request.agent.config.objective_set, request.agent.weights
    recent_estimates = _recent_estimates(request.agent)

    def point(weights: FloatArray) -> dict[str, Any]:
        """Return what the arms that are best for weights are believed to give, on average."""
        best_values = [
            estimates.values[(objective_set.to_learner_units(estimates.values) @ weights).argmax()]
            for estimates in recent_estimates
        ]
        values = np.mean(best_values, axis=0).tolist()
        return {"weights": objective_set.named(weights), "values": values}

    trade_offs = read_trade_offs(None, objective_set) if recent_estimates else []
    current_point = None
    if recent_estimates and current_weights:
        current_point = point(objective_set.shares(current_weights))
    return {
        "objectives": [
            {"name": o.name, "direction": o.direction} for o in objective_set.objectives
        ],
        "points": [point(weights) for weights in trade_offs],
        "current": current_point,
        "weights": current_weights,
        "choices": len(recent_estimates),
    }


def compare_trade_off(request: ServiceRequest, body: dict[str, float]) -> dict[str, str]:
    """Say what another trade-off would have changed, by the log: a table, and words."""
    agent, objective_set = request.agent, request.agent.config.objective_set
    objective_set.weights(body)  # it checks them
    trade_offs = [weights for weights in (agent.weights, body) if weights is not None]
    try:
        result = what_if(agent, trade_offs)
    except ValueError as error:
        return {"table": "", "words": f"Not enough data yet: {error}."}
    headers = ["weights", *objective_set.names, "size"]
    table = _page.html_table("What the trade-off changes", headers, result.text_rows())
    return {"table": table, "words": _verdict(result)}


def _verdict(result: WhatIf) -> str:
    """Say how sure the log is about the last trade-off, or when it may be."""
    evaluation = result.evaluations[-1]
    size, rows = float(evaluation.effective_size.min()), evaluation.rows
    if evaluation.trusted:
        prefix = "" if result.advice else "The two differ. " * (len(result.trade_offs) - 1)
        return f"{prefix}By {rows:,} decisions; intervals are of {LEVEL:.0%}. {result.advice}"
    if not 0 < size < MIN_EFFECTIVE_SIZE:
        return f"Not enough data yet: {evaluation.warnings[0]}. See epsilon: uniform draws."
    missing_rows = rows * (MIN_EFFECTIVE_SIZE / size - 1)
    seconds = missing_rows / result.decision_rate
    requirement = f"it takes {missing_rows:,.0f} decisions more"
    if not np.isnan(seconds):
        requirement += f", about {_page.format_duration(seconds)} at this pace"
    return f"Not enough data yet: {requirement}. {result.advice}"

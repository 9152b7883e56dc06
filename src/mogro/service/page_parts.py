"""What the page shows beside a report, and what a trade-off would do, believed and by the log.

All names in HTML are escaped.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from mogro import _page
from mogro._intervals import LEVEL
from mogro._validation import FloatArray
from mogro.agent import Agent, Estimates
from mogro.agent.objective_set import ObjectiveSet
from mogro.evaluation.trade_offs import WhatIf
from mogro.evaluation.whatif import read_trade_offs, what_if
from mogro.offpolicy.result import MIN_EFFECTIVE_SIZE
from mogro.service.hosted_agent import HostedAgent
from mogro.service.operations import ServiceRequest
from mogro.service.wire import ChangeAnswer

_MAX_DECISIONS = 20  # the last ones, on which a trade-off is tried
_Z = 1.96  # standard errors of an interval of 95 %


def make_parts(hosted: HostedAgent, changes: list[ChangeAnswer]) -> dict[str, str]:
    """Return all parts of the page that change: those of a report, and what else there is."""
    return _report_parts(hosted) | {
        "budgets": _budgets(hosted),
        "changes": _changes(changes),
    }


def _report_parts(hosted: HostedAgent) -> dict[str, str]:
    """Return the parts of a report, with what is certain of the front where noise is known."""
    confidence = None if hosted.noise is None else LEVEL
    try:
        return hosted.agent.report_parts(confidence=confidence, noise=hosted.noise)
    except ValueError as error:  # as with half-lives
        message = f"What is certain of the front is not known: {error}."
        return hosted.agent.report_parts() | {"front": _page.messages([], [message])}


def _format_beliefs(beliefs: FloatArray) -> list[str]:
    """Return values with their intervals, of beliefs (2, M): values and standard errors."""
    return [f"{value:.4g} ± {_Z * error:.2g}" for value, error in beliefs.T]


def _budgets(hosted: HostedAgent) -> str:
    """List budgets, where the agent has some."""
    rows = []
    for status in hosted.agent.budgets:
        bound = "at most" if status.budget.at_most is not None else "at least"
        state = "" if status.feasible else "out of reach: even the cheapest arms miss it"
        numbers = (status.spent, status.in_flight, status.room, status.price, status.forecast)
        cells = [f"{number:.4g}" for number in numbers]
        rows.append([status.budget.objective, f"{bound} {status.target:.4g}", *cells, state])
    heads = ["objective", "bound", "spent", "in flight", "room", "price", "forecast", ""]
    return "<h2>Budgets</h2>" + _page.table("Budgets", heads, rows) if rows else ""


def _changes(changes: list[ChangeAnswer]) -> str:
    """List who changed what, the last ones."""
    if not changes:
        return "<p>Nothing was changed.</p>"
    rows = []
    for change in changes[:20]:
        when = str(np.datetime64(int(change.time), "s")).replace("T", " ")
        rows.append([when, change.by, change.what, str(change.detail)])
    return _page.table("Changes", ["when (UTC)", "key", "what", "to"], rows)


def _recent_estimates(agent: Agent) -> list[Estimates]:
    """Return what is believed now of the arms that the last decisions had on offer."""
    ledger, estimates = agent.freeze().ledger, []
    for row in ledger.live()[-_MAX_DECISIONS:].tolist():
        with suppress(ValueError):  # not on record, or from before a change of the settings
            arms = agent.decision(ledger.ids[row]).decision.inputs.arms
            estimates.append(agent.estimate(list(arms.ids), arms.raw, context=arms.context))
    return estimates


def _believed_rewards(
    recent_estimates: Iterable[Estimates], objective_set: ObjectiveSet, weights: FloatArray
) -> FloatArray:
    """Return what the arms that are best for weights give on average: values and errors, (2, M)."""
    best_arms = []
    for estimates in recent_estimates:
        arm = int((objective_set.to_learner_units(estimates.values) @ weights).argmax())
        best_arms.append((estimates.values[arm], estimates.errors[arm]))
    return np.asarray(np.mean(best_arms, axis=0))


def show_front(request: ServiceRequest, _: None) -> dict[str, Any]:
    """Return trade-offs from one end to the other, with what each is believed to give."""
    objective_set, current = request.agent.config.objective_set, request.agent.weights
    estimates = _recent_estimates(request.agent)

    def point(weights: FloatArray) -> dict[str, Any]:
        values, errors = _believed_rewards(estimates, objective_set, weights)
        named = objective_set.named(weights)
        return {"weights": named, "values": values.tolist(), "errors": (_Z * errors).tolist()}

    grid = read_trade_offs(None, objective_set) if estimates else []
    return {
        "objectives": [
            {"name": o.name, "direction": o.direction} for o in objective_set.objectives
        ],
        "points": [point(weights) for weights in grid],
        "current": point(objective_set.shares(current)) if estimates and current else None,
        "weights": current,
        "choices": len(estimates),
    }


def compare_trade_off(request: ServiceRequest, body: dict[str, float]) -> dict[str, str]:
    """Say what another trade-off would change, by beliefs and by the log: a table, and words."""
    agent, objective_set = request.agent, request.agent.config.objective_set
    objective_set.weights(body)  # it checks them
    current_weights, estimates = agent.weights, _recent_estimates(request.agent)
    trade_offs = [weights for weights in (current_weights, body) if weights is not None]
    rows = []
    if estimates:
        labels = ("as it is", "then")[-len(trade_offs) :]
        for label, weights in zip(labels, trade_offs, strict=True):
            beliefs = _believed_rewards(estimates, objective_set, objective_set.shares(weights))
            rows.append([f"believed, {label}", *_format_beliefs(beliefs)])
    try:
        result = what_if(agent, trade_offs)
    except ValueError as error:
        verdict = f"Not enough data yet: {error}."
    else:
        verdict = f"{_verdict(request.hosted, result)} {result.advice}".strip()
        logged = list(zip(result.value, result.interval(), strict=True))
        if current_weights is None:
            logged.insert(0, (result.logged.value, result.logged.interval()))
        for label, pair in zip(("as it was", "then"), logged, strict=True):
            rows.append([f"by the log, {label}", *map(_page.interval, *pair)])
    table = _page.table("What the trade-off changes", ["", *objective_set.names], rows)
    return {"table": table, "words": verdict}


def _verdict(hosted: HostedAgent, result: WhatIf) -> str:
    """Say how sure the log is about the last trade-off, or when it may be."""
    evaluation = result.evaluations[-1]
    if not evaluation.trusted:
        return f"Not enough data yet{_time_needed(hosted, float(evaluation.effective_size.min()))}."
    if len(result.trade_offs) == 1:
        return f"{evaluation.rows:,} decisions of the log tell of it; intervals are of {LEVEL:.0%}."
    if result.distinguishable()[0, 1]:
        return f"By {evaluation.rows:,} decisions the two differ, with {LEVEL:.0%} confidence."
    return f"By {evaluation.rows:,} decisions the two cannot be told apart."


def _time_needed(hosted: HostedAgent, size: float) -> str:
    """Say how much longer it takes at the present pace, where the agent knows the time."""
    state = hosted.agent.freeze()
    if not size > 0:
        return ": the present trade-off never draws what the other would; see epsilon"
    if not state.config.timed:
        return f": {size:.0f} decisions tell about it, {MIN_EFFECTIVE_SIZE:.0f} are needed"
    times = state.ledger.gather(state.ledger.live()).time
    elapsed = float(times.max()) - float(times.min())
    remaining = _page.duration(elapsed * (MIN_EFFECTIVE_SIZE / size - 1))
    return f": about {remaining} more at this pace"

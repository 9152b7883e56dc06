"""What a trade-off would do: by what is believed now, and by what the log can tell."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from mogro import _page
from mogro._intervals import LEVEL
from mogro._validation import FloatArray
from mogro.agent import Estimates
from mogro.agent.objective_set import ObjectiveSet
from mogro.evaluation.trade_offs import WhatIf
from mogro.evaluation.whatif import read_trade_offs, what_if
from mogro.offpolicy.result import MIN_EFFECTIVE_SIZE
from mogro.service.hosted_agent import HostedAgent

_CHOICES = 100  # of the recent ones, that a trade-off is tried on
WIDE = 1.96  # standard errors of an interval of 95 %


def estimate_recent(hosted: HostedAgent) -> list[Estimates]:
    """Return what is believed of the arms of recent choices.

    Without any since the service was started, the catalogue stands for them where it can.
    """
    agent, recent = hosted.agent, []
    choices = list(hosted.recent)[-_CHOICES:]
    if not choices and hosted.arms.given and agent.config.context is None:
        choices = [(None, None)]
    for arms, context in choices:
        offered = hosted.arms.catalogue if arms is None else arms
        with suppress(ValueError):  # from before a change of the settings
            recent.append(agent.estimate(offered, context=context))
    return recent


def _expect(
    recent: list[Estimates], objective_set: ObjectiveSet, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return means (M,) of what the arms give that are best for weights, and their errors."""
    best = [
        int((objective_set.to_learner_units(each.values) @ weights).argmax()) for each in recent
    ]
    pairs = list(zip(recent, best, strict=True))
    values = np.mean([each.values[k] for each, k in pairs], axis=0)
    return values, np.mean([each.errors[k] for each, k in pairs], axis=0)


def draw_front(hosted: HostedAgent) -> dict[str, Any]:
    """Return trade-offs from one end to the other, with what each is believed to give."""
    objective_set, now = hosted.agent.config.objective_set, hosted.agent.weights
    answer: dict[str, Any] = {
        "objectives": [
            {"name": o.name, "direction": o.direction} for o in objective_set.objectives
        ],
        "points": [],
        "weights": now,
        "choices": 0,
    }
    recent = estimate_recent(hosted)
    if not recent:
        return answer
    grid = read_trade_offs(None, objective_set)
    answer["points"] = [_point(recent, objective_set, weights) for weights in grid]
    answer["choices"] = len(recent)
    if now is not None:
        answer["current"] = _point(recent, objective_set, objective_set.shares(now))
    return answer


def _point(
    recent: list[Estimates], objective_set: ObjectiveSet, weights: FloatArray
) -> dict[str, Any]:
    values, errors = _expect(recent, objective_set, weights)
    return {
        "weights": objective_set.named(weights),
        "values": values.tolist(),
        "errors": (WIDE * errors).tolist(),
    }


def compare(hosted: HostedAgent, weights: Mapping[str, float]) -> dict[str, str]:
    """Say what another trade-off would change, by beliefs and by the log: a table, and words."""
    agent, objective_set = hosted.agent, hosted.agent.config.objective_set
    objective_set.weights(weights)  # it checks them
    now, recent = agent.weights, estimate_recent(hosted)
    trade_offs = [each for each in (now, dict(weights)) if each is not None]
    rows = []
    if recent:
        for label, each in zip(("as it is", "then")[-len(trade_offs) :], trade_offs, strict=True):
            values, errors = _expect(recent, objective_set, objective_set.shares(each))
            cells = [f"{v:.4g} ± {WIDE * e:.2g}" for v, e in zip(values, errors, strict=True)]
            rows.append([f"believed, {label}", *cells])
    try:
        result = what_if(agent, trade_offs)
    except ValueError as error:
        words = f"Not enough data yet: {error}."
    else:
        words = f"{_verdict(hosted, result)} {result.advice}".strip()
        logged = list(zip(result.value, result.interval(), strict=True))
        if now is None:
            logged.insert(0, (result.logged.value, result.logged.interval()))
        for label, pair in zip(("as it was", "then"), logged, strict=True):
            rows.append([f"by the log, {label}", *map(_page.interval, *pair)])
    table = _page.table("What the trade-off changes", ["", *objective_set.names], rows)
    return {"table": table, "words": words}


def _verdict(hosted: HostedAgent, result: WhatIf) -> str:
    """Say how sure the log is about the last trade-off, or when it may be."""
    chosen = result.evaluations[-1]
    if not chosen.trusted:
        return f"Not enough data yet{_needed(hosted, float(chosen.effective_size.min()))}."
    if len(result.trade_offs) == 1:
        return f"{chosen.rows:,} decisions of the log tell of it; intervals are of {LEVEL:.0%}."
    if result.distinguishable()[0, 1]:
        return f"By {chosen.rows:,} decisions the two differ, with {LEVEL:.0%} confidence."
    return f"By {chosen.rows:,} decisions the two cannot be told apart."


def _needed(hosted: HostedAgent, size: float) -> str:
    """Say how much longer it takes at the present pace, where the agent knows the time."""
    state = hosted.agent.freeze()
    if not size > 0:
        return ": the present trade-off never draws what the other would; see epsilon"
    if not state.config.timed:
        return f": {size:.0f} decisions tell about it, {MIN_EFFECTIVE_SIZE:.0f} are needed"
    times = state.ledger.gather(state.ledger.live()).time
    so_far = float(times.max()) - float(times.min())
    more = _page.duration(so_far * (MIN_EFFECTIVE_SIZE / size - 1))
    return f": about {more} more at this pace"

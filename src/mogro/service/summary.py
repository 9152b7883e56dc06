"""An agent in tables and drawings, from what it holds; as HTML in which all names are escaped."""

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from mogro import _page
from mogro._drawing import Series, lines
from mogro._intervals import rate_interval
from mogro._validation import FloatArray
from mogro.agent.objective import DEFAULTED, LEARNED, STATUS
from mogro.agent.state.ledger import EXPLORED, HOLDOUT, OBSERVED, UNIFORM
from mogro.agent.state.state import State
from mogro.service.hosting import HostedAgent
from mogro.service.steering import try_recent

_PERIODS, _IN_PERIOD = 24, 15  # at most, and decisions in each at least, about
_RECENT = 1000  # decisions
_WIDE = 1.96
_SPANS = (("days", 172_800.0, 86_400.0), ("hours", 7200.0, 3600.0), ("minutes", 120.0, 60.0))


class History(NamedTuple):
    """Decisions held, in order: when (n,), rewards (n, M) with NaN where open, arms and flags."""

    clock: FloatArray
    rewards: FloatArray
    states: Any
    arms: list[str]
    flags: Any
    label: str


def read_history(state: State) -> History:
    """Return the decisions that an agent holds."""
    ledger, units = state.ledger, state.units
    rows = ledger.live()
    block = ledger.gather(rows)
    defaults = np.array([math.nan if d is None else d for d in units.defaults])
    rewards = np.where(block.state == DEFAULTED, defaults, block.values)
    rewards = np.where(np.isin(block.state, (LEARNED, DEFAULTED)), rewards, math.nan)
    timed = state.config.timed and len(rows) > 0
    clock, label = block.serial.astype(float), "decision"
    if timed:
        span = float(block.time.max() - block.time.min())
        label, _, unit = next((s for s in _SPANS if span > s[1]), ("seconds", 0.0, 1.0))
        clock, label = (block.time - block.time.max()) / unit, f"{label} ago"
    arms = [ledger.arms[row] for row in rows.tolist()]
    return History(clock, rewards, block.state, arms, block.flags, label)


def _interval(values: FloatArray) -> tuple[float, float, float]:
    """Return the mean of values with an interval of 95 %: Wilson's, where all are 0 or 1."""
    if not len(values):
        return math.nan, math.nan, math.nan
    mean = float(values.mean())
    if np.isin(values, (0.0, 1.0)).all():
        low, high = rate_interval(mean, len(values), _WIDE).tolist()
        return mean, low, high
    if len(values) < 2:
        return mean, math.nan, math.nan
    error = _WIDE * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, mean - error, mean + error


def _series(history: History, m: int, chosen: Any, label: str) -> Series:
    """Return means of an objective by period, with intervals."""
    clock, values = history.clock[chosen], history.rewards[chosen, m]
    periods = min(max(len(clock) // _IN_PERIOD, 1), _PERIODS)
    low, high = (history.clock.min(), history.clock.max()) if len(history.clock) else (0, 1)
    edges = np.linspace(low, high, periods + 1)
    period = np.clip(np.searchsorted(edges, clock, side="right") - 1, 0, periods - 1)
    known = ~np.isnan(values)
    rows = [_interval(values[known & (period == number)]) for number in range(periods)]
    means, lows, highs = np.array(rows).T
    return Series(label, (edges[1:] + edges[:-1]) / 2, means, lows, highs)


def show_objectives(state: State, history: History) -> str:
    """Draw every objective over time, with the baseline beside it where some are held out."""
    observed = history.flags & OBSERVED > 0
    held = history.flags & HOLDOUT > 0
    drawn = []
    for m, objective in enumerate(state.units.objectives):
        series = [_series(history, m, ~held & ~observed, "agent" if held.any() else "")]
        if held.any():
            series.append(_series(history, m, held, "baseline"))
        better = "more is better" if objective.direction == "max" else "less is better"
        caption = f"{objective.name} ({better})"
        drawn.append(lines(caption, series, x=history.label, y=objective.name))
    return f'<div class="figures">{"".join(drawn)}</div>'


def show_table(state: State, history: History) -> str:
    """List the objectives: means, and what became of their rewards."""
    rows = []
    for m, objective in enumerate(state.units.objectives):
        values = history.rewards[:, m]
        mean, low, high = _interval(values[~np.isnan(values)])
        shown = "nothing yet" if math.isnan(mean) else f"{mean:.4g} [{low:.4g}, {high:.4g}]"
        counts = np.bincount(history.states[:, m].astype(int), minlength=len(STATUS))
        rows.append([objective.name, objective.direction, shown, *(f"{c:,}" for c in counts[:5])])
    return _page.table(["objective", "better", "mean reward [95 %]", *STATUS[:5]], rows)


def show_lead(state: State) -> str:
    """Say in a sentence what has happened so far."""
    counters, ledger = state.counters, state.ledger
    pending = len(ledger) - len(ledger.completed)
    return (
        f"{counters.decisions:,} decisions, {pending:,} of them wait for rewards; "
        f"{counters.learned:,} rewards learned, and {counters.defaulted:,} that did not come as "
        f"their default; {counters.late:,} too late."
    )


def show_lift(history: History, state: State) -> str:
    """Say what the agent gained over its baseline, in a sentence for every objective."""
    held = history.flags & HOLDOUT > 0
    if not held.any():
        return ""
    words = []
    for m, name in enumerate(state.units.names):
        values, known = history.rewards[:, m], ~np.isnan(history.rewards[:, m])
        ours = values[known & ~held & (history.flags & OBSERVED == 0)]
        theirs = values[known & held]
        if min(len(ours), len(theirs)) < 2:
            words.append(f"{name}: too few decisions of the baseline to tell.")
            continue
        gain = ours.mean() - theirs.mean()
        error = _WIDE * math.sqrt(ours.var(ddof=1) / len(ours) + theirs.var(ddof=1) / len(theirs))
        words.append(
            f"{name}: {gain:+.3g} [{gain - error:+.3g}, {gain + error:+.3g}] over the baseline, "
            f"{ours.mean():.4g} against {theirs.mean():.4g}."
        )
    return "".join(f'<p class="note">{_page.text(line)}</p>' for line in words)


def show_exploration(history: History) -> str:
    """Say how many decisions explored, lately and ever."""
    flags = history.flags[history.flags & OBSERVED == 0]
    if not len(flags):
        return "<p>No decision yet.</p>"
    rows = []
    for words, some in (("all that are held", flags), (f"the last {_RECENT}", flags[-_RECENT:])):
        held = some & HOLDOUT > 0
        parts = (some & EXPLORED > 0, (some & UNIFORM > 0) & ~held, held)
        rows.append([words, f"{len(some):,}", *(f"{part.mean():.1%}" for part in parts)])
    return _page.table(["decisions", "number", "to explore", "uniform draws", "baseline"], rows)


def show_arms(hosted: HostedAgent, history: History) -> str:
    """List arms: how often they were chosen, and what is believed of them in recent choices."""
    names = hosted.agent.config.units.names
    ever, recent = Counter(history.arms), Counter(history.arms[-_RECENT:])
    believed: dict[str, list[FloatArray]] = {}
    tried = try_recent(hosted)
    if tried is not None:
        for ids, values, errors in zip(tried.arms, tried.values, tried.errors, strict=True):
            for arm, value, error in zip(ids, values, errors, strict=True):
                believed.setdefault(arm, []).append(np.stack([value, error]))
    rows = []
    whole = max(len(history.arms[-_RECENT:]), 1)
    for arm in sorted({*believed, *ever}, key=lambda arm: (-recent[arm], -ever[arm], arm)):
        cells = ["not on offer"] * len(names)
        if arm in believed:
            means = np.mean(believed[arm], axis=0)
            cells = [f"{v:.4g} ± {_WIDE * e:.2g}" for v, e in means.T]
        rows.append([arm, f"{ever[arm]:,}", f"{recent[arm] / whole:.1%}", *cells])
    heads = ["arm", "chosen", f"of the last {whole:,}", *(f"{name}, believed" for name in names)]
    region = '<div class="scroll" tabindex="0" role="region" aria-label="Arms">'
    return f"{region}{_page.table(heads, rows)}</div>"


def show_alarms(hosted: HostedAgent) -> str:
    """Say what should be looked at, in words."""
    alarms = hosted.alarms()
    if not alarms:
        return '<p class="note">No alarms.</p>'
    return _page.messages([f"{alarm.name}: {alarm.words}" for alarm in alarms])


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
    return "<h2>Budgets</h2>" + _page.table(heads, rows)


def show_changes(changes: list[Any]) -> str:
    """List who changed what, the last ones."""
    if not changes:
        return "<p>Nothing was changed.</p>"
    rows = [
        [_moment(change.time), change.by, change.what, str(change.detail)]
        for change in changes[:20]
    ]
    return _page.table(["when (UTC)", "key", "what", "to"], rows)


def _moment(time: float) -> str:
    return str(np.datetime64(int(time), "s")).replace("T", " ")


def show_decision(hosted: HostedAgent, id: str) -> str:
    """Return a decision with its rewards and its explanation."""
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
        return facts + f'<p class="note">{_page.text(error)}</p>'
    names = hosted.agent.config.units.names
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
    return facts + why + (_page.table(heads, rows) if rows else "")

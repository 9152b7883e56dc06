"""A page on an agent, for those who ask how it is doing."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro import _page
from mogro._validation import FloatArray
from mogro.live.objective import Units
from mogro.live.views import Estimates
from mogro.pareto import effective_front

_SHOWN = 10  # arms, and features
_WIDE = 1.96  # standard errors of an interval of 95 %


class Arms(NamedTuple):
    """Arms on offer at the last decision: ids, features (K, A), and the context if any."""

    ids: list[str]
    features: FloatArray
    context: FloatArray | None


def last_arms(table: Any) -> Arms | None:
    """Return the arms on offer at the last decision that has them on record."""
    column = table.column("offered_features")
    known = np.flatnonzero(column.is_valid().to_numpy())
    if not len(known):
        return None
    row = int(known[-1])
    ids = table.column("offered")[row].as_py()
    context = table.column("context")[row].as_py()
    features = np.array(column[row].as_py()).reshape(len(ids), -1)
    return Arms(ids, features, None if context is None else np.array(context))


def make_report(
    table: Any,
    units: Units,
    *,
    lead: str,
    theta: FloatArray,
    names: Sequence[str],
    estimates: Estimates | None,
) -> str:
    """Return the page.

    Parameters
    ----------
    table
        The log.
    units
        The objectives.
    lead
        What the agent is, in a sentence.
    theta, names
        Estimates (M, p) per feature of the learner, per unit, and what these are called.
    estimates
        Of arms on offer now, if any are known.
    """
    log = _Log(table, units)
    body = [
        _page.section("Objectives", _objectives(log), _page.figures(*_over_time(log))),
        _page.section("Arms", _arms(log, estimates)),
        _page.section("Exploration", _exploration(log)),
        _page.section("Surprises", _surprises(log)),
        _page.section("What matters", _features(log, theta, names)),
    ]
    return _page.report("How the agent is doing", lead, log.warnings(), (), "".join(body))


class _Log:
    """A log, in periods."""

    def __init__(self, table: Any, units: Units) -> None:
        self.table, self.units = table, units
        times = _numbers(table, "time")
        timed = len(times) > 0 and not np.isnan(times).any()
        clock = times if timed else np.arange(len(times), dtype=float)
        low, high = (clock.min(), clock.max()) if len(clock) else (0.0, 0.0)
        periods = _page.periods(float(low), float(high), timed=timed)
        self.period = periods.number(clock)
        self.middles, self.label = periods.middles, periods.label
        self.rewards = np.stack([_numbers(table, f"reward_{n}") for n in units.names], axis=1)

    def series(self, label: str, values: FloatArray) -> _page.Series:
        """Return means of values (n,) by period, with their intervals."""
        means, errors = np.full((2, len(self.middles)), np.nan)
        for period in np.unique(self.period):
            own = values[self.period == period]
            own = own[~np.isnan(own)]
            if len(own):
                means[period] = own.mean()
            if len(own) > 1:
                errors[period] = own.std(ddof=1) / np.sqrt(len(own))
        low, high = means - _WIDE * errors, means + _WIDE * errors
        return _page.Series(label, self.middles, means, low, high)

    def status(self, m: int) -> Counter[str]:
        """Return how often an objective came to what."""
        return Counter(self.table.column(f"status_{self.units.names[m]}").to_pylist())

    def warnings(self) -> list[str]:
        """Say what should be looked at."""
        words = []
        for m, name in enumerate(self.units.names):
            count = self.status(m)
            if count["late"] > 0.05 * max(len(self.table), 1):
                words.append(
                    f"{count['late'] / len(self.table):.0%} of rewards for {name} came too late"
                )
        uniform = self.table.column("uniform").to_numpy()
        if len(uniform) and not uniform.any():
            words.append(
                "No decision was drawn from all arms alike (uniform=): other policies cannot be "
                "judged by this log"
            )
        return words


def _objectives(log: _Log) -> str:
    kinds = ("pending", "learned", "defaulted", "missing", "late", "unmet", "withdrawn")
    rows = []
    for m, one in enumerate(log.units.objectives):
        values = log.rewards[:, m]
        values = values[~np.isnan(values)]
        shown = "nothing yet"
        if len(values) > 1:
            error = _WIDE * values.std(ddof=1) / np.sqrt(len(values))
            mean = float(values.mean())
            shown = _page.interval(mean, [mean - error, mean + error])
        count = log.status(m)
        counts = [f"{count[kind]:,}" for kind in kinds]
        rows.append([one.name, one.direction, f"{one.unit:g}", shown, *counts])
    return _page.table(["objective", "better", "unit", "mean reward [95 %]", *kinds], rows)


def _over_time(log: _Log) -> list[str]:
    return _by_objective(log, log.rewards, f"{{}} by {log.label}")


def _by_objective(log: _Log, values: FloatArray, caption: str) -> list[str]:
    """Draw a column of values (n, M) for every objective, over time."""
    return [
        _page.lines(caption.format(name), [log.series("", column)], x=log.label, y=name)
        for name, column in zip(log.units.names, values.T, strict=True)
    ]


def _arms(log: _Log, estimates: Estimates | None) -> str:
    chosen = Counter(log.table.column("arm").to_pylist())
    top = chosen.most_common(_SHOWN)
    labels, shares = [arm for arm, _ in top], [count for _, count in top]
    if len(chosen) > _SHOWN:
        labels.append("others")
        shares.append(sum(chosen.values()) - sum(shares))
    percent = 100 * np.array(shares, dtype=float) / max(sum(chosen.values()), 1)
    drawn = [_page.bars("How often arms were chosen", labels, percent, y="% of decisions")]
    if estimates is None:
        note = "Arms on offer are on record for agents that were opened with a journal."
        return _page.paragraph(note) + _page.figures(*drawn)
    values, reach = estimates.values, _WIDE * estimates.errors
    bounds = np.stack([values - reach, values + reach], axis=-1)
    on_front = np.flatnonzero(effective_front(log.units.inward(values)))
    if len(log.units) > 1:
        a, b = log.units.names[:2]
        drawn.append(
            _page.regions(
                "Arms on offer now, as believed; those best for some weights stand out",
                estimates.arms,
                values[:, :2],
                bounds[:, :2],
                x=a,
                y=b,
                marked=on_front.tolist(),
            )
        )
    heads = ["best for some weights", *log.units.names, "chosen"]
    rows = [
        [
            estimates.arms[i],
            *(_page.interval(v, b) for v, b in zip(values[i], bounds[i], strict=True)),
            f"{chosen[estimates.arms[i]] / max(sum(chosen.values()), 1):.1%}",
        ]
        for i in on_front.tolist()[: 2 * _SHOWN]
    ]
    return _page.figures(*drawn) + _page.table(heads, rows)


def _exploration(log: _Log) -> str:
    kinds = {"to explore": "exploring", "any arm alike": "uniform"}
    series = []
    for label, name in kinds.items():
        flags = np.asarray(log.table.column(name).to_numpy(), dtype=float)
        x, y = log.middles, log.series(label, 100 * flags).y
        series.append(_page.Series(label, x, y))
    drawing = _page.lines("Decisions that were not greedy", series, x=log.label, y="% of decisions")
    return _page.figures(drawing)


def _surprises(log: _Log) -> str:
    """Draw rewards less what was expected of the arm: a drift says that the world has changed."""
    expected = _expected(log.table, len(log.units))
    if expected is None:
        return _page.paragraph("What was expected is on record for agents with a journal.")
    drawn = _by_objective(log, log.rewards - expected, "{}: reward less what was expected")
    words = "Near 0 if the agent knows its world; a drift away from it says that the world changes."
    return _page.paragraph(words) + _page.figures(*drawn)


def _expected(table: Any, objectives: int) -> FloatArray | None:
    """Return what was believed of the chosen arms, (n, M); NaN where that is not on record."""
    offered, beliefs = table.column("offered"), table.column("offered_estimates")
    if offered.null_count == len(table):
        return None
    found = np.full((len(table), objectives), np.nan)
    arms = table.column("arm").to_pylist()
    rows = zip(arms, offered.to_pylist(), beliefs.to_pylist(), strict=True)
    for row, (arm, ids, values) in enumerate(rows):
        if ids is not None and arm in ids:
            place = ids.index(arm) * objectives
            found[row] = values[place : place + objectives]
    return found


def _features(log: _Log, theta: FloatArray, names: Sequence[str]) -> str:
    """Return the features by what their usual variation changes."""
    seen: NDArray[Any] = np.array(log.table.column("features").to_pylist(), dtype=float)
    if len(seen) < 2:
        return _page.paragraph("Nothing is known yet.")
    effects = theta * seen.std(axis=0) * np.abs(log.units.scale)[:, None]  # (M, p)
    signed = effects * np.sign(log.units.scale)[:, None]
    order = np.argsort(-np.abs(effects / log.units.scale[:, None]).max(axis=0), kind="stable")
    rows = [
        [names[j], *(f"{value:+.3g}" for value in signed[:, j])]
        for j in order[:_SHOWN].tolist()
        if effects[:, j].any()
    ]
    words = "By how much an objective changes with one standard deviation of a feature."
    return _page.paragraph(words) + _page.table(["feature", *log.units.names], rows)


def _numbers(table: Any, name: str) -> FloatArray:
    return np.array(table.column(name).to_numpy(), dtype=np.float64)

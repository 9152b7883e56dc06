"""A page on an agent, for those who ask how it is doing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mogro import _page
from mogro._drawing import Series, bars, lines, regions
from mogro._intervals import ConfidenceInterval, are_rates
from mogro._validation import BoolArray, FloatArray
from mogro.agent.alarms import Alarm
from mogro.agent.decision import Decision
from mogro.agent.lift import lifts, mean_interval
from mogro.agent.objective import DEFAULTED, MISSING, PENDING, STATUS
from mogro.agent.objective_set import ObjectiveSet
from mogro.agent.state.block import EXPLORED, HOLDOUT, OBSERVED, TIMED, UNIFORM
from mogro.agent.state.relearning import learned_rewards
from mogro.agent.state.state import State
from mogro.agent.views import Estimates, Front, activity
from mogro.pareto import effective_front

_MAX_DRAWN = 20  # arms that are drawn one by one, where there are more
_MAX_SHOWN = 10  # arms, and features
_NO_ARMS = "Arms on offer are on record for agents that were opened with a journal."
_NOT_DRAWN = "No arm was drawn uniformly (epsilon=): other policies cannot be judged by this log"
_DRIFT = "Near 0 if the agent knows its world; a drift away from it says that the world changes."
_RARE_STATUSES = ("missing", "late", "unmet", "withdrawn")


def make_parts(
    state: State,
    *,
    alarms: Sequence[Alarm],
    last: Decision | None,
    estimates: Estimates | None,
    front: Front | None = None,
) -> dict[str, str]:
    """Return what there is to say of an agent, part by part, as HTML in which names are escaped.

    Parameters
    ----------
    state
        What the agent knows, and the decisions that it holds.
    alarms
        What should be looked at.
    last
        The last decision whose arms on offer are known.
    estimates
        Of these arms.
    front
        Of these arms, maybe with what is certain about them.
    """
    held = HeldDecisions(state)
    arms, front_table = _arms(held, estimates, front)
    log_warnings = [_NOT_DRAWN] if len(held) and not held.has_flag(UNIFORM).any() else []
    arms_note = _NO_ARMS if last is None else _arms_note(last)
    expected = held.objective_set.to_user_units(held.block.estimates)
    return {
        "bottom_line": _page.text(held.bottom_line()),
        "warnings": _page.messages([*(alarm.words for alarm in alarms), *log_warnings]),
        "lift": _lift(held),
        "lead": f"{activity(state)}; {len(held):,} decisions are held and on this page.",
        "objectives": _objectives(held),
        "rewards": _over_time(held, held.rewards, "{} over time"),
        "arms_note": _page.text(arms_note),
        "arms": arms,
        "front": front_table,
        "exploration": _exploration(held),
        "surprises_note": _DRIFT,
        "surprises": _over_time(held, held.rewards - expected, "{}: reward less what was expected"),
        "features": _features(held, state),
    }


def make_report(parts: Mapping[str, str]) -> str:
    """Return a page that opens from a file, of the parts that :func:`make_parts` has made."""
    body = _page.fill(Path(__file__).with_name("report.html"), **parts)
    return _page.page("How the agent is doing", body)


class HeldDecisions:
    """The decisions that an agent holds, in periods."""

    def __init__(self, state: State) -> None:
        rows, self.objective_set = state.ledger.live(), state.objective_set
        self.block = block = state.ledger.gather(rows)
        self.arms = Counter(state.ledger.arms[row] for row in rows.tolist())
        timed = len(rows) > 0 and bool(self.has_flag(TIMED).all())
        clock = block.time if timed else np.arange(len(rows), dtype=float)
        low, high = (clock.min(), clock.max()) if len(rows) else (0.0, 0.0)
        periods = _page.periods(float(low), float(high), timed=timed)
        self.period = periods.number(clock)
        self.middles, self.label = periods.middles, periods.label
        self.rewards = learned_rewards(block, state.objective_set, state.defaults)
        self.lifts = lifts(
            state.objective_set,
            self.rewards,
            pending=block.state == PENDING,
            times=block.time,
            held_out=self.has_flag(HOLDOUT),
            observed=self.has_flag(OBSERVED),
            subjects=block.subject,
        )

    def __len__(self) -> int:
        return len(self.rewards)

    def has_flag(self, flag: int) -> BoolArray:
        """Tell which decisions have a flag."""
        return np.asarray(self.block.flags & flag > 0)

    def series(self, label: str, values: FloatArray) -> Series:
        """Return means of values (n,) by period, with their intervals."""
        rate, periods = bool(are_rates(values)), range(len(self.middles))
        means = [mean_interval(values[self.period == period], rate=rate) for period in periods]
        return Series(label, self.middles, *np.array(means).T)

    def bottom_line(self) -> str:
        """Return what matters most, in a sentence."""
        n = f"{len(self):,} decisions"
        if not len(self):
            return "No decision has been made yet."
        if self.lifts:
            held_out = self.has_flag(HOLDOUT).mean()
            gains = "; ".join(lift.gain for lift in self.lifts)
            return f"The agent against the baseline: {gains}, by {n}, {held_out:.0%} held out."
        columns = zip(self.objective_set.names, self.rewards.T, strict=True)
        means = [f"{name} {_mean_text(mean_interval(column))}" for name, column in columns]
        advice = "What the agent adds is not known: nobody is held out (holdout=)."
        return f"{n}: {', '.join(means)}. {advice}"

    def status(self, m: int) -> dict[str, int]:
        """Return how often an objective came to what; late: a value came after it was closed."""
        states = self.block.state[:, m]
        counts = np.bincount(states, minlength=len(STATUS)).tolist()
        has_value = ~np.isnan(self.block.values[:, m])
        late = np.isin(states, (MISSING, DEFAULTED)) & has_value
        return dict(zip(STATUS, counts, strict=True)) | {"late": int(late.sum())}


def _objectives(held: HeldDecisions) -> str:
    counts = [held.status(m) for m in range(len(held.objective_set))]
    rare_kinds = [kind for kind in _RARE_STATUSES if any(count[kind] for count in counts)]
    kinds = ["pending", "learned", "defaulted", *rare_kinds]
    rows = []
    for m, objective in enumerate(held.objective_set.objectives):
        description = [objective.name, objective.direction, f"{objective.unit:g}"]
        mean = _mean_text(mean_interval(held.rewards[:, m]))
        rows.append([*description, mean, *(f"{counts[m][kind]:,}" for kind in kinds)])
    heads = ["objective", "better", "unit", "mean reward [95 %]", *kinds]
    return _page.table("Objectives", heads, rows)


def _mean_text(mean: ConfidenceInterval) -> str:
    return "nothing yet" if np.isnan(mean.value) else str(mean)


def _lift(held: HeldDecisions) -> str:
    """Return what the agent adds to its baseline, as a table; nothing without a holdout."""
    if not held.lifts:
        return ""
    rows = [
        [
            lift.objective,
            *map(_mean_text, (lift.difference, lift.agent, lift.baseline)),
            *(f"{agent:,} and {baseline:,}" for agent, baseline in (lift.decisions, lift.subjects)),
        ]
        for lift in held.lifts
    ]
    heads = ["objective", "added by the agent [95 %]", "with it", "with the baseline"]
    table = _page.table("What the agent adds", [*heads, "decisions", "subjects"], rows)
    return f"<h2>What the agent adds</h2>{table}"


def _arms_note(last: Decision) -> str:
    where = "" if last.inputs.arms.context is None else ", in its context"
    arms = f"{len(last.inputs.arms):,} of them"
    return f"Arms on offer are those of the last decision, {last.id!r}{where}: {arms}."


def _over_time(held: HeldDecisions, values: FloatArray, caption: str) -> str:
    """Draw a column of values (n, M) for every objective, over time; the baseline beside it."""
    kinds, held_out = {"": np.ones(len(held), dtype=np.bool_)}, held.has_flag(HOLDOUT)
    if held_out.any():
        kinds = {"agent": ~held_out & ~held.has_flag(OBSERVED), "baseline": held_out}
    figures = []
    for name, column in zip(held.objective_set.names, values.T, strict=True):
        series = [held.series(kind, np.where(mask, column, np.nan)) for kind, mask in kinds.items()]
        figures.append(lines(caption.format(name), series, x=held.label, y=name))
    return "".join(figures)


def _arms(held: HeldDecisions, estimates: Estimates | None, front: Front | None) -> tuple[str, str]:
    """Draw how often arms were chosen and where they are, and list those of the front."""
    chosen = held.arms
    total = max(sum(chosen.values()), 1)
    top = chosen.most_common(_MAX_SHOWN)
    labels, shares = [arm for arm, _ in top], [count for _, count in top]
    if len(chosen) > _MAX_SHOWN:
        labels.append("others")
        shares.append(total - sum(shares))
    percent = 100 * np.array(shares, dtype=float) / total
    figures = bars("How often arms were chosen", labels, percent, unit="%")
    if estimates is None:
        return figures, ""
    on_front = effective_front(held.objective_set.to_learner_units(estimates.values))
    members = np.flatnonzero(on_front).tolist()
    if len(held.objective_set) > 1:
        figures += _draw_arms(held.objective_set, estimates, members)
    heads = ["best for some weights", *held.objective_set.names, "chosen"]
    rows = [
        [*estimates.row(i), f"{chosen[estimates.arms[i]] / total:.1%}"]
        for i in members[: 2 * _MAX_SHOWN]
    ]
    if front is None or not front.certain:
        return figures, _page.table("The front", heads, rows)
    rows = [[*row, front.certain[row[0]]] for row in rows]
    count = Counter(front.certain.values())
    words = (
        f"Of the arms on offer {count['on']:,} are certainly on the true front, {count['off']:,} "
        f"certainly off it, {count['open']:,} open: {front.progress}."
    )
    table = _page.table("The front", [*heads, "certain"], rows)
    return figures, f"{table}<p>{_page.text(words)}</p>"


def _draw_arms(objective_set: ObjectiveSet, estimates: Estimates, members: list[int]) -> str:
    """Draw arms by two objectives: the front with intervals, what is near it, a crowd of others.

    What is near: arms that are least behind the best one, in units, for the weights that suit them.
    """
    values = estimates.shown
    learner_values = objective_set.to_learner_units(values)
    distances = (learner_values[members][None] - learner_values[:, None]).max(axis=2).min(axis=1)
    extra = max(_MAX_DRAWN - len(members), 0) if len(values) > _MAX_DRAWN else len(values)
    others = [i for i in np.argsort(distances, kind="stable").tolist() if i not in members]
    drawn = [*members, *others[:extra]]
    crowd = values[[i for i in others if i not in drawn]][:, :2]
    x, y = objective_set.names[:2]
    caption = "Arms on offer, as believed, with 95 %; orange: best for some weights"
    caption += "; grey: where others are" if len(crowd) else ""
    bounds = estimates.intervals[drawn][:, :2]
    if len(crowd):  # boxes of all would cover each other
        bounds[len(members) :] = np.nan
    return regions(
        caption,
        [estimates.arms[i] for i in drawn],
        values[drawn][:, :2],
        bounds,
        x=x,
        y=y,
        marked=range(len(members)),
        crowd=crowd,
    )


def _exploration(held: HeldDecisions) -> str:
    series = []
    for label, flag in (("to explore", EXPLORED), ("uniform draws", UNIFORM)):
        flags = np.where(held.has_flag(HOLDOUT), np.nan, 100.0 * held.has_flag(flag))
        series.append(held.series(label, flags)._replace(low=None, high=None))
    return lines("Decisions that were not greedy", series, x=held.label, y="% of decisions")


def _features(held: HeldDecisions, state: State) -> str:
    """Return the features by what their usual variation changes."""
    if len(held) < 2:
        return "<p>Nothing is known yet.</p>"
    scale, names = held.objective_set.scale, state.config.features.names
    effects = state.learner.theta * held.block.features.std(axis=0)  # (M, p)
    order = np.argsort(-np.abs(effects).max(axis=0), kind="stable")
    rows = [
        [names[j], *(f"{value:+.3g}" for value in effects[:, j] * scale)]
        for j in order[:_MAX_SHOWN].tolist()
        if effects[:, j].any()
    ]
    return _page.table("What matters", ["feature", *held.objective_set.names], rows)

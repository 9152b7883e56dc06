"""The report of an agent, as an HTML page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress, starmap
from pathlib import Path

import numpy as np

from mogro import _page
from mogro._drawing import Series, draw
from mogro._intervals import ConfidenceInterval, are_rates
from mogro._validation import BoolArray, FloatArray
from mogro.agent.alarms import Alarm
from mogro.agent.decision import Decision
from mogro.agent.lift import mean_interval, measure_lifts
from mogro.agent.objective import DEFAULTED, MISSING, PENDING, STATUS
from mogro.agent.state.block import EXPLORED, HOLDOUT, OBSERVED, TIMED, UNIFORM
from mogro.agent.state.relearning import learned_rewards
from mogro.agent.state.state import State
from mogro.agent.views import Estimates, Front, activity_text

_MAX_FEATURES = 10
_MAX_ARMS = 1000
_RECENT_DECISIONS = 1000
_NO_ARMS = "Arms on offer are on record for agents that were opened with a journal."
_NOT_DRAWN = "No arm was drawn uniformly (epsilon=): other policies cannot be judged by this log"
_DRIFT = "Near 0 if the agent knows its world; a drift away from it says that the world changes."
_RARE_STATUSES = ("missing", "late", "unmet", "withdrawn")


def make_parts(
    state: State,
    *,
    alarms: Sequence[Alarm],
    last_decision: Decision | None,
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
    last_decision
        The last decision whose arms on offer are known.
    estimates
        Of these arms.
    front
        Of these arms, maybe with what is certain about them.
    """
    decisions = HeldDecisions(state)
    log_warnings = [_NOT_DRAWN] if len(decisions) and not decisions.has_flag(UNIFORM).any() else []
    arms_note = _NO_ARMS if last_decision is None else _arms_note(last_decision)
    expected = decisions.objective_set.to_user_units(decisions.block.estimates)
    return {
        "bottom_line": _page.escape(decisions.bottom_line()),
        "warnings": _page.paragraphs([*(alarm.words for alarm in alarms), *log_warnings]),
        "lift": _lift_table(decisions),
        "lead": f"{activity_text(state)}; {len(decisions):,} decisions are held and on this page.",
        "objectives": _objectives_table(decisions),
        "rewards": _draw_over_time(decisions, decisions.rewards, "{} over time"),
        "arms_note": _page.escape(arms_note),
        "arms": _draw_arms(estimates, front) if estimates and front else "",
        "front": _certainty_text(front) if front else "",
        "arms_table": _arms_table(decisions, estimates, front),
        "exploration": _draw_exploration(decisions),
        "surprises_note": _DRIFT,
        "surprises": _draw_over_time(
            decisions, decisions.rewards - expected, "{}: reward less what was expected"
        ),
        "features": _features_table(decisions, state),
    }


def make_report(parts: Mapping[str, str]) -> str:
    """Return a page that opens from a file, of the parts that :func:`make_parts` has made."""
    style = _page.STYLE.read_text(encoding="utf-8")
    return _page.fill_template(Path(__file__).with_name("report.html"), style=style, **parts)


class HeldDecisions:
    """The decisions that an agent holds, in periods."""

    def __init__(self, state: State) -> None:
        rows, self.objective_set = state.ledger.live(), state.objective_set
        self.block = block = state.ledger.gather(rows)
        self.arms = [state.ledger.arms[row] for row in rows.tolist()]
        has_times = len(rows) > 0 and bool(self.has_flag(TIMED).all())
        clock = block.time if has_times else np.arange(len(rows), dtype=float)
        low, high = (clock.min(), clock.max()) if len(rows) else (0.0, 0.0)
        periods = _page.make_periods(float(low), float(high), has_times=has_times)
        self.period = periods.indices(clock)
        self.middles, self.label = periods.middles, periods.label
        self.rewards = learned_rewards(block, state.objective_set, state.defaults)
        self.lifts = measure_lifts(
            state.objective_set,
            self.rewards,
            is_pending=block.statuses == PENDING,
            times=block.time,
            is_held_out=self.has_flag(HOLDOUT),
            made_elsewhere=self.has_flag(OBSERVED),
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

    def status_counts(self, m: int) -> dict[str, int]:
        """Return how often an objective came to what; late: a value came after it was closed."""
        statuses = self.block.statuses[:, m]
        counts = np.bincount(statuses, minlength=len(STATUS)).tolist()
        has_value = ~np.isnan(self.block.values[:, m])
        is_late = np.isin(statuses, (MISSING, DEFAULTED)) & has_value
        return dict(zip(STATUS, counts, strict=True)) | {"late": int(is_late.sum())}


def _objectives_table(decisions: HeldDecisions) -> str:
    counts = [decisions.status_counts(m) for m in range(len(decisions.objective_set))]
    rare_kinds = [kind for kind in _RARE_STATUSES if any(status[kind] for status in counts)]
    kinds = ["pending", "learned", "defaulted", *rare_kinds]
    rows = []
    for m, objective in enumerate(decisions.objective_set.objectives):
        description = [objective.name, objective.direction, f"{objective.unit:g}"]
        mean = _mean_text(mean_interval(decisions.rewards[:, m]))
        rows.append([*description, mean, *(f"{counts[m][kind]:,}" for kind in kinds)])
    headers = ["objective", "better", "unit", "mean reward [95 %]", *kinds]
    return _page.html_table("Objectives", headers, rows)


def _mean_text(mean: ConfidenceInterval) -> str:
    return "nothing yet" if np.isnan(mean.value) else str(mean)


def _lift_table(decisions: HeldDecisions) -> str:
    """Return what the agent adds to its baseline, as a table; nothing without a holdout."""
    if not decisions.lifts:
        return ""
    rows = [
        [
            lift.objective,
            *map(_mean_text, (lift.difference, lift.agent, lift.baseline)),
            *(f"{agent:,} and {baseline:,}" for agent, baseline in (lift.decisions, lift.subjects)),
        ]
        for lift in decisions.lifts
    ]
    headers = ["objective", "added by the agent [95 %]", "with it", "with the baseline"]
    table = _page.html_table("What the agent adds", [*headers, "decisions", "subjects"], rows)
    return f"<h2>What the agent adds</h2>{table}"


def _arms_note(decision: Decision) -> str:
    suffix = "" if decision.inputs.arms.context is None else ", in its context"
    arms = f"{len(decision.inputs.arms):,} of them"
    return f"Arms on offer are those of the last decision, {decision.id!r}{suffix}: {arms}."


def _draw_over_time(decisions: HeldDecisions, values: FloatArray, caption: str) -> str:
    """Draw a column of values (n, M) for every objective, over time; the baseline beside it."""
    kinds, held_out = {"": np.ones(len(decisions), dtype=np.bool_)}, decisions.has_flag(HOLDOUT)
    if held_out.any():
        kinds = {"agent": ~held_out & ~decisions.has_flag(OBSERVED), "baseline": held_out}
    figures = []
    for name, column in zip(decisions.objective_set.names, values.T, strict=True):
        columns = {kind: np.where(mask, column, np.nan) for kind, mask in kinds.items()}
        series = list(starmap(decisions.series, columns.items()))
        figures.append(draw(caption.format(name), series, x=decisions.label, y=name))
    return "".join(figures)


def _draw_arms(estimates: Estimates, front: Front) -> str:
    """Draw arms by two objectives: the front with intervals, of the others where they are."""
    if len(front.objectives) < 2:
        return ""
    on_front, series = np.isin(estimates.arms, front.arms), []
    for label, mask in (("others", ~on_front), ("best for some weights", on_front)):
        names, (x, y) = list(compress(estimates.arms, mask)), estimates.clipped_values[mask, :2].T
        is_other = mask is not on_front
        intervals = None if is_other else estimates.intervals[mask, :2]
        series.append(Series(label, x, y, names=names, intervals=intervals, faint=is_other))
    x_label, y_label = front.objectives[:2]
    caption = "Arms on offer, as believed; the best with 95 %"
    return draw(caption, [line for line in series if line.names], x=x_label, y=y_label)


def _certainty_text(front: Front) -> str:
    """Say how much is certain of the front; nothing without a confidence."""
    if not front.certain:
        return ""
    counts = Counter(front.certain.values())
    sentence = (
        f"Of the arms on offer {counts['on']:,} are certainly on the true front, {counts['off']:,} "
        f"certainly off it, {counts['open']:,} open: {front.progress}."
    )
    return f"<p>{_page.escape(sentence)}</p>"


def _arms_table(decisions: HeldDecisions, estimates: Estimates | None, front: Front | None) -> str:
    """List arms: how often they were chosen, and of those on offer what is believed."""
    counts, recent_counts = Counter(decisions.arms), Counter(decisions.arms[-_RECENT_DECISIONS:])
    recent_total = max(recent_counts.total(), 1)
    headers = ["arm", "chosen", f"of the last {recent_total:,}"]
    beliefs_by_arm: dict[str, list[str]] = {}
    if estimates is not None and front is not None:
        shares = dict(zip(front.arms, front.shares.tolist(), strict=True))
        headers += [f"{name}, believed" for name in estimates.objectives]
        headers += ["best for some weights", *(["certain"] * bool(front.certain))]
        for arm, *cells in map(estimates.row, range(len(estimates.arms))):
            cells.append(f"{shares[arm]:.1%} of them" if arm in shares else "")
            beliefs_by_arm[arm] = cells + ([front.certain[arm]] if front.certain else [])
    arms = {*beliefs_by_arm, *counts}
    ordered_arms = sorted(arms, key=lambda arm: (-recent_counts[arm], -counts[arm], arm))
    not_on_offer = ["not on offer", *[""] * len(headers)][: len(headers) - 3]
    rows = []
    for arm in ordered_arms[:_MAX_ARMS]:
        share = f"{recent_counts[arm] / recent_total:.1%}"
        rows.append([arm, f"{counts[arm]:,}", share, *beliefs_by_arm.get(arm, not_on_offer)])
    label = "Arms" if len(arms) <= _MAX_ARMS else f"The first {_MAX_ARMS:,} of {len(arms):,} arms"
    region = '<div class="scroll" tabindex="0" role="region" aria-label="Arms">'
    return f"{region}{_page.html_table(label, headers, rows)}</div>"


def _draw_exploration(decisions: HeldDecisions) -> str:
    series = []
    for label, flag in (("to explore", EXPLORED), ("uniform draws", UNIFORM)):
        flags = np.where(decisions.has_flag(HOLDOUT), np.nan, 100.0 * decisions.has_flag(flag))
        series.append(decisions.series(label, flags)._replace(low=None, high=None))
    return draw("Decisions that were not greedy", series, x=decisions.label, y="% of decisions")


def _features_table(decisions: HeldDecisions, state: State) -> str:
    """Return the features by what their usual variation changes."""
    if len(decisions) < 2:
        return "<p>Nothing is known yet.</p>"
    scale, names = decisions.objective_set.scale, state.config.features.names
    effects = state.learner.theta * decisions.block.features.std(axis=0)  # (M, p)
    order = np.argsort(-np.abs(effects).max(axis=0), kind="stable")
    rows = [
        [names[j], *(f"{value:+.3g}" for value in effects[:, j] * scale)]
        for j in order[:_MAX_FEATURES].tolist()
        if effects[:, j].any()
    ]
    return _page.html_table("What matters", ["feature", *decisions.objective_set.names], rows)

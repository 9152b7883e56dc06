"""A page that shows what trade-offs would have been worth."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from mogro import _page
from mogro.evaluation.evaluating import Passes
from mogro.evaluation.logs import read_log
from mogro.evaluation.targets import Greedy, Wanted, believed, read_weights
from mogro.evaluation.trade_offs import grid, in_words
from mogro.evaluation.whatif import WhatIf, what_if
from mogro.offpolicy import Evaluation, Rows, Sums, weighted_rows

_BINS = 2.0 ** np.arange(-2, 11)  # of weights
_PAIRS = 3  # drawings of fronts, two objectives each


def make_page(log: object, trade_offs: Sequence[Mapping[str, float]] = (), /) -> str:
    """Return a page, as HTML that needs nothing else, on some trade-offs and a grid of others.

    Parameters
    ----------
    log
        As for :func:`mogro.evaluate`.
    trade_offs
        Weights per unit by objective, to be looked at closely; the first also over time.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> actions = rng.integers(2, size=400)
    >>> clicks = rng.random((400, 2)) < np.array([[0.1, 0.3], [0.3, 0.1]])[actions]
    >>> feedback = {"action": actions, "reward": clicks, "pscore": np.full(400, 0.5)}
    >>> "<svg" in make_page(feedback, [{"reward 0": 1}])
    True
    """
    known = read_log(log)
    asked = [known.units.named(read_weights(one, known.units)) for one in trade_offs]
    others = [known.units.named(one) for one in grid(known.units)]
    shown = [*asked, *(one for one in others if one not in asked)]
    found = what_if(log, shown)
    first = Closer(Passes(known), Greedy(read_weights(shown[0], known.units), known.units))
    names = known.units.names
    one = found.evaluations[0]
    body = [
        _page.section("Values", _values(found, len(asked))),
        _page.section("The front you could have had", _fronts(found, len(asked))),
        _page.section("Over time", _page.figures(*first.over_time(names, in_words(shown[0])))),
        _page.section("Weights", first.weights(one)),
        _page.section("What differs", _page.paragraph(_differences(found))),
    ]
    lead = (
        f"{one.rows:,} decisions. A trade-off takes the arm that is best for its weights, by what "
        "was believed when the decision was made. Intervals are for 95 %, and hold for all "
        "trade-offs together."
    )
    return _page.report("What if", lead, found.warnings, one.notes, "".join(body))


def _values(found: WhatIf, asked: int) -> str:
    names, bounds = found.units.names, found.interval()
    rows = []
    for i, (weights, one) in enumerate(zip(found.trade_offs, found.evaluations, strict=True)):
        cells = [_page.interval(v, b) for v, b in zip(one.value, bounds[i], strict=True)]
        trust = "yes" if one.trusted else one.warnings[0].split(": ", 1)[1]
        mark = "→ " if i < asked else ""
        size, largest = f"{one.effective_size.min():,.0f}", f"{one.largest_weight.max():,.3g}"
        rows.append([mark + in_words(weights), *cells, size, largest, trust])
    heads = ["weights per unit", *names, "effective size", "largest weight", "to be trusted"]
    return _page.table(heads, rows)


def _fronts(found: WhatIf, asked: int) -> str:
    names, bounds, values = found.units.names, found.interval(), found.value
    labels = [in_words(one) for one in found.trade_offs]
    if len(names) == 1:
        return _page.paragraph("There is one objective, and no trade-off.")
    which = "trade-offs"
    if found.trusted.any() and not found.trusted.all():  # boxes of the others would dwarf these
        which = "trade-offs that can be trusted"
        bounds[~found.trusted] = values[~found.trusted] = np.nan
    shown = int(np.isfinite(values).all(axis=1).sum())
    drawn = [
        _page.regions(
            f"{names[a]} and {names[b]}: {shown} {which}, and where they may be",
            labels,
            values[:, [a, b]],
            bounds[:, [a, b]],
            x=names[a],
            y=names[b],
            marked=range(asked),
        )
        for a, b in list(combinations(range(len(names)), 2))[:_PAIRS]
    ]
    return _page.figures(*drawn)


def _differences(found: WhatIf) -> str:
    apart = found.distinguishable()
    size = len(apart)
    pairs = size * (size - 1) // 2
    words = f"{int(apart.sum()) // 2} of {pairs} pairs of trade-offs differ in some objective."
    alike = [in_words(w) for w, own in zip(found.trade_offs, apart, strict=True) if not own.any()]
    if alike and len(alike) < size:
        words += f" Not to be told from any other: {'; '.join(alike)}."
    return words


class Closer:
    """One trade-off, over time and by the weights of its rows."""

    def __init__(self, passes: Passes, target: Greedy) -> None:
        self._passes = passes
        times = [one.times for one in passes.records()]
        numbers = [one.numbers.astype(float) for one in passes.records()]
        timed = not any(np.isnan(each).any() for each in times)
        clock = times if timed else numbers
        low, high = min(each.min() for each in clock), max(each.max() for each in clock)
        periods = _page.periods(low, high, timed=timed)
        self._middles, self._label = periods.middles, periods.label
        self._sums: list[list[Sums | None]] = [[None, None] for _ in self._middles]
        self._counts = np.zeros(len(_BINS) + 1, dtype=int)
        for records, own in zip(passes.records(), clock, strict=True):
            values, on_offer = believed(records, passes.units)
            rows = passes.rows(records, Wanted(target.best(values, on_offer)), True)
            plain = weighted_rows(records.rewards, np.ones(len(own)), np.ones(len(own)))
            plain = replace(plain, arms=rows.arms)
            self._counts += np.bincount(
                np.searchsorted(_BINS, rows.weights), minlength=len(_BINS) + 1
            )
            period = periods.number(own)
            for part in np.unique(period).tolist():
                for which, each in enumerate((rows, plain)):
                    self._add(part, which, each.only(period == part))

    def _add(self, period: int, which: int, rows: Rows) -> None:
        sums = self._sums[period][which]
        if sums is None:
            sums = self._sums[period][which] = self._passes.sums(rows, self_normalised=True)
        sums.add(rows)

    def over_time(self, names: Sequence[str], label: str) -> list[str]:
        """Draw values of the trade-off, and what there was, by period."""
        drawn = []
        for m, name in enumerate(names):
            series = []
            for which, who in enumerate((label, "as it was")):
                bounds = np.full((len(self._middles), 3), np.nan)
                for period, both in enumerate(self._sums):
                    sums = both[which]
                    if sums is not None and len(sums) > 1:
                        one = sums.result()
                        bounds[period] = one.value[m], *one.interval()[m]
                y, low, high = bounds.T
                series.append(_page.Series(who, self._middles, y, low, high))
            drawn.append(_page.lines(f"{name} by {self._label}", series, x=self._label, y=name))
        return drawn

    def weights(self, found: Evaluation) -> str:
        """Draw how weights are distributed, and say what that means."""
        labels = [f"≤ {_BINS[0]:g}", *(f"≤ {edge:g}" for edge in _BINS[1:]), f"> {_BINS[-1]:g}"]
        last = int(np.flatnonzero(self._counts).max()) + 1
        share = 100 * self._counts[:last] / self._counts.sum()
        words = (
            f"Rows count by how much more often the trade-off would have taken their arm. The "
            f"{found.rows:,} rows are worth {found.effective_size.min():,.0f} of its own; the mean "
            f"weight is {found.mean_weight:.3g}, and 1 is right."
        )
        drawing = _page.bars("How much rows count", labels[:last], share, y="% of rows")
        return _page.paragraph(words) + _page.figures(drawing)

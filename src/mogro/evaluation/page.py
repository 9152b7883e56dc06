"""A page that shows what trade-offs would have been worth."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from mogro import _page
from mogro._drawing import regions
from mogro.evaluation.logs import read_log
from mogro.evaluation.targets import read_weights
from mogro.evaluation.whatif import WhatIf, format_weights, read_trade_offs, what_if

_PAIRS = 3  # drawings of fronts, two objectives each


def make_page(log: object, trade_offs: Sequence[Mapping[str, float]] = (), /) -> str:
    """Return a page, as HTML that needs nothing else, on some trade-offs and a grid of others.

    Parameters
    ----------
    log
        As for :func:`mogro.evaluate`.
    trade_offs
        Weights per unit by objective, to be marked among the others.

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
    units = known.units
    asked = [units.named(read_weights(weights, units)) for weights in trade_offs]
    others = [units.named(weights) for weights in read_trade_offs(None, units)]
    shown = [*asked, *(weights for weights in others if weights not in asked)]
    result = what_if(log, shown)
    first = result.evaluations[0]
    body = _page.fill(
        Path(__file__).with_name("page.html"),
        messages=_page.messages(result.warnings, first.notes),
        rows=f"{first.rows:,}",
        values=_values(result, len(asked)),
        fronts=_fronts(result, len(asked)),
        differences=_page.text(_differences(result)),
    )
    return _page.page("What if", body)


def _values(result: WhatIf, asked: int) -> str:
    names, bounds = result.units.names, result.interval()
    rows = []
    for i, (weights, each) in enumerate(zip(result.trade_offs, result.evaluations, strict=True)):
        cells = [_page.interval(v, b) for v, b in zip(each.value, bounds[i], strict=True)]
        trust = "yes" if each.trusted else each.warnings[0].split(": ", 1)[1]
        mark = "→ " if i < asked else ""
        size, largest = f"{each.effective_size.min():,.0f}", f"{each.largest_weight.max():,.3g}"
        rows.append([mark + format_weights(weights), *cells, size, largest, trust])
    heads = ["weights per unit", *names, "effective size", "largest weight", "to be trusted"]
    return _page.table(heads, rows)


def _fronts(result: WhatIf, asked: int) -> str:
    names, bounds, values = result.units.names, result.interval(), result.value
    labels = [format_weights(weights) for weights in result.trade_offs]
    which = "trade-offs"
    if result.trusted.any() and not result.trusted.all():  # boxes of the others would dwarf these
        which = "trade-offs that can be trusted"
        bounds[~result.trusted] = values[~result.trusted] = np.nan
    shown = int(np.isfinite(values).all(axis=1).sum())
    pairs = list(combinations(range(len(names)), 2))[:_PAIRS]
    return (
        "".join(
            regions(
                f"{names[a]} and {names[b]}: {shown} {which}, and where they may be",
                labels,
                values[:, [a, b]],
                bounds[:, [a, b]],
                x=names[a],
                y=names[b],
                marked=range(asked),
            )
            for a, b in pairs
        )
        or "There is one objective, and no trade-off."
    )


def _differences(result: WhatIf) -> str:
    apart = result.distinguishable()
    size = len(apart)
    pairs = size * (size - 1) // 2
    words = f"{int(apart.sum()) // 2} of {pairs} pairs of trade-offs differ in some objective."
    rows = zip(result.trade_offs, apart, strict=True)
    alike = [format_weights(weights) for weights, others in rows if not others.any()]
    if alike and len(alike) < size:
        words += f" Not to be told from any other: {'; '.join(alike)}."
    return words

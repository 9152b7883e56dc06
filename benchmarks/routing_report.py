"""Fronts of quality and cost with their intervals, and ROUTING.md about them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import Line
from benchmarks.run import machine, markdown

TABLE = Path(__file__).with_name("ROUTING.md")
COSTS = (0.05, 0.1, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0)  # thousandths of a dollar a prompt
REFERENCES = ("always one model", "linear limit", "oracle")
_RESAMPLES = 1000

ABOUT = """\
# Routing prompts to language models

`python -m benchmarks.routing FOLDER`: real prompts from the wheel of paretobandit 0.1.1, with the
quality and the cost of three models each. {orders} random orders of {rounds:,} prompts; features
are 24 whitened principal components of hashed words, the same for all, and a constant. Shown is
the mean quality in % at a mean cost of at most so many thousandths of a dollar a prompt, by
mixing two of the {prices} trade-offs of a sweep, with 95 % bootstrap intervals over the orders,
the same orders for all; blank where every trade-off costs more. Nobody but the lines that say so
knows anything beforehand; ParetoBandit knows the list prices of the models, and learns the
quality alone. mabwiser and contextualbandits are LinUCB with alpha = 0.1; the latter asks for
rewards of 0 or 1, and is given any. "Ridge, from the best": greedy by ridge estimates that start
from quality 1 and cost 0, with features divided by 5, and no exploration besides; in an agent
that is `Objective("quality", offset=1.0)` with the policy `EpsilonGreedy(epsilon=0)`. mogro was
played as a batch of policies; an `Agent` that is asked the same makes the same choices ({differs}
of {rounds:,} differ), and explores in {explored} of them."""


class Front:
    """The best quality at each cost, by mixtures of trade-offs, with 95 % intervals."""

    def __init__(self, means: np.ndarray) -> None:
        rng = np.random.default_rng(0)  # the same orders for all
        drawn = rng.integers(len(means), size=(_RESAMPLES, len(means)))
        self.value = attained(means.mean(axis=0))
        self.draws = attained(means[drawn].mean(axis=1))
        self.low, self.high = np.quantile(self.draws, (0.025, 0.975), axis=0, method="nearest")


def attained(points: np.ndarray) -> np.ndarray:
    """Return the best quality at each cost (..., n) by mixtures of two points (..., P, 2).

    Spending less is allowed; minus infinity where every point costs more.
    """
    quality, cost = points[..., 0], points[..., 1]
    gain, extra = (x[..., None, :] - x[..., :, None] for x in (quality, cost))
    best = []
    for limit in COSTS:
        fits = cost <= limit
        alone = np.where(fits, quality, -np.inf).max(axis=-1)
        pairs = fits[..., :, None] & ~fits[..., None, :]
        share = np.divide(
            (limit - cost)[..., :, None], extra, where=pairs, out=np.zeros_like(extra)
        )
        mixed = np.where(pairs, quality[..., :, None] + share * gain, -np.inf)
        best.append(np.maximum(alone, mixed.max(axis=(-2, -1))))
    return np.stack(best, -1)


def table(fronts: Mapping[str, Front]) -> str:
    """Write fronts side by side."""
    rows = [["m$ a prompt, at most", *(f"{cost:g}" for cost in COSTS)]]
    rows.append(["---"] * len(rows[0]))
    for name, front in fronts.items():
        half = 50 * (front.high - front.low)
        cells = zip(100 * front.value, half, strict=True)
        rows.append([name, *(f"{v:.2f} ±{h:.2f}" if np.isfinite(h) else "" for v, h in cells)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def verdict(fronts: Mapping[str, Front], ours: str) -> str:
    """Say where a learning peer is above ours, and where ours is above the peer."""
    mine = fronts[ours]
    said = []
    for name, front in fronts.items():
        if name.startswith(ours) or name in REFERENCES:
            continue
        above, below = _where(front.low > mine.high), _where(mine.low > front.high)
        said.append(f"{name}: above {ours} at {above}, below it at {below}.")
    return "With disjoint intervals, at m$ a prompt. " + " ".join(said)


def price_of_learning(early: Mapping[str, Front], late: Mapping[str, Front], ours: str) -> str:
    """Say by how much the first prompts were answered worse than the rest, at one cost."""
    at = COSTS.index(2.0)
    lost = {name: 100 * (late[name].value - early[name].value)[at] for name in early}
    said = [f"{name} {lost[name]:.2f}" for name in early if name.startswith(ours)]
    return f"At {COSTS[at]:g} m$ a prompt these cost so many % of quality: {'; '.join(said)}."


def _where(is_so: np.ndarray) -> str:
    costs = [f"{cost:g}" for cost, so in zip(COSTS, is_so.tolist(), strict=True) if so]
    return ", ".join(costs) or "none"


def report(
    means: Mapping[str, np.ndarray],
    ours: str,
    times: Sequence[Line],
    *,
    missing: Sequence[str],
    explored: int,
    differs: int,
    first: int,
    rounds: int,
) -> None:
    """Write the page; means: (2, orders, trade-offs, 2) by name."""
    early, late = ({name: Front(got[span]) for name, got in means.items()} for span in (0, 1))
    _, orders, prices, _ = means[ours].shape
    facts = {"orders": orders, "rounds": rounds, "prices": prices}
    text = [
        ABOUT.format(explored=explored, differs=differs, **facts),
        f"After {first} prompts:",
        table(late),
        verdict(late, ours),
        f"The first {first} prompts, where exploration is paid for:",
        table(early),
        verdict(early, ours),
        price_of_learning(early, late, ours),
        f"Choosing a model, after {first} prompts, while it learns from each:",
        markdown(times),
        f"Fronts not measured yet: {', '.join(missing) or 'none'}.",
        machine(),
    ]
    print("\n\n".join(text))
    TABLE.write_text("\n\n".join(text) + "\n")

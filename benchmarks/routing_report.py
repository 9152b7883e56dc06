"""Fronts of quality and cost with their intervals, and the section that tells of them."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.common import Line, replace_section
from benchmarks.run import machine, markdown

COSTS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0)  # thousandths of a dollar a prompt
REFERENCES = ("always one model", "linear limit", "oracle")
_RESAMPLES = 1000


def report(
    found: Mapping[str, np.ndarray], ours: str, times: Sequence[Line], explored: tuple[int, int]
) -> None:
    """Print the section and write it; found: means (2, orders, trade-offs, 2) by name."""
    fronts = [{name: Front(got[span]) for name, got in found.items()} for span in (0, 1)]
    print(table(fronts[0]), table(fronts[1]), above(fronts[1], ours), markdown(times), explored, machine(), sep="\n\n")


class Front:
    """The best quality for each cost, by mixtures of trade-offs, with 95 % intervals."""

    def __init__(self, means: np.ndarray) -> None:
        rng = np.random.default_rng(0)  # the same orders for all
        drawn = rng.integers(len(means), size=(_RESAMPLES, len(means)))
        self.value = attained(means.mean(axis=0))
        self.draws = attained(means[drawn].mean(axis=1))
        self.low, self.high = np.quantile(self.draws, (0.025, 0.975), axis=0)


def attained(points: np.ndarray) -> np.ndarray:
    """Return the best quality at each cost by mixing two of the points (..., P, 2), or spending less."""
    quality, cost = points[..., 0], points[..., 1]
    best = []
    for limit in COSTS:
        fits = cost <= limit
        alone = np.where(fits, quality, -np.inf).max(axis=-1)
        pairs = fits[..., :, None] & ~fits[..., None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (limit - cost)[..., :, None] / (cost[..., None, :] - cost[..., :, None])
            mixed = quality[..., :, None] + share * (quality[..., None, :] - quality[..., :, None])
        best.append(np.maximum(alone, np.where(pairs, mixed, -np.inf).max(axis=(-2, -1))))
    return np.stack(best, -1)
def table(fronts): 
    rows=["| at most, m$ | "+" | ".join(f"{c:g}" for c in COSTS)+" |","|"+"---|"*(1+len(COSTS))]
    for n,f in fronts.items():
        rows.append(f"| {n} | "+" | ".join("-" if not np.isfinite(v) else f"{v:.4f} +- {(h-l)/2:.4f}" for v,l,h in zip(f.value,f.low,f.high))+" |")
    return "\n".join(rows)
def above(fronts, ours):
    out=[]
    for n,f in fronts.items():
        if n.startswith(ours) or n in REFERENCES: continue
        w=[c for c,l,h in zip(COSTS,f.low,fronts[ours].high) if l>h]
        out.append(f"{n}: above at {w}")
    return "\n".join(out)

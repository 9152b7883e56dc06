"""What if: five trade-offs from the log of one agent, against the truth beside that log.

``python -m benchmarks.run whatif``; ``MOGRO_WHATIF_RUNS`` sets the number of logs, and
``MOGRO_WHATIF_AGENTS`` how many more come from agents with a journal.

A trade-off is the arm that is best for its weights by the beliefs held at each decision. The truth
of a log is what that arm is worth in each of its decisions, on average: what the trade-off would
have earned beside that log. An agent that runs a trade-off by itself learns from other decisions,
and earns something else; that is shown, and judges nothing.
"""

import os
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from benchmarks.common import Line, Ratio, short
from benchmarks.news import NAMES, ROWS, TRADE_OFFS, UNIFORM, News
from mogro.evaluation import WhatIf, what_if

SECTION = "whatif"
RUNS = int(os.environ.get("MOGRO_WHATIF_RUNS", "2000"))
AGENTS = int(os.environ.get("MOGRO_WHATIF_AGENTS", "20"))
_AT_ONCE = 250


def lines() -> Iterator[Line]:
    """Measure."""
    world = News()
    quick = (
        log
        for part in range(-(-RUNS // _AT_ONCE))
        for log in world.quick_logs(min(_AT_ONCE, RUNS - part * _AT_ONCE), part)
    )
    truths, answers = judge(world, quick)
    yield from each(truths, answers, world.alone())
    yield together(truths, answers, "logs")
    if AGENTS:
        agents = judge(world, (world.agent_log(seed) for seed in range(AGENTS)))
        yield together(*agents, "logs of agents with a journal")


def judge(world: News, logs: Iterable[pa.Table]) -> tuple[np.ndarray, list[WhatIf]]:
    """Return the truths beside logs, (n, W, 2), and what each log says."""
    pairs = [(world.beside(log), what_if(log, TRADE_OFFS)) for log in logs]
    return np.array([truth for truth, _ in pairs]), [answer for _, answer in pairs]


def each(truths: np.ndarray, answers: list[WhatIf], alone: np.ndarray) -> Iterator[Line]:
    """Yield how often intervals hold the truth, each by itself, where they can be trusted."""
    bounds = np.array(
        [[evaluation.interval() for evaluation in log.evaluations] for log in answers]
    )
    inside = (bounds[..., 0] <= truths) & (truths <= bounds[..., 1])
    trusted = np.array([log.trusted for log in answers])
    sizes = np.array(
        [[evaluation.effective_size.min() for evaluation in log.evaluations] for log in answers]
    )
    errors = np.array([log.value for log in answers]) - truths
    for w, m in np.ndindex(len(TRADE_OFFS), len(NAMES)):
        sure = trusted[:, w]
        width_ratio = _width(bounds[sure, w, m], errors[sure, w, m])
        weights = ", ".join(f"{name} {weight:g}" for name, weight in TRADE_OFFS[w].items())
        yield _line(
            inside[sure, w, m],
            width_ratio,
            f"{weights}: {NAMES[m]}",
            f"beside the log {truths[:, w, m].mean():.3f}, alone {alone[w, m]:.3f}; "
            f"width / needed {short(width_ratio)}; all logs {short(inside[:, w, m].mean())}",
            f"{sure.mean():.0%} of {len(answers)} logs trusted, "
            f"median effective size {np.median(sizes[:, w]):.0f}",
        )


def together(truths: np.ndarray, answers: list[WhatIf], which: str) -> Line:
    """Return how often all that is said to be trusted holds at once.

    What is needed are boxes, as wide for every estimate in its standard deviations, that hold 95 %.
    """
    bounds = np.array([log.interval() for log in answers])
    trusted = np.array([log.trusted for log in answers])
    held = (bounds[..., 0] <= truths) & (truths <= bounds[..., 1])
    inside = np.asarray(held.all(axis=-1))
    errors = np.array([log.value for log in answers]) - truths
    spread = np.array([errors[sure, w].std(axis=0) for w, sure in enumerate(trusted.T)])
    largest = np.where(trusted[..., None], abs(errors) / spread, 0.0).max(axis=(1, 2))
    needed = 2 * np.quantile(largest, 0.95) * spread  # boxes that hold 95 %
    width_ratio = (np.ptp(bounds, axis=-1) / needed)[trusted].mean()
    everything = float(inside.all(axis=1).mean())
    return _line(
        np.asarray((inside | ~trusted).all(axis=1)),
        float(width_ratio),
        "all that is trusted, together",
        f"width / needed {short(float(width_ratio))}; trusted or not {short(everything)}",
        f"{trusted.mean():.0%} of estimates trusted, in {len(answers)} {which}",
    )


def _width(bounds: np.ndarray, errors: np.ndarray) -> float:
    """Return the mean width of intervals (n, ..., 2) over what normal errors (n, ...) need."""
    return float((np.ptp(bounds, axis=-1).mean(axis=0) / (2 * 1.96 * errors.std(axis=0))).mean())


def _line(inside: np.ndarray, width_ratio: float, what: str, figures: str, note: str) -> Line:
    share = float(inside.mean())
    spread = 1.96 * np.sqrt(max(share * (1 - share), 1e-4) / len(inside))
    return Line(
        SECTION,
        Ratio(share, share - spread, min(share + spread, 1.0)),
        f"coverage at 95 %: {what}",
        f"news, {ROWS:,} decisions, uniform = {UNIFORM}",
        figures,
        ">= 0.93; > 0.97 only if <= 1.5 as wide",
        share >= 0.93 and (share <= 0.97 or width_ratio <= 1.5),
        note,
    )

"""What the sections share: races between contestants, ratios with intervals, lines of the table.

A shared machine only ever adds time, so a contestant counts with a low quantile of its repeats;
contestants take turns, so that a slow spell hits them all.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Step = Callable[[], object]
Times = Mapping[str, np.ndarray]  # seconds a step, one entry for each repeat

_QUANTILE = 0.25
_RESAMPLES = 1000


@dataclass(frozen=True)
class Ratio:
    """A ratio and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{short(self.value)} [{short(self.low)}, {short(self.high)}]"


@dataclass(frozen=True)
class Line:
    """One line of the table: a ratio, of what, where, and whether it clears its bar."""

    section: str
    ratio: Ratio | None  # None: could not be measured, and the note says why
    quotient: str
    setting: str
    figures: str = ""
    bar: str = ""
    met: bool | None = None
    note: str = ""


def race(
    contestants: Mapping[str, Step],
    *,
    repeats: int = 15,
    block: float = 0.01,
    budget: float = 2.0,
) -> dict[str, np.ndarray]:
    """Let contestants take turns, and return the seconds a step takes in each repeat.

    Parameters
    ----------
    contestants
        Called without arguments; one call is one step.
    repeats
        How often each is measured, fewer times (never fewer than 5) if that exceeds the budget.
    block
        Seconds for which steps are repeated in one measurement.
    budget
        Seconds to spend on one contestant, about.
    """
    steps = {name: _steps(step, block) for name, step in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats):
        for name, step in contestants.items():
            if turn < 5 or sum(times[name]) * steps[name] < budget:
                times[name].append(_seconds(step, steps[name]) / steps[name])
    return {name: np.array(values) for name, values in times.items()}


def _steps(step: Step, block: float) -> int:
    """Return how many steps fill a block; the first may set things up, so time another if short."""
    first = _seconds(step, 1)
    again = first if first > 10 * block else _seconds(step, 1)
    return max(1, min(100_000, round(block / max(again, 1e-7))))


def _seconds(step: Step, count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        step()
    return time.process_time() - start


def typical(times: np.ndarray) -> float:
    """Return a time that hardly anything disturbed."""
    return float(np.quantile(times, _QUANTILE))


def ratio(above: np.ndarray, below: np.ndarray) -> Ratio:
    """Return the ratio of two typical times."""
    rng = np.random.default_rng(0)
    draws = (
        np.quantile(rng.choice(times, (_RESAMPLES, len(times))), _QUANTILE, axis=1)
        for times in (above, below)
    )
    low, high = np.quantile(np.divide(*draws), (0.025, 0.975))
    return Ratio(typical(above) / typical(below), float(low), float(high))


def slope(sizes: list[int], times: list[np.ndarray]) -> Ratio:
    """Return the slope of log time over log size, by least squares."""
    rng = np.random.default_rng(0)
    x = np.log(sizes) - np.log(sizes).mean()

    def fit(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(values) @ x / (x @ x))

    fitted = float(fit(np.array([typical(each) for each in times])))
    draws = [
        np.quantile(rng.choice(each, (_RESAMPLES, len(each))), _QUANTILE, axis=1) for each in times
    ]
    low, high = np.quantile(fit(np.stack(draws, axis=1)), (0.025, 0.975))
    return Ratio(fitted, float(low), float(high))


def short(value: float) -> str:
    """Write a number with three digits, without exponents."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 4)}f}"


def duration(seconds: float) -> str:
    """Write a time in a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{short(seconds / size)} {unit}"
    return f"{short(seconds * 1e6)} us"


def unit_rows(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
    """Return arms on the unit sphere, (K, d)."""
    rows = rng.standard_normal((count, dim))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def replace_section(path: Path, title: str, text: str) -> None:
    """Write a section of a Markdown file anew, in its place or at the end; the others stay."""
    head, *sections = path.read_text().split("\n## ")
    titles = [section.partition("\n")[0] for section in sections]
    place = titles.index(title) if title in titles else len(sections)
    sections[place : place + 1] = [f"{title}\n\n{text}\n"]
    path.write_text("\n## ".join([head.rstrip() + "\n", *sections]))

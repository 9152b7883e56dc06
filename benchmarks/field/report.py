"""The report on all that was measured: FIELD.md."""

import math
from pathlib import Path

import numpy as np

OURS, REFERENCES = "mogro", ("uniform", "constant in hindsight", "linear limit")
MARGIN = 0.05  # of what the linear limit has above uniform draws
PAGE = Path(__file__).parent.parent / "FIELD.md"
NOTES = Path(__file__).with_name("notes.md")  # what stands below the tables

PHASES = ("first", "later")

Cell = tuple[str, str, int, int, float, float]  # data, peer, trade-off, phase, lead, p
Results = dict[str, dict[str, np.ndarray]]  # by data set and contestant: (orders, trade-offs, 2)


def read(folder: Path) -> Results:
    """Return all results in a folder."""
    results: Results = {}
    for path in sorted(folder.glob("*.npy")):
        name, who = path.stem.split("; ")
        results.setdefault(name, {})[who] = np.load(path)
    return {name: held for name, held in results.items() if {OURS, *REFERENCES} <= held.keys()}


def ranges(held: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return uniform draws, and what the best reference has above them, (trade-offs, 2) each."""
    low = held["uniform"].mean(axis=0)
    best = np.maximum(held["linear limit"].mean(axis=0), held["constant in hindsight"].mean(axis=0))
    return low, np.maximum(best - low, 1e-9)


def advantages(results: Results) -> list[Cell]:
    """Return for every peer and cell by how much it is better, in shares of the range, and p.

    p is one-sided, Student's, for an advantage above the margin.
    """
    from scipy.stats import t as student

    cells = []
    for name, held in results.items():
        _, span = ranges(held)
        for who, theirs in held.items():
            if who in (OURS, *REFERENCES) or who.startswith(OURS):
                continue
            pairs = (theirs - held[OURS][: len(theirs)]) / span
            n = len(pairs)
            for w, phase in np.ndindex(pairs.shape[1:]):
                each = pairs[:, w, phase]
                error = each.std(ddof=1) / math.sqrt(n) + 1e-12
                p = float(student.sf((each.mean() - MARGIN) / error, n - 1))
                cells.append((name, who, w, phase, float(each.mean()), p))
    return cells


def holm(p: list[float], level: float = 0.05) -> list[bool]:
    """Return which hypotheses are rejected at a level for all together."""
    rejected = [False] * len(p)
    for rank, place in enumerate(np.argsort(p, kind="stable").tolist()):
        if p[place] > level / (len(p) - rank):
            break
        rejected[place] = True
    return rejected


def shares(results: Results) -> list[str]:
    """Return a table of utilities in % of the range, averaged over the trade-offs."""
    names = [OURS, *sorted({who for held in results.values() for who in held} - {OURS})]
    names = [who for who in names if who not in ("uniform", "linear limit")]
    lines = ["| data | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for name, held in results.items():
        low, span = ranges(held)
        cells = []
        for who in names:
            if who not in held:
                cells.append("")
                continue
            first, later = (100 * (held[who] - low) / span).mean(axis=(0, 1))
            cells.append(f"{first:.0f}, {later:.0f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def write(folder: Path) -> None:
    """Write the page."""
    results = read(folder)
    if not results:
        return
    cells = advantages(results)
    rejected = holm([cell[-1] for cell in cells])
    beyond = [cell for cell in cells if cell[4] > MARGIN]
    worse = [cell for cell, sure in zip(cells, rejected, strict=True) if sure]
    counts = sorted({len(mean) for held in results.values() for mean in held.values()})
    played = " or ".join(str(count) for count in counts)
    lines = [
        "# The default of agents on real data",
        "",
        "Written by `python -m benchmarks.field`. Numbers are shares in % of what the linear limit",
        "(or the best constant arm) has above uniform draws: in the first 500 rounds, and in later",
        "ones, averaged over three trade-offs. A trial (ACTG 175, STAR) has one phase. Contestants",
        f"play the same {played} orders: the most for routing, the fewest for other libraries.",
        "News is a simulated world; all others are real data. 31d0e28 is an older version.",
        "",
        *shares(results),
        "",
        f"In {len(cells)} cells (data, peer, trade-off, phase) a peer is better by over 5 % of",
        f"the range in {len(beyond)} by its mean, in {len(worse)} for certain (Holm, 5 %). The",
        "largest such lead in a data set, bold where it is certain:",
        "",
        *(_lead(cell, cell in worse) for cell in _largest(beyond)),
        "",
    ]
    PAGE.write_text("\n".join(lines) + "\n" + NOTES.read_text())


def _largest(cells: list[Cell]) -> list[Cell]:
    """Return the cell of each data set in which a peer is ahead by most."""
    ahead: dict[str, Cell] = {}
    for cell in sorted(cells, key=lambda cell: -cell[4]):
        ahead.setdefault(cell[0], cell)
    return list(ahead.values())


def _lead(cell: Cell, certain: bool) -> str:
    """Return a line that says who is ahead."""
    name, who, tradeoff, phase, by, _ = cell
    line = f"{name}: {who} by {100 * by:.0f} % (trade-off {tradeoff + 1}, {PHASES[phase]} rounds)"
    return f"- **{line}**" if certain else f"- {line}"

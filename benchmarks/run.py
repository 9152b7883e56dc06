"""All sections in one table, SPEED.md: ``make bench``, or some of them by name."""

import os
import platform
import sys
import time
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.common import Line

SECTIONS = ("decide", "propensity", "metrics", "simulation", "scale", "learning")
PACKAGES = (
    *("mogro", "numpy", "scipy", "moocore", "pymoo", "highspy", "vowpalwabbit", "mabwiser"),
    *("bayesianbandits", "river", "contextualbandits"),
)
TABLE = Path(__file__).with_name("SPEED.md")
ABOUT = """\
A ratio is a quotient of two processor times (in `learning`, of two regrets) measured in turn in
this one run, with a 95 % bootstrap interval over the repeats; the lower quartile of the repeats
counts, for a shared machine only ever adds time. Nothing is compared with a stored number.

- `decide`: one decision and its update, d = 20, M = 3. Peers learn one scalar reward, mogro all
  three objectives. "Shared learner": one model over the features of all arms, as mogro has. "One
  learner per arm": the library cannot share, so it has K models of one context of 20 numbers. "By
  hand": an estimator of the library without a policy around it: compiled code, one reward, no
  exploration. `python -m benchmarks.floor` compares with plain NumPy.
  vowpalwabbit reads text; "parsed" lines show it with all arms parsed before the first round, which
  serves only arms that never change. It takes a gradient step where the others solve least squares.
  The bar on the fastest peer is shown in two readings: all policies of peers; those that can take
  other arms in every round, as mogro does.
- `propensity`: the probability of every one of 1000 arms to be selected, against one product of
  4096 weights with all arms in single precision. Errors are root mean squares over independent
  answers, of the arm with probability 0.01 or more whose relative error is largest.
- `simulation`: the plain loop is one replication in NumPy that books nothing.
- `learning`: effective Pareto regret; above 1, MOGRO-RW is better. UCB and ThompsonSampling have
  the radius of the theory, which is wide. The first three worlds were fixed beforehand; the last
  was found by looking for one where MOGRO loses.
"""


def main(sections: Sequence[str]) -> None:
    """Measure, print, and write the table if all sections ran."""
    warnings.simplefilter("ignore")
    start = time.monotonic()
    lines: list[Line] = []
    for section in sections or SECTIONS:
        for line in import_module(f"benchmarks.{section}").lines():
            lines.append(line)
            print(f"  {line.section}: {line.quotient}, {line.setting}", file=sys.stderr, flush=True)
    minutes = (time.monotonic() - start) / 60
    table = markdown(lines)
    print(table)
    print(f"\n{verdict(lines)}\n{machine()}\n{minutes:.1f} minutes")
    if not sections:
        parts = ("# Speed and regret", ABOUT.strip(), verdict(lines), table, machine(), versions())
        TABLE.write_text("\n\n".join(parts) + f"\n\nThe run took {minutes:.1f} minutes.\n")


def markdown(lines: Sequence[Line]) -> str:
    """Write the table."""
    head = ("ratio [95 %]", "of", "where", "bar", "figures", "remark")
    rows = [head, *(_cells(line) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    written = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return "\n".join(
        [written[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *written[1:]]
    )


def _cells(line: Line) -> tuple[str, ...]:
    bar = f"{line.bar} {'met' if line.met else 'MISSED'}" if line.bar else ""
    ratio = str(line.ratio) if line.ratio else "not measured"
    return ratio, line.quotient, f"{line.section}: {line.setting}", bar, line.figures, line.note


def verdict(lines: Sequence[Line]) -> str:
    """Say which bars are missed."""
    bars = [line for line in lines if line.bar]
    misses = [line for line in bars if not line.met]
    faster = [x for x in lines if x.section == "decide" and "by hand" in x.note and x.ratio]
    said = [f"{len(bars) - len(misses)} of {len(bars)} bars met."]
    said += [f"Missed: {x.quotient}, {x.setting}: {x.ratio}, {x.bar}." for x in misses]
    said += [
        f"Without a bar, but faster than mogro: {x.quotient}, {x.setting}: {x.ratio}."
        for x in faster
        if x.ratio is not None and x.ratio.value < 1
    ]
    return " ".join(said)


def machine() -> str:
    """Name the processor."""
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [row.split(":")[1] for row in info.read_text().splitlines() if "model name" in row]
        model = names[0].strip() if names else model
    return f"{model}, {os.cpu_count()} cores, one used; Python {platform.python_version()}"


def versions() -> str:
    """Name the packages."""
    said = []
    for name in PACKAGES:
        try:
            said.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            said.append(f"{name} not installed")
    return ", ".join(said)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Evaluation from logs: OFFPOLICY.md, one section for each part.

``python -m benchmarks.offpolicy_report``, or some parts by name, each of which takes a few minutes.
``MOGRO_OBP`` is a Python that has obp 0.5.7, and ``MOGRO_OPEN_BANDIT`` an unpacked wheel of obp
0.4.1, which has the samples of the Open Bandit Dataset.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks import offpolicy, offpolicy_speed, open_bandit, whatif
from benchmarks.common import Line, replace_section
from benchmarks.run import machine, markdown, verdict

TABLE = Path(__file__).with_name("OFFPOLICY.md")
_HEAD = """\
# Evaluation from logs

`python -m benchmarks.offpolicy_report` writes this page, section by section.

Coverage: how often intervals of 95 % hold a value that is known, of the objective that is held
least, in runs that say they can be trusted (effective size 200 or more, and no few rows that
decide), with its own 95 % interval; "joint" is the box for all objectives together. Width is over
that of intervals which would just hold 95 % of errors with this spread; of joint boxes, over boxes
that would hold 95 % (beside single intervals they would be 1.1 to 1.2 times as wide as needed if
they were perfect).
"""
_NEWS = """\
An agent with 2 % uniform draws chooses one of ten stories; from one log of 1,500 decisions follow
five trade-offs for two objectives. "Beside the log" is the truth that is judged by: what the arm
that a trade-off prefers, by the beliefs of each decision, is worth. "Alone" is what it earns with
an agent of its own, which learns from other decisions: shown for comparison."""
_OBP = "obp has values without intervals, one objective at a time; mogro has both, all at once."
_OPEN_BANDIT = """\
The clicks of a Thompson policy, estimated from the log of a random one, both real: "meets" tells
whether intervals, of clicks and of clicks times a feature, meet those of the policy's own log; bar:
all do. The target's probabilities are only known on average, see benchmarks/open_bandit.py."""


def parts() -> dict[str, Callable[[], str]]:
    """Return what writes each section, by title."""
    covered = {
        f"Coverage: {name}": partial(_measured, "", lines)
        for name, lines in offpolicy.coverages().items()
    }
    return {
        **covered,
        "Five trade-offs from one log": partial(_measured, _NEWS, whatif.lines),
        "obp on the same arrays": partial(_measured, _OBP, offpolicy_speed.beside_obp),
        "Open Bandit": _open_bandit,
        "Speed": partial(_measured, "", offpolicy_speed.speed),
    }


def _measured(about: str, lines: Callable[[], Iterator[Line]]) -> str:
    measured = list(lines())
    return "\n\n".join([*([about] if about else []), verdict(measured), markdown(measured)])


def _open_bandit() -> str:
    folder = os.environ.get("MOGRO_OPEN_BANDIT")
    if not folder:
        return "Not measured: MOGRO_OPEN_BANDIT is not set."
    table = open_bandit.table(Path(folder))
    misses = table.count(" NO")
    return "\n\n".join(
        [_OPEN_BANDIT, f"{misses} of the intervals miss." if misses else "Bar met.", table]
    )


def main(names: Sequence[str]) -> None:
    """Measure, and write each section as soon as it is there."""
    if not TABLE.exists():
        TABLE.write_text(_HEAD)
    for title, write in parts().items():
        if names and not any(word in title for word in names):
            continue
        start = time.monotonic()
        text = write()
        minutes = (time.monotonic() - start) / 60
        print(f"## {title}\n\n{text}\n", flush=True)
        replace_section(TABLE, title, f"{text}\n\n{machine()}; {minutes:.1f} minutes.")


if __name__ == "__main__":
    main(sys.argv[1:])

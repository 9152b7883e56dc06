"""Parquet files of decisions that went out of an agent, with the columns of its log.

A file takes its name when its decisions are gone, and the journal knows the name: so whoever is
killed in between leaves a draft, which the next one names, or nobody if nothing went.
"""

import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mogro._files import write_whole
from mogro.live.events import Compacted
from mogro.live.journal import GroupCommit
from mogro.live.journal.clearing import held_positions
from mogro.live.logs.log import make_log, need_arrow, replayed
from mogro.live.memory.state import State
from mogro.live.objective import PENDING

_DRAFT = ".part"
_LARGEST = 1000  # arms on offer that are written with a decision, at most


def move_out(
    group: GroupCommit, event: Compacted, folder: Path | None, state: Callable[[], State]
) -> int:
    """Let decisions go out of a journal, into a folder if there is one; return how many."""
    names: set[str] = set()

    def write() -> None:
        if folder is None or event.file is None:
            return
        known = (one.file for _, one in group.events() if isinstance(one, Compacted))
        names.update(name for name in known if name is not None)
        log = make_log(*replayed(group.settings, group.events()), largest=_LARGEST)
        held = set(held_positions(state()).values())
        gone = [position not in held for position in log["position"].to_pylist()]
        write_draft(log, gone, folder, event.file)

    dropped: int = group.clear(lambda: event, before=write)
    if folder is not None:
        finish_drafts(folder, names)
    return dropped


def new_name(position: int) -> str:
    """Return a name for a file that nobody else has; names are in the order of events."""
    return f"decisions-{position:012}-{secrets.token_hex(4)}.parquet"


def completed_before(state: State, time: float) -> list[bool]:
    """Tell of each decision in the log of an agent in memory whether it is to go."""
    part = state.ledger.gather(state.ledger.written())
    gone: list[bool] = ((part.state != PENDING).all(axis=1) & (part.time < time)).tolist()
    return gone


def write_draft(log: Any, gone: list[bool], folder: Path, name: str) -> None:
    """Write some rows of a log; without any, nothing."""
    if not any(gone):
        return
    pa = need_arrow()
    import pyarrow.parquet

    rows = log.filter(pa.array(gone, pa.bool_()))
    with write_whole(folder / (name + _DRAFT), parents=True) as file:
        pyarrow.parquet.write_table(rows, file)


def finish_drafts(folder: Path, names: Iterable[str]) -> None:
    """Give files their names."""
    for name in names:
        draft = folder / (name + _DRAFT)
        if draft.exists():
            os.replace(draft, folder / name)

"""From experiments and a scale to a folder with their tables, and back."""

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from mogro.simulation.trace import current_versions
from paper.lab.files import write_file
from paper.lab.parallel import Results, Task, run_tasks
from paper.lab.scale import Scale
from paper.lab.tables import Table, from_csv, to_csv

Tables = Mapping[str, Table]
_FORMAT = 2
_FIELDS: Mapping[str, Callable[[Any], object]] = {
    "tables": dict,
    "versions": dict,
    "commit": str,
    "made": str,
    "seconds": float,
    "together with": list,
}


class DamagedError(ValueError):
    """A file is not as ``reproduce`` left it."""


class Experiment(Protocol):
    """Work, and the tables that are made of its results."""

    @property
    def name(self) -> str:
        """The name of its folder."""

    @property
    def tasks(self) -> Callable[[Scale], Sequence[Task]]:
        """The work, for a scale."""

    @property
    def tables(self) -> Callable[[Scale, Results], Tables]:
        """The tables, from the results of the tasks."""


def all_tasks(experiments: Sequence[Experiment], scale: Scale) -> list[Task]:
    """Return the different tasks that the experiments need."""
    return list(dict.fromkeys(task for each in experiments for task in each.tasks(scale)))


def reproduce(
    experiments: Sequence[Experiment],
    scale: Scale,
    *,
    executor: Executor,
    out: Path,
    done: Callable[[Task, bool], None] = lambda task, cached: None,
) -> None:
    """Run what the experiments need, and write a folder for each of them into ``out``."""
    start = time.perf_counter()
    commit = source_commit()  # before the work: the source may change while it runs
    tasks = all_tasks(experiments, scale)
    results = run_tasks(tasks, executor=executor, folder=out / "tasks", done=done)
    seconds = time.perf_counter() - start
    for experiment in experiments:
        folder = out / experiment.name
        checksums = {}
        for name, data in experiment.tables(scale, results).items():
            content = to_csv(data)
            checksums[name] = _checksum(content)
            write_file(folder / f"{name}.csv", content)
        manifest = {
            "format": _FORMAT,
            "figure": experiment.name,
            "tables": checksums,
            "scale": asdict(scale),
            "versions": current_versions(),
            "commit": commit,
            "machine": {"processor": platform.machine(), "cores": os.cpu_count()},
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(seconds, 1),
            "together with": [other.name for other in experiments],
        }
        write_file(folder / "manifest.json", f"{json.dumps(manifest, indent=2)}\n".encode())


def is_made(name: str, out: Path) -> bool:
    """Tell whether an experiment was ever made."""
    return (out / name / "manifest.json").is_file()


def read_manifest(name: str, out: Path) -> dict[str, Any]:
    """Return how an experiment was made."""
    path = out / name / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        if manifest["format"] != _FORMAT or manifest["figure"] != name:
            raise ValueError("it is of another figure, or of another version of mogro")
        Scale(**manifest["scale"])
        for field, kind in _FIELDS.items():
            kind(manifest[field])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, name, error) from error
    return dict(manifest)


def read_tables(name: str, out: Path) -> Tables:
    """Return the tables of an experiment; refuse files that were cut or changed."""
    tables = {}
    for table, checksum in read_manifest(name, out)["tables"].items():
        path = out / name / f"{table}.csv"
        try:
            content = path.read_bytes()
            if _checksum(content) != checksum:
                raise ValueError("it was cut or changed")
            tables[table] = from_csv(content)
        except (OSError, ValueError, IndexError) as error:
            raise _damaged(path, name, error) from error
    return tables


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _damaged(path: Path, name: str, error: Exception) -> DamagedError:
    reason = str(error).partition("\n")[0]
    return DamagedError(
        f"{path}: expected the file as `python -m paper {name}` left it, but {reason}; run that "
        "again, or remove the folder"
    )


def source_commit() -> str | None:
    """Return the commit of the source, marked if it was changed since; None without git."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()

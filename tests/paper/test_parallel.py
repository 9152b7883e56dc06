"""Tasks: done once, kept whole, the same from any executor."""

import io
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.lab.parallel import Arrays, key, local_pool, run_tasks


class Here(Executor):
    """An executor that does the work at once: anything with ``submit`` will do."""

    def __init__(self) -> None:
        self.count = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.count += 1
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Square:
    number: int
    exclusive: bool = False

    @property
    def cost(self) -> float:
        return float(self.number)

    def run(self) -> Arrays:
        if self.number < 0:
            raise ValueError("negative")
        return {"square": np.array(self.number**2)}


TASKS = [Square(n, exclusive=n % 3 == 0) for n in range(8)]


def test_finished_tasks_are_not_done_again(tmp_path: Path) -> None:
    first = Here()
    run_tasks(TASKS[:5] + TASKS[:2], executor=first, folder=tmp_path)
    assert first.count == 5
    second, told = Here(), []
    results = run_tasks(
        TASKS, executor=second, folder=tmp_path, done=lambda p, kept: told.append(kept)
    )
    assert second.count == 3
    assert sorted(told) == [False] * 3 + [True] * 5
    assert {p.number: int(r["square"]) for p, r in results.items()} == {  # type: ignore[attr-defined]
        n: n * n for n in range(8)
    }


def incomplete() -> bytes:
    """Return a sound file of arrays, though not those of a task."""
    buffer = io.BytesIO()
    np.savez(buffer, other=np.zeros(3))
    return buffer.getvalue()


@pytest.mark.parametrize("damage", [b"", b"half a zip", incomplete(), "another's", None])
def test_a_damaged_task_is_done_again(tmp_path: Path, damage: bytes | str | None) -> None:
    run_tasks(TASKS, executor=Here(), folder=tmp_path)
    broken = tmp_path / f"{key(TASKS[4])}.npz"
    if damage == "another's":
        damage = (tmp_path / f"{key(TASKS[5])}.npz").read_bytes()
    broken.write_bytes(broken.read_bytes()[:-30] if damage is None else damage)  # type: ignore[arg-type]
    again = Here()
    results = run_tasks(TASKS, executor=again, folder=tmp_path)
    assert again.count == 1
    assert results[TASKS[4]]["square"] == 16


def test_an_error_names_the_task_and_loses_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="negative") as caught:
        run_tasks([*TASKS, Square(-1)], executor=Here(), folder=tmp_path)
    assert "Square(number=-1" in str(caught.value.__notes__)
    assert len(list(tmp_path.glob("*.npz"))) >= 5


@pytest.mark.slow
def test_processes_give_what_this_one_gives() -> None:
    with local_pool(2) as pool:
        there = run_tasks(TASKS, executor=pool)
    here = run_tasks(TASKS, executor=Here())
    assert there.keys() == here.keys()
    assert all(np.array_equal(there[p]["square"], here[p]["square"]) for p in TASKS)
    assert key(Square(3)) != key(Square(4)) != key(Square(4, exclusive=True))

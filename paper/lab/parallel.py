"""Independent tasks, given to any executor, kept as they finish, and never done twice."""

import contextlib
import hashlib
import io
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import fields, is_dataclass
from functools import cache
from multiprocessing import resource_tracker
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

import mogro
from mogro.simulation.trace import current_versions
from paper.lab.files import write_file

Arrays = dict[str, NDArray[Any]]

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_CHECKSUM = "checksum"


class Task(Protocol):
    """Work that needs nothing but what it says: a frozen data class of plain values.

    Its ``repr`` tells everything that its result depends on, so that equal tasks are equal work;
    it can be pickled.
    """

    @property
    def cost(self) -> float:
        """How long it takes, roughly, in seconds; long tasks go first."""

    @property
    def exclusive(self) -> bool:
        """Whether nothing else may run meanwhile, because it measures time."""

    def run(self) -> Arrays:
        """Do the work."""


Results = Mapping[Task, Arrays]


def key(task: Task) -> str:
    """Return the name under which the result of a task is kept.

    It depends on what the task says, on the versions, and on the code that may make its numbers:
    mogro, and the folders of the classes of the task and of what its fields hold.
    """
    kind = type(task)
    code = "".join(map(_digest, sorted(_modules(task))))
    text = f"{kind.__module__}.{kind.__qualname__} {task!r} {current_versions()} {code}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _modules(value: object) -> set[str]:
    """Return the modules of the class of a task and of everything that its fields hold."""
    if isinstance(value, list | tuple):
        return {name for item in value for name in _modules(item)}
    if isinstance(value, FunctionType | type):
        return {value.__module__} - {"builtins"}
    held = [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else []
    return ({type(value).__module__, mogro.__name__} | _modules(held)) - {"builtins"}


@cache
def _digest(module: str) -> str:
    """Return a digest of the code beside a module, of its file alone if it is in no package."""
    file = Path(sys.modules[module].__file__ or "")
    packaged = "." in module or file.name == "__init__.py"
    digest = hashlib.sha256()
    for path in sorted(file.parent.rglob("*.py")) if packaged else [file]:
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def run_tasks(
    tasks: Iterable[Task],
    *,
    executor: Executor,
    folder: Path | None = None,
    done: Callable[[Task, bool], None] = lambda task, cached: None,
) -> dict[Task, Arrays]:
    """Do all tasks, or read what earlier runs left of them, and return their results.

    Parameters
    ----------
    tasks
        What is to be done; equal tasks are done once.
    executor
        Where: processes of this machine (:func:`local_pool`), a cluster, anything with ``submit``.
    folder
        Where finished tasks are kept, each in a file of its own that appears when it is whole. A
        run that was interrupted goes on from there. Without it nothing is kept.
    done
        Called for every task that is finished, with whether it was there already.

    Returns
    -------
    dict
        The results in the order of the tasks, whichever was finished first.

    Examples
    --------
    A task is a frozen data class of plain values:

    >>> import numpy as np
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Square:
    ...     number: int
    ...     cost = 1.0  # seconds, roughly: long tasks go first
    ...     exclusive = False  # whether nothing may run beside it
    ...
    ...     def run(self):
    ...         return {"square": np.array(self.number**2)}
    >>> with ThreadPoolExecutor(2) as executor:
    ...     results = run_tasks([Square(3), Square(1)], executor=executor)
    >>> [int(arrays["square"]) for arrays in results.values()]
    [9, 1]
    """
    results: dict[Task, Arrays] = {}
    waiting: list[Task] = []
    distinct_tasks = list(dict.fromkeys(tasks))
    for task in distinct_tasks:
        result = _read(folder, task)
        if result is None:
            waiting.append(task)
        else:
            results[task] = result
            done(task, True)

    def finish(future: Future[Arrays], task: Task) -> None:
        try:
            results[task] = future.result()
        except Exception as error:
            error.add_note(f"in {task!r}")
            raise
        _write(folder, task, results[task])
        done(task, False)

    parallel_tasks = sorted((t for t in waiting if not t.exclusive), key=lambda t: -t.cost)
    futures = {executor.submit(task.run): task for task in parallel_tasks}
    try:
        for future in as_completed(futures):
            finish(future, futures[future])
    except BaseException:
        # Keep what is finished. Whoever owns the executor stops the rest: cancelling it here, while
        # its processes are being ended, would make the pool complain (Python 3.11).
        for future, task in futures.items():
            finished = future.done() and not future.cancelled() and task not in results
            if finished and future.exception() is None:
                finish(future, task)
        raise
    for task in waiting:
        if task.exclusive:
            finish(executor.submit(task.run), task)
    return {task: results[task] for task in distinct_tasks}


def _file(folder: Path, task: Task) -> Path:
    return folder / f"{key(task)}.npz"


def _read(folder: Path | None, task: Task) -> Arrays | None:
    if folder is None:
        return None
    try:
        with np.load(io.BytesIO(_file(folder, task).read_bytes())) as file:
            arrays = dict(file)
    except (OSError, ValueError, EOFError, BadZipFile):  # not there, or damaged: do it
        return None
    checksum = arrays.pop(_CHECKSUM, None)
    return arrays if np.array_equal(checksum, _checksum(task, arrays)) else None


def _write(folder: Path | None, task: Task, arrays: Arrays) -> None:
    if folder is None:
        return
    content = io.BytesIO()
    np.savez(content, **arrays, **{_CHECKSUM: _checksum(task, arrays)})  # type: ignore[arg-type]
    write_file(_file(folder, task), content.getvalue())


def _checksum(task: Task, arrays: Arrays) -> NDArray[np.uint8]:
    """Return what tells the results of a task from others, or from some of them."""
    digest = hashlib.sha256(key(task).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


@contextlib.contextmanager
def local_pool(workers: int) -> Iterator[Executor]:
    """Give processes of this machine, each with one BLAS thread, that end with this one.

    One worker is a process too, so that it computes what several would.
    """
    before = {name: os.environ.get(name) for name in _BLAS_THREADS}
    # Read by BLAS when a worker starts; in this process it was loaded long ago.
    os.environ.update(dict.fromkeys(_BLAS_THREADS, "1"))
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_be_a_worker)
    own_processes = set(multiprocessing.active_children())
    try:
        _start(pool, workers)
        yield pool
        pool.shutdown()
    except BaseException:
        # Nobody waits for a pool whose processes were killed: it may wait for them for ever.
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - own_processes:
            child.kill()
        raise
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _start(pool: Executor, workers: int) -> None:
    """Start all workers, so that a Ctrl-C does not reach one before it knows how to end quietly."""
    resource_tracker.ensure_running()  # started later, it would let the signal through
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # workers begin like this
    try:
        for _ in range(workers):
            pool.submit(os.getpid)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _be_a_worker() -> None:
    """End quietly on Ctrl-C, and when the process that wanted the work is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()

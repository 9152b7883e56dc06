"""Independent pieces of work, given to any executor, kept as they finish, and never done twice."""

import contextlib
import hashlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mogro._files import read_arrays, write_whole
from mogro.simulation.trace import current_versions

Arrays = dict[str, NDArray[Any]]

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_NOT_RESULTS = ("cli.py", "live", "testing")  # parts of mogro that no piece calls


class Piece(Protocol):
    """Work that needs nothing but what it says: a frozen data class of plain values.

    Its ``repr`` tells everything that its result depends on, so that equal pieces are equal work;
    it can be pickled.
    """

    @property
    def cost(self) -> float:
        """How long it takes, roughly, in seconds; long pieces go first."""
        ...

    @property
    def alone(self) -> bool:
        """Whether nothing else may run meanwhile, because it measures time."""
        ...

    def run(self) -> Arrays:
        """Do the work."""
        ...


Results = Mapping[Piece, Arrays]


def key(piece: Piece) -> str:
    """Return the name under which the result of a piece is kept.

    It depends on what the piece says, on the versions, and on the source of mogro.
    """
    kind = type(piece)
    text = f"{kind.__module__}.{kind.__qualname__} {piece!r} {current_versions()} {_sources(kind)}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def _sources(kind: type) -> str:
    """Return a digest of the code that makes results: mogro's, and the piece's own."""
    core = Path(__file__).parents[1]
    files = [
        path
        for path in sorted(core.rglob("*.py"))
        if path.relative_to(core).parts[0] not in _NOT_RESULTS
    ]
    own = find_spec(kind.__module__)
    if own is not None and own.origin is not None:
        files.append(Path(own.origin))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def run_pieces(
    pieces: Iterable[Piece],
    *,
    executor: Executor,
    folder: Path | None = None,
    done: Callable[[Piece, bool], None] = lambda piece, kept: None,
) -> dict[Piece, Arrays]:
    """Do all pieces, or read what earlier runs left of them, and return their results.

    Parameters
    ----------
    pieces
        What is to be done; equal pieces are done once.
    executor
        Where: processes of this machine (:func:`local_pool`), a cluster, anything with ``submit``.
    folder
        Where finished pieces are kept, each in a file of its own that appears when it is whole. A
        run that was interrupted goes on from there. Without it nothing is kept.
    done
        Called for every piece that is finished, with whether it was there already.
    """
    results: dict[Piece, Arrays] = {}
    waiting: list[Piece] = []
    for piece in dict.fromkeys(pieces):
        kept = _read(folder, piece)
        if kept is None:
            waiting.append(piece)
        else:
            results[piece] = kept
            done(piece, True)

    def finish(future: Future[Arrays], piece: Piece) -> None:
        try:
            results[piece] = future.result()
        except Exception as error:
            error.add_note(f"in {piece!r}")
            raise
        _write(folder, piece, results[piece])
        done(piece, False)

    together = sorted((p for p in waiting if not p.alone), key=lambda p: -p.cost)
    futures = {executor.submit(_run, piece): piece for piece in together}
    try:
        for future in as_completed(futures):
            finish(future, futures[future])
    except BaseException:
        # Keep what is finished. Whoever owns the executor stops the rest: cancelling it here, while
        # its processes are being ended, would make the pool complain (Python 3.11).
        for future, piece in futures.items():
            finished = future.done() and not future.cancelled() and piece not in results
            if finished and future.exception() is None:
                finish(future, piece)
        raise
    for piece in waiting:
        if piece.alone:
            finish(executor.submit(_run, piece), piece)
    return results


def _run(piece: Piece) -> Arrays:
    return piece.run()


def _file(folder: Path, piece: Piece) -> Path:
    return folder / f"{key(piece)}.npz"


def _read(folder: Path | None, piece: Piece) -> Arrays | None:
    if folder is None:
        return None
    try:
        return read_arrays(_file(folder, piece))
    except (OSError, ValueError):  # not there, or damaged: do it
        return None


def _write(folder: Path | None, piece: Piece, arrays: Arrays) -> None:
    if folder is None:
        return
    with write_whole(_file(folder, piece), parents=True) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


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
    mine = set(multiprocessing.active_children())
    try:
        yield pool
        pool.shutdown()
    except BaseException:
        # Nobody waits for a pool whose processes were killed: it may wait for them for ever.
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - mine:
            child.kill()
        raise
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _be_a_worker() -> None:
    """End quietly on Ctrl-C, and when the process that wanted the work is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()

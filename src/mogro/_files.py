"""Files that are there as a whole or not at all, and arrays read from files that may be damaged."""

import contextlib
import io
import os
import re
import secrets
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

if sys.platform != "win32":
    import fcntl

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_KINDS = "biufcSU"  # numbers and texts: nothing that holds references


@contextlib.contextmanager
def write_whole(path: str | os.PathLike[str], *, parents: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes its name only when everything in it has reached the disk.

    Until then it is a draft beside the target. An error, a full disk for one, removes the draft
    and leaves the target as it was. A process that is killed cannot remove its draft: the next
    writer of the same target does, and leaves alone the drafts of writers that are still at work.

    Parameters
    ----------
    path
        The target; a file that stands there is replaced in one step.
    parents
        Make the folders above it where they are missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_whole(Path(folder) / "sums") as file:
    ...         _ = file.write(b"1 2 3")
    ...         before = Path(folder, "sums").exists()
    ...     before, Path(folder, "sums").read_bytes()
    (False, b'1 2 3')
    """
    target = Path(path)
    if parents:
        target.parent.mkdir(parents=True, exist_ok=True)
    with _naming(target):
        _remove_stale_drafts(target)
        file, draft = _open_draft(target)
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())  # else a power cut could leave the new name on half a file
        if sys.platform == "win32":
            file.close()  # Windows moves closed files only
        with _naming(target):
            os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()  # may try once more to write what the disk would not take
        draft.unlink(missing_ok=True)
        raise
    file.close()  # only now: until here its lock tells other writers that the draft is in use
    _sync_folder(target.parent)


def _open_draft(target: Path) -> tuple[BinaryIO, Path]:
    while True:
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.draft")
        file = open(draft, "xb")  # noqa: SIM115
        _lock(file.fileno(), wait=True)
        # Before the lock was held another writer may have taken the draft for a stale one.
        if draft.exists():
            return file, draft
        file.close()


def _remove_stale_drafts(target: Path) -> None:
    """Remove drafts of this target that nobody holds a lock on: their writers are dead."""
    if sys.platform == "win32":  # it has no such locks
        return
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.draft")
    drafts = [entry for entry in os.listdir(target.parent) if name.fullmatch(entry)]
    for draft in drafts:
        with contextlib.suppress(OSError):  # gone meanwhile, or another user's
            handle = os.open(target.parent / draft, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                if _lock(handle, wait=False):
                    os.unlink(target.parent / draft)
            finally:
                os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock a file until it is closed, also by the death of the process; tell whether it worked."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # in use, or a file system without locks
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Let a new name reach the disk, not only what stands under it."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let an error of the system name the path that the caller gave, not the draft's."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of an uncompressed ``.npz`` file by name.

    Anything but a whole file of numbers and texts is a ``ValueError``; nothing in it is executed.
    What a file says about itself is checked against its size before memory is taken for it, so
    reading takes a small multiple of the size of the file at most. That is why compressed entries
    are refused: a few bytes of them can stand for any number.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sums.npz"
    ...     np.savez(path, gram=np.eye(2))
    ...     read_arrays(path)
    {'gram': array([[1., 0.],
           [0., 1.]])}
    """
    data = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = file.infolist()
            _check_entries(entries, len(data))
            return {
                entry.filename.removesuffix(".npy"): _array(file.read(entry)) for entry in entries
            }
    except Exception as error:  # a damaged file can fail in any way
        raise ValueError(f"no arrays in {path}: {error}") from error


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    names = {entry.filename for entry in entries}
    if len(names) < len(entries):
        raise ValueError("two entries have one name")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ValueError("expected entries that are not compressed")
    if sum(entry.file_size for entry in entries) > size:
        raise ValueError("its entries claim to be larger than the file")


def _array(content: bytes) -> NDArray[Any]:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"expected arrays in format 1.0 or 2.0, got {version}")
    shape, fortran_order, dtype = _HEADERS[version](stream)
    if dtype.kind not in _KINDS or dtype.itemsize == 0:
        raise ValueError(f"expected numbers or texts, got {dtype}")
    start, count = stream.tell(), 1
    for extent in shape:
        count *= extent
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - start:
        raise ValueError(f"{len(content) - start} bytes cannot be {dtype} of shape {shape}")
    flat = np.frombuffer(content, dtype=dtype, count=count, offset=start)
    return flat.reshape(shape, order="F" if fortran_order else "C").copy(order="A")

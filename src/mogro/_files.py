"""Files that are there as a whole or not at all."""

import contextlib
import errno
import os
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def write_atomically(path: str | os.PathLike[str], *, parents: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes its name only when everything in it has reached the disk.

    Until then it is a draft beside the target. An error, a full disk for one, removes the draft
    and leaves the target as it was. A process that is killed cannot remove its draft: the next
    writer of the same target does, and leaves alone the drafts of writers that are still at work.

    Parameters
    ----------
    path
        The target; a file that stands there is replaced in one step, a device or a pipe is refused.
        Of a link, what it points to is the target.
    parents
        Make the folders above it where they are missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_atomically(Path(folder) / "sums") as file:
    ...         _ = file.write(b"1 2 3")
    ...         before = Path(folder, "sums").exists()
    ...     before, Path(folder, "sums").read_bytes()
    (False, b'1 2 3')
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_file() or target.is_dir()):  # a new file would hide it
        raise OSError(errno.EINVAL, "expected a file that can be replaced", os.fspath(path))
    if parents:
        target.parent.mkdir(parents=True, exist_ok=True)
    with _naming(path):
        _remove_stale_drafts(target)
        file, draft = _open_draft(target)
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())  # else a power cut could leave the new name on half a file
        if sys.platform == "win32":
            file.close()  # Windows moves closed files only
        with _naming(path):
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
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an error of the system name the path that the caller gave, not the draft's."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None

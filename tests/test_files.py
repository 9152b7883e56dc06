"""Files are there as a whole or not at all; damaged ones are refused at little cost."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mogro._files import write_atomically

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")

WRITER = """
import sys
from mogro._files import write_atomically
with write_atomically(sys.argv[1]) as file:
    file.write(b"new" * 100000)
    print("in the middle", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def writer_in_the_middle(target: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that has written half of the target, and waits for a line."""
    command = [sys.executable, "-c", WRITER, str(target)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the middle\n"
        try:
            yield process
        finally:
            process.kill()


def write(target: Path, content: bytes) -> None:
    with write_atomically(target) as file:
        file.write(content)


@needs_locks
def test_the_draft_of_a_killed_writer_is_removed_by_the_next(tmp_path: Path) -> None:
    target = tmp_path / "target"
    write(target, b"old")
    with writer_in_the_middle(target) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert target.read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == 2
    write(tmp_path / "other", b"")  # not the draft of its own target
    assert len(os.listdir(tmp_path)) == 3
    write(target, b"newer")
    assert sorted(os.listdir(tmp_path)) == ["other", "target"]
    assert target.read_bytes() == b"newer"


@needs_locks
def test_the_draft_of_a_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "target"
    with writer_in_the_middle(target) as process:
        write(target, b"old")
        assert len(os.listdir(tmp_path)) == 2
        process.communicate("go on\n")
        assert process.returncode == 0
    assert os.listdir(tmp_path) == ["target"]
    assert target.read_bytes() == b"new" * 100000


def test_writers_side_by_side(tmp_path: Path) -> None:
    target = tmp_path / "target"
    contents = [bytes([letter]) * 20_000 for letter in b"abcdefgh"]
    errors: list[BaseException] = []

    def work(content: bytes) -> None:
        try:
            for _ in range(40):
                write(target, content)
                assert target.read_bytes() in contents
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert os.listdir(tmp_path) == ["target"]


LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
import mogro
from mogro._files import write_atomically
folder = Path(sys.argv[1])
policy = mogro.MOGRO(30, 3)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
for save in range(149):
    try:
        if save % 2:
            policy.save(folder / "policy")
        else:  # so little that it is still in the buffer when the file is to be closed
            with write_atomically(folder / "policy") as file:
                file.write(bytes(3001 + save))
    except OSError:
        continue
    sys.exit("a file larger than the limit was written")
"""


@pytest.mark.slow
@needs_locks
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "policy").write_bytes(b"old")
    subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], check=True)
    assert os.listdir(tmp_path) == ["policy"]
    assert (tmp_path / "policy").read_bytes() == b"old"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("no space"), ValueError("bad")])
def test_an_error_of_the_caller_goes_through(error: BaseException, tmp_path: Path) -> None:
    def fail() -> None:
        with write_atomically(tmp_path / "target") as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)) as caught:
        fail()
    assert caught.value is error
    assert os.listdir(tmp_path) == []


def test_the_content_is_on_disk_before_the_name_and_the_name_before_the_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    sync, replace = os.fsync, os.replace

    def noted_sync(handle: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def noted_replace(source: Any, target: Any) -> None:
        steps.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write(tmp_path / "target", b"content")
    assert steps == ["file", "replace", "folder"]


def test_errors_name_the_path_that_was_given(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "target"
    with pytest.raises(FileNotFoundError) as caught:
        write(missing, b"")
    assert caught.value.filename == str(missing)
    with pytest.raises(IsADirectoryError) as refused:
        write(tmp_path, b"")
    assert refused.value.filename == str(tmp_path)
    with write_atomically(missing, parents=True) as file:
        file.write(b"here")
    assert missing.read_bytes() == b"here"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="expected a file that can be replaced") as refused:
        write(pipe, b"content")
    assert refused.value.filename == str(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"

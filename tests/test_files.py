"""Files are there as a whole or not at all; damaged ones are refused at little cost."""

import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_st

from mogro._files import read_arrays, write_whole

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")

WRITER = """
import sys
from mogro._files import write_whole
with write_whole(sys.argv[1]) as file:
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
    with write_whole(target) as file:
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
from mogro._files import write_whole
folder = Path(sys.argv[1])
policy = mogro.MOGRO(30, 3)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
for save in range(149):
    try:
        if save % 2:
            policy.save(folder / "policy")
        else:  # so little that it is still in the buffer when the file is to be closed
            with write_whole(folder / "policy") as file:
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
        with write_whole(tmp_path / "target") as file:
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
    with write_whole(missing, parents=True) as file:
        file.write(b"here")
    assert missing.read_bytes() == b"here"


def stored(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@given(
    st.lists(
        arrays_st.arrays(
            st.sampled_from(["<f8", ">f4", "<i8", "|u1", "|b1", "<c16", "<U3"]),
            arrays_st.array_shapes(min_dims=0, min_side=0),
        ),
        max_size=3,
    ),
    st.booleans(),
)
def test_arrays_come_back_to_the_bit(arrays: list[Any], fortran: bool) -> None:
    names = {f"a.{i}": np.asfortranarray(a) if fortran else a for i, a in enumerate(arrays)}
    with write_temporarily(stored(**names)) as path:
        again = read_arrays(path)
    assert list(again) == list(names)
    for name, array in names.items():
        assert again[name].dtype == array.dtype
        assert again[name].tobytes() == array.tobytes()
        assert again[name].flags.writeable


@contextmanager
def write_temporarily(content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        yield path


@given(st.data())
def test_damage_is_refused_or_harmless(data: st.DataObject) -> None:
    good = stored(header=np.frombuffer(b"{}", np.uint8), gram=np.eye(3))
    at = data.draw(st.integers(0, len(good) - 1))
    cut = data.draw(st.booleans())
    flip = data.draw(st.integers(1, 255))
    bad = good[:at] if cut else good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :]
    with write_temporarily(bad) as path:
        try:
            arrays = read_arrays(path)
        except ValueError:
            return
    assert not cut
    if arrays.keys() == {"header", "gram"}:  # else a name was damaged, which the caller refuses
        assert np.array_equal(arrays["gram"], np.eye(3))


def zipped(content: bytes, *, compression: int = zipfile.ZIP_STORED, copies: int = 1) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for copy in range(copies):
            archive.writestr(f"gram{copy}.npy", content)
    return file.getvalue()


def npy(shape: tuple[int, ...], body: bytes, descr: str = "<f8") -> bytes:
    file = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + body


def overlapping() -> bytes:
    """Give a file whose many entries are all the same stored bytes."""
    whole = zipped(npy((10_000,), bytes(80_000)), copies=1)
    start = whole.index(b"PK\x01\x02")
    end = whole.index(b"PK\x05\x06")
    central = whole[start:end]
    copies = [central.replace(b"gram0", b"gra%02d" % copy) for copy in range(90)]
    tail = bytearray(whole[end:])
    tail[8:12] = (90).to_bytes(2, "little") * 2
    tail[12:16] = (90 * len(central)).to_bytes(4, "little")
    return whole[:start] + b"".join(copies) + bytes(tail)


BOMBS = {
    "compressed": zipped(npy((4_000_000,), bytes(32_000_000)), compression=zipfile.ZIP_DEFLATED),
    "a shape beyond the file": zipped(npy((10**9,), bytes(8))),
    "a shape beyond any memory": zipped(npy((10**12, 10**12), bytes(8))),
    "zeros and a large extent": zipped(npy((0, 10**30), b"")),
    "negative extents": zipped(npy((-1, -1), bytes(8))),
    "elements without size": zipped(npy((10**12,), b"", "|S0")),
    "overlapping entries": overlapping(),
    "one name twice": zipped(npy((1,), bytes(8)), copies=2).replace(b"gram1", b"gram0"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_cannot_ask_for_much_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(BOMBS[name])
    with pytest.raises(ValueError, match="no arrays in"):
        read_arrays(tmp_path / "bomb")  # once, so that what is imported for it does not count
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="no arrays in"):
            read_arrays(tmp_path / "bomb")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 500_000 + 4 * len(BOMBS[name])


def test_references_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.array([{}], dtype=object))
    np.savez(tmp_path / "b.npz", b=np.zeros(2, dtype=[("x", "f8"), ("y", "O")]))
    for name in ("a.npz", "b.npz"):
        with pytest.raises(ValueError, match="no arrays in"):
            read_arrays(tmp_path / name)


def test_what_is_not_there_is_not_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "nothing")

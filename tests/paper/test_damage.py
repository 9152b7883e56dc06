"""Files that were damaged, and disks that are full: one clear line, and an exit code."""

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import Finished, run
from tests.paper.test_parallel import Here

from paper.command import main
from paper.figures import radius
from paper.lab.reproduce import DamagedError, read_manifest, read_tables, reproduce
from paper.lab.scale import Scale

TINY = ["radius", "--rounds", "20", "--instances", "2", "--repeats", "1", "--workers", "1"]


def assert_one_line(result: Finished, *words: str) -> None:
    assert result.exit_code == 1, result.output
    (line,) = [line for line in result.output.splitlines() if line.startswith("Error: ")]
    assert all(word in line for word in words), line


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    scale = Scale(instances=2, repeats=1, rounds=20)
    reproduce([radius.FIGURE], scale, executor=Here(), out=out)
    return out


def cut(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:22]))


def change(path: Path) -> None:
    path.write_text(path.read_text().replace("5", "6", 1))


def without(*names: str) -> Callable[[Path], None]:
    def remove(path: Path) -> None:
        manifest = json.loads(path.read_text())
        path.write_text(json.dumps({k: v for k, v in manifest.items() if k not in names}))

    return remove


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("instances.csv", cut),
        ("instances.csv", change),
        ("instances.csv", Path.unlink),
        ("instances.csv", lambda path: path.write_bytes(b"\xff\x00")),
        ("manifest.json", cut),
        ("manifest.json", lambda path: path.write_text("{}")),
        ("manifest.json", lambda path: path.write_text("[1, 2]")),
        ("manifest.json", lambda path: path.write_text("null")),
        ("manifest.json", lambda path: path.write_bytes(b"\xff")),
        ("manifest.json", without("tables")),
        ("manifest.json", without("scale")),
        ("manifest.json", without("seconds")),
        ("manifest.json", without("commit")),
        ("manifest.json", without("together with")),
    ],
)
def test_what_was_cut_or_changed_is_refused(
    name: str, damage: Callable[[Path], object], made: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(made, out)
    damage(out / "radius" / name)
    refused = run(main, "--report", "--out", out)
    assert_one_line(refused, str(out / "radius" / name), "run that again")
    assert not (out / "report.html").exists()


def test_other_figures_do_not_suffer(made: Path, tmp_path: Path) -> None:
    """A damaged figure is named also where another one is made."""
    out = tmp_path / "out"
    shutil.copytree(made, out / "x")
    shutil.copytree(made / "radius", out / "hard")
    refused = run(main, *TINY, "--out", out)
    assert_one_line(refused, str(out / "hard" / "manifest.json"))


def test_reading_says_what_is_wrong(made: Path, tmp_path: Path) -> None:
    assert read_manifest("radius", made)["scale"]["rounds"] == 20
    assert list(read_tables("radius", made)) == ["instances"]
    with pytest.raises(DamagedError, match="expected the file as `python -m paper radius` left it"):
        read_tables("radius", tmp_path)


def full(path: Path, content: bytes) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "module",
    [
        "paper.lab.parallel",
        "paper.lab.reproduce",
        "paper.report.drawings",
        "paper.report.page",
    ],
)
def test_a_full_disk_is_said_in_one_line(
    module: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    shutil.copytree(made / "radius", out / "radius")
    monkeypatch.setattr(f"{module}.write_file", full)
    assert_one_line(run(main, *TINY, "--out", out), "No space left on device")
    if module.startswith("paper.report"):
        assert_one_line(run(main, "--report", "--out", out), "No space left on device")

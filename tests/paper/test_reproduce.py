"""All figures, very small: files, claims that follow from them, and the same bytes every time."""

import html
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from tests.commands import run
from tests.paper.test_parallel import Here

from paper.command import main
from paper.figures import FIGURES
from paper.lab.reproduce import all_tasks, is_made, reproduce
from paper.lab.scale import Scale
from paper.lab.tables import to_csv
from paper.report.claims import conclude
from paper.report.drawings import draw
from paper.report.figure import Figure
from paper.report.page import collect_claims, write_report

SMALL = Scale(instances=2, repeats=2, rounds=24, quick=True)
POSSIBLE = [figure for figure in FIGURES if not figure.missing()]
TIMES = ("seconds.csv", "milliseconds.csv")  # running times differ, of course
TINY = ["--rounds", "20", "--instances", "3", "--repeats", "1"]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    reproduce(POSSIBLE, SMALL, executor=Here(), out=folder)
    for figure in POSSIBLE:
        draw(figure, folder)
    write_report(FIGURES, folder)
    return folder


@pytest.mark.parametrize("figure", POSSIBLE, ids=lambda figure: figure.name)
def test_every_figure_leaves_its_files(figure: Figure, out: Path) -> None:
    name = figure.name
    files = {path.suffix for path in (out / name).iterdir() if path.is_file()}
    assert files == {".csv", ".json", ".png", ".svg"}
    assert (out / name / f"{name}.png").stat().st_size > 10_000


@pytest.mark.parametrize("figure", POSSIBLE, ids=lambda figure: figure.name)
def test_panels_make_up_the_drawing(figure: Figure, out: Path) -> None:
    whole = imread(out / figure.name / f"{figure.name}.png")
    panels: dict[int, dict[int, Any]] = {}
    for path in (out / figure.name / "panels").glob("panel-*.png"):
        row, column = map(int, path.stem.split("-")[1:])
        panels.setdefault(row, {})[column] = imread(path)
    rows = [np.hstack([row[n] for n in range(len(row))]) for _, row in sorted(panels.items())]
    together = np.vstack(rows)
    assert together.shape[1:] == whole.shape[1:]
    assert np.array_equal(together, whole[-len(together) :])  # what is above is the legend
    assert len(panels) * len(panels[0]) == sum(map(len, panels.values()))


def test_claims_follow_from_the_tables_alone(out: Path) -> None:
    claims = collect_claims(FIGURES, out)
    assert to_csv(claims.columns()) == (out / "claims.csv").read_bytes()
    names = [(claim.name, claim.setting) for _, claim in claims]
    assert len(set(names)) == len(names)  # no claim counts in two figures
    assert {figure for figure, _ in claims} == {figure.name for figure in POSSIBLE}


def test_the_report_stands_alone(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    for figure in POSSIBLE:
        assert f'id="{figure.name}"' in page
        assert f'href="{figure.name}/{figure.name}.svg"><span class="legend">' in page
    assert page.count("data:image/png;base64,") == len(list(out.glob("*/panels/*.png")))
    assert "http://" not in page and 'src="http' not in page  # noqa: PT018
    claims = [claim for _, claim in collect_claims(FIGURES, out)]
    assert html.escape(conclude(claims)) in page.split("<h2")[0]
    assert {claim.verdict for claim in claims} <= {"reproduced", "not reproduced", "undecided"}


def test_both_settings_of_mogro_stand_side_by_side(out: Path) -> None:
    (main,) = [figure for figure in FIGURES if figure.name == "main"]
    claims = [claim for _, claim in collect_claims([main], out)]
    settings = [claim.setting for claim in claims if claim.headline]
    assert settings == ["at mogro's default"] * 4 + ["at B = 1 with the paper's exploration"] * 4


def test_figures_share_work() -> None:
    names = {figure.name: figure for figure in FIGURES}
    both = all_tasks([names["main"], names["fixed"]], Scale())
    alone = all_tasks([names["fixed"]], Scale())
    assert sum(not task.exclusive for task in both) == len(alone)


def command(*arguments: str) -> list[str]:
    # A shell may have told its children to ignore Ctrl-C.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    return [sys.executable, "-c", f"{heed}; from paper.command import main; main()", *arguments]


def tables(out: Path) -> dict[str, bytes]:
    found = {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.glob("*/*.csv")
        if path.name not in TIMES
    }
    assert found
    return found


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("one")
    arguments = ["radius", *TINY, "--workers", "1", "--out", str(out)]
    subprocess.run(command(*arguments), check=True, capture_output=True, timeout=120)
    return out


def wait_for_task(out: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not list((out / "tasks").glob("*.npz")):
        assert process.poll() is None or list((out / "tasks").glob("*.npz"))
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_killed_and_resumed_it_is_the_same_to_the_byte(one_worker: Path, tmp_path: Path) -> None:
    arguments = ["radius", *TINY, "--workers", "2", "--out", str(tmp_path)]
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for_task(tmp_path, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {path.name for path in (tmp_path / "tasks").glob("*.npz")}
    assert kept
    subprocess.run(command(*arguments), check=True, capture_output=True, timeout=120)
    assert tables(tmp_path) == tables(one_worker)


def test_ctrl_c_is_clean(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("radius", "--rounds", "400", "--workers", "2", "--out", str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    wait_for_task(tmp_path, process)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"run the same command again" in said
    assert b"Traceback" not in said
    assert b"leaked" not in said


@pytest.mark.parametrize("delay", [0.1, 0.4, 1.2])
def test_ctrl_c_while_starting_is_clean(delay: float, tmp_path: Path) -> None:
    """The terminal sends it to all processes, also to workers that are just being started."""
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heed}; from paper.command import main; print('ready', flush=True); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "radius", "--workers", "2", "--out", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert b"Traceback" not in said
    assert b"Stopped" in said


def test_a_cluster_gives_the_same_bytes(one_worker: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    quiet = {"dashboard_address": None, "n_workers": 1, "threads_per_worker": 1}
    with distributed.LocalCluster(processes=False, protocol="tcp", **quiet) as cluster:
        address = cluster.scheduler_address
        done = run(main, "radius", *TINY, "--cluster", address, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert tables(tmp_path) == tables(one_worker)


def test_command_line(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = run(main, "--list")
    assert listed.exit_code == 0
    assert all(figure.name in listed.output for figure in FIGURES)
    nothing = run(main, "--report", "--out", tmp_path)
    assert nothing.exit_code == 1
    assert "run `python -m paper" in nothing.output
    both = run(main, "--workers", "1", "--cluster", "tcp://x:1")
    assert both.exit_code == 2
    unknown = run(main, "mian")
    assert unknown.exit_code == 2
    assert "main" in unknown.output
    part = tmp_path / "part"
    shutil.copytree(out / "radius", part / "radius")
    image = part / "radius" / "radius.png"
    drawn = image.read_bytes()
    image.unlink()
    again = run(main, "--report", "--out", part)
    assert again.exit_code == 0, again.output
    assert image.read_bytes() == drawn
    assert "MOL-TS" in (part / "report.html").read_text(encoding="utf-8")
    monkeypatch.setenv("MOGRO_WINE", str(tmp_path))
    without = run(main, "wine", "--out", tmp_path)
    assert without.exit_code == 0
    assert "wine is left out" in without.output


def test_the_manifest_names_the_source_the_run_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = iter(["begin", "later", "later"])
    monkeypatch.setattr("paper.lab.reproduce.source_commit", lambda: next(commits))
    radius = next(figure for figure in FIGURES if figure.name == "radius")
    reproduce([radius], SMALL, executor=Here(), out=tmp_path)
    assert json.loads((tmp_path / "radius" / "manifest.json").read_text())["commit"] == "begin"


def test_what_was_never_made(tmp_path: Path) -> None:
    assert not is_made(FIGURES[0].name, tmp_path)

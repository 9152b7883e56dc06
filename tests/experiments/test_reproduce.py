"""All figures, very small: files, claims that follow from them, and the same bytes every time."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.simulation.test_parallel import Here

from mogro import cli
from mogro.experiments import table
from mogro.experiments.claims import as_table
from mogro.experiments.figures import FIGURES
from mogro.experiments.report import claims_of, write_report
from mogro.experiments.reproduce import reproduce, tables_of, work
from mogro.experiments.scale import Scale

SMALL = Scale(instances=2, repeats=2, rounds=24, quick=True)
POSSIBLE = [figure for figure in FIGURES if not figure.missing()]
TIMES = ("seconds.csv", "milliseconds.csv")  # running times differ, of course
TINY = ["--rounds", "40", "--instances", "6", "--repeats", "2"]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    reproduce(POSSIBLE, SMALL, executor=Here(), out=folder)
    write_report(FIGURES, folder)
    return folder


@pytest.mark.parametrize("figure", POSSIBLE, ids=lambda figure: figure.name)
def test_every_figure_leaves_its_files(figure: object, out: Path) -> None:
    name = figure.name  # type: ignore[attr-defined]
    files = {path.suffix for path in (out / name).iterdir()}
    assert files == {".csv", ".json", ".png", ".svg"}
    assert (out / name / f"{name}.png").stat().st_size > 10_000


def test_claims_follow_from_the_tables_alone(out: Path) -> None:
    claims = claims_of(FIGURES, out)
    path = out / "again.csv"
    table.write(path, as_table([(figure.name, claim) for figure, claim in claims]))
    assert path.read_bytes() == (out / "claims.csv").read_bytes()
    path.unlink()
    names = [claim.name for _, claim in claims]
    assert len(set(names)) >= len(names) - 1  # the main figure and the timing share one
    judged = {figure.name for figure, _ in claims}
    assert judged == {figure.name for figure in POSSIBLE}


def test_the_report_stands_alone(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    for figure in POSSIBLE:
        assert f'id="{figure.name}"' in page
    assert page.count("data:image/png;base64,") == len(POSSIBLE)
    assert "http://" not in page and 'src="http' not in page  # noqa: PT018
    for claim in (claim for _, claim in claims_of(FIGURES, out)):
        assert claim.verdict.split(" (")[0] in page


def test_figures_share_work() -> None:
    names = {figure.name: figure for figure in FIGURES}
    both = work([names["main"], names["fixed"]], Scale())
    alone = work([names["fixed"]], Scale())
    assert sum(not piece.alone for piece in both) == len(alone)


def command(*arguments: str) -> list[str]:
    # A shell may have told its children to ignore Ctrl-C.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    return [sys.executable, "-c", f"{heed}; from mogro.cli import main; main()", *arguments]


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
    arguments = ["reproduce", "growth", *TINY, "--workers", "1", "--out", str(out)]
    subprocess.run(command(*arguments), check=True, capture_output=True, timeout=120)
    return out


def wait_for_piece(out: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not list((out / "pieces").glob("*.npz")):
        assert process.poll() is None or list((out / "pieces").glob("*.npz"))
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_killed_and_resumed_it_is_the_same_to_the_byte(one_worker: Path, tmp_path: Path) -> None:
    arguments = ["reproduce", "growth", *TINY, "--workers", "2", "--out", str(tmp_path)]
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for_piece(tmp_path, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {path.name for path in (tmp_path / "pieces").glob("*.npz")}
    assert kept
    subprocess.run(command(*arguments), check=True, capture_output=True, timeout=120)
    assert tables(tmp_path) == tables(one_worker)


def test_ctrl_c_is_clean(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("reproduce", "growth", "--rounds", "400", "--workers", "2", "--out", str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    wait_for_piece(tmp_path, process)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"run the same command again" in said
    assert b"Traceback" not in said
    assert b"leaked" not in said


def test_a_cluster_that_loses_a_worker_gives_the_same_bytes(
    one_worker: Path, tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    place = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    dask = [sys.executable, "-m", "dask"]
    local = ["--host", "127.0.0.1"]
    scheduler = subprocess.Popen(
        [
            *dask,
            "scheduler",
            *local,
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(place),
        ],
        **quiet,  # type: ignore[call-overload]
    )
    workers = [
        subprocess.Popen(
            [
                *dask,
                "worker",
                *local,
                "--scheduler-file",
                str(place),
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--local-directory",
                str(tmp_path),
            ],
            env=environment,
            **quiet,  # type: ignore[call-overload]
        )
        for _ in range(2)
    ]
    client = None
    try:
        deadline = time.monotonic() + 30
        while not place.exists() or place.stat().st_size == 0:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address = json.loads(place.read_text())["address"]
        out = tmp_path / "out"
        client = subprocess.Popen(
            command("reproduce", "growth", *TINY, "--cluster", address, "--out", str(out)),
            **quiet,  # type: ignore[call-overload]
        )
        wait_for_piece(out, client)
        workers[0].kill()
        assert client.wait(timeout=120) == 0
        assert tables(out) == tables(one_worker)
    finally:
        for process in [*workers, scheduler, *([client] if client else [])]:
            process.kill()
            process.wait()


def test_command_line(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner()
    listed = runner.invoke(cli.main, ["list"])
    assert listed.exit_code == 0
    assert all(figure.name in listed.output for figure in FIGURES)
    nothing = runner.invoke(cli.main, ["report", "--out", str(tmp_path)])
    assert nothing.exit_code == 1
    assert "run `mogro reproduce" in nothing.output
    both = runner.invoke(cli.main, ["reproduce", "--workers", "1", "--cluster", "tcp://x:1"])
    assert both.exit_code == 2
    unknown = runner.invoke(cli.main, ["reproduce", "mian"])
    assert unknown.exit_code == 2
    assert "main" in unknown.output
    part = tmp_path / "part"
    shutil.copytree(out / "growth", part / "growth")
    image = part / "growth" / "growth.png"
    drawn = image.read_bytes()
    image.unlink()
    again = runner.invoke(cli.main, ["report", "--out", str(part)])
    assert again.exit_code == 0, again.output
    assert image.read_bytes() == drawn
    assert "greedy rounds" in (part / "report.html").read_text(encoding="utf-8")
    monkeypatch.setenv("MOGRO_WINE", str(tmp_path))
    without = runner.invoke(cli.main, ["reproduce", "wine", "--out", str(tmp_path)])
    assert without.exit_code == 0
    assert "wine is left out" in without.output


def test_the_manifest_names_the_source_the_run_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = iter(["begin", "later", "later"])
    monkeypatch.setattr("mogro.experiments.reproduce._commit", lambda: next(commits))
    growth = next(figure for figure in FIGURES if figure.name == "growth")
    reproduce([growth], SMALL, executor=Here(), out=tmp_path)
    assert json.loads((tmp_path / "growth" / "manifest.json").read_text())["commit"] == "begin"


def test_tables_of_what_was_never_made(tmp_path: Path) -> None:
    assert tables_of(FIGURES[0], tmp_path) is None

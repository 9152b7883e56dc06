"""``mogro`` for newcomers: help that reads well, and refusals before any work is done."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mogro import cli

TINY = ["--rounds", "10", "--instances", "1", "--repeats", "1", "--workers", "1"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def without(*modules: str) -> str:
    """Return code that hides modules, as if they were not installed."""
    return f"import sys; sys.modules.update(dict.fromkeys({modules}))"


@pytest.mark.parametrize("command", [(), ("reproduce",), ("diagnose",)])
def test_examples_in_the_help_stand_one_per_line(command: tuple[str, ...]) -> None:
    text = run(*command, "--help").output
    assert "\\b" not in text
    assert "\b" not in text
    examples = [line for line in text.splitlines() if "mogro " in line]
    assert len(examples) >= 2
    assert all(line.startswith("  mogro ") and line.count("mogro ") == 1 for line in examples)


@pytest.mark.parametrize("module", ["click", "rich"])
def test_without_the_extra_it_says_what_to_install(module: str) -> None:
    code = f"{without(module)}; from mogro.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith("needs click and rich: pip install 'mogro[lab]'\n")
    assert done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_to_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mogro.cli.working.reproduce", None)  # no work is begun
    (tmp_path / "file").touch()
    refused = run("reproduce", "growth", "--out", tmp_path / "file" / "out")
    assert refused.exit_code == 1
    assert refused.output.startswith("Error: --out: cannot write to")
    assert refused.output.count("\n") == 1


@pytest.mark.slow
def test_only_figures_that_were_asked_for_look_for_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def why_missing(folder: str | None) -> str:
        asked.append(folder)
        return "no data"

    monkeypatch.setattr("mogro.experiments.figures.wine.why_missing", why_missing)
    for arguments in (["reproduce", "growth", *TINY, "--out", tmp_path], ["list"]):
        done = run(*arguments)
        assert done.exit_code == 0, done.output
    assert run("report", "--out", tmp_path).exit_code == 0
    assert asked == []
    page = tmp_path / "report.html"
    assert "Not made here" not in page.read_text(encoding="utf-8")
    assert "wine is left out: no data" in run("reproduce", "wine", "--out", tmp_path).output
    assert asked
    assert "Not made here: no data." in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_it_says_where_the_figures_are_and_what_the_numbers_mean(tmp_path: Path) -> None:
    done = run("reproduce", "growth", *TINY, "--out", tmp_path)
    said = done.output.replace("\n", "")  # however it was wrapped
    for path in (tmp_path / "growth" / "growth.png", tmp_path / "report.html"):
        assert path.is_file()
        assert str(path) in said
    assert "the case that decides" in said
    assert "Of 2 claims checked here" in said

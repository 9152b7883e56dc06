"""``mogro`` for newcomers: help that reads well."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import run

from mogro import __version__, cli


@pytest.mark.parametrize("command", ["diagnose", "evaluate"])
def test_examples_in_the_help_stand_one_per_line(command: str) -> None:
    text = run(cli.main, command, "--help").output
    examples = [line for line in text.splitlines() if f"mogro {command} " in line]
    assert len(examples) >= 2
    assert all(line.startswith(("  mogro ", "usage: mogro ")) for line in examples)
    assert all(len(line) <= 100 for line in text.splitlines())
    assert run(cli.main, "--help").output.count(f"\n    {command} ") == 1


def test_what_it_refuses() -> None:
    assert run(cli.main).exit_code == 2
    assert run(cli.main, "reproduce").exit_code == 2
    assert run(cli.main, "--version").output == f"mogro {__version__}\n"


@pytest.mark.slow
def test_it_needs_nothing_but_the_plain_package(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    log.touch()
    hidden = ("click", "matplotlib", "narwhals", "pandas", "polars", "psycopg", "pyarrow", "rich")
    code = f"import sys; sys.modules.update(dict.fromkeys({hidden})); from mogro.cli import main; "
    done = subprocess.run(
        [sys.executable, "-c", code + "main()", "evaluate", log],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "pip install" in done.stderr
    assert done.stderr.count("\n") == 1

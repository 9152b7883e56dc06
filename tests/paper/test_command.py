"""``python -m paper`` for newcomers: a table that fits, and refusals before any work is done."""

import ast
from pathlib import Path

import pytest
from tests.commands import run

import paper
from mogro.simulation import ConfidenceInterval
from paper import command
from paper.command import main
from paper.report.claims import Claim, higher, lower

TINY = ["--rounds", "10", "--instances", "1", "--repeats", "1", "--workers", "1"]


def test_only_public_names_of_mogro_are_used() -> None:
    for file in Path(paper.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mogro"):
                names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                assert not [name for name in names if name.startswith("_")], file


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_of_claims_fits(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    numbers = [ConfidenceInterval(0.00123, 0.00101, 0.00149), ConfidenceInterval(1, 0.98, 1.02)]
    name = "no regret after exploration with varying contexts, effective Pareto regret"
    setting = "at B = 1 with the paper's exploration"
    claims = [
        Claim(name, "", "", judge([("", number)]), setting=where)
        for judge in (lower, higher)
        for number in numbers
        for where in ("", setting)
    ]
    lines = command._table(claims).splitlines()
    assert max(map(len, lines)) <= columns
    words = " ".join(lines).split()
    assert [words.count(word) for word in ("exploration", "Pareto")] == [8, 8]
    assert sum(line.startswith(" ") for line in lines) == (16 if columns == 80 else 0)
    assert {line[:14].strip() for line in lines if "[" in line} == {
        *("verdict", "reproduced", "not reproduced", "no difference"),
    }


def test_a_folder_that_cannot_be_written_to_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paper.workers.reproduce", None)  # no work is begun
    (tmp_path / "file").touch()
    refused = run(main, "radius", "--out", tmp_path / "file" / "out")
    assert refused.exit_code == 1
    assert refused.output.startswith("Error: --out: cannot write to")
    assert refused.output.count("\n") == 1


@pytest.mark.parametrize(("option", "wrong"), [("--rounds", "9"), ("--workers", "0")])
def test_options_are_checked(option: str, wrong: str) -> None:
    refused = run(main, "radius", option, wrong)
    assert refused.exit_code == 2
    assert f"argument {option}: expected a number from" in refused.output


def test_only_figures_that_were_asked_for_look_for_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def why_missing(folder: str | None) -> str:
        asked.append(folder)
        return "no data"

    monkeypatch.setattr("paper.figures.wine.why_missing", why_missing)
    for arguments in (["radius", *TINY, "--out", tmp_path], ["--list"]):
        done = run(main, *arguments)
        assert done.exit_code == 0, done.output
    assert run(main, "--report", "--out", tmp_path).exit_code == 0
    assert asked == []
    page = tmp_path / "report.html"
    assert "Not made here" not in page.read_text(encoding="utf-8")
    assert "wine is left out: no data" in run(main, "wine", "--out", tmp_path).output
    assert asked
    assert "Not made here: no data." in page.read_text(encoding="utf-8")


def test_it_says_where_the_figures_are_and_what_came_out(tmp_path: Path) -> None:
    done = run(main, "radius", *TINY, "--out", tmp_path)
    for path in (tmp_path / "radius" / "radius.png", tmp_path / "report.html"):
        assert path.is_file()
        assert str(path) in done.output
    assert "claims checked here" in " ".join(done.output.split())

"""Long tables: every number once, under its name, as pandas, polars or CSV."""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mogro
from mogro._intervals import ConfidenceInterval
from mogro.environments import FixedArms
from mogro.experiments.report.claims import Claim, Claims, lower
from mogro.simulation import measures

WORLDS = [FixedArms.sample(3, 8, 2, noise=0.1, rng=np.random.default_rng(i)) for i in range(2)]


def compare(**options: Any) -> mogro.Comparison:
    return mogro.compare(
        {"a & b": mogro.MOGRO, "c": mogro.RandomArm}, WORLDS, rounds=20, repeats=3, **options
    )


def test_a_long_table_has_every_number_once() -> None:
    pytest.importorskip("pandas")
    found = compare(measures=[measures.variance_over_users], checkpoints=[7])
    frame = found.to_frame()
    assert list(frame.columns) == ["policy", "instance", "repeat", "round", "measure", "value"]
    assert len(frame) == 2 * 2 * 3 * 2 * 5
    trace = found.traces["c"]
    rows = frame[(frame.policy == "c") & (frame["round"] == 7)].set_index(
        ["measure", "instance", "repeat"]
    )
    assert rows.loc[("variance_over_users", 1, 2), "value"] == trace.measured[0, 1, 2, 0]
    assert rows.loc[("pareto_regret", 0, 1), "value"] == trace.pareto_regret[0, 0, 1]
    assert rows.loc[("reward_1", 1, 0), "value"] == trace.rewards[0, 1, 0, 1]
    assert len(trace.to_frame()) == len(frame) / 2


def test_what_was_imported_is_taken_else_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    trace = compare().traces["c"]
    monkeypatch.setitem(sys.modules, "pandas", None)  # not there
    assert isinstance(trace.to_frame(), polars.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="a frame needs pandas or polars"):
        trace.to_frame()


def test_csv_gives_the_same_numbers_again(tmp_path: Path) -> None:
    found = compare()
    found.to_csv(tmp_path / "found.csv")
    with open(tmp_path / "found.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    values = [float(row["value"]) for row in rows if row["policy"] == "a & b"]
    assert values == found.traces["a & b"].columns()["value"].tolist()
    found.traces["c"].to_csv(tmp_path / "one.csv")
    assert (
        (tmp_path / "one.csv").read_text().startswith("instance,repeat,round,measure,value\n0,0,")
    )


def test_a_diagnosis_has_its_numbers_under_names(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    found = mogro.diagnose(WORLDS[0].features, WORLDS[0].theta, noise=0.1, rounds=100)
    frame = found.to_frame().set_index("name")["value"]
    assert frame["arms"] == 8
    assert frame["holds"] == found.holds
    assert frame[f"assumptions.{found.assumptions[0].name}.margin"] == found.assumptions[0].margin
    found.to_csv(tmp_path / "diagnosis.csv")
    assert "arms,8.0\n" in (tmp_path / "diagnosis.csv").read_text()


def test_claims_have_a_row_for_each_case(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    numbers = [ConfidenceInterval(0.5, 0.4, 0.6), ConfidenceInterval(2.0, 0.7, 3.1)]
    cases = lower(zip(("small", "large"), numbers, strict=True))
    claims = Claims([("main", Claim("A beats B", "A has less", "ratio, below 1", cases))])
    frame = claims.to_frame().set_index("where")
    assert frame.loc["small", ["value", "low", "high"]].tolist() == [0.5, 0.4, 0.6]
    assert frame["outcome"].tolist() == ["holds", "undecided"]
    assert set(frame["verdict"]) == {"undecided"}
    claims.to_csv(tmp_path / "claims.csv")
    with open(tmp_path / "claims.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == claims.to_frame().columns.tolist()
    assert [float(row["high"]) for row in rows] == [0.6, 3.1]


def test_latex_has_a_row_for_each_policy_and_escapes_names() -> None:
    lines = compare(measures={"a_measure": measures.variance_over_users}).to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrr}"
    assert lines[2] == r"policy & effective Pareto regret & Pareto regret & a measure \\"
    assert lines[4].startswith(r"a \& b & ")
    assert len(lines) == 8

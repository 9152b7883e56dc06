"""Long tables: every number once, under its name, as pandas, polars or CSV."""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mogro
from mogro.comparison import Comparison
from mogro.environments import FixedArms

WORLDS = [FixedArms.sample(3, 8, 2, noise=0.1, rng=np.random.default_rng(i)) for i in range(2)]


def spread(chosen: Any) -> Any:
    return np.ptp(chosen, axis=-1)


def compare(**options: Any) -> Comparison:
    return mogro.compare(
        {"a & b": mogro.MOGRO, "c": mogro.RandomArm}, WORLDS, rounds=20, repeats=3, **options
    )


def test_a_long_table_has_every_number_once() -> None:
    pytest.importorskip("pandas")
    found = compare(measures=[spread], checkpoints=[7])
    frame = found.to_frame()
    assert list(frame.columns) == ["policy", "instance", "repeat", "round", "measure", "value"]
    assert len(frame) == 2 * 2 * 3 * 2 * 5
    trace = found.traces["c"]
    rows = frame[(frame.policy == "c") & (frame["round"] == 7)].set_index(
        ["measure", "instance", "repeat"]
    )
    assert rows.loc[("spread", 1, 2), "value"] == trace.measured[0, 1, 2, 0]
    assert rows.loc[("pareto_regret", 0, 1), "value"] == trace.pareto_regret[0, 0, 1]
    assert rows.loc[("reward_1", 1, 0), "value"] == trace.rewards[0, 1, 0, 1]
    assert len(trace.columns()["value"]) == len(frame) / 2


def test_what_was_imported_is_taken_else_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    found = compare()
    monkeypatch.setitem(sys.modules, "pandas", None)  # not there
    assert isinstance(found.to_frame(), polars.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="data frames need pandas or polars"):
        found.to_frame()


def test_csv_gives_the_same_numbers_again(tmp_path: Path) -> None:
    found = compare()
    found.to_csv(tmp_path / "found.csv")
    with open(tmp_path / "found.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    values = [float(row["value"]) for row in rows if row["policy"] == "a & b"]
    assert values == found.traces["a & b"].columns()["value"].tolist()
    first = (tmp_path / "found.csv").read_text()
    assert first.startswith("policy,instance,repeat,round,measure,value\na & b,0,0,")

"""The command says what other trade-offs would have been worth."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from tests.commands import run
from tests.evaluation.worlds import small_world

from mogro.cli import main


@pytest.mark.slow
def test_command(tmp_path: Path) -> None:
    log = next(small_world().steady_runs(1, 600, np.random.default_rng(0), uniform=0.8))
    folder = tmp_path / "log"
    folder.mkdir()
    parquet.write_table(log.table, folder / "decisions.parquet")
    done = run(main, "evaluate", folder, "--weights", "click=1,subscribe=4")
    assert done.exit_code == 0, done.output
    assert "click 0.2, subscribe 0.8" in done.output
    whole = run(main, "evaluate", folder / "decisions.parquet")
    assert len(whole.output.splitlines()) > 21
    for wrong, words in (
        ("click", "names and numbers"),
        ("clicks=1", "expected objectives"),
        ("click=a", "names and numbers"),
    ):
        refused = run(main, "evaluate", folder, "--weights", wrong)
        assert refused.exit_code != 0
        assert words in refused.output

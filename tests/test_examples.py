"""The examples run, say something, and what they show passes the conformance suites."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from examples import own_policy

import mogro
from mogro.testing import check_environment, check_policy

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)  # whatever an example writes
    monkeypatch.setenv("MPLBACKEND", "Agg")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_own_policy_beside_mogro(tmp_path: Path) -> None:
    found = own_policy.main()
    assert next(iter(found.traces)) == "least pulled"
    assert "least pulled" in repr(found)
    found.save(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").stat().st_size > 10_000
    assert "data:image/png" in found._repr_html_()


def test_own_parts_conform() -> None:
    check_policy(
        lambda d, m, batch: own_policy.LeastPulled(d, m),  # type: ignore[arg-type, return-value]
        batched=False,
        rounds=200,
    )
    check_environment(lambda rng: own_policy.Menu(int(rng.integers(1000))))


def test_compare_refuses_nothing_to_compare() -> None:
    world = mogro.environments.FixedArms(np.eye(2), np.eye(2), noise=0.1)
    with pytest.raises(ValueError, match="policies: expected at least one"):
        mogro.compare({}, world, rounds=10)

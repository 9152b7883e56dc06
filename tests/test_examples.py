"""The examples run, say something, and what they show passes the conformance suites."""

import runpy
from pathlib import Path

import pytest
from examples import own_policy

from mogro.testing import check_environment, check_policy

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)  # whatever an example writes
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("sys.argv", [str(path)])  # not the arguments of the tests
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.slow
def test_own_policy_beside_mogro(tmp_path: Path) -> None:
    found = own_policy.main()
    assert next(iter(found.traces)) == "least pulled"
    assert "least pulled" in repr(found)
    found.save(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").stat().st_size > 10_000
    assert "data:image/png" in found._repr_html_()


def test_own_parts_conform() -> None:
    check_policy(own_policy.LeastPulled, batched=False, rounds=200)
    check_environment(lambda rng: own_policy.Menu(int(rng.integers(1000))))

"""The examples run, say something, and what they show passes the conformance suites."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examples import own_policy

from mogro.testing import check_environment, check_policy

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], dict[str, Any]]:
    """Return a function that runs an example, in a folder of its own, and returns its names."""

    def run(name: str) -> dict[str, Any]:
        path = str(EXAMPLES / f"{name}.py")
        monkeypatch.chdir(tmp_path)  # whatever an example writes
        monkeypatch.setenv("MPLBACKEND", "Agg")
        monkeypatch.setattr("sys.argv", [path])  # not the arguments of the tests
        names = runpy.run_path(path, run_name="__main__")
        assert capsys.readouterr().out
        return names

    return run


OTHERS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "own_policy")


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_example(name: str, run: Callable[[str], dict[str, Any]]) -> None:
    run(name)


@pytest.mark.slow
def test_own_policy_beside_mogro(tmp_path: Path, run: Callable[[str], dict[str, Any]]) -> None:
    comparison = run("own_policy")["comparison"]
    assert next(iter(comparison.traces)) == "least pulled"
    assert "least pulled" in repr(comparison)
    comparison.save(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").stat().st_size > 10_000


def test_own_parts_conform() -> None:
    check_policy(own_policy.LeastPulled, rounds=200)
    check_environment(lambda rng: own_policy.Menu(int(rng.integers(1000))))

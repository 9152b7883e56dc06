"""Comparisons: what they refuse before any work, and intervals and looks that do not mislead."""

import importlib
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mogro
from mogro.comparison import Comparison
from mogro.environments import FixedArms

module = importlib.import_module("mogro.compare")  # the attribute of that name is the function

WORLD = FixedArms.sample(3, 8, 2, noise=0.1, rng=np.random.default_rng(0))


class Own:
    """Always the first arm."""

    answer: object = 0

    def __init__(self, dim: int, objectives: int) -> None: ...

    def select(self, features: Any, *, rng: Any) -> Any:
        return self.answer

    def update(self, features: Any, reward: Any) -> None: ...


class Real(Own):
    answer = 1.0


class WithBatch(Own):
    def __init__(self, dim: int, objectives: int, batch: tuple[int, ...] = ()) -> None: ...


def compare(policies: Any, **options: Any) -> Comparison:
    return mogro.compare(policies, WORLD, **({"rounds": 20, "repeats": 3} | options))


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ({}, r"policies: expected a dict of name to policy class or function, got \{\}"),
        ([mogro.MOGRO], r"policies: expected a dict of name to policy class or function, got \["),
        (mogro.MOGRO, r"policies: expected a dict of name to policy class or function, got <class"),
        ({"a": Own, 1: Own}, r"policies: expected names that are strings, got 1"),
        ({"b": Own, "a": mogro.MOGRO(3, 2)}, r"policies\['a'\]: expected a policy class or func"),
    ],
)
def test_policies_are_checked_before_any_plays(
    policies: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "simulate", None)
    with pytest.raises(ValueError, match=message):
        compare(policies)


@pytest.mark.slow
def test_a_plot_is_saved(tmp_path: Path) -> None:
    found = compare({"a": Own})
    found.save(tmp_path / "plot.PNG")
    found.save(str(tmp_path / "plot.svg"))
    assert {path.name for path in tmp_path.iterdir()} == {"plot.PNG", "plot.svg"}


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            Real,
            r"^policies\['a'\]: expected its policy to select one integer, from 0 to 7, got 1.0$",
        ),
        (
            WithBatch,
            r"^policies\['a'\]: .* in the shape \(1, 3\), from 0 to 7, got 0; its constructor "
            r"takes batch, so it must return one arm for each learner$",
        ),
        (lambda dim, objectives: 1, r"^policies\['a'\]: expected an object with select and update"),
    ],
)
def test_a_wrong_policy_is_named_as_it_was_given(policy: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare({"a": policy})


@pytest.mark.parametrize("worlds", [1, 2])
def test_one_run_has_no_interval(worlds: int) -> None:
    found = mogro.compare({"a": mogro.RandomArm}, [WORLD] * worlds, rounds=20, repeats=1)
    number = found.table["a"]["effective_regret"]
    assert number.value > 0
    assert math.isnan(number.low) == math.isnan(number.high) == (worlds == 1)
    assert ("[" in repr(found)) == (worlds > 1)
    assert f"{number.value:.3g}" in repr(found)


@pytest.mark.slow
def test_intervals_and_bands_of_regrets_do_not_go_below_zero() -> None:
    found = compare({"a": mogro.EpsilonGreedy}, rounds=60, repeats=2)
    for column in ("effective_regret", "pareto_regret"):
        ends = getattr(found.traces["a"], column)[-1, 0]
        value, low, high = found.table["a"][column]
        assert value == pytest.approx(ends.mean())
        half = 12.706 * abs(ends[0] - ends[1]) / 2  # Student's t for two runs
        assert half > value  # unclipped it would go below 0
        assert low == 0
        assert high == pytest.approx(value + half, rel=1e-4)
    for panel in found.plot().axes:
        (band,) = panel.collections
        assert min(np.asarray(path.vertices)[:, 1].min() for path in band.get_paths()) >= 0


def test_without_matplotlib_it_says_what_to_install() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
import numpy as np, mogro
world = mogro.environments.FixedArms(np.eye(2), np.eye(2), noise=0.1)
found = mogro.compare({"MOGRO": mogro.MOGRO}, world, rounds=5)
for call in (found.plot, lambda: found.save("a.png")):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "drawing needs matplotlib: pip install matplotlib\n" * 2


def test_thirty_policies_look_different() -> None:
    axes = compare({f"policy {n}": Own for n in range(30)}).plot().axes
    styles = {
        (line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in axes[0].lines
    }
    assert len(styles) == len(axes[0].lines) == 30
    first = axes[0].lines[:5]
    assert len({line.get_color() for line in first}) == 5
    assert (
        len({str(line.get_linestyle()) for line in first}) == 4
    )  # the fifth has dashes of its own


@pytest.mark.slow
def test_columns_axes_and_width_are_the_callers() -> None:
    from matplotlib.figure import Figure

    def least(means: Any, chosen: Any) -> Any:
        return means.min(axis=(-1, -2)) - chosen.min(axis=-1)

    found = compare({"a": Own, "b": mogro.MOGRO}, measures=[least], checkpoints=[5, 10])
    assert found.columns == ("effective_regret", "pareto_regret", "least")
    assert found.table["a"]["least"].value < 0
    assert "least" in repr(found)
    own = Figure().subplots(1, 2)
    drawing = found.plot(columns=["least", "pareto_regret"], axes=list(own))
    assert drawing is own[0].figure
    assert [axes.get_ylabel() for axes in own] == ["least", "Pareto regret"]
    assert own[0].lines[0].get_xdata().tolist() == [5, 10, 20]
    alone, square = Figure().subplots(), Figure().subplots(2, 1, squeeze=False)
    assert found.plot(columns=["least"], axes=alone) is alone.figure
    assert found.plot(columns=["least", "least"], axes=square) is square[1, 0].figure
    assert len(square[1, 0].lines) == 2
    narrow = found.plot(width=3.4)
    assert narrow.get_figwidth() == pytest.approx(3.4)
    assert len(narrow.axes) == 3
    for options, message in (
        ({"columns": ["x"]}, "columns: expected some of"),
        ({"columns": []}, "columns: expected some of .* got none"),
        ({"axes": list(own)}, "axes: expected 3, one for each column, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            found.plot(**options)


def test_a_probe_sees_the_policies() -> None:
    found = compare({"a": mogro.MOGRO}, probe=lambda policy: policy.theta, checkpoints=[10])
    assert found.traces["a"].probed.shape == (2, 1, 3, 2, 3)


def test_differences_are_taken_pair_by_pair() -> None:
    worlds = [FixedArms.sample(3, 8, 2, noise=0.1, rng=np.random.default_rng(n)) for n in range(5)]
    policies = {"MOGRO": mogro.MOGRO, "first": Own, "random": mogro.RandomArm}
    comparison = mogro.compare(policies, worlds, rounds=30, repeats=2)
    found = comparison.differences("first")
    assert list(found) == ["MOGRO", "random"]
    ends = {name: trace.pareto_regret[-1].mean(axis=1) for name, trace in comparison.traces.items()}
    apart = ends["random"] - ends["first"]
    number = found["random"]["pareto_regret"]
    assert number.value == pytest.approx(apart.mean())
    half = 2.776445 * apart.std(ddof=1) / math.sqrt(5)
    assert (number.high - number.low) / 2 == pytest.approx(half, rel=1e-5)
    with pytest.raises(ValueError, match=r"reference: expected one of \['MOGRO', 'first', 'random"):
        comparison.differences("UCB")


def paid(reward: Any) -> Any:
    """How much of both objectives a round paid, at least."""
    return np.maximum(reward, 0).sum(axis=-1)


def test_intervals_of_what_is_never_negative_are_not_negative() -> None:
    comparison = compare({"first": Own}, measures=[paid], repeats=2, rounds=2)
    low = comparison.table["first"]["paid"].low
    assert low >= 0


@pytest.mark.slow
def test_axes_can_be_logarithmic(tmp_path: Path) -> None:
    comparison = compare({"MOGRO": mogro.MOGRO, "random": mogro.RandomArm}, rounds=50, repeats=3)
    (panel,) = comparison.plot(columns=["pareto_regret"], log="xy").axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    with pytest.raises(ValueError, match="log: expected '', 'x', 'y' or 'xy', got 'z'"):
        comparison.plot(log="z")
    comparison.save(tmp_path / "one.pdf")
    assert b"/Type3" not in (tmp_path / "one.pdf").read_bytes()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_finished_policies_are_kept(tmp_path: Path, workers: int) -> None:
    policies = {"MOGRO": mogro.MOGRO, "wrong": Real, "a random/arm": mogro.RandomArm}
    options: dict[str, Any] = {"folder": tmp_path, "workers": workers}
    with pytest.raises(ValueError, match=r"policies\['wrong'\]: expected its policy to select"):
        compare(policies, **options)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(kept) == workers  # one after the other, or all that were handed out
    policies["wrong"] = Own
    again = compare(policies, **options)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert list(again.traces) == list(policies)
    assert again.table == compare(policies).table
    compare(policies, rounds=21, **options)
    assert len(list(tmp_path.iterdir())) == 6


def test_folder_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="folder: expected a path, got 5"):
        compare({"mine": Own}, folder=5)
    with pytest.raises(ValueError, match="folder: expected a folder, got the file"):
        compare({"mine": Own}, folder=tmp_path / "file")


def test_folders_need_what_can_be_pickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"folder: expected policies\['mine'\], environment"):
        compare({"mine": lambda dim, objectives: Own(dim, objectives)}, folder=tmp_path)


def test_errors_in_a_policy_name_it() -> None:
    class Broken(Own):
        def update(self, features: Any, reward: Any) -> None:
            raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory") as caught:
        compare({"broken": Broken})
    assert caught.value.__notes__ == ["in policies['broken']"]

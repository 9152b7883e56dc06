"""The key of a task covers the code that makes its numbers, found by imports, and no more."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import mogro
from mogro.experiments.figures import FIGURES
from mogro.experiments.lab.scale import Scale
from mogro.simulation._sources import code_digest, import_closure, task_modules

PACKAGE = Path(mogro.__file__).parent
EVERY = {figure.name for figure in FIGURES}
Modules = frozenset[str]


@cache
def modules() -> dict[str, set[Modules]]:
    """Return what tasks of each figure are made of; making them takes seconds."""
    scale = Scale(quick=True, rounds=10)
    return {f.name: {frozenset(task_modules(task)) for task in f.tasks(scale)} for f in FIGURES}


def finder(root: Path) -> Callable[[str], Path | None]:
    @cache
    def find(name: str) -> Path | None:
        place = root / name.replace(".", "/")
        files = (place.with_suffix(".py"), place / "__init__.py")
        return next((file for file in files if file.is_file()), None)

    return find


def keys(find: Callable[[str], Path | None]) -> dict[Modules, str]:
    return {one: code_digest(one, find=find) for several in modules().values() for one in several}


@pytest.fixture(scope="module")
def before() -> dict[Modules, str]:
    return keys(finder(PACKAGE.parent))


def changed(
    path: str, edit: Callable[[str], str], before: dict[Modules, str], folder: Path
) -> set[str]:
    """Return the figures some of whose tasks have another key after an edit of a file."""
    file = PACKAGE / path
    text = file.read_text()
    edited = folder / file.name
    edited.write_text(edit(text))
    assert edited.read_text() != text
    find = finder(PACKAGE.parent)
    after = keys(lambda name: edited if find(name) == file else find(name))
    return {name for name in EVERY if any(after[m] != before[m] for m in modules()[name])}


@pytest.mark.parametrize(
    ("path", "old", "new", "figures"),
    [
        ("experiments/report/page.py", "A small run", "A tiny run", set()),
        ("experiments/report/comparisons.py", "has the lowest", "has lowest", set()),
        ("experiments/figures/main.py", "Bands are", "The bands are", set()),
        ("experiments/lab/regrets.py", "ROUNDS = 1000", "ROUNDS = 999", set()),  # the repr tells
        ("live/agent.py", "def ", "def x() -> None: ...\n\n\ndef ", set()),
        ("linear.py", "np.", "numpy.", EVERY),
        ("linear.py", '"""', '"""Not code: ', set()),
        ("linear.py", "import numpy", "# why\nimport numpy", set()),
        ("pareto/effective.py", "import", "import os\nimport", EVERY),
        ("experiments/lab/probes.py", "_WEIGHTS = 64", "_WEIGHTS = 65", None),
        ("experiments/lab/fairness.py", "_EVERY = 5", "_EVERY = 4", {"fairness", "guarantees"}),
        ("experiments/lab/timing.py", "_TURNS = 20", "_TURNS = 21", {"main", "time", "arms"}),
        (
            "experiments/lab/goodness.py",
            "gamma: float = 0.99",
            "gamma: float = 0.9",
            {"conditions"},
        ),
        ("theory/contexts.py", "samples", "draws", {"conditions"}),
    ],
)
def test_what_an_edit_does_again(
    path: str,
    old: str,
    new: str,
    figures: set[str] | None,
    before: dict[Modules, str],
    tmp_path: Path,
) -> None:
    again = changed(path, lambda text: text.replace(old, new, 1), before, tmp_path)
    if figures is None:
        assert {"main", "varying", "growth"} <= again
        assert "time" not in again
    else:
        assert again == figures


@pytest.mark.parametrize("name", sorted(EVERY))
def test_no_task_depends_on_how_it_is_told(name: str) -> None:
    roots = {module for several in modules()[name] for module in several}
    told = ("mogro.experiments.figures", "mogro.experiments.report", "mogro.cli", "mogro.live")
    closure = import_closure(roots)
    assert "mogro" not in closure
    assert not [module for module in closure if module.startswith(told)]


def test_imports_are_followed_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name, text in {
        "__init__": "import a.never",
        "root": "from . import inner\nfrom a.package import thing\nimport numpy",
        "inner": "def f():\n    import a.late",
        "late": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a.never",
        "package": "",
        "never": "",
    }.items():
        (tmp_path / "a" / f"{name}.py").write_text(text)
    closure = import_closure(["a.root"], find=finder(tmp_path))
    assert set(closure) == {"a.root", "a.inner", "a.package", "a.late"}


def test_files_beside_a_module_of_ones_own_count(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "other").mkdir()
    for name, code in (
        ("mine/policy.py", "import os, numpy\nimport helper\nfrom parts import deep"),
        ("mine/helper.py", "x = 1"),
        ("mine/parts.py", "deep = 1"),
        ("mine/unused.py", ""),
        ("other/numpy.py", "import helper"),
    ):
        (tmp_path / name).write_text(code)
    places = finder(tmp_path / "mine"), finder(tmp_path / "other")

    def find(name: str) -> Path | None:
        return next((file for file in (place(name) for place in places) if file), None)

    assert set(import_closure(["policy"], find=find)) == {"policy", "helper", "parts"}

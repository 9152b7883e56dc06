"""What `import mogro` gives, and what it does not load."""

import ast
import inspect
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import pytest

import mogro
from mogro.environments import Environment
from mogro.exploration import Exploration
from mogro.policies import Policy
from mogro.scalarization import Scalarization

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there() -> None:
    assert len(set(mogro.__all__)) == len(mogro.__all__)
    assert all(hasattr(mogro, name) for name in mogro.__all__)


def test_no_other_name_is_there() -> None:
    assert set(mogro.__all__) <= set(dir(mogro))
    with pytest.raises(AttributeError, match="module 'mogro' has no attribute 'nothing'"):
        mogro.nothing  # type: ignore[attr-defined] # noqa: B018


def test_every_public_name_is_in_the_reference() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs/reference").glob("*.md"))
    names = {name for name in mogro.__all__ if not inspect.ismodule(getattr(mogro, name))}
    assert not {name for name in names if not re.search(rf"\b{name}\b", pages)} - {"__version__"}


def test_the_version_is_said_once() -> None:
    assert mogro.__version__ == version("mogro")
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == mogro.__version__


def test_protocols_are_in_their_modules() -> None:
    for protocol in (Policy, Environment, Scalarization, Exploration):
        assert Protocol in protocol.__bases__


def test_every_exception_is_in_one_place() -> None:
    kinds = {
        (name, kind)
        for module in (mogro, mogro.agent, mogro.simulation, mogro.environments, mogro.theory)
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and not issubclass(kind, Warning)
    }
    assert kinds
    assert all(getattr(mogro.errors, name, None) is kind for name, kind in kinds)


def test_importing_it_loads_nothing_heavy_and_brings_the_checks() -> None:
    code = """
import sys
import mogro
rooms = {"mogro.agent", "mogro.evaluation", "mogro.offpolicy", "mogro.testing", "mogro.theory"}
assert not rooms & sys.modules.keys()
assert callable(mogro.testing.check_policy)
print(*{name.partition(".")[0] for name in sys.modules})
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"click", "distributed", "hypothesis", "matplotlib", "moocore", "rich", "scipy"}
    heavy |= {"http", "msgspec", "prometheus_client", "starlette", "uvicorn"}
    assert not heavy & set(answer.stdout.split())


def identifiers(tree: ast.AST) -> set[str]:
    """Return the names of modules, classes, functions, arguments, attributes and variables."""
    nodes = list(ast.walk(tree))
    fields = ("name", "arg", "attr", "id", "module")
    names = [getattr(node, field, None) for node in nodes for field in fields]
    return {part for name in names if isinstance(name, str) for part in name.split(".")}


def documented(docstring: str) -> set[str]:
    """Return what a docstring lists as parameters and attributes."""
    titles = r"(?:^|\n)(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)"
    lists = re.findall(titles, docstring, flags=re.DOTALL)
    lines = re.findall(r"^[a-z]\w*(?:, \w+)*$", "\n".join(lists), flags=re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


def test_docstrings_name_what_is_there() -> None:
    """What is listed or referred to has that name in the code; settings of Agent are elsewhere."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in (ROOT / "src").rglob("*.py")}
    everything = set().union(*map(identifiers, trees.values())) | {p.stem for p in trees}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                continue
            docstring = ast.get_docstring(node) or ""
            roles = re.findall(r":\w+:`~?([\w.]+)`", docstring)
            unknown = {role.split(".")[-1] for role in roles} - everything
            if getattr(node, "name", None) != "Agent":
                unknown |= documented(docstring) - identifiers(node)
            assert not unknown, f"{path.name}: {getattr(node, 'name', 'module')}"

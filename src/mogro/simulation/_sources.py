"""Which code makes the numbers of a task: found by the imports of what it is made of."""

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

Find = Callable[[str], Path | None]
_INSTALLED = ("site-packages", "dist-packages")


@cache
def find_source(module: str) -> Path | None:
    """Return the file of a module; None if there is none, or no such module."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # a part of it is no package; __main__ has no spec
        spec = None
    file = spec.origin if spec is not None else getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file is not None and file.endswith(".py") else None


def task_modules(task: object) -> set[str]:
    """Return the modules of the class of a task and of everything that its fields hold."""
    if isinstance(task, list | tuple):
        return {name for item in task for name in task_modules(item)}
    if isinstance(task, FunctionType | type):
        return {task.__module__}
    found = {type(task).__module__}
    if is_dataclass(task):
        found |= task_modules([getattr(task, field.name) for field in fields(task)])
    return found - {"builtins"}


def import_closure(roots: Iterable[str], *, find: Find = find_source) -> dict[str, Path]:
    """Return modules, and all that they import in turn, with their files.

    Imports are followed within the packages of the roots, to files beside a root that is in no
    package, and within mogro; everything else counts by its version. A package counts if something
    is imported from it, not because a module lies in it. What is imported for type checkers only
    makes no numbers.
    """
    waiting = list(roots)
    packages = {name.partition(".")[0] for name in waiting} | {"mogro"}
    alone = (find(name) for name in waiting if "." not in name)
    beside = {file.parent for file in alone if file is not None and file.name != "__init__.py"}
    beside = {folder for folder in beside if folder.name not in _INSTALLED}
    found: dict[str, Path] = {}
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        top = name.partition(".")[0]
        file = find(name) if top in packages or _folder(top, find) in beside else None
        if file is not None:
            found[name] = file
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            for relative, names in _read(file.read_bytes()).imports:
                base = resolve_name(relative, package)
                inner = [f"{base}.{name}" for name in names]
                waiting += [one if find(one) is not None else base for one in inner] or [base]
    return found


def _folder(top: str, find: Find) -> Path | None:
    """Return where a module or package lies that is in no other; None if nowhere."""
    file = find(top)
    if file is None:
        return None
    return file.parent.parent if file.name == "__init__.py" else file.parent


def code_digest(roots: Iterable[str], *, find: Find = find_source) -> str:
    """Return a digest of the code of modules and of all that they import, without its comments."""
    digest = hashlib.sha256()
    for name, file in sorted(import_closure(roots, find=find).items()):
        digest.update(f"{name}\n{_read(file.read_bytes()).code}\n".encode())
    return digest.hexdigest()


class _Source(NamedTuple):
    """Code without comments and docstrings, and its imports: modules, and names from them."""

    code: str
    imports: list[tuple[str, list[str]]]


@cache
def _read(content: bytes) -> _Source:
    tree = ast.parse(content)
    imports: list[tuple[str, list[str]]] = []
    for node in _at_run_time(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            imports.append((relative, [alias.name for alias in node.names]))
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Pass()
    return _Source(ast.unparse(tree), imports)


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """Go through a syntax tree without what is there for type checkers only."""
    yield node
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        children: Iterable[ast.AST] = node.orelse
    else:
        children = ast.iter_child_nodes(node)
    for child in children:
        yield from _at_run_time(child)

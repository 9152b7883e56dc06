"""How large the package is: lines of code without docstrings, comments and blanks, files, names.

Run with ``python -m benchmarks.size``.
"""

import ast
import io
import tokenize
from pathlib import Path

import mogro

_ROOT = Path(mogro.__file__).parent
_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            text = node.body[0]
            lines.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def main() -> None:
    rooms: dict[str, int] = {}
    files: list[tuple[int, str]] = []
    functions: list[tuple[int, str]] = []
    for path in sorted(_ROOT.rglob("*.py")):
        source, name = path.read_text(encoding="utf-8"), path.relative_to(_ROOT)
        lines = code_lines(source)
        room = name.parts[0] if len(name.parts) > 1 else "."
        rooms[room] = rooms.get(room, 0) + len(lines)
        files.append((len(lines), str(name)))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                inside = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
                functions.append((len(lines & inside), f"{name}: {node.name}"))
    print(f"{sum(rooms.values()):,} lines of code in {len(files)} files")
    print(", ".join(f"{room} {size:,}" for room, size in sorted(rooms.items())))
    print(f"{len(mogro.__all__)} public names")
    for kind, sizes in (("file", files), ("function", functions)):
        longest = ", ".join(f"{name} {size}" for size, name in sorted(sizes, reverse=True)[:3])
        print(f"longest {kind}s: {longest}")


if __name__ == "__main__":
    main()

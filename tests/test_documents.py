"""The code in README and docs runs, prints what the document says, and draws its pictures."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest
from docs import blocks

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts),
]


QUICK = {"README.md", "combinatorial.md", "first.md", "front.md", "policy.md"}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.name in QUICK else pytest.mark.slow)
        for path in DOCUMENTS
    ],
    ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS],
)
def test_code(path: Path, tmp_path: Path) -> None:
    """A ``text`` block is what the block before it prints; pictures are drawn by the blocks."""
    for wrong in blocks.run(path, tmp_path):
        assert wrong.printed == wrong.expected
    for name in blocks.pictures(path):
        assert name.startswith(f"{path.stem}/")
        assert (tmp_path / Path(name).name).is_file()


def links(path: Path) -> list[str]:
    """Return where a document links to within the repository, but for pictures of the site."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [t for t in targets if "://" not in t and "_build/pictures" not in t]


def headings(path: Path) -> set[str]:
    """Return the anchors that the headings of a document make."""
    titles = re.findall(r"^#+ +(.+)$", path.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "path", sorted({*DOCUMENTS, *ROOT.glob("*.md")}), ids=lambda path: str(path.relative_to(ROOT))
)
def test_links_lead_somewhere(path: Path) -> None:
    for link in links(path):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        assert not anchor or anchor in headings(target), link


@pytest.mark.parametrize("path", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_names_of_the_api_exist(path: Path) -> None:
    text = path.read_text()
    for name in re.findall(r"\{py:\w+\}`(?:[^`<]*<)?~?([\w.]+)>?`", text):
        resolve_name(name)
    for name, options in re.findall(r"^\.\. auto\w+:: (\S+)\n((?:   :.*\n)*)", text, re.MULTILINE):
        documented = resolve_name(name)
        for member in re.findall(r"\w+", "".join(re.findall(r":members:(.*)", options))):
            known = hasattr(documented, member)
            assert known or member in documented.__annotations__, f"{name}.{member}"


def test_a_wrong_output_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    (wrong,) = blocks.run(page, tmp_path)
    assert (wrong.expected, wrong.printed) == ("2\n", "1\n")
    blocks.rewrite(page)
    assert page.read_text().endswith("```text\n1\n```\n")
    assert not [*blocks.run(page, tmp_path)]

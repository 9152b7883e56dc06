"""The page opens by itself, and says first what is wrong; so does the command."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.commands import run
from tests.evaluation.worlds import OBJECTIVES, make_table, one_sided_table, small_world

import mogro
from mogro import Objective
from mogro.cli import main
from mogro.evaluation import make_page

_VOID = {"meta", "br", "img"}


class Checker(HTMLParser):
    """Refuses what is not closed, and what would have to be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {"src", "href"} & {name for name, _ in attrs}
        self.seen.append(tag)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.text.append(data)


def read(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert not any(word == "nan" for each in checker.text for word in each.split())
    return checker


@pytest.fixture(scope="module")
def table() -> pa.Table:
    run = next(small_world().steady_runs(1, 600, np.random.default_rng(0), uniform=0.8))
    days = np.linspace(0, 5 * 86400, 600)
    return run.table.set_column(1, "time", pa.array(days))


@pytest.mark.slow
def test_page(table: pa.Table) -> None:
    checker = read(make_page(table, [{"click": 1, "subscribe": 0.1}]))
    words = " ".join(checker.text)
    for expected in ("effective size", "pairs of trade"):
        assert expected in words
    assert checker.seen.count("svg") == 1


@pytest.mark.slow
def test_only_what_can_be_trusted_is_drawn_if_anything_can() -> None:
    rng = np.random.default_rng(0)
    n = 600
    # The second arm, which one trade-off wants, was seldom chosen.
    chosen = (rng.random(n) < 0.02).astype(int)
    log = make_table(
        OBJECTIVES,
        rewards=rng.random((n, 2)),
        propensities=np.where(chosen, 0.02, 0.98),
        chosen=chosen,
        offered=[["a", "b"]] * n,
        estimates=np.tile([[1.0, 0.0], [0.0, 1.0]], (n, 1, 1)),
        features=np.tile(np.eye(2), (n, 1, 1)),
    )
    asked = [{"click": 1.0}, {"subscribe": 1.0}]
    trusted = mogro.what_if(log, asked).trusted
    assert trusted.tolist() == [True, False]
    words = read(make_page(log, asked)).text
    several = len(mogro.what_if(log).trade_offs)
    (caption,) = [one for one in words if one.endswith(", and where they may be")]
    count = int(caption.split(": ")[1].split()[0])
    assert "trade-offs that can be trusted" in caption
    assert 1 <= count < several


@pytest.mark.slow
def test_names_are_escaped() -> None:
    n = 50
    rng = np.random.default_rng(0)
    names = [Objective("<b>a</b>"), Objective("b & c"), Objective('"d"')]
    log = make_table(
        names,
        rewards=rng.random((n, 3)),
        propensities=np.full(n, 0.5),
        chosen=rng.integers(2, size=n),
        offered=[["a", "b"]] * n,
        estimates=rng.random((n, 2, 3)),
        features=np.zeros((n, 2, 1)),
        times=np.full(n, np.nan),
    )
    page = make_page(log)
    assert "<b>" not in page
    assert read(page).seen.count("svg") == 3  # pairs


def test_no_support_comes_first() -> None:
    log = one_sided_table()
    words = read(make_page(log, [{"subscribe": 1}])).text
    shown = [each for each in words if "{" not in each]
    assert shown[:2] == ["What if", "What if"]  # the title, and the heading
    assert shown[2].startswith("NO SUPPORT")


@pytest.mark.slow
def test_command(table: pa.Table, tmp_path: Path) -> None:
    folder, page = tmp_path / "log", tmp_path / "page.html"
    folder.mkdir()
    parquet.write_table(table, folder / "decisions.parquet")
    asked = ["evaluate", str(folder), "--weights", "click=1,subscribe=4", "--html", str(page)]
    done = run(main, *asked)
    assert done.exit_code == 0, done.output
    assert "click 0.2, subscribe 0.8" in done.output
    read(page.read_text())
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

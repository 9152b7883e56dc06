"""The small parts: tables that survive CSV, intervals, claims and their verdicts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mogro.experiments import statistics, table
from mogro.experiments.claims import Claim, above, as_table, below
from mogro.experiments.statistics import Interval

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1).map(
    lambda text: f"w{text}"
)
ROWS = st.lists(
    st.tuples(WORDS, st.integers(-(2**40), 2**40), st.floats(allow_nan=False)), min_size=1
)


@settings(max_examples=30, deadline=None)
@given(rows=ROWS)
def test_csv_gives_the_very_same_numbers(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, float]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    before = table.table(("word", "whole", "real"), rows)
    table.write(path, before)
    after = table.read(path)
    assert list(after) == ["word", "whole", "real"]
    assert after["word"].tolist() == [row[0] for row in rows]
    assert after["whole"].tolist() == [row[1] for row in rows]
    assert np.array_equal(after["real"], np.array([row[2] for row in rows]))


def test_select_and_distinct() -> None:
    data = table.table(("a", "b"), [("x", 1), ("y", 2), ("x", 3)])
    assert table.select(data, a="x")["b"].tolist() == [1, 3]
    assert table.distinct(data, "a") == [("x",), ("y",)]


def test_bands_cover_the_mean_as_often_as_they_say() -> None:
    draws = np.random.default_rng(0).standard_normal((4000, 10))
    _, low, high = statistics.band(draws)
    assert 0.935 < float(((low <= 0) & (high >= 0)).mean()) < 0.965
    assert statistics.mean(np.array([2.0])) == Interval(2.0, 2.0, 2.0)


def test_ratios_are_paired() -> None:
    below_ = np.random.default_rng(1).random(10) + 0.5
    number = statistics.ratio(3 * below_, below_)
    assert number == pytest.approx((3.0, 3.0, 3.0))
    assert statistics.ratio(np.zeros(4), np.ones(4)) == Interval(0.0, 0.0, 0.0)
    assert statistics.ratio(np.ones(3), np.zeros(3)).value == np.inf


def test_verdicts_follow_from_the_intervals() -> None:
    low, high, wide = Interval(0.5, 0.4, 0.6), Interval(1.5, 1.4, 1.6), Interval(0.9, 0.5, 1.3)

    def verdict(*numbers: Interval) -> str:
        cases = below(1.0, [(str(n), number) for n, number in enumerate(numbers)])
        return Claim("a", "b", "c", cases, varies="luck").verdict

    assert verdict(low, low) == "reproduced"
    assert verdict(high, wide) == "not reproduced"
    assert verdict(low, wide) == "depends on luck (1 of 2)"
    assert [case.holds for case in above(1.0, [("x", high), ("y", wide)])] == [True, False]
    claim = Claim("a", "b", "c", below(1.0, [("x", low), ("y", high)]))
    assert claim.closest.where == "y"
    assert as_table([("figure", claim)])["holds"].tolist() == ["True", "False"]

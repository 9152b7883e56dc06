"""The small parts: tables that survive CSV, intervals, claims and their verdicts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mogro.experiments import statistics, table
from mogro.experiments.claims import Claim, above, as_table, below, within
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
    alone = statistics.mean(np.array([2.0]))
    assert alone.value == 2.0
    assert not alone.known


@pytest.mark.parametrize("n", [3, 5, 10])
def test_ratios_cover_the_truth_as_often_as_they_say(n: int) -> None:
    rng = np.random.default_rng(n)
    shared = rng.lognormal(0, 0.3, (2000, n))
    one, two, three, four = (shared * rng.lognormal(0, 0.3, (2000, n)) for _ in range(4))

    def covered(numbers: list[Interval]) -> float:
        return float(np.mean([number.low <= 1 <= number.high for number in numbers]))

    # First order only: a little less where values are skewed, as they are here.
    assert 0.91 < covered(list(map(statistics.ratio, one, two))) < 0.97
    assert 0.91 < covered(list(map(statistics.double_ratio, one, two, three, four))) < 0.97
    means = one / np.exp(0.09)  # whose mean is 1
    assert 0.91 < covered(list(map(statistics.positive_mean, means))) < 0.97


def test_ratios_are_paired() -> None:
    below_ = np.random.default_rng(1).random(10) + 0.5
    assert statistics.ratio(3 * below_, below_) == pytest.approx((3.0, 3.0, 3.0))
    again = statistics.double_ratio(6 * below_, below_, 3 * below_, below_)
    assert again == pytest.approx((2.0, 2.0, 2.0))


def test_ratios_of_zeros_and_of_one_instance() -> None:
    assert statistics.ratio(np.zeros(4), np.ones(4)) == Interval(0.0, 0.0, 0.0)
    assert statistics.ratio(np.ones(3), np.zeros(3)) == Interval(np.inf, np.inf, np.inf)
    assert not statistics.ratio(np.zeros(3), np.zeros(3)).known
    alone = statistics.ratio(np.array([6.0]), np.array([2.0]))
    assert alone.value == 3.0
    assert not alone.known


@given(values=st.lists(st.floats(0, 1e6), min_size=2, max_size=8))
def test_means_of_what_is_never_negative_have_intervals_above_zero(values: list[float]) -> None:
    value, low, high = statistics.positive_mean(np.array(values))
    assert 0 <= low <= value <= high
    assert (low > 0) == (value > 0)


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
    assert as_table([("figure", claim)])["outcome"].tolist() == ["holds", "fails"]
    near = Interval(0.9, 0.85, 0.95)
    assert Claim("a", "b", "c", below(1.0, [("x", low), ("y", near)])).closest.where == "y"
    fitting = within(0.4, 1.0, [("x", low), ("y", wide)])
    assert [case.holds for case in fitting] == [True, False]


def test_nobody_can_tell_without_an_interval() -> None:
    alone = statistics.ratio(np.array([1.0]), np.array([2.0]))
    good = Interval(0.5, 0.4, 0.6)

    def verdict(*numbers: Interval) -> str:
        cases = below(1.0, [(str(n), number) for n, number in enumerate(numbers)])
        return Claim("a", "b", "c", cases).verdict

    assert verdict(alone, alone) == "too few runs"
    assert verdict(alone, good) == "too few runs (1 of 2 cases)"

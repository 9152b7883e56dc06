"""The small parts: tables that survive CSV, intervals, claims and their verdicts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from mogro.simulation import ConfidenceInterval as Interval
from mogro.simulation import band
from paper.lab import tables
from paper.report import statistics
from paper.report.claims import (
    Case,
    Claim,
    Claims,
    above,
    alike,
    below,
    certain,
    conclude,
    higher,
    lower,
    rarely,
)

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1).map(
    lambda text: f"w{text}"
)
ROWS = st.lists(
    st.tuples(WORDS, st.integers(-(2**40), 2**40), st.floats(allow_nan=False)), min_size=1
)


@examples(30)
@given(rows=ROWS)
def test_csv_gives_the_very_same_numbers(rows: list[tuple[str, int, float]]) -> None:
    after = tables.from_csv(tables.to_csv(tables.table(("word", "whole", "real"), rows)))
    assert list(after) == ["word", "whole", "real"]
    assert after["word"].tolist() == [row[0] for row in rows]
    assert after["whole"].tolist() == [row[1] for row in rows]
    assert np.array_equal(after["real"], np.array([row[2] for row in rows]))


def test_select_and_distinct() -> None:
    data = tables.table(("a", "b"), [("x", 1), ("y", 2), ("x", 3)])
    assert tables.select(data, a="x")["b"].tolist() == [1, 3]
    assert tables.distinct(data, "a") == [("x",), ("y",)]


def test_bands_cover_the_mean_as_often_as_they_say() -> None:
    draws = np.random.default_rng(0).standard_normal((4000, 10))
    _, low, high = band(draws)
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


LOW, HIGH, WIDE = Interval(0.5, 0.4, 0.6), Interval(1.5, 1.4, 1.6), Interval(0.9, 0.5, 1.3)
NEAR, ALONE = Interval(0.96, 0.93, 0.99), Interval(0.5, np.nan, np.nan)
BORDER = Interval(0.92, 0.86, 0.98)


def outcomes(cases: list[Case]) -> list[str]:
    return [str(case.outcome) for case in cases]


def test_one_rule_for_all_cases() -> None:
    numbers = [("", number) for number in (LOW, HIGH, WIDE, NEAR, BORDER, ALONE)]
    undecided = "undecided"
    assert outcomes(below(1.0, numbers)) == [
        "holds",
        "fails",
        undecided,
        "holds",
        "holds",
        undecided,
    ]
    assert outcomes(above(1.0, numbers)) == [
        "fails",
        "holds",
        undecided,
        "fails",
        "fails",
        undecided,
    ]
    same = "no difference"
    assert outcomes(lower(numbers)) == ["holds", "fails", undecided, same, "holds", undecided]
    assert outcomes(higher(numbers)) == ["fails", "holds", undecided, same, "fails", undecided]
    assert outcomes(alike(numbers)) == ["fails", "fails", undecided, "holds", undecided, undecided]
    assert outcomes([certain("", WIDE, True), certain("", WIDE, False)]) == ["holds", "fails"]
    assert outcomes([certain("", ALONE, True)]) == ["undecided"]


bounds = st.floats(0.01, 10)


@given(low=bounds, width=st.floats(0, 5), limit=bounds)
def test_an_interval_around_the_limit_is_undecided_and_sides_mirror(
    low: float, width: float, limit: float
) -> None:
    number = Interval(low + width / 2, low, low + width)
    (under,), (over,) = below(limit, [("", number)]), above(limit, [("", number)])
    if low < limit < low + width:
        assert (under.outcome, over.outcome) == ("undecided", "undecided")
    elif low != limit != low + width:
        assert {under.outcome, over.outcome} == {"holds", "fails"}


def claim(*numbers: Interval, setting: str = "", headline: bool = False) -> Claim:
    cases = lower([(str(n), number) for n, number in enumerate(numbers)])
    return Claim("a", "b", "c", cases, setting=setting, headline=headline)


def test_verdicts_follow_from_the_cases() -> None:
    assert claim(LOW, LOW).verdict == "reproduced"
    assert claim(HIGH, LOW).verdict == "not reproduced"
    assert claim(NEAR, LOW).verdict == "not reproduced"
    assert claim(LOW, WIDE).verdict == "undecided"
    assert claim(WIDE, HIGH).verdict == "not reproduced"
    assert claim(LOW, ALONE).verdict == "undecided"
    assert claim(LOW, WIDE, WIDE).tally == "holds in 1, undecided in 2 cases"
    table = Claims([("figure", claim(LOW, HIGH, WIDE))]).columns()
    assert table["outcome"].tolist() == ["holds", "fails", "undecided"]
    assert set(table["verdict"]) == {"not reproduced"}


def test_the_case_that_decides_is_quoted() -> None:
    assert claim(LOW, HIGH, WIDE).closest.number == HIGH
    assert claim(LOW, WIDE).closest.number == WIDE
    assert claim(LOW, BORDER).closest.number == BORDER


def test_the_conclusion_says_on_which_setting_it_depends() -> None:
    one = claim(LOW, setting="at X", headline=True)
    two = claim(LOW, HIGH, setting="at Y", headline=True)
    said = conclude([one, two, claim(WIDE)])
    assert said == (
        "That MOGRO has the lowest regrets is reproduced at X, not reproduced (0 of 1 claims hold) "
        "at Y, and the paper does not give B; of 3 claims checked here 1 is reproduced, 1 is not "
        "reproduced and 1 is undecided."
    )
    both = conclude([one, claim(LOW, setting="at Y", headline=True)])
    assert both.startswith("That MOGRO has the lowest regrets is reproduced at X and at Y; of 2")


def test_checks_are_no_claims() -> None:
    check = Claim("a", "b", "c", lower([("there", LOW)]), check=True)
    assert conclude([claim(LOW), check]).startswith("Of 1 claim checked here 1 is reproduced")
    assert conclude([claim(LOW), check]).endswith("; 1 of 1 checks of the code pass.")


def test_rare_events_are_undecided_until_the_interval_is_small() -> None:
    few, many = Interval(0.0, 0.0, 0.52), Interval(0.0, 0.0, 0.001)
    often = Interval(0.3, 0.2, 0.4)
    assert rarely("there", [(few, 0.01)]).outcome == "undecided"
    assert rarely("there", [(many, 0.01)]).outcome == "holds"
    assert rarely("there", [(many, 0.01), (few, 0.01)]).outcome == "undecided"
    assert rarely("there", [(many, 0.01), (often, 0.01)]).outcome == "fails"
    assert rarely("there", [(many, 0.01), (often, 0.01)]).number == often

"""Runs that are too small to tell say so."""

from pathlib import Path

import pytest
from tests.paper.test_parallel import Here

from paper.figures import FIGURES
from paper.lab.reproduce import reproduce
from paper.lab.scale import Scale
from paper.report.drawings import draw
from paper.report.page import collect_claims, write_report

SINGLE = Scale(instances=1, repeats=1, rounds=30)


@pytest.mark.parametrize(
    ("scale", "smaller"),
    [
        (Scale(), False),
        (Scale(rounds=1000), False),
        (Scale(rounds=999), True),
        (Scale(instances=9), True),
        (Scale(instances=11), False),
        (Scale(repeats=19), True),
        (Scale(instances=10, repeats=20, quick=True), True),
    ],
)
def test_what_is_smaller_than_a_full_run(scale: Scale, smaller: bool) -> None:
    assert scale.smaller_than_own(1000, (10, 20)) == smaller


def test_one_instance_decides_nothing(tmp_path: Path) -> None:
    sampled = [f for f in FIGURES if f.name in ("varying", "threshold", "radius")]
    reproduce(sampled, SINGLE, executor=Here(), out=tmp_path)
    for figure in sampled:
        draw(figure, tmp_path)
    page = write_report(FIGURES, tmp_path).read_text(encoding="utf-8")
    assert "A small run" in page
    summary = page.split("<h2", 2)[1]
    assert "no interval" in summary
    assert "nan" not in summary
    assert {claim.verdict for _, claim in collect_claims(sampled, tmp_path)} == {"undecided"}

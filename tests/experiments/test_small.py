"""Runs that are too small to tell say so."""

from pathlib import Path

import pytest
from tests.simulation.test_parallel import Here

from mogro.experiments.figures import FIGURES
from mogro.experiments.report import claims_of, write_report
from mogro.experiments.reproduce import reproduce
from mogro.experiments.scale import Scale

SINGLE = Scale(instances=1, repeats=1, rounds=30)


@pytest.mark.parametrize(
    ("scale", "smaller"),
    [
        (Scale(), False),
        (Scale(rounds=1000), False),
        (Scale(rounds=999), True),
        (Scale(instances=9), True),
        (Scale(repeats=19), True),
        (Scale(instances=10, repeats=20, quick=True), True),
    ],
)
def test_what_is_smaller_than_in_the_paper(scale: Scale, smaller: bool) -> None:
    assert scale.smaller_than_paper(1000) == smaller


def test_one_instance_decides_nothing(tmp_path: Path) -> None:
    sampled = [f for f in FIGURES if f.name in ("fixed", "varying", "growth", "hard", "threshold")]
    reproduce(sampled, SINGLE, executor=Here(), out=tmp_path)
    page = write_report(FIGURES, tmp_path).read_text(encoding="utf-8")
    assert "A small run" in page
    summary = page.split("<h2", 2)[1]
    assert "no interval" in summary
    assert "nan" not in summary
    verdicts = {claim.verdict.split(" (")[0] for _, claim in claims_of(sampled, tmp_path)}
    assert verdicts == {"too few runs"}

"""All figures, in the order of the report: a new one is a file of its own and a line here."""

from paper.figures import (
    evidence,
    fairness,
    fixed,
    guarantees,
    hard_instances,
    main,
    many_arms,
    radius,
    running_time,
    threshold,
    varying,
    wine,
)
from paper.report.figure import Figure

FIGURES: tuple[Figure, ...] = (
    main.FIGURE,
    fixed.FIGURE,
    varying.FIGURE,
    running_time.FIGURE,
    fairness.FIGURE,
    wine.FIGURE,
    threshold.FIGURE,
    radius.FIGURE,
    many_arms.FIGURE,
    hard_instances.FIGURE,
    evidence.FIGURE,
    guarantees.FIGURE,
)

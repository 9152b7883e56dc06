"""All figures, in the order of the report: a new one is a file of its own and a line here."""

from mogro.experiments.figures import (
    commit,
    conditions,
    evidence,
    fairness,
    fixed,
    growth,
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
from mogro.experiments.report.figure import Figure

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
    growth.FIGURE,
    commit.FIGURE,
    evidence.FIGURE,
    guarantees.FIGURE,
    conditions.FIGURE,
)

"""The paper's experiments, and some beyond it: one file a figure, claims, and the report."""

from mogro.experiments import (
    fairness,
    fixed,
    growth,
    hard_instances,
    main,
    many_arms,
    radius,
    running_time,
    threshold,
    varying,
    wine,
)
from mogro.experiments.figure import Figure
from mogro.experiments.scale import Scale

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
)

__all__ = ["FIGURES", "Figure", "Scale"]

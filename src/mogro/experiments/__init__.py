"""The paper's experiments, and some beyond it: one file a figure, claims, and the report."""

from mogro.experiments import main, running_time
from mogro.experiments.figure import Figure
from mogro.experiments.scale import Scale

FIGURES: tuple[Figure, ...] = (
    main.FIGURE,
    running_time.FIGURE,
)

__all__ = ["FIGURES", "Figure", "Scale"]

"""The paper's conditions, constants and bounds as functions."""

from mogro.theory.conditions import goodness_needed, radius_cap

__all__ = ["goodness_needed", "radius_cap"]

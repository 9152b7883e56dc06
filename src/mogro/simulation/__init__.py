"""Policies in environments: one run, or many in lockstep, recorded and repeatable to the bit."""

from mogro.simulation._learners import MakePolicy
from mogro.simulation.run import Purpose, simulate, stream
from mogro.simulation.trace import Trace, join

__all__ = ["MakePolicy", "Purpose", "Trace", "join", "simulate", "stream"]

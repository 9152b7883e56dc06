"""Policies in environments: one run, or many in lockstep, recorded and repeatable to the bit."""

from mogro.simulation.run import MakePolicy, Purpose, simulate, stream
from mogro.simulation.trace import Trace, join

__all__ = ["MakePolicy", "Purpose", "Trace", "join", "simulate", "stream"]

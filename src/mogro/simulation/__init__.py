"""Policies in environments: one run, or many in lockstep, recorded and repeatable to the bit."""

from mogro._intervals import ConfidenceInterval, band
from mogro.simulation._learners import MakePolicy
from mogro.simulation._worlds import Purpose, stream
from mogro.simulation.run import simulate
from mogro.simulation.trace import Trace, join

__all__ = [
    "ConfidenceInterval",
    "MakePolicy",
    "Purpose",
    "Trace",
    "band",
    "join",
    "simulate",
    "stream",
]

"""What else to measure in a run, beside the two regrets.

A measure is a function that names what it needs:

- ``chosen``, (..., M): the true means of the arm that was pulled, or ``reward``, (..., M), what it
  paid, and maybe ``means``, (..., K, M), those of all arms in that round. Its value, (...), is that
  of one round, and is summed over rounds;
- ``pulls``, (..., K), where means stay, and maybe ``means``, (K, M): its value is that of a
  checkpoint.

It has its own name, or another in a dict. One with settings is made by ``functools.partial``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Measure = Callable[..., Any]
Measures = Mapping[str, Measure] | Sequence[Measure]

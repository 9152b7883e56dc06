"""On how many examples a property is tried."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

_USUAL = 100


def examples(number: int) -> settings:
    """Return settings for a property that wants so many examples, or as few as the profile asks.

    A number that stood in ``settings`` would be taken by every profile, the fast one among them.
    """
    share = settings().max_examples / _USUAL
    return settings(deadline=None, max_examples=max(1, round(share * number)))


def mostly_slow(values: Iterable[Any], *, fast: int = 1) -> list[Any]:
    """Return parameters of a test of which the fast tests take the first ones only."""
    return [
        value if number < fast else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]

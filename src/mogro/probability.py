"""How likely a policy is to choose each arm."""

from typing import Any, NamedTuple

from mogro._validation import FloatArray


class Probabilities(NamedTuple):
    """Probabilities of arms, (..., K), and their standard errors, 0 where they are exact."""

    values: FloatArray
    errors: FloatArray


def selection_probabilities(
    values: FloatArray, selection: Any, *, step: int, rng: Any
) -> Probabilities:
    """Return how likely each of some distinct arms with values (K, M) is to be selected."""
    raise NotImplementedError

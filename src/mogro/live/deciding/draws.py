"""Random numbers of a decision, derived from the agent's seed and the decision's id alone.

So a replay decides the same, whatever happened in between and wherever it runs. The 256 bits of a
BLAKE2b hash of both are state and increment of a PCG64 generator.
"""

import hashlib
import threading
from typing import Any

import numpy as np

_ODD = 1


class _Own(threading.local):
    """Each thread's generator; setting its state costs a fifth of making a new one."""

    def __init__(self) -> None:
        self.bits = np.random.PCG64(0)
        self.generator = np.random.Generator(self.bits)


_own = _Own()


def draws(seed: int, id: str, *, purpose: str = "") -> np.random.Generator:
    """Return a generator with the random numbers of a decision.

    Examples
    --------
    >>> import mogro
    >>> agent = mogro.Agent([mogro.Objective("a"), mogro.Objective("b")], dim=1, seed=7)
    >>> _ = agent.reward(agent.decide({"x": [1.0]}).id, {"a": 1.0, "b": 1.0})
    >>> decision = agent.decide({"x": [1.0], "y": [2.0]}, id="visit 1")
    >>> weights = mogro.RandomWeights().weights(2, step=1, batch=(), rng=draws(7, "visit 1"))
    >>> list(decision.weights.values()) == weights.tolist()
    True
    """
    bits = np.random.PCG64(0)
    bits.state = _state(seed, id, purpose)
    return np.random.Generator(bits)


def brief_draws(seed: int, id: str) -> np.random.Generator:
    """Return the same, good until this thread asks for the next."""
    _own.bits.state = _state(seed, id, "")
    return _own.generator


def _state(seed: int, id: str, purpose: str) -> Any:
    key = f"{seed} {id}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(key, digest_size=32, person=purpose.encode()).digest()
    return {
        "bit_generator": "PCG64",
        "state": {
            "state": int.from_bytes(digest[:16], "little"),
            "inc": int.from_bytes(digest[16:], "little") | _ODD,
        },
        "has_uint32": 0,
        "uinteger": 0,
    }

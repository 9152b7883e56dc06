"""Random numbers of a decision, derived from the agent's seed and the decision's id alone.

So a replay decides the same, whatever happened in between and wherever it runs. The 256 bits of a
BLAKE2b hash of both are state and increment of a PCG64 generator.
"""

import hashlib
import threading

import numpy as np

_ODD = 1


class _Own(threading.local):
    """Each thread's generator; setting its state costs a fifth of making a new one."""

    def __init__(self) -> None:
        self.bits = np.random.PCG64(0)
        self.generator = np.random.Generator(self.bits)


_own = _Own()


def hash_of(seed: int, *, purpose: bytes = b"") -> hashlib.blake2b:
    """Return the hash that ids continue."""
    return hashlib.blake2b(str(seed).encode() + b" ", digest_size=32, person=purpose)


def draws_of(id: str, start: hashlib.blake2b) -> np.random.Generator:
    """Return the generator of a decision, good until this thread asks for the next."""
    continued = start.copy()
    continued.update(id.encode("utf-8", "surrogatepass"))
    digest = continued.digest()
    _own.bits.state = {
        "bit_generator": "PCG64",
        "state": {
            "state": int.from_bytes(digest[:16], "little"),
            "inc": int.from_bytes(digest[16:], "little") | _ODD,
        },
        "has_uint32": 0,
        "uinteger": 0,
    }
    return _own.generator

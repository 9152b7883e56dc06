"""One random generator per learner of a batch, used as if they were one generator."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import FloatArray

_AHEAD = 2048  # numbers drawn ahead for each learner and kind of draw


class Streams:
    """Independent generators, one for each learner of a batch.

    It offers the methods of ``numpy.random.Generator`` that policies use, with the same arguments;
    the leading axes of ``size`` are the batch. Learner ``i`` gets what its own generator gives, so
    a batch of R learners sees the very numbers that R separate learners would see. :meth:`take`
    leaves out learners that draw nothing this time.

    Parameters
    ----------
    generators
        Generators in (nested) sequences or an object array; the shape is the batch.
    ahead
        Draw in blocks, which is much faster for many learners. Numbers of one kind then come in
        the order of the generator, but different kinds of draws no longer interleave as single
        calls would. Blocks depend on the kind and size of a draw only, never on the batch.

    Examples
    --------
    >>> import numpy as np
    >>> streams = Streams([np.random.default_rng(0), np.random.default_rng(1)])
    >>> bool(streams.random((2,))[1] == np.random.default_rng(1).random())
    True
    """

    def __init__(
        self, generators: Sequence[Any] | NDArray[np.object_], *, ahead: bool = False
    ) -> None:
        array = np.asarray(generators, dtype=object)
        if array.size == 0 or not all(isinstance(g, np.random.Generator) for g in array.flat):
            raise ValueError("generators: expected numpy.random.Generator objects, at least one")
        self.batch: tuple[int, ...] = array.shape
        self._pool = _Pool(list(array.flat), ahead)
        self._index = np.arange(array.size)

    def take(self, index: NDArray[np.intp]) -> "Streams":
        """Return the streams of some learners, given by their distinct flat positions."""
        part = object.__new__(Streams)
        part._pool = self._pool
        chosen = self._index[index]
        part._index = chosen.ravel()
        part.batch = chosen.shape
        return part

    def __repr__(self) -> str:
        return f"Streams(batch={self.batch})"

    def random(self, size: int | tuple[int, ...]) -> FloatArray:
        """Uniform numbers in [0, 1)."""
        return self._draw(("random",), size, 1, lambda g, n: g.random(n))

    def standard_normal(self, size: int | tuple[int, ...]) -> FloatArray:
        """Standard normal numbers."""
        return self._draw(("normal",), size, 1, lambda g, n: g.standard_normal(n))

    def standard_exponential(self, size: int | tuple[int, ...]) -> FloatArray:
        """Standard exponential numbers."""
        return self._draw(("exponential",), size, 1, lambda g, n: g.standard_exponential(n))

    def dirichlet(self, alpha: ArrayLike, size: int | tuple[int, ...]) -> FloatArray:
        """Weights on the simplex; one more axis than ``size``."""
        concentration = np.asarray(alpha, dtype=np.float64)
        key = ("dirichlet", concentration.tobytes())
        each = concentration.size
        return self._draw(key, size, each, lambda g, n: g.dirichlet(concentration, n))

    def _draw(
        self,
        kind: tuple[str | bytes, ...],
        size: int | tuple[int, ...],
        each: int,
        draw: Callable[[np.random.Generator, tuple[int, ...]], FloatArray],
    ) -> FloatArray:
        sizes = tuple(size) if isinstance(size, tuple) else (int(size),)
        axes = len(self.batch)
        if sizes[:axes] != self.batch:
            raise ValueError(f"size: expected the leading axes {self.batch}, got {sizes}")
        values = self._pool.draw(kind, sizes[axes:], each, draw, self._index)
        return values.reshape(self.batch + values.shape[1:])


class _Pool:
    """The generators, and what has been drawn from them but not used."""

    def __init__(self, generators: list[np.random.Generator], ahead: bool) -> None:
        self.generators = generators
        self.ahead = ahead
        self.blocks: dict[tuple[object, ...], FloatArray] = {}  # (learner, block, *shape)
        self.used: dict[tuple[object, ...], NDArray[np.intp]] = {}

    def draw(
        self,
        kind: tuple[str | bytes, ...],
        shape: tuple[int, ...],
        each: int,
        draw: Callable[[np.random.Generator, tuple[int, ...]], FloatArray],
        index: NDArray[np.intp],
    ) -> FloatArray:
        if index.size == 0:  # nothing is drawn; the generator only tells the shape
            return draw(self.generators[0], (0, *shape))
        if not self.ahead:
            return np.stack([draw(self.generators[i], shape) for i in index])
        key = (*kind, shape)
        length = max(1, _AHEAD // max(1, math.prod(shape) * each))
        if key not in self.used:
            self.used[key] = np.full(len(self.generators), length)
        used = self.used[key]
        for i in index[used[index] == length]:
            block = draw(self.generators[i], (length, *shape))
            if key not in self.blocks:
                self.blocks[key] = np.empty((len(self.generators), *block.shape))
            self.blocks[key][i] = block
            used[i] = 0
        values = self.blocks[key][index, used[index]]
        used[index] += 1
        return values


Rng = np.random.Generator | Streams


def check_rng(rng: object) -> None:
    """Refuse what is no source of random numbers."""
    if not isinstance(rng, Rng):
        raise ValueError(
            f"rng: expected a numpy.random.Generator or mogro.Streams, got {type(rng).__name__}"
        )


def part_of(rng: Rng, index: NDArray[np.intp]) -> Rng:
    """Return what the learners at these flat positions of a batch draw from."""
    return rng.take(index) if isinstance(rng, Streams) else rng

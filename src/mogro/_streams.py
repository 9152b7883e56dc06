"""One random generator per learner of a batch, used as if they were one generator."""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import FloatArray

_AHEAD = 2048  # numbers drawn ahead for each learner and kind of draw
_FEW = 4

Size = int | tuple[int, ...]
_Kind = tuple[str | bytes | int | tuple[int, ...], ...]
_Draw = Callable[[np.random.Generator, FloatArray], object]  # fills an array


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
        Draw in blocks, which is much faster for many learners. Numbers of one kind and shape then
        come in the order of the generator, but different ones no longer interleave as single
        calls would; shapes of more than a few numbers share a block if they have as many axes.
        Blocks depend on the draws of a learner only, never on the batch. A block takes some 2,000
        numbers for each learner, or twice as many as the largest draw.

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
        self._generators: list[np.random.Generator] = list(array.flat)
        self._ahead = _AHEAD if ahead else 0
        self._blocks: dict[_Kind, _Blocks] = {}
        self._index: NDArray[np.intp] | None = None  # everyone
        self._plans: dict[tuple[_Kind, Size], tuple[_Blocks, int, tuple[int, ...]]] = {}

    def take(self, index: NDArray[np.intp]) -> "Streams":
        """Return the streams of some learners, given by their distinct flat positions."""
        part = copy.copy(self)
        chosen = np.asarray(index) if self._index is None else self._index[index]
        part._index, part.batch, part._plans = chosen.ravel(), chosen.shape, {}
        return part

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.random.Generator, name):
            raise AttributeError(
                f"mogro.Streams has no {name}: only random, uniform, standard_normal, normal, "
                "standard_exponential and dirichlet can be drawn for a batch; without a parameter "
                "batch, a policy or an environment gets a plain numpy.random.Generator"
            )
        raise AttributeError(f"'Streams' object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"Streams(batch={self.batch})"

    def random(self, size: Size) -> FloatArray:
        """Uniform numbers in [0, 1)."""
        return self._draw(("random",), size, (), lambda g, out: g.random(out=out))

    def standard_normal(self, size: Size) -> FloatArray:
        """Standard normal numbers."""
        return self._draw(("normal",), size, (), lambda g, out: g.standard_normal(out=out))

    def standard_exponential(self, size: Size) -> FloatArray:
        """Standard exponential numbers."""
        return self._draw(
            ("exponential",), size, (), lambda g, out: g.standard_exponential(out=out)
        )

    def normal(
        self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size | None = None
    ) -> FloatArray:
        """Normal numbers; without a size, that of ``loc`` and ``scale`` together."""
        shape = np.broadcast_shapes(np.shape(loc), np.shape(scale)) if size is None else size
        return np.asarray(np.add(loc, np.multiply(scale, self.standard_normal(shape))))

    def uniform(
        self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: Size | None = None
    ) -> FloatArray:
        """Uniform numbers; without a size, that of ``low`` and ``high`` together."""
        shape = np.broadcast_shapes(np.shape(low), np.shape(high)) if size is None else size
        return np.asarray(np.add(low, np.subtract(high, low) * self.random(shape)))

    def dirichlet(self, alpha: ArrayLike, size: Size) -> FloatArray:
        """Weights on the simplex; one more axis than ``size``."""
        concentration = np.asarray(alpha, dtype=np.float64)

        def draw(generator: np.random.Generator, out: FloatArray) -> None:
            out[...] = generator.dirichlet(concentration, len(out))

        return self._draw(("dirichlet", concentration.tobytes()), size, concentration.shape, draw)

    def _draw(self, kind: _Kind, size: Size, each: tuple[int, ...], draw: _Draw) -> FloatArray:
        if (kind, size) not in self._plans:
            self._plans[kind, size] = self._plan(kind, size, each, draw)
        source, number, shape = self._plans[kind, size]
        return source.next(number, self._index).reshape(shape)

    def _plan(
        self, kind: _Kind, size: Size, each: tuple[int, ...], draw: _Draw
    ) -> tuple["_Blocks", int, tuple[int, ...]]:
        """Return where draws of a size come from, how many a learner needs, and their shape."""
        sizes = size if isinstance(size, tuple) else (int(size),)
        axes = len(self.batch)
        if sizes[:axes] != self.batch:
            raise ValueError(f"size: expected the leading axes {self.batch}, got {sizes}")
        shape = sizes[axes:]
        number = math.prod(shape)
        # Shapes of a few numbers, such as a coin beside one number for each arm, have blocks of
        # their own: with a fixed number of arms every block then holds draws of one shape.
        key = (*kind, shape if number <= _FEW else len(shape))
        if key not in self._blocks:
            self._blocks[key] = _Blocks(self._generators, each, draw, self._ahead)
        return self._blocks[key], number, sizes + each


class _Blocks:
    """Draws of one kind: a row for each learner, used from left to right, filled in blocks."""

    def __init__(
        self,
        generators: list[np.random.Generator],
        each: tuple[int, ...],
        draw: _Draw,
        ahead: int,
    ) -> None:
        self.generators, self.draw, self.ahead = generators, draw, ahead
        self.rows: FloatArray = np.empty((len(generators), 0, *each))
        self.everyone = np.arange(len(generators))
        self.used = np.zeros(len(generators), dtype=np.intp)
        self.drawn = np.zeros(len(generators), dtype=np.intp)
        self.in_step: int | None = 0  # what everyone has used, while it is the same
        self.left = 0  # numbers that everyone has left, at least

    def next(self, number: int, index: NDArray[np.intp] | None) -> FloatArray:
        """Return the next draws of the learners in ``index``, (n, number, *each)."""
        if self.left < number:
            self._refill(number, index)
        self.left -= number
        if self.in_step is not None and index is None:
            start, self.in_step = self.in_step, self.in_step + number
            return self.rows[:, start : self.in_step].copy()
        self._count()
        self.in_step = None
        learners = self.everyone if index is None else index
        used = self.used[learners]
        self.used[learners] = used + number
        # Every run of `number` neighbours in a row as an axis of a view, so that rows are copied.
        count, length, *each = self.rows.shape
        along, *strides = self.rows.strides[1:]
        runs: FloatArray = np.ndarray(
            (count, length - number + 1, number, *each),
            buffer=self.rows,
            strides=(self.rows.strides[0], along, along, *strides),
        )
        return runs[learners, used]

    def _count(self) -> None:
        if self.in_step is not None:
            self.used[:] = self.in_step

    def _refill(self, number: int, index: NDArray[np.intp] | None) -> None:
        """Draw blocks of whole draws of this size, behind what is left, where it is too little."""
        self._count()
        size = math.prod(self.rows.shape[2:])
        block = number * max(1, self.ahead // max(1, number * size))
        left = self.drawn - self.used
        learners = self.everyone if index is None else index
        learners = learners[left[learners] < number]
        longest = int(left[learners].max(initial=0)) + block
        if longest > self.rows.shape[1]:
            more = np.empty((len(self.rows), longest - self.rows.shape[1], *self.rows.shape[2:]))
            self.rows = np.concatenate([self.rows, more], axis=1)
        for learner, kept in zip(learners.tolist(), left[learners].tolist(), strict=True):
            row = self.rows[learner]
            if kept:
                start = self.used[learner]
                row[:kept] = row[start : start + kept].copy()
            self.draw(self.generators[learner], row[kept : kept + block])
        self.drawn[learners] = left[learners] + block
        self.used[learners] = 0
        self.left = int((self.drawn - self.used).min())
        if self.in_step is not None:
            self.in_step = 0 if not self.used.any() else None


Rng = np.random.Generator | Streams
_SOURCES = (np.random.Generator, Streams)


def check_rng(rng: object) -> None:
    """Refuse what is no source of random numbers."""
    if not isinstance(rng, _SOURCES):
        raise ValueError(
            f"rng: expected a numpy.random.Generator or mogro.Streams, got {type(rng).__name__}"
        )


def part_of(rng: Rng, index: NDArray[np.intp]) -> Rng:
    """Return what the learners at these flat positions of a batch draw from."""
    return rng.take(index) if isinstance(rng, Streams) else rng

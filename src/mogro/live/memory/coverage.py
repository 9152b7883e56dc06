"""What exploration goes by: V of all that was observed or is still in flight, for each objective.

A coverage never changes; adding a decision makes a new one. The inverse that exploration asks for
is computed when it is asked for, by one rank-one update for every decision added since it was last
computed. Most are never asked: where nothing is left to explore, or every reward comes before the
next decision, adding costs next to nothing.
"""

from collections.abc import Iterator

import numpy as np

from mogro._spectrum import solve
from mogro._validation import FloatArray, IntArray

_OUTSIDE = 1e-16  # share of squared features that counts as a direction never seen
_LOSSY = 100.0  # an update that shrinks a variance by more than this loses over two digits


class Coverage:
    """Pseudo-inverses (G, p, p) and projectors on what was never seen, as of one moment."""

    __slots__ = ("_added", "_before", "_inverse", "_unseen")

    def __init__(self, inverse: FloatArray, unseen: FloatArray | None) -> None:
        self._inverse: FloatArray | None = inverse
        self._unseen = unseen
        self._before: Coverage | None = None
        self._added: FloatArray | None = None

    @classmethod
    def from_sums(cls, gram: FloatArray, *, additions: int, ridge: float) -> "Coverage":
        """Compute it from V itself, (G, p, p), a sum of so many outer products."""
        nothing = np.zeros((len(gram), 0, gram.shape[-1]))
        full = np.ones(len(gram), dtype=np.bool_)  # hoped for: then no spectrum is needed
        found = solve(gram, nothing, additions=additions, ridge=ridge, full=full)
        seen_all = bool((found.rank == gram.shape[-1]).all())
        return cls(found.inverse, None if seen_all else found.unseen)

    @property
    def inverse(self) -> FloatArray:
        """The pseudo-inverse of V, (G, p, p)."""
        self._compute()
        assert self._inverse is not None
        return self._inverse

    @property
    def unseen(self) -> FloatArray | None:
        """The projector on the directions that V has nothing of, (G, p, p); None if none."""
        self._compute()
        return self._unseen

    def __iter__(self) -> Iterator[FloatArray | None]:
        return iter((self.inverse, self.unseen))

    def plus(self, features: FloatArray) -> "Coverage":
        """Return the coverage with one more decision (p,) in flight, for every objective."""
        later = Coverage.__new__(Coverage)
        later._before = self
        later._added = features
        later._inverse = later._unseen = None
        return later

    def take(self, which: IntArray) -> "Coverage":
        """Return the coverage of other objectives, (n,), by the positions of these."""
        return Coverage(self.inverse[which], None if self.unseen is None else self.unseen[which])

    def scaled(self, factor: FloatArray | float) -> "Coverage":
        """Return the coverage of V times a factor, one for all objectives."""
        return Coverage(self.inverse / factor, self.unseen)

    def _compute(self) -> None:
        """Follow what was added since the last one that is known, oldest first."""
        if self._inverse is not None:
            return
        behind: list[Coverage] = []
        one: Coverage = self
        while one._inverse is None:
            behind.append(one)
            before = one._before
            if before is None:  # another thread has just finished this one
                break
            one = before
        for later in reversed(behind):
            before, added = later._before, later._added
            if later._inverse is None and before is not None and added is not None:
                inverse, unseen = _added(before.inverse, before._unseen, added)
                later._unseen = unseen
                later._inverse = inverse  # from now on it is complete
                later._before = None


def _added(
    inverse: FloatArray, unseen: FloatArray | None, x: FloatArray
) -> tuple[FloatArray, FloatArray | None]:
    """Return pseudo-inverse and projector of ``V + x x^T`` for each of V (G, p, p)."""
    along = np.matvec(inverse, x)  # V^+ x
    variance = np.vecdot(along, x)
    if unseen is not None:
        outside = np.matvec(unseen, x)
        squares = np.vecdot(outside, outside)
        new = squares > _OUTSIDE * (x @ x)
        if new.any():
            return _extended(inverse, unseen, along, variance, outside, squares, new)
    scaled = along / np.sqrt(1 + np.maximum(variance, 0))[:, None]
    return inverse - scaled[:, :, None] * scaled[:, None, :], unseen


def _extended(
    inverse: FloatArray,
    unseen: FloatArray,
    along: FloatArray,
    variance: FloatArray,
    outside: FloatArray,
    squares: FloatArray,
    new: FloatArray,
) -> tuple[FloatArray, FloatArray | None]:
    """Return the same where x has a part, ``outside``, in directions never seen for some of V.

    There ``V^+`` becomes ``V^+ - a r^T - r a^T + (1 + x^T a) r r^T`` with ``a = V^+ x`` and r the
    part outside divided by its square.
    """
    safe = np.where(new, squares, 1)[:, None]
    r = np.where(new[:, None], outside / safe, 0)
    cross = along[:, :, None] * r[:, None, :]
    grown = (1 + variance)[:, None, None] * (r[:, :, None] * r[:, None, :])
    extended = inverse - cross - np.swapaxes(cross, -1, -2) + grown
    damped = along / np.sqrt(1 + np.maximum(variance, 0))[:, None]
    usual = inverse - damped[:, :, None] * damped[:, None, :]
    left = unseen - np.where(new[:, None], outside, 0)[:, :, None] * r[:, None, :]
    full = bool(np.trace(left, axis1=-2, axis2=-1).max() < 0.5)
    return np.where(new[:, None, None], extended, usual), None if full else left


def removed(coverage: Coverage, x: FloatArray, which: FloatArray) -> Coverage | None:
    """Return the coverage with x (p,) taken out where ``which``, (G,).

    None where that would lose digits: what x was much of has to be computed from the sums.
    """
    inverse = coverage.inverse
    along = np.where(which[:, None], np.matvec(inverse, x), 0)
    left = 1 - along @ x
    if not (left > 1 / _LOSSY).all():
        return None
    scaled = along / np.sqrt(left)[:, None]
    return Coverage(inverse + scaled[:, :, None] * scaled[:, None, :], coverage.unseen)

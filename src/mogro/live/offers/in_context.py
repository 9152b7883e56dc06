"""Arms in one context: a decision sees them alone, the learner their products with it.

In one context the learner's products ``z`` are a linear map of the arm, ``z = U y`` with
orthonormal columns U and the arm ``y``, which is (1, x) up to the size of the context. So
everything that is believed about z can be said about y, in the same units: theta becomes
``U^T theta``, V^+ becomes ``U^T V^+ U``, squared norms and variances stay what they are. That costs
once what a single arm costs, and no product of an arm is ever computed but that of the arm chosen.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mogro._validation import FloatArray, IntArray
from mogro.choice import Beliefs
from mogro.live.offers.catalogue import Version
from mogro.policies import LinearPolicy

if TYPE_CHECKING:
    from mogro.live.offers.bilinear import Bilinear

_ROUNDING = 1e-28  # a squared part of a unit vector that is rounding of a projector


class InContext:
    """Arms in one context: as a policy sees them, y (..., a), and as the learner does, z (..., p).

    y is (1, x), times the norms of the columns by which it turns into z; without the 1 if neither
    a constant nor the context counts by itself.
    """

    contextual: ClassVar[bool] = True

    def __init__(self, features: "Bilinear", context: FloatArray) -> None:
        self.features = features
        self.context = context
        self.dim = features.dim
        square = float(np.vdot(context, context))
        # Norms of the columns of an arm's features, and of the 1 beside them.
        self.stretch = features.arm_alone + square  # of squared norms of arms
        self._size = math.sqrt(self.stretch)
        self._size_alone = math.sqrt(features.constant + features.context_alone * square)
        self._first = int(features.constant or features.context_alone)

    def __call__(self, arms: FloatArray) -> FloatArray:
        """Return what a policy sees, (..., a), of arms (..., A)."""
        seen = np.empty((*arms.shape[:-1], self._first + self.dim))
        if self._first:
            seen[..., 0] = self._size_alone
        np.multiply(arms, self._size, out=seen[..., self._first :], dtype=np.float64)
        return seen

    def products(self, arms: FloatArray) -> FloatArray:
        """Return what the learner sees, (..., p), of arms (..., A)."""
        wide = np.empty((*arms.shape[:-1], 1 + self.dim))
        wide[..., 0], wide[..., 1:] = 1.0, arms
        grid = self._extended[:, None] * wide[..., None, :]
        flat = grid.reshape(*arms.shape[:-1], -1)
        return flat if self.features.whole else np.asarray(flat[..., self.features.kept])

    @cached_property
    def columns(self) -> FloatArray:
        """U, (p, a): what the learner sees of arms y that a policy sees is ``U y``.

        Its columns are orthonormal, but zero where y is.
        """
        contexts, arms = 1 + self.features.context_dim, 1 + self.dim
        grid: FloatArray = np.zeros((contexts, arms, arms))
        grid[:, 0, 0] = self._direction(self.features.constant, self.features.context_alone)
        every = np.arange(1, arms)
        grid[:, every, every] = self._direction(self.features.arm_alone, True)[:, None]
        columns = grid.reshape(contexts * arms, arms)[self.features.kept]
        return np.asarray(columns[:, 1 - self._first :])

    @cached_property
    def _extended(self) -> FloatArray:
        """(1, c)."""
        extended = np.empty(1 + len(self.context))
        extended[0], extended[1:] = 1.0, self.context
        return extended

    @cached_property
    def _unit(self) -> FloatArray:
        """(1, c) with norm 1: its direction if nothing is left out."""
        return self._extended / self._size

    def _direction(self, alone: bool, context: bool) -> FloatArray:
        """Return (1, c), less what is left out, with norm 1, or zero."""
        vector = np.concatenate([[float(alone)], context * self.context])
        norm = math.sqrt(np.vdot(vector, vector))
        return vector / norm if norm > 0 else vector

    def lift(self, seen: FloatArray) -> FloatArray:
        """Return what the learner sees, (r, p), of vectors (r, a) that a policy sees."""
        return seen @ self.columns.T

    def lines(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes (n, A) and constants (n,) in x of estimates (n, a) for what is seen."""
        slopes = self._size * theta[:, self._first :]
        constants = self._size_alone * theta[:, 0] if self._first else np.zeros(len(theta))
        return slopes, constants

    def second_moments(self, mean: FloatArray, scatter: FloatArray, *, count: int) -> FloatArray:
        """Return the sum of outer products, (a, a), of what is seen of ``count`` arms."""
        seen = self(mean)
        total = count * (seen[:, None] * seen)
        total[self._first :, self._first :] += self.stretch * scatter
        return np.asarray(total)

    def mean_square(self, version: Version) -> float:
        """Return the mean squared norm of what is seen of the arms of a catalogue."""
        alone = self._size_alone**2 if self._first else 0.0
        return alone + self.stretch * version.mean_square

    def largest(self, version: Version) -> float:
        """Return the largest squared norm of what is seen of the arms of a catalogue."""
        alone = self._size_alone**2 if self._first else 0.0
        return alone + self.stretch * version.largest_square

    def policy(self, policy: LinearPolicy) -> LinearPolicy:
        """Return a policy as it is in this context."""
        if type(policy).contracted is LinearPolicy.contracted:  # nothing to do, as usual
            return policy
        return policy.contracted(self.columns)

    def contract(self, beliefs: Beliefs) -> Beliefs:
        """Return what is believed about the arms that a policy sees, y, in this context."""
        return BeliefsInContext.of(beliefs, self)

    def contract_rows(self, rows: FloatArray) -> FloatArray:
        """Return ``rows U``, (..., a), of rows (..., p): estimates for what a policy sees."""
        if not self.features.whole:
            return rows @ self.columns
        grid = rows.reshape(*rows.shape[:-1], 1 + self.features.context_dim, 1 + self.dim)
        return np.asarray(np.vecmat(self._unit, grid))

    def contract_matrices(self, matrices: FloatArray) -> FloatArray:
        """Return ``U^T V U``, (G, a, a), of symmetric matrices V, (G, p, p)."""
        return self.contract_rows(self._contracted_columns(matrices))

    def _contracted_columns(self, matrices: FloatArray) -> FloatArray:
        """Return ``U^T V``, (G, a, p), of matrices V (G, p, p)."""
        if not self.features.whole:
            return np.asarray(self.columns.T @ matrices)
        grams, p = matrices.shape[:2]
        contexts = 1 + self.features.context_dim  # the first axis of the products: one pass over V
        found = np.vecmat(self._unit, matrices.reshape(grams, contexts, -1))
        return np.asarray(found.reshape(grams, -1, p))

    def contract_unseen(self, unseen: FloatArray | None) -> FloatArray | None:
        """Return symmetric S with ``|S y| = |P U y|`` for projectors P on what was never seen.

        The part of U y never seen need not be an arm in this context, so that S is no projector,
        but S y is as large as that part. None if no arm in this context can have any.
        """
        if unseen is None:
            return None
        parts = self._contracted_columns(unseen)
        if float(np.square(parts).max()) <= _ROUNDING:
            return None
        vectors, sizes, _ = np.linalg.svd(parts, full_matrices=False)
        return np.asarray((vectors * sizes[:, None, :]) @ np.swapaxes(vectors, -1, -2))


class BeliefsInContext(Beliefs):
    """Beliefs about arms in one context; what few policies ask for is computed when they do.

    As a tuple it holds V^+ and the projector that the learner knows.
    """

    _view: InContext

    @classmethod
    def of(cls, beliefs: Beliefs, view: InContext) -> "BeliefsInContext":
        """Contract what a learner believes with the context of a view."""
        coverage: Any = _CoverageInContext(beliefs.coverage, view)
        made = cls._make([view.contract_rows(beliefs.theta), *beliefs[1:-1], coverage])
        made._view = view
        return made

    @cached_property
    def inverse(self) -> FloatArray:
        """``U^T V^+ U``, (G, a, a)."""
        return self._view.contract_matrices(self[1])

    @cached_property
    def unseen(self) -> FloatArray | None:
        """Matrices whose products with arms are as large as their parts never seen."""
        return self._view.contract_unseen(self[2])

    def take(self, learners: IntArray) -> Beliefs:
        """Return the beliefs of some learners."""
        return Beliefs(self.theta, self.inverse, self.unseen, *self[3:]).take(learners)


class _CoverageInContext:
    """What exploration goes by in a context, computed when it is asked for."""

    def __init__(self, coverage: Any, view: InContext) -> None:
        self._coverage = coverage
        self._view = view

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray | None]:
        inverse, unseen = self._coverage
        return self._view.contract_matrices(inverse), self._view.contract_unseen(unseen)

    def __iter__(self) -> Iterator[FloatArray | None]:
        return iter(self._parts)

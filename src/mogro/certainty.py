"""What is certain about fronts, at any time and however arms were chosen.

Let the noise of an objective be sub-Gaussian with a known constant, and let a ridge L be fixed. By
the self-normalised bound of Abbasi-Yadkori, Pal and Szepesvari (Improved algorithms for linear
stochastic bandits, 2011, Theorem 1), with probability 1 - delta at all times

    (b - V theta)' (V + L I)^-1 (b - V theta) <= noise^2 (2 log(1 / delta) + log det(I + V / L)).

So every difference u of two arms is known up to the root of the right side times
``u' S u + L |S u|^2`` for ``S = V^-1``: no bound on the parameters is needed. Three ridges share
delta, and the best of them counts.

Arms that have a feature of their own each ("one-hot") teach nothing about each other. Then the
bound is taken for the two features of a pair alone, which is far tighter, and delta is shared by
the pairs. An arm is either on the front or off it, so only one of two families of claims about it
can be wrong: that a rival dominates it (one claim for each rival), or that the rival which does
dominate it is worse in an objective (one claim for each objective). Each family may fail with
probability delta / K for each arm.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._algebra import diagonals, inverse_root
from mogro._validation import BoolArray, FloatArray, IntArray, floats
from mogro.beliefs import covariance
from mogro.pareto import _matrix_games
from mogro.posterior import Posterior
from mogro.priors import Flat

# An arm beats a rival in an objective; a rival dominates it; either, for mixtures of rivals.
Claim = Literal["on", "off", "mixtures"]

_RIDGES = (1.0, 32.0, 1024.0)  # tight after a few, a hundred and ten thousand observations
_FALLBACK = 0.1  # share of delta for all features at once, where pairs are expected to do
_UNKNOWN = 1e5  # a variance, in units of the noise, of which nothing is known
_ROUNDING = 1e-12  # part of the sum of two variances, in that of a difference
_TINY = 1e-200


class FrontConfidence(NamedTuple):
    """Which arms are certainly on a front, and which are certainly off it, each (..., K)."""

    on: BoolArray
    off: BoolArray

    @property
    def open(self) -> BoolArray:
        """Arms about which nothing is certain yet."""
        return np.asarray(~(self.on | self.off))


class DifferenceWidths:
    """How far differences of arms (..., K, d) may be from their estimates, in units of the noise.

    ``S`` is the inverse of V, (..., G, d, d). The variances of arms are (..., G, K).
    """

    def __init__(
        self, arms: FloatArray, S: FloatArray, *, objectives: int, delta: float, ridge: float
    ) -> None:
        K, d = arms.shape[-2:]
        self._arms, self._ridges = arms, [ridge * times for times in _RIDGES]
        alone = _is_one_hot(arms)
        self._one_hot = alone & (np.count_nonzero(S, axis=(-3, -2, -1)) <= S.shape[-3] * d)
        variances = []
        if self._one_hot.any():
            index = (arms != 0).argmax(-1)[..., None, :]
            sizes = _take_last(diagonals(S), index)
            self._variances = np.square(arms).sum(-1)[..., None, :] * sizes
            self._squares = self._variances * sizes
            self._pair_volumes = [np.log1p(1 / (each * sizes)) for each in self._ridges]
            counts = {"on": objectives, "off": max(K - 1, 1)}
            counts["mixtures"] = counts["on"] * counts["off"]
            tests = len(_RIDGES) / ((1 - _FALLBACK) * delta)
            self._levels = {claim: math.log(tests * K * each) for claim, each in counts.items()}
            variances.append(self._variances)
        if not self._one_hot.all():
            images = arms[..., None, :, :] @ S
            self._products = images @ np.swapaxes(arms, -1, -2)[..., None, :, :]
            self._image_products = images @ np.swapaxes(images, -1, -2)
            sizes = np.maximum(np.linalg.eigvalsh(S), _TINY)
            self._volumes = [np.log1p(1 / (e * sizes)).sum(-1) for e in self._ridges]
            tests = len(_RIDGES) * objectives / delta
            self._level = np.where(alone, math.log(tests / _FALLBACK), math.log(tests))
            variances.append(diagonals(self._products))
        self.variances = np.where(self._one_hot[..., None, None], variances[0], variances[-1])

    def widths(self, rivals: IntArray, claim: Claim) -> FloatArray:
        """Return the widths (..., K, J, G) of the differences of all arms and rivals (..., J)."""
        rivals, widths = rivals[..., None, :], []
        if self._one_hot.any():
            variances, squares = (_pair_sums(e, rivals) for e in (self._variances, self._squares))
            volumes = [_pair_sums(each, rivals) for each in self._pair_volumes]
            unknown, level = variances > _UNKNOWN, np.array(self._levels[claim])
            widths.append(self._width(variances, squares, volumes, level, unknown))
        if not self._one_hot.all():
            variances, unknown = _squared_differences(self._products, rivals)
            squares, _ = _squared_differences(self._image_products, rivals)
            volumes = [each[..., None, None] for each in self._volumes]
            level = self._level[..., None, None, None]
            widths.append(self._width(variances, squares, volumes, level, unknown))
        chosen = np.where(self._one_hot[..., None, None, None], widths[0], widths[-1])
        return np.asarray(np.moveaxis(chosen, -3, -1))

    def _width(
        self,
        variances: FloatArray,
        squares: FloatArray,
        volumes: list[FloatArray],
        level: FloatArray,
        unknown: BoolArray,
    ) -> FloatArray:
        """Return the least of the bounds of all ridges."""
        bounds = [
            (2 * level + volume) * (variances + ridge * squares)
            for ridge, volume in zip(self._ridges, volumes, strict=True)
        ]
        return np.where(unknown, np.inf, np.sqrt(np.maximum(np.minimum.reduce(bounds), _TINY)))

    def equal(self, rivals: IntArray) -> BoolArray:
        """Return which rivals (..., J) have the features of an arm, (..., K, J): itself does."""
        kinds = np.broadcast_to(np.arange(self._arms.shape[-2]), self._arms.shape[:-1])
        if not self._one_hot.all():
            order = np.lexsort(np.moveaxis(self._arms, -1, 0), axis=-1)
            rows = np.take_along_axis(self._arms, order[..., None], axis=-2)
            new = (rows[..., 1:, :] != rows[..., :-1, :]).any(-1)
            kinds = np.zeros_like(order)
            np.put_along_axis(kinds, order[..., 1:], new.cumsum(-1), axis=-1)
        return np.asarray(kinds[..., :, None] == _take_last(kinds, rivals)[..., None, :])


def _take_last(each: NDArray[Any], indices: IntArray) -> Any:
    """Return the entries (..., J) at indices (..., J) of numbers (..., K), over leading axes."""
    lead = np.broadcast_shapes(each.shape[:-1], indices.shape[:-1])
    each = np.broadcast_to(each, (*lead, each.shape[-1]))
    return np.take_along_axis(each, np.broadcast_to(indices, (*lead, indices.shape[-1])), axis=-1)


def _pair_sums(each: FloatArray, rivals: IntArray) -> FloatArray:
    """Return the sums (..., K, J) of numbers (..., K) of all arms and of rivals (..., J)."""
    return np.asarray(each[..., :, None] + _take_last(each, rivals)[..., None, :])


def _squared_differences(products: FloatArray, rivals: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return squares (..., K, J) of differences, from inner products (..., K, K) of all arms.

    Also which are unknown. Rounding makes no difference known.
    """
    sums = _pair_sums(diagonals(products), rivals)
    squares = sums - 2 * _take_last(products, rivals[..., None, :])
    return np.maximum(squares, _ROUNDING * sums), sums > _UNKNOWN


def _is_one_hot(arms: FloatArray) -> BoolArray:
    """Tell for each learner whether each arm has a feature of its own, and no other."""
    used = arms != 0
    return np.asarray((used.sum(-1) == 1).all(-1) & (used.sum(-2) <= 1).all(-1))


def least_squares(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return estimates (..., M, d) and S = V^-1 (..., G, d, d) from the sums, without a prior."""
    V, b, n = posterior.V, posterior.b, posterior.n
    rows = b[..., None, :, :] if V.shape[-3] == 1 else b[..., :, None, :]
    diagonal = diagonals(V)
    squares = np.where(diagonal > 0, diagonal, np.maximum(n, 1.0)[..., None])
    W = inverse_root(V, Flat().precisions(squares, n))
    return ((rows @ np.swapaxes(W, -1, -2)) @ W).reshape(b.shape), covariance(W)


def check_noise(noise: float | Sequence[float], objectives: int) -> FloatArray:
    """Return the sub-Gaussian constants of the objectives, (M,)."""
    constants = floats(np.atleast_1d(noise), "noise", shape=("n",))
    if len(constants) not in (1, objectives):
        raise ValueError(
            f"noise: expected a number, or one for each of {objectives} objectives, got {noise!r}"
        )
    if not (constants > 0).all():
        raise ValueError(f"noise: expected numbers above 0, got {noise!r}")
    return np.broadcast_to(constants.astype(np.float64), (objectives,))


def front_confidence(
    posterior: Posterior,
    arms: FloatArray,
    *,
    noise: FloatArray,
    delta: float,
    tolerance: float = 0.0,
    effective: bool = False,
    ridge: float = 1.0,
) -> FrontConfidence:
    """Return what is certain about arms (..., K, d): ``LinearPolicy.front_confidence``."""
    theta, S = least_squares(posterior)
    spread = DifferenceWidths(arms, S, objectives=posterior.objectives, delta=delta, ridge=ridge)
    values = arms @ np.swapaxes(theta, -1, -2) / noise
    return classify(values, spread, tolerance / noise, effective=effective)


def classify(
    values: FloatArray, spread: DifferenceWidths, tolerance: FloatArray, *, effective: bool
) -> FrontConfidence:
    """Classify arms by values (..., K, M) and tolerance (M,), both in units of the noise."""
    K, M = values.shape[-2:]
    everyone = np.broadcast_to(np.arange(K), values.shape[:-1])
    equal = spread.equal(everyone)
    leads = values[..., None, :, :] - values[..., :, None, :]  # of rivals, (..., K, J, M)
    if not effective:
        beaten = (leads > spread.widths(everyone, "off")).all(-1)
        safe = equal | (leads + spread.widths(everyone, "on") <= tolerance).any(-1)
        return FrontConfidence(np.asarray(safe.all(-1)), np.asarray(beaten.any(-1)))
    width = spread.widths(everyone, "mixtures")
    finite = np.asarray(np.isfinite(width).all(-1))
    width = np.where(finite[..., None], width, 0.0)
    far = -1.0 - np.abs(leads).max() - width.max() - tolerance.max()  # of no use to a mixture
    low = np.where((finite & ~equal)[..., None], leads - width, far)
    high = np.where(equal[..., None], far, leads + width - tolerance)
    off = _solve_mixtures(low, M).lower.reshape(values.shape[:-1]) > 0
    on = _solve_mixtures(high, M).upper.reshape(values.shape[:-1]) < 0
    return FrontConfidence(on & (finite | equal).all(-1), off)


def _solve_mixtures(leads: FloatArray, M: int) -> _matrix_games.Games:
    """Solve the games of every arm against mixtures of rivals with leads (..., K, J, M)."""
    columns = leads.reshape(-1, *leads.shape[-2:])
    return _matrix_games.solve(
        columns, np.zeros((len(columns), M)), problem=np.arange(len(columns))
    )

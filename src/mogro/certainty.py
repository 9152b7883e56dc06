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
_JOINT_SHARE = 0.1  # share of delta for all features at once, where pairs are expected to do
_UNSEEN_VARIANCE = 1e5  # a variance, in units of the noise, of which nothing is known
_ROUNDING = 1e-12  # part of the sum of two variances, in that of a difference
_SMALLEST = 1e-200


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
        one_hot = _is_one_hot(arms)
        self._separate = one_hot & (np.count_nonzero(S, axis=(-3, -2, -1)) <= S.shape[-3] * d)
        sizes = _take_last(diagonals(S), (arms != 0).argmax(-1)[..., None, :])
        self._products: list[FloatArray] = []
        volumes: Any = [np.zeros(1)] * len(_RIDGES)
        if self._separate.all():
            lengths = arms.sum(-1)[..., None, :]
            images = lengths * sizes
            self.variances, self._squares = images * lengths, images * images
        else:
            images = arms[..., None, :, :] @ S
            operands = np.broadcast_to(arms[..., None, :, :], images.shape), images
            self._products = [images @ np.swapaxes(other, -1, -2) for other in operands]
            self.variances, self._squares = map(diagonals, self._products)
            values = np.maximum(np.linalg.eigvalsh(S), _SMALLEST)
            volumes = [np.log1p(1 / (ridge * values)).sum(-1) for ridge in self._ridges]
        # The volume of a pair is the sum of its arms': of their features alone, or of all.
        separate = self._separate[..., None, None]
        self._volumes = [
            np.where(separate, np.log1p(1 / (ridge * sizes)), volume[..., None] / 2)
            for ridge, volume in zip(self._ridges, volumes, strict=True)
        ]
        claims = {"on": objectives, "off": max(K - 1, 1)}
        claims["mixtures"] = claims["on"] * claims["off"]
        shared = objectives / np.where(one_hot, _JOINT_SHARE, 1.0)
        tests = len(_RIDGES) / delta
        self._tests = {
            claim: tests * np.where(self._separate, K * n / (1 - _JOINT_SHARE), shared)
            for claim, n in claims.items()
        }

    def widths(self, rivals: IntArray, claim: Claim) -> FloatArray:
        """Return the widths (..., K, J, G) of the differences of all arms and rivals (..., J)."""
        rivals = rivals[..., None, :]
        pair_sums = [_pair_sums(values, rivals) for values in (self.variances, self._squares)]
        is_unknown, (variances, squares) = pair_sums[0] > _UNSEEN_VARIANCE, pair_sums
        if self._products:  # rounding makes no difference known
            variances, squares = (
                np.maximum(sums - 2 * _take_last(values, rivals[..., None, :]), _ROUNDING * sums)
                for sums, values in zip(pair_sums, self._products, strict=True)
            )
        log_tests = np.log(self._tests[claim])[..., None, None, None]
        bounds = [
            (2 * log_tests + _pair_sums(volume, rivals)) * (variances + ridge * squares)
            for ridge, volume in zip(self._ridges, self._volumes, strict=True)
        ]
        widths = np.sqrt(np.maximum(np.minimum.reduce(bounds), _SMALLEST))
        return np.asarray(np.moveaxis(np.where(is_unknown, np.inf, widths), -3, -1))

    def equal(self, rivals: IntArray) -> BoolArray:
        """Return which rivals (..., J) have the features of an arm, (..., K, J): itself does."""
        kinds = np.broadcast_to(np.arange(self._arms.shape[-2]), self._arms.shape[:-1])
        if not self._separate.all():
            order = np.lexsort(np.moveaxis(self._arms, -1, 0), axis=-1)
            rows = np.take_along_axis(self._arms, order[..., None], axis=-2)
            new = (rows[..., 1:, :] != rows[..., :-1, :]).any(-1)
            kinds = np.zeros_like(order)
            np.put_along_axis(kinds, order[..., 1:], new.cumsum(-1), axis=-1)
        return np.asarray(kinds[..., :, None] == _take_last(kinds, rivals)[..., None, :])


def _take_last(values: NDArray[Any], indices: IntArray) -> Any:
    """Return the entries (..., J) at indices (..., J) of numbers (..., K), over leading axes."""
    batch = np.broadcast_shapes(values.shape[:-1], indices.shape[:-1])
    values = np.broadcast_to(values, (*batch, values.shape[-1]))
    indices = np.broadcast_to(indices, (*batch, indices.shape[-1]))
    return np.take_along_axis(values, indices, axis=-1)


def _pair_sums(values: FloatArray, rivals: IntArray) -> FloatArray:
    """Return the sums (..., K, J) of numbers (..., K) of all arms and of rivals (..., J)."""
    return np.asarray(values[..., :, None] + _take_last(values, rivals)[..., None, :])


def _is_one_hot(arms: FloatArray) -> BoolArray:
    """Tell for each learner whether each arm has a feature of its own, and no other."""
    nonzero = arms != 0
    return np.asarray((nonzero.sum(-1) == 1).all(-1) & (nonzero.sum(-2) <= 1).all(-1))


def least_squares(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return estimates (..., M, d) and S = V^-1 (..., G, d, d) from the sums, without a prior."""
    V, b, n = posterior.V, posterior.b, posterior.n
    targets = b[..., None, :, :] if V.shape[-3] == 1 else b[..., :, None, :]
    diagonal = diagonals(V)
    squares = np.where(diagonal > 0, diagonal, np.maximum(n, 1.0)[..., None])
    W = inverse_root(V, Flat().precisions(squares, n))
    return ((targets @ np.swapaxes(W, -1, -2)) @ W).reshape(b.shape), covariance(W)


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
    rivals = np.broadcast_to(np.arange(values.shape[-2]), values.shape[:-1])
    equal = spread.equal(rivals)
    leads = values[..., None, :, :] - values[..., :, None, :]  # of rivals, (..., K, J, M)
    if not effective:
        is_beaten = (leads > spread.widths(rivals, "off")).all(-1)
        is_safe = equal | (leads + spread.widths(rivals, "on") <= tolerance).any(-1)
        return FrontConfidence(np.asarray(is_safe.all(-1)), np.asarray(is_beaten.any(-1)))
    width = spread.widths(rivals, "mixtures")
    finite = np.asarray(np.isfinite(width).all(-1))
    width = np.where(finite[..., None], width, 0.0)
    useless = -1.0 - np.abs(leads).max() - width.max() - tolerance.max()  # of no use to a mixture
    lower_leads = np.where((finite & ~equal)[..., None], leads - width, useless)
    upper_leads = np.where(equal[..., None], useless, leads + width - tolerance)
    off = _solve_mixtures(lower_leads).lower.reshape(values.shape[:-1]) > 0
    on = _solve_mixtures(upper_leads).upper.reshape(values.shape[:-1]) < 0
    return FrontConfidence(on & (finite | equal).all(-1), off)


def _solve_mixtures(leads: FloatArray) -> _matrix_games.Games:
    """Solve the games of every arm against mixtures of rivals with leads (..., K, J, M)."""
    columns = leads.reshape(-1, *leads.shape[-2:])
    problems = np.arange(len(columns))
    return _matrix_games.solve(columns, np.zeros_like(columns[:, 0]), problem=problems)

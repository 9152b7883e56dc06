"""Effects of single arms: what their features do not explain, a hit or a flop.

::

    y = theta . x + a + noise,    a normal around 0, for each arm and objective
    k                             variance of the noise over that of effects, for each objective

Effects are integrated out arm by arm. After n observations of an arm with sums s_x and s_y, the
next has the mean ``theta . x + (s_y - theta . s_x) / (n + k)`` and the variance of the noise times
``1 + 1 / (n + k)``. So ``(x - s_x / (n + k), y - s_y / (n + k))``, over the root of that, is an
observation of theta alone; all of them together are generalised least squares, in whatever order
they come, and one can be taken out again. What a posterior has learned so is
``V = sum x x' - sum over arms s_x s_x' / (n + k)``, and likewise for y: k can change later.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mogro import _evidence
from mogro._codec import texts_from_array, texts_to_array
from mogro._validation import FloatArray, check_shape
from mogro.beliefs import Beliefs, FrozenPosterior
from mogro.posterior import Posterior

_TINY = float(np.finfo(np.float64).tiny)
_ITERATIONS = 3  # from the same start always, as for groups of features


class ArmEffects:
    """Sums of every arm, and how large effects are.

    Parameters
    ----------
    size, objectives
        p and M.
    """

    def __init__(self, size: int, objectives: int) -> None:
        self.ratios = np.full(objectives, _evidence.START)  # k
        self.sums: dict[str, FloatArray] = {}  # (M, 2 + p): n, s_y, s_x; never changed
        self._zeros = np.zeros((objectives, 2 + size))

    def copy(self) -> "ArmEffects":
        """Return effects that go on by themselves."""
        other = ArmEffects(self._zeros.shape[1] - 2, len(self.ratios))
        other.ratios, other.sums = self.ratios, self.sums.copy()
        return other

    def keep(self, arms: Collection[str]) -> None:
        """Forget all other arms; what theta has learned from them stays."""
        self.sums = {arm: sums for arm, sums in self.sums.items() if arm in arms}

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        arms, sums = texts_to_array(list(self.sums)), self._all_sums()
        return {"effects.arms": arms, "effects.sums": sums, "effects.ratios": self.ratios}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of equal effects gave, to the bit."""
        arms = texts_from_array(arrays["effects.arms"])
        sums = arrays["effects.sums"].astype(np.float64)
        check_shape(sums, "effects.sums", (len(arms), *self._zeros.shape))
        check_shape(arrays["effects.ratios"], "effects.ratios", self.ratios.shape)
        self.sums = dict(zip(arms, sums, strict=True))
        self.ratios = arrays["effects.ratios"].astype(np.float64)

    def learn(
        self,
        posterior: Posterior,
        arm: str,
        x: FloatArray,
        observations: Iterable[tuple[int, float]],
    ) -> None:
        """Let a posterior learn values of an arm (p,), by objective."""
        for m, value in observations:
            observation, weights = self._observation(arm, x, m, value), self._weights(m)
            posterior.update(observation[:-1], observation[-1] * weights, weights)
            self._add_to_sums(arm, x, m, value, 1.0)

    def unlearn(
        self,
        posterior: Posterior,
        arm: str,
        x: FloatArray,
        observations: Iterable[tuple[int, float]],
    ) -> None:
        """Take values of an arm (p,) out of a posterior that has learned them."""
        for m, value in observations:
            self._add_to_sums(arm, x, m, value, -1.0)
            observation, weights = self._observation(arm, x, m, value)[None], self._weights(m)[None]
            posterior.learn(observation[:, :-1], observation[:, -1:] * weights, -weights)

    def _weights(self, m: int) -> FloatArray:
        """Return weights (M,) of an observation of one objective."""
        return np.asarray(1.0 * (np.arange(len(self.ratios)) == m))

    def _observation(self, arm: str, x: FloatArray, m: int, value: float) -> FloatArray:
        """Return an observation of theta alone, (p + 1,): features and reward."""
        n, s_y, *_ = sums = self.sums.get(arm, self._zeros)[m]
        total = n + self.ratios[m]
        observation = np.append(x - sums[2:] / total, value - s_y / total)
        return np.asarray(observation * np.sqrt(total / (total + 1)))

    def _add_to_sums(self, arm: str, x: FloatArray, m: int, value: float, sign: float) -> None:
        sums = self.sums.get(arm, self._zeros).copy()
        sums[m] += sign * np.concatenate([[1.0, value], x])
        self.sums[arm] = sums

    def _all_sums(self) -> FloatArray:
        return np.array([*self.sums.values()]).reshape(-1, *self._zeros.shape)

    def _stacked(self) -> tuple[FloatArray, FloatArray]:
        """Return the counts of all arms, (arms, M), and their sums (x, y), (arms, M, p + 1)."""
        sums = self._all_sums()
        return sums[..., 0], np.concatenate([sums[..., 2:], sums[..., 1:2]], axis=-1)

    def likely_ratios(self, posterior: Posterior) -> FloatArray:
        """Return the ratios k (M,) that the sums make most likely, as for a group of features."""
        n, sums = self._stacked()
        errors = sums[..., -1] - np.vecdot(sums[..., :-1], posterior.theta)
        ratios = np.full(len(self.ratios), _evidence.START)
        for _ in range(_ITERATIONS):
            squares, weights = np.square(errors / (n + ratios)), n / (n + ratios)
            largest = squares.max(axis=0, initial=0.0)
            noise = np.maximum(posterior.noise, _evidence.LEAST_NOISE * largest + _TINY)
            prior_squares = _evidence.BELIEF * (noise + largest) / _evidence.START
            precisions = (squares.sum(axis=0) + prior_squares) / noise
            ratios = (weights.sum(axis=0) + _evidence.BELIEF) / precisions
        return ratios / _evidence.CAUTION

    def set_ratios(self, posterior: Posterior, ratios: FloatArray) -> None:
        """Take over other ratios k (M,), and let a posterior know what it would by them."""
        n, sums = self._stacked()
        change = 1 / (n + self.ratios) - 1 / (n + ratios)
        self.ratios = ratios
        posterior.add(sums.swapaxes(0, 1), change.T)

    def columns(
        self, arms: Sequence[str], theta: FloatArray, pending: Mapping[str, int]
    ) -> FloatArray:
        """Return what a policy sees of arms beside their features, (K, 3 M).

        Effects, their standard errors where the noise is 1, and these with what is in flight.
        """
        n, errors = np.zeros((2, len(arms), len(theta)))
        seen = [index for index, arm in enumerate(arms) if arm in self.sums]
        if seen:
            sums = np.array([self.sums[arms[index]] for index in seen])
            n[seen], errors[seen] = sums[..., 0], sums[..., 1] - np.vecdot(sums[..., 2:], theta)
        total = n + self.ratios
        pending_counts = np.array([pending.get(arm, 0) for arm in arms])[:, None]
        return np.hstack([errors / total, 1 / np.sqrt(total), 1 / np.sqrt(total + pending_counts)])


def with_effects(beliefs: Beliefs) -> Beliefs:
    """Return beliefs about arms that have :meth:`ArmEffects.columns` beside their features."""
    M = beliefs.theta.shape[0]
    theta = np.hstack([beliefs.theta, np.eye(M), np.zeros((M, 2 * M))])
    observed, expected = beliefs.observed, beliefs.expected
    return Beliefs(theta, _WithEffects(observed, M, 1), _WithEffects(expected, M, 2))


class _WithEffects:
    """What is known of arms, and of effects whose standard errors are columns of theirs."""

    def __init__(self, posterior: FrozenPosterior, objectives: int, index: int) -> None:
        self._posterior, self._objectives, self._index = posterior, objectives, index
        self.version, self.n, self.noise = posterior.version, posterior.n, posterior.noise

    @property
    def W(self) -> FloatArray:  # noqa: N802
        """A root of S, (M, r + 1, d + 3 M)."""
        W, M = self._posterior.W, self._objectives
        padded = np.zeros((M, W.shape[1] + 1, W.shape[2] + 3 * M))
        padded[:, :-1, : W.shape[2]] = W
        objective_indices = np.arange(M)
        padded[objective_indices, -1, W.shape[2] + self._index * M + objective_indices] = 1.0
        return padded

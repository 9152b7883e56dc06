"""What has been learned: every objective from exactly the decisions for which it was observed.

One linear model with a batch entry for each objective, so that each has a Gram matrix of its own.
With forgetting, an observation counts for half after every half-life. Measured in time, its age is
that of its decision, so the order in which rewards arrive makes no difference; measured in
updates, it is the number of later observations of the same objective.
"""

import copy
import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray, check_shape, real
from mogro.linear import LinearModel


@dataclass(frozen=True)
class HalfLife:
    """How fast old observations fade: after this much an observation counts for half.

    Parameters
    ----------
    updates
        In further observations of the same objective.
    time
        In the caller's time, from decision to now. Give one of the two.

    Examples
    --------
    >>> HalfLife(updates=1000)
    HalfLife(updates=1000.0, time=None)
    """

    _: KW_ONLY
    updates: float | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        if (self.updates is None) == (self.time is None):
            raise ValueError(
                f"half_life: expected updates or time, got updates={self.updates}, time={self.time}"
            )
        for name in ("updates", "time"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, real(getattr(self, name), name, above=0))


class Learner:
    """Estimates of every objective, and how much stands behind them."""

    def __init__(
        self, size: int, objectives: int, *, ridge: float, half_life: HalfLife | None
    ) -> None:
        self.model = LinearModel(size, 1, ridge=ridge, batch=(objectives,))
        self.half_life = half_life
        self.effective: FloatArray = np.zeros(objectives)  # sums of the observations' weights
        self.time = -math.inf  # to which the weights refer; the latest seen
        updates = half_life.updates if half_life else None
        # What an objective keeps of the rest at each of its observations.
        self.keep = None if updates is None else 0.5 ** (1 / updates)
        self._period = half_life.time if half_life else None

    @property
    def theta(self) -> FloatArray:
        """Estimates (M, p); a view that learning changes."""
        return self.model.theta[:, 0, :]

    @property
    def noise(self) -> FloatArray:
        """Standard deviation of the observations from the estimates, (M,); NaN if unknown."""
        free = self.effective - self.model.rank
        known = np.maximum(self.model.squares[:, 0], 0) / np.where(free > 0, free, 1)
        return np.asarray(np.sqrt(np.where(free > 0, known, math.nan)))

    def advance(self, now: float) -> float:
        """Bring everything to a later time, and return the factor by which it faded."""
        if self._period is None or now <= self.time:
            return 1.0
        factor = 1.0 if self.time == -math.inf else 0.5 ** ((now - self.time) / self._period)
        self.time = now
        if factor < 1:
            self._fade(np.full(len(self.effective), factor))
        return factor

    def weight(self, time: float) -> float:
        """Return how much an observation of a decision at that time counts now."""
        return 1.0 if self._period is None else 0.5 ** ((self.time - time) / self._period)

    def weights(self, times: FloatArray) -> FloatArray:
        """Return the same for many times, (n,)."""
        if self._period is None:
            return np.ones(len(times))
        return np.asarray(0.5 ** ((self.time - times) / self._period))

    def learn(self, features: FloatArray, values: FloatArray, which: BoolArray, w: float) -> None:
        """Learn the objectives (M,) ``which`` from an arm (p,) with values (M,), of weight w."""
        if self.keep is not None:
            self._fade(np.where(which, self.keep, 1.0))
        if w == 1 and np.count_nonzero(which) == len(which):
            self.model.update(features, values[:, None])
            self.effective += 1
            return
        weights = which * w
        roots = np.sqrt(weights)
        self.model.update(roots[:, None] * features, (roots * values)[:, None])
        self.effective += weights

    def learn_many(
        self, features: FloatArray, values: FloatArray, which: BoolArray, times: FloatArray
    ) -> None:
        """Learn from arms (n, p) with values (n, M), in this order, where ``which``, (n, M)."""
        weights = which.astype(np.float64)
        if self.keep is not None:
            later = which[::-1].cumsum(axis=0)[::-1] - which
            weights *= self.keep**later
            self._fade(self.keep ** which.sum(axis=0, dtype=np.float64))
        weights *= self.weights(times)[:, None]
        roots = np.sqrt(weights).T[..., None]
        self.model.learn(roots * features, roots * np.where(which, values, 0).T[..., None])
        self.effective += weights.sum(axis=0)

    def merge(self, other: "Learner") -> float:
        """Learn what another has learned, and return the weight its time gives it now."""
        self.advance(other.time)
        theirs = copy.deepcopy(other)
        factor = theirs.advance(self.time)
        self.model.absorb(theirs.model)
        self.effective += theirs.effective
        return factor

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All that has been learned, to be given to :meth:`restore`."""
        own = {"effective": self.effective, "time": np.array(self.time)}
        return own | {f"model.{name}": array for name, array in self.model.save_state().items()}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`arrays` of an equal learner gave, to the bit."""
        check_shape(arrays["effective"], "effective", self.effective.shape)
        parts = {name: array for name, array in arrays.items() if name.startswith("model.")}
        self.model.load_state({name.removeprefix("model."): array for name, array in parts.items()})
        self.effective = arrays["effective"].astype(np.float64)
        self.time = float(arrays["time"].astype(np.float64))

    def _fade(self, factor: FloatArray) -> None:
        self.model.decay(factor)
        self.effective *= factor

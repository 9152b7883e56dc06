"""From the user's features to the learner's: centred, scaled, with a constant, as asked for."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, count, floats
from mogro.choice import Beliefs
from mogro.live.offers.catalogue import Version
from mogro.policies import LinearPolicy


@dataclass(frozen=True, eq=False)
class Scaling:
    """Features are used as ``(x - center) / scale``.

    Least squares does not care, but exploration does: it looks at all directions alike, so features
    should vary by about as much. Centring needs an intercept to be harmless.

    Parameters
    ----------
    center, scale
        One number for each feature, scales > 0.

    Examples
    --------
    >>> Scaling.of([[1990.0, 0.1], [2010.0, 0.3]])
    Scaling(center=[2000.0, 0.2], scale=[10.0, 0.1])
    """

    center: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        center = floats(self.center, "center", shape=("d",)).astype(np.float64)
        scale = floats(self.scale, "scale", shape=center.shape).astype(np.float64)
        if (scale <= 0).any():
            raise ValueError(f"scale: expected numbers > 0, got {scale}")
        for name, array in (("center", center), ("scale", scale)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def of(cls, sample: ArrayLike) -> Self:
        """Take mean and standard deviation of a sample (n, d); 1 for a constant feature."""
        rows = floats(sample, "sample", shape=("n", "d")).astype(np.float64)
        spread = rows.std(axis=0)
        small = 1e-12 * np.abs(rows).max(axis=0)
        return cls(rows.mean(axis=0), np.where(spread > small, spread, 1.0))

    def __repr__(self) -> str:
        center, scale = self.center.round(6).tolist(), self.scale.round(6).tolist()
        return f"Scaling(center={center}, scale={scale})"


class FeatureMap:
    """What the learner sees of features (..., d): (..., p), with p = d or d + 1."""

    contextual: ClassVar[bool] = False
    context: ClassVar[None] = None
    stretch: ClassVar[float] = 1.0  # of squared norms, by a context

    def __init__(self, dim: int, *, intercept: bool, scaling: Scaling | None) -> None:
        self.dim = count(dim, "dim")
        if not isinstance(intercept, bool):
            raise ValueError(f"intercept: expected True or False, got {intercept!r}")
        if scaling is not None and not isinstance(scaling, Scaling):
            raise ValueError(f"scaling: expected a mogro.Scaling, got {scaling!r}")
        if scaling is not None and scaling.center.shape != (self.dim,):
            raise ValueError(f"scaling: expected {self.dim} features, got {len(scaling.center)}")
        self.intercept = intercept
        self.scaling = scaling
        self.size = self.dim + intercept

    def __call__(self, features: FloatArray) -> FloatArray:
        """Map features; float64, and the very array where there is nothing to do."""
        mapped = features.astype(np.float64, copy=False)
        if self.scaling is not None:
            mapped = (mapped - self.scaling.center) / self.scaling.scale
        if self.intercept:
            mapped = np.concatenate([mapped, np.ones((*mapped.shape[:-1], 1))], axis=-1)
        return mapped

    def at(self, context: object) -> Self:
        """Refuse a context: arms have features of their own."""
        if context is not None:
            raise ValueError(
                "context: expected none beside dim=, where arms have features of their own; an "
                "agent with features=mogro.Bilinear(arm=..., context=...) takes one"
            )
        return self

    def encode_arms(self, features: Any) -> Any:
        """Return the features as they are."""
        return features

    def products(self, features: FloatArray) -> FloatArray:
        """Return what the learner sees of features: what a policy sees."""
        return self(features)

    def lift(self, seen: FloatArray) -> FloatArray:
        """Return what the learner sees of vectors that a policy sees: the same."""
        return seen

    def policy(self, policy: LinearPolicy) -> LinearPolicy:
        """Return the policy as it is."""
        return policy

    def contract(self, beliefs: Beliefs) -> Beliefs:
        """Return the beliefs as they are."""
        return beliefs

    def contract_rows(self, rows: FloatArray) -> FloatArray:
        """Return estimates as they are."""
        return rows

    def mean_square(self, version: Version) -> float:
        """Return the mean squared norm of the arms of a catalogue as the learner sees them."""
        count = len(version.ids)
        return float(np.trace(self.second_moments(*version.survey, count=count))) / count

    def largest(self, version: Version) -> float:
        """Return the largest squared norm of the arms of a catalogue as the learner sees them."""
        return version.largest(self)

    def lines(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes (M, d) and constants (M,) in the user's features of estimates (M, p)."""
        slopes = theta[:, : self.dim]
        constants = theta[:, self.dim] if self.intercept else np.zeros(len(theta))
        if self.scaling is not None:
            slopes = slopes / self.scaling.scale
            constants = constants - slopes @ self.scaling.center
        return slopes, constants

    def second_moments(self, mean: FloatArray, scatter: FloatArray, *, count: int) -> FloatArray:
        """Return the sum of outer products, (p, p), of what the learner sees of ``count`` arms.

        They have a mean (d,), and ``scatter`` (d, d) is that sum for their deviations from it.
        """
        seen = self(mean)
        total = count * (seen[:, None] * seen)
        scale = 1.0 if self.scaling is None else self.scaling.scale[:, None] * self.scaling.scale
        total[: self.dim, : self.dim] += scatter / scale
        return np.asarray(total)

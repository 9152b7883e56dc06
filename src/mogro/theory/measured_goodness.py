"""How good the arms of a problem are, by whichever version of the lemma its norms keep to."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mogro._intervals import ConfidenceInterval
from mogro._validation import FloatArray
from mogro.theory.conditions import (
    Norms,
    diversity_left,
    goodness_needed,
    objective_diversity,
    radius_cap,
)
from mogro.theory.contexts import levels_in_worst_direction, share_above
from mogro.theory.goodness import best_goodness, goodness_level

UNIT_SLACK = 1e-9  # norms within this of 1 are 1
# Of contexts: where between the level needed and a perfect one. A higher gamma is reached less
# often, but alpha is larger; for M = d and arms in all directions, q_gamma alpha^(M - 1), on which
# the bounds depend, is largest here.
_CONTEXT_LEVEL = 0.75


@dataclass(frozen=True)
class Goodness:
    """Goodness of the arms for the objectives, within the span of the features.

    Attributes
    ----------
    diversity
        lambda.
    level
        The best level gamma (approached as alpha goes to 0). For contexts, the highest level that
        an arm of the sampled rounds reached in the worst direction found.
    needed
        What the level has to exceed.
    version
        Which lemma that is: "theorem", "parameter norms", or "all norms" (the relaxed ones).
    separation
        Least distance of two objectives, None for one. Random weights need alpha not to exceed
        it, for the proof adds over the events that the weights come near each objective.
    feature_norm
        x_max, the largest norm of a feature vector.
    smallest_norm
        l, the smallest norm of a parameter vector.
    largest_norm
        L, the largest norm of a parameter vector.
    perfect_alpha
        The radius of perfect arms; None if the objectives do not span.
    gamma
        The level that the bounds use; None if the arms are not good enough.
    alpha
        The radius that goes with it; None if the arms are not good enough.
    diversity_left
        lambda'; None if the arms are not good enough.
    probability
        For contexts, q_gamma: how often a round has a gamma-good arm in the worst direction found,
        an estimate; None for fixed arms.
    """

    diversity: float
    level: float
    needed: float
    version: str
    separation: float | None
    feature_norm: float
    smallest_norm: float
    largest_norm: float
    perfect_alpha: float | None = None
    gamma: float | None = None
    alpha: float | None = None
    diversity_left: float | None = None
    probability: ConfidenceInterval | None = None

    @property
    def bound_norm(self) -> float:
        """The x_max that the bounds take, which is 1 unless the version is the one with x_max."""
        return self.feature_norm if self.version == "all norms" else 1.0


class _Lemma(NamedTuple):
    """A version of the conditions, for objectives of some diversity."""

    version: str
    diversity: float
    norms: Norms

    @property
    def perfect(self) -> float:
        """The level of perfect arms."""
        return 1.0 if self.norms["feature_norm"] is None else self.norms["feature_norm"]

    @property
    def needed(self) -> float:
        return goodness_needed(self.diversity, **self.norms) if self.diversity else self.perfect

    def cap(self, gamma: float) -> float:
        # A norm may be above 1 by rounding.
        return radius_cap(self.diversity, min(gamma, self.perfect), **self.norms)

    def left(self, alpha: float, gamma: float) -> float:
        return diversity_left(self.diversity, alpha, min(gamma, self.perfect), **self.norms)


def measure_goodness(features: FloatArray, theta: FloatArray, *, apart: bool) -> Goodness:
    """Measure arms (K, d), or rounds (n, K, d), by the theorem's lemma, or else by a relaxed one.

    If objectives have to be ``apart``, alpha is at most their least distance (unless that is 0).
    """
    good = _measure_sizes(features, theta)
    for lemma in _lemmas(good) if good.diversity > 0 else ():
        if features.ndim == 3:
            gamma = lemma.needed + _CONTEXT_LEVEL * (lemma.perfect - lemma.needed)
            levels = levels_in_worst_direction(features, gamma, np.random.default_rng(0))
            share = share_above(levels, gamma)
            good = replace(good, level=max(0.0, float(levels.max())), probability=share)
            pair = (gamma, lemma.cap(gamma)) if share.low > 0 else None
        else:
            pair = best_goodness(features, theta, needed=lemma.needed, cap=lemma.cap)
        if pair is not None:
            gamma, alpha = pair
            if apart and good.separation:
                alpha = min(alpha, good.separation)
            left = lemma.left(alpha, gamma)
            good = replace(good, gamma=gamma, alpha=alpha, diversity_left=left)
            return replace(good, needed=lemma.needed, version=lemma.version)
    return good


def _measure_sizes(features: FloatArray, theta: FloatArray) -> Goodness:
    """Return the goodness of arms that are not, or not yet, known to be good enough."""
    sizes = np.linalg.norm(theta, axis=1)
    apart = np.linalg.norm(theta[:, None] - theta, axis=-1)[~np.eye(len(theta), dtype=bool)]
    good = Goodness(
        diversity=objective_diversity(theta),
        level=goodness_level(features, theta) if features.ndim == 2 else 0.0,
        needed=0.0,
        version="",
        separation=float(apart.min()) if len(apart) else None,
        feature_norm=float(np.linalg.norm(features, axis=-1).max()),
        smallest_norm=float(sizes.min()),
        largest_norm=float(sizes.max()),
    )
    first = _lemmas(good)[0]
    perfect = first.cap(first.perfect) or None if good.diversity > 0 else None
    return replace(good, version=first.version, needed=first.needed, perfect_alpha=perfect)


def _lemmas(good: Goodness) -> list[_Lemma]:
    """Return the lemmas whose norms a problem keeps to, the theorem's first."""
    x_max, sizes = good.feature_norm, (good.smallest_norm, good.largest_norm)
    norms = {"all norms": Norms(feature_norm=x_max, parameter_norms=sizes)}
    if x_max <= 1 + UNIT_SLACK:
        norms = {"parameter norms": Norms(feature_norm=None, parameter_norms=sizes)} | norms
        if max(good.largest_norm - 1, 1 - good.smallest_norm) <= UNIT_SLACK:
            norms = {"theorem": Norms(feature_norm=None, parameter_norms=None)} | norms
    return [_Lemma(version, good.diversity, each) for version, each in norms.items()]

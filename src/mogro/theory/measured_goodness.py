"""How good the arms of a problem are, by whichever version of the lemma its norms keep to."""

from dataclasses import dataclass, replace
from itertools import chain

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
from mogro.theory.contexts import measure_rounds
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
        The best level gamma, approached as alpha goes to 0. For contexts, the highest level that
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


def measure_goodness(features: FloatArray, theta: FloatArray, *, apart: bool) -> Goodness:
    """Measure arms (K, d), or rounds (n, K, d), by the theorem's lemma, or else by a relaxed one.

    If objectives have to be ``apart``, alpha is at most their least distance (unless that is 0).
    """
    norms = np.linalg.norm(theta, axis=1)
    distances = np.linalg.norm(theta[:, None] - theta, axis=-1)[~np.eye(len(theta), dtype=bool)]
    sizes = Goodness(
        diversity=objective_diversity(theta),
        level=goodness_level(features, theta) if features.ndim == 2 else 0.0,
        needed=0.0,
        version="",
        separation=float(distances.min()) if len(distances) else None,
        feature_norm=float(np.linalg.norm(features, axis=-1).max()),
        smallest_norm=float(norms.min()),
        largest_norm=float(norms.max()),
    )
    measured = (_measure(features, theta, sizes, apart, *each) for each in _versions(sizes).items())
    first = next(measured)
    return next((good for good in chain([first], measured) if good.alpha is not None), first)


def _measure(
    features: FloatArray,
    theta: FloatArray,
    sizes: Goodness,
    apart: bool,
    version: str,
    norms: Norms,
) -> Goodness:
    """Return what one version of the lemma says."""
    lam, perfect = sizes.diversity, norms["feature_norm"] or 1.0  # the level of perfect arms
    if not lam:
        return replace(sizes, version=version, needed=perfect)

    def cap(gamma: float) -> float:
        return radius_cap(lam, min(gamma, perfect), **norms)  # a norm may be above 1 by rounding

    needed = goodness_needed(lam, **norms)
    good = replace(sizes, version=version, needed=needed, perfect_alpha=cap(perfect) or None)
    if features.ndim == 2:
        pair = best_goodness(features, theta, needed=needed, cap=cap)
    else:
        level = needed + _CONTEXT_LEVEL * (perfect - needed)
        share, reached = measure_rounds(features, level, np.random.default_rng(0))
        good = replace(good, level=max(0.0, reached), probability=share)
        pair = (level, cap(level)) if share.low > 0 else None
    if pair is None:
        return good
    gamma, alpha = pair
    if apart and good.separation:
        alpha = min(alpha, good.separation)
    left = diversity_left(lam, alpha, min(gamma, perfect), **norms)
    return replace(good, gamma=gamma, alpha=alpha, diversity_left=left)


def _versions(good: Goodness) -> dict[str, Norms]:
    """Return the versions of the lemma whose norms a problem keeps to, the theorem's first."""
    sizes = good.smallest_norm, good.largest_norm
    norms = {"all norms": Norms(feature_norm=good.feature_norm, parameter_norms=sizes)}
    if good.feature_norm <= 1 + UNIT_SLACK:
        norms = {"parameter norms": Norms(feature_norm=None, parameter_norms=sizes)} | norms
        if max(good.largest_norm - 1, 1 - good.smallest_norm) <= UNIT_SLACK:
            norms = {"theorem": Norms(feature_norm=None, parameter_norms=None)} | norms
    return norms

"""What the theory promises for one problem: goodness, threshold, initial rounds, bounds."""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.exploration import BasisRoundRobin
from mogro.theory.bounds import (
    regret_bound_random_weights,
    regret_bound_round_robin,
    says_nothing,
)
from mogro.theory.conditions import (
    diversity_left,
    eigenvalue_increment,
    goodness_needed,
    objective_diversity,
    radius_cap,
)
from mogro.theory.fairness import fairness_bound
from mogro.theory.goodness import best_goodness, goodness_level
from mogro.theory.regularity import regularity
from mogro.theory.thresholds import (
    initial_rounds_bound,
    initial_rounds_round_robin,
    never_ends,
    threshold_random_weights,
    threshold_round_robin,
)

_UNIT = 1e-9  # norms within this of 1 are 1
_SLACK = 0.1  # of the fairness index, times the largest conceivable mean reward


@dataclass(frozen=True)
class Goodness:
    """Goodness of the arms for the objectives, within the span of the features.

    Attributes
    ----------
    diversity
        lambda.
    level, needed
        The best level gamma (approached as alpha goes to 0), and what it has to exceed.
    version
        Which lemma that is: "theorem", "parameter norms", or "all norms" (the relaxed ones).
    gamma, alpha
        The pair that the bounds use; None if the arms are not good enough.
    left
        lambda'; None if the arms are not good enough.
    separation
        Least distance of two objectives, None for one. Random weights need alpha not to exceed
        it, for the proof adds over the events that the weights come near each objective.
    feature_norm, smallest_norm, largest_norm
        x_max, l and L.
    """

    diversity: float
    level: float
    needed: float
    version: str
    gamma: float | None
    alpha: float | None
    left: float | None
    separation: float | None
    feature_norm: float
    smallest_norm: float
    largest_norm: float

    @property
    def bound_norm(self) -> float:
        """The x_max that the bounds take: 1 unless the version is the one with x_max."""
        return self.feature_norm if self.version == "all norms" else 1.0


@dataclass(frozen=True)
class Promises:
    """Threshold, initial rounds and bounds.

    Attributes
    ----------
    threshold
        B. If the arms are not good enough: what it would be if they were perfect, so that the true
        need is no smaller. None if the objectives do not span: then there is none.
    hypothetical
        Whether it is only that.
    endless
        Whether no exploration can reach it within the horizon, B > T x_max^2 / d.
    initial_rounds, initial_rounds_bound
        T_0 of a round robin over a basis found by pivoted QR, exactly, and the lemma's bound.
    phi
        Regularity index at alpha / 2, the lower end of its interval; None for round robin.
    increment
        lambda_inc for random weights, lambda' for round robin.
    regret
        Bound on the effective Pareto regret; None if no theorem applies.
    vacuous
        Whether that bound says nothing, because no policy can do worse; true without a bound.
    epsilon, fairness
        Slack, and lower bound on the fairness index; None for round robin or if no theorem applies.
    fairness_guaranteed
        Whether it is a guarantee; if not, its regularity index was searched for, not proved.
    """

    threshold: float | None
    hypothetical: bool
    endless: bool
    initial_rounds: int | None
    initial_rounds_bound: int | None
    phi: float | None
    increment: float | None
    regret: float | None
    vacuous: bool
    epsilon: float
    fairness: float | None
    fairness_guaranteed: bool


@dataclass(frozen=True)
class _Version:
    """The lemmas for one way of bounding norms."""

    name: str
    feature_norm: float | None
    parameter_norms: tuple[float, float] | None

    def needed(self, lam: float) -> float:
        return goodness_needed(
            lam, feature_norm=self.feature_norm, parameter_norms=self.parameter_norms
        )

    def cap(self, lam: float, gamma: float) -> float:
        level = min(gamma, self.perfect)  # a norm may be above 1 by rounding
        return radius_cap(
            lam, level, feature_norm=self.feature_norm, parameter_norms=self.parameter_norms
        )

    def left(self, lam: float, gamma: float, alpha: float) -> float:
        level = min(gamma, self.perfect)
        return diversity_left(
            lam, alpha, level, feature_norm=self.feature_norm, parameter_norms=self.parameter_norms
        )

    @property
    def perfect(self) -> float:
        """The level of perfect arms."""
        return 1.0 if self.feature_norm is None else self.feature_norm


def _versions(xmax: float, low: float, high: float) -> list[_Version]:
    """Return the versions whose norms a problem keeps to, the theorem's first."""
    versions = [_Version("all norms", xmax, (low, high))]
    if xmax <= 1 + _UNIT:
        versions.insert(0, _Version("parameter norms", None, (low, high)))
        if max(high - 1, 1 - low) <= _UNIT:
            versions.insert(0, _Version("theorem", None, None))
    return versions


def goodness_of(features: FloatArray, theta: FloatArray, *, apart: bool) -> Goodness:
    """Judge the goodness of arms by the theorem's lemma, or else by a relaxed one.

    If objectives have to be ``apart``, alpha is at most their least distance (unless that is 0).
    """
    lam = objective_diversity(theta)
    level = goodness_level(features, theta).upper
    sizes = np.linalg.norm(theta, axis=1)
    norms = (float(np.linalg.norm(features, axis=1).max()), float(sizes.min()), float(sizes.max()))
    separation = _separation(theta)
    versions = _versions(*norms)
    for version in versions if lam > 0 else []:
        needed = version.needed(lam)
        cap = partial(version.cap, lam)
        if (pair := best_goodness(features, theta, needed=needed, cap=cap)) is not None:
            gamma, alpha = pair
            if apart and separation:
                alpha = min(alpha, separation)
            left = version.left(lam, gamma, alpha)
            return Goodness(
                lam, level, needed, version.name, gamma, alpha, left, separation, *norms
            )
    first = versions[0]
    needed = first.needed(lam) if lam > 0 else first.perfect
    return Goodness(lam, level, needed, first.name, None, None, None, separation, *norms)


def _separation(theta: FloatArray) -> float | None:
    if len(theta) == 1:
        return None
    distances = np.linalg.norm(theta[:, None] - theta, axis=-1)
    return float(distances[~np.eye(len(theta), dtype=bool)].min())


def promises(
    features: FloatArray,
    theta: FloatArray,
    good: Goodness,
    *,
    weights: FloatArray | None,
    noise: float,
    rounds: int,
) -> Promises:
    """Collect what the theory promises; ``weights`` are Dirichlet parameters, None: round robin."""
    dim, epsilon = features.shape[1], _SLACK * good.bound_norm * good.largest_norm
    alpha = _radius(good)
    if alpha is None:
        return Promises(None, True, True, None, None, None, None, None, True, epsilon, None, False)
    of_theorem = threshold_round_robin if weights is None else threshold_random_weights
    threshold = of_theorem(alpha, noise=noise, dim=dim, rounds=rounds, feature_norm=good.bound_norm)
    basis = features[BasisRoundRobin(features).basis]
    start = initial_rounds_round_robin(basis, threshold=threshold)
    bounds = _bounds(theta, good, start, epsilon, weights=weights, noise=noise, rounds=rounds)
    return Promises(
        threshold=threshold,
        hypothetical=good.alpha is None,
        endless=never_ends(threshold, dim=dim, rounds=rounds, feature_norm=good.feature_norm),
        initial_rounds=start,
        initial_rounds_bound=initial_rounds_bound(basis, threshold=threshold),
        phi=bounds.phi,
        increment=bounds.increment,
        regret=bounds.regret,
        vacuous=bounds.regret is None
        or says_nothing(
            bounds.regret,
            rounds=rounds,
            feature_norm=good.bound_norm,
            parameter_norm=good.largest_norm,
        ),
        epsilon=epsilon,
        fairness=bounds.fairness,
        fairness_guaranteed=bounds.fairness_guaranteed,
    )


def _radius(good: Goodness) -> float | None:
    """Return alpha; if the arms are not good enough, that of perfect arms."""
    if good.alpha is not None or good.diversity == 0:
        return good.alpha
    version = _versions(good.feature_norm, good.smallest_norm, good.largest_norm)[0]
    return version.cap(good.diversity, version.perfect) or None


class _Bounds(NamedTuple):
    phi: float | None = None
    increment: float | None = None
    regret: float | None = None
    fairness: float | None = None
    fairness_guaranteed: bool = False


def _bounds(
    theta: FloatArray,
    good: Goodness,
    start: int,
    epsilon: float,
    *,
    weights: FloatArray | None,
    noise: float,
    rounds: int,
) -> _Bounds:
    if good.alpha is None or good.left is None or good.left <= 0:
        return _Bounds()
    if weights is not None and good.separation == 0:
        return _Bounds()
    objectives, dim = theta.shape
    if weights is None:
        regret = regret_bound_round_robin(
            left=good.left,
            noise=noise,
            dim=dim,
            objectives=objectives,
            rounds=rounds,
            initial_rounds=start,
            feature_norm=good.bound_norm,
            parameter_norm=good.largest_norm,
        )
        return _Bounds(increment=good.left, regret=regret)
    phi = regularity(theta, weights, epsilon=good.alpha / 2).phi.low
    increment = eigenvalue_increment(good.left, phi=phi, objectives=objectives)
    if increment < 1e-290:  # no bound that a float could hold
        return _Bounds(phi=phi, increment=increment, regret=math.inf, fairness=0.0)
    regret = regret_bound_random_weights(
        increment=increment,
        noise=noise,
        dim=dim,
        objectives=objectives,
        rounds=rounds,
        initial_rounds=start,
        feature_norm=good.bound_norm,
        parameter_norm=good.largest_norm,
    )
    near = regularity(theta, weights, epsilon=epsilon / 3 / good.bound_norm)
    fairness = fairness_bound(
        epsilon,
        psi=near.psi.low,
        increment=increment,
        noise=noise,
        dim=dim,
        objectives=objectives,
        rounds=rounds,
        initial_rounds=start,
        feature_norm=good.bound_norm,
    )
    return _Bounds(phi, increment, regret, fairness.index, near.guaranteed)

"""The constants in the conditions: lambda, the distance bound, the cap on alpha, what is left.

Each exists in four versions (the theorems' and the appendix's "relaxed" ones), chosen by what is
given. ``feature_norm`` is x_max, a bound on the feature norms; ``parameter_norms`` is (l, L),
bounds on the parameter norms. Without them the theorems' own assumption holds: features in the unit
ball, parameters of norm 1. With ``feature_norm`` the lemma compares x / gamma with the parameter,
so even at ``feature_norm=1`` its constants differ from the theorems'.
"""

import math
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import between, count, real
from mogro.theory._problem import read_norms, read_parameters, span_coordinates


class Norms(TypedDict):
    """Bounds on norms; those that are given choose the version."""

    feature_norm: float | None
    parameter_norms: tuple[float, float] | None


def objective_diversity(theta: ArrayLike, *, features: ArrayLike | None = None) -> float:
    """Return lambda, the smallest eigenvalue of the mean of theta_m theta_m^T.

    It says how well the objectives together cover every direction, and is positive exactly if
    they span the space (Assumption OD). For parameters of norm 1 it is at most 1/d.

    Parameters
    ----------
    theta
        Parameters, (M, d), none of them zero.
    features
        Arms (K, d): then only directions in their span count (lambda_1 of the appendix).

    Returns
    -------
    float
        lambda >= 0; exactly 0 if the objectives do not span, for example with fewer objectives
        than dimensions. Then no result of the theory applies.

    Examples
    --------
    Two orthogonal objectives: the mean of the outer products is the identity over 2.

    >>> objective_diversity([[1.0, 0.0], [0.0, 1.0]])
    0.5
    >>> objective_diversity([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    0.0
    >>> flat = [[1, 0, 0], [1, 1, 0]]
    >>> round(objective_diversity([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], features=flat), 12)
    0.5
    """
    array = read_parameters(theta) if features is None else span_coordinates(features, theta).theta
    if np.linalg.matrix_rank(array) < array.shape[1]:
        return 0.0
    singular = np.linalg.svd(array, compute_uv=False)
    return float(singular[-1] ** 2 / len(array))


def goodness_needed(
    lam: float,
    *,
    feature_norm: float | None = None,
    parameter_norms: tuple[float, float] | None = None,
) -> float:
    """Return the level that gamma has to exceed for the theory to apply.

    Assumption Good: 1 - lambda^2 / 18. With (l, L): 1 - lambda^2 / (8 L^4). With x_max:
    (x_max / lambda) sqrt(2 sqrt(1 + lambda^2) - 2). With both: the last, with lambda / L^2.

    Parameters
    ----------
    lam
        :func:`objective_diversity`, larger than 0.
    feature_norm, parameter_norms
        x_max and (l, L), see the module.

    Examples
    --------
    >>> goodness_needed(0.5)  # 1 - 0.25 / 18
    0.986111...
    >>> goodness_needed(0.5, parameter_norms=(1.0, 1.0))  # 1 - 0.25 / 8
    0.96875
    >>> goodness_needed(0.75, feature_norm=2.0)  # (2 / 0.75) sqrt(2 * 1.25 - 2)
    1.885618...
    """
    lam, scaled, xmax = _scales(lam, feature_norm, parameter_norms)
    if xmax is not None:
        return xmax * math.sqrt(2 / (1 + math.hypot(1, scaled)))
    return 1 - scaled**2 / (18 if parameter_norms is None else 8)


def distance_bound(
    alpha: float,
    gamma: float,
    *,
    feature_norm: float | None = None,
    smallest_norm: float = 1.0,
) -> float:
    """Bound the distance between a parameter and a good arm for an estimate of it.

    Lemma dist_good_arm: if |estimate - theta| <= alpha, |theta| = 1 and the arm x in the unit
    ball has x . estimate >= gamma |estimate|, then |theta - x| is at most
    sqrt(2 + 2 alpha sqrt(1 - gamma^2) - 2 gamma sqrt(1 - alpha^2))
    = 2 sin((arcsin alpha + arccos gamma) / 2).

    Parameters
    ----------
    alpha
        Radius, 0 <= alpha <= ``smallest_norm``.
    gamma
        Goodness, 0 < gamma <= 1 (or <= ``feature_norm``).
    feature_norm
        x_max: then the bound is on |theta / |theta| - x / gamma| (Lemma dist_good_arm_release_x).
    smallest_norm
        l, if |theta| >= l: then the bound is on |theta / |theta| - x|, with alpha / l for alpha.

    Examples
    --------
    Both angles are 30 degrees, so the bound is 2 sin(30 degrees).

    >>> distance_bound(0.5, math.sqrt(0.75))
    1.0
    >>> distance_bound(0.0, 1.0)
    0.0
    >>> distance_bound(0.0, 3.0, feature_norm=5.0)  # sqrt((5/3)^2 - 1)
    1.333333...
    """
    smallest = real(smallest_norm, "smallest_norm", above=0)
    angle = math.asin(between(alpha, "alpha", 0, smallest) / smallest)
    if feature_norm is None:
        total = angle + math.acos(between(gamma, "gamma", 0, 1, closed="(]"))
        return 2 * math.sin(total / 2)
    xmax = real(feature_norm, "feature_norm", above=0)
    ratio = xmax / between(gamma, "gamma", 0, xmax, closed="(]")
    total = angle + math.acos(1 / ratio)
    return math.hypot(ratio - 1, 2 * math.sqrt(ratio) * math.sin(total / 2))


def radius_cap(
    lam: float,
    gamma: float,
    *,
    feature_norm: float | None = None,
    parameter_norms: tuple[float, float] | None = None,
) -> float:
    """Return the largest radius alpha that the theory uses, however good the arms are.

    psi(lambda, gamma) = sqrt(lambda^2/9 - lambda^4/324) gamma - (1 - lambda^2/18) sqrt(1-gamma^2)
    = sin(2 arcsin(lambda / 6) - arccos gamma); a larger alpha is replaced by it, so that
    :func:`diversity_left` stays at least lambda / 3. For the relaxed versions the appendix
    states no cap; there it is the radius that leaves a third of what alpha = 0 would leave.

    Parameters
    ----------
    lam, feature_norm, parameter_norms
        As in :func:`goodness_needed`.
    gamma
        Goodness, larger than :func:`goodness_needed`, where the cap is 0 and thresholds would be
        infinite.

    Examples
    --------
    For gamma = 1: sqrt(0.25 / 9 - 0.0625 / 324) = sqrt(0.0277778 - 0.0001929).

    >>> round(radius_cap(0.5, 1.0), 6)
    0.166087
    >>> radius_cap(0.5, 0.9)
    Traceback (most recent call last):
        ...
    ValueError: gamma: expected a number in (0.986111, 1], got 0.9
    """
    norms: Norms = {"feature_norm": feature_norm, "parameter_norms": parameter_norms}
    needed = goodness_needed(lam, **norms)
    lam, scaled, xmax = _scales(lam, feature_norm, parameter_norms)
    top = 1.0 if xmax is None else xmax
    if gamma != top:  # where lambda is so small that the level needed is rounded to the top
        gamma = between(gamma, "gamma", needed, top, closed="(]")
    smallest = read_norms(parameter_norms)[0]
    third = lam / 3
    if xmax is not None or parameter_norms is not None:
        third = diversity_left(lam, 0.0, gamma, **norms) / 3
    if xmax is None:
        angle = 2 * math.asin(min(1.0, (scaled - third) / 4))
        return max(0.0, smallest * math.sin(angle - math.acos(gamma)))
    # |theta - x / gamma| = reach, solved for the angle between theta and x.
    ratio = xmax / gamma
    reach = (scaled * gamma**2 - third) / (2 * xmax * gamma)
    half = math.sqrt(max(0.0, reach**2 - (ratio - 1) ** 2) / ratio) / 2
    return max(0.0, smallest * math.sin(2 * math.asin(min(1.0, half)) - math.acos(1 / ratio)))


def diversity_left(
    lam: float,
    alpha: float,
    gamma: float,
    *,
    feature_norm: float | None = None,
    parameter_norms: tuple[float, float] | None = None,
) -> float:
    """Return lambda', what is left of lambda when good arms stand in for the parameters.

    lambda' = lambda - 2 D with the :func:`distance_bound` D; with (l, L) lambda / L^2 for lambda;
    with x_max lambda gamma^2 / L^2 - 2 x_max gamma D. A cycle of MOGRO-RR raises the smallest
    eigenvalue by at least M lambda' (Lemma mineigen_onecycle).

    Parameters
    ----------
    lam, feature_norm, parameter_norms
        As in :func:`goodness_needed`.
    alpha, gamma
        Radius and goodness.

    Returns
    -------
    float
        May be zero or negative: then the results that divide by it say nothing. It is positive if
        alpha is at most :func:`radius_cap`.

    Examples
    --------
    >>> diversity_left(0.5, 0.0, 1.0)
    0.5
    >>> cap = radius_cap(0.5, 0.999)
    >>> round(diversity_left(0.5, cap, 0.999), 9)  # a third
    0.166666667
    """
    lam, scaled, xmax = _scales(lam, feature_norm, parameter_norms)
    smallest = read_norms(parameter_norms)[0]
    distance = distance_bound(alpha, gamma, feature_norm=xmax, smallest_norm=smallest)
    if xmax is None:
        return scaled - 2 * distance
    return scaled * gamma**2 - 2 * xmax * gamma * distance


def eigenvalue_increment(
    diversity: float, *, phi: float, objectives: int, goodness_probability: float = 1.0
) -> float:
    """Return lambda_inc, how much a greedy round of MOGRO-RW adds to the smallest eigenvalue.

    Lemma mineigen_oneround: lambda_min(E[x x^T]) >= lambda' phi M, as long as all estimates are
    within alpha / 2. With stochastic contexts the probability q_gamma of a good arm is a further
    factor (Lemma mineigen_oneround_stochastic).

    Parameters
    ----------
    diversity
        lambda', :func:`diversity_left`.
    phi
        Regularity index phi of the weights at alpha / 2, see :func:`regularity`.
    objectives
        M.
    goodness_probability
        q_gamma, for stochastic contexts.

    Returns
    -------
    float
        lambda_inc; zero or negative if lambda' is: then the lemma says nothing. It also needs the
        objectives to be apart, |theta_m - theta_n| >= alpha: the proof adds over the events that
        the weights come near each of them.

    Examples
    --------
    >>> eigenvalue_increment(0.3, phi=0.05, objectives=2)
    0.03
    """
    share = between(phi, "phi", 0, 1)
    chance = between(goodness_probability, "goodness_probability", 0, 1)
    return real(diversity, "diversity") * share * chance * count(objectives, "objectives")


def _scales(
    lam: object, feature_norm: object, parameter_norms: tuple[float, float] | None
) -> tuple[float, float, float | None]:
    """Return lambda, lambda / L^2 and x_max, checked."""
    _, largest = read_norms(parameter_norms)
    checked = real(lam, "lam", above=0)
    if checked > largest**2 * (1 + 1e-9):
        raise ValueError(f"lam: expected at most the squared norm {largest**2:g}, got {lam!r}")
    xmax = None if feature_norm is None else real(feature_norm, "feature_norm", above=0)
    return checked, checked / largest**2, xmax

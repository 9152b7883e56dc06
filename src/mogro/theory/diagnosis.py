"""Whether a problem is one where greedy suffices, and what the theory promises for it."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray
from mogro.scalarization import RandomWeights, RoundRobin
from mogro.theory import _checks as check
from mogro.theory import _report
from mogro.theory._advice import Advice, advise
from mogro.theory._conflict import Conflict, conflict_of
from mogro.theory._promises import Promises, promises
from mogro.theory._versions import UNIT, Goodness, goodness_of
from mogro.theory.spans import span_coordinates


@dataclass(frozen=True)
class Assumption:
    """One assumption of the theory, whether it holds, and by how much.

    Attributes
    ----------
    name
        What is assumed.
    holds
        Whether it does.
    margin
        By how much it holds (positive) or fails (negative), in the unit that ``detail`` names.
    detail
        What was found and what is needed.
    """

    name: str
    holds: bool
    margin: float
    detail: str


@dataclass(frozen=True)
class Diagnosis:
    """What the theory says about a problem: a report in ``print`` and in a notebook, or JSON.

    Attributes
    ----------
    arms
        Number of arms, K.
    dim
        Number of features, d.
    rank
        Dimension of the span of the features.
    objectives
        Number of objectives, M.
    noise
        sigma.
    rounds
        Horizon, T.
    scalarization
        The greedy objective.
    assumptions
        Each assumption of the theory.
    conflict
        Fronts, and how much the objectives are at odds.
    goodness
        lambda, the level gamma that is there and that is needed, and the radius alpha.
    promises
        Threshold, initial rounds and bounds.
    advice
        Policy, threshold and exploration to take.
    """

    arms: int
    dim: int
    rank: int
    objectives: int
    noise: float
    rounds: int
    scalarization: str
    assumptions: tuple[Assumption, ...]
    conflict: Conflict
    goodness: Goodness
    promises: Promises
    advice: Advice

    @property
    def holds(self) -> bool:
        """Whether all assumptions hold."""
        return all(assumption.holds for assumption in self.assumptions)

    def to_json(self) -> str:
        """Return everything as JSON; numbers that are not finite become null."""
        return json.dumps({"holds": self.holds, **_plain(asdict(self))}, indent=2, allow_nan=False)

    def __str__(self) -> str:
        return _report.text(_report.sections(self))

    def __repr__(self) -> str:
        return (
            f"Diagnosis(arms={self.arms}, dim={self.dim}, objectives={self.objectives}, "
            f"rounds={self.rounds}, holds={self.holds})"
        )

    def _repr_html_(self) -> str:
        return _report.html(_report.sections(self))


def diagnose(
    features: ArrayLike,
    theta: ArrayLike,
    *,
    noise: float,
    rounds: int,
    scalarization: RandomWeights | RoundRobin = RandomWeights(),  # noqa: B008
) -> Diagnosis:
    """Say which assumptions of the theory a problem meets, what follows, and what to run.

    Parameters
    ----------
    features
        Arms, (K, d), of any norms, not all zero. They may span a subspace only.
    theta
        Parameters, (M, d): the true ones, or estimates such as ``policy.theta``. With estimates the
        answer is about the problem as estimated; it says nothing of their errors.
    noise
        sigma, the sub-Gaussian constant (for normal noise the standard deviation).
    rounds
        Horizon T.
    scalarization
        ``RandomWeights(...)`` or ``RoundRobin()``: what the theory covers.

    Returns
    -------
    Diagnosis
        Where the theorems' norms (features up to 1, parameters of exactly 1) are not met, or
        their goodness, the relaxed versions of the appendix are tried as well. Bounds use the
        lower end of the 95% interval of the regularity index.

    Examples
    --------
    A hundred arms around the circle, one objective along each axis:

    >>> angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> found = diagnose(circle, np.eye(2), noise=0.1, rounds=1_000_000)
    >>> found.holds, round(found.goodness.alpha, 3), found.promises.vacuous
    (True, 0.135, False)

    Arms that miss the second objective:

    >>> found = diagnose([[1.0, 0.0], [0.6, 0.6]], np.eye(2), noise=0.1, rounds=1000)
    >>> [assumption.name for assumption in found.assumptions if not assumption.holds]
    ['good arms']
    >>> found.assumptions[2].margin  # best level 0.6, needed 0.986
    -0.386...
    """
    arms, parameters = check.problem(features, theta)
    sigma, T = check.noise_level(noise), check.horizon(rounds)
    if not isinstance(scalarization, RandomWeights | RoundRobin):
        raise ValueError(
            f"scalarization: expected RandomWeights or RoundRobin, which the theory covers, "
            f"got {scalarization!r}"
        )
    weights = None
    if isinstance(scalarization, RandomWeights):
        weights = np.array(scalarization.dirichlet(len(parameters)))
    inside = span_coordinates(arms, parameters)
    if not inside.theta.any(axis=1).all():
        m = int(np.flatnonzero(~inside.theta.any(axis=1))[0])
        raise ValueError(
            f"theta: expected a part in the span of the features for every objective, got none "
            f"for objective {m}: all arms give it 0"
        )
    good = goodness_of(*inside, apart=weights is not None)
    conflict = conflict_of(arms, parameters)
    promised = promises(*inside, good, weights=weights, noise=sigma, rounds=T)
    return Diagnosis(
        arms=len(arms),
        dim=arms.shape[1],
        rank=inside.features.shape[1],
        objectives=len(parameters),
        noise=sigma,
        rounds=T,
        scalarization=_report.scalarization_text(scalarization),
        assumptions=_assumptions(*inside, good, weights is not None),
        conflict=conflict,
        goodness=good,
        promises=promised,
        advice=advise(
            inside.features,
            good,
            promised,
            conflict,
            dim=arms.shape[1],
            objectives=len(parameters),
            rounds=T,
        ),
    )


def _assumptions(
    features: FloatArray, theta: FloatArray, good: Goodness, random: bool
) -> tuple[Assumption, ...]:
    longest = float(np.linalg.norm(features, axis=1).max())
    sizes = np.linalg.norm(theta, axis=1)
    off = max(longest - 1, float(np.abs(sizes - 1).max()))
    bounded = Assumption(
        "bounded",
        off <= UNIT or good.version != "theorem",
        -max(0.0, off),
        f"feature norms up to {longest:.4g}, parameter norms {sizes.min():.4g} to {sizes.max():.4g}"
        f" (theorem: up to 1, and 1)"
        + ("" if off <= UNIT else "; the appendix's version for such norms is used"),
    )
    rank, dim = int(np.linalg.matrix_rank(theta)), theta.shape[1]
    span = Assumption(
        "objectives span",
        good.diversity > 0,
        good.diversity,
        f"lambda = {good.diversity:.4g}"
        if good.diversity > 0
        else f"lambda = 0: {len(theta)} objectives cover {rank} of {dim} dimensions",
    )
    goods = Assumption(
        "good arms",
        good.alpha is not None,
        good.level - good.needed,
        f"best level gamma = {good.level:.6g}, needed above "
        f"{_report.near(good.needed, max(1.0, longest))} ({good.version})"
        if good.diversity > 0
        else "no level is enough, for the objectives do not span",
    )
    if not random or good.separation is None:
        return bounded, span, goods
    apart = Assumption(
        "objectives apart",
        good.separation > 0,
        good.separation,
        f"two objectives at distance {good.separation:.4g}, which the radius must not exceed",
    )
    return bounded, span, goods, apart


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

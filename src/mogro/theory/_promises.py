"""What the theory promises for one problem: threshold, initial rounds, bounds."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.exploration import BasisRoundRobin
from mogro.theory import _checks as check
from mogro.theory._judgement import Goodness
from mogro.theory.bounds import (
    fairness_bound,
    is_vacuous,
    regret_bound_random_weights,
    regret_bound_round_robin,
)
from mogro.theory.conditions import eigenvalue_increment
from mogro.theory.regularity import regularity
from mogro.theory.thresholds import (
    initial_rounds_bound,
    initial_rounds_round_robin,
    is_unreachable,
    threshold_random_weights,
    threshold_round_robin,
)

_SLACK = 0.1  # of the fairness index, times the largest conceivable mean reward


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
    unreachable
        Whether no exploration can reach it within the horizon, B > T x_max^2 / d.
    initial_rounds
        T_0 of a round robin over a basis found by pivoted QR, exactly; for contexts, of uniform
        pulls, estimated. None if there is none, or above 10^18.
    initial_rounds_bound
        The lemma's bound on it; None for contexts.
    epsilon
        Slack of the fairness index.
    phi
        Regularity index at alpha / 2, the lower end of its interval; None for round robin.
    increment
        lambda_inc for random weights, lambda' for round robin.
    regret
        Bound on the effective Pareto regret; None if no theorem applies.
    vacuous
        Whether that bound is vacuous, because no policy can do worse; true without a bound.
    fairness
        Lower bound on the fairness index; None for round robin, for weights with a concentration
        below 1, or if no theorem applies.
    """

    threshold: float | None
    hypothetical: bool
    unreachable: bool
    initial_rounds: int | None
    initial_rounds_bound: int | None
    epsilon: float
    phi: float | None = None
    increment: float | None = None
    regret: float | None = None
    vacuous: bool = True
    fairness: float | None = None


class Run(NamedTuple):
    """A problem that was judged, in coordinates of the span of its features, and its run.

    ``weights`` are Dirichlet parameters, None: round robin.
    """

    theta: FloatArray
    good: Goodness
    weights: FloatArray | None
    noise: float
    rounds: int
    epsilon: float | None

    @property
    def slack(self) -> float:
        """Slack of the fairness index."""
        largest = self.good.bound_norm * self.good.largest_norm
        return _SLACK * largest if self.epsilon is None else self.epsilon


def promises(features: FloatArray, run: Run) -> Promises:
    """Collect what the theory promises for arms (K, d), or for rounds of contexts (n, K, d).

    The corollaries on contexts are about random weights only, and state no bound on T_0.
    """
    good, objectives, dim = run.good, *run.theta.shape
    alpha = good.promised_alpha
    if alpha is None:
        return Promises(None, True, True, None, None, run.slack)
    theorem = threshold_round_robin if run.weights is None else threshold_random_weights
    B = theorem(alpha, noise=run.noise, dim=dim, rounds=run.rounds, feature_norm=good.bound_norm)
    fixed = features.ndim == 2
    start, start_bound = _fixed_start(features, B) if fixed else (_context_start(features, B), None)
    never = is_unreachable(B, dim=dim, rounds=run.rounds, feature_norm=good.feature_norm)
    bounds: dict[str, Any] = {}
    if good.left is not None and good.left > 0 and (fixed or run.weights is not None):
        given = {
            "noise": run.noise,
            "dim": dim,
            "objectives": objectives,
            "rounds": run.rounds,
            "initial_rounds": start,
            "feature_norm": good.bound_norm,
        }
        bounds = (_turn_bounds if run.weights is None else _weight_bounds)(run, good.left, given)
    return Promises(B, good.alpha is None, never, start, start_bound, run.slack, **bounds)


def _fixed_start(features: FloatArray, threshold: float) -> tuple[int | None, int | None]:
    """Return T_0 of a round robin over a basis, and its bound; None beyond 10^18 cycles."""
    basis = features[BasisRoundRobin(features).basis]
    try:
        bound = initial_rounds_bound(basis, threshold=threshold)
    except ValueError:
        return None, None
    return initial_rounds_round_robin(basis, threshold=threshold), bound


def _context_start(sample: FloatArray, threshold: float) -> int | None:
    """Estimate T_0 of uniform pulls by the mean growth of their Gram matrix."""
    flat = sample.reshape(-1, sample.shape[-1])
    growth = float(np.linalg.eigvalsh(flat.T @ flat / len(flat))[0])
    taken = threshold / growth if growth > 0 else math.inf
    return math.ceil(taken) if taken < check.MOST_ROUNDS else None


def _turn_bounds(run: Run, left: float, given: dict[str, Any]) -> dict[str, Any]:
    """Return the bounds for round robin."""
    if given["initial_rounds"] is None:
        return {"increment": left, "regret": math.inf}
    norm = run.good.largest_norm
    regret = regret_bound_round_robin(left=left, parameter_norm=norm, **given)
    return {"increment": left, "regret": regret, "vacuous": _vacuous(regret, run)}


def _weight_bounds(run: Run, left: float, given: dict[str, Any]) -> dict[str, Any]:
    """Return the bounds for random weights."""
    good = run.good
    if good.separation == 0 or good.alpha is None or run.weights is None:
        return {}
    phi = regularity(run.theta, run.weights, epsilon=good.alpha / 2).phi.low
    chance = 1.0 if good.probability is None else good.probability.low
    increment = eigenvalue_increment(
        left, phi=phi, objectives=len(run.theta), goodness_probability=chance
    )
    if increment < 1e-290 or given["initial_rounds"] is None:  # no bound that a float could hold
        return {"phi": phi, "increment": increment, "regret": math.inf, "fairness": 0.0}
    regret = regret_bound_random_weights(
        increment=increment, parameter_norm=good.largest_norm, **given
    )
    near = regularity(run.theta, run.weights, epsilon=run.slack / 3 / good.bound_norm).psi
    fairness = None
    if near is not None:
        fairness = fairness_bound(run.slack, psi=near.low, increment=increment, **given).index
    return {
        "phi": phi,
        "increment": increment,
        "regret": regret,
        "vacuous": _vacuous(regret, run),
        "fairness": fairness,
    }


def _vacuous(regret: float, run: Run) -> bool:
    norms = {"feature_norm": run.good.bound_norm, "parameter_norm": run.good.largest_norm}
    return is_vacuous(regret, rounds=run.rounds, **norms)

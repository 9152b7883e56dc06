"""Which assumptions of the theory a problem meets, and what the theory promises for it."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, as_floats
from mogro.scalarization import RandomWeights, RoundRobin
from mogro.theory import _checks as check
from mogro.theory import _report
from mogro.theory._judgement import (
    Assumption,
    Conflict,
    Goodness,
    judge_arms,
    judge_assumptions,
    judge_contexts,
    mean_conflict,
    measure_conflict,
)
from mogro.theory._promises import Promises, Run, promises
from mogro.theory.contexts import Contexts, Rounds, draw_rounds
from mogro.theory.spans import span_basis, span_coordinates

_FRONTS = 100  # rounds of contexts whose fronts are looked at


@dataclass(frozen=True)
class Diagnosis:
    """What the theory says about a problem: a report when printed or shown, or JSON.

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
    policy
        What to run, as one would type it: the default threshold. That of the theorem is for its
        guarantee only, and exploring up to it costs regret.
    assumptions
        Each assumption of the theory.
    conflict
        Fronts, and how much the objectives are at odds.
    goodness
        lambda, the level gamma that is there and that is needed, and the radius alpha.
    promises
        Threshold, initial rounds and bounds.
    sampled_rounds
        For contexts, how many rounds were searched: then all that is said of the arms is an
        estimate, no guarantee. None for fixed arms.
    """

    arms: int
    dim: int
    rank: int
    objectives: int
    noise: float
    rounds: int
    scalarization: str
    policy: str
    assumptions: tuple[Assumption, ...]
    conflict: Conflict
    goodness: Goodness
    promises: Promises
    sampled_rounds: int | None = None

    @property
    def holds(self) -> bool:
        """Whether all assumptions hold."""
        return all(assumption.holds for assumption in self.assumptions)

    def to_json(self) -> str:
        """Return everything as JSON; numbers that are not finite become null."""
        return json.dumps({"holds": self.holds, **_plain(asdict(self))}, indent=2, allow_nan=False)

    def __str__(self) -> str:
        return _report.text(_report.sections(self))

    __repr__ = __str__


def diagnose(
    features: ArrayLike | Contexts,
    theta: ArrayLike,
    *,
    noise: float,
    rounds: int,
    scalarization: RandomWeights | RoundRobin = RandomWeights(),  # noqa: B008
    epsilon: float | None = None,
) -> Diagnosis:
    """Say which assumptions of the theory a problem meets, and what follows.

    Parameters
    ----------
    features
        Arms, (K, d), of any norms, not all zero. They may span a subspace only. For arms that are
        drawn anew each round: a function ``contexts(rng=..., batch=...)`` that returns features
        (*batch, K, d), as every environment has it, or the arms of at least 100 independent rounds,
        (n, K, d).
    theta
        Parameters, (M, d): the true ones, or estimates such as ``policy.theta``. With estimates the
        answer is about the problem as estimated; it says nothing of their errors.
    noise
        sigma, the sub-Gaussian constant (for normal noise the standard deviation).
    rounds
        Horizon T.
    scalarization
        ``RandomWeights(...)`` or ``RoundRobin()``: what the theory covers.
    epsilon
        Slack of the fairness index; None: a tenth of the largest conceivable mean reward.

    Returns
    -------
    Diagnosis
        Where the theorems' norms (features up to 1, parameters of exactly 1) are not met, or
        their goodness, the relaxed versions of the appendix are tried as well. Bounds use the
        lower end of the 95% interval of the regularity index, and for contexts that of q_gamma as
        well: there they are estimates, since a worse direction may have been missed, and since
        the paper bounds T_0 for fixed arms only.

    Examples
    --------
    A hundred arms around the circle, one objective along each axis:

    >>> angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> diagnosis = diagnose(circle, np.eye(2), noise=0.1, rounds=1_000_000)
    >>> diagnosis.holds, round(diagnosis.goodness.alpha, 3), diagnosis.promises.vacuous
    (True, 0.135, False)

    Arms that miss the second objective:

    >>> diagnosis = diagnose([[1.0, 0.0], [0.6, 0.6]], np.eye(2), noise=0.1, rounds=1000)
    >>> [assumption.name for assumption in diagnosis.assumptions if not assumption.holds]
    ['good arms']
    >>> diagnosis.assumptions[2].margin  # best level 0.6, needed 0.986
    -0.386...

    Five arms a round, uniform in the disc:

    >>> from mogro.environments import VaryingContexts
    >>> world = VaryingContexts(np.eye(2), arms=5, noise=0.1)
    >>> diagnosis = diagnose(world.contexts, np.eye(2), noise=0.1, rounds=1_000_000)
    >>> share = diagnosis.goodness.probability
    >>> diagnosis.holds, 0 < share.low < share.high < 0.1
    (True, True)
    """
    sigma, T = check.noise_level(noise), check.horizon(rounds)
    if epsilon is not None:
        epsilon = check.between(epsilon, "epsilon", 0, check.HUGE, closed="(]")
    if not isinstance(scalarization, RandomWeights | RoundRobin):
        raise ValueError(
            f"scalarization: expected RandomWeights or RoundRobin, which the theory covers, "
            f"got {scalarization!r}"
        )
    given = features if callable(features) else as_floats(features, "features")
    if callable(given) or given.ndim == 3:
        judged = _judge_contexts(given, theta)
    else:
        judged = _judge_arms(given, theta, apart=isinstance(scalarization, RandomWeights))
    objectives, rank = judged.theta.shape
    weights, written = None, "RoundRobin()"
    if isinstance(scalarization, RandomWeights):
        weights = np.array(scalarization.dirichlet(objectives))
        concentration = scalarization.concentration
        written = f"RandomWeights({'' if concentration == 1 else repr(concentration)})"
    how = "" if written == "RandomWeights()" else f", scalarization={written}"
    run = Run(judged.theta, judged.good, weights, sigma, T, epsilon)
    return Diagnosis(
        arms=judged.arms,
        dim=judged.dim,
        rank=rank,
        objectives=objectives,
        noise=sigma,
        rounds=T,
        scalarization=written,
        policy=f"MOGRO({judged.dim}, {objectives}{how})",
        assumptions=judge_assumptions(judged.theta, judged.good, weights is not None),
        conflict=judged.conflict,
        goodness=judged.good,
        promises=promises(judged.features, run),
        sampled_rounds=len(judged.features) if judged.features.ndim == 3 else None,
    )


class _Judged(NamedTuple):
    """A problem in coordinates of the span of its features: arms (K, r), or rounds (n, K, r)."""

    arms: int
    dim: int
    features: FloatArray
    theta: FloatArray
    good: Goodness
    conflict: Conflict


def _judge_arms(features: FloatArray, theta: ArrayLike, *, apart: bool) -> _Judged:
    arms, parameters = check.problem(features, theta)
    inside = span_coordinates(arms, parameters)
    _check_influence(inside.theta)
    good = judge_arms(*inside, apart=apart)
    conflict = measure_conflict(arms, parameters)
    return _Judged(len(arms), arms.shape[1], *inside, good, conflict)


def _judge_contexts(contexts: Contexts | FloatArray, theta: ArrayLike) -> _Judged:
    rng = np.random.default_rng(0)
    rounds = draw_rounds(contexts, rng, name="features")
    arms, dim = rounds.searched.shape[1:]
    pooled = check.feature_matrix(rounds.searched.reshape(-1, dim))
    parameters = check.parameters(theta, dim=dim)
    if (basis := span_basis(pooled)) is not None:
        parameters = span_coordinates(pooled, parameters).theta
        rounds = Rounds(rounds.searched @ basis, rounds.counted @ basis)
    _check_influence(parameters)
    good = judge_contexts(rounds, parameters, rng)
    conflict = mean_conflict(rounds.searched[:_FRONTS], parameters)
    return _Judged(arms, dim, rounds.searched, parameters, good, conflict)


def _check_influence(theta: FloatArray) -> None:
    if len(missed := np.flatnonzero(~theta.any(axis=1))):
        raise ValueError(
            f"theta: expected a part in the span of the features for every objective, got none "
            f"for objective {missed[0]}: all arms give it 0"
        )


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if isinstance(value, float) and not math.isfinite(value) else value

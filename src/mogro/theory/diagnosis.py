"""Whether a problem is one where greedy suffices, and what the theory promises for it."""

import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._frames import to_frame, write_csv
from mogro._validation import FloatArray, as_floats
from mogro.scalarization import RandomWeights, RoundRobin
from mogro.theory import _checks as check
from mogro.theory import _report
from mogro.theory._advice import Advice, Subject, advise, advise_contexts
from mogro.theory._conflict import Conflict, mean_conflict, measure_conflict
from mogro.theory._promises import Promises, Run, context_promises, promises
from mogro.theory._sampling import Contexts, ContextSource
from mogro.theory._versions import (
    Assumption,
    Goodness,
    judge_arms,
    judge_assumptions,
    judge_contexts,
)
from mogro.theory.spans import span_basis, span_coordinates

_FRONTS = 100  # rounds of contexts whose fronts are looked at


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
        Policy, threshold and exploration to take, and what they cost.
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
    assumptions: tuple[Assumption, ...]
    conflict: Conflict
    goodness: Goodness
    promises: Promises
    advice: Advice
    sampled_rounds: int | None = None

    @property
    def holds(self) -> bool:
        """Whether all assumptions hold."""
        return all(assumption.holds for assumption in self.assumptions)

    def to_json(self) -> str:
        """Return everything as JSON; numbers that are not finite become null."""
        return json.dumps({"holds": self.holds, **_plain(asdict(self))}, indent=2, allow_nan=False)

    def to_frame(self) -> Any:
        """Return all numbers in long form, a frame of pandas or polars, whichever is there.

        Columns: ``name``, as in :meth:`to_json` with dots, and ``value``; what holds is 1.
        """
        return to_frame(self._columns())

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the columns of :meth:`to_frame` as CSV."""
        write_csv(self._columns(), path)

    def _columns(self) -> dict[str, NDArray[Any]]:
        rows = dict(_numbers({"holds": self.holds, **asdict(self)}))
        return {"name": np.array(list(rows)), "value": np.array(list(rows.values()))}

    def __str__(self) -> str:
        return _report.text(_report.sections(self))

    def __repr__(self) -> str:
        return (
            f"Diagnosis(arms={self.arms}, dim={self.dim}, objectives={self.objectives}, "
            f"rounds={self.rounds}, holds={self.holds})"
        )

    def _repr_html_(self) -> str:
        return _report.html(_report.sections(self))


def _numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Go through the numbers of nested data, under dotted names."""
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list | tuple):
        inner = {
            (v.get("name", n) if isinstance(v, dict) else n): v for n, v in enumerate(value)
        }.items()
    else:
        if isinstance(value, int | float | np.number | np.bool_):
            yield name, float(value)
        return
    for key, part in inner:
        yield from _numbers(part, f"{name}.{key}" if name else str(key))


def diagnose(
    features: ArrayLike | Contexts,
    theta: ArrayLike,
    *,
    noise: float,
    rounds: int,
    scalarization: RandomWeights | RoundRobin = RandomWeights(),  # noqa: B008
    epsilon: float | None = None,
) -> Diagnosis:
    """Say which assumptions of the theory a problem meets, what follows, and what to run.

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
    >>> found = diagnose(circle, np.eye(2), noise=0.1, rounds=1_000_000)
    >>> found.holds, round(found.goodness.alpha, 3), found.promises.vacuous
    (True, 0.135, False)

    Arms that miss the second objective:

    >>> found = diagnose([[1.0, 0.0], [0.6, 0.6]], np.eye(2), noise=0.1, rounds=1000)
    >>> [assumption.name for assumption in found.assumptions if not assumption.holds]
    ['good arms']
    >>> found.assumptions[2].margin  # best level 0.6, needed 0.986
    -0.386...

    Five arms a round, uniform in the disc:

    >>> from mogro.environments import VaryingContexts
    >>> world = VaryingContexts(np.eye(2), arms=5, noise=0.1)
    >>> found = diagnose(world.contexts, np.eye(2), noise=0.1, rounds=1_000_000)
    >>> found.holds, 0 < found.goodness.probability.low < found.goodness.probability.high < 0.1
    (True, True)
    """
    sigma, T = check.noise_level(noise), check.horizon(rounds)
    slack = (
        None if epsilon is None else check.between(epsilon, "epsilon", 0, check.HUGE, closed="(]")
    )
    if not isinstance(scalarization, RandomWeights | RoundRobin):
        raise ValueError(
            f"scalarization: expected RandomWeights or RoundRobin, which the theory covers, "
            f"got {scalarization!r}"
        )
    asked = _Asked(sigma, T, scalarization, slack)
    if callable(features):
        return _contexts(features, theta, asked)
    array = as_floats(features, "features")
    return _contexts(array, theta, asked) if array.ndim == 3 else _arms(array, theta, asked)


class _Asked(NamedTuple):
    noise: float
    rounds: int
    scalarization: RandomWeights | RoundRobin
    epsilon: float | None

    def run(self, theta: FloatArray, good: Goodness) -> Run:
        weights = self.weights(len(theta))
        return Run(theta, good, weights, self.noise, self.rounds, self.epsilon)

    def weights(self, objectives: int) -> FloatArray | None:
        """Return Dirichlet parameters, None for round robin."""
        if isinstance(self.scalarization, RoundRobin):
            return None
        return np.array(self.scalarization.dirichlet(objectives))


def _arms(features: FloatArray, theta: ArrayLike, asked: _Asked) -> Diagnosis:
    arms, parameters = check.problem(features, theta)
    inside = span_coordinates(arms, parameters)
    _check_influence(inside.theta)
    random = isinstance(asked.scalarization, RandomWeights)
    run = asked.run(inside.theta, judge_arms(*inside, apart=random))
    subject = Subject(
        run,
        promises(inside.features, run),
        measure_conflict(arms, parameters),
        _report.scalarization_text(asked.scalarization),
        arms.shape[1],
    )
    return _diagnosis(subject, len(arms), None, advise(subject, inside.features))


def _contexts(contexts: Contexts | FloatArray, theta: ArrayLike, asked: _Asked) -> Diagnosis:
    rng = np.random.default_rng(0)
    source = ContextSource(contexts, rng, name="features")
    sample = source.searched()
    dim = source.dim
    pooled = check.feature_matrix(sample.reshape(-1, dim))
    parameters = check.parameters(theta, dim=dim)
    if (basis := span_basis(pooled)) is not None:
        parameters = span_coordinates(pooled, parameters).theta
        source = ContextSource(contexts, rng, basis=basis, name="features")
        sample = source.searched()
    _check_influence(parameters)
    run = asked.run(parameters, judge_contexts(source, sample, parameters, rng))
    subject = Subject(
        run,
        context_promises(sample, run),
        mean_conflict(sample[:_FRONTS], parameters),
        _report.scalarization_text(asked.scalarization),
        dim,
    )
    return _diagnosis(subject, source.arms, len(sample), advise_contexts(subject, sample))


def _check_influence(theta: FloatArray) -> None:
    if len(missed := np.flatnonzero(~theta.any(axis=1))):
        raise ValueError(
            f"theta: expected a part in the span of the features for every objective, got none "
            f"for objective {missed[0]}: all arms give it 0"
        )


def _diagnosis(subject: Subject, arms: int, sampled: int | None, advice: Advice) -> Diagnosis:
    run = subject.run
    objectives, rank = run.theta.shape
    return Diagnosis(
        arms=arms,
        dim=subject.dim,
        rank=rank,
        objectives=objectives,
        noise=run.noise,
        rounds=run.rounds,
        scalarization=subject.scalarization,
        assumptions=judge_assumptions(run.theta, run.good, run.weights is not None),
        conflict=subject.conflict,
        goodness=run.good,
        promises=subject.promised,
        advice=advice,
        sampled_rounds=sampled,
    )


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

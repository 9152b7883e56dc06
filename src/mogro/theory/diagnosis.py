"""Which assumptions of the theory a problem meets, and what the theory promises for it."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, as_floats, between
from mogro.scalarization import RandomWeights, RoundRobin
from mogro.theory import _problem as check
from mogro.theory._problem import Problem, span_coordinates
from mogro.theory.contexts import SAMPLES, Contexts, draw_rounds
from mogro.theory.goodness import UNIT_SLACK, Goodness, measure_goodness
from mogro.theory.guarantees import Guarantees, collect_guarantees

_WIDTH, _INDENT = 92, 18


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
        What was measured and what is needed.
    """

    name: str
    holds: bool
    margin: float
    detail: str


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
    goodness
        lambda, the level gamma that is there and that is needed, and the radius alpha.
    guarantees
        Threshold, initial rounds and bounds.
    sampled_rounds
        For contexts, how many rounds were looked at: then all that is said of the arms is an
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
    goodness: Goodness
    guarantees: Guarantees
    sampled_rounds: int | None = None

    @property
    def holds(self) -> bool:
        """Whether all assumptions hold."""
        return all(assumption.holds for assumption in self.assumptions)

    def to_json(self) -> str:
        """Return everything as JSON; numbers that are not finite become null."""
        data = {"holds": self.holds, **asdict(self)}
        if (share := self.goodness.probability) is not None:
            data["goodness"]["probability"] = share._asdict()
        text = json.dumps(data)
        return json.dumps(json.loads(text, parse_constant=lambda _: None), indent=2)

    def __str__(self) -> str:
        parts = ("policy", "assumptions", "goodness", "guarantees")
        bounds = "Guarantees" if self.sampled_rounds is None else "Estimates, not guarantees"
        bounds += ": no theorem applies" if self.guarantees.regret is None else ""
        reason = "the default needs no threshold; the theorem's costs regret, for its guarantee"
        sections = {
            "Problem": {name: value for name, value in vars(self).items() if name not in parts},
            f"Assumptions: {'all' if self.holds else 'not all'} hold": {
                each.name: ("holds: " if each.holds else f"FAILS by {-each.margin:.4g}: ")
                + each.detail
                for each in self.assumptions
            },
            "Goodness": vars(self.goodness),
            bounds: vars(self.guarantees),
            "Run": {"policy": self.policy, "": reason},
        }
        return "\n\n".join(_section(title, lines) for title, lines in sections.items())

    __repr__ = __str__


def _section(title: str, entries: Mapping[str, object]) -> str:
    """Return a title, and names with what there is to say."""
    lines = [title, "-" * len(title)]
    for name, value in entries.items():
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        text = {"True": "yes", "False": "no", "None": "none"}.get(text, text)
        label, indent = name.replace("_", " ").ljust(_INDENT), " " * _INDENT
        lines += textwrap.wrap(text, _WIDTH, initial_indent=label, subsequent_indent=indent)
    return "\n".join(lines)


def diagnose(
    features: ArrayLike | Contexts,
    theta: ArrayLike,
    *,
    noise: float | Sequence[float],
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
        (*batch, K, d), as every environment has it, also with ``step`` or without ``batch``; or the
        arms of at least 100 independent rounds, (n, K, d).
    theta
        Parameters, (M, d): the true ones, or estimates such as ``policy.theta``. With estimates the
        answer is about the problem as estimated; it says nothing of their errors.
    noise
        sigma, the sub-Gaussian constant (for normal noise the standard deviation): a number, or one
        for each objective, of which the largest counts.
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
    >>> diagnosis.holds, round(diagnosis.goodness.alpha, 3), diagnosis.guarantees.vacuous
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
    T = check.read_rounds(rounds)
    if epsilon is not None:
        epsilon = between(epsilon, "epsilon", 0, check.HUGE, closed="(]")
    if not isinstance(scalarization, RandomWeights | RoundRobin):
        raise ValueError(
            f"scalarization: expected RandomWeights or RoundRobin, which the theory covers, "
            f"got {scalarization!r}"
        )
    arms, parameters = _read_problem(features, theta)
    objectives, dim = parameters.shape
    sigma = _largest_noise(noise, objectives)
    weights = None
    if isinstance(scalarization, RandomWeights):
        weights = np.array(scalarization.dirichlet(objectives))
    problem = span_coordinates(arms.reshape(-1, dim), parameters)
    if len(constant := np.flatnonzero(~problem.theta.any(axis=1))):
        raise ValueError(
            f"theta: expected every objective to depend on the arms, got objective {constant[0]}, "
            "which has mean 0 for all of them"
        )
    problem = problem._replace(features=problem.features.reshape(*arms.shape[:-1], -1))
    goodness = measure_goodness(*problem, apart=weights is not None)
    setting = "" if scalarization == RandomWeights() else f", scalarization={scalarization!r}"
    return Diagnosis(
        arms=arms.shape[-2],
        dim=dim,
        rank=problem.theta.shape[1],
        objectives=objectives,
        noise=sigma,
        rounds=T,
        scalarization=repr(scalarization),
        policy=f"MOGRO({dim}, {objectives}{setting})",
        assumptions=_assumptions(problem.theta, goodness, apart=weights is not None),
        goodness=goodness,
        guarantees=collect_guarantees(
            *problem, goodness, weights=weights, noise=sigma, rounds=T, epsilon=epsilon
        ),
        sampled_rounds=len(arms) if arms.ndim == 3 else None,
    )


def _read_problem(features: ArrayLike | Contexts, theta: ArrayLike) -> Problem:
    """Return arms (K, d), or those of many rounds (n, K, d), and parameters (M, d)."""
    if not callable(features) and as_floats(features, "features").ndim != 3:
        return check.read_problem(features, theta)
    rng = np.random.default_rng(0)
    rounds = draw_rounds(features, rng, samples=SAMPLES, name="features")
    arms, parameters = check.read_problem(rounds.reshape(-1, rounds.shape[-1]), theta)
    return Problem(arms.reshape(rounds.shape), parameters)


def _largest_noise(noise: float | Sequence[float], objectives: int) -> float:
    """Return sigma >= 0, small enough for its square and the square of that to be a float."""
    values = np.atleast_1d(np.asarray(noise)).tolist()
    levels = [between(level, "noise", 0, check.HUGE) for level in values]
    if len(levels) not in (1, objectives):
        raise ValueError(
            f"noise: expected a number, or one for each of {objectives} objectives, got {noise!r}"
        )
    return max(levels)


def _assumptions(theta: FloatArray, goodness: Goodness, *, apart: bool) -> tuple[Assumption, ...]:
    """Say which assumptions of the theory hold; random weights need objectives to be apart."""
    excess = max(goodness.feature_norm - 1, goodness.largest_norm - 1, 1 - goodness.smallest_norm)
    bounded = excess <= UNIT_SLACK or goodness.version != "theorem"
    needed, rank = goodness.needed, np.linalg.matrix_rank(theta)
    norms_text = (
        f"feature norms up to {goodness.feature_norm:.4g}, parameter norms "
        f"{goodness.smallest_norm:.4g} to {goodness.largest_norm:.4g} (theorem: up to 1, and 1)"
    )
    span_text = f"{len(theta)} objectives cover {rank} of {theta.shape[1]} dimensions"
    level_text = f"best level gamma {goodness.level:.6g}, needed above 1 - {1 - needed:.3g}"
    if needed > 1:
        level_text = f"best level gamma {goodness.level:.6g}, needed above {needed:.6g}"
    assumptions = [
        Assumption("bounded", bounded, -max(0.0, excess), norms_text),
        Assumption("objectives span", goodness.diversity > 0, goodness.diversity, span_text),
        Assumption("good arms", goodness.alpha is not None, goodness.level - needed, level_text),
    ]
    if apart and (separation := goodness.separation) is not None:
        distance = f"two objectives at distance {separation:.4g}, which the radius must not exceed"
        assumptions.append(Assumption("objectives apart", separation > 0, separation, distance))
    return tuple(assumptions)

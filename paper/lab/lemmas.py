"""The lemmas behind the theorems: how fast lambda_min(V_t) grows, how fast estimates improve.

For MOGRO with the threshold of the theorem, ``diagnosis.guarantees.threshold``; to be compared with
what a run did. Its regret and fairness have their bounds in ``diagnosis.guarantees``.
"""

import math
from dataclasses import dataclass
from typing import Any

from mogro.theory import Diagnosis


@dataclass(frozen=True)
class ProbableBound:
    """A bound that holds except with a probability.

    Attributes
    ----------
    value
        The bound.
    failure
        The probability is at most this; at 1 the bound is vacuous.
    """

    value: float
    failure: float


def eigenvalue_bound(
    diagnosis: Diagnosis, rounds: int, *, initial_rounds: int | None = None
) -> ProbableBound:
    """Bound lambda_min(V) from below after t rounds of a diagnosed problem.

    Lemma mineigen_linear for random weights, :func:`gram_growth`; Lemma mineigen for round robin,
    :func:`gram_growth_round_robin`.

    Parameters
    ----------
    diagnosis
        Of a problem to which a theorem applies; otherwise a ValueError says so.
    rounds
        t, at least ``initial_rounds``.
    initial_rounds
        T_0 of the run; None: that of the diagnosis.

    Returns
    -------
    ProbableBound
        Its probability of failure includes the 2 M / T with which the threshold does not keep all
        estimates within their radius.
    """
    start, increment = _applied(diagnosis, initial_rounds)
    objectives, B = diagnosis.objectives, diagnosis.guarantees.threshold
    start_settings: dict[str, Any] = {"initial_rounds": start, "threshold": B}
    failure_bound = 2 * objectives / diagnosis.rounds
    if diagnosis.guarantees.phi is None:
        line = gram_growth_round_robin(
            rounds, left=increment, objectives=objectives, **start_settings
        )
        return ProbableBound(line, min(1.0, failure_bound))
    line = gram_growth(rounds, increment=increment, **start_settings)
    return ProbableBound(line, min(1.0, failure_bound + _slow(diagnosis, rounds, start, increment)))


def estimate_bound(
    diagnosis: Diagnosis, rounds: int, *, initial_rounds: int | None = None
) -> ProbableBound:
    """Bound the distance of all estimates to the parameters after t rounds of a diagnosed problem.

    Lemma thetahat_bound for random weights, :func:`estimation_error`, and Lemma thetahat_bound_rr
    for round robin, :func:`estimation_error_round_robin`, with delta = 1 / T as in the theorems.

    Parameters
    ----------
    diagnosis, initial_rounds
        As in :func:`eigenvalue_bound`.
    rounds
        t, at least 2 T_0 and more than T_0; for round robin at least 2 T_0 + 2 M.

    Returns
    -------
    ProbableBound
        On max_m |theta_hat_m - theta_m|, in the span of the features. Its probability of failure
        is for this one t.
    """
    start, increment = _applied(diagnosis, initial_rounds)
    objectives, T = diagnosis.objectives, diagnosis.rounds
    settings: dict[str, Any] = {
        "initial_rounds": start,
        "noise": diagnosis.noise,
        "dim": diagnosis.rank,
        "delta": 1 / T,
        "feature_norm": diagnosis.goodness.bound_norm,
    }
    failure_bound = 3 * objectives / T
    if diagnosis.guarantees.phi is None:
        error = estimation_error_round_robin(
            rounds, left=increment, objectives=objectives, **settings
        )
        return ProbableBound(error, min(1.0, failure_bound))
    error = estimation_error(rounds, increment=increment, **settings)
    return ProbableBound(
        error, min(1.0, failure_bound + _slow(diagnosis, rounds, start, increment))
    )


def _applied(diagnosis: Diagnosis, initial_rounds: int | None) -> tuple[int, float]:
    """Return T_0 and the increment of a theorem that applies."""
    guaranteed = diagnosis.guarantees
    start = guaranteed.initial_rounds if initial_rounds is None else initial_rounds
    if guaranteed.regret is None or guaranteed.increment is None:
        raise ValueError("diagnosis: expected one of a problem to which a theorem applies")
    if start is None:
        raise ValueError("initial_rounds: expected a number, because the diagnosis has none")
    return start, guaranteed.increment


def _slow(diagnosis: Diagnosis, rounds: int, start: int, increment: float) -> float:
    """Bound the probability that V grows more slowly than in the lemma."""
    return gram_growth_failure(
        rounds,
        initial_rounds=start,
        increment=increment,
        dim=diagnosis.rank,
        feature_norm=diagnosis.goodness.bound_norm,
    )


def gram_growth(rounds: int, *, initial_rounds: int, threshold: float, increment: float) -> float:
    """Return a lower bound on lambda_min(V_t) under MOGRO-RW after t rounds.

    Lemma mineigen_linear: B + (lambda_inc / 2)(t - T_0), except with the probability that
    :func:`gram_growth_failure` bounds, and as long as all estimates stay within alpha / 2
    (which B ensures with probability 1 - 2 M / T).
    """
    return threshold + increment / 2 * _later(rounds, initial_rounds)


def gram_growth_failure(
    rounds: int, *, initial_rounds: int, increment: float, dim: int, feature_norm: float = 1.0
) -> float:
    """Bound the probability that lambda_min(V_t) is below :func:`gram_growth`.

    Lemma mineigen_linear: d exp(-lambda_inc (t - T_0) / (10 x_max^2)), and never above 1.
    At 1 it is vacuous, as for all t soon after T_0.
    """
    rate = increment / (10 * feature_norm**2)
    return min(1.0, dim * math.exp(-rate * _later(rounds, initial_rounds)))


def gram_growth_round_robin(
    rounds: int, *, initial_rounds: int, threshold: float, left: float, objectives: int
) -> float:
    """Return a lower bound on lambda_min(V_t) under MOGRO-RR after t rounds.

    Lemma mineigen, with lambda' where the paper writes its lower bound lambda / 3: every full
    cycle of M rounds adds M lambda', so lambda_min(V_t) >= B + lambda' (t + 1 - T_0 - M) for
    t >= T_0 + M - 1 with probability 1 - 2 M / T.
    """
    return threshold + left * max(0, _later(rounds, initial_rounds) + 1 - objectives)


def estimation_error(
    rounds: int,
    *,
    initial_rounds: int,
    increment: float,
    noise: float,
    dim: int,
    delta: float,
    feature_norm: float = 1.0,
) -> float:
    """Bound the distance of MOGRO-RW's estimates after t rounds to the parameters.

    Lemma thetahat_bound: (4 sigma x_max / lambda_inc) sqrt(d log(d t / delta) / (t - T_0)) for all
    M objectives together, with probability at least 1 - M delta - :func:`gram_growth_failure`,
    given that all estimates stay within alpha / 2. For t >= 2 T_0 only.
    """
    _check_late(rounds, 2 * initial_rounds)
    scale = 4 * noise * feature_norm / increment
    later = rounds - initial_rounds
    return scale * math.sqrt(dim * math.log(dim * rounds / delta) / later)


def estimation_error_round_robin(
    rounds: int,
    *,
    initial_rounds: int,
    left: float,
    objectives: int,
    noise: float,
    dim: int,
    delta: float,
    feature_norm: float = 1.0,
) -> float:
    """Bound the distance of MOGRO-RR's estimates in round t to the parameters.

    Lemma thetahat_bound_rr, with lambda' where the paper writes its lower bound lambda / 3:
    (2 sigma x_max / lambda') sqrt(d log(d t / delta) / (t - T_0 - M)) for all objectives and all
    t >= 2 T_0 + 2 M, with probability at least 1 - 3 M delta.
    """
    _check_late(rounds, 2 * (initial_rounds + objectives))
    scale = 2 * noise * feature_norm / left
    later = rounds - initial_rounds - objectives
    return scale * math.sqrt(dim * math.log(dim * rounds / delta) / later)


def _later(rounds: int, initial_rounds: int) -> int:
    _check_late(rounds, initial_rounds)
    return rounds - initial_rounds


def _check_late(rounds: int, least: int) -> None:
    if rounds < least:
        raise ValueError(f"rounds: expected at least {least}, got {rounds}")

"""What the lemmas predict for a run of a diagnosed problem, to be compared with what it did.

Both are for MOGRO with the threshold of the theorem, ``diagnosis.promises.threshold``. The regret
and the fairness of a run have their bounds in ``diagnosis.promises``.
"""

from dataclasses import dataclass

from mogro.theory import growth
from mogro.theory.diagnosis import Diagnosis


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

    Examples
    --------
    >>> import mogro
    >>> found = mogro.diagnose([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]],
    ...                        noise=0.001, rounds=4000, scalarization=mogro.RoundRobin())
    >>> found.promises.threshold, found.promises.initial_rounds
    (1.0, 2)
    >>> bound = eigenvalue_bound(found, 1000)  # 1 + lambda' (1000 + 1 - 2 - 2), lambda' = 0.5 / 3
    >>> round(bound.value, 3), bound.failure
    (167.167, 0.001)
    """
    run = _Applied.to(diagnosis, initial_rounds)
    kept = 2 * diagnosis.objectives / diagnosis.rounds
    if run.phi is None:
        line = growth.gram_growth_round_robin(
            rounds,
            initial_rounds=run.start,
            threshold=run.threshold,
            left=run.increment,
            objectives=diagnosis.objectives,
        )
        return ProbableBound(line, min(1.0, kept))
    line = growth.gram_growth(
        rounds, initial_rounds=run.start, threshold=run.threshold, increment=run.increment
    )
    return ProbableBound(line, min(1.0, kept + _slow(diagnosis, run, rounds)))


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

    Examples
    --------
    >>> import mogro
    >>> found = mogro.diagnose([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]],
    ...                        noise=0.001, rounds=4000, scalarization=mogro.RoundRobin())
    >>> bound = estimate_bound(found, 1000)  # (0.002 / lambda') sqrt(2 log(8e6) / 996)
    >>> round(bound.value, 6), bound.failure
    (0.002144, 0.0015)
    """
    run = _Applied.to(diagnosis, initial_rounds)
    objectives, T = diagnosis.objectives, diagnosis.rounds
    kept = 3 * objectives / T
    norm = diagnosis.goodness.bound_norm
    if run.phi is None:
        error = growth.estimation_error_round_robin(
            rounds,
            initial_rounds=run.start,
            left=run.increment,
            objectives=objectives,
            noise=diagnosis.noise,
            dim=diagnosis.rank,
            delta=1 / T,
            feature_norm=norm,
        )
        return ProbableBound(error, min(1.0, kept))
    error = growth.estimation_error(
        rounds,
        initial_rounds=run.start,
        increment=run.increment,
        noise=diagnosis.noise,
        dim=diagnosis.rank,
        delta=1 / T,
        feature_norm=norm,
    )
    return ProbableBound(error, min(1.0, kept + _slow(diagnosis, run, rounds)))


@dataclass(frozen=True)
class _Applied:
    """The constants of a theorem that applies; ``phi`` None for round robin."""

    threshold: float
    increment: float
    phi: float | None
    start: int

    @classmethod
    def to(cls, diagnosis: Diagnosis, initial_rounds: int | None) -> "_Applied":
        promised = diagnosis.promises
        start = promised.initial_rounds if initial_rounds is None else initial_rounds
        if promised.regret is None or promised.threshold is None or promised.increment is None:
            raise ValueError("diagnosis: expected one of a problem to which a theorem applies")
        if start is None:
            raise ValueError("initial_rounds: expected a number, for the diagnosis has none")
        return cls(promised.threshold, promised.increment, promised.phi, start)


def _slow(diagnosis: Diagnosis, run: _Applied, rounds: int) -> float:
    """Bound the probability that V grows more slowly than in the lemma."""
    return growth.gram_growth_failure(
        rounds,
        initial_rounds=run.start,
        increment=run.increment,
        dim=diagnosis.rank,
        feature_norm=diagnosis.goodness.bound_norm,
    )

"""What to run: policy, threshold and exploration, what it costs, and why."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mogro import pareto
from mogro._validation import FloatArray
from mogro.exploration import default_threshold
from mogro.theory._conflict import Conflict
from mogro.theory._promises import Promises, Run
from mogro.theory._trial import Estimate, Price, exploration_price, greedy_regret


@dataclass(frozen=True)
class Advice:
    """What to run.

    Attributes
    ----------
    policy
        A policy as one would write it.
    threshold
        Its threshold B: the default, or the theorem's where that pays.
    exploration
        Its exploration (the default).
    initial_rounds
        Rounds that this exploration takes to reach the threshold; None: more than there are, or
        than 2000.
    price
        Effective Pareto regret of these rounds: exact for fixed arms, extrapolated beyond 2000
        rounds, an estimate for contexts.
    gain
        By how much the theorem's bound is below what the default might cost in the worst case;
        0 if the default is advised. The regret of the advised threshold exceeds that of the
        default by no more than this, in expectation.
    reasons
        Why, in sentences.
    """

    policy: str
    threshold: float
    exploration: str
    initial_rounds: int | None
    price: float
    gain: float
    reasons: tuple[str, ...]


class Subject(NamedTuple):
    """A run, and what was found out about it."""

    run: Run
    promised: Promises
    conflict: Conflict
    scalarization: str
    dim: int


def advise(subject: Subject, features: FloatArray) -> Advice:
    """Choose policy, threshold and exploration for arms (K, d)."""
    gaps = _gaps(features, subject.run.theta)
    threshold = float(default_threshold(features))
    price = exploration_price(
        lambda step: features, lambda step: gaps, threshold=threshold, rounds=subject.run.rounds
    )
    verdict = _weigh(subject, features, gaps, price)
    if verdict.price is None:
        return _default(subject, threshold, price, verdict.reason)
    B = subject.promised.threshold
    assert B is not None
    return Advice(
        _policy(subject, f", threshold={B:.4g}", subject.scalarization),
        B,
        "WeakestDirection()",
        verdict.price.rounds,
        verdict.price.regret,
        verdict.gain,
        (verdict.reason, *_front_reasons(subject, bounded=True)),
    )


def advise_contexts(subject: Subject, sample: FloatArray) -> Advice:
    """Advise the default for contexts, of which rounds (n, K, d) are given.

    What the theory promises there rests on an estimate, so that no gain can be promised.
    """
    threshold = float(default_threshold(sample.reshape(-1, sample.shape[-1])))

    def arms_in(step: int) -> FloatArray:
        return np.asarray(sample[step % len(sample)])

    price = exploration_price(
        arms_in,
        lambda step: _gaps(arms_in(step), subject.run.theta),
        threshold=threshold,
        rounds=subject.run.rounds,
    )
    reason = _NO_THEOREM
    if subject.run.good.alpha is not None:
        reason = (
            "The default threshold is taken: bounds for contexts rest on an estimate here, and "
            "an estimate cannot promise that a larger threshold is worth its exploration."
        )
    return _default(subject, threshold, price, reason)


def _gaps(features: FloatArray, theta: FloatArray) -> FloatArray:
    """Return the effective gaps of arms, exactly 0 where they are 0 up to rounding."""
    means = features @ theta.T
    gaps = pareto.effective_gaps(means)
    return np.where(gaps > 1e-12 * np.abs(means).max(), gaps, 0.0)


_NO_THEOREM = (
    "No theorem applies, so the threshold is a tuning parameter: the default is taken. Greedy may "
    "still do well, as it does in the paper's experiments; compare it with UCB and Thompson "
    "sampling in a simulation."
)


class _Verdict(NamedTuple):
    """Whether the theorem's threshold pays: its price and promised gain if so, and a sentence."""

    reason: str
    price: Price | None = None
    gain: float = 0.0


def _weigh(subject: Subject, features: FloatArray, gaps: FloatArray, default: Price) -> _Verdict:
    """Compare the theorem's threshold with the default.

    It is advised if it is sure to do no more harm than it promises to avert, and if the default
    costs more in simulated runs of the problem as given.
    """
    promised, T = subject.promised, subject.run.rounds
    B = promised.threshold
    if B is None or promised.regret is None:
        return _Verdict(_NO_THEOREM)
    if default_threshold(features) >= B:
        return _Verdict(
            f"The default threshold is taken: it is not below the theorem's, which is {B:.3g}."
        )
    if promised.unreachable or promised.initial_rounds is None or promised.initial_rounds >= T:
        return _Verdict(
            "The theorem's threshold cannot be reached in these rounds, so the default is taken; "
            "the bounds do not hold for it."
        )
    # Of the default nothing better is certain than the largest gap in every round.
    worst = T * float(gaps.max())
    if promised.vacuous or promised.regret >= worst:
        return _Verdict(
            "The theorem's bound is vacuous here: its threshold would buy nothing, so the default "
            "is taken."
        )
    price = exploration_price(lambda step: features, lambda step: gaps, threshold=B, rounds=T)
    # The bound is for the T_0 of a round robin over a basis.
    longer = max(0, price.length - promised.initial_rounds)
    bound = (
        promised.regret + 4 * subject.run.good.bound_norm * subject.run.good.largest_norm * longer
    )
    if bound > worst / 2:
        return _Verdict(
            f"The theorem promises a regret of at most {bound:.3g}, where no policy can exceed "
            f"{worst:.3g}: it might cost more than it can promise to save, so the default is taken."
        )
    if price.regret <= default.regret * (1 + 1e-9):
        return _Verdict(
            "The threshold is the theorem's: its exploration costs no more than that of the "
            f"default, and the regret is at most {bound:.3g} in expectation.",
            price,
            worst - bound,
        )
    return _compare(subject, features, gaps, default, _Offer(B, price, bound, worst - bound))


class _Offer(NamedTuple):
    """The theorem's threshold, its price, its bound, and by how much that is below the worst."""

    threshold: float
    price: Price
    bound: float
    gain: float


def _compare(
    subject: Subject, features: FloatArray, gaps: FloatArray, default: Price, offer: _Offer
) -> _Verdict:
    """Compare what both thresholds cost in simulated runs."""

    def total(price: Price) -> Estimate:
        return greedy_regret(
            features,
            subject.run.theta,
            gaps,
            price.gram,
            weights=subject.run.weights,
            noise=subject.run.noise,
            rounds=subject.run.rounds - price.length,
        ).plus(price.regret)

    usual, price = total(default), offer.price.regret
    if usual.low > total(offer.price).high:
        return _Verdict(
            f"The threshold is the theorem's: its exploration costs {price:.3g}, and the regret is "
            f"at most {offer.bound:.3g} in expectation. The default has no such bound, and is "
            f"expected to cost {_about(usual.mean)} in all (simulated).",
            offer.price,
            offer.gain,
        )
    return _Verdict(
        f"The theorem bounds the regret by {offer.bound:.3g} if threshold={offer.threshold:.4g}, "
        f"but exploring that long costs {price:.3g}, and the default is expected to cost "
        f"{_about(usual.mean)} in all (simulated). Take the larger one only if you need the "
        "guarantee."
    )


def _about(value: float) -> str:
    return f"about {value:.2g}" if value >= 0.01 else "less than 0.01"


def _default(subject: Subject, threshold: float, price: Price, reason: str) -> Advice:
    conflict = subject.conflict
    between = conflict.single_best < conflict.effective_front
    return Advice(
        _policy(subject, "", "RandomWeights()" if between else "RoundRobin()"),
        threshold,
        "WeakestDirection()",
        price.rounds,
        price.regret,
        0.0,
        (reason, *_front_reasons(subject, bounded=not subject.promised.vacuous)),
    )


def _policy(subject: Subject, threshold: str, scalarization: str) -> str:
    objectives = len(subject.run.theta)
    return f"MOGRO({subject.dim}, {objectives}{threshold}, scalarization={scalarization})"


def _front_reasons(subject: Subject, *, bounded: bool) -> list[str]:
    """Say what the fronts have to do with the greedy objective."""
    conflict, out = subject.conflict, []
    if subject.run.good.diversity == 0:
        out.append(
            "Greedy choices for these objectives need not explore every direction by themselves: "
            "a larger threshold is a safeguard, at the price of a longer exploration."
        )
    if math.isclose(conflict.largest, 0, abs_tol=1e-12):
        out.append("One arm is best for every objective: there is nothing to trade off.")
    if conflict.single_best < conflict.effective_front:
        out.append(
            f"Only {conflict.single_best:.3g} of {conflict.effective_front:.3g} arms of the "
            "effective front are best for a single objective: round robin would leave out the "
            "others, random weights reach them all."
        )
    else:
        smaller = ", and its bound is smaller" if bounded else ""
        out.append(
            "Every arm of the effective front is best for a single objective: round robin "
            f"visits them all{smaller}."
        )
    if conflict.effective_front < conflict.pareto_front:
        hidden = conflict.pareto_front - conflict.effective_front
        out.append(
            f"Mixtures of others dominate {hidden:.3g} of {conflict.pareto_front:.3g} Pareto "
            "arms: no linear weights reach these; RandomHypervolume does, if wanted."
        )
    return out

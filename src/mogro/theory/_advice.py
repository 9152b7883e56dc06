"""What to run: policy, threshold and exploration, and why."""

from dataclasses import dataclass

import numpy as np

from mogro._validation import FloatArray
from mogro.exploration import DEFAULT_SHARE, BasisRoundRobin, WeakestDirection
from mogro.theory._conflict import Conflict
from mogro.theory._promises import Promises
from mogro.theory._versions import Goodness
from mogro.theory.thresholds import initial_rounds, initial_rounds_round_robin

_WALKED = 20_000  # rounds of exploration tried out at most


@dataclass(frozen=True)
class Advice:
    """What to run.

    Attributes
    ----------
    policy
        A policy as one would write it.
    threshold
        Its threshold B.
    exploration
        Its exploration (the default).
    initial_rounds
        Rounds that this exploration takes to reach the threshold; None: more than there are, or
        than 20,000.
    reasons
        Why, in sentences.
    """

    policy: str
    threshold: float
    exploration: str
    initial_rounds: int | None
    reasons: tuple[str, ...]


def advise(
    features: FloatArray,
    good: Goodness,
    promised: Promises,
    conflict: Conflict,
    *,
    dim: int,
    objectives: int,
    rounds: int,
) -> Advice:
    """Choose policy, threshold and exploration for arms in coordinates of their span."""
    default = DEFAULT_SHARE * float(np.square(features).sum(axis=1).max())
    usable = (
        good.alpha is not None
        and promised.threshold is not None
        and promised.threshold > 0
        and promised.initial_rounds is not None
        and promised.initial_rounds <= rounds / 10
    )
    threshold = promised.threshold if usable and promised.threshold is not None else default
    taken = initial_rounds(
        features,
        threshold=threshold,
        exploration=WeakestDirection(),
        limit=min(rounds, _WALKED),
    )
    basis = features[BasisRoundRobin(features).basis]
    paper = initial_rounds_round_robin(basis, threshold=threshold)
    reasons = _reasons(good, promised, conflict, usable=usable, taken=taken, paper=paper)
    between = conflict.single_best < conflict.effective_front
    greedy = "RandomWeights()" if between else "RoundRobin()"
    given = f", threshold={threshold:.4g}" if usable else ""
    policy = f"MOGRO({dim}, {objectives}{given}, scalarization={greedy})"
    return Advice(policy, threshold, "WeakestDirection()", taken, reasons)


def _reasons(
    good: Goodness,
    promised: Promises,
    conflict: Conflict,
    *,
    usable: bool,
    taken: int | None,
    paper: int,
) -> tuple[str, ...]:
    """Explain the advice."""
    out = []
    if usable:
        out.append("The threshold is the theorem's: it leaves at least nine tenths of the rounds.")
    elif good.alpha is None:
        out.append(
            "No theorem applies, so the threshold is a tuning parameter: the default, a tenth "
            "of the largest squared feature norm. Greedy may still do well, as it does in the "
            "paper's experiments; compare it with UCB and Thompson sampling in a simulation."
        )
    else:
        out.append(
            "Reaching the theorem's threshold would take more than a tenth of the rounds, so the "
            "default is taken, a tenth of the largest squared feature norm; the bounds do not "
            "hold for it."
        )
    if good.diversity == 0:
        out.append(
            "Greedy choices for these objectives need not explore every direction by themselves: "
            "a larger threshold is the safeguard."
        )
    if taken is not None:
        out.append(
            f"Exploring the weakest direction takes {taken} rounds; round robin over a basis "
            f"takes {paper}."
        )
    if conflict.largest == 0:
        out.append("One arm is best for every objective: there is nothing to trade off.")
    if conflict.single_best < conflict.effective_front:
        out.append(
            f"Only {conflict.single_best} of {conflict.effective_front} arms of the effective "
            "front are best for a single objective: round robin would leave out the others, "
            "random weights reach them all."
        )
    else:
        out.append(
            "Every arm of the effective front is best for a single objective: round robin "
            "visits them all, and its bounds are smaller."
        )
    if conflict.effective_front < conflict.pareto_front:
        out.append(
            f"Mixtures of others dominate {conflict.pareto_front - conflict.effective_front} of "
            f"{conflict.pareto_front} Pareto arms: no linear weights reach these; "
            "RandomHypervolume does, if wanted."
        )
    return tuple(out)

"""Why a decision chose its arm: what it was chosen over, and where it led."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mogro._validation import FloatArray
from mogro.agent.decision import Decision
from mogro.agent.decision_inputs import DecisionInputs

_MAX_RIVALS = 5  # rivals that an explanation tells about
_MAX_REASONS = 3  # features that its text names for each


@dataclass(frozen=True)
class Rival:
    """An arm that was not chosen.

    Attributes
    ----------
    arm
        Its id.
    estimates
        What it was expected to give, by objective, in the user's units.
    leads
        By how much the chosen arm led, by objective, in units, better being positive.
    total
        The leads added up with the weights of the decision, and prices of budgets if there were
        some; None if it had no weights.
    reasons
        What each feature of the learner that differs between the two arms adds to the total (or
        to the sum of the leads, without weights), by name, the largest
        first. Empty for a decision from a journal. Where a budget relies on a context in part, they
        are what the posterior says, and add up to something else.
    """

    arm: str
    estimates: dict[str, float]
    leads: dict[str, float]
    total: float | None
    reasons: dict[str, float]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why an arm was chosen: its closest rivals, and on what it led.

    Attributes
    ----------
    decision
        The decision.
    reason
        In a sentence.
    rivals
        The closest rivals, closest first.
    """

    decision: Decision
    reason: str
    rivals: tuple[Rival, ...]

    def __str__(self) -> str:
        lines = [f"{self.decision.arm}: {self.reason}."]
        for rival in self.rivals:
            leads = ", ".join(f"{name} {lead:+.3g}" for name, lead in rival.leads.items())
            total = "" if rival.total is None else f" (weighted {rival.total:+.3g})"
            lines.append(f"  against {rival.arm}, in units: {leads}{total}")
            if rival.reasons:
                largest = list(rival.reasons.items())[:_MAX_REASONS]
                reasons = ", ".join(f"{name} {value:+.3g}" for name, value in largest)
                lines.append(f"    by {reasons}")
        return "\n".join(lines)

    __repr__ = __str__


def explain(decision: Decision) -> Explanation:
    """Compare the chosen arm with the others, by what was believed then."""
    if not isinstance(decision, Decision):
        raise ValueError(
            f"decision: expected a Decision, got {decision!r}; agent.decision(id).decision is one"
        )
    inputs, objective_set = decision.inputs, decision.config.objective_set
    values = inputs.estimates
    chosen_index = inputs.arms.ids.index(decision.arm)
    leads = values[chosen_index] - values
    weights = decision.event.weights
    if weights is not None and inputs.added_weights is not None:
        weights = weights + weights.sum() * inputs.added_weights
    totals = leads.min(axis=1) if weights is None else leads @ weights
    order = [i for i in np.argsort(totals, kind="stable") if i != chosen_index][:_MAX_RIVALS]
    rivals = tuple(
        Rival(
            inputs.arms.id(i),
            objective_set.named(objective_set.to_user_units(values[i])),
            objective_set.named(leads[i]),
            None if weights is None else float(totals[i]),
            _reasons(decision, chosen_index, i, weights),
        )
        for i in order
    )
    return Explanation(decision, _reason(decision), rivals)


def _reasons(
    decision: Decision, chosen_index: int, rival_index: int, weights: FloatArray | None
) -> dict[str, float]:
    """Return what the features of the learner add to the lead over a rival, by their names."""
    inputs = decision.inputs
    if not isinstance(inputs, DecisionInputs):
        return {}
    arms, theta = inputs.arms, inputs.learned.theta
    difference = arms.arm_features(chosen_index)[1] - arms.arm_features(rival_index)[1]
    contributions = (theta.sum(axis=0) if weights is None else weights @ theta) * difference
    names = arms.view.feature_map.names
    order = np.argsort(-np.abs(contributions), kind="stable")
    return {names[j]: float(contributions[j]) for j in order.tolist() if contributions[j] != 0}


def _reason(decision: Decision) -> str:
    if decision.holdout:
        return "chosen by the baseline, because its subject is held out"
    if decision.exploring and decision.weights is not None:
        return "chosen because it may be better than its estimates"
    if decision.exploring:
        return "chosen to explore a direction in which too little has been seen"
    if decision.uniform:
        return "a uniform draw"
    if decision.weights is None:
        return "drawn at random by the policy among arms that it holds equal"
    return f"best for the weights {_listed(decision.weights)}" + (
        "" if decision.inputs.added_weights is None else f" and prices {_listed(decision.prices)}"
    )


def _listed(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {number:.3g}" for name, number in numbers.items())

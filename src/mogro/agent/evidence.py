"""What a decision leaves in a journal for those who judge it later, and the way back.

The probability of a choice by estimates, or by values that are not random, follows from these, the
arms on offer and the way to select: so it need not be computed when the choice is made, but
whenever somebody asks, to the bit. Other probabilities (of exploration, of random values) follow
from more than a journal should hold, and are computed at once.
"""

import numpy as np

from mogro._validation import FloatArray
from mogro.agent.config import AgentConfig
from mogro.agent.decision import chance_of_arm
from mogro.agent.events import Decided, Evidence, Offered
from mogro.agent.features.arms import ArmSet
from mogro.agent.inputs import Constraints, DecisionInputs, WrittenInputs
from mogro.choice import values_in_round
from mogro.policies.persistence import OWN

_MOST = 1000  # arms whose values are written with a decision


def make_evidence(
    inputs: DecisionInputs,
    arms: ArmSet,
    constraints: Constraints | None,
    config: AgentConfig,
    *,
    position: int,
) -> Evidence:
    """Return what to write about a decision among the eligible of the arms."""
    usual = inputs.selection is config.rule.selection
    return Evidence(
        eligible=None if arms.rows is None else arms.eligible,
        context=arms.context,
        constraints=constraints and (constraints.at_least, constraints.at_most),
        selection=None if usual or type(inputs.selection) not in OWN else inputs.selection,
        basis=position,
        theta=inputs.beliefs.theta,
        values=None,
        propensity=None,
    )


def with_propensity(
    evidence: Evidence, id: str, arm: str, inputs: DecisionInputs, config: AgentConfig
) -> Evidence:
    """Return evidence from which the propensity of a decision follows, or that says it."""
    follows, values = _follows(inputs, config)
    chance = None if follows else chance_of_arm(id, arm, inputs, config)
    return evidence._replace(values=values, propensity=chance)


def _follows(inputs: DecisionInputs, config: AgentConfig) -> tuple[bool, FloatArray | None]:
    """Tell whether the probabilities follow from what is written, and from which values."""
    written = inputs.selection is config.rule.selection or type(inputs.selection) in OWN
    if inputs.explore is not None or not written:
        return False, None
    policy, beliefs = inputs.policy, inputs.beliefs
    optimism = policy.optimism(beliefs, inputs.step)
    if policy.greedy and optimism is None:
        return True, None
    if len(inputs.arms) > _MOST:
        return False, None
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    values = values_in_round(policy, inputs.arms.features, beliefs, rng, optimism)
    random = rng.bit_generator.state != before
    return not random, None if random else values


def offered_arms(evidence: Evidence, offered: Offered, config: AgentConfig) -> ArmSet:
    """Return the eligible arms on offer to a decision."""
    arms = ArmSet(offered.ids, offered.features, config.features.at(evidence.context))
    return arms if evidence.eligible is None else arms.only(evidence.eligible)


def written_inputs(
    event: Decided, offered: Offered, config: AgentConfig, *, step: int
) -> WrittenInputs:
    """Return what a decision was made of, as a journal holds it; ``step`` came before it."""
    evidence = event.evidence
    assert evidence is not None
    arms, selection = offered_arms(evidence, offered, config), config.rule.selection
    if evidence.selection is not None:
        selection = evidence.selection
    share = 1 - (1 - config.epsilon) * (1 - config.rule.epsilon)
    inputs = WrittenInputs(arms, evidence.theta, evidence.values, selection, step, share)
    if evidence.constraints is None or evidence.propensity is not None:
        return inputs
    met = Constraints(*evidence.constraints).are_met(inputs.estimates, config.units)
    return inputs._replace(arms=arms.only(met))

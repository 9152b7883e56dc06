"""What is on record of decisions: in the ledger, and in a journal for those who judge them later.

The probability of a choice by estimates, or by values that are not random, follows from these, the
arms on offer and the way to select: so it need not be computed when the choice is made, but
whenever somebody asks, to the bit. Other probabilities (of exploration, of random values) follow
from more than a journal should hold, and are computed at once.
"""

import math
from collections import Counter
from collections.abc import Collection, Set
from typing import Any, Protocol

import numpy as np

from mogro._algebra import distinct
from mogro._validation import FloatArray
from mogro.agent.config import AgentConfig
from mogro.agent.decision import (
    UNKNOWN_PROPENSITY,
    Decision,
    DecisionRecord,
    certain_choice,
    compute_propensities,
    decision_event,
    make_inputs,
    propensity_of,
    unused_id,
)
from mogro.agent.decision_inputs import DecisionInputs, StoredInputs
from mogro.agent.errors import UnknownDecision
from mogro.agent.events import Decided, Erased, Event, Evidence, Offered
from mogro.agent.features.arms import ArmSet
from mogro.agent.features.encoder import Encoder, parse_record
from mogro.agent.features.feature_map import FeaturesInContext
from mogro.agent.objective import STATUS
from mogro.agent.request import Request
from mogro.agent.state.state import State
from mogro.policies.persistence import BUILT_IN
from mogro.valuation import add_prices, optimism_in_round, values_in_round

_MAX_ARMS = 1000  # arms whose values are written with a decision


class EventSource(Protocol):
    """Events in a journal."""

    def event(self, position: int) -> Event | None:
        """Return one event; None if it is no longer there."""

    def versions(self, before: float) -> list[AgentConfig]:
        """Return the configurations that the agent had until an event."""


def with_evidence(
    state: State, request: Request, decision: Decision, *, group_index: int = 0
) -> Decision:
    """Return a decision with what a journal keeps of it; without a journal as it is.

    It is that of an index in its group, from 0. The propensity follows from what is written,
    or is written itself; of a decision made elsewhere it is what they say.
    """
    offer, inputs, config = request.offer, decision.inputs, state.config
    if offer is None:
        return decision
    assert isinstance(inputs, DecisionInputs)
    event, values, propensity = decision.event, None, None
    left = inputs.all_arms if inputs.budget_terms is None else inputs.budget_terms.left
    if event.holdout or event.made_elsewhere:
        propensity = decision.propensity, decision.propensity_error
    else:
        is_reproducible, values = _is_reproducible(inputs, left, config)
        if not is_reproducible:
            propensity = propensity_of(event.arm, compute_propensities(inputs, config, event))
    arms, constraints, selection = request.arms, request.constraints, inputs.selection
    is_default = selection is config.policy.selection
    eligible_rows = slice(None) if arms.eligible_rows is None else arms.eligible_rows
    evidence = Evidence(
        eligible=None if arms.eligible_rows is None else arms.eligible,
        context=None if event.context is not None else arms.context,
        constraints=constraints and (constraints.at_least, constraints.at_most),
        selection=None if is_default or type(selection) not in BUILT_IN else selection,
        basis=state.position + (offer.digest not in state.offers) + group_index,
        step=inputs.step,
        theta=inputs.beliefs.theta[:, : 1 + config.features.arm_dim],
        values=values,
        propensity=None if propensity is None or math.isnan(propensity[0]) else propensity,
        prices=None if inputs.prices is None or config.arm_effects else inputs.prices.weights,
        allowed=None if len(left) == len(arms) else left.eligible[eligible_rows],
    )
    position = state.offers.get(offer.digest, state.position + 1)
    event = event._replace(evidence=evidence, offer_position=position)
    propensities = decision.propensities if event.holdout else None
    return Decision(
        event, config, None if event.made_elsewhere else inputs, propensity, propensities
    )


def _is_reproducible(
    inputs: DecisionInputs, arms: ArmSet, config: AgentConfig
) -> tuple[bool, FloatArray | None]:
    """Tell whether the probabilities of arms follow from what is written, and from which values."""
    is_recorded = inputs.selection is config.policy.selection or type(inputs.selection) in BUILT_IN
    if inputs.explore is not None or not is_recorded:
        return False, None
    policy, beliefs = inputs.policy, inputs.beliefs
    prices = inputs.prices
    optimism = optimism_in_round(policy, beliefs, inputs.step, inputs.selection, prices)
    if policy.greedy and optimism is None and not config.arm_effects:
        return True, None
    raw = arms.raw_features
    if len(raw) > _MAX_ARMS:
        return False, None
    if config.arm_effects and len(distinct(raw, np.arange(len(raw)))) < len(raw):
        return False, None  # by what is written these are copies, of which the first is chosen
    rng = np.random.default_rng(0)
    generator_state = rng.bit_generator.state
    values = values_in_round(policy, arms.features, beliefs, rng, optimism, prices)
    is_random = rng.bit_generator.state != generator_state
    if config.arm_effects and prices is not None:  # what arms cost is no matter of features alone
        values = add_prices(values, beliefs.theta, arms.features, prices.weights)
    return not is_random, None if is_random else values


def observed_decision(
    state: State, id: str | None, request: Request, arm: str, propensity: float | None
) -> Decision:
    """Return a decision that was made elsewhere; with its inputs only if a journal wants them."""
    number, id = (None, id) if id is not None else unused_id(state)
    learner, _ = state.preview(request.time)
    inputs = make_inputs(state, learner, (), request, steered=False)
    choice = certain_choice(request.arms.ids.index(arm))
    event = decision_event(id, number, request, inputs, choice)._replace(made_elsewhere=True)
    propensity_and_error = UNKNOWN_PROPENSITY if propensity is None else (propensity, 0.0)
    recorded_inputs = None if request.offer is None else inputs
    return Decision(event, state.config, recorded_inputs, propensity_and_error)


def find_row(state: State, id: str) -> int:
    """Return the row of a decision in the ledger."""
    row = state.ledger.rows_by_id.get(id)
    if row is None:
        raise UnknownDecision(f"id: no decision {id!r}; it was never made, or is forgotten")
    return row


def decision_from_ledger(state: State, id: str) -> Decision:
    """Return a decision as the ledger knows it."""
    return Decision(state.ledger.decided(find_row(state, id)), state.config)


def _decision_from_events(id: str, position: int, events: EventSource) -> Decision | None:
    """Return a decision with what it was made of, if that was written."""
    event = events.event(position)
    if not isinstance(event, Decided) or event.id != id or event.evidence is None:
        return None
    offer = events.event(event.offer_position)
    if not isinstance(offer, Offered):
        return None
    return stored_decision(event, offer, events.versions(position)[-1])


def erasure_event(state: State, ids: Set[str], recorded_ids: Collection[str]) -> Erased:
    """Return the event that drops decisions; of others, with these ids, something is recorded."""
    held_ids = {id for id in ids if id in state.ledger.rows_by_id}
    for id in ids - held_ids - set(recorded_ids):
        find_row(state, id)  # raises
    rows = [find_row(state, id) for id in held_ids]
    return Erased(tuple(sorted(state.ledger.column("number")[rows].tolist())))


def decision_record(state: State, id: str, events: EventSource | None = None) -> DecisionRecord:
    """Return a decision, with what it was made of if there are events, and what became of it."""
    names = state.config.objective_set.names
    block, i = state.ledger.readable(find_row(state, id))
    values, statuses = block.values[i].tolist(), block.statuses[i].tolist()
    decision = None if events is None else _decision_from_events(id, block.position.item(i), events)
    return DecisionRecord(
        decision or decision_from_ledger(state, id),
        {name: value for name, value in zip(names, values, strict=True) if value == value},
        {name: STATUS[status] for name, status in zip(names, statuses, strict=True)},
    )


def count_unknown_values(state: State, limit: int = 0) -> dict[str, dict[str | int, int]]:
    """Return values of categories and tags that the encoders do not know, by column.

    With the number of decisions whose arm or context had it, the most frequent first: of all that
    are held, or so many of the last.
    """
    features, ledger = state.config.features, state.ledger
    counts: dict[str, Counter[str | int]] = {}
    record_texts = ledger.records(ledger.live()[-limit:].tolist())
    for side, texts in zip((features.arms, features.context), record_texts, strict=True):
        if isinstance(side, Encoder):
            for text, count in Counter(filter(None, texts)).items():
                for name, value in side.unknown_values(parse_record(text) or {}):
                    counts.setdefault(name, Counter())[value] += count
    return {name: dict(counter.most_common()) for name, counter in counts.items()}


def offered_arms(evidence: Evidence, offer: Offered, view: FeaturesInContext) -> ArmSet:
    """Return the eligible arms on offer to a decision that constraints and budgets left.

    In its context, by the configuration that it was made by.
    """
    numbers = offer.features
    if numbers is None:
        assert offer.records is not None
        numbers = view.feature_map.encode_arms(offer.records)
    arms = ArmSet(offer.ids, numbers, view, all_records=offer.records)
    for mask in (evidence.eligible, evidence.allowed):
        arms = arms if mask is None else arms.subset(mask)
    return arms


def context_of(event: Decided) -> dict[str, Any] | FloatArray | None:
    """Return the context of a decision that has evidence, as the caller gave it."""
    assert event.evidence is not None
    return event.evidence.context if event.context is None else event.context


def stored_decision(event: Decided, offer: Offered, config: AgentConfig) -> Decision:
    """Return a decision with what it was made of, as a journal holds it."""
    evidence = event.evidence
    assert evidence is not None
    arms = offered_arms(evidence, offer, config.features.in_context(context_of(event)))
    propensity = evidence.propensity or (UNKNOWN_PROPENSITY if event.made_elsewhere else None)
    return Decision(event, config, StoredInputs(arms, evidence, config), propensity)

"""Decisions about several distinct arms, made one after the other."""

import numpy as np

from mogro.agent.decision import Decision, assign_subject, make_decision, make_inputs, unused_id
from mogro.agent.decision_records import decision_from_ledger, with_evidence
from mogro.agent.errors import InfeasibleConstraints
from mogro.agent.request import Request
from mogro.agent.state.state import State


def make_top_decisions(
    state: State, id: str | None, request: Request, top: int
) -> list[tuple[Decision, bool]]:
    """Make decisions, each by what the ones before have put in flight, and say which are new."""
    arm_set, first_id = request.arms, id or unused_id(state)[1]
    numbers = range(2, min(top, len(arm_set)) + 1)
    ids = [first_id, *(f"{first_id}/{number}" for number in numbers)]
    known_ids = [known_id for known_id in ids if known_id in state.ledger.rows_by_id]
    decisions_by_id = {known_id: decision_from_ledger(state, known_id) for known_id in known_ids}
    if id is not None:
        _check_known(id, decisions_by_id)
    if state.config.holdout:
        request, _ = assign_subject(state.config, first_id, request)
    chosen_arms = {decision.arm for decision in decisions_by_id.values()}
    is_available = np.array([arm not in chosen_arms for arm in arm_set.ids])
    learner, accounts = state.preview(request.time)
    decisions: list[tuple[Decision, bool]] = []
    index, may_explore = 0, True
    for decision_id in ids:
        if decision_id in decisions_by_id:
            decisions.append((decisions_by_id[decision_id], False))
        elif is_available.any():
            arms = arm_set if is_available.all() else arm_set.subset(is_available)
            next_request = request._replace(arms=arms)
            try:
                inputs = make_inputs(
                    state, learner, accounts, next_request, before=index, may_explore=may_explore
                )
            except InfeasibleConstraints:
                if not decisions:
                    raise
                break
            new_id = id if decision_id == first_id else decision_id
            decision = make_decision(state, new_id, next_request, inputs, grouped=True)
            decision = with_evidence(state, next_request, decision, group_index=index)
            decisions.append((decision, True))
            is_available[arm_set.ids.index(decision.arm)] = False
            accounts = state.accounts_after(accounts, decision.event, index)
            may_explore, index = inputs.explore is not None, index + 1
            if may_explore:  # what is in flight now need not be explored again
                learner = learner.copy()
                learner.add_pending(-index, decision.event.features, decision.time)
    return decisions


def _check_known(id: str, decisions_by_id: dict[str, Decision]) -> None:
    """Refuse ids of decisions that were made otherwise, whose arms might be the same."""
    if id not in decisions_by_id and f"{id}/2" in decisions_by_id:
        raise ValueError(f"id: expected a new one, but there is a decision '{id}/2'")
    for decision in decisions_by_id.values():
        if not decision.event.grouped:
            raise ValueError(
                f"id: expected a decision of decide_top, got {decision.id!r}, made by decide"
            )

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
    known_ids = [known_id for known_id in ids if known_id in state.ledger.rows]
    known_decisions = {known_id: decision_from_ledger(state, known_id) for known_id in known_ids}
    if id is not None:
        _check_known(id, known_decisions)
    if state.config.holdout:
        request, _ = assign_subject(state.config, first_id, request)
    chosen_arms = {decision.arm for decision in known_decisions.values()}
    is_available = np.array([arm not in chosen_arms for arm in arm_set.ids])
    learner, accounts = state.at(request.time)
    decisions: list[tuple[Decision, bool]] = []
    group_index, may_explore = 0, True
    for decision_id in ids:
        if decision_id in known_decisions:
            decisions.append((known_decisions[decision_id], False))
        elif is_available.any():
            arms = arm_set if is_available.all() else arm_set.subset(is_available)
            remaining_request = request._replace(arms=arms)
            try:
                inputs = make_inputs(
                    state,
                    learner,
                    accounts,
                    remaining_request,
                    before=group_index,
                    may_explore=may_explore,
                )
            except InfeasibleConstraints:
                if not decisions:
                    raise
                break
            new_id = id if decision_id == first_id else decision_id
            decision = make_decision(state, new_id, remaining_request, inputs, grouped=True)
            decision = with_evidence(state, remaining_request, decision, group_index=group_index)
            decisions.append((decision, True))
            is_available[arm_set.ids.index(decision.arm)] = False
            accounts = state.accounts_after(accounts, decision.event, group_index)
            may_explore, group_index = inputs.explore is not None, group_index + 1
            if may_explore:  # what is in flight now need not be explored again
                learner = learner.copy()
                learner.add_pending(-group_index, decision.event.features, decision.time)
    return decisions


def _check_known(id: str, known_decisions: dict[str, Decision]) -> None:
    """Refuse ids of decisions that were made otherwise, whose arms might be the same."""
    if id not in known_decisions and f"{id}/2" in known_decisions:
        raise ValueError(f"id: expected a new one, but there is a decision '{id}/2'")
    for decision in known_decisions.values():
        if not decision.event.grouped:
            raise ValueError(
                f"id: expected a decision of decide_top, got {decision.id!r}, made by decide"
            )

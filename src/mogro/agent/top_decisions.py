"""Decisions about several distinct arms, made one after the other."""

import numpy as np

from mogro.agent.decision import Decision, assign_subject, make_decision, make_inputs, unused_id
from mogro.agent.decision_records import decision_from_ledger, with_evidence
from mogro.agent.errors import InfeasibleConstraints
from mogro.agent.request import Request
from mogro.agent.state.block import GROUPED
from mogro.agent.state.state import State


def check_top_ids(state: State, id: str | None, top: int) -> None:
    """Refuse ids that belong to decisions made otherwise, whose arms might be the same."""
    if id is None:
        return
    ledger = state.ledger
    if top > 1 and id not in ledger.rows and f"{id}/2" in ledger.rows:
        raise ValueError(f"id: expected a new one, but there is a decision '{id}/2'")
    for number in range(1, top + 1):
        decision_id = id if number == 1 else f"{id}/{number}"
        row = ledger.rows.get(decision_id)
        if row is not None:
            block, i = ledger.readable(row)
            if not block.flags.item(i) & GROUPED:
                raise ValueError(
                    f"id: expected a decision of decide_top, got {decision_id!r}, made by decide"
                )


def make_top_decisions(
    state: State, id: str | None, request: Request, top: int
) -> list[tuple[Decision, bool]]:
    """Make decisions, each by what the ones before have put in flight, and say which are new."""
    if state.config.holdout:
        request, _ = assign_subject(state.config, id or unused_id(state)[1], request)
    offered, ledger, (learner, accounts) = request.arms, state.ledger, state.at(request.time)
    indices = {arm: index for index, arm in enumerate(offered.ids)}
    available = np.ones(len(offered), dtype=np.bool_)
    for number in range(2, min(top, len(offered)) + 1) if id is not None else ():
        row = ledger.rows.get(f"{id}/{number}")  # made before, perhaps after one erased since
        if row is not None and ledger.arms[row] in indices:
            available[indices[ledger.arms[row]]] = False
    decisions: list[tuple[Decision, bool]] = []
    before, may_explore = 0, True
    for number in range(1, min(top, len(offered)) + 1):
        decision_id = id if number == 1 else f"{decisions[0][0].id}/{number}"
        if decision_id is not None and decision_id in ledger.rows:
            decision, is_new = decision_from_ledger(state, decision_id), False
        elif available.any():
            arms = offered if available.all() else offered.subset(available)
            remaining = request._replace(arms=arms)
            try:
                known = learner, accounts, remaining
                inputs = make_inputs(state, *known, before=before, may_explore=may_explore)
            except InfeasibleConstraints:
                if not decisions:
                    raise
                break
            decision = make_decision(state, decision_id, remaining, inputs, grouped=True)
            decision, is_new = with_evidence(state, remaining, decision, before=before), True
            accounts = state.accounts_after(accounts, decision.event, before)
            may_explore, before = inputs.explore is not None, before + 1
            if may_explore:  # what is in flight now need not be explored again
                learner = learner.copy()
                learner.add_pending(-before, decision.event.features, decision.time)
        else:
            continue
        decisions.append((decision, is_new))
        if decision.arm in indices:  # else it was made before, among other arms
            available[indices[decision.arm]] = False
    return decisions

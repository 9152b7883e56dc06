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
        name = id if number == 1 else f"{id}/{number}"
        row = ledger.rows.get(name)
        if row is not None:
            block, i = ledger.readable(row)
            if not block.flags.item(i) & GROUPED:
                raise ValueError(
                    f"id: expected a decision of decide_top, got {name!r}, made by decide"
                )


def make_top_decisions(
    state: State, id: str | None, request: Request, top: int
) -> list[tuple[Decision, bool]]:
    """Make decisions, each by what the ones before have put in flight, and say which are new."""
    if state.config.holdout:
        request, _ = assign_subject(state.config, id or unused_id(state)[1], request)
    offered, learner, ledger = request.arms, state.learner_at(request.time), state.ledger
    indices = {arm: index for index, arm in enumerate(offered.ids)}
    left = np.ones(len(offered), dtype=np.bool_)
    for number in range(2, min(top, len(offered)) + 1) if id is not None else ():
        row = ledger.rows.get(f"{id}/{number}")  # made before, perhaps after one erased since
        if row is not None and ledger.arms[row] in indices:
            left[indices[ledger.arms[row]]] = False
    made: list[tuple[Decision, bool]] = []
    accounts = state.accounts_at(request.time)
    before, explored = 0, True
    for number in range(1, min(top, len(offered)) + 1):
        name = id if number == 1 else f"{made[0][0].id}/{number}"
        if name is not None and name in ledger.rows:
            decision, new = decision_from_ledger(state, name), False
        elif left.any():
            left_over = request._replace(arms=offered if left.all() else offered.subset(left))
            try:
                inputs = make_inputs(
                    state,
                    learner,
                    left_over,
                    before=before,
                    may_explore=explored,
                    accounts=accounts,
                )
            except InfeasibleConstraints:
                if not made:
                    raise
                break
            decision, new = make_decision(state, name, left_over, inputs, grouped=True), True
            decision = with_evidence(state, left_over, decision, before=before)
            accounts = state.accounts_after(accounts, decision.event, before)
            explored, before = inputs.explore is not None, before + 1
            if explored:  # what is in flight now need not be explored again
                learner = learner.copy()
                learner.add_pending(-before, decision.event.features, decision.time)
        else:
            continue
        made.append((decision, new))
        if decision.arm in indices:  # else it was made before, left_over other arms
            left[indices[decision.arm]] = False
    return made

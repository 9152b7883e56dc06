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
    offered, first_id = request.arms, id or unused_id(state)[1]
    numbers = range(2, min(top, len(offered)) + 1)
    ids = [first_id, *(f"{first_id}/{number}" for number in numbers)]
    known = {each: decision_from_ledger(state, each) for each in ids if each in state.ledger.rows}
    if id is not None:
        _check_known(id, known)
    if state.config.holdout:
        request, _ = assign_subject(state.config, first_id, request)
    taken = {decision.arm for decision in known.values()}
    available = np.array([arm not in taken for arm in offered.ids])
    learner, accounts = state.at(request.time)
    decisions: list[tuple[Decision, bool]] = []
    before, may_explore = 0, True
    for decision_id in ids:
        if decision_id in known:
            decisions.append((known[decision_id], False))
        elif available.any():
            arms = offered if available.all() else offered.subset(available)
            remaining = request._replace(arms=arms)
            try:
                basis = learner, accounts, remaining
                inputs = make_inputs(state, *basis, before=before, may_explore=may_explore)
            except InfeasibleConstraints:
                if not decisions:
                    raise
                break
            new_id = id if decision_id == first_id else decision_id
            decision = make_decision(state, new_id, remaining, inputs, grouped=True)
            decision = with_evidence(state, remaining, decision, before=before)
            decisions.append((decision, True))
            available[offered.ids.index(decision.arm)] = False
            accounts = state.accounts_after(accounts, decision.event, before)
            may_explore, before = inputs.explore is not None, before + 1
            if may_explore:  # what is in flight now need not be explored again
                learner = learner.copy()
                learner.add_pending(-before, decision.event.features, decision.time)
    return decisions


def _check_known(id: str, known: dict[str, Decision]) -> None:
    """Refuse ids of decisions that were made otherwise, whose arms might be the same."""
    if id not in known and f"{id}/2" in known:
        raise ValueError(f"id: expected a new one, but there is a decision '{id}/2'")
    for decision in known.values():
        if not decision.event.grouped:
            raise ValueError(
                f"id: expected a decision of decide_top, got {decision.id!r}, made by decide"
            )

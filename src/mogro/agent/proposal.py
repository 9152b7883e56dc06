"""From what a caller asks for to the decision and its event; nothing changes here."""

import math
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.agent.decision import Decision, DecisionRecord, Inputs, Propensities
from mogro.agent.errors import InfeasibleConstraints, UnknownDecision
from mogro.agent.events import Decided, Evidence, Offered
from mogro.agent.evidence import make_evidence, with_propensity, written_inputs
from mogro.agent.inputs import DecisionInputs, brief_draws, draws, make_inputs
from mogro.agent.objective import STATUS
from mogro.agent.request import Request
from mogro.agent.state.learner import Learner
from mogro.agent.state.ledger import EXPLORED, GROUPED, UNIFORM, Block
from mogro.agent.state.state import State

UNKNOWN = math.nan, math.nan  # the propensity of somebody else, and its error


class Proposed(NamedTuple):
    """A decision, and the event that makes it happen; None if it has happened before."""

    event: Decided | None
    decision: Decision


def propose(state: State, id: str | None, request: Request) -> Proposed:
    """Make a new decision."""
    inputs = _inputs(state, state.ahead(request.time), request)
    return _proposed(state, id, request, inputs)


def propose_several(state: State, id: str | None, request: Request, top: int) -> list[Proposed]:
    """Make decisions about distinct arms, each by what the ones before have put in flight."""
    offered, learner, ledger = request.arms, state.ahead(request.time), state.ledger
    names = [id if number == 1 else f"{id}/{number}" for number in range(1, top + 1)]
    places = {arm: place for place, arm in enumerate(offered.ids)}
    left = np.ones(len(offered), dtype=np.bool_)
    for name in names[1 : len(offered)] if id is not None else ():
        row = ledger.rows.get(name or "")  # made before, perhaps after one that was erased since
        if row is not None and ledger.arms[row] in places:
            left[places[ledger.arms[row]]] = False
    made: list[Proposed] = []
    before, explored = 0, True
    for number in range(1, min(top, len(offered)) + 1):
        name = id if number == 1 else f"{made[0].decision.id}/{number}"
        if name is not None and name in ledger.rows:
            made.append(Proposed(None, recall(state, name)))
        elif left.any():
            some = request._replace(arms=offered if left.all() else offered.only(left))
            try:
                inputs = _inputs(state, learner, some, before, may_explore=explored)
            except InfeasibleConstraints:
                if not made:
                    raise
                break
            proposed = _proposed(state, name, some, inputs, before, grouped=True)
            made.append(proposed)
            explored, before = inputs.explore is not None, before + 1
            if explored:  # what is in flight now need not be explored again
                learner = _followed(learner, proposed)
        else:
            continue
        arm = made[-1].decision.arm
        if arm in places:  # else it was made before, among other arms
            left[places[arm]] = False
    return made


def propose_observed(
    state: State, id: str | None, request: Request, arm: str, propensity: float | None
) -> Proposed:
    """Return somebody else's decision."""
    number, id = (None, id) if id is not None else _unused_id(state)
    inputs = _inputs(state, state.ahead(request.time), request, may_explore=False)
    place = request.arms.ids.index(arm)
    event = Decided(
        id,
        arm,
        _kept(request.arms.learned(place)),
        None,
        _kept(inputs.beliefs.theta @ request.arms.arm(place)),
        exploring=False,
        uniform=False,
        grouped=False,
        number=number,
        time=request.time,
        observed=True,
    )
    chance = None if propensity is None else (propensity, 0.0)
    if request.offer is not None:
        evidence = _evidence(state, request, inputs)
        evidence = evidence._replace(propensity=chance)
        event = event._replace(evidence=evidence, offered=_offered(state, request.offer))
    return Proposed(event, _decision(state, event, None, chance or UNKNOWN))


def would_choose(state: State, request: Request) -> Propensities:
    """Return with what probability each arm would be chosen; nothing changes."""
    inputs = _inputs(state, state.ahead(request.time), request)
    chances = inputs.probabilities(rng=draws(state.config.seed, "", purpose="propensity"))
    return Propensities(inputs.arms.ids, *chances)


def is_new(state: State, offer: Offered | None) -> bool:
    """Tell whether arms on offer are to be written down."""
    return offer is not None and offer.digest not in state.offers


def check_group(state: State, id: str | None, top: int) -> None:
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


def recall(state: State, id: str) -> Decision:
    """Return a decision as the ledger knows it."""
    block, i = find_row(state, id)
    flags = block.flags.item(i)
    return Decision(
        id,
        state.ledger.arms[state.ledger.rows[id]],
        bool(flags & EXPLORED),
        bool(flags & UNIFORM),
        block.time.item(i),
        None if np.isnan(block.weights[i]).any() else block.weights[i].copy(),
        block.estimates[i].copy(),
        state.config,
        None,
    )


def recall_written(state: State, event: Decided, offered: Offered) -> Decision:
    """Return a decision of the ledger with what it was made of, by its events."""
    block, i = find_row(state, event.id)
    inputs = written_inputs(event, offered, state.config, step=block.serial.item(i))
    assert event.evidence is not None
    chance = event.evidence.propensity
    return _decision(state, event, inputs, chance or (UNKNOWN if event.observed else None))


def record(state: State, id: str) -> DecisionRecord:
    """Return a decision and what has become of it."""
    names = state.config.units.names
    block, i = find_row(state, id)
    values, states = block.values[i].tolist(), block.state[i].tolist()
    return DecisionRecord(
        recall(state, id),
        {name: value for name, value in zip(names, values, strict=True) if value == value},
        {name: STATUS[status] for name, status in zip(names, states, strict=True)},
    )


def find_row(state: State, id: str) -> tuple[Block, int]:
    """Return where a decision stands in the ledger."""
    row = state.ledger.rows.get(id)
    if row is None:
        raise UnknownDecision(f"id: no decision {id!r}; it was never made, or is forgotten")
    return state.ledger.readable(row)


def _inputs(
    state: State, learner: Learner, request: Request, before: int = 0, *, may_explore: bool = True
) -> DecisionInputs:
    return make_inputs(
        state.config,
        learner,
        request.arms,
        selection=request.selection,
        constraints=request.constraints,
        step=state.counters.decisions + before,
        may_explore=may_explore,
    )


def _proposed(
    state: State,
    id: str | None,
    request: Request,
    inputs: DecisionInputs,
    before: int = 0,
    *,
    grouped: bool = False,
) -> Proposed:
    """Choose; ``before`` decisions of the same group were proposed."""
    number, id = (None, id) if id is not None else _unused_id(state)
    choice = inputs.choose(rng=brief_draws(state.config.seed, id))
    place, uniform = int(choice.arm), bool(choice.uniform)
    weights = None if uniform or choice.weights is None else np.array(choice.weights)
    event = Decided(
        id,
        inputs.arms.id(place),
        _kept(inputs.arms.learned(place)),
        None if weights is None else _kept(weights),
        _kept(inputs.beliefs.theta.dot(inputs.arms.arm(place))),
        bool(choice.exploring),
        uniform,
        grouped,
        number,
        request.time,
        active=request.activate,
    )
    if request.offer is None:
        return Proposed(event, _decision(state, event, inputs))
    evidence = _evidence(state, request, inputs, before)
    evidence = with_propensity(evidence, id, event.arm, inputs, state.config)
    event = event._replace(evidence=evidence, offered=_offered(state, request.offer))
    return Proposed(event, _decision(state, event, inputs, evidence.propensity))


def _followed(learner: Learner, proposed: Proposed) -> Learner:
    """Return what a learner will know once a decision is in flight."""
    assert proposed.event is not None
    later = learner.copy()
    later.depart(proposed.event.features, proposed.decision.time)
    return later


def _evidence(state: State, request: Request, inputs: DecisionInputs, before: int = 0) -> Evidence:
    last = state.position + is_new(state, request.offer)
    return make_evidence(
        inputs,
        request.arms,
        request.constraints,
        state.config,
        position=last + before,
    )


def _offered(state: State, offer: Offered) -> int:
    """Return the position of the event with arms on offer, written down or about to be."""
    return state.offers.get(offer.digest, state.position + 1)


def _decision(
    state: State, event: Decided, inputs: Inputs | None, chance: tuple[float, float] | None = None
) -> Decision:
    return Decision(
        event.id,
        event.arm,
        event.exploring,
        event.uniform,
        0.0 if event.time is None else event.time,
        event.weights,
        event.estimates,
        state.config,
        inputs,
        chance,
    )


def _unused_id(state: State) -> tuple[int, str]:
    number = state.numbers
    while (id := f"{state.config.seed}-{number}") in state.ledger.rows:
        number += 1
    return number, id


def _kept(array: FloatArray) -> FloatArray:
    """Return an array that whoever is told of the event cannot write to: the state goes by it."""
    array.flags.writeable = False
    return array

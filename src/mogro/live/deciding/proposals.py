"""From what a caller asks for to the decision and its event; nothing changes here."""

import math
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.choice import explorers
from mogro.exploration import Settled
from mogro.live.deciding.basis import Basis, make_basis
from mogro.live.deciding.decisions import Decision, DecisionRecord, Propensities, propensities
from mogro.live.deciding.draws import brief_draws, draws
from mogro.live.deciding.evidence import (
    basis_again,
    is_selection_written,
    make_evidence,
    written_values,
)
from mogro.live.deciding.requests import Request
from mogro.live.errors import NoArmClears, UnknownDecision
from mogro.live.events import Decided, Evidence, Offered
from mogro.live.memory.learner import Learner
from mogro.live.memory.ledger import EXPLORED, GROUPED, UNIFORM, Block
from mogro.live.memory.state import State
from mogro.live.objective import STATUS
from mogro.live.settings import Settings

UNKNOWN = math.nan, math.nan  # the propensity of somebody else, and its error


def _kept(array: FloatArray) -> FloatArray:
    """Return an array that whoever is told of the event cannot write to: the state goes by it."""
    array.flags.writeable = False
    return array


class Proposed(NamedTuple):
    """A decision, and the event that makes it happen; None if it has happened before."""

    event: Decided | None
    decision: Decision

    def followed(self, learner: Learner) -> Learner:
        """Return what a learner will know once the decision is in flight."""
        later = learner.copy()
        if self.event is not None and self.event.teaches:
            later.depart(self.event.features, self.decision.time)
        return later


class Proposer:
    """Makes decisions by what a state knows."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._begin()

    def _begin(self) -> None:
        """Know nothing of what needs exploration."""
        self._known: Settings = self._state.settings
        self._settled = self._unsettled(self._state.learner)
        self._losses = self._state.learner.losses  # of the learner when that was last valid

    @property
    def _settings(self) -> Settings:
        if self._known is not self._state.settings:  # other objectives
            self._begin()
        return self._known

    def propose(
        self,
        id: str | None,
        request: Request,
        learner: Learner,
        *,
        grouped: bool = False,
        before: int = 0,
    ) -> Proposed:
        """Make a new decision by what a learner knows, after some others; nothing changes yet."""
        settings, number = self._settings, None
        if id is None:
            number, id = self._unused_id()
        if learner.losses != self._losses:  # what needed no exploration may need some now
            self._settled = self._unsettled(learner)
        self._losses = -1  # if it fails, what the learner knows may never come about
        basis = self._basis(request, learner, self._settled, before)
        choice = basis.choose(settings, rng=brief_draws(settings.seed, id), settled=self._settled)
        self._losses = learner.losses
        place, exploring, uniform = int(choice.arm), bool(choice.exploring), bool(choice.uniform)
        x = basis.arms.arm(place)
        learning = settings.policy.teaches(choice.exploring)
        weights = None if uniform or choice.weights is None else np.array(choice.weights)
        event = Decided(
            id,
            basis.arms.id(place),
            _kept(basis.arms.learned(place)),
            None if weights is None else _kept(weights),
            _kept(basis.beliefs.theta.dot(x)),
            exploring,
            uniform,
            learning is None or bool(learning),
            grouped,
            number,
            request.time,
            active=request.activate,
        )
        decision = self._decision(event, basis)
        if request.offer is not None:
            later, values = self._later(event, basis, request)
            chance = None if later else (decision.propensity, decision.propensity_error)
            evidence = self._evidence(request, basis, chance, values, before)
            event = event._replace(evidence=evidence)
        return Proposed(event, decision)

    def _later(
        self, event: Decided, basis: Basis, request: Request
    ) -> tuple[bool, FloatArray | None]:
        """Tell whether the propensity follows from what is written, and with what values."""
        if event.uniform or not is_selection_written(basis, self._settings):
            return False, None
        if event.exploring:  # by optimism, perhaps
            settled = None if basis.arms.mapping.contextual else self._settled
            if request.constraints is not None or not basis.exploiting.optimistic:
                return False, None
            if basis.rule.exploration is not None and (
                explorers(
                    basis.rule,
                    basis.arms.features,
                    basis.beliefs,
                    step=basis.step,
                    settled=settled,
                )
                is not None
            ):
                return False, None
        elif basis.exploiting.values_are_estimates:
            return True, None
        values = written_values(basis)
        return values is not None, values

    def observe(
        self, id: str | None, request: Request, arm: str, propensity: float | None
    ) -> Proposed:
        """Return somebody else's decision as one's own."""
        number = None
        if id is None:
            number, id = self._unused_id()
        learner = self._state.ahead(request.time)
        basis = self._basis(request, learner, self._unsettled(learner))
        chances = propensities(id, basis, self._settings, exploiting=False)
        place = chances.arms.index(arm)
        event = Decided(
            id,
            arm,
            _kept(basis.arms.learned(place)),
            None,
            _kept(basis.beliefs.theta @ basis.arms.arm(place)),
            exploring=False,
            uniform=False,
            teaches=True,
            grouped=False,
            number=number,
            time=request.time,
            observed=True,
            agreement=float(chances.values[place]),
        )
        chance = None if propensity is None else (propensity, 0.0)
        if request.offer is not None:
            event = event._replace(evidence=self._evidence(request, basis, chance))
        return Proposed(event, self._decision(event, None, chance or UNKNOWN))

    def _unsettled(self, learner: Learner) -> Settled:
        return Settled((learner.grams,) if learner.grams > 1 else ())

    def is_new(self, offer: Offered | None) -> bool:
        """Tell whether arms on offer are to be written down."""
        return offer is not None and offer.digest not in self._state.offers

    def _basis(
        self, request: Request, learner: Learner, settled: Settled, before: int = 0
    ) -> Basis:
        return make_basis(
            self._settings,
            request.arms,
            learner.beliefs(),
            selection=request.selection,
            constraints=request.constraints,
            step=self._state.counters.decisions + before,
            settled=settled,
        )

    def _evidence(
        self,
        request: Request,
        basis: Basis,
        propensity: tuple[float, float] | None,
        values: FloatArray | None = None,
        before: int = 0,
    ) -> Evidence:
        offer, offers = request.offer, self._state.offers
        assert offer is not None
        last = self._state.position + self.is_new(offer)
        return make_evidence(
            basis,
            request.arms,
            request.constraints,
            self._settings,
            offered=offers.get(offer.digest, last),
            position=last + before,
            values=values,
            propensity=propensity,
        )

    def propose_several(self, id: str | None, request: Request, top: int) -> list[Proposed]:
        """Make decisions about distinct arms, each by what the ones before have put in flight."""
        offered, learner = request.arms, self._state.ahead(request.time)
        places = {arm: place for place, arm in enumerate(offered.ids)}
        left = np.ones(len(offered), dtype=np.bool_)
        ledger, most = self._state.ledger, min(top, len(offered))
        for number in range(2, most + 1):  # made before, perhaps after one that was erased since
            row = ledger.rows.get(f"{id}/{number}") if id is not None else None
            if row is not None and ledger.arms[row] in places:
                left[places[ledger.arms[row]]] = False
        made: list[Proposed] = []
        fresh = 0
        for number in range(1, most + 1):
            name = id if number == 1 else f"{made[0].decision.id}/{number}"
            if name is not None and name in self._state.ledger.rows:
                made.append(Proposed(None, self.recall(name)))
            elif not left.any():
                continue
            else:
                rest = offered if left.all() else offered.only(left)
                try:
                    proposed = self.propose(
                        name, request._replace(arms=rest), learner, grouped=True, before=fresh
                    )
                except NoArmClears:
                    if not made:
                        raise
                    break
                made.append(proposed)
                learner = proposed.followed(learner)
                fresh += 1
            arm = made[-1].decision.arm
            if arm in places:  # else it was made before, among other arms
                left[places[arm]] = False
        return made

    def _decision(
        self, event: Decided, basis: Basis | None, propensity: tuple[float, float] | None = None
    ) -> Decision:
        return Decision(
            event.id,
            event.arm,
            exploring=event.exploring,
            uniform=event.uniform,
            time=0.0 if event.time is None else event.time,
            weights=event.weights,
            estimates=event.estimates,
            settings=self._settings,
            basis=basis,
            propensity=propensity,
        )

    def recall(self, id: str) -> Decision:
        """Return a decision as the ledger knows it."""
        ledger = self._state.ledger
        row = ledger.rows[id]
        block, i = ledger.place(row)
        flags = block.flags.item(i)
        return Decision(
            id,
            ledger.arms[row],
            exploring=bool(flags & EXPLORED),
            uniform=bool(flags & UNIFORM),
            time=block.time.item(i),
            weights=None if np.isnan(block.weights[i]).any() else block.weights[i].copy(),
            estimates=block.estimates[i].copy(),
            settings=self._settings,
            basis=None,
        )

    def position(self, id: str) -> int:
        """Return the position of the event of a decision."""
        block, i = self._place(id)
        return block.position.item(i)

    def number(self, id: str) -> int:
        """Return the number of a decision."""
        block, i = self._place(id)
        return block.serial.item(i)

    def again(self, event: Decided, offered: Offered) -> Decision:
        """Return a decision of the ledger with what it was based on, by its events."""
        block, i = self._place(event.id)
        basis = basis_again(event, offered, self._settings, step=block.serial.item(i))
        assert event.evidence is not None
        chance = event.evidence.propensity
        return self._decision(event, basis, chance or (UNKNOWN if event.observed else None))

    def _place(self, id: str) -> tuple[Block, int]:
        row = self._state.ledger.rows.get(id)
        if row is None:
            raise UnknownDecision(f"id: no decision {id!r}; it was never made, or is forgotten")
        return self._state.ledger.place(row)

    def record(self, id: str) -> DecisionRecord:
        """Return a decision and what has become of it."""
        names = self._settings.units.names
        block, i = self._place(id)
        values, states = block.values[i].tolist(), block.state[i].tolist()
        return DecisionRecord(
            self.recall(id),
            {name: value for name, value in zip(names, values, strict=True) if value == value},
            {name: STATUS[state] for name, state in zip(names, states, strict=True)},
        )

    def probabilities(self, request: Request) -> Propensities:
        """Return with what probability each arm would be chosen; nothing changes."""
        settings, learner = self._settings, self._state.ahead(request.time)
        basis = self._basis(request, learner, self._unsettled(learner))
        rng = draws(settings.seed, "", purpose="propensity")
        found = basis.probabilities(settings, exploiting=False, rng=rng)
        return Propensities(basis.arms.ids, found.values, found.errors)

    def check_group(self, id: str | None, top: int) -> None:
        """Refuse ids that belong to decisions made otherwise, whose arms might be the same."""
        if id is None:
            return
        ledger = self._state.ledger
        if top > 1 and id not in ledger.rows and f"{id}/2" in ledger.rows:
            raise ValueError(f"id: expected a new one, but there is a decision '{id}/2'")
        for number in range(1, top + 1):
            name = id if number == 1 else f"{id}/{number}"
            row = ledger.rows.get(name)
            if row is None:
                continue
            block, i = ledger.place(row)
            if not block.flags.item(i) & GROUPED:
                raise ValueError(f"id: {name!r} is a decision that was made by itself")

    def _unused_id(self) -> tuple[int, str]:
        number = self._state.numbers
        while (id := f"{self._settings.seed}-{number}") in self._state.ledger.rows:
            number += 1
        return number, id

"""How a decision comes about: looked up, or explored under the lock, or chosen beside it."""

import itertools
import threading
from collections.abc import Mapping

import numpy as np

from mogro._validation import FloatArray
from mogro.live.asking import Weights, floors_of, id_of, selection_of, time_of
from mogro.live.books import Books
from mogro.live.choosing import Plan, choose
from mogro.live.decision import Decision
from mogro.live.draws import draws_of
from mogro.live.errors import NoArmClears
from mogro.live.ledger import EXPLORED
from mogro.live.offer import Offer
from mogro.live.setup import Setup

_numbers = itertools.count()


class Desk:
    """Where decisions are made: the books, and the lock that guards them."""

    def __init__(self, setup: Setup, books: Books) -> None:
        self.setup = setup
        self.books = books
        self.lock = threading.RLock()
        self.number = next(_numbers)  # locks of two desks are taken in this order

    def decide(
        self,
        offer: Offer,
        *,
        id: str | None,
        weights: Weights | None,
        floors: Mapping[str, float] | None,
        now: float | None,
    ) -> Decision:
        """Make a decision, or look it up."""
        setup, books = self.setup, self.books
        selection = selection_of(weights, setup.units, setup.driver.selection)
        limits = floors_of(floors, setup.units)
        time = time_of(now, needed=setup.timed)
        name = id_of(id)
        with self.lock:
            if name is None:
                name = self._made_id()
            elif name in books.ledger.rows:
                return self._recalled(name)
            rng = draws_of(name, setup.hash)
            books.advance(time)
            step, beliefs = books.tally.decisions, setup.driver.beliefs(books.learner)
            plan = Plan(offer, beliefs, setup.driver, setup.units, selection, step)
            found = books.explore(offer, rng=rng)
            if found is not None:
                plan = plan._replace(offer=offer.listed(), situation=found.situation)
                return self._recorded(name, plan, found.arm, None, time)
        if limits:
            plan = plan.cleared(limits)
        arm, drawn = choose(plan, rng=rng)
        with self.lock:
            if name in books.ledger.rows:  # another thread was faster
                return self._recalled(name)
            return self._recorded(name, plan, arm, drawn, time)

    def decide_top(
        self,
        offer: Offer,
        *,
        top: int,
        id: str | None,
        weights: Weights | None,
        floors: Mapping[str, float] | None,
        now: float | None,
    ) -> tuple[Decision, ...]:
        """Make decisions about distinct arms, one after the other."""
        left = np.zeros(len(offer.ids), dtype=np.bool_)
        left[offer.rows] = True
        decisions: list[Decision] = []
        for place in range(1, min(top, int(left.sum())) + 1):
            name = id if place == 1 else f"{decisions[0].id}/{place}"
            rest = offer.narrowed(left)
            try:
                decision = self.decide(rest, id=name, weights=weights, floors=floors, now=now)
            except NoArmClears:
                if not decisions:
                    raise
                break
            decisions.append(decision)
            if decision.arm in offer.ids:  # else it was made before, among other arms
                left[offer.ids.index(decision.arm)] = False
        return tuple(decisions)

    def _recorded(
        self, id: str, plan: Plan, arm: int, weights: FloatArray | None, time: float
    ) -> Decision:
        features = self.setup.mapping(plan.offer.features[arm])
        estimates = plan.beliefs.theta @ features
        exploring = plan.situation is not None
        name = plan.offer.ids[arm]
        self.books.record(id, name, features, weights, estimates, exploring, time)
        return Decision(id, name, exploring, time, weights, estimates, self.setup, plan)

    def _recalled(self, id: str) -> Decision:
        """Return a decision as the ledger knows it."""
        row = self.books.row(id)
        block, i = self.books.ledger.place(row)
        exploring = bool(block.flags[i] & EXPLORED)
        weights = None if np.isnan(block.weights[i]).any() else block.weights[i].copy()
        arm, time, estimates = self.books.ledger.arms[row], block.time.item(i), block.estimates[i]
        return Decision(id, arm, exploring, time, weights, estimates.copy(), self.setup, None)

    def _made_id(self) -> str:
        while True:
            id = f"{self.setup.seed}-{self.books.made}"
            self.books.made += 1
            if id not in self.books.ledger.rows:
                return id

"""The choice itself: one plan, one draw, one arm."""

from typing import NamedTuple

import numpy as np

from mogro._streams import Rng
from mogro._ties import first_best
from mogro._validation import FloatArray
from mogro.exploration import ExplorationContext
from mogro.live.driving import Beliefs, Driver, ParetoFront, Selection, estimated
from mogro.live.errors import NoArmClears
from mogro.live.objective import Units
from mogro.live.offer import Offer
from mogro.pareto import random_effective_member, random_member
from mogro.policies import EffectiveFront
from mogro.scalarization import is_nonlinear

_FRONTS = (ParetoFront, EffectiveFront)


class Plan(NamedTuple):
    """All that decides a decision but its draw; propensities are computed from it.

    Attributes
    ----------
    offer, beliefs, driver, units
        The arms, what is known about them, and how the policy uses it.
    selection
        How to select; the policy's own way or the caller's weights.
    step
        Number of decisions before.
    situation
        Why to explore, if so.
    """

    offer: Offer
    beliefs: Beliefs
    driver: Driver
    units: Units
    selection: Selection
    step: int
    situation: ExplorationContext | None = None

    def cleared(self, floors: dict[str, float]) -> "Plan":
        """Return a plan for those arms whose estimates clear the floors, in the user's units."""
        offer = self.offer.listed()
        values = estimated(offer, self.beliefs, np.random.default_rng(0))
        clears = np.ones(len(values), dtype=np.bool_)
        best = {}
        for name, floor in floors.items():
            m = self.units.index[name]
            clears &= values[:, m] >= (floor - self.units.offsets[m]) / self.units.slopes[m]
            best[name] = float(self.units.outward(values.max(axis=0))[m])
        if not clears.any():
            raise NoArmClears(floors, best)
        return self._replace(offer=offer.only(clears))


def choose(plan: Plan, *, rng: Rng) -> tuple[int, FloatArray | None]:
    """Return the arm, and the weights that were drawn for it, (M,), if any were."""
    driver, offer = plan.driver, plan.offer
    if driver.epsilon > 0:
        first, second = rng.random((2,)).tolist()
        if first < driver.epsilon:
            rows = (
                np.arange(len(offer.ids)) if offer.eligible is None else offer.eligible.nonzero()[0]
            )
            return int(rows[int(second * len(rows))]), None
    selection, objectives = plan.selection, len(plan.units)
    if isinstance(selection, _FRONTS):
        return _member(plan, selection, rng), None
    weights = selection.weights(objectives, step=plan.step, batch=(), rng=rng)
    if driver.values is estimated and not is_nonlinear(selection):
        slopes, _ = offer.mapping.lines(plan.beliefs.theta)
        return _best(offer, weights @ slopes), weights
    values = driver.values(offer.listed(), plan.beliefs, rng)
    scores = selection.score(values, weights) if is_nonlinear(selection) else values @ weights
    return int(offer.rows[first_best(scores, np.vecdot(scores, scores))]), weights


def _best(offer: Offer, direction: FloatArray) -> int:
    """Return the best arm for a direction (d,) in the user's features."""
    if offer.version is not None:
        return offer.version.index.best(direction, eligible=offer.eligible)
    scores = offer.features @ direction.astype(offer.features.dtype, copy=False)
    return int(first_best(scores, np.vecdot(scores, scores)))


def _member(plan: Plan, selection: ParetoFront | EffectiveFront, rng: Rng) -> int:
    values = plan.driver.values(plan.offer.listed(), plan.beliefs, rng)
    draw = random_member if isinstance(selection, ParetoFront) else random_effective_member
    return int(plan.offer.rows[draw(values, rng=rng)])

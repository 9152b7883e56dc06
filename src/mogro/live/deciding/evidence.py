"""What a decision leaves in a journal for those who judge it later, and the way back.

The probability of a choice by estimates, or by values that are not random, follows from these, the
arms on offer and the way to select: so it need not be computed when the choice is made, but
whenever somebody asks, to the bit. Other probabilities (of exploration, of draws from all arms
alike, of random values) follow from more than a journal should hold, and are computed at once.
"""

from typing import Any

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.choice import Beliefs, Coverage
from mogro.choice.optimism import values_in_round
from mogro.live.deciding.basis import Basis, Constraints
from mogro.live.events import Decided, Evidence, Offered
from mogro.live.offers.arms import ArmSet
from mogro.live.settings import Exploiting, Settings
from mogro.policies import LinearPolicy
from mogro.policies.persistence import OWN, from_plain, to_plain
from mogro.selection import Selection

_MOST = 1000  # arms whose values are written with a decision


def is_selection_written(basis: Basis, settings: Settings) -> bool:
    """Tell whether the way to select can be made again."""
    return basis.selection is settings.policy.selection or type(basis.selection) in OWN


def written_values(basis: Basis) -> FloatArray | None:
    """Return what arms are worth, (K, M), to a choice that does not explore.

    None if that is random, or too much to be written.
    """
    if len(basis.arms) > _MOST:
        return None
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    arms, known = basis.arms.features, basis.beliefs.take(np.array([0]))
    values = values_in_round(basis.exploiting, arms[None], known, basis.step, rng)[0]
    return values if rng.bit_generator.state == before else None


class Recalled(Exploiting):
    """A policy to which arms are worth what they were to a choice, (K, M)."""

    def __init__(self, policy: LinearPolicy, worth: FloatArray) -> None:
        super().__init__(policy)
        self.values_are_estimates = False
        self.worth = worth

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return what the arms were worth."""
        return np.broadcast_to(self.worth, (*arms.shape[:-2], *self.worth.shape))


def make_evidence(
    basis: Basis,
    arms: ArmSet,
    constraints: Constraints | None,
    settings: Settings,
    *,
    offered: int,
    position: int,
    values: FloatArray | None,
    propensity: tuple[float, float] | None,
) -> Evidence:
    """Return what to write about a decision on this basis, among the eligible of the arms."""
    return Evidence(
        offered=offered,
        eligible=None if arms.rows is None else arms.eligible,
        context=arms.context,
        constraints=constraints and (constraints.at_least, constraints.at_most),
        selection=_plain_selection(basis.selection, settings),
        basis=position,
        theta=basis.beliefs.theta,
        values=values,
        propensity=propensity,
    )


def _plain_selection(selection: Selection, settings: Settings) -> dict[str, Any] | None:
    if selection is settings.policy.selection or type(selection) not in OWN:
        return None
    plain: dict[str, Any] = to_plain(selection)
    return plain


def offered_arms(evidence: Evidence, offered: Offered, settings: Settings) -> ArmSet:
    """Return the eligible arms on offer to a decision."""
    view = settings.mapping.at(evidence.context)
    arms = ArmSet(offered.ids, offered.features, view)
    return arms if evidence.eligible is None else arms.only(evidence.eligible)


def basis_again(event: Decided, offered: Offered, settings: Settings, *, step: int) -> Basis:
    """Return what a decision that exploits was based on; ``step`` decisions came before it."""
    evidence = event.evidence
    assert evidence is not None
    arms = offered_arms(evidence, offered, settings)
    nothing: list[Any] = [None] * 6
    beliefs = Beliefs._make([evidence.theta, *nothing, Coverage(None, None)])  # type: ignore[arg-type]
    policy, rule = arms.mapping.policy(settings.policy), settings.exploiting
    if policy is not settings.policy:
        rule = Exploiting(policy)
    if evidence.values is not None:
        rule = Recalled(policy, evidence.values)
    selection = settings.policy.selection
    if evidence.selection is not None:
        selection = from_plain(evidence.selection)
    if evidence.constraints is not None and not (event.exploring or event.uniform):
        constraints = Constraints(*evidence.constraints)
        clears = constraints.clears(beliefs.estimates(arms.features), settings.units)
        arms = arms.only(clears)
    return Basis(arms, beliefs, None, rule, rule, selection, step)

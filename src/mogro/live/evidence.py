"""What a decision leaves in a journal for those who judge it later, and the way back.

A choice that exploits by plain estimates follows from these, the arms on offer and the way to
select: so its probability need not be computed when it is made, but whenever somebody asks, to the
bit. Other probabilities follow from more than a journal should hold, and are computed at once.
"""

from typing import Any

from mogro.choice import Beliefs, Coverage
from mogro.live.arms import ArmSet
from mogro.live.basis import Basis, Constraints
from mogro.live.events import Decided, Evidence, Offered
from mogro.live.settings import Exploiting, Settings
from mogro.policies.persistence import OWN, from_plain, to_plain
from mogro.selection import Selection


def follows(basis: Basis, settings: Settings) -> bool:
    """Tell whether the probabilities of a choice that exploits follow from what is written."""
    own = basis.selection is settings.policy.selection
    return basis.rule.values_are_estimates and (own or type(basis.selection) in OWN)


def make_evidence(
    basis: Basis,
    arms: ArmSet,
    constraints: Constraints | None,
    settings: Settings,
    *,
    offered: int,
    position: int,
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
    selection = settings.policy.selection
    if evidence.selection is not None:
        selection = from_plain(evidence.selection)
    if evidence.constraints is not None and not (event.exploring or event.uniform):
        constraints = Constraints(*evidence.constraints)
        clears = constraints.clears(beliefs.estimates(arms.features), settings.units)
        arms = arms.only(clears)
    return Basis(arms, beliefs, None, rule, rule, selection, step)

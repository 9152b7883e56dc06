"""Objectives that come, go and change while an agent is running: the events that say so."""

from collections.abc import Sequence

import numpy as np

from mogro._codec import from_plain, to_plain
from mogro.agent.config import AgentConfig, MakePolicy, make_policy
from mogro.agent.errors import UnknownObjective
from mogro.agent.events import Changed
from mogro.agent.objective import Objective, Units
from mogro.policies import LinearPolicy
from mogro.policies.persistence import check_names

_FIXED = ("direction", "offset", "given", "revise")  # what cannot change in an objective


def added(config: AgentConfig, objective: Objective, policy: MakePolicy | None) -> Changed | None:
    """Return the event by which an agent has one more objective; None if nothing changes."""
    _check(objective)
    objectives = config.units.objectives
    if objective in objectives and policy is None:
        return None
    return _changed(config, [*objectives, objective], policy)


def retired(config: AgentConfig, name: str, policy: MakePolicy | None) -> Changed:
    """Return the event by which an agent goes on without an objective."""
    place = _place(config.units, name)
    objectives = config.units.objectives
    return _changed(config, [*objectives[:place], *objectives[place + 1 :]], policy)


def changed(config: AgentConfig, objective: Objective) -> Changed | None:
    """Return the event by which an objective has other fields; None if nothing changes."""
    _check(objective)
    objectives, place = list(config.units.objectives), _place(config.units, objective.name)
    before = objectives[place]
    for field in _FIXED:
        if getattr(before, field) != getattr(objective, field):
            raise ValueError(
                f"objective: expected {field} {getattr(before, field)!r} to stay, "
                f"got {getattr(objective, field)!r}"
            )
    objectives[place] = objective
    return None if before == objective else _changed(config, objectives, None)


def _place(units: Units, name: object) -> int:
    place = units.index.get(name) if isinstance(name, str) else None
    if place is None:
        raise UnknownObjective(
            f"name: expected one of the objectives {list(units.names)}, got {name!r}"
        )
    return place


def _check(objective: Objective) -> None:
    if not isinstance(objective, Objective):
        raise ValueError(f"objective: expected a mogro.Objective, got {objective!r}")


def _changed(
    config: AgentConfig, objectives: Sequence[Objective], policy: MakePolicy | None
) -> Changed:
    """Return the event, once it is certain that an agent could be made of it."""
    count = len(Units(objectives))
    given = None if policy is None else make_policy(policy, config.features.size, count)
    try:
        made = _policy_for(config.policy, count) if given is None else given
        selection = config.changed(objectives, made).policy.selection
        if hasattr(selection, "weights"):
            drawn = selection.weights(count, step=0, batch=(), rng=np.random.default_rng(0))
            np.broadcast_to(drawn, (count,))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"policy: expected a new policy for {count} objectives, because the present one is for "
            f"{len(config.units)}: {error}"
        ) from error
    return Changed(tuple(objectives), made)


def _policy_for(policy: LinearPolicy, count: int) -> LinearPolicy:
    """Return the present policy, for so many objectives."""
    plain = to_plain(policy)
    if "objectives" in plain:
        plain["objectives"] = count
    made: LinearPolicy = from_plain(plain, check_names(policy))
    return made

"""Objectives that come, go and change while an agent is running: from a wish to its event."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mogro.live.errors import UnknownObjective
from mogro.live.events import Changed
from mogro.live.objective import FIELDS, Objective, Units
from mogro.live.settings import MakePolicy, Settings, make_policy
from mogro.policies.persistence import to_plain


def add(settings: Settings, objective: Objective, policy: MakePolicy | None) -> Changed | None:
    """Return the event that adds an objective; None if it is there."""
    _check(objective)
    objectives = settings.units.objectives
    if objective in objectives and policy is None:
        return None
    return _event(settings, [*objectives, objective], policy)


def retire(settings: Settings, name: str, policy: MakePolicy | None) -> Changed:
    """Return the event that lets an objective go."""
    place = _place(settings, name)
    left = [one for m, one in enumerate(settings.units.objectives) if m != place]
    return _event(settings, left, policy)


def change(settings: Settings, objective: Objective) -> Changed | None:
    """Return the event that gives an objective another unit, window or default; None if it has."""
    _check(objective)
    objectives = list(settings.units.objectives)
    place = _place(settings, objective.name)
    before = objectives[place]
    for field in ("direction", "offset", "given", "revise"):
        if getattr(before, field) != getattr(objective, field):
            raise ValueError(
                f"objective: expected {field} {getattr(before, field)!r} to stay, "
                f"got {getattr(objective, field)!r}"
            )
    objectives[place] = objective
    return None if before == objective else _event(settings, objectives, None)


def _check(objective: Objective) -> None:
    if not isinstance(objective, Objective):
        raise ValueError(f"objective: expected a mogro.Objective, got {objective!r}")


def _place(settings: Settings, name: object) -> int:
    place = settings.units.index.get(name) if isinstance(name, str) else None
    if place is None:
        raise UnknownObjective(
            f"name: expected one of the objectives {list(settings.units.names)}, got {name!r}"
        )
    return place


def _event(
    settings: Settings, objectives: Sequence[Objective], policy: MakePolicy | None
) -> Changed:
    """Return the event, once it is certain that an agent could be made of it."""
    plain = tuple({name: getattr(one, name) for name in FIELDS} for one in objectives)
    count = len(Units(objectives))
    if policy is None:
        made = _policy_for(settings, count)
    else:
        made = to_plain(make_policy(policy, settings.mapping.size, count))
    try:
        selection = settings.changed(plain, made).policy.selection
        if hasattr(selection, "weights"):
            drawn = selection.weights(count, step=0, batch=(), rng=np.random.default_rng(0))
            np.broadcast_to(drawn, (count,))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"policy: expected one for {count} objectives, as policy=, because the present one is "
            f"for {len(settings.units)}: {error}"
        ) from error
    return Changed(plain, made)


def _policy_for(settings: Settings, count: int) -> Any:
    """Return the present policy, for so many objectives, as settings are written."""
    plain = to_plain(settings.policy)
    if "objectives" in plain["fields"]:
        plain["fields"]["objectives"] = count
    return plain

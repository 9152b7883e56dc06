"""Objectives that come, go and change while an agent is running."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mogro.live.errors import UnknownObjective
from mogro.live.events import Changed
from mogro.live.objective import FIELDS, Objective, Units
from mogro.live.questions import Questions
from mogro.live.settings import MakePolicy, Settings, make_policy
from mogro.policies.persistence import to_plain


class Changing(Questions):
    """The part of an :class:`~mogro.Agent` that changes its objectives."""

    def add(self, objective: Objective, *, policy: MakePolicy | None = None) -> None:
        """Have one more objective from now on; one that is there already changes nothing.

        Nothing is waited for of decisions that were made before.

        Parameters
        ----------
        objective
            With a name of its own.
        policy
            Makes the policy for the new number of objectives, where the present one has something
            that belongs to the old one, such as a vector of weights.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> agent.add(mogro.Objective("returns", direction="min"))
        >>> agent.retire("sales")
        >>> agent.objectives
        (Objective(name='returns', direction='min'),)
        """
        _check(objective)

        def wanted() -> list[Objective] | None:
            own = list(self.objectives)
            return None if objective in own and policy is None else [*own, objective]

        self._change(wanted, policy)

    def retire(self, name: str, *, policy: MakePolicy | None = None) -> None:
        """Go on without an objective; what was learned of it is gone. ``policy`` as in :meth:`add`.

        Rewards that still come for it are refused: :class:`~mogro.live.UnknownObjective`.
        """

        def wanted() -> list[Objective]:
            place = self._place(name)
            return [one for m, one in enumerate(self.objectives) if m != place]

        self._change(wanted, policy)

    def change(self, objective: Objective) -> None:
        """Give an objective, by its name, another unit, window or default from now on.

        What was learned stays, in the user's units. Windows of decisions that wait are as long as
        the new one, too; values and defaults that were learned stay learned.
        """
        _check(objective)

        def wanted() -> list[Objective] | None:
            objectives, place = list(self.objectives), self._place(objective.name)
            before = objectives[place]
            for field in ("direction", "offset", "given", "revise"):
                if getattr(before, field) != getattr(objective, field):
                    raise ValueError(
                        f"objective: expected {field} {getattr(before, field)!r} to stay, "
                        f"got {getattr(objective, field)!r}"
                    )
            objectives[place] = objective
            return None if before == objective else objectives

        self._change(wanted, None)

    def _change(
        self, wanted: Callable[[], Sequence[Objective] | None], policy: MakePolicy | None
    ) -> None:
        """Go on with the objectives that are wanted, if these are others."""

        def make() -> None:
            objectives = wanted()
            if objectives is not None:
                self._commit(_event(self._settings, objectives, policy))

        self._perform(make)

    def _place(self, name: object) -> int:
        units = self._settings.units
        place = units.index.get(name) if isinstance(name, str) else None
        if place is None:
            raise UnknownObjective(
                f"name: expected one of the objectives {list(units.names)}, got {name!r}"
            )
        return place


def _check(objective: Objective) -> None:
    if not isinstance(objective, Objective):
        raise ValueError(f"objective: expected a mogro.Objective, got {objective!r}")


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

"""Another configuration for an agent that is running: what of it changes, checked."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mogro._codec import from_plain, to_plain
from mogro.agent.config import AgentChanges, AgentConfig, learned_prior
from mogro.agent.features.feature_map import FeatureMap
from mogro.agent.objective_set import ObjectiveSet
from mogro.policies import MOGRO, LinearPolicy
from mogro.policies.persistence import check_names
from mogro.priors import Flat, Learned

_FIXED_FIELDS = ("direction", "offset", "given", "revise")  # what cannot change in an objective


def find_changes(config: AgentConfig, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that differ once some are as wanted, and others follow from these."""
    _check_names(changes)
    fields = {name: getattr(config, name) for name in AgentChanges.__annotations__} | dict(changes)
    objective_set = ObjectiveSet(fields["objectives"])
    _check_objectives(config.objective_set, objective_set)
    features = FeatureMap(fields["arms"], fields["context"], fields["interactions"])
    if "policy" not in changes:
        fields["policy"] = _policy_for(config, features.learner_dim, len(objective_set))
    elif "half_life" not in changes and config.policy.half_life is not None:
        fields["half_life"] = None  # it was that of the policy before
    if "prior" not in changes and config.prior == learned_prior(config.features):
        fields["prior"] = Learned()  # with the groups of the new features
    if "weights" not in changes:
        fields["weights"] = _weights_for(config, objective_set)
    elif fields["weights"] is not None:
        fields["weights"] = objective_set.named(objective_set.weights(fields["weights"]))
    if "budgets" not in changes:
        fields["budgets"] = [
            budget for budget in config.budgets if budget.objective in objective_set.index
        ]
    new_config = config.reconfigured(fields)
    return {
        name: getattr(new_config, name)
        for name in sorted(fields)
        if to_plain(getattr(new_config, name)) != to_plain(getattr(config, name))
    }


def _check_names(changes: Mapping[str, Any]) -> None:
    for name in changes:
        if name not in AgentChanges.__annotations__:
            allowed_names = ", ".join(sorted(AgentChanges.__annotations__))
            raise ValueError(f"{name}: cannot be changed; expected some of {allowed_names}")


def _check_objectives(old_set: ObjectiveSet, new_set: ObjectiveSet) -> None:
    """Refuse objectives that mean something else under a name that there was."""
    for objective in new_set.objectives:
        index = old_set.index.get(objective.name)
        previous = objective if index is None else old_set.objectives[index]
        for field in _FIXED_FIELDS:
            if getattr(previous, field) != getattr(objective, field):
                raise ValueError(
                    f"objectives: expected {field} {getattr(previous, field)!r} of "
                    f"{objective.name!r} to stay, got {getattr(objective, field)!r}; another "
                    "objective needs another name"
                )


def _weights_for(config: AgentConfig, objective_set: ObjectiveSet) -> dict[str, float] | None:
    """Return the weights that were set, for other objectives; None if no weight is left."""
    weights = {name: (config.weights or {}).get(name, 0.0) for name in objective_set.names}
    return weights if any(weights.values()) else None


def _policy_for(config: AgentConfig, size: int, count: int) -> LinearPolicy:
    """Return the present policy, for so many features and objectives."""
    policy: LinearPolicy = config.policy
    if (policy.dim, policy.objectives) == (size, count):
        return policy
    plain = to_plain(policy)
    plain |= {name: n for name, n in (("dim", size), ("objectives", count)) if name in plain}
    if isinstance(policy, MOGRO):  # the agent's prior is put in its place
        plain["prior"] = to_plain(Flat())
    try:
        new_policy: LinearPolicy = from_plain(plain, check_names(policy))
        draw_weights = getattr(new_policy.selection, "weights", None)
        if draw_weights is not None:
            weights = draw_weights(count, step=0, batch=(), rng=np.random.default_rng(0))
            np.broadcast_to(weights, (count,))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"policy: expected a new policy for {size} features and {count} objectives, because "
            f"the present one is for {policy.dim} and {policy.objectives}: {error}"
        ) from error
    return new_policy

"""What a learner knows once its agent is configured otherwise.

It learns again, by the new configuration, from all decisions that are held. What is left of others
is carried over: its sums less those of the decisions held, by a linear map of the features.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mogro._derived_posteriors import with_features, with_objectives
from mogro._validation import BoolArray, FloatArray
from mogro.agent.config import AgentConfig
from mogro.agent.features.remapping import Remapping
from mogro.agent.objective import DEFAULTED, LEARNED
from mogro.agent.objective_set import ObjectiveSet
from mogro.agent.state.block import Block
from mogro.agent.state.learner import Learner
from mogro.agent.state.ledger import Ledger
from mogro.posterior import Posterior

_CHUNK = 4096  # decisions that are learned together


def remapped_features(
    ledger: Ledger, forgotten: int, old: AgentConfig, new: AgentConfig
) -> tuple[FloatArray, int]:
    """Return decisions held by the features of a new configuration, (n, p).

    And of how many these are unsure; where features came, forgotten ones are among them.
    """
    rows = ledger.live()
    features = ledger.gather(rows).features
    if new.features == old.features:
        return features, 0
    remapping = Remapping(old.features, new.features)
    features, unsure = remapping.map_features(features, *ledger.records(rows.tolist()))
    return features, forgotten + int(unsure.sum()) if remapping.new_columns.any() else 0


def moved_objectives(old: ObjectiveSet, new: ObjectiveSet) -> tuple[list[int | None], FloatArray]:
    """Return where new objectives stood before (None: nowhere), and what their units change."""
    indices = [old.index.get(name) for name in new.names]
    slopes = zip(indices, new.slopes, strict=True)
    return indices, np.array([1.0 if m is None else old.slopes[m] / slope for m, slope in slopes])


def replaced_defaults(
    block: Block, defaults: Mapping[tuple[int, str], float], old: ObjectiveSet, new: ObjectiveSet
) -> dict[tuple[int, str], float]:
    """Return what was learned as a default that is another one now, of decisions held."""
    held_numbers = set(block.number.tolist())
    held_defaults = {key: value for key, value in defaults.items() if key[0] in held_numbers}
    for m, name in enumerate(old.names):
        default, index = old.defaults[m], new.index.get(name)
        if default is not None and index is not None and new.defaults[index] != default:
            for number in block.number[block.statuses[:, m] == DEFAULTED].tolist():
                held_defaults.setdefault((number, name), default)
    return held_defaults


def learned_rewards(
    block: Block, objective_set: ObjectiveSet, defaults: Mapping[tuple[int, str], float]
) -> FloatArray:
    """Return what was learned of decisions, (n, M), in the user's units; NaN where nothing was."""
    defaults_now = [math.nan if d is None else d for d in objective_set.defaults]
    defaulted = block.statuses == DEFAULTED
    values = np.where(defaulted, defaults_now, block.values)
    if defaults:
        rows = {number: n for n, number in enumerate(block.number.tolist())}
        for (number, name), value in defaults.items():
            n, m = rows.get(number), objective_set.index.get(name)
            if n is not None and m is not None and defaulted[n, m]:
                values[n, m] = value
    return np.where(defaulted | (block.statuses == LEARNED), values, math.nan)


def observations(
    block: Block, objective_set: ObjectiveSet, defaults: Mapping[tuple[int, str], float]
) -> tuple[FloatArray, BoolArray]:
    """Return what was learned of decisions, (n, M), as the learner sees it, and where it was."""
    rewards = learned_rewards(block, objective_set, defaults)
    learned = ~np.isnan(rewards)
    return np.where(learned, objective_set.to_learner_units(rewards), 0.0), learned


def carry_over(
    learner: Learner,
    block: Block,
    config: AgentConfig,
    defaults: Mapping[tuple[int, str], float],
    new: AgentConfig,
    indices: Sequence[int | None],
    factors: FloatArray,
) -> Posterior:
    """Return what is left of decisions that are not held, by a new configuration.

    ``block`` has all that are. Objectives and factors as for
    :func:`mogro._derived_posteriors.with_objectives`.
    """
    forgotten = learner.observed.copy()
    if len(block.number):
        values, learned = observations(block, config.objective_set, defaults)
        weights = learner.weights(block.number, block.time)[:, None] * learned
        forgotten.learn(block.features, values, -weights)
    matrix = Remapping(config.features, new.features).matrix
    return with_features(with_objectives(forgotten, indices, factors), matrix, new.prior)


def learn_again(
    learner: Learner, block: Block, values: FloatArray, learned: BoolArray, arms: Sequence[str]
) -> None:
    """Let a learner know decisions, too, by the weights that they have for it."""
    if learner.effects is not None:
        for n, arm in enumerate(arms):
            observed_values = [(m, values.item(n, m)) for m in np.flatnonzero(learned[n]).tolist()]
            learner.effects.learn(learner.observed, arm, block.features[n], observed_values)
        return
    weights = learner.weights(block.number, block.time)[:, None] * learned
    rows = np.flatnonzero(learned.any(axis=1))
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        learner.observed.learn(block.features[chunk], values[chunk], weights[chunk])

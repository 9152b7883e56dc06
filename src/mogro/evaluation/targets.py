"""What a policy would have done: its probabilities for the arms of every row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mogro._validation import BoolArray, FloatArray, as_floats
from mogro.agent.agent import Agent
from mogro.agent.errors import UnknownDecision
from mogro.agent.objective_set import ObjectiveSet
from mogro.evaluation.log_records import LogRecords, TargetProbabilities
from mogro.evaluation.logs import AgentLog, batches
from mogro.policies import LinearPolicy
from mogro.probability import selection_probabilities
from mogro.selection import Selection, check_selection

_SLACK = 16 * float(np.finfo(np.float64).eps)  # scores that are nearer, in their size, are equal


Target = Callable[[LogRecords], TargetProbabilities]


def read_target(policy: object, log: AgentLog, *, source: object) -> tuple[Target, tuple[str, ...]]:
    """Return what a policy would have done, and what a reader should know of it."""
    objective_set = log.objective_set
    if isinstance(policy, Mapping):
        return GreedyTarget(objective_set.shares(policy), objective_set), ()
    if isinstance(policy, Agent):
        return _agent_target(policy), _in_sample(policy, log, source)
    if isinstance(policy, LinearPolicy):
        return _policy_target(policy, objective_set), ()
    if callable(getattr(policy, "weights", None)) or callable(getattr(policy, "members", None)):
        check_selection(policy, "policy", objectives=len(objective_set))
        return _selection_target(policy, objective_set, uniform=0.0), ()  # type: ignore[arg-type]
    if hasattr(policy, "select"):
        raise ValueError(
            f"policy: expected a policy that states probabilities, got {type(policy).__name__}"
        )
    return _probabilities_target(policy, log), ()


def read_estimates(
    records: LogRecords, objective_set: ObjectiveSet
) -> tuple[FloatArray, BoolArray]:
    """Return what was believed of the arms on offer, to be maximised, per unit: (n, K, M)."""
    if records.estimates is None or records.on_offer is None:
        raise records.lacks("what was believed of the arms on offer (offered_estimates)")
    return objective_set.to_learner_units(records.estimates), records.on_offer


@dataclass(frozen=True, eq=False)
class GreedyTarget:
    """The arm that is best for some weights, by the beliefs held at each decision."""

    weights: FloatArray
    objective_set: ObjectiveSet

    def __call__(self, records: LogRecords, /) -> TargetProbabilities:
        """Return the probabilities, (n, K); arms that tie share."""
        values, on_offer = read_estimates(records, self.objective_set)
        return TargetProbabilities(self.best(values, on_offer))

    def best(self, values: FloatArray, on_offer: BoolArray) -> FloatArray:
        """Return the probabilities (n, K) by values (n, K, M)."""
        scores = np.where(on_offer, values @ self.weights, -np.inf)
        best = scores.argmax(axis=1)
        every = np.arange(len(best))
        slack = _SLACK * (np.abs(values[every, best]) @ self.weights)
        tied = scores >= (scores[every, best] - slack)[:, None]
        return np.asarray(tied / tied.sum(axis=1, keepdims=True))


def _selection_target(
    selection: Selection, objective_set: ObjectiveSet, *, uniform: float
) -> Target:
    """Select by the beliefs held at each decision; the step is the number of the row."""

    def target(records: LogRecords) -> TargetProbabilities:
        values, on_offer = read_estimates(records, objective_set)
        chances, errors = np.zeros(on_offer.shape), np.zeros(on_offer.shape)
        for row, here in enumerate(on_offer):
            rng = np.random.default_rng(0)
            greedy = selection_probabilities(
                values[row, here], selection, step=int(records.rows[row]), rng=rng
            )
            chances[row, here] = (1 - uniform) * greedy.values + uniform / here.sum()
            errors[row, here] = (1 - uniform) * greedy.errors
        return TargetProbabilities(chances, errors if errors.any() else None)

    return target


def _policy_target(policy: LinearPolicy, objective_set: ObjectiveSet) -> Target:
    """Return what a policy does by its own beliefs or, if it has none, by those of the log."""
    if policy.batch:
        raise ValueError(f"policy: expected a single learner, got a batch {policy.batch}")
    if policy.objectives != len(objective_set):
        raise ValueError(
            f"policy: expected a policy for {len(objective_set)} objectives, "
            f"got {policy.objectives}"
        )
    if not policy.posterior.n.any():
        if not policy.greedy:
            raise ValueError(
                f"policy: expected a policy that has learned, because {type(policy).__name__} uses "
                "more than the estimates that a log holds"
            )
        return _selection_target(policy.selection, objective_set, uniform=policy.epsilon)

    def target(records: LogRecords) -> TargetProbabilities:
        features, on_offer = _features(records)
        if features.shape[-1] != policy.dim:
            raise ValueError(
                f"policy: expected dim={features.shape[-1]} as the arms of the log have, "
                f"got {policy.dim}"
            )
        rows = (
            policy.probabilities(arms[here]) for arms, here in zip(features, on_offer, strict=True)
        )
        return _stack_rows(rows, on_offer)

    return target


def _agent_target(agent: Agent) -> Target:
    def target(records: LogRecords) -> TargetProbabilities:
        features, on_offer = _features(records)
        names = records.offered
        if names is None:
            names = [[str(k) for k in range(here.sum())] for here in on_offer]
        contexts = records.contexts
        rows = (
            agent.probabilities(
                names[row],
                features[row, here],
                context=None if contexts is None else contexts[row],
                now=None if np.isnan(records.times[row]) else float(records.times[row]),
            )
            for row, here in enumerate(on_offer)
        )
        return _stack_rows(rows, on_offer)

    return target


def _features(records: LogRecords) -> tuple[FloatArray, BoolArray]:
    if records.features is None or records.on_offer is None:
        raise records.lacks("features of the arms on offer (offered_features)")
    return records.features, records.on_offer


def _stack_rows(rows: Any, on_offer: BoolArray) -> TargetProbabilities:
    chances, errors = np.zeros(on_offer.shape), np.zeros(on_offer.shape)
    for row, probabilities in enumerate(rows):
        chances[row, on_offer[row]] = probabilities.values
        errors[row, on_offer[row]] = probabilities.errors
    return TargetProbabilities(chances, errors if errors.any() else None)


def _in_sample(agent: Agent, log: AgentLog, source: object) -> tuple[str, ...]:
    """Say so if an agent is judged by rows that it has learned from."""
    known = source is agent
    if not known and not isinstance(source, Agent):
        for name in _ids(log):
            try:
                agent.decision(name)
            except UnknownDecision:
                continue
            known = True
            break
    note = "JUDGED IN-SAMPLE: the policy has learned from these rows, and looks better than it is"
    return (note,) if known else ()


def _ids(log: AgentLog) -> list[str]:
    return [name for batch in batches(log.source, ["id"]) for name in batch["id"].to_pylist()]


def _probabilities_target(policy: object, log: AgentLog) -> Target:
    """Return probabilities that the caller knows, one row for each of the log."""
    array = as_floats(policy, "policy")  # type: ignore[arg-type]
    if array.ndim not in (1, 2):
        raise ValueError(f"policy: expected probabilities (n,) or (n, K), got {array.shape}")
    if len(array) != log.rows:
        raise ValueError(
            f"policy: expected probabilities for each of the {log.rows} rows of the log, "
            f"got {len(array)}"
        )

    def target(records: LogRecords) -> TargetProbabilities:
        given = array[records.rows]
        if given.ndim == 1:
            return TargetProbabilities(given)
        if records.on_offer is None:
            raise ValueError(
                "policy: expected shape (n,), because the log does not record the arms on offer"
            )
        width = records.on_offer.shape[1]
        inside = given[:, :width]
        if given.shape[1] < width or given[:, width:].any() or inside[~records.on_offer].any():
            raise ValueError(
                f"policy: expected probabilities of the {width} arms on offer, in their order, "
                "then zeros"
            )
        return TargetProbabilities(inside)

    return target

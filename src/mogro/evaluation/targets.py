"""What a policy would have done: its probabilities for the arms of every row."""

from collections.abc import Callable, Mapping

import numpy as np

from mogro._validation import BoolArray, FloatArray, as_floats
from mogro._winners import SLACK
from mogro.agent.agent import Agent
from mogro.agent.decision import Propensities
from mogro.agent.objective_set import ObjectiveSet
from mogro.evaluation.log_records import LogRecords
from mogro.evaluation.logs import AgentLog
from mogro.policies import LinearPolicy
from mogro.probability import Probabilities, exact_probabilities, selection_probabilities
from mogro.selection import Selection, check_selection

Target = Callable[[LogRecords], Probabilities]


def read_target(policy: object, log: AgentLog, *, source: object) -> tuple[Target, tuple[str, ...]]:
    """Return what a policy would have done, and what a reader should know of it."""
    objective_set = log.objective_set
    if isinstance(policy, Mapping):
        weights = objective_set.shares(policy)
        return lambda r: greedy_probabilities(read_estimates(r), r.arm_mask, weights), ()
    if isinstance(policy, Agent):
        return _agent_target(policy), _in_sample_notes(policy, log, source)
    if isinstance(policy, LinearPolicy):
        return _policy_target(policy, objective_set), ()
    if callable(getattr(policy, "weights", None)) or callable(getattr(policy, "members", None)):
        check_selection(policy, "policy", objectives=len(objective_set))
        return _selection_target(policy, uniform=0.0), ()  # type: ignore[arg-type]
    if hasattr(policy, "select"):
        raise ValueError(
            "policy: expected a policy that states probabilities, got "
            + (
                f"the class {policy.__name__}"
                if isinstance(policy, type)
                else type(policy).__name__
            )
        )
    if policy is None or isinstance(policy, str):
        raise ValueError(
            "policy: expected weights by objective, a scalarisation, a policy, an agent, or "
            f"probabilities for each row of the log, got {policy!r}"
        )
    return _probabilities_target(policy, log), ()


def read_estimates(records: LogRecords) -> FloatArray:
    """Return what was believed of the arms on offer, to be maximised, per unit: (n, K, M)."""
    return records.objective_set.to_learner_units(records.estimates)


def greedy_probabilities(
    values: FloatArray, arm_mask: BoolArray, weights: FloatArray
) -> Probabilities:
    """Choose what is best for some weights, by values (n, K, M); arms that tie share."""
    scores = np.where(arm_mask, values @ weights, -np.inf)
    best_arms, rows = scores.argmax(axis=1), np.arange(len(scores))
    slack = SLACK * (np.abs(values[rows, best_arms]) @ weights)
    is_best = scores >= (scores[rows, best_arms] - slack)[:, None]
    return exact_probabilities(is_best / is_best.sum(axis=1, keepdims=True))


def _selection_target(selection: Selection, *, uniform: float) -> Target:
    """Select by the beliefs held at each decision; the step is the number of the row."""

    def target(records: LogRecords) -> Probabilities:
        estimates = read_estimates(records)

        def choose(row: int, mask: BoolArray) -> Probabilities:
            step, rng = int(records.row_numbers[row]), np.random.default_rng(0)
            return selection_probabilities(estimates[row, mask], selection, step=step, rng=rng)

        values, errors = _row_by_row(records, choose)
        shares = records.arm_mask / records.arm_mask.sum(axis=1, keepdims=True)
        return Probabilities((1 - uniform) * values + uniform * shares, (1 - uniform) * errors)

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
        return _selection_target(policy.selection, uniform=policy.epsilon)

    def target(records: LogRecords) -> Probabilities:
        features = records.features
        if features.shape[-1] != policy.dim:
            raise ValueError(
                f"policy: expected dim={features.shape[-1]}, the number of features in the log, "
                f"got {policy.dim}"
            )
        return _row_by_row(records, lambda row, mask: policy.probabilities(features[row, mask]))

    return target


def _agent_target(agent: Agent) -> Target:
    def target(records: LogRecords) -> Probabilities:
        features, contexts = records.features, records.contexts
        names = records.batch.column("offered").to_pylist()
        times = records.batch.column("time").to_pylist()

        def choose(row: int, mask: BoolArray) -> Propensities:
            context = contexts[row] if contexts.shape[1] else None
            return agent.probabilities(
                names[row], features[row, mask], context=context, now=times[row]
            )

        return _row_by_row(records, choose)

    return target


def _row_by_row(
    records: LogRecords, choose: Callable[[int, BoolArray], Probabilities | Propensities]
) -> Probabilities:
    """Ask for the probabilities of each row, by its number and which places are arms."""
    probabilities, errors = np.zeros((2, *records.arm_mask.shape))
    for row, mask in enumerate(records.arm_mask):
        answer = choose(row, mask)
        probabilities[row, mask], errors[row, mask] = answer.values, answer.errors
    return Probabilities(probabilities, errors)


def _in_sample_notes(agent: Agent, log: AgentLog, source: object) -> tuple[str, ...]:
    """Say so if an agent is judged by rows that it has learned from."""
    is_in_sample = source is agent
    if not isinstance(source, Agent):
        ids = log.dataset.to_table(columns=["id"]).column("id").to_pylist()
        is_in_sample = not set(agent.freeze().ledger.ids).isdisjoint(ids)
    note = "JUDGED IN-SAMPLE: the policy has learned from these rows, and looks better than it is"
    return (note,) if is_in_sample else ()


def _probabilities_target(policy: object, log: AgentLog) -> Target:
    """Return probabilities that the caller knows, one row for each of the log."""
    array = as_floats(policy, "policy")  # type: ignore[arg-type]
    if array.ndim not in (1, 2):
        raise ValueError(f"policy: expected probabilities (n,) or (n, K), got {array.shape}")
    if len(array) != (rows := log.dataset.count_rows()):
        raise ValueError(
            f"policy: expected probabilities for each of the {rows} rows of the log, "
            f"got {len(array)}"
        )

    def target(records: LogRecords) -> Probabilities:
        values = array[records.row_numbers]
        if values.ndim == 1:
            return exact_probabilities(values)
        if not records.has("offered"):
            raise ValueError(
                "policy: expected shape (n,), because the log does not record the arms on offer"
            )
        width = records.arm_mask.shape[1]
        inner, outer = values[:, :width], values[:, width:]
        if values.shape[1] < width or outer.any() or inner[~records.arm_mask].any():
            raise ValueError(
                f"policy: expected probabilities of the {width} arms on offer, in their order, "
                "then zeros"
            )
        return exact_probabilities(inner)

    return target

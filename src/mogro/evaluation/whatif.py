"""The front that one could have had: a grid of trade-offs, evaluated together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np

from mogro._validation import FloatArray, count
from mogro.agent.objective_set import ObjectiveSet
from mogro.evaluation.log_model import LogModel
from mogro.evaluation.logs import read_log
from mogro.evaluation.targets import greedy_probabilities, read_estimates
from mogro.evaluation.trade_offs import WhatIf
from mogro.offpolicy import Evaluation, Rows
from mogro.offpolicy.influence import Estimate, joint_covariance
from mogro.offpolicy.rows import join_rows
from mogro.probability import Probabilities

_GRID_SIZE = 21  # trade-offs at most, unless asked for more
_MAX_TRADE_OFFS = 200
_ROUNDING = 1e-9  # of a probability


def what_if(
    log: object,
    /,
    trade_offs: Sequence[Mapping[str, float]] | int | None = None,
    *,
    objectives: Sequence[str] | None = None,
) -> WhatIf:
    """Estimate what other trade-offs would have been worth, all from one log.

    Each trade-off is the arm that is best for its weights by the beliefs held at each decision, as
    in :func:`evaluate`. Estimates of different trade-offs come from the same rows, and their
    covariance is known: so intervals hold for all together, and small differences can be told.

    Parameters
    ----------
    log
        As for :func:`evaluate`.
    trade_offs
        Weights per unit by objective; or a number of steps from 0 to 1, for a grid of all weights
        of sum 1. Without it, the finest such grid of at most 21. A weight is a fixed price of what
        it counts: what a budget makes of its price depends on the order of decisions, and no log
        can tell about that. :meth:`WhatIf.kept_bounds` says which budget each would have kept.
    objectives
        Names of those that are to be judged; all without it. Rows with an open window of another
        objective then count. Trade-offs are among all.

    Notes
    -----
    Reads the log some rows at a time, for all trade-offs at once, and keeps a few numbers of each
    row for every trade-off.

    Examples
    --------
    Story "a" is read, "b" is paid for:

    >>> import mogro, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> objectives = [mogro.Objective("read"), mogro.Objective("paid")]
    >>> agent = mogro.Agent.open(
    ...     folder.name + "/page.db", objectives, arms=1, seed=0, epsilon=0.5)
    >>> def visit(number):
    ...     decision = agent.decide({"a": [0.0], "b": [1.0]})
    ...     often, seldom = number % 10 < 5, number % 10 < 1
    ...     read, paid = (often, seldom) if decision.arm == "a" else (seldom, often)
    ...     return agent.reward(decision.id, {"read": read, "paid": paid})
    >>> outcomes = agent.batch([lambda n=n: visit(n) for n in range(500)])  # one commit for all
    >>> result = what_if(agent, 1)
    >>> bool(result.distinguishable()[0, 1])
    True
    >>> result.best("read", at_least={"paid": 0.3}).weights
    {'read': 0.0, 'paid': 1.0}
    >>> agent.close(), folder.cleanup()
    (None, None)
    """
    agent_log = read_log(log, objectives)
    vectors = read_trade_offs(trade_offs, agent_log.objective_set)
    model = LogModel(len(vectors), len(agent_log.objective_indices))
    chunks: list[list[Rows]] = [[] for _ in range(len(vectors) + 1)]  # the last as it was
    differing_sums, arm_sums = np.zeros((2, len(vectors), len(vectors)))
    for records in agent_log.records():
        values, arm_mask = read_estimates(records), records.arm_mask
        choices = [greedy_probabilities(values, arm_mask, weights) for weights in vectors]
        for rows, probabilities in zip(chunks, choices, strict=False):
            rows.append(agent_log.target_rows(records, probabilities, predictions=True))
        chunks[-1].append(agent_log.logged_rows(records))
        model.add(records, choices)
        differences = _differences(choices)
        differing_sums += differences.sum(axis=-1)
        arm_sums += differences @ arm_mask.sum(axis=1).astype(float)
    joined_rows = []
    while chunks:  # what is joined need not be held twice
        joined_rows.append(join_rows(chunks.pop(0)))
    estimates = [Estimate(rows, self_normalised=True) for rows in joined_rows]
    *evaluations, logged = (agent_log.labelled(estimate.evaluation()) for estimate in estimates)
    objectives_of_log = agent_log.objective_set.objectives
    return WhatIf(
        tuple(agent_log.objective_set.named(weights) for weights in vectors),
        tuple(evaluations),
        _rescaled(joint_covariance(estimates[:-1], logged.rows), evaluations),
        _effective_sizes([rows.weights for rows in joined_rows[:-1]]),
        ObjectiveSet(
            [replace(objectives_of_log[m], given=None) for m in agent_log.objective_indices]
        ),
        logged,
        model.estimate(agent_log.rates),
        differing_sums / logged.rows,
        np.divide(arm_sums, differing_sums, out=np.ones_like(arm_sums), where=differing_sums > 0),
        agent_log.decision_rate,
    )


def _differences(choices: list[Probabilities]) -> FloatArray:
    """Return with what probability two trade-offs differ in each of some rows, (W, W, n)."""
    values = [probabilities.values for probabilities in choices]
    differences = np.array([[1 - np.minimum(a, b).sum(axis=1) for a in values] for b in values])
    return np.where(differences > _ROUNDING, differences, 0.0)


def _effective_sizes(weights: list[FloatArray]) -> FloatArray:
    """Return effective numbers of rows in which two trade-offs differ, (W, W)."""
    sizes = np.zeros((len(weights), len(weights)))
    for (i, a), (j, b) in combinations(enumerate(weights), 2):
        difference = np.abs(a - b)
        if (square := float(difference @ difference)) > 0:
            sizes[i, j] = sizes[j, i] = difference.sum() ** 2 / square
    return sizes


def read_trade_offs(
    trade_offs: Sequence[Mapping[str, float]] | int | None, objective_set: ObjectiveSet
) -> list[FloatArray]:
    """Return weights (M,) of sum 1: those given, or a grid of so many steps."""
    if isinstance(trade_offs, Mapping | str):
        raise ValueError(f"trade_offs: expected a list of weights, or a number, got {trade_offs!r}")
    if not isinstance(trade_offs, Iterable):
        size = len(objective_set)
        steps = _steps(size) if trade_offs is None else count(trade_offs, "trade_offs")
        vectors: list[FloatArray] = [counts / steps for counts in _compositions(steps, size)]
    else:
        vectors = [objective_set.shares(weights) for weights in trade_offs]
    if not 1 <= len(vectors) <= _MAX_TRADE_OFFS:
        raise ValueError(
            f"trade_offs: expected 1 to {_MAX_TRADE_OFFS} trade-offs, got {len(vectors)}"
        )
    return vectors


def _steps(objectives: int) -> int:
    """Return the steps of the finest grid that is not too large."""
    steps = 1
    while objectives > 1 and comb(steps + objectives, objectives - 1) <= _GRID_SIZE:
        steps += 1
    return steps


def _compositions(total: int, parts: int) -> list[FloatArray]:
    """Return all ways to share a total among parts, the largest first parts first."""
    size = total + parts - 1
    bars = combinations(range(size), parts - 1)  # between the shares
    shares: list[FloatArray] = [np.diff([-1, *positions, size]) - 1.0 for positions in bars]
    return shares[::-1]


def _rescaled(covariance: FloatArray, evaluations: list[Evaluation]) -> FloatArray:
    """Return a covariance with variances that count all an evaluation counts."""
    variances = np.concatenate([np.diag(evaluation.covariance) for evaluation in evaluations])
    plain_variances = np.diag(covariance)
    ratio = np.divide(
        variances,
        plain_variances,
        out=np.full(len(plain_variances), np.nan),
        where=plain_variances > 0,
    )
    scale = np.sqrt(np.where(variances == 0, 0.0, ratio))
    return np.asarray(covariance * np.outer(scale, scale))

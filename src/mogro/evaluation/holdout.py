"""What an agent gained over the baseline that decides for those held out: :func:`lift`."""

import numpy as np

from mogro.agent.lift import Lift, measure_lifts
from mogro.evaluation.log_records import numbers
from mogro.evaluation.logs import read_log


def lift(log: object, /) -> tuple[Lift, ...]:
    """Return what an agent gained over its baseline, for every objective, from its log.

    Parameters
    ----------
    log
        As for :func:`evaluate`, of an agent with a ``holdout``.

    Notes
    -----
    Who is held out is drawn at random, so the difference of the two means is what the agent
    changed, whatever it believed. Decisions from the first one on that has an open window are left
    out, for each objective. The agent learns from both, so a baseline of uniform draws helps it.

    Examples
    --------
    >>> import mogro
    >>> agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0, holdout=0.5)
    >>> for visit in range(200):
    ...     decision = agent.decide({"a": [1.0], "b": [3.0]}, subject=f"user {visit}")
    ...     outcome = agent.reward(decision.id, {"sales": 3.0 if decision.arm == "b" else 1.0})
    >>> lift(agent)[0].difference.low > 0.5
    True
    """
    agent_log = read_log(log)
    objective_set, dataset = agent_log.objective_set, agent_log.dataset
    names = objective_set.names
    outcome_columns = [f"{kind}_{name}" for kind in ("reward", "status") for name in names]
    table = dataset.to_table(columns=["time", "holdout", "observed", "subject", *outcome_columns])
    results = measure_lifts(
        objective_set,
        np.column_stack([numbers(table.column(f"reward_{name}")) for name in names]),
        is_pending=np.column_stack([table.column(f"status_{name}") for name in names]) == "pending",
        times=numbers(table.column("time")),
        is_held_out=table.column("holdout").to_numpy(),
        made_elsewhere=table.column("observed").to_numpy(),
        subjects=table.column("subject").fill_null(0).to_numpy(),
    )
    if not results:
        raise ValueError("log: expected decisions of a baseline (holdout=), got none")
    return results

"""What an agent gained over the baseline that decides for those held out: :func:`lift`."""

import numpy as np

from mogro.agent.lift import Lift, lifts
from mogro.evaluation.logs import batches, read_log


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
    import pyarrow as pa

    names = agent_log.objective_set.names
    each = [f"{kind}_{name}" for kind in ("reward", "status") for name in names]
    columns = ["time", "holdout", "observed", "subject", *each]
    try:
        some = list(batches(agent_log.source, columns))
    except (KeyError, pa.ArrowInvalid):  # a log from before there was a holdout
        some = []
    measured: tuple[Lift, ...] = ()
    if some:
        table = pa.Table.from_batches(some)
        rewards = [table.column(f"reward_{name}").to_numpy() for name in names]
        pending = [table.column(f"status_{name}").to_numpy() == "pending" for name in names]
        measured = lifts(
            agent_log.objective_set,
            np.column_stack(rewards).astype(np.float64),
            pending=np.column_stack(pending),
            times=np.asarray(table.column("time").to_numpy(), dtype=np.float64),
            held_out=np.asarray(table.column("holdout").to_numpy(), dtype=np.bool_),
            observed=np.asarray(table.column("observed").to_numpy(), dtype=np.bool_),
            subjects=table.column("subject").fill_null(0).to_numpy(),
        )
    if not measured:
        raise ValueError("log: expected decisions of a baseline (holdout=), got none")
    return measured

"""What an agent gained over the baseline that decides for those held out: :func:`lift`."""

from mogro.agent.lift import Lift, columns, lifts
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

    try:
        some = list(batches(agent_log.source, columns(agent_log.units)))
    except (KeyError, pa.ArrowInvalid):  # a log from before there was a holdout
        some = []
    measured = lifts(pa.Table.from_batches(some), agent_log.units) if some else ()
    if not measured:
        raise ValueError("log: expected decisions of a baseline (holdout=), got none")
    return measured

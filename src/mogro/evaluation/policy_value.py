"""What a policy would have been worth, from the log of another: :func:`evaluate`."""

from collections.abc import Sequence

from mogro.evaluation.logs import read_log
from mogro.evaluation.targets import read_target
from mogro.offpolicy import Evaluation, estimate


def evaluate(
    log: object,
    policy: object,
    /,
    *,
    objectives: Sequence[str] | None = None,
    predictions: bool = True,
    self_normalised: bool = True,
) -> Evaluation:
    """Estimate what a policy would have been worth, from a log, for every objective.

    Parameters
    ----------
    log
        An :class:`~mogro.Agent` (by its :meth:`~mogro.Agent.log`), or where one is kept (a file,
        the address of a database); such a table, or a folder of Parquet files of
        :meth:`~mogro.Agent.export`. For logs of other systems there is :mod:`mogro.offpolicy`.
    policy
        One of

        - weights per unit by objective, ``{"click": 1, "subscribe": 4}``: the arm that is best for
          them by the beliefs held at each decision;
        - a scalarisation or a front: selects by these beliefs;
        - a policy: by its own beliefs, as they are, if it has learned; otherwise by those logged;
        - another agent, as it is now, which learns nothing meanwhile;
        - probabilities of the logged arms, (n,), or of all arms on offer, in their order, (n, K).
    objectives
        Names of those that are to be judged; all without it. Rows with an open window of another
        objective then count.
    predictions
        Doubly robust: go by the beliefs held at each decision, and by weighted residuals. Without
        them, and for probabilities (n,), by weighted rewards alone.
    self_normalised
        Divide by the sum of the weights; without it the estimate is unbiased, and mostly worse.

    Returns
    -------
    Evaluation
        In the user's units. Its text says first what is wrong with it.

    Notes
    -----
    Beliefs held at a decision were known before its reward, so that they choose and predict without
    having seen it. A policy that was fitted to the log has seen it: an agent that knows ids of the
    log is marked as judged in-sample, of other policies this is not known.

    Rewards that are missing are stood for by others of their arm. Decisions from the first one on
    that has an open window are left out, and rows without a propensity or from before an objective
    was added. Of an objective that is ``given`` another the value is the mean over decisions of
    what the arm gives where the condition is met. Where rounds are not exchangeable over time, the
    value is that of the logged time.

    Reads the log some rows at a time, and keeps a few numbers of each.

    Examples
    --------
    Two stories, 500 visits, half of them uniform draws; "b" has more clicks:

    >>> import mogro, numpy as np, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> agent = mogro.Agent.open(
    ...     folder.name + "/page.db", [mogro.Objective("click")], arms=1, seed=0, epsilon=0.5)
    >>> def visit(number):
    ...     decision = agent.decide({"a": [0.0], "b": [1.0]})
    ...     clicked = number % 10 < {"a": 1, "b": 3}[decision.arm]
    ...     return agent.reward(decision.id, {"click": clicked})
    >>> outcomes = agent.batch([lambda n=n: visit(n) for n in range(500)])  # one commit for all
    >>> low, high = evaluate(agent, np.full(500, 0.5)).interval()[0]
    >>> bool(low < (0.1 + 0.3) / 2 < high)
    True
    >>> agent.close(), folder.cleanup()
    (None, None)
    """
    agent_log = read_log(log, objectives)
    target, notes = read_target(policy, agent_log, source=log)
    chunks = (
        agent_log.target_rows(records, target(records), predictions=predictions)
        for records in agent_log.records()
    )
    return agent_log.labelled(estimate(chunks, self_normalised=self_normalised), *notes)

"""A policy that learns, on the rows of a log that a uniform draw would have given."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from mogro._validation import BoolArray, FloatArray, count, generator, real
from mogro.evaluation.logs import Log, read_log
from mogro.evaluation.records import Records
from mogro.offpolicy import Evaluation, Rows, Sums
from mogro.simulation.run import BanditPolicy, takes_arm

Features = Callable[[FloatArray, FloatArray], FloatArray]  # of arms in a context

_ASSUMED = (
    "replay assumes that rounds are exchangeable: neither arms on offer nor rewards follow from "
    "earlier choices, or from the time"
)


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """What a learning policy got on the rows that it could be given; made by :func:`replay`.

    Attributes
    ----------
    rewards
        Of its rounds, (T, M), in the user's units.
    rows
        Numbers (T,) of the rows of the log that they come from.
    evaluation
        The mean reward of its rounds. Its error counts the noise of rewards, not luck in learning.
    """

    rewards: FloatArray
    rows: FloatArray
    evaluation: Evaluation

    def __str__(self) -> str:
        return str(self.evaluation)

    __repr__ = __str__


def replay(
    log: object,
    policy: BanditPolicy,
    /,
    *,
    rng: np.random.Generator,
    rounds: int | None = None,
    minimum: float | None = None,
    features: Features | None = None,
) -> ReplayResult:
    """Let a policy learn on a log: it sees the rows in which its choice is the logged one.

    By rejection: rows are kept so that every arm on offer was logged with the same probability.
    Whether a row is then used does not depend on which arm the policy chose, and what it sees is
    distributed as if it had run itself. It assumes that rounds are exchangeable, and that rewards
    are missing by chance, whatever the arm; objectives that are ``given`` another are refused. Of n
    rows about ``n * uniform / K`` are left.

    Parameters
    ----------
    log
        As for :func:`evaluate`.
    policy
        Anything with ``select`` and ``update``, which is told the ``arm`` if it asks for it. A
        copy learns. It sees rewards per unit, all to be maximised, as the policies of agents do.
    rng
        Of the policy, and of rejection.
    rounds
        How many rounds to play. For a number fixed before, the mean reward is unbiased; without
        it, as many as the log gives.
    minimum
        Keep rows with probability ``minimum / propensity``, where no arm on offer ever had a
        smaller propensity. Without it, keep rows that the uniform share drew.
    features
        What the policy sees of arms (K, A) in a context (C,), where the log has contexts: a
        function of both that returns (K, d).

    Examples
    --------
    >>> import mogro
    >>> rng = np.random.default_rng(0)
    >>> actions = rng.integers(2, size=2000)
    >>> clicks = rng.random(2000) < np.array([0.1, 0.8])[actions]
    >>> feedback = {"action": actions, "reward": clicks, "pscore": np.full(2000, 0.5)}
    >>> policy = mogro.MOGRO(dim=2, objectives=1)
    >>> result = replay(feedback, policy, rng=rng, rounds=500, minimum=0.5)
    >>> bool(result.evaluation.value[0] > 0.7)
    True
    """
    known, source = read_log(log), generator(rng, "rng")
    wanted = None if rounds is None else count(rounds, "rounds")
    least = None if minimum is None else real(minimum, "minimum", above=0)
    pairs = zip(known.units.names, known.units.conditions, strict=True)
    if conditional := [name for name, condition in pairs if condition is not None]:
        raise ValueError(
            "log: expected no objective with given=, because a policy learns from whole rewards, "
            f"got {conditional}"
        )
    rewards: list[FloatArray] = []
    numbers: list[int] = []
    missing = 0
    learn = _learner(copy.deepcopy(policy), features, source)
    for records, row in _accepted(known, least, source):
        if len(rewards) == wanted:
            break
        reward = records.rewards[row]
        if np.isnan(reward).any():
            missing += 1
        elif learn(records, row, known.units.inward(reward)):
            rewards.append(reward)
            numbers.append(int(records.numbers[row]))
    if not rewards:
        raise ValueError("log: expected rows in which the policy makes the same choice, got none")
    if wanted is not None and len(rewards) < wanted:
        raise ValueError(
            f"rounds: expected at most the {len(rewards)} that the log has, got {rounds}"
        )
    values = np.array(rewards)
    sums = Sums(len(known.units))
    sums.add(Rows(np.ones(len(values)), values))
    left_out = f"{missing:,} rows with rewards that are missing are left out, as if by chance"
    notes = (_ASSUMED, *known.notes, *([left_out] if missing else []))
    evaluation = replace(sums.result(), names=known.units.names, notes=notes)
    return ReplayResult(values, np.array(numbers), evaluation)


def _learner(
    policy: BanditPolicy, features: Features | None, rng: np.random.Generator
) -> Callable[[Records, int, FloatArray], bool]:
    """Return what lets a policy learn a row, if it chooses the logged arm, and tells whether."""
    by_arm = takes_arm(policy)

    def learn(records: Records, row: int, reward: FloatArray) -> bool:
        arms = _arms(records, row, features)
        assert records.chosen is not None
        arm = int(records.chosen[row])
        if int(policy.select(arms, rng=rng)) != arm:
            return False
        policy.update(arms[arm], reward, **({"arm": arm} if by_arm else {}))
        return True

    return learn


def _accepted(
    log: Log, minimum: float | None, rng: np.random.Generator
) -> Iterator[tuple[Records, int]]:
    """Yield the rows that are kept, so that each arm of each was logged equally often."""
    most = 0
    if minimum is None:  # rows with fewer arms on offer would be matched more often
        drawn = False
        for records in log.records():
            most = max(most, _on_offer(records).shape[1])
            drawn |= bool(records.uniform.any())
        if not drawn:
            raise ValueError(
                "minimum: expected the smallest propensity of any arm on offer, because the log "
                "has no uniform draws"
            )
    for records in log.records():
        kept = rng.random(len(records))
        if minimum is None:
            chance = records.uniform * _on_offer(records).sum(axis=1) / most
        else:
            if (records.propensities < minimum * (1 - 1e-9)).any():
                low = float(np.nanmin(records.propensities))
                raise ValueError(
                    f"minimum: expected at most the smallest propensity {low:g}, got {minimum:g}"
                )
            chance = np.nan_to_num(minimum / records.propensities)
        for row in np.flatnonzero(kept < chance).tolist():
            yield records, row


def _on_offer(records: Records) -> BoolArray:
    if records.on_offer is None or records.features is None:
        raise records.lacks("arms on offer with their features")
    return records.on_offer


def _arms(records: Records, row: int, features: Features | None) -> FloatArray:
    here = _on_offer(records)[row]
    assert records.features is not None
    arms = records.features[row, here]
    if features is None:
        return np.asarray(arms)
    if records.contexts is None:
        raise ValueError("features: expected None, because the log has no contexts")
    return np.asarray(features(arms, records.contexts[row]))

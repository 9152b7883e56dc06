"""The record of a run: arms, gaps and rewards, summed as they come."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, IntArray
from mogro.environments import Environment
from mogro.pareto import effective_gaps, gaps
from mogro.simulation._meters import Meters
from mogro.simulation.trace import Trace

_SMALL = 1 << 15  # bytes of mean rewards whose gaps are worth keeping
_WAITING = 1 << 24  # bytes of mean rewards that wait for their gaps to be found together


class Recorder:
    """Notes every round of a run of T rounds in I instances with R repeats each.

    Sums go from round to round, one learner like the other, so that no bit of them depends on how
    many learners there are or how many rounds are judged at a time.
    """

    def __init__(
        self,
        environments: Sequence[Environment],
        rounds: int,
        repeats: int,
        *,
        checkpoints: IntArray,
        changing: bool,
        meters: Meters,
    ) -> None:
        world = environments[0]
        self._offered = world.arms
        self._changing = changing
        batch = (len(environments), repeats)
        self._arms = np.empty((rounds, *batch), dtype=np.min_scalar_type(world.arms - 1))
        self._checkpoints = checkpoints
        self._row = {int(t) - 1: row for row, t in enumerate(checkpoints)}
        self._meters = meters
        summed = 2 + meters.count(world.objectives)
        self._sums = np.zeros((summed, *batch))
        self._noted = np.empty((len(checkpoints), summed, *batch))
        self._rewards = np.zeros((*batch, world.objectives))
        self._noted_rewards = np.empty((len(checkpoints), *self._rewards.shape))
        self._known: FloatArray | None = None
        self._table: FloatArray = np.empty(0)
        self._waiting: list[tuple[int, FloatArray]] = []
        self._instance = np.arange(batch[0])[:, None]

    def note(self, t: int, means: FloatArray, arms: IntArray, rewards: FloatArray) -> bool:
        """Take down round t, from 0; tell whether it is a checkpoint.

        Means are (I, R, K, M), or (I, 1, K, M) if repeats share them, then the very same array as
        long as they stay.
        """
        self._arms[t] = arms
        self._rewards += rewards
        shared = means.shape[1] == 1 and not self._changing
        if not shared or (t > 0 and means is not self._known):
            self._meters.check_changing()
        if shared:
            self._judge_shared(t, means, arms)
        else:
            each = (*arms.shape, *means.shape[2:])
            self._waiting.append((t, np.broadcast_to(means, each)))
            if len(self._waiting) * self._waiting[0][1].nbytes >= _WAITING:
                self._judge_waiting()
        if t not in self._row:
            return False
        self._noted_rewards[self._row[t]] = self._rewards
        return True

    def trace(self, probed: NDArray[Any], seed: tuple[int, ...]) -> Trace:
        """Return the whole record."""
        self._judge_waiting()
        trace = Trace(
            arms=self._arms,
            checkpoints=self._checkpoints,
            pareto_regret=self._noted[:, 0].copy(),
            effective_regret=self._noted[:, 1].copy(),
            rewards=self._noted_rewards,
            probed=probed,
            measured=np.empty((len(self._checkpoints), *self._arms.shape[1:], 0)),
            offered=self._offered,
            seed=seed,
        )
        if not self._meters.names:
            return trace
        nothing = np.empty((self._arms.shape[1], 0, 0))  # means change: nobody asks for them
        means = nothing if self._known is None else self._known[:, 0]
        measured = self._meters.measured(
            self._noted[:, 2:], self._checkpoints, means, trace.pulls()
        )
        return replace(
            trace, measured=measured, measures=self._meters.names, pooled=self._meters.pooled
        )

    def _judge_shared(self, t: int, means: FloatArray, arms: IntArray) -> None:
        """All repeats of an instance have the same arms: judge every arm once, then look up."""
        if means is not self._known:
            self._judge_waiting()
            # One instance at a time, so that no bit depends on the others.
            rows = [self._judge_all(one) for one in means[:, 0]]
            self._table = np.stack(rows, axis=1)
            self._known = means
        self._add(t, self._table[:, self._instance, arms])

    def _judge_waiting(self) -> None:
        """Every learner has arms of its own: judge the chosen ones of many rounds at once."""
        if not self._waiting:
            return
        means = np.stack([means for _, means in self._waiting])
        arms = self._arms[[t for t, _ in self._waiting]].astype(np.int64)
        chosen = np.take_along_axis(means, arms[..., None, None], axis=-2)[..., 0, :]
        regrets = gaps(means, arms=arms), effective_gaps(means, arms=arms)
        rows = np.stack([*regrets, *self._meters.of_round(means, chosen)], axis=1)
        for n, (t, _) in enumerate(self._waiting):
            self._add(t, rows[n])
        self._waiting.clear()

    def _judge_all(self, means: FloatArray) -> FloatArray:
        """Return what is summed for all arms of an instance, (S, K)."""
        everywhere = np.broadcast_to(means, (len(means), *means.shape))
        judge = _judge_again if means.nbytes <= _SMALL else _judge
        regrets = judge(means.tobytes(), means.shape[-1])
        return np.stack([*regrets, *self._meters.of_round(everywhere, means)])

    def _add(self, t: int, rows: FloatArray) -> None:
        self._sums += rows
        if t in self._row:
            self._noted[self._row[t]] = self._sums


def _judge(means: bytes, objectives: int) -> FloatArray:
    """Return both gaps of all arms, (2, K)."""
    table = np.frombuffer(means).reshape(-1, objectives)
    return np.stack([gaps(table), effective_gaps(table)])


# Policies that are compared meet the same instances one after the other.
_judge_again = lru_cache(maxsize=512)(_judge)

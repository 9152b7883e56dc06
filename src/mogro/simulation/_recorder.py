"""The record of a run: arms, gaps, rewards and measures, summed over rounds."""

import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, IntArray
from mogro.pareto import effective_gaps, gaps
from mogro.simulation._worlds import Worlds
from mogro.simulation.measures import Measure, Measures
from mogro.simulation.trace import Trace, count_pulls

_MAX_CACHED = 1 << 15  # bytes of mean rewards whose gaps are worth keeping
_MAX_WAITING = 1 << 24  # bytes of mean rewards that wait to be judged together
_MAX_SUMS = 1 << 20  # bytes of sums to be made together
_ROUND_PARAMETERS, _RUN_PARAMETERS = {"means", "chosen", "reward"}, {"means", "pulls"}
_RESERVED = {"effective_regret", "pareto_regret"}


class Recorder:
    """Notes every round of a run of T rounds in I instances with R repeats each.

    Sums go from round to round, one learner like the other, so that no bit of them depends on how
    many learners there are or how many rounds are judged at a time.
    """

    def __init__(
        self, worlds: Worlds, rounds: int, checkpoints: IntArray, measures: Measures
    ) -> None:
        batch = worlds.batch
        self._offered, self._changing = worlds.arms, worlds.changing
        self._arms = np.empty((rounds, *batch), dtype=np.min_scalar_type(worlds.arms - 1))
        self._checkpoints = checkpoints
        self._row = {int(t) - 1: row for row, t in enumerate(checkpoints)}
        self._measures = MeasureSet(measures)
        self._sums = np.zeros((2 + len(self._measures.summed), *batch))
        self._at_checkpoints = np.empty((len(checkpoints), *self._sums.shape))
        self._objectives = worlds.objectives
        # Sums of rewards, and of the measures that ask for them.
        self._paid = np.zeros((*batch, worlds.objectives + len(self._measures.of_rewards)))
        self._paid_at_checkpoints = np.empty((len(checkpoints), *self._paid.shape))
        self._scored, self._rounds_at_once = 0, 0  # rounds
        self._shared_means: FloatArray | None = None  # means that all repeats share
        self._table: FloatArray = np.empty(0)  # what their arms add to the sums, (S, I, 1, K)
        self._waiting: list[FloatArray] = []  # means of rounds in which learners have their own

    def add_round(
        self, t: int, means: FloatArray, arms: IntArray | int, rewards: FloatArray
    ) -> None:
        """Take down round t, from 0.

        Means are (I, R, K, M), or (I, 1, K, M) if repeats share them, then the very same array as
        long as they stay.
        """
        self._arms[t] = arms
        if self._measures.of_rewards:
            measured = self._measures.of_reward(means, arms, rewards)
            rewards = np.concatenate([rewards.reshape(*measured.shape[:-1], -1), measured], axis=-1)
        self._paid += rewards
        if t in self._row:
            self._paid_at_checkpoints[self._row[t]] = self._paid
        if means is not self._shared_means or self._changing:
            self._set_means(t, means)
        if t + 1 - self._scored >= self._rounds_at_once:
            self._score_until(t + 1)

    def stop(self, rounds: int) -> None:
        """End the run after fewer rounds, which are the last checkpoint then."""
        self._score_until(rounds)
        row = int(np.searchsorted(self._checkpoints, rounds))
        self._checkpoints = np.append(self._checkpoints[:row], rounds)
        self._arms = self._arms[:rounds].copy()
        self._at_checkpoints = np.concatenate([self._at_checkpoints[:row], self._sums[None]])
        self._paid_at_checkpoints = np.concatenate(
            [self._paid_at_checkpoints[:row], self._paid[None]]
        )

    def trace(self, probed: NDArray[Any], seed: tuple[int, ...], finished: IntArray) -> Trace:
        """Return the whole record."""
        self._score_until(len(self._arms))
        rewards, earned = np.split(self._paid_at_checkpoints, [self._objectives], axis=-1)
        measured = np.empty((len(self._checkpoints), *self._arms.shape[1:], 0))
        if self._measures.names:
            nothing = np.empty((self._arms.shape[1], 0, 0))  # means change: nobody asks for them
            means = nothing if self._shared_means is None else self._shared_means[:, 0]
            pulls = count_pulls(self._arms, self._checkpoints, self._offered)
            measured = self._measures.measured(self._at_checkpoints[:, 2:], earned, means, pulls)
        return Trace(
            arms=self._arms,
            checkpoints=self._checkpoints,
            pareto_regret=self._at_checkpoints[:, 0].copy(),
            effective_regret=self._at_checkpoints[:, 1].copy(),
            rewards=rewards.copy(),
            probed=probed[: len(self._checkpoints)],
            measured=measured,
            finished=finished,
            offered=self._offered,
            seed=seed,
            measures=self._measures.names,
        )

    def _set_means(self, t: int, means: FloatArray) -> None:
        """Judge by other means from round t on."""
        repeats = self._arms.shape[2]
        shared = means.shape[1] == 1 and not self._changing and (t == 0 or repeats > 1)
        if t > 0 or not shared:
            self._measures.check_changing()
        if shared or self._shared_means is not None:
            self._score_until(t)
        if shared:  # judge every arm once, one instance at a time: no bit depends on the others
            self._shared_means, rows = means, [self._score_all(part) for part in means[:, 0]]
            self._table = np.concatenate(rows, axis=1)
            self._rounds_at_once = -(-_MAX_SUMS // self._sums.nbytes)
        else:
            self._shared_means = None
            self._waiting.append(np.broadcast_to(means, (*self._arms.shape[1:], *means.shape[2:])))
            self._rounds_at_once = -(-_MAX_WAITING // self._waiting[0].nbytes)

    def _score_all(self, means: FloatArray) -> FloatArray:
        """Return what is summed for all arms of an instance, (S, K)."""
        everywhere = np.broadcast_to(means, (len(means), *means.shape))
        judge = _cached_gaps if means.nbytes <= _MAX_CACHED else _gaps
        regrets = judge(means.tobytes(), means.shape[-1])
        return np.stack([*regrets, *self._measures.of_round(everywhere, means)])

    def _score_until(self, stop: int) -> None:
        """Sum up all rounds before one."""
        start, self._scored = self._scored, stop
        arms = self._arms[start:stop].astype(np.int64)
        if not arms.size:
            return
        if self._waiting:
            means, self._waiting = np.stack(self._waiting), []
            chosen = np.take_along_axis(means, arms[..., None, None], axis=-2)[..., 0, :]
            regrets = gaps(means, arms=arms), effective_gaps(means, arms=arms)
            rows = np.stack([*regrets, *self._measures.of_round(means, chosen)])
        else:
            first = np.arange(0, self._table.shape[1], self._offered)[:, None]
            rows = self._table.take(arms + first, axis=1)
        sums = np.add.accumulate(np.concatenate([self._sums[:, None], rows], axis=1), axis=1)
        self._sums = sums[:, -1].copy()
        noted = (self._checkpoints > start) & (self._checkpoints <= stop)
        self._at_checkpoints[noted] = np.moveaxis(sums[:, self._checkpoints[noted] - start], 1, 0)


def _gaps(means: bytes, objectives: int) -> FloatArray:
    """Return both gaps of all arms, (2, K)."""
    table = np.frombuffer(means).reshape(-1, objectives)
    return np.stack([gaps(table), effective_gaps(table)])


# Policies that are compared meet the same instances one after the other.
_cached_gaps = lru_cache(maxsize=512)(_gaps)


class MeasureSet:
    """Measures of a run in their order, some summed over rounds, others taken at checkpoints."""

    def __init__(self, measures: Measures) -> None:
        self._measures = _read_measures(measures)
        self.names = tuple(self._measures)
        self._parameters = {
            name: _read_parameters(measure, name) for name, measure in self._measures.items()
        }
        self.of_rewards = [name for name in self.names if "reward" in self._parameters[name]]
        others = [name for name in self.names if name not in self.of_rewards]
        self.summed = [name for name in others if "chosen" in self._parameters[name]]
        self._fixed = [name for name in others if name not in self.summed]

    def check_changing(self) -> None:
        """Refuse measures that need means that stay, because they do not."""
        if self._fixed:
            raise ValueError(
                f"measures: expected chosen or reward (and means with them) in a world "
                f"whose means change, got {self._fixed[0]!r}, which asks for "
                f"{sorted(self._parameters[self._fixed[0]])}"
            )

    def of_round(self, means: FloatArray, chosen: FloatArray) -> list[FloatArray]:
        """Return measures of rounds that do not ask for rewards, each (...)."""
        shape = chosen.shape[:-1]
        return [self._call(name, shape, means=means, chosen=chosen) for name in self.summed]

    def of_reward(self, means: FloatArray, arms: IntArray | int, rewards: FloatArray) -> FloatArray:
        """Return measures of a round that ask for rewards, (I, R, S)."""
        batch = (means.shape[0], np.size(arms) // means.shape[0])
        wide = np.broadcast_to(means, (*batch, *means.shape[2:]))
        place = np.reshape(arms, batch)[..., None, None]
        given = {
            "means": wide,
            "chosen": np.take_along_axis(wide, place, axis=-2)[..., 0, :],
            "reward": np.reshape(rewards, (*batch, -1)),
        }
        return np.stack([self._call(name, batch, **given) for name in self.of_rewards], axis=-1)

    def measured(
        self, sums: FloatArray, earned: FloatArray, means: FloatArray, pulls: IntArray
    ) -> FloatArray:
        """Return all measures, (C, I, R, Q).

        Parameters
        ----------
        sums
            Of what :meth:`of_round` returned, (C, S, I, R).
        earned
            Of what :meth:`of_reward` returned, (C, I, R, S).
        means
            Where they stay, (I, K, M).
        pulls
            (C, I, R, K).
        """
        columns = dict(zip(self.summed, np.moveaxis(sums, 1, 0), strict=True))
        columns |= zip(self.of_rewards, np.moveaxis(earned, -1, 0), strict=True)
        for name in self._fixed:
            shape = (len(pulls), pulls.shape[2])
            rows = [
                self._call(name, shape, means=each, pulls=pulls[:, i])
                for i, each in enumerate(means)
            ]
            columns[name] = np.stack(rows, axis=1)
        return np.stack([columns[name] for name in self.names], axis=-1)

    def _call(self, name: str, shape: tuple[int, ...], **given: object) -> FloatArray:
        asked = {key: value for key, value in given.items() if key in self._parameters[name]}
        value = np.asarray(self._measures[name](**asked))
        if value.shape != shape or value.dtype.kind not in "biuf":
            raise ValueError(
                f"measures: expected {name!r} to return numbers in the shape {shape}, "
                f"got shape {value.shape} of {value.dtype}"
            )
        return value.astype(np.float64)


def _read_measures(measures: Measures) -> dict[str, Measure]:
    if not isinstance(measures, Mapping | Sequence):
        raise ValueError(f"measures: expected a list or dict of functions, got {measures!r}")
    given = (
        dict(measures)
        if isinstance(measures, Mapping)
        else {_name(measure): measure for measure in measures}
    )
    if len(given) != len(measures) or _RESERVED & given.keys():
        raise ValueError(
            f"measures: expected different names other than {sorted(_RESERVED)}, got {measures!r}"
        )
    return given


def _name(measure: Measure) -> str:
    """Return what a measure is called; one with settings like the function that has them."""
    bare = measure.func if isinstance(measure, partial) else measure
    return str(getattr(bare, "__name__", type(bare).__name__))


def _read_parameters(measure: Measure, name: str) -> set[str]:
    if not callable(measure):
        raise ValueError(f"measures: expected functions, got {measure!r} as {name!r}")
    settings = measure.keywords.keys() if isinstance(measure, partial) else set()
    parameters = inspect.signature(measure).parameters.keys() - settings
    if not parameters or not (parameters <= _ROUND_PARAMETERS or parameters <= _RUN_PARAMETERS):
        raise ValueError(
            f"measures: expected {name!r} to have parameters among means, chosen and reward, or "
            f"among means and pulls, got {sorted(parameters)}"
        )
    return set(parameters)

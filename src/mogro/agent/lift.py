"""What an agent is worth beside the baseline that serves those who are held out."""

from dataclasses import dataclass

import numpy as np

from mogro._intervals import LEVEL, ConfidenceInterval, are_rates, rate_interval, student_quantile
from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.agent.objective_set import ObjectiveSet


@dataclass(frozen=True)
class Lift:
    """What the agent gained in one objective, per decision, with intervals of 95 %.

    Attributes
    ----------
    objective
        Its name.
    agent, baseline
        The mean reward of decisions that the agent made, and of those that the baseline made.
    difference
        The former less the latter.
    decisions, subjects
        How many of both stand behind it.
    """

    objective: str
    agent: ConfidenceInterval
    baseline: ConfidenceInterval
    difference: ConfidenceInterval
    decisions: tuple[int, int]
    subjects: tuple[int, int]

    @property
    def gain(self) -> str:
        """The difference, in words."""
        if not self.difference.known:
            return f"{self.objective}: too few decisions to tell"
        value, low, high = (f"{x:+.3g}" for x in self.difference)
        part = self.difference.value / abs(self.baseline.value) if self.baseline.value else np.nan
        relative_gain = "" if np.isnan(part) else f" ({part:+.0%})"
        return f"{self.objective} {value} [{low}, {high}]{relative_gain}"

    def __str__(self) -> str:
        return f"{self.gain}; {self.agent} with the agent, {self.baseline} with the baseline"

    __repr__ = __str__


def measure_lifts(
    objective_set: ObjectiveSet,
    rewards: FloatArray,
    *,
    is_pending: BoolArray,
    times: FloatArray,
    is_held_out: BoolArray,
    made_elsewhere: BoolArray,
    subjects: IntArray,
) -> tuple[Lift, ...]:
    """Return what an agent gained in every objective, by rewards (n, M); empty without a holdout.

    What counts are decisions after the first that was held out, as far as all windows before them
    have closed: in an open one values come sooner than their absence.
    """
    if not is_held_out.any():
        return ()
    in_comparison = ~made_elsewhere
    in_comparison[: int(is_held_out.argmax()) + 1] = False
    results = []
    for m, (name, window) in enumerate(
        zip(objective_set.names, objective_set.windows, strict=True)
    ):
        mask = in_comparison
        if window < np.inf:
            mask = in_comparison & ~(times >= times[is_pending[:, m]].min(initial=np.inf))
        results.append(measure_lift(name, rewards[mask, m], is_held_out[mask], subjects[mask]))
    return tuple(results)


def measure_lift(
    objective: str, rewards: FloatArray, is_held_out: BoolArray, subjects: IntArray
) -> Lift:
    """Return what an agent gained, from rewards (n,) of decisions made for subjects (n,).

    Rewards that are not there (NaN) are left out. Decisions for one subject may resemble each
    other, so errors count subjects (the variance of a ratio, by the sums of each subject), not
    decisions. Means of rewards that are all 0 or 1 have Wilson's interval, for as many observations
    as would have this error. The difference has the interval that follows from both by adding
    squares (Newcombe 1998; Zou and Donner 2008).
    """
    is_known, rate = ~np.isnan(rewards), bool(are_rates(rewards))
    masks = [is_known & mask for mask in (~is_held_out, is_held_out)]
    agent, baseline = (mean_interval(rewards[mask], subjects[mask], rate=rate) for mask in masks)
    value = agent.value - baseline.value
    low = value - np.hypot(agent.value - agent.low, baseline.high - baseline.value)
    high = value + np.hypot(agent.high - agent.value, baseline.value - baseline.low)
    difference = ConfidenceInterval(value, float(low), float(high))
    counts = [(int(mask.sum()), len(np.unique(subjects[mask]))) for mask in masks]
    return Lift(objective, agent, baseline, difference, *zip(*counts, strict=True))


def mean_interval(
    rewards: FloatArray, subjects: IntArray | None = None, *, rate: bool | None = None
) -> ConfidenceInterval:
    """Return the mean of rewards (n,) that are known, with its interval, for subjects (n,).

    Without these, each is of another one. A rate if somebody says so, or all are 0 or 1.
    """
    is_known = ~np.isnan(rewards)
    values, n = rewards[is_known], int(is_known.sum())
    indices = np.arange(n)
    if subjects is not None:
        _, indices = np.unique(subjects[is_known], return_inverse=True)
    subject_count = int(indices.max(initial=-1)) + 1
    mean = float(values.mean()) if n else np.nan
    if rate is None:
        rate = bool(are_rates(values))
    if subject_count < 2:
        return ConfidenceInterval(mean, np.nan, np.nan)
    sums = np.bincount(indices, values - mean)
    variance = float(sums @ sums) * subject_count / (subject_count - 1) / n**2
    z = float(student_quantile(LEVEL, subject_count - 1))
    if not rate:
        half_width = z * variance**0.5
        return ConfidenceInterval(mean, mean - half_width, mean + half_width)
    size = min(mean * (1 - mean) / variance, n) if variance > 0 else subject_count
    return ConfidenceInterval(mean, *rate_interval(mean, size, z).tolist())

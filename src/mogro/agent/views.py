"""What an agent shows of itself, all in the user's units and directions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from mogro import _page
from mogro._intervals import LEVEL, rate_interval, student_quantile
from mogro._validation import BoolArray, FloatArray, share
from mogro.agent.config import AgentConfig
from mogro.agent.features.arms import ArmSet
from mogro.agent.objective_set import ObjectiveSet
from mogro.agent.state.learner import Learner
from mogro.agent.state.state import State
from mogro.beliefs import Beliefs
from mogro.certainty import check_noise, front_confidence
from mogro.pareto import learned_front as pareto_front

_LEAST_VARIANCE = 1e-12  # a variance, in units of the noise
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Front:
    """The arms that are best under some weights, by the estimates.

    Attributes
    ----------
    arms
        Their ids, F of them.
    values
        Their estimates, (F, M), in the user's units.
    shares
        The share of all weights under which each is best, (F,); they sum to 1.
    objectives
        Names of the columns of ``values``.
    certain
        With a confidence, for every arm on offer whether it is "on" the true front, "off" it or
        "open"; else empty.
    confidence
        Probability that all of ``certain`` is true, at all times.
    """

    arms: tuple[str, ...]
    values: FloatArray
    shares: FloatArray
    objectives: tuple[str, ...]
    certain: Mapping[str, str] = field(default_factory=dict)
    confidence: float | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to learn at this confidence."""
        return bool(self.certain) and "open" not in self.certain.values()

    @property
    def progress(self) -> str:
        """How much is left to learn, in words."""
        count = sum(state == "open" for state in self.certain.values())
        text = f"{count} of {len(self.certain)} arms are open" if count else "nothing left to learn"
        return f"{text} at {self.confidence:.4g} confidence" if self.certain else ""

    def __str__(self) -> str:
        order = np.argsort(-self.shares, kind="stable")
        headers = ["arm", *self.objectives, "share of weights", *(["certain"] * bool(self.certain))]
        rows = [
            [
                self.arms[i],
                *(f"{v:.4g}" for v in self.values[i]),
                f"{self.shares[i]:.1%}",
                *([self.certain[self.arms[i]]] if self.certain else []),
            ]
            for i in order
        ]
        table = _page.text_table(headers, rows)
        return f"{table}\n{self.progress}" if self.certain else table

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Estimates:
    """What an agent believes of arms.

    Attributes
    ----------
    arms
        Their ids, K of them.
    values
        Their estimates, (K, M), in the user's units.
    errors
        Standard errors of these, (K, M): very large for what was never seen. With a half-life they
        are rough.
    objectives
        Names of the columns.
    intervals
        Intervals of 95 %, (K, M, 2). Averaged over arms and contexts they hold what they promise on
        logs that were drawn at random (``benchmarks/coverage.py``), as far as rewards are linear in
        the features. Rates, objectives of which only 0 and 1 were learned, have Wilson's interval
        within 0 and 1, for as many observations of the arm itself as would tell as much.
    """

    arms: tuple[str, ...]
    values: FloatArray
    errors: FloatArray
    objectives: tuple[str, ...]
    intervals: FloatArray

    @cached_property
    def clipped_values(self) -> FloatArray:
        """The values, (K, M), within their intervals: rates are within 0 and 1."""
        return np.clip(self.values, self.intervals[..., 0], self.intervals[..., 1])

    def row(self, index: int) -> list[str]:
        """Return an arm and its estimates with their intervals, in words."""
        pairs = zip(self.clipped_values[index], self.intervals[index], strict=True)
        return [self.arms[index], *(_page.format_interval(*pair) for pair in pairs)]

    def __str__(self) -> str:
        rows = [self.row(index) for index in range(len(self.arms))]
        return _page.text_table(["arm", *self.objectives], rows)

    __repr__ = __str__


def learned_front(arms: ArmSet, beliefs: Beliefs, config: AgentConfig) -> Front:
    """Return the estimated effective front of arms, by what is believed about them."""
    front = pareto_front(arms.features, beliefs.theta)
    ids = tuple(arms.id(int(index)) for index in front.members)
    return Front(
        ids,
        config.objective_set.to_user_units(front.values),
        front.shares,
        config.objective_set.names,
    )


def certain_front(
    arms: ArmSet,
    learner: Learner,
    config: AgentConfig,
    confidence: float,
    noise: float | Mapping[str, float] | None,
) -> Front:
    """Return the estimated effective front, and what is certain about every arm."""
    share(confidence, "confidence", closed="()")
    if config.half_life is not None:
        raise ValueError(
            f"confidence: expected an agent that forgets nothing, got half_life "
            f"{config.half_life}: about what may have changed nothing is certain"
        )
    if config.arm_effects:
        raise ValueError("confidence: expected an agent without arm_effects, got one with them")
    certainty = front_confidence(
        learner.observed,
        np.stack([arms.arm_features(index)[1] for index in range(len(arms))]),
        noise=noise_in_units(noise, config.objective_set),
        delta=1 - confidence,
        effective=True,
    )
    labels = np.where(certainty.on, "on", np.where(certainty.off, "off", "open")).tolist()
    state_by_arm = dict(zip(arms.ids, labels, strict=True))
    front = learned_front(*learner.beliefs_about(arms), config)
    return replace(front, certain=state_by_arm, confidence=confidence)


def noise_in_units(
    noise: float | Mapping[str, float] | None, objective_set: ObjectiveSet
) -> FloatArray:
    """Return standard deviations of rewards in units of the objectives, (M,)."""
    names = objective_set.names
    names_match = isinstance(noise, Mapping) and noise.keys() == set(names)
    if noise is None or (isinstance(noise, Mapping) and not names_match):
        raise ValueError(
            f"noise: expected the standard deviation of rewards, a number or one for each of "
            f"{list(names)}, got {noise!r}"
        )
    deviations = [noise[name] for name in names] if isinstance(noise, Mapping) else noise
    return check_noise(deviations, len(names)) / np.abs(objective_set.scale)


def estimates(arms: ArmSet, learner: Learner, config: AgentConfig) -> Estimates:
    """Return what a learner believes of the arms on offer, with standard errors."""
    arms, beliefs = learner.beliefs_about(arms)
    objective_set, features = config.objective_set, arms.features
    variances = np.maximum(beliefs.variances(features), 0)
    errors = np.sqrt(variances * beliefs.noise) * np.abs(objective_set.scale)
    values = objective_set.to_user_units(beliefs.estimates(features))
    z = student_quantile(LEVEL, np.maximum(learner.observed.degrees_of_freedom, 1))
    student_intervals = np.stack([values - z * errors, values + z * errors], axis=-1)
    rate_intervals = rate_interval(
        values, 1 / np.maximum(variances, _LEAST_VARIANCE), student_quantile(LEVEL, np.inf)
    )
    intervals = np.where(_are_rates(learner, config)[:, None], rate_intervals, student_intervals)
    return Estimates(arms.ids, values, errors, objective_set.names, intervals)


def _are_rates(learner: Learner, config: AgentConfig) -> BoolArray:
    """Tell of which objectives only 0 and 1 were learned, (M,), by the sums.

    Of these alone the sum is that of the squares, but for values that happen to balance.
    """
    scale, offset = config.objective_set.scale, config.objective_set.offset
    n, posterior = learner.observation_weights, learner.observed
    y, y2 = posterior.b[:, 0], posterior.y2  # the first feature is the constant
    total = scale * y + offset * n
    squares = scale**2 * y2 + 2 * scale * offset * y + offset**2 * n
    sums_match = np.abs(total - squares) <= _ROUNDING * (n + np.abs(offset) * n)
    in_range = (total >= -_ROUNDING * n) & (total <= (1 + _ROUNDING) * n)
    return np.asarray((n > 0) & sums_match & in_range)


def agent_text(state: State) -> str:
    """Describe an agent in a few lines."""
    return _heading(state) + "\n" + _page.text_table(*_objectives(state))


def agent_html(state: State) -> str:
    """Describe an agent for a notebook."""
    table = _page.html_table("Objectives", *_objectives(state))
    return f"<p>{_page.escape(_heading(state))}</p>{table}"


def _heading(state: State) -> str:
    policy = " ".join(repr(state.config.policy).split())
    policy = policy if len(policy) <= 100 else f"{policy[:97]}..."
    return f"Agent: {policy}, {activity_text(state)}"


def activity_text(state: State) -> str:
    """Say how much has happened so far, also of what is no longer held."""
    counters, ledger = state.counters, state.ledger
    learned_rewards = counters.learned + counters.defaulted
    return (
        f"{counters.decisions} decisions ({counters.explored} to explore), "
        f"{len(ledger) - ledger.completed_count} pending, {learned_rewards} rewards learned "
        f"({counters.defaulted} defaults)"
    )


def _objectives(state: State) -> tuple[list[str], list[list[str]]]:
    objective_set, learner = state.objective_set, state.learner
    noise = learner.noise * np.abs(objective_set.scale)
    rows = []
    for m, objective in enumerate(objective_set.objectives):
        window = "" if objective.window is None else f"{objective.window:g}"
        observations = f"{learner.observation_weights[m]:.6g}"
        deviation = f"{noise[m]:.3g}" if learner.noise_is_known[m] else ""
        unit = f"{objective.unit:g}"
        rows.append([objective.name, objective.direction, unit, window, observations, deviation])
    return ["objective", "direction", "unit", "window", "observations", "noise"], rows

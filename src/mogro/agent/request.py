"""What callers ask for, checked once: for decisions, probabilities and observations."""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from hashlib import blake2b
from numbers import Real
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, real, share
from mogro.agent.config import AgentConfig
from mogro.agent.errors import BadReward, ImplausibleTime, InfeasibleConstraints, UnknownObjective
from mogro.agent.features.arms import ArmReader, Arms, ArmSet, Context, Features
from mogro.agent.features.catalogue import Offer
from mogro.agent.objective_set import ObjectiveSet
from mogro.beliefs import Beliefs
from mogro.exploration import UNKNOWN_VARIANCE
from mogro.policies.persistence import BUILT_IN
from mogro.scalarization import FixedWeights, Scalarization, check_scalarization
from mogro.selection import Selection

Weights = Sequence[float] | Mapping[str, float] | Scalarization
Clock = Callable[[], float]

_LEAST_UNIX_TIME = 1e8  # seconds since 1970: below, a clock is made up
_SAME_CLOCK = 0.05  # relative difference below which times, in some unit, are of one clock
_LONG_PAUSE = 366 * 86400.0  # seconds after which an agent's own clock is believed
_NUMBERS = (Real, Decimal, np.bool_)  # not strings, which float would read


class Constraints(NamedTuple):
    """Bounds by objective, in the user's units, and with what probability they are to be kept."""

    at_least: dict[str, float]
    at_most: dict[str, float]
    certainty: float = 0.5

    def are_met(self, arms: FloatArray, beliefs: Beliefs, objective_set: ObjectiveSet) -> BoolArray:
        """Tell which arms (K, d) keep all bounds, as certainly as is asked for.

        What nobody can know yet, of an arm that was never seen, keeps every bound if estimates are
        enough (certainty 0.5).
        """
        values, bounds, errors = self._bounded_estimates(arms, beliefs, objective_set)
        z = NormalDist().inv_cdf(self.certainty)
        if z:
            values = values - z * errors
        met: BoolArray = np.logical_and.reduce(values >= bounds, axis=-1)
        if not z and not met.all():
            met |= (beliefs.variances(arms) > UNKNOWN_VARIANCE).any(axis=-1)
        if not met.any():
            pairs = zip(self._signs(), values.max(axis=0).tolist(), strict=True)
            best = {name: sign * value for (name, sign), value in pairs}
            raise InfeasibleConstraints(str(self), best)
        return met

    def certainty_of(self, arm: FloatArray, beliefs: Beliefs, objective_set: ObjectiveSet) -> float:
        """Return the least probability with which an arm (d,) keeps a bound."""
        values, bounds, errors = self._bounded_estimates(arm[None], beliefs, objective_set)
        pairs = zip((values - bounds)[0].tolist(), errors[0].tolist(), strict=True)
        return min(NormalDist().cdf(margin / e) if e else float(margin >= 0) for margin, e in pairs)

    def _signs(self) -> list[tuple[str, float]]:
        """Return the bounded objectives, with 1 for lower bounds and -1 for upper ones."""
        return [(name, 1.0) for name in self.at_least] + [(name, -1.0) for name in self.at_most]

    def _bounded_estimates(
        self, arms: FloatArray, beliefs: Beliefs, objective_set: ObjectiveSet
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return estimates of arms, (K, B), what they are to be at least, (B,), standard errors.

        In the user's units; both negative for upper bounds.
        """
        columns = [objective_set.index[name] for name, _ in self._signs()]
        signs = np.array([sign for _, sign in self._signs()])
        bounds = np.array([*self.at_least.values(), *self.at_most.values()])
        values = objective_set.to_user_units(beliefs.estimates(arms))[:, columns]
        errors = np.sqrt(beliefs.variances(arms) * beliefs.noise) * np.abs(objective_set.scale)
        return signs * values, signs * bounds, errors[:, columns]

    def __str__(self) -> str:
        words = [f"{name} >= {bound:g}" for name, bound in self.at_least.items()]
        return ", ".join(words + [f"{name} <= {bound:g}" for name, bound in self.at_most.items()])


class Request(NamedTuple):
    """A choice that a caller asks for, checked: see :meth:`mogro.Agent.decide`.

    With a journal, there is what it writes down of the arms.
    """

    config: AgentConfig  # by which it was checked
    arms: ArmSet
    selection: Selection
    constraints: Constraints | None
    now: float | None  # as the caller gave it
    time: float | None
    offer: Offer | None
    activate: bool
    subject: int | None  # a hash
    sticky: bool


def read_request(
    config: AgentConfig,
    arm_reader: ArmReader,
    clock: Clock | None,
    journaled: bool,
    arms: Arms,
    features: Features | None,
    context: Context | None,
    eligible: ArrayLike | None,
    now: float | None,
    weights: Weights | None = None,
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    certainty: float = 0.5,
    activate: bool = True,
    subject: str | None = None,
    sticky: bool = False,
) -> Request:
    """Check a choice that is asked for; ``journaled``: a journal will hold its arms."""
    if activate is not True and activate is not False:
        raise ValueError(f"activate: expected True or False, got {activate!r}")
    if sticky and subject is None:
        raise ValueError("subject: expected one, because of sticky=True, got None")
    arm_set = arm_reader.read(config.features, arms, features, context, eligible)
    timed = config.timed or (not activate and config.timeout < math.inf)
    return Request(
        config,
        arm_set,
        config.selection if weights is None else read_weights(weights, config.objective_set),
        read_constraints(at_least, at_most, certainty, config.objective_set),
        now,
        read_time(now, clock, needed=timed),
        arm_set.offer if journaled else None,
        activate,
        None if subject is None else hash_subject(config.seed, subject),
        sticky,
    )


def hash_subject(seed: int, subject: str) -> int:
    """Return the number by which an agent knows a subject: 63 bits, never 0."""
    if type(subject) is not str or not subject:
        raise ValueError(f"subject: expected a string, not empty, got {subject!r}")
    key = f"subject {seed} {subject}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(key, digest_size=8).digest()) >> 1 or 1


def read_constraints(
    at_least: Mapping[str, float] | None,
    at_most: Mapping[str, float] | None,
    certainty: float,
    objective_set: ObjectiveSet,
) -> Constraints | None:
    """Check bounds, and with what probability they are to be kept."""
    if certainty != 0.5:
        certainty = share(certainty, "certainty", closed="()")
    if not at_least and not at_most:
        return None
    bounds: list[dict[str, float]] = []
    for argument, bounds_by_name in (("at_least", at_least or {}), ("at_most", at_most or {})):
        if not isinstance(bounds_by_name, Mapping):
            raise ValueError(
                f"{argument}: expected a mapping of objective name to number, "
                f"got {bounds_by_name!r}"
            )
        for name in bounds_by_name:
            if name not in objective_set.index:
                raise ValueError(
                    f"{argument}: expected objectives {list(objective_set.names)}, got {name!r}"
                )
        bounds.append({n: real(b, f"{argument}[{n!r}]") for n, b in bounds_by_name.items()})
    return Constraints(bounds[0], bounds[1], certainty)


def read_weights(weights: Weights, objective_set: ObjectiveSet) -> Selection:
    """Return how to select by the weights that a caller gives."""
    if callable(getattr(weights, "weights", None)):
        if type(weights) not in BUILT_IN:  # which check themselves
            check_scalarization(weights, "weights", objectives=len(objective_set))
        return weights  # type: ignore[return-value]
    return FixedWeights(objective_set.shares(weights).tolist())  # type: ignore[arg-type]


def read_time(now: float | None, clock: Clock | None = None, *, needed: bool) -> float | None:
    """Check a time; without one it is that of the clock, where it is needed."""
    if now is None and needed:
        if clock is None:
            raise ValueError(
                "now: expected the time, because of a window, half_life, retention or "
                "activation_timeout, and there is no clock"
            )
        return real(clock(), "clock")
    return None if now is None else real(now, "now")


def check_step(time: float, last: float, step: float, *, by_caller: bool) -> None:
    """Refuse a time that is far from the latest so far.

    One that was not given, but read from the agent's clock, may be a long pause later.
    """
    if last == -math.inf:
        return
    if time > last + (step if by_caller else max(step, _LONG_PAUSE)):
        raise ImplausibleTime(
            f"now: expected at most {step:g} (max_step) after {last!r}, the latest time so far, "
            f"got {time!r}; if that is the time, say so: agent.expire({time!r}, confirm=True)"
        )
    if time < last - step:
        raise ImplausibleTime(
            f"now: expected at most {step:g} (max_step) before {last!r}, the latest time so far, "
            f"got {time!r}"
        )


def check_first_time(time: float, clock: float) -> None:
    """Refuse a first time that is the clock's in a smaller unit: nothing else could tell."""
    for unit, name in ((1e3, "milli"), (1e6, "micro"), (1e9, "nano")):
        if clock > _LEAST_UNIX_TIME and abs(time / unit - clock) < _SAME_CLOCK * clock:
            raise ImplausibleTime(
                f"now: expected the unit of the clock, which says {clock!r}, got {time!r}: "
                f"{name}seconds? Give the agent a clock in that unit (clock=), or none"
            )


def check_new_id(id: str | None) -> None:
    """Refuse what cannot be the id of a new decision."""
    if id is not None and (type(id) is not str or not id):
        raise ValueError(f"id: expected a string, not empty, got {id!r}")


def check_id(id: str) -> None:
    """Refuse what cannot be the id of a decision that was made."""
    if not isinstance(id, str):
        raise ValueError(f"id: expected the id of a decision (decision.id), got {id!r}")


def read_rewards(
    config: AgentConfig, values: Mapping[str, float], argument: str
) -> dict[str, float]:
    """Check a reward, and return it as floats."""
    objective_set = config.objective_set
    try:
        pairs = values.items()
    except AttributeError:
        raise ValueError(
            f"{argument}: expected a mapping of objective name to number, got {values!r}"
        ) from None
    checked, index = {}, objective_set.index
    offsets, limits = objective_set.offsets, objective_set.limits
    for name, raw_value in pairs:
        m = index.get(name)
        if m is None:
            raise UnknownObjective(
                f"{argument}: expected objectives {list(objective_set.names)}, got {name!r}"
            )
        value = raw_value if type(raw_value) is float else _number(raw_value)
        if not abs(value - offsets[m]) <= limits[m]:
            bounded_number = f"a number up to {limits[m]:g}"
            expected = bounded_number if math.isfinite(value) else "a finite number"
            raise BadReward(f"{argument}: expected {expected} for {name!r}, got {raw_value!r}")
        checked[name] = value
    return checked


def _number(value: object) -> float:
    """Return a number as a float; NaN if it is none, or beyond every float."""
    try:
        return float(value) if isinstance(value, _NUMBERS) else math.nan
    except (ValueError, OverflowError):
        return math.nan

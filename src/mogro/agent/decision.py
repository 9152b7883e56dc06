"""What an agent decided, and what a caller sees of it."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.agent.config import AgentConfig
from mogro.agent.inputs import DecisionInputs, WrittenInputs, draws

Inputs = DecisionInputs | WrittenInputs


class Propensities(NamedTuple):
    """Probabilities of all eligible arms: ids, values (K,), standard errors (K,)."""

    arms: tuple[str, ...]
    values: FloatArray
    errors: FloatArray


class DecisionRecord(NamedTuple):
    """A decision and what has become of it.

    Attributes
    ----------
    decision
        As it was made.
    rewards
        What came so far, by objective, in the user's units; also what came too late.
    status
        Of each objective: ``pending``; ``learned``; ``defaulted``, learned as its default;
        ``missing``, its window closed with nothing to learn; ``unmet``, as was its condition;
        ``withdrawn``, because the arm was not shown.
    """

    decision: "Decision"
    rewards: dict[str, float]
    status: dict[str, str]

    @property
    def pending(self) -> bool:
        """Whether something may still come."""
        return "pending" in self.status.values()


@dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """One decision; nothing changes it any more.

    Attributes
    ----------
    id
        To give rewards by.
    arm
        The arm chosen.
    exploring
        Whether it was chosen to explore.
    uniform
        Whether it was a uniform draw.
    time
        The time the caller gave, 0 if none.

    Notes
    -----
    Propensities are computed when asked for, from what the decision was made of, which the object
    holds. A decision that was asked for again, by its id, is the same decision, but its inputs are
    gone: ask the first one, or with a journal :meth:`mogro.Agent.decision`. So it is with one that
    was pickled, unless its propensities had been asked for.
    """

    id: str
    arm: str
    exploring: bool
    uniform: bool
    time: float
    _weights: FloatArray | None
    _estimates: FloatArray
    _config: AgentConfig
    _inputs: Inputs | None
    _chance: tuple[float, float] | None = None  # the propensity with its error, if it is known
    _cache: dict[str, Propensities] = field(default_factory=dict)

    @property
    def weights(self) -> dict[str, float] | None:
        """Importance of each objective, per unit; None if the policy used none this time."""
        return None if self._weights is None else self._config.units.named(self._weights)

    @property
    def estimates(self) -> dict[str, float]:
        """What the arm was expected to give, in the user's units."""
        units = self._config.units
        return units.named(units.outward(self._estimates))

    @property
    def propensity(self) -> float:
        """The probability with which the agent chose this arm among these, then.

        Exact for one and two objectives, and where the policy does not draw weights; otherwise an
        estimate with :attr:`propensity_error`. Thompson sampling is always estimated. Of a decision
        that was observed, what its maker said; NaN if they did not.
        """
        return self._own_chance()[0]

    @property
    def propensity_error(self) -> float:
        """The standard error of :attr:`propensity`; 0 if it is exact."""
        return self._own_chance()[1]

    def _own_chance(self) -> tuple[float, float]:
        return self._chance or _chance(self.propensities, self.arm)

    @property
    def propensities(self) -> Propensities:
        """The same for every eligible arm; computed once."""
        if "propensities" not in self._cache:
            if isinstance(self.inputs, WrittenInputs) and self._chance is not None:
                raise ValueError(
                    f"decision {self.id!r}: the journal holds only the propensity of the chosen "
                    "arm, because it explored or its policy needs more than estimates"
                )
            self._cache["propensities"] = propensities(self.id, self.inputs, self._config)
        return self._cache["propensities"]

    @property
    def inputs(self) -> Inputs:
        """What the decision was made of."""
        if self._inputs is None:
            raise ValueError(
                f"decision {self.id!r}: its inputs are known only to the Decision that the first "
                "call returned, or to a journal"
            )
        return self._inputs

    @property
    def config(self) -> AgentConfig:
        """That of the agent when it was made."""
        return self._config

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        mine, theirs = self._weights, other._weights
        same = mine is theirs if mine is None or theirs is None else np.array_equal(mine, theirs)
        return (
            same
            and (self.id, self.arm, self.time) == (other.id, other.arm, other.time)
            and np.array_equal(self._estimates, other._estimates)
        )

    def __hash__(self) -> int:
        return hash(self.id)

    def __copy__(self) -> "Decision":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Decision":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Decision, tuple((self.__dict__ | {"_inputs": None}).values())

    def __repr__(self) -> str:
        expected = ", ".join(f"{name} {value:.4g}" for name, value in self.estimates.items())
        why = ", exploring" if self.exploring else ", uniform draw" if self.uniform else ""
        return f"<Decision {self.id!r}: arm {self.arm!r}{why}, expecting {expected}>"


def propensities(id: str, inputs: Inputs, config: AgentConfig) -> Propensities:
    """Return the probabilities of arms; estimates draw by the decision's id."""
    values, errors = inputs.probabilities(rng=draws(config.seed, id, purpose="propensity"))
    for array in (values, errors):
        array.flags.writeable = False
    return Propensities(inputs.arms.ids, values, errors)


def chance_of_arm(id: str, arm: str, inputs: Inputs, config: AgentConfig) -> tuple[float, float]:
    """Return the probability with which an arm was chosen, with its standard error."""
    return _chance(propensities(id, inputs, config), arm)


def _chance(chances: Propensities, arm: str) -> tuple[float, float]:
    place = chances.arms.index(arm)
    return float(chances.values[place]), float(chances.errors[place])

"""What an agent decided, and what a caller sees of it."""

from typing import Any, NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.live.deciding.basis import Basis
from mogro.live.deciding.draws import draws
from mogro.live.settings import Settings


class Propensities(NamedTuple):
    """Probabilities of all eligible arms: ids, values (K,), standard errors (K,)."""

    arms: tuple[str, ...]
    values: FloatArray
    errors: FloatArray


def propensities(id: str, basis: Basis, settings: Settings, *, exploiting: bool) -> Propensities:
    """Return the probabilities of arms on this basis; estimates draw by the decision's id."""
    rng = draws(settings.seed, id, purpose="propensity")
    found = basis.probabilities(settings, exploiting=exploiting, rng=rng)
    for array in found:
        array.flags.writeable = False
    return Propensities(basis.arms.ids, found.values, found.errors)


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


class Decision:
    """One decision; nothing changes it any more.

    Notes
    -----
    Propensities are computed when asked for, from what the decision was based on, which the object
    holds. A decision that was asked for again, by its id, is the same decision, but what it was
    based on is gone: ask the first one, or with a journal :meth:`mogro.Agent.decision`. So it is
    with one that was pickled, unless its propensities had been asked for.
    """

    __slots__ = (
        "_arm",
        "_basis",
        "_estimates",
        "_exploring",
        "_id",
        "_propensities",
        "_propensity",
        "_settings",
        "_time",
        "_uniform",
        "_weights",
    )

    def __init__(
        self,
        id: str,
        arm: str,
        *,
        exploring: bool,
        uniform: bool,
        time: float,
        weights: FloatArray | None,
        estimates: FloatArray,
        settings: Settings,
        basis: Basis | None,
        propensity: tuple[float, float] | None = None,
    ) -> None:
        self._id = id
        self._arm = arm
        self._exploring = exploring
        self._uniform = uniform
        self._time = time
        self._weights = weights
        self._estimates = estimates
        self._settings = settings
        self._basis = basis
        self._propensities: Propensities | None = None
        self._propensity = propensity  # with its error

    @property
    def id(self) -> str:
        """To give rewards by."""
        return self._id

    @property
    def arm(self) -> str:
        """The arm chosen."""
        return self._arm

    @property
    def exploring(self) -> bool:
        """Whether it was chosen to explore."""
        return self._exploring

    @property
    def uniform(self) -> bool:
        """Whether it was drawn from all arms alike."""
        return self._uniform

    @property
    def time(self) -> float:
        """The time the caller gave, 0 if none."""
        return self._time

    @property
    def weights(self) -> dict[str, float] | None:
        """Importance of each objective, per unit; None if the policy used none this time."""
        return None if self._weights is None else self._settings.units.named(self._weights)

    @property
    def estimates(self) -> dict[str, float]:
        """What the arm was expected to give, in the user's units."""
        units = self._settings.units
        return units.named(units.outward(self._estimates))

    @property
    def propensity(self) -> float:
        """The probability with which the agent chose this arm among these, then.

        Exact for one and two objectives, and where the policy does not draw weights; otherwise an
        estimate with :attr:`propensity_error`. Thompson sampling is always estimated. Of a decision
        that was observed, what its maker said; NaN if they did not.
        """
        return self._chance()[0]

    @property
    def propensity_error(self) -> float:
        """The standard error of :attr:`propensity`; 0 if it is exact."""
        return self._chance()[1]

    def _chance(self) -> tuple[float, float]:
        if self._propensity is None:
            found = self.propensities
            place = found.arms.index(self.arm)
            self._propensity = float(found.values[place]), float(found.errors[place])
        return self._propensity

    @property
    def propensities(self) -> Propensities:
        """The same for every eligible arm; computed once."""
        if self._propensities is None:
            basis = self.basis
            if basis.learned is None and self._propensity is not None:
                raise ValueError(
                    f"decision {self.id!r}: of its propensities the journal holds only that of "
                    "the arm chosen, because it explored or its policy asks for more than estimates"
                )
            known = not self.exploring and not self.uniform  # that there was nothing to explore
            self._propensities = propensities(self.id, basis, self._settings, exploiting=known)
        return self._propensities

    @property
    def basis(self) -> Basis:
        """What the decision was based on."""
        if self._basis is None:
            raise ValueError(
                f"decision {self.id!r}: what it was based on is gone, because it was asked for "
                "again; only the object of the first call knows"
            )
        return self._basis

    @property
    def settings(self) -> Settings:
        """Those of the agent when it was made."""
        return self._settings

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

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {name: getattr(self, name) for name in self.__slots__} | {"_basis": None}

    def __repr__(self) -> str:
        expected = ", ".join(f"{name} {value:.4g}" for name, value in self.estimates.items())
        why = ", exploring" if self.exploring else ", any arm" if self.uniform else ""
        return f"<Decision {self.id!r}: arm {self.arm!r}{why}, expecting {expected}>"

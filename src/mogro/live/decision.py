"""What an agent decided, and what came of it."""

from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.live.choosing import Plan
from mogro.live.draws import draws_of, hash_of
from mogro.live.setup import Setup


class Outcome(NamedTuple):
    """What became of the values given to :meth:`Agent.reward`, in numbers of objectives."""

    learned: int = 0  # observed now, for the first time
    repeated: int = 0  # the same value had come before: ignored
    late: int = 0  # after the window: recorded, not learned


class Propensities(NamedTuple):
    """Probabilities of all eligible arms: ids, values (K,), standard errors (K,)."""

    arms: list[str]
    values: FloatArray
    errors: FloatArray


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
    time
        The time the caller gave, 0 if none.

    Notes
    -----
    Propensities are computed when asked for, from what the decision was based on, which the object
    holds. A decision that was asked for again, by its id, is the same decision, but what it was
    based on is gone: ask the first one.
    """

    __slots__ = (
        "_chances",
        "_estimates",
        "_plan",
        "_setup",
        "_weights",
        "arm",
        "exploring",
        "id",
        "time",
    )

    def __init__(
        self,
        id: str,
        arm: str,
        exploring: bool,
        time: float,
        weights: FloatArray | None,
        estimates: FloatArray,
        setup: Setup,
        plan: Plan | None,
    ) -> None:
        self.id = id
        self.arm = arm
        self.exploring = exploring
        self.time = time
        self._weights = weights
        self._estimates = estimates
        self._setup = setup
        self._plan = plan
        self._chances: Propensities | None = None

    @property
    def weights(self) -> dict[str, float] | None:
        """Importance of each objective, per unit; None if the policy used none this time."""
        return None if self._weights is None else self._setup.units.named(self._weights)

    @property
    def estimates(self) -> dict[str, float]:
        """What the arm was expected to give, in the user's units."""
        return self._setup.units.named(self._setup.units.outward(self._estimates))

    @property
    def propensity(self) -> float:
        """The probability with which the policy chose this arm among these, then.

        Exact for one and two objectives, and where the policy does not draw weights; otherwise an
        estimate with :attr:`propensity_error`. Thompson sampling is always estimated.
        """
        found = self.propensities
        return float(found.values[found.arms.index(self.arm)])

    @property
    def propensity_error(self) -> float:
        """The standard error of :attr:`propensity`; 0 if it is exact."""
        found = self.propensities
        return float(found.errors[found.arms.index(self.arm)])

    @property
    def propensities(self) -> Propensities:
        """The same for every eligible arm; computed once."""
        from mogro.live.propensity import chances

        if self._chances is None:
            plan = self.plan
            start = hash_of(self._setup.seed, purpose=b"propensity")
            found = chances(plan, rng=draws_of(self.id, start))
            self._chances = Propensities(plan.offer.ids, found.values, found.errors)
        return self._chances

    @property
    def plan(self) -> Plan:
        """What the decision was based on."""
        if self._plan is None:
            raise ValueError(
                f"decision {self.id!r}: what it was based on is gone, because it was asked for "
                "again; only the object of the first call knows"
            )
        if self._plan.offer.eligible is not None:
            self._plan = self._plan._replace(offer=self._plan.offer.listed())
        return self._plan

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

    def __repr__(self) -> str:
        expected = ", ".join(f"{name} {value:.4g}" for name, value in self.estimates.items())
        why = ", exploring" if self.exploring else ""
        return f"<Decision {self.id!r}: arm {self.arm!r}{why}, expecting {expected}>"

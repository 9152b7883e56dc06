"""Budgets: bounds that the mean of an objective keeps over many decisions."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from mogro._validation import FloatArray, between, real
from mogro.agent.objective import LARGEST
from mogro.agent.objective_set import ObjectiveSet

_WITHIN = ("decisions", "time")


class BudgetStatus(NamedTuple):
    """How a budget stands; see :attr:`mogro.Agent.budgets`.

    Attributes
    ----------
    budget
        What was asked for.
    target
        The bound on the mean, in the objective's own units.
    decisions
        How many count; of a window, those in it.
    spent
        The sum of what came back; of what will not come any more, of what was expected.
    in_flight
        The sum of what is expected of those whose value has not come; arms of which nothing is
        known count as half the burst, unless there is plenty of room.
    room
        What may still be spent, the burst included; below 0 the burst is exceeded, too. Of a bound
        from below it is what may still be missed.
    price
        What one unit of the objective (as rewards are given, not its ``unit``) counts beside the
        other objectives now, if weights sum to 1.
    forecast
        The mean, once all that is in flight has come as expected; NaN before the first decision.
    feasible
        False if even the cheapest arms were expected to miss the bound, on average. Each budget is
        looked at by itself.
    """

    budget: "Budget"
    target: float
    decisions: int
    spent: float
    in_flight: float
    room: float
    price: float
    forecast: float
    feasible: bool

    def __str__(self) -> str:
        bound = "at most" if self.budget.at_most is not None else "at least"
        numbers = f"{self.forecast:.4g} over {self.decisions:,}, room {self.room:.4g}"
        text = (
            f"{self.budget.objective} {bound} {self.target:.4g}: {numbers}, price {self.price:.4g}"
        )
        return text if self.feasible else f"{text}; even the cheapest arms miss it"


@dataclass(frozen=True)
class Budget:
    """A bound that the mean of an objective keeps, over all decisions or the last of them.

    Every decision adds the bound to what may be spent, and its arm takes away what it costs: what
    came back if it has, else what was expected of it. Two things keep the account in balance. A
    price on the objective, added to its weight, rises as the account falls and falls as it
    fills, so that some 30 decisions' worth stay in it. And an arm is not chosen, not even to
    explore, if it would overdraw the account by more than ``burst`` decisions' worth, should it
    cost more than expected (or bring nothing); if all would, the cheapest arm is chosen, or if that
    one misses the bound, now and then one that looks dearer and may be cheaper. How much more
    follows from how far costs were from what was expected of them: three times their root mean
    square, as a share. An arm that is expected to spend no more than the bound needs no such room.

    Parameters
    ----------
    objective
        The name of the objective.
    at_most, at_least
        The bound, a mean for each decision in the objective's own units. Give one of the two.
    burst
        By how many decisions' worth (``burst`` times the size of the bound) the account may be
        overdrawn.
    window
        Over how many of the last decisions the bound holds; without it, over all.
    within
        ``"time"`` if the window is in the caller's time.
    max_cost
        The most that a decision can cost, if somebody knows. See the notes.

    Notes
    -----
    *What is promised.* At every decision the spend that came back, plus what is expected of what is
    in flight and of the chosen arm, is at most n times the bound plus ``burst`` decisions' worth,
    unless there was no such arm: then it is the cheapest, and :attr:`mogro.Agent.budgets` says
    whether even that one is too dear. Realised spend mostly keeps the limit, too, because there is
    room for an arm, and for each in flight, to cost more than expected: two and a half times as
    much at first, less where costs turn out as they were expected, more where they do not. What
    costs more than eleven times as much is no surprise any larger than that.

    *What is not.* Nobody can know what an arm costs that was never tried: its first decision costs
    what it costs, so with nothing known K arms may overdraw the account once each. Until its cost
    has come, such an arm counts as half the burst, whatever its estimate, and there has to be room
    for the whole: so arms are tried one at a time unless there is plenty of room (for as much for
    each in flight, and once again; then it counts as its estimate), and none while the account is
    overdrawn, unless all arms that are known are above the bound on average. Tell an agent what
    arms cost with :meth:`mogro.Agent.observe`: then expected spend keeps its limit from the first
    decision.

    *What is expected* are the estimates. In a context they are relied on once there are more
    observations than features; until then as far as differences between contexts came true. Later,
    too, what looks cheaper in a context than on average is mostly underestimated: unless there is
    ample room for the arm (for all in flight as much, and once again), it counts as cheaper only as
    far as that came true before, and not at all if the arm was observed less often than contexts
    have features.

    An estimate below 0 of what is bounded by ``at_most`` above 0 counts as 0: income counts when it
    has come. No more money is saved than the last decisions would have spent without a price. A
    bound is no goal: without weights a policy draws some for the bound objective, too, and may
    spend less; give all weight to the others if all is to be spent.

    With ``max_cost`` realised spend is promised, too, for certain: the arm to be chosen and each
    decision in flight count at ``max_cost``, whatever is expected of them. So whenever more is on
    offer than the cheapest arm, all that is spent up to then, with what is in flight and this arm,
    turns out within n times the bound plus ``burst`` decisions' worth. Where there is no such
    room, there is only the cheapest arm: let the burst be worth ``max_cost`` times one more than
    are usually in flight. Nothing is certain of a cost that never comes, which counts at its
    estimate once its window has closed; of a holdout, which spends what it spends; and of arms of
    which nothing is known, which are tried if all others are above the bound on average.

    What was decided by others (:meth:`mogro.Agent.observe`, :meth:`mogro.Agent.learn`) does not
    count, nor do decisions that were withdrawn or whose condition was not met.

    Examples
    --------
    >>> Budget("cost", at_most=0.0005, burst=20).reserve
    0.01
    """

    objective: str
    _: KW_ONLY
    at_most: float | None = None
    at_least: float | None = None
    burst: float = 20.0
    window: float | None = None
    within: Literal["decisions", "time"] = "decisions"
    max_cost: float | None = None

    def __post_init__(self) -> None:
        if type(self.objective) is not str or not self.objective:
            raise ValueError(
                f"objective: expected the name of an objective, got {self.objective!r}"
            )
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(
                "budgets: expected either at_most or at_least, got "
                f"at_most={self.at_most}, at_least={self.at_least}"
            )
        for name in ("at_most", "at_least"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, real(getattr(self, name), name))
        object.__setattr__(self, "burst", between(self.burst, "burst", 0, LARGEST, closed="(]"))
        if self.bound == 0:
            raise ValueError(
                f"budgets: expected a bound other than 0 for {self.objective!r}, because the burst "
                "is measured by it; shift the objective, or give a small bound"
            )
        if not 1 / LARGEST <= self.worth <= LARGEST:
            name = "at_least" if self.at_most is None else "at_most"
            sizes = f"{1 / LARGEST:g} to {LARGEST:g}"
            raise ValueError(f"{name}: expected a size from {sizes}, got {getattr(self, name)!r}")
        if self.within not in _WITHIN:
            raise ValueError(f"within: expected 'decisions' or 'time', got {self.within!r}")
        if self.window is not None:
            decisions = self.within == "decisions"
            least = {"minimum": 1.0} if decisions else {"above": 0.0}
            object.__setattr__(self, "window", real(self.window, "window", **least))
        elif self.within == "time":
            raise ValueError("window: expected a length of time beside within='time', got None")
        if self.max_cost is not None:
            object.__setattr__(self, "max_cost", real(self.max_cost, "max_cost", above=0))
            if self.at_most is None or self.at_most < 0:
                raise ValueError(
                    "max_cost: expected only beside at_most above 0, got another bound"
                )

    @cached_property
    def sign(self) -> float:
        """1 if large values are dear, -1 if small ones are: spend is the value times this."""
        return 1.0 if self.at_most is not None else -1.0

    @cached_property
    def bound(self) -> float:
        """The most that a decision may spend on average."""
        if self.at_most is not None:
            return self.at_most
        assert self.at_least is not None
        return -self.at_least

    @cached_property
    def worth(self) -> float:
        """What a decision's worth is."""
        return abs(self.bound)

    @cached_property
    def reserve(self) -> float:
        """What the burst is worth."""
        return self.burst * self.worth


class Spending:
    """How the learner's values become spends of budgets, and prices weights.

    Attributes
    ----------
    indices
        The objective of each budget.
    matrix, shifts, floors
        Values (..., M) times (M, B), plus (B,), are spends, where they are above floors (B,): what
        is bounded by a positive number from above is not expected to be income.
    signs, weights
        Of each budget, and what a price of 1 adds to the weight of its objective, B of them.
    sizes
        A decision's worth of each objective, (M,), as the learner sees it; huge without a budget.
    """

    def __init__(self, budgets: Sequence[Budget], objective_set: ObjectiveSet) -> None:
        self.indices = [objective_set.index[budget.objective] for budget in budgets]
        self._shared = [0] * len(self.indices)
        self.signs = [budget.sign for budget in budgets]
        self._signed = list(zip(self.signs, self.indices, strict=True))
        slopes = [sign * objective_set.slopes[m] for sign, m in self._signed]
        shifts = [sign * objective_set.offsets[m] + 0.0 for sign, m in self._signed]  # not -0
        floors = [0.0 if budget.bound > 0 else -math.inf for budget in budgets]
        self._lines = list(zip(self.indices, slopes, shifts, floors, strict=True))
        self.matrix: FloatArray = np.zeros((len(objective_set), len(budgets)))
        self.matrix[self.indices, range(len(budgets))] = slopes
        self.shifts: FloatArray = np.array(shifts)
        self.floors: FloatArray = np.array(floors)
        self.weights = [-slope for slope in slopes]  # the learner maximises
        self.sizes = np.full(len(objective_set), np.finfo(np.float64).max)
        for budget, m in zip(budgets, self.indices, strict=True):
            self.sizes[m] = min(self.sizes.item(m), budget.worth / abs(objective_set.slopes[m]))

    def weights_of(self, prices: Sequence[float]) -> FloatArray:
        """Return what prices of all budgets add to the weights, (M,)."""
        added = [0.0] * len(self.sizes)
        for m, weight, price in zip(self.indices, self.weights, prices, strict=True):
            added[m] += weight * price
        return np.array(added)

    def by_budget(self, array: FloatArray) -> FloatArray:
        """Return what an array (K, M), or (K, 1) if objectives share it, is for budgets: (K, B)."""
        return array[:, self.indices if array.shape[1] > 1 else self._shared]

    def expected(self, estimates: FloatArray) -> list[float]:
        """Return what each budget expects of an arm, by estimates (M,)."""
        values = estimates.tolist()
        return [max(values[m] * slope + shift, floor) for m, slope, shift, floor in self._lines]

    def are_within(self, estimates: FloatArray, limits: Sequence[float]) -> bool:
        """Tell whether no budget expects more of an arm than a limit, by estimates (M,).

        A limit is no lower than the least that is expected, or -inf.
        """
        values = estimates.tolist()
        for (m, slope, shift, _), limit in zip(self._lines, limits, strict=True):
            if not values[m] * slope + shift <= limit:
                return False
        return True

    def spent(self, values: Sequence[float]) -> list[float]:
        """Return what each budget has spent, by what came of all objectives, M values."""
        return [sign * values[m] for sign, m in self._signed]

    def all_expected(self, estimates: FloatArray) -> FloatArray:
        """Return what all budgets expect of all arms by estimates (K, M): (K, B)."""
        return np.asarray(np.maximum(estimates @ self.matrix + self.shifts, self.floors))

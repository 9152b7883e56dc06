"""Claims of the paper as checks: a number, an interval and a verdict for each case."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mogro.experiments.statistics import Interval
from mogro.experiments.table import Table, table


@dataclass(frozen=True)
class Case:
    """One place where a claim is checked.

    Attributes
    ----------
    where
        What was looked at.
    number
        What came out.
    holds
        Whether the claim holds there; nobody can tell if the number is unknown.
    margin
        How far the number is on the right side of what decides, negative on the wrong side.
    """

    where: str
    number: Interval
    holds: bool
    margin: float = 0.0

    @property
    def outcome(self) -> str:
        """What to say of the claim in this case."""
        if not self.number.known:
            return "unknown"
        return "holds" if self.holds else "fails"


@dataclass(frozen=True)
class Claim:
    """A claim and the cases that decide it.

    Attributes
    ----------
    name
        A short name.
    says
        What is claimed.
    measure
        What the numbers are, and what they have to be for the claim to hold.
    cases
        At least one.
    varies
        What the cases differ in, for the verdict "depends on ...".
    beyond
        Whether it is no claim of the paper's experiments.
    """

    name: str
    says: str
    measure: str
    cases: Sequence[Case]
    varies: str = "the size"
    beyond: bool = False

    @property
    def verdict(self) -> str:
        """Reproduced if it holds in every case, not reproduced if in none, else it depends.

        A claim with a case of which nobody can tell has no verdict.
        """
        outcomes = [case.outcome for case in self.cases]
        held, every = outcomes.count("holds"), len(outcomes)
        if unknown := outcomes.count("unknown"):
            some = f" ({unknown} of {every} cases)" if unknown < every else ""
            return f"too few runs{some}"
        if held == every:
            return "reproduced"
        if not held:
            return "not reproduced"
        return f"depends on {self.varies} ({held} of {every})"

    @property
    def closest(self) -> Case:
        """The case to quote: one that fails before one that holds, the one least on its side."""
        return min(self.cases, key=lambda case: (case.outcome == "holds", case.margin))


def below(limit: float, numbers: Iterable[tuple[str, Interval]]) -> list[Case]:
    """Return cases that hold where the whole interval is below the limit."""
    return [Case(where, n, n.high < limit, limit - n.high) for where, n in numbers]


def above(limit: float, numbers: Iterable[tuple[str, Interval]]) -> list[Case]:
    """Return cases that hold where the whole interval is above the limit."""
    return [Case(where, n, n.low > limit, n.low - limit) for where, n in numbers]


def within(low: float, high: float, numbers: Iterable[tuple[str, Interval]]) -> list[Case]:
    """Return cases that hold where the whole interval is between the limits, or on them."""
    return [
        Case(where, n, low <= n.low and n.high <= high, min(n.low - low, high - n.high))
        for where, n in numbers
    ]


def as_table(claims: Iterable[tuple[str, Claim]]) -> Table:
    """Return one row for each case of claims, given with the names of their figures."""
    names = (
        "figure",
        "claim",
        "says",
        "measure",
        "verdict",
        "where",
        "value",
        "low",
        "high",
        "outcome",
    )
    return table(
        names,
        [
            (
                figure,
                c.name,
                c.says,
                c.measure,
                c.verdict,
                case.where,
                *case.number,
                case.outcome,
            )
            for figure, c in claims
            for case in c.cases
        ],
    )

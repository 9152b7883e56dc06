"""Claims of the paper as checks: a number, an interval and a verdict for each case."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mogro.experiments.statistics import Interval
from mogro.experiments.table import Table, table


@dataclass(frozen=True)
class Case:
    """One place where a claim is checked."""

    where: str
    number: Interval
    holds: bool


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
    """

    name: str
    says: str
    measure: str
    cases: Sequence[Case]
    varies: str = "the size"

    @property
    def verdict(self) -> str:
        """Reproduced if it holds in every case, not reproduced if in none, else it depends."""
        held = [case.where for case in self.cases if case.holds]
        if len(held) == len(self.cases):
            return "reproduced"
        if not held:
            return "not reproduced"
        return f"depends on {self.varies} ({len(held)} of {len(self.cases)})"

    @property
    def closest(self) -> Case:
        """The case to quote: the first that fails, or else the first."""
        return next((case for case in self.cases if not case.holds), self.cases[0])


def below(limit: float, numbers: Iterable[tuple[str, Interval]]) -> list[Case]:
    """Return cases that hold where the whole interval is below the limit."""
    return [Case(where, number, number.high < limit) for where, number in numbers]


def above(limit: float, numbers: Iterable[tuple[str, Interval]]) -> list[Case]:
    """Return cases that hold where the whole interval is above the limit."""
    return [Case(where, number, number.low > limit) for where, number in numbers]


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
        "holds",
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
                str(case.holds),
            )
            for figure, c in claims
            for case in c.cases
        ],
    )

"""Claims as checks: a number, an interval and an outcome for each case, and one rule for verdicts.

A case *holds* if its whole interval is on the right side of the limit, *fails* if the whole
interval is on the other side, and is *undecided* otherwise. Where a ratio is compared with 1, an
interval within 0.9 to 1.1 is *no difference*, and whoever claims a difference fails there. A claim
is reproduced if all of its cases hold, not reproduced if one of them fails, and undecided
otherwise.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf

from mogro.simulation import ConfidenceInterval
from paper.lab.tables import Table, table

SAME = (0.9, 1.1)  # ratios between these are no difference
Numbers = Iterable[tuple[str, ConfidenceInterval]]


class Outcome(StrEnum):
    """What came out of a case."""

    HOLDS = "holds"
    FAILS = "fails"
    SAME = "no difference"
    UNDECIDED = "undecided"


class Verdict(StrEnum):
    """What came out of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Case:
    """One place where a claim is checked.

    Attributes
    ----------
    where
        What was looked at.
    number
        What came out.
    outcome
        Whether the claim holds there.
    margin
        How far the interval is on the right side of the limit, negative if it is not wholly there.
    """

    where: str
    number: ConfidenceInterval
    outcome: Outcome
    margin: float = 0.0


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
        What the numbers are, and what they have to be for the claim to hold; also why, where the
        rule is not the usual one.
    cases
        At least one.
    setting
        How MOGRO explores, if the claim was checked for more than one way.
    beyond
        Whether it is no claim of the paper's experiments.
    headline
        Whether it is what the paper is about, to be told in the conclusion.
    check
        Whether it could not have come out otherwise: a check of the code, which no tally counts.
    """

    name: str
    says: str
    measure: str
    cases: Sequence[Case]
    setting: str = ""
    beyond: bool = False
    headline: bool = False
    check: bool = False

    @property
    def verdict(self) -> Verdict:
        """Reproduced if all cases hold, not reproduced if one fails, else undecided."""
        outcomes = {case.outcome for case in self.cases}
        if outcomes & {Outcome.FAILS, Outcome.SAME}:
            return Verdict.NOT_REPRODUCED
        return Verdict.REPRODUCED if outcomes == {Outcome.HOLDS} else Verdict.UNDECIDED

    @property
    def word(self) -> str:
        """The verdict as it is told; a check passes or does not."""
        if not self.check:
            return str(self.verdict)
        return "passes" if self.verdict is Verdict.REPRODUCED else "does not pass"

    @property
    def tally(self) -> str:
        """How many cases came out how, as "holds in 4, undecided in 2 cases"."""
        outcomes = [case.outcome for case in self.cases]
        parts = [f"{which} in {n}" for which in Outcome if (n := outcomes.count(which))]
        return f"{', '.join(parts)} {'case' if len(outcomes) == 1 else 'cases'}"

    @property
    def closest(self) -> Case:
        """The case to quote: one that decides the verdict, the one least on the right side."""
        order = (Outcome.FAILS, Outcome.SAME, Outcome.UNDECIDED, Outcome.HOLDS)
        return min(self.cases, key=lambda case: (order.index(case.outcome), case.margin))


@dataclass(frozen=True)
class Claims:
    """Claims, each with the name of its figure; iterates over these pairs.

    Examples
    --------
    >>> cases = lower([("small", ConfidenceInterval(0.5, 0.4, 0.6))])
    >>> claims = Claims([("main", Claim("A beats B", "A beats B.", "ratio, below 1", cases))])
    >>> claims.columns()["outcome"].tolist()
    ['holds']
    """

    judged: Sequence[tuple[str, Claim]]

    def __iter__(self) -> Iterator[tuple[str, Claim]]:
        return iter(self.judged)

    def __len__(self) -> int:
        return len(self.judged)

    def columns(self) -> Table:
        """Return a row for each case: its figure and claim, and what came out."""
        names = ("figure", "claim", "setting", "says", "measure", "verdict")
        return table(
            (*names, "where", "value", "low", "high", "outcome"),
            [
                (
                    *(figure, c.name, c.setting, c.says, c.measure, c.word),
                    *(case.where, *case.number, str(case.outcome)),
                )
                for figure, c in self
                for case in c.cases
            ],
        )


def below(limit: float, numbers: Numbers) -> list[Case]:
    """Return cases that hold where the whole interval is below the limit."""
    return [_case(where, n, limit - n.high, limit - n.low) for where, n in numbers]


def above(limit: float, numbers: Numbers) -> list[Case]:
    """Return cases that hold where the whole interval is above the limit."""
    return [_case(where, n, n.low - limit, n.high - limit) for where, n in numbers]


def lower(ratios: Numbers) -> list[Case]:
    """Return cases that hold where a ratio is below 1, by more than what is no difference."""
    return [_unless_same(case) for case in below(1.0, ratios)]


def higher(ratios: Numbers) -> list[Case]:
    """Return cases that hold where a ratio is above 1, by more than what is no difference."""
    return [_unless_same(case) for case in above(1.0, ratios)]


def alike(ratios: Numbers) -> list[Case]:
    """Return cases that hold where a ratio is no difference."""
    low, high = SAME
    return [
        _case(where, n, min(n.low - low, high - n.high), min(n.high - low, high - n.low))
        for where, n in ratios
    ]


def certain(where: str, number: ConfidenceInterval, holds: bool, margin: float = 0.0) -> Case:
    """Return a case that was checked row by row, or in another way that leaves no doubt."""
    if not number.known:
        return Case(where, number, Outcome.UNDECIDED, margin)
    return Case(where, number, Outcome.HOLDS if holds else Outcome.FAILS, margin)


def rarely(where: str, shares: Sequence[tuple[ConfidenceInterval, float]]) -> Case:
    """Return the case that shares, each with what is allowed, are no larger: the worst is quoted.

    It holds only where whole intervals are within what is allowed, which takes many runs.
    """
    worst = max((share for share, _ in shares), key=lambda share: share.value)
    margins = [(bound - share.high, bound - share.low) for share, bound in shares]
    surest, best = (min(ends) for ends in zip(*margins, strict=True))
    if best < 0:
        return Case(where, worst, Outcome.FAILS, surest)
    return Case(where, worst, Outcome.HOLDS if surest >= 0 else Outcome.UNDECIDED, surest)


def against_bounds(cases: Sequence[Case], *, vacuous: Sequence[bool]) -> list[Case]:
    """Return cases that compare runs with bounds, some of which no run could break.

    Those hold, say so, and are the last to be quoted. If all are such, nothing was checked.
    """
    marked = [
        replace(case, where=f"{case.where}, bound vacuous", outcome=Outcome.HOLDS, margin=inf)
        if empty and case.number.known
        else case
        for case, empty in zip(cases, vacuous, strict=True)
    ]
    if all(vacuous):
        return [replace(case, outcome=Outcome.UNDECIDED) for case in marked]
    return marked


def _case(where: str, number: ConfidenceInterval, worst: float, best: float) -> Case:
    """Return a case, given how far the ends of the interval are on the right side."""
    if worst > 0:
        return Case(where, number, Outcome.HOLDS, worst)
    return Case(where, number, Outcome.FAILS if best <= 0 else Outcome.UNDECIDED, worst)


def _unless_same(case: Case) -> Case:
    same = SAME[0] <= case.number.low and case.number.high <= SAME[1]
    return Case(case.where, case.number, Outcome.SAME, case.margin) if same else case


def conclude(claims: Sequence[Claim]) -> str:
    """Return one sentence on all claims; what the paper is about comes first.

    Examples
    --------
    >>> cases = lower([("small", ConfidenceInterval(0.5, 0.4, 0.6))])
    >>> print(conclude([Claim("A beats B", "A beats B.", "ratio, below 1", cases)]))
    Of 1 claim checked here 1 is reproduced, 0 are not reproduced and 0 are undecided.
    """
    checks = [claim for claim in claims if claim.check]
    claims = [claim for claim in claims if not claim.check]
    counts = [(sum(claim.verdict == v for claim in claims), v) for v in Verdict]
    phrases = [f"{n} {'is' if n == 1 else 'are'} {verdict}" for n, verdict in counts]
    every = f"{len(claims)} claim{'s' * (len(claims) != 1)} checked here"
    passed = sum(claim.verdict is Verdict.REPRODUCED for claim in checks)
    code = f"; {passed} of {len(checks)} checks of the code pass" if checks else ""
    tally = f"{every} {phrases[0]}, {phrases[1]} and {phrases[2]}{code}."
    headline = _headline(claims)
    return f"{headline}; of {tally}" if headline else f"Of {tally}"


def _headline(claims: Sequence[Claim]) -> str:
    """Return for which ways to explore MOGRO has the lowest regrets."""
    settings = dict.fromkeys(claim.setting for claim in claims if claim.headline)
    verdicts = {
        setting: _together([c for c in claims if c.headline and c.setting == setting])
        for setting in settings
    }
    if not verdicts:
        return ""
    parts = [
        f"{verdict} {' and '.join(s for s in settings if verdicts[s] == verdict)}"
        for verdict in dict.fromkeys(verdicts.values())
    ]
    unknown = ", and the paper does not give B" if len(parts) > 1 else ""
    return f"That MOGRO has the lowest regrets is {', '.join(parts)}{unknown}"


def _together(claims: Sequence[Claim]) -> str:
    held = sum(claim.verdict is Verdict.REPRODUCED for claim in claims)
    if held == len(claims):
        return str(Verdict.REPRODUCED)
    failed = any(claim.verdict is Verdict.NOT_REPRODUCED for claim in claims)
    word = Verdict.NOT_REPRODUCED if failed else Verdict.UNDECIDED
    return f"{word} ({held} of {len(claims)} claims hold)"

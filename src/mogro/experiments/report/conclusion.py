"""What came out, in one sentence."""

from collections.abc import Sequence

from mogro.experiments.report.claims import Claim, Verdict


def conclude(claims: Sequence[Claim]) -> str:
    """Return one sentence on all claims; what the paper is about comes first.

    Examples
    --------
    >>> from mogro._intervals import ConfidenceInterval
    >>> from mogro.experiments.report.claims import lower
    >>> cases = lower([("small", ConfidenceInterval(0.5, 0.4, 0.6))])
    >>> print(conclude([Claim("A beats B", "A beats B.", "ratio, below 1", cases)]))
    Of 1 claim checked here 1 is reproduced, 0 are not reproduced and 0 are undecided.
    """
    counts = [(sum(claim.verdict == v for claim in claims), v) for v in Verdict]
    told = [f"{n} {'is' if n == 1 else 'are'} {verdict}" for n, verdict in counts]
    every = f"{len(claims)} claim{'s' * (len(claims) != 1)} checked here"
    tally = f"{every} {told[0]}, {told[1]} and {told[2]}."
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

"""On how many examples a property is tried."""

from hypothesis import settings

_USUAL = 100


def examples(number: int) -> settings:
    """Return settings for a property that wants so many examples, or as few as the profile asks.

    A number that stood in ``settings`` would be taken by every profile, the fast one among them.
    """
    share = settings().max_examples / _USUAL
    return settings(deadline=None, max_examples=max(1, round(share * number)))

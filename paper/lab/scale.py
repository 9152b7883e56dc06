"""How much to run: every figure's own scale, or less of it."""

from dataclasses import dataclass

_QUICK_SHARE = 10


@dataclass(frozen=True)
class Scale:
    """The size of a reproduction.

    Parameters
    ----------
    instances, repeats
        Problem instances, and runs in each, in place of every figure's own numbers.
    seed
        Where all randomness comes from.
    rounds
        Rounds of every figure, in place of its own number.
    quick
        A tenth of every figure's own rounds, and less of what is swept: a look, not a result.

    Examples
    --------
    >>> Scale().horizon(1000), Scale(quick=True).horizon(1000), Scale(rounds=70).horizon(1000)
    (1000, 100, 70)
    >>> Scale().sample(10, 20), Scale(quick=True).sample(10, 20), Scale(repeats=1).sample(10, 20)
    ((10, 20), (4, 5), (10, 1))
    """

    instances: int | None = None
    repeats: int | None = None
    seed: int = 0
    rounds: int | None = None
    quick: bool = False

    def smaller_than_own(self, rounds: int, sample: tuple[int, int]) -> bool:
        """Tell whether this is less than a figure has: rounds, or instances and repeats."""
        few = any(n < full for n, full in zip(self.sample(*sample), sample, strict=True))
        return few or self.quick or self.horizon(rounds) < rounds

    def horizon(self, rounds: int) -> int:
        """Return the rounds to run where a figure has ``rounds``."""
        if self.rounds is not None:
            return self.rounds
        return max(100, rounds // _QUICK_SHARE) if self.quick else rounds

    def sample(self, instances: int, repeats: int) -> tuple[int, int]:
        """Return how many instances and repeats to run where a figure has these."""
        if self.quick:
            instances, repeats = min(instances, max(4, instances // 10)), min(repeats, 5)
        return self.instances or instances, self.repeats or repeats

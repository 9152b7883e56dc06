"""How much to run: the paper's scale, or less of it."""

from dataclasses import dataclass

from mogro._validation import count

_QUICK_SHARE = 5


@dataclass(frozen=True)
class Scale:
    """The size of a reproduction.

    Parameters
    ----------
    instances, repeats
        Problem instances, and runs in each.
    seed
        Where all randomness comes from.
    rounds
        Rounds of every figure, in place of its own number.
    quick
        A fifth of every figure's own rounds, and less of what is swept: a look, not a result.

    Examples
    --------
    >>> Scale().horizon(1000), Scale.small().horizon(1000), Scale(rounds=70).horizon(1000)
    (1000, 200, 70)
    """

    instances: int = 10
    repeats: int = 20
    seed: int = 0
    rounds: int | None = None
    quick: bool = False

    def __post_init__(self) -> None:
        count(self.instances, "instances")
        count(self.repeats, "repeats")
        count(self.seed, "seed", minimum=0)
        if self.rounds is not None:
            count(self.rounds, "rounds", minimum=10)

    @classmethod
    def small(cls, *, seed: int = 0) -> "Scale":
        """Return the scale of ``--quick``."""
        return cls(instances=4, repeats=5, seed=seed, quick=True)

    def smaller_than_paper(self, rounds: int) -> bool:
        """Tell whether this is less than the paper's scale in a figure that has ``rounds``."""
        few = self.instances < Scale.instances or self.repeats < Scale.repeats
        return few or self.horizon(rounds) < rounds

    def horizon(self, rounds: int) -> int:
        """Return the rounds to run where the paper has ``rounds``."""
        if self.rounds is not None:
            return self.rounds
        return max(100, rounds // _QUICK_SHARE) if self.quick else rounds

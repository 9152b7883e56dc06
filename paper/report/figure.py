"""What a figure is: an experiment of the lab, and how it is drawn, judged and told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paper.lab.parallel import Results, Task
from paper.lab.reproduce import Tables
from paper.lab.scale import Scale
from paper.report.claims import Claim
from paper.report.style import Drawing


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Figure:
    """One figure of the report.

    Attributes
    ----------
    name
        Its name on the command line and of its folder.
    title
        Its heading.
    about
        What it runs and what to look for, in a few sentences.
    tasks
        The work, for a scale.
    tables
        Everything that is drawn or judged, from the results of the tasks.
    draw
        The drawing, from the tables alone.
    claims
        The checks, from the tables alone.
    missing
        Why it cannot be made here, if it cannot.
    shown
        Names of tables that the report shows in full.
    rounds, sample
        The rounds of a full run, and its instances and repeats.
    beyond
        Whether its claims go beyond those of the paper's experiments.
    """

    name: str
    title: str
    about: str
    tasks: Callable[[Scale], Sequence[Task]]
    tables: Callable[[Scale, Results], Tables]
    draw: Callable[[Tables], Drawing]
    claims: Callable[[Tables], list[Claim]]
    missing: Callable[[], str | None] = _nothing
    shown: tuple[str, ...] = ()
    rounds: int = 1000
    sample: tuple[int, int] = (1, 1)
    beyond: bool = False

"""What a figure is: pieces of work, tables made of their results, a drawing, and claims."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mogro.experiments.claims import Claim
from mogro.experiments.scale import Scale
from mogro.experiments.table import Table
from mogro.simulation.parallel import Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Tables = Mapping[str, Table]


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
    pieces
        The work, for a scale.
    tables
        Everything that is drawn or judged, from the results of the pieces.
    draw
        The drawing, from the tables alone.
    claims
        The checks, from the tables alone.
    missing
        Why it cannot be made here, if it cannot.
    shown
        Names of tables that the report shows in full.
    rounds
        The rounds of a full run.
    beyond
        Whether its claims go beyond those of the paper's experiments.
    """

    name: str
    title: str
    about: str
    pieces: Callable[[Scale], list[Piece]]
    tables: Callable[[Scale, Results], Tables]
    draw: Callable[[Tables], "Drawing"]
    claims: Callable[[Tables], list[Claim]]
    missing: Callable[[], str | None] = _nothing
    shown: tuple[str, ...] = ()
    rounds: int = 1000
    beyond: bool = False

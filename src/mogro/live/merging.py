"""Two agents that learned on separate traffic become one that knows what both know."""

import numpy as np

from mogro.live.books import Books
from mogro.live.errors import CannotMerge
from mogro.live.setup import Setup


def check_merge(
    mine: tuple[Setup, Books, frozenset[str]], theirs: tuple[Setup, Books, frozenset[str]]
) -> None:
    """Refuse agents that cannot be merged."""
    (setup, books, lineage), (other_setup, other_books, other_lineage) = mine, theirs
    different = setup.differences(other_setup)
    if different:
        raise CannotMerge(f"other: expected an agent of the same kind; it differs in {different}")
    if lineage & other_lineage:
        raise CannotMerge(
            "other: expected an agent with a past of its own, but what one of them learned is in "
            "both already: it was merged before, or is a copy"
        )
    common = books.ledger.rows.keys() & other_books.ledger.rows.keys()
    if common:
        raise CannotMerge(
            f"other: expected decisions of its own, but both hold {sorted(common)[:3]}; agents "
            "that make up ids need different seeds"
        )


def merge(mine: Books, theirs: Books) -> None:
    """Take over what another agent knows; it stays as it is."""
    mine.advance(theirs.learner.time)
    weight = mine.learner.merge(theirs.learner)
    if mine.steering is not None and theirs.steering is not None:
        mine.steering.merge(theirs.steering, weight)
    rows = theirs.ledger.live()
    ids, arms = theirs.ledger.ids, theirs.ledger.arms
    moved: dict[int, int] = {}
    for some, part in theirs.ledger.gather(rows):
        part.serial[...] += mine.tally.decisions
        listed = some.tolist()
        new = mine.ledger.fill([ids[row] for row in listed], [arms[row] for row in listed], part)
        moved.update(zip(listed, np.asarray(new).tolist(), strict=True))
    mine.tally.add(theirs.tally)
    mine.complete([moved[row] for row in theirs.ledger.completed])

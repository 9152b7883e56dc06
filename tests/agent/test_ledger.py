"""Rows by id: the index of the ledger, beside a dict."""

import copy
import pickle
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mogro
from mogro.agent import UnknownDecision
from mogro.agent.state import ledger
from mogro.agent.state.ledger import RowIndex


class Alike(str):
    """An id whose hash is one of a few: the same as that of others, near theirs, or the last."""

    __slots__ = ()

    def __hash__(self) -> int:
        return (0, 1, 1 << 25, (1 << 31) - 1)[len(self) % 4]


# Texts that are equal have one hash, so none of both kinds is.
ids = st.text("ab", min_size=1, max_size=7).map(Alike) | st.text(max_size=3).map("c".__add__)


@given(st.lists(ids, max_size=200))
@pytest.mark.parametrize("recent", [0, 3])
def test_an_index_is_a_dict(recent: int, visits: list[str]) -> None:
    """An id that is there goes, another one comes, in the lowest row that is free."""
    with patch.object(ledger, "_RECENT", recent):
        _live(visits)


def _live(visits: list[str]) -> None:
    listed: list[str] = []
    index, rows = RowIndex(listed), dict[str, int]()
    for id in visits:
        if id in rows:
            row = rows.pop(id)
            index.remove(id)
            listed[row] = ""
        else:
            row = next((row for row, other in enumerate(listed) if not other), len(listed))
            listed[row:] = [id, *listed[row + 1 :]]
            index.add(id, row)
            rows[id] = row
        assert [index.get(id) for id in visits] == [rows.get(id) for id in visits]
    for other in (RowIndex(listed), copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        assert [other.get(id) for id in visits] == [rows.get(id) for id in visits]


def test_many() -> None:
    listed = [f"visit {n}" for n in range(5000)]
    index = RowIndex([])
    index._ids = listed
    for row, id in enumerate(listed):
        index.add(id, row)
    assert [index.get(id) for id in listed] == list(range(5000))
    assert "visit 5000" not in index


def test_a_free_row_is_that_of_no_id() -> None:
    index = RowIndex(["a", "", "b"])
    assert index.get("") is None
    agent = mogro.Agent([mogro.Objective("click")], arms=1, seed=1)
    for id in "abc":
        agent.decide({"x": [1.0]}, id=id)
    agent.erase("b")
    copied = copy.copy(agent)  # its index is made anew
    for call in (copied.decision, copied.withdraw, copied.activate, copied.erase):
        with pytest.raises(UnknownDecision):
            call("")
    with pytest.raises(UnknownDecision):
        copied.reward("", {"click": 1.0})
    assert copied.counters == agent.counters


def test_ids_that_are_alike_are_refused() -> None:
    RowIndex(["a", "", "b", ""])
    with pytest.raises(ValueError, match="different"):
        RowIndex(["a", "", "b", "a"])


def test_a_frozen_ledger_finds_the_decisions_that_it_holds() -> None:
    agent = mogro.Agent(
        [mogro.Objective("sales")], arms=1, seed=0, retention=mogro.Retention(decisions=1)
    )
    for id in ("a", "b", "c", "d"):
        agent.decide({"x": [1.0]}, id=id)
        agent.reward(id, {"sales": 1.0})
        if id == "a":
            frozen = agent.freeze().ledger
    assert [frozen.rows_by_id.get(id) is not None for id in "abcd"] == [True, False, False, False]

"""Arrays behind a header come back to the bit; damage is refused, at little cost."""

import hashlib
import json
import tracemalloc
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_st

from mogro._codec import MAGIC, decode, encode, pack, unpack

TYPES = ["<f8", "<i8", "|u1", "<u2", "<u4"]


@given(
    st.lists(
        arrays_st.arrays(st.sampled_from(TYPES), arrays_st.array_shapes(min_dims=0, min_side=0)),
        max_size=3,
    ),
    st.booleans(),
)
def test_arrays_come_back_to_the_bit(arrays: list[Any], fortran: bool) -> None:
    named = {f"a.{i}": np.asfortranarray(a) if fortran else a for i, a in enumerate(arrays)}
    header, again = unpack(b"".join(pack({"seed": 3}, named)))
    assert header == {"seed": 3}
    assert list(again) == list(named)
    for name, array in named.items():
        assert again[name].dtype == array.dtype
        assert again[name].tobytes() == array.tobytes()
        assert again[name].flags.writeable


class Item(NamedTuple):
    name: str
    first: Any
    second: Any = 7
    third: Any = None


FIELDS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.dictionaries(st.text(), st.floats(allow_nan=False)),
    arrays_st.arrays(
        st.sampled_from(["<f8", ">f8", "<f4", "|b1", "<i8", "|u1"]),
        arrays_st.array_shapes(min_dims=0, min_side=0),
    ),
)


@given(st.text(), FIELDS, FIELDS, FIELDS)
def test_named_tuples_come_back(name: str, first: Any, second: Any, third: Any) -> None:
    item = Item(name, first, second, third)
    raw = encode(item)
    again, end = decode(b"before" + raw + b"after", {"Item": Item}, 6)
    assert end == 6 + len(raw)
    for one, two in zip(item, again, strict=True):
        assert type(one) is type(two)
        if isinstance(one, np.ndarray):
            assert (one.shape, one.dtype.kind, one.itemsize) == (
                two.shape,
                two.dtype.kind,
                two.itemsize,
            )
            np.testing.assert_array_equal(one, two)
        else:
            assert one == two


def test_a_named_tuple_with_other_fields_is_refused() -> None:
    class Newer(NamedTuple):
        name: str
        fourth: int

    raw = encode(Newer("a", 4)).replace(b"Newer", b"Item")
    with pytest.raises(ValueError, match="fourth"):
        decode(raw, {"Item": Item})
    with pytest.raises(ValueError, match="expected numbers"):
        decode(b'{"is":"Item","arrays":[["name","|O",[1]]]}\n12345678', {"Item": Item})


@given(st.data())
def test_every_damage_is_refused(data: st.DataObject) -> None:
    good = b"".join(pack({"seed": 3}, {"gram": np.eye(3)}))
    at = data.draw(st.integers(0, len(good) - 1))
    cut = data.draw(st.booleans())
    flip = data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="it"):
        unpack(good[:at] if cut else good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :])


@pytest.mark.parametrize(
    "listed",
    [
        ["a", "<f8", [10**9]],
        ["a", "<f8", [10**12, 10**12]],
        ["a", "<f8", [-1, -1]],
        ["a", "|S0", [10**12]],
        ["a", "|O", [1]],
    ],
    ids=str,
)
def test_a_small_file_cannot_ask_for_much_memory(listed: list[Any]) -> None:
    header = json.dumps({"arrays": [listed]}).encode()
    content = MAGIC + header + b"\n" + bytes(8)
    content += hashlib.sha256(content).digest()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="array 'a'"):
            unpack(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_files_of_the_format_before_are_refused_as_such() -> None:
    header = b'{"format": 1, "arrays": []}'
    content = MAGIC + len(header).to_bytes(8, "little") + header
    with pytest.raises(ValueError, match="an earlier mogro has written it"):
        unpack(content + hashlib.sha256(content).digest())

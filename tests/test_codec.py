"""Arrays behind a header come back to the bit; damage is refused, at little cost."""

import hashlib
import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_st

from mogro._codec import MAGIC, pack, unpack

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
    content = MAGIC + len(header).to_bytes(8, "little") + header + bytes(8)
    content += hashlib.sha256(content).digest()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="array 'a'"):
            unpack(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000

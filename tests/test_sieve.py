import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mogro.probability._sieve import Sieve, members


@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_nobody_above_is_lost_and_few_others_stay(seed: int, arms: int, objectives: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, (objectives, arms)) * (1 + 0.5 * rng.random((objectives, 1)))
    if seed % 2:
        values = values + rng.normal(size=values.shape)
    floors = np.append(values[:, rng.integers(0, arms, 20)].T, rng.normal(size=(20, objectives)), 0)
    point, arm = members(Sieve(values).above(floors))
    assert len({*zip(point.tolist(), arm.tolist(), strict=True)}) == len(point)
    left = np.zeros((len(floors), arms), dtype=bool)
    left[point, arm] = True
    enough = values >= floors[:, :, None]  # (n, M, K)
    assert left[enough.all(axis=1)].all()
    # Others are below a floor by less than a bin of eight arms.
    wrong = (left[:, None] & ~enough).sum(axis=2)
    assert (wrong < 8).all()


def test_empty_sets_have_no_members() -> None:
    point, arm = members(Sieve(np.zeros((2, 30))).above(np.full((3, 2), 1.0)))
    assert set(arm.tolist()) <= {24, 25, 26, 27, 28, 29}  # of the last bin, which has no end
    point, arm = members(np.zeros((3, 1), dtype=np.uint64))
    assert len(point) == len(arm) == 0

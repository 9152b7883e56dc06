"""Copies, and policies on disk."""

import os
import pickle
import stat
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.policies.test_conformance import Cubic

import mogro
from mogro._codec import pack, unpack
from mogro.policies import LinearPolicy, persistence

FEATURES = np.random.default_rng(0).standard_normal((2, 8, 4)) / 2


# Numbers of NumPy's own types, which a constructor takes for what they are.
FOUR: Any = np.int64(4)
TWO: Any = np.int32(2)
HALF: Any = np.float32(0.5)


def all_policies(batch: tuple[int, ...]) -> dict[str, LinearPolicy]:
    arms = FEATURES if batch else FEATURES[0]
    flat = arms * [1.0, 1.0, 0.0, 0.0]
    return {
        "default": mogro.MOGRO(4, 2, batch=batch),
        "numpy numbers": mogro.MOGRO(
            FOUR,
            TWO,
            threshold=HALF,
            scalarization=mogro.RandomWeights(HALF),
            batch=tuple(np.array(batch, dtype=int)),
        ),
        "round robin": mogro.MOGRO(
            4,
            2,
            threshold=1.0,
            scalarization=mogro.RoundRobin(),
            exploration=mogro.BasisRoundRobin(arms),
            batch=batch,
        ),
        "single precision basis": mogro.MOGRO(
            4, 2, exploration=mogro.BasisRoundRobin(flat.astype(np.float32)), batch=batch
        ),
        "hypervolume": mogro.MOGRO(
            4, 2, scalarization=mogro.RandomHypervolume([-1.5, -1.0]), batch=batch
        ),
        "chebyshev": mogro.MOGRO(
            4,
            2,
            scalarization=mogro.RandomChebyshev(rho=0.1, concentration=[1.0, 0.3]),
            exploration=mogro.Uniform(),
            batch=batch,
        ),
        "fixed weights": mogro.MOGRO(
            FOUR, TWO, scalarization=mogro.FixedWeights([0.0, 1.0]), batch=batch
        ),
        "epsilon": mogro.EpsilonGreedy(4, 2, epsilon=0.2, ridge=HALF, batch=batch),
        "ucb": mogro.UCB(4, 2, noise=HALF, delta=0.01, batch=batch),
        "thompson": mogro.ThompsonSampling(4, 2, noise=0.1, delta=0.01, samples=FOUR, batch=batch),
        "effective front": mogro.ThompsonSampling(
            4, 2, noise=0.1, delta=0.01, selection=mogro.EffectiveFront(), batch=batch
        ),
        "random arm": mogro.RandomArm(4, 2, batch=batch),
    }


def play(policy: LinearPolicy, rounds: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    arms = FEATURES if policy.batch else FEATURES[0]
    if "BasisRoundRobin" in repr(policy) and "float32" in repr(policy):
        arms = (arms * [1.0, 1.0, 0.0, 0.0]).astype(np.float32)
    pulls = []
    for _ in range(rounds):
        arm = np.asarray(policy.select(arms, rng=rng))
        x = np.take_along_axis(arms, arm[..., None, None], axis=-2)[..., 0, :]
        policy.update(x, rng.standard_normal((*policy.batch, 2)))
        pulls.append(arm.tolist())
    return pulls


def same(one: LinearPolicy, other: LinearPolicy) -> bool:
    ours, theirs = one.save_state(), other.save_state()
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[name], theirs[name]) and ours[name].dtype == theirs[name].dtype
        for name in ours
    )


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [0, 2, 300])
@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("name", all_policies(()))
def test_a_loaded_policy_goes_on_to_the_bit(
    name: str, batch: tuple[int, ...], rounds: int, tmp_path: Path
) -> None:
    policy = all_policies(batch)[name]
    play(policy, rounds, seed=1)
    policy.save(tmp_path / "policy")
    loaded = type(policy).load(tmp_path / "policy")
    assert repr(loaded) == repr(policy)
    assert same(policy, loaded)
    assert play(policy, 30, seed=2) == play(loaded, 30, seed=2)
    assert same(policy, loaded)
    assert os.listdir(tmp_path) == ["policy"]


@pytest.mark.parametrize("name", all_policies(()))
def test_a_copy_is_independent(name: str) -> None:
    policy = all_policies(())[name]
    play(policy, 3, seed=1)
    twin = policy.copy()
    before = policy.save_state()
    play(twin, 20, seed=2)
    after = policy.save_state()
    assert all(np.array_equal(before[key], after[key]) for key in before)
    assert not same(policy, twin)
    replay = all_policies(())[name]
    play(replay, 3, seed=1)
    play(replay, 20, seed=2)
    assert same(replay, twin)


def test_unlisted_arms_go_on_to_the_bit(tmp_path: Path) -> None:
    def best(v: Any) -> Any:
        arms = FEATURES[0] * [1.0, 1.0, 1.0, 0.0]
        return arms[np.argmax(arms @ v)]

    policy = mogro.MOGRO(4, 2)
    for rounds in (1, 2, 30):
        rng = np.random.default_rng(rounds)
        for _ in range(rounds):
            policy.update(policy.choose(best, rng=rng), rng.standard_normal(2))
        policy.save(tmp_path / "p")
        loaded = mogro.MOGRO.load(tmp_path / "p")
        assert same(policy, loaded)


def test_the_general_loader_and_the_wrong_type(tmp_path: Path) -> None:
    mogro.UCB(2, 2, noise=0.1, delta=0.1).save(tmp_path / "u")
    assert isinstance(LinearPolicy.load(tmp_path / "u"), mogro.UCB)
    with pytest.raises(ValueError, match="expected a MOGRO"):
        mogro.MOGRO.load(tmp_path / "u")


def test_there_is_no_pickle_in_the_file(tmp_path: Path) -> None:
    policy = mogro.MOGRO(3, 2)
    policy.save(tmp_path / "p")
    header, arrays = unpack((tmp_path / "p").read_bytes())
    assert header["policy"]["is"] == "MOGRO"
    assert all(array.dtype.kind in "fiub" for array in arrays.values())

    class Bomb:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(tmp_path / "boom"),))

    (tmp_path / "bad").write_bytes(pickle.dumps(Bomb()))
    np.savez(tmp_path / "worse.npz", header=np.array([Bomb()], dtype=object))
    for name in ("bad", "worse.npz"):
        with pytest.raises(ValueError, match="path: expected a policy saved by mogro"):
            mogro.MOGRO.load(tmp_path / name)
    assert not (tmp_path / "boom").exists()


@pytest.mark.slow
def test_damaged_files_are_refused(tmp_path: Path) -> None:
    policy = mogro.MOGRO(8, 3)  # large enough that most bytes are numbers
    policy.update(np.ones(8), np.ones(3))
    policy.save(tmp_path / "p")
    good = (tmp_path / "p").read_bytes()
    rng = np.random.default_rng(0)
    damaged = [b"", b"PK", good[:100], good[:-1], good[: len(good) // 2], b"x" * 1000]
    for _ in range(300):
        at = int(rng.integers(len(good)))
        damaged.append(good[:at] + bytes([good[at] ^ int(rng.integers(1, 256))]) + good[at + 1 :])
    harmless = 0
    for data in damaged:
        (tmp_path / "d").write_bytes(data)
        try:
            loaded = mogro.MOGRO.load(tmp_path / "d")
        except ValueError:
            continue
        assert same(loaded, policy)  # a byte that says nothing, such as a date
        harmless += 1
    assert harmless < 50


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(2))
    np.savez(tmp_path / "b.npz", x=np.eye(2))
    (tmp_path / "c.txt").write_text("hello")
    for name in ("a.npy", "b.npz", "c.txt"):
        with pytest.raises(ValueError, match="path: expected a policy saved by mogro"):
            mogro.MOGRO.load(tmp_path / name)
    headers: list[dict[str, Any]] = [
        {},
        {"format": persistence.FORMAT},
        {"format": persistence.FORMAT - 1, "policy": {"is": "MOGRO", "dim": 2, "objectives": 2}},
        {"format": persistence.FORMAT, "policy": 3},
        {"format": persistence.FORMAT, "policy": {"is": "MOGRO", "arguments": 3}},
        {"format": persistence.FORMAT, "policy": {"is": "os.system"}},
        {"format": persistence.FORMAT, "policy": {"is": "RoundRobin"}},
        {"format": persistence.FORMAT, "policy": {"is": "MOGRO", "dim": -1, "objectives": 2}},
        {"format": persistence.FORMAT, "policy": {"is": "MOGRO", "dim": 2, "objectives": 2}},
    ]
    for header in headers:
        (tmp_path / "h").write_bytes(b"".join(pack(header, {})))
        with pytest.raises(ValueError, match="path: expected a policy saved by mogro"):
            mogro.MOGRO.load(tmp_path / "h")


@pytest.mark.parametrize(
    "sizes", [{"dim": 3000}, {"objectives": 10**7}, {"batch": [10**7]}, {"batch": [10**30]}]
)
def test_a_small_file_cannot_ask_for_much_memory(sizes: dict[str, Any], tmp_path: Path) -> None:
    mogro.MOGRO(2, 2).save(tmp_path / "p")
    header, arrays = unpack((tmp_path / "p").read_bytes())
    header["policy"] |= sizes
    (tmp_path / "bad").write_bytes(b"".join(pack(header, arrays)))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="path: expected a policy saved by mogro"):
            mogro.MOGRO.load(tmp_path / "bad")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        mogro.MOGRO.load(tmp_path / "nothing")


class Remembering(Cubic):
    """A part with a memory of its own, which plain settings cannot hold."""

    def __init__(self) -> None:
        self.calls = 0


def test_parts_of_ones_own_are_saved_as_settings_and_loaded_by_their_classes(
    tmp_path: Path,
) -> None:
    policy = mogro.MOGRO(4, 2, scalarization=Cubic())
    play(policy, 20, seed=0)
    policy.save(tmp_path / "p")
    with pytest.raises(ValueError, match="types: expected the class Cubic"):
        mogro.MOGRO.load(tmp_path / "p")
    again = mogro.MOGRO.load(tmp_path / "p", types=[Cubic])
    assert play(policy, 20, seed=1) == play(again, 20, seed=1)


def test_a_part_that_no_settings_describe_cannot_be_saved(tmp_path: Path) -> None:
    policy = mogro.MOGRO(4, 2, scalarization=Remembering())
    play(policy, 20, seed=0)
    with pytest.raises(ValueError, match="Remembering: expected a data class"):
        policy.save(tmp_path / "p")
    assert os.listdir(tmp_path) == []
    again = mogro.MOGRO(4, 2, scalarization=Remembering())
    again.load_state(policy.save_state())
    assert play(policy, 20, seed=1) == play(again, 20, seed=1)


def test_loading_a_state_refuses_what_does_not_fit() -> None:
    policy = mogro.MOGRO(4, 2)
    play(policy, 5, seed=0)
    good = policy.save_state()
    for name in good:
        with pytest.raises(ValueError, match=r"missing"):
            policy.load_state({key: array for key, array in good.items() if key != name})
    for other in (mogro.MOGRO(3, 2), mogro.MOGRO(4, 3), mogro.MOGRO(4, 2, batch=(1,))):
        with pytest.raises(ValueError, match="expected"):
            policy.load_state(other.save_state())
    after = policy.save_state()
    assert all(np.array_equal(good[name], after[name]) for name in good)


def test_writing_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = mogro.MOGRO(4, 2)
    policy.save(tmp_path / "p")
    before = (tmp_path / "p").read_bytes()
    play(policy, 5, seed=0)

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    for module, name in ((persistence, "pack"), (os, "replace"), (os, "fsync")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fail)
            with pytest.raises(OSError, match="no space"):
                policy.save(tmp_path / "p")
    assert os.listdir(tmp_path) == ["p"]
    assert (tmp_path / "p").read_bytes() == before


def test_a_file_has_the_usual_permissions(tmp_path: Path) -> None:
    mogro.MOGRO(2, 1).save(tmp_path / "p")
    (tmp_path / "usual").write_bytes(b"")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("p", "usual")]
    assert modes[0] == modes[1]

import errno
import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.stories import ARMS, OBJECTIVES, go_on, lived

import mogro
from mogro.agent import DamagedSnapshot
from mogro.agent.config import AgentConfig

HALF_LIVES = [None, mogro.HalfLife(updates=30.0), mogro.HalfLife(time=40.0)]


@pytest.mark.slow
@pytest.mark.parametrize("half_life", HALF_LIVES)
def test_an_agent_resumes_to_the_bit(tmp_path: Path, half_life: mogro.HalfLife | None) -> None:
    agent = lived(half_life=half_life)
    agent.save(tmp_path / "agent")
    loaded = mogro.Agent.load(tmp_path / "agent")
    assert repr(loaded) == repr(agent)
    assert loaded.counters == agent.counters
    assert go_on(agent, start=120, rounds=150) == go_on(loaded, start=120, rounds=150)
    assert (loaded.theta == agent.theta).all()
    assert (loaded.intercept == agent.intercept).all()
    agent.save(tmp_path / "one")
    loaded.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_rows_that_were_used_again_make_no_difference(tmp_path: Path) -> None:
    agent = lived(rounds=60)
    for record in agent.decisions()[::3]:
        agent.erase(record.decision.id)
    go_on(agent, start=60, rounds=30)  # new decisions in rows of old ones
    agent.save(tmp_path / "agent")
    loaded = mogro.Agent.load(tmp_path / "agent")
    for one in (agent, loaded):
        one.expire(now=1000.0)  # many at once: their order makes the last bit
    assert (loaded.theta == agent.theta).all()


def test_a_window_that_had_closed_before_the_file_was_written_makes_no_difference(
    tmp_path: Path,
) -> None:
    objectives = [
        mogro.Objective("sale"),
        mogro.Objective("returned", given="sale", window=10.0, default=0.0),
    ]
    agent = mogro.Agent(objectives, arms=2, seed=1)
    agent.decide({"a": [1, 0], "b": [0, 1]}, now=0.0)
    agent.expire(15.0)
    agent.decide({"a": [1, 0], "b": [0, 1]}, now=15.0)
    agent.save(tmp_path / "agent")
    loaded = mogro.Agent.load(tmp_path / "agent")
    for path, each in ((tmp_path / "one", agent), (tmp_path / "two", loaded)):
        each.expire(15.0)
        each.save(path)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_agent_that_lived_nothing(tmp_path: Path) -> None:
    agent = mogro.Agent(OBJECTIVES, arms=1, seed=0)
    agent.save(tmp_path / "agent")
    assert mogro.Agent.load(tmp_path / "agent").counters == agent.counters


def test_pending_decisions_wait_in_the_file(tmp_path: Path) -> None:
    agent = lived()
    decision = agent.decide(
        ARMS, id="open \ud800", now=120.0
    )  # not even Unicode is taken for granted
    agent.save(tmp_path / "agent")
    loaded = mogro.Agent.load(tmp_path / "agent")
    assert loaded.decide(ARMS, id="open \ud800", now=200.0) == decision
    assert loaded.reward(decision.id, {"click": 1.0}, now=120.0).learned == 1


def test_the_header_is_json_as_documented(tmp_path: Path) -> None:
    lived().save(tmp_path / "agent")
    data = (tmp_path / "agent").read_bytes()
    start = data.index(b"\n", 8) + 1
    header = json.loads(data[8:start])
    assert header["version"] == 13
    assert header["config"]["objectives"][1]["window"] == 50.0
    assert set(header["config"]) == {"is", *(field.name for field in fields(AgentConfig))}
    items = {name: int(np.prod(shape)) for name, _, shape in header["arrays"]}
    widths = {"<f8": 8, "<i8": 8, "|u1": 1}
    body = sum(items[name] * widths[kind] for name, kind, _ in header["arrays"])
    assert len(data) == start + body + 32


@pytest.mark.slow
def test_two_thousand_damaged_files_are_refused_or_loaded_identically(tmp_path: Path) -> None:
    agent = lived(rounds=40)
    agent.save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    shown, modules = repr(agent), set(sys.modules)
    rng = np.random.default_rng(0)
    reasons: set[str] = set()
    for n in range(2000):
        damaged = bytearray(whole)
        at = int(rng.integers(len(whole)) if n % 2 else rng.integers(3000))  # often the header
        if n % 4 < 2:
            damaged[at] ^= 1 << int(rng.integers(8))
        elif n % 4 == 2:
            del damaged[at:]
        else:
            damaged += rng.bytes(int(rng.integers(1, 50)))
        (tmp_path / "damaged").write_bytes(damaged)
        try:
            loaded = mogro.Agent.load(tmp_path / "damaged")
        except DamagedSnapshot as error:
            reasons.add(str(error).split(": ", 2)[-1])
        else:
            assert repr(loaded) == shown
    assert len(reasons) == 2  # a wrong beginning, a wrong checksum
    assert set(sys.modules) == modules


class Forger:
    """Writes files that are whole, with a right checksum and other contents."""

    def __init__(self, path: Path, agent: mogro.Agent) -> None:
        self.path = path
        agent.save(path)
        self.data = path.read_bytes()
        start = self.data.index(b"\n", 8) + 1
        self.header = json.loads(self.data[8:start])
        self.body = self.data[start:-32]

    def __call__(
        self, *, text: bytes | None = None, body: bytes | None = None, **changes: object
    ) -> Path:
        text = json.dumps(self.header | changes).encode() if text is None else text
        whole = self.data[:8] + text + b"\n"
        whole += self.body if body is None else body
        self.path.write_bytes(whole + hashlib.sha256(whole).digest())
        return self.path


def test_files_with_a_right_checksum_and_wrong_contents_are_refused(tmp_path: Path) -> None:
    forged = Forger(tmp_path / "agent", lived(rounds=20))
    assert mogro.Agent.load(forged()).counters["decisions"] == 20
    header = forged.header
    arrays, plain, numbers = header["arrays"], header["config"], header["numbers"]
    huge = 10**400
    wrong: list[dict[str, Any]] = [
        {"version": 1},
        {"version": None},
        {"version": [[[]]] * 1000},
        {"config": plain | {"policy": {"type": "os.system", "fields": {}}}},
        {"config": plain | {"policy": {"type": "Uniform", "fields": {}}}},
        {"config": plain | {"policy": []}},
        {"config": plain | {"policy": plain["policy"] | {"fields": {"dim": 5, "objectives": 3}}}},
        {"config": plain | {"dim": 4}},
        {"config": plain | {"dim": 10**9}},
        {"config": plain | {"dim": huge}},
        {"config": plain | {"objectives": plain["objectives"][:2]}},
        {"config": plain | {"objectives": [plain["objectives"][0]] * 3}},
        {"config": plain | {"seed": "seven"}},
        {"config": plain | {"retention": {"age": -1, "decisions": None}}},
        {"config": plain | {"uniform": 2.0}},
        {"config": plain | {"uniform": huge}},
        {"config": plain | {"half_life": {"updates": huge, "time": None}}},
        {"config": plain | {"more": 1}},
        {"config": {}},
        {"config": None},
        {"arrays": arrays[:-1]},
        {"arrays": [[name, "|O8", shape] for name, _, shape in arrays]},
        {"arrays": [[name, kind, [-1]] for name, kind, shape in arrays]},
        {"arrays": [[name, kind, [huge]] for name, kind, shape in arrays]},
        {"arrays": [[name, kind, [10**9, 10**9, 0]] for name, kind, shape in arrays]},
        {"arrays": [[f"x{name}", kind, shape] for name, kind, shape in arrays]},
        {"arrays": 3},
        {"numbers": {}},
        {"numbers": numbers | {"decisions": -1}},
        {"numbers": numbers | {"decisions": 1e300}},
        {"numbers": numbers | {"decisions": huge, "numbers": "1"}},
        {"numbers": numbers | {"decisions": 3}},
    ]
    for changes in wrong:
        with pytest.raises(DamagedSnapshot):
            mogro.Agent.load(forged(**changes))
    for text in (b"", b"[" * 100_000, b"{", b"7", b"\xff", b"[]", b'{"version": 3}'):
        with pytest.raises(DamagedSnapshot):
            mogro.Agent.load(forged(text=text))


@pytest.mark.slow
def test_random_bytes_in_the_arrays_are_refused_or_harmless(tmp_path: Path) -> None:
    """Whatever the numbers are: an agent that decides, or a refusal."""
    agent = lived(rounds=30)
    forged = Forger(tmp_path / "agent", agent)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        body = bytearray(forged.body)
        start = int(rng.integers(len(body) - 64))
        body[start : start + 64] = rng.bytes(64)
        try:
            mogro.Agent.load(forged(body=bytes(body)))
        except DamagedSnapshot:
            refused += 1
    assert refused > 10


def test_memory_is_bounded_by_the_size_of_the_file(tmp_path: Path) -> None:
    forged = Forger(tmp_path / "agent", lived(rounds=5))
    plain = forged.header["config"]
    large = plain | {"dim": 20_000, "scaling": None}
    large["policy"] = {"type": "MOGRO", "fields": {"dim": 20_001, "objectives": 3}}
    arrays = forged.header["arrays"]
    empty = [[name, kind, [0, 20_001, 20_001]] for name, kind, _ in arrays]
    tracemalloc.start()
    for changes in ({"config": large}, {"config": large, "arrays": empty}):
        with pytest.raises(DamagedSnapshot):
            mogro.Agent.load(forged(**changes))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * len(forged.data)


@dataclass(frozen=True)
class Own:
    """A scalarisation of one's own."""

    share: float = 0.5

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: mogro.Rng
    ) -> np.ndarray:
        first = np.full((*batch, 1), self.share)
        rest = np.full((*batch, objectives - 1), (1 - self.share) / (objectives - 1))
        return np.concatenate([first, rest], axis=-1)


class Hidden:
    """A scalarisation whose settings nobody can see."""

    def __init__(self) -> None:
        self.made = object()

    def weights(self, objectives: int, **_: object) -> np.ndarray:
        return np.ones(objectives) / objectives


def test_parts_of_ones_own_are_saved_and_made_again_of_the_classes_given(tmp_path: Path) -> None:
    agent = mogro.Agent(
        OBJECTIVES, arms=3, seed=0, policy=partial(mogro.MOGRO, scalarization=Own(0.8))
    )
    go_on(agent, start=0, rounds=30)
    agent.save(tmp_path / "agent")
    with pytest.raises(DamagedSnapshot, match="Own"):
        mogro.Agent.load(tmp_path / "agent")
    loaded = mogro.Agent.load(tmp_path / "agent", types=[Own])
    assert go_on(loaded, start=30, rounds=30) == go_on(agent, start=30, rounds=30)


def test_what_cannot_be_saved_is_refused_when_the_agent_is_made() -> None:
    with pytest.raises(ValueError, match=r"policy: expected settings that can be saved.*Hidden"):
        mogro.Agent(OBJECTIVES, arms=3, seed=0, policy=partial(mogro.MOGRO, scalarization=Hidden()))


@dataclass(frozen=True)
class Holding(Own):
    """One that holds anything."""

    held: Any = None


@pytest.mark.parametrize(
    "held",
    [
        {1: 2},
        object(),
        1j,
        b"x",
        np.datetime64("2020"),
        np.array([object()]),
        np.array([1j]),
    ],
)
def test_settings_that_json_cannot_hold_are_refused_when_the_agent_is_made(held: Any) -> None:
    own = Holding(held=held)
    with pytest.raises(ValueError, match="policy: expected settings that can be saved, got"):
        mogro.Agent(OBJECTIVES, arms=3, seed=0, policy=partial(mogro.MOGRO, scalarization=own))


@pytest.mark.parametrize("held", [np.longdouble(0.5), np.bool_(True), np.int8(3), np.arange(3)])
def test_numbers_of_numpy_are_saved(held: Any, tmp_path: Path) -> None:
    own = Holding(held=held)
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=0, policy=partial(mogro.MOGRO, scalarization=own))
    agent.save(tmp_path / "agent")
    loaded = mogro.Agent.load(tmp_path / "agent", types=[Holding])
    assert go_on(loaded, start=0, rounds=9) == go_on(agent, start=0, rounds=9)


def test_a_class_with_a_name_of_mogros_is_refused(tmp_path: Path) -> None:
    """Else mogro's own would be made of its settings."""
    namesake: Any = dataclass(frozen=True)(type("RandomWeights", (Own,), {}))
    make = partial(mogro.MOGRO, scalarization=namesake())
    with pytest.raises(ValueError, match=r"different names, none of mogro's own, got .*RandomWe"):
        mogro.Agent(OBJECTIVES, arms=3, seed=0, policy=make)
    agent = mogro.Agent(
        OBJECTIVES, arms=3, seed=0, policy=partial(mogro.MOGRO, scalarization=Own())
    )
    agent.save(tmp_path / "agent")
    for others in (namesake, type("Own", (), {})):
        with pytest.raises(ValueError, match=r"^types: expected different names"):
            mogro.Agent.load(tmp_path / "agent", types=[Own, others])


def test_a_full_disk_leaves_the_old_file_and_no_drafts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = lived(rounds=20)
    agent.save(tmp_path / "agent")
    before = (tmp_path / "agent").read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for _ in range(5):
        with pytest.raises(OSError, match="No space left"):
            agent.save(tmp_path / "agent")
    assert (tmp_path / "agent").read_bytes() == before
    assert os.listdir(tmp_path) == ["agent"]


KILLED = """
import os, random, signal, sys, time
import mogro

path, rounds = sys.argv[1], int(sys.argv[2])
agent = mogro.Agent([mogro.Objective("a"), mogro.Objective("b")], arms=8, seed=0)
arms = {str(k): [float(k == j) for j in range(8)] for k in range(8)}
for _ in range(2000):
    agent.decide(arms)
agent.save(path)
start = time.perf_counter()
for _ in range(3):
    agent.save(path)
usual = (time.perf_counter() - start) / 3
seen, changed, killed = 2000, 0, 0
moments = random.Random(0)
while killed < rounds or (changed <= 20 and killed < 10 * rounds):  # few saves end under load
    killed += 1
    child = os.fork()
    if child == 0:
        while True:
            agent.decide(arms)
            agent.save(path)
    time.sleep(moments.uniform(0.1, 4.0) * usual)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    agent = mogro.Agent.load(path)
    decisions = agent.counters["decisions"]
    assert decisions >= seen, (decisions, seen)
    changed += decisions > seen
    seen = decisions
print(changed)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
def test_killed_at_200_or_more_random_moments_of_a_loop_that_saves(tmp_path: Path) -> None:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "agent"), "200"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20  # many a time a new file had come about
    mogro.Agent.load(tmp_path / "agent").save(tmp_path / "agent")
    assert os.listdir(tmp_path) == ["agent"]  # and whoever saves next clears up


def test_decisions_are_completed_in_the_order_of_their_windows(tmp_path: Path) -> None:
    """Also where a window of the first, which no longer mattered, would have closed before."""
    objectives = [mogro.Objective("click", window=10.0), mogro.Objective("sale", window=20.0)]
    agent = mogro.Agent(objectives, arms=3, seed=0, clock=None)
    agent.decide(ARMS, id="a", now=0.0)
    agent.reward("a", {"click": 1.0}, now=1.0)
    agent.decide(ARMS, id="b", now=5.0)
    agent.reward("b", {"sale": 1.0}, now=6.0)
    agent.save(tmp_path / "agent")
    loaded = mogro.Agent.load(tmp_path / "agent", clock=None)
    for each, name in ((agent, "one"), (loaded, "two")):
        each.expire(30.0)
        each.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.live.stories import ARMS, OBJECTIVES, go_on, lived

import mogro
from mogro.live import DamagedSnapshot

FIXTURES = Path(__file__).parent / "fixtures"
HALF_LIVES = [None, mogro.HalfLife(updates=30.0), mogro.HalfLife(time=40.0)]


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
    agent.forget(before=40.0)
    go_on(agent, start=60, rounds=30)  # new decisions in rows of old ones
    agent.save(tmp_path / "agent")
    loaded = mogro.Agent.load(tmp_path / "agent")
    for one in (agent, loaded):
        one.expire(now=1000.0)  # many at once: their order makes the last bit
    assert (loaded.theta == agent.theta).all()


def test_an_agent_that_lived_nothing(tmp_path: Path) -> None:
    agent = mogro.Agent(OBJECTIVES, dim=1, seed=0)
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
    size = int.from_bytes(data[8:16], "little")
    header = json.loads(data[16 : 16 + size])
    assert header["version"] == 1
    assert header["agent"]["objectives"][1]["window"] == 50.0
    items = {name: int(np.prod(shape)) for name, _, shape in header["arrays"]}
    widths = {"<f8": 8, "<i8": 8, "|u1": 1}
    body = sum(items[name] * widths[kind] for name, kind, _ in header["arrays"])
    assert len(data) == 16 + size + body + 32


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
    assert len(reasons) == 3  # a wrong beginning, a wrong checksum, too short
    assert set(sys.modules) == modules


def test_files_with_a_right_checksum_and_wrong_contents_are_refused(tmp_path: Path) -> None:
    import hashlib

    lived(rounds=20).save(tmp_path / "agent")
    data = (tmp_path / "agent").read_bytes()
    size = int.from_bytes(data[8:16], "little")
    header = json.loads(data[16 : 16 + size])

    def forged(**changes: object) -> Path:
        text = json.dumps(header | changes).encode()
        body = data[:8] + len(text).to_bytes(8, "little") + text + data[16 + size : -32]
        (tmp_path / "forged").write_bytes(body + hashlib.sha256(body).digest())
        return tmp_path / "forged"

    assert mogro.Agent.load(forged()).counters["decisions"] == 20
    arrays, plain = header["arrays"], header["agent"]
    wrong: list[dict[str, object]] = [
        {"version": 2},
        {"version": None},
        {"agent": plain | {"policy": {"type": "os.system", "fields": {}}}},
        {"agent": plain | {"policy": {"type": "Uniform", "fields": {}}}},
        {"agent": plain | {"dim": 4}},
        {"agent": plain | {"objectives": plain["objectives"][:2]}},
        {"agent": plain | {"seed": "seven"}},
        {"agent": {}},
        {"arrays": arrays[:-1]},
        {"arrays": [[name, "|O8", shape] for name, _, shape in arrays]},
        {"arrays": [[name, kind, [-1]] for name, kind, shape in arrays]},
        {"arrays": [[f"x{name}", kind, shape] for name, kind, shape in arrays]},
        {"arrays": 3},
        {"tally": {}},
        {"lineage": 5},
    ]
    for changes in wrong:
        with pytest.raises(DamagedSnapshot):
            mogro.Agent.load(forged(**changes))


def test_files_of_every_released_version_load() -> None:
    paths = sorted(FIXTURES.glob("agent-v*.mogro"))
    assert [path.stem for path in paths] == ["agent-v1"]
    for path in paths:
        loaded = mogro.Agent.load(path)
        expected = json.loads(path.with_suffix(".json").read_text())
        assert loaded.theta == pytest.approx(np.array(expected["theta"]), rel=1e-9)
        assert loaded.intercept == pytest.approx(np.array(expected["intercept"]), rel=1e-9)
        assert loaded.observations == pytest.approx(expected["observations"])
        assert loaded.counters == expected["counters"]
        for id, arm in expected["pending"].items():
            assert loaded.decide(ARMS, id=id, now=200.0).arm == arm
        go_on(loaded, start=120, rounds=30)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    class Own:
        """A scalarisation that no file can hold."""

        def weights(self, objectives: int, **_: object) -> np.ndarray:
            return np.ones(objectives) / objectives

    agent = lived(rounds=20)
    agent.save(tmp_path / "agent")
    before = (tmp_path / "agent").read_bytes()
    other = mogro.Agent(
        OBJECTIVES, dim=3, seed=0, policy=lambda d, m: mogro.MOGRO(d, m, scalarization=Own())
    )
    with pytest.raises(ValueError, match="cannot hold code"):
        other.save(tmp_path / "agent")
    assert (tmp_path / "agent").read_bytes() == before
    assert os.listdir(tmp_path) == ["agent"]


KILLED = """
import os, random, signal, sys, time
import mogro

path, rounds = sys.argv[1], int(sys.argv[2])
agent = mogro.Agent([mogro.Objective("a"), mogro.Objective("b")], dim=8, seed=0)
arms = {str(k): [float(k == j) for j in range(8)] for k in range(8)}
for _ in range(2000):
    agent.decide(arms)
agent.save(path)
seen, changed = 2000, 0
moments = random.Random(0)
for _ in range(rounds):
    child = os.fork()
    if child == 0:
        while True:
            agent.decide(arms)
            agent.save(path)
    time.sleep(moments.uniform(0.001, 0.03))
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
def test_killed_at_200_random_moments_of_a_loop_that_saves(tmp_path: Path) -> None:
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

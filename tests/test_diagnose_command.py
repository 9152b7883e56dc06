"""``mogro diagnose`` on files: what it prints and writes, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.commands import Finished
from tests.commands import run as run_command

from mogro import cli, diagnose
from mogro.cli import read_matrix
from mogro.scalarization import RandomWeights, RoundRobin

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
THETA = np.eye(2)
RUN = ["--noise", "0.1", "--rounds", "1000"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "arms.npy", ARMS)
    np.savetxt(tmp_path / "theta.csv", THETA, delimiter=",", header="a,b", comments="")
    return tmp_path


def run(
    folder: Path, *arguments: str, arms: str = "arms.npy", theta: str = "theta.csv"
) -> Finished:
    return run_command(cli.main, "diagnose", folder / arms, folder / theta, *arguments)


def test_prints_what_diagnose_says(folder: Path) -> None:
    found = diagnose(ARMS, THETA, noise=0.1, rounds=1000)
    assert run(folder, *RUN).output == f"{found}\n"
    assert run(folder, "--noise", "0.1,0.05", "--rounds", "1000").output == f"{found}\n"
    result = run(folder, *RUN, "--json")
    assert result.exit_code == 0
    assert json.loads(result.output) == json.loads(found.to_json())


@pytest.mark.slow
def test_scalarisations(folder: Path) -> None:
    for option, how in (
        (["--round-robin"], RoundRobin()),
        (["--weights", "0.5"], RandomWeights(0.5)),
        (["--weights", "1,2"], RandomWeights((1.0, 2.0))),
    ):
        found = diagnose(ARMS, THETA, noise=0.1, rounds=1000, scalarization=how)
        assert run(folder, *RUN, *option).output == f"{found}\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--noise", "0.1"], "--rounds"),
        (["--rounds", "10"], "--noise"),
        (["--noise", "-1", "--rounds", "10"], "noise: expected"),
        (["--noise", "nan", "--rounds", "10"], "noise: expected"),
        (["--noise", "1e160", "--rounds", "10"], "noise: expected a number in [0, 1e+60]"),
        (["--noise", "1", "--rounds", "1" + "0" * 400], "rounds: expected at most 10^18"),
        ([*RUN, "--weights", "1e400"], "concentration"),
        ([*RUN, "--weights", "1e300"], "concentration"),
        ([*RUN, "--weights", "1,x"], "--weights: expected numbers"),
        ([*RUN, "--weights", "1,2,3"], "concentration"),
        ([*RUN, "--weights", "-1"], "concentration"),
        ([*RUN, "--weights", "1", "--round-robin"], "not allowed with"),
    ],
)
def test_options_are_checked(folder: Path, options: list[str], says: str) -> None:
    result = run(folder, *options)
    assert result.exit_code in (1, 2)
    assert says in result.output


def test_arms_that_change_come_as_rounds(folder: Path) -> None:
    rounds = np.random.default_rng(0).uniform(-0.7, 0.7, (300, 4, 2))
    np.save(folder / "rounds.npy", rounds)
    result = run(folder, *RUN, arms="rounds.npy")
    assert result.output == f"{diagnose(rounds, THETA, noise=0.1, rounds=1000)}\n"
    np.save(folder / "few.npy", rounds[:5])
    assert (
        "features: expected the arms of at least 100 rounds"
        in run(folder, *RUN, arms="few.npy").output
    )
    refused = run(folder, *RUN, arms="rounds.npy", theta="rounds.npy").output
    assert "theta: rounds.npy: expected shape (rows, columns)" in refused


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "theta: t.csv: expected a table of numbers, got none"),
        ("a,b\n", "theta: t.csv: expected a table of numbers, got none"),
        ("1,2\n3\n", "theta: t.csv: expected 2 numbers in every line, got ['3']"),
        ("1,2\n3,x\n", "theta: t.csv: expected 2 numbers in every line, got ['3', 'x']"),
        ("1,nan\n", "theta: t.csv: expected finite values"),
        ("1,2,3\n", "theta: expected shape (M, 2), got (1, 3)"),
        ("0,0\n", "theta: expected nonzero parameters"),
    ],
)
def test_bad_tables_are_explained(folder: Path, text: str, says: str) -> None:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    result = run(folder, *RUN, theta="t.csv")
    assert result.exit_code == 1
    assert says in result.output


def test_bad_files_are_explained(folder: Path) -> None:
    (folder / "broken.npy").write_bytes(b"\x93NUMPY")
    (folder / "empty.npy").write_bytes(b"")
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(folder / "line.npy", np.ones(3))
    (folder / "latin.csv").write_bytes(b"\xff\xfe1,2")
    (folder / "arms.txt").write_text("1 2")
    np.savez(folder / "several.npz", a=ARMS, b=ARMS)
    zipped = (folder / "several.npz").read_bytes()
    for name in ("zip.npy", "zip.csv"):
        (folder / name).write_bytes(zipped)
    (folder / "pk.npy").write_bytes(b"PK\x03\x04 and no more")
    (folder / "pk.csv").write_bytes(b"PK\x03\x04 and no more")
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000, 9), }\n"
    size = len(header).to_bytes(2, "little")
    (folder / "huge.npy").write_bytes(b"\x93NUMPY\x01\x00" + size + header)
    (folder / "long.csv").write_text("1," + "2" * 200_000 + "\n")
    for name in (
        *("broken.npy", "empty.npy", "objects.npy", "line.npy", "latin.csv", "arms.txt"),
        *("zip.npy", "zip.csv", "pk.npy", "pk.csv", "huge.npy", "long.csv"),
    ):
        result = run(folder, *RUN, arms=name)
        assert result.exit_code == 1, result.output
        assert result.output.startswith("Error: features: ")
        assert result.output.count("\n") == 1
        assert name in result.output
    missing = run(folder, *RUN, arms="missing.csv")
    assert missing.exit_code == 2
    assert "does not exist" in missing.output


@pytest.mark.parametrize(
    "text",
    [
        "1,0\n0,1\n",
        "\ufeffx,y\n1,0\n0,1",
        "1;0\n0;1\n",
        "x\ty\r\n1\t0\r\n0\t1\r\n",
        "\n1, 0\n\n0, 1\n",
    ],
)
def test_usual_kinds_of_csv_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.CSV"
    path.write_bytes(text.encode())
    assert np.array_equal(read_matrix(path, "features"), np.eye(2))

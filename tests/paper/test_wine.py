"""Where the wine data come from, and what is made of them."""

import hashlib
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mogro.testing import check_environment
from paper.lab import wine

RED, WHITE = wine.DIGESTS
HEADER = ";".join(f'"{name}"' for name in range(12))


def csv(rows: int, seed: int) -> bytes:
    table = np.random.default_rng(seed).random((rows, 12)).round(3)
    lines = [HEADER, *(";".join(map(str, row)) for row in table)]
    return "\n".join(lines).encode()


def zipped(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, bytes]:
    """Small stand-ins for the published files; the machine's own data are out of sight."""
    contents = {RED: csv(20, 0), WHITE: csv(30, 1)}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(wine, "DIGESTS", digests)
    monkeypatch.setattr(wine, "URL", (tmp_path / "archive.zip").as_uri())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MOGRO_WINE", raising=False)
    return contents


def test_a_folder_that_is_named_has_to_have_them(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOGRO_WINE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"red\.csv.*to get them by hand, unpack"):
        wine.load()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert wine.load().features.shape == (50, 10)
    (tmp_path / WHITE).write_bytes(files[WHITE] + b"\n")
    with pytest.raises(FileNotFoundError, match=r"white\.csv: expected SHA-256"):
        wine.load()


def test_a_download_is_kept_and_a_damaged_one_replaced(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    archive, cache = tmp_path / "archive.zip", tmp_path / "cache" / "mogro" / "wine"
    archive.write_bytes(zipped({"readme": b"more", **files}))
    first = wine.load()
    assert {path.name: path.read_bytes() for path in cache.iterdir()} == files
    (cache / RED).write_bytes(b"")
    assert np.array_equal(wine.load().features, first.features)
    archive.unlink()
    assert np.array_equal(wine.load().features, first.features)


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (None, "No such file"),
        (b"<html>sorry</html>", "File is not a zip"),
        (zipped({RED: csv(20, 0)}), "white.csv"),
        (zipped({RED: csv(20, 0), WHITE: csv(30, 2)}), "white.csv: expected SHA-256"),
    ],
)
def test_a_failed_download_says_why_and_leaves_nothing(
    files: dict[str, bytes], tmp_path: Path, archive: bytes | None, reason: str
) -> None:
    if archive is not None:
        (tmp_path / "archive.zip").write_bytes(archive)
    with pytest.raises(FileNotFoundError, match=f"wine data: .*{reason}.*by hand"):
        wine.load()
    assert not (tmp_path / "cache").exists()


def test_columns_are_normalised_and_rewards_regressed() -> None:
    rng = np.random.default_rng(0)
    wines = wine.fit(rng.random((50, 4)) * [1, 9, 1, 1], rng.random((50, 3)))
    for columns in (wines.features, wines.rewards):
        np.testing.assert_allclose(columns.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(columns.std(axis=0), 1)
    residual = wines.rewards - wines.features @ wines.theta.T
    np.testing.assert_allclose(wines.features.T @ residual, 0, atol=1e-10)


def test_episodes_have_distinct_wines_and_the_fitted_rewards() -> None:
    rng = np.random.default_rng(0)
    wines = wine.fit(rng.random((30, 2)).repeat(2, axis=0), rng.random((60, 3)))
    world = wines.sample(30, rng=np.random.default_rng(1))
    assert world.noise == 1.0
    assert len(np.unique(world.features, axis=0)) == 30
    np.testing.assert_allclose(world.means, world.features @ wines.theta.T, atol=1e-14)
    check_environment(lambda rng: wines.sample(9, rng=rng))


@pytest.mark.skipif(
    "MOGRO_WINE" not in os.environ,
    reason="needs the wine data: name their folder in the environment variable MOGRO_WINE",
)
def test_the_published_data() -> None:
    wines = wine.load()
    assert wines.features.shape == (6497, 10)
    assert (wines.rewards[:, 2] > 0).sum() == 1599
    assert len(np.unique(wines.features, axis=0)) == 5304
    # Dense wines have little alcohol; that is the strongest of all effects.
    density = 7
    assert wines.theta[0, density] == wines.theta.min()
    explained = 1 - ((wines.rewards - wines.features @ wines.theta.T) ** 2).mean(axis=0)
    assert (explained > [0.5, 0.2, 0.8]).all()

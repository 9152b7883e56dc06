import hashlib
import io
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mogro.environments import FixedArms, _files, wine

RED, WHITE = wine.DIGESTS
HEADER = ";".join(f'"{name}"' for name in range(12))


def csv(rows: int, seed: int) -> bytes:
    table = np.random.default_rng(seed).random((rows, 12)).round(3)
    lines = [HEADER, *(";".join(map(str, row)) for row in table)]
    return "\n".join(lines).encode()


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, bytes]:
    """Small stand-ins for the published files; the machine's own data are out of sight."""
    contents = {RED: csv(20, 0), WHITE: csv(30, 1)}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(wine, "DIGESTS", digests)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MOGRO_WINE", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    return contents


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "mogro" / "wine"


def save(folder: Path, contents: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def zipped(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@contextmanager
def server(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[tuple[str, list[str]]]:
    """A real HTTP server on loopback; gives its address and the requests it has seen."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            answer(self)

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}/wine.zip", requests
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def serving(body: bytes, *, length: int | None = None) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(body) if length is None else length))
        request.end_headers()
        request.wfile.write(body)

    return answer


# Where the data come from


def test_a_named_folder_comes_first(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOGRO_WINE", str(tmp_path / "nowhere"))
    folder = save(tmp_path / "mine", files)
    for name in (folder, str(folder)):
        wines = wine.load(name)
        assert repr(wines) == "Wine(wines=50, dim=10, objectives=3)"
        assert "<td>50</td>" in wines._repr_html_()


def test_then_the_environment_variable(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOGRO_WINE", str(save(tmp_path / "mine", files)))
    assert wine.load(url="http://127.0.0.1:1/").features.shape == (50, 10)


def test_then_the_cache(files: dict[str, bytes], cache: Path) -> None:
    save(cache, files)
    assert wine.load(url="http://127.0.0.1:1/").features.shape == (50, 10)


def test_then_a_download_that_is_kept(files: dict[str, bytes], cache: Path) -> None:
    with server(serving(zipped({"readme": b"more", **files}))) as (url, requests):
        first = wine.load(url=url)
        second = wine.load(url=url)
    assert requests == ["/wine.zip"]
    assert np.array_equal(first.features, second.features)
    assert {path.name: path.read_bytes() for path in cache.iterdir()} == files


def test_a_damaged_cache_is_replaced(files: dict[str, bytes], cache: Path) -> None:
    save(cache, {RED: files[RED][:-1], WHITE: files[WHITE]})
    with server(serving(zipped(files))) as (url, requests):
        wine.load(url=url)
    assert len(requests) == 1
    assert {path.name: path.read_bytes() for path in cache.iterdir()} == files


# What cannot be had


@pytest.mark.parametrize("named", ["folder", "variable"])
def test_a_named_folder_without_the_files(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    folder = save(tmp_path / "half", {RED: files[RED]})
    if named == "variable":
        monkeypatch.setenv("MOGRO_WINE", str(folder))
    with pytest.raises(FileNotFoundError, match=r"no file .*white\.csv .* by hand") as caught:
        wine.load(folder if named == "folder" else None)
    assert ("MOGRO_WINE names" in str(caught.value)) == (named == "variable")
    assert wine.URL in str(caught.value)


def test_altered_files_in_a_named_folder(files: dict[str, bytes], tmp_path: Path) -> None:
    folder = save(tmp_path / "mine", files | {WHITE: files[WHITE] + b"\n"})
    with pytest.raises(ValueError, match=r"mine .the folder given.: .*white\.csv: expected SHA-"):
        wine.load(folder)


def cut_connection(request: BaseHTTPRequestHandler) -> None:
    serving(b"PK", length=1000)(request)
    request.close_connection = True


def cut_without_a_length(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    request.wfile.write(zipped({RED: csv(20, 0)})[:-30])


def not_found(request: BaseHTTPRequestHandler) -> None:
    request.send_error(404)


def damaged(request: BaseHTTPRequestHandler) -> None:
    body = bytearray(zipped({RED: csv(20, 0), WHITE: csv(30, 1)}))
    body[200:260] = bytes(60)
    serving(bytes(body))(request)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (serving(zipped({RED: csv(20, 0), WHITE: csv(30, 2)})), "white.csv: expected SHA-256"),
        (serving(zipped({RED: csv(20, 0)})), "not the published archive: .*white.csv"),
        (serving(b"<html>sorry</html>"), "not the published archive: File is not a zip"),
        (damaged, "not the published archive"),
        (cut_connection, "the transfer failed: IncompleteRead"),
        (cut_without_a_length, "not the published archive: File is not a zip"),
        (not_found, "the server answered 404 Not Found"),
    ],
)
def test_a_failed_download_says_why_and_leaves_nothing(
    files: dict[str, bytes],
    cache: Path,
    answer: Callable[[BaseHTTPRequestHandler], None],
    reason: str,
) -> None:
    with (
        server(answer) as (url, _),
        pytest.raises(FileNotFoundError, match=f"not in the cache .*{reason}.*by hand"),
    ):
        wine.load(url=url)
    assert not cache.exists()


def test_a_server_that_says_nothing(files: dict[str, bytes], cache: Path) -> None:
    given_up = threading.Event()

    def say_nothing(_: BaseHTTPRequestHandler) -> None:
        given_up.wait(timeout=60)

    with server(say_nothing) as (url, _):
        with pytest.raises(FileNotFoundError, match=r"the transfer failed: .*timed out"):
            wine.load(url=url, timeout=0.1)
        given_up.set()
    assert not cache.exists()


def test_no_server_at_all(files: dict[str, bytes], cache: Path) -> None:
    with server(not_found) as (url, _):
        pass  # the port is free again, and nobody listens
    with pytest.raises(FileNotFoundError, match=r"the transfer failed: .*refused"):
        wine.load(url=url)
    assert not cache.exists()


def test_a_write_that_fails_leaves_nothing_half_written(
    files: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with (
        server(serving(zipped(files))) as (url, _),
        pytest.raises(OSError, match="no space left"),
    ):
        wine.load(url=url)
    assert list(cache.iterdir()) == []


def test_a_timeout_must_be_positive() -> None:
    with pytest.raises(ValueError, match="timeout: expected a finite number > 0, got 0"):
        wine.load(timeout=0)


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", ".cache/mogro/wine"),
        ("darwin", "Library/Caches/mogro/wine"),
        ("win32", "AppData/Local/mogro/wine"),
    ],
)
def test_the_cache_is_where_the_system_keeps_caches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, expected: str
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert _files.cache_folder("wine") == tmp_path / expected


# What is made of them


def test_columns_are_normalised_and_rewards_regressed(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    wines = wine.load(save(tmp_path / "mine", files))
    for columns in (wines.features, wines.rewards):
        np.testing.assert_allclose(columns.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(columns.std(axis=0), 1)
        assert not columns.flags.writeable
    assert np.array_equal(wines.rewards[:, 2] > 0, np.arange(50) < 20)
    residual = wines.rewards - wines.features @ wines.theta.T
    np.testing.assert_allclose(wines.features.T @ residual, 0, atol=1e-10)


def test_episodes_have_distinct_wines_and_the_fitted_rewards() -> None:
    rng = np.random.default_rng(0)
    features = rng.random((30, 2)).repeat(2, axis=0)
    wines = wine.Wine(features, rng.random((60, 3)))
    world = wines.sample(30, rng=np.random.default_rng(1))
    assert isinstance(world, FixedArms)
    assert world.noise == 1.0
    assert len(np.unique(world.features, axis=0)) == 30
    np.testing.assert_allclose(world.means, world.features @ wines.theta.T, atol=1e-14)
    again = wines.sample(30, noise=0.5, rng=np.random.default_rng(1))
    assert np.array_equal(world.features, again.features)
    assert again.noise == 0.5
    with pytest.raises(ValueError, match="arms: expected at most 30 distinct wines, got 31"):
        wines.sample(31, rng=rng)


def test_refusals() -> None:
    varied = np.random.default_rng(0).random((5, 2))
    with pytest.raises(ValueError, match="features: expected columns that vary"):
        wine.Wine(np.full((5, 2), 0.1), varied)
    with pytest.raises(ValueError, match=r"rewards: expected shape \(5, M\), got \(4, 2\)"):
        wine.Wine(varied, varied[:4])
    wines = wine.Wine(varied, varied)
    with pytest.raises(ValueError, match="arms: expected an integer >= 1, got 0"):
        wines.sample(0, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"rng: expected a numpy.random.Generator"):
        wines.sample(2, rng=None)  # type: ignore[arg-type]


@pytest.mark.skipif(
    "MOGRO_WINE" not in os.environ,
    reason="needs the wine data: name their folder in the environment variable MOGRO_WINE",
)
def test_the_published_data() -> None:
    wines = wine.load()
    assert repr(wines) == "Wine(wines=6497, dim=10, objectives=3)"
    assert (wines.rewards[:, 2] > 0).sum() == 1599
    assert len(np.unique(wines.features, axis=0)) == 5304
    # Dense wines have little alcohol; that is the strongest of all effects.
    density = 7
    assert wines.theta[0, density] == wines.theta.min()
    world = wines.sample(50, rng=np.random.default_rng(0))
    assert (world.dim, world.arms, world.objectives, world.noise) == (10, 50, 3, 1.0)
    explained = 1 - ((wines.rewards - wines.features @ wines.theta.T) ** 2).mean(axis=0)
    assert (explained > [0.5, 0.2, 0.8]).all()

"""Published data files: found in a folder or in the user's cache, or downloaded, and verified."""

import hashlib
import io
import os
import sys
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from mogro._files import write_whole

Digests = Mapping[str, str]  # file name -> SHA-256


def read_folder(folder: Path, digests: Digests) -> dict[str, bytes]:
    """Return the contents of the named files in ``folder``; refuse missing or altered ones."""
    contents = {}
    for name in digests:
        path = folder / name
        if not path.is_file():
            raise FileNotFoundError(f"no file {path}")
        contents[name] = path.read_bytes()
    verify(contents, digests)
    return contents


def verify(contents: Mapping[str, bytes], digests: Digests) -> None:
    """Refuse contents that are not the published ones."""
    for name, digest in digests.items():
        actual = hashlib.sha256(contents[name]).hexdigest()
        if actual != digest:
            raise ValueError(f"{name}: expected SHA-256 {digest}, got {actual}")


def download(url: str, digests: Digests, *, timeout: float) -> dict[str, bytes]:
    """Return the verified contents of the named files in the zip archive at ``url``.

    Whatever goes wrong on the way is a ConnectionError that says what it was.
    """
    archive = _fetch(url, timeout)
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as members:
            contents = {name: members.read(name) for name in digests}
        verify(contents, digests)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError) as error:
        raise ConnectionError(f"what came is not the published archive: {error}") from error
    return contents


def _fetch(url: str, timeout: float) -> bytes:
    # Imported here: together they would be a tenth of the time that importing mogro may take.
    import http.client
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=timeout) as response:
            return bytes(response.read())
    except urllib.error.HTTPError as error:
        error.close()
        raise ConnectionError(f"the server answered {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionError(f"the transfer failed: {error}") from error


def store(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into ``folder``, each of them whole or not at all."""
    for name, content in contents.items():
        with write_whole(folder / name, parents=True) as file:
            file.write(content)


def cache_folder(name: str) -> Path:
    """Return the folder for ``name`` in the user's cache; it need not exist."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        base = Path(chosen)
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path.home() / ".cache"
    return base / "mogro" / name

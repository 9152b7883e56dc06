"""Who may ask for what: keys by their hashes, in a file that may change while the service runs."""

import hashlib
import hmac
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from mogro._files import write_atomically

Role = Literal["decide", "reward", "read", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

_REFRESH_SECONDS = 1.0  # seconds after which the file is looked at again


class Key(Struct, forbid_unknown_fields=True, frozen=True):
    """A key, without the key.

    Attributes
    ----------
    hash
        SHA-256 of the key, in hexadecimal digits. A key has 256 random bits, so that nobody finds
        it by its hash.
    roles
        What it may do; admin is all of them.
    agents
        With which agents; all if there are none.
    """

    hash: str
    roles: list[Role]
    agents: list[str] = []

    def covers(self, agent: str | None) -> bool:
        """Tell whether it is for an agent, or for the whole service."""
        return not self.agents or agent in self.agents

    def allows(self, role: Role, agent: str | None) -> bool:
        """Tell whether it may do something, with an agent or with the service."""
        return self.covers(agent) and not {role, "admin"}.isdisjoint(self.roles)


class KeyRing:
    """The keys in a file, as it is now.

    A file that is not there means that there are no keys: then everybody who reaches the service
    may do everything, and it listens on loopback alone. One that was there and is gone, or cannot
    be read any more, changes nothing: the keys stay as they were.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._refreshed, self._keys = path, time.monotonic(), _read(path)
        self._had_keys = bool(self._keys)
        old_path = path.with_suffix(".toml")
        if not path.exists() and old_path.exists():  # a service must not lose its keys
            raise ValueError(
                f"{old_path}: keys are in {path.name} now; add each again by "
                "`mogro serve FILE --add-key NAME --roles ROLES`"
            )

    @property
    def required(self) -> bool:
        """Whether a request needs a key: once there were some, for ever."""
        self._refresh()
        return self._had_keys

    def find(self, secret: str) -> tuple[str, Key] | None:
        """Return a key with its name; every comparison takes the same time."""
        self._refresh()
        digest, match = hash_secret(secret), None
        for name, key in self._keys.items():
            if hmac.compare_digest(digest, key.hash):
                match = name, key
        return match

    def get(self, name: str) -> Key | None:
        """Return a key by its name, if it still stands."""
        self._refresh()
        return self._keys.get(name)

    def _refresh(self) -> None:
        if time.monotonic() - self._refreshed >= _REFRESH_SECONDS:
            self._refreshed = time.monotonic()
            with suppress(OSError, ValueError):
                self._keys = _parse(self._path)
                self._had_keys |= bool(self._keys)


def add_key(path: Path, name: str, roles: list[Role], agents: list[str]) -> str:
    """Write one more key into a file, or another one under its name, and return it.

    Nobody can read it there: it is shown now or never.
    """
    if not name or not name.isprintable():
        raise ValueError(f"name: expected a name of the key, got {name!r}")
    for role in roles:
        if role not in ROLES:
            raise ValueError(f"roles: expected some of {', '.join(ROLES)}, got {role!r}")
    keys = _read(path)
    secret = secrets.token_urlsafe(32)
    keys[name] = Key(hash_secret(secret), roles or ["admin"], agents)
    _write(path, keys)
    return secret


def remove_key(path: Path, name: str) -> None:
    """Take a key out of a file; a service that runs refuses it within a second."""
    keys = _read(path)
    if name not in keys:
        raise ValueError(f"name: expected one of {sorted(keys)}, got {name!r}")
    del keys[name]
    _write(path, keys)


def _write(path: Path, keys: dict[str, Key]) -> None:
    with write_atomically(path) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(msgspec.json.format(msgspec.json.encode(keys)))


def _read(path: Path) -> dict[str, Key]:
    return _parse(path) if path.exists() else {}


def _parse(path: Path) -> dict[str, Key]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Key])
    except ValueError as error:
        raise ValueError(f"{path}: not a file of keys: {error}") from None


def hash_secret(secret: str) -> str:
    """Return what is kept of a key or a cookie."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

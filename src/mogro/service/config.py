"""The file that a service is made from: agents, limits, and where things are kept."""

import ipaddress
import os
import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from mogro.agent import (
    Agent,
    Category,
    Encoder,
    HalfLife,
    Number,
    Objective,
    Retention,
    Tags,
    Vector,
)


class NumberColumn(Struct, tag="number", forbid_unknown_fields=True):
    """A number of a record."""

    mean: float = 0.0
    std: float = 1.0

    def column(self) -> Number:
        """Return the rule of an encoder."""
        return Number(self.mean, self.std)


class CategoryColumn(Struct, tag="category", forbid_unknown_fields=True):
    """One of some values."""

    values: list[str | int]

    def column(self) -> Category:
        """Return the rule of an encoder."""
        return Category(*self.values)


class TagsColumn(Struct, tag="tags", forbid_unknown_fields=True):
    """Any of some values."""

    values: list[str | int]

    def column(self) -> Tags:
        """Return the rule of an encoder."""
        return Tags(*self.values)


class VectorColumn(Struct, tag="vector", forbid_unknown_fields=True):
    """So many numbers."""

    size: int

    def column(self) -> Vector:
        """Return the rule of an encoder."""
        return Vector(self.size)


Columns = dict[str, NumberColumn | CategoryColumn | TagsColumn | VectorColumn]


class AgentSection(Struct, forbid_unknown_fields=True, kw_only=True):
    """An agent of the service: see :class:`mogro.Agent`."""

    objectives: list[Objective]
    arms: int | Columns
    context: int | Columns | None = None
    interactions: bool | list[tuple[str, str]] = True
    seed: int = 0
    epsilon: float = 0.0
    half_life: HalfLife | None = None
    retention: Retention | None = None
    activation_timeout: float | None = None
    correct_within: float | None = None
    max_step: float | None = None
    journal: str | None = None  # an SQLite file beside this one, or the address of a database
    catalogue: dict[str, list[float] | dict[str, Any]] = {}  # arms before any were sent

    def open(self, journal: str, name: str) -> Agent:
        """Open the agent, and create it the first time."""
        return Agent.open(
            journal,
            self.objectives,
            name=name,
            arms=_features(self.arms, "arms"),
            context=None if self.context is None else _features(self.context, "context"),
            interactions=self.interactions,
            seed=self.seed,
            epsilon=self.epsilon,
            half_life=self.half_life,
            retention=self.retention,
            activation_timeout=self.activation_timeout,
            correct_within=self.correct_within,
            max_step=self.max_step,
        )


class Limits(Struct, forbid_unknown_fields=True, frozen=True):
    """What a request may ask for; more is refused."""

    body: int = 1_000_000  # bytes
    arms: int = 10_000  # on offer, in a request or in a catalogue
    batch: int = 100  # calls
    waiting: int = 500  # calls of an agent, beyond which the answer is 503
    connections: int = 1000
    seconds: float = 10.0  # for a body to arrive, and for a call to wait
    rate: float = 0.0  # requests a second and key; 0 for any


class Personalizer(Struct, forbid_unknown_fields=True, frozen=True):
    """Rank and Reward in the shape of Azure Personalizer, for one agent and one objective."""

    agent: str
    objective: str


class ServiceConfig(Struct, forbid_unknown_fields=True, kw_only=True):
    """A whole file, checked."""

    agents: dict[str, AgentSection]
    host: str = "127.0.0.1"
    port: int = 8080
    names: list[str] = []  # by which clients call this service, beside those of loopback
    keys: str = ""  # the file with the keys; beside this one by default
    certificate: str = ""
    certificate_key: str = ""
    proxy: str = ""  # the address of a proxy that is believed about clients and TLS
    open_metrics: bool = False  # without a key
    log: Literal["requests", "changes"] = "requests"
    limits: Limits = Limits()
    personalizer: Personalizer | None = None
    path: Path = Path("mogro.toml")  # of the file itself

    @property
    def key_file(self) -> Path:
        """Where the hashes of keys stand."""
        return self.beside(self.keys or f"{self.path.stem}.keys.toml")

    @property
    def secure(self) -> bool:
        """Whether clients come by TLS, here or at a trusted proxy."""
        return bool(self.certificate or self.proxy)

    def beside(self, name: str) -> Path:
        """Return the path of a file that is named in this one."""
        return self.path.parent / name

    def journal(self, agent: str) -> str:
        """Return where an agent is kept."""
        given = self.agents[agent].journal
        if given is None:
            given = f"{self.path.stem}.{agent}.db"
        return given if "://" in given else os.fspath(self.beside(given))

    def check(self, *, keys: bool) -> None:
        """Refuse what would not be safe, or cannot be."""
        if not self.agents:
            raise ValueError("agents: expected at least one, such as [agents.shop], got none")
        for name in self.agents:
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
                raise ValueError(
                    f"agents: expected names of letters, digits, - and _, got {name!r}"
                )
        if not (keys or is_loopback(self.host)):
            raise ValueError(
                f"host: expected a loopback address, as there are no keys, got {self.host!r}; "
                f"add one: mogro serve {self.path.name} --add-key NAME"
            )
        if bool(self.certificate) != bool(self.certificate_key):
            raise ValueError("certificate: expected certificate_key with it, or neither")
        wanted = self.personalizer
        if wanted is not None:
            if wanted.agent not in self.agents:
                raise ValueError(
                    f"personalizer.agent: expected one of {sorted(self.agents)}, "
                    f"got {wanted.agent!r}"
                )
            names = [objective.name for objective in self.agents[wanted.agent].objectives]
            if wanted.objective not in names:
                raise ValueError(
                    f"personalizer.objective: expected one of {names}, got {wanted.objective!r}"
                )


def read_config(path: str | os.PathLike[str]) -> ServiceConfig:
    """Read a file, and check all that is in it."""
    place = Path(path)
    try:
        plain = tomllib.loads(place.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{place}: no TOML: {error}") from None
    return parse_config(plain, place)


def parse_config(plain: dict[str, Any], path: Path) -> ServiceConfig:
    """Return what a file says, once it is parsed."""
    try:
        config = msgspec.convert(plain, ServiceConfig)
    except msgspec.ValidationError as error:
        raise ValueError(f"{path}: {error}") from None
    config.path = path
    return config


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _features(given: int | Columns, name: str) -> int | Encoder:
    if isinstance(given, int):
        return given
    try:
        return Encoder(**{column: rule.column() for column, rule in given.items()})
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None

"""The file that a service is made from: agents, limits, and where things are kept."""

import ipaddress
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from mogro.agent import (
    Agent,
    Budget,
    Category,
    Encoder,
    HalfLife,
    Number,
    Objective,
    Retention,
    Tags,
    Vector,
)
from mogro.service.wire import Weights

Size = Annotated[int, Meta(ge=1, le=10_000)]  # of features
AtLeastOne = Annotated[int, Meta(ge=1)]


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

    size: Size

    def column(self) -> Vector:
        """Return the rule of an encoder."""
        return Vector(self.size)


Columns = dict[str, NumberColumn | CategoryColumn | TagsColumn | VectorColumn]


class AgentSettings(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What an agent is made of; all of it can change while it runs."""

    objectives: list[Objective] | UnsetType = UNSET
    arms: Size | Columns | UnsetType = UNSET
    context: Size | Columns | UnsetType | None = UNSET
    interactions: bool | list[tuple[str, str]] | UnsetType = UNSET
    arm_effects: bool | UnsetType = UNSET
    epsilon: float | UnsetType = UNSET
    holdout: float | UnsetType = UNSET
    baseline: str | UnsetType | None = UNSET
    half_life: HalfLife | UnsetType | None = UNSET
    retention: Retention | UnsetType | None = UNSET
    activation_timeout: float | UnsetType | None = UNSET
    correct_within: float | UnsetType | None = UNSET
    max_step: float | UnsetType | None = UNSET
    budgets: list[Budget] | UnsetType = UNSET

    def options(self) -> dict[str, Any]:
        """Return what is given, as an agent takes it."""
        settings = {name: getattr(self, name) for name in self.__struct_fields__}
        options = {name: value for name, value in settings.items() if value is not UNSET}
        for name in ("arms", "context"):
            if isinstance(options.get(name), dict):
                options[name] = _make_encoder(options[name], name)
        return options


class AgentChanges(AgentSettings, kw_only=True):
    """Settings of an agent to go on with: see :meth:`mogro.Agent.reconfigure`."""

    weights: Weights | UnsetType | None = UNSET


class AgentSection(AgentSettings, kw_only=True):
    """An agent of the service."""

    objectives: list[Objective]
    arms: Size | Columns
    seed: int = 0
    journal: str | None = None  # an SQLite file beside this one, or the address of a database
    catalogue: dict[str, list[float] | dict[str, Any]] = {}  # arms before any were sent
    noise: float | dict[str, float] | None = None  # of rewards, by which the page knows the front

    def options(self) -> dict[str, Any]:
        """Return what is given, as an agent takes it."""
        options = super().options()
        for service_field in ("journal", "catalogue", "noise"):
            del options[service_field]
        return options

    def open(self, journal: str, name: str) -> Agent:
        """Open the agent, and create it the first time."""
        return Agent.open(journal, name=name, **self.options())


class Limits(Struct, forbid_unknown_fields=True, frozen=True):
    """What a request may ask for; more is refused."""

    body: AtLeastOne = 1_000_000  # bytes
    arms: AtLeastOne = 10_000  # on offer, in a request or in a catalogue
    features: AtLeastOne = 500  # of an agent with other settings, with products: memory squared
    batch: AtLeastOne = 100  # calls
    waiting: AtLeastOne = 500  # calls of an agent, beyond which the answer is 503
    connections: AtLeastOne = 1000
    seconds: Annotated[float, Meta(gt=0)] = 10.0  # for a body to arrive, and for a call to wait
    rate: Annotated[float, Meta(ge=0)] = 0.0  # requests a second and key; 0 for any


class Personalizer(Struct, forbid_unknown_fields=True, frozen=True):
    """Rank and Reward in the shape of Azure Personalizer, for one agent and one objective."""

    agent: str
    objective: str


class ServiceConfig(Struct, forbid_unknown_fields=True, kw_only=True):
    """A whole file, checked."""

    agents: dict[str, AgentSection]
    host: str = "127.0.0.1"
    port: int = 8080
    allowed_hosts: list[str] = []  # by which clients call this service, beside those of loopback
    keys: str = ""  # the file with the keys; beside this one by default
    certificate: str = ""
    certificate_key: str = ""
    trusted_proxy: str = ""  # the address of a proxy that is believed about clients and TLS
    public_metrics: bool = False  # without a key
    log: Literal["requests", "changes"] = "requests"
    limits: Limits = Limits()
    personalizer: Personalizer | None = None
    path: Path = Path("mogro.toml")  # of the file itself

    @property
    def key_file(self) -> Path:
        """Where the hashes of keys stand."""
        return self.resolve(self.keys or f"{self.path.stem}.keys.json")

    @property
    def uses_tls(self) -> bool:
        """Whether clients come by TLS, here or at a trusted proxy."""
        return bool(self.certificate or self.trusted_proxy)

    def resolve(self, name: str) -> Path:
        """Return the path of a file that is named in this one."""
        return self.path.parent / name

    def journal_address(self, agent: str) -> str:
        """Return where an agent is kept."""
        journal = self.agents[agent].journal
        if journal is None:
            journal = f"{self.path.stem}.{agent}.db"
        return journal if "://" in journal else os.fspath(self.resolve(journal))

    def check(self, *, has_keys: bool) -> None:
        """Refuse what would not be safe, or cannot be."""
        if not self.agents:
            raise ValueError("agents: expected at least one, such as [agents.shop], got none")
        for name in self.agents:
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
                raise ValueError(
                    f"agents: expected names of letters, digits, - and _, got {name!r}"
                )
            folder = Path(self.journal_address(name)).parent
            if "://" not in self.journal_address(name) and not folder.is_dir():
                raise ValueError(f"agents.{name}.journal: expected a folder that exists: {folder}")
        if not 0 <= self.port < 1 << 16:
            raise ValueError(f"port: expected a number from 0 to 65535, got {self.port}")
        if not (has_keys or is_loopback(self.host)):
            raise ValueError(
                f"host: expected a loopback address, as there are no keys, got {self.host!r}; "
                f"add one: mogro serve {self.path.name} --add-key NAME"
            )
        if bool(self.certificate) != bool(self.certificate_key):
            raise ValueError("certificate: expected certificate_key with it, or neither")
        personalizer = self.personalizer
        if personalizer is not None:
            _check_choice("agent", personalizer.agent, sorted(self.agents))
            names = [objective.name for objective in self.agents[personalizer.agent].objectives]
            _check_choice("objective", personalizer.objective, names)


def _check_choice(name: str, value: str, choices: list[str]) -> None:
    if value not in choices:
        raise ValueError(f"personalizer.{name}: expected one of {choices}, got {value!r}")


def read_config(path: str | os.PathLike[str]) -> ServiceConfig:
    """Read a file, and check all that is in it."""
    file = Path(path)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: not valid TOML: {error}") from None
    return parse_config(document, file)


def parse_config(document: dict[str, Any], path: Path) -> ServiceConfig:
    """Return what a file says, once it is parsed."""
    try:
        config = msgspec.convert(document, ServiceConfig)
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


def _make_encoder(columns: Columns, name: str) -> Encoder:
    try:
        return Encoder(**{column: section.column() for column, section in columns.items()})
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None

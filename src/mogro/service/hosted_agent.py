"""An agent of the service with what belongs to it: arms on offer, a thread that writes."""

import json
import math
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from mogro._files import write_atomically
from mogro.agent import Agent, Alarm, Catalogue
from mogro.agent.features.encoder import read_records
from mogro.agent.features.feature_map import FeatureMap
from mogro.agent.views import noise_in_units
from mogro.service.config import AgentSection, ServiceConfig
from mogro.service.threads import Writer

_CACHE_SECONDS = 5.0  # seconds for which alarms are kept: they look at all decisions


class ArmStore:
    """The arms that an agent has on offer, in a file that is written atomically.

    Parameters
    ----------
    agent
        Whose features the arms have.
    path
        The file.
    initial_arms
        Arms to begin with, where there is no file.
    max_arms
        How many arms there may be.
    """

    def __init__(
        self, agent: Agent, path: Path, initial_arms: Mapping[str, Any], *, max_arms: int
    ) -> None:
        self._agent, self._path, self._max_arms = agent, path, max_arms
        self._lock = threading.Lock()
        self.features_by_arm: Mapping[str, Any] = dict(initial_arms)  # as they were sent
        if path.exists():
            try:
                self.features_by_arm = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise ValueError(f"{path}: not a catalogue: {error}") from None
        self._features = agent.config.features
        self._catalogue = make_catalogue(self.features_by_arm, self._features)

    @property
    def catalogue(self) -> Catalogue:
        """The arms, as an agent takes them; made anew where its features have changed."""
        features = self._agent.config.features
        if features is not self._features:
            with self._lock:
                self._catalogue = make_catalogue(self.features_by_arm, features)
                self._features = features
        return self._catalogue

    def put(self, arms: Mapping[str, Any]) -> None:
        """Add arms, or give those that are there other features."""
        with self._lock:
            self._replace({**self.features_by_arm, **arms})

    def drop(self, ids: Collection[str]) -> None:
        """Take arms off offer."""
        with self._lock:
            unknown_ids = [arm for arm in ids if arm not in self.features_by_arm]
            if unknown_ids:
                raise ValueError(f"arms: expected arms of the catalogue, got {unknown_ids[:3]}")
            remaining_arms = dict(self.features_by_arm)
            for arm in ids:
                remaining_arms.pop(arm, None)
            self._replace(remaining_arms)

    def _replace(self, features_by_arm: dict[str, Any]) -> None:
        if len(features_by_arm) > self._max_arms:
            message = f"arms: expected at most {self._max_arms} in all, got {len(features_by_arm)}"
            raise HTTPException(413, message)
        catalogue = make_catalogue(features_by_arm, self._agent.config.features)
        with write_atomically(self._path) as file:
            file.write(json.dumps(features_by_arm).encode())
        self.features_by_arm, self._catalogue = features_by_arm, catalogue


def make_catalogue(features_by_arm: Mapping[str, Any], features: FeatureMap) -> Catalogue:
    """Return arms as an agent takes them, from numbers or records."""
    catalogue = Catalogue(features.arm_dim)
    if features_by_arm:
        rows = list(features_by_arm.values())
        records = read_records(rows)
        catalogue.add(
            list(features_by_arm), rows if records is None else features.encode_arms(records)
        )
    return catalogue


def check_agent(section: AgentSection) -> None:
    """Refuse settings that no agent can have, arms that it cannot read, and noise of others."""
    config = Agent(**section.options()).config
    make_catalogue(section.catalogue, config.features)
    if section.noise is not None:
        noise_in_units(section.noise, config.objective_set)


class HostedAgent:
    """An agent by its name in the file of the service.

    Attributes
    ----------
    agent, arms, writer
        The agent itself, its arms on offer, and the thread that changes it.
    noise
        Of rewards, if somebody knows: see :meth:`mogro.Agent.front`.
    page
        Since when, and the parts of the page as they were then.
    """

    def __init__(self, name: str, config: ServiceConfig) -> None:
        self.name, section, limits = name, config.agents[name], config.limits
        self.agent, self.noise = section.open(config.journal_address(name), name), section.noise
        try:
            path = config.resolve(f"{config.path.stem}.{name}.arms.json")
            self.arms = ArmStore(self.agent, path, section.catalogue, max_arms=limits.arms)
        except BaseException:
            self.agent.close()
            raise
        self.writer = Writer(self.agent, max_waiting=limits.waiting, max_seconds=limits.seconds)
        self.page: tuple[float, dict[str, str]] = (-math.inf, {})
        self._lock = threading.Lock()
        self._alarms: tuple[float, tuple[Alarm, ...]] = (-math.inf, ())

    def alarms(self) -> tuple[Alarm, ...]:
        """Return what should be looked at, as of a few seconds ago."""
        with self._lock:
            if time.monotonic() - self._alarms[0] > _CACHE_SECONDS:
                self._alarms = time.monotonic(), self.agent.alarms()
            return self._alarms[1]

    def close(self) -> None:
        """Finish what has begun, write a snapshot, and close the journal."""
        self.writer.close()
        self.agent.close()

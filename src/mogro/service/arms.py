"""The arms that a service keeps on offer, as they were sent, beside their features."""

import json
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from mogro._files import write_atomically
from mogro.agent import Agent, Catalogue
from mogro.agent.features.encoder import read_records
from mogro.agent.features.feature_map import FeatureMap
from mogro.service.error_responses import RequestRefused


class ArmStore:
    """The catalogue of one agent, in a file that is there as a whole or not at all.

    Parameters
    ----------
    agent
        Whose features the arms have.
    path
        The file.
    first
        Arms to begin with, where there is no file.
    most
        How many arms there may be.
    """

    def __init__(self, agent: Agent, path: Path, first: Mapping[str, Any], *, most: int) -> None:
        self._agent, self._path, self._most = agent, path, most
        self._lock = threading.Lock()
        self.given: Mapping[str, Any] = dict(first)  # as they were sent
        if path.exists():
            try:
                self.given = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise ValueError(f"{path}: not a catalogue: {error}") from None
        self._features: FeatureMap = agent.config.features
        self._catalogue = self._made(self.given)

    @property
    def catalogue(self) -> Catalogue:
        """The arms, as an agent takes them; made anew where its features have changed."""
        features = self._agent.config.features
        if features is not self._features:
            with self._lock:
                self._catalogue, self._features = self._made(self.given), features
        return self._catalogue

    def put(self, arms: Mapping[str, Any]) -> None:
        """Add arms, or give those that are there other features."""
        with self._lock:
            self._replace({**self.given, **arms})

    def drop(self, ids: Collection[str]) -> None:
        """Take arms off offer."""
        with self._lock:
            missing = [arm for arm in ids if arm not in self.given]
            if missing:
                raise ValueError(f"arms: expected arms of the catalogue, got {missing[:3]}")
            gone = set(ids)
            self._replace({arm: x for arm, x in self.given.items() if arm not in gone})

    def _replace(self, given: dict[str, Any]) -> None:
        if len(given) > self._most:
            raise RequestRefused(
                413, f"arms: expected at most {self._most} in all, got {len(given)}"
            )
        made = self._made(given)
        with write_atomically(self._path) as file:
            file.write(json.dumps(given).encode())
        self.given, self._catalogue = given, made

    def _made(self, given: Mapping[str, Any]) -> Catalogue:
        features = self._agent.config.features
        catalogue = Catalogue(features.dim)
        if given:
            rows = list(given.values())
            records = read_records(rows)
            catalogue.add(list(given), rows if records is None else features.encode_arms(records))
        return catalogue

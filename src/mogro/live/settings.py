"""What an agent is, as opposed to what it has learned: fixed, and plain data in a file."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray, count, real, share
from mogro.choice import Beliefs, Rule
from mogro.exploration import Exploration
from mogro.live.objective import FIELDS, HalfLife, Objective, Units
from mogro.live.offers.bilinear import Bilinear
from mogro.live.offers.features import FeatureMap, Scaling
from mogro.policies import LinearPolicy
from mogro.policies.persistence import OWN, from_plain, to_plain

MakePolicy = Callable[[int, int], LinearPolicy]

# What a file holds of an agent's settings, by name.
PERSISTED = (
    "objectives",
    "dim",
    "intercept",
    "scaling",
    "features",
    "policy",
    "half_life",
    "capacity",
    "retention",
    "seed",
    "uniform",
    "patience",
)


@dataclass(frozen=True, eq=False)
class Settings:
    """Everything fixed about an agent, checked.

    Attributes
    ----------
    units
        The objectives, their units and windows.
    mapping
        From the user's features to the learner's.
    policy
        How to choose; what it has learned itself stays empty.
    exploiting
        The same policy when exploration is over.
    half_life, capacity, retention, seed, uniform
        As the agent was given them; no retention is infinity.
    patience
        How long a decision may wait to be activated; infinity if for ever.
    types
        Classes of the policy and its parts that are not mogro's own.
    """

    units: Units
    mapping: FeatureMap | Bilinear
    policy: LinearPolicy
    exploiting: Rule
    half_life: HalfLife | None
    capacity: int | None
    retention: float
    seed: int
    uniform: float
    patience: float
    types: tuple[type[Any], ...]

    @cached_property
    def size(self) -> int:
        """The number of features that the learner sees."""
        return self.mapping.size

    @cached_property
    def windowed(self) -> bool:
        """Whether some objective has a window."""
        return self.units.nearest < math.inf

    @cached_property
    def timed(self) -> bool:
        """Whether decisions need a time."""
        fading = self.half_life is not None and self.half_life.time is not None
        return fading or self.windowed or self.retention < math.inf

    def changed(self, objectives: Sequence[Mapping[str, Any]], policy: Any) -> "Settings":
        """Return settings with other objectives and another policy, both as they are written."""
        units = Units([Objective(**plain) for plain in objectives])
        made = from_plain(policy, self.types)
        _check_policy(made, self.mapping.size, len(units))
        return replace(self, units=units, policy=made, exploiting=Exploiting(made))

    def restored(self, plain: Mapping[str, Any]) -> "Settings":
        """Return these settings, or what became of them, as they are written."""
        own = json.loads(json.dumps(self.to_plain()))
        return self if plain == own else from_plain_settings(plain, types=self.types)

    def to_plain(self) -> dict[str, Any]:
        """Return the settings as JSON can hold them."""
        half_life = self.half_life
        plain = _plain_features(self.mapping) | {
            "objectives": [
                {name: getattr(one, name) for name in FIELDS} for one in self.units.objectives
            ],
            "policy": to_plain(self.policy),
            "half_life": half_life and {"updates": half_life.updates, "time": half_life.time},
            "capacity": self.capacity,
            "retention": self.retention if self.retention < math.inf else None,
            "seed": self.seed,
            "uniform": self.uniform,
            "patience": None if self.patience == math.inf else self.patience,
        }
        return {name: plain[name] for name in PERSISTED}


def _plain_features(mapping: FeatureMap | Bilinear) -> dict[str, Any]:
    if isinstance(mapping, Bilinear):
        given = {"dim": None, "intercept": False, "scaling": None}
        return given | {"features": mapping.to_plain()}
    scaling = mapping.scaling
    return {
        "dim": mapping.dim,
        "intercept": mapping.intercept,
        "scaling": scaling and [scaling.center.tolist(), scaling.scale.tolist()],
        "features": None,
    }


class Exploiting:
    """A policy whose exploration is over, or does not count, in a round that may be optimistic."""

    def __init__(self, policy: LinearPolicy, *, optimistic: bool = False) -> None:
        self.exploration: Exploration | None = None
        self.selection = policy.selection
        self.uniform = policy.uniform
        self.values_are_estimates = policy.values_are_estimates and not optimistic
        self.policy = policy
        self.threshold = policy.threshold
        self.optimistic = optimistic

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return what arms are worth to the policy."""
        return self.policy.values(arms, beliefs, rng=rng)


class Optimistic(Exploiting):
    """A policy in an optimistic round, with its exploration."""

    def __init__(self, policy: LinearPolicy) -> None:
        super().__init__(policy, optimistic=True)
        self.exploration = policy.exploration


def make_settings(
    objectives: Sequence[Objective],
    *,
    dim: int | None,
    intercept: bool,
    scaling: Scaling | None,
    features: Bilinear | None,
    policy: MakePolicy,
    half_life: HalfLife | None,
    capacity: int | None,
    retention: float | None,
    seed: int,
    uniform: float,
    patience: float | None,
) -> Settings:
    """Check what an agent is to be made of."""
    units = Units(objectives)
    mapping = make_mapping(dim, intercept=intercept, scaling=scaling, features=features)
    made = make_policy(policy, mapping.size, len(units))
    if half_life is not None and not isinstance(half_life, HalfLife):
        raise ValueError(f"half_life: expected a mogro.HalfLife, got {half_life!r}")
    return Settings(
        units=units,
        mapping=mapping,
        policy=made,
        exploiting=Exploiting(made),
        half_life=half_life,
        capacity=None if capacity is None else count(capacity, "capacity", minimum=0),
        retention=math.inf if retention is None else real(retention, "retention", minimum=0),
        seed=count(seed, "seed", minimum=0),
        uniform=share(uniform, "uniform"),
        patience=math.inf if patience is None else real(patience, "patience", above=0),
        types=tuple(_types(made)),
    )


def make_policy(policy: MakePolicy, size: int, objectives: int) -> LinearPolicy:
    """Make a policy for so many features and objectives, and check it."""
    if not callable(policy):
        raise ValueError(
            "policy: expected what makes one from the numbers of features and objectives, "
            f"such as mogro.MOGRO, got {policy!r}"
        )
    made = policy(size, objectives)
    _check_policy(made, size, objectives)
    return made


def make_mapping(
    dim: int | None, *, intercept: bool, scaling: Scaling | None, features: Bilinear | None
) -> FeatureMap | Bilinear:
    """Check from what features an agent is to learn."""
    if features is None:
        if dim is None:
            raise ValueError("dim: expected the number of features of an arm, or features=")
        return FeatureMap(dim, intercept=intercept, scaling=scaling)
    if not isinstance(features, Bilinear):
        raise ValueError(f"features: expected a mogro.Bilinear, got {features!r}")
    if dim is not None:
        raise ValueError(f"dim: expected none beside features=, got {dim!r}")
    if intercept is not False:
        raise ValueError(
            f"intercept: expected none beside features=, which has a constant, got {intercept!r}"
        )
    if scaling is not None:
        raise ValueError(
            "scaling: expected none beside features=; scale arms and contexts before, with a "
            f"mogro.Encoder for example, got {scaling!r}"
        )
    return features


def _check_policy(policy: LinearPolicy, size: int, objectives: int) -> None:
    """Refuse a policy for something else, or that no file could hold, now and not when saved."""
    if not isinstance(policy, LinearPolicy):
        raise ValueError(
            "policy: expected a mogro.policies.LinearPolicy (a policy with a learner of its own is "
            f"for simulation), got {policy!r}"
        )
    if (policy.dim, policy.objectives, policy.batch) != (size, objectives, ()):
        raise ValueError(
            f"policy: expected dim {size}, objectives {objectives} and no batch, got {policy!r}"
        )
    try:
        to_plain(policy)
    except ValueError as error:
        raise ValueError(f"policy: expected settings that can be saved, got {error}") from error


def _types(value: Any) -> Iterator[type[Any]]:
    """Yield the classes of a policy and its parts that are not mogro's own."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from _types(item)
    elif not isinstance(value, np.ndarray | np.generic | bool | int | float | str | None):
        if type(value) not in OWN:
            yield type(value)
        for field in fields(value) if is_dataclass(value) else ():
            if field.init:
                yield from _types(getattr(value, field.name))


def from_plain_settings(plain: Mapping[str, Any], *, types: Sequence[type[Any]]) -> Settings:
    """Make again what :meth:`Settings.to_plain` gave."""
    if set(plain) != set(PERSISTED):
        raise ValueError(f"its settings are {sorted(map(str, plain))[:12]}")
    policy = from_plain(plain["policy"], types)
    half_life = plain["half_life"]
    return make_settings(
        [Objective(**objective) for objective in plain["objectives"]],
        dim=plain["dim"],
        intercept=plain["intercept"],
        scaling=Scaling(*plain["scaling"]) if plain["scaling"] else None,
        features=Bilinear.from_plain(plain["features"]) if plain["features"] else None,
        policy=lambda _, __: policy,
        half_life=HalfLife(**half_life) if half_life else None,
        capacity=plain["capacity"],
        retention=plain["retention"],
        seed=plain["seed"],
        uniform=plain["uniform"],
        patience=plain["patience"],
    )

"""What an agent is, as opposed to what it has learned."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mogro._validation import count
from mogro.live.draws import hash_of
from mogro.live.driving import driver_of
from mogro.live.features import FeatureMap, Scaling
from mogro.live.learning import HalfLife
from mogro.live.objective import Objective, Units
from mogro.policies import LinearPolicy
from mogro.policies.persistence import decode, encode

MakePolicy = Callable[[int, int], LinearPolicy]


class Setup:
    """The hyper-parameters of an agent, checked, and what follows from them."""

    def __init__(
        self,
        objectives: Sequence[Objective],
        mapping: FeatureMap,
        make_policy: MakePolicy,
        *,
        seed: int,
        half_life: HalfLife | None,
        capacity: int | None,
    ) -> None:
        self.units = Units(objectives)
        self.mapping = mapping
        if not callable(make_policy):
            raise ValueError(
                "policy: expected what makes one from the numbers of features and objectives, "
                f"such as mogro.MOGRO, got {make_policy!r}"
            )
        policy = make_policy(mapping.size, len(self.units))
        self.driver = driver_of(policy)
        wanted = (mapping.size, len(self.units), ())
        if (policy.dim, policy.objectives, policy.batch) != wanted:
            raise ValueError(
                f"policy: expected dim {wanted[0]}, objectives {wanted[1]} and no batch, "
                f"got {policy!r}"
            )
        if half_life is not None and not isinstance(half_life, HalfLife):
            raise ValueError(f"half_life: expected a mogro.HalfLife, got {half_life!r}")
        self.half_life = half_life
        self.seed = count(seed, "seed", minimum=0)
        self.capacity = None if capacity is None else count(capacity, "capacity", minimum=0)
        self.hash = hash_of(self.seed)
        in_time = half_life is not None and half_life.time is not None
        self.windowed = math.isfinite(self.units.nearest)
        self.timed = in_time or self.windowed

    def encoded(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        scaling = self.mapping.scaling
        return {
            "objectives": [asdict(objective) for objective in self.units.objectives],
            "dim": self.mapping.dim,
            "intercept": self.mapping.intercept,
            "scaling": scaling and [scaling.center.tolist(), scaling.scale.tolist()],
            "policy": encode(self.driver.policy),
            "half_life": self.half_life and asdict(self.half_life),
            "capacity": self.capacity,
            "seed": self.seed,
        }

    @classmethod
    def decoded(cls, plain: Mapping[str, Any]) -> "Setup":
        """Make again what :meth:`encoded` gave."""
        scaling = Scaling(*plain["scaling"]) if plain["scaling"] else None
        policy = decode(plain["policy"])
        if not isinstance(policy, LinearPolicy):
            raise ValueError(f"policy: expected a policy, got {policy!r}")
        return cls(
            [Objective(**objective) for objective in plain["objectives"]],
            FeatureMap(plain["dim"], intercept=plain["intercept"], scaling=scaling),
            lambda _, __: policy,
            seed=plain["seed"],
            half_life=HalfLife(**plain["half_life"]) if plain["half_life"] else None,
            capacity=plain["capacity"],
        )

    def differences(self, other: "Setup") -> list[str]:
        """Return the names of hyper-parameters that keep agents from being merged."""
        mine, theirs = self.encoded(), other.encoded()
        free = ("seed", "capacity")
        return [name for name in mine if name not in free and mine[name] != theirs[name]]

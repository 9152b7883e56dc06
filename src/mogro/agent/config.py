"""What an agent is, as opposed to what it has learned: fixed, and plain data in a file."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, TypedDict, cast

from mogro._codec import by_name, from_plain, to_plain
from mogro._validation import FloatArray, boolean, count, real, share
from mogro.agent.budget import Budget, Spending
from mogro.agent.features.columns import Category, Number, Tags, Vector
from mogro.agent.features.encoder import Encoder
from mogro.agent.features.feature_map import FeatureMap, FeatureSpec, Interactions
from mogro.agent.objective import HalfLife, Objective, Retention
from mogro.agent.objective_set import ObjectiveSet
from mogro.policies import MOGRO, LinearPolicy
from mogro.policies.persistence import BUILT_IN, check_names, foreign_types
from mogro.posterior import Posterior
from mogro.priors import Learned, Prior
from mogro.scalarization import FixedWeights
from mogro.selection import Selection

_MAX_WINDOWS = 100  # longest windows that a time may be beyond the last

MakePolicy = Callable[[int, int], LinearPolicy]
# An arm, or what names one of the arms on offer, by their ids, features (K, A) and context.
Baseline = str | Callable[[tuple[str, ...], FloatArray, FloatArray | None], str]


class Settings(TypedDict, total=False):
    """What an agent may be given beside objectives, arms and a seed; see :class:`~mogro.Agent`."""

    context: FeatureSpec | None
    interactions: Interactions
    policy: MakePolicy | None
    prior: Prior | None
    arm_effects: bool
    epsilon: float
    holdout: float
    baseline: Baseline | None
    half_life: HalfLife | None
    retention: float | Retention | None
    activation_timeout: float | None
    max_step: float | None
    correct_within: float | None
    budgets: Sequence[Budget]


class AgentOptions(Settings, total=False):
    """What an agent is made of beside its objectives: the keywords of :meth:`Agent.open`."""

    arms: FeatureSpec
    seed: int


class AgentChanges(Settings, total=False):
    """What can change in an agent that is running: the keywords of :meth:`Agent.reconfigure`."""

    arms: FeatureSpec
    objectives: Sequence[Objective]
    weights: Mapping[str, float] | None


@dataclass(frozen=True, eq=False)
class AgentConfig:
    """Everything fixed about an agent, checked; parameters are those of :class:`~mogro.Agent`.

    The policy is made at once, and says what the prior and the half-life are if nobody else does.
    """

    objectives: Sequence[Objective]
    _: KW_ONLY
    arms: FeatureSpec
    context: FeatureSpec | None = None
    interactions: Interactions = True
    seed: int
    policy: Any = None  # once checked, the policy itself; what it has learned stays empty
    prior: Any = None
    arm_effects: bool = False
    epsilon: float = 0.0
    holdout: float = 0.0
    baseline: Any = None
    half_life: HalfLife | None = None
    retention: float | Retention | None = None
    activation_timeout: float | None = None
    max_step: float | None = None
    correct_within: float | None = None
    weights: Mapping[str, float] | None = None  # see Agent.set_weights
    budgets: Sequence[Budget] = ()

    def __post_init__(self) -> None:
        policy = make_policy(
            self.policy or MOGRO, self.features.learner_dim, len(self.objective_set)
        )
        prior = self.prior
        if prior is None:
            prior = Learned() if self.policy is None else policy.prior
        if prior == Learned():
            prior = learned_prior(self.features)
        if isinstance(policy, MOGRO):  # how it explores depends on the prior
            policy = replace(policy, prior=prior)
        checked = {
            "objectives": self.objective_set.objectives,
            "arms": self.features.arms,
            "context": self.features.context,
            "interactions": self.features.interactions,
            "seed": count(self.seed, "seed", minimum=0),
            "policy": policy,
            "prior": prior,
            "arm_effects": boolean(self.arm_effects, "arm_effects"),
            "epsilon": share(self.epsilon, "epsilon"),
            "holdout": share(self.holdout, "holdout"),
            "baseline": _check_baseline(self.baseline),
            "half_life": _half_life(self.half_life, policy.half_life),
            "retention": _retention(self.retention),
            "activation_timeout": _duration(self.activation_timeout, "activation_timeout", above=0),
            "correct_within": _duration(self.correct_within, "correct_within", minimum=0),
            "max_step": _duration(self.max_step, "max_step", above=0),
            "budgets": _budgets(self.budgets, self.objective_set),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        Posterior(policy.dim, policy.objectives, prior=prior)  # it checks the prior
        if self.arm_effects and not isinstance(self.prior, Learned):
            raise ValueError(f"arm_effects: expected a prior that is learned, got {self.prior!r}")
        if self.arm_effects and self.half_life is not None:
            raise ValueError(f"arm_effects: expected no half_life, got {self.half_life}")
        if self.arm_effects and policy.threshold is not None:  # of directions of features only
            raise ValueError(f"arm_effects: expected no threshold, got {policy.threshold}")

    @cached_property
    def objective_set(self) -> ObjectiveSet:
        """The objectives, their units and windows."""
        return ObjectiveSet(self.objectives)

    @cached_property
    def features(self) -> FeatureMap:
        """From the user's features to the learner's."""
        return FeatureMap(self.arms, self.context, self.interactions)

    @cached_property
    def types(self) -> tuple[type[Any], ...]:
        """Classes of the policy and its parts that are not mogro's own."""
        return tuple(foreign_types((self.policy, self.prior, self.baseline)))

    @cached_property
    def timed(self) -> bool:
        """Whether decisions need a time."""
        decays_in_time = self.half_life is not None and self.half_life.time is not None
        budget_in_time = any(budget.within == "time" for budget in self.budgets)
        has_window = self.objective_set.windowed
        return has_window or decays_in_time or budget_in_time or self.max_age < math.inf

    @cached_property
    def max_age(self) -> float:
        """The age up to which completed decisions are remembered."""
        retention = cast("Retention | None", self.retention)
        return math.inf if retention is None or retention.age is None else retention.age

    @cached_property
    def max_completed(self) -> float:
        """How many completed decisions are remembered."""
        retention = cast("Retention | None", self.retention)
        return math.inf if retention is None or retention.decisions is None else retention.decisions

    @cached_property
    def timeout(self) -> float:
        """How long decisions wait to be activated."""
        return math.inf if self.activation_timeout is None else self.activation_timeout

    @cached_property
    def selection(self) -> Selection:
        """How to select where a caller gives no weights."""
        if self.weights is None:
            chosen: Selection = self.policy.selection
            return chosen
        return FixedWeights(self.objective_set.shares(self.weights).tolist())

    @cached_property
    def spending(self) -> Spending:
        """How the learner's values become spends."""
        return Spending(self.budgets, self.objective_set)

    @cached_property
    def correction_time(self) -> float:
        """How long after its window a value still corrects what was learned."""
        return math.inf if self.correct_within is None else self.correct_within

    @cached_property
    def max_time_step(self) -> float:
        """How far a time may be from the latest so far."""
        if self.max_step is not None:
            return self.max_step
        half_life = self.half_life.time if self.half_life is not None else None
        for spans in (
            (*self.objective_set.windows, self.timeout),
            (half_life or math.inf, self.max_age),
        ):
            if min(spans) < math.inf:
                return _MAX_WINDOWS * max(span for span in spans if span < math.inf)
        return math.inf

    def reconfigured(self, changes: Mapping[str, Any]) -> "AgentConfig":
        """Return a config that differs in some fields."""
        return replace(self, **changes)

    def restored(self, plain: Any, types: Mapping[str, type[Any]]) -> "AgentConfig":
        """Return this config, or what became of it, from plain data, of classes by their names."""
        own_plain = json.loads(json.dumps(to_plain(self)))
        restored: AgentConfig = self if plain == own_plain else from_plain(plain, types)
        return restored


# Classes of which all that an agent writes is made.
KNOWN: tuple[type[Any], ...] = (
    *(*BUILT_IN, AgentConfig, Objective, HalfLife, Retention, Budget),
    *(FeatureMap, Encoder, Number, Category, Tags, Vector),
)


def config_from_plain(plain: Any, types: Sequence[type[Any]]) -> AgentConfig:
    """Make a config again from plain data; ``types`` are classes that are not mogro's own."""
    config = from_plain(plain, by_name(KNOWN, types))
    if not isinstance(config, AgentConfig):
        raise ValueError(f"expected a config, got {str(plain)[:80]}")
    return config


def make_policy(policy: MakePolicy | LinearPolicy, size: int, objectives: int) -> LinearPolicy:
    """Make a policy for so many features and objectives, and check it."""
    if isinstance(policy, LinearPolicy):
        new_policy = policy
    elif callable(policy):
        try:
            new_policy = policy(size, objectives)
        except TypeError as error:
            raise ValueError(
                "policy: expected a function of two numbers, of features and of objectives, got "
                f"{policy!r}: {error}"
            ) from error
    else:
        raise ValueError(
            "policy: expected a function that makes a policy from the numbers of features and "
            f"objectives, such as mogro.MOGRO, got {policy!r}"
        )
    if not isinstance(new_policy, LinearPolicy):
        raise ValueError(
            f"policy: expected a mogro.policies.LinearPolicy, got {new_policy!r}; policies that "
            "learn in another way work in simulations only"
        )
    if (new_policy.dim, new_policy.objectives, new_policy.batch) != (size, objectives, ()):
        raise ValueError(
            f"policy: expected dim {size}, objectives {objectives} and no batch, got {new_policy!r}"
        )
    if type(new_policy).update is not LinearPolicy.update:
        raise ValueError(
            f"policy: expected one with the update of LinearPolicy, got {new_policy!r}; it works "
            "in simulations only"
        )
    try:  # now, and not when it is saved
        check_names(new_policy)
    except ValueError as error:
        raise ValueError(f"policy: expected settings that can be saved, got {error}") from error
    return new_policy


def _check_baseline(baseline: Any) -> Any:
    """Refuse a baseline that is neither an arm nor a function that a file can name."""
    if baseline is None or (type(baseline) is str and baseline):
        return baseline
    if not callable(baseline):
        raise ValueError(
            "baseline: expected the id of an arm, a function that names one, or None for uniform "
            f"draws, got {baseline!r}"
        )
    try:
        check_names(baseline)
    except ValueError as error:
        raise ValueError(f"baseline: expected one that can be saved, got {error}") from error
    return baseline


def learned_prior(features: FeatureMap) -> Learned:
    """Return a learned prior with the groups of features; the first is the constant, of none."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(features.groups), -1)}
    return Learned([numbers[name] for name in features.groups])


def _half_life(half_life: HalfLife | None, updates: float | None) -> HalfLife | None:
    """Return the half-life of what was learned: the agent's, or the policy's."""
    if half_life is not None and not isinstance(half_life, HalfLife):
        raise ValueError(f"half_life: expected a mogro.HalfLife, got {half_life!r}")
    if half_life is not None and updates is not None and half_life != HalfLife(updates=updates):
        raise ValueError(f"half_life: expected {updates} updates as in the policy, got {half_life}")
    return HalfLife(updates=updates) if half_life is None and updates is not None else half_life


def _retention(retention: float | Retention | None) -> Retention | None:
    if retention is None or isinstance(retention, Retention):
        return retention
    return Retention(age=real(retention, "retention", minimum=0))


def _budgets(budgets: Sequence[Budget], objective_set: ObjectiveSet) -> tuple[Budget, ...]:
    is_list = isinstance(budgets, Sequence)
    if not is_list or not all(isinstance(budget, Budget) for budget in budgets):
        raise ValueError(f"budgets: expected a list of mogro.Budget, got {budgets!r}")
    for budget in budgets:
        if budget.objective not in objective_set.index:
            raise ValueError(
                f"budgets: expected objectives {list(objective_set.names)}, "
                f"got {budget.objective!r}"
            )
    for low, high in product(budgets, budgets):
        least, most = low.at_least, high.at_most
        if least is None or most is None or low.objective != high.objective:
            continue
        if least > most:
            raise ValueError(
                f"budgets: expected at_least up to at_most for {low.objective!r}, "
                f"got at_least={least}, at_most={most}"
            )
    return tuple(budgets)


def _duration(
    value: float | None, name: str, *, minimum: float = -math.inf, above: float = -math.inf
) -> float | None:
    return None if value is None else real(value, name, minimum=minimum, above=above)

"""All that decides a decision: what it is made of, and its random numbers.

Random numbers follow from the agent's seed and the decision's id alone. So a replay decides the
same, whatever happened in between and wherever it runs. The 256 bits of a BLAKE2b hash of both are
state and increment of a PCG64 generator.
"""

import hashlib
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, real
from mogro.agent.config import AgentConfig
from mogro.agent.errors import InfeasibleConstraints
from mogro.agent.features.arms import ArmSet
from mogro.agent.objective import Units
from mogro.agent.state.learner import Learner
from mogro.beliefs import Beliefs
from mogro.choice import Choice, Rule, choose
from mogro.exploration import ExplorationCache, ExplorationContext, arms_to_look_at
from mogro.policies import LinearPolicy
from mogro.probability import Probabilities
from mogro.propensity import probabilities, probabilities_of_values
from mogro.selection import Selection

_ODD = 1


class Constraints(NamedTuple):
    """Bounds on the estimates, by objective, in the user's units."""

    at_least: dict[str, float]
    at_most: dict[str, float]

    def are_met(self, estimates: FloatArray, units: Units) -> BoolArray:
        """Tell which arms with estimates (K, M), as the learner sees them, meet all bounds."""
        met: BoolArray = np.ones(len(estimates), dtype=np.bool_)
        best = {}
        outward = units.outward(estimates)
        for bounds, sign in ((self.at_least, 1), (self.at_most, -1)):
            for name, bound in bounds.items():
                column = outward[:, units.index[name]]
                met &= sign * column >= sign * bound
                best[name] = float(sign * (sign * column).max())
        if not met.any():
            raise InfeasibleConstraints(str(self), best)
        return met

    def __str__(self) -> str:
        words = [f"{name} >= {bound:g}" for name, bound in self.at_least.items()]
        return ", ".join(words + [f"{name} <= {bound:g}" for name, bound in self.at_most.items()])


class DecisionInputs(NamedTuple):
    """What a decision was made of.

    Attributes
    ----------
    arms
        The arms it was chosen from: eligible ones, and where constraints bind, those that meet
        them.
    beliefs
        What was known of them: of arms in a context, where there is one.
    learned
        What was known of all that the learner sees.
    explore
        What there was to explore, if anything.
    policy
        How to choose.
    selection
        How to select; the policy's own way or the caller's weights.
    step
        Number of decisions before.
    epsilon
        Probability of a uniform draw, besides the policy's own.
    """

    arms: ArmSet
    beliefs: Beliefs
    learned: Beliefs
    explore: ExplorationContext | None
    policy: Rule
    selection: Selection
    step: int
    epsilon: float

    def choose(self, *, rng: Rng) -> Choice:
        """Return what is chosen."""
        arms = self.arms
        return choose(
            self.policy,
            arms.features if arms.version is None else arms,
            self.beliefs,
            step=self.step,
            rng=rng,
            explore=self.explore,
            selection=self.selection,
            epsilon=self.epsilon,
        )

    def probabilities(self, *, rng: Rng) -> Probabilities:
        """Return with what probability each arm is chosen."""
        return probabilities(
            self.policy,
            self.arms.features,
            self.beliefs,
            step=self.step,
            rng=rng,
            explore=self.explore,
            selection=self.selection,
            epsilon=self.epsilon,
        )

    @property
    def estimates(self) -> FloatArray:
        """What the arms were expected to give, (K, M), as the learner sees it."""
        return self.beliefs.estimates(self.arms.features)


class WrittenInputs(NamedTuple):
    """What a journal holds of a decision that did not explore: its probabilities follow from it.

    Attributes
    ----------
    arms, selection, step
        As for :class:`DecisionInputs`.
    theta
        Estimates, (M, 1 + A), of arms in the context.
    values
        What arms were worth, (K, M), if not their estimates.
    epsilon
        Probability of a uniform draw, the policy's own included.
    """

    arms: ArmSet
    theta: FloatArray
    values: FloatArray | None
    selection: Selection
    step: int
    epsilon: float

    def probabilities(self, *, rng: Rng) -> Probabilities:
        """Return with what probability each arm is chosen."""
        return probabilities_of_values(
            self.estimates if self.values is None else self.values,
            self.arms.features,
            self.theta,
            step=self.step,
            rng=rng,
            selection=self.selection,
            epsilon=self.epsilon,
        )

    @property
    def estimates(self) -> FloatArray:
        """What the arms were expected to give, (K, M), as the learner sees it."""
        return np.asarray(self.arms.features @ self.theta.T)


def make_inputs(
    config: AgentConfig,
    learner: Learner,
    arms: ArmSet,
    *,
    selection: Selection,
    constraints: Constraints | None,
    step: int,
    may_explore: bool = True,
) -> DecisionInputs:
    """Find out from what to choose, and whether to explore.

    Constraints are about estimates, and bind once these mean something: not while exploring.
    """
    policy, learned = config.rule, learner.beliefs()
    beliefs = arms.project(learned)
    explore = None
    if may_explore and policy.exploration is not None:
        explore = _explorers(policy, arms, beliefs, learned, step, learner.cache)
    if constraints is not None and explore is None:
        arms = arms.only(constraints.are_met(beliefs.estimates(arms.features), config.units))
    return DecisionInputs(arms, beliefs, learned, explore, policy, selection, step, config.epsilon)


def _explorers(
    policy: LinearPolicy,
    arms: ArmSet,
    beliefs: Beliefs,
    learned: Beliefs,
    step: int,
    cache: ExplorationCache,
) -> ExplorationContext | None:
    """Return what there is to explore.

    Many arms are looked at only if some of them say so: those whose turn it is, or with a threshold
    a few that span all. The latter say nothing of a feature that was never seen, whose size is that
    among the arms on offer.
    """
    if arms.version is None and not arms.view.contextual:
        return policy.explorers(arms.features, learned, step=step, cache=cache)
    if policy.threshold is not None and learned.expected.all_seen:
        first = policy.explorers(arms.spanning, learned, step=step, cache=cache)
    elif policy.threshold is None and arms.version is not None:
        places = arms_to_look_at(len(arms), beliefs.theta.shape[-1], beliefs.expected, step)
        if places is None:
            return None
        first = policy.explorers(arms.some(places).features, beliefs, step=step, cache=None)
    else:
        return policy.explorers(arms.features, beliefs, step=step, cache=None)
    return first and policy.explorers(arms.features, beliefs, step=step, cache=None)


def read_constraints(
    at_least: Mapping[str, float] | None, at_most: Mapping[str, float] | None, units: Units
) -> Constraints | None:
    """Return the constraints, if there are any."""
    if not at_least and not at_most:
        return None
    bounds = []
    for argument, given in (("at_least", at_least), ("at_most", at_most)):
        for name in given or ():
            if name not in units.index:
                raise ValueError(
                    f"{argument}: expected objectives {list(units.names)}, got {name!r}"
                )
        bounds.append({n: real(b, f"{argument}[{n!r}]") for n, b in (given or {}).items()})
    return Constraints(*bounds)


class _Generators(threading.local):
    """Each thread's generator; setting its state costs a fifth of making a new one."""

    def __init__(self) -> None:
        self.bits = np.random.PCG64(0)
        self.generator = np.random.Generator(self.bits)


_generators = _Generators()


def draws(seed: int, id: str, *, purpose: str = "") -> np.random.Generator:
    """Return a generator with the random numbers of a decision.

    Examples
    --------
    >>> bool(draws(7, "visit 1").random() == draws(7, "visit 1").random())
    True
    """
    bits = np.random.PCG64(0)
    bits.state = _state(seed, id, purpose)
    return np.random.Generator(bits)


def brief_draws(seed: int, id: str) -> np.random.Generator:
    """Return the same, good until this thread asks for the next."""
    _generators.bits.state = _state(seed, id, "")
    return _generators.generator


def _state(seed: int, id: str, purpose: str) -> Any:
    key = f"{seed} {id}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(key, digest_size=32, person=purpose.encode()).digest()
    return {
        "bit_generator": "PCG64",
        "state": {
            "state": int.from_bytes(digest[:16], "little"),
            "inc": int.from_bytes(digest[16:], "little") | _ODD,
        },
        "has_uint32": 0,
        "uinteger": 0,
    }

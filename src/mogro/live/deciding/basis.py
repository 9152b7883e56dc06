"""What a decision is based on, and the choice itself."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, real
from mogro.choice import Beliefs, Choice, Rule, choose, explorers, is_optimistic, probabilities
from mogro.exploration import DEFAULT_SHARE, Settled, default_threshold
from mogro.live.errors import NoArmClears
from mogro.live.objective import Units
from mogro.live.offers.arms import ArmSet
from mogro.live.settings import Exploiting, Optimistic, Settings
from mogro.policies.persistence import OWN
from mogro.probability import Probabilities
from mogro.scalarization import FixedWeights, Scalarization, check_scalarization
from mogro.selection import Selection

Weights = Sequence[float] | Mapping[str, float] | Scalarization


class Constraints(NamedTuple):
    """Bounds on the estimates, by objective, in the user's units."""

    at_least: dict[str, float]
    at_most: dict[str, float]

    def clears(self, values: FloatArray, units: Units) -> BoolArray:
        """Tell which arms with estimates (K, M), as the learner sees them, meet all bounds."""
        clears: BoolArray = np.ones(len(values), dtype=np.bool_)
        best = {}
        outward = units.outward(values)
        for bounds, sign in ((self.at_least, 1), (self.at_most, -1)):
            for name, bound in bounds.items():
                column = outward[:, units.index[name]]
                clears &= sign * column >= sign * bound
                best[name] = float(sign * (sign * column).max())
        if not clears.any():
            raise NoArmClears(str(self), best)
        return clears

    def __str__(self) -> str:
        words = [f"{name} >= {bound:g}" for name, bound in self.at_least.items()]
        return ", ".join(words + [f"{name} <= {bound:g}" for name, bound in self.at_most.items()])


class Basis(NamedTuple):
    """All that decides a decision but its draw.

    Attributes
    ----------
    arms
        The arms it was chosen from: eligible ones, and where constraints bind, those that clear.
    beliefs
        What was known of them: of arms in a context, where there is one.
    learned
        What was known of all that the learner sees; None if it was made again from a journal.
    rule
        How to choose: the policy, or the policy without its exploration.
    exploiting
        The policy without its exploration.
    selection
        How to select; the policy's own way or the caller's weights.
    step
        Number of decisions before.
    """

    arms: ArmSet
    beliefs: Beliefs
    learned: Beliefs | None
    rule: Rule
    exploiting: Rule
    selection: Selection
    step: int

    def choose(self, settings: Settings, *, rng: Rng, settled: Settled) -> Choice:
        """Return what is chosen."""
        arms = self.arms
        return choose(
            self.rule,
            arms if arms.version is not None and self.rule.exploration is None else arms.features,
            self.beliefs,
            step=self.step,
            rng=rng,
            selection=self.selection,
            uniform=settings.uniform,
            settled=None if arms.mapping.contextual else settled,  # which knows the learner's side
            total=arms.total,
        )

    def probabilities(self, settings: Settings, *, exploiting: bool, rng: Rng) -> Probabilities:
        """Return with what probability each arm is chosen, also if nothing can be explored."""
        return probabilities(
            self.exploiting if exploiting else self.rule,
            self.arms.features,
            self.beliefs,
            step=self.step,
            rng=rng,
            selection=self.selection,
            uniform=settings.uniform,
        )


def make_basis(
    settings: Settings,
    arms: ArmSet,
    beliefs: Beliefs,
    *,
    selection: Selection,
    constraints: Constraints | None,
    step: int,
    settled: Settled,
) -> Basis:
    """Find out from what to choose, and whether to explore.

    Constraints are about estimates, and bind once these mean something: not while exploring. All
    arms of a catalogue are looked at only if their span says that there is something to explore.
    """
    policy, exploiting = arms.mapping.policy(settings.policy), settings.exploiting
    if policy is not settings.policy:
        exploiting = Exploiting(policy)
    known, rule = arms.mapping.contract(beliefs), cast("Rule", policy)
    if is_optimistic(policy, beliefs, step):
        rule, exploiting = Optimistic(policy), Exploiting(policy, optimistic=True)
    basis = Basis(arms, known, beliefs, rule, exploiting, selection, step)
    if not _may_explore(basis, constraints, settled):
        basis = basis._replace(rule=exploiting)
    if constraints is not None and basis.rule is exploiting:
        basis = basis._replace(
            arms=arms.only(constraints.clears(known.estimates(arms.features), settings.units))
        )
    return basis


def _may_explore(basis: Basis, constraints: Constraints | None, settled: Settled) -> bool:
    """Tell whether to explore; also if the choice itself will find out for less."""
    arms, policy, contextual = basis.arms, basis.rule, basis.arms.mapping.contextual
    if policy.exploration is None:
        return False
    if arms.version is not None or contextual:
        limit = _highest_threshold(policy, arms)
        if contextual and settled.covers_everything(limit):
            return False
        rule = cast("Rule", _Limit(limit))
        spanning, learned = arms.representatives, basis.learned
        assert learned is not None
        if explorers(rule, spanning, learned, step=basis.step, settled=settled) is None:
            return False
    if arms.version is None and constraints is None:
        return True
    own = None if contextual else settled
    found = explorers(policy, arms.features, basis.beliefs, step=basis.step, settled=own)
    return found is not None


def _highest_threshold(policy: Rule, arms: ArmSet) -> float:
    """Return the threshold for arms, or more if that is easier to tell."""
    if policy.threshold is not None:
        return policy.threshold
    if arms.overview is None:
        return float(default_threshold(arms.features))
    # All arms span at least what the eligible ones do, and none is larger than the largest.
    square = arms.overview.mean_square if arms.rows is None else arms.overview.largest
    return DEFAULT_SHARE * square


class _Limit(NamedTuple):
    """All that the question whether to explore asks of a policy."""

    threshold: float | None


def read_weights(weights: Weights | None, units: Units, own: Selection) -> Selection:
    """Return how to select: as the caller says, or else the policy's own way."""
    if weights is None:
        return own
    if callable(getattr(weights, "weights", None)):
        if type(weights) not in OWN:  # which check themselves
            check_scalarization(weights, "weights", objectives=len(units))
        return weights  # type: ignore[return-value]
    vector = units.vector(weights, "weights")  # type: ignore[arg-type]
    total = float(vector.sum())
    if (vector < 0).any() or not total > 0:
        raise ValueError(f"weights: expected numbers >= 0, not all 0, got {weights}")
    return FixedWeights((vector / total).tolist())


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

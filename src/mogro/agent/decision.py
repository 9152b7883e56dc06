"""A decision: how it is made, and what a caller sees of it.

Random numbers follow from the agent's seed and the decision's id alone. So a replay decides the
same, whatever happened in between and wherever it runs. The first 256 bits of a BLAKE2b hash of
both are the state of an SFC64 generator.
"""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple, final

import numpy as np

from mogro._validation import FloatArray
from mogro.agent.affordable import BudgetTerms
from mogro.agent.config import AgentConfig
from mogro.agent.decision_inputs import DecisionInputs, Inputs, StoredInputs
from mogro.agent.events import Decided
from mogro.agent.expected_spends import ExpectedSpends
from mogro.agent.features.arms import ArmSet
from mogro.agent.request import Request, hash_subject
from mogro.agent.state.accounts import Account
from mogro.agent.state.learner import Learner
from mogro.agent.state.state import State
from mogro.beliefs import Beliefs
from mogro.choice import Choice, choose
from mogro.exploration import ExplorationCache, ExplorationContext, arms_to_test, needed_exploration
from mogro.policies import LinearPolicy

UNKNOWN_PROPENSITY = math.nan, math.nan  # of a decision made elsewhere, and its error


@dataclass(frozen=True, eq=False)
class Propensities:
    """Probabilities of all eligible arms: ids, values (K,), standard errors (K,)."""

    arms: tuple[str, ...]
    values: FloatArray
    errors: FloatArray


@final
class Decision:
    """One decision; nothing changes it any more.

    Notes
    -----
    Propensities are computed when asked for, from what the decision was made of, which the object
    holds. A decision that was asked for again, by its id, is the same decision, but its inputs are
    gone: ask the first one, or with a journal :meth:`mogro.Agent.decision`. So it is with one that
    was pickled, unless its propensities had been asked for.
    """

    __slots__ = ("_config", "_event", "_inputs", "_propensities", "_propensity")

    def __init__(
        self,
        event: Decided,
        config: AgentConfig,
        inputs: Inputs | None = None,
        propensity: tuple[float, float] | None = None,
        propensities: Propensities | None = None,
    ) -> None:
        self._event = event
        self._config = config
        self._inputs = inputs
        self._propensity = propensity  # of the chosen arm, with its error, if it is known
        self._propensities = propensities

    @property
    def id(self) -> str:
        """To give rewards by."""
        return self._event.id

    @property
    def arm(self) -> str:
        """The arm chosen."""
        return self._event.arm

    @property
    def exploring(self) -> bool:
        """Whether it was chosen to explore."""
        return self._event.exploring

    @property
    def uniform(self) -> bool:
        """Whether it was a uniform draw."""
        return self._event.uniform

    @property
    def holdout(self) -> bool:
        """Whether the baseline chose it, because its subject is held out."""
        return self._event.holdout

    @property
    def time(self) -> float:
        """The time the caller gave, 0 if none."""
        return 0.0 if self._event.time is None else self._event.time

    @property
    def weights(self) -> dict[str, float] | None:
        """Importance of each objective, per unit; None if the policy used none this time."""
        weights = self._event.weights
        return None if weights is None else self._config.objective_set.named(weights)

    @property
    def prices(self) -> dict[str, float]:
        """What a unit of each bound objective cost, beside weights of sum 1.

        As rewards are given, not its ``unit``: what :attr:`mogro.Agent.budgets` had said before. Of
        an objective with bounds on both sides, what it cost less what it was worth.
        """
        record, budgets = self._event.budget_record, self._config.budgets
        prices: dict[str, float] = {}
        if record is not None:
            costs = {budget.objective for budget in budgets if budget.sign > 0}
            for budget, price in zip(budgets, record.prices, strict=True):
                name, earns = budget.objective, budget.sign < 0 and budget.objective in costs
                prices[name] = prices.get(name, 0.0) + (-price if earns else price)
        return prices

    @property
    def estimates(self) -> dict[str, float]:
        """What the arm was expected to give, in the user's units."""
        objective_set = self._config.objective_set
        return objective_set.named(objective_set.to_user_units(self._event.estimates))

    @property
    def certainty(self) -> float | None:
        """With what probability, by the posterior, the arm keeps all bounds of this decision.

        The least of all bounds; None without bounds, or where what the decision was made of is
        gone.
        """
        inputs = self._inputs
        if not isinstance(inputs, DecisionInputs) or inputs.constraints is None:
            return None
        arm, _ = inputs.all_arms.arm_features(inputs.all_arms.ids.index(self.arm))
        terms = inputs.budget_terms
        beliefs = inputs.beliefs if terms is None else terms.expected.posterior_beliefs
        return inputs.constraints.certainty_of(arm, beliefs, self._config.objective_set)

    @property
    def propensity(self) -> float:
        """The probability with which the agent chose this arm among these, then.

        Exact for one and two objectives, and where the policy does not draw weights; otherwise an
        estimate above 0 with :attr:`propensity_error`. Thompson sampling is always estimated. Of a
        decision that was observed, what its maker said; NaN if they did not.
        """
        return self._chosen_propensity()[0]

    @property
    def propensity_error(self) -> float:
        """The standard error of :attr:`propensity`; 0 if it is exact."""
        return self._chosen_propensity()[1]

    def _chosen_propensity(self) -> tuple[float, float]:
        return self._propensity or propensity_of(self.arm, self.propensities)

    @property
    def propensities(self) -> Propensities:
        """The same for every eligible arm; computed once."""
        if self._propensities is None:
            if isinstance(self.inputs, StoredInputs) and self._propensity is not None:
                raise ValueError(
                    f"decision {self.id!r}: the journal holds only the propensity of the chosen "
                    "arm, because it explored or its policy needs more than estimates"
                )
            self._propensities = compute_propensities(self.inputs, self._config, self._event)
        return self._propensities

    @property
    def inputs(self) -> Inputs:
        """What the decision was made of."""
        if self._inputs is None:
            raise ValueError(
                f"decision {self.id!r}: its inputs are known only to the Decision that the first "
                "call returned, or with a journal to agent.decision(id).decision"
            )
        return self._inputs

    @property
    def event(self) -> Decided:
        """By which it happened."""
        return self._event

    @property
    def config(self) -> AgentConfig:
        """That of the agent when it was made."""
        return self._config

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return self._parts() == other._parts()

    def _parts(self) -> tuple[Any, ...]:
        """Return what makes it the same decision as another."""
        weights = self._event.weights
        choice = self.id, self.arm, self.time, self._event.estimates.tolist()
        return *choice, None if weights is None else weights.tolist()

    def __hash__(self) -> int:
        return hash(self.id)

    def __copy__(self) -> "Decision":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Decision":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        event = self._event._replace(evidence=None)
        return Decision, (event, self._config, None, self._propensity, self._propensities)

    def __repr__(self) -> str:
        expected = ", ".join(f"{name} {value:.4g}" for name, value in self.estimates.items())
        reason = ", exploring" if self.exploring else ", uniform draw" if self.uniform else ""
        reason = ", held out" if self.holdout else reason
        return f"<Decision {self.id!r}: arm {self.arm!r}{reason}, expecting {expected}>"


class DecisionRecord(NamedTuple):
    """A decision and what has become of it.

    Attributes
    ----------
    decision
        As it was made.
    rewards
        What came so far, by objective, in the user's units; also what came too late.
    status
        Of each objective: ``pending``; ``learned``; ``defaulted``, learned as its default;
        ``missing``, its window closed with nothing to learn; ``unmet``, as was its condition;
        ``withdrawn``, because the arm was not shown.
    """

    decision: Decision
    rewards: dict[str, float]
    status: dict[str, str]

    @property
    def pending(self) -> bool:
        """Whether something may still come."""
        return "pending" in self.status.values()


def make_decision(
    state: State,
    id: str | None,
    request: Request,
    inputs: DecisionInputs | None = None,
    *,
    grouped: bool = False,
) -> Decision:
    """Choose an arm, by some inputs if not by what is known now; nothing changes."""
    config, id_number = state.config, None
    if id is None:
        id_number, id = unused_id(state)
    if config.holdout:
        request, held_out = assign_subject(config, id, request)
        if held_out:
            return _baseline_decision(state, id, id_number, request, grouped)
    if inputs is None:
        inputs = make_inputs(state, *state.preview(request.time), request)
    key = _random_key(id, request)
    reused, _thread.free_generator = _thread.free_generator, None  # a policy may decide, too
    rng = decision_generator(config.seed, key, reused=reused)
    choice = choose(
        inputs.policy,
        inputs.all_arms.offered if inputs.budget_terms is None else inputs.budget_terms,
        inputs.beliefs,
        step=inputs.step,
        rng=rng,
        explore=inputs.explore,
        selection=inputs.selection,
        epsilon=inputs.epsilon,
        prices=inputs.prices,
    )
    _thread.free_generator = rng
    event = decision_event(id, id_number, request, inputs, choice, grouped=grouped)
    return Decision(event, config, inputs)


def decision_event(
    id: str,
    id_number: int | None,
    request: Request,
    inputs: DecisionInputs,
    choice: Choice,
    *,
    grouped: bool = False,
) -> Decided:
    """Return the event of a choice."""
    arms, terms = inputs.all_arms, inputs.budget_terms
    index, uniform = int(choice.arm), bool(choice.uniform)
    policy_features, learner_features = arms.arm_features(index)
    record, context = arms.records(index)
    budget_record = None
    if terms is not None:  # no price could change a uniform draw, or a decision that explores
        priced = inputs.prices is not None and inputs.explore is None and not uniform
        budget_record = terms.record(index, choice.weights, priced=priced)
    return Decided(
        id,
        arms.id(index),
        learner_features,
        None if uniform or choice.weights is None else choice.weights.copy(),
        inputs.beliefs.theta.dot(policy_features),
        bool(choice.exploring),
        uniform,
        grouped,
        id_number,
        request.time,
        request.activate,
        request.subject,
        record,
        context,
        budget_record,
    )


def certain_choice(index: int, *, uniform: bool = False) -> Choice:
    """Return the choice of an arm that no weights were drawn for."""
    return Choice(np.asarray(index), None, np.asarray(False), np.asarray(uniform))


def assign_subject(config: AgentConfig, id: str, request: Request) -> tuple[Request, bool]:
    """Return a request with its subject, and whether that is held out: then nothing constrains."""
    subject = hash_subject(config.seed, id) if request.subject is None else request.subject
    held_out = subject < config.holdout * 2**63
    constraints = None if held_out else request.constraints
    return request._replace(subject=subject, constraints=constraints), held_out


def _random_key(id: str, request: Request) -> str:
    """Return what random numbers follow from, beside the seed."""
    return f"subject {request.subject}" if request.sticky else id


def _baseline_decision(
    state: State, id: str, id_number: int | None, request: Request, grouped: bool
) -> Decision:
    """Serve the baseline: an arm that is named, or a uniform draw if it is not on offer."""
    config = state.config
    inputs = make_inputs(state, *state.preview(request.time), request, steered=False)
    arms, baseline = inputs.arms, config.baseline
    if callable(baseline):
        baseline = baseline(arms.ids, arms.raw_features, arms.context)
        if baseline not in arms.ids:
            raise ValueError(f"baseline: expected the id of an eligible arm, got {baseline!r}")
    uniform = baseline not in arms.ids
    rng = decision_generator(config.seed, _random_key(id, request))
    index = int(rng.integers(len(arms))) if uniform else arms.ids.index(baseline)
    values = np.full(len(arms), 1 / len(arms)) if uniform else np.eye(len(arms))[index]
    choice = certain_choice(index, uniform=uniform)
    event = decision_event(id, id_number, request, inputs, choice, grouped=grouped)
    event = event._replace(holdout=True)
    propensities = Propensities(arms.ids, values, np.zeros(len(arms)))
    return Decision(event, config, inputs, propensity_of(event.arm, propensities), propensities)


def unused_id(state: State) -> tuple[int, str]:
    """Return an id for a new decision, and its number."""
    number = state.ids_made
    while state.ledger.rows_by_id.get(id := f"{state.config.seed}-{number}") is not None:
        number += 1
    return number, id


def make_inputs(
    state: State,
    learner: Learner,
    accounts: Sequence[Account],
    request: Request,
    *,
    before: int = 0,
    may_explore: bool = True,
    steered: bool = True,
) -> DecisionInputs:
    """Find out from what to choose, and whether to explore.

    ``before`` decisions of the same group come first. Constraints bind once something was observed
    of their objectives. Budgets leave the arms that they have room for. Both bind decisions that
    explore, too. Decisions that are not ``steered``, because others make them, do not explore, and
    budgets only count them.
    """
    config, arms, step = state.config, request.arms, state.counters.decisions + before
    policy: LinearPolicy = config.policy
    learned = learner.beliefs()
    arms, beliefs = learner.beliefs_about(arms, learned, state.pending_by_arm)
    explore = terms = prices = None
    if request.constraints is not None and _constraints_are_informed(request, learner):
        feasible = request.constraints.are_met(arms.features, beliefs, config.objective_set)
        arms = arms if feasible.all() else arms.subset(feasible)
    if accounts:
        balances = [account.balance(request.time) for account in accounts]
        known = arms, beliefs, learner.observed.copy()
        terms = BudgetTerms(
            ExpectedSpends(config.spending, balances, *known), step, steered=steered
        )
        prices, beliefs = terms.prices if steered else None, terms.beliefs
    if steered and may_explore and policy.explores:
        explore = _arms_to_explore(policy, arms, beliefs, learned, step, learner.cache)
        if explore is not None and terms is not None and terms.left is not arms:
            explore = _arms_to_explore(policy, terms.left, beliefs, learned, step, None)
    rule = explore, policy, request.selection, step, config.epsilon
    return DecisionInputs(arms, beliefs, learned, *rule, terms, prices, request.constraints)


def _constraints_are_informed(request: Request, learner: Learner) -> bool:
    """Tell whether estimates of the constrained objectives rest on observations."""
    assert request.constraints is not None
    informed = np.broadcast_to(learner.observed.informed, learner.observed.objectives)
    names = (*request.constraints.at_least, *request.constraints.at_most)
    return all(informed[request.config.objective_set.index[name]] for name in names)


def _arms_to_explore(
    policy: LinearPolicy,
    arms: ArmSet,
    beliefs: Beliefs,
    learned: Beliefs,
    step: int,
    cache: ExplorationCache | None,
) -> ExplorationContext | None:
    """Return what there is to explore, if anything.

    In a context, or a catalogue, many arms are looked at only if some of them say so: those whose
    turn it is, or with a threshold a few that span all.
    """
    threshold = policy.threshold
    if arms.catalogue_version is None and not arms.view.contextual:
        return needed_exploration(arms.features, beliefs, threshold, step=step, cache=cache)
    if threshold is not None:
        sample = needed_exploration(arms.spanning, learned, threshold, step=step, cache=cache)
    elif arms.catalogue_version is not None:
        indices = arms_to_test(len(arms), beliefs.theta.shape[-1], beliefs.expected, step)
        if indices is None:
            return None
        sample = needed_exploration(arms.subset(indices).features, beliefs, threshold, step=step)
    else:
        return needed_exploration(arms.features, beliefs, threshold, step=step)
    return sample and needed_exploration(arms.features, beliefs, threshold, step=step)


def compute_propensities(
    inputs: Inputs, config: AgentConfig, event: Decided | None = None
) -> Propensities:
    """Return the probabilities of arms, and if there is a decision, in it; it keys the draws."""
    id, chosen = "" if event is None else event.id, None
    if event is not None and not event.uniform:
        chosen = inputs.arms.ids.index(event.arm)
    rng = decision_generator(config.seed, id, purpose="propensity")
    values, errors = inputs.probabilities(rng=rng, chosen=chosen)
    for array in (values, errors):
        array.flags.writeable = False
    return Propensities(inputs.arms.ids, values, errors)


def propensity_of(arm: str, propensities: Propensities) -> tuple[float, float]:
    """Return the probability with which an arm was chosen, with its standard error."""
    index = propensities.arms.index(arm)
    return float(propensities.values[index]), float(propensities.errors[index])


class _Thread(threading.local):
    """The generator of this thread's last decision; its state can be set in a fifth of the time."""

    free_generator: np.random.Generator | None = None  # while a decision draws from it


_thread = _Thread()


def decision_generator(
    seed: int, id: str, *, purpose: str = "", reused: np.random.Generator | None = None
) -> np.random.Generator:
    """Return a generator with the random numbers of a decision; one that is reused has them now.

    Examples
    --------
    >>> decision_generator(7, "visit 1").random() == decision_generator(7, "visit 1").random()
    True
    """
    generator = reused or np.random.Generator(np.random.SFC64(0))
    key = f"{purpose} {seed} {id}".encode("utf-8", "surrogatepass")
    words = np.frombuffer(blake2b(key).digest(), np.uint64, 4)
    state = {"state": {"state": words}, "bit_generator": "SFC64", "has_uint32": 0, "uinteger": 0}
    generator.bit_generator.state = state
    return generator

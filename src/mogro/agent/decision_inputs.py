"""What a decision was made of: all of it, or as much as a journal holds."""

from typing import NamedTuple

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.agent.affordable import BudgetTerms
from mogro.agent.config import AgentConfig
from mogro.agent.events import Evidence
from mogro.agent.features.arms import ArmSet
from mogro.agent.request import Constraints
from mogro.beliefs import Beliefs
from mogro.exploration import ExplorationContext
from mogro.policies import LinearPolicy
from mogro.probability import Probabilities
from mogro.propensity import estimation_rng, probabilities, probabilities_of_values
from mogro.selection import Selection
from mogro.valuation import Prices


class DecisionInputs(NamedTuple):
    """What a decision was made of.

    Attributes
    ----------
    all_arms
        Eligible arms, and where constraints bind, those that meet them.
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
    budget_terms, prices
        What budgets do, if there are some, and what they add to the weights; nothing where others
        decide.
    constraints
        Of this decision, if it had some.
    """

    all_arms: ArmSet
    beliefs: Beliefs
    learned: Beliefs
    explore: ExplorationContext | None
    policy: LinearPolicy
    selection: Selection
    step: int
    epsilon: float
    budget_terms: BudgetTerms | None
    prices: Prices | None
    constraints: Constraints | None

    @property
    def arms(self) -> ArmSet:
        """The arms it was chosen from: those of all that budgets have room for."""
        return self.all_arms if self.budget_terms is None else self.budget_terms.left

    def probabilities(self, *, rng: Rng, chosen: int | None = None) -> Probabilities:
        """Return with what probability each arm is chosen; one of them may have been."""
        return probabilities(
            self.policy,
            self.arms.features,
            self.beliefs,
            step=self.step,
            rng=rng,
            explore=self.explore,
            selection=self.selection,
            epsilon=self.epsilon,
            prices=self.prices,
            chosen=chosen,
        )

    @property
    def estimates(self) -> FloatArray:
        """What the arms were expected to give, (K, M), as the learner sees it."""
        return self.beliefs.estimates(self.arms.features)

    @property
    def added_weights(self) -> FloatArray | None:
        """What budgets added to weights of sum 1, (M,), if there were some."""
        return None if self.prices is None else self.prices.weights


class StoredInputs(NamedTuple):
    """What a journal holds of a decision that did not explore: its probabilities follow from it.

    Attributes
    ----------
    arms
        As for :class:`DecisionInputs`.
    evidence
        What was written with the decision.
    config
        Of the agent when it was made.
    """

    arms: ArmSet
    evidence: Evidence
    config: AgentConfig

    def probabilities(self, *, rng: Rng, chosen: int | None = None) -> Probabilities:
        """Return with what probability each arm is chosen; one of them may have been."""
        evidence, policy = self.evidence, self.config.policy
        return probabilities_of_values(
            self.estimates if evidence.values is None else evidence.values,
            self.arms.features,
            evidence.theta,
            step=evidence.step,
            rng=estimation_rng(rng),
            selection=policy.selection if evidence.selection is None else evidence.selection,
            epsilon=1 - (1 - self.config.epsilon) * (1 - policy.epsilon),
            prices=evidence.prices,
            chosen=chosen,
        )

    @property
    def estimates(self) -> FloatArray:
        """What the arms were expected to give, (K, M), as the learner sees it."""
        return np.asarray(self.arms.features @ self.evidence.theta.T)

    @property
    def added_weights(self) -> FloatArray | None:
        """What budgets added to weights of sum 1, (M,), if there were some."""
        return self.evidence.prices


Inputs = DecisionInputs | StoredInputs

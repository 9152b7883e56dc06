"""What a linear model that has learned a whole log says of policies: no weights, but a belief."""

import numpy as np

from mogro._intervals import LEVEL, rate_interval, student_quantile
from mogro._validation import BoolArray, FloatArray
from mogro.agent.config import learned_prior
from mogro.agent.features.feature_map import FeatureMap
from mogro.evaluation.log_records import LogRecords
from mogro.posterior import Posterior
from mogro.probability import Probabilities

_MAX_FEATURES = 400  # features of the model; with more, products of arm and context are left out


class LogModel:
    """A posterior with a learned prior over a log, and what targets chose in it on average.

    Rewards are taken to be linear in the arm, the context and their products. If they are not, the
    answer is about another world, however narrow its interval.
    """

    def __init__(self, targets: int, objectives: int) -> None:
        self._targets, self._objectives = targets, objectives
        self._features: FeatureMap | None = None  # until there are rows
        self._posterior: Posterior
        self._feature_sums: FloatArray
        self._row_count = 0

    def add(self, records: LogRecords, targets: list[Probabilities]) -> None:
        """Learn some rows, and what targets choose in them."""
        if not records.has("offered", "offered_features"):
            return
        features, contexts, rows = records.features, records.contexts, len(records)
        if self._features is None:
            arm_dim, dim = features.shape[-1], contexts.shape[1]
            products = (1 + dim) * (1 + arm_dim) <= _MAX_FEATURES
            self._features = FeatureMap(arm_dim, dim or None, products)
            size, prior = self._features.learner_dim, learned_prior(self._features)
            self._posterior = Posterior(size, self._objectives, prior=prior)
            self._feature_sums = np.zeros((self._targets, size))
        rewards = records.rewards
        observed = ~np.isnan(rewards)
        x = self._features.join(features[np.arange(rows), records.chosen_index], contexts)
        self._posterior.learn(x, np.where(observed, rewards, 0.0), observed.astype(float))
        self._row_count += rows
        for index, target in enumerate(targets):
            mean_arms = np.vecmat(target.values, features)
            self._feature_sums[index] += self._features.join(mean_arms, contexts).sum(axis=0)

    def estimate(self, rates: BoolArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the values (W, M) and intervals of 95 % (W, M, 2); None if too little is known.

        Intervals of rates are within 0 and 1.
        """
        if self._features is None:
            return None
        posterior = self._posterior
        if (np.asarray(posterior.n) < 2).any():
            return None
        if posterior.due:
            posterior.learn_prior(posterior.evidence())
        beliefs, mean = posterior.beliefs(), self._feature_sums / self._row_count
        values, variances = beliefs.estimates(mean), np.maximum(beliefs.variances(mean), 1e-12)
        z = student_quantile(LEVEL, np.maximum(posterior.degrees_of_freedom, 1))
        half_widths = z * np.sqrt(variances * beliefs.noise)
        bounds = np.stack([values - half_widths, values + half_widths], axis=-1)
        bounds = np.where(rates[:, None], rate_interval(values, 1 / variances, z), bounds)
        return np.clip(values, bounds[..., 0], bounds[..., 1]), bounds

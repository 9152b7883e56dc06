"""What a linear model that has learned a whole log says of policies: no weights, but a belief."""

import numpy as np

from mogro._intervals import LEVEL, rate_interval, student_quantile
from mogro._validation import FloatArray
from mogro.evaluation.log_records import LogRecords, TargetProbabilities
from mogro.posterior import Posterior
from mogro.priors import Learned

_MAX_FEATURES = 400  # features of the model; with more, products of arm and context are left out


class LogModel:
    """A posterior with a learned prior over a log, and what targets chose in it on average.

    Rewards are taken to be linear in the arm, the context and their products. If they are not, the
    answer is about another world, however narrow its interval.
    """

    def __init__(self, targets: int, objectives: int) -> None:
        self._targets, self._objectives = targets, objectives
        self.posterior: Posterior | None = None
        self._chunks = 0
        self._rates = True

    def add(
        self, records: LogRecords, rewards: FloatArray, targets: list[TargetProbabilities]
    ) -> None:
        """Learn some rows, with rewards (n, M), and what targets choose in them."""
        features, chosen = records.features, records.chosen
        if features is None or chosen is None:
            return
        every = np.arange(len(chosen))
        contexts = np.ones((len(chosen), 1))
        if records.contexts is not None:
            contexts = np.concatenate([contexts, records.contexts], axis=1)
        if self.posterior is None:
            self._begin(contexts.shape[1] - 1, features.shape[-1])
        assert self.posterior is not None
        there = ~np.isnan(rewards)
        x = self._seen(contexts, features[every, chosen])
        self.posterior.learn(x, np.where(there, rewards, 0.0), there.astype(float))
        self._rates &= bool(np.isin(rewards[there], (0.0, 1.0)).all())
        self._chunks += len(x)
        for place, target in enumerate(targets):
            arms = np.vecmat(target.values, features)
            self._chosen[place] += self._seen(contexts, arms).sum(axis=0)

    def _begin(self, contexts: int, arms: int) -> None:
        whole = (1 + contexts) * (1 + arms) <= _MAX_FEATURES
        self._kept = np.full((1 + contexts, 1 + arms), whole)
        self._kept[0], self._kept[:, 0] = True, True
        groups = np.full(self._kept.shape, 2)
        groups[0], groups[:, 0], groups[0, 0] = 0, 1, -1
        prior = Learned(groups[self._kept].tolist())
        self.posterior = Posterior(int(self._kept.sum()), self._objectives, prior=prior)
        self._chosen: FloatArray = np.zeros((self._targets, self.posterior.dim))

    def _seen(self, contexts: FloatArray, arms: FloatArray) -> FloatArray:
        """Return a constant, the arm, the context and their products, (n, p)."""
        both = np.concatenate([np.ones((len(arms), 1)), arms], axis=1)
        return np.asarray((contexts[:, :, None] * both[:, None, :])[:, self._kept])

    def answer(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the values (W, M) and intervals of 95 % (W, M, 2); None if too little is known."""
        posterior = self.posterior
        if posterior is None or (np.asarray(posterior.n) < 2).any():
            return None
        if posterior.due:
            posterior.learn_prior(posterior.evidence())
        beliefs, mean = posterior.beliefs(), self._chosen / self._chunks
        values, variances = beliefs.estimates(mean), np.maximum(beliefs.variances(mean), 1e-12)
        z = student_quantile(LEVEL, np.asarray(posterior.n) - 1)
        reach = z * np.sqrt(variances * beliefs.noise)
        usual = np.stack([values - reach, values + reach], axis=-1)
        bounds = rate_interval(values, 1 / variances, z) if self._rates else usual
        return np.clip(values, bounds[..., 0], bounds[..., 1]), bounds

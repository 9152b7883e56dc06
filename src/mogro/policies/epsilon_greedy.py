"""MOLB-epsilon-greedy: a uniform arm now and then, else one of the estimated Pareto front."""

from dataclasses import KW_ONLY, dataclass
from typing import final

from mogro._validation import real, share
from mogro.policies.base import LinearPolicy
from mogro.priors import Fixed, Flat, Prior
from mogro.selection import ParetoFront, Selection, check_selection


@final
@dataclass(frozen=True, eq=False, repr=False)
class EpsilonGreedy(LinearPolicy):
    """Epsilon-greedy over the Pareto front of the estimates.

    With probability ``epsilon`` pull a uniformly random arm, otherwise a uniformly random member of
    the Pareto front of the ridge estimates, or the best arm by another selection.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    epsilon
        Probability of a random arm.
    selection
        How to select by the estimates: a front, or a scalarisation.
    ridge
        Weight of the penalty of the estimates.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> policy = EpsilonGreedy(dim=2, objectives=2, epsilon=0.0)
    >>> policy.learn(np.eye(2), np.array([[1.0, 1.0], [0.0, 0.0]]))
    >>> policy.select(np.eye(2), rng=rng)
    0
    """

    dim: int
    objectives: int
    _: KW_ONLY
    epsilon: float = 0.1
    selection: Selection = ParetoFront()  # noqa: RUF009
    ridge: float = 1.0
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", share(self.epsilon, "epsilon"))
        object.__setattr__(self, "ridge", real(self.ridge, "ridge", minimum=0))
        super().__post_init__()
        check_selection(self.selection, "selection", objectives=self.objectives)

    @property
    def prior(self) -> Prior:
        """What is believed before the first observation: parameters near zero."""
        return Fixed(self.ridge) if self.ridge > 0 else Flat()

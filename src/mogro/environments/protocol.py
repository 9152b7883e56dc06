"""What every environment offers to a simulation."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from mogro._validation import FloatArray


@runtime_checkable
class Environment(Protocol):
    """One problem instance: it draws features and rewards, and says their true means.

    A round asks for :meth:`contexts`, a policy picks one of the K arms, and :meth:`observe` gives
    a reward vector of that arm. All objectives are to be maximised. Any object with these members
    is an environment, no base class is needed; :func:`mogro.testing.check_environment` tells
    whether it behaves like one. It keeps no state and no generator.

    **Regret is judged by the true means**, so a world has to say them, in one of these ways:

    - ``theta``, (M, d): means are linear in the features, ``features @ theta.T``, in all rounds;
    - ``means``, an array (K, M): they stay, whatever the features are;
    - ``means(features)``: they depend on what is on offer, (*batch, K, d) -> (*batch, K, M);
    - ``means(features, step=...)``: they also depend on the round, counted from 0.

    Where there are both, ``means`` counts. A world without either cannot be judged and is refused.

    **Methods are given what they ask for by name**:

    - ``contexts(*, rng, batch)`` and ``observe(x, *, rng)``: the leading axes of a call are a batch
      of independent learners in the same instance, and ``rng`` may be :class:`mogro.Streams`, one
      generator for each of them; a batch of R sees to the bit what R single calls see;
    - ``contexts(*, rng)`` without ``batch``: the world is asked for each learner by itself, and
      ``rng`` is a plain ``numpy.random.Generator`` with all its methods: simpler, and slower;
    - a parameter ``step`` of any of the methods is the round, counted from 0;
    - a parameter ``arm`` of ``observe`` is the place of the arm that was chosen, (*batch).

    **The number of arms may vary**: with an attribute ``fewest_arms``, ``contexts(*, rng)`` returns
    that many up to ``arms``, and ``means(features)`` those of as many. Policies see these arms and
    no others; they play one after the other. Measures see ``means`` filled up with copies of the
    first arm.

    Examples
    --------
    A drifting world for one learner at a time:

    >>> import numpy as np
    >>> import mogro
    >>> class Seasons:
    ...     dim = arms = objectives = 2
    ...
    ...     def contexts(self, *, rng):
    ...         return np.eye(2)
    ...
    ...     def means(self, features, *, step):
    ...         return np.array([[1.0, 0.2], [0.6, 0.6]]) * (1 + np.sin(step / 50))
    ...
    ...     def observe(self, x, *, rng, arm, step):
    ...         return rng.normal(self.means(None, step=step)[arm], 0.1)
    >>> isinstance(Seasons(), mogro.environments.Environment)
    True
    >>> mogro.testing.check_environment(lambda rng: Seasons())
    >>> mogro.simulate(mogro.MOGRO, Seasons(), rounds=50)
    Trace(rounds=50, instances=1, repeats=1, effective_regret=0)
    """

    @property
    def dim(self) -> int:
        """The number of features, d."""

    @property
    def arms(self) -> int:
        """The number of arms on offer in each round, K; the most, where it varies."""

    @property
    def objectives(self) -> int:
        """The number of objectives, M."""

    @property
    def contexts(self) -> Callable[..., FloatArray]:
        """Return the features on offer this round: (*batch, K, d), or broadcastable to it."""

    @property
    def observe(self) -> Callable[..., FloatArray]:
        """Return reward vectors (*batch, M) for the features ``x``, (*batch, d), of chosen arms."""


@runtime_checkable
class LinearEnvironment(Environment, Protocol):
    """An environment whose mean rewards are linear in the features, with noise of known size."""

    @property
    def theta(self) -> FloatArray:
        """The true parameters, (M, d), read-only. Policies never see them."""

    @property
    def noise(self) -> float:
        """The standard deviation of the noise (or the sub-Gaussian bound sigma on it)."""

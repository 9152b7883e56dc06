"""What every environment offers to a simulation."""

from typing import Protocol, runtime_checkable

from mogro._streams import Rng
from mogro._validation import FloatArray


@runtime_checkable
class Environment(Protocol):
    """One problem instance: it draws features and rewards, and judges nothing.

    A round asks for :meth:`contexts`, a policy picks one of the K arms, and :meth:`observe` gives
    a noisy reward vector for the features of that arm. All objectives are to be maximised. Any
    object with these members is an environment, no base class is needed;
    :func:`mogro.testing.check_environment` tells whether it behaves like one.

    The leading axes of a call are a batch of independent learners in the same instance. With a
    :class:`~mogro._streams.Streams` of R generators, a batch of R sees to the bit what R single
    calls with the separate generators see. An environment keeps no state and no generator.

    Examples
    --------
    >>> import numpy as np
    >>> from mogro.environments import Environment, FixedArms
    >>> world = FixedArms(np.eye(2), [[1.0, 0.0]], noise=0.1)
    >>> isinstance(world, Environment)
    True
    """

    @property
    def theta(self) -> FloatArray:
        """The true parameters, (M, d), read-only. Policies never see them."""
        ...

    @property
    def noise(self) -> float:
        """The standard deviation of the noise (or the sub-Gaussian bound sigma on it)."""
        ...

    @property
    def dim(self) -> int:
        """The number of features, d."""
        ...

    @property
    def arms(self) -> int:
        """The number of arms on offer in each round, K."""
        ...

    @property
    def objectives(self) -> int:
        """The number of objectives, M."""
        ...

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        """Return the features on offer this round: (*batch, K, d), or broadcastable to it."""
        ...

    def observe(self, x: FloatArray, *, rng: Rng) -> FloatArray:
        """Return reward vectors (*batch, M) for the features ``x``, (*batch, d), of chosen arms.

        Their means are ``x @ theta.T``. The noise is added; its numbers depend on ``rng`` only and
        are the same whatever ``x`` is.
        """
        ...

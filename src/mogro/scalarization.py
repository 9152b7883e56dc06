"""What the greedy step maximises: one number per arm, made from its estimated reward vector.

A scalarisation first gives weights for a round, on the simplex for the linear ones. One that
offers nothing else is linear: the policy maximises ``x . sum_m w_m theta_m``, one matrix-vector
product. One that also has a method ``score`` is not: it sees every arm's estimated reward vector.
Any object with these methods will do; nothing has to be registered or inherited.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np

from mogro._algebra import sums
from mogro._streams import Rng
from mogro._validation import FloatArray, floats, real, simplex

_SMALL_CONCENTRATION = 0.1  # below it NumPy draws Dirichlet weights as broken sticks


class Scalarization(Protocol):
    """Weights for a round; with nothing else, a linear scalarisation."""

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: Rng
    ) -> FloatArray:
        """Return weights, (*batch, M) or broadcastable; ``step`` arms were selected before."""


class NonlinearScalarization(Scalarization, Protocol):
    """A scalarisation that is not linear in the reward vector."""

    def score(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the scores (..., K) of arms with estimated rewards (..., K, M)."""


def is_nonlinear(scalarization: object) -> TypeGuard[NonlinearScalarization]:
    """Tell whether a scalarisation has a ``score`` of its own."""
    return hasattr(scalarization, "score")


def is_linear(selection: object) -> TypeGuard[Scalarization]:
    """Tell whether a selection is a scalarisation that weighs objectives, and does nothing else."""
    return hasattr(selection, "weights") and not is_nonlinear(selection)


def check_scalarization(scalarization: object, name: str, *, objectives: int) -> None:
    """Refuse a scalarisation that does not fit the number of objectives, by asking it once."""
    if isinstance(scalarization, type) or not callable(getattr(scalarization, "weights", None)):
        raise ValueError(f"{name}: expected an object with a method weights, got {scalarization!r}")
    scheme: Scalarization = scalarization  # type: ignore[assignment]
    rng = np.random.default_rng(0)
    example = scheme.weights(objectives, step=0, batch=(), rng=rng)
    weights = floats(example, "weights", shape=("M",))
    if weights.shape != (objectives,):
        raise ValueError(
            f"{name}: expected weights for {objectives} objectives, got {weights.size} of them"
        )
    if is_nonlinear(scheme):
        values = np.arange(2.0 * objectives).reshape(2, objectives)
        floats(scheme.score(values, weights), "score", shape=(2,))


@dataclass(frozen=True)
class RandomWeights:
    """Random weights, Dirichlet distributed: MOGRO-RW.

    Parameters
    ----------
    concentration
        One number for all objectives, or one for each. 1 is uniform on the simplex; smaller numbers
        favour its corners (single objectives), larger ones its middle.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> RandomWeights().weights(3, step=0, batch=(), rng=rng).sum().round(12)
    np.float64(1.0)
    """

    concentration: float | Sequence[float] = 1.0

    def __post_init__(self) -> None:
        if np.ndim(self.concentration) == 0:
            number = real(self.concentration, "concentration", above=0)
            object.__setattr__(self, "concentration", number)
            return
        numbers = floats(self.concentration, "concentration", shape=("M",))
        if (numbers <= 0).any():
            raise ValueError(f"concentration: expected numbers > 0, got {self.concentration!r}")
        object.__setattr__(self, "concentration", tuple(numbers.tolist()))

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: Rng
    ) -> FloatArray:
        """Draw weights (*batch, M) on the simplex."""
        if self.concentration == 1.0:  # the usual case, several times faster for one learner
            draws: FloatArray = rng.standard_exponential((*batch, objectives))
            draws /= sums(draws)
            return draws
        concentration = self.dirichlet(objectives)
        if max(concentration) >= _SMALL_CONCENTRATION:
            return rng.dirichlet(concentration, batch)
        # NumPy would round small weights to zero. A Gamma number with parameter a is one with
        # a + 1, times the power 1 / a of a uniform number. All logarithms are shrunk alike, for
        # the least concentration may be any number.
        smallest = min(concentration)
        logs = np.log1p(-rng.random((*batch, objectives))) * np.divide(smallest, concentration)
        logs += smallest * np.log(rng.dirichlet(np.add(concentration, 1), batch))
        with np.errstate(over="ignore"):
            draws = np.exp((logs - logs.max(axis=-1, keepdims=True)) / smallest)
        return np.asarray(draws / draws.sum(axis=-1, keepdims=True))

    def dirichlet(self, objectives: int) -> tuple[float, ...]:
        """Return the parameters of the Dirichlet distribution, one for each objective."""
        if isinstance(self.concentration, float):
            return (self.concentration,) * objectives
        numbers = tuple(self.concentration)
        if len(numbers) != objectives:
            raise ValueError(
                f"concentration: expected one number for each of {objectives} objectives, "
                f"got {len(numbers)}"
            )
        return numbers


@dataclass(frozen=True)
class RoundRobin:
    """One objective after the other: MOGRO-RR.

    Rounds are counted by the arms selected, exploration included.

    Examples
    --------
    >>> RoundRobin().weights(3, step=4, batch=(), rng=np.random.default_rng(0))
    array([0., 1., 0.])
    """

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: Rng
    ) -> FloatArray:
        """Return the corner of the simplex whose turn it is."""
        turn = np.zeros(objectives)
        turn[step % objectives] = 1
        return turn


@dataclass(frozen=True)
class FixedWeights:
    """The same weights every round: one known trade-off.

    Nothing drives exploration after the first phase, and no other trade-off is learned on
    purpose: use it as a reference, or when the preference is known and will not change.

    Examples
    --------
    >>> FixedWeights([0.5, 0.5])
    FixedWeights(vector=(0.5, 0.5))
    """

    vector: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "vector", tuple(simplex(self.vector, "weights").tolist()))

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: Rng
    ) -> FloatArray:
        """Return the weights."""
        if len(self.vector) != objectives:
            raise ValueError(
                f"weights: expected one for each of {objectives} objectives, got {len(self.vector)}"
            )
        return np.array(self.vector)


@dataclass(frozen=True)
class RandomHypervolume:
    """Random hypervolume scalarisation: ``min_m max(0, y_m - z_m) / w_m``.

    The weights are a random direction, the absolute values of a normal vector scaled to norm 1.
    In expectation over them the maximum is the hypervolume above ``z``; the power M of the
    definition does not change which arm is best. Unlike linear weights it reaches Pareto arms that
    a mixture of other arms dominates.

    Parameters
    ----------
    reference
        The point z, one number for each objective, below every estimate that should count. Without
        it: each round's smallest estimate minus a tenth of the range. At the smallest itself,
        arms that are worst in one objective would never win.

    Examples
    --------
    >>> values = np.array([[1.0, 0.0], [0.45, 0.45], [0.0, 1.0]])  # the middle: below the line
    >>> RandomHypervolume().score(values, np.array([0.7, 0.7])).argmax()
    np.int64(1)
    """

    reference: Sequence[float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", _point(self.reference))

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: Rng
    ) -> FloatArray:
        """Draw a random direction (*batch, M) with positive entries and norm 1."""
        # A weight of zero would divide by zero; the smallest normal number will never be drawn.
        normal = np.abs(rng.standard_normal((*batch, objectives))) + np.finfo(np.float64).tiny
        return np.asarray(normal / np.sqrt(np.square(normal).sum(axis=-1, keepdims=True)))

    def score(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the scores (..., K) of arms with estimated rewards (..., K, M)."""
        above = values - reference_point(values, self.reference)
        return np.asarray((np.maximum(above, 0) / weights[..., None, :]).min(axis=-1))


@dataclass(frozen=True)
class RandomChebyshev:
    """Random augmented Chebyshev: ``min_m w_m (y_m - z_m) + rho sum_m w_m (y_m - z_m)``.

    Parameters
    ----------
    reference
        The point z, one number for each objective; without it as in :class:`RandomHypervolume`.
    rho
        Weight of the sum, which keeps arms that are only weakly optimal from winning.
    concentration
        Of the Dirichlet weights, as in :class:`RandomWeights`.

    Examples
    --------
    >>> values = np.array([[1.0, 0.0], [0.45, 0.45], [0.0, 1.0]])
    >>> RandomChebyshev().score(values, np.array([0.5, 0.5])).argmax()
    np.int64(1)
    """

    reference: Sequence[float] | None = None
    rho: float = 0.05
    concentration: float | Sequence[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", _point(self.reference))
        object.__setattr__(self, "rho", real(self.rho, "rho", minimum=0))
        object.__setattr__(self, "concentration", RandomWeights(self.concentration).concentration)

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: Rng
    ) -> FloatArray:
        """Draw weights (*batch, M) on the simplex."""
        random = RandomWeights(self.concentration)
        return random.weights(objectives, step=step, batch=batch, rng=rng)

    def score(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the scores (..., K) of arms with estimated rewards (..., K, M)."""
        weighted = weights[..., None, :] * (values - reference_point(values, self.reference))
        return np.asarray(weighted.min(axis=-1) + self.rho * weighted.sum(axis=-1))


def _point(reference: Sequence[float] | None) -> tuple[float, ...] | None:
    if reference is None:
        return None
    return tuple(floats(reference, "reference", shape=("M",)).tolist())


def reference_point(values: FloatArray, reference: Sequence[float] | None) -> FloatArray:
    """Return the point z, (M,) or (..., 1, M), strictly below the estimates by default."""
    if reference is not None:
        return floats(reference, "reference", shape=(values.shape[-1],))
    lowest = values.min(axis=-2, keepdims=True)
    spread = values.max(axis=-2, keepdims=True) - lowest
    return np.asarray(lowest - np.where(spread > 0, 0.1 * spread, 1.0))

"""Find the Pareto front, and know when it is found."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._algebra import largest
from mogro._streams import Rng, check_rng
from mogro._validation import BoolArray, FloatArray, IntArray, check_finite, real, share
from mogro.beliefs import Beliefs
from mogro.certainty import DifferenceWidths, FrontConfidence, check_noise
from mogro.pareto import front, gaps
from mogro.policies.base import LinearPolicy
from mogro.posterior import Posterior
from mogro.probability import Probabilities, exact_probabilities

_LOOKS_PER_DOUBLING = 200  # at least: n grows by one part in so many between them


class _Look(NamedTuple):
    """What was seen when everything was looked at."""

    arms: FloatArray  # (..., K, d)
    arm: IntArray  # (...) to pull until the next look
    on: BoolArray  # (..., K) certainly on the front, at this look or an earlier one
    off: BoolArray  # (..., K) certainly off it
    until: NDArray[np.int64]  # () observations from which on to look again


@final
@dataclass(frozen=True, eq=False, repr=False)
class FrontIdentification(LinearPolicy):
    """Pull what decides which arms are on the Pareto front; it does not care for rewards.

    For every arm there is a test: that a rival dominates it, or that none does. Pull the arm that
    tells most about the test that is furthest from its end (the difference of two arms; LinGapE of
    Xu, Honda and Sugiyama, 2018, for one objective). With probability 1 - delta all claims are true
    at all times; see :meth:`front_confidence` for the theorem. With ``tolerance = 0`` arms that are
    equal in an objective may never be decided.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M. Arms about which nothing is known but their
        rewards have one feature each: rows of an identity matrix.
    noise
        Sub-Gaussian constant of the rewards: a number, or one for each objective.
    delta
        Probability with which any arm may ever be classified wrongly.
    tolerance
        An arm also counts as one of the front if no rival is better by more than this in every
        objective.
    ridge
        In squared features; see :meth:`front_confidence`.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> import mogro
    >>> means = [[1.0, 0.0], [0.0, 1.0], [0.2, -0.3]]
    >>> world = mogro.environments.FixedArms(np.eye(3), np.transpose(means), noise=0.5)
    >>> policy = FrontIdentification(dim=3, objectives=2, noise=0.5)
    >>> rng = np.random.default_rng(0)
    >>> while not policy.is_finished():
    ...     arm = policy.select(world.features, rng=rng)
    ...     policy.update(world.features[arm], world.observe(world.features[arm], rng=rng))
    >>> policy.identified().on
    array([ True,  True, False])
    """

    dim: int
    objectives: int
    _: KW_ONLY
    noise: float | Sequence[float]
    delta: float = 0.05
    tolerance: float = 0.0
    ridge: float = 1.0
    batch: tuple[int, ...] = ()
    _look: _Look = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_noise(self.noise, self.objectives)
        object.__setattr__(self, "delta", share(self.delta, "delta", closed="(]"))
        object.__setattr__(self, "ridge", real(self.ridge, "ridge", above=0))
        object.__setattr__(self, "tolerance", real(self.tolerance, "tolerance", minimum=0))

    def _start(self, posterior: Posterior, step: int, exploring: BoolArray) -> None:
        super()._start(posterior, step, exploring)
        object.__setattr__(self, "_look", _look_at_nothing(self.batch, self.dim))

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return what pulling arms (..., K, d) tells, (..., K, M): the same for all objectives."""
        gains, _ = self._informativeness(arms, beliefs, self._claims_about(arms))
        return np.broadcast_to(gains[..., None], (*gains.shape, self.objectives))

    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose the arm that tells most; see :meth:`LinearPolicy.select`. It draws nothing.

        The more is known, the less often it looks: at least 200 times while n doubles.
        """
        check_rng(rng)
        arms, n, look = self._read_features(features), largest(self.posterior.n), self._look
        if n >= look.until or not np.array_equal(arms, look.arms):
            gains, claims = self._informativeness(arms, self.beliefs(), self._claims_about(arms))
            check_finite(gains, arms)
            until = np.array(int(n) + max(1, int(n) // _LOOKS_PER_DOUBLING))
            look = _Look(arms.copy(), gains.argmax(-1), *claims, until)
        self._count_round(np.zeros(self.batch, dtype=np.bool_))
        object.__setattr__(self, "_look", look)
        return look.arm.copy() if self.batch else int(look.arm)

    def probabilities(self, features: ArrayLike, *, rng: Rng | None = None) -> Probabilities:
        """Return with what probability :meth:`select` would choose each arm: 0 or 1."""
        arm = self.copy().select(features, rng=np.random.default_rng(0))
        chosen = (np.arange(np.shape(features)[-2]) == np.asarray(arm)[..., None]) * 1.0
        return exact_probabilities(chosen)

    def is_finished(self) -> bool | BoolArray:
        """Tell for every learner whether all arms are decided."""
        claims = self.identified()
        finished = np.asarray((claims.on | claims.off).all(-1) & (claims.on.shape[-1] > 0))
        return finished if self.batch else bool(finished)

    def identified(self) -> FrontConfidence:
        """Return which of the arms last offered are certainly on the front, and off it.

        What was certain once remains so. Compared with :meth:`front_confidence`, it was last looked
        at a few rounds ago.
        """
        return FrontConfidence(self._look.on, self._look.off)

    def _claims_about(self, arms: FloatArray) -> FrontConfidence:
        """Return what is certain about arms, from looks at the same arms."""
        if np.array_equal(arms, self._look.arms):
            return self.identified()
        flags = np.zeros((*self.batch, arms.shape[-2]), dtype=np.bool_)
        return FrontConfidence(flags, flags)

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that has been learned, as arrays under names."""
        look = {f"look.{name}": np.array(array) for name, array in self._look._asdict().items()}
        return super().save_state() | look

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of a policy with equal settings gave."""
        super().load_state(arrays)
        dtypes = {name: array.dtype for name, array in self._look._asdict().items()}
        parts = (arrays[f"look.{name}"].astype(dtype) for name, dtype in dtypes.items())
        object.__setattr__(self, "_look", _Look(*parts))

    def _informativeness(
        self, arms: FloatArray, beliefs: Beliefs, claims: FrontConfidence
    ) -> tuple[FloatArray, FrontConfidence]:
        """Return what arms tell, (..., K), and what is certain about them now.

        An arm tells by how much it reduces the variance of the difference that the hardest test is
        about. While some arm is less known than by one observation: the variances themselves.
        """
        spread = DifferenceWidths(
            arms, beliefs.S, objectives=self.objectives, delta=self.delta, ridge=self.ridge
        )
        batch = np.broadcast_shapes(arms.shape[:-2], beliefs.S.shape[:-3])
        variances = np.broadcast_to(spread.variances.mean(-2), (*batch, arms.shape[-2]))
        is_vague = variances.max(-1, keepdims=True) > 1
        if is_vague.all():
            return variances, claims
        likely, ratios, rivals = self._tests(arms, beliefs, spread)
        decided = (ratios >= 1) & ~is_vague
        claims = FrontConfidence(claims.on | (decided & likely), claims.off | (decided & ~likely))
        arm = np.where(claims.open, ratios, np.inf).argmin(-1)[..., None]
        pair = np.concatenate((arm, np.take_along_axis(rivals, arm, axis=-1)), axis=-1)
        offered = np.broadcast_to(arms, (*batch, *arms.shape[-2:]))
        pairs = np.take_along_axis(offered, pair[..., None], axis=-2)
        S = beliefs.S[..., 0, :, :] if beliefs.S.shape[-3] == 1 else beliefs.S.mean(-3)
        products = np.vecdot(arms, np.matvec(S, pairs[..., 0, :] - pairs[..., 1, :])[..., None, :])
        return np.where(is_vague, variances, products**2 / (1 + variances)), claims

    def _tests(
        self, arms: FloatArray, beliefs: Beliefs, spread: DifferenceWidths
    ) -> tuple[BoolArray, FloatArray, IntArray]:
        """Return who is likely on the front, how far their tests are, and rivals in the way.

        Each is (..., K); a test ends at 1. An arm that is likely on the front has to beat every arm
        in some objective; any other has to be dominated by one of the likely.
        """
        noise, estimates = np.asarray(self.noise), beliefs.estimates(arms)
        likely = gaps(estimates) <= self.tolerance / 2 if self.tolerance else front(estimates)
        values, slack = estimates / noise, self.tolerance / noise
        members = (~likely).argsort(axis=-1, kind="stable")[..., : int(likely.sum(-1).max())]
        leads = np.take_along_axis(values, members[..., None], axis=-2)[..., None, :, :]
        leads = leads - values[..., :, None, :]  # (..., K, J, M) of the likely
        off = (leads / spread.widths(members, "off")).min(-1)
        off = np.where(np.take_along_axis(likely, members, axis=-1)[..., None, :], off, -np.inf)
        on = ((leads + slack) / spread.widths(members, "on")).max(-1)
        on = np.where(spread.equal(members), np.inf, on)
        ratios, rivals = (off.max(-1), np.take_along_axis(members, off.argmax(-1), axis=-1))
        for result, of_members in ((ratios, on.min(-2)), (rivals, on.argmin(-2))):
            merged = result.copy()
            np.put_along_axis(merged, members, of_members, axis=-1)
            np.copyto(result, merged, where=likely)
        return likely, ratios, rivals


def _look_at_nothing(batch: tuple[int, ...], dim: int) -> _Look:
    """Return a look at no arms."""
    flags = np.zeros((*batch, 0), dtype=np.bool_)
    return _Look(np.zeros((0, dim)), np.zeros(batch, dtype=np.int64), flags, flags, np.array(0))

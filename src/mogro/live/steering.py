"""Exploration that counts decisions in flight.

For every objective, V of what was observed plus the outer products of what is still pending. While
some arm on offer has a part in a direction along which that sum is below the threshold, explore:
with all rewards a week late the first decisions span the arms all the same. A decision whose
window closes unobserved is taken out again, and exploration may resume.

Taking out leaves rounding behind, which must not look like a direction. So the sum over what is
pending is zero whenever nothing is, and it is added up anew from the ledger once more has been
taken out of it than is left. Where nothing can ever be lost (no forgetting, no window that closes
with nothing learned), all that ends for good once every direction is known.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._spans import negligible, parts_along, precision_of, unit_rows
from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray, check_shape
from mogro.exploration import (
    DEFAULT_SHARE,
    Exploration,
    ExplorationContext,
    default_threshold,
    explores,
    needs,
)
from mogro.linear import Spectrum, relative_rounding, spectrum
from mogro.live.learning import Learner
from mogro.live.ledger import PENDING, TEACHES, Ledger
from mogro.live.offer import Offer

_HUGE = 1e300  # like infinity, but times zero it is zero


class Explored(NamedTuple):
    """An arm to explore, and why."""

    arm: int
    situation: ExplorationContext


class Steering:
    """Decisions in flight, and the exploration that they and the observed ones call for."""

    def __init__(
        self,
        size: int,
        objectives: int,
        *,
        threshold: float | None,
        exploration: Exploration,
        losing: bool,
    ) -> None:
        self.threshold = threshold
        self.exploration = exploration
        self.losing = losing  # whether what is known or in flight can get less
        self.gram: FloatArray = np.zeros((objectives, size, size))  # of what is pending
        self.pending: IntArray = np.zeros(objectives, dtype=np.int64)
        self.removed: FloatArray = np.zeros(objectives)  # trace taken out since last added up
        self.added = 0  # outer products ever added
        self.largest = 0.0  # squared norm of the largest features seen
        # When last nothing was to explore: directions unknown then, in columns, others zero; and
        # a lower bound, kept up since, on the sums along the others.
        self.unknown: FloatArray = np.tile(np.eye(size), (objectives, 1, 1))
        self._everything = False  # no direction was unknown
        self._over = False  # and none will be again
        self.floor: FloatArray = np.full(objectives, -_HUGE)

    def depart(self, features: FloatArray, weight: float) -> None:
        """Count a decision (p,) that is now in flight for every objective."""
        if self._over:
            return
        outer = features[:, None] * features
        self.gram += outer if weight == 1 else weight * outer
        self.pending += 1
        self.added += 1
        self.largest = max(self.largest, float(features @ features))

    def arrive(self, features: FloatArray, which: BoolArray, weight: float) -> None:
        """Take a decision (p,) out for the objectives (M,) ``which`` that were observed."""
        if self._over:
            return
        self.pending -= which
        if np.count_nonzero(self.pending):
            self.gram[which] -= weight * (features[:, None] * features)
            self.removed += which * (weight * float(features @ features))
            empty = self.pending == 0
            self.gram[empty] = 0
            self.removed[empty] = 0
        else:
            self.gram[...] = 0
            self.removed[...] = 0

    def close(self, features: FloatArray, due: BoolArray, lost: BoolArray, w: FloatArray) -> None:
        """Take decisions (n, p) of weights (n,) out where windows close, (n, M) ``due``.

        Where they are also ``lost`` they were never observed.
        """
        if self._over:
            return
        masses = w * np.vecdot(features, features)
        for m, mine in enumerate(due.T):
            scaled = features[mine] * np.sqrt(w[mine])[:, None]
            self.gram[m] -= scaled.T @ scaled
        self.removed += masses @ due
        self.floor -= masses @ lost
        self.pending -= due.sum(axis=0)
        empty = self.pending == 0
        self.gram[empty] = 0
        self.removed[empty] = 0

    def fade(self, factor: float | FloatArray, *, pending: bool) -> None:
        """Follow the learner's forgetting: its sums, and the pending ones too if so, faded."""
        self.floor *= factor
        if pending:
            self.gram *= factor
            self.removed *= factor

    def explore(
        self, offer: Offer, learner: Learner, ledger: Ledger, *, step: int, rng: Rng
    ) -> Explored | None:
        """Return the arm to explore, and why; None if there is nothing to explore."""
        additions = learner.model.count + self.added
        if self._settled(offer, learner.effective, additions):
            return None
        total = self._total(learner, ledger)
        found = spectrum(total, additions=additions)
        listed = offer.listed()
        glance = None if offer.version is None else offer.version.survey(offer.mapping)
        arms = listed.mapped if glance is None else None
        largest = self.largest if glance is None else max(self.largest, glance.largest)
        if arms is not None:
            largest = max(largest, float(np.vecdot(arms, arms).max()))
        threshold = self._threshold(offer)
        seen = found.values > found.rounding[:, None]
        known = seen & (found.values >= threshold)
        for m in np.argsort(found.values[:, 0], kind="stable"):
            if glance is not None and not _reaches(glance.gram, found, int(m), ~known[m]):
                continue
            arms = listed.mapped if arms is None else arms
            inverse, unseen = _solved(found, int(m))
            if explores(needs(arms[None], inverse, unseen), threshold)[0]:
                context = ExplorationContext(
                    arms[None], inverse, unseen, np.zeros(1, int), (), step
                )
                arm = int(self.exploration.choose(context, rng=rng)[0])
                self.floor[:] = -_HUGE
                self.largest = largest
                return Explored(arm, context)
        self.largest = largest
        self.floor = np.where(known, found.values, _HUGE).min(axis=1)
        self.unknown = found.vectors * ~known[:, None, :]
        self._everything = bool(known.all())
        self._over = self._everything and not self.losing
        return None

    def merge(self, other: "Steering", weight: float) -> None:
        """Take over what another has in flight."""
        self.gram += weight * other.gram
        self.pending += other.pending
        self.removed += weight * other.removed
        self.added += other.added
        self.largest = max(self.largest, other.largest)
        self.floor[:] = -_HUGE
        if self._over or other._over:  # which no longer kept its sums: add them up anew
            self.removed[:] = _HUGE
            self._over = False

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything that changes, to be given to :meth:`restore`."""
        names = ("gram", "pending", "removed", "unknown", "floor")
        numbers = np.array([self.added, self.largest, self._everything, self._over])
        return {name: getattr(self, name) for name in names} | {"numbers": numbers}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`arrays` of an equal one gave."""
        for name, value in self.arrays().items():
            check_shape(arrays[name], name, value.shape)
            if name != "numbers":
                setattr(self, name, arrays[name].astype(value.dtype))
        added, self.largest, everything, over = arrays["numbers"].astype(np.float64).tolist()
        self.added, self._everything, self._over = int(added), everything == 1, over == 1

    def _threshold(self, offer: Offer) -> float:
        if self.threshold is not None:
            return self.threshold
        if offer.version is None:
            return float(default_threshold(offer.mapped))
        whole = offer.version.survey(offer.mapping).gram
        return DEFAULT_SHARE * float(np.trace(whole)) / len(offer.version.features)

    def _settled(self, offer: Offer, observations: FloatArray, additions: int) -> bool:
        """Tell, without eigenvectors, that nothing here is left to explore."""
        if self._over:
            return True
        if min(self.floor.tolist()) < self._threshold(offer):
            return False
        trace = self.largest * (observations + self.pending)  # an upper bound
        if (self.floor <= relative_rounding(self.unknown.shape[-1], additions) * trace).any():
            return False
        if self._everything:
            return True
        if offer.version is not None:
            return False
        units, precision = unit_rows(offer.mapped)[None], precision_of(offer.mapped)
        projectors = self.unknown @ np.swapaxes(self.unknown, -1, -2)
        strict = precision._replace(share=precision.share / 100)
        return not parts_along(units, projectors, strict)[0].any()

    def _total(self, learner: Learner, ledger: Ledger) -> FloatArray:
        """Return, for every objective, V of what is observed or pending, (M, p, p)."""
        total = learner.model.gram + self.gram
        worn = self.removed > 2 * np.trace(total, axis1=1, axis2=2)
        if not worn.any():
            return total
        self.removed[worn] = 0
        self.gram[worn] = 0
        self.pending[worn] = 0
        for _, rows in ledger.gather(ledger.pending()):
            weights = learner.weights(rows.time)
            waiting = (rows.state == PENDING) & (rows.flags & TEACHES > 0)[:, None]
            for m in np.flatnonzero(worn):
                scale = np.sqrt(waiting[:, m] * weights)
                scaled = scale[:, None] * rows.features
                self.gram[m] += scaled.T @ scaled
                self.pending[m] += waiting[:, m].sum()
        return np.asarray(learner.model.gram + self.gram)


def _solved(found: Spectrum, m: int) -> tuple[FloatArray, FloatArray]:
    """Return ``V^+`` and the projector on its null space, (1, p, p), for one objective."""
    vectors, seen = found.vectors[m : m + 1], found.values[m] > found.rounding[m]
    scaled = vectors * np.where(seen, 1 / np.where(seen, found.values[m], 1), 0)
    turned = np.swapaxes(vectors, -1, -2)
    return scaled @ turned, (vectors * ~seen) @ turned


def _reaches(gram: FloatArray, found: Spectrum, m: int, unknown: BoolArray) -> bool:
    """Tell whether arms with these summed outer products have a part in unknown directions."""
    vectors = found.vectors[m]
    reach = np.vecdot(vectors.T @ gram, vectors.T)
    return bool((reach[unknown] > negligible(len(reach), np.float32) * reach.sum()).any())

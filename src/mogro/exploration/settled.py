"""What needs no exploration any more."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mogro._spans import Precision, parts_along, precision_of, unit_rows
from mogro._validation import BoolArray, FloatArray, unwarned
from mogro.exploration.needs import SATISFIED, Study, default_threshold, explores, single_threshold
from mogro.exploration.strategies import ExplorationContext

_COMPARED = 2**16  # numbers in arms up to which they are compared with those of last time
_AT_ONCE = 2**16  # numbers in arms looked at together, so that a batch stays in the cache
_STRICT = 0.01  # of the share that counts as rounding: certainly rounding
_FIRST: NDArray[np.intp] = np.zeros(1, dtype=np.intp)
_FIRST.flags.writeable = False


class Settled:
    """Remembers what needs no exploration, so that usual rounds cost nearly nothing.

    It never changes an answer: all it knows are bounds on needs from earlier, and ``u^T V^+ u`` of
    a direction that has been seen never rises while observations are added to V. Call :meth:`reset`
    when something is taken out of V or fades.

    Remembered are, for each learner of a batch by itself,

    - a bound on ``u^T V^+ u`` over all u without a part in the directions still unknown to it, and
      the projector on these; once V is large everywhere there are none;
    - the needs of the arms last looked at, which are recognised by shape, type and content.

    Both are compared with the threshold of the day, so that it may change.

    Parameters
    ----------
    batch
        Shape of the batch.

    Examples
    --------
    >>> arms, V = np.eye(2), 3 * np.eye(2)
    >>> settled = Settled()
    >>> settled.covers(arms, 1.0)
    False
    >>> settled.look(arms, np.linalg.inv(V), None, 1.0, step=0)  # nobody has to explore
    >>> settled.covers(arms, 1.0), settled.covers(5 * np.ones((7, 2)), 1.0)
    (True, True)
    >>> settled.covers(arms, 4.0)  # more than V has
    False
    """

    def __init__(self, batch: tuple[int, ...] = ()) -> None:
        self.batch = batch
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        n = math.prod(self.batch)
        self._everywhere: FloatArray = np.full(n, np.inf)  # bounds for all directions
        self._bound = np.inf  # the largest of them
        self._inside: FloatArray = np.full(n, np.inf)  # bounds where nothing is unknown
        self._unknown: FloatArray | None = None  # projectors on what is, (n, d, d)
        self._useful = False  # whether the projectors served when they were last asked
        self._arms: tuple[object, ...] = ()  # shape, type and bytes of the arms last looked at
        self._arms_needs: FloatArray = np.full(n, np.inf)
        self._arms_need = np.inf  # the largest of them
        self._arms_default = np.inf  # their largest default threshold
        self._repeats = False  # whether the same arms may come again
        self._looks = [0] * n  # that found nothing to explore
        self._due = [1.0] * n  # looks after which to try for a bound everywhere
        self._work = [0.0] * n  # that went into them, in looks at d arms
        self._due_inside = [4.0] * n  # work after which to find what is unknown

    def covers(self, arms: FloatArray, threshold: float | FloatArray | None) -> bool:
        """Tell whether it is certain that no learner has to explore.

        Parameters
        ----------
        arms
            Arms on offer, (K, d), or (*batch, K, d) up to broadcasting.
        threshold
            For all learners or (*batch); None for :func:`default_threshold`.
        """
        if self._bound < np.inf:
            highest = _default(arms) if threshold is None else _highest(threshold)
            if self._bound * highest <= SATISFIED:
                return True
        if not self._repeats:
            return False
        self._repeats = self._same(arms)  # if not, do not compare again before the next look
        if not self._repeats:
            return False
        highest = self._arms_default if threshold is None else _highest(threshold)
        return self._arms_need * highest <= SATISFIED

    def covers_everything(self, threshold: float) -> bool:
        """Tell whether it is certain that no learner has to explore, whatever is on offer."""
        return self._bound * threshold <= SATISFIED

    @unwarned
    def look(
        self,
        arms: FloatArray,
        inverse: FloatArray,
        unseen: FloatArray | None,
        threshold: float | FloatArray | None,
        *,
        step: int,
    ) -> ExplorationContext | None:
        """Return what the learners that have to explore are to choose from; None if none has to.

        Parameters
        ----------
        arms, threshold
            As for :meth:`covers`; arms have to be finite.
        inverse, unseen
            ``V^+`` and the projectors on directions never seen, (*batch, d, d); None if there are
            none.
        step
            Number of arms selected before.
        """
        if not self.batch:
            return self._look_alone(arms, inverse, unseen, threshold, step)
        n, size = len(self._work), inverse.shape[-2:]
        default = default_threshold(arms) if threshold is None else None
        thresholds = self._for_each(default if threshold is None else threshold, ())
        offered = self._for_each(arms, arms.shape[-2:])
        inverse = inverse.reshape(n, *size)
        unseen = None if unseen is None else unseen.reshape(n, *size)
        found = np.minimum(self._everywhere, self._arms_needs if self._same(arms) else np.inf)
        asking = np.flatnonzero(explores(found, thresholds))
        if self._useful:
            units, precision = unit_rows(offered[asking]), precision_of(arms)
            asking = asking[self._beyond(asking, units, precision, thresholds, found)]
        at_once = max(1, _AT_ONCE // math.prod(arms.shape[-2:]))
        study = None
        for some in _chunks(asking, at_once):
            study = Study(*_of(some, offered, inverse, unseen))
            found[some] = study.needs()
        exploring = explores(found, thresholds)
        self._remember(arms, found, default)
        learners = np.flatnonzero(exploring)
        if learners.size < asking.size:
            work = min(arms.shape[-2:]) / arms.shape[-1]
            for i in asking[~exploring[asking]].tolist():
                hidden = None if unseen is None else unseen[i]
                self._count_work(i, work, inverse[i], hidden, float(thresholds[i]))
        if not learners.size:
            return None
        if learners.size < asking.size or asking.size > at_once:
            study = None  # of others, too, or not of all
        return ExplorationContext(
            *_of(learners, offered, inverse, unseen), learners, self.batch, step, study
        )

    def _look_alone(
        self,
        arms: FloatArray,
        inverse: FloatArray,
        unseen: FloatArray | None,
        threshold: float | FloatArray | None,
        step: int,
    ) -> ExplorationContext | None:
        """Look for a single learner, as :meth:`look` does but in less time."""
        limit = _default(arms) if threshold is None else float(threshold)
        offered, units = arms[None], unit_rows(arms[None])
        if self._useful:
            limits, found = np.full(1, limit), np.full(1, np.inf)
            if not self._beyond(_FIRST, units, precision_of(arms), limits, found).item():
                return None
        hidden = None if unseen is None else unseen[None]
        study = Study(offered, inverse[None], hidden, units)
        need = np.inf
        if study.never is None:
            need = study.bound() if arms.shape[0] < arms.shape[1] else np.inf
            if not need * limit <= 1:
                need = float(study.needs()[0])
        if not need * limit <= SATISFIED:
            self._arms, self._repeats = (), False
            return ExplorationContext(
                study.arms, study.inverse, study.unseen, _FIRST, (), step, study
            )
        self._remember(arms, np.full(1, need), limit if threshold is None else None)
        self._count_work(0, min(arms.shape) / arms.shape[1], inverse, unseen, limit)
        return None

    def _for_each(self, array: float | FloatArray | None, shape: tuple[int, ...]) -> FloatArray:
        """Return an array (..., *shape) that broadcasts to the batch for each learner."""
        array = np.asarray(array)
        if array.ndim < len(self.batch) + len(shape) or array.shape != (*self.batch, *shape):
            array = np.broadcast_to(array, (*self.batch, *shape))
        return array.reshape(-1, *shape)

    def _same(self, arms: FloatArray) -> bool:
        """Tell whether these are the arms last looked at; bytes alone do not tell the shape."""
        last = self._arms
        return bool(
            last and arms.shape == last[0] and arms.dtype == last[1] and arms.tobytes() == last[2]
        )

    def _remember(
        self, arms: FloatArray, found: FloatArray, default: FloatArray | float | None
    ) -> None:
        if arms.size > _COMPARED:
            self._arms, self._repeats = (), False
            return
        self._arms = (arms.shape, arms.dtype, arms.tobytes())
        self._arms_default = _default(arms) if default is None else _highest(default)
        self._arms_needs, self._arms_need = found, float(found.max())
        self._repeats = self._arms_need < np.inf

    def _beyond(
        self,
        asking: NDArray[np.intp],
        units: FloatArray,
        precision: Precision,
        thresholds: FloatArray,
        found: FloatArray,
    ) -> BoolArray:
        """Tell which of the learners asking may be offered something unknown, by unit vectors.

        For the others, put a bound into ``found``.
        """
        assert self._unknown is not None
        # Stricter about rounding than needs() is, so that both agree.
        strict = precision._replace(share=_STRICT * precision.share)
        parts, _ = parts_along(units, self._unknown[asking], strict)
        beyond = np.asarray(parts.any(axis=-1))
        beyond |= explores(self._inside[asking], thresholds[asking])
        found[asking[~beyond]] = self._inside[asking[~beyond]]
        self._useful = not beyond.all()
        return beyond

    def _count_work(
        self,
        learner: int,
        work: float,
        inverse: FloatArray,
        unseen: FloatArray | None,
        threshold: float,
    ) -> None:
        """Count a look at a learner with nothing to explore, and try to save the next ones."""
        self._looks[learner] += 1
        self._work[learner] += work
        if self._looks[learner] >= self._due[learner] and threshold > 0:
            self._find_bound(learner, inverse, unseen, threshold)

    def _find_bound(
        self, learner: int, inverse: FloatArray, unseen: FloatArray | None, threshold: float
    ) -> None:
        """Look for a bound everywhere, or else for the directions that are known to a learner."""
        total = inverse
        if unseen is not None and np.trace(unseen) > 0.5:
            # Never seen: a variance beyond any that could be known.
            total = inverse + (2 / threshold + 2 * np.trace(inverse)) * unseen
        elif _is_below(inverse, 1 / threshold):
            reserve = 4 * threshold  # thresholds go up and down
            bound = 1 / (reserve if _is_below(inverse, 1 / reserve) else threshold)
            self._everywhere[learner] = bound
            self._bound = float(self._everywhere.max())
            return
        self._due[learner] = 8 + 1.25 * self._looks[learner]
        work = self._work[learner]
        if work >= self._due_inside[learner]:  # eigenvectors are dear
            self._due_inside[learner] = 4 * work
            self._find_unknown(learner, total, threshold)

    def _find_unknown(self, learner: int, total: FloatArray, threshold: float) -> None:
        dim = len(total)
        values, vectors = np.linalg.eigh(total)
        known = values * threshold <= 1
        if self._unknown is None:
            self._unknown = np.tile(np.eye(dim), (len(self._work), 1, 1))
        self._unknown[learner] = np.eye(dim) - vectors[:, known] @ vectors[:, known].T
        self._inside[learner] = values[known].max(initial=0.0)
        self._useful = True


def _is_below(matrix: FloatArray, bound: float) -> bool:
    """Tell whether all eigenvalues of a matrix (d, d) are certainly below a bound."""
    try:  # ten times faster than the eigenvalues
        np.linalg.cholesky(bound * (1 - 1e-9) * np.eye(len(matrix)) - matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _default(arms: FloatArray) -> float:
    """Return the highest default threshold, of one learner without making an array."""
    if arms.ndim == 2:
        return single_threshold(arms)
    return float(default_threshold(arms).max())


def _highest(threshold: float | FloatArray) -> float:
    if isinstance(threshold, np.ndarray) and threshold.ndim:
        return float(threshold.max())
    return float(threshold)


def _chunks(positions: NDArray[np.intp], size: int) -> Iterator[NDArray[np.intp]]:
    return (positions[start : start + size] for start in range(0, positions.size, size))


def _of(
    learners: NDArray[np.intp], arms: FloatArray, inverse: FloatArray, unseen: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return what belongs to some learners, without a copy if these are all."""
    if learners.size == len(arms):
        return arms, inverse, unseen
    return arms[learners], inverse[learners], None if unseen is None else unseen[learners]

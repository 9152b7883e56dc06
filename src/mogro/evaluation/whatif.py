"""The front that one could have had: a grid of trade-offs, evaluated together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from mogro._validation import BoolArray, FloatArray, count, real
from mogro.agent.objective import Units
from mogro.evaluation.evaluating import ScannedLog
from mogro.evaluation.logs import read_log
from mogro.evaluation.targets import (
    Greedy,
    TargetProbabilities,
    read_estimates,
    read_weights,
)
from mogro.offpolicy import Evaluation, Rows, Sums
from mogro.offpolicy._intervals import correlated_normals, joint_level
from mogro.offpolicy.evaluation import read_level

_GRID = 21  # trade-offs at most, unless asked for more
_MOST = 200
_MIN_DIFFERENT_ROWS = 100.0  # effective rows that tell two trade-offs apart
_ROUNDING = 1e-9  # a standard error below this part of another is rounding


@dataclass(frozen=True)
class Recommendation:
    """The best trade-off of a grid under constraints.

    Attributes
    ----------
    weights
        Per unit, by objective; None if no trade-off is known to meet the constraints.
    confidence
        That it meets the constraints, counted for all trade-offs of the grid together. Of the one
        that comes nearest, if none is known to.
    values, intervals
        By objective, in the user's units; intervals hold for all of the grid together, so also for
        the one that was picked.
    constraints
        In words.
    """

    weights: dict[str, float] | None
    confidence: float
    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    constraints: str

    def __str__(self) -> str:
        if self.weights is None and not self.constraints:
            return "NO TRADE-OFF has an estimate that can be trusted"
        if self.weights is None:
            return (
                f"NO TRADE-OFF is known to reach {self.constraints}: "
                f"the nearest does with confidence {self.confidence:.1%}"
            )
        shown = ", ".join(
            f"{name} {value:.4g} [{self.intervals[name][0]:.4g}, {self.intervals[name][1]:.4g}]"
            for name, value in self.values.items()
        )
        sure = f"; {self.constraints} with confidence {self.confidence:.1%}"
        return f"{format_weights(self.weights)}: {shown}{sure if self.constraints else ''}"

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class WhatIf:
    """What trade-offs would have been worth; made by :func:`what_if`.

    Attributes
    ----------
    trade_offs
        W of them: weights per unit by objective, of sum 1.
    evaluations
        One for each.
    covariance
        Of all estimates, (W * M, W * M), trade-off after trade-off.
    sizes
        Effective numbers of rows in which two trade-offs differ, (W, W).
    units
        The objectives.
    """

    trade_offs: tuple[dict[str, float], ...]
    evaluations: tuple[Evaluation, ...]
    covariance: FloatArray
    sizes: FloatArray
    units: Units

    @property
    def value(self) -> FloatArray:
        """Estimates, (W, M), in the user's units."""
        return np.stack([each.value for each in self.evaluations])

    @property
    def trusted(self) -> BoolArray:
        """Which trade-offs have intervals that hold what they promise, (W,)."""
        return np.array([each.trusted for each in self.evaluations])

    @property
    def warnings(self) -> tuple[str, ...]:
        """In words, what is wrong with estimates, and with how many; the worst first."""
        words = [_kind(each.warnings[0]) for each in self.evaluations if each.warnings]
        ordered = sorted(dict.fromkeys(words), key=lambda kind: not kind.startswith("NO SUPPORT"))
        whole = len(self.evaluations)
        return tuple(f"{kind}: {words.count(kind)} of {whole} trade-offs" for kind in ordered)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Return intervals (W, M, 2) that hold for all trade-offs and objectives together."""
        known = self._known
        together = joint_level(read_level(level), self.covariance[np.ix_(known, known)])
        return np.stack([each.interval(together) for each in self.evaluations])

    def distinguishable(self, level: float = 0.95) -> BoolArray:
        """Tell which pairs of trade-offs differ in some objective, (W, W), all pairs together.

        Two that choose the same arm in all but a few rows are not told apart, whatever these say.
        """
        wanted, known = read_level(level), self._known
        size, objectives = len(self.trade_offs), len(self.units)
        drawn = np.full((size * objectives, 1), np.nan)
        if known.any():
            normals = correlated_normals(self.covariance[np.ix_(known, known)])
            drawn = np.full((size * objectives, normals.shape[1]), np.nan)
            drawn[known] = normals * self._error[known, None]
        blocks = drawn.reshape(size, objectives, -1)
        largest = np.zeros(drawn.shape[1])
        apart: dict[tuple[int, int], FloatArray] = {}
        for i, j in combinations(range(size), 2):
            error = self._difference_error(i, j)
            there = error > 0
            if there.any() and self.sizes[i, j] >= _MIN_DIFFERENT_ROWS:
                steps = abs(blocks[i] - blocks[j])[there] / error[there, None]
                largest = np.maximum(largest, steps.max(axis=0))
                apart[i, j] = (abs(self.value[i] - self.value[j])[there] / error[there]).max()
        reach = np.quantile(largest, wanted)
        different: BoolArray = np.zeros((size, size), dtype=np.bool_)
        for (i, j), step in apart.items():
            different[i, j] = different[j, i] = step > reach
        return different

    def confidence(
        self,
        *,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
    ) -> FloatArray:
        """Return with what confidence each trade-off meets all bounds, (W,).

        Counted for the whole grid: that any of those with 95 % or more misses a bound has a
        probability of at most 5 %. It is 0 for estimates that cannot be trusted.
        """
        scores, places, signs = self._constrained(at_least, at_most)
        if not len(places):
            return np.where(self.trusted, 1.0, 0.0)
        objectives = len(self.units)
        lowest = np.nan_to_num(scores, nan=-np.inf).min(axis=1)
        usable = np.flatnonzero(self.trusted & np.isfinite(lowest))
        confidence = np.zeros(len(self.trade_offs))
        if not len(usable):
            return confidence
        columns = (usable[:, None] * objectives + places).ravel()
        drawn = correlated_normals(self.covariance[np.ix_(columns, columns)])
        highest = (drawn * np.tile(signs, len(usable))[:, None]).max(axis=0)
        confidence[usable] = [float((highest <= lowest[row]).mean()) for row in usable]
        return confidence

    def best(
        self,
        objective: str,
        *,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        level: float = 0.95,
    ) -> Recommendation:
        """Return the trade-off with the best estimate of an objective, under constraints.

        Only those count that meet the constraints with this confidence.

        Parameters
        ----------
        objective
            Its name.
        at_least, at_most
            Bounds on values, by objective, in the user's units.
        level
            The confidence wanted, for the whole grid.
        """
        if objective not in self.units.index:
            raise ValueError(
                f"objective: expected one of {list(self.units.names)}, got {objective!r}"
            )
        m, wanted = self.units.index[objective], read_level(level)
        sure = self.confidence(at_least=at_least, at_most=at_most)
        constraints = " and ".join(
            [f"{name} at least {bound:g}" for name, bound in (at_least or {}).items()]
            + [f"{name} at most {bound:g}" for name, bound in (at_most or {}).items()]
        )
        merits = np.where(sure >= wanted, self.value[:, m] * np.sign(self.units.scale[m]), np.nan)
        reached = not np.isnan(merits).all()
        row = int(np.nanargmax(merits)) if reached else int(sure.argmax())
        bounds = self.interval(wanted)[row]
        return Recommendation(
            self.trade_offs[row] if reached else None,
            float(sure[row]),
            self.units.named(self.value[row]),
            {n: (float(a), float(b)) for n, (a, b) in zip(self.units.names, bounds, strict=True)},
            constraints,
        )

    def __str__(self) -> str:
        names = self.units.names
        lines = list(self.warnings)
        lines += self.evaluations[0].notes
        lines.append(f"{self.evaluations[0].rows:,} rows; 95 % intervals for all together")
        lines.append("  ".join([f"{'weights':<28}", *(f"{name:<30}" for name in names), "size"]))
        for weights, evaluation, bounds in zip(
            self.trade_offs, self.evaluations, self.interval(), strict=True
        ):
            cells = [
                "no estimate" if np.isnan(v) else f"{v:.4g} [{a:.4g}, {b:.4g}]"
                for v, (a, b) in zip(evaluation.value, bounds, strict=True)
            ]
            shown = [f"{format_weights(weights):<28}", *(f"{cell:<30}" for cell in cells)]
            lines.append("  ".join([*shown, f"{evaluation.effective_size.min():.0f}"]))
        pairs = len(self.trade_offs) * (len(self.trade_offs) - 1) // 2
        lines.append(f"{int(self.distinguishable().sum()) // 2} of {pairs} pairs differ")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def _error(self) -> FloatArray:
        return np.sqrt(np.diag(self.covariance))

    @property
    def _known(self) -> BoolArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(self._error > 0)

    def _difference_error(self, i: int, j: int) -> FloatArray:
        """Return standard errors (M,) of the difference; 0 where there is none but rounding."""
        objectives = len(self.units)
        a, b = (np.arange(k * objectives, (k + 1) * objectives) for k in (i, j))
        c = self.covariance
        square = np.maximum(c[a, a] + c[b, b] - 2 * c[a, b], 0)
        error = np.sqrt(np.nan_to_num(square))
        return np.where(error > _ROUNDING * np.nan_to_num(self._error[a]), error, 0.0)

    def _constrained(
        self, at_least: Mapping[str, float] | None, at_most: Mapping[str, float] | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return scores (W, C) of the constraints, the objectives they are about, and signs."""
        places, signs, limits = [], [], []
        for argument, given, sign in (("at_least", at_least, 1.0), ("at_most", at_most, -1.0)):
            for name, bound in (given or {}).items():
                if name not in self.units.index:
                    raise ValueError(
                        f"{argument}: expected objectives {list(self.units.names)}, got {name!r}"
                    )
                places.append(self.units.index[name])
                signs.append(sign)
                limits.append(real(bound, f"{argument}[{name!r}]"))
        scores = np.zeros((len(self.trade_offs), len(places)))
        for c, (m, sign, limit) in enumerate(zip(places, signs, limits, strict=True)):
            for row, evaluation in enumerate(self.evaluations):
                scores[row, c] = sign * evaluation.scores(np.full(len(self.units), limit))[m]
        return scores, np.array(places, dtype=int), np.array(signs)


def what_if(
    log: object,
    /,
    trade_offs: Sequence[Mapping[str, float]] | int | None = None,
) -> WhatIf:
    """Estimate what other trade-offs would have been worth, all from one log.

    Each trade-off is the arm that is best for its weights by the beliefs held at each decision, as
    in :func:`evaluate`. Estimates of different trade-offs come from the same rows, and their
    covariance is known: so intervals hold for all together, and small differences can be told.

    Parameters
    ----------
    log
        As for :func:`evaluate`.
    trade_offs
        Weights per unit by objective; or a number of steps from 0 to 1, for a grid of all weights
        of sum 1. Without it, the finest such grid of at most 21.

    Notes
    -----
    Reads the log three times, some rows at a time, for all trade-offs at once.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> actions = rng.integers(2, size=4000)
    >>> rates = np.array([[0.1, 0.3], [0.3, 0.1]])
    >>> clicks = rng.random((4000, 2)) < rates[actions]
    >>> feedback = {"action": actions, "reward": clicks, "pscore": np.full(4000, 0.5)}
    >>> result = what_if(feedback, 1)
    >>> bool(result.distinguishable()[0, 1])
    True
    >>> result.best("reward 0", at_least={"reward 1": 0.2}).weights
    {'reward 0': 0.0, 'reward 1': 1.0}
    """
    known = read_log(log)
    scanned = ScannedLog(known)
    vectors = read_trade_offs(trade_offs, known.units)
    targets = [Greedy(weights, known.units) for weights in vectors]
    sums: list[Sums] = []
    for rows in _rows(scanned, targets):
        if not sums:
            sums = [scanned.sums(rows[0], self_normalised=True) for _ in targets]
        for each, some in zip(sums, rows, strict=True):
            each.add(some)
    evaluations = tuple(scanned.named(each.result()) for each in sums)
    size = len(targets) * len(known.units)
    products = np.zeros((size, size))
    apart, squares = np.zeros((2, len(targets), len(targets)))
    for rows in _rows(scanned, targets):
        influences = np.hstack(
            [each.influences(some) for each, some in zip(sums, rows, strict=True)]
        )
        products += influences.T @ influences
        weights = np.stack([some.weights for some in rows])  # (W, n)
        for place, weight in enumerate(weights):
            difference = np.abs(weights - weight)
            apart[place] += difference.sum(axis=1)
            squares[place] += np.vecdot(difference, difference)
    sizes = np.divide(apart**2, squares, out=np.zeros_like(apart), where=squares > 0)
    named = tuple(known.units.named(weights) for weights in vectors)
    return WhatIf(named, evaluations, _consistent(products, evaluations), sizes, known.units)


def read_trade_offs(
    trade_offs: Sequence[Mapping[str, float]] | int | None, units: Units
) -> list[FloatArray]:
    """Return weights (M,) of sum 1: those given, or a grid of so many steps."""
    if isinstance(trade_offs, Mapping | str):
        raise ValueError(f"trade_offs: expected a list of weights, or a number, got {trade_offs!r}")
    if not isinstance(trade_offs, Iterable):
        given = trade_offs
        steps = _steps(len(units)) if given is None else count(given, "trade_offs")
        vectors: list[FloatArray] = [
            np.array(part) / steps for part in _compositions(steps, len(units))
        ]
    else:
        vectors = [read_weights(weights, units) for weights in trade_offs]
    if not 1 <= len(vectors) <= _MOST:
        raise ValueError(f"trade_offs: expected 1 to {_MOST} trade-offs, got {len(vectors)}")
    return vectors


def _steps(objectives: int) -> int:
    """Return the steps of the finest grid that is not too large."""
    steps = 1
    while objectives > 1 and comb(steps + objectives, objectives - 1) <= _GRID:
        steps += 1
    return steps


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to share a total among parts."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for others in _compositions(total - first, parts - 1):
            yield (first, *others)


def _rows(scanned: ScannedLog, targets: list[Greedy]) -> Iterator[list[Rows]]:
    """Yield rows for every target, some at a time."""
    for records in scanned.records():
        values, on_offer = read_estimates(records, targets[0].units)
        yield [
            scanned.rows(
                records, TargetProbabilities(target.best(values, on_offer)), predictions=True
            )
            for target in targets
        ]


def _consistent(products: FloatArray, evaluations: tuple[Evaluation, ...]) -> FloatArray:
    """Return the covariance with variances that count all an evaluation counts."""
    variances = np.concatenate([np.diag(each.covariance) for each in evaluations])
    plain = np.diag(products).copy()
    ratio = np.divide(variances, plain, out=np.full(len(plain), np.nan), where=plain > 0)
    scale = np.sqrt(np.where(variances == 0, 0.0, ratio))
    return np.asarray(products * np.outer(scale, scale))


def _kind(warning: str) -> str:
    """Return a warning without its numbers."""
    kind, said = warning.split(": ", 1)
    return kind if kind == "NO SUPPORT" or "effective size" not in said else f"{kind} (few rows)"


def format_weights(weights: Mapping[str, float]) -> str:
    """Return weights as text."""
    return ", ".join(f"{name} {weight:.3g}" for name, weight in weights.items())

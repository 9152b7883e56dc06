"""What trade-offs would have been worth, all together, and what would tell them apart."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mogro import _page
from mogro._validation import BoolArray, FloatArray, real, share
from mogro.agent.objective_set import ObjectiveSet
from mogro.evaluation.recommendation import Recommendation, format_weights
from mogro.evaluation.sample_size import (
    MIN_ROWS,
    DecisionsNeeded,
    decisions_needed,
    standard_errors,
)
from mogro.offpolicy import Evaluation
from mogro.offpolicy._skewed_intervals import correlated_normals, joint_level

_DAY = 86400.0  # seconds
_ROUNDING = 1e-9  # a standard error below this part of another is rounding


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
    effective_sizes
        Effective numbers of rows in which two trade-offs differ, (W, W).
    objective_set
        The objectives that were judged.
    logged
        What the logged choices themselves were worth.
    model
        By the model: values (W, M) and intervals of 95 % (W, M, 2) that a linear model with a
        learned prior gives which has learned the whole log. It answers where weights are few, and
        is right as far as rewards are linear in the features. None where a log has no features.
    differing, arms_on_offer
        For each pair of trade-offs, the share of decisions in which they differ, and the mean
        number of arms on offer there, (W, W).
    decision_rate
        Decisions in a unit of time; NaN where no time is known.
    """

    trade_offs: tuple[dict[str, float], ...]
    evaluations: tuple[Evaluation, ...]
    covariance: FloatArray
    effective_sizes: FloatArray
    objective_set: ObjectiveSet
    logged: Evaluation
    model: tuple[FloatArray, FloatArray] | None
    differing: FloatArray
    arms_on_offer: FloatArray
    decision_rate: float

    @property
    def value(self) -> FloatArray:
        """Estimates, (W, M), in the user's units."""
        return np.stack([evaluation.value for evaluation in self.evaluations])

    @property
    def trusted(self) -> BoolArray:
        """Which trade-offs have intervals that hold what they promise, (W,)."""
        return np.array([evaluation.trusted for evaluation in self.evaluations])

    @property
    def warnings(self) -> tuple[str, ...]:
        """In words, what is wrong with estimates, and with how many; the worst first."""
        kinds = Counter(_kind(e.warnings[0]) for e in self.evaluations if e.warnings)
        order = sorted(kinds, key=lambda kind: not kind.startswith("NO SUPPORT"))
        total = len(self.evaluations)
        return tuple(f"{kind}: {kinds[kind]} of {total} trade-offs" for kind in order)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Return intervals (W, M, 2) that hold for all trade-offs and objectives together."""
        mask = self._has_variance
        covariance = self.covariance[np.ix_(mask, mask)]
        single_level = joint_level(share(level, "level", closed="()"), covariance)
        return np.stack([evaluation.interval(single_level) for evaluation in self.evaluations])

    def distinguishable(self, level: float = 0.95) -> BoolArray:
        """Tell which pairs of trade-offs differ in some objective, (W, W), all pairs together.

        Two that choose the same arm in all but a few rows are not told apart, whatever these say.
        """
        joint_confidence, size = share(level, "level", closed="()"), len(self.trade_offs)
        result: BoolArray = np.zeros((size, size), dtype=np.bool_)
        if not (mask := self._has_variance).any():
            return result
        normals = correlated_normals(self.covariance[np.ix_(mask, mask)])
        draws = np.zeros((mask.size, normals.shape[1]))
        draws[mask] = normals * self._error[mask, None]
        errors = draws.reshape(size, len(self.objective_set), -1)
        maxima, largest_steps = np.zeros(normals.shape[1]), dict[tuple[int, int], float]()
        for i, j in combinations(range(size), 2):
            error = self._difference_error(i, j)
            has_error = error > 0
            if has_error.any() and self.effective_sizes[i, j] >= MIN_ROWS:
                steps = abs(errors[i] - errors[j])[has_error] / error[has_error, None]
                maxima = np.maximum(maxima, steps.max(axis=0))
                gaps = abs(self.value[i] - self.value[j])
                largest_steps[i, j] = (gaps[has_error] / error[has_error]).max()
        critical_step = np.quantile(maxima, joint_confidence)
        for (i, j), step in largest_steps.items():
            result[i, j] = result[j, i] = step > critical_step
        return result

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
        bounds = self._read_bounds(at_least, at_most)
        confidence = np.where(self.trusted, 1.0, 0.0)
        if not bounds:
            return confidence
        objectives = len(self.objective_set)
        scores = [
            [sign * evaluation.scores(np.full(objectives, limit))[m] for m, sign, limit in bounds]
            for evaluation in self.evaluations
        ]
        lowest_scores = np.min(scores, axis=1)
        is_usable = self.trusted & np.isfinite(lowest_scores)
        confidence[~is_usable] = 0.0
        if is_usable.any():
            numbers, signs = (np.array([bound[k] for bound in bounds]) for k in (0, 1))
            columns = (np.flatnonzero(is_usable)[:, None] * objectives + numbers).ravel()
            draws = correlated_normals(self.covariance[np.ix_(columns, columns)])
            maxima = (draws * np.tile(signs, is_usable.sum())[:, None]).max(axis=0)
            confidence[is_usable] = [(maxima <= score).mean() for score in lowest_scores[is_usable]]
        return confidence

    def kept_bounds(self, objective: str, level: float = 0.95) -> FloatArray:
        """Return the bound that each trade-off would have kept on average, (W,), in user's units.

        At most so much of what is to be small, at least so much of what is to be large; for all
        trade-offs together with this confidence. NaN for estimates that cannot be trusted.
        """
        m = self._index(objective)
        bounds = self.interval(level)[:, m, 0 if self.objective_set.scale[m] > 0 else 1]
        return np.where(self.trusted, bounds, np.nan)

    def _index(self, objective: str, argument: str = "objective") -> int:
        if objective not in self.objective_set.index:
            raise ValueError(
                f"{argument}: expected one of {list(self.objective_set.names)}, got {objective!r}"
            )
        return self.objective_set.index[objective]

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
        m, confidence_level = self._index(objective), share(level, "level", closed="()")
        confidences = self.confidence(at_least=at_least, at_most=at_most)
        merits = self.value[:, m] * np.sign(self.objective_set.scale[m])
        merits = np.where(confidences >= confidence_level, merits, -np.inf)
        is_feasible = bool(np.isfinite(merits).any())
        row = int(merits.argmax() if is_feasible else confidences.argmax())
        bounds = map(tuple, self.interval(confidence_level)[row].tolist())
        return Recommendation(
            self.trade_offs[row] if is_feasible else None,
            float(confidences[row]),
            self.objective_set.named(self.value[row]),
            dict(zip(self.objective_set.names, bounds, strict=True)),
            " and ".join(
                f"{self.objective_set.names[number]} at {'least' if sign > 0 else 'most'} {limit:g}"
                for number, sign, limit in self._read_bounds(at_least, at_most)
            ),
        )

    def needed(
        self, first: int, second: int, *, epsilon: float = 0.02, power: float = 0.8
    ) -> DecisionsNeeded | None:
        """Return how many more decisions would tell two trade-offs apart; None if nothing would.

        With a share of uniform draws by :func:`mogro.evaluation.decisions_needed`; or without any,
        if the error of this log says that going on as it is takes fewer. For a level of 95 % of all
        pairs together, in the objective that needs the fewest. The difference is that of the model,
        or of the estimates where there is none.
        """
        values, size = self.value if self.model is None else self.model[0], len(self.trade_offs)
        gaps = np.abs(values[first] - values[second])
        noises = self.logged.error * np.sqrt(self.logged.rows)
        differing, rows = float(self.differing[first, second]), self.logged.rows
        test_levels = {"level": 1 - 0.1 / (size * (size - 1)), "power": power}
        options = list[DecisionsNeeded]()
        min_rows = rows * MIN_ROWS / max(self.effective_sizes[first, second], _ROUNDING)
        for m in np.flatnonzero((gaps > _ROUNDING * noises) & (differing > 0)).tolist():
            gap, name = float(gaps[m]), self.objective_set.names[m]
            with_draws = decisions_needed(
                gap,
                noise=noises[m],
                arms=round(self.arms_on_offer[first, second]),
                epsilon=epsilon,
                differing=differing,
                **test_levels,
            )
            options.append(DecisionsNeeded(with_draws, epsilon, name))
            error = float(self._difference_error(first, second)[m])
            if error > 0:
                total = max(rows * (error * standard_errors(**test_levels) / gap) ** 2, min_rows)
                options.append(DecisionsNeeded(math.ceil(total - rows), 0.0, name))
        return min(options, default=None)

    @property
    def advice(self) -> str:
        """What would tell the two ends of the grid apart, in a sentence; empty if they are."""
        last_index = len(self.trade_offs) - 1
        if not last_index or self.distinguishable()[0, last_index]:
            return ""
        needed = self.needed(0, last_index)
        ends = " from ".join(format_weights(self.trade_offs[index]) for index in (0, last_index))
        if needed is None:
            return f"The model does not tell {ends}."
        time = needed.decisions / self.decision_rate
        duration = f" for {time / _DAY:.3g} days" if time > 0.1 * _DAY else f" for {time:.3g}"
        plan = f"{100 * needed.epsilon:.2g} % uniform draws"
        if not needed.epsilon:
            plan = "Going on as it is"
        return (
            f"{plan}{'' if np.isnan(time) else duration} ({max(needed.decisions, 0):,} decisions) "
            f"would tell {ends}, in {needed.objective}, if the model is right."
        )

    def __str__(self) -> str:
        lines = [*self.warnings, *self.evaluations[0].notes]
        lines.append(f"{self.evaluations[0].rows:,} rows; 95 % intervals for all together")
        headers = ["weights", *self.objective_set.names, "size"]
        lines.append(_page.text_table(headers, self.text_rows()))
        pairs = len(self.trade_offs) * (len(self.trade_offs) - 1) // 2
        lines.append(f"{int(self.distinguishable().sum()) // 2} of {pairs} pairs differ")
        return "\n".join([*lines, *([self.advice] if self.advice else [])])

    __repr__ = __str__

    def text_rows(self) -> list[list[str]]:
        """Return rows of a table: what came of the decisions as they were, and of each trade-off.

        Columns are the weights, the values with their intervals, and effective sizes.
        """
        logged, bounds = self.logged, self.interval()
        rows = [_row("as it was", logged.value, logged.interval(), f"{logged.rows}")]
        for index, weights in enumerate(self.trade_offs):
            evaluation = self.evaluations[index]
            size = f"{evaluation.effective_size.min():.0f}"
            rows.append(_row(format_weights(weights), evaluation.value, bounds[index], size))
            if self.model is not None and not evaluation.trusted:
                values, model_bounds = self.model
                rows.append(_row("  by the model", values[index], model_bounds[index], ""))
        return rows

    @property
    def _error(self) -> FloatArray:
        return np.sqrt(np.diag(self.covariance))

    @property
    def _has_variance(self) -> BoolArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(self._error > 0)

    def _difference_error(self, i: int, j: int) -> FloatArray:
        """Return standard errors (M,) of the difference; 0 where there is none but rounding."""
        objectives = len(self.objective_set)
        a, b = (np.arange(k * objectives, (k + 1) * objectives) for k in (i, j))
        c = self.covariance
        square = np.maximum(c[a, a] + c[b, b] - 2 * c[a, b], 0)
        error = np.sqrt(np.nan_to_num(square))
        return np.where(error > _ROUNDING * np.nan_to_num(self._error[a]), error, 0.0)

    def _read_bounds(
        self, at_least: Mapping[str, float] | None, at_most: Mapping[str, float] | None
    ) -> list[tuple[int, float, float]]:
        """Return bounds: the number of an objective, 1 from below or -1 from above, the limit."""
        bounds = []
        for argument, limits, sign in (("at_least", at_least, 1.0), ("at_most", at_most, -1.0)):
            for name, limit in (limits or {}).items():
                index = self._index(name, argument)
                bounds.append((index, sign, real(limit, f"{argument}[{name!r}]")))
        return bounds


def _kind(warning: str) -> str:
    """Return a warning without its numbers."""
    kind, detail = warning.split(": ", 1)
    return kind if kind == "NO SUPPORT" or "effective size" not in detail else f"{kind} (few rows)"


def _row(label: str, values: FloatArray, bounds: FloatArray, size: str) -> list[str]:
    return [label, *map(_page.format_interval, values, bounds), size]

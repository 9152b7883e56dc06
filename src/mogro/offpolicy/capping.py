"""One rule for caps on weights: the least estimated mean squared error."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from mogro.offpolicy._columns import Cap
from mogro.offpolicy.rows import Rows
from mogro.offpolicy.sums import Sums

_LIMITS = 24
C = TypeVar("C", bound=Cap)


def least_error(rows: Rows, kind: Callable[[float], C], /) -> C | None:
    """Return the cap with the least mean squared error, by estimate; None is the best of all.

    Limits from the median weight to the largest are tried, one pass each. The error of a limit is
    the variance of the capped estimate plus the square of its bias: of its distance from the
    uncapped one, less the variance of that distance. Errors of objectives are compared with those
    without a cap, and summed, so that units do not matter.

    Intervals count the doubt about the bias too (see :class:`Evaluation`), and so are no narrower
    than without a cap.

    Parameters
    ----------
    rows
        From :func:`weighted_rows` or :func:`predicted_rows`.
    kind
        :class:`Clip` or :class:`Switch`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> from mogro.offpolicy import Clip, weighted_rows
    >>> logged = rng.uniform(0.2, 1.0, 1000)
    >>> rows = weighted_rows(rng.random((1000, 1)), logged, np.full(1000, 0.5))
    >>> least_error(rows, Clip) is None or least_error(rows, Clip).limit > 0.5
    True
    """
    positive = rows.weights[rows.weights > 0]
    if not len(positive):
        return None
    low, high = np.quantile(positive, 0.5), positive.max()
    if not low < high:
        return None
    best: C | None = None
    plain = _squares(rows, None)
    least = float(len(plain))
    scale = np.where(plain > 0, plain, 1.0)
    for limit in np.geomspace(low, high, _LIMITS)[:-1]:
        cap = kind(float(limit))
        score = float((_squares(rows, cap) / scale).sum())
        if score < least:
            best, least = cap, score
    return best


def _squares(rows: Rows, cap: Cap | None) -> np.ndarray:
    sums = Sums(
        rows.residuals.shape[1],
        predictions=rows.baseline is not None,
        cap=cap,
        missing=rows.observed is not None,
    )
    sums.add(rows)
    return np.nan_to_num(sums.result().squared_error)

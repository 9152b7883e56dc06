"""Quality of a set of points: thin calls to moocore. All objectives are maximised."""

from numpy.typing import ArrayLike

from mogro._validation import FloatArray, floats


def hypervolume(points: ArrayLike, *, reference: ArrayLike) -> float:
    """Return the volume that ``points`` (K, M) dominate above the ``reference`` point (M,).

    Points that are not above the reference in every objective add nothing.

    Examples
    --------
    >>> hypervolume([[1.0, 2.0], [2.0, 1.0]], reference=[0.0, 0.0])
    3.0
    """
    from moocore import hypervolume

    array = floats(points, "points", shape=("K", "M"))
    corner = floats(reference, "reference", shape=(array.shape[1],))
    return float(hypervolume(array, corner, maximise=True))


def epsilon_indicator(points: ArrayLike, *, reference: ArrayLike) -> float:
    """Return the additive epsilon: what ``points`` need in every objective to cover ``reference``.

    Both are sets of shape (K, M). It is the largest, over reference points r, of the least, over
    points p, of max_m (r_m - p_m); negative if every reference point is beaten.

    Examples
    --------
    >>> epsilon_indicator([[1.0, 0.0], [0.0, 1.0]], reference=[[1.0, 0.5], [0.0, 1.0]])
    0.5
    """
    from moocore import epsilon_additive

    array, goal = _two_sets(points, reference)
    return float(epsilon_additive(array, goal, maximise=True))


def igd_plus(points: ArrayLike, *, reference: ArrayLike) -> float:
    """Return IGD+: the mean distance from ``reference`` points to what ``points`` dominate.

    Both are sets of shape (K, M); only what a point lacks counts as distance.

    Examples
    --------
    >>> igd_plus([[1.0, 0.0], [0.0, 1.0]], reference=[[1.0, 0.5], [0.0, 1.0]])
    0.25
    """
    from moocore import igd_plus

    array, goal = _two_sets(points, reference)
    return float(igd_plus(array, goal, maximise=True))


def _two_sets(points: ArrayLike, reference: ArrayLike) -> tuple[FloatArray, FloatArray]:
    array = floats(points, "points", shape=("K", "M"))
    return array, floats(reference, "reference", shape=("J", array.shape[1]))

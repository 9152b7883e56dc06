"""Quality of a set of points, by moocore. All objectives are maximised."""

from numpy.typing import ArrayLike

from mogro._validation import floats


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

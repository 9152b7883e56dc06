"""Estimates of winning probabilities by two-phase sampling of weights, on shifted lattices.

First the arms that won most in a pilot are compared with each other, at many weights. Then all arms
are compared at some of these weights, so many for each winner of the first phase that its losses to
all others are known well; each stands for several.
"""

from collections.abc import Callable

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray
from mogro.probability._race import BoundedRace, Points, Race, bounded
from mogro.probability._scores import Scores

Draws = Callable[[int, int], FloatArray]

_TIME = (4.5e6, 4.5e6)  # nanoseconds for either phase, about
_REPLICATES = 12  # of a lattice, at least; there may be nearly twice as many
_SIZES = (16, 2048)  # weights of a replicate, fewest and most
_MOST = 1 << 15  # weights
_PILOT = 512  # weights
_TRIAL = 128  # of them that say how much a bound gains
_ALL = 12_000  # weights at which all arms are compared, if that can be done
_FEW = (32, 128)  # arms of the first phase, fewest and most
_VALUES = 1000  # of these, if that does not make them too few
_PART = 0.05  # of wins in the first phase that will stay, at least
_LARGE = 0.01  # probability from which an arm has to be known well
_ENOUGH = 400  # weights at which such an arm is compared with all
_SEVERAL = 100  # wins from which an arm's own spread is its error
_TINY = float(np.finfo(np.float64).tiny)
_TIMES = 16.0  # weights that one may stand for


def estimated(scores: Scores, draws: Draws, rng: Rng) -> tuple[FloatArray, FloatArray]:
    """Return estimates (K,) and their standard errors.

    Parameters
    ----------
    scores
        Of all arms.
    draws
        Given a number n, a power of two, and one of replicates, r, draws weights (r * n, M).
    rng
        Says which weights of the first phase go on to the second.
    """
    race = Race.of(scores)
    if race.arms <= _FEW[1]:
        return _at_once(race, draws, sum(_TIME) / race.nanoseconds)
    pilot = _alike(race, draws, _PILOT, 1)
    trial = race.run(pilot)
    slow = 1 + 1.5 * float(trial.close.mean())  # near winners take more time
    if sum(_TIME) / (slow * race.nanoseconds) >= _ALL:
        return _at_once(race, draws, sum(_TIME) / (slow * race.nanoseconds))
    wins = trial.won[0]
    order = np.argsort(-wins, kind="stable")
    strong = order[: int(np.clip(_VALUES // scores.values.shape[1], *_FEW))]
    # What will stay theirs: the wins of those that would be among them with one less.
    part = float(wins[wins > max(1, wins[order[len(strong)]])].sum() / _PILOT)
    few = race.take(strong)
    points = _points(few, draws, _TIME[0] / (slow * few.nanoseconds))
    first = few.run(points)
    counts = np.bincount(first.best, minlength=len(strong))
    full = _full(race, few, pilot.take(slice(_TRIAL)))
    times = _times(counts, max(_PART, part), _TIME[1] / (slow * full.nanoseconds))
    rows = _every(first.best, times, rng)
    some = points.take(rows)._replace(times=times[first.best[rows]])
    known = first.take(rows)
    won = full.wins(some, known.level) if isinstance(full, BoundedRace) else full.wins(some)
    won[:, strong] += first.won - few.again(some, known)
    each = np.full(race.arms, times.max())
    each[strong] = times
    return _summary(won, points, each)


def _at_once(race: Race, draws: Draws, number: float) -> tuple[FloatArray, FloatArray]:
    """Compare all arms at about as many weights."""
    points = _points(race, draws, number)
    return _summary(race.wins(points), points, np.ones(race.arms))


def _full(race: Race, few: Race, points: Points) -> Race | BoundedRace:
    """Return how to compare all arms where the level of a few is known."""
    return BoundedRace(race, points, few.run(points).level) if bounded(race) else race


def _points(race: Race, draws: Draws, number: float) -> Points:
    """Return about as many weights, in replicates of a lattice."""
    number = min(number, _MOST)
    size = int(np.clip(2.0 ** np.floor(np.log2(number / _REPLICATES)), *_SIZES))
    return _alike(race, draws, size, max(_REPLICATES, int(number // size)))


def _alike(race: Race, draws: Draws, size: int, replicates: int) -> Points:
    replicate = np.repeat(np.arange(replicates), size)
    return race.points(draws(size, replicates), np.ones(len(replicate)), replicate, replicates)


def _times(counts: IntArray, part: float, budget: float) -> FloatArray:
    """Return how many weights one stands for, by the arm that won it in the first phase.

    A part of these wins will stay. Arms that then have some probability go on alike often.
    """
    share = np.minimum(1, part * counts / (_LARGE * counts.sum())) ** 3
    kept = np.minimum(_ENOUGH, budget * share / share.sum())
    return np.asarray(np.clip(counts / np.maximum(kept, 1), 1, _TIMES))


def _every(kinds: IntArray, times: FloatArray, rng: Rng) -> IntArray:
    """Return rows, in rising order: of each kind, one of so many that follow each other."""
    order = np.argsort(kinds.astype(np.int16), kind="stable")  # faster with few bits
    kind = kinds[order]
    counts = np.bincount(kinds, minlength=len(times))
    place = np.arange(len(kinds)) - np.repeat(np.cumsum(counts) - counts, counts)
    start = rng.random(len(times)) * times
    return np.sort(order[(place + start[kind]) % times[kind] < 1])


def _summary(won: FloatArray, points: Points, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return estimates (K,) and errors, if one weight decides for so many (K,)."""
    number = len(points.times)
    found = won * (points.replicates / number)
    values = np.maximum(found.mean(axis=0), 0)
    squares = found.var(axis=0, ddof=1) / len(found)
    # Few wins say little of their own spread: that of all such arms says as much.
    few = (values * number < _SEVERAL * times) & (values > 0)
    plain = values[few] * times[few]
    squares[few] = (squares[few] + plain * (squares[few].sum() / max(plain.sum(), _TINY))) / 2
    return values / values.sum(), np.maximum(np.sqrt(squares), times / number)

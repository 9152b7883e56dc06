"""One run: a policy in environments, all learners in lockstep."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, IntArray, count
from mogro.environments import Environment
from mogro.simulation._learners import MakePolicy, Probe, make_learners
from mogro.simulation._ledger import Ledger
from mogro.simulation._meters import Measures, Meters
from mogro.simulation._truth import Truth
from mogro.simulation._worlds import Purpose, Worlds
from mogro.simulation.trace import Trace

_CHECKPOINTS = 100


def simulate(
    make_policy: MakePolicy,
    environment: Environment | Sequence[Environment],
    *,
    rounds: int,
    repeats: int = 1,
    seed: int | Sequence[int] = 0,
    checkpoints: Sequence[int] | None = None,
    probe: Probe | None = None,
    measures: Measures = (),
    start: tuple[int, int] = (0, 0),
) -> Trace:
    """Let a policy play, and record what it did.

    Every learner has random streams of its own, derived from the seed, the number of its instance
    and the number of its repeat: one for contexts, one for noise, one for the policy. So every
    policy meets the same contexts and noise, and results do not depend on how a run is cut into
    parts, to the bit, as long as the same kind of processor computes them and BLAS has one thread.

    Parameters
    ----------
    make_policy
        Makes the policy. It is called as ``make_policy(dim, objectives, batch=(I, R))``, and the
        policy steps for all learners together; any policy of mogro will do, as it is or with
        settings by ``functools.partial``. If it has no parameter ``batch``, it is called as
        ``make_policy(dim, objectives)`` for each learner, and they step one after the other; each
        then gets a plain ``numpy.random.Generator``. If its ``update`` has a parameter ``arm``, it
        also gets the place of the arm that was pulled; see :class:`mogro.Policy`.
    environment
        One instance, or several of equal sizes. Regret is judged by the true means that it says,
        fixed, by context or by round; see :class:`mogro.Environment`.
    rounds
        Rounds to play, T.
    repeats
        Learners in each instance, R.
    seed
        Where all randomness comes from: an integer, or several.
    checkpoints
        Rounds, from 1 to T and increasing, after which sums are noted; T is added if need be.
        Without it: 100 evenly spread, or every round if there are fewer.
    probe
        Called with the policy at every checkpoint; returns numbers to keep, (I, R, ...), for
        single learners (...).
    measures
        Functions of true means and pulls to evaluate beside the regrets, with their own names or,
        in a dict, under others; see :mod:`mogro.simulation.measures`.
    start
        Numbers of the first instance and the first repeat, for a run in parts; see
        :func:`mogro.simulation.join`.

    Returns
    -------
    Trace
        Arms, regrets and rewards, with axes for rounds, instances and repeats.

    Examples
    --------
    >>> import mogro
    >>> rng = np.random.default_rng(0)
    >>> worlds = [
    ...     mogro.environments.FixedArms.sample(5, 50, 5, noise=0.1, rng=rng) for _ in range(3)
    ... ]
    >>> mogro.simulate(mogro.MOGRO, worlds, rounds=200, repeats=4, seed=1).effective_regret.shape
    (100, 3, 4)

    A policy of one's own needs two methods:

    >>> class Anything:
    ...     def __init__(self, dim, objectives): ...
    ...     def select(self, features, *, rng):
    ...         return rng.integers(len(features))
    ...     def update(self, features, reward): ...
    >>> mogro.simulate(Anything, worlds[0], rounds=200, repeats=4, seed=1).repeats
    4
    """
    T = count(rounds, "rounds")
    meters = Meters(measures)
    R = count(repeats, "repeats")
    seeds = _seeds(seed)
    worlds = Worlds(_instances(environment), R, seeds, start)
    own = worlds.generators[Purpose.POLICY]
    learners = make_learners(make_policy, worlds.environments[0], own, probe)
    truth = Truth(worlds.environments)
    noted = _rounds_noted(checkpoints, T)
    ledger = Ledger(
        worlds.environments, T, R, checkpoints=noted, changing=truth.changing, meters=meters
    )
    notes: list[NDArray[Any]] = []
    for t in range(T):
        features = worlds.offer(t)
        arms = learners.select(features)
        x = _chosen_features(features, arms)
        rewards = worlds.observe(x, arms, t)
        checkpoint = ledger.note(t, truth.means(features, t), arms, rewards)
        learners.update(x, rewards, arms)
        if checkpoint:
            notes.append(learners.probe())
            if notes[-1].shape != notes[0].shape:
                shapes = f"{notes[0].shape} and {notes[-1].shape}"
                raise ValueError(f"probe: expected numbers of one shape, got {shapes}")
    truth.check_kept()
    return ledger.trace(np.stack(notes), seeds)


def _chosen_features(features: FloatArray, arms: IntArray) -> FloatArray:
    instance = np.arange(arms.shape[0])[:, None]
    repeat = np.arange(arms.shape[1]) if features.shape[1] > 1 else 0
    return np.asarray(features[instance, repeat, arms])


def _instances(environment: Environment | Sequence[Environment]) -> list[Environment]:
    worlds = list(environment) if isinstance(environment, Sequence) else [environment]
    if not worlds or not all(isinstance(world, Environment) for world in worlds):
        raise ValueError(
            f"environment: expected an environment or a sequence of them, got {environment!r}"
        )
    sizes = {(world.dim, world.arms, world.objectives) for world in worlds}
    if len(sizes) > 1:
        raise ValueError(
            f"environment: expected instances of equal sizes, got (d, K, M) = {sorted(sizes)}"
        )
    return worlds


def _seeds(seed: int | Sequence[int]) -> tuple[int, ...]:
    many = seed if isinstance(seed, Sequence) else (seed,)
    return tuple(count(number, "seed", minimum=0) for number in many)


def _rounds_noted(given: Sequence[int] | None, rounds: int) -> IntArray:
    """Return the checkpoints, increasing, the last being the last round."""
    if given is None:
        share = np.arange(1, min(rounds, _CHECKPOINTS) + 1) / min(rounds, _CHECKPOINTS)
        return np.round(share * rounds).astype(np.int64)
    noted = np.array([count(number, "checkpoints") for number in given] or [rounds], dtype=np.int64)
    if noted[-1] > rounds or (np.diff(noted) <= 0).any():
        raise ValueError(f"checkpoints: expected increasing rounds up to {rounds}, got {given!r}")
    return noted if noted[-1] == rounds else np.append(noted, rounds)

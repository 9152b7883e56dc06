"""One run: a policy in environments, all learners in lockstep."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, IntArray, count
from mogro.environments import Environment
from mogro.simulation._learners import Learners, MakePolicy, Question, make_learners, read_arms
from mogro.simulation._recorder import Recorder
from mogro.simulation._worlds import Worlds
from mogro.simulation.measures import Measures
from mogro.simulation.trace import Trace

_CHECKPOINTS = 100  # checkpoints
Probe = Question
Until = Callable[[Any], bool | BoolArray]


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
    until: Until | None = None,
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
        also gets the place of the arm that was pulled; see :class:`mogro.policies.Policy`.
    environment
        One instance, or several of equal sizes. Regret is judged by the true means that it says,
        fixed, by context or by round; see :class:`mogro.environments.Environment`.
    rounds
        Rounds to play, T; at most, with ``until``.
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
    until
        Called with the policy after every round; tells which learners have finished, (I, R), for
        single learners whether it has. The run ends when all have; those that finish early go
        on until then. ``trace.finished`` says when: :class:`mogro.policies.FrontIdentification`.
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
    T, R, seeds = count(rounds, "rounds"), count(repeats, "repeats"), _seeds(seed)
    worlds = Worlds(_instances(environment), R, seeds, start)
    marks = _checkpoints(checkpoints, T)
    recorder = Recorder(worlds, T, marks, measures)
    learners = make_learners(make_policy, worlds, probed=probe is not None)
    finish = _FinishTimes(until, worlds.batch)
    probed = _play(learners, worlds, recorder, T, marks, probe, finish)
    worlds.check_unchanged()
    return recorder.trace(probed, seeds, finish.rounds)


class _FinishTimes:
    """When each learner finished: the first round after which ``until`` says so, 0 for never."""

    def __init__(self, until: Until | None, batch: tuple[int, ...]) -> None:
        if until is not None and not callable(until):
            raise ValueError(f"until: expected a function of the policy, got {until!r}")
        self.until, self.rounds = until, np.zeros(batch, dtype=np.int64)

    def reached(self, learners: Learners, t: int) -> bool:
        """Note who has finished after round t, from 0; tell whether all have."""
        if self.until is None:
            return False
        finished = learners.ask(self.until, "until")
        if finished.dtype != np.bool_ or finished.shape != self.rounds.shape:
            raise ValueError(
                f"until: expected it to return True or False for each learner, got {finished!r}"
            )
        self.rounds[(self.rounds == 0) & finished] = t + 1
        return bool(self.rounds.all())


def _play(
    learners: Learners,
    worlds: Worlds,
    recorder: Recorder,
    rounds: int,
    marks: IntArray,
    probe: Probe | None,
    finish: _FinishTimes,
) -> NDArray[Any]:
    """Play all rounds; return what the probe sees at checkpoints."""
    probed: list[NDArray[Any]] = []
    checkpoints = set(marks.tolist())
    alone = worlds.fixed_arms and learners.only_linear is not None
    play_round = (_single_round if alone else _round)(learners, worlds, recorder)
    for t in range(rounds):
        play_round(t)
        finished = finish.reached(learners, t)
        if t + 1 in checkpoints or finished:
            probed.append(np.zeros(worlds.batch) if probe is None else learners.ask(probe, "probe"))
            if probed[-1].shape != probed[0].shape:
                shapes = f"{probed[0].shape} and {probed[-1].shape}"
                raise ValueError(f"probe: expected numbers of one shape, got {shapes}")
        if finished:
            recorder.stop(t + 1)
            break
    return np.stack(probed)


def _round(learners: Learners, worlds: Worlds, recorder: Recorder) -> Callable[[int], None]:
    """Return what plays a round."""

    def play_round(t: int) -> None:
        features, means = worlds.offer(t)
        arms = learners.select(features)
        x, rewards = worlds.observe(features, arms, t)
        recorder.add_round(t, means, arms, rewards)
        learners.update(x, rewards, arms)

    return play_round


def _single_round(learners: Learners, worlds: Worlds, recorder: Recorder) -> Callable[[int], None]:
    """Do the same for one linear policy among arms that stay, in less time."""
    assert learners.only_linear is not None
    (policy, rng), (features, means) = learners.only_linear, worlds.offer(0)
    arms, table = features[0, 0], means[0, 0]

    def play_round(t: int) -> None:
        arm = int(policy.select(arms, rng=rng))
        if not 0 <= arm < len(arms):
            read_arms(arm, (), len(arms))  # an exploration of one's own may be wrong
        reward = worlds.noise(t)[0, 0] + table[arm]
        recorder.add_round(t, means, arm, reward)
        policy.update(arms[arm], reward)

    return play_round


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


def _checkpoints(checkpoints: Sequence[int] | None, rounds: int) -> IntArray:
    """Return the checkpoints, increasing, the last being the last round."""
    if checkpoints is None:
        share = np.arange(1, min(rounds, _CHECKPOINTS) + 1) / min(rounds, _CHECKPOINTS)
        return np.round(share * rounds).astype(np.int64)
    marks = np.array(
        [count(number, "checkpoints") for number in checkpoints] or [rounds], dtype=np.int64
    )
    if marks[-1] > rounds or (np.diff(marks) <= 0).any():
        raise ValueError(
            f"checkpoints: expected increasing rounds up to {rounds}, got {checkpoints!r}"
        )
    return marks if marks[-1] == rounds else np.append(marks, rounds)

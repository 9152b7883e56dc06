"""One run: a policy in environments, all learners in lockstep, and what they have to answer."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._streams import Rng, Streams
from mogro._validation import BoolArray, FloatArray, IntArray, count
from mogro.environments import Environment
from mogro.policies import LinearPolicy
from mogro.simulation._recorder import Recorder
from mogro.simulation._worlds import Purpose, Worlds, real_arms
from mogro.simulation.measures import Measures
from mogro.simulation.trace import Trace

_CHECKPOINTS = 100  # checkpoints
Probe = Callable[[Any], ArrayLike]
Until = Callable[[Any], bool | BoolArray]


class BanditPolicy(Protocol):
    """What a simulation asks of a policy; one of your own may be narrower about its arguments."""

    def select(self, features: Any, *, rng: Any) -> Any:
        """Choose an arm, or one for each learner of the batch."""

    @property
    def update(self) -> Callable[..., None]:
        """Learn the reward of the arm with these features, with a parameter ``arm`` its place."""


MakePolicy = Callable[..., BanditPolicy]
"""Called with the numbers of features and objectives and, if it has a parameter of that name, with
``batch``. One without it makes a single learner, and is called for each of them."""


def takes_arm(policy: BanditPolicy) -> bool:
    """Tell whether a policy asks for the place of the arm that it learns about."""
    return "arm" in inspect.signature(policy.update).parameters


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
    learners = _make_learners(make_policy, worlds, probe)
    finish = _FinishTimes(until, worlds.batch)
    probed = _play(learners, worlds, recorder, T, marks, finish)
    worlds.check_unchanged()
    return recorder.trace(probed, seeds, finish.rounds)


class _FinishTimes:
    """When each learner finished: the first round after which ``until`` says so, 0 for never."""

    def __init__(self, until: Until | None, batch: tuple[int, ...]) -> None:
        if until is not None and not callable(until):
            raise ValueError(f"until: expected a function of the policy, got {until!r}")
        self.until, self.rounds = until, np.zeros(batch, dtype=np.int64)

    def reached(self, learners: "_BatchedLearners | _SeparateLearners", t: int) -> bool:
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
    learners: "_BatchedLearners | _SeparateLearners",
    worlds: Worlds,
    recorder: Recorder,
    rounds: int,
    marks: IntArray,
    finish: _FinishTimes,
) -> NDArray[Any]:
    """Play all rounds; return what the probe sees at checkpoints."""
    probed: list[NDArray[Any]] = []
    checkpoints = set(marks.tolist())
    for t in range(rounds):
        features, means = worlds.offer(t)
        arms = learners.select(features)
        x, rewards = worlds.observe(features, arms, t)
        recorder.add_round(t, means, arms, rewards)
        learners.update(x, rewards, arms)
        finished = finish.reached(learners, t)
        if t + 1 in checkpoints or finished:
            probed.append(learners.probe())
            if probed[-1].shape != probed[0].shape:
                shapes = f"{probed[0].shape} and {probed[-1].shape}"
                raise ValueError(f"probe: expected numbers of one shape, got {shapes}")
        if finished:
            recorder.stop(t + 1)
            break
    return np.stack(probed)


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


class WrongPolicyError(ValueError):
    """A complaint about a policy; whoever was given it under another name says that name."""

    def __str__(self) -> str:
        return f"make_policy: {self.args[0]}"


def _make_learners(
    make_policy: MakePolicy, worlds: Worlds, probe: Probe | None
) -> "_BatchedLearners | _SeparateLearners":
    """Return learners for some worlds, one for each generator (I, R)."""
    if not callable(make_policy):
        raise WrongPolicyError(f"expected a policy class or function, got {make_policy!r}")
    sizes, generators = (worlds.dim, worlds.objectives), worlds.generators(Purpose.POLICY)
    batched = "batch" in inspect.signature(make_policy).parameters
    if not batched or worlds.ragged:
        policies = [_check_playable(make_policy(*sizes)) for _ in generators.flat]
        rngs = [Streams(each, ahead=True) if batched else each for each in generators.flat]
        return _SeparateLearners(policies, rngs, worlds, probe)
    policy = _check_playable(make_policy(*sizes, batch=worlds.batch))
    if generators.size == 1 and probe is None and isinstance(policy, LinearPolicy):
        policy = make_policy(*sizes, batch=())  # does the same, to the bit, in less time
        rng = Streams(generators[0, 0], ahead=True)
        return _SeparateLearners([policy], [rng], worlds, None)
    return _BatchedLearners(policy, Streams(generators, ahead=True), worlds, probe)


class _BatchedLearners:
    """A policy that steps for all learners at once."""

    def __init__(
        self, policy: BanditPolicy, rng: Streams, worlds: Worlds, probe: Probe | None
    ) -> None:
        self._policy, self._rng = policy, rng
        self._batch, self._arms = worlds.batch, worlds.arms
        self._probe = probe or (lambda policy: np.zeros(worlds.batch))
        self._takes_arm = takes_arm(policy)

    def select(self, features: FloatArray) -> IntArray:
        return _read_arms(self._policy.select(features, rng=self._rng), self._batch, self._arms)

    def update(self, x: FloatArray, rewards: FloatArray, arms: IntArray) -> None:
        self._policy.update(x, rewards, **({"arm": arms} if self._takes_arm else {}))

    def probe(self) -> NDArray[Any]:
        return self.ask(self._probe, "probe")

    def ask(self, question: Probe, name: str) -> NDArray[Any]:
        return _read_numbers(question(self._policy), self._batch, name)


class _SeparateLearners:
    """Policies of single learners, one after the other."""

    def __init__(
        self, policies: list[BanditPolicy], rngs: Sequence[Rng], worlds: Worlds, probe: Probe | None
    ) -> None:
        self._learners = list(zip(np.ndindex(worlds.batch), policies, rngs, strict=True))
        self._batch, self._ragged = worlds.batch, worlds.ragged
        self._probe = probe or (lambda policy: 0.0)
        self._takes_arm = takes_arm(policies[0])

    def select(self, features: FloatArray) -> IntArray:
        arms = np.empty(self._batch, dtype=np.int64)
        shared = features.shape[1] == 1
        for (i, r), policy, rng in self._learners:
            offer = features[i, 0 if shared else r]
            offer = real_arms(offer) if self._ragged else offer
            arm = policy.select(offer, rng=rng)
            usual = type(arm) is int and 0 <= arm < len(offer)
            arms[i, r] = arm if usual else _read_arms(arm, (), len(offer))
        return arms

    def update(self, x: FloatArray, rewards: FloatArray, arms: IntArray) -> None:
        for learner, policy, _ in self._learners:
            place = {"arm": int(arms[learner])} if self._takes_arm else {}
            policy.update(x[learner], rewards[learner], **place)

    def probe(self) -> NDArray[Any]:
        return self.ask(self._probe, "probe")

    def ask(self, question: Probe, name: str) -> NDArray[Any]:
        values = np.stack(
            [_read_numbers(question(policy), (), name) for _, policy, _ in self._learners]
        )
        return values.reshape(*self._batch, *values.shape[1:])


def _check_playable(policy: BanditPolicy) -> BanditPolicy:
    """Refuse what cannot play."""
    able = all(callable(getattr(policy, name, None)) for name in ("select", "update"))
    if not able or isinstance(policy, type):
        raise WrongPolicyError(f"expected an object with select and update, got {policy!r}")
    return policy


def _read_numbers(answer: object, batch: tuple[int, ...], name: str) -> NDArray[Any]:
    """Refuse an answer about the policy that is not numbers for each learner."""
    try:
        array = np.array(answer)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf" or array.shape[: len(batch)] != batch:
        expected = f"numbers in the shape {batch}, or {batch} and more axes" if batch else "numbers"
        raise ValueError(f"{name}: expected it to return {expected}, got {answer!r}")
    return array


def _read_arms(arms: object, batch: tuple[int, ...], offered: int) -> IntArray:
    """Refuse a policy's answer that is not one arm for each learner."""
    array = np.asarray(arms)
    fits = array.shape == batch and array.dtype.kind in "iu"
    # As unsigned integers, those below zero are large.
    if not fits or array.astype(np.uint64, copy=False).max() >= offered:
        expected = f"integers in the shape {batch}" if batch else "one integer"
        why = (
            "; its constructor takes batch, so it must return one arm for each learner"
            if batch and array.shape != batch
            else ""
        )
        raise WrongPolicyError(
            f"expected its policy to select {expected}, from 0 to {offered - 1}, got {arms!r}{why}"
        )
    return array.astype(np.int64, copy=False)

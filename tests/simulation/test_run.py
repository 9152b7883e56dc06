"""A simulation is what a plain loop would do, cut into any parts, to the bit."""

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

import mogro
from mogro.environments import Environment, FixedArms, VaryingContexts
from mogro.simulation import Purpose, Trace, join, simulate, stream

MAKERS: dict[str, Callable[..., Any]] = {
    "MOGRO": mogro.MOGRO,
    "uniform exploration": partial(mogro.MOGRO, exploration=mogro.Uniform(), threshold=0.3),
    "round robin": partial(mogro.MOGRO, scalarization=mogro.RoundRobin(), threshold=0.5),
    "epsilon-greedy": mogro.EpsilonGreedy,
    "UCB": partial(mogro.UCB, noise=0.1, delta=0.01),
    "Thompson": partial(mogro.ThompsonSampling, noise=0.1, delta=0.01),
}
KINDS: tuple[Any, ...] = (FixedArms, VaryingContexts)


def worlds(kind: Any, *, count: int = 3, sizes: tuple[int, int, int] = (4, 15, 3)) -> list[Any]:
    return [
        kind.sample(*sizes, noise=0.1, rng=stream(7, i, 0, Purpose.WORLD)) for i in range(count)
    ]


def assert_same(one: Trace, other: Trace) -> None:
    for name in ("arms", "checkpoints", "pareto_regret", "effective_regret", "rewards", "probed"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MAKERS)
def test_cut_into_parts_it_is_the_same_to_the_bit(name: str, kind: Any) -> None:
    places = worlds(kind)
    play = partial(simulate, MAKERS[name], rounds=60, seed=(3, 1))
    whole = play(places, repeats=4)
    by_instance = [play(places[:1], repeats=4), play(places[1:], repeats=4, start=(1, 0))]
    assert_same(whole, join(by_instance))
    by_repeat = [play(places, repeats=1), play(places, repeats=3, start=(0, 1))]
    assert_same(whole, join(by_repeat, along="repeats"))


@pytest.mark.parametrize("kind", KINDS)
def test_single_learners_do_what_a_batch_does(kind: Any) -> None:
    places = worlds(kind)
    together = simulate(mogro.MOGRO, places, rounds=80, repeats=3, seed=5)
    alone = simulate(
        lambda dim, objectives: mogro.MOGRO(dim, objectives), places, rounds=80, repeats=3, seed=5
    )
    assert_same(together, alone)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_learner_by_itself_does_what_it_does_among_others(name: str, kind: Any) -> None:
    place = worlds(kind, count=1)
    play = partial(simulate, MAKERS[name], place, rounds=300, seed=5)
    whole = play(repeats=2)
    alone = [play(repeats=1, start=(0, r)) for r in range(2)]
    assert_same(whole, join(alone, along="repeats"))
    watched = [play(repeats=1, start=(0, r), probe=lambda p: p.theta) for r in range(2)]
    assert np.array_equal(join(watched, along="repeats").arms, whole.arms)


@pytest.mark.parametrize("axes", [0, 1, 2])
def test_a_basis_for_a_batch_serves_one_learner(axes: int) -> None:
    (place,) = worlds(FixedArms, count=1)
    exploration = mogro.BasisRoundRobin(place.features.reshape((1,) * axes + place.features.shape))
    make = partial(mogro.MOGRO, threshold=1.0, exploration=exploration)
    whole = simulate(make, place, rounds=60, repeats=2)
    alone = [simulate(make, place, rounds=60, start=(0, r)) for r in range(2)]
    assert_same(whole, join(alone, along="repeats"))


class Outside:
    """A policy that names an arm that is not there."""

    def __init__(self, dim: int, objectives: int, *, batch: tuple[int, ...] = ()) -> None:
        self.batch = batch

    def select(self, features: Any, *, rng: mogro.Rng) -> Any:
        return np.full(self.batch, -98)

    def update(self, features: Any, reward: Any) -> None:
        raise AssertionError


@pytest.mark.parametrize("repeats", [1, 2])
def test_an_arm_that_is_not_there_is_refused(repeats: int) -> None:
    (place,) = worlds(FixedArms, count=1)
    with pytest.raises(ValueError, match="make_policy: expected its policy to select"):
        simulate(Outside, place, rounds=5, repeats=repeats)


@pytest.mark.parametrize("kind", KINDS)
def test_regret_and_reward_are_those_of_a_plain_loop(kind: Any) -> None:
    (place,) = worlds(kind, count=1)
    rounds, seed = 40, 9
    trace = simulate(mogro.EpsilonGreedy, place, rounds=rounds, repeats=2, seed=seed)
    contexts = mogro.Streams([stream(seed, 0, r, Purpose.CONTEXTS) for r in range(2)], ahead=True)
    noise = mogro.Streams([stream(seed, 0, r, Purpose.NOISE) for r in range(2)], ahead=True)
    sums = np.zeros((3, 2))
    for t in range(rounds):
        offered = np.broadcast_to(
            place.contexts(rng=contexts, batch=(2,)), (2, place.arms, place.dim)
        )
        arms = trace.arms[t, 0].astype(int)
        means = offered @ place.theta.T
        sums[0] += mogro.pareto.gaps(means, arms=arms)
        sums[1] += mogro.pareto.effective_gaps(means, arms=arms)
        sums[2] += place.observe(offered[[0, 1], arms], rng=noise)[:, 0]
        if t + 1 in trace.checkpoints:
            row = int(np.searchsorted(trace.checkpoints, t + 1))
            np.testing.assert_allclose(trace.pareto_regret[row, 0], sums[0], atol=1e-11)
            np.testing.assert_allclose(trace.effective_regret[row, 0], sums[1], atol=1e-11)
            np.testing.assert_allclose(trace.rewards[row, 0, :, 0], sums[2], atol=1e-11)
    assert (trace.effective_regret >= trace.pareto_regret - 1e-12).all()
    assert (np.diff(trace.effective_regret, axis=0) >= 0).all()


class Recorder:
    """Pulls one arm for ever, and remembers what it meets."""

    arm = 0
    seen: list[Any]

    def __init__(self, dim: int, objectives: int) -> None:
        type(self).seen = []

    def select(self, features: np.ndarray, *, rng: np.random.Generator) -> int:
        rng.random(self.arm)  # a policy's own draws disturb nobody
        self.seen.append(features.copy())
        return self.arm

    def update(self, features: np.ndarray, reward: np.ndarray) -> None:
        self.seen.append((features.copy(), reward.copy()))


class Other(Recorder):
    arm = 3


def test_every_policy_meets_the_same_contexts_and_noise() -> None:
    (place,) = worlds(VaryingContexts, count=1)
    for policy in (Recorder, Other):
        simulate(policy, place, rounds=10, repeats=1, seed=2)
    for one, other in zip(Recorder.seen, Other.seen, strict=True):
        if isinstance(one, tuple):
            noise = [reward - place.theta @ x for x, reward in (one, other)]
            np.testing.assert_allclose(noise[0], noise[1], atol=1e-14)
        else:
            assert np.array_equal(one, other)


class ByPlace(Recorder):
    """Pulls one arm after the other, and remembers which one it was told of."""

    def select(self, features: np.ndarray, *, rng: np.random.Generator) -> int:
        return len(self.seen) % len(features)

    def update(  # type: ignore[override]
        self, features: np.ndarray, reward: np.ndarray, arm: int
    ) -> None:
        self.seen.append(arm)


class ByPlaces:
    """The same for a batch."""

    seen: list[Any]

    def __init__(self, dim: int, objectives: int, batch: tuple[int, ...]) -> None:
        self.batch = batch
        type(self).seen = []

    def select(self, features: np.ndarray, *, rng: mogro.Rng) -> np.ndarray:
        return np.arange(6).reshape(self.batch) + len(self.seen)

    def update(self, features: np.ndarray, reward: np.ndarray, *, arm: np.ndarray) -> None:
        self.seen.append(arm.copy())


def test_a_policy_that_asks_for_the_place_of_the_arm_gets_it() -> None:
    place = worlds(FixedArms)
    trace = simulate(ByPlaces, place, rounds=7, repeats=2)
    assert np.array_equal(np.stack(ByPlaces.seen), trace.arms)
    trace = simulate(ByPlace, place[:1], rounds=20)
    assert ByPlace.seen == trace.arms[:, 0, 0].tolist() == [n % 15 for n in range(20)]


class Fickle:
    """An environment of a user's: new arms, the same for all, every tenth round."""

    dim, arms, objectives, noise = 2, 4, 2, 0.0
    theta = np.eye(2)

    def __init__(self) -> None:
        self.round = 0

    def contexts(self, *, rng: mogro.Rng, batch: tuple[int, ...] = ()) -> np.ndarray:
        self.round += 1
        return np.random.default_rng(self.round // 10).random((4, 2))

    def observe(self, x: np.ndarray, *, rng: mogro.Rng) -> np.ndarray:
        return np.asarray(x @ self.theta.T)


def test_arms_that_change_together_are_judged_anew() -> None:
    trace = simulate(mogro.RandomArm, Fickle(), rounds=35, repeats=2, seed=0)
    world, total = Fickle(), np.zeros(2)
    for t in range(35):
        features = world.contexts(rng=np.random.default_rng())
        total += mogro.pareto.effective_gaps(features)[trace.arms[t, 0]]
    np.testing.assert_allclose(trace.effective_regret[-1, 0], total)


class Drifting(Fickle):
    """A world that forgets to say that its parameters move."""

    def contexts(self, *, rng: mogro.Rng, batch: tuple[int, ...] = ()) -> np.ndarray:
        self.theta = self.theta + 0.1
        return super().contexts(rng=rng, batch=batch)


class Silent(Fickle):
    """A world that says nothing about its means."""

    theta = None  # type: ignore[assignment]


def test_worlds_that_cannot_be_judged_are_refused() -> None:
    with pytest.raises(ValueError, match="environment: expected theta to stay during a run"):
        simulate(mogro.RandomArm, Drifting(), rounds=5)
    with pytest.raises(ValueError, match="environment: expected one that can be judged, by theta"):
        simulate(mogro.RandomArm, Silent(), rounds=5)


@pytest.mark.parametrize("means", [np.ones((4, 1)), np.full((4, 2), np.nan), np.ones((2, 3, 4, 2))])
def test_means_that_are_none_are_refused(means: np.ndarray) -> None:
    place = Fickle()
    place.means = lambda features: means  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="environment: expected finite means of shape"):
        simulate(mogro.RandomArm, place, rounds=5, repeats=3)


class OneLearner:
    """A world for one learner at a time, with all that a generator has."""

    dim, arms, objectives = 2, 4, 2

    def contexts(self, *, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(rng.triangular(0, 1, 2, size=(4, 2)))

    def means(self, features: np.ndarray) -> np.ndarray:
        assert features.shape == (4, 2)
        return features**2

    def observe(self, x: np.ndarray, *, rng: np.random.Generator, arm: int) -> np.ndarray:
        assert type(arm) is int
        return rng.exponential(x**2)


def test_a_world_may_be_asked_for_one_learner_at_a_time() -> None:
    trace = simulate(mogro.RandomArm, [OneLearner(), OneLearner()], rounds=30, repeats=2, seed=3)
    total = np.zeros((2, 2))
    for i, r in np.ndindex(2, 2):
        rng = stream(3, i, r, Purpose.CONTEXTS)
        for t in range(30):
            features = rng.triangular(0, 1, 2, size=(4, 2))
            total[i, r] += mogro.pareto.effective_gaps(features**2, arms=int(trace.arms[t, i, r]))
    np.testing.assert_allclose(trace.effective_regret[-1], total)


def test_trace_is_small_and_survives_saving(tmp_path: Path) -> None:
    trace = simulate(
        mogro.MOGRO, worlds(FixedArms), rounds=30, repeats=2, seed=4, probe=lambda p: p.theta
    )
    assert trace.arms.dtype == np.uint8  # 40,000 rounds x 200 learners: 8 MB
    assert trace.probed.shape == (30, 3, 2, 3, 4)
    trace.save(tmp_path / "a.trace")
    again = Trace.load(tmp_path / "a.trace")
    assert_same(trace, again)
    assert (again.seed, again.offered, again.versions) == (trace.seed, 15, trace.versions)
    whole = (tmp_path / "a.trace").read_bytes()
    (tmp_path / "half.trace").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="expected a trace saved by mogro"):
        Trace.load(tmp_path / "half.trace")
    rng = np.random.default_rng(0)
    for place in rng.integers(len(whole), size=300):  # one bit is lost: an error, or no harm
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "bit.trace").write_bytes(damaged)
        with contextlib.suppress(ValueError):
            Trace.load(tmp_path / "bit.trace")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("answer", [None, "much", [1, [2, 3]], {"a": 1}])
def test_a_probe_that_returns_no_numbers_is_refused(answer: object, batched: bool) -> None:
    make = mogro.RandomArm if batched else lambda dim, objectives: mogro.RandomArm(dim, objectives)
    with pytest.raises(ValueError, match=r"^probe: expected it to return numbers"):
        simulate(make, worlds(FixedArms), rounds=5, repeats=2, probe=lambda policy: answer)  # type: ignore[arg-type,return-value]


def test_a_probe_that_does_not_fit_the_learners_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^probe: expected it to return numbers in the shape \(3"):
        simulate(mogro.RandomArm, worlds(FixedArms), rounds=5, repeats=2, probe=lambda policy: 1.0)
    lengths = iter(range(100))
    with pytest.raises(ValueError, match=r"^probe: expected numbers of one shape"):
        simulate(
            mogro.RandomArm,
            worlds(FixedArms),
            rounds=5,
            repeats=2,
            probe=lambda policy: np.zeros((3, 2, next(lengths))),
        )


class Centring(mogro.RandomArm):  # type: ignore[misc]
    """A policy that changes what it is given."""

    def update(self, features: Any, reward: Any) -> None:
        reward -= reward.mean()


def test_a_policy_cannot_change_the_record() -> None:
    place = worlds(FixedArms, count=1)
    honest = simulate(mogro.RandomArm, place, rounds=20, repeats=2, seed=1)
    assert_same(simulate(Centring, place, rounds=20, repeats=2, seed=1), honest)


@pytest.mark.parametrize("rewards", [np.full((2, 2), np.nan), np.ones((2, 1)), np.ones((1, 2))])
def test_rewards_that_are_none_are_refused(rewards: np.ndarray) -> None:
    place = Fickle()
    place.observe = lambda x, *, rng: rewards  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="environment: expected finite rewards of shape"):
        simulate(mogro.RandomArm, place, rounds=5, repeats=2)


@pytest.mark.parametrize("shape", [(4, 1), (3, 2), (5, 4, 2)])
def test_contexts_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    place = Fickle()
    place.contexts = lambda *, rng, batch=(): np.ones(shape)  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="environment: expected contexts of shape"):
        simulate(mogro.RandomArm, place, rounds=5, repeats=2)


def test_pulls_count_arms() -> None:
    trace = simulate(mogro.RandomArm, worlds(FixedArms), rounds=50, repeats=2, seed=1)
    pulls = trace.pulls()
    assert (pulls.sum(axis=-1) == trace.checkpoints[:, None, None]).all()
    assert pulls[-1, 1, 0, 5] == (trace.arms[:, 1, 0] == 5).sum()


@pytest.mark.slow
@examples(25)
@given(rounds=st.integers(1, 350), data=st.data())
def test_checkpoints_increase_and_end_with_the_last_round(rounds: int, data: st.DataObject) -> None:
    given_ = data.draw(st.none() | st.sets(st.integers(1, rounds), min_size=1).map(sorted))
    trace = simulate(
        mogro.RandomArm,
        FixedArms(np.eye(2), np.eye(2), noise=0.0),
        rounds=rounds,
        checkpoints=given_,
    )
    assert trace.checkpoints[-1] == rounds
    assert (np.diff(trace.checkpoints) > 0).all()
    if given_ is not None:
        assert set(given_) <= set(trace.checkpoints.tolist())


class Wrong:
    def __init__(self, dim: int, objectives: int) -> None: ...

    def select(self, features: np.ndarray, *, rng: np.random.Generator) -> int:
        return len(features)

    def update(self, features: np.ndarray, reward: np.ndarray) -> None: ...


class Unteachable:
    def __init__(self, dim: int, objectives: int, batch: tuple[int, ...]) -> None: ...

    def select(self, features: np.ndarray, *, rng: mogro.Rng) -> int:
        return 0


def test_refusals() -> None:
    place: Environment = worlds(FixedArms, count=1)[0]
    other = FixedArms(np.eye(2), np.eye(2), noise=0.1)
    for message, call in {
        "rounds: expected": lambda: simulate(mogro.MOGRO, place, rounds=0),
        "repeats: expected": lambda: simulate(mogro.MOGRO, place, rounds=1, repeats=0),
        "seed: expected": lambda: simulate(mogro.MOGRO, place, rounds=1, seed=-1),
        "environment: expected an": lambda: simulate(mogro.MOGRO, [], rounds=1),
        "environment: expected instances of equal sizes": lambda: simulate(
            mogro.MOGRO, [place, other], rounds=1
        ),
        "checkpoints: expected": lambda: simulate(mogro.MOGRO, place, rounds=5, checkpoints=[3, 3]),
        "make_policy: expected a policy class": lambda: simulate(None, place, rounds=1),  # type: ignore[arg-type]
        "make_policy: expected its policy to select one integer": lambda: simulate(
            Wrong, place, rounds=1
        ),
        "along: expected": lambda: join([], along="rounds"),
        "traces: expected at least": lambda: join([]),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()  # type: ignore[no-untyped-call]
    makers: list[Any] = [lambda dim, objectives: 1, lambda dim, objectives: Wrong, Unteachable]
    for make in makers:
        with pytest.raises(ValueError, match="make_policy: expected an object with select and upd"):
            simulate(make, place, rounds=1)

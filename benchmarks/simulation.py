"""Replications together against a plain loop, and the paper's running-time figure."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import mogro
from benchmarks.common import Line, duration, race, ratio, typical
from mogro.environments import FixedArms
from mogro.experiments.lab.timing import WITH_WHOLE_FRONTS

SECTION = "simulation"
SIZE = (10, 200, 10)  # d, K, M: the largest of the paper's figure
ROUNDS = 1000
REPLICATIONS = (1, 10, 100, 500, 2000)
_INSTANCES = 10


def plain_loop(world: FixedArms, rounds: int) -> None:
    """Play one replication of MOGRO-RW as one would first write it."""
    rng = np.random.default_rng(0)
    dim, objectives = world.dim, world.objectives
    gram, moments = np.zeros((dim, dim)), np.zeros((dim, objectives))
    basis = mogro.BasisRoundRobin(world.features).basis
    exploring = True
    for t in range(rounds):
        exploring = exploring and np.linalg.eigvalsh(gram)[0] < 1
        if exploring:
            arm = basis[t % len(basis)]
        else:
            theta = np.linalg.solve(gram, moments)
            arm = (world.features @ (theta @ rng.dirichlet(np.ones(objectives)))).argmax()
        x = world.features[arm]
        gram += np.outer(x, x)
        moments += np.outer(x, world.means[arm] + 0.1 * rng.standard_normal(objectives))


def lines() -> Iterator[Line]:
    """Measure."""
    rng = np.random.default_rng(0)
    worlds = [FixedArms.sample(*SIZE, noise=0.1, rng=rng) for _ in range(_INSTANCES)]
    yield from _together(worlds)
    yield from _figure(worlds[0])


def _together(worlds: list[FixedArms]) -> Iterator[Line]:
    make = partial(mogro.MOGRO, threshold=1.0)  # the plain loop's
    for count in REPLICATIONS:
        chosen = worlds[: min(count, len(worlds))]
        run = partial(mogro.simulate, make, chosen, rounds=ROUNDS, repeats=count // len(chosen))
        times = race(
            {"together": run, "loop": partial(plain_loop, worlds[0], ROUNDS)},
            block=0.03,
            repeats=7,
            budget=6.0,
        )
        each = times["together"] / count
        rate = 1 / typical(each) * ROUNDS
        yield Line(
            SECTION,
            ratio(times["loop"], each),
            "plain loop / simulate(MOGRO-RW)",
            f"{count:,} replications, {_size()}",
            f"{rate:,.0f} replication-rounds a second",
            note="simulate also books rewards and both regrets",
        )


def _figure(world: FixedArms) -> Iterator[Line]:
    """Compare the policies as the paper built them, one learner at a time."""
    steps = {}
    for contender in WITH_WHOLE_FRONTS:
        policy = contender.policy([world], rounds=1000, batch=())
        steps[contender.label] = _round(policy, world)
    times = race(steps, repeats=15)
    ours = WITH_WHOLE_FRONTS[0].label
    for label in times:
        if label != ours:
            yield Line(
                SECTION,
                ratio(times[label], times[ours]),
                f"{label} / {ours}",
                f"one learner, {_size()}",
                f"{duration(typical(times[label]))} / {duration(typical(times[ours]))}",
                note="the paper's running-time figure: whole fronts every round",
            )


def _round(policy: mogro.policies.Policy, world: FixedArms) -> partial[None]:
    rng = np.random.default_rng(0)
    rewards = world.means + 0.1 * rng.standard_normal(world.means.shape)

    def step() -> None:
        arm = policy.select(world.features, rng=rng)
        policy.update(world.features[arm], rewards[arm])

    for _ in range(300):
        step()
    return partial(step)


def _size() -> str:
    return f"(d, K, M) = {SIZE}"

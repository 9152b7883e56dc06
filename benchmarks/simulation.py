"""Replications together against a plain loop and against NumPy by hand; and the paper's times.

    python -m benchmarks.simulation

"The plain loop" is one replication of :class:`benchmarks.floor.Floor`; "by hand" are many in arrays
with a leading axis and one generator: no streams, no ties, no exploration, no residuals, no checks.
Both draw rewards of the world, and sum up both regrets. "Bare" is what MOGRO cannot
do without: a generator for each learner, residuals, ties, optimistic rounds; no regret, no sums, no
checks. :func:`mogro.simulate` records rewards and both regrets besides.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import mogro
from benchmarks.common import Line, Ratio, duration, race, ratio, typical
from benchmarks.floor import Array, Floor
from mogro.environments import FixedArms
from paper.lab.timing import WITH_WHOLE_FRONTS

SECTION = "simulation"
SIZE = (10, 200, 10)  # d, K, M: the largest of the paper's figure
SMALLER = (10, 200, 5)
ROUNDS = 1000
REPEATS = 9
OPTIMISTIC_EVERY = 5  # rounds: as many as MOGRO has in the first thousand


def plain_loop(world: FixedArms, rounds: int) -> Array:
    """Play one replication, as one would first write it; return both sums of gaps."""
    rng, policy = np.random.default_rng(0), Floor(world.dim, world.objectives)
    means, noise = world.means, world.noise
    arms: Array = world.features.astype(np.float64)
    gaps = np.stack([mogro.pareto.gaps(means), mogro.pareto.effective_gaps(means)])
    regret = np.zeros((rounds, 2))
    for t in range(rounds):
        arm = policy.select(arms, rng=rng)
        policy.update(arms[arm], means[arm] + noise * rng.standard_normal(world.objectives))
        regret[t] = regret[t - 1] + gaps[:, arm]
    return regret


def by_hand(world: FixedArms, rounds: int, *, count: int) -> Array:
    """Play many replications in arrays with a leading axis; return both sums of gaps."""
    rng, d, m = np.random.default_rng(0), world.dim, world.objectives
    arms, means, noise = world.features, world.means, world.noise
    gaps = np.stack([mogro.pareto.gaps(means), mogro.pareto.effective_gaps(means)])
    V, b = np.tile(np.eye(d), (count, 1, 1)), np.zeros((count, m, d))
    S, theta = V.copy(), b.copy()
    regret = np.zeros((2, count))
    for _ in range(rounds):
        weights = rng.standard_exponential((count, m))
        weights /= weights.sum(axis=1, keepdims=True)
        arm = (np.einsum("rm,rmd->rd", weights, theta) @ arms.T).argmax(axis=1)
        x, y = arms[arm], means[arm] + noise * rng.standard_normal((count, m))
        regret += gaps[:, arm]
        V += x[:, :, None] * x[:, None]
        b += y[:, :, None] * x[:, None]
        turned = np.einsum("rij,rj->ri", S, x)
        gain = turned / (1 + np.einsum("ri,ri->r", x, turned))[:, None]
        theta += (y - np.einsum("rmd,rd->rm", theta, x))[:, :, None] * gain[:, None]
        S -= turned[:, :, None] * gain[:, None]
    return regret


def bare(world: FixedArms, rounds: int, *, count: int) -> Array:
    """Play many replications by what a policy cannot do without; return the last estimates."""
    d, m, means = world.dim, world.objectives, world.means
    arms: Array = world.features.astype(np.float64)
    generators = [np.random.default_rng(i) for i in range(count)]
    solution, squares = np.tile(np.eye(d + m, d), (count, 1, 1)), np.zeros((count, m))
    ahead, first = 64, np.arange(0, count * len(arms), len(arms))
    for t in range(rounds):
        if t % ahead == 0:
            draws = np.empty((2, count, ahead, m))
            for learner, generator in enumerate(generators):
                generator.standard_exponential(out=draws[0, learner])
                generator.standard_normal(out=draws[1, learner])
            draws[0] /= draws[0].sum(axis=-1, keepdims=True)
            weights, noise = draws.swapaxes(1, 2).copy()
        scores = np.vecmat(weights[t % ahead], solution[:, d:]) @ arms.T
        arm = scores.argmax(axis=1)
        tops = scores.take(first + arm)
        if t % OPTIMISTIC_EVERY:
            np.put(scores, first + arm, -np.inf)
            np.flatnonzero(tops - scores.take(first + scores.argmax(axis=1)) < 1e-9)  # ties
        else:
            width = np.vecdot(np.sqrt(squares / max(t, 1)), weights[t % ahead])
            arm = _optimistic(arms, scores, tops, solution[:, :d], width)
        x, y = arms[arm], means[arm] + world.noise * noise[t % ahead]
        product = np.matvec(solution, x)
        part, errors = product[:, :d], product[:, d:] - y
        growth = 1 + np.vecdot(part, part)[:, None]
        gain = np.vecmat(part, solution[:, :d]) / (growth + np.sqrt(growth))
        shares = errors / np.sqrt(growth)
        squares += shares * shares
        np.add(errors, shares, out=product[:, d:])
        solution = solution - np.einsum("ri,rj->rij", product, gain)
    return solution[:, d:]


def _optimistic(arms: Array, scores: Array, tops: Array, W: Array, width: Array) -> Array:
    """Return the best of scores and errors, which only few arms need."""
    bounds = width[:, None] * np.sqrt(np.einsum("rij,rij->rj", W, W)) @ np.abs(arms).T
    near = np.flatnonzero((scores + bounds >= tops[:, None]).any(axis=0))
    parts = W @ arms[near].T
    errors = np.sqrt(np.einsum("rik,rik->rk", parts, parts))
    raised = scores[:, near] + width[:, None] * errors
    return np.asarray(near[raised.argmax(axis=1)])


def simulated(world: FixedArms, rounds: int, *, count: int) -> mogro.simulation.Trace:
    """Let :func:`mogro.simulate` play as many, with all that it records."""
    return mogro.simulate(mogro.MOGRO, world, rounds=rounds, repeats=count)


def fastest(contestants: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return processor seconds of the fastest of several runs; contestants take turns."""
    times = dict.fromkeys(contestants, np.inf)
    for _ in range(REPEATS):
        for name, play in contestants.items():
            start = time.process_time()
            play()
            times[name] = min(times[name], time.process_time() - start)
    return times


def lines() -> Iterator[Line]:
    """Measure."""
    rng = np.random.default_rng(0)
    large, small = (FixedArms.sample(*size, noise=0.1, rng=rng) for size in (SIZE, SMALLER))
    loop = "plain loop / simulate, a replication and round"
    yield _line(large, loop, plain_loop, 200, "at least 20", lambda value: value >= 20)
    for world, count in ((large, 200), (small, 100)):
        for name, play in (("by hand", by_hand), ("bare", bare)):
            quotient = f"plain loop / {name}, a replication and round"
            yield _line(world, quotient, plain_loop, count, play=play)
    hand = partial(by_hand, count=100)
    share = "by hand / simulate"
    yield _line(small, share, hand, 100, "at least 0.6", lambda value: value >= 0.6, per=100)
    one = "plain loop / simulate"
    for world in (small, large):
        yield _line(world, one, plain_loop, 1, "at least 0.4", lambda value: value >= 0.4)
    yield _line(large, loop, plain_loop, 2000)
    yield from _figure(large)


def _line(
    world: FixedArms,
    quotient: str,
    rival: Callable[..., Any],
    count: int,
    bar: str = "",
    met: Callable[[float], bool] | None = None,
    *,
    per: int = 1,
    play: Callable[..., Any] = simulated,
) -> Line:
    """Compare :func:`simulated` with a rival that plays ``per`` replications."""
    ours = partial(play, world, ROUNDS, count=count)
    times = fastest({"rival": partial(rival, world, ROUNDS), "ours": ours})
    theirs, mine = times["rival"] / per / ROUNDS, times["ours"] / count / ROUNDS
    value = theirs / mine
    where = f"{count:,} replications, (d, K, M) = {(world.dim, world.arms, world.objectives)}"
    return Line(
        SECTION,
        Ratio(value, value, value),
        quotient,
        where,
        f"{duration(theirs)} / {duration(mine)}",
        bar,
        met(value) if met else None,
        f"{ROUNDS:,} rounds from the first on",
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
                f"one learner, (d, K, M) = {SIZE}",
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


if __name__ == "__main__":
    for line in lines():
        verdict = f"{line.bar}: {'met' if line.met else 'MISSED'}" if line.bar else ""
        print(f"{line.quotient}: {line.ratio.value:.3g}" if line.ratio else line.quotient)
        print(f"    {line.setting}; {line.figures}; {verdict}", flush=True)

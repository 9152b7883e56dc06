"""Running time: one learner at a time with the whole front every round, and as mogro runs them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng, Streams
from mogro._validation import FloatArray
from mogro.environments import Environment
from mogro.experiments import statistics
from mogro.experiments.claims import Claim, above, below
from mogro.experiments.contenders import EPS, OPTIMIST, RR, RW, THOMPSON, Contender
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.regrets import BASELINES, GRID, OURS, ROUNDS, SIZE, cells, title
from mogro.experiments.scale import Scale
from mogro.experiments.statistics import Interval
from mogro.experiments.style import legend, look, panels
from mogro.experiments.table import Table, distinct, select, table
from mogro.experiments.worlds import Fixed
from mogro.pareto import front
from mogro.policies import UCB, EpsilonGreedy, Policy
from mogro.simulation.parallel import Arrays, Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_INSTANCES = 5
_TOGETHER = 50
_TURNS = 20
PAPER, MOGRO = "whole front", "lockstep"
_BUILDS = {
    PAPER: "one learner, whole front every round",
    MOGRO: f"as mogro runs them: {_TOGETHER} learners in lockstep",
}


@dataclass(frozen=True)
class WholeFront:
    """A baseline as the paper built it: the whole Pareto front every round, then a choice."""

    label: str

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
    ) -> Policy:
        """Return a new policy of one learner."""
        if self.label == EPS.label:
            return _FrontOfEstimates(EPS.policy(environments, rounds=rounds, batch=batch))
        return _FrontOfIndices(OPTIMIST.policy(environments, rounds=rounds, batch=batch))


class _FrontOfEstimates:
    def __init__(self, inner: EpsilonGreedy) -> None:
        self._inner = inner

    def select(self, features: FloatArray, *, rng: Any) -> int:
        members = np.flatnonzero(front(features @ self._inner.model.theta.T))
        if rng.random() < self._inner.epsilon:
            return int(rng.integers(len(features)))
        return int(rng.choice(members))

    def update(self, features: ArrayLike, reward: ArrayLike) -> None:
        self._inner.update(features, reward)


class _FrontOfIndices:
    def __init__(self, inner: UCB) -> None:
        self._inner = inner

    def select(self, features: FloatArray, *, rng: Any) -> int:
        width = self._inner.radius * np.sqrt(self._inner.model.variances(features))
        members = np.flatnonzero(front(features @ self._inner.model.theta.T + width[:, None]))
        return int(rng.choice(members))

    def update(self, features: ArrayLike, reward: ArrayLike) -> None:
        self._inner.update(features, reward)


AS_BUILT: tuple[Contender, ...] = (
    RW,
    RR,
    WholeFront(EPS.label),
    WholeFront(OPTIMIST.label),
    THOMPSON,
)
AS_MOGRO: tuple[Contender, ...] = (RW, RR, EPS, OPTIMIST, THOMPSON)


@dataclass(frozen=True)
class Stopwatch:
    """The times that policies take for their rounds in one instance: choosing and learning.

    They take turns, a few rounds each, so that what else the machine does meets all alike.
    """

    world: Fixed
    contenders: tuple[Contender, ...]
    rounds: int
    seed: int
    instance: int
    learners: int = 1

    @property
    def alone(self) -> bool:
        """It measures time."""
        return True

    @property
    def cost(self) -> float:
        """Seconds, roughly."""
        dim, arms, objectives = self.world.sizes
        each = 4e-5 + 2e-9 * arms * dim * objectives if self.learners == 1 else 4e-5
        return self.rounds * each * self.learners * len(self.contenders)

    def run(self) -> Arrays:
        """Play, and return seconds per learner, one number for each contender."""
        players = [_Player(self, contender) for contender in self.contenders]
        for turn in np.array_split(np.arange(self.rounds), _TURNS):
            for player in players:
                player.play(len(turn))
        return {"seconds": np.array([player.spent for player in players]) / self.learners}


class _Player:
    """A policy at its game, with the time it has spent so far."""

    def __init__(self, watch: Stopwatch, contender: Contender) -> None:
        self._world = watch.world.instance(watch.instance, watch.seed)
        single = watch.learners == 1
        batch = () if single else (1, watch.learners)
        self._policy = contender.policy([self._world], rounds=watch.rounds, batch=batch)
        generators = [np.random.default_rng([watch.seed, n]) for n in range(watch.learners)]
        self._rng: Rng = generators[0] if single else Streams([generators], ahead=True)
        self._noise = np.random.default_rng(watch.seed)
        self.spent = 0.0

    def play(self, rounds: int) -> None:
        world, policy = self._world, self._policy
        for _ in range(rounds):
            start = time.process_time()
            arm = policy.select(world.features, rng=self._rng)
            self.spent += time.process_time() - start
            reward = world.reward(arm, rng=self._noise)
            x = world.features[arm]
            start = time.process_time()
            policy.update(x, reward)
            self.spent += time.process_time() - start


Watches = dict[tuple[str, tuple[int, int, int], int], Stopwatch]


def stopwatches(
    sizes: Sequence[tuple[int, int, int]], scale: Scale, *, builds: Sequence[str] = (PAPER, MOGRO)
) -> Watches:
    """Return what is timed: build, size and instance of each piece."""
    known = {PAPER: (AS_BUILT, 1, _INSTANCES), MOGRO: (AS_MOGRO, _TOGETHER, 1)}
    found = {}
    for size, build in product(sizes, builds):
        contenders, learners, instances = known[build]
        for i in range(min(scale.instances, instances)):
            found[build, size, i] = Stopwatch(
                Fixed(*size), contenders, scale.horizon(ROUNDS), scale.seed, i, learners
            )
    return found


def times(pieces: Watches, results: Results) -> Table:
    """Return one row for each policy in each piece."""
    return table(
        (*SIZE, "build", "policy", "instance", "seconds"),
        [
            (*size, build, contender.label, i, float(seconds))
            for (build, size, i), piece in pieces.items()
            for contender, seconds in zip(piece.contenders, results[piece]["seconds"], strict=True)
        ],
    )


def time_panel(panel: Any, data: Table) -> None:
    """Draw bars of the mean time of every policy, with a dot for each instance."""
    for n, (policy,) in enumerate(distinct(data, "policy")):
        seconds = select(data, policy=policy)["seconds"]
        how = look(policy)
        panel.bar(n, seconds.mean(), color=how.colour, label=how.name, width=0.75)
        panel.plot(np.full(len(seconds), n), seconds, ".", color="black", markersize=3)
    names = [look(policy).name for (policy,) in distinct(data, "policy")]
    panel.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=7)
    panel.grid(axis="x", visible=False)


def _draw(tables: Tables) -> "Drawing":
    data = tables["seconds"]
    sizes = distinct(data, *SIZE)
    drawing, axes = panels(2, len(sizes), width=1.9, height=2.6, sharey="row")
    for row, (build, name) in enumerate(_BUILDS.items()):
        for n, size in enumerate(sizes):
            panel = axes[row, n]
            here = select(data, build=build, **dict(zip(SIZE, size, strict=True)))
            time_panel(panel, here)
            panel.set_title(title(size), fontsize=8)
        axes[row, 0].set_ylabel(f"{name}\nprocessor seconds", fontsize=8)
    legend(drawing, axes[0, 0])
    return drawing


def faster(data: Table) -> Claim:
    """Return the claim that MOGRO is fastest, with everything built as the paper built it."""

    def ratios() -> list[tuple[str, Interval]]:
        found = []
        for name, rows in cells(select(data, build=PAPER)):
            rival = min(BASELINES, key=lambda p: float(rows[p]["seconds"].mean()))
            for ours in OURS:
                number = statistics.ratio(rows[ours]["seconds"], rows[rival]["seconds"])
                found.append((f"{ours} at {name} against {rival}", number))
        return found

    return Claim(
        "MOGRO faster than the baselines",
        "Both MOGRO policies are significantly faster than all baselines, epsilon-greedy included.",
        "running time / that of the fastest baseline (one learner, whole front), below 1",
        below(1.0, ratios()),
        varies="the policy and the size",
    )


def _growth(data: Table, policy: str, few: dict[str, int], many: dict[str, int]) -> Interval:
    rows = select(data, build=PAPER, policy=policy)
    small, large = (select(rows, **which)["seconds"] for which in (few, many))
    return statistics.ratio(large, small)


def _claims(tables: Tables) -> list[Claim]:
    data = tables["seconds"]

    def with_arms(policy: str) -> list[tuple[str, Interval]]:
        return [
            (
                f"{policy}, d = M = {d}",
                _growth(data, policy, {"dim": d, "arms": 50}, {"dim": d, "arms": 200}),
            )
            for d in (5, 10)
        ]

    def more_than_arms(policy: str) -> tuple[float, list[tuple[str, Interval]]]:
        growth = [
            (
                f"{policy}, K = {K}: 10 against 5",
                _growth(data, policy, {"dim": 5, "arms": K}, {"dim": 10, "arms": K}),
            )
            for K in (50, 100, 200)
        ]
        return max(number.value for _, number in with_arms(policy)), growth

    by_arms, thompson = more_than_arms("MOL-TS")
    our_arms, our_growth = more_than_arms("MOGRO-RW")
    return [
        faster(data),
        Claim(
            "MOGRO hardly slower with more arms",
            "For given d and M the running time of MOGRO is nearly the same for every K.",
            "time at K = 200 / time at K = 50, below 1.5",
            below(1.5, [case for ours in OURS for case in with_arms(ours)]),
            varies="d, M and the policy",
        ),
        Claim(
            "fronts slow the baselines down",
            "MOLB-epsilon-greedy and MOLB-UCB slow down markedly as the number of arms grows.",
            "time at K = 200 / time at K = 50, above 1.5",
            above(1.5, [case for p in BASELINES[:2] for case in with_arms(p)]),
            varies="d, M and the policy",
        ),
        Claim(
            "MOL-TS feels d and M more than K",
            "The running time of MOL-TS grows more with d and M than with the number of arms.",
            f"growth when d and M double, above its largest growth ({by_arms:.2f}) from K = 50 to "
            "200",
            above(by_arms, thompson),
            varies="K",
        ),
        Claim(
            "MOGRO feels d and M more than K",
            "The running time of MOGRO grows more with d and M than with the number of arms.",
            f"growth when d and M double, above its largest growth ({our_arms:.2f}) from K = 50 to "
            "200",
            above(our_arms, our_growth),
            varies="K",
        ),
        Claim(
            "MOGRO far faster than MOL-TS",
            "MOGRO is incomparably faster than MOL-TS.",
            "running time of MOGRO-RW / MOL-TS, below 0.5",
            below(
                0.5,
                [
                    (name, statistics.ratio(rows["MOGRO-RW"]["seconds"], rows["MOL-TS"]["seconds"]))
                    for name, rows in cells(select(data, build=PAPER))
                ],
            ),
        ),
    ]


def _pieces(scale: Scale) -> list[Piece]:
    return list(stopwatches(GRID, scale).values())


def _tables(scale: Scale, results: Results) -> Tables:
    return {"seconds": times(stopwatches(GRID, scale), results)}


FIGURE = Figure(
    name="time",
    title="Running time",
    about=(
        "Processor time of all rounds (choosing and learning, not the environment), fixed arms. "
        "Above, one learner at a time, the baselines as the paper built them: the whole Pareto "
        "front in every round, here with the compiled routine of moocore. Below, as mogro runs "
        "them: many learners in lockstep, time per learner. Dots are single instances."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
)

"""The matches of a league, and the tables that are made of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from benchmarks.league.players import PLAYERS, by_index
from benchmarks.league.worlds import ROUNDS, WORLDS, LeagueWorld
from mogro.environments import Environment
from mogro.simulation import band, simulate
from paper.lab.arrays import FloatArray
from paper.lab.contenders import Player
from paper.lab.fairness_estimates import fairness_lower_bound
from paper.lab.tables import Table, table
from paper.report.statistics import positive_mean

if TYPE_CHECKING:
    from paper.lab.parallel import Arrays, Results, Task
    from paper.lab.scale import Scale

SAMPLE = (20, 3)  # instances, and repeats in each
FAVOURITE = "MOGRO"
MEASURES = {  # the less the better
    "effective": "effective Pareto regret",
    "pareto": "Pareto regret",
    "unfair": "unfairness",
}
_NEAR = 0.1  # an arm this far behind still serves

_Values = dict[tuple[str, str], FloatArray]  # by world and policy, one for each instance
_Row = tuple[str | int | float, ...]


@dataclass(frozen=True)
class Match:
    """One policy in all instances of a world."""

    world: LeagueWorld
    player: Player
    rounds: int
    instances: int
    repeats: int
    seed: int

    exclusive: ClassVar[bool] = False

    @property
    def cost(self) -> float:
        """Seconds, roughly; what has fresh arms has to be judged anew in each round."""
        return 5e-5 * self.rounds * self.instances * self.repeats * (1 if self.world.stays else 3)

    def run(self) -> "Arrays":
        """Play, and keep what is measured in the end, (I, R); unfair is NaN where means change."""
        worlds = [self.world.instance(n, self.seed) for n in range(self.instances)]
        fixed = means_stay(worlds[0])
        trace = simulate(
            self.player.make(worlds[0], self.rounds),
            worlds,
            rounds=self.rounds,
            repeats=self.repeats,
            seed=self.seed,
            checkpoints=[self.rounds],
            measures={"unfair": unfair} if fixed else {},
        )
        effective, pareto = trace.effective_regret[-1], trace.pareto_regret[-1]
        share = trace.column("unfair")[-1] if fixed else np.full(effective.shape, np.nan)
        return {"effective": effective, "pareto": pareto, "unfair": share}


def means_stay(world: Environment) -> bool:
    """Tell whether a world has the same true means in all rounds."""
    return isinstance(getattr(world, "means", None), np.ndarray)


def unfair(means: FloatArray, pulls: FloatArray) -> FloatArray:
    """Return 1 less the share of pulls that serves the weights that are served least, at most."""
    flat = pulls.reshape(-1, len(means))
    shares = [fairness_lower_bound(means, counts, epsilon=_NEAR) for counts in flat]
    return 1 - np.reshape(shares, pulls.shape[:-1])


@dataclass(frozen=True)
class Season:
    """Every policy in every world; ``guests`` beside those of the list.

    It is an experiment as :func:`paper.lab.reproduce.reproduce` runs it.
    """

    guests: tuple[Player, ...] = ()
    worlds: tuple[LeagueWorld, ...] = WORLDS
    measure: str = "effective"
    name: str = "league"

    def __post_init__(self) -> None:
        if self.measure == "unfair" and not any(means_stay(w.instance(0, 0)) for w in self.worlds):
            names = ", ".join(world.name for world in self.worlds)
            raise ValueError(f"measure: expected a world whose means stay for unfair, got {names}")

    @property
    def players(self) -> tuple[Player, ...]:
        """All policies."""
        return (*PLAYERS, *self.guests)

    def tasks(self, scale: "Scale") -> "list[Task]":
        """Return the matches; who knows arms by their place plays only where arms stay."""
        return list(self._matches(scale))

    def tables(self, scale: "Scale", results: "Results") -> dict[str, Table]:
        """Return all numbers by instance, ranks, standing, and MOGRO against the best other."""
        values: dict[str, _Values] = {
            measure: {
                (match.world.name, match.player.label): results[match][measure].mean(axis=1)
                for match in self._matches(scale)
            }
            for measure in MEASURES
        }
        judged = {
            place: numbers
            for place, numbers in values[self.measure].items()
            if np.isfinite(numbers).all()
        }
        ranks = list(self._ranks(judged, values))
        return {
            "regrets": table(
                ("world", "policy", "instance", *MEASURES),
                [
                    (*place, n, *(float(values[measure][place][n]) for measure in MEASURES))
                    for place, numbers in values["effective"].items()
                    for n in range(len(numbers))
                ],
            ),
            "ranks": table(_RANKS, ranks),
            "standing": table(_STANDING, [(*row, self.measure) for row in _standing(ranks)]),
            "favourite": table(
                ("world", "rival", "own", "theirs", "difference", "low", "high", "outcome"),
                [
                    self._against(world.name, judged)
                    for world in self.worlds
                    if (world.name, FAVOURITE) in judged
                ],
            ),
        }

    def _matches(self, scale: "Scale") -> Iterator[Match]:
        rounds, (instances, repeats) = scale.horizon(ROUNDS), scale.sample(*SAMPLE)
        for world, player in product(self.worlds, self.players):
            if world.stays or not by_index(player, world.instance(0, scale.seed)):
                yield Match(world, player, rounds, instances, repeats, scale.seed)

    def _ranks(self, judged: _Values, values: dict[str, _Values]) -> Iterator[_Row]:
        for world in self.worlds:
            here = {policy: v for (name, policy), v in judged.items() if name == world.name}
            order = sorted(here, key=lambda policy: float(here[policy].mean()))
            for rank, policy in enumerate(order, start=1):
                better = sum(_surely_less(here[other], here[policy]) for other in order)
                worse = sum(_surely_less(here[policy], here[other]) for other in order)
                place = world.name, policy
                numbers = [number for m in MEASURES for number in positive_mean(values[m][place])]
                yield *place, rank, 1 + better, len(order) - worse, *numbers

    def _against(self, world: str, judged: _Values) -> _Row:
        """Compare MOGRO as it is with the best policy that is none of its kind, in pairs."""
        others = {
            policy: values
            for (name, policy), values in judged.items()
            if name == world and not policy.startswith(FAVOURITE)
        }
        rival = min(others, key=lambda policy: float(others[policy].mean()))
        favourite, rival_scores = judged[world, FAVOURITE], others[rival]
        wins, loses = _surely_less(favourite, rival_scores), _surely_less(rival_scores, favourite)
        outcome = "wins" if wins else "loses" if loses else "level"
        difference = (float(number) for number in band(favourite - rival_scores))
        return (
            world,
            rival,
            float(favourite.mean()),
            float(rival_scores.mean()),
            *difference,
            outcome,
        )


_RANKS = (
    *("world", "policy", "rank", "rank_low", "rank_high"),
    *(f"{measure}{end}" for measure in MEASURES for end in ("", "_low", "_high")),
)

_STANDING = ("policy", "worlds", "mean_rank", "first", "unfair", "measure")


def _surely_less(regrets: FloatArray, others: FloatArray) -> bool:
    """Tell whether numbers of the same instances differ by more than chance, at 95 %."""
    _, _, high = band(regrets - others)
    return len(regrets) > 1 and bool(high < 0)


def _standing(ranks: list[_Row]) -> list[_Row]:
    """Return the mean rank of every policy, best first, where it may be first, how unfair it is.

    The last is a mean over the worlds where it is known, NaN if there are none.
    """
    unfair = _RANKS.index("unfair")
    rows = []
    for policy in dict.fromkeys(row[1] for row in ranks):
        theirs = [row for row in ranks if row[1] == policy]
        mean_rank = float(np.mean([float(row[2]) for row in theirs]))
        known = [share for row in theirs if np.isfinite(share := float(row[unfair]))]
        first, mean_unfair = sum(row[3] == 1 for row in theirs), float(np.mean(known or [np.nan]))
        rows.append((policy, len(theirs), mean_rank, first, mean_unfair))
    return sorted(rows, key=lambda row: row[2])

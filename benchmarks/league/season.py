"""The matches of a league, and the tables that are made of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from benchmarks.league.players import PLAYERS, by_index
from benchmarks.league.worlds import ROUNDS, WORLDS, LeagueWorld
from mogro.simulation import band, simulate
from paper.lab.arrays import FloatArray
from paper.lab.contenders import Player
from paper.lab.tables import Table, table
from paper.report.statistics import positive_mean, ratio

if TYPE_CHECKING:
    from paper.lab.parallel import Arrays, Results, Task
    from paper.lab.scale import Scale

SAMPLE = (20, 3)  # instances, and repeats in each
FAVOURITE = "MOGRO"

_Regrets = dict[tuple[str, str], FloatArray]  # by world and policy, one for each instance
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

    alone: ClassVar[bool] = False

    @property
    def cost(self) -> float:
        """Seconds, roughly; what has fresh arms has to be judged anew in each round."""
        return 5e-5 * self.rounds * self.instances * self.repeats * (1 if self.world.stays else 3)

    def run(self) -> "Arrays":
        """Play, and keep the regrets in the end, (I, R)."""
        worlds = [self.world.instance(n, self.seed) for n in range(self.instances)]
        trace = simulate(
            self.player.make(worlds[0], self.rounds),
            worlds,
            rounds=self.rounds,
            repeats=self.repeats,
            seed=self.seed,
            checkpoints=[self.rounds],
        )
        return {"effective": trace.effective_regret[-1], "pareto": trace.pareto_regret[-1]}


@dataclass(frozen=True)
class Season:
    """Every policy in every world; ``guests`` beside those of the list.

    It is an experiment as :func:`paper.lab.reproduce.reproduce` runs it.
    """

    guests: tuple[Player, ...] = ()
    worlds: tuple[LeagueWorld, ...] = WORLDS
    name: str = "league"

    @property
    def players(self) -> tuple[Player, ...]:
        """All policies."""
        return (*PLAYERS, *self.guests)

    def tasks(self, scale: "Scale") -> "list[Task]":
        """Return the matches; who knows arms by their place plays only where arms stay."""
        return list(self._matches(scale))

    def tables(self, scale: "Scale", results: "Results") -> dict[str, Table]:
        """Return regrets by instance, ranks, standing, and MOGRO against the best other."""
        effective, pareto = (
            {
                (match.world.name, match.player.label): results[match][kind].mean(axis=1)
                for match in self._matches(scale)
            }
            for kind in ("effective", "pareto")
        )
        ranks = list(self._ranks(effective, pareto))
        return {
            "regrets": table(
                ("world", "policy", "instance", "effective", "pareto"),
                [
                    (*place, n, float(value), float(pareto[place][n]))
                    for place, values in effective.items()
                    for n, value in enumerate(values)
                ],
            ),
            "ranks": table(_RANKS, ranks),
            "standing": table(("policy", "worlds", "mean_rank", "first"), _standing(ranks)),
            "favourite": table(
                ("world", "rival", "ratio", "low", "high", "outcome"),
                [self._against(world.name, effective) for world in self.worlds],
            ),
        }

    def _matches(self, scale: "Scale") -> Iterator[Match]:
        rounds, (instances, repeats) = scale.horizon(ROUNDS), scale.sample(*SAMPLE)
        for world, player in product(self.worlds, self.players):
            if world.stays or not by_index(player, world.instance(0, scale.seed)):
                yield Match(world, player, rounds, instances, repeats, scale.seed)

    def _ranks(self, regrets: _Regrets, pareto: _Regrets) -> Iterator[_Row]:
        for world in self.worlds:
            here = {policy: v for (name, policy), v in regrets.items() if name == world.name}
            order = sorted(here, key=lambda policy: float(here[policy].mean()))
            for rank, policy in enumerate(order, start=1):
                better = sum(_surely_less(here[other], here[policy]) for other in order)
                worse = sum(_surely_less(here[policy], here[other]) for other in order)
                numbers = positive_mean(here[policy]), positive_mean(pareto[world.name, policy])
                least, most = 1 + better, len(order) - worse
                yield world.name, policy, rank, least, most, *numbers[0], *numbers[1]

    def _against(self, world: str, regrets: _Regrets) -> _Row:
        """Compare MOGRO as it is with the best policy that is none of its kind."""
        others = {
            policy: values
            for (name, policy), values in regrets.items()
            if name == world and not policy.startswith(FAVOURITE)
        }
        rival = min(others, key=lambda policy: float(others[policy].mean()))
        number = ratio(regrets[world, FAVOURITE], others[rival])
        outcome = "wins" if number.high < 1 else "loses" if number.low > 1 else "level"
        return world, rival, *number, outcome


_RANKS = (
    *("world", "policy", "rank", "rank_low", "rank_high"),
    *("effective", "effective_low", "effective_high"),
    *("pareto", "pareto_low", "pareto_high"),
)


def _surely_less(regrets: FloatArray, others: FloatArray) -> bool:
    """Tell whether regrets on the same instances differ by more than chance, at 95 %."""
    _, _, high = band(regrets - others)
    return len(regrets) > 1 and bool(high < 0)


def _standing(ranks: list[_Row]) -> list[_Row]:
    """Return the mean rank of every policy, best first, and where it may be the first."""
    rows = []
    for policy in dict.fromkeys(row[1] for row in ranks):
        theirs = [row for row in ranks if row[1] == policy]
        mean_rank = float(np.mean([float(row[2]) for row in theirs]))
        rows.append((policy, len(theirs), mean_rank, sum(row[3] == 1 for row in theirs)))
    return sorted(rows, key=lambda row: row[2])

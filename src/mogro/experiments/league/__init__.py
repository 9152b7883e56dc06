"""Every policy in every world of a fixed list, and one page that says who wins where."""

from mogro.experiments.lab.contenders import Player
from mogro.experiments.league.players import PLAYERS, by_place, own_player
from mogro.experiments.league.season import Season
from mogro.experiments.league.worlds import WORLDS, LeagueWorld

__all__ = ["PLAYERS", "WORLDS", "LeagueWorld", "Player", "Season", "by_place", "own_player"]

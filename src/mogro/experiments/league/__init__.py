"""Every policy in every world of a fixed list, and one page that says who wins where."""

from mogro.experiments.league.players import PLAYERS, Player, own_player
from mogro.experiments.league.season import Season
from mogro.experiments.league.worlds import WORLDS, LeagueWorld

__all__ = ["PLAYERS", "WORLDS", "LeagueWorld", "Player", "Season", "own_player"]

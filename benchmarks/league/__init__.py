"""Every policy in every world of a fixed list, and one page that says who wins where."""

from benchmarks.league.players import PLAYERS, by_index, import_player
from benchmarks.league.season import Season
from benchmarks.league.worlds import WORLDS, LeagueWorld
from paper.lab.contenders import Player

__all__ = ["PLAYERS", "WORLDS", "LeagueWorld", "Player", "Season", "by_index", "import_player"]

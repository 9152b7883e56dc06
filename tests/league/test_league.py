"""The league: who plays where, ranks that say what is certain, and a page from tables alone."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.league import PLAYERS, WORLDS, Player, Season, by_index, import_player
from benchmarks.league.__main__ import main
from benchmarks.league.page import conclude, write_page
from tests.commands import run

import mogro
from mogro.testing import check_environment
from paper.lab.parallel import key
from paper.lab.reproduce import read_tables, reproduce
from paper.lab.scale import Scale
from paper.lab.tables import select

BY_INDEX = sum(by_index(player, WORLDS[0].instance(0, 0)) for player in PLAYERS)
SMALL = Scale(instances=3, repeats=1, rounds=20)


class ByPlace:
    """A policy that knows arms by their place."""

    def __init__(self, dim: int, objectives: int) -> None: ...

    def select(self, features: Any, *, rng: Any) -> int:
        return 0

    def update(self, features: Any, reward: Any, *, arm: int) -> None: ...


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_worlds_conform(world: Any) -> None:
    check_environment(world.make)


def test_who_knows_arms_by_their_place_plays_where_they_stay() -> None:
    player = Player("by place", ByPlace)
    tasks: list[Any] = Season((player,)).tasks(SMALL)
    assert BY_INDEX >= 3
    staying = {world.name for world in WORLDS if world.stays}
    assert {task.world.name for task in tasks if task.player is player} == staying
    anywhere = len(PLAYERS) - BY_INDEX
    assert len(tasks) == len(WORLDS) * anywhere + len(staying) * (BY_INDEX + 1)
    assert len({key(task) for task in tasks}) == len(tasks)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A season of two worlds."""
    folder = tmp_path_factory.mktemp("league")
    worlds = tuple(world for world in WORLDS if world.name in ("fixed arms", "fresh arms"))
    season = Season((Player("by place", ByPlace),), worlds)
    with ThreadPoolExecutor(1) as executor:
        reproduce([season], SMALL, executor=executor, out=folder)
    return folder


def test_ranks_are_those_of_the_regrets(out: Path) -> None:
    tables = read_tables("league", out)
    ranks, regrets = tables["ranks"], tables["regrets"]
    for world, players in (
        ("fixed arms", len(PLAYERS) + 1),
        ("fresh arms", len(PLAYERS) - BY_INDEX),
    ):
        own = select(ranks, world=world)
        assert own["rank"].tolist() == list(range(1, players + 1))
        assert (np.diff(own["effective"]) >= 0).all()
        assert (own["rank_low"] <= own["rank"]).all()
        assert (own["rank"] <= own["rank_high"]).all()
        for policy, value in zip(own["policy"], own["effective"], strict=True):
            mean = select(regrets, world=world, policy=policy)["effective"].mean()
            assert mean == pytest.approx(value)
    standing = tables["standing"]
    assert (np.diff(standing["mean_rank"]) >= 0).all()
    assert set(standing["policy"]) == {*(p.label for p in PLAYERS), "by place"}
    for policy, unfair in zip(standing["policy"], standing["unfair"], strict=True):
        here = select(regrets, world="fixed arms", policy=policy)["unfair"]  # no means elsewhere
        assert unfair == pytest.approx(here.mean())


def test_worlds_have_more_than_a_front() -> None:
    for world in WORLDS:
        instances = [world.instance(n, 0) for n in range(5)]
        means = [m for w in instances if isinstance(m := getattr(w, "means", None), np.ndarray)]
        assert all(not mogro.pareto.effective_front(m).all() for m in means), world.name


def test_ranks_are_certain_where_every_instance_agrees() -> None:
    season = Season(worlds=WORLDS[:1])  # MOGRO has the least regret in all of them, by 4 of 14
    tasks: list[Any] = season.tasks(SMALL)
    values = {p.label: 10.0 + n for n, p in enumerate(PLAYERS)}
    results = {
        task: dict.fromkeys(
            ("effective", "pareto", "unfair"),
            values[task.player.label] + np.zeros((3, 1)) + np.eye(3)[:, :1],
        )
        for task in tasks
    }
    ranks = season.tables(SMALL, results)["ranks"]
    for name in ("rank", "rank_low", "rank_high"):
        assert ranks[name].tolist() == list(range(1, len(PLAYERS) + 1))
    assert season.tables(SMALL, results)["favourite"]["outcome"].tolist() == ["wins"]


def test_the_page_is_made_of_the_tables(out: Path) -> None:
    page = write_page(out).read_text()
    for text in (
        "by place",
        "fixed arms",
        "Thompson sampling",
        "<td>&ndash;</td>",
        "<th>unfair</th>",
        "ranks.csv",
    ):
        assert text in page
    assert "MOGRO" in conclude(read_tables("league", out))


def test_a_policy_of_ones_own_is_named_by_its_module() -> None:
    assert import_player("mogro:RandomArm").kind is mogro.RandomArm
    for text, message in (
        ("nowhere:Policy", "No module named 'nowhere'"),
        ("mogro:Nothing", "no attribute 'Nothing'"),
        ("mogro", "expected module:Class"),
        ("mogro:__version__", "expected a class or function"),
        ("mogro:UCB", "made with .*'noise'"),
        ("mogro:EpsilonGreedy?epsilon=7", "made with .*epsilon"),
        ("builtins:range", "expected a method select"),
    ):
        with pytest.raises(ValueError, match=message):
            import_player(text)


def test_the_command_plays_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_module.py").write_text(
        "class First:\n"
        "    def __init__(self, dim, objectives): ...\n"
        "    def select(self, features, *, rng): return 0\n"
        "    def update(self, features, reward): ...\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    command = ["--quick", "--workers", "1", "--world", "hard instances"]
    first = run(main, *command)
    assert first.exit_code == 0, first.output
    kept = set((tmp_path / "out" / "tasks").iterdir())
    again = run(main, *command, "--policy", "my_module:First")
    assert again.exit_code == 0, again.output
    assert len(set((tmp_path / "out" / "tasks").iterdir()) - kept) == 1
    assert "my_module:First" in (tmp_path / "out" / "league.html").read_text()
    unfair = run(main, *command, "--measure", "unfair", "--policy", "me=my_module:First")
    assert unfair.exit_code == 0, unfair.output
    assert "me  " in unfair.output
    assert "Best mean rank by unfairness: " in unfair.output
    page = (tmp_path / "out" / "league.html").read_text()
    assert "by its unfairness in the end" in page
    nowhere = run(main, "--quick", "--world", "fresh arms", "--measure", "unfair")
    assert "--measure: expected a world whose means stay" in nowhere.output
    wrong = run(main, *command, "--world", "Mars")
    assert "--world: expected one of fixed arms, much noise" in wrong.output
    wrong = run(main, *command, "--policy", "nowhere:First")
    assert wrong.exit_code == 2
    assert "--policy: expected module:Class" in wrong.output

"""The page about an agent: it opens by itself, whatever the agent has seen."""

import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import mogro
from mogro import Agent, Objective


class Words(HTMLParser):
    """Collects the words of a page, and refuses what would have to be loaded."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.drawings = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {"src", "href"} & {name for name, _ in attrs}
        self.drawings += tag == "svg"

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(agent: Agent, folder: Path) -> Words:
    path = folder / "agent.html"
    agent.report(path)
    return Words(path.read_text())


def live(agent: Agent, visits: int, **more: object) -> None:
    rng = np.random.default_rng(0)
    arms = {"<news>": [1.0, 0.0], "film": [0.0, 1.0]}
    for visit in range(visits):
        decision = agent.decide(arms, now=float(visit), **more)  # type: ignore[arg-type]
        agent.reward(decision.id, {"click": float(rng.random() < 0.4)}, now=float(visit))


def test_an_agent_with_a_journal(tmp_path: Path) -> None:
    objectives = [Objective("click"), Objective("cost", direction="min", window=5.0, default=2.0)]
    path = tmp_path / "agent.db"
    with Agent.open(path, objectives, arms=2, seed=1, epsilon=0.2) as agent:
        live(agent, 40)
        page = read(agent, tmp_path)
        text = " ".join(page.words)
        assert page.drawings == 2 + 1 + 1 + 2  # objectives, arms, exploration, surprises
        assert "click over time" in text
        assert "<news>" in text  # escaped in the page
        counted = page.words[page.words.index("cost") :]
        assert "35" in counted  # defaults of windows that have closed
        assert "arm 1" in text


def test_an_agent_in_memory(tmp_path: Path) -> None:
    agent = Agent([Objective("click")], arms=2, seed=1)
    live(agent, 10)
    page = read(agent, tmp_path)
    assert any("epsilon=" in word for word in page.words)  # nothing could be evaluated
    assert any("with a journal" in word for word in page.words)


def test_contexts_have_names(tmp_path: Path) -> None:
    agent = Agent([Objective("click")], arms=2, context=1, seed=1)
    rng = np.random.default_rng(0)
    for visit in range(30):
        decision = agent.decide({"a": [1.0, 0.0], "b": [0.0, 1.0]}, context=[rng.random()])
        agent.reward(decision.id, {"click": float(visit % 2)})
    assert "context 0 * arm 0" in read(agent, tmp_path).words


def test_contexts_in_a_journal(tmp_path: Path) -> None:
    with Agent.open(
        tmp_path / "agent.db", [Objective("click")], arms=2, context=1, seed=1
    ) as agent:
        live(agent, 10, context=[0.5])
        assert "best for some weights" in read(agent, tmp_path).words


@pytest.mark.parametrize("visits", [0, 1])
def test_an_agent_that_has_seen_nothing(tmp_path: Path, visits: int) -> None:
    agent = Agent([Objective("click"), Objective("cost")], arms=2, seed=1)
    live(agent, visits)
    assert "nothing yet" in read(agent, tmp_path).words


def test_the_bottom_line_comes_first(tmp_path: Path) -> None:
    agent = Agent([Objective("click")], arms=2, seed=1, holdout=0.3)
    live(agent, 60)
    words = [word for word in read(agent, tmp_path).words if word.strip()]
    first = words[words.index("How the agent is doing", 1) + 1]
    assert first.startswith("The agent against the baseline: click ")
    assert "held out" in first
    assert "What the agent adds" in words
    alone = Agent([Objective("click")], arms=2, seed=1)
    live(alone, 60)
    words = [word for word in read(alone, tmp_path).words if word.strip()]
    first = words[words.index("How the agent is doing", 1) + 1]
    assert first.startswith("60 decisions: click 0.")
    assert "holdout=" in first


def test_rates_stay_within_0_and_1(tmp_path: Path) -> None:
    """Few clicks, and no subscription yet."""
    agent = Agent([Objective("click"), Objective("subscribe")], arms=1, seed=1)
    for visit in range(30):
        decision = agent.decide({"a": [1.0]})
        agent.reward(decision.id, {"click": float(visit == 0), "subscribe": 0.0})
    words = read(agent, tmp_path).words
    shown = [word for word in words if word.startswith(("0 [", "0.0333"))]
    assert len(shown) == 2
    for word in shown:
        low, high = (float(part) for part in word.split("[")[1].rstrip("]").split(","))
        assert 0 <= low < high <= 1
    assert "0 [0, 0]" not in words


def test_two_hundred_arms_are_readable(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "agent.db"
    features, names = rng.random((200, 3)), [f"arm {k}" for k in range(200)]
    with Agent.open(path, [Objective("click"), Objective("cost")], arms=3, seed=1) as agent:
        for visit in range(40):
            decision = agent.decide(names, features, id=f"visit {visit}")
            agent.reward(decision.id, {"click": rng.random(), "cost": rng.random()})
        agent.report(tmp_path / "agent.html")
        on_front = len(agent.front(names, features).arms)
    page = (tmp_path / "agent.html").read_text()
    (figure,) = (part for part in page.split("<figure>") if "Arms on offer, as believed" in part)
    assert figure.count("<circle") == 200
    assert figure.count('fill-opacity=".2"') == 200 - on_front  # of the others, where they are
    assert figure.count('stroke-opacity=".5"') == on_front  # intervals of the front
    assert "best for some weights" in figure
    assert '<div class="scroll"' in page  # 200 rows in a window
    assert page.count('<td class="number">arm ') >= 200
    assert "those of the last decision, &#x27;visit 39&#x27;: 200 of them" in page


def test_a_report_needs_no_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    agent = Agent([Objective("click")], arms=2, seed=1, holdout=0.3)
    live(agent, 60)
    assert any("The agent against the baseline" in word for word in read(agent, tmp_path).words)


def test_any_id_can_be_written_down(tmp_path: Path) -> None:
    agent = Agent([Objective("click")], arms=1, seed=1)
    agent.decide({"\ud800": [1.0]})
    assert "\\ud800" in read(agent, tmp_path).words


def test_a_report_reads_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes what the agent holds, and one decision of the journal for its arms."""
    agent = mogro.Agent.open(tmp_path / "a.db", [mogro.Objective("sale")], arms=1, seed=0)
    for n in range(30):
        agent.reward(agent.decide({"a": [1.0], "b": [n / 30]}).id, {"sale": n / 10})
    monkeypatch.setattr(mogro.Agent, "log", None)
    monkeypatch.setattr("mogro.agent.agent.JournalRows", None)
    agent.report(tmp_path / "one.html")
    agent.set_weights({"sale": 2.0})
    agent.close()
    monkeypatch.undo()
    with mogro.Agent.open(tmp_path / "a.db") as again:
        again.report(tmp_path / "two.html")
    one, two = ((tmp_path / name).read_text() for name in ("one.html", "two.html"))
    assert one == two
    assert "reward less what was expected" in one
    assert "best for some weights" in one

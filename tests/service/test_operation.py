"""What operations look at: health, metrics, logs, budgets, the description, and the page."""

import json
import math
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.service.running import SHOP, Running, running

import mogro
from mogro import _page
from mogro.service import demo, pages
from mogro.service.keys import add_key

XSS = "<img src=x onerror=alert(1)>\"'&${name}"
FORM = {"content-type": "application/x-www-form-urlencoded"}


def log_in(service: Running, key: str) -> dict[str, str]:
    """Return the headers of a browser that has logged in."""
    answer = service.ask("POST", "/login", f"key={key}".encode(), headers=FORM)
    assert answer.status == 303
    return {"cookie": answer.headers["set-cookie"].split(";")[0]}


def test_health_and_readiness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path) as service:
        assert service.ask("GET", "/ready").json == {"ready": True}
        assert service.ask("GET", "/health").json == {"status": "ok", "agents": {"shop": "ok"}}
        hosted = service.service.agents["shop"]
        alarm = mogro.agent.Alarm("late", 1.0, "late")
        monkeypatch.setattr(hosted, "alarms", lambda: (alarm,))
        answer = service.ask("GET", "/health")
        assert (answer.status, answer.json["status"]) == (200, "degraded")

        def fail(*_: Any) -> None:
            raise mogro.errors.JournalUnavailable("shop.db: no space left on the disk")

        journal: Any = hosted.agent._store.journal  # type: ignore[union-attr]
        monkeypatch.setattr(journal, "commit", fail)
        answer = service.post("decide", {"id": "v1"})
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert "no space" in answer.json["message"]
        answer = service.ask("GET", "/health")
        assert (answer.status, answer.json["status"]) == (503, "failing")
        monkeypatch.undo()
        assert service.post("decide", {"id": "v1"}).status == 200
        assert service.ask("GET", "/health").status == 200


def test_health_does_not_wait_for_what_takes_long(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        readers = service.service.readers
        readers.size = 18  # as many as there may be
        assert service.post("front", {}).status == 503
        assert service.ask("GET", "/health").status == 200
        readers.size = 0


def test_metrics_and_logs(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        service.post("decide", {"id": "v\n1"})
        service.post("reward", {"id": "v\n1", "values": {"click": 1}})
        service.post("reward", {"id": "none", "values": {"click": 1}})
        text = service.ask("GET", "/metrics").body.decode()
        assert 'mogro_events_total{agent="shop",kind="decisions"} 1.0' in text
        assert 'mogro_events_total{agent="shop",kind="learned"} 1.0' in text
        assert 'mogro_requests_total{call="post agents/reward",status="404"} 1.0' in text
        assert 'mogro_request_seconds_count{call="post agents/decide"} 1.0' in text
        assert 'mogro_waiting{agent="shop"} 0.0' in text
        line = service.lines[0]
        assert (line["call"], line["status"], line["id"]) == ("post agents/decide", 200, "v\n1")


def test_logs_have_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    from mogro.service.service import write_line

    write_line({"event": "request", "id": "a\nb\u2028\x1b[31m"})
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["id"] == "a\nb\u2028\x1b[31m"
    assert line.isprintable()


def test_budgets_are_read_and_set(tmp_path: Path) -> None:
    agent = SHOP | {"budgets": [{"objective": "cost", "at_most": 2.0, "burst": 10}]}
    with running(tmp_path, {"agents": {"shop": agent}}) as service, service.connect() as remote:
        remote.reward(remote.decide(id="v1").id, {"cost": 3.0})
        local = service.service.agents["shop"].agent
        assert remote.budgets == local.budgets
        assert remote.budgets[0].spent == 3.0
        remote.set_budgets([mogro.Budget("cost", at_most=4.0, burst=10)])
        assert local.budgets[0].target == 4.0
        with pytest.raises(ValueError, match="budgets: expected objectives"):
            remote.set_budgets([mogro.Budget("none", at_most=4.0, burst=10)])
        (change,) = service.ask("GET", "/v1/agents/shop/config").json["history"]
        assert change["detail"]["budgets"][0]["at_most"] == 4.0
        assert (
            'mogro_price{agent="shop",objective="cost"}'
            in service.ask("GET", "/metrics").body.decode()
        )
        assert "at most 4" in service.ask("GET", "/page/shop").body.decode()


def test_settings_are_changed_while_it_runs(tmp_path: Path) -> None:
    with running(tmp_path) as service, service.connect() as remote:
        remote.decide(id="v1")
        assert remote.reconfigure({"epsilon": 0.25}).changes == ("epsilon",)
        assert remote.reconfigure({"epsilon": 0.25}).changes == ()
        objectives = [*SHOP["objectives"], {"name": "returns", "direction": "min"}]
        assert "objectives" in remote.reconfigure({"objectives": objectives}).changes
        assert [objective.name for objective in remote.objectives] == ["click", "cost", "returns"]
        with pytest.raises(ValueError, match="epsilon: expected"):
            remote.reconfigure({"epsilon": 2.0})
        with pytest.raises(ValueError, match="seed"):
            remote.reconfigure({"seed": 3})
        known = service.ask("GET", "/v1/agents/shop/config").json
        assert known["settings"]["epsilon"] == 0.25
        assert [change["what"] for change in known["history"]] == ["config", "config"]
    with running(tmp_path) as service, service.connect() as remote:  # the file is as it was
        assert len(remote.objectives) == 3


def test_the_log_comes_as_parquet_and_answers_what_if(tmp_path: Path) -> None:
    from pyarrow import parquet

    with running(tmp_path) as service, service.connect() as remote:
        for visit in range(30):
            decision = remote.decide(id=f"v{visit}")
            remote.reward(decision.id, {"click": float(decision.arm == "news"), "cost": 0.5})
        table = parquet.read_table(remote.export(tmp_path / "log"))
        assert table.num_rows == 30
        answer = remote.what_if([{"click": 1.0}, {"cost": 1.0}])
        assert answer.rows == 30
        assert [trade_off.trusted for trade_off in answer.trade_offs] == [False, False]


def test_the_description_is_whole(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        described = service.ask("GET", "/openapi.json").json
        assert described["openapi"] == "3.1.0"
        text = json.dumps(described)
        for name in re.findall(r"#/components/schemas/(\w+)", text):
            assert name in described["components"]["schemas"]
        assert "/v1/agents/{agent}/decide" in described["paths"]
        ids = re.findall(r'"operationId": "(\w+)"', text)
        assert len(ids) == len(set(ids)) == sum(len(value) for value in described["paths"].values())
        answer = service.ask("GET", "/nothing")
        assert (answer.status, answer.json["argument"]) == (404, "path")
        assert service.ask("GET", "/v1/agents/shop/decide").status == 405


def test_names_of_others_are_escaped_on_the_page(tmp_path: Path) -> None:
    agent = {
        "arms": 1,
        "objectives": [{"name": f"click{XSS}"}, {"name": "b"}],
        "catalogue": {f"arm{XSS}": [1.0]},
        "budgets": [{"objective": f"click{XSS}", "at_most": 1.0, "burst": 5}],
        "holdout": 0.5,
    }
    key = add_key(tmp_path / "shop.keys.json", XSS, [], [])
    with running(tmp_path, {"agents": {"shop": agent}}) as service:
        with service.connect(key=key) as remote:
            for visit in range(12):
                decision = remote.decide(id=f"{XSS}{visit}", subject=f"{XSS}{visit}")
                remote.reward(decision.id, {f"click{XSS}": 1.0, "b": float(visit)})
            remote.set_weights({f"click{XSS}": 1.0, "b": 1.0})
        browser = log_in(service, key)
        for path in ("/page/shop", "/page/shop/parts"):
            answer = service.ask("GET", path, headers=browser)
            assert answer.status == 200, answer.body
            text = answer.body.decode()
            assert "&lt;img src=x onerror=alert(1)&gt;" in text
            assert "<img" not in text
        page = service.ask("GET", "/page/shop", headers=browser).body.decode()
        labels = re.findall(r'<table aria-label="([^"]+)">', page)
        assert labels == ["What the agent adds", "Objectives", "Arms", "Budgets", "What matters",
            "Changes"]  # fmt: skip
        assert page.count("<table") == len(labels)
        token = re.search(r'data-token="([^"]+)"', page)
        assert token is not None
        compared = service.ask(
            "POST", "/page/shop/compare", {f"click{XSS}": 1.0, "b": 0.0},
            headers=browser | {"x-mogro-token": token[1]},
        )  # fmt: skip
        assert compared.status == 200
        assert "<img" not in compared.json["table"]


def test_a_session_needs_its_token_and_ends(tmp_path: Path) -> None:
    key = add_key(tmp_path / "shop.keys.json", "boss", [], [])
    with running(tmp_path) as service:
        assert service.ask("GET", "/page/shop").headers["location"] == "/login"
        cookie = service.ask("POST", "/login", f"key={key}".encode(), headers=FORM).headers[
            "set-cookie"
        ]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        browser = {"cookie": cookie.split(";")[0]}
        page = service.ask("GET", "/page/shop", headers=browser).body.decode()
        assert "<script>" not in page
        assert "style=" not in page
        (token,) = re.findall(r'data-token="([^"]+)"', page)
        body, path = {"weights": {"click": 1}}, "/v1/agents/shop/config"
        assert service.ask("PATCH", path, body, headers=browser).status == 403
        wrong = browser | {"x-mogro-token": "wrong"}
        assert service.ask("PATCH", path, body, headers=wrong).status == 403
        right = browser | {"x-mogro-token": token}
        assert service.ask("PATCH", path, body, headers=right).status == 200
        assert service.ask("POST", "/logout", {}, headers=right).status == 200
        assert service.ask("PATCH", path, body, headers=right).status == 401
        for _ in range(5):
            assert service.ask("POST", "/login", b"key=wrong", headers=FORM).status == 401
        answer = service.ask("POST", "/login", f"key={key}".encode(), headers=FORM)
        assert (answer.status, answer.headers["retry-after"]) == (429, "12")  # 5 a minute


def test_the_front_is_drawn_after_a_restart(tmp_path: Path) -> None:
    agent = {"arms": 2, "context": 1, "objectives": [{"name": "a"}, {"name": "b"}]}
    with running(tmp_path, {"agents": {"shop": agent}}) as service, service.connect() as remote:
        for visit in range(30):
            decision = remote.decide({"x": [1.0, 0.0], "y": [0.0, 1.0]}, context=[visit / 30])
            remote.reward(
                decision.id, {"a": float(decision.arm == "x"), "b": float(decision.arm == "y")}
            )
        before = service.ask("GET", "/page/shop/front").json["points"]
    with running(tmp_path, {"agents": {"shop": agent}}) as service:
        after = service.ask("GET", "/page/shop/front").json
        assert after["choices"] == 20
        assert [point["weights"] for point in after["points"]] == [p["weights"] for p in before]
        assert after["points"][0]["values"][0] > after["points"][-1]["values"][0]


def test_the_page_says_what_is_certain_and_what_the_agent_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_CACHE_SECONDS", 0.0)
    agent = {
        "arms": 2,
        "objectives": [{"name": "a"}, {"name": "b"}],
        "catalogue": {"x": [1.0, 0.0], "y": [0.0, 1.0]},
        "holdout": 0.5,
        "noise": 1e-3,
    }
    with running(tmp_path, {"agents": {"shop": agent}}) as service, service.connect() as remote:
        for visit in range(40):
            decision = remote.decide(subject=str(visit))
            remote.reward(
                decision.id, {"a": float(decision.arm == "x"), "b": float(decision.arm == "y")}
            )
        parts = service.ask("GET", "/page/shop/parts").json
        assert "nothing left to learn at 0.95 confidence" in parts["front"]
        assert "2 are certainly on the true front, 0 certainly off it" in parts["front"]
        assert "added by the agent" in parts["lift"]
        assert parts["rewards"].count("baseline") == 2
        local = service.service.agents["shop"].agent
        assert parts.items() >= local.report_parts(confidence=0.95, noise=1e-3).items()
        local.reconfigure(half_life=mogro.HalfLife(updates=10))
        parts = service.ask("GET", "/page/shop/parts").json
        assert "What is certain of the front is not known: " in parts["front"]


def test_a_page_before_anything_has_happened(tmp_path: Path) -> None:
    agent = {"arms": 2, "context": 1, "objectives": [{"name": "click", "window": 5, "default": 0}]}
    with running(tmp_path, {"agents": {"shop": agent}}) as service:
        assert service.ask("GET", "/").headers["location"] == "/page/shop"
        assert b"No decision has been made yet" in service.ask("GET", "/page/shop").body
        assert service.ask("GET", "/page/shop/front").json["points"] == []
        compared = service.ask("POST", "/page/shop/compare", {"click": 1.0}).json
        assert compared["words"].startswith("Not enough data yet")
        assert service.ask("GET", "/v1/agents/shop/decision?id=x").status == 404
        assert service.ask("GET", "/page/other").status == 404
        assert service.ask("GET", "/static/page.js").headers["content-type"].startswith("text/java")
        assert service.ask("GET", "/static/../app.py").status == 404


def test_the_demo_has_visitors(tmp_path: Path) -> None:
    agents = tomllib.loads(Path(demo.__file__).with_name("demo.toml").read_text())["agents"]
    with running(tmp_path, {"agents": agents}) as service, service.connect() as remote:
        articles, rng = remote.arms, random.Random(1)
        seen = [demo._visit(remote, articles, f"v{n}", rng) for n in range(60)]
        assert 3 < sum(map(bool, seen)) < 40
        assert service.ask("GET", "/page/news").status == 200
    assert demo.demo_config(tmp_path, port=5).key_file == tmp_path / "demo.keys.json"


def test_times_of_a_clock_are_drawn_as_ago() -> None:
    now = 1.8e9
    for span, label, first in ((90.0, "seconds ago", -86.25), (7200.0, "hours ago", -23 / 12)):
        periods = _page.make_periods(now - span, now, has_times=True)
        assert periods.label == label
        assert math.isclose(periods.middles[0], first)
    assert [_page.format_duration(s) for s in (0.5, 90.0, 7200.0, 1e6)] == [
        "0.5 seconds", "1.5 minutes", "2 hours", "12 days"
    ]  # fmt: skip
    assert _page.make_periods(0.0, 24.0, has_times=True).label == "time"  # of the caller's own

"""Who may ask for what, and what nobody may."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commands import run
from tests.service.running import SHOP, Running, running

import mogro
from mogro import cli
from mogro.service import keys as keys_module
from mogro.service.client import ServiceError
from mogro.service.config import ServiceConfig, parse_config, read_config
from mogro.service.keys import KeyRing, add_key, remove_key
from mogro.service.service import Audit, Service


@pytest.fixture(autouse=True)
def _look_at_keys_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "_REFRESH_SECONDS", 0.0)


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[Running, dict[str, str]]]:
    """A service with a key for every role, and one for another agent."""
    path = tmp_path / "shop.keys.json"
    keys: dict[str, str] = {}
    for role in keys_module.ROLES:
        keys[role] = add_key(path, role, [role], ["shop"])
    keys["everything"] = add_key(path, "everything", [], [])
    keys["other"] = add_key(path, "other", ["admin"], ["other"])
    with running(tmp_path, {"agents": {"shop": SHOP, "other": SHOP}}) as service:
        yield service, keys


CALLS = [
    ("decide", "POST", "/v1/agents/shop/decide", {"id": "v1"}),
    ("decide", "POST", "/v1/agents/shop/observe", {"id": "v2", "arm": "news"}),
    ("reward", "POST", "/v1/agents/shop/reward", {"id": "v1", "values": {"click": 1}}),
    ("reward", "POST", "/v1/agents/shop/withdraw", {"id": "v1"}),
    ("reward", "POST", "/v1/agents/shop/batch", {"calls": [{"call": "expire"}]}),
    ("read", "GET", "/v1/agents/shop", None),
    ("read", "GET", "/v1/agents/shop/decision?id=v1", None),
    ("read", "POST", "/v1/agents/shop/front", {}),
    ("read", "GET", "/v1/agents/shop/alarms", None),
    ("read", "GET", "/v1/agents/shop/config", None),
    ("admin", "PATCH", "/v1/agents/shop/config", {"weights": None}),
    ("admin", "PUT", "/v1/agents/shop/arms", {"arms": {"song": [1.0, 1.0]}}),
    ("admin", "PATCH", "/v1/agents/shop/config", {"epsilon": 0.2}),
    ("admin", "POST", "/v1/agents/shop/erase", {"ids": ["v1"]}),
]


def test_every_call_wants_its_role(locked: tuple[Running, dict[str, str]]) -> None:
    service, keys = locked
    for wanted, method, path, body in CALLS:
        assert service.ask(method, path, body).status == 401, path
        assert service.ask(method, path, body, key="wrong").status == 401, path
        for role, key in keys.items():
            answer = service.ask(method, path, body, key=key)
            may = role in (wanted, "admin", "everything")
            assert (answer.status in (200, 404)) == may, (path, role, answer.body)
            assert answer.status == 403 or may


def test_a_batch_wants_the_roles_of_its_calls(locked: tuple[Running, dict[str, str]]) -> None:
    service, keys = locked
    body = {"calls": [{"call": "expire"}, {"call": "decide", "id": "b1"}]}
    assert service.post("batch", body, key=keys["reward"]).status == 403
    assert service.decisions_made() == 0
    observed = {"id": "o1", "arm": "news", "rewards": {"click": 1}}
    for asked in (observed, {"calls": [{"call": "observe", **observed}]}):
        for role in ("decide", "reward"):  # it takes both
            name = "batch" if "calls" in asked else "observe"
            assert service.post(name, asked, key=keys[role]).status == 403
    assert service.decisions_made() == 0
    assert service.post("batch", body, key=keys["everything"]).status == 200


def test_nobody_moves_time_beyond_the_clock(tmp_path: Path) -> None:
    """A key that may decide or reward cannot close windows early, nor shut others out."""
    sale = {"name": "sale", "window": 600, "default": 0}
    agent = {"arms": 1, "objectives": [sale], "catalogue": {"a": [1.0]}}
    with running(tmp_path, {"agents": {"shop": agent}}) as service:
        for now in (5.0, time.time() - 40 * 86_400, time.time() + 7200):  # of an agent that is new
            assert service.post("decide", {"id": "first", "now": now}).status == 422
        assert service.post("decide", {"id": "v1"}).status == 200
        for now in (time.time() + 3600, time.time() + 50_000):
            refused = service.post("decide", {"id": "v2", "now": now})
            assert (refused.status, refused.json["error"]) == (422, "ImplausibleTime")
            assert service.post("expire", {"now": now}).status == 422
        ahead = service.post("decide", {"id": "v3", "now": time.time() + 50}).json
        assert ahead["time"] <= time.time()
        assert service.post("decide", {"id": "v4", "now": time.time() - 500}).status == 200
        assert service.service.agents["shop"].agent.counters["defaulted"] == 0
        assert service.post("reward", {"id": "v1", "values": {"sale": 1}}).json["pending"] == 1


def test_a_session_ends_with_the_key_that_began_it(tmp_path: Path) -> None:
    path = tmp_path / "shop.keys.json"
    key = add_key(path, "boss", [], [])
    with running(tmp_path) as service:
        form = {"content-type": "application/x-www-form-urlencoded"}
        answer = service.ask("POST", "/login", f"key={key}".encode(), headers=form)
        browser = {"cookie": answer.headers["set-cookie"].split(";")[0]}
        assert service.ask("GET", "/page/shop/parts", headers=browser).status == 200
        add_key(path, "boss", [], [])  # another one, because somebody has seen the first
        assert service.ask("GET", "/page/shop/parts", headers=browser).status == 401


def test_names_of_agents_are_for_those_with_a_key(locked: tuple[Running, dict[str, str]]) -> None:
    service, keys = locked
    assert service.ask("GET", "/health").json == {"status": "ok", "agents": {}}
    assert service.ask("GET", "/health", key=keys["read"]).json["agents"] == {"shop": "ok"}
    assert service.ask("GET", "/openapi.json").status == 401
    assert service.ask("GET", "/openapi.json", key=keys["decide"]).status == 200


def test_the_record_of_changes_is_for_admins_of_all(locked: tuple[Running, dict[str, str]]) -> None:
    service, keys = locked
    body = {"weights": {"click": 1}}
    assert service.ask("PATCH", "/v1/agents/shop/config", body, key=keys["admin"]).status == 200
    for path in ("/v1/audit", "/metrics"):
        assert service.ask("GET", path, key=keys["admin"]).status == 403  # of one agent
        assert service.ask("GET", path, key=keys["everything"]).status == 200
        assert service.ask("GET", path).status == 401
    (change,) = service.ask("GET", "/v1/audit", key=keys["everything"]).json["changes"]
    assert (change["by"], change["what"], change["detail"]) == ("admin", "config", body)
    assert service.ask("GET", "/v1/agents", key=keys["other"]).json["agents"] == ["other"]


def test_keys_come_and_go_while_it_runs(locked: tuple[Running, dict[str, str]]) -> None:
    service, keys = locked
    path = service.service.config.key_file
    with service.connect("shop", key=keys["everything"]) as agent:
        agent.decide(id="v1")
    renewed = add_key(path, "everything", [], [])
    with pytest.raises(ServiceError, match="401: key: expected one"):
        service.connect("shop", key=keys["everything"], retries=0)
    assert service.ask("GET", "/v1/audit", key=renewed).status == 200
    for name in [*keys_module.ROLES, "other", "everything"]:
        remove_key(path, name)
    assert service.ask("GET", "/v1/audit", key=renewed).status == 401
    assert service.ask("GET", "/v1/audit").status == 401  # none left: closed, not open
    path.unlink()
    assert service.ask("GET", "/v1/audit").status == 401
    path.write_text("damaged [")
    assert service.ask("GET", "/v1/audit").status == 401


def test_no_key_stands_in_a_file_or_in_the_log(locked: tuple[Running, dict[str, str]]) -> None:
    service, keys = locked
    service.ask("GET", "/v1/audit", key=keys["everything"])
    service.ask("GET", "/v1/audit", key="a wrong key")
    kept = b"".join(
        path.read_bytes() for path in service.service.config.path.parent.iterdir() if path.is_file()
    )
    said = repr(service.lines)
    for key in [*keys.values(), "a wrong key"]:
        assert key.encode() not in kept
        assert key not in said
    assert service.service.config.key_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:80"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "localhost.evil.example"}, 421),
        ({"host": ""}, 421),
        ({"host": "shop.example"}, 200),
        ({"host": "SHOP.example:443"}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "[::1]:8080"}, 200),
        ({"host": "localhost", "origin": "http://evil.example"}, 403),
        ({"host": "localhost", "origin": "null"}, 403),
        ({"host": "localhost", "origin": "http://["}, 403),
        ({"host": "localhost:80", "origin": "http://localhost:80"}, 200),
    ],
)
def test_hosts_and_origins(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    with running(tmp_path, {"allowed_hosts": ["shop.example"]}) as service:
        answer = service.post("decide", {"id": "v1"}, headers=headers)
        assert answer.status == status
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert service.decisions_made() == (status == 200)


def test_a_form_of_another_site_is_refused(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""):
            answer = service.post("decide", {"id": "v"}, headers={"content-type": kind})
            assert answer.status == 415
        assert service.decisions_made() == 0
        named = {"content-type": "Application/JSON; charset=utf-8"}
        assert service.post("decide", {"id": "v"}, headers=named).status == 200


def test_limits(tmp_path: Path) -> None:
    limits = {"body": 1000, "arms": 4, "rate": 8.0, "seconds": 0.5}
    with running(tmp_path, {"limits": limits}) as service:
        answer = service.post("decide", {"id": "x" * 2000})
        assert (answer.status, answer.json["error"]) == (413, "ContentTooLarge")
        arms = {str(k): [1.0, 0.0] for k in range(5)}
        answer = service.post("decide", {"arms": arms})
        assert (answer.status, answer.json["argument"]) == (413, "arms")
        statuses = [service.post("decide", {"id": "v"}) for _ in range(12)]
        (busy,) = {
            statuse.headers.get("retry-after") for statuse in statuses if statuse.status == 429
        }
        assert busy == "1"
        assert service.ask("GET", "/health").status == 200
        time.sleep(0.2)
        assert service.ask("PUT", "/v1/agents/shop/arms", {"arms": arms}).status == 413


@pytest.mark.parametrize(
    ("settings", "status"),
    [({"arms": 10**12}, 422), ({"arms": 7338}, 413), ({"arms": 50, "context": 60}, 413)],
)
def test_an_agent_does_not_grow_beyond_its_machine(
    tmp_path: Path, settings: dict[str, int], status: int
) -> None:
    with running(tmp_path) as service:
        answer = service.ask("PATCH", "/v1/agents/shop/config", settings)
        assert (answer.status, answer.json["argument"]) == (status, "arms")
        assert service.service.agents["shop"].agent.config.arms == 2


def test_a_head_has_a_limit_however_it_comes(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        for size in (60_000, 70_000, 120_000):
            head = b"GET /ready HTTP/1.1\r\nhost: localhost\r\nx: %b\r\n\r\n" % (b"y" * size)
            with socket.create_connection(("127.0.0.1", service.port), 5) as line:
                line.sendall(head)
                try:
                    answer = line.recv(4096)
                except ConnectionResetError:
                    answer = b""
            assert (b" 200 " in answer) == (size < 65_536)


@pytest.mark.slow
def test_a_client_that_stalls_is_let_go(tmp_path: Path) -> None:
    with running(tmp_path, {"limits": {"seconds": 0.2}}) as service:
        starts = [
            b"",
            b"POST /v1/agents/shop/decide HT",
            b"POST /v1/agents/shop/decide HTTP/1.1\r\nhost: localhost\r\nx: ",
            b"POST /v1/agents/shop/decide HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n"
            b"content-type: application/json\r\n\r\n{",
        ]
        for start in starts:
            with socket.create_connection(("127.0.0.1", service.port), 5) as line:
                line.sendall(start)
                try:
                    answer = line.recv(4096)
                except ConnectionResetError:
                    answer = b""
                assert answer == b"" or b" 408 " in answer
        with socket.create_connection(("127.0.0.1", service.port), 5) as line:
            line.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 20_000)
            try:
                answer = line.recv(4096)
            except ConnectionResetError:
                answer = b""
            assert answer == b"" or b" 400 " in answer


def test_keys_of_an_earlier_version_are_not_lost(tmp_path: Path) -> None:
    config = parse_config({"agents": {"shop": SHOP}}, tmp_path / "shop.toml")
    earlier = tmp_path / "shop.keys.toml"
    earlier.write_text('["phone"]\nhash = "0"\nroles = ["decide"]\n')
    with pytest.raises(ValueError, match=r"shop\.keys\.toml: keys are in shop\.keys\.json now"):
        Service(config)
    add_key(tmp_path / "shop.keys.json", "phone", ["decide"], [])
    assert KeyRing(tmp_path / "shop.keys.json").required


def test_a_change_does_not_go_into_a_line_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "shop.audit.jsonl"
    audit = Audit(path)
    assert audit.changes() == []
    audit.write("me", "shop", "arms")
    path.write_bytes(path.read_bytes() + path.read_bytes()[:20])  # killed while it wrote
    audit = Audit(path)
    assert [change.what for change in audit.changes()] == ["arms"]
    for n in range(1000):
        audit.write("me", "shop", f"config {n}", "x" * 100)
    changes = audit.changes()
    assert [change.what for change in changes] == [f"config {n}" for n in range(999, -1, -1)]


def test_only_loopback_without_keys(tmp_path: Path) -> None:
    plain = {"agents": {"shop": SHOP}, "host": "0.0.0.0"}
    with pytest.raises(ValueError, match="host: expected a loopback address, as there are no keys"):
        Service(parse_config(plain, tmp_path / "shop.toml"))
    add_key(tmp_path / "shop.keys.json", "admin", [], [])
    parse_config(plain, tmp_path / "shop.toml").check(has_keys=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agents = {}", "agents: expected at least one"),
        ("port = 'x'\n[agents]", r"Expected `int`, got `str` - at `\$.port`"),
        ("nothing = 1\n[agents]", "unknown field `nothing`"),
        ("[agents.a]\narms = 2", "missing required field `objectives`"),
        ("[agents.a]\narms = 2\nobjectives = [{name = 'x', unit = 0}]", "unit: expected"),
        ("[agents.'a/b']\narms = 2\nobjectives = [{name = 'x'}]", "agents: expected names"),
        ("[agents.a]\narms = 2\nobjectives = []", "objectives: expected"),
        ("[agents.a]\narms = {x = {type = 'none'}}\nobjectives = [{name = 'x'}]", "Invalid value"),
        ("agents = [", "not valid TOML"),
        (
            "personalizer = {agent = 'b', objective = 'x'}\n[agents.a]\narms = 2\n"
            "objectives = [{name = 'x'}]",
            "personalizer.agent: expected one of",
        ),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Service(read_config(path))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("epsilon = 5", "agents.a: epsilon: expected a number in [0, 1], got 5"),
        ("budgets = [{objective = 'y', at_most = 1}]", "agents.a: budgets: expected objectives"),
        ("context = {z = {type = 'number', std = 0}}", "agents.a: context: std: expected"),
        ("catalogue = {p = [1, 2, 3]}", "agents.a: features: expected shape (1, 2)"),
        ("catalogue = {p = {z = 1}}", "agents.a: features: expected numbers"),
        ("noise = -1", "agents.a: noise: expected numbers above 0"),
        ("noise = {y = 1}", "agents.a: noise: expected the standard deviation"),
        ("[limits]\nbody = 0", "Expected `int` >= 1 - at `$.limits.body`"),
    ],
)
def test_a_check_looks_at_agents_as_a_start_would(
    tmp_path: Path, setting: str, message: str
) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(f"[agents.a]\narms = 2\nobjectives = [{{name = 'x'}}]\n{setting}\n")
    checked = run(cli.main, "serve", path, "--check")
    assert message in checked.output
    assert checked.exit_code == 1
    assert [file.name for file in tmp_path.iterdir()] == ["shop.toml"]


def test_keys_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text("[agents.a]\narms = 2\nobjectives = [{name = 'x'}]\n")
    made = run(cli.main, "serve", path, "--add-key", "phone", "--roles", "decide,reward")
    assert made.exit_code == 0
    ring = KeyRing(tmp_path / "shop.keys.json")
    name, key = ring.find(made.output.strip()) or ("", None)
    assert key is not None
    assert (name, key.roles) == ("phone", ["decide", "reward"])
    assert run(cli.main, "serve", path, "--check").output.endswith("shop.toml: a\n")
    lost = tmp_path / "lost.toml"
    lost.write_text("[agents.a]\narms = 2\nobjectives = [{name = 'x'}]\njournal = 'no/a.db'\n")
    assert "agents.a.journal: expected a folder" in run(cli.main, "serve", lost, "--check").output
    assert "roles: expected some of" in run(
        cli.main, "serve", path, "--add-key", "x", "--roles", "boss"
    ).output  # fmt: skip
    assert "agents: expected some of ['a'], got ['b']" in run(
        cli.main, "serve", path, "--add-key", "x", "--agents", "b"
    ).output  # fmt: skip
    assert run(cli.main, "serve", path, "--remove-key", "phone").exit_code == 0
    assert "port: expected a number" in run(cli.main, "serve", path, "--port", "70000").output
    assert "name: expected one of []" in run(cli.main, "serve", path, "--remove-key", "no").output
    assert "FILE: expected one" in run(cli.main, "serve").output


def test_effects_of_arms_are_a_setting(tmp_path: Path) -> None:
    section = {"arms": 2, "objectives": [{"name": "click"}], "arm_effects": True}
    config = parse_config({"agents": {"a": section}}, tmp_path / "shop.toml")
    with config.agents["a"].open(str(tmp_path / "a.db"), "a") as agent:
        assert agent.config.arm_effects


def test_settings_of_every_kind_are_read(tmp_path: Path) -> None:
    config: ServiceConfig = parse_config(
        {
            "agents": {
                "a": {
                    "arms": {"x": {"type": "number"}, "y": {"type": "tags", "values": ["p", "q"]}},
                    "context": {"z": {"type": "category", "values": [1, 2]}},
                    "interactions": [["x", "z"]],
                    "objectives": [{"name": "click", "window": 10, "default": 0}],
                    "half_life": {"updates": 100},
                    "retention": {"decisions": 10},
                    "holdout": 0.1,
                    "max_step": 1e9,
                    "correct_within": 5,
                    "activation_timeout": 3,
                }
            }
        },
        tmp_path / "shop.toml",
    )
    with config.agents["a"].open(str(tmp_path / "a.db"), "a") as agent:
        assert agent.config.half_life == mogro.HalfLife(updates=100)
        assert agent.config.retention == mogro.Retention(decisions=10)
        assert agent.config.activation_timeout == 3.0
        agent.decide({"one": {"x": 1.0, "y": ["p"]}}, context={"z": 2})


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")
def test_tls_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
         "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem",
         "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost"],
        capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    plain = {"certificate": "cert.pem", "certificate_key": "key.pem"}
    with running(tmp_path, plain) as service:
        with pytest.raises(ServiceError, match="certificate verify failed"):
            mogro.connect(f"https://localhost:{service.port}", retries=0)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        with mogro.connect(f"https://localhost:{service.port}", retries=0) as agent:
            assert agent.decide(id="v1").id == "v1"
        with pytest.raises(ServiceError):
            mogro.connect(service.url, retries=0, timeout=2.0)

"""The command ``mogro serve``: a service, from start to stop."""

import argparse
import signal
import tempfile
import threading
from pathlib import Path

import uvicorn

from mogro.service.app import make_app
from mogro.service.config import ServiceConfig, read_config
from mogro.service.demo import demo_config, send_visitors
from mogro.service.hosted_agent import check_agent
from mogro.service.keys import KeyRing, add_key, remove_key
from mogro.service.protocol import make_protocol
from mogro.service.service import Service, write_line

_GRACE_SECONDS = 10  # for requests that are under way when the service stops


def run(arguments: argparse.Namespace) -> None:
    """Serve, or do what was asked for instead."""
    if arguments.demo:
        _run_demo(arguments.port or 8080)
        return
    if arguments.file is None:
        raise ValueError("FILE: expected one, or --demo, got none")
    config = read_config(arguments.file)
    config.host, config.port = arguments.host or config.host, arguments.port or config.port
    if arguments.add_key is not None:
        roles, agents = (
            text.split(",") if text else [] for text in (arguments.roles, arguments.agents)
        )
        if not config.agents.keys() >= set(agents):
            raise ValueError(f"agents: expected some of {sorted(config.agents)}, got {agents}")
        print(add_key(config.key_file, arguments.add_key, roles, agents))
    elif arguments.remove_key is not None:
        remove_key(config.key_file, arguments.remove_key)
    elif arguments.check:
        config.check(has_keys=KeyRing(config.key_file).required)
        for name, section in config.agents.items():
            try:
                check_agent(section)
            except ValueError as error:
                raise ValueError(f"agents.{name}: {error}") from None
        print(f"{arguments.file}: {', '.join(config.agents)}")
    else:
        serve(config)


def _run_demo(port: int) -> None:
    """Serve a simulated news site, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mogro-demo-") as folder:
        url = f"http://127.0.0.1:{port}"
        threading.Thread(target=send_visitors, args=(url,), daemon=True).start()
        print(f"Open http://localhost:{port}/ and watch; Ctrl-C stops it.", flush=True)
        serve(demo_config(Path(folder), port=port))


def serve(config: ServiceConfig) -> None:
    """Serve until somebody says stop (SIGTERM or SIGINT): answer what came, write, close."""
    service = Service(config)
    server = make_server(service)
    scheme = "https" if config.certificate else "http"
    write_line({"event": "start", "url": f"{scheme}://{config.host}:{config.port}/"})
    for number in (signal.SIGTERM, signal.SIGINT):  # what uvicorn raises again once it has stopped
        signal.signal(number, lambda *_: None)
    server.run()
    write_line({"event": "stop"})


def make_server(service: Service) -> uvicorn.Server:
    """Return the server of a service, before it has started."""
    config = service.config
    return uvicorn.Server(
        uvicorn.Config(
            make_app(service),
            host=config.host,
            port=config.port,
            http=make_protocol(config.limits.seconds),
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(config.trusted_proxy),
            forwarded_allow_ips=config.trusted_proxy or None,
            ssl_certfile=str(config.resolve(config.certificate)) if config.certificate else None,
            ssl_keyfile=str(config.resolve(config.certificate_key)) if config.certificate else None,
            limit_concurrency=config.limits.connections,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
    )

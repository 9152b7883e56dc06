"""The command ``mogro serve``: a service, from start to stop."""

import signal
from collections.abc import Callable

import uvicorn

from mogro.service.app import make_app
from mogro.service.config import ServiceConfig
from mogro.service.protocol import make_protocol
from mogro.service.service import Service, write_line

_LAST = 10  # seconds for requests that are under way when the service stops


def serve(config: ServiceConfig, *, started: Callable[[], object] | None = None) -> None:
    """Serve until somebody says stop (SIGTERM or SIGINT): answer what came, write, close."""
    service = Service(config)
    server = make_server(service)
    scheme = "https" if config.certificate else "http"
    write_line({"event": "start", "url": f"{scheme}://{config.host}:{config.port}/"})
    if started is not None:
        started()
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
            proxy_headers=bool(config.proxy),
            forwarded_allow_ips=config.proxy or None,
            ssl_certfile=str(config.beside(config.certificate)) if config.certificate else None,
            ssl_keyfile=str(config.beside(config.certificate_key)) if config.certificate else None,
            limit_concurrency=config.limits.connections,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=_LAST,
            backlog=2048,
        )
    )

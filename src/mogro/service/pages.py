"""What a browser is shown, and files."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mogro.agent import Agent
from mogro.service.service import Service


def routes(service: Service, answered: Callable[..., Any]) -> list[Route]:
    """Return the routes of the page."""

    async def front(request: Request) -> Response:
        return Response("mogro", media_type="text/plain")

    return [Route("/", answered(front, "get page"), methods=["GET"])]


def write_parquet(agent: Agent) -> Path:
    """Write the log of an agent to a file of its own, and return its path."""
    folder = tempfile.mkdtemp(prefix="mogro-log-")
    return agent.export(folder)


def stream_file(path: Path, chunk: int) -> Iterator[bytes]:
    """Yield a file in pieces, then remove it and its folder."""
    try:
        with path.open("rb") as file:
            while piece := file.read(chunk):
                yield piece
    finally:
        path.unlink(missing_ok=True)
        os.rmdir(path.parent)

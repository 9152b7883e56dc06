"""What ``mogro serve`` does with its arguments."""

import argparse
import tempfile
from pathlib import Path

from mogro.service.config import ServiceConfig, read_config
from mogro.service.demo import NewsSite, demo_config
from mogro.service.keys import KeyRing, add_key, remove_key
from mogro.service.run import serve


def run(given: argparse.Namespace) -> None:
    """Serve, or do what was asked for instead."""
    if given.demo:
        _run_demo(given.port or 8080)
        return
    if given.file is None:
        raise ValueError("FILE: expected one, or --demo, got none")
    config = _overridden(read_config(given.file), given)
    if given.add_key is not None:
        roles, agents = (part.split(",") if part else [] for part in (given.roles, given.agents))
        print(add_key(config.key_file, given.add_key, roles, agents))
    elif given.remove_key is not None:
        remove_key(config.key_file, given.remove_key)
    elif given.check:
        config.check(keys=KeyRing(config.key_file).required)
        print(f"{given.file}: {', '.join(config.agents)}")
    else:
        serve(config)


def _run_demo(port: int) -> None:
    """Serve a simulated news site, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mogro-demo-") as folder:
        site = NewsSite(f"http://127.0.0.1:{port}")
        print(f"Open http://localhost:{port}/ and watch; Ctrl-C stops it.", flush=True)
        try:
            serve(demo_config(Path(folder), port=port), started=site.start)
        finally:
            site.stop()


def _overridden(config: ServiceConfig, given: argparse.Namespace) -> ServiceConfig:
    """Return a file's settings with those of the command line."""
    config.host = given.host or config.host
    config.port = given.port or config.port
    return config

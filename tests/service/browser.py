"""A real browser, by the WebDriver protocol: Chromium and its driver, as Debian packages them."""

import base64
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in the protocol
_ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--proxy-server=direct://",
]  # fmt: skip


def missing() -> str:
    """Say what is missing, if anything is."""
    gone = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(gone)}: make test-browser installs them" if gone else ""


class Browser:
    """One window."""

    def __init__(self, port: int, profile: Path) -> None:
        self._port = port
        options = {
            "args": [*_ARGUMENTS, f"--user-data-dir={profile}"],
            "binary": shutil.which("chromium"),
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._path = ""
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._path = f"/session/{made['sessionId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            sent = json.dumps(body) if body is not None else None
            connection.request(method, self._path + path, sent)
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise AssertionError(f"{path}: {value['message']}")
        return value

    def open(self, url: str) -> None:
        self._ask("POST", "/url", {"url": url})

    def resize(self, width: int, height: int) -> None:
        """Make the page itself so large, whatever the window around it."""
        self._ask("POST", "/goog/cdp/execute", {
            "cmd": "Emulation.setDeviceMetricsOverride",
            "params": {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        })  # fmt: skip

    def run(self, script: str, *arguments: Any) -> Any:
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def _find(self, selector: str) -> str:
        value = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        return str(value[_ELEMENT])

    def text(self, selector: str) -> str:
        return str(self._ask("GET", f"/element/{self._find(selector)}/text"))

    def click(self, selector: str) -> None:
        self._ask("POST", f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self._ask("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def drag(self, selector: str, to: tuple[float, float]) -> None:
        """Drag the middle of an element to a place of the window."""
        start = {_ELEMENT: self._find(selector)}
        moves = [
            {"type": "pointerMove", "origin": start, "x": 0, "y": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "x": round(to[0]), "y": round(to[1]), "duration": 200},
            {"type": "pointerUp", "button": 0},
        ]
        pointer = {"type": "pointer", "id": "mouse", "actions": moves}
        self._ask("POST", "/actions", {"actions": [pointer]})

    def wait(self, true: Callable[[], Any], seconds: float = 15.0) -> Any:
        """Return what something gives once it is true."""
        until = time.monotonic() + seconds
        while True:
            with contextlib.suppress(AssertionError):
                if value := true():
                    return value
            assert time.monotonic() < until, "it never came true"
            time.sleep(0.05)

    def complaints(self) -> list[str]:
        """Return what the browser has complained of: errors, and what the page's policy forbids."""
        lines = self._ask("POST", "/se/log", {"type": "browser"})
        return [line["message"] for line in lines if line["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def close(self) -> None:
        self._ask("DELETE", "")


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Run a browser and its driver."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    log = folder / "driver.log"
    driver = subprocess.Popen(["chromedriver", f"--port={port}", f"--log-path={log}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        window = Browser(port, folder / "profile")
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait(10)

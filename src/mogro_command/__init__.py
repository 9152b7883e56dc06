"""The command ``mogro``: loads the library so that Ctrl-C meanwhile ends it in one line.

It is no part of the package ``mogro``, since to import any part of that is to load NumPy first.
"""

import os
import signal

__all__ = ["main"]


def main() -> None:
    """Run the command line of mogro."""
    heeded = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    if heeded:
        signal.signal(signal.SIGINT, _stop)
    from mogro.cli import main as command

    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command()


def _stop(number: int, frame: object) -> None:
    os.write(2, b"Stopped before anything was begun.\n")
    os._exit(130)  # an exception would have to pass half-imported modules

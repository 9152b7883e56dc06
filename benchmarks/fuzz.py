"""Thousands of requests that the service's own description allows, or nearly: schemathesis.

Run ``python -m benchmarks.fuzz PATH_OF_SCHEMATHESIS [EXAMPLES]`` (``make soak`` does). No answer
may be a 5xx, or of another shape than described.
"""

import subprocess
import sys

from benchmarks.soak import Server, place

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance"
)


def main() -> None:
    """Ask."""
    command, *more = sys.argv[1:]
    examples = more[0] if more else "350"  # of each of 30 operations
    with place() as folder, Server(folder) as server:
        options = ["--checks", CHECKS, "-n", examples, "--phases", "coverage,fuzzing"]
        address = f"{server.url}/openapi.json"
        ended = subprocess.run([command, "run", address, *options], check=False, cwd=folder)
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()

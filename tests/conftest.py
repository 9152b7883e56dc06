"""What is marked for all tests at once."""

from pathlib import Path

import pytest

# Files and folders whose tests look at files, words and errors rather than at numbers.
_NOT_NUMERIC = (
    "experiments/test_reproduce.py",
    "live/test_refusals.py",
    "live/test_snapshot.py",
    "live/test_threads.py",
    "policies/test_refusals.py",
    "test_command_line.py",
    "test_files.py",
    "test_package.py",
    "test_validation.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as ``numeric`` what other kernels could change: all but a few files."""
    apart = [Path(__file__).parent / name for name in _NOT_NUMERIC]
    for item in items:
        if not any(item.path.is_relative_to(path) for path in apart):
            item.add_marker("numeric")

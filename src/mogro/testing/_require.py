"""Assertions that ``python -O`` does not skip."""


def require(condition: object, message: str) -> None:
    """Raise an ``AssertionError`` unless a condition holds."""
    if not condition:
        raise AssertionError(message)

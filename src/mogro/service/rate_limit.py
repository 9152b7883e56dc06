"""How many requests a second a key may make."""

import time

from mogro.service.problems import Refused


class RateLimit:
    """So many requests a second for each key, and as many at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._levels: dict[str, tuple[float, float]] = {}  # tokens left, and when

    def take(self, name: str) -> None:
        """Count a request, or refuse it."""
        if not self._rate:
            return
        now, most = time.monotonic(), max(self._rate, 1.0)
        level, then = self._levels.get(name, (most, now))
        level = min(most, level + (now - then) * self._rate)
        if level < 1:
            self._levels[name] = level, now
            raise Refused(429, f"rate: expected at most {self._rate:g} a second", retry=1)
        self._levels[name] = level - 1, now

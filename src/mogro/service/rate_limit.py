"""How often something may happen, by name: requests of a key, logins that fail of an address."""

import math
import time
from collections import OrderedDict

from mogro.service.error_responses import RequestRefused

_NAMES = 10_000


class RateLimit:
    """So many a second for each name, and some at once: tokens in a bucket; a rate of 0 is none."""

    def __init__(self, rate: float, at_once: float, words: str) -> None:
        self._rate, self._most, self._words = rate, max(at_once, 1.0), words
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens left, and when

    def check(self, name: str) -> float:
        """Return how many more there may be now; refuse if there is none."""
        now = time.monotonic()
        level, then = self._levels.get(name, (self._most, now))
        level = min(self._most, level + (now - then) * self._rate)
        if self._rate and level < 1:
            retry = math.ceil((1 - level) / self._rate)
            raise RequestRefused(429, f"{self._words}; wait {retry} s", retry=retry)
        return level

    def take(self, name: str) -> None:
        """Count one, or refuse it."""
        if self._rate:
            self._levels[name] = self.check(name) - 1, time.monotonic()
            self._levels.move_to_end(name)
            if len(self._levels) > _NAMES:
                self._levels.popitem(last=False)

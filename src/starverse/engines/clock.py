"""The clock on the wall, in UTC milliseconds, made never to go back."""

import time


def wall_ms() -> int:
    """UTC milliseconds as the machine tells them."""
    return time.time_ns() // 1_000_000


class Clock:
    """Wall time that never goes back: when the wall clock is set back, it stands still until caught up."""

    def __init__(self) -> None:
        self._last_ms = 0

    def not_before(self, last_ms: int) -> None:
        """Time has come so far already, whatever the wall says."""
        self._last_ms = max(self._last_ms, last_ms)

    def now_ms(self) -> int:
        """UTC milliseconds, at least what was said before."""
        self._last_ms = max(self._last_ms, wall_ms())
        return self._last_ms

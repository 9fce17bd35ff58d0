"""How often somebody may try something, kept in memory and bounded."""

import threading
from collections import OrderedDict, deque

from starverse.model.errors import Refused

KEYS_MAX = 10_000


class TooOften(Refused):
    """Tried more often than is allowed; `wait_s` until the next try."""

    def __init__(self, what: str, wait_s: int) -> None:
        super().__init__(what, f"Try again in {wait_s} s.")
        self.wait_s = wait_s


class Rates:
    """When each key was last used. Mutable, for any thread; the longest unused keys are forgotten first."""

    def __init__(self) -> None:
        self._used: OrderedDict[str, deque[int]] = OrderedDict()
        self._lock = threading.Lock()

    def use(self, key: str, times_max: int, window_ms: int, now_ms: int) -> None:
        """Note a use. Raises TooOften when there were `times_max` within the window before it."""
        with self._lock:
            used = self._used.setdefault(key, deque())
            self._used.move_to_end(key)
            if len(self._used) > KEYS_MAX:
                self._used.popitem(last=False)
            while used and used[0] <= now_ms - window_ms:
                used.popleft()
            if len(used) >= times_max:
                wait_s = -(-(used[0] + window_ms - now_ms) // 1000)
                raise TooOften("That was tried too often.", wait_s)
            used.append(now_ms)

    def forgive(self, key: str) -> None:
        """Forget the uses of a key: the last one succeeded."""
        with self._lock:
            self._used.pop(key, None)

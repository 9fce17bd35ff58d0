"""Removes now and then what need not be kept, on a thread of its own, beside the loop."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sqlalchemy import Engine

from starverse.engines import keeping
from starverse.main.settings import Keep
from starverse.model.units import DAY_MS
from starverse.store import sweeping
from starverse.store.database import reading

log = logging.getLogger(__name__)

FIRST_AFTER_S = 60.0
EVERY_S = 3600.0
STOP_WITHIN_S = 2.0


def sweep(home: Path, database: Engine, keep: Keep, now_ms: int) -> dict[str, int]:
    """Remove what is older than its days, and runs beyond their room; how much of each there was."""

    def ended_ms(jobs: Sequence[str]) -> Mapping[str, int]:
        with reading(database) as connection:
            return sweeping.ended_ms(connection, jobs)

    def before_ms(days: int) -> int:
        return now_ms - days * DAY_MS if days else 0

    bytes_max = keep.runs_gb * 10**9 or 1 << 63
    removed = {
        "runs": keeping.clear_runs(home, ended_ms, before_ms(keep.runs_days), bytes_max),
        "outputs": keeping.clear_jobs(home, ended_ms, before_ms(keep.outputs_days)),
    }
    with reading(database) as connection:
        live = sweeping.live_snapshots(connection)
    return removed | {"snapshots": sweeping.sweep_blobs(home, live, before_ms(keep.snapshots_days))}


class Sweeper:
    """Calls `sweep` an hour after an hour until stopped. Mutable owner of its thread."""

    def __init__(self, sweep: Callable[[], Mapping[str, int]]) -> None:
        self._sweep = sweep
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="sweeper", daemon=True)

    def start(self) -> None:
        """Begin, a minute from now."""
        self._thread.start()

    def stop(self) -> None:
        """End; a sweep that is under way may be cut off anywhere."""
        self._stopping.set()
        self._thread.join(STOP_WITHIN_S)

    def _go_on(self) -> None:
        wait_s = FIRST_AFTER_S
        while not self._stopping.wait(wait_s):
            wait_s = EVERY_S
            try:
                log.info("removed what need not be kept: %s", self._sweep())
            except Exception:
                log.exception("what need not be kept was not removed")

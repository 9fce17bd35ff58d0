"""How fast events become durable on SQLite."""

import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import median

from starverse.bench.figure import Figure
from starverse.bench.lives import written
from starverse.store.database import home_url, open_database
from starverse.store.journal import SqlJournal

EVENTS = 100_000
BATCHES = (1_000, 1)
SINGLES = 300


def measure() -> Sequence[Figure]:
    """Events of whole job lives, encoded, chained, synced, with their postings and projections."""
    rows = written(EVENTS)
    with tempfile.TemporaryDirectory(prefix="starverse-bench-") as folder:
        database = open_database(home_url(Path(folder)))
        journal = SqlJournal(database)
        journal.lead()
        seconds = []
        rest = iter(rows)
        while batch := list(islice(rest, BATCHES[0])):
            began = time.perf_counter()
            journal.append(batch[-1][0], [event for _, event in batch], ())
            seconds.append((time.perf_counter() - began) / len(batch))
        database.dispose()
    with tempfile.TemporaryDirectory(prefix="starverse-bench-") as folder:
        database = open_database(home_url(Path(folder)))
        journal = SqlJournal(database)
        journal.lead()
        singles = []
        for heard_ms, event in rows[:SINGLES]:
            began = time.perf_counter()
            journal.append(heard_ms, [event], ())
            singles.append(time.perf_counter() - began)
        database.dispose()
    return (
        Figure(
            "journal_events",
            "events a second, durable on SQLite, in batches of 1,000",
            1 / median(seconds),
            "events/s",
            50_000,
            "more",
        ),
        Figure("journal_single", "one event alone, durable on SQLite", median(singles) * 1000, "ms"),
    )

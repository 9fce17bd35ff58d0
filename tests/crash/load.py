"""A server without faces, under load, for the crash test to kill: the real loop, store, engine and shims.

`python load.py HOME ROUND JOBS` submits JOBS small jobs while it turns; with 0 it turns until all have
ended.
"""

import os
import random
import sys
import time
from pathlib import Path

from starverse.main.server import build
from starverse.main.settings import Settings
from starverse.model.job import JobSpec, Work
from starverse.model.requests import OpenTenant, StopJob, SubmitJob
from starverse.model.units import CARD, YUAN
from starverse.money.lease import LeaseTerms
from starverse.store import tenants

TENANT = "t-crash"
PRICE = 36 * YUAN
MARK = 'echo "$STARVERSE_RUN" >> "$STARVERSE_OUTPUT/starts"; '
SCRIPTS = (
    MARK + "exit 0",
    MARK + "sleep 0.1",
    MARK + "sleep 0.4; exit 0",
    MARK + "exit 3",
    MARK + "kill -9 $$",
    MARK + "sleep 30",  # stopped by a person a moment later
)
TERMS = LeaseTerms(window_ms=8_000, least_ms=4_000, grace_ms=1_000)


def main(home: Path, number: int, count: int) -> None:
    """Turn, and submit, until killed or done."""
    chance = random.Random(number)
    settings = Settings(cards=4, lease=TERMS, snapshot_every=50, prices={"cpu": PRICE})
    server = build(home, settings, lambda: os._exit(70))
    requests, database = server.platform.requests, server.platform.database
    if number == 0:
        with database.begin() as connection:
            tenants.add_tenant(connection, TENANT, "crash", server.platform.now_ms())
            requests.put(connection, OpenTenant(TENANT, 1_000 * YUAN))
    sys.stdout.write("turning\n")
    sys.stdout.flush()
    for index in range(count):
        script = chance.choice(SCRIPTS)
        cards = chance.choice((1, 1, 2, 4)) * CARD
        job = f"j-{number}-{index}"
        work = Work(("sh", "-c", script))
        requests.submit(SubmitJob(JobSpec(job, TENANT, cards, cards, price=PRICE, retries=1, work=work)))
        if "sleep 30" in script:
            requests.submit(StopJob(job))
        time.sleep(chance.uniform(0, 0.04))
    while count or server.loop.ask(lambda state: len(state.jobs)):
        time.sleep(0.05)
    server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

"""The server is killed at random instants under load: nothing is lost, started twice, or billed wrongly."""

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import select

from starverse.model import events as ev
from starverse.model.job import JobSpec
from starverse.model.units import CARD
from starverse.money.meter import cost
from starverse.store import schema
from starverse.store.database import home_url, open_database, reading
from starverse.store.history import events_of
from starverse.store.journal import SqlJournal

LOAD = Path(__file__).with_name("load.py")
DRAINED_WITHIN_S = 400


def kill_and_kill_again(home: Path, kills: int, seed: int, jobs: int) -> None:
    """Start the server, let it turn for a random while, SIGKILL it; at last let it finish its work."""
    chance = random.Random(seed)
    for number in range(kills):
        command = [sys.executable, LOAD, home, str(number), str(jobs)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            assert server.stdout
            if number == 0 or chance.random() < 0.8:  # else it may be killed while it is coming up
                assert server.stdout.readline() == b"turning\n", f"the server ended in round {number}"
                server.stdout.close()
            time.sleep(chance.uniform(0, 1.0))
            assert server.poll() is None, f"the server ended by itself in round {number}"
            server.kill()
    last = [sys.executable, LOAD, home, str(kills), "0"]
    subprocess.run(last, timeout=DRAINED_WITHIN_S, check=True)


def check(home: Path) -> Counter[str]:
    """Everything that must hold of a home once all its jobs have ended; the outcomes of its jobs."""
    database = open_database(home_url(home))
    assert SqlJournal(database).verify() > 0
    with reading(database) as connection:
        asked = [row.body for row in connection.execute(select(schema.requests))]
        waiting = connection.execute(
            select(schema.requests).where(schema.requests.c.taken_ms.is_(None))
        ).all()
        jobs = {row.job: row for row in connection.execute(select(schema.jobs))}
        balances = {row.account: row.amount for row in connection.execute(select(schema.balances))}
    submitted = sum('"SubmitJob"' in body for body in asked)
    assert not waiting, "a request was never answered"
    assert len(jobs) == submitted, "a job was lost"
    assert all(row.outcome for row in jobs.values()), "a job never ended"
    assert sum(balances.values()) == 0
    assert balances["held/t-crash"] == 0, "money is held for runs that are over"
    for name in jobs:
        check_job(home, name, [event for _, _, event in events_of(database, name)])
    database.dispose()
    return Counter(row.outcome for row in jobs.values())


def check_job(home: Path, name: str, events: list[ev.Event]) -> None:
    """Each run of the job started once at most, and was charged to the millisecond once."""
    starts = home / "jobs" / name / "output" / "starts"
    started = Counter(starts.read_text().split() if starts.exists() else ())
    assert all(count == 1 for count in started.values()), f"started twice: {started}"
    spec: JobSpec = next(event.spec for event in events if isinstance(event, ev.JobSubmitted))
    placed = [event.run for event in events if isinstance(event, ev.RunPlaced)]
    assert len(set(placed)) == len(placed), f"a run id was used twice: {placed}"
    assert set(started) <= set(placed), f"a run was started that was never placed: {started}"
    for run in placed:
        of_run = [event for event in events if getattr(event, "run", "") == run]
        begins = [event.happened_ms for event in of_run if isinstance(event, ev.RunStarted)]
        ends = [event.happened_ms for event in of_run if isinstance(event, ev.RunEnded)]
        assert len(begins) <= 1, f"run {run} started twice"
        assert len(ends) == 1, f"run {run} ended {len(ends)} times"
        postings = [event for event in of_run if isinstance(event, ev.Posted)]
        charged = sum(dict(event.lines)["income/compute"] for event in postings if event.kind == "charge")
        held = sum(dict(event.lines).get("held/t-crash", 0) for event in postings)
        due = cost(spec.price, spec.cards_min, ends[0] - begins[0]) if begins else 0
        assert charged == due, f"run {run} was charged {charged}, not {due}"
        assert held == 0, f"run {run} still holds {held}"
    assert spec.cards_min >= CARD


@pytest.mark.timeout(600)
def test_a_server_killed_two_dozen_times_loses_nothing(tmp_path: Path) -> None:
    kill_and_kill_again(tmp_path, kills=24, seed=20261202, jobs=12)
    assert {"done", "failed", "stopped"} <= check(tmp_path).keys()


@pytest.mark.deep
@pytest.mark.timeout(1500)
def test_a_server_killed_two_hundred_times_loses_nothing(tmp_path: Path) -> None:
    kill_and_kill_again(tmp_path, kills=200, seed=20261203, jobs=6)
    assert {"done", "failed", "stopped"} <= check(tmp_path).keys()

"""What lists show follows from the journal, however it came in."""

from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import Engine
from tests.store.looking import projections_of

from starverse.model import events as ev
from starverse.model.allocation import Share
from starverse.model.job import JobSpec
from starverse.model.reservation import Reservation
from starverse.money import ledger
from starverse.store import reading, recovery
from starverse.store.database import open_database
from starverse.store.database import reading as read
from starverse.store.journal import SqlJournal

T = 1_000_000
CARD_0, CARD_1 = (Share("n1", 1),), (Share("n1", 2),)
BOOKED = Reservation("v", "ada", "cpu", 1000, T + 99, T + 199, label="Müller's")
LIFE: list[tuple[int, Any]] = [
    (T, ev.TenantOpened("ada")),
    (T, ledger.trial("ada", 1000)),
    (T, ev.NodeJoined("n1", "cpu", 2)),
    (T + 1, ev.JobSubmitted(JobSpec("j", "ada", name="try\0this"))),
    (T + 2, ev.RunPlaced("j.0", "j", 0, CARD_0, T + 900)),
    (T + 2, ledger.hold("ada", "j", "j.0", 300)),
    (T + 3, ev.RunStarted("j.0", T + 1)),  # by the node's clock it was there before it was placed
    (T + 4, ev.RunResumed("j.0", 5, T + 4)),
    (T + 5, ev.CheckpointSaved("j.0", 7, T + 5)),
    (T + 6, ledger.charge("ada", "j", "j.0", 40, (4, T + 2, T + 6))),
    (T + 7, ev.FaultInjected("j.0", 0, "op")),
    (T + 8, ledger.settle("ada", "j", "j.0", 20, 260, (2, T + 6, T + 8))),
    (T + 8, ledger.credit("ada", "j", "j.0", 30, (3, T + 5, T + 8), "lost")),
    (T + 8, ev.RunEnded("j.0", T + 8, "signal", 9, 0, "bad\0news")),
    (T + 8, ev.JobRequeued("j", "platform fault", platform=True)),
    (T + 8, ev.RunPlaced("j.1", "j", 1, CARD_0, T + 900)),
    (T + 9, ev.RunStopAsked("j.1", "person", T + 20)),
    (T + 10, ev.RunStarted("j.1", T + 10)),
    (T + 11, ev.RunEnded("j.1", T + 11, "exit", 85)),
    (T + 11, ev.JobPaused("j", "no space", "no-space")),
    (T + 12, ev.JobRequeued("j", "resumed on request")),
    (T + 13, ev.JobEnded("j", "stopped", "stopped on request")),
    (T + 14, ev.ReservationMade(BOOKED, 1, CARD_0, ((T + 99, T + 199),))),
    (T + 15, ev.ReservationMoved("v", CARD_1, 0, "its card broke")),
    (T + 16, ev.ReservationEnded("v", "cancelled", "ada")),
    (T + 16, ev.ReservationMade(replace(BOOKED, name="w"), 2, CARD_0, ((T + 99, T + 199),))),
    (T + 17, ev.ReservationEnded("w", "over")),
    (T + 17, ev.ReservationMade(replace(BOOKED, name="x", tenant="bo"), 3, CARD_0, ((T + 99, T + 199),))),
]

PHASES = {
    3: "waiting", 4: "starting", 5: "starting", 6: "running", 9: "running", 14: "waiting", 15: "starting",
    16: "stopping", 17: "stopping", 19: "paused", 20: "waiting", 21: "ended",
}  # fmt: skip


def test_each_event_moves_the_job_as_its_life_says(engine: Engine) -> None:
    journal = SqlJournal(engine)
    journal.lead()
    seen = {}
    for number, (heard_ms, event) in enumerate(LIFE):
        journal.append(heard_ms, [event], [])
        with read(engine) as connection:
            job = reading.job_row(connection, "j")
        if number in PHASES:
            assert job
            seen[number] = job.phase
    assert seen == PHASES


def written(engine: Engine) -> None:
    """Write LIFE down, an instant at a time."""
    journal = SqlJournal(engine)
    journal.lead()
    for heard_ms in sorted({heard_ms for heard_ms, _ in LIFE}):
        journal.append(heard_ms, [event for at_ms, event in LIFE if at_ms == heard_ms], [])


def test_bookings_that_are_no_more_are_read_back_the_latest_first(engine: Engine) -> None:
    written(engine)
    with read(engine) as connection:
        gone = reading.ended_reservations(connection, ("ada", "bo"), 9)
        assert [(each.spec.name, each.why, each.ended_ms - T) for each in gone] == [
            ("w", "over", 17),
            ("v", "cancelled", 16),
        ]
        assert gone[1] == reading.EndedReservation(BOOKED, CARD_1, T + 16, "cancelled")
        assert reading.ended_reservations(connection, None, 9) == gone
        assert reading.ended_reservations(connection, None, 1) == gone[:1]
        assert reading.ended_reservations(connection, ("bo",), 9) == []
        assert reading.ended_reservations(connection, ("ada",), 9, "v") == gone[1:]
        assert reading.ended_reservations(connection, ("bo",), 9, "v") == []


def test_a_database_from_before_learns_of_reservations_from_its_journal(engine: Engine) -> None:
    written(engine)
    kept = projections_of(engine)
    assert len(kept["reservations"]) == 3
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE reservations")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0002'")
    again = open_database(engine.url.render_as_string(hide_password=False).replace("+psycopg", ""))
    assert projections_of(again) == kept
    again.dispose()


def test_made_anew_from_the_journal_the_rows_are_the_same(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(engine)
    kept = projections_of(engine)
    for chunk in (1, 4, 1000):
        monkeypatch.setattr(recovery, "CHUNK", chunk)
        assert recovery.rebuild(engine) == len(LIFE)
        assert projections_of(engine) == kept


def test_a_job_and_its_runs_show_what_became_of_them(engine: Engine) -> None:
    written(engine)
    with read(engine) as connection:
        job = reading.job_row(connection, "j")
        first, second = reading.runs_of(connection, "j")
    assert job
    assert (job.name, job.outcome, job.why, job.run, job.runs) == (
        "try\ufffdthis", "stopped", "stopped on request", "j.1", 2,
    )  # fmt: skip
    assert (job.submitted_ms, job.started_ms, job.ended_ms) == (T + 1, T + 2, T + 13)
    assert (job.charged, job.credited, job.card_ms) == (60, 30, 6)
    assert job.spec == JobSpec("j", "ada", name="try\0this")
    assert first == reading.RunRow(
        "j.0", "j", 0, CARD_0, 1000, T + 2, T + 2, T + 4, 5, T + 5, 7, T + 8, "signal", 9, 0, "bad\ufffdnews",
        True, True,
    )  # fmt: skip
    assert second == reading.RunRow(
        "j.1",
        "j",
        1,
        CARD_0,
        1000,
        T + 8,
        T + 10,
        None,
        None,
        None,
        None,
        T + 11,
        "exit",
        85,
        -1,
        "",
        False,
        False,
    )


def test_the_last_of_too_many_faults_is_the_platforms_too(engine: Engine) -> None:
    journal = SqlJournal(engine)
    journal.lead()
    for job, how, injected in (("a", "lost", False), ("b", "signal", True), ("c", "signal", False)):
        run = f"{job}.0"
        journal.append(T, [ev.JobSubmitted(JobSpec(job, "ada")), ev.RunPlaced(run, job, 0, CARD_0, T)], [])
        journal.append(T, [ev.FaultInjected(run, 0)] * injected, [])
        journal.append(T, [ev.RunEnded(run, T, how, 9), ev.JobEnded(job, "failed", "50 in a row")], [])  # type: ignore[arg-type]
    with read(engine) as connection:
        assert [reading.runs_of(connection, job)[0].fault for job in "abc"] == [True, True, False]


def test_the_last_price_set_for_a_time_holds(engine: Engine) -> None:
    journal = SqlJournal(engine)
    journal.lead()
    journal.append(T, [ev.PriceSet("cpu", 5, T), ev.PriceSet("cpu", 7, T + 9), ev.PriceSet("gpu", 9, T)], [])
    journal.append(T, [ev.PriceSet("cpu", 6, T)], [])
    with read(engine) as connection:
        assert [reading.price_at(connection, "cpu", T + after) for after in (-1, 0, 8, 9)] == [0, 6, 6, 7]
        assert reading.prices_now(connection, T + 3) == {"cpu": 6, "gpu": 9}
        assert reading.price_at(connection, "tpu", T) == 0

"""What lists and pages show, a page at a time."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from sqlalchemy import Connection, Engine

from starverse.model import events as ev
from starverse.model.allocation import Share
from starverse.model.errors import BadInput
from starverse.model.job import JobSpec
from starverse.money import ledger
from starverse.store import reading
from starverse.store.database import reading as read
from starverse.store.journal import SqlJournal

T = 1_000_000
Connected = Callable[[], AbstractContextManager[Connection]]


@pytest.fixture
def connection(engine: Engine) -> Connected:
    return lived(engine)


@pytest.fixture
def embedded_connection(embedded: Engine) -> Connected:
    return lived(embedded)


def lived(engine: Engine) -> Connected:
    """Seven jobs of two tenants, one of which has run, and their money."""
    journal = SqlJournal(engine)
    journal.lead()
    journal.append(T, [ev.TenantOpened("ada"), ledger.trial("ada", 1000), ledger.trial("bo", 500)], [])
    for number in range(7):
        tenant = "bo" if number in (2, 5) else "ada"
        spec = JobSpec(f"j{number}", tenant, project="p1" if number % 2 else "p2")
        journal.append(T + number, [ev.JobSubmitted(spec)], [])
    shares = (Share("n1", 0b101), Share("n2", 0b1))
    journal.append(
        T + 10, [ev.RunPlaced("j0.0", "j0", 0, shares, T + 99), ledger.hold("ada", "j0", "j0.0", 300)], []
    )
    journal.append(T + 11, [ev.RunStarted("j0.0", T + 11)], [])
    end: list[ev.Event] = [
        ledger.settle("ada", "j0", "j0.0", 120, 300, (27, T + 11, T + 20)),
        ledger.credit("ada", "j0", "j0.0", 20, (4, T + 18, T + 20), "lost"),
        ev.RunEnded("j0.0", T + 20),
        ev.JobEnded("j0", "done"),
    ]
    journal.append(T + 20, end, [])
    journal.append(T + 21, [ev.JobEnded("j1", "stopped"), ledger.top_up("ada", 50, "cash")], [])
    return lambda: read(engine)


def walked(page_of: Callable[[str | None], reading.Page[reading.JobRow]]) -> list[list[str]]:
    pages, cursor = [], None
    while True:
        page = page_of(cursor)
        pages.append([row.job for row in page.rows])
        cursor = page.next
        if cursor is None:
            return pages


def test_jobs_come_a_page_at_a_time_the_newest_first(connection: Connected) -> None:
    with connection() as found:
        assert walked(lambda at: reading.jobs_page(found, None, at, 3)) == [
            ["j6", "j5", "j4"],
            ["j3", "j2", "j1"],
            ["j0"],
        ]
        assert walked(lambda at: reading.jobs_page(found, "bo", at, 1)) == [["j5"], ["j2"]]
        assert walked(lambda at: reading.jobs_page(found, "ada", at, phase="ended")) == [["j1", "j0"]]
        assert walked(lambda at: reading.jobs_page(found, "ada", at, 2, "waiting")) == [["j6", "j4"], ["j3"]]
        assert walked(lambda at: reading.jobs_page(found, "ada", at, project="p1")) == [["j3", "j1"]]
        assert walked(lambda at: reading.jobs_page(found, "nobody", at)) == [[]]


def test_a_list_goes_on_where_it_was_though_new_jobs_come(engine: Engine, connection: Connected) -> None:
    with connection() as found:
        first = reading.jobs_page(found, None, None, 3)
    journal = SqlJournal(engine)
    journal.lead()
    journal.append(T + 30, [ev.JobSubmitted(JobSpec("j7", "ada"))], [])
    with connection() as found:
        assert [row.job for row in reading.jobs_page(found, None, first.next, 3).rows] == ["j3", "j2", "j1"]


@pytest.mark.parametrize("cursor", ["", "x", "?", "MTIz!", "YWJj", "文", "LTE" * 40])
def test_a_cursor_of_somebody_elses_is_refused(embedded_connection: Connected, cursor: str) -> None:
    with embedded_connection() as found, pytest.raises(BadInput, match="not a cursor"):
        reading.jobs_page(found, None, cursor)


@pytest.mark.parametrize("limit", [0, -1, 501])
def test_a_page_has_its_bounds(embedded_connection: Connected, limit: int) -> None:
    with embedded_connection() as found, pytest.raises(BadInput, match="1 to 500"):
        reading.statement(found, "ada", None, limit)


def test_a_job_has_its_runs_and_their_cards(connection: Connected) -> None:
    with connection() as found:
        job = reading.job_row(found, "j0")
        assert job
        assert (job.phase, job.outcome, job.started_ms, job.charged) == ("ended", "done", T + 11, 120)
        (run,) = reading.runs_of(found, "j0")
        assert (run.shares, run.cards) == ((Share("n1", 0b101), Share("n2", 0b1)), 3000)
        assert reading.job_row(found, "nothing") is None
        assert reading.runs_of(found, "nothing") == []


def test_a_statement_shows_each_posting_once_and_adds_up_to_the_balance(connection: Connected) -> None:
    with connection() as found:
        first = reading.statement(found, "ada", None, 4)
        second = reading.statement(found, "ada", first.next, 4)
        assert second.next is None
        rows = first.rows + second.rows
        assert [(row.kind, row.wallet, row.held) for row in rows] == [
            ("top-up", 50, 0),
            ("credit", 20, 0),
            ("charge", 180, -300),
            ("hold", -300, 300),
            ("trial", 1000, 0),
        ]
        assert (rows[2].job, rows[2].run, rows[2].card_ms, rows[2].from_ms, rows[2].to_ms) == (
            "j0", "j0.0", 27, T + 11, T + 20,
        )  # fmt: skip
        assert (rows[0].note, rows[1].note) == ("cash", "lost")
        assert reading.balance(found, "ada") == (sum(row.wallet for row in rows), 0) == (950, 0)
        assert reading.balance(found, "nobody") == (0, 0)
        assert [row.kind for row in reading.statement(found, "ada", job="j0").rows] == [
            "credit",
            "charge",
            "hold",
        ]


def test_all_money_sums_to_zero(connection: Connected) -> None:
    with connection() as found:
        sums = reading.ledger_sums(found)
    assert sums == {
        "expense/fault": -20, "expense/trial": -1500, "gateway/top-up": -50, "held": 0, "income/compute": 120,
        "wallet": 1450,
    }  # fmt: skip
    assert sum(sums.values()) == 0


def test_jobs_are_counted(connection: Connected) -> None:
    with connection() as found:
        assert reading.jobs_by_phase(found) == {"waiting": 5}
        assert reading.jobs_by_outcome(found) == {"done": 1, "stopped": 1}

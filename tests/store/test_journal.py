"""The journal in SQL: it remembers all, lets nothing be changed, and says which row is wrong."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import Engine, text
from sqlalchemy.exc import DatabaseError
from tests.store import lives
from tests.store.conftest import NewUrl, hasty
from tests.store.lives import START_MS, Both, Day, Wish
from tests.store.looking import all_agrees, by_hand, rows_of

from starverse.control.ports import Taken
from starverse.control.state import State
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.errors import JournalDamaged, StaleEpoch
from starverse.model.units import HOUR_MS, YUAN
from starverse.money import ledger
from starverse.money.lease import LeaseTerms
from starverse.store import chain, history, recovery
from starverse.store.database import open_database
from starverse.store.journal import SNAPSHOTS_KEPT, SqlJournal
from starverse.store.requests import Requests
from starverse.twin.world import ListJournal

A_DAY = Day(
    (
        Wish(0, "ada", (2, 2), ((3 * HOUR_MS, "exit", 0),)),
        Wish(1000, "bo", (1, 6), ((HOUR_MS, "lost", 0), (HOUR_MS, "signal", 9), (HOUR_MS, "exit", 0))),
        Wish(2000, "bo", (4, 4), ((HOUR_MS, "exit", 1),), retries=1),
    ),
    (
        (0, rq.TopUp("bo", 20 * YUAN, "cash")),
        (HOUR_MS // 2, ev.CheckpointSaved("j-0001.0", 7, START_MS + HOUR_MS // 2)),
    ),
    LeaseTerms(2 * HOUR_MS),
)


class Saving:
    """A journal that keeps a snapshot after every so many appends."""

    def __init__(self, journal: SqlJournal, state: State, every: int) -> None:
        self._journal, self._state, self._every, self._count = journal, state, every, 0

    def append(self, heard_ms: int, events: Sequence[ev.Event], taken: Sequence[Taken]) -> None:
        self._journal.append(heard_ms, events, taken)
        self._count += 1
        if not self._count % self._every:
            self._journal.save(self._state)


def lived(engine: Engine, day: Day = A_DAY, every: int = 1_000_000) -> tuple[SqlJournal, State, ListJournal]:
    """A day written down, with a snapshot after `every` instants: the journal, its state, and a witness."""
    journal, witness = SqlJournal(engine), ListJournal()
    epoch = journal.lead()
    state = journal.recover(day.terms)
    lives.live(day, Both(Saving(journal, state, every), witness), state, epoch)
    return journal, state, witness


# -- it remembers -----------------------------------------------------------------------------------------


def test_what_is_read_back_is_what_was_heard(engine: Engine) -> None:
    journal, state, witness = lived(engine)
    tail = history.tail(engine, 0, limit=10_000)
    assert [(heard_ms, event) for _, heard_ms, event in tail.events] == witness.rows
    assert tail.seq == len(witness.rows) == state.truth.seq == journal.verify()


def test_folding_twice_gives_the_same_bytes(engine: Engine) -> None:
    journal, state, _ = lived(engine)
    assert journal.recover().snapshot() == journal.recover().snapshot() == state.snapshot()


def test_recovering_from_a_snapshot_gives_the_same_bytes_as_folding_all(
    new_engine: Callable[[], Engine],
) -> None:
    plain, _, _ = lived(new_engine())
    saved, state, _ = lived(new_engine(), every=5)
    assert 0 < saved.rows_since_snapshot < 30 < plain.rows_since_snapshot
    assert saved.recover().snapshot() == plain.recover().snapshot() == state.snapshot()


def test_only_the_last_snapshots_are_kept(engine: Engine) -> None:
    journal, state, _ = lived(engine, every=2)
    journal.save(state)
    journal.save(state)  # once more at the same row
    kept = rows_of(engine, "snapshots")["snapshots"]
    assert len(kept) == SNAPSHOTS_KEPT
    assert kept[-1][0] == state.truth.seq
    assert journal.rows_since_snapshot == 0


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(day=lives.days)
def test_whatever_happens_is_remembered_and_adds_up(sqlite: NewUrl, day: Day) -> None:
    engine = hasty(open_database(sqlite()))
    journal, state, witness = lived(engine, day, every=7)
    assert [row[1:] for row in history.tail(engine, 0, limit=10_000).events] == witness.rows
    assert all_agrees(engine) == len(witness.rows)
    assert journal.recover(day.terms).snapshot() == state.snapshot()
    postings = [event for _, event in witness.rows if isinstance(event, ev.Posted)]
    lines = rows_of(engine, "ledger")["ledger"]
    assert sum(line[8] for line in lines) == 0
    assert {(line[7], line[8]) for line in lines} == {line for posting in postings for line in posting.lines}
    balances = {account: amount for account, amount in rows_of(engine, "balances")["balances"] if amount}
    assert balances == {account: amount for account, amount in ledger.balances(postings).items() if amount}
    engine.dispose()


def test_a_job_finds_its_own_events(engine: Engine) -> None:
    _, _, witness = lived(engine)
    mine = [event for _, event in witness.rows if chain.job_of(event) == "j-0001"]
    assert [event for _, _, event in history.events_of(engine, "j-0001")] == mine
    assert {type(event) for event in mine} >= {
        ev.JobSubmitted,
        ev.RunPlaced,
        ev.RunStarted,
        ev.RunEnded,
        ev.Posted,
    }
    seq = history.events_of(engine, "j-0001", limit=3)[-1][0]
    assert [event for _, _, event in history.events_of(engine, "j-0001", after_seq=seq)] == mine[3:]


def test_a_stream_of_a_tenant_has_their_jobs_and_money_and_goes_on_where_it_was(engine: Engine) -> None:
    _, _, witness = lived(engine)
    found: list[ev.Event] = []
    seq = 0
    while (tail := history.tail(engine, seq, limit=4, tenant="bo")).seq > seq:
        found += [event for _, _, event in tail.events]
        seq = tail.seq
    assert seq == len(witness.rows) == history.newest(engine)
    bos = ("j-0001", "j-0002")
    assert found == [
        event
        for _, event in witness.rows
        if chain.job_of(event) in bos or (isinstance(event, ev.Posted) and event.tenant == "bo")
    ]


# -- nothing is changed -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "deed",
    [
        "UPDATE journal SET heard_ms = 0 WHERE seq = 3", "DELETE FROM journal WHERE seq = 3",
        "UPDATE ledger SET amount = 0", "DELETE FROM ledger",
    ],
)  # fmt: skip
def test_the_database_refuses_to_change_what_is_written(engine: Engine, deed: str) -> None:
    lived(engine)
    with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
        connection.execute(text(deed))


def test_not_even_by_writing_over_it(sqlite: NewUrl) -> None:
    engine = open_database(sqlite())
    lived(engine)
    with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
        connection.execute(
            text("INSERT OR REPLACE INTO journal SELECT seq, 0, tag, job, body, chain FROM journal")
        )
    engine.dispose()


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("SET body = replace(body, '.0', '.1')", "tag = 'RunStarted'"),
        ("SET heard_ms = heard_ms + 1", "tag = 'JobEnded'"),
        ("SET chain = (SELECT chain FROM journal WHERE seq = 2)", "tag = 'RunPlaced'"),
        ("SET job = 'j-9999'", "tag = 'RunEnded'"),
        ("SET tag = 'NoSuchTag', seq = -seq", "tag = 'JobRequeued'"),
    ],
)
def test_a_row_that_was_changed_by_hand_is_named(engine: Engine, change: str, where: str) -> None:
    journal, _, _ = lived(engine)
    with engine.begin() as connection:
        seq = connection.execute(text(f"SELECT MIN(seq) FROM journal WHERE {where}")).scalar_one()
    by_hand(engine, f"UPDATE journal {change} WHERE seq = {seq}")
    for look in (journal.recover, journal.verify):
        with pytest.raises(JournalDamaged, match=rf"Row {seq} of the journal .*starverse restore FILE"):
            look()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("body = CAST(body AS BLOB)", "Row 5 of the journal is not what was written"),
        ("heard_ms = 'noon'", "Row 5 of the journal is not what was written"),
        ("body = CAST(x'ff' AS TEXT)", "Row 1 of the journal, or one of the 5,000 after it, cannot be read"),
    ],
)
def test_a_row_of_another_kind_is_named(embedded: Engine, change: str, says: str) -> None:
    journal, _, _ = lived(embedded)
    by_hand(embedded, f"UPDATE journal SET {change} WHERE seq = 5")
    with pytest.raises(JournalDamaged, match=says):
        journal.recover()


def test_a_row_that_cannot_have_happened_is_named(engine: Engine) -> None:
    journal = SqlJournal(engine)
    journal.lead()
    journal.append(START_MS, [ev.TenantOpened("ada"), ev.JobEnded("nobody", "done")], [])
    with pytest.raises(JournalDamaged, match="Row 2 of the journal cannot have happened"):
        journal.recover()


def test_a_row_that_is_gone_is_named(engine: Engine) -> None:
    journal, _, _ = lived(engine)
    by_hand(engine, "DELETE FROM journal WHERE seq = 9")
    with pytest.raises(JournalDamaged, match="Row 9 of the journal is missing"):
        journal.recover()


def test_rows_lost_after_a_snapshot_are_missed(engine: Engine) -> None:
    journal, state, _ = lived(engine)
    journal.save(state)
    by_hand(engine, "DELETE FROM journal WHERE seq = :seq", seq=state.truth.seq)
    with pytest.raises(JournalDamaged, match=f"Row {state.truth.seq} of the journal is missing"):
        journal.recover()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE ledger SET amount = amount + 1 WHERE seq = {seq} AND line = 1", "Line 1 of posting {seq}"),
        ("DELETE FROM ledger WHERE seq = {seq} AND line = 0", "Line 0 of posting {seq}"),
        ("UPDATE ledger SET seq = 100000 WHERE seq = {last} AND line = 1", "Line 1 of posting {last}"),
        ("UPDATE balances SET amount = amount - 5 WHERE account = 'wallet/bo'", "The balance of wallet/bo"),
        ("DELETE FROM balances WHERE account = 'income/compute'", "The balance of income/compute"),
    ],
)
def test_money_changed_by_hand_is_found(engine: Engine, statement: str, says: str) -> None:
    journal, _, witness = lived(engine)
    postings = [seq for seq, (_, event) in enumerate(witness.rows, 1) if isinstance(event, ev.Posted)]
    seqs = {"seq": postings[3], "last": postings[-1]}
    by_hand(engine, statement.format(**seqs))
    with pytest.raises(JournalDamaged, match=says.format(**seqs)):
        journal.verify()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE journal SET body = body || ' ' WHERE seq = {seq}", "Row {seq} of the journal is not what"),
        ("UPDATE journal SET body = body || ' ' WHERE seq = 1", "Row 1 of the journal is not what"),
        ("DELETE FROM journal WHERE seq = {seq}", "Row {seq} of the journal is missing"),
        ("UPDATE ledger SET amount = amount + 1 WHERE seq = {seq} AND line = 1", "Line 1 of posting {seq}"),
        ("UPDATE balances SET amount = amount - 5 WHERE account = 'wallet/bo'", "The balance of wallet/bo"),
    ],
)
def test_what_was_damaged_before_a_clean_stop_is_found_at_the_next_start(
    engine: Engine, statement: str, says: str
) -> None:
    journal, state, witness = lived(engine)
    journal.save(state)  # as every clean stop does: nothing is left to fold
    postings = [seq for seq, (_, event) in enumerate(witness.rows, 1) if isinstance(event, ev.Posted)]
    by_hand(engine, statement.format(seq=postings[3]))
    with pytest.raises(JournalDamaged, match=says.format(seq=postings[3])):
        journal.recover()


def test_a_journal_whose_end_was_cut_off_does_not_verify(engine: Engine) -> None:
    journal, state, _ = lived(engine)
    journal.save(state)
    last = state.truth.seq
    by_hand(engine, f"DELETE FROM journal WHERE seq = {last}")
    with pytest.raises(JournalDamaged, match=f"Row {last} of the journal is missing"):
        journal.verify()


def test_a_start_checks_a_bounded_number_of_rows_before_the_snapshot(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "CHECKED_BEFORE", 5)
    journal, state, _ = lived(engine)
    journal.save(state)
    by_hand(engine, f"UPDATE journal SET body = body || ' ' WHERE seq = {state.truth.seq - 5}")
    assert journal.recover().snapshot() == state.snapshot()
    with pytest.raises(JournalDamaged, match=f"Row {state.truth.seq - 5} of the journal"):
        journal.verify()


def test_a_broken_database_file_is_said_with_the_remedy(embedded: Engine) -> None:
    journal, _, _ = lived(embedded)
    file = Path(str(embedded.url.database))
    embedded.dispose()  # the last to close it puts all of it into the file
    with file.open("r+b") as pages:
        pages.seek(4096)
        pages.write(os.urandom(file.stat().st_size - 4096))
    for look in (journal.lead, journal.recover):
        with pytest.raises(JournalDamaged, match="starverse restore FILE"):
            look()


def test_a_damaged_snapshot_costs_time_and_nothing_else(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    journal, state, _ = lived(engine, every=5)
    with engine.begin() as connection:
        newest, _, oldest = (
            connection.execute(text("SELECT seq FROM snapshots ORDER BY seq DESC")).scalars().all()
        )
        connection.execute(text("UPDATE snapshots SET heard_ms = 1 WHERE seq = :seq"), {"seq": newest})
    assert journal.recover().snapshot() == state.snapshot()
    assert f"the snapshot of row {newest} is damaged" in caplog.text
    with engine.begin() as connection:
        connection.execute(text("UPDATE snapshots SET state = chain"))
    assert journal.recover().snapshot() == state.snapshot()
    assert f"the snapshot of row {oldest} is damaged" in caplog.text


# -- one writer, one transaction --------------------------------------------------------------------------


def test_a_server_that_was_replaced_can_write_no_more(engine: Engine) -> None:
    old, new = SqlJournal(engine), SqlJournal(engine)
    assert old.lead() == 1
    old.append(START_MS, [ev.LeaderChanged(1)], [])
    state = old.recover()
    assert new.lead() == 2
    new.append(START_MS, [ev.LeaderChanged(2)], [])
    with pytest.raises(StaleEpoch, match="epoch 2"):
        old.append(START_MS, [ev.TenantOpened("ada")], [])
    with pytest.raises(StaleEpoch, match="epoch 2"):
        old.append(START_MS, [], [Taken(1, "")])
    with pytest.raises(StaleEpoch, match="epoch 2"):
        old.save(state)
    assert new.verify() == 2
    assert old.lead() == 3
    old.append(START_MS, [ev.LeaderChanged(3)], [])
    assert old.verify() == 3


def test_nothing_is_written_by_who_does_not_lead(engine: Engine) -> None:
    with pytest.raises(AssertionError, match="lead"):
        SqlJournal(engine).append(START_MS, [ev.TenantOpened("ada")], [])


def test_an_append_is_whole_or_not_at_all(engine: Engine) -> None:
    journal, requests = SqlJournal(engine), Requests(engine, lambda: START_MS)
    journal.lead()
    number = requests.submit(rq.OpenTenant("ada", 10))
    opened: list[Any] = [ev.TenantOpened("ada"), ledger.trial("ada", 10)]
    before = rows_of(engine, "journal", "ledger", "balances", "requests")
    with pytest.raises(AssertionError, match="2 requests were taken, 1 of them waited"):
        journal.append(START_MS, opened, [Taken(number, ""), Taken(number + 1, "")])
    assert rows_of(engine, "journal", "ledger", "balances", "requests") == before
    journal.append(START_MS, opened, [Taken(number, "")])  # and the journal goes on as if nothing had been
    assert journal.verify() == 2
    with pytest.raises(AssertionError, match="1 requests were taken, 0 of them waited"):
        journal.append(START_MS, [ev.NodeCordoned("n")], [Taken(number, "")])
    assert journal.verify() == 2

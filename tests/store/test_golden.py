"""The journals that earlier releases wrote fold to what they always folded to (see golden.py)."""

import pytest
from sqlalchemy import Engine, insert
from tests.store import golden

from starverse.model import events as ev
from starverse.store import ledger, schema
from starverse.store.journal import SqlJournal
from starverse.store.raising import OLD, raised


def test_every_release_has_a_golden_journal() -> None:
    assert golden.releases()[0] == "0.1"


@pytest.mark.parametrize("release", golden.releases())
def test_an_old_journal_folds_to_the_state_it_always_did(engine: Engine, release: str) -> None:
    rows = [
        {
            "seq": line.seq, "heard_ms": line.heard_ms, "tag": line.tag, "job": line.job,
            "chain": bytes.fromhex(line.chain), "body": bytes(line.body).decode(),
        }
        for line in golden.read(release)
    ]  # fmt: skip
    with engine.begin() as connection:
        connection.execute(insert(schema.journal), rows)
        for row in rows:  # a start compares the postings with the ledger
            event = raised(row["tag"], row["body"], OLD)
            if isinstance(event, ev.Posted):
                ledger.post(connection, list(ledger.lines_of(row["seq"], row["heard_ms"], event)))
    state = SqlJournal(engine).recover()  # checks the chain, too
    stored = (golden.FOLDER / f"journal-{release}.state.json").read_bytes()
    assert golden.readable(state.snapshot()).decode() == stored.decode()


def test_in_the_newest_everything_happens() -> None:
    newest = golden.read(golden.releases()[-1])
    assert {line.tag for line in newest} == {event.__name__ for event in ev.Event.__args__}

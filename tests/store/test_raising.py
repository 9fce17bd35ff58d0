"""Old rows are raised to today's events when they are read."""

from typing import Any

import pytest
from sqlalchemy import Engine, insert

from starverse.model import events as ev
from starverse.model.errors import JournalDamaged
from starverse.store import chain, schema
from starverse.store.journal import SqlJournal
from starverse.store.raising import OLD, raised

Shape = dict[str, Any]


def joined_2(shape: Shape) -> Shape:
    return {"type": "MachineJoined", "machine": shape["host"], "cards": 8}


def joined(shape: Shape) -> Shape:
    return {"type": "NodeJoined", "node": shape["machine"], "kind": "cpu", "cards": shape["cards"]}


MADE_UP = {"HostJoined": joined_2, "MachineJoined": joined}


def test_nothing_is_old_yet() -> None:
    assert OLD == {}


@pytest.mark.parametrize(
    "body",
    [
        '{"type":"HostJoined","host":"n1"}',
        '{"type":"MachineJoined","machine":"n1","cards":8}',
        '{"type":"NodeJoined","node":"n1","kind":"cpu","cards":8}',
    ],
)
def test_a_row_is_raised_through_all_the_shapes_it_had(body: str) -> None:
    assert raised(body.split('"')[3], body, MADE_UP) == ev.NodeJoined("n1", "cpu", 8)


def test_an_old_journal_folds(engine: Engine) -> None:
    body = '{"type":"HostJoined","host":"n1"}'
    link = chain.link(chain.START, 1, 1000, body.encode())
    row = {"seq": 1, "heard_ms": 1000, "tag": "HostJoined", "job": None, "body": body, "chain": link}
    with engine.begin() as connection:
        connection.execute(insert(schema.journal), row)
    journal = SqlJournal(engine, old=MADE_UP)
    journal.lead()
    journal.append(2000, [ev.NodeCordoned("n1")], [])
    assert journal.verify() == 2
    assert journal.recover().nodes["n1"].cards == 8
    with pytest.raises(JournalDamaged, match="Row 1 of the journal, HostJoined, cannot be read"):
        SqlJournal(engine).recover()


def test_shapes_that_lead_in_a_ring_end() -> None:
    ring = {"A": lambda _: {"type": "B"}, "B": lambda _: {"type": "A"}}
    with pytest.raises(ValueError, match="Invalid value 'A'"):
        raised("A", '{"type":"A"}', ring)

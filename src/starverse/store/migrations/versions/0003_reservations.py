"""Reservations for lists to read, those that are over too: filled from what the journal says of them."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Bring the schema here."""
    table = op.create_table(
        "reservations",
        sa.Column("reservation", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("made_ms", sa.BigInteger(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("shares", sa.Text(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("reservation", name="reservations_pk"),
    )
    only = sa.text("ended_ms IS NOT NULL")
    op.create_index(
        "reservations_ended", "reservations", ["tenant", "ended_ms"], sqlite_where=only, postgresql_where=only
    )
    rows = _folded()
    if rows:
        op.bulk_insert(table, rows)


def _folded() -> list[dict[str, Any]]:
    """A row for each reservation there ever was."""
    found: dict[str, dict[str, Any]] = {}
    said = "SELECT seq, heard_ms, tag, body FROM journal WHERE tag LIKE 'Reservation%' ORDER BY seq"
    for seq, heard_ms, tag, body in op.get_bind().execute(sa.text(said)):
        event = json.loads(body)
        spec = event["reservation"]
        if tag == "ReservationMade":
            found[spec["name"]] = {
                "reservation": spec["name"], "number": seq, "tenant": spec["tenant"], "made_ms": heard_ms,
                "spec": _written(spec), "shares": _written(event["shares"]), "ended_ms": None, "why": "",
            }  # fmt: skip
        elif tag == "ReservationMoved":
            found[spec]["shares"] = _written(event["shares"])
        elif tag == "ReservationEnded":
            found[spec] |= {"ended_ms": heard_ms, "why": event.get("why", "")}
    return list(found.values())


def _written(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

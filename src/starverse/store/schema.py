"""The tables: journal and ledger are the truth, projections of them are for reading, tenants are rows.

All times are UTC milliseconds, all money micro-yuan, all cards milli-cards: BIGINT columns, never floats.
What the loop writes is TEXT without a limit: how long a name may be is for the service to say, before the
loop hears of it; a row that the database refuses would end the loop.
A change here goes with a new file in `migrations/versions` (a test compares the two).
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

tables = MetaData(
    naming_convention={  # Alembic changes on SQLite only what has a name
        "ix": "%(table_name)s_%(column_0_name)s",
        "pk": "%(table_name)s_pk",
        "fk": "%(table_name)s_%(column_0_name)s_fk",
        "uq": "%(table_name)s_%(column_0_N_name)s_unique",
    }
)

Serial = BigInteger().with_variant(Integer, "sqlite")
"""A key that counts up on both databases (SQLite counts INTEGER PRIMARY KEY only)."""


def _only(condition: str) -> dict[str, Any]:
    """The arguments that make an index a partial one."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


journal = Table(
    "journal",
    tables,
    Column("seq", Serial, primary_key=True, autoincrement=False),
    Column("heard_ms", BigInteger, nullable=False),
    Column("tag", Text, nullable=False),
    Column("job", Text),
    Column("body", Text, nullable=False),  # the event as msgspec JSON
    Column("chain", LargeBinary(16), nullable=False),  # blake2b of the row and the chain before it
    Index("journal_job", "job", "seq", **_only("job IS NOT NULL")),
)

snapshots = Table(
    "snapshots",
    tables,
    Column("seq", Serial, primary_key=True, autoincrement=False),
    Column("heard_ms", BigInteger, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("chain", LargeBinary(16), nullable=False),
    Column("check", LargeBinary(16), nullable=False),  # blake2b of all of the above
)

leader = Table(
    "leader",
    tables,
    Column("id", Integer, primary_key=True, autoincrement=False),  # one row, 1
    Column("epoch", BigInteger, nullable=False),
)

requests = Table(
    "requests",
    tables,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("made_ms", BigInteger, nullable=False),
    Column("body", Text, nullable=False),  # the request as msgspec JSON
    Column("job", Text, unique=True),  # of a submission: a job, or array, is submitted once, ever
    Column("taken_ms", BigInteger),  # null: not heard yet
    Column("refusal", Text),  # "" when it was granted
    Index("requests_waiting", "id", **_only("taken_ms IS NULL")),
)

ledger = Table(
    "ledger",
    tables,
    Column("seq", BigInteger, nullable=False, primary_key=True, autoincrement=False),  # of the journal row
    Column("line", Integer, nullable=False, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("card_ms", BigInteger, nullable=False),
    Column("from_ms", BigInteger, nullable=False),
    Column("to_ms", BigInteger, nullable=False),
    Column("note", Text, nullable=False),
    Index("ledger_tenant", "tenant", "seq"),
    Index("ledger_job", "job", "seq", **_only("job <> ''")),
    sqlite_with_rowid=False,
)

balances = Table(
    "balances",
    tables,
    Column("account", Text, primary_key=True),
    Column("amount", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

prices = Table(
    "prices",
    tables,
    Column("kind", Text, primary_key=True),
    Column("from_ms", BigInteger, primary_key=True, autoincrement=False),
    Column("price", BigInteger, nullable=False),  # micro-yuan per card-hour
)

jobs = Table(
    "jobs",
    tables,
    Column("job", Text, primary_key=True),
    Column("number", BigInteger, nullable=False, unique=True),  # journal seq of its submission: the cursor
    Column("tenant", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("outcome", Text, nullable=False),  # "" until it ended
    Column("why", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("cards_min", BigInteger, nullable=False),
    Column("cards_max", BigInteger, nullable=False),
    Column("price", BigInteger, nullable=False),
    Column("priority", Text, nullable=False),
    Column("submitted_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger),
    Column("ended_ms", BigInteger),
    Column("run", Text, nullable=False),  # the run it has now, or had last
    Column("runs", Integer, nullable=False),
    Column("charged", BigInteger, nullable=False),  # Σ charges posted
    Column("credited", BigInteger, nullable=False),  # Σ credits posted
    Column("card_ms", BigInteger, nullable=False),  # Σ metered, before credits
    Column("spec", Text, nullable=False),  # JobSpec as msgspec JSON
    Column("array", Text, nullable=False, server_default=""),  # "" for a job by itself
    Index("jobs_tenant", "tenant", "number"),
    Index("jobs_alive", "phase", "number", **_only("phase <> 'ended'")),
    Index("jobs_outcome", "outcome"),
    Index("jobs_array", "array", "number", **_only("\"array\" <> ''")),
)

runs = Table(
    "runs",
    tables,
    Column("run", Text, primary_key=True),
    Column("job", Text, nullable=False, index=True),
    Column("attempt", Integer, nullable=False),
    Column("shares", Text, nullable=False),
    Column("cards", BigInteger, nullable=False),  # milli-cards
    Column("placed_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger),
    Column("resumed_ms", BigInteger),  # its first optimizer step
    Column("resumed_step", BigInteger),
    Column("checkpoint_ms", BigInteger),
    Column("checkpoint_step", BigInteger),
    Column("ended_ms", BigInteger),
    Column("how", Text, nullable=False),
    Column("code", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("fault", Boolean, nullable=False),  # the platform answers for its end
    Column("injected", Boolean, nullable=False),
)

reservations = Table(
    "reservations",
    tables,
    Column("reservation", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),  # journal seq of its making
    Column("tenant", Text, nullable=False),
    Column("made_ms", BigInteger, nullable=False),
    Column("spec", Text, nullable=False),  # Reservation as msgspec JSON
    Column("shares", Text, nullable=False),  # the cards it has, or had last
    Column("ended_ms", BigInteger),
    Column("why", Text, nullable=False),  # how it ended: over, cancelled; "" until then
    Index("reservations_ended", "tenant", "ended_ms", **_only("ended_ms IS NOT NULL")),
)

tenants = Table(
    "tenants",
    tables,
    Column("tenant", String(64), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("unix_id", Integer, nullable=False, unique=True),  # 61000 + n: the Unix user of its jobs
    Column("created_ms", BigInteger, nullable=False),
)

projects = Table(
    "projects",
    tables,
    Column("project", String(64), primary_key=True),
    Column("tenant", ForeignKey("tenants.tenant"), nullable=False),
    Column("name", String(128), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    UniqueConstraint("tenant", "name"),
)

users = Table(
    "users",
    tables,
    Column("user", String(64), primary_key=True),
    Column("email", String(254), nullable=False, unique=True),  # lower case
    Column("password", Text, nullable=False),  # argon2id
    Column("operator", Boolean, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

members = Table(
    "members",
    tables,
    Column("project", ForeignKey("projects.project"), primary_key=True),
    Column("user", ForeignKey("users.user"), primary_key=True),
    Column("role", String(16), nullable=False),  # viewer, member, owner
    Index("members_user", "user"),
)

tokens = Table(
    "tokens",
    tables,
    Column("token", String(16), primary_key=True),  # the public part, shown in lists
    Column("hash", LargeBinary(32), nullable=False, unique=True),  # sha256 of the whole token
    Column("user", ForeignKey("users.user"), nullable=False, index=True),
    Column("name", String(128), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Column("revoked_ms", BigInteger),
)

secrets = Table(
    "secrets",
    tables,
    Column("tenant", ForeignKey("tenants.tenant"), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("value", LargeBinary, nullable=False),  # a byte that says how it is sealed, then what is sealed
    Column("created_ms", BigInteger, nullable=False),
)

idempotency = Table(
    "idempotency",
    tables,
    Column("user", String(64), primary_key=True),
    Column("key", String(128), primary_key=True),
    Column("body_hash", LargeBinary(32), nullable=False),
    Column("answer", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

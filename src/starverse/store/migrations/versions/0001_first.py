"""The first schema, with a journal and a ledger that the database itself keeps append-only."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

APPEND_ONLY = ("journal", "ledger")
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Bring the schema here."""
    _create_loop()
    _create_projections()
    _create_people()
    _keep_append_only()


def _create_loop() -> None:
    op.create_table(
        "journal",
        _column("seq", SERIAL, autoincrement=False),
        _number("heard_ms"),
        _text("tag"),
        _text("job", nullable=True),
        _text("body"),
        _bytes("chain", 16),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("journal_job", "journal", ["job", "seq"], **_only("job IS NOT NULL"))
    op.create_table(
        "snapshots",
        _column("seq", SERIAL, autoincrement=False),
        _number("heard_ms"),
        _bytes("state"),
        _bytes("chain", 16),
        _bytes("check", 16),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_table(
        "leader",
        _column("id", sa.Integer(), autoincrement=False),
        _number("epoch"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "requests",
        _column("id", SERIAL, autoincrement=True),
        _number("made_ms"),
        _text("body"),
        _text("job", nullable=True),
        _number("taken_ms", nullable=True),
        _text("refusal", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job"),
    )
    op.create_index("requests_waiting", "requests", ["id"], **_only("taken_ms IS NULL"))
    op.create_table(
        "ledger",
        _number("seq", autoincrement=False),
        _column("line", sa.Integer(), autoincrement=False),
        _number("at_ms"),
        *map(_text, ("kind", "tenant", "job", "run", "account")),
        *map(_number, ("amount", "card_ms", "from_ms", "to_ms")),
        _text("note"),
        sa.PrimaryKeyConstraint("seq", "line"),
        sqlite_with_rowid=False,
    )
    op.create_index("ledger_tenant", "ledger", ["tenant", "seq"])
    op.create_index("ledger_job", "ledger", ["job", "seq"], **_only("job <> ''"))
    op.create_table(
        "balances",
        _text("account"),
        _number("amount"),
        sa.PrimaryKeyConstraint("account"),
        sqlite_with_rowid=False,
    )


def _create_projections() -> None:
    op.create_table(
        "prices",
        _text("kind"),
        _number("from_ms", autoincrement=False),
        _number("price"),
        sa.PrimaryKeyConstraint("kind", "from_ms"),
    )
    op.create_table(
        "jobs",
        _text("job"),
        _number("number"),
        *map(_text, ("tenant", "project", "owner", "name", "phase", "outcome", "why", "kind")),
        *map(_number, ("cards_min", "cards_max", "price")),
        _text("priority"),
        _number("submitted_ms"),
        _number("started_ms", nullable=True),
        _number("ended_ms", nullable=True),
        _text("run"),
        _column("runs", sa.Integer()),
        *map(_number, ("charged", "credited", "card_ms")),
        _text("spec"),
        sa.PrimaryKeyConstraint("job"),
        sa.UniqueConstraint("number"),
    )
    op.create_index("jobs_tenant", "jobs", ["tenant", "number"])
    op.create_index("jobs_alive", "jobs", ["phase", "number"], **_only("phase <> 'ended'"))
    op.create_index("jobs_outcome", "jobs", ["outcome"])
    times = ("started_ms", "resumed_ms", "resumed_step", "checkpoint_ms", "checkpoint_step", "ended_ms")
    op.create_table(
        "runs",
        _text("run"),
        _text("job"),
        _column("attempt", sa.Integer()),
        _text("shares"),
        _number("cards"),
        _number("placed_ms"),
        *(_number(name, nullable=True) for name in times),
        _text("how"),
        _column("code", sa.Integer()),
        _column("rank", sa.Integer()),
        _text("text"),
        _column("fault", sa.Boolean()),
        _column("injected", sa.Boolean()),
        sa.PrimaryKeyConstraint("run"),
    )
    op.create_index("runs_job", "runs", ["job"])


def _create_people() -> None:
    op.create_table(
        "tenants",
        _name("tenant", 64),
        _name("name", 128),
        _column("unix_id", sa.Integer()),
        _number("created_ms"),
        sa.PrimaryKeyConstraint("tenant"),
        sa.UniqueConstraint("unix_id"),
    )
    op.create_table(
        "projects",
        _name("project", 64),
        _name("tenant", 64),
        _name("name", 128),
        _number("created_ms"),
        sa.PrimaryKeyConstraint("project"),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"]),
        sa.UniqueConstraint("tenant", "name"),
    )
    op.create_table(
        "users",
        _name("user", 64),
        _name("email", 254),
        _text("password"),
        _column("operator", sa.Boolean()),
        _number("created_ms"),
        sa.PrimaryKeyConstraint("user"),
        sa.UniqueConstraint("email"),
    )
    op.create_table(
        "members",
        _name("project", 64),
        _name("user", 64),
        _name("role", 16),
        sa.PrimaryKeyConstraint("project", "user"),
        sa.ForeignKeyConstraint(["project"], ["projects.project"]),
        sa.ForeignKeyConstraint(["user"], ["users.user"]),
    )
    op.create_index("members_user", "members", ["user"])
    op.create_table(
        "tokens",
        _name("token", 16),
        _bytes("hash", 32),
        _name("user", 64),
        _name("name", 128),
        _number("created_ms"),
        _number("expires_ms"),
        _number("revoked_ms", nullable=True),
        sa.PrimaryKeyConstraint("token"),
        sa.ForeignKeyConstraint(["user"], ["users.user"]),
        sa.UniqueConstraint("hash"),
    )
    op.create_index("tokens_user", "tokens", ["user"])
    op.create_table(
        "secrets",
        _name("tenant", 64),
        _name("name", 64),
        _bytes("value"),
        _number("created_ms"),
        sa.PrimaryKeyConstraint("tenant", "name"),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"]),
    )
    op.create_table(
        "idempotency",
        _name("user", 64),
        _name("key", 128),
        _bytes("body_hash", 32),
        _text("answer"),
        _number("created_ms"),
        sa.PrimaryKeyConstraint("user", "key"),
    )


def _keep_append_only() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for table in APPEND_ONLY:
            for deed in ("UPDATE", "DELETE"):
                op.execute(
                    f"CREATE TRIGGER {table}_no_{deed.lower()} BEFORE {deed} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, 'the {table} is append-only'); END"
                )
        return
    op.execute(
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'the % is append-only', TG_TABLE_NAME; END $$"
    )
    for table in APPEND_ONLY:
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )


def _column(name: str, kind: Any, **options: Any) -> "sa.Column[Any]":
    return sa.Column(name, kind, **({"nullable": False} | options))


def _number(name: str, **options: Any) -> "sa.Column[Any]":
    return _column(name, sa.BigInteger(), **options)


def _text(name: str, **options: Any) -> "sa.Column[Any]":
    return _column(name, sa.Text(), **options)


def _name(name: str, length: int) -> "sa.Column[Any]":
    return _column(name, sa.String(length))


def _bytes(name: str, length: int | None = None) -> "sa.Column[Any]":
    return _column(name, sa.LargeBinary(length))


def _only(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}

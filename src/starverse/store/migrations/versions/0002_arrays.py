"""Which array a job is of, so that lists show it as one."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Bring the schema here."""
    op.add_column("jobs", sa.Column("array", sa.Text(), nullable=False, server_default=""))
    only = sa.text("\"array\" <> ''")
    op.create_index("jobs_array", "jobs", ["array", "number"], sqlite_where=only, postgresql_where=only)

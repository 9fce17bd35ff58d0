"""Runs the migrations on the connection that `open_database` hands over, in its transaction."""

from alembic import context

from starverse.store.schema import tables

context.configure(
    connection=context.config.attributes["connection"], target_metadata=tables, render_as_batch=True
)
context.run_migrations()

"""Runs migrations: on the connection that MODAK passes in, or on the database that MODAK_DATABASE_URL names."""

from __future__ import annotations

import os

from sqlalchemy import Connection

from alembic import context
from modak.store.engine import connect, supported, writing
from modak.store.schema import metadata


def migrate(connection: Connection) -> None:
    """Run the migrations in the connection's transaction."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,  # SQLite alters a table by copying it
        compare_server_default=True,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def main() -> None:
    """Run the migrations online. Offline SQL is not supported: it could not depend on what the database holds."""
    if context.is_offline_mode():
        raise SystemExit("migrations run on a database; --sql is not supported")
    given = context.config.attributes.get("connection")
    if given is not None:
        migrate(given)
        return
    url = context.get_x_argument(as_dictionary=True).get("url") or os.environ.get("MODAK_DATABASE_URL")
    if not url:
        raise SystemExit("which database? MODAK_DATABASE_URL=… or -x url=…")
    engine = connect(supported(url))
    with writing(engine) as connection:
        migrate(connection)
    engine.dispose()


main()

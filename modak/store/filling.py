"""The packaged knowledge and results into an empty database."""

from __future__ import annotations

from sqlalchemy import Connection

from modak import knowledge
from modak.ingest.reading import tables
from modak.packaged import PRINCIPAL
from modak.store import catalogue, curves, loading, versions


def fill(connection: Connection) -> None:
    """Everything in `benchmarks_db`, with the models of its results, within the connection's transaction."""
    found = knowledge.read_all(knowledge.packaged_root())
    catalogue.add(connection, found.entries, PRINCIPAL)
    if found.result_files:
        loading.load(connection, tables(found.result_files).tables, PRINCIPAL)
        curves.keep(connection, curves.newest(curves.read(connection))[1])
    versions.bump(connection)

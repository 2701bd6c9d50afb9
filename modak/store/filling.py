"""The packaged knowledge and results into an empty database."""

from __future__ import annotations

from sqlalchemy import Connection

from modak import knowledge
from modak.ingest.reading import tables
from modak.store import catalogue, curves, loading, versions

PRINCIPAL = "packaged"


def fill(connection: Connection) -> None:
    """Everything in `benchmarks_db`, with the models of its results, within the connection's transaction."""
    found = knowledge.read_all(knowledge.packaged_root())
    for values in (found.systems, found.processors, found.accelerators, found.images, found.rules):
        catalogue.add(connection, values, PRINCIPAL)
    if found.result_files:
        loading.load(connection, tables(found.result_files).tables, PRINCIPAL)
        curves.keep(connection, curves.newest(curves.read(connection))[1])
    versions.bump(connection)

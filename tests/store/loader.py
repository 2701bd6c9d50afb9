"""A load in a process of its own, for tests that kill it."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from modak.ingest.reading import tables
from modak.store import open_store
from tests.store.tables import ME


def load(url: str, path: Path, told: Connection) -> None:
    """Load a file; say when it starts, and when it is done."""
    with open_store(url, fill=False) as store:
        found = tables([path]).tables
        told.send("start")
        store.load(found, ME)
        told.send("done")

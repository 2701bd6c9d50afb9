"""Reading and checking files before the database is locked: nobody waits for a lock while a file is parsed.

Checked parts are kept in memory, and beyond :data:`IN_MEMORY` bytes in a temporary file without a name.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, Final

from modak.errors import DataError, Fault
from modak.ingest.sources import keeping
from modak.ingest.table import MOST_FAULTS, Batch, Table, first_faults
from modak.progress import Progress

IN_MEMORY: Final = 32 * 2**20


@dataclass(frozen=True)
class Staged:
    """A table whose rows have been checked, or are when they are read."""

    table: Table
    rows: int
    """How many were checked."""
    parts: Callable[[], Iterator[Batch]]
    """Reads them, from the beginning."""


def unread(table: Table) -> Staged:
    """A table whose rows are checked when they are read."""
    return Staged(table, 0, table.batches)


def _parts(file: IO[bytes], count: int) -> Iterator[Batch]:
    file.seek(0)
    for _ in range(count):
        yield pickle.load(file)  # noqa: S301 - written below, into a file that only this process has


@contextmanager
def staged(tables: Iterable[Table], skip: Callable[[Table], bool], progress: Progress) -> Iterator[Sequence[Staged]]:
    """Every table, read and checked; those for which ``skip`` is true are passed on unread.

    Raises :class:`modak.errors.DataError` with the first faults of all tables together.
    """
    every = list(tables)
    found: list[Staged] = []
    faults: list[Fault] = []
    rows = 0
    with ExitStack() as files:
        for number, table in enumerate(every):
            if skip(table):
                found.append(unread(table))
                continue
            file = files.enter_context(tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, prefix="modak-"))
            here = parts = 0
            try:
                for batch in table.batches():
                    with keeping():
                        pickle.dump(batch, file, protocol=pickle.HIGHEST_PROTOCOL)
                        file.flush()
                    here, parts = here + len(batch), parts + 1
                    progress((number + table.source.done) / len(every) / 2, rows + here)
            except DataError as error:
                faults += error.faults
                if len(faults) > MOST_FAULTS:
                    break
            rows += here
            found.append(Staged(table, here, partial(_parts, file, parts)))
        DataError.raise_for(first_faults(faults))
        yield found

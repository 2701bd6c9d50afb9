"""The files in which several workers count their requests, so that each of them can tell the sum under ``/metrics``."""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_NB, flock
from itertools import count
from pathlib import Path
from typing import Final

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder of these files; the client library reads it when it is imported."""
RESERVED: Final = 1 << 20
"""Bytes of each file: as much as the library maps at first, and more than all routes need."""
KINDS: Final = ("counter", "histogram")


def count_together() -> str:
    """Count in files that this process alone writes and all workers read, if there is a folder for them; returns what prevents it.

    A worker goes on where one that has ended left off: files for each process that ever ran would fill the folder.
    """
    folder = os.environ.get(FOLDER)
    if not folder:
        return ""
    try:
        place = _taken(Path(folder))
    except OSError as error:
        del os.environ[FOLDER]  # before the library reads it: this process then counts for itself alone
        return f"{folder}: {error.strerror}"
    from prometheus_client import values

    values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]
    return ""


def _taken(folder: Path) -> int:
    """The first place that no running process has; it is this one's until it ends, however it ends. Raises :class:`OSError`."""
    for place in count():
        lock = os.open(folder / f"{place}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        try:
            _reserve([folder / f"{kind}_{place}.db" for kind in KINDS])
        except OSError:
            os.close(lock)
            raise
        return place
    raise AssertionError


def _reserve(files: list[Path]) -> None:
    """Allocate the files that do not exist yet. Raises :class:`OSError` where there is no room.

    The library maps sparse files: writing into a hole while the disk is full would end the process (SIGBUS). Whoever reads them all
    meanwhile sees a file only when it is whole.
    """
    for each in files:
        if not each.exists():
            new = each.with_suffix(".new")
            try:
                new.write_bytes(bytes(RESERVED))
            except OSError:
                new.unlink(missing_ok=True)
                raise
            new.rename(each)

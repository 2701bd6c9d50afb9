"""Plans that are made while another writer holds SQLite's only write lock: they are spooled to files beside the database.

So no request waits for a load, and the plans are found like any other. The next plan that is stored brings them into the database.
PostgreSQL stores plans beside a load, and needs no spool.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL

from modak.errors import Unavailable
from modak.store.engine import OUT_OF_REACH, Locked
from modak.store.schema import now, plans, stored

RETRY_S: Final = 1.0
"""Seconds for which the lock is assumed to be still held, so that not every plan waits to find that out."""
AT_ONCE: Final = 100
"""Most spooled plans that are stored together with one plan."""
_COLUMNS: Final = frozenset(column.name for column in plans.columns)
_ID: Final = re.compile(r"[0-9A-Za-z]{1,64}")


class PlanSpool:
    """The spooled plans of one database."""

    def __init__(self, url: URL) -> None:
        is_file = url.drivername == "sqlite"
        self._database = Path(os.path.realpath(url.database or "") if is_file else "")  # by one name, also for those who come by a link
        self._folder = self._database.with_name(f"{self._database.name}-plans") if is_file else None
        self._held_until = float("-inf")

    def store_or_spool(self, row: Mapping[str, Any], store: Callable[[], None]) -> None:
        """``store`` a plan, or keep its ``row`` here where the database is locked. Raises :class:`modak.errors.Unavailable`."""
        if self._folder is not None and time.monotonic() < self._held_until:
            return self._put(self._folder, row)
        try:
            store()
        except Locked:
            if self._folder is None:
                raise
            self._held_until = time.monotonic() + RETRY_S
            self._put(self._folder, row)

    def waiting(self, plan_id: str | None = None) -> Iterator[tuple[Path, dict[str, Any] | None]]:
        """Files of spooled plans (or of one) with the rows to store; ``None``: there is nothing to store. Then :meth:`remove` the files."""
        for file in islice(self._files(plan_id), AT_ONCE):
            with suppress(OSError):  # another process has stored it; or it waits on: another user's, or no more files can be opened
                yield file, _row(file)

    def remove(self, files: list[Path]) -> None:
        """Remove the files of plans that are stored, and the folder with the last one."""
        for file in files:
            with suppress(OSError):  # another process was faster
                file.unlink()
        if files and self._folder is not None:
            with suppress(OSError):  # others have come meanwhile
                self._folder.rmdir()

    def find(self, plan_id: str) -> dict[str, Any] | None:
        """The row of a spooled plan. Look here before the database: a plan leaves the spool only after it has been stored."""
        return next((row for file in self._files(plan_id) if (row := _readable(file))), None)

    def every(self) -> list[dict[str, Any]]:
        """The rows of all spooled plans."""
        return [row for file in self._files() if (row := _readable(file))]

    def _files(self, plan_id: str | None = None) -> Iterator[Path]:
        """The files of all plans, or of one."""
        if self._folder is None:
            return
        try:
            names = [plan_id] if plan_id is not None else [file.name for file in self._folder.iterdir()]
        except OSError:
            return
        yield from (self._folder / name for name in names if _ID.fullmatch(name))

    def _put(self, folder: Path, row: Mapping[str, Any]) -> None:
        """Write a file and rename it at the end, so that nobody reads half of it. It can be read by whoever can read the database."""
        half = folder.with_name(f".{folder.name}-{secrets.token_hex(8)}")
        try:
            rights = self._database.stat().st_mode & 0o666
            with open(half, "x", encoding="utf-8", opener=_private) as file:
                file.write(json.dumps(row))
                os.fchmod(file.fileno(), rights)
            _moved_into(folder, half, row["id"], rights)
        except OSError as error:
            with suppress(OSError):
                half.unlink()
            why = f"the database is held by another process, and no plan can be kept in {folder}: {error.strerror}"
            raise Unavailable(why, public_message=OUT_OF_REACH) from None


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _moved_into(folder: Path, half: Path, name: str, rights: int) -> None:
    """Move a file into the folder; try twice, since another process may remove the empty folder in between."""
    for last in (False, True):
        try:
            with suppress(FileExistsError):
                folder.mkdir(0o700)
                folder.chmod(rights | (rights & 0o444) >> 2)  # who reads, enters
            half.rename(folder / name)
        except FileNotFoundError:
            if last:
                raise
        else:
            return


def _readable(file: Path) -> dict[str, Any] | None:
    """The row in a file; ``None`` also if it cannot be read."""
    with suppress(OSError):
        return _row(file)
    return None


def _row(file: Path) -> dict[str, Any] | None:
    """The row in a file; ``None`` if it has expired, or is of another version of MODAK. Raises :class:`OSError`, also if it is gone."""
    try:
        row = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return None
    if not isinstance(row, dict) or row.keys() != _COLUMNS:
        return None
    return row if row["expires_at"] is None or row["expires_at"] >= stored(now()) else None

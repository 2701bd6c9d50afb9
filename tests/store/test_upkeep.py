"""Copies of an SQLite database, and what finds damage in one."""

from __future__ import annotations

import fcntl
import os
import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from modak.errors import Conflict, RequestError, Unavailable
from modak.store import backup, check, migrate, open_store, upgrade
from modak.store.engine import reading, writing
from tests.store.tables import ME, ROWS, csv_table, results_of


def test_a_backup_is_a_whole_database(tmp_path: Path) -> None:
    """A copy made while the store is open opens and holds the results; an existing file is not overwritten."""
    copy = tmp_path / "copy.db"
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        backup(str(store.engine.url), copy)
        with pytest.raises(Conflict, match="exists"):
            backup(str(store.engine.url), copy)
        with pytest.raises(RequestError, match="nowhere"):
            backup(str(store.engine.url), tmp_path / "nowhere" / "copy.db")
    with open_store(f"sqlite:///{copy}", fill=False) as restored:
        assert len(results_of(restored, "3dgan")) == 8
        assert check(str(restored.engine.url)) == ()


@pytest.mark.parametrize("revision", ["0001", "0004"])
def test_an_older_database_is_copied_and_checked_before_it_is_upgraded(tmp_path: Path, revision: str) -> None:
    """As its refusal asks for; the copy is of the older version, too."""
    url, copy = f"sqlite:///{tmp_path / 'a.db'}", f"sqlite:///{tmp_path / 'copy.db'}"
    with open_store(url, fill=False) as store, writing(store.engine) as connection:
        migrate.to(connection, revision)
    with pytest.raises(Unavailable, match="make a backup first"):
        open_store(url)
    assert check(url) == ()
    backup(url, tmp_path / "copy.db")
    with pytest.raises(Unavailable, match="older"):
        open_store(copy)
    assert upgrade(copy)


@pytest.mark.parametrize("content", [None, b""])
def test_no_database_is_made_to_be_copied_or_checked(tmp_path: Path, content: bytes | None) -> None:
    """Where the address is wrong, the copy of a new database would look like a backup."""
    file = tmp_path / "wrong" / "a.db"
    if content is not None:
        file.parent.mkdir()
        file.write_bytes(content)
    before = sorted(tmp_path.rglob("*"))
    for refused in (lambda: backup(f"sqlite:///{file}", tmp_path / "copy.db"), lambda: check(f"sqlite:///{file}")):
        with pytest.raises(Unavailable, match=r"there is no database|is empty"):
            refused()
    assert sorted(path for path in tmp_path.rglob("*") if not path.name.endswith(("-wal", "-shm"))) == before


def test_a_backup_removes_what_killed_ones_have_left(tmp_path: Path) -> None:
    """Nobody sees a hidden folder that is as large as the database. One that another process is writing, or has just made, stays, and so
    does what is none."""
    killed, running, new, pipe = (tmp_path / f".modak-backup.{end}" for end in "abcd")
    new.mkdir()
    os.mkfifo(pipe)  # opened like a file, it would keep the backup waiting
    for folder in (killed, running):
        folder.mkdir()
        (folder / "copy.db").write_text("a part")
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        descriptor = os.open(running, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            backup(str(store.engine.url), tmp_path / "copy.db")
            assert sorted(tmp_path.glob(".*")) == [running, new, pipe]
        finally:
            os.close(descriptor)


def test_a_backup_of_a_damaged_database_is_refused(tmp_path: Path) -> None:
    """In one line that says so, wherever the damage is, and without a copy."""
    file, folder = tmp_path / "a.db", tmp_path / "backups"
    folder.mkdir()
    with open_store(f"sqlite:///{file}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        with reading(store.engine) as connection:
            page = connection.execute(text("SELECT rootpage FROM sqlite_master WHERE name = 'results'")).scalar_one()
    with file.open("r+b") as content:
        content.seek((page - 1) * 4096)
        content.write(b"X" * 4096)
    with pytest.raises(Unavailable, match="the file is damaged; restore a backup, and remove -wal"):
        backup(f"sqlite:///{file}", folder / "copy.db")
    assert list(folder.iterdir()) == []


def test_a_damaged_schema_is_called_damage(tmp_path: Path) -> None:
    """As after a backup was restored beside the log of the old file; the line says how to go on."""
    file = tmp_path / "a.db"
    open_store(f"sqlite:///{file}", fill=False).close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_master SET rootpage = 9999 WHERE name = 'results'")
    with pytest.raises(Unavailable, match="the file is damaged; restore a backup, and remove -wal"):
        open_store(f"sqlite:///{file}")


def test_a_backup_on_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """No half copy that somebody takes for a backup, and that stands in the way of the next one; the file is named, not the database."""
    folder = tmp_path / "backups"
    folder.mkdir()
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        try:
            with pytest.raises(RequestError, match=r"backups/copy\.db: cannot be written"):
                backup(str(store.engine.url), folder / "copy.db")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert list(folder.iterdir()) == []


def test_postgresql_is_not_called_sound_unseen(postgres_url: str) -> None:
    """``check`` looks at SQLite alone, and says what looks at the other."""
    with pytest.raises(RequestError, match="pg_amcheck"):
        check(postgres_url)


def test_a_damaged_row_is_found(tmp_path: Path) -> None:
    """``check`` names a row that points at nothing, and where that should be."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        raw = sqlite3.connect(tmp_path / "a.db")
        raw.execute("DELETE FROM loads")
        raw.commit()
        raw.close()
        assert "results row 1: no such row in loads" in check(str(store.engine.url))

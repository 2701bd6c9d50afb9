"""Connections to both databases, and the files of an SQLite database."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from sqlalchemy import text

from modak.errors import Unavailable
from modak.store import Store, backup, open_store, schema, upgrade
from modak.store.engine import VANISHED, reading, writing
from tests.store.tables import HEADER, ME, ROWS, csv_table, opened, results_of


def test_a_host_that_vanished_is_given_up(postgres_url: str) -> None:
    """By either end, after a minute and not after hours, also with data on their way: the lock of writers is free again."""
    with opened(postgres_url) as store, reading(store.engine) as connection:
        server = {name: int(connection.execute(text(f"SHOW {name}")).scalar_one()) for name in VANISHED}
        here = connection.connection.driver_connection.info.get_parameters()  # type: ignore[union-attr]
    silent = server["tcp_keepalives_idle"] + server["tcp_keepalives_interval"] * server["tcp_keepalives_count"]
    assert silent == server["tcp_user_timeout"] / 1000 == 60
    assert {name: int(here[name.replace("tcp_keep", "keep")]) for name in server} == server


def test_options_of_the_address_hold(postgres_url: str) -> None:
    """Also those for which we have values of our own."""
    upgrade(postgres_url, fill=False)
    with open_store(f"{postgres_url}?application_name=nightly", fill=False) as store, reading(store.engine) as connection:
        assert connection.execute(text("SHOW application_name")).scalar() == "nightly"


def test_a_connection_keeps_nothing_for_the_next_transaction(postgres_url: str) -> None:
    """Neither prepared statements nor temporary tables: a pooler gives each transaction another connection."""
    with opened(postgres_url) as store:
        store.load([csv_table(ROWS)], ME, replace=True)
        for _ in range(10):
            store.applications()
        with reading(store.engine) as connection:
            assert connection.execute(text("SELECT name FROM pg_prepared_statements")).all() == []
            assert connection.execute(text("SELECT relname FROM pg_class WHERE relname IN ('incoming', 'said')")).all() == []


def test_what_a_role_may_not_do_is_one_line(postgres_url: str) -> None:
    """As with a file that cannot be written: it is nothing that MODAK did wrong."""
    upgrade(postgres_url, fill=False)
    with pytest.raises(Unavailable, match="out of reach: permission denied"):
        open_store(f"{postgres_url}?options=-crole%3Dpg_monitor")


def test_a_database_without_its_tables_is_out_of_reach(store: Store) -> None:
    """As it is for a moment while a backup is restored: no defect of the service, which asks again later."""
    with writing(store.engine) as connection:
        schema.metadata.drop_all(connection)
    for use in (store.version, store.snapshot, lambda: store.load([csv_table(ROWS)], ME)):
        with pytest.raises(Unavailable, match="is out of reach: "):
            use()


def test_the_log_of_a_large_load_does_not_stay_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next write cuts it off, also while a service has the database open."""
    monkeypatch.setattr("modak.store.engine.LOG_BYTES", 50_000)
    log = tmp_path / "a.db-wal"
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(HEADER + "".join(f"a,,,1,,,epoch_time,{number},s,,,,\n" for number in range(1, 70_000)))], ME)
        large = log.stat().st_size
        store.access.note(ME, "load", "", "refused")
        assert log.stat().st_size <= 50_000 < large


def test_a_new_database_is_its_owners_alone(tmp_path: Path) -> None:
    """With the files beside it and its copies; one that its owner shares stays shared."""
    file, log, copies = tmp_path / "a.db", tmp_path / "a.db-wal", (tmp_path / "b.db", tmp_path / "c.db")
    with open_store(f"sqlite:///{file}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        backup(str(store.engine.url), copies[0])
        assert [stat.S_IMODE(each.stat().st_mode) for each in (file, log, copies[0])] == [0o600] * 3
    file.chmod(0o660)
    with open_store(f"sqlite:///{file}", fill=False) as store:
        store.load([csv_table(ROWS.replace("3dgan", "other"))], ME)
        backup(str(store.engine.url), copies[1])
        assert [stat.S_IMODE(each.stat().st_mode) for each in (file, log, copies[1])] == [0o660] * 3


def test_a_new_database_behind_a_link_is_its_owners_alone(tmp_path: Path) -> None:
    """A link to a file that is not there yet: administrators put data on another disk before it is first used."""
    link, there = tmp_path / "modak.db", tmp_path / "disk" / "modak.db"
    there.parent.mkdir()
    link.symlink_to(there)
    with open_store(f"sqlite:///{link}", fill=False):
        assert stat.S_IMODE(there.stat().st_mode) == 0o600


def test_a_database_that_was_removed_or_replaced_takes_nothing(tmp_path: Path) -> None:
    """Who has the file open could go on with it, and all that is answered would be lost. When it is back, all is well."""
    file, away = tmp_path / "a.db", tmp_path / "away.db"
    with open_store(f"sqlite:///{file}", fill=False) as store:
        uses = (
            lambda: store.load([csv_table(ROWS)], ME),
            lambda: store.access.note(ME, "load", "", "refused"),
            store.ready,
            store.version,
        )

        def refused() -> None:
            for use in uses:
                with pytest.raises(Unavailable, match="its file was removed or replaced while it was in use"):
                    use()

        file.rename(away)
        refused()
        assert not file.exists()
        file.write_bytes(away.read_bytes())
        refused()
        away.replace(file)
        for use in uses:
            use()
        assert len(results_of(store, "3dgan")) == 8


def test_a_database_that_cannot_be_looked_up_was_not_removed(tmp_path: Path) -> None:
    """Rights on its folder may have changed, or its disk answers with errors: the message says what, not to put another file there."""
    folder, away = tmp_path / "here", tmp_path / "away"
    with open_store(f"sqlite:///{folder}/a.db", fill=False) as store:
        folder.rename(away)
        folder.symlink_to(folder)  # an error that root meets, too
        with pytest.raises(Unavailable, match="its file cannot be looked up: Too many levels"):
            store.version()
        folder.unlink()
        away.rename(folder)
        store.version()


def test_a_database_that_is_removed_during_a_write_does_not_lose_it_unsaid(tmp_path: Path) -> None:
    """The end of the transaction is an error."""
    file = tmp_path / "a.db"
    with open_store(f"sqlite:///{file}", fill=False) as store, pytest.raises(Unavailable, match="removed or replaced"):
        store.load([csv_table(ROWS)], ME, progress=lambda *_: file.unlink(missing_ok=True))

"""Processes and threads at once, and processes that die: nothing is lost, nothing is half there."""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import count, islice
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import QueuePool, delete, func, select, text

from modak.dsl import Texts
from modak.errors import Unavailable
from modak.perfmodel.fitting.cells import Cell
from modak.perfmodel.fitting.curves import Curve, fit_cells
from modak.store import Store, backup, check, open_store, upgrade, versions
from modak.store.audit import Actor
from modak.store.engine import MOST_WAITING, Locked, reading, writing
from modak.store.schema import loads, results, series
from tests.conftest import PATIENCE_S
from tests.store import loader
from tests.store.tables import HEADER, ME, ROWS, applications, csv_table, opened, results_of

ROUNDS = int(os.environ.get("KILLS", "5"))
"""How often a load is killed; `KILLS=50 pytest tests/store/test_together.py -k killed` is the long way."""
COUNT = 10_000


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that takes some tenths of a second to load."""
    path = tmp_path_factory.mktemp("big") / "big.csv"
    lines = (f"a{i % 50},d,s,{1 + i % 64},1,1,wall_time,{1 + i / 7},s,{i},,,\n" for i in range(COUNT))
    path.write_text(HEADER + "".join(lines))
    return path


@pytest.mark.timeout(300 + 20 * ROUNDS)
def test_a_killed_load_leaves_all_or_nothing(url: str, big: Path) -> None:
    """`kill -9` at random moments of a load, the first at its start: the rows are all there or none is, and the next load works.

    On a busy machine a load may be done before any of these moments: then there are more.
    """
    upgrade(url, fill=False)
    chance = random.Random(5)  # noqa: S311 - moments, not secrets
    killed_in_time = 0
    whole = _run(url, big, None)[1]
    for round_number in count():
        if round_number >= ROUNDS and killed_in_time:
            break
        _empty(url)
        done, _ = _run(url, big, whole * chance.uniform(0.0, 1.0) * bool(round_number))
        with open_store(url, fill=False) as store:
            _wait_for_the_server_to_notice(store)
            with reading(store.engine) as connection:
                rows = connection.execute(select(func.count()).select_from(results)).scalar_one()
                kinds = connection.execute(select(func.count()).select_from(series)).scalar_one()
            assert (rows, kinds) in ((0, 0), (COUNT, 50)), f"round {round_number}"
            assert rows == COUNT or not done
            if store.engine.dialect.name == "sqlite":
                assert check(str(store.engine.url)) == ()
            killed_in_time += rows == 0
    assert _run(url, big, None)[0]


def _run(url: str, path: Path, kill_after: float | None) -> tuple[bool, float]:
    """A load in a process of its own: whether it said that it was done, and the seconds from its start to its end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["modak.store", "modak.ingest.reading", "pandas", "psycopg"])
    hears, tells = context.Pipe(duplex=False)
    child = context.Process(target=loader.load, args=(url, path, tells))
    child.start()
    tells.close()
    with hears:
        assert hears.recv() == "start"
        begin = time.monotonic()
        if kill_after is not None:
            time.sleep(kill_after)
            child.kill()
        child.join()
        done = hears.poll() and not _ended(hears)
    child.close()
    return done, time.monotonic() - begin


def _ended(hears: Connection) -> bool:
    try:
        return bool(hears.recv() != "done")
    except EOFError:
        return True


def _empty(url: str) -> None:
    with open_store(url, fill=False) as store, writing(store.engine) as connection:
        for table in (results, series, loads):
            connection.execute(delete(table))


def _wait_for_the_server_to_notice(store: Store) -> None:
    """PostgreSQL ends a dead client's transaction when it next writes to it; our lock tells when that was."""
    with writing(store.engine):
        pass


def test_loads_requests_and_fits_at_once(store: Store) -> None:
    """Eight threads load, fit and save plans at once: every row and plan arrives, no error, and no reader sees half a load."""
    rows = ROWS.removeprefix(HEADER)

    def load(number: int) -> int:
        return store.load([csv_table(HEADER + rows.replace("3dgan", f"app{number % 3}").replace("table 1", f"table {number}"))], ME).new

    def ask(number: int) -> int:
        store.plans.save(f"p{number}", {}, "{}", Texts("x"), data_version="1")
        return int(sum(curve.results_used for curve in store.models(f"app{number % 3}"))) % 8

    with ThreadPoolExecutor(8) as pool:
        loaded = [pool.submit(load, number) for number in range(12)]
        asked = [pool.submit(ask, number) for number in range(12)]
        assert [each.result() for each in loaded] == [8] * 12
        assert [each.result() for each in asked] == [0] * 12
    assert len(store.results(limit=1000).items) == 96
    assert sum(curve.results_used for curve in store.models()) == 96
    assert store.version().startswith("12-")


@pytest.mark.usefixtures("impatient")
def test_readers_do_not_wait_for_a_writer(store: Store) -> None:
    """While a load is under way, others read the state before it."""
    store.load([csv_table(ROWS)], ME)
    with writing(store.engine) as connection:
        connection.execute(delete(results))
        assert len(results_of(store, "3dgan")) == 8  # a writer would wait until it is refused
        connection.rollback()


def test_readers_do_not_wait_for_many_who_wait_to_write(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twenty that want to write during a load some wait and the others are told to come again; who reads is answered.

    They are told after half a second instead of five: a real waiting time, only shorter.
    """
    monkeypatch.setattr("modak.store.engine.POOL_WAIT_S", 0.5)
    with ThreadPoolExecutor(20) as pool:
        with writing(store.engine):
            waiting = [pool.submit(store.judge, "confirm", (), ME) for _ in range(20)]
            told = list(islice(as_completed(waiting), 20 - (MOST_WAITING - 1)))
            assert not applications(store)
        assert all(isinstance(each.exception(), Locked) for each in told)
        assert sum(each.exception() is None for each in waiting) == MOST_WAITING - 1


def test_a_writer_sees_what_was_stored_while_it_waited(postgres_url: str) -> None:
    """Whatever isolation is the server's default: a stricter one would refuse a writer whose transaction began before."""
    upgrade(postgres_url, fill=False)
    waits = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    strict = f"{postgres_url}?options=-cdefault_transaction_isolation%3Dserializable"
    with open_store(strict, fill=False) as store, ThreadPoolExecutor(1) as pool:
        with writing(store.engine) as connection:
            waiting = pool.submit(store.load, [csv_table(ROWS)], ME)
            while not connection.execute(waits).scalar():
                time.sleep(0.01)
            versions.bump(connection)
        assert waiting.result(PATIENCE_S).new == 8


def test_a_token_is_revoked_while_a_load_runs(postgres_url: str) -> None:
    """Nobody waits to end a token for the load that somebody does with it; nor to make one, nor for a plan's."""
    with opened(postgres_url) as store, ThreadPoolExecutor(1) as pool:
        store.plans.save("p1", {}, "{}", Texts("script"), data_version="1")
        with writing(store.engine):
            key = pool.submit(store.access.create, "0" * 64, "ci", "key:ci", ("load",), None, Actor("me")).result(PATIENCE_S)
            pool.submit(store.access.allow_result, "1" * 64, "p1", Actor("me")).result(PATIENCE_S)
            assert pool.submit(store.access.revoke, key.id, Actor("me")).result(PATIENCE_S)
        assert not store.access.revoke(key.id, Actor("me"))


def test_a_database_is_closed_when_its_loads_have_ended(url: str) -> None:
    """Whoever closes it, and ends the process then, takes no load with it."""
    closing, closed = Event(), Event()
    with opened(url) as store, ThreadPoolExecutor(1) as pool:

        def close(done: float, _rows: int) -> None:
            if done > 0.5 and not closing.is_set():
                closing.set()
                pool.submit(store.close).add_done_callback(lambda _: closed.set())
                assert not closed.wait(0.2)

        assert store.load([csv_table(ROWS)], ME, progress=close).new == 8
        assert closed.wait(PATIENCE_S)
        assert closing.is_set()
        assert applications(store) == {"3dgan"}


def test_a_host_starts_while_another_one_loads(url: str) -> None:
    """`modak db upgrade`, which comes before every start of the service, does not wait where there is nothing to do."""
    with opened(url) as store, ThreadPoolExecutor(1) as pool, writing(store.engine):
        assert not pool.submit(upgrade, url, fill=False).result(PATIENCE_S)


def test_what_is_loaded_has_no_room_meanwhile(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A temporary folder that is full or missing is one line, and nothing is stored. One byte is the memory here, in place of 32 MiB."""
    monkeypatch.setattr("modak.store.staging.IN_MEMORY", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(Unavailable, match="no temporary file can keep what is loaded: No such file or directory"):
        store.load([csv_table(ROWS)], ME)
    assert not applications(store)


def test_curves_are_fitted_without_a_connection(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long that takes, no transaction stays open for it, and nobody waits for the connection.

    The real fit runs; looking at the connections at that moment is what is added.
    """
    pool, held = store.engine.pool, []
    assert isinstance(pool, QueuePool)

    def fitted(cells: Iterable[Cell]) -> tuple[Curve, ...]:
        held.append(pool.checkedout())
        return fit_cells(cells)

    monkeypatch.setattr("modak.store.curves.fit_cells", fitted)
    asks: tuple[Callable[[], object], ...] = (store.models, lambda: store.models_of("3dgan"))
    for repeat, ask in enumerate(asks):
        store.load([csv_table(ROWS + f"3dgan,clic,supermuc-ng,64,4,12,epoch_time,{60 + repeat},s,,,,\n")], ME)
        ask()
    assert held == [0, 0]


@pytest.mark.usefixtures("impatient")
def test_a_locked_database_is_one_line(tmp_path: Path) -> None:
    """A writer that waits too long says that another process holds the database."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="another process holds it"):
            store.load([csv_table(ROWS)], ME)
        other.execute("ROLLBACK")
        other.close()
        assert store.load([csv_table(ROWS)], ME).new == 8


def test_a_lost_connection_is_one_line_and_stores_nothing(postgres_url: str) -> None:
    """The server ends the loader's connection between two files: exit status 3, and the database is as before."""
    with opened(postgres_url) as store, open_store(postgres_url, fill=False) as other:
        whole = csv_table(ROWS)

        def cut(_done: float, _rows: int) -> None:
            with reading(other.engine) as connection:
                connection.execute(
                    text("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()")
                )

        with pytest.raises(Unavailable, match="out of reach") as caught:
            store.load([whole, csv_table(ROWS.replace("3dgan", "other"))], ME, progress=cut)
        assert len(str(caught.value).splitlines()) == 1
        assert not applications(other)
        assert store.load([whole], ME).new == 8


def test_what_the_driver_tells_by_itself_is_one_line(postgres_url: str) -> None:
    """Rows go in past SQLAlchemy, by COPY. Then the driver's own error comes, which has a type for each reason, such as a full disk; here
    it is the server's limit of time."""
    with opened(postgres_url) as store:

        def wait() -> None:
            with writing(store.engine) as connection:
                connection.execute(text("SET LOCAL statement_timeout = 1"))
                connection.connection.cursor().execute("SELECT pg_sleep(100)")

        with pytest.raises(Unavailable, match="is out of reach: canceling statement due to statement timeout"):
            wait()
        assert store.load([csv_table(ROWS)], ME).new == 8


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path, big: Path) -> None:
    """SQLite that may not grow stands for a full disk: one line, and the database is as before."""
    from modak.ingest.reading import tables

    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        with store.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 100")
        with pytest.raises(Unavailable, match="the disk is full"):
            store.load(tables([big]).tables, ME)
        assert len(store.results(limit=1000).items) == 8
        assert check(str(store.engine.url)) == ()


def test_a_backup_while_somebody_loads_is_the_state_before(tmp_path: Path) -> None:
    """A copy that is made in the middle of a load is whole, and holds nothing of that load."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)

        def copy(done: float, _rows: int) -> None:
            if done > 0.5 and not (tmp_path / "copy.db").exists():
                backup(f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "copy.db")

        assert store.load([csv_table(ROWS.replace("3dgan", "other"))], ME, progress=copy).new == 8
    with open_store(f"sqlite:///{tmp_path / 'copy.db'}", fill=False) as restored:
        assert applications(restored) == {"3dgan"}
        assert check(str(restored.engine.url)) == ()


def test_nobody_waits_while_a_file_is_parsed(tmp_path: Path) -> None:
    """Others write while a load reads its files: the lock is not held until everything is read."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        wrote: list[float] = []

        def write(done: float, _rows: int) -> None:
            if done <= 0.5:
                store.plans.save(f"p{len(wrote)}", {}, "{}", Texts("x"), data_version="1")
                wrote.append(done)

        store.load([csv_table(ROWS), csv_table(ROWS.replace("3dgan", "other"))], ME, progress=write)
        assert len(wrote) == 2

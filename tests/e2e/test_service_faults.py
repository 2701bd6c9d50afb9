"""What a running service does when the ground shakes: clean answers, nothing lost that was answered, and it recovers by itself."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from uvicorn import Config

from modak.api.workers import Worker
from modak.auth.ring import KeyRing
from modak.store import check, open_store, upgrade
from modak.store.engine import BUSY_MS
from tests.conftest import PATIENCE_S, Postgres, copied, running_postgres, until
from tests.e2e.served import Served, answered, asking, loaded, plan_of, serving
from tests.store.tables import applications

AT_ONCE_S = 0.8 * BUSY_MS / 1000
"""Less than what a writer waits for SQLite's lock."""
FULL = 64 << 10
"""Bytes that a file may have where the disk is full: SQLite's log reaches that after a few plans."""


def key(url: str, scope: str) -> str:
    """An API key of the database."""
    with open_store(url, fill=False) as store:
        return KeyRing(lambda: store.access).create("test", [scope], datetime.now(UTC) + timedelta(days=1))[0]


@pytest.fixture
def sqlite_url(own_database: Path) -> str:
    """The packaged knowledge in a file of the test's own."""
    return f"sqlite:///{own_database}"


@pytest.fixture(scope="module")
def two_workers(packaged_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of two workers, as each test has it again at its end."""
    file = copied(packaged_database, tmp_path_factory.mktemp("workers") / "modak.db")
    with serving(f"sqlite:///{file}", "--workers", "2") as served:
        yield served


@pytest.fixture
def workers(two_workers: Served) -> set[int]:
    """Both of its workers."""
    both: set[int] = until(lambda: found if len(found := two_workers.workers()) == 2 else None)
    return both


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL that may be stopped: nobody else's."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def knowing_url(postgres: Postgres) -> str:
    """The packaged knowledge on that server."""
    url = postgres.new_database()
    upgrade(url)
    return url


@pytest.fixture(scope="module")
def on_postgres(knowing_url: str) -> Iterator[Served]:
    """A service on it."""
    with serving(knowing_url) as served:
        yield served


def test_a_service_outlives_a_restart_of_postgresql(on_postgres: Served, postgres: Postgres) -> None:
    """Under load: 503 while it is away, never 500; 200 again without help; what was answered with 200 is there."""
    with loaded(on_postgres) as load:
        postgres.control("-m", "fast", "stop")
        load.more(503)
        assert on_postgres.ask("GET", "/ready")[0] == 503
        postgres.control("start")
        load.more(200)
    assert set(load.statuses) == {200, 503}
    assert on_postgres.keeps(load.plans)


def test_a_database_that_hangs_does_not_stop_the_service(on_postgres: Served, postgres: Postgres) -> None:
    """Requests wait for it, and are answered when it goes on; what needs no database is answered meanwhile."""
    status, plan = on_postgres.plan()
    assert (status, on_postgres.ask("POST", "/get_job_content", asking())[0]) == (200, 200)
    with stopped(postgres):
        waiting = {path: on_postgres.connection() for path in ("/optimise", "/get_job_content")}
        for path, connection in waiting.items():
            connection.request("POST", path, asking())
        assert [on_postgres.ask("GET", "/health")[0] for _ in range(5)] == [200] * 5
    assert [answered(connection)[0] for connection in waiting.values()] == [200, 200]
    assert on_postgres.keeps({plan})


@contextmanager
def stopped(postgres: Postgres) -> Iterator[None]:
    """PostgreSQL as a server that is reached and does not answer: none of its processes gets a turn."""
    parent = int((postgres.data / "postmaster.pid").read_text().split()[0])
    processes = [parent, *map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())]
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


def test_workers_and_servers_on_one_postgresql_answer_alike(on_postgres: Served, knowing_url: str) -> None:
    """The same request gives the same bytes from all of them: now, and again after results were loaded through one."""
    with serving(knowing_url, "--workers", "2") as other:
        body, row = asking(), b"application,system,partition,nodes,metric,value\n3dgan,supermuc-ng,thin,4,epoch_time,3000\n"

        def answers() -> set[tuple[int, bytes]]:
            return {served.ask("POST", "/optimise", body) for served in (other, on_postgres) for _ in range(5)}

        ((status, before),) = answers()
        assert other.ask("POST", "/results", row, key(knowing_url, "load"), "text/csv")[0] == 200
        (after,) = until(lambda: found if len(found := answers()) == 1 and (status, before) not in found else None)
    assert (status, after[0]) == (200, 200)
    assert on_postgres.keeps({plan_of(before), plan_of(after[1])})


def test_a_worker_that_is_killed_is_replaced(two_workers: Served, workers: set[int]) -> None:
    """Under load: no request fails but those that it had; there are two again, and what was answered is there."""
    with loaded(two_workers) as load:
        os.kill(min(workers), signal.SIGKILL)
        load.more(200)
        until(lambda: len(two_workers.workers() - {min(workers)}) == 2)
        load.more(200)
    assert set(load.statuses) <= {0, 200}
    assert load.statuses.count(0) <= 3
    assert two_workers.keeps(load.plans)


def test_a_worker_that_is_killed_while_it_is_asked_whether_it_answers_is_not_waited_for() -> None:
    """The supervisor could not replace it for so long."""
    worker = Worker(Config("starlette.applications:Starlette", factory=True, lifespan="off", log_config=None), [])
    worker.start()
    try:
        assert worker.wait_until_ready(0)
        assert worker.pid
        os.kill(worker.pid, signal.SIGSTOP)
        until(lambda: not super(Worker, worker).ping(timeout=0.2))  # answers to what it was asked before
        threading.Timer(1, os.kill, (worker.pid, signal.SIGKILL)).start()
        began = time.monotonic()
        worker.ping(timeout=PATIENCE_S / 2)
        assert time.monotonic() - began < PATIENCE_S / 4
    finally:
        worker.kill()
        worker.join()


def test_a_worker_that_still_starts_is_not_replaced() -> None:
    """On a busy machine that takes longer than the supervisor waits for its first answer."""
    worker = Worker(Config("modak.api:app_from_environment", factory=True, log_config=None), [])
    worker.start()
    try:
        assert worker.is_alive(timeout=0.0)
    finally:
        worker.kill()
        worker.join()


def test_a_restart_waits_for_a_worker_that_starts() -> None:
    """Also if it takes longer than the supervisor waits for an answer: on a busy machine SIGHUP changed nothing."""
    worker = Worker(Config("starlette.applications:Starlette", factory=True, lifespan="off", log_config=None), [])
    worker.start()
    try:
        assert worker.wait_until_ready(0)
    finally:
        worker.kill()
        worker.join()


def test_a_service_ends_while_a_worker_hangs_that_is_to_replace_another(sqlite_url: str) -> None:
    """At once, and not when the restart is given up."""
    with serving(sqlite_url, "--workers", "2") as served:
        workers = until(lambda: found if len(found := served.workers()) == 2 else None)
        served.process.send_signal(signal.SIGHUP)
        (hanging,) = until(lambda: served.workers() - workers)
        os.kill(hanging, signal.SIGSTOP)
        time.sleep(2)  # the supervisor waits for its answer
        served.process.terminate()
        assert served.process.wait(PATIENCE_S) == 0


def test_a_worker_fits_with_one_thread(workers: set[int]) -> None:
    """Where others need the cores, too, threads of numpy that wait for one another take many times as long."""
    for worker in workers:
        assert b"OPENBLAS_NUM_THREADS=1" in Path(f"/proc/{worker}/environ").read_bytes().split(b"\0")


def test_workers_are_replaced_on_sighup(two_workers: Served, workers: set[int]) -> None:
    """Under load, one by one: no request fails but those whose connection ends just then, and what was answered is there."""
    with loaded(two_workers) as load:
        two_workers.process.send_signal(signal.SIGHUP)
        until(lambda: len(two_workers.workers() - workers) == 2 and not two_workers.workers() & workers)
        load.more(200)
    assert set(load.statuses) <= {0, 200}
    assert load.statuses.count(0) <= 3
    assert two_workers.keeps(load.plans)


def test_requests_do_not_wait_for_whoever_locks_sqlite(sqlite_url: str) -> None:
    """Plans are kept beside it and found, refusals are refused at once; later plans are in the database, with those."""
    token = key(sqlite_url, "read")
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    with serving(sqlite_url) as served, ExitStack() as held:
        lock = sqlite3.connect(file, isolation_level=None)
        held.callback(lock.close)
        lock.execute("BEGIN IMMEDIATE")
        plans = [served.plan() for _ in range(3)]
        assert served.keeps({plan for _, plan in plans})
        refused = served.connection(AT_ONCE_S)
        refused.request("POST", "/rules", b"{}", {"Authorization": f"Bearer {token}"})
        assert answered(refused)[0] == 403
        held.close()
        plans += until(lambda: [served.plan()] if not Path(f"{file}-plans").exists() else plans.append(served.plan()))
        assert {status for status, _ in plans} == {200}
        assert served.keeps({plan for _, plan in plans})


def test_a_full_disk_is_said_and_survived(sqlite_url: str) -> None:
    """503 while nothing can be written, and reading goes on; 200 when there is room, and the database is in order."""
    with serving(sqlite_url) as served:
        plans = [served.plan()]
        filled(served.process.pid, FULL)
        while plans[-1][0] == 200:
            plans.append(served.plan())
        assert plans[-1][0] == 503
        assert [served.ask("GET", path)[0] for path in ("/systems", "/ready", "/results")] == [200] * 3
        filled(served.process.pid, resource.RLIM_INFINITY)
        assert until(lambda: served.plan()[0] == 200)
        assert served.keeps({plan for status, plan in plans if status == 200})
    assert check(sqlite_url) == ()


def filled(pid: int, most: int) -> None:
    """Let a process write files of that many bytes at most: what a quota does, without the rights that a small disk takes."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def test_a_disk_that_is_full_at_the_start_is_one_line(tmp_path: Path) -> None:
    """Status 3 and no half of a database: with room, the same command makes it."""
    command = [sys.executable, "-m", "modak", "db", "upgrade"]
    environment = {**os.environ, "MODAK_DATABASE_URL": f"sqlite:///{tmp_path / 'new.db'}"}
    full = subprocess.run(["prlimit", f"--fsize={FULL}:", *command], env=environment, capture_output=True, text=True, check=False)
    assert (full.returncode, len(full.stderr.splitlines())) == (3, 1), full.stderr
    assert subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_what_has_begun_is_finished(sqlite_url: str, options: tuple[str, ...]) -> None:
    """SIGTERM in the middle of a request: it is answered, no other one is taken, the service ends with status 0 and the plan is there."""
    body = asking()
    with serving(sqlite_url, *options) as served:
        connection = served.connection()
        connection.putrequest("POST", "/optimise")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:100])
        begun(served)
        served.process.terminate()
        until(lambda: len(served.workers()) == 1 if options else served.ask("GET", "/health")[0] == 0)
        connection.send(body[100:])
        status, content = answered(connection)
        assert (status, served.process.wait(PATIENCE_S)) == (200, 0)
    with open_store(sqlite_url) as store:
        assert store.plans.get(plan_of(content)).texts.job_script


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_a_load_that_the_end_cuts_off_is_finished(sqlite_url: str, options: tuple[str, ...]) -> None:
    """SIGTERM while a load waits for the lock: it is answered 503, and stored before the service ends with status 0."""
    token = key(sqlite_url, "load")
    rows = b"application,metric,value,unit\ncut-off,wall_time,7,s\n"
    with serving(sqlite_url, *options) as served, ExitStack() as held, ThreadPoolExecutor(1) as pool:
        assert served.plan()[0] == 200
        lock = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)
        held.callback(lock.close)
        lock.execute("BEGIN IMMEDIATE")
        answer = pool.submit(served.ask, "POST", "/results", rows, token, "text/csv")
        begun(served)
        served.process.terminate()
        assert answer.result(PATIENCE_S)[0] == 503
        held.close()
        assert served.process.wait(PATIENCE_S) == 0
    with open_store(sqlite_url) as store:
        assert "cut-off" in applications(store)


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_who_asks_again_and_again_for_the_end_gets_the_same_one(sqlite_url: str, options: tuple[str, ...]) -> None:
    """SIGTERM after SIGTERM, until the service is gone: status 0, as after one."""
    with serving(sqlite_url, *options) as served:
        while served.process.poll() is None:
            served.process.terminate()
            time.sleep(0.01)
        assert served.process.returncode == 0


def begun(served: Served) -> None:
    """Wait until what was sent before has been read: the processes answer in turn, each what came first."""
    for _ in range(10):
        assert served.ask("GET", "/health")[0] == 200

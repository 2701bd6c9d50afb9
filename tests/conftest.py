"""What every test may ask for. No test sees the user's own database, settings or caches."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from modak.facts import Facts

if TYPE_CHECKING:
    from modak.service import Service

ROOT = Path(__file__).parent.parent
ANEW = "if this is meant, 'make golden' writes it anew: read the difference before you keep it"
"""What to do where printed examples or reference files are others."""
FORGETFUL = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
"""PostgreSQL's options for a server that may lose everything."""
PATIENCE_S = 240
"""For a machine that does much else; nothing waits for it where all is well. A test has a little more."""

BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is slow
settings.register_profile("fixed", BUSY, derandomize=True)
settings.register_profile("search", BUSY, print_blob=True)
settings.load_profile("fixed")


def kept(file: Path) -> str:
    """What a reference file holds; nothing before it is written."""
    return file.read_text() if file.exists() else ""


def pytest_configure(config: pytest.Config) -> None:
    """The environment of the whole run: no setting of the user's or of a `make` that started it, an empty home.

    Its folders have names without blanks and quotes, whatever TMPDIR says: those of images may have none, nor may a Slurm's own.
    """
    if not re.fullmatch(r"[\w./+-]+", tempfile.gettempdir(), re.ASCII):
        os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"
    home = tempfile.mkdtemp(prefix="modak-tests-home-")
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    for name in [name for name in os.environ if name.startswith(("MODAK_", "XDG_", "SLURM_", "SBATCH_", "PBS_", "MAKE", "PG"))]:
        del os.environ[name]
    os.environ.update(HOME=home, XDG_DATA_HOME=f"{home}/data", NO_COLOR="1", COLUMNS="140")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that fixtures end their servers also when the run is terminated
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it, as would all that tests start


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with few tests come first: theirs take longest, and a file that begins last keeps one worker alone at the end."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: tests[item.path])


def missing(component: str) -> NoReturn:
    """Skip the test, or fail it where CI promises that every component is there."""
    line = f"{component} is not installed: run `make test-deps`"
    pytest.fail(line, pytrace=False) if os.environ.get("CI") == "true" else pytest.skip(line)
    raise AssertionError(line)


def tool(component: str, name: str, *folders: Path) -> Path:
    """The path of a component's program, looked for in Debian's folders, the given ones and PATH."""
    path = os.pathsep.join(["/usr/sbin", "/usr/bin", *map(str, folders), os.environ["PATH"]])
    return Path(shutil.which(name, path=path) or missing(component))


def free_port() -> int:
    """A port of the loopback interface on which nothing listens; of those that the system gives no client before a server has it.

    No other process of the tests takes it before the server does: a name of an abstract socket stands for it as long as this one runs.
    """
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        ours = socket.socket(socket.AF_UNIX)
        with suppress(OSError):
            ours.bind(f"\0modak-tests-port-{port}")
            with socket.create_server(("127.0.0.1", port)):
                ours.detach()  # it stays open
                return port
        ours.close()


def until(holds: Callable[[], Any], told: Callable[[], str] = lambda: "that never came") -> Any:
    """What ``holds`` says once it is true. ``told``: what there is to read where it never is."""
    end = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < end, f"not within {PATIENCE_S} s: {told()}"
        time.sleep(0.05)
    return found


def as_user(user: str) -> list[str]:
    """Words that run what follows as a user, where we are root; daemons such as PostgreSQL refuse to be."""
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if os.geteuid() == 0 else []


@contextmanager
def at_our_end(words: Sequence[str]) -> Iterator[None]:
    """Run a command at the end of the block, or of this process, whatever ends it: then the input of a shell that waits for that ends.

    The shell is in a session of its own, which neither Ctrl-C nor the end of the terminal reaches.
    """
    waiting = ["sh", "-c", 'read -r _; exec "$@"', "sh", *words]
    null = subprocess.DEVNULL
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=null, stderr=null, cwd="/", start_new_session=True):
        yield


@dataclass(frozen=True)
class Postgres:
    """A throwaway PostgreSQL server on the loopback interface."""

    port: int
    psql: Path
    _names: Iterator[int]
    data: Path
    control: Callable[..., None]
    """``pg_ctl`` for this server: ``control("restart")``."""

    def new_database(self, options: str = "") -> str:
        """SQLAlchemy URL of a database that is empty and nobody else's, made with these options of ``CREATE DATABASE``."""
        name = f"test_{next(self._names)}"
        create = f"CREATE DATABASE {name} {options}"
        subprocess.run([self.psql, "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-qc", create], check=True)
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{name}"


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server from its making to the end of the block; it forgets everything on a crash, which makes it fast."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    initdb, pg_ctl, psql = (tool("PostgreSQL", name, *folders) for name in ("initdb", "pg_ctl", "psql"))
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="modak-pg-") as folder:
        user = as_user("postgres")
        if user:
            shutil.chown(folder, "postgres", "postgres")
        data, log = f"{folder}/data", f"{folder}/log"
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= {FORGETFUL}"

        def run(*words: str | Path) -> None:
            subprocess.run([*user, *map(str, words)], check=True, cwd=folder, stdout=subprocess.DEVNULL)

        run(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")

        def control(*words: str) -> None:
            run(pg_ctl, "-D", data, "-w", f"--timeout={PATIENCE_S}", "-l", log, "-o", options, *words)

        with at_our_end([*user, str(pg_ctl), "-D", data, "-w", "-m", "immediate", "stop"]):
            control("start")
            yield Postgres(port, psql, count(), Path(data), control)


@pytest.fixture(scope="session", autouse=True)
def no_older_knowledge() -> Iterator[None]:
    """Requests of this process wait for new knowledge as long as a busy machine takes to read it; the version before answers none."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("modak.service.factcache.PATIENCE_S", PATIENCE_S)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_command_line() -> Iterator[None]:
    """The command line is put together once in this process; for each command that a test types it would take most of the time."""
    from typer.main import get_command

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("typer.main.get_command", cache(get_command))
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """One server for the whole session."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_database(postgres_server: Postgres) -> str:
    """SQLAlchemy URL of a PostgreSQL database that tests use one after the other: each new one has 300 files to write and remove."""
    return postgres_server.new_database()


@pytest.fixture
def postgres_url(postgres_database: str) -> str:
    """SQLAlchemy URL of an empty PostgreSQL database, which has neither a table nor a connection of an earlier test."""
    import psycopg

    with psycopg.connect(postgres_database.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        connection.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")
    return postgres_database


@pytest.fixture(scope="session")
def packaged_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an SQLite database with the packaged knowledge, made once a run. A test that changes it takes ``own_database``."""
    from modak.store import open_store

    file = tmp_path_factory.mktemp("packaged") / "modak.db"
    with open_store(f"sqlite:///{file}") as store:
        store.models()
    shutil.copy(file, file.with_name("never-opened.db"))
    return file


def copied(packaged_database: Path, file: Path) -> Path:
    """A copy of the packaged database.

    Copied from a file that nobody opens as a database: reading an open one ends the locks that SQLite holds on it in this
    process (POSIX: closing any descriptor of a file drops them), and a process beside it may then take its log away.
    """
    return Path(shutil.copy(packaged_database.with_name("never-opened.db"), file))


@pytest.fixture
def own_database(packaged_database: Path, tmp_path: Path) -> Path:
    """A copy of the packaged database for this test alone."""
    return copied(packaged_database, tmp_path / "own.db")


@pytest.fixture
def service(own_database: Path) -> Iterator[Service]:
    """The use cases on a copy of the packaged database."""
    from modak.service import open_service
    from modak.settings import Settings

    with open_service(Settings(database_url=f"sqlite:///{own_database}")) as opened:
        yield opened


class Ran(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(packaged_database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process on the packaged knowledge."""
    from modak.cli import main

    monkeypatch.setenv("MODAK_DATABASE_URL", f"sqlite:///{packaged_database}")

    def run(*words: str | Path) -> Ran:
        status = main([str(word) for word in words])
        return Ran(status, *capsys.readouterr())

    return run


@pytest.fixture
def own(run: Run, own_database: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same on a copy that may be changed."""
    monkeypatch.setenv("MODAK_DATABASE_URL", f"sqlite:///{own_database}")
    return run


@pytest.fixture
def impatient() -> Iterator[None]:
    """In this test no transaction of SQLite waits longer than a moment for another writer."""
    from sqlalchemy import Connection, Engine, event

    def wait_little(connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA busy_timeout=50")

    event.listen(Engine, "begin", wait_little)
    yield
    event.remove(Engine, "begin", wait_little)


@pytest.fixture
def document() -> dict[str, Any]:
    """The request of the demonstration."""
    read: dict[str, Any] = json.loads((ROOT / "examples/3dgan-supermuc-ng.json").read_text())
    return read


@pytest.fixture(scope="session")
def known(packaged_database: Path) -> Iterator[Callable[[str | None], Facts]]:
    """The packaged facts as the store gives them: a function of the application whose models are wanted."""
    from modak.store import open_store

    with open_store(f"sqlite:///{packaged_database}") as store:

        @cache
        def facts(application: str | None) -> Facts:
            return replace(store.snapshot(), models=() if application is None else store.models(application))

        yield facts


@pytest.fixture
def mail_server() -> Iterator[str]:
    """The address of a server that answers one connection, and not in HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as others:
        listening.settimeout(PATIENCE_S)  # a test that fails before it connects ends all the same

        def answer() -> None:
            with listening.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(b"220 mail.example.org ESMTP\r\n")

        others.submit(answer)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"

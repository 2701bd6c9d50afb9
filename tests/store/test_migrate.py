"""The schema's way up and down, and what opening a database does to it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from modak import knowledge
from modak.errors import Unavailable
from modak.facts import System
from modak.store import Store, curves, migrate, open_store, schema, upgrade
from modak.store.engine import connect, on_network, reading, supported, writing
from tests.conftest import Postgres
from tests.store.tables import ME, ROWS, applications, csv_table


def test_the_constant_names_the_newest_migration() -> None:
    """Opening a database compares with a constant instead of reading the folder."""
    newest = max(path.name.split("_")[0] for path in (migrate.migrations() / "versions").glob("[0-9]*.py"))
    assert newest == migrate.HEAD, "set HEAD in modak/store/migrate.py to the newest file of alembic/versions"


def test_migrations_make_the_tables_that_the_code_describes(url: str) -> None:
    """After the way up, what `alembic check` compares shows no difference."""
    upgrade(url, fill=False)
    engine = connect(supported(url))
    with reading(engine) as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts={"compare_server_default": True}), schema.metadata)
    engine.dispose()
    assert found == [], "make the tables of modak/store/schema.py by a migration in alembic/versions"


def test_down_and_up_again(url: str) -> None:
    """The way down leaves nothing behind, with data in the tables; the way up then works again."""
    upgrade(url, fill=False)
    with open_store(url, fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        with writing(store.engine) as connection:
            migrate.to(connection, "base")
        with store.engine.connect() as connection:
            assert inspect(connection).get_table_names() == ["alembic_version"]
    assert upgrade(url, fill=False)
    with open_store(url, fill=False) as store:
        assert not applications(store)


def test_a_second_upgrade_does_nothing(url: str) -> None:
    """Upgrading says whether there was anything to do."""
    assert [upgrade(url, fill=False), upgrade(url, fill=False)] == [True, False]


def test_tables_without_anything_are_filled(tmp_path: Path) -> None:
    """Such as alembic's own command creates; not those in which something was written, whose knowledge may have been removed."""
    url = f"sqlite:///{tmp_path / 'modak.db'}"
    upgrade(url, fill=False)
    assert [upgrade(url), upgrade(url)] == [True, False]
    with open_store(url, fill=False) as store:
        for name in store.snapshot().systems:
            store.remove(System, name, ME)
    assert not upgrade(url)


def test_a_failing_migration_leaves_nothing(url: str) -> None:
    """An error in the middle of a migration takes all of it back, on SQLite too."""
    engine = connect(supported(url))

    def fails() -> None:
        with writing(engine) as connection:
            migrate.to(connection, "head")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    with engine.connect() as connection:
        assert inspect(connection).get_table_names() == []
    engine.dispose()


def test_an_empty_postgresql_is_not_filled_unasked(postgres_url: str) -> None:
    """A shared server's database gets its tables from `db upgrade`, not from the first who looks."""
    with pytest.raises(Unavailable, match="modak db upgrade"):
        open_store(postgres_url)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_postgresql_that_cannot_hold_every_name_is_refused(postgres_server: Postgres, encoding: str) -> None:
    """At once, in one line that says how to make another; not at the first name that it cannot hold."""
    url = postgres_server.new_database(f"ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(Unavailable, match=rf"has the encoding {encoding}; MODAK needs UTF8 .*ENCODING 'UTF8'"):
        upgrade(url)


def test_the_environments_encoding_does_not_matter(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PGCLIENTENCODING is for other programs: names of any script are stored."""
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    upgrade(postgres_url, fill=False)
    with open_store(postgres_url, fill=False) as store:
        store.load([csv_table(ROWS.replace("3dgan", "解析"))], ME)
        assert applications(store) == {"解析"}


@pytest.mark.parametrize("revision", ["9999", "abc"])
def test_a_newer_schema_is_refused(url: str, revision: str) -> None:
    """A database of a newer MODAK is left alone, in one line."""
    upgrade(url, fill=False)
    engine = connect(supported(url))
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    engine.dispose()
    with pytest.raises(Unavailable, match="newer MODAK") as caught:
        open_store(url)
    assert len(str(caught.value).splitlines()) == 1


def test_what_runs_while_the_tables_are_upgraded_writes_no_more(store: Store) -> None:
    """Neither results nor plans nor notes: the newer tables may need what it does not know. It still reads."""
    with open_store(store.engine.url.render_as_string(hide_password=False)) as other, writing(other.engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    writes: tuple[Callable[[], object], ...] = (
        lambda: store.load([csv_table(ROWS)], ME),
        lambda: store.access.note(ME, "load", "", "refused"),
        lambda: store.add([], ME),
    )
    for write in writes:
        with pytest.raises(Unavailable, match=r"its tables are of another version of MODAK by now; stop this one") as caught:
            write()
        assert len(str(caught.value).splitlines()) == 1
    assert applications(store) == set()


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    """Tables that are not ours are not touched."""
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE cookies (x)")
    connection.close()
    for call in (open_store, upgrade):
        with pytest.raises(Unavailable, match="another program"):
            call(f"sqlite:///{tmp_path / 'other.db'}")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """Neither is a text file taken for one."""
    (tmp_path / "notes.db").write_text("remember the milk\n" * 100)
    with pytest.raises(Unavailable, match="no SQLite database"):
        open_store(f"sqlite:///{tmp_path / 'notes.db'}")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://root@localhost/x", "'mysql' is no supported database"),
        ("postgresql://root@localhost:five/x", "no database address"),
        ("postgresql://root@a:1,b:2/x", "of several servers postgresql://USER@/NAME"),
        ("postgresql://root@a,b:2/x", "of several servers postgresql://USER@/NAME"),
        ("postgresql://root:p@ss@localhost/x", "an @ of the password is written %40"),
        ("postgresql://root@localhost/x?sslmodus=require", 'invalid connection option "sslmodus"; allowed: those of libpq'),
        ("postgresql://root@/x?host=a&host=b:2&port=1", "host=h1:p1&host=h2:p2"),
        ("postgresql://root@/x?host=[::1]:1&host=b:2", "IPv6 addresses of servers"),
        ("postgresql://root@/x?host=::1&host=b:2", "IPv6 addresses of servers"),
        ("postgresql://root@/x?host=[::1]", "IPv6 addresses of servers"),
        ("postgresql://root@[::1],[::2]/x", "IPv6 addresses of servers"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:///a.db?mode=ro", "SQLite takes no options"),
        ("sqlite:///what?.db", "SQLite takes no options"),
        ("nonsense", "no database address"),
        ("", "no database address"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url: str, says: str) -> None:
    """The message names the setting and what is allowed."""
    with pytest.raises(Unavailable, match=says) as caught:
        open_store(url)
    assert caught.value.faults[0].field == "MODAK_DATABASE_URL"


@pytest.mark.parametrize("url", ["postgresql://user:geheim@127.0.0.1:1/modak", "postgresql://user@127.0.0.1:1/modak?password=geheim"])
def test_a_server_that_does_not_answer_is_one_line_without_the_password(url: str) -> None:
    """Nothing listens there: exit status 3, one line, no secret in it."""
    with pytest.raises(Unavailable) as caught:
        open_store(url)
    assert len(str(caught.value).splitlines()) == 1
    assert "geheim" not in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_missing_database_is_filled(tmp_path: Path) -> None:
    """The first who opens it finds the packaged systems, images and rules, every row of the packaged results, and their models."""
    found = knowledge.read_all(knowledge.packaged_root())
    rows = sum(len(path.read_text().splitlines()) - 1 for path in found.result_files)
    with open_store(f"sqlite:///{tmp_path / 'deep' / 'modak.db'}") as store:
        facts = store.snapshot()
        assert (tuple(facts.systems.values()), facts.images, facts.rules) == (found.systems, found.images, found.rules)
        assert len(store.results(limit=1000).items) == rows
        with reading(store.engine) as connection:
            assert curves.stale(connection) == {}
            assert connection.execute(text("SELECT count(*) FROM models")).scalar_one() > 0


def test_two_processes_at_once_fill_once(tmp_path: Path) -> None:
    """Three processes meet a missing database: one fills it, the others wait, all see the same version."""
    code = (
        "import sys; from modak.store import open_store; store = open_store(sys.argv[1]); "
        "print(store.version(), len(store.applications())); store.close()"
    )
    words = [sys.executable, "-c", code, f"sqlite:///{tmp_path / 'new' / 'modak.db'}"]
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = {process.communicate()[0] for process in started}
    assert len(answers) == 1
    assert int(answers.pop().split()[1]) > 0


def test_opening_a_filled_database_imports_nothing_heavy(tmp_path: Path) -> None:
    """Where the schema is current and the models are fitted, no migration, table or fitting library is imported."""
    url = f"sqlite:///{tmp_path / 'modak.db'}"
    with open_store(url) as store:
        assert store.models("3dgan")
    code = (
        "import sys; from modak.store import open_store; s = open_store(sys.argv[1]); s.snapshot(); s.models('3dgan'); s.close(); "
        "print([name for name in ('alembic', 'pandas', 'sklearn', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest closes those of its own to others."""
    with tempfile.TemporaryDirectory(prefix="modak-tests-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/usr/bin/setpriv").exists(), reason="needs a user without rights, or setpriv")
def test_a_folder_that_cannot_be_written_is_one_line(public_folder: Path) -> None:
    """No rights on the folder: one line that says so."""
    folder = public_folder / "closed"
    folder.mkdir(mode=0o555)
    code = (
        "import sys\nfrom modak.store import open_store\nfrom modak.errors import Unavailable\nprint('runs')\n"
        "try: open_store(sys.argv[1])\nexcept Unavailable as error: print(error)"
    )
    user = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    words = [*user, sys.executable, "-c", code, f"sqlite:///{folder / 'modak.db'}"]
    done = subprocess.run(words, capture_output=True, text=True)
    if not done.stdout:
        pytest.skip("the user without rights cannot run this Python")
    assert done.stdout.splitlines()[1:] == [
        f"the database {folder / 'modak.db'} is out of reach: it cannot be opened: look at the rights on the file, "
        "on its -wal and -shm, and on its folder"
    ]


def test_network_file_systems_are_known(tmp_path: Path) -> None:
    """The longest mount point above a file decides."""
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\n/dev/sdb {tmp_path}/local xfs rw 0 0\n")
    assert on_network(tmp_path / "modak.db", mounts)
    assert not on_network(tmp_path / "local" / "modak.db", mounts)
    assert not on_network(Path("/var/modak.db"), mounts)


def test_the_command_of_developers_works(tmp_path: Path) -> None:
    """`alembic upgrade head` and `alembic check` in a checkout take the database from MODAK_DATABASE_URL."""
    root = migrate.migrations().parent
    if not (root / "alembic.ini").exists():
        pytest.skip("no checkout")
    env = {**os.environ, "MODAK_DATABASE_URL": f"sqlite:///{tmp_path / 'modak.db'}"}
    for words in (["upgrade", "head"], ["check"]):
        done = subprocess.run([sys.executable, "-m", "alembic", *words], cwd=root, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

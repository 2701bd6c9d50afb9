"""Plans while another process holds SQLite's write lock: nobody waits, none is lost."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import make_url

from modak.dsl import Texts
from modak.errors import NotFound, Unavailable
from modak.store import Store, open_store
from modak.store.audit import Actor
from modak.store.engine import OUT_OF_REACH, Locked
from modak.store.spool import PlanSpool
from tests.store.tables import ME, ROWS, csv_table, opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An SQLite database with results and without models."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as opened:
        opened.load([csv_table(ROWS)], ME)
        yield opened


@pytest.fixture
def lock(store: Store) -> Iterator[sqlite3.Connection]:
    """Another process's write, until it is rolled back; a load that takes minutes is one."""
    other = sqlite3.connect(str(store.engine.url.database), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def save(store: Store, plan_id: str, expires_at: datetime | None = None) -> None:
    """Keep a plan."""
    store.plans.save(plan_id, {"asked": plan_id}, '{"job": {}}', Texts(f"script of {plan_id}"), data_version="1", expires_at=expires_at)


def stored(store: Store) -> set[str]:
    """The plans in the database itself."""
    with closing(sqlite3.connect(str(store.engine.url.database))) as connection:
        return {str(row[0]) for row in connection.execute("SELECT id FROM plans")}


@pytest.mark.parametrize(("assumed_s", "tries"), [(60.0, 1), (0.0, 2)])
def test_not_every_plan_waits_to_find_the_database_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, assumed_s: float, tries: int
) -> None:
    """For a while the lock is taken to be held still."""
    monkeypatch.setattr("modak.store.spool.RETRY_S", assumed_s)
    (tmp_path / "a.db").touch()
    spool, tried = PlanSpool(make_url(f"sqlite:///{tmp_path}/a.db")), list[str]()

    def locked() -> None:
        tried.append("")
        raise Locked("held")

    for name in ("p1", "p2"):
        spool.store_or_spool({"id": name}, locked)
    assert (len(tried), {file.name for file, _ in spool.waiting()}) == (tries, {"p1", "p2"})


def test_a_plan_is_kept_and_found_while_the_database_is_locked(store: Store, lock: sqlite3.Connection) -> None:
    """By id and among the newest, from this process and from another one."""
    save(store, "p1")
    save(store, "p2")
    assert store.plans.get("p1").texts.job_script == "script of p1"
    with open_store(str(store.engine.url), fill=False) as other:
        assert other.plans.get("p2") == store.plans.get("p2")
        assert [plan.id for plan in other.plans.newest(1)] == ["p2"]
    assert stored(store) == set()
    lock.execute("ROLLBACK")


def test_a_plan_that_waits_is_found_by_any_name_of_the_database(store: Store, lock: sqlite3.Connection, tmp_path: Path) -> None:
    """A service may come by a link, an administrator without."""
    (tmp_path / "link.db").symlink_to(str(store.engine.url.database))
    with open_store(f"sqlite:///{tmp_path / 'link.db'}", fill=False) as other:
        save(other, "p1")
        assert store.plans.get("p1") == other.plans.get("p1")
    lock.execute("ROLLBACK")


def test_the_next_plan_takes_those_along_that_wait(store: Store, lock: sqlite3.Connection) -> None:
    """They are in the database then, whichever process took them, and nothing is left beside it."""
    save(store, "p1")
    lock.execute("ROLLBACK")
    with open_store(str(store.engine.url), fill=False) as other:
        save(other, "p2")
    assert stored(store) == {"p1", "p2"}
    assert store.plans.get("p1").texts.job_script == "script of p1"
    assert not Path(f"{store.engine.url.database}-plans").exists()


def test_a_token_is_given_for_a_plan_that_waits(store: Store, lock: sqlite3.Connection) -> None:
    """Tokens refer to plans in the database: the plan goes there first, and is then kept for as long as the token."""
    save(store, "p1", expires_at=datetime.now(UTC) + timedelta(days=1))
    lock.execute("ROLLBACK")
    until = store.access.allow_result("0" * 64, "p1", Actor("me"))
    assert stored(store) == {"p1"}
    assert store.plans.get("p1").expires_at == until


def test_a_plan_that_waits_expires(store: Store, lock: sqlite3.Connection) -> None:
    """As one in the database does."""
    save(store, "p1", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(NotFound):
        store.plans.get("p1")
    assert store.plans.newest(9) == ()
    lock.execute("ROLLBACK")


@pytest.mark.parametrize("plan_id", ["../outside", "..", "a/b", "", "\0"])
def test_an_id_is_no_path(store: Store, lock: sqlite3.Connection, plan_id: str) -> None:
    """Whatever an address holds, no file outside the folder is looked at."""
    save(store, "p1")
    lock.execute("ROLLBACK")
    folder = Path(f"{store.engine.url.database}-plans")
    (folder / "p1").rename(folder.parent / "outside")
    with pytest.raises(NotFound):
        store.plans.get(plan_id)


def test_what_is_no_plan_is_left_out(store: Store, lock: sqlite3.Connection) -> None:
    """A file that another version wrote, or that was cut off, stands in nobody's way."""
    save(store, "p1")
    folder = Path(f"{store.engine.url.database}-plans")
    (folder / "p2").write_text('{"id": "p2"}')
    (folder / "p3").write_text('{"id": ')
    assert [plan.id for plan in store.plans.newest(9)] == ["p1"]
    lock.execute("ROLLBACK")
    with open_store(str(store.engine.url), fill=False) as other:
        save(other, "p4")
    assert stored(store) == {"p1", "p4"}


def test_a_plan_that_cannot_be_read_now_waits(store: Store, lock: sqlite3.Connection) -> None:
    """It is another user's, or there are no more files to open: nobody takes it for stored."""
    save(store, "p1")
    unreadable = Path(f"{store.engine.url.database}-plans") / "p2"
    unreadable.symlink_to(unreadable)
    lock.execute("ROLLBACK")
    with open_store(str(store.engine.url), fill=False) as other:
        save(other, "p3")
    assert stored(store) == {"p1", "p3"}
    assert unreadable.is_symlink()


@pytest.mark.parametrize(("rights", "enters"), [(0o600, 0o700), (0o660, 0o770), (0o644, 0o755)])
def test_plans_that_wait_are_read_by_whoever_may_read_the_database(
    store: Store, lock: sqlite3.Connection, rights: int, enters: int
) -> None:
    """Nobody else: they hold requests."""
    database = Path(store.engine.url.database or "")
    database.chmod(rights)
    save(store, "p1")
    folder = Path(f"{database}-plans")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, folder / "p1")] == [enters, rights]
    lock.execute("ROLLBACK")


def test_a_folder_that_cannot_be_made_is_one_line(store: Store, lock: sqlite3.Connection) -> None:
    """Nothing is kept, and that is said; callers of a service are not told where."""
    Path(f"{store.engine.url.database}-plans").write_text("in the way")
    with pytest.raises(Unavailable, match="no plan can be kept in") as refused:
        save(store, "p1")
    assert refused.value.public_message == OUT_OF_REACH
    lock.execute("ROLLBACK")


def test_models_are_fitted_while_somebody_loads(url: str) -> None:
    """On either store: the answer is there; the curves are stored another time."""
    with opened(url) as store, open_store(url, fill=False) as other:
        store.load([csv_table(ROWS)], ME)

        def ask(done: float, _rows: int) -> None:
            if done > 0.5:
                assert other.models("3dgan")
                assert other.state().models == 0

        store.load([csv_table(ROWS.replace("3dgan", "other"))], ME, progress=ask)
        assert other.models("3dgan")
        assert other.state().models

"""Facts in memory: the newest, read once, with indexes that applications share."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from modak.facts import Rule
from modak.service.factcache import FactCache
from modak.store import Store, open_store, supported, versions
from modak.store.audit import Actor
from modak.store.engine import connect, writing
from modak.store.versions import FRESH_S, VersionWatch
from tests.store.tables import ME, ROWS, csv_table

RULE = Rule.model_validate({"name": "new-rule", "title": "t", "source": "a test", "environment": {"A": "1"}})


@pytest.mark.parametrize("application", ["3dgan", None])
def test_facts_are_read_once_for_a_version(own_database: Path, application: str | None) -> None:
    """The same value, until the data changes; then the new one, at once for who changed it."""
    with open_store(f"sqlite:///{own_database}") as store:
        cache = FactCache(store)
        first = cache.facts(application)
        assert cache.facts(application) is first
        assert cache.ready(application) is first
        store.add([RULE], ME)
        assert cache.ready(application) is None
        assert RULE in cache.facts(application).rules


def test_applications_share_the_indexes(own_database: Path) -> None:
    """A hundred thousand images are indexed once, not once an application."""
    with open_store(f"sqlite:///{own_database}") as store:
        cache = FactCache(store)
        one, other = cache.facts("3dgan"), cache.facts("another")
        assert one.catalogue is other.catalogue
        assert one.rulebook is other.rulebook
        assert one.models
        assert not other.models


def test_few_applications_are_kept(own_database: Path) -> None:
    """Those that were read last: callers choose the names, and each would take memory for ever."""
    with open_store(f"sqlite:///{own_database}") as store:
        cache = FactCache(store, most=2)
        for application in ("a", "b", "3dgan"):
            cache.facts(application)
        assert [cache.ready(application) is not None for application in ("a", "b", "3dgan")] == [False, True, True]


def test_what_another_process_changes_is_seen(own_database: Path) -> None:
    """After the moment for which a version is taken to be the newest."""
    url = f"sqlite:///{own_database}"
    with open_store(url) as store, open_store(url) as other:
        cache = FactCache(store)
        before = cache.facts(None)
        other.add([RULE], Actor("another"))
        time.sleep(2 * FRESH_S)
        assert cache.facts(None).version != before.version
        assert RULE in cache.facts(None).rules


def test_what_is_written_while_the_version_is_read_is_seen(own_database: Path) -> None:
    """The version that was read before the write is not taken for the newest, however fresh it is."""
    engine = connect(supported(f"sqlite:///{own_database}"))
    with closing(VersionWatch(engine, fresh_s=60)) as watch:
        watch.version()
        written: list[str] = []

        def write() -> None:
            with writing(engine) as connection:
                written.append(versions.bump(connection)[1])

        def within() -> int:
            """Called by SQLite within the statement that reads the version."""
            if len(written) == 1:
                write()
            return 0

        write()
        reader = watch._open
        assert reader is not None
        reader.set_progress_handler(within, 1)
        assert [watch.version(), watch.version()] == written
    engine.dispose()


def test_results_leave_what_is_known_as_it_is(own_database: Path) -> None:
    """A load of results changes the version; the indexes of images and rules are not made again, and the models are the new ones."""
    with open_store(f"sqlite:///{own_database}") as store:
        cache = FactCache(store)
        before = cache.facts("3dgan")
        version = store.load([csv_table(ROWS)], ME).version
        after = cache.facts("3dgan")
        assert before.version != after.version == cache.facts(None).version == version
        assert after.catalogue is before.catalogue
        assert after.models != before.models


def test_a_database_that_stops_answering_leaves_the_version_before(own_database: Path) -> None:
    """Where something new is known and cannot be read, requests go on; the thread that reads ends without an error of its own."""
    with open_store(f"sqlite:///{own_database}") as store:
        cache = FactCache(store)
        before = cache.facts(None)
        store.add([RULE], ME)
        with writing(store.engine) as connection:
            connection.execute(text("UPDATE rules SET body = '{}' WHERE name = 'new-rule'"))
        assert cache.facts(None) is before


def test_what_is_of_two_versions_has_the_name_of_neither(own_database: Path) -> None:
    """Knowledge read before a load, models after it: a plan that rests on them must not be taken for one of either version."""
    with open_store(f"sqlite:///{own_database}") as store:
        cache = FactCache(store)
        before = cache.facts(None)
        after = store.load([csv_table(ROWS)], ME).version
        both = cache._about("3dgan", (), before)
        assert both.version not in (before.version, after)
        assert cache.facts("3dgan").version == after


def test_which_series_are_of_one_run_is_asked_anew_whenever_one_changes(own_database: Path) -> None:
    """A second image makes two runs of what was one, with the table in each; when its results are doubted they are one again."""
    columns = "application,system,nodes,ranks_per_node,image,metric,value\n"

    def load(store: Store, *rows: tuple[int, str]) -> None:
        store.load([csv_table(columns + "".join(f"own,here,{nodes},4,{image},wall_time,{100 / nodes}\n" for nodes, image in rows))], ME)

    def sizes(store: Store) -> list[tuple[float, ...]]:
        return sorted(curve.sizes for curve in store.models("own"))

    with open_store(f"sqlite:///{own_database}") as store:
        load(store, (1, ""), (2, ""), (8, ""))
        assert sizes(store) == [(1, 2, 8)]
        load(store, (4, "a"))
        assert sizes(store) == [(1, 2, 4, 8)]
        load(store, (3, "b"))
        assert sizes(store) == [(1, 2, 3, 8), (1, 2, 4, 8)]
        (other,) = store.results({"application": "own", "image": "b"}).items
        store.judge("doubt", [other.id or 0], ME, "a slip")
        assert sizes(store) == [(1, 2, 4, 8)]

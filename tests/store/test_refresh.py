"""A newer MODAK's knowledge comes into an older database, on both of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from modak.facts import Rule
from modak.ingest.reading import tables
from modak.ingest.table import Table
from modak.knowledge import Knowledge, packaged_root, read_all
from modak.packaged import PRINCIPAL
from modak.store import Store, open_store
from modak.store.audit import Actor
from tests.store.tables import ROWS, applications, csv_table, results_of

ADA = Actor("local:ada")


@pytest.fixture(scope="module")
def package() -> Knowledge:
    """What a newer MODAK has: of the older one it lacks nothing but the last of each kind."""
    return read_all(packaged_root())


@pytest.fixture
def older(store: Store, package: Knowledge) -> Store:
    """A database that an older MODAK filled, and in which Ada has another title for a system."""
    first, second, *_ = package.systems
    store.add((*package.processors, *package.accelerators), Actor(PRINCIPAL))
    store.add([first, second.model_copy(update={"title": "as it was"})], Actor(PRINCIPAL))
    store.add([first.model_copy(update={"title": "Ada's"})], ADA, replace=True)
    return store


def titles(store: Store) -> list[str]:
    """Those of the systems of the database."""
    return [system.title for system in store.snapshot().systems.values()]


def test_what_is_new_and_newer_comes_and_what_was_changed_here_stays(older: Store, package: Knowledge) -> None:
    """With a line in the trail, another version of the data; and once more there is nothing to do."""
    version = older.version()
    told = older.refresh(package.entries, (), ADA)
    assert titles(older) == ["Ada's", *(system.title for system in package.systems[1:])]
    assert older.snapshot().images == package.images
    assert [one.name for one in told.differences if one.standing == "changed here"] == [package.systems[0].name]
    entry = older.access.audit("", 1).items[0]
    assert (entry.action, entry.principal) == ("refresh", "local:ada")
    changed = entry.target.split(", ")
    assert (f"system {package.systems[1].name}" in changed, f"system {package.systems[0].name}" in changed) == (True, False)
    refreshed = older.version()
    assert refreshed == told.load.version != version
    assert [one.standing for one in older.refresh(package.entries, (), ADA).differences] == ["changed here"]
    assert older.version() == refreshed


def test_what_was_removed_here_does_not_come_back_by_itself(store: Store, package: Knowledge) -> None:
    """It does where that is said."""
    rule = package.rules[0]
    store.add([rule], Actor(PRINCIPAL))
    store.remove(Rule, rule.name, ADA)
    assert [one.standing for one in store.refresh([rule], (), ADA).differences] == ["removed here"]
    assert store.snapshot().rules == ()
    store.refresh([rule], (), ADA, only=[rule.name], replace=True)
    assert store.snapshot().rules == (rule,)


def test_what_was_taken_in_is_the_packages_from_then_on(older: Store, package: Knowledge) -> None:
    """The next version's corrections come by themselves, also of what was replaced on demand."""
    older.refresh(package.entries, (), ADA, only=[package.systems[0].name], replace=True)
    later = [system.model_copy(update={"title": "corrected"}) for system in package.systems[:1]]
    assert [one.standing for one in older.refresh(later, (), ADA).differences if one.packaged] == ["newer"]
    assert titles(older) == ["corrected", "as it was"]


def test_a_dry_run_of_a_refresh_stores_nothing(older: Store, package: Knowledge) -> None:
    """It tells the same."""
    before = (older.version(), titles(older), older.access.audit("", 100))
    dry = older.refresh(package.entries, [csv_table(ROWS)], ADA, dry_run=True)
    assert (older.version(), titles(older), older.access.audit("", 100)) == before
    assert not applications(older)
    done = older.refresh(package.entries, [csv_table(ROWS)], ADA)
    assert (dry.differences, dry.load.new) == (done.differences, done.load.new)
    assert dry.load.new == 8


def test_new_results_come_and_corrected_ones_stay_corrected(store: Store) -> None:
    """A row that the site replaced does not come back with the package's file, whatever else is new there."""
    store.load([csv_table(ROWS)], Actor(PRINCIPAL))
    header, first, *_ = ROWS.splitlines(keepends=True)
    value = first.split(",")[7]
    store.load([csv_table(header + first.replace(f",{value},", ",77,"))], ADA, replace=True)
    newer = csv_table(ROWS + first.replace("3dgan", "another"))
    assert store.refresh((), [newer], ADA).load.new == 1
    assert applications(store) == {"3dgan", "another"}
    assert [one.value for one in store.results().items].count(77) == 1
    assert len(results_of(store, "3dgan")) == 8


def test_results_are_judged_by_the_systems_that_came(older: Store, package: Knowledge) -> None:
    """Those on a system of which the older version did not know how many GPUs a node has; a dry run tells the same, and changes nothing."""
    system = next(one for one in package.systems[2:] if all(part.node.accelerators for part in one.partitions))
    older.load([csv_table(f"application,system,nodes,gpus_per_node,metric,value\na,{system.name},1,900,wall_time,5\n")], ADA)
    dry = older.refresh(package.entries, (), ADA, only=[system.name], dry_run=True)
    assert results_of(older, "a")[0].suspect is None
    assert older.refresh(package.entries, (), ADA, only=[system.name]).notes == dry.notes
    assert "900 GPUs" in dry.notes[0]
    assert results_of(older, "a")[0].suspect is not None


def test_a_filled_database_differs_in_nothing(packaged_database: Path, package: Knowledge) -> None:
    """What an empty database is filled with is what a refresh would take in."""
    with open_store(f"sqlite:///{packaged_database}") as store:
        rows: tuple[Table, ...] = tuple(tables(package.result_files).tables)
        told = store.refresh(package.entries, rows, ADA, dry_run=True)
    assert (told.differences, told.load.new) == ((), 0)

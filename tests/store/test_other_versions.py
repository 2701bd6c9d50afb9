"""Entries that another version stored and this one does not take, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import insert, select, text, update

from modak import knowledge
from modak.errors import Unavailable, UnknownName
from modak.facts import System
from modak.packaged import PRINCIPAL
from modak.store import Store, catalogue, check, open_store, schema
from modak.store.audit import Actor
from modak.store.engine import writing
from tests.store.tables import ME, ROWS, csv_table


def test_check_names_every_entry_that_this_version_does_not_take(tmp_path: Path) -> None:
    """With the commands that mend it: to remove what a refresh would replace would keep it away."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        broken(store)
        (line,) = check(str(store.engine.url))
    assert "the system 'zenith' of the database: mandatory_directives.0" in line
    assert "'modak db refresh' replaces it if it came with MODAK" in line
    assert line.endswith("'modak systems remove zenith' removes it")


def test_check_looks_for_damage_only_in_what_another_version_made(tmp_path: Path) -> None:
    """Its entries, and even its tables, may be others."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        broken(store)
        with writing(store.engine) as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        assert check(str(store.engine.url)) == ()


def test_an_entry_that_this_version_does_not_take_is_named(store: Store) -> None:
    """With its field and what is allowed, for whoever has to mend it by hand."""
    broken(store)
    with pytest.raises(Unavailable, match=r"the system 'zenith' of the database: mandatory_directives.0: allowed: an option"):
        store.snapshot()


def broken(store: Store, by: str = "me") -> System:
    """The system of a row that this version refuses."""
    zenith = knowledge.read_system(knowledge.packaged_root() / "systems" / "zenith.toml")
    store.add([zenith], Actor(by))
    with writing(store.engine) as connection:
        body = zenith.model_copy(update={"mandatory_directives": ("-a --b",)}).model_dump_json()
        connection.execute(update(schema.systems).values(body=body))
    return zenith


def test_an_entry_that_this_version_does_not_take_can_be_replaced(store: Store) -> None:
    """By one that has to fit to all that is known."""
    zenith = broken(store)
    assert store.add([zenith], ME, replace=True, check=lambda _: ())
    assert store.snapshot().systems == {"zenith": zenith}


def test_an_entry_that_this_version_does_not_take_can_be_removed(store: Store) -> None:
    """The trail says by whom; what is not there is refused by name."""
    broken(store)
    store.remove(System, "zenith", Actor("local:ada"))
    assert store.snapshot().systems == {}
    (line,) = store.access.audit("", 1).items
    assert (line.principal, line.action, line.target) == ("local:ada", "remove", "system zenith")
    with pytest.raises(UnknownName, match="unknown system 'zenith'"):
        store.remove(System, "zenith", Actor("local:ada"))


def test_all_entries_that_this_version_does_not_take_are_told_at_once(store: Store) -> None:
    """Those of the package are replaced by a refresh, the others have to be mended by hand."""
    zenith = broken(store)
    there = catalogue.TABLES[System].c
    with writing(store.engine) as connection:
        (body,) = connection.scalars(select(there.body)).all()
        for name, by in (("nadir", "me"), ("noon", PRINCIPAL)):
            connection.execute(insert(schema.systems).values(name=name, body=body, added_at=1, added_by=by))
    with pytest.raises(Unavailable) as told:
        store.differences([zenith])
    assert [fault.message.split(" of the database")[0].split()[-1] for fault in told.value.faults] == ["'nadir'", "'zenith'"]


def test_a_character_in_the_prose_of_an_older_version_stops_nobody(store: Store) -> None:
    """What a comment may no longer hold is left out when it is read."""
    zenith = knowledge.read_system(knowledge.packaged_root() / "systems" / "zenith.toml")
    store.add([zenith], ME)
    odd = zenith.model_copy(update={"title": "Ze\u200en\x1bith\r", "site": "\u202e"})
    with writing(store.engine) as connection:
        connection.execute(update(schema.systems).values(body=odd.model_dump_json()))
    assert [(one.title, one.site) for one in store.snapshot().systems.values()] == [("Zenith", "?")]
    with pytest.raises(ValidationError, match="control characters"):
        System.model_validate_json(odd.model_dump_json())


def test_a_refresh_mends_what_an_older_package_brought(store: Store) -> None:
    """An entry of its own that this version does not take counts as not there."""
    zenith = broken(store, PRINCIPAL)
    assert [one.standing for one in store.refresh([zenith], (), Actor("local:ada")).differences] == ["new"]
    assert store.snapshot().systems == {"zenith": zenith}


def test_results_are_stored_beside_an_entry_that_this_version_does_not_take(store: Store) -> None:
    """A job sends its result once, and none depends on a system's description."""
    broken(store)
    assert store.load([csv_table(ROWS)], ME).new

"""API keys, the tokens of jobs, and the trail of what was done with them, on both databases."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, inspect, select, text, update

from modak.auth import tokens
from modak.auth.ring import REMEMBERED_S, KeyRing
from modak.dsl import Texts
from modak.errors import NotFound, RequestError, Unauthorised
from modak.store import Store, schema
from modak.store.access import RESULT_DAYS, UsedToken
from modak.store.audit import Actor, local_actor
from modak.store.engine import writing
from modak.store.schema import stored
from tests.store.tables import ROWS, applications, csv_table

ME = local_actor()
PLAN = "0123456789abcdef0123"


@pytest.fixture
def keys_of(store: Store) -> KeyRing:
    """The keys of an empty database."""
    return KeyRing(lambda: store.access)


@pytest.fixture
def planned(store: Store) -> Store:
    """A database with a plan that expires tomorrow."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    store.plans.save(PLAN, {}, "{}", Texts("#!/bin/bash\n", "", "", ""), data_version="1", expires_at=tomorrow)
    return store


def everything(store: Store) -> str:
    """Every value of every table as text."""
    with store.engine.connect() as connection:
        rows = [connection.execute(text(f"SELECT * FROM {name}")).all() for name in inspect(connection).get_table_names()]  # noqa: S608
    return str(rows)


def test_a_token_can_be_found_by_scanners_and_checked_without_a_database() -> None:
    """A prefix, 256 random bits, a checksum: another letter anywhere is no token."""
    token = tokens.new(tokens.KEY)
    assert re.fullmatch(r"modak_[0-9A-Za-z]{49}", token)
    assert tokens.well_formed(token, tokens.KEY)
    assert not tokens.well_formed(token, tokens.JOB)
    assert token != tokens.new(tokens.KEY)
    for place in range(len(token)):
        assert not tokens.well_formed(token[:place] + ("a" if token[place] != "a" else "b") + token[place + 1 :], tokens.KEY)


def test_the_form_of_tokens_stays() -> None:
    """Keys that were issued before are still known as such: another alphabet or checksum would end them all."""
    assert tokens.well_formed("modak_AAAAAAAAAAzzzzzzzzzz000000000000000000000003YXgLn", tokens.KEY)


@given(st.text(max_size=80))
def test_no_other_text_is_a_token(sent: str) -> None:
    """Whatever is sent is looked at without an error."""
    assert not tokens.well_formed(sent, tokens.KEY)
    assert len(tokens.digest(sent)) == 64


def test_a_key_is_its_principals(keys_of: KeyRing) -> None:
    """With the scopes that it was made with; admin includes all others."""
    token, key = keys_of.create("ci of ada", ["load", "read"], None)
    found = keys_of.find(token)
    assert (found.name, found.scopes, key.created_by) == ("key:ci of ada", frozenset(("read", "load")), ME.principal)
    assert (found.may("load"), found.may("admin")) == (True, False)
    assert keys_of.find(keys_of.create("root", ["admin"], None)[0]).may("load")


def test_a_key_is_kept_as_its_hash(store: Store, keys_of: KeyRing) -> None:
    """Neither it nor its random part stands anywhere in the database."""
    token, key = keys_of.create("ci", ["load"], None)
    kept = everything(store)
    assert key.id in kept
    assert tokens.digest(token) in kept
    assert token.removeprefix(tokens.KEY)[:20] not in kept


@pytest.mark.parametrize("token", ["", "modak_", "nonsense", "made up", "modak_' OR 1=1 --", "ä" * 55, "\udc00"])
def test_a_token_that_was_never_made_is_nobodys(keys_of: KeyRing, token: str) -> None:
    """Refused, with the words for a revoked one."""
    keys_of.create("ci", ["load"], None)
    with pytest.raises(Unauthorised, match="unknown, has expired or was revoked"):
        keys_of.find(tokens.new(tokens.KEY) if token == "made up" else token)


@pytest.mark.parametrize("kind", ["empty", "SQL", "mistyped", "job"])
def test_what_no_key_can_be_is_not_looked_for(kind: str) -> None:
    """Typing errors are refused without the database."""
    mistyped, of_job = tokens.new(tokens.KEY)[:-1] + "-", tokens.new(tokens.JOB)
    token = {"empty": "modak_", "SQL": "modak_' OR 1=1 --", "mistyped": mistyped, "job": of_job}[kind]
    with pytest.raises(Unauthorised):
        KeyRing(lambda: pytest.fail("the database is asked")).find(token)


def test_a_revoked_key_ends_here_at_once(keys_of: KeyRing) -> None:
    """Although it was found, and so remembered, a moment before; a second revocation changes nothing."""
    token, key = keys_of.create("ci", ["load"], None)
    keys_of.find(token)
    assert [keys_of.revoke(key.id), keys_of.revoke(key.id)] == [True, False]
    with pytest.raises(Unauthorised):
        keys_of.find(token)
    with pytest.raises(NotFound):
        keys_of.revoke("nothing")


def test_a_key_that_another_process_revoked_ends_when_memory_does(store: Store, keys_of: KeyRing) -> None:
    """Another worker believes what it remembers for no longer than :data:`~modak.auth.ring.REMEMBERED_S`."""
    moment = [0.0]
    other = KeyRing(lambda: store.access, clock=lambda: moment[0])
    token, key = keys_of.create("ci", ["load"], None)
    other.find(token)
    keys_of.revoke(key.id)
    moment[0] = REMEMBERED_S - 0.1
    assert other.find(token).name == "key:ci"
    moment[0] = REMEMBERED_S + 0.1
    assert other.remembered(token) is None
    with pytest.raises(Unauthorised):
        other.find(token)


def test_an_expired_key_ends(store: Store, keys_of: KeyRing) -> None:
    """From memory as well as from the database."""
    token, _ = keys_of.create("ci", ["load"], datetime.now(UTC) + timedelta(days=1))
    assert keys_of.find(token).name == "key:ci"
    with writing(store.engine) as connection:
        connection.execute(update(schema.api_keys).values(expires_at=stored(datetime.now(UTC) - timedelta(seconds=1))))
    expired = keys_of.access().find(tokens.digest(token))
    assert expired is not None
    keys_of._known[tokens.digest(token)] = (expired, math.inf)
    with pytest.raises(Unauthorised):
        keys_of.find(token)


@pytest.mark.parametrize(
    ("name", "scopes", "expires"),
    [
        ("a\nb", ["load"], None),
        ("", ["load"], None),
        ("x" * 101, ["load"], None),
        ("ci", [], None),
        ("ci", ["root"], None),
        ("ci", ["load"], datetime(2020, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(keys_of: KeyRing, name: str, scopes: list[str], expires: datetime | None) -> None:
    """A name that is none, no scope, an unknown scope, a time that has passed."""
    with pytest.raises(RequestError):
        keys_of.create(name, scopes, expires)
    assert keys_of.access().every() == ()


def test_every_change_leaves_a_line(store: Store, keys_of: KeyRing) -> None:
    """Who, what, and to what; the newest first, page after page; without a token in it."""
    token, key = keys_of.create("ci", ["load"], None)
    report = store.load([csv_table(ROWS)], Actor("key:ci", "r-1"))
    keys_of.revoke(key.id)
    first = store.access.audit("", 2)
    second = store.access.audit(first.next or "", 2)
    told = [(line.principal, line.action, line.outcome) for line in (*first.items, *second.items)]
    assert told == [(ME.principal, "revoke token", "done"), ("key:ci", "load results", "done"), (ME.principal, "create token", "done")]
    load = first.items[1]
    assert (load.request_id, load.target, second.next) == ("r-1", f"results.csv ({report.new} of {report.rows} rows)", None)
    assert tokens.digest(token) not in str((first, second))


def test_what_changes_nothing_leaves_no_line(store: Store) -> None:
    """A dry run, and rows that are there already."""
    store.load([csv_table(ROWS)], ME, dry_run=True)
    store.load([csv_table(ROWS)], ME)
    store.load([csv_table(ROWS)], ME)
    assert len(store.access.audit("", 10).items) == 1


@pytest.mark.parametrize("cursor", ["x", "-1", "1;DROP TABLE audit", "9" * 30, "²"])
def test_a_cursor_that_is_none_is_refused(store: Store, cursor: str) -> None:
    """With the field's name."""
    with pytest.raises(RequestError):
        store.access.audit(cursor, 10)


def test_a_jobs_token_is_for_its_plan(planned: Store) -> None:
    """In the name of whoever asked for it; of another plan, or made up, it is nobody's."""
    digest = tokens.digest("one")
    until = planned.access.allow_result(digest, PLAN, Actor("key:ada"))
    assert until > datetime.now(UTC) + timedelta(days=RESULT_DAYS - 1)
    assert planned.access.result_allowed(digest, PLAN) == "key:ada"
    assert planned.access.result_allowed(digest, "another") is None
    assert planned.access.result_allowed(tokens.digest("two"), PLAN) is None
    with pytest.raises(NotFound):
        planned.access.allow_result(tokens.digest("three"), "another", ME)


def test_a_plan_waits_for_its_result(planned: Store) -> None:
    """Also when somebody without a token asks for the same plan again."""
    planned.access.allow_result(tokens.digest("one"), PLAN, ME)
    later = planned.plans.get(PLAN).expires_at
    planned.plans.save(PLAN, {}, "{}", Texts("", "", "", ""), data_version="1", expires_at=datetime.now(UTC) + timedelta(days=1))
    assert planned.plans.get(PLAN).expires_at == later


def test_a_jobs_token_is_used_once(planned: Store) -> None:
    """Eight loads at once with one token: one is kept, the others are refused and leave nothing."""
    digest = tokens.digest("one")
    planned.access.allow_result(digest, PLAN, ME)
    outcomes: list[str] = []

    def load(number: int) -> None:
        try:
            planned.load([csv_table(ROWS.replace("3dgan", f"app{number}"))], Actor("job"), token=UsedToken(digest, PLAN))
            outcomes.append("kept")
        except Unauthorised:
            outcomes.append("refused")

    threads = [threading.Thread(target=load, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["kept", *["refused"] * 7]
    assert len(applications(planned)) == 1
    assert planned.access.result_allowed(digest, PLAN) is None


def test_a_load_that_stores_nothing_spends_nothing(planned: Store) -> None:
    """A dry run, for instance."""
    digest = tokens.digest("one")
    planned.access.allow_result(digest, PLAN, ME)
    planned.load([csv_table(ROWS)], Actor("job"), token=UsedToken(digest, PLAN), dry_run=True)
    assert planned.access.result_allowed(digest, PLAN) == ME.principal


def test_a_plan_takes_its_tokens_along(planned: Store) -> None:
    """When it is dropped."""
    planned.access.allow_result(tokens.digest("one"), PLAN, ME)
    with writing(planned.engine) as connection:
        connection.execute(delete(schema.plans))
    with planned.engine.connect() as connection:
        assert connection.execute(select(schema.result_tokens)).all() == []


def test_auth_imports_no_cryptography_before_it_is_needed() -> None:
    """A site without an issuer pays nothing for it."""
    code = "import sys, modak.auth.ring, modak.auth.oidc, modak.api.access; print('jwt' in sys.modules, 'cryptography' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"

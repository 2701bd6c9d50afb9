"""The page of all addresses: what it takes from the OpenAPI document."""

from __future__ import annotations

from modak.api import create_app
from modak.api.access import scope_of
from modak.settings import Settings
from modak.web.reference import reference

DOCUMENT = create_app(Settings(database_url="sqlite:///nowhere.db")).openapi()
SHOWN = [one for _, group in reference(DOCUMENT, scope_of) for one in group]


def test_every_address_is_shown_once() -> None:
    """With the scope that it needs."""
    documented = [(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods]
    assert sorted((one["method"], one["path"]) for one in SHOWN) == sorted(documented)
    assert all(one["scope"] == scope_of(one["method"], one["path"]) for one in SHOWN)


def test_answers_to_requests_that_succeed_are_shown_alone() -> None:
    """Errors have one form, whatever the address."""
    assert {status[0] for one in SHOWN for status, _, _ in one["answers"]} == {"2"}

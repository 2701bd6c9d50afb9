"""The page of all addresses: what it takes from the OpenAPI document."""

from __future__ import annotations

from modak.api.access import scope_of
from modak.web.reference import reference
from tests.api.document import API, OPERATIONS

SHOWN = [one for _, group in reference(API, scope_of) for one in group]


def test_every_address_is_shown_once() -> None:
    """With the scope that it needs."""
    assert sorted((one["path"], one["method"].lower()) for one in SHOWN) == sorted(OPERATIONS)
    assert all(one["scope"] == scope_of(one["method"], one["path"]) for one in SHOWN)


def test_answers_to_requests_that_succeed_are_shown_alone() -> None:
    """Errors have one form, whatever the address."""
    assert {status[0] for one in SHOWN for status, _, _ in one["answers"]} == {"2"}

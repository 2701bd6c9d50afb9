"""Requests that the OpenAPI document suggests, sound and broken ones: every answer is documented, and none is a fault of ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Config, GenerationMode
from starlette.testclient import TestClient

from tests.api.document import API, OPERATIONS

TOLERANT = {path for path, operations in API["paths"].items() if "schemas/request_document" in json.dumps(operations)}
"""Addresses that read requests in other words, too, with a warning; strict reading refuses what the schema does."""
MEANING = ["2xx", "400", "401", "403", "404", "409", "422"]
"""A schema says what a document looks like; whether it makes sense (a system that is known, counts that fit together) it cannot."""


@pytest.fixture(scope="session")
def described(web: TestClient) -> schemathesis.BaseSchema:
    """The service as it describes itself; every check of schemathesis is on."""
    expected = {"positive_data_acceptance": MEANING, "negative_data_rejection": ["4xx"]}  # 414 among them: an address that is too long
    config = Config.from_dict({"checks": {check: {"expected-statuses": statuses} for check, statuses in expected.items()}})
    return schemathesis.openapi.from_asgi("/openapi.json", web.app, config=config)


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda word: word.strip("/").replace("/", "-"))
def test_every_answer_is_documented(described: schemathesis.BaseSchema, path: str, method: str) -> None:
    """No 5xx; status, headers, type and body as described; a broken request is refused."""
    operation = described[path][method]
    sound, broken = (operation.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE))

    @settings(max_examples=8, suppress_health_check=list(HealthCheck))
    @given(sound | (broken.map(strictly) if path in TOLERANT else broken))
    def check(case: schemathesis.Case[Any]) -> None:
        answer = case.call_and_validate()  # raises for one that is not as described
        assert answer.status_code < 500

    check()


def strictly(case: schemathesis.Case[Any]) -> schemathesis.Case[Any]:
    """The case with strict reading, where what is broken of it is not that parameter."""
    if case.query.get("strict", "true") in ("true", "false", True, False):
        case.query = {**case.query, "strict": "true"}
    return case

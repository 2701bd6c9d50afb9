"""The REST service on the packaged knowledge, in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from modak.api import create_app
from modak.settings import Settings


@pytest.fixture(scope="session")
def web(packaged_database: Path) -> Iterator[TestClient]:
    """A client of the service; a fault of ours is an answer, as it is for callers."""
    app = create_app(Settings(database_url=f"sqlite:///{packaged_database}"))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """What a test opens, closed at its end."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def document() -> dict[str, Any]:
    """The request of the demonstration."""
    example = Path(__file__).parents[2] / "examples/3dgan-supermuc-ng.json"
    read: dict[str, Any] = json.loads(example.read_text())
    return read

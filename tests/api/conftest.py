"""The REST service on the packaged knowledge, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from modak.api import create_app
from modak.settings import Settings
from tests.api.site import Site
from tests.conftest import copied


@pytest.fixture(scope="session")
def web(packaged_database: Path) -> Iterator[TestClient]:
    """A client of the service; a fault of ours is an answer, as it is for callers."""
    app = create_app(Settings(database_url=f"sqlite:///{packaged_database}", rate_per_minute=0))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def site(own_database: Path) -> Iterator[Site]:
    """A service of this test's own, as it is by default."""
    with Site(own_database) as site:
        yield site


@pytest.fixture(scope="module")
def shared(packaged_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service for the tests of a module, none of which changes what another one reads."""
    with Site(copied(packaged_database, tmp_path_factory.mktemp("shared") / "modak.db")) as site:
        yield site


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """What a test opens, closed at its end."""
    with ExitStack() as stack:
        yield stack

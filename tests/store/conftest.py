from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from modak import knowledge
from modak.store import Store
from tests.store.tables import opened


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'modak.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A database with tables and nothing in them."""
    with opened(url) as found:
        yield found


@pytest.fixture(scope="session")
def known() -> knowledge.Knowledge:
    """The packaged knowledge."""
    return knowledge.read_all(knowledge.packaged_root())

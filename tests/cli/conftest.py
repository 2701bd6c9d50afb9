"""The command line in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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

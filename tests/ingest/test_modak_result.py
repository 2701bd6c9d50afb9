"""The file that job scripts write at their end comes back as results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from modak.ingest.reading import tables
from modak.store import open_store
from tests.store.tables import ME, results_of

RECORD = {"application": "app", "nodes": 2, "hyperthreads": False, "params.epochs": "20", "metric": "wall_time", "unit": "s", "value": 12.5}


def loaded(folder: Path, status: int, results: Sequence[dict[str, Any]] = (RECORD,)) -> tuple[int, tuple[str | None, ...]]:
    """New rows, and where those of the application come from."""
    document = {"modak_result": 1, "plan": "abc", "exit_status": status, "job": "7", "results": [*results]}
    (folder / "modak-result.json").write_text(json.dumps(document))
    with open_store(f"sqlite:///{folder}/modak.db", fill=True) as store:
        report = store.load(tables([folder / "modak-result.json"]).tables, ME)
        return report.new, tuple(result.source for result in results_of(store, "app"))


def test_a_finished_run_is_a_result(tmp_path: Path) -> None:
    """Its row says which job of which plan it was."""
    assert loaded(tmp_path, 0) == (1, ("job 7, plan abc",))


def test_a_failed_run_is_none(tmp_path: Path) -> None:
    """Whatever it wrote."""
    assert loaded(tmp_path, 3) == (0, ())


def test_a_part_of_a_run_is_none(tmp_path: Path) -> None:
    """It wrote a checkpoint at the signal before its limit, and succeeded; the files of all jobs of a chain are loaded at once."""
    assert loaded(tmp_path, 0, ()) == (0, ())

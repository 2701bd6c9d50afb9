"""The file that job scripts write at their end comes back as results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from modak.ingest.reading import tables
from modak.store import open_store
from tests.store.tables import ME, results_of

RECORD = {"application": "app", "nodes": 2, "hyperthreads": False, "params.epochs": "20", "metric": "wall_time", "unit": "s", "value": 12.5}
RUN = {name: value for name, value in RECORD.items() if name not in ("metric", "unit", "value")}
"""The same run without its result."""


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


def test_the_times_of_a_failed_run_are_none(tmp_path: Path) -> None:
    """Whatever it wrote."""
    assert loaded(tmp_path, 3) == (0, ())


@pytest.mark.parametrize(("status", "metric"), [(3, "failed_runs"), (137, "out_of_memory"), (143, None), (74, None)])
def test_a_failed_run_counts_as_one(tmp_path: Path, status: int, metric: str | None) -> None:
    """With what it ran; one that the kernel killed had too little memory; one that somebody or a check of the node stopped did not fail."""
    document = {"modak_result": 1, "plan": "abc", "exit_status": status, "job": "7", "seconds": 3.5, "results": [], "unfinished": RUN}
    (tmp_path / "modak-result.json").write_text(json.dumps({**document, "ended": "2026-03-01T12:00:00Z"}))
    with open_store(f"sqlite:///{tmp_path}/modak.db", fill=True) as store:
        store.load(tables([tmp_path / "modak-result.json"]).tables, ME)
        found = [(one.series.metric, one.layout.nodes, one.count) for one in store.failed("app")]
    assert found == ([(metric, 2, 1)] if metric else [])


@pytest.mark.parametrize("changed", [{"seconds": None}, {"unfinished": None}, {"earlier": 3.0}])
def test_a_job_that_did_not_run_or_is_a_part_is_no_failed_run(tmp_path: Path, changed: dict[str, Any]) -> None:
    """A chain of jobs may stop each of its parts on purpose."""
    document = {"modak_result": 1, "plan": "abc", "exit_status": 1, "job": "7", "seconds": 3.5, "results": [], "unfinished": RUN}
    (tmp_path / "modak-result.json").write_text(json.dumps(document | changed))
    with open_store(f"sqlite:///{tmp_path}/modak.db", fill=True) as store:
        assert store.load(tables([tmp_path / "modak-result.json"]).tables, ME).new == 0


def test_a_part_of_a_run_is_none(tmp_path: Path) -> None:
    """It wrote a checkpoint at the signal before its limit, and succeeded; the files of all jobs of a chain are loaded at once."""
    assert loaded(tmp_path, 0, ()) == (0, ())

"""The file that job scripts write at their end comes back as results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from modak.ingest.reading import tables
from tests.store.tables import ME, opened, results_of

RUN = {"application": "app", "nodes": 2, "hyperthreads": False, "params.epochs": "20"}
RECORD = {**RUN, "metric": "wall_time", "unit": "s", "value": 12.5}
FAILED = {"modak_result": 1, "plan": "abc", "exit_status": 1, "job": "7", "seconds": 3.5, "results": [], "unfinished": RUN}


def loaded(folder: Path, status: int, results: Sequence[dict[str, Any]] = (RECORD,)) -> tuple[int, tuple[str | None, ...]]:
    """New rows, and where those of the application come from."""
    document = {"modak_result": 1, "plan": "abc", "exit_status": status, "job": "7", "results": [*results]}
    (folder / "modak-result.json").write_text(json.dumps(document))
    with opened(f"sqlite:///{folder}/modak.db") as store:
        report = store.load(tables([folder / "modak-result.json"]).tables, ME)
        return report.new, tuple(result.source for result in results_of(store, "app"))


def test_a_finished_run_is_a_result(tmp_path: Path) -> None:
    """Its row says which job of which plan it was."""
    assert loaded(tmp_path, 0) == (1, ("job 7, plan abc",))


def test_the_times_of_a_failed_run_are_none(tmp_path: Path) -> None:
    """Whatever it wrote."""
    assert loaded(tmp_path, 3) == (0, ())


@pytest.mark.parametrize(
    ("status", "metric"),
    [(3, "failed_runs"), (137, "out_of_memory"), (253, "out_of_memory"), (139, "failed_runs"), (74, None)],
)
def test_a_failed_run_counts_as_one(tmp_path: Path, status: int, metric: str | None) -> None:
    """With what it ran; one that the kernel killed had too little memory; one that a check of the node stopped did not fail."""
    (tmp_path / "modak-result.json").write_text(json.dumps({**FAILED, "exit_status": status, "ended": "2026-03-01T12:00:00Z"}))
    with opened(f"sqlite:///{tmp_path}/modak.db") as store:
        store.load(tables([tmp_path / "modak-result.json"]).tables, ME)
        found = [(one.series.metric, one.layout.nodes, one.count) for one in store.failed("app")]
    assert found == ([(metric, 2, 1)] if metric else [])


def test_a_run_that_was_stopped_takes_longer(tmp_path: Path) -> None:
    """By the time limit, by somebody, or by the signal before the limit; the longest of those alike counts."""
    for number, (status, seconds) in enumerate(((143, 300.5), (138, 60.0))):
        stopped = {**FAILED, "exit_status": status, "seconds": seconds, "job": str(number)}
        (tmp_path / f"modak-result-{number}.json").write_text(json.dumps(stopped))
    with opened(f"sqlite:///{tmp_path}/modak.db") as store:
        store.load(tables(sorted(tmp_path.glob("*.json"))).tables, ME)
        found = [(one.series.metric, one.layout.nodes, one.count, one.longest_s) for one in store.failed("app")]
    assert found == [("stopped_after", 2, 2, 300.5)]


@pytest.mark.parametrize(
    ("status", "lacked", "metric"),
    [(137, False, "failed_runs"), (137, True, "out_of_memory"), (143, False, "failed_runs"), (143, True, "out_of_memory")],
)
def test_ranks_that_were_ended_lacked_memory_if_the_job_says_so(tmp_path: Path, status: int, lacked: bool, metric: str) -> None:
    """``srun`` gives these statuses whatever ended the first one."""
    (tmp_path / "modak-result.json").write_text(json.dumps({**FAILED, "exit_status": status, "out_of_memory": lacked}))
    with opened(f"sqlite:///{tmp_path}/modak.db") as store:
        store.load(tables([tmp_path / "modak-result.json"]).tables, ME)
        assert [one.series.metric for one in store.failed("app")] == [metric]


@pytest.mark.parametrize(
    ("status", "note"),
    [
        (1, "the run failed with status 1, and counts as failed_runs"),
        (143, "the run was stopped after 3.5 s (status 143): it takes longer than that"),
        (74, "the run ended with status 74; left out"),
        (127, "the run ended with status 127: the program, or one that it needs, was not found, or may not be executed; left out"),
    ],
)
def test_a_failed_run_is_noted(tmp_path: Path, status: int, note: str) -> None:
    """With the status of the script, and as what it counts."""
    (tmp_path / "modak-result.json").write_text(json.dumps({**FAILED, "exit_status": status}))
    (table,) = tables([tmp_path / "modak-result.json"]).tables
    (batch,) = table.batches()
    assert [one.partition(": ")[2] for one in batch.notes] == [note]


@pytest.mark.parametrize(("said", "part"), [({"unfinished": RUN}, True), ({"earlier": None}, True), ({}, False)])
def test_that_a_run_may_be_a_part_is_noted(tmp_path: Path, said: dict[str, Any], part: bool) -> None:
    """It was stopped before its limit, or began after another job that may have done some of it."""
    document = {"modak_result": 1, "plan": "abc", "exit_status": 0, "job": "7", "seconds": 3.5, "results": [], **said}
    (tmp_path / "modak-result.json").write_text(json.dumps(document))
    (table,) = tables([tmp_path / "modak-result.json"]).tables
    (batch,) = table.batches()
    why = ", but may be a part of one: it was told to stop, or what ran before is not known" if part else " and has no results"
    assert [one.partition(": ")[2] for one in batch.notes] == [f"the run ended with status 0{why}; left out"]


@pytest.mark.parametrize(("said", "noted"), [({"metric_read": False}, 1), ({}, 0)])
def test_a_metric_that_was_not_found_is_noted(tmp_path: Path, said: dict[str, bool], noted: int) -> None:
    """A program may end with status 0 and have done nothing, and its time is still loaded."""
    document = {"modak_result": 1, "plan": "abc", "exit_status": 0, "job": "7", "seconds": 3.5, "results": [RECORD], **said}
    (tmp_path / "modak-result.json").write_text(json.dumps(document))
    (table,) = tables([tmp_path / "modak-result.json"]).tables
    (batch,) = table.batches()
    assert (len(batch.values), len(batch.notes)) == (1, noted)


def test_a_job_that_was_requeued_and_failed_twice_counts_as_two(tmp_path: Path) -> None:
    """It has one number, and ended at two times."""
    for ended in ("12", "13"):
        (tmp_path / f"modak-result-{ended}.json").write_text(json.dumps({**FAILED, "ended": f"2026-03-01T{ended}:00:00Z"}))
    with opened(f"sqlite:///{tmp_path}/modak.db") as store:
        store.load(tables(sorted(tmp_path.glob("*.json"))).tables, ME)
        assert [one.count for one in store.failed("app")] == [2]


@pytest.mark.parametrize("changed", [{"seconds": None}, {"unfinished": None}, {"earlier": 3.0}, {"run_status": 0}])
def test_a_job_whose_run_did_not_fail_is_no_failed_run(tmp_path: Path, changed: dict[str, Any]) -> None:
    """It did not begin, or ended before what failed; a chain of jobs may stop each of its parts on purpose."""
    (tmp_path / "modak-result.json").write_text(json.dumps(FAILED | changed))
    with opened(f"sqlite:///{tmp_path}/modak.db") as store:
        assert store.load(tables([tmp_path / "modak-result.json"]).tables, ME).new == 0


def test_a_part_of_a_run_is_none(tmp_path: Path) -> None:
    """It wrote a checkpoint at the signal before its limit, and succeeded; the files of all jobs of a chain are loaded at once."""
    assert loaded(tmp_path, 0, ()) == (0, ())

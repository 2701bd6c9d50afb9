"""Studies and runs in their folders."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from modak.errors import Conflict, DataError, RequestError
from modak.facts import Facts
from modak.tuner.limits import SearchLimits, SearchOptions
from modak.tuner.study import RunState, opened
from modak.tuning.request import grid_of
from modak.tuning.trial import identity
from tests.tuning.requests import based, request_of


def test_a_folder_serves_one_request_and_one_process(tmp_path: Path) -> None:
    """Another space is refused, and so is a second process."""
    base = based(request_of())
    space = grid_of(base)
    with opened(tmp_path, space, identity(base), {space.default: "first"}) as study:
        assert study.ask()[1:] == (space.default, "first")
        with pytest.raises(Conflict, match="another modak tune"), opened(tmp_path, space, identity(base), {}):
            pass
    with pytest.raises(DataError, match="another request"), opened(tmp_path, space, "another", {}):
        pass


def test_a_folder_whose_files_cannot_be_locked_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Lustre, mounted without flock: no file system at hand refuses locks, so the call does."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    base = based(request_of())
    with pytest.raises(RequestError, match=r"cannot be locked \(Function not implemented\)"), opened(tmp_path, grid_of(base), "", {}):
        pass


def test_a_line_that_was_cut_short_is_forgotten(tmp_path: Path) -> None:
    """What a killed process did not finish writing; all before it is there."""
    base = based(request_of())
    space = grid_of(base)
    with opened(tmp_path, space, identity(base), {}) as study:
        number, _, _ = study.ask()
        study.tell(number, 2.0)
    with (tmp_path / "study.journal").open("a") as journal:
        journal.write('{"op_code": 4, "trial')
    with opened(tmp_path, space, identity(base), {}) as study:
        assert [trial.cost for trial in study.trials()] == [2.0]
        study.tell(study.ask()[0], 1.0)
        assert [trial.cost for trial in study.trials()] == [2.0, 1.0]


def test_a_trials_folder_says_what_a_run_took(tmp_path: Path) -> None:
    """Node-hours from nodes and seconds; what was written is read again."""
    run = RunState(why="x", nodes=4).update(tmp_path, seconds=1800.0)
    assert (RunState.read(tmp_path), run.node_hours) == (run, 2.0)
    assert RunState.read(tmp_path / "nowhere") == RunState()


def test_the_sampler_keeps_away_from_settings_that_fail(tmp_path: Path) -> None:
    """As batches do that no memory holds: half of a parameter's values fail, and later proposals are rarely among them."""
    base = based(request_of(space={"options": {"--batch-size": {"low": 8, "high": 1024, "factor": 2}, "-n": list(range(1, 21))}}))
    space = grid_of(base)
    failures = []
    with opened(tmp_path, space, identity(base), {}) as study:
        for _ in range(40):
            number, (batch, other), _ = study.ask()
            fails = batch > 3
            failures.append(fails)
            study.tell(number, None if fails else 1.0 + 0.01 * other)
        assert {trial.state for trial in study.trials()} == {"complete", "failed"}
    assert sum(failures[20:]) <= 4


def test_proposals_keep_away_from_settings_that_run(tmp_path: Path) -> None:
    """With several trials at a time they count as the worst one, as those that failed do. What is to be gained does not depend on them."""
    base = based(request_of(space={"options": {"-n": list(range(1, 21))}}))
    space = grid_of(base)
    with opened(tmp_path, space, identity(base), {(3,): "measured", (15,): "measured"}) as study:
        limits = SearchLimits(base, Facts(version=""), space, study, SearchOptions())
        for cost in (1.0, 1.2):
            study.tell(study.ask()[0], cost)
        before, same = (limits.promise(with_failures=failures) for failures in (True, False))
        assert before is not None
        assert before == same
        study.enqueue(before.point, "it runs")
        study.ask()
        away, beside = (limits.promise(with_failures=failures) for failures in (True, False))
        assert away is not None
        assert beside is not None
        assert abs(away.point[0] - before.point[0]) > abs(beside.point[0] - before.point[0])

"""The benchmarks of the models also run on tables of one's own, however few."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import model_quality

COLUMNS = ("dataset", "series", "app", "p", "nodes", "higher_better", "value")


def _table(folder: Path, collections: Sequence[str]) -> Path:
    """One series of Amdahl's law in each collection, all of one name."""
    with (folder / "own.csv").open("w", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(COLUMNS)
        table.writerows([name, "series", "solver", p, p, 0, 100 / p + 1] for name in collections for p in (1, 2, 4, 8, 16))
    return folder


def _figures(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> str:
    monkeypatch.setattr("sys.argv", ["model_quality", "--data", str(folder)])
    model_quality.main()
    return capsys.readouterr().out


def test_one_series_is_enough_for_figures(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Errors, and the intervals that are shipped."""
    out = _figures(monkeypatch, capsys, _table(tmp_path, ["ours"]))
    assert "largest two: 1 tasks, 2 predictions" in out
    assert "90 % intervals, largest two; as shipped: coverage" in out
    assert "unseen collection" not in out  # there is no other one


def test_series_of_two_collections_may_have_one_name(tmp_path: Path) -> None:
    """A series is one of its collection, whatever it is called."""
    found = model_quality.read_scaling(_table(tmp_path, ["ours", "theirs"]))
    assert [(one.collection, len(one.series.sizes)) for one in found] == [("ours", 5), ("theirs", 5)]


def test_a_folder_without_tables_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The line names the columns that are needed."""
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit):
        _figures(monkeypatch, capsys, tmp_path)
    assert capsys.readouterr().err.splitlines()[-1].endswith("columns needed: dataset, series, app, p, higher_better, value")

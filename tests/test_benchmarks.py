"""The benchmarks of the models also run on tables of one's own, however few."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import campaigns, model_quality, problem_sizes, training_worlds, worlds

COLUMNS = ("dataset", "series", "app", "p", "nodes", "higher_better", "value")


def _table(folder: Path, collections: Sequence[str]) -> Path:
    """One series of Amdahl's law in each collection, all of one name."""
    with (folder / "own.csv").open("w", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(COLUMNS)
        table.writerows([name, "series", "solver", p, p, 0, 100 / p + 1] for name in collections for p in (1, 2, 4, 8, 16))
    return folder


def _figures(capsys: pytest.CaptureFixture[str], folder: Path) -> str:
    model_quality.main(["--data", str(folder)])
    return capsys.readouterr().out


def test_one_series_is_enough_for_figures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Errors, and the intervals that are shipped."""
    out = _figures(capsys, _table(tmp_path, ["ours"]))
    assert "largest two: 1 tasks, 2 predictions" in out
    assert "90 % intervals, largest two; as shipped: coverage" in out
    assert "unseen collection" not in out  # there is no other one


def test_series_of_two_collections_may_have_one_name(tmp_path: Path) -> None:
    """A series is one of its collection, whatever it is called."""
    found = model_quality.read_scaling(_table(tmp_path, ["ours", "theirs"]))
    assert [(one.collection, len(one.series.sizes)) for one in found] == [("ours", 5), ("theirs", 5)]


def test_a_folder_without_tables_is_refused_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The line names the columns that are needed."""
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit):
        _figures(capsys, tmp_path)
    assert capsys.readouterr().err.splitlines()[-1].endswith("columns needed: dataset, series, app, p, higher_better, value")


def test_problems_with_two_numbers_and_variants_have_figures_of_their_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One that does twice the work of the other has the same ratio everywhere: one size tells it, nearly."""
    with (tmp_path / "own.csv").open("w", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(("origin", "series", "group", "n", "value", "higher_better"))
        grid = [(n, m) for n in (100, 200, 400) for m in (10, 20, 40)]
        table.writerows(["ours", f"of {work}", "both", f"{n};{m}", work * n * m, 0] for work in (1, 2) for n, m in grid)
    problem_sizes.report(problem_sizes.read(tmp_path))
    rows = {line[:38].strip(): line[38:].split() for line in capsys.readouterr().out.splitlines() if "MODAK" in line}
    several = ("each inner", "each at an edge", "largest of one", "largest of all", "all but the smallest")
    variants = [f"{known} of a variant, {which}" for known in problem_sizes.OWN for which in ("smallest", "between")]
    assert rows.keys() == {*(f"several numbers, {name}" for name in several), *variants}
    assert all((count, covered) == ("2", "100.0") for count, _, _, _, _, covered, _ in rows.values())
    assert float(rows["1 of a variant, smallest"][2]) < 20


@pytest.mark.parametrize(("benchmark", "kinds"), [(worlds, ("nodes open", "nodes given")), (training_worlds, ())])
def test_a_world_is_the_same_each_time_and_its_answers_are_compared_with_its_law(
    capsys: pytest.CaptureFixture[str], benchmark: Any, kinds: tuple[str, ...]
) -> None:
    """Figures are worth something only if they can be had again."""
    texts = []
    for _ in range(2):
        benchmark.main(3)
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert all(f"\n{kind}" in texts[0] for kind in ("measured", "transferred", *kinds))


def test_a_campaign_ends_with_a_choice_that_is_nearly_the_best(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever layout its first runs had on several nodes."""
    monkeypatch.setattr(campaigns, "ROUNDS", 3)
    campaigns.main(1)
    last = [line for line in capsys.readouterr().out.splitlines() if "the last round" in line]
    some = [line for line in last if " open " not in line and " limited " not in line]  # all nodes, or enough, take more rounds to reach
    losses = [float(line.split("worst")[1].split(";")[0]) for line in some]
    assert len(losses) == 3
    assert max(losses) < 5

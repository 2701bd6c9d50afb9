"""Results on the command line: what a load tells, what is shown, compared, confirmed and taken out."""

from __future__ import annotations

import gc
import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from modak.store import open_store
from modak.text.amounts import format_duration
from tests.conftest import Run
from tests.terminal import read_all

DATA = Path(__file__).parent.parent / "data"
TABLE = "application,system,nodes,metric,value,unit,repeat\n" + "".join(
    f"solver,{system},{nodes},wall_time,{base / nodes * (1 + 0.01 * repeat)},s,{repeat}\n"
    for system, base in (("zenith", 400), ("stampede2", 200))
    for nodes in (1, 2, 4)
    for repeat in (1, 2, 3)
)


@pytest.fixture
def run(run: Run, own_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line on a copy of the packaged database, in a folder with a table."""
    monkeypatch.setenv("MODAK_DATABASE_URL", f"sqlite:///{own_database}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    return run


def test_a_file_whose_name_is_not_utf8_is_loaded_and_taken_out(run: Run, tmp_path: Path) -> None:
    """Archives of older systems hold names in Latin-1: they are told with the bytes as escapes."""
    file = tmp_path / os.fsdecode(b"gr\xf6\xdfe.csv")
    file.write_text(TABLE)
    assert json.loads(run("load", str(file), "--json")[1])["files"][0]["name"] == f"{tmp_path}/gr\\xf6\\xdfe.csv"
    assert run("results", "doubt", "--file", str(file), "--why", "another machine")[0] == 0


def test_a_load_tells_what_it_changed(run: Run) -> None:
    """Counts, and the series that changed; a second load says when the first was."""
    status, out, _ = run("load", "t.csv")
    assert status == 0
    assert out.splitlines() == [
        "18 rows read, 18 new, 0 there already, 0 suspicious",
        "2 series changed; predictions take that into account from now on:",
        "- application solver, system zenith, metric wall_time, unit s",
        "- application solver, system stampede2, metric wall_time, unit s",
    ]
    _, out, err = run("load", "t.csv")
    assert out == "18 rows read, 0 new, 18 there already, 0 suspicious\n"
    assert "t.csv: loaded already on" in err


def test_a_load_counts_the_models_that_rested_on_what_it_changed(run: Run, tmp_path: Path) -> None:
    """Those of the series alone."""
    run("load", "t.csv")
    run("models", "fit", "--application", "solver")
    (tmp_path / "more.csv").write_text("application,system,nodes,metric,value,unit,repeat\nsolver,zenith,8,wall_time,51,s,1\n")
    assert run("load", "more.csv").out.splitlines()[1] == (
        "1 series changed, on which 1 fitted model rested; predictions take that into account from now on:"
    )


def test_the_command_in_an_advice_fills_the_gap_of_a_table(run: Run, tmp_path: Path) -> None:
    """As it stands, with the file and the values put in: the rows get what they lacked, and none counts twice."""
    (tmp_path / "u.csv").write_text("application,system,nodes,metric,value\nlander,zenith,1,wall_time,812\nlander,zenith,4,wall_time,240\n")
    run("load", "u.csv")
    advice = run("recommend", "--application", "lander", "--system", "zenith").out
    (found,) = re.findall("'modak (load FILE .*ranks_per_node=.*)'", advice)
    words = found.replace("FILE", "u.csv").replace("ranks_per_node=…", "ranks_per_node=2").replace("rank=…", "rank=20").split()
    assert run(*words).status == 0
    rows = json.loads(run("results", "list", "--application", "lander", "--json").out)["items"]
    assert [(row["ranks_per_node"], row["threads_per_rank"]) for row in rows] == [(2, 20), (2, 20)]


def test_rows_that_leave_open_which_nodes_they_ran_on_are_told(run: Run, tmp_path: Path) -> None:
    """Where a system has several kinds, and the row no partition; not where it names one."""
    head = "application,system,partition,nodes,gpus_per_node,metric,value,unit\n"
    (tmp_path / "p.csv").write_text(f"{head}net,fujitsu_primeflex-large,rx2540-t4,1,2,throughput,10,samples/s\n")
    assert run("load", "p.csv")[2] == ""
    (tmp_path / "p.csv").write_text(f"{head}net,fujitsu_primeflex-large,,1,2,throughput,10,samples/s\n")
    says = (
        "partitions with different nodes (rx2540-v100, rx2540-t4, cx2570-v100); rows without 'partition' count as measured in any of them"
    )
    assert run("load", "p.csv")[2] == f"note: fujitsu-primeflex-large has {says}\n"


def test_a_load_names_what_failed(run: Run) -> None:
    """A report with failed tests loads the others; exit status 0."""
    status, out, err = run("load", str(DATA / "reframe-4.10.4.json"))
    assert (status, out.splitlines()[0]) == (0, "4 rows read, 4 new, 0 there already, 0 suspicious")
    assert "test 'broken' ended as 'fail' in sanity; left out" in err


def test_a_list_tells_builds_and_partitions_apart(run: Run, tmp_path: Path) -> None:
    """Of results, and of the models that were fitted to them."""
    head = "application,system,partition,compiler,nodes,metric,value,unit\n"
    rows = [f"solver,zenith,p{number},gcc-{number},{nodes},wall_time,{9 / nodes},s\n" for number in (8, 9) for nodes in (1, 2)]
    (tmp_path / "builds.csv").write_text(head + "".join(rows))
    run("load", "builds.csv")
    for command in (("results", "list", "--application", "solver"), ("models", "list")):
        out = run(*command)[1]
        assert all(name in out for name in ("compiler", "partition", "gcc-8", "gcc-9", "p8", "p9"))


def test_a_list_shows_what_else_rows_differ_in(run: Run, tmp_path: Path) -> None:
    """Else nobody knows which of two numbers to doubt; not the columns that all rows share."""
    head = "application,system,mpi,runtime,params.mesh,nodes,metric,value,source\n"
    rows = [f"solver,zenith,{mpi},none,{mesh},1,wall_time,9,{mpi}{mesh}\n" for mpi in ("mpich", "openmpi") for mesh in ("fine", "coarse")]
    (tmp_path / "runs.csv").write_text(head + "".join(rows))
    run("load", "runs.csv")
    shown = run("results", "list", "--application", "solver")[1].split("\n")[0].split()
    assert {"mpi", "params.mesh"} <= set(shown)
    assert not {"runtime", "source"} & set(shown)


def test_a_folder_that_grows_every_night_is_told_by_what_is_new(run: Run, tmp_path: Path) -> None:
    """A few of the files that were loaded before are named, and the trail begins with those that were not."""
    (tmp_path / "nights").mkdir()
    notes: list[str] = []
    for night in range(8):
        (tmp_path / f"nights/{night}.csv").write_text(f"application,nodes,metric,value\nnightly,1,wall_time,{100 + night}\n")
        notes = run("load", "nights")[2].splitlines()
    told = [line for line in notes if "loaded already" in line]
    assert (len(told), told[0].split(": ")[1], told[-1]) == (6, "nights/0.csv", "note: files that were loaded already, in all: 7")
    trail = json.loads(run("audit", "--limit", "1", "--json")[1])["items"][0]["target"]
    assert trail.startswith("nights/7.csv (1 of 1 rows), nights/0.csv (0 of 1 rows)")


def test_a_unit_slip_is_told_and_can_be_confirmed(run: Run, tmp_path: Path) -> None:
    """Flagged, shown with its number, used after `results confirm`."""
    run("load", "t.csv")
    (tmp_path / "slip.csv").write_text("application,system,nodes,metric,value,unit\nsolver,zenith,4,wall_time,100000,s\n")
    status, out, err = run("load", "slip.csv")
    assert (status, "1 suspicious" in out) == (0, True)
    assert "wrong unit?" in err
    items = json.loads(run("results", "list", "--application", "solver", "--json")[1])["items"]
    (number,) = [item["id"] for item in items if "suspect" in item]
    assert run("results", "confirm", str(number))[1] == "1 result had been doubted and is used from now on\n"
    assert not any("suspect" in item for item in json.loads(run("results", "list", "--application", "solver", "--json")[1])["items"])


def test_the_list_shows_on_which_results_somebody_said_a_word(run: Run) -> None:
    """Without any it looks as before."""
    run("load", "t.csv")
    assert "by_hand" not in run("results", "list", "--application", "solver")[1]
    number = json.loads(run("results", "list", "--application", "solver", "--json")[1])["items"][0]["id"]
    run("results", "confirm", str(number))
    header, *rows = run("results", "list", "--application", "solver")[1].splitlines()
    assert (header.split()[-1], [row.split()[0] for row in rows if row.endswith("yes")]) == ("by_hand", [str(number)])


def test_a_word_on_a_result_says_what_it_changes_for_others(run: Run, tmp_path: Path) -> None:
    """Of two repeats that contradict each other, and how to take it back."""
    table = tmp_path / "own.csv"
    table.write_text("application,metric,nodes,repeat,value\nown,wall_time,4,1,24\nown,wall_time,4,2,24000\n")
    run("load", str(table))
    one, other = (item["id"] for item in json.loads(run("results", "list", "--doubted", "--json", "--application", "own")[1])["items"])
    _, _, notes = run("results", "doubt", str(other), "--why", "a slip")
    assert notes == f"note: no longer suspicious, and used by the models: 1 result ({one})\n"
    assert f"note: suspicious from now on: {table}: result {one} (value 24): less than" in run("results", "confirm", str(other))[2]
    assert run("results", "unmark", str(one), str(other))[1].startswith("1 of 2 results is judged like all others again; nobody had")


def test_results_of_a_period_are_doubted_and_taken_back(run: Run) -> None:
    """With a filter, and one way to choose results at a time."""
    Path("own.csv").write_text(
        "application,system,metric,value,measured_at\nown,here,wall_time,24,2026-03-02\nown,there,wall_time,25,2026-03-02\n"
    )
    run("load", "own.csv")
    period = ("--since", "2026-03-01", "--until", "2026-03-02", "--where", "system=here")
    said = "measured since 2026-03-01 until 2026-03-02, system here"
    assert run("results", "doubt", *period, "--why", "x")[1] == f"1 result {said} is not used from now on\n"
    assert run("results", "unmark", *period)[1] == f"1 result {said} is judged like all others again\n"
    for wrong in (("3", "--since", "2026-03-01"), ("--until", "2026-03-01"), ("3", "--where", "system=here"), ()):
        assert run("results", "confirm", *wrong)[0] == 2


def test_a_system_of_doubted_results_alone_is_not_unknown(run: Run) -> None:
    """The answer says what to do about them, whether or not anybody described the system."""
    Path("own.csv").write_text("application,system,metric,nodes,repeat,value\nown,here,wall_time,4,1,24\nown,here,wall_time,4,2,24000\n")
    run("load", "own.csv")
    status, out, _ = run("recommend", "--application", "own", "--system", "here")
    assert (status, "- no model rests on the doubted results of 'own' (2): 'modak results list --doubted" in out) == (0, True)
    assert run("recommend", "--application", "own", "--system", "there")[0] == 1


def test_a_wrong_file_is_doubted_and_confirmed_by_its_name(run: Run) -> None:
    """One of its results too, by its number; either the numbers or the file."""
    run("load", "t.csv")
    status, out, _ = run("results", "doubt", "--file", "t.csv", "--why", "the wrong compiler")
    assert (status, out) == (0, "18 results of t.csv are not used from now on\n")
    (item, *_) = json.loads(run("results", "list", "--application", "solver", "--json")[1])["items"]
    assert item["suspect"] == "the wrong compiler"
    assert run("results", "confirm", str(item["id"]))[1] == "1 result had been doubted and is used from now on\n"
    assert run("results", "confirm", "--file", "t.csv")[1] == "17 results of t.csv had been doubted and are used from now on\n"
    assert run("results", "doubt", "--why", "no reason")[0] == run("results", "confirm", "1", "--file", "t.csv")[0] == 2


def test_who_doubts_a_file_learns_that_it_was_loaded_more_than_once(run: Run) -> None:
    """Files of one name may have come from different days: all of them are meant."""
    Path("week.csv").write_text("application,metric,nodes,value\nown,wall_time,1,9\n")
    run("load", "week.csv")
    Path("week.csv").write_text("application,metric,nodes,value\nown,wall_time,2,5\n")
    run("load", "week.csv")
    out = run("results", "doubt", "--file", "week.csv", "--why", "the wrong compiler")[1]
    assert out == "2 results of 2 loads of week.csv are not used from now on\n"


def test_a_file_that_nothing_came_in_cannot_be_doubted(run: Run) -> None:
    """Whoever mistypes the name, or leaves out its folder, learns that nothing was taken back, and what it may have been."""
    run("load", "t.csv")
    run("load", str(DATA / "reframe-4.10.4.json"))
    for name, meant in (("tt.csv", "t.csv"), ("reframe-4.10.4.json", str(DATA / "reframe-4.10.4.json"))):
        status, out, err = run("results", "doubt", "--file", name, "--why", "the wrong compiler")
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert f"{name!r}; did you mean {meant!r}?" in err


def test_a_number_that_no_result_has_is_refused(run: Run) -> None:
    """One line that names it, status 1; numbers that are there, but settled already, are counted as such."""
    run("load", "t.csv")
    for words in (("confirm",), ("doubt", "--why", "a slip")):
        assert run("results", *words, "1", "99999999") == (
            1, "", "modak: results: no result has the number 99999999 ('modak results list' shows them as id)\n"
        )  # fmt: skip
    assert run("results", "confirm", "1", "1")[1].startswith("0 of 1 results had been doubted and are used from now on; no load doubts the")


def test_columns_are_named_on_the_command_line_in_any_spelling_of_headings(run: Run, tmp_path: Path) -> None:
    """Case and blanks tell nothing in a file either; an option of the same name in other letters is one of the file's own."""
    (tmp_path / "h.csv").write_text("Application,Nodes,TIME,Time\na,1,10,5\n")
    filled = ("--set", "Ranks per node=4", "--set", "METRIC=wall_time", "--set", "System=zenith")
    assert "unknown column 'time (s)'" in run("load", "h.csv", "--map", "Time=Value", "--map", "time (s)=", *filled)[2]
    assert run("load", "h.csv", "--map", "Time=Value", "--map", "TIME=", *filled)[0] == 0
    (item,) = json.loads(run("results", "list", "--where", "Application=a", "--json")[1])["items"]
    assert (item["value"], item["ranks_per_node"], item["system"]) == (5, 4, "zenith")
    (tmp_path / "one.csv").write_text("Application,Nodes,TIME\nb,1,10\n")
    assert run("load", "one.csv", "--map", "time=value", "--set", "metric=wall_time")[0] == 0
    assert run("load", "t.csv")[0] == 0
    assert "stampede2" in run("results", "compare", "SYSTEM", "--where", "Application=solver")[1]


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("list", "--application", "sover"), 0, "note: no results with application 'sover' (did you mean 'solver'?)\n"),
        (("list", "--application", "quux", "--system", "Zenith"), 0, "note: no results with application 'quux', system 'Zenith'\n"),
        (
            ("export", "--application", "sover", "--system", "zenit", "--metric", "wal_time"),
            0,
            "note: no results with application 'sover', system 'zenit', metric 'wal_time' "
            "(did you mean 'solver', 'zenith', 'wall_time'?)\n",
        ),
        (
            ("compare", "system", "--application", "sover"),
            1,
            "modak: column: no results with application 'sover' (did you mean 'solver'?) state system\n",
        ),
        (
            ("compare", "system", "zenith", "stampede", "--application", "solver"),
            1,
            "modak: value: unknown system 'stampede'; did you mean",
        ),
        (("compare", "params.", "--application", "solver"), 1, "modak: column: unknown column 'params.'; did you mean"),
        (
            ("compare", "params.sise", "--application", "solver"),
            1,
            "modak: column: no results with application 'solver' state params.sise; they state application, nodes, ",
        ),
        (("compare", "system", "--where", "params.size=3"), 1, "modak: column: no results with params.size '3' state system\n"),
    ],
)
def test_names_that_no_result_has_are_told(run: Run, words: tuple[str, ...], status: int, says: str) -> None:
    """An empty table may be a slip: what was looked for is said again; what cannot be compared is a fault."""
    run("load", "t.csv")
    found, _, err = run("results", *words)
    assert (found, err[: len(says)], err.count("\n")) == (status, says, 1)


def test_a_list_of_nothing_has_no_header(run: Run) -> None:
    """The note says all there is."""
    run("load", "t.csv")
    assert run("results", "list", "--replaced")[1:] == ("", "note: no replaced results\n")


def test_models_of_an_application_without_results_are_not_up_to_date(run: Run, own_database: Path) -> None:
    """None were fitted, and nothing is to be believed of them."""
    assert run("models", "fit", "--application", "sover")[::2] == (
        1,
        "modak: application: no results of 'sover' from which a model can be fitted; 'modak models list' shows all models\n",
    )
    run("load", "t.csv")
    for command in ("fit", "evaluate"):
        assert "fitted; did you mean 'solver'? 'modak models list' shows" in run("models", command, "--application", "sover")[2]
    with open_store(f"sqlite:///{own_database}") as store:
        assert store.state().stale_series == 2, "a wrong name fits nothing else"


def test_models_that_are_fitted_are_counted(run: Run) -> None:
    """Those of all applications, or of one."""
    run("load", "t.csv")
    applications = [model["application"] for model in json.loads(run("models", "list", "--json")[1])]
    assert run("models", "fit", "--application", "3dgan")[:2] == (0, f"{applications.count('3dgan')} models are up to date\n")
    assert run("models", "fit")[:2] == (0, f"{len(applications)} models are up to date\n")


@pytest.mark.usefixtures("impatient")
def test_models_that_cannot_be_stored_are_not_up_to_date(run: Run, own_database: Path) -> None:
    """Fitted in memory alone, they would have to be fitted again by whoever needs them."""
    run("load", "t.csv")
    with closing(sqlite3.connect(own_database)) as other:
        other.execute("BEGIN IMMEDIATE")
        status, out, err = run("models", "fit")
    assert (status, out, "is out of reach: " in err) == (3, "", True)


@pytest.mark.parametrize("folder", ["", ".", "/", "..", "/proc/sys"])
def test_a_folder_is_no_file_to_export_to(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """One line, and nothing is left there."""
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)
    ran = run("results", "export", "-o", folder)
    assert (ran.status, ran.err) == (1, f"modak: {folder or '.'}: cannot be written: Is a directory\n")
    assert [*here.iterdir()] == []
    gc.collect()  # since Python 3.13, a connection that nothing has closed is an error here


@pytest.mark.parametrize("why", ["", " ", "two\x1b[31mcolours", "x" * 301])
def test_a_doubt_has_a_reason_that_can_be_shown(run: Run, why: str) -> None:
    """One line, with the field."""
    run("load", "t.csv")
    status, _, err = run("results", "doubt", "1", "--why", why)
    assert (status, "why: " in err, len(err.splitlines())) == (1, True, 1)


def test_a_corrected_file_replaces_rows_and_history_is_shown(run: Run, tmp_path: Path) -> None:
    """`--replace` says how many; `results list --replaced` shows them with when, by whom and from where."""
    run("load", "t.csv")
    (tmp_path / "better.csv").write_text(TABLE.replace("404.0", "444.0"))
    assert run("load", "better.csv", "--replace")[1].startswith("18 rows read, 1 new, 17 there already, 0 suspicious, 1 replaced\n")
    (item,) = json.loads(run("results", "list", "--replaced", "--json")[1])["items"]
    assert (item["value"], item["replaced_from"]) == (404.0, "better.csv")
    assert item["replaced_by"].startswith("local:")
    assert "replaced_at" in run("results", "list", "--replaced")[1]


def test_results_are_paged(run: Run) -> None:
    """Each page names the cursor of the next."""
    run("load", "t.csv")
    words = ("results", "list", "--application", "solver", "--limit", "10")
    _, first, err = run(*words)
    cursor = err.split("--cursor ")[1].split()[0]
    _, second, err = run(*words, "--cursor", cursor)
    assert (len(first.splitlines()), len(second.splitlines()), err) == (11, 9, "")


def test_spellings_are_compared_as_one(run: Run, tmp_path: Path) -> None:
    """Between series, too: what two runs differ in is the one column, whatever their rows call the rest."""
    rows = (
        "supermuc-ng,GCC 9.3,10,100 ns,none,100",
        "SuperMUC_NG,gcc-9.3,10.0,0.1 us,charliecloud,101",
        "zenith,gcc_9.3,1e1,1e2 ns,none,120",
    )
    table = "application,system,compiler,params.size,params.amount,runtime,nodes,metric,value\n" + "".join(
        f"mine,{row.rpartition(',')[0]},1,wall_time,{row.rpartition(',')[2]}\n" for row in rows
    )
    (tmp_path / "mine.csv").write_text(table)
    run("load", "mine.csv")
    for words, found in (
        (("runtime", "none", "Charliecloud"), ("none", "charliecloud", 1.01)),
        (("system", "SUPERMUC-NG", "zenith"), ("SUPERMUC-NG", "zenith", 1.2)),
    ):
        (pair,) = json.loads(run("results", "compare", *words, "--application", "mine", "--json")[1])["pairs"]
        assert (pair["one"], pair["other"].lower(), pair["ratio"]) == found
    assert run("results", "compare", "system", "zenith", "Zenith")[2] == "modak: value: two of the values mean the same\n"


def test_systems_are_compared(run: Run) -> None:
    """Ratio, which is better, and whether that is more than the repeats scatter; unknown columns are named."""
    run("load", "t.csv")
    pairs = json.loads(run("results", "compare", "system", "--application", "solver", "--json")[1])["pairs"]
    assert [(p["one"], p["other"], round(p["ratio"], 3), p["better"], p["beyond_noise"]) for p in pairs] == [
        ("stampede2", "zenith", 2.0, "stampede2", True)
    ] * 3
    _, out, _ = run("results", "compare", "system", "zenith", "stampede2", "--application", "solver")
    assert " ".join(out.splitlines()[1].split()) == "nodes system against median against it runs ratio better system beyond noise"
    assert run("results", "compare", "sytem")[::2] == (1, "modak: column: unknown column 'sytem'; did you mean 'system'?\n")
    assert run("results", "compare", "metric")[2].startswith("modak: column: unknown column 'metric'; known: application, ")
    assert "params.NAME" in run("results", "compare", "metric")[2]


def test_results_from_before_a_date_are_compared_with_those_since_it(run: Run, tmp_path: Path) -> None:
    """So a program that an update made slower is found. Results that say no time are neither."""
    rows = [(day, 100.0 + day % 2 + 5.0 * (day >= 20)) for day in range(10, 30)]
    table = "".join(f"weekly,4,wall_time,{seconds},2026-03-{day}T12:00:00+01:00\n" for day, seconds in rows)
    (tmp_path / "w.csv").write_text(f"application,nodes,metric,value,measured_at\n{table}weekly,4,wall_time,900,\n")
    run("load", "w.csv")
    compared = ("results", "compare", "measured_at")
    (pair,) = json.loads(run(*compared, "2026-03-20", "--application", "weekly", "--json")[1])["pairs"]
    assert (pair["one"], pair["other"], pair["better"]) == ("before 2026-03-20", "since 2026-03-20", "before 2026-03-20")
    assert (pair["medians"], pair["counts"], pair["beyond_noise"]) == ([100.5, 105.5], [10, 10], True)
    (pair,) = json.loads(run(*compared, "2026-03-20T12:00:00Z", "--application", "weekly", "--json")[1])["pairs"]
    assert pair["counts"] == [11, 9]


def test_the_dates_to_compare_are_found(run: Run, tmp_path: Path) -> None:
    """Since which runs take longer on a system; a load says it with the same words, and the commands in them work."""
    compared = ("results", "compare", "measured_at", "--system", "here")
    assert run(*compared)[::2] == (1, "modak: column: no results with system 'here' state measured_at\n")
    days = [
        (day, nodes, 400 / nodes * (1.2 if day >= 20 else 1) * (1 + 0.01 * (day * nodes % 3)))
        for day in range(10, 28)
        for nodes in (1, 2, 4)
    ]
    table = "".join(f"weekly,here,{nodes},wall_time,{seconds},2026-03-{day}\n" for day, nodes, seconds in days)
    (tmp_path / "w.csv").write_text(f"application,system,nodes,metric,value,measured_at\n{table}")
    _, _, told = run("load", "w.csv")
    _, out, _ = run(*compared)
    sentence = " ".join(out.split())
    assert f"note: {sentence}\n" in told
    (found,) = json.loads(run(*compared, "--json")[1])["shifts"]
    assert (found["system"], found["application"], found["since"]) == ("here", "weekly", "2026-03-20")
    assert (found["low"] < 1.2 < found["high"], found["configurations"], found["days_before"], found["days_since"]) == (True, 3, 10, 8)
    compare, doubt = (text.split() for text in re.findall("'modak ([^']*)'", sentence))
    assert run(*compare)[0] == 0
    assert run(*doubt)[1].startswith("24 results measured since 2026-03-20")
    assert json.loads(run(*compared, "--json")[1]) == {"column": "measured_at", "shifts": []}
    assert run(*compared)[2].startswith("note: no day is seen since which runs take longer, or less; with a date, ")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([""], "value: measured_at takes one date or instant: results from before it are compared with"),
        (
            ["2026-03-20", "2026-03-21"],
            "value: measured_at takes one date or instant: results from before it are compared with",
        ),
        (["20.3.2026"], "value: allowed: a date (2026-03-01), or ISO 8601 with an offset: "),
        (["2026-02-01"], "value: no results were measured before 2026-02-01\n"),
    ],
)
def test_results_are_compared_by_one_date_that_parts_them(run: Run, tmp_path: Path, values: list[str], said: str) -> None:
    """Anything else is refused with what would do."""
    (tmp_path / "w.csv").write_text("application,metric,value,measured_at\nweekly,wall_time,9,2026-03-01\n")
    run("load", "w.csv")
    status, _, err = run("results", "compare", "measured_at", *values, "--application", "weekly")
    assert (status, said in err) == (1, True)


def test_an_export_as_json_loads_again(run: Run) -> None:
    """The same rows: nothing is new."""
    run("load", "t.csv")
    assert run("results", "export", "-o", "all.json")[1].endswith("rows written to all.json\n")
    assert " 0 new," in run("load", "all.json")[1]


def test_an_export_is_of_no_other_kind_than_its_name_says(run: Run, tmp_path: Path) -> None:
    """A spreadsheet's ending is refused in one line, and nothing is written; whoever names a format gets that one."""
    status, _, told = run("results", "export", "-o", "all.xlsx")
    line = "modak: --output: '.xlsx' is no format; allowed: a FILE that ends in .csv or .json, or --format\n"
    assert (status, told, (tmp_path / "all.xlsx").exists()) == (1, line, False)
    assert run("results", "export", "-o", "all.xlsx", "--format", "csv")[0] == 0


def test_an_export_for_extrap_has_points_and_regions(run: Run) -> None:
    """Nodes are the parameter, systems the regions, repeats the values; it loads as Extra-P's format."""
    run("load", "t.csv")
    assert run("results", "export", "--application", "solver", "--format", "extrap", "-o", "e.json")[0] == 0
    document = json.loads(Path("e.json").read_text())
    assert document["parameters"] == ["nodes"]
    assert document["measurements"]["solver, system zenith"]["wall_time"][0] == {"point": [1.0], "values": [404.0, 408.0, 412.0]}
    assert run("load", "e.json", "--dry-run")[1].startswith("18 rows read, 18 new")
    assert run("results", "export", "--application", "none", "--format", "extrap")[0] == 1
    assert run("results", "export", "--format", "xls")[0] == 1


def test_one_row_and_one_model_are_counted_as_one(run: Run) -> None:
    """Not as '1 rows'."""
    Path("one.csv").write_text("application,metric,value\nalone,time,1\n")
    run("load", "one.csv")
    assert run("results", "export", "--application", "alone", "-o", "e.csv")[1] == "1 row written to e.csv\n"
    assert run("models", "fit", "--application", "alone")[1] == "1 model is up to date\n"


def test_an_export_says_what_it_cannot_mark(run: Run) -> None:
    """Doubts and what somebody said of results are no column that loads; Extra-P, which fits all that it gets, gets no doubted results."""
    run("load", "t.csv")
    first, second = (item["id"] for item in json.loads(run("results", "list", "--application", "solver", "--json")[1])["items"][:2])
    export = ("results", "export", "--application", "solver", "-o")
    assert run(*export, "e.csv")[1:] == ("18 rows written to e.csv\n", "")
    run("results", "doubt", str(first), "--why", "a bad node")
    run("results", "confirm", str(second))
    for file in ("e.csv", "e.json"):
        status, _, notes = run(*export, file)
        assert (status, notes.splitlines(), "a bad node" in Path(file).read_text()) == (
            0,
            [
                "note: doubted results in it, which it does not mark: 1 ('modak results list --doubted' shows them)",
                "note: results that somebody confirmed or doubted: 2; it does not say so, and loading it judges them anew",
            ],
            False,
        )
    assert run(*export, "x.json", "--format", "extrap")[1:] == (
        "17 rows written to x.json\n",
        "note: results that no model uses, left out: 1\n",
    )


def test_an_export_for_extrap_keeps_units_apart(run: Run) -> None:
    """Samples/s and tokens/s of one run are two metrics, not two values at one point."""
    rows = "".join(f"lm,{nodes},throughput,{nodes},{unit}\n" for nodes in (1, 2) for unit in ("samples/s", "tokens/s"))
    Path("lm.csv").write_text(f"application,nodes,metric,value,unit\n{rows}")
    run("load", "lm.csv")
    exported = json.loads(run("results", "export", "--application", "lm", "--format", "extrap")[1])
    assert {name: len(points) for name, points in exported["measurements"]["lm"].items()} == {
        "throughput in samples/s": 2,
        "throughput in tokens/s": 2,
    }


def test_the_results_behind_a_plan_are_listed(run: Run) -> None:
    """As many as the prediction says that it rests on; an unknown plan is named, and a filter beside it refused."""
    request = Path(__file__).parent.parent.parent / "examples/3dgan-supermuc-ng.json"
    plan = json.loads(run("optimise", str(request), "--json")[1])["job"]["plan"]
    items = json.loads(run("results", "list", "--used-by", plan["id"], "--json")[1])["items"]
    assert len(items) == plan["prediction"]["results_used"] > 0
    assert {item["application"] for item in items} == {"3dgan"}
    assert "source" in run("results", "list", "--used-by", plan["id"])[1].splitlines()[0]
    assert run("results", "list", "--used-by", "nothing")[0] == 1
    assert run("results", "list", "--used-by", plan["id"], "--system", "zenith")[0] == 2


def test_results_of_relatives_are_behind_a_transferred_answer(run: Run) -> None:
    """Where other curves had a say in what was never measured, their results are counted and listed, too."""
    document = json.loads((Path(__file__).parent.parent.parent / "examples/3dgan-supermuc-ng.json").read_text())
    del document["job"]["optimisation"]["objective"]
    document["job"]["target"]["name"] = "zenith"
    Path("elsewhere.json").write_text(json.dumps(document))
    plan = json.loads(run("optimise", "elsewhere.json", "--json")[1])["job"]["plan"]
    items = json.loads(run("results", "list", "--used-by", plan["id"], "--json")[1])["items"]
    assert plan["prediction"]["basis"] == "transferred"
    assert len(items) == plan["prediction"]["results_used"]
    assert len({item["system"] for item in items}) > 1


def test_a_terminal_sees_a_progress_bar(tmp_path: Path) -> None:
    """On a terminal alone: percent, rows, rate and remaining time."""
    (tmp_path / "t.csv").write_text(TABLE)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "modak", "load", str(tmp_path / "t.csv")]
    env = {**os.environ, "MODAK_DATABASE_URL": f"sqlite:///{tmp_path / 'own.db'}", "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(words, stderr=theirs, stdout=subprocess.PIPE, env=env, cwd=Path(__file__).parent.parent.parent) as process:
        os.close(theirs)
        shown = read_all(ours)
        assert process.wait() == 0
    assert b"18 rows" in shown
    assert b"/s" in shown


def test_a_stopped_run_that_is_loaded_counts_in_every_answer(run: Run, tmp_path: Path) -> None:
    """The result of a job's script, and of the next requests: time and interval, what is chosen, the plan, what the goal needs."""
    rows = "".join(f"solver,supermuc-ng,{nodes},4,12,wall_time,{8000 / nodes},s\n" for nodes in (1, 2, 4))
    (tmp_path / "t.csv").write_text(f"application,system,nodes,ranks_per_node,threads_per_rank,metric,value,unit\n{rows}")
    ran = {"application": "solver", "system": "supermuc-ng", "nodes": 8, "ranks_per_node": 4, "threads_per_rank": 12}
    for number in ("7", "8"):  # one alone may have hung
        ended = {"modak_result": 1, "plan": "abc", "exit_status": 143, "job": number, "seconds": 3600, "results": [], "unfinished": ran}
        (tmp_path / f"stopped{number}.json").write_text(json.dumps(ended))
    asked = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}, "workload": {"application": "solver"}}
    counts = {"process_count_per_node": 4, "core_count_per_process": 12}
    job = {
        "application": {"app_tag": "solver", "app_type": "mpi", "executable": "./solver"},
        "target": {"name": "supermuc-ng", "container_runtime": "none"},
        "job_options": counts,
        "optimisation": {**asked, "objective": {"deadline": "00:30:00"}},
    }
    (tmp_path / "r.json").write_text(json.dumps({"job": job}))
    sized = ("size", "r.json", "--system", "supermuc-ng", "--json")
    assert run("load", "t.csv").status == 0
    assert json.loads(run("recommend", "r.json", "--json").out)["choices"][0]["configuration"]["nodes"] == 5
    assert json.loads(run(*sized).out)["platforms"][0]["nodes"]["value"] == 5
    assert run("load", "stopped7.json", "stopped8.json").status == 0
    needs = json.loads(run(*sized).out)["platforms"][0]
    assert "(a guess, because runs were stopped)" in run("recommend", "r.json").err
    goal = {"deadline": "00:30:00", "max_nodes": int(needs["nodes"]["value"])}
    (tmp_path / "r.json").write_text(json.dumps({"job": job | {"optimisation": {**asked, "objective": goal}}}))
    nodes = json.loads(run("recommend", "r.json", "--json").out)["choices"][0]["configuration"]["nodes"]
    assert nodes == needs["nodes"]["value"] > 16
    assert needs["time"]["why"].endswith(f"; more than {format_duration(3600 * 8 / needs['at_nodes'])}, because a run was stopped")
    (tmp_path / "r.json").write_text(json.dumps({"job": job | {"job_options": counts | {"node_count": 8}, "optimisation": asked}}))
    told = json.loads(run("recommend", "r.json", "--json").out)["choices"][0]["prediction"]
    assert told["lower"] > told["longer_than"] == 3600
    assert "basis: heuristic, more than 60 min by a stopped run, 3 results" in run("optimise", "r.json").out

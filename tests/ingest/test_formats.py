"""Files of other tools: recognised by content, read as the same rows that a person would write, failed runs left out and named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from modak import plugins, testing
from modak.errors import DataError
from modak.ingest.reading import table
from modak.ingest.sources import from_bytes, from_path
from modak.ingest.table import PLAIN, UNKNOWN, Batch, Options

DATA = Path(__file__).parent.parent / "data"

SAMPLES: dict[str, tuple[str, int, int]] = {
    "reframe-4.7.4.json": ("reframe", 4, 2),
    "reframe-4.10.4.json": ("reframe", 4, 2),
    "reframe-4.10.4-solver.log": ("reframe_perflog", 4, 0),
    "reframe-4.10.4-slow.log": ("reframe_perflog", 0, 1),
    "reframe-4.10.4-broken.log": ("reframe_perflog", 0, 1),
    "ramble-hostname.json": ("ramble", 0, 2),
    "ramble-solver.json": ("ramble", 4, 5),
    "mlperf-logging-3.0.log": ("mlperf", 1, 1),
    "mlperf-logging-4.1.log": ("mlperf", 1, 1),
    "mlperf-training.log": ("mlperf", 1, 0),
    "mlperf-aborted.log": ("mlperf", 0, 1),
    "mlperf-killed.log": ("mlperf", 0, 1),
    "google-benchmark-1.7.1.json": ("google_benchmark", 13, 1),
    "google-benchmark-1.9.json": ("google_benchmark", 2, 1),
    "pytest-benchmark-3.4.json": ("pytest_benchmark", 3, 0),
    "pytest-benchmark-5.3.json": ("pytest_benchmark", 3, 0),
    "hyperfine-1.15.json": ("hyperfine", 3, 3),
    "hyperfine-1.15-failed.json": ("hyperfine", 0, 2),
    "hyperfine-2.0.json": ("hyperfine", 2, 1),
    "hpcc-1.5.txt": ("hpl", 6, 2),
    "hpl-2.3.out": ("hpl", 2, 0),
    "sacct-22.05.txt": ("sacct", 5, 3),
    "sacct-24.11.txt": ("sacct", 5, 3),
    "sacct-22.05.json": ("sacct_json", 5, 3),
    "sacct-24.11.json": ("sacct_json", 5, 3),
    "extrap.json": ("extrap", 10, 0),
    "extrap.txt": ("extrap_text", 15, 0),
    "markdown.md": ("markdown", 4, 1),
    "modak-result.json": ("modak_result", 1, 0),
    "modak-result-failed.json": ("modak_result", 0, 1),
}
"""Each sample with its format, its rows and the notes about what was left out."""


def loaded(name: str) -> Batch:
    """The one part of a sample."""
    (batch,) = table(from_path(DATA / name)).batches()
    return batch


def rows(name: str) -> list[dict[str, Any]]:
    """A sample's rows as people read them: what is known of each."""
    batch = loaded(name)
    found = []
    for row in range(len(batch)):
        key = batch.series[batch.series_of[row]].model_dump(exclude_none=True)
        laid = {column: int(numbers[row]) for column, numbers in batch.numbers.items() if numbers[row] != UNKNOWN}
        found.append({**key, **laid, "value": float(batch.values[row]), "when": int(batch.measured_at[row]), "source": batch.sources[row]})
    return found


def without(found: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    """Rows without what two samples of one run differ in."""
    return sorted(({k: v for k, v in row.items() if k not in names} for row in found), key=repr)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_recognised_and_read(name: str) -> None:
    """Whatever the file is called; each run that failed and each figure without a meaning is named with its line."""
    form, count, left = SAMPLES[name]
    found = table(from_bytes((DATA / name).read_bytes(), "results"))
    assert found.format == form
    (batch,) = found.batches()
    notes = [note for note in batch.notes if "column 'total_ranks': without 'nodes'" not in note]
    assert (len(batch), len(notes)) == (count, left)
    assert all(note.startswith("results:") and note.endswith("left out") for note in notes)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_byte_order_mark_before_a_sample_changes_nothing(name: str) -> None:
    """Editors under Windows write it."""
    form, count, _ = SAMPLES[name]
    found = table(from_bytes(b"\xef\xbb\xbf" + (DATA / name).read_bytes(), "results"))
    assert (found.format, sum(map(len, found.batches()))) == (form, count)


def test_a_table_in_markdown_is_read_without_its_marks() -> None:
    """Emphasis, links and escapes are no part of a cell; the line of each row is that of the page."""
    found = rows("markdown.md")
    told = [(row["application"], row["system"], row["nodes"], row["metric"], round(row["value"], 6)) for row in found]
    assert told == [
        ("solver", "old", 1, "wall_time", 810.0), ("solver", "old", 2, "wall_time", 432.0),
        ("solver", "new", 1, "wall_time", 214.0), ("solver", "new", 2, "wall_time", 118.0),
    ]  # fmt: skip
    assert loaded("markdown.md").lines.tolist() == [7, 8, 9, 10]


TABLE = "Cores | Time<br>[s]\n:---|---:\n1 | 9\n2 | 5\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE, "r.md:1: unknown column 'Time [s]'; time is a metric"),
        (f"# Times\n\n{TABLE}\n{TABLE}", "r.md: 2 tables, in lines 3, 8: write the one to load into a file of its own"),
        ("# Times\n\nno table\n", "r.md: no table: names between '|', and below them a rule (|---|---|)"),
        ("application||value\n---|---|---\na|b|1\n", "r.md:1: column 2 has no name"),
        ("||application|value\n|---|---|---|\n|7|a|1|\n", "r.md:1: column 1 has no name; leave it out (of pandas' to_markdown with"),
        ("value|value\n---|---\n1|2\n", "r.md:1: two columns are called 'value'"),
        ("application|value\n---|---\na|1\na|2|3\n", "r.md:4: 3 cells; the header has 2 columns"),
        ("application|metric|value\n---|---|---\n", "r.md: no rows of results"),
        ("a b|c\n---\n1|2\n", "r.md: no table"),
        ("a|" * 100_000 + "\n" + "-|" * 100_000 + "\n", "r.md:1: 100000 columns; at most 500"),
    ],
)
def test_what_is_wrong_with_a_table_in_markdown_is_told(text: str, said: str) -> None:
    """With the line of the page."""
    with pytest.raises(DataError) as error:
        list(table(from_bytes(text.encode(), "r.md")).batches())
    assert any(said in str(fault) for fault in error.value.faults), error.value


def test_the_count_of_the_rows_in_a_table_in_markdown_is_left_out() -> None:
    """As pandas' ``to_markdown`` writes it."""
    text = "|    | application   | metric   |   value |\n|---:|:--------------|:---------|--------:|\n"
    (batch,) = table(from_bytes(f"{text}|  0 | a | time | 9 |\n|  1 | a | time | 5 |\n".encode(), "r.md")).batches()
    assert (batch.values.tolist(), batch.notes) == ([9, 5], ("r.md: the first column has no name and counts the rows: left out",))


def test_a_table_in_markdown_is_known_by_its_rule() -> None:
    """Whatever the file is called, and whatever stands above it."""
    found = table(from_bytes(f"Times, in seconds\n\n{TABLE}".encode(), "README"))
    assert found.format == "markdown"
    assert table(from_bytes(b"application,metric,value\n---,a|b,1\n", "r")).format == "csv"


def test_a_reframe_test_is_a_row_a_figure() -> None:
    """System, partition, layout, parameters and time of a test case; failed cases are named, and their figures are no results."""
    found = rows("reframe-4.10.4.json")
    one = next(row for row in found if row["metric"] == "elapsed" and row["threads_per_rank"] == 4)
    del one["source"]
    assert one == {
        "application": "solver", "params": {}, "system": "testbed", "partition": "cpu", "metric": "elapsed", "unit": "s",
        "nodes": 1, "ranks_per_node": 2, "threads_per_rank": 4, "value": 3.125, "when": one["when"],
    }  # fmt: skip
    assert {(row["metric"], row["unit"], row["value"]) for row in found} == {
        ("triad", "B/s", 191.5e9), ("elapsed", "s", 12.5), ("elapsed", "s", 3.125),
    }  # fmt: skip
    assert "test 'broken' ended as 'fail' in sanity" in loaded("reframe-4.10.4.json").notes[0]


def test_reframe_reports_of_two_versions_say_the_same() -> None:
    """The sixth element of a figure, new in 4.1, changes nothing."""
    assert without(rows("reframe-4.7.4.json"), "when", "source") == without(rows("reframe-4.10.4.json"), "when", "source")


def test_a_performance_log_says_what_the_report_says() -> None:
    """`null` and `None` are both unknown cells; the time is that of the report, not the local one beside it. ReFrame writes both: as the
    rows are equal, also in the job that they name, none counts twice."""
    assert without(rows("reframe-4.10.4-solver.log")) == without(rows("reframe-4.10.4.json"))


def test_a_reframe_test_without_a_job_names_its_run() -> None:
    """It has no row in a performance log."""
    document = json.loads((DATA / "reframe-4.10.4.json").read_text())
    for run in document["runs"]:
        for case in run["testcases"]:
            case["jobid"] = None
    (batch,) = table(from_bytes(json.dumps(document).encode(), "report.json")).batches()
    sources = {str(batch.sources[row]).partition(":")[0] for row in range(len(batch))}
    assert sources == {"reframe ed042528-422a-4e70-8890-8d2044ca9b6a"}


def test_a_run_on_one_host_is_a_run_on_one_node() -> None:
    """Whatever the host is called; a list of several, which the log abbreviates, is not counted."""
    text = (DATA / "reframe-4.10.4-solver.log").read_text().replace("|2|null|2|null|", "|2|null|null|null|")
    for hosts, nodes in (("nid-0001.cluster", 1), ("nid[1-2]", UNKNOWN), ("a1,b2", UNKNOWN)):
        (batch,) = table(from_bytes(text.replace("|vm|", f"|{hosts}|").encode(), "r")).batches()
        assert set(batch.numbers["nodes"]) == {nodes}, hosts


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("%num_nodes=1", {}),
        ("%num_tasks=2 %size=2", {"size": "2"}),
        ("%threads=4 %cores=2", {"threads": "4"}),
        ("%num_tasks_per_node=1", {"num_tasks_per_node": "1"}),
    ],
)
def test_a_parameter_that_is_a_count_of_the_job_is_none(said: str, kept: dict[str, str]) -> None:
    """A scaling test has its number of nodes as a parameter, and its sizes are no problems of their own. Here a node runs two tasks of one
    thread."""
    text = (DATA / "reframe-4.10.4-solver.log").read_text().replace("%threads=1", said)
    (batch,) = table(from_bytes(text.encode(), "r")).batches()
    assert batch.series[batch.series_of[0]].params == kept


def test_what_repeats_a_test_is_no_parameter_but_what_the_command_line_sets_is() -> None:
    """`--repeat` and `--distribute` run one problem again; `-P size=…` makes several, which only the log's `display_name` tells."""
    names = ["solver %.size=1 %.repeat_no=0", "solver %.size=1 %.repeat_no=1", "solver %.size=2 %.part=a:cpu %.nid=vm"]
    rows = "".join(f"2026-03-01T12:00:00|solver|{name}|{job}|12.5|s\n" for job, name in enumerate(names))
    log = f"job_completion_time|name|display_name|jobid|time_value|time_unit\n{rows}"
    (batch,) = table(from_bytes(log.encode(), "r.log")).batches()
    assert [batch.series[row].params for row in batch.series_of] == [{"size": "1"}, {"size": "1"}, {"size": "2"}]


def test_a_performance_log_without_outcomes_is_read() -> None:
    """As sites write it whose format of logs begins with the time; that nothing says which runs passed is noted."""
    log = "job_completion_time|display_name|system|num_tasks|flops_value|flops_unit\n2023-08-23T11:36:02|hpl|a|1|0.67|Gflops/seconds\n"
    (batch,) = table(from_bytes(log.encode(), "r")).batches()
    assert (batch.values.tolist(), batch.numbers["nodes"].tolist()) == ([0.67e9], [1])
    assert batch.notes == ("r:1: no column 'result': whether the runs passed is not known",)


SITE_LOGS = {
    "commas": (
        "job_completion_time,display_name,system,partition,environ,num_tasks,num_tasks_per_node,jobid,result,time_value,time_unit,time_ref",
        "2026-03-01T12:00:00,solver %n=2,a,cpu,gnu,8,4,17,pass,12.5,s,0",
    ),
    "info": (
        "job_completion_time|reframe version|info|jobid=jobid|num_tasks=num_tasks|num_tasks_per_node=num_tasks_per_node|result"
        "|time_var|time_value|time_lower_thres|time_unit",
        "2026-03-01T12:00:00|reframe 4.8.4|solver %n=2 /89313233 @a:cpu+gnu|jobid=17|num_tasks=8|num_tasks_per_node=4|pass"
        "|time|12.5|None|s",
    ),
    "two separators": (
        "job_completion_time|reframe version|info|jobid=jobid|num_tasks=num_tasks|num_tasks_per_node=num_tasks_per_node|result"
        "|time_value,time_unit,time_ref",
        "2026-03-01T12:00:00|reframe 4.8.4|solver %n=2 /89313233 @a:cpu+gnu|jobid=17|num_tasks=8|num_tasks_per_node=4|pass|12.5,s,0",
    ),
    "labels": (
        "job_completion_time site: user=osuser|result=result|name=name|system=system|partition=partition|environ=environ"
        "|num_tasks=num_tasks|num_tasks_per_node=num_tasks_per_node|jobid=jobid|time_var|perf_value=time_value|unit=time_unit",
        "2026-03-01T12:00:00 site: user=me|result=pass|name=solver %n=2|system=a|partition=cpu|environ=gnu|num_tasks=8"
        "|num_tasks_per_node=4|jobid=17|perf_var=time|perf_value=12.5|unit=s",
    ),
}
"""Formats of performance logs that sites configure: a header and a run."""


@pytest.mark.parametrize("name", SITE_LOGS)
def test_a_performance_log_of_a_sites_own_format_is_read(name: str) -> None:
    """With other separators, with the test's info in place of its name, and with labels before the cells."""
    header, run = SITE_LOGS[name]
    (batch,) = table(from_bytes(f"{header}\n{run}\n".encode(), "solver.log")).batches()
    (key,) = batch.series
    assert (key.application, key.params, key.system, key.partition, key.compiler) == ("solver", {"n": "2"}, "a", "cpu", "gnu")
    assert (key.metric, batch.values.tolist(), batch.sources[0]) == ("time", [12.5], "reframe job 17")
    assert (batch.numbers["nodes"].tolist(), batch.numbers["ranks_per_node"].tolist()) == ([2], [4])


@pytest.mark.parametrize(("outer", "inner"), [("|", ","), (",", "|")])
def test_several_figures_of_a_performance_log_with_two_separators_are_all_read(outer: str, inner: str) -> None:
    """Between the last ones there is only one of the signs: with it alone, the first figure and the columns before it were one cell."""
    columns = outer.join(("job_completion_time", "result", "name", "jobid", inner.join(("a_value", "a_unit", "b_value", "b_unit"))))
    run = outer.join(("2026-03-01T12:00:00", "pass", "solver", "17", inner.join(("12.5", "s", "7.5", "s"))))
    (batch,) = table(from_bytes(f"{columns}\n{run}\n".encode(), "r.log")).batches()
    assert ([(key.application, key.metric) for key in batch.series], batch.notes) == ([("solver", "a"), ("solver", "b")], ())


def test_a_performance_log_with_a_value_and_its_unit_in_one_cell_is_refused() -> None:
    """It has figures; that they cannot be read is no reason to leave them out."""
    log = b"job_completion_time,name,time_var=time_value time_unit\n2026-03-01T12:00:00,solver,time=12.5 s\n"
    with pytest.raises(
        DataError, match=r"r\.log:1: no columns 'NAME_value' and 'NAME_unit' of each figure; write both in 'format_perfvars'"
    ):
        list(table(from_bytes(log, "r.log")).batches())


def test_a_performance_log_that_names_no_test_needs_its_name() -> None:
    """Tests of all variants would be runs of one."""
    log = b"job_completion_time|system|time_value|time_unit\n2026-03-01T12:00:00|a|12.5|s\n"
    with pytest.raises(DataError, match="column 'application': empty"):
        list(table(from_bytes(log, "r.log")).batches())
    (batch,) = table(from_bytes(log, "r.log"), Options(fill={"application": "solver"})).batches()
    assert batch.series[0].application == "solver"


@pytest.mark.parametrize(("job", "known"), [("", True), ("17", False)])
def test_the_time_with_a_zone_in_a_performance_log_counts_where_no_job_is_named(job: str, known: bool) -> None:
    """The report has the time of the same job in fractions of a second, and would be another run."""
    log = f"job_completion_time|name|jobid|time_value|time_unit\n2026-03-01T12:00:00+01:00|solver|{job}|12.5|s\n"
    (batch,) = table(from_bytes(log.encode(), "r.log")).batches()
    assert (batch.measured_at[0] != UNKNOWN) == known


def test_runs_of_a_performance_log_without_jobs_are_told_apart_by_their_time() -> None:
    """Two of the same value are no duplicates, even if the time has no zone."""
    rows = "".join(f"2026-03-0{day}T12:00:00|solver|12.5|s\n" for day in (1, 2))
    (batch,) = table(from_bytes(f"job_completion_time|name|time_value|time_unit\n{rows}".encode(), "r.log")).batches()
    assert [batch.sources[row] for row in range(2)] == [f"reframe run of 2026-03-0{day}T12:00:00" for day in (1, 2)]


def test_a_performance_log_without_figures_has_no_results() -> None:
    """ReFrame 4.10 writes one for tests that measure nothing; it is no table whose columns are wrong."""
    log = b"job_completion_time,display_name,system,num_tasks,\n2026-03-01T12:00:00,fix %size=10,a,1,\n"
    (batch,) = table(from_bytes(log, "fix.log")).batches()
    assert batch.notes[-1] == "fix.log:1: its tests have no performance figures; left out"


def test_a_run_in_a_performance_log_without_any_value_is_one_that_failed() -> None:
    """One note for all of its figures, and for many such runs one of all."""
    rows = "".join(f"2026-03-01T12:00:0{second}|solver|None|s|None|W\n" for second in range(6))
    log = f"job_completion_time|name|time_value|time_unit|power_value|power_unit\n{rows}"
    (batch,) = table(from_bytes(log.encode(), "r.log")).batches()
    assert batch.notes[1:] == ("r.log: 6 tests did not succeed (6 without values) and are left out: lines 2, 3, 4, …",)


def test_what_reframe_stored_is_read_as_its_reports_are() -> None:
    """`--describe-stored-sessions` writes a list of reports, `--describe-stored-testcases` one of their cases."""
    report = json.loads((DATA / "reframe-4.10.4.json").read_text())
    cases = [case for run in report["runs"] for case in run["testcases"]]
    for stored in ([report], cases):
        (batch,) = table(from_bytes(json.dumps(stored).encode(), "stored.json")).batches()
        assert batch.values.tolist() == loaded("reframe-4.10.4.json").values.tolist()


@pytest.mark.parametrize(
    ("scale", "counted"),
    [
        ("1_node", True),
        ("2_nodes", False),
        ("2_cores", True),
        ("4_cores", False),
        ("1_2_node", True),
        ("1_cpn_1_nodes", True),
        ("2k", False),
    ],
)
def test_a_count_of_the_job_in_words_is_no_parameter(scale: str, counted: bool) -> None:
    """So a test suite names its scales. Here a node runs two tasks of one thread."""
    kept = {} if counted else {"scale": scale}
    text = (DATA / "reframe-4.10.4-solver.log").read_text().replace("%threads=1", f"%scale={scale}")
    (batch,) = table(from_bytes(text.encode(), "r")).batches()
    assert batch.series[batch.series_of[0]].params == kept


def test_a_figure_that_missed_its_reference_is_left_out() -> None:
    """From 4.1 on a figure has an outcome of its own."""
    report = json.loads((DATA / "reframe-4.10.4.json").read_text())
    report["runs"][0]["testcases"][0]["perfvalues"]["testbed:cpu:triad"][5] = "fail"
    (batch,) = table(from_bytes(json.dumps(report).encode(), "r.json")).batches()
    assert len(batch) == 3
    assert "'triad' of 'solver %threads=1' ended as 'fail'" in batch.notes[0]


def test_ramble_numbers_are_texts() -> None:
    """Only figures with a number and a meaning are results; repeats' summaries are not; what varies is a parameter."""
    found = rows("ramble-solver.json")
    assert [(row["metric"], row["value"], row["nodes"], row["ranks_per_node"], row["threads_per_rank"]) for row in found] == [
        ("Total time", 81.25, 1, 8, 2), ("Rate", 12.5e9, 1, 8, 2), ("Total time", 42.5, 2, 8, 2), ("Rate", 24.5e9, 2, 8, 2),
    ]  # fmt: skip
    assert {(row["application"], row["dataset"], row["params"]["size"]) for row in found} == {("solver", "strong", "64")}


def test_a_variable_of_ramble_that_is_a_count_of_the_job_is_no_parameter() -> None:
    """Also under a name that is not Ramble's own."""
    document = json.loads((DATA / "ramble-solver.json").read_text())
    for one in document["experiments"]:
        one["RAMBLE_RAW_VARIABLES"] = {"experiment_template_name": "strong_{num_nodes}_{size}"}
        one["RAMBLE_VARIABLES"] = {"num_nodes": one["n_nodes"], "size": "64"}
    (batch,) = table(from_bytes(json.dumps(document).encode(), "r")).batches()
    assert {repr(key.params) for key in batch.series} == {"{'size': '64'}"}


def test_an_mlperf_run_is_the_time_from_start_to_stop() -> None:
    """Whatever stands before the mark; the batch is a worker's share, and no parameter, of which each number of nodes has its own."""
    (row,) = rows("mlperf-training.log")
    assert (row["application"], row["metric"], row["value"], row["system"]) == ("bert", "time_to_solution", 900.5, "testbed")
    assert (row["nodes"], row["gpus_per_node"], row["batch_size"], row["params"]) == (2, 4, 56, {})


def test_both_versions_of_the_mlperf_logger_say_the_same() -> None:
    """The run that succeeded is a row, in milliseconds of its own clock; the one that was given up is named."""
    for name in ("mlperf-logging-3.0.log", "mlperf-logging-4.1.log"):
        (row,) = rows(name)
        assert (row["application"], row["system"], row["nodes"], row["params"]) == ("line", "testbed", 1, {"global_batch_size": "64"})
        assert 0 < row["value"] < 1


@pytest.mark.parametrize(
    ("platform", "logged", "system", "nodes"),
    [("4xDGXA100", None, "DGXA100", 4), ("2xtestbed", 2, "testbed", 2), ("4xtestbed", 2, "4xtestbed", 2), ("a4x100", None, "a4x100", None)],
)
def test_the_platform_of_mlperf_is_a_number_of_nodes(platform: str, logged: int | None, system: str, nodes: int | None) -> None:
    """As most submissions write it: runs on more nodes of a system are no runs on another system."""
    text = (DATA / "mlperf-training.log").read_text().replace('"testbed"', f'"{platform}"')
    said = [line for line in text.splitlines() if logged or '"number_of_nodes"' not in line]
    (batch,) = table(from_bytes("\n".join(said).encode(), "r")).batches()
    assert (batch.series[0].system, batch.numbers["nodes"].tolist()) == (system, [nodes or UNKNOWN])


def test_google_benchmarks_are_repetitions_without_their_aggregates() -> None:
    """Nanoseconds and milliseconds become seconds; arguments by place and by name are parameters; rates are results, too."""
    found = rows("google-benchmark-1.7.1.json")
    times = [row for row in found if row["metric"] == "real_time"]
    assert [row.get("repeat") for row in times if row["params"] == {"arg1": "1000"}] == [0, 1]
    assert all(0 < row["value"] < 1e-3 for row in times)
    (waiting,) = [row for row in times if row["application"] == "wait"]
    assert (waiting["params"], waiting["threads_per_rank"]) == ({"n": "3"}, 2)
    assert {row["unit"] for row in found} == {"s", "items/s", "B/s"}


@pytest.mark.parametrize(
    ("name", "cpu_time", "rate"),
    [
        ("wait/threads:2", {"cpu_time": 0.1}, 5.0),
        ("wait/real_time/threads:2", {"cpu_time": 0.1}, 500.0),
        ("wait/manual_time", {"cpu_time": 0.1}, 500.0),
        ("wait", {}, 500.0),
    ],
)
def test_rates_of_a_google_benchmark_are_by_real_time(name: str, cpu_time: dict[str, float], rate: float) -> None:
    """The library counts by CPU time unless the benchmark says otherwise: what waits for 10 ms and computes for 0.1 would be fast."""
    one = {"name": name, "run_name": name, "run_type": "iteration", "real_time": 10.0, "time_unit": "ms", "items_per_second": 500.0}
    text = json.dumps({"context": {"num_cpus": 2}, "benchmarks": [one | cpu_time]})
    (batch,) = table(from_bytes(text.encode(), "r")).batches()
    assert batch.values.tolist() == pytest.approx([0.01, rate])


def test_the_median_of_a_google_benchmark_stands_for_repetitions_that_were_not_written() -> None:
    """`--benchmark_report_aggregates_only`. Beside repetitions it is left out."""
    document = json.loads((DATA / "google-benchmark-1.7.1.json").read_text())
    every = len(loaded("google-benchmark-1.7.1.json"))
    times = {one["run_name"]: one["real_time"] for one in document["benchmarks"] if one.get("aggregate_name") == "median"}
    document["benchmarks"] = [one for one in document["benchmarks"] if one["run_type"] == "aggregate"]
    (batch,) = table(from_bytes(json.dumps(document).encode(), "g.json")).batches()
    chosen = [value for row, value in enumerate(batch.values) if batch.series[batch.series_of[row]].metric == "real_time"]
    assert 0 < len(chosen) == len(times) < every
    assert chosen == pytest.approx([time * 1e-9 for time in times.values()])


def test_pytest_benchmarks_are_medians() -> None:
    """One row a test: the median in seconds; parameters and layout come from the test."""
    for name in ("pytest-benchmark-3.4.json", "pytest-benchmark-5.3.json"):
        document = json.loads((DATA / name).read_text())
        assert [row["value"] for row in rows(name)] == [one["stats"]["median"] for one in document["benchmarks"]]
        assert [row["params"] for row in rows(name)] == [{"n": "100"}, {"n": "1000"}, {}]
        assert all(row["when"] > 1.79e15 for row in rows(name))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["64", "32"], "64, 32"),
        ("UNSERIALIZABLE[<function mesh at 0x7fd9a94c1f80>]", "mesh-8"),
    ],
)
def test_parameters_of_pytest_that_are_no_texts_tell_tests_apart(given: Any, kept: str) -> None:
    """A tuple by its items; an object, whose place in memory changes from one session to the next, by the test's name in brackets."""
    document = json.loads((DATA / "pytest-benchmark-5.3.json").read_text())
    document["benchmarks"][0] |= {"param": "mesh-8", "params": {"grid": given}}
    (batch,) = table(from_bytes(json.dumps(document).encode(), "p.json")).batches()
    assert batch.series[batch.series_of[0]].params["grid"] == kept


def test_hyperfine_runs_that_failed_are_left_out() -> None:
    """Each time is a repeat, unless its exit status is another than 0; the second series of versions says it in other words."""
    assert [(row["application"], row["params"], row["repeat"]) for row in rows("hyperfine-1.15.json")] == [
        ("wait 1", {"n": "1"}, 0), ("wait 1", {"n": "1"}, 1), ("wait 1", {"n": "1"}, 2),
    ]  # fmt: skip
    assert [(row["value"], row["params"]) for row in rows("hyperfine-2.0.json")] == [(1.52, {"grid": "64"}), (1.49, {"grid": "64"})]


def test_a_line_of_hpl_is_a_time_and_a_rate() -> None:
    """The ranks are those of the grid, which makes no problem of its own: runs on other grids are runs of one series."""
    found = rows("hpcc-1.5.txt")
    assert [(row["metric"], row["params"]["N"], row["ranks_per_node"], row["value"], row["source"]) for row in found] == [
        ("time", "1000", 2, 0.46, "HPL, P=1, Q=2"), ("performance", "1000", 2, 1.453e9, "HPL, P=1, Q=2"),
        ("time", "512", 2, 0.08, "HPL, P=2, Q=1"), ("performance", "512", 2, 1.16e9, "HPL, P=2, Q=1"),
        ("time", "1000", 2, 0.4, "HPL, P=2, Q=1"), ("performance", "1000", 2, 1.677e9, "HPL, P=2, Q=1"),
    ]  # fmt: skip
    assert {row["when"] for row in found} == {1_795_938_442 * 1_000_000}
    assert found[0]["params"] == found[4]["params"] == {"N": "1000", "NB": "80", "variant": "WR11C2R4"}


def test_a_run_of_hpl_with_a_wrong_solution_is_left_out() -> None:
    """It is named with the line of its time, like other benchmarks of HPC Challenge."""
    others, failed, _ = loaded("hpcc-1.5.txt").notes
    assert failed.endswith(":444: WR11C2R4 with N=512, NB=80, P=1, Q=2 failed the check of its residual; left out")
    assert "other than HPL (MPIRandomAccess, StarRandomAccess, SingleRandomAccess, " in others


def test_outputs_of_hpl_on_more_and_more_ranks_are_one_series() -> None:
    """A curve goes through them; on a known number of nodes, their ranks are spread over these."""
    text = (DATA / "hpl-2.3.out").read_text()
    more = text.replace("     2     4             180.02", "     4     8              45.86")
    assert more != text
    (batch,) = table(from_bytes((text + more).encode(), "job.out"), Options(fill={"ranks_per_node": "4"})).batches()
    assert len(batch.series) == 2
    assert batch.numbers["nodes"].tolist() == [2, 2, 8, 8]


def test_a_run_of_hpl_is_known_by_the_time_at_which_it_began() -> None:
    """So two that took as long are two; nothing tells the time zone."""
    assert {row["source"] for row in rows("hpl-2.3.out")} == {"HPL, P=2, Q=4, started Sat Nov 28 22:41:17 2026"}


def test_the_same_line_of_hpl_twice_is_a_repeat() -> None:
    """As in the output of a job that runs it in a loop."""
    text = (DATA / "hpl-2.3.out").read_bytes()
    (batch,) = table(from_bytes(text + text, "job.out")).batches()
    assert batch.numbers["repeat"].tolist() == [0, 0, 1, 1]


def test_a_later_run_of_hpl_in_the_same_file_is_no_repeat() -> None:
    """It is the same run as in a file of its own, and counts once if both are loaded."""
    text = (DATA / "hpl-2.3.out").read_bytes()
    (batch,) = table(from_bytes(text + text.replace(b"Sat Nov 28", b"Sun Nov 29"), "HPL.out")).batches()
    assert batch.numbers["repeat"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("seconds", "gflops"), [("0.00", "2.3e-02"), ("nan", "1.0e+00"), ("0.01", "inf"), ("****", "0.0000e+00")])
def test_a_line_of_hpl_without_a_time_and_a_rate_is_left_out(seconds: str, gflops: str) -> None:
    """HPL's own ``HPL.dat`` has many runs that are too short to be measured."""
    text = (DATA / "hpl-2.3.out").read_text()
    short = text.replace("180.02", seconds).replace("2.3703e+02", gflops)
    (batch,) = table(from_bytes((text + short).encode(), "HPL.out")).batches()
    (note,) = (each for each in batch.notes if each.endswith("left out"))
    assert (len(batch), note) == (2, f"HPL.out:56: WR11C2R4 with N=40000, NB=192, P=2, Q=4 took {seconds} s at {gflops} Gflops; left out")


def test_hpl_for_gpus_runs_a_process_for_each() -> None:
    """NVIDIA's tells the rate of one beside that of all."""
    heading = "T/V                N    NB     P     Q         Time          Gflops (   per GPU)"
    line = "WC0           299008  1024     2     4        52.88       3.370e+05 ( 4.213e+04)"
    (batch,) = table(from_bytes(f"{heading}\n{'-' * 80}\n{line}\n".encode(), "job.out"), Options(fill={"gpus_per_node": "4"})).batches()
    assert [batch.numbers[name][0] for name in ("nodes", "ranks_per_node", "gpus_per_node")] == [2, 4, 4]
    assert batch.values.tolist() == [52.88, 3.37e14]


@pytest.mark.parametrize(("command", "noted"), [("solve -t 1", False), ("solve -t 2", True)])
def test_the_applications_of_a_parameter_scan_are_noted(command: str, noted: bool) -> None:
    """The file holds commands with their values, and not what they have in common."""
    results = [{"command": one, "parameters": {"t": one[-1]}, "mean": 1, "stddev": 0, "times": [1]} for one in ("solve -t 1", command)]
    content = json.dumps({"results": results})
    assert any("'--map application= --set application=NAME'" in note for note in notes(content)) == noted
    assert not notes(content, options=Options({"application": ""}, {"application": "solve"}))


def test_both_outputs_of_both_slurms_say_the_same() -> None:
    """A job is one row, whatever its steps; plain and wrapped numbers, texts and lists mean the same."""
    jobs = {name: without(rows(name), "when") for name in SAMPLES if name.startswith("sacct")}
    for name in ("sacct-22.05", "sacct-24.11"):
        assert {row["source"]: row for row in jobs[f"{name}.txt"]} == {row["source"]: row for row in jobs[f"{name}.json"]}
    by_source = {row["source"]: row for row in rows("sacct-24.11.json")}
    train = by_source["slurm job 5"]
    assert (train["application"], train["nodes"], train["ranks_per_node"], train["threads_per_rank"], train["gpus_per_node"]) == (
        "train",
        2,
        2,
        4,
        2,
    )
    assert by_source["slurm job 4_2"]["application"] == "sweep|odd"


def test_a_separator_at_the_end_of_every_line_of_sacct_changes_nothing() -> None:
    """``--parsable`` instead of ``--parsable2``."""
    text = (DATA / "sacct-24.11.txt").read_text()
    two, one = (table(from_bytes(each.encode(), "r")).batches() for each in (text, text.replace("\n", "|\n")))
    said = [
        [([batch.series[number] for number in batch.series_of], list(batch.values), batch.notes) for batch in batches]
        for batches in (one, two)
    ]
    assert said[0] == said[1]


def test_jobs_of_two_clusters_with_one_number_are_two() -> None:
    """As ``sacct --allclusters`` shows them; each with its own steps. Of a job that was requeued the last row counts (``--duplicates``)."""
    text = "JobID|JobName|Cluster|State|ElapsedRaw|NNodes|NTasks\n"
    for cluster, nodes, tasks in (("alpha", 1, 4), ("beta", 2, 16)):
        text += f"7|a|{cluster}|NODE_FAIL|5|1|\n7|a|{cluster}|COMPLETED|60|{nodes}|\n7.0|a|{cluster}|COMPLETED|60|{nodes}|{tasks}\n"
    (batch,) = table(from_bytes(text.encode(), "file")).batches()
    assert [batch.series[number].system for number in batch.series_of] == ["alpha", "beta"]
    assert [list(batch.numbers[name]) for name in ("nodes", "ranks_per_node")] == [[1, 2], [4, 8]]


@pytest.mark.parametrize(("cpus", "threads"), [(128, 1), (256, None), (512, 4)])
def test_two_cpus_of_a_task_may_be_one_core(cpus: int, threads: int | None) -> None:
    """Where a CPU is a hyper-thread, Slurm allocates both of a core: the script of such a layout would start two threads a rank."""
    header = "JobID|JobName|State|ElapsedRaw|NNodes|NTasks|AllocCPUS"
    text = f"{header}\n1|a|COMPLETED|60|1||{cpus}\n1.0|a|COMPLETED|60|1|128|{cpus}\n"
    (batch,) = table(from_bytes(text.encode(), "file")).batches()
    assert [int(batch.numbers[name][0]) for name in ("ranks_per_node", "threads_per_rank")] == [128, threads or UNKNOWN]


@pytest.mark.parametrize(
    ("allocated", "gpus"),
    [("gres/gpu=16,gres/gpu:a100=16", 4), ("cpu=8,gres/gpu:a100=16", 4), ("gres/gpu:a100=4,gres/gpu:h100=4", 2), ("cpu=8", UNKNOWN)],
)
def test_gpus_that_are_counted_by_type_are_gpus(allocated: str, gpus: int) -> None:
    """A site may account for types alone; the job is no job without GPUs."""
    text = f"JobID|JobName|State|ElapsedRaw|NNodes|AllocTRES\n1|a|COMPLETED|60|4|{allocated}\n"
    (batch,) = table(from_bytes(text.encode(), "file")).batches()
    assert batch.numbers["gpus_per_node"].tolist() == [gpus]
    counted = [each.split("=") for each in allocated.split(",")]
    tres = [{"type": kind.partition("/")[0], "name": kind.partition("/")[2], "count": int(count)} for kind, count in counted]
    job = {"job_id": 1, "name": "a", "state": {"current": "COMPLETED"}, "time": {"elapsed": 60}, "allocation_nodes": 4}
    document = json.dumps({"meta": {"slurm": {}}, "jobs": [job | {"tres": {"allocated": tres}}]})
    (batch,) = table(from_bytes(document.encode(), "file")).batches()
    assert batch.numbers["gpus_per_node"].tolist() == [gpus]


def sacct_rows(*lines: str, mark: str = "|") -> tuple[Batch, ...]:
    """What is loaded of a table with these lines below its header."""
    header = "JobID|JobName|State|ElapsedRaw|NNodes|NTasks|AllocCPUS"
    text = "\n".join((header, *lines, "")).replace("|", mark)
    return tuple(table(from_bytes(text.encode(), "s.txt")).batches())


@pytest.mark.parametrize(("state", "rows"), [("FAILED", 0), ("OUT_OF_MEMORY", 0), ("CANCELLED by 0", 1), ("COMPLETED", 1)])
def test_a_job_with_a_step_that_failed_is_left_out(state: str, rows: int) -> None:
    """The batch script went on and ended well, so the job is COMPLETED. A step that the end of the script stopped is no failure."""
    (batch,) = sacct_rows("1|a|COMPLETED|60|1||4", "1.batch|batch|COMPLETED|60|1|1|4", f"1.0|solver|{state}|2|1|4|4")
    assert len(batch) == rows
    assert batch.notes == (() if rows else (f"s.txt:2: job 1 (a) has a step that is {state}; left out",))


def test_a_step_on_a_part_of_the_nodes_tells_no_layout() -> None:
    """Two steps beside each other, each with two tasks on a node of its own: not one task on each node."""
    (batch,) = sacct_rows("1|a|COMPLETED|60|2||4", "1.0|x|COMPLETED|60|1|2|2", "1.1|x|COMPLETED|60|1|2|2")
    assert [batch.numbers[name].tolist() for name in ("nodes", "ranks_per_node", "threads_per_rank")] == [[2], [UNKNOWN], [UNKNOWN]]


def test_of_steps_with_as_many_tasks_one_on_all_nodes_tells_the_layout() -> None:
    """Whichever ran first: here, a preparation on one of the nodes."""
    (batch,) = sacct_rows("1|a|COMPLETED|60|2||8", "1.0|prepare|COMPLETED|2|1|4|4", "1.1|solver|COMPLETED|58|2|4|8")
    assert batch.numbers["ranks_per_node"].tolist() == [2]


@pytest.mark.parametrize(("step", "ranks"), [("solver", 1), ("hydra_pmi_proxy", UNKNOWN), ("orted", UNKNOWN), ("torchrun", UNKNOWN)])
def test_what_starts_the_ranks_of_a_node_tells_no_layout(step: str, ranks: int) -> None:
    """One helper of ``mpirun`` on each node starts as many ranks as it is told, which Slurm does not count."""
    (batch,) = sacct_rows("1|a|COMPLETED|60|2||8", f"1.0|{step}|COMPLETED|60|2|2|8")
    assert batch.numbers["ranks_per_node"].tolist() == [ranks]
    job = {"job_id": 1, "name": "a", "state": {"current": "COMPLETED"}, "time": {"elapsed": 60}, "allocation_nodes": 2}
    steps = [{"step": {"id": "1.0", "name": step}, "tasks": {"count": 2}, "nodes": {"count": 2}, "state": "COMPLETED"}]
    document = json.dumps({"meta": {"slurm": {}}, "jobs": [job | {"steps": steps}]})
    (batch,) = table(from_bytes(document.encode(), "file")).batches()
    assert batch.numbers["ranks_per_node"].tolist() == [ranks]


@pytest.mark.parametrize("first", ["JobID,application,nodes,metric,value,unit", "JobID,JobName,State,Elapsed,value"])
def test_a_table_of_ones_own_may_have_the_number_of_the_job(first: str) -> None:
    """Its columns are named as in any other table, and none is left out without a word."""
    assert table(from_bytes(f"{first}\n".encode(), "mine.csv")).format == "csv"


def test_sacct_may_have_another_separator() -> None:
    """`--delimiter=,`: read as a table of CSV, steps would count as jobs."""
    (batch,) = sacct_rows("1|a|COMPLETED|60|1||4", "1.0|x|COMPLETED|60|1|4|4", mark=",")
    assert (len(batch), batch.numbers["ranks_per_node"].tolist()) == (1, [4])


def test_commas_within_the_cells_of_sacct_are_not_part_of_the_name() -> None:
    """`--delimiter=,` beside what was allocated, which has commas: nothing tells where a cell ends."""
    text = b"JobID,State,JobName,AllocTRES,ElapsedRaw\n1,COMPLETED,a,billing=8,cpu=8,node=2,60\n"
    with pytest.raises(DataError, match=r"s\.txt:2: 7 cells; the header has 5 columns \(a text with ',' in it\? take --json\)"):
        list(table(from_bytes(text, "s.txt")).batches())


def test_sacct_tells_the_nodes_also_among_what_was_allocated() -> None:
    """`sacct --long` has no column of their number."""
    text = b"JobID|JobName|State|Elapsed|AllocCPUS|AllocTRES\n1|a|COMPLETED|00:01:00|8|billing=8,cpu=8,node=2\n"
    (batch,) = table(from_bytes(text, "s.txt")).batches()
    assert batch.numbers["nodes"].tolist() == [2]


def test_counters_of_a_google_benchmark_are_named() -> None:
    """A program's own figure of merit is not lost without a word."""
    one = {"name": "scan/8", "run_type": "iteration", "real_time": 5, "time_unit": "us", "label": "x", "FOM: GB/s": 408.5}
    document = json.dumps({"context": {"num_cpus": 8}, "benchmarks": [one]})
    assert notes(document) == ["file: counters of the benchmarks' own ('FOM: GB/s'), whose units are not known; left out"]


def test_aggregates_of_an_old_google_benchmark_are_left_out() -> None:
    """Before 1.5 only the ending of their names told them from repetitions."""
    times = [{"name": f"fill/8{end}", "real_time": 5, "time_unit": "us"} for end in ("", "_mean", "_stddev")]
    names = [*times, {"name": "fill/8_BigO", "big_o": "N"}]
    (batch,) = table(from_bytes(json.dumps({"context": {"num_cpus": 8}, "benchmarks": names}).encode(), "file")).batches()
    assert batch.values.tolist() == [5e-6]


def notes(text: str, name: str = "file", options: Options = PLAIN) -> list[str]:
    """The notes about a text; a text with a fault raises."""
    return [note for batch in table(from_bytes(text.encode(), name), options).batches() for note in batch.notes]


@pytest.mark.parametrize("mark", ['"skipped": true, "skip_message": "no GPU"', '"error_occurred": true, "error_message": "no GPU"'])
def test_a_google_benchmark_that_did_not_run_is_left_out(mark: str) -> None:
    """With its message."""
    text = '{"context": {"library_build_type": "release"}, "benchmarks": [{"name": "a", "run_type": "iteration", %s}]}'
    assert [note for note in notes(text % mark) if "benchmark 'a' failed (no GPU)" in note]


@pytest.mark.parametrize(("codes", "values"), [([0, 0], [2.0]), ([0, 1], [])])
def test_the_median_stands_for_all_runs_of_a_command_unless_one_failed(codes: list[int], values: list[float]) -> None:
    """Where hyperfine wrote no times."""
    one = {"command": "a", "mean": 2.1, "stddev": 0.1, "median": 2.0, "times": None, "exit_codes": codes}
    (batch,) = table(from_bytes(json.dumps({"results": [one]}).encode(), "r")).batches()
    assert list(batch.values) == values


def test_a_run_of_mlperf_needs_no_platform() -> None:
    """Its system is then not known."""
    text = "\n".join(line for line in (DATA / "mlperf-training.log").read_text().splitlines() if "submission_platform" not in line)
    (batch,) = table(from_bytes(text.encode(), "r")).batches()
    assert [batch.series[number].system for number in batch.series_of] == [None]


def test_words_of_a_google_benchmarks_name_stay_part_of_it() -> None:
    """Numbers are arguments, called by their place."""
    one = {"name": "fill/fast/1000", "run_type": "iteration", "real_time": 2, "time_unit": "ns", "iterations": 1, "cpu_time": 2}
    text = json.dumps({"context": {"library_build_type": "release"}, "benchmarks": [one]})
    (batch,) = table(from_bytes(text.encode(), "r")).batches()
    assert (batch.series[0].application, batch.series[0].params) == ("fill/fast", {"arg2": "1000"})


def test_a_job_without_an_elapsed_time_is_named() -> None:
    """It is not said to have been short."""
    (note,) = notes("JobID|JobName|State|Elapsed\n1|a|COMPLETED|Unknown\n")
    assert "job 1 (a) has no elapsed time" in note


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("JobID|JobName|State|ElapsedRaw\n1|a|COMPLETED|0\n", "file:2: job 1 (a) took less than a second"),
        (':::MLLOG {"key": "run_start", "time_ms": 1}\n:::MLLOG {"key": "run_start", "time_ms": 2}\n', "file:1: a run has no run_stop"),
        ('[{"name": "a", "result": "pass", "fail_phase": null, "perfvalues": null}]', "file:1: test 'a' has no performance figures"),
        ("JobID|JobName|State|Elapsed\n1|größe\a|FAILED|01:00\n", "file:2: job 1 (größe\\x07) is FAILED"),
    ],
)
def test_a_run_that_gives_no_value_is_named(text: str, left_out: str) -> None:
    """With the reason, in the letters of its own language but for control characters."""
    assert f"{left_out}; left out" in notes(text)


def test_failed_jobs_of_a_year_are_one_note() -> None:
    """Counted by how they ended, with how to list them; a few are named one by one."""
    states = ["FAILED", "TIMEOUT", "CANCELLED by 1000", "COMPLETED", "TIMEOUT", "TIMEOUT"]
    lines = [f"{number}|a|{state}|01:00\n" for number, state in enumerate(states * 4)]
    header = "JobID|JobName|State|Elapsed\n"
    (note,) = notes(header + "".join(lines))
    assert note == (
        "file: 20 jobs did not succeed (12 TIMEOUT, 4 FAILED, 4 CANCELLED) and are left out: lines 2, 3, 4, …; "
        "'sacct --starttime=DATE --state=FAILED,TIMEOUT,CANCELLED' lists them"
    )
    assert notes(header + "".join(lines[:6]))[0] == "file:2: job 0 (a) is FAILED; left out"
    assert len(notes(header + "".join(lines[:6]))) == 5


def test_a_part_of_a_heterogeneous_job_is_left_out() -> None:
    """Its nodes are not all that the job ran on."""
    part = {"job_id": 105, "name": "a", "allocation_nodes": 1, "state": {"current": ["COMPLETED"]}, "time": {"elapsed": 60}}
    part["het"] = {"job_id": 104, "job_offset": {"set": True, "infinite": False, "number": 1}}
    for text in ("JobID|JobName|State|Elapsed\n104+1|a|COMPLETED|01:00\n", json.dumps({"jobs": [part]})):
        (note,) = notes(text)
        assert "job 104+1 (a) is a part of a heterogeneous job" in note


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("reframe-4.10.4-solver.log", "\n", "\n\n"),
        ("mlperf-training.log", ":::MLLOG", "50 %\r:::MLLOG"),
        ("mlperf-training.log", "}\n", "}\r100 %\n"),
        ("extrap.txt", "PARAMETER ", "PARAMETER\t"),
    ],
    ids=["empty lines", "a progress bar before", "a progress bar after", "a tab"],
)
def test_spellings_of_lines(name: str, old: str, new: str) -> None:
    """Empty lines, progress bars around a log's mark, and tabs between words change nothing."""
    text = (DATA / name).read_text().replace(old, new)
    assert sum(map(len, table(from_bytes(text.encode(), name)).batches())) == SAMPLES[name][1]


@pytest.mark.parametrize(("name", "sign"), [("reframe-4.10.4-solver.log", "\u2028"), ("sacct-24.11.txt", "\x0b")])
def test_a_sign_in_a_name_does_not_end_its_line(name: str, sign: str) -> None:
    """A line ends with a line feed alone: the row is not cut in two, and its fault is that of the name."""
    with pytest.raises(DataError, match=rf"{name}:2: column 'application': .* unprintable character"):
        notes((DATA / name).read_text().replace("solver", f"sol{sign}ver"), name)


def test_a_parameter_called_like_a_column_of_the_layout_is_that_column() -> None:
    """Also in Google Benchmark's names, which otherwise say nothing of nodes: two problems must not become repeats of one run."""
    (batch,) = table(from_bytes(_google("g/nodes:10", "g/nodes:100").encode(), "b.json")).batches()
    assert list(batch.numbers["nodes"]) == [10, 100]


def _google(*names: str) -> str:
    runs = [{"name": name, "real_time": 1.5, "time_unit": "ns", "threads": 1} for name in names]
    return json.dumps({"context": {"num_cpus": 2}, "benchmarks": runs})


def test_extrap_points_are_layouts_and_parameters() -> None:
    """Regions are applications, the number of processes is the ranks, other parameters stay; every value is a repeat."""
    first, second, *_ = rows("extrap.txt")
    assert (first["application"], first["ranks_per_node"], first["params"], first["value"], first["repeat"]) == (
        "solve",
        1,
        {"n": "100"},
        80.1,
        0,
    )
    assert second["repeat"] == 1
    assert [row["ranks_per_node"] for row in rows("extrap.json")] == [1, 1, 2, 2, 4, 4, 8, 8, 16, 16]


@pytest.mark.parametrize(("metric", "kept"), [("Time", "time"), ("RunTime", "run_time"), (" time ", "time"), ("Solve", "Solve")])
def test_times_of_extrap_are_times_in_any_case(metric: str, kept: str) -> None:
    """Other metrics keep their names."""
    found = {"parameters": ["p"], "measurements": {"solve": {metric: [{"point": [1], "values": [2.0]}]}}}
    (batch,) = table(from_bytes(json.dumps(found).encode(), "r"), Options(fill={"unit": "s"})).batches()
    assert batch.series[0].metric == kept


def test_counts_of_events_of_extrap_are_left_out() -> None:
    """Profiles have them beside the time at every point: one note for each metric."""
    text = "PARAMETER p\nPOINTS 1 2\nREGION a\nMETRIC time\nDATA 9\nDATA 5\nMETRIC visits\nDATA 1\nDATA 1\nMETRIC PAPI_FP_OPS\nDATA 3\n"
    (batch,) = table(from_bytes(text.encode(), "e.txt")).batches()
    assert batch.values.tolist() == [9, 5]
    assert batch.notes == tuple(f"e.txt: metric {name!r} counts events, which give no time; left out" for name in ("visits", "PAPI_FP_OPS"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ((DATA / "reframe-4.6.4.json").read_text(), "r:2: a report of data_version '3.1'; known: 4.0 to 4.2"),
        ('{"session_info": {"data_version": "4.2"}}', "r:1: 'runs' is required, as a list"),
        ('{"session_info": {"data_version": "4.2"},\n"runs": [1]}', "r:1: 'runs' is required, as a list of objects"),
        ((DATA / "reframe-4.10.4.json").read_text()[:9000], "not valid JSON"),
        ((DATA / "reframe-4.10.4-solver.log").read_text() + "pass|x\n", "r:4: 2 cells; the header has 36 columns"),
        (':::MLLOG {"key": "run_start", "time_ms": "soon"}', "r:1: 'time_ms' is required"),
        (":::MLLOG {broken", "r:1: no JSON object after :::MLLOG"),
        ('{"results": [{"command": "a", "mean": 1, "stddev": null,\n"times": [-1], "exit_codes": [0]}]}', "r:1: column 'value': '-1'"),
        ('{"results": [{"command": "a", "mean": 1, "stddev": 1, "times": [Infinity]}]}', "r:1: column 'value': 'Infinity'"),
        ('{"schema_version": 3, "metadata": {"hyperfine_version": "3"}, "results": [{"command": "a"}]}', "r:1: schema_version '3'"),
        ('{"schema_version": 2, "metadata": {"hyperfine_version": "2"}, "results": [{"command": "a",\n"measurements": [\n'
         '{"time_wall_clock": {"value": 1, "unit": "ms"}, "exit_code": 0}]}]}', "r:3: 'time_wall_clock' in 'ms'; known: second"),
        ('[{"name": "a", "result": "pass", "fail_phase": null, "perfvalues": {"c:p:rate": [1, null, 0, 0]}}]',
         "r:1: 'perfvalues' of 'c:p:rate': at least five values are required"),
        ("JobID|JobName|State\n1|a|COMPLETED\n", "r:1: no column Elapsed"),
        ("JobID|JobName|State|Elapsed|WorkDir\n1|a|b|COMPLETED|00:00:01|/x\n", "r:2: 6 cells; the header has 5 columns"),
        ('{"parameters": ["p"], "measurements": {"a": {"time": [{"point": [1, 2], "values": [1]}]}}}', "r:1: a point of 2 values; there"),
        ('{"parameters": ["p"], "measurements": {"a": {"nodes": [{"point": [1], "values": [1]}]}}}', "unknown metric 'nodes'"),
        ("PARAMETER p\nPOINTS 1 2\nREGION a\nDATA 1\nDATA 2\nDATA 3\n", "r:6: DATA for point 3, but there are 2 POINTS"),
        ("PARAMETER p\nPOINTS 1 2\nRESULT a\n", "r:3: 'RESULT': known: PARAMETER"),
        ("PARAMETER p np\nPOINTS (1 2)\nREGION a\nDATA 1\n", "r:4: the parameters p and np are one column, ranks_per_node"),
        ('{"parameters": ' + "[" * 100_000, "r:1: objects nested too deep"),
    ],
)  # fmt: skip
def test_a_damaged_file_says_where_and_why(text: str, says: str) -> None:
    """As for tables: file, line, what is wrong, what is allowed."""
    form = "extrap" if text.startswith('{"parameters": [[') else None
    with pytest.raises(DataError) as caught:
        list(table(from_bytes(text.encode(), "r"), Options(format=form)).batches())
    assert says in str(caught.value.faults[0])


@pytest.mark.parametrize("form", ["extrap", "hyperfine", "reframe", "sacct_json"])
def test_a_document_that_is_no_object_is_refused(form: str) -> None:
    """A list, where the format is given."""
    with pytest.raises(DataError, match=r"r:1: expected an object"):
        list(table(from_bytes(b"[1, 2]", "r"), Options(format=form)).batches())


@pytest.mark.parametrize(("nodes", "known"), [('["a", "b"]', 2), ("[]", UNKNOWN), ('"a"', UNKNOWN), ("null", UNKNOWN)])
def test_the_nodes_of_a_reframe_job_are_counted_where_they_are_listed(nodes: str, known: int) -> None:
    """What is no list, or an empty one, says nothing."""
    report = json.loads((DATA / "reframe-4.10.4.json").read_text())
    for run in report["runs"]:
        for case in run["testcases"]:
            case |= {"job_nodelist": json.loads(nodes), "num_tasks": 4, "num_tasks_per_node": None}
    (batch,) = table(from_bytes(json.dumps(report).encode(), "r")).batches()
    assert set(batch.numbers["nodes"]) == {known}


def test_a_figure_in_an_unknown_unit_is_left_out_and_named_once() -> None:
    """Nobody can change what a tool wrote, and its other figures are read."""
    text = (DATA / "reframe-4.10.4.json").read_text().replace('"GB/s"', '"GB by s"')
    (batch,) = table(from_bytes(text.encode(), "r.json")).batches()
    assert {key.metric for key in batch.series} == {"elapsed"}
    assert [note for note in batch.notes if "GB by s" in note] == ["r.json: 'triad' is in the unknown unit 'GB by s'; left out"]


def test_a_file_whose_figures_are_all_in_an_unknown_unit_is_refused_until_it_is_given() -> None:
    """There is nothing else to read, and one unit fits all."""
    log = b"job_completion_time|name|triad_value|triad_unit\n2026-03-01T12:00:00|stream|12.5|GB by s\n"
    with pytest.raises(DataError, match="column 'unit': unknown unit 'GB by s'; did you mean 'GB/s'"):
        list(table(from_bytes(log, "r.log")).batches())
    (batch,) = table(from_bytes(log, "r.log"), Options({"unit": ""}, {"unit": "GB/s"})).batches()
    assert batch.values.tolist() == [12.5e9]


@pytest.mark.parametrize("zero", ["0.0", "0", "0.0000000000000000e+00"])
def test_a_run_of_no_time_is_left_out(zero: str) -> None:
    """hyperfine takes off the time of the shell, and little is left of a short command."""
    text = (DATA / "hyperfine-1.15.json").read_text().replace("        0.011688358660000002", zero)
    (batch,) = table(from_bytes(text.encode(), "h.json")).batches()
    assert (len(batch), [note for note in batch.notes if "zero" in note]) == (2, ["h.json:4: 'wall_time' of 'wait 1' is zero; left out"])


def test_what_a_tool_does_not_say_can_be_set() -> None:
    """`--set` fills a region's unit; `--map` makes a parameter a column of the layout."""
    text = b'{"parameters": ["size"], "measurements": {"a": {"solving": [{"point": [4], "values": [2]}]}}}'
    (batch,) = table(from_bytes(text, "e.json"), Options(rename={"params.size": "nodes"}, fill={"unit": "1/s"})).batches()
    assert batch.numbers["nodes"].tolist() == [4]


OTHERS = [each for each in plugins.all_of("ingest") if each.name not in ("csv", "json")]


@pytest.mark.parametrize("form", OTHERS, ids=lambda each: each.name)
def test_every_format_keeps_its_contract(form: Any) -> None:
    """The importable contract holds for what is installed, with each format's own samples."""
    samples = [from_path(DATA / name) for name, (known, *_) in SAMPLES.items() if known == form.name]
    assert samples, "put a file that the tool wrote into tests/data/ and name it in SAMPLES, above"
    testing.check_format(form, samples)


def test_an_installed_package_adds_a_format(tmp_path: Path) -> None:
    """An entry point of the group `modak.ingest`: its files are recognised, though they hold commas, and load like any other."""
    (tmp_path / "site_formats.py").write_text(
        "from modak.ingest.table import Raw\n\n\n"
        "class Pairs:\n"
        "    name = 'pairs'\n\n"
        "    def recognises(self, head, name):\n"
        "        return head.startswith(b'#pairs,')\n\n"
        "    def read(self, source):\n"
        "        with source.open() as stream:\n"
        "            rows = [line.decode().split() for line in stream][1:]\n"
        "        cells = [{'application': a, 'metric': 'wall_time', 'value': v} for a, v in rows]\n"
        "        yield Raw.of(cells, range(2, len(rows) + 2))\n\n\n"
        "PAIRS = Pairs()\n"
    )
    installed = tmp_path / "site_formats-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: site-formats\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[modak.ingest]\npairs = site_formats:PAIRS\n")
    (tmp_path / "runs.txt").write_text("#pairs,1\nsolver 12.5\nsolver 12.7\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "MODAK_DATABASE_URL": f"sqlite:///{tmp_path / 'own.db'}"}
    words = [sys.executable, "-m", "modak", "load", str(tmp_path / "runs.txt"), "--json"]
    done = subprocess.run(words, env=env, cwd=DATA.parent.parent, capture_output=True, text=True, check=True)
    (file,) = json.loads(done.stdout)["files"]
    assert (file["format"], file["rows"], file["new"]) == ("pairs", 2, 2)

"""What files mean: the same rows in every spelling that is accepted."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak.errors import DataError
from modak.facts import SeriesKey
from modak.ingest.checking import distinct
from modak.ingest.columns import COLUMNS
from modak.ingest.formats import csvrows
from modak.ingest.formats.csv import Csv
from modak.ingest.options import options_text, parse_pairs
from modak.ingest.reading import points, table, tables
from modak.ingest.sources import Source, from_bytes, from_stream, path_text
from modak.ingest.table import UNKNOWN, Batch, Options, Raw
from modak.ingest.totals import TOTALS
from modak.ingest.writing import write_csv
from modak.perfmodel.matching.questions import SPREAD
from tests.conftest import ROOT
from tests.ingest.sips import in_sips

TEXT = "application,params.batch,nodes,hyperthreads,metric,value,unit,measured_at\n"
TEXT += '"a, b",64,4,true,wall_time,1500,ms,2025-03-01T12:00:00+01:00\n'


def only(content: bytes | str, name: str = "r.csv", options: Options | None = None) -> Batch:
    """The one batch of a small file."""
    raw = content.encode() if isinstance(content, str) else content
    (batch,) = table(from_bytes(raw, name), options or Options()).batches()
    return batch


def test_what_runs_differ_in_can_be_loaded_and_widens_an_interval() -> None:
    """Each label of a series is a column, and has a spread; each column stands on the page about results."""
    labels, page = set(SeriesKey.model_fields) - {"params"}, (ROOT / "docs/results.md").read_text()
    assert labels - set(COLUMNS) == set()
    assert labels - {"application", "metric", "unit"} - set(SPREAD) == set()
    assert [name for name in (*COLUMNS, *TOTALS) if f"`{name}`" not in page] == []


def test_a_row_becomes_typed_columns() -> None:
    """Texts, counts, switches, times and values of one row, in base units and UTC microseconds."""
    batch = only(TEXT)
    (key,) = batch.series
    assert (key.application, key.params, key.hyperthreads, key.metric, key.unit) == ("a, b", {"batch": "64"}, True, "wall_time", "s")
    assert batch.values.tolist() == [1.5]
    assert {name: column.tolist() for name, column in batch.numbers.items()} == {
        "nodes": [4], "ranks_per_node": [UNKNOWN], "threads_per_rank": [UNKNOWN], "gpus_per_node": [UNKNOWN], "batch_size": [UNKNOWN],
        "repeat": [UNKNOWN],
    }  # fmt: skip
    assert batch.measured_at.tolist() == [1_740_826_800_000_000]
    assert [column.dtype.name for column in (batch.values, batch.measured_at, batch.numbers["nodes"])] == ["float64", "int64", "int32"]


def test_all_columns_that_are_not_known_are_left_out_at_once() -> None:
    """Those that have a name of their own are kept, and the others are told."""
    text = "Application,metric,secs,num_nodes,nx,residual\na,time,9,4,8,1e-9\n"
    rows, note = table(from_bytes(text.encode(), "r.csv"), Options({"secs": "value", "num_nodes": "nodes", "*": ""})).batches()
    assert (rows.values.tolist(), rows.numbers["nodes"].tolist(), rows.series[0].params) == ([9.0], [4], {})
    assert note.notes == ("r.csv: left out: 'nx', 'residual'",)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:09:07.7", 547.7),
        ("9:07.7", 547.7),
        ("1:13:32", 4412),
        ("1-02:03:04", 93784),
        ("0 days 00:13:32.5", 812.5),
        ("1 day, 2:03:04", 93784),
        ("1m23.4s", 83.4),
        ("75m3.250s", 4503.25),
        ("0m1,234s", 1.234),
        ("1h 23m", 4980),
        ("1 h 2 min 3 s", 3723),
    ],
)
@pytest.mark.parametrize("unit", ["", "s"])
def test_a_length_of_time_is_read_in_seconds(text: str, seconds: float, unit: str) -> None:
    """As clocks, Slurm, bash, Python and MODAK print it; beside plain numbers in another unit."""
    batch = only(f'application,nodes,metric,value,unit\na,1,wall_time,"{text}",{unit}\na,2,wall_time,1.5,min\n')
    assert batch.values.tolist() == [seconds, 90]


@pytest.mark.parametrize("text", ["", " ", "NaN", "n/a", "-"])
def test_rows_of_runs_that_gave_no_value_are_left_out(text: str) -> None:
    """The others count; one note has their lines, and what else they say is not looked at."""
    batch = only(f"application,nodes,metric,value\na,1,wall_time,9\na,2,wall_time,{text}\na,x,wall_time,{text}\na,4,wall_time,3\n")
    assert (batch.values.tolist(), batch.lines.tolist()) == ([9.0, 3.0], [2, 5])
    assert batch.notes == ("r.csv:3: 2 rows without a value (also in line 4); left out",)


@pytest.mark.parametrize(
    ("text", "metric"),
    [("OOM", "out_of_memory"), ("Out of memory", "out_of_memory"), ("Failed", "failed_runs"), ("timeout", "failed_runs")],
)
def test_rows_of_runs_that_failed_count_these(text: str, metric: str) -> None:
    """Whatever was to be measured, in whatever unit; one note has their lines."""
    batch = only(f"application,nodes,metric,value,unit\na,1,wall_time,9,min\na,2,wall_time,{text},min\na,3,energy,{text},kWh\n")
    assert [(batch.series[of].metric, batch.series[of].unit) for of in batch.series_of] == [
        ("wall_time", "s"),
        (metric, "1"),
        (metric, "1"),
    ]
    assert batch.values.tolist() == [540, 1, 1]
    assert batch.notes == ("r.csv:3: 2 rows of failed runs (also in line 4); they count as failed_runs or out_of_memory",)


def test_a_file_without_any_value_is_refused() -> None:
    """Probably another column holds them."""
    with pytest.raises(DataError, match="no row has a value"):
        only("application,metric,value\na,wall_time,\n")


def test_a_heading_or_a_value_may_hold_an_equals_sign() -> None:
    """A column is renamed as the hint for it says; a value begins behind the first sign."""
    assert parse_pairs(["time [s] N=100=value", "N=1="], "--map") == {"time [s] N=100": "value", "N=1": ""}
    assert parse_pairs(["a=b", "source=d=e", "f="], "--set") == {"a": "b", "source": "d=e", "f": ""}


def test_columns_that_are_not_known_get_no_name_together() -> None:
    """All would have the same."""
    with pytest.raises(DataError, match=re.escape("--map *=params.x: leaves out the columns that are not known")):
        only("application,metric,value,nx\na,time,9,8\n", options=Options({"*": "params.x"}))


WEAK = "mentions weak scaling, but the times count as those of one problem"


@pytest.mark.parametrize(
    ("name", "columns", "options", "said"),
    [
        ("weak_scaling.csv", ",,", {}, "'weak_scaling.csv' " + WEAK),
        ("WeakScaling.csv", ",,", {}, "'WeakScaling.csv' " + WEAK),
        ("r.csv", ",weak_efficiency,1", {"weak_efficiency": ""}, "'weak_efficiency' " + WEAK),
        ("r.csv", ",experiment,weak", {"experiment": "params.experiment"}, "'weak' " + WEAK),
        ("weak_scaling.csv", ",params.scaling,weak", {}, ""),
        ("weak_and_strong.csv", ",,", {}, ""),
        ("tweaked.csv", ",,", {}, ""),
        ("weakly.csv", ",,", {}, ""),
        ("r.csv", ",params.weak_labels,9", {}, ""),
    ],
)
def test_times_that_something_calls_weak_are_noted(name: str, columns: str, options: Mapping[str, str], said: str) -> None:
    """Without the mark they count as those of one problem on more nodes, which gains nothing from them."""
    _, more, cell = columns.split(",")
    text = f"application,nodes,metric,value,unit,{more}\na,1,time,9,s,{cell}\na,2,time,9.5,s,{cell}\n"
    batches = [*table(from_bytes(text.encode(), name), Options(options)).batches()]
    notes = [note for batch in batches for note in batch.notes]
    assert [said in note for note in notes] == ([True] if said else [])


def test_rates_of_weak_scaling_need_no_mark() -> None:
    """They count the work done."""
    text = "application,nodes,metric,value,unit\na,1,throughput,9,cells/s\n"
    assert only(text, "weak.csv").notes == ()


@pytest.mark.parametrize(
    ("heading", "metric", "said"),
    [
        ("Speedup", "time", "column 'Speedup' is a ratio, but counts as time of the run: load what the whole run was measured at"),
        ("tok/s/GPU", "throughput", "column 'tok/s/GPU' is a rate of each gpu, but counts as throughput of the run"),
        ("Throughput (T/s/GPU)", "throughput", "column 'Throughput (T/s/GPU)' is a rate of each gpu, but counts as throughput of the run"),
        ("speedup", "speedup", ""),
        ("tok/s", "throughput", ""),
    ],
)
def test_what_no_run_was_measured_at_is_noted(heading: str, metric: str, said: str) -> None:
    """A speed-up as a time, or what one GPU does as what all do, would turn scaling round."""
    options = Options({heading: "value"}, {"metric": metric} | ({"unit": "tokens/s"} if metric == "throughput" else {}))
    batches = [*table(from_bytes(f"application,nodes,{heading}\na,1,1\na,2,1.9\n".encode(), "r.csv"), options).batches()]
    notes = [note for batch in batches for note in batch.notes]
    assert [said in note for note in notes] == ([True] if said else [])


def test_a_rate_of_each_gpu_whose_rows_say_so_is_not_noted() -> None:
    """It becomes that of all."""
    content = b"application,nodes,gpus_per_node,tok/s/GPU,unit\na,1,4,10,tokens/s/GPU\n"
    options = Options({"tok/s/GPU": "value"}, {"metric": "throughput"})
    batches = [*table(from_bytes(content, "r.csv"), options).batches()]
    assert [batch.values.tolist() for batch in batches if len(batch)] == [[40.0]]
    assert [note for batch in batches for note in batch.notes] == []


@pytest.mark.parametrize(("value", "unit", "said"), [("2734824610", "", True), ("2734824610", "ns", False), ("86400", "", False)])
def test_times_of_years_are_noted(value: str, unit: str, said: bool) -> None:
    """They are in another unit than seconds."""
    notes = only(f"application,metric,value,unit\na,time,{value},{unit}\n").notes
    assert [("up to 86.7 years" in note, "--set unit=ns" in note) for note in notes] == [(True, True)] * said


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.replace("\n", "\r\n"),
        TEXT.rstrip("\n"),
        TEXT + "\n\n",
        TEXT.replace("64,4,", " 64 ,4.0, "),
        TEXT.replace("true", "TRUE"),
        TEXT.replace("true", "yes"),
        TEXT.replace("true", "1"),
        TEXT.replace(",4,", ',"4",'),
        TEXT.replace("1500,ms", "1.5,"),
        TEXT.replace("1500", "+1.5e3"),
        TEXT.replace("12:00:00+01:00", "11:00Z"),
        TEXT.replace("nodes", " Nodes").replace("hyperthreads", "HyperThreads"),
        TEXT.replace("measured_at", "Measured at"),
        TEXT.replace("params.batch", "Params. batch"),
        TEXT.replace('"a, b"', "a# b").replace(",", "\t").replace("#", ","),
        "sep=,\n" + TEXT,
        TEXT.replace("\n", ",,\n"),
        TEXT + ",,,,,,,\n" + " , ,,,,,,\n",
    ],
)
def test_spellings_of_one_row(content: bytes | str) -> None:
    """Byte order mark, CR LF, no last line feed, blank lines, blanks around cells, quotes and units change nothing; nor do case in names of
    columns, tabs, a spreadsheet's line with its separator, and what it leaves of deleted rows and columns."""
    found, expected = only(content), only(TEXT)
    assert (found.series, found.values.tolist()) == (expected.series, expected.values.tolist())
    assert found.measured_at.tolist() == expected.measured_at.tolist()
    assert found.numbers["nodes"].tolist() == [4]


def test_a_date_is_its_first_instant_in_utc() -> None:
    """A table has dates far more often than times."""
    (found,) = only(TEXT.replace("T12:00:00+01:00", "")).measured_at.tolist()
    assert datetime.fromtimestamp(found / 1e6, UTC) == datetime(2025, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("small", [2**20, 0], ids=["standard library", "pandas"])
def test_semicolons_separate_cells_where_commas_are_decimal(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As spreadsheets write CSV in many countries; a text with a comma stays, and the file is said to have been read so."""
    monkeypatch.setattr(csvrows, "SMALL", small)
    batch = only('application;params.dt;dataset;metric;value\r\nfoam;0,5;"a;b, c";wall_time;812,5\r\nfoam;0,5;"a;b, c";wall_time;1e3\r\n')
    (key,) = batch.series
    assert (key.params, key.dataset, batch.values.tolist()) == ({"dt": "0.5"}, "a;b, c", [812.5, 1000.0])
    assert batch.notes == ("r.csv: semicolons separate its cells, commas are decimal",)


@pytest.mark.parametrize(("heading", "options"), [("value", Options()), ("Laufzeit", Options(rename={"Laufzeit": "value"}))])
def test_points_that_may_separate_thousands_are_noted(heading: str, options: Options) -> None:
    """Where semicolons separate cells, and no comma shows whether points or commas are decimal."""
    text = f"application;metric;{heading}\na;wall_time;1.812\na;wall_time;931\n"
    note = f"r.csv: column {heading!r}: the point in 1.812 is decimal; if it is not, write 1812"
    assert note in only(text, options=options).notes
    assert note not in only(text.replace("931", "93.1"), options=options).notes


@pytest.mark.parametrize(
    ("heading", "fill", "unit"),
    [
        ("Laufzeit (Minuten)", {}, "Minuten"),
        ("Dauer in Stunden", {}, "Stunden"),
        ("time_ms", {}, "ms"),
        ("time [s]", {}, None),
        ("Laufzeit", {}, None),
        ("Laufzeit (Minuten)", {"unit": "min"}, None),
    ],
)
def test_a_unit_that_renaming_loses_is_noted(heading: str, fill: dict[str, str], unit: str | None) -> None:
    """Minutes would count as seconds."""
    options = Options(rename={heading: "value"}, fill={"metric": "wall_time", "application": "a", **fill})
    notes = [note for each in table(from_bytes(f"nodes,{heading}\n1,46.7\n".encode(), "r.csv"), options).batches() for note in each.notes]
    assert [f"if {unit!r} is its unit" in note for note in notes] == ([True] if unit else [])


def test_a_column_is_renamed_by_its_name_in_any_case() -> None:
    """Messages name columns as they are in the table, in small letters."""
    options = Options(rename={"runtime": "value"}, fill={"metric": "run_time"})
    assert only("application,Runtime\na,812\n", options=options).values.tolist() == [812.0]


@pytest.mark.parametrize("small", [0, 2**20])
def test_the_header_again_is_no_row(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that append a table each to one file."""
    monkeypatch.setattr(csvrows, "SMALL", small)
    text = "application,nodes,metric,value\na,1,wall_time,4\n"
    batch = only(text + text.replace("a,1", "a,2") + text.replace("a,1", "a,4"))
    assert batch.numbers["nodes"].tolist() == [1, 2, 4]
    assert batch.notes == ("r.csv:3: the header again (2 times); left out",)


@pytest.mark.parametrize(
    ("cells", "noted"), [("memory,12.5,", True), ("bandwidth,120,", True), ("memory,12.5,B", False), ("memory,2e10,", False)]
)
def test_values_too_small_for_their_base_unit_are_noted(cells: str, noted: bool) -> None:
    """Twelve bytes are gigabytes without their unit; whoever writes the unit means it."""
    batch = only(f"application,metric,value,unit\na,{cells}\na,wall_time,812,\n")
    assert [note.partition(",")[0] for note in batch.notes] == [f"r.csv: column 'unit': empty for {cells.split(',')[0]!r}"] * noted


@pytest.mark.parametrize("text", ["none", "None", "n/a", "NA", "null", "-", "#N/A"])
def test_what_says_nothing_is_nothing(text: str) -> None:
    """In labels, counts and units, as people and programs fill cells that they have nothing for; a note says so."""
    plain = "application,compiler,nodes,metric,value,unit,suspect\na,,,wall_time,1,,\n"
    batch = only(plain.replace(",,,wall_time,1,,", f",{text},{text},wall_time,1,{text},{text}"))
    assert (batch.series, batch.numbers["nodes"].tolist(), batch.suspects[0]) == (only(plain).series, [UNKNOWN], "")
    assert f"r.csv: column 'compiler': {text!r} is a placeholder; the cell counts as empty" in batch.notes
    assert len(batch.notes) == 4


def test_none_says_something_where_it_is_a_choice() -> None:
    """No container, a parameter that is off, a doubt without a reason; and that no graph compiler is on, of what is asked."""
    batch = only("application,params.xla,runtime,metric,value,suspect\na,none,none,wall_time,1,?\n")
    assert (batch.series[0].runtime, batch.series[0].params, batch.suspects[0], batch.notes) == ("none", {"xla": "none"}, "?", ())
    (point,) = points(from_bytes(b"application,compiler,metric\na,none,wall_time\n", "p.csv"), 1)
    assert point.series.compiler == "none"


def test_json_records_are_rows() -> None:
    """Numbers, texts, switches, nulls and an object of parameters mean what they mean in CSV."""
    record = {
        "application": "a, b", "params": {"batch": 64}, "nodes": 4, "hyperthreads": True, "metric": "wall_time", "value": 1500,
        "unit": "ms", "measured_at": "2025-03-01T12:00:00+01:00", "system": None,
    }  # fmt: skip
    found = only(json.dumps([record]), "r.json")
    assert found.series == only(TEXT).series
    assert found.values.tolist() == [1.5]


def test_parameters_that_are_null_are_none() -> None:
    """As a program writes a record without any."""
    (series,) = only('[{"application": "a", "params": null, "metric": "wall_time", "value": 1}]', "r.json").series
    assert series.params == {}


@pytest.mark.parametrize("name", ["r.jsonl", "-", "r.json"])
def test_json_lines_are_records(name: str) -> None:
    """One a line, as pandas and loggers write them; what comes from a pipe is recognised by its first record."""
    record = {"Application": "a", "metric": "wall_time", "value": 1}
    found = only("".join(json.dumps({**record, "nodes": nodes}) + "\n" for nodes in (1, 2)), name)
    assert (found.numbers["nodes"].tolist(), found.lines.tolist()) == ([1, 2], [1, 2])


def test_a_list_in_a_record_can_be_left_out() -> None:
    """As llama-bench writes the times of its repeats."""
    record = {"application": "a", "metric": "throughput", "value": 1, "samples_ns": [1, 2], "build": {"commit": "3469684"}}
    found = only(json.dumps([record]), "r.json", Options({"samples_ns": "", "build": ""}))
    assert found.values.tolist() == [1]


@pytest.mark.parametrize(
    "name",
    ["NA", "null", "None", "nan", "007", "1e5", "TRUE", "-", "x=y", "PyTorch 1.11.0+cu115", "2x Xeon, OPA", 'say "hi"', "Ångström"],
)
def test_no_text_is_taken_for_something_else(name: str) -> None:
    """An application may be called what other readers take for a missing value or a number."""
    stream = io.StringIO()
    write_csv([{"application": name, "metric": "wall_time", "value": "1"}], stream)
    assert only(stream.getvalue()).series[0].application == name


def test_equal_series_are_one() -> None:
    """Rows of one series share it whatever stands between them; order of rows is kept."""
    text = "application,nodes,metric,value\na,1,wall_time,4\nb,1,wall_time,3\na,2,wall_time,2\n"
    batch = only(text)
    assert [batch.series[number].application for number in batch.series_of] == ["a", "b", "a"]
    assert batch.values.tolist() == [4, 3, 2]
    assert batch.lines.tolist() == [2, 3, 4]


def test_many_kinds_of_rows_stay_apart() -> None:
    """Combinations of more columns than fit one number are still told apart."""
    names = [f"params.p{i}" for i in range(12)]
    rows = ["application,metric,value," + ",".join(names)]
    rows += [f"a,wall_time,{i + 1}," + ",".join(str((i * (j + 1)) % 97) for j in range(12)) for i in range(97)]
    batch = only("\n".join(rows) + "\n")
    assert len(batch.series) == 97
    for row in range(97):
        assert batch.series[batch.series_of[row]].params == {f"p{j}": str((row * (j + 1)) % 97) for j in range(12)}


def test_columns_are_renamed_left_out_and_filled() -> None:
    """`--map` names foreign columns or drops them, `--set` fills what is empty and keeps what is not."""
    text = "app,secs,site,system\na,1.5,x,\nb,2.5,x,zenith\n"
    options = Options(rename={"app": "application", "secs": "value", "site": ""}, fill={"metric": "wall_time", "system": "stampede2"})
    batch = only(text, options=options)
    assert [(key.application, key.system) for key in batch.series] == [("a", "stampede2"), ("b", "zenith")]
    assert {key.metric for key in batch.series} == {"wall_time"}


@pytest.mark.parametrize(("cell", "noted"), [("zenith", True), ("", False)])
def test_a_value_for_a_column_without_an_empty_cell_is_noted(cell: str, noted: bool) -> None:
    """Whoever gives it expects it in the rows."""
    source = from_bytes(f"application,metric,value,system\na,wall_time,1,zenith\na,wall_time,2,{cell}\n".encode(), "r.csv")
    notes = [note for batch in table(source, Options(fill={"system": "hlrs"})).batches() for note in batch.notes]
    assert notes == ["r.csv: --set system=… fills nothing: no cell of the column is empty"] * noted


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("small", [0, 2**20])
def test_the_row_numbers_of_pandas_are_left_out(start: int, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first column without a name that counts the rows, with one note, also over several blocks."""
    monkeypatch.setattr(csvrows, "SMALL", small)
    rows = "".join(f"{start + row},a,{row + 1},wall_time,{row + 2}\n" for row in range(12))
    batches = list(table(in_sips(f",application,nodes,metric,value\n{rows}", "r.csv", 60)).batches())
    assert len(batches) > 1
    assert [key.params for batch in batches for key in batch.series] == [{}] * len(batches)
    assert sum(map(len, batches)) == 12
    assert [note for batch in batches for note in batch.notes] == ["r.csv: the first column has no name and counts the rows: left out"]


def test_options_are_one_line_whatever_their_order() -> None:
    """The record of a load compares options as text."""
    assert options_text(Options(fill={"a": "1", "b": "2"})) == options_text(Options(fill={"b": "2", "a": "1"}))


def test_a_folder_is_read_by_content(tmp_path: Path) -> None:
    """Files are recognised by what they hold; others are listed; hidden ones are passed over."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.txt").write_text(TEXT)
    (tmp_path / "a.results").write_text(' [{"application": "a", "metric": "wall_time", "value": 1}]')
    (tmp_path / "README.md").write_text("# Results\n\n| Run | Time |\n|---|---|\n| a | 9 |\n")
    (tmp_path / "notes").write_text("none\n")
    (tmp_path / ".hidden.csv").write_text("x")
    found = tables([tmp_path])
    assert [(Path(each.source.name).name, each.format) for each in found.tables] == [("a.results", "json"), ("b.txt", "csv")]
    assert found.skipped == (str(tmp_path / "README.md"), str(tmp_path / "notes"))
    assert [note.partition(": ")[2] for note in found.notes] == [
        "a page in Markdown, skipped; its table is loaded if the page is named", "of no known format, skipped",
    ]  # fmt: skip


@dataclass(frozen=True)
class Pairs:
    """A format of one test's own: `application seconds` a line."""

    name: str = "pairs"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its first word."""
        return head.startswith(b"pairs\n")

    def read(self, source: Source) -> Iterator[Raw]:
        """All rows at once."""
        with source.open() as stream:
            rows = [line.decode().split() for line in stream][1:]
        yield Raw.of([{"application": one, "metric": "wall_time", "value": two} for one, two in rows], range(2, len(rows) + 2))


def test_another_format_is_one_object() -> None:
    """A format finds cells and lines; columns and values are checked for it."""
    good, bad = (table(from_bytes(text, "x"), formats=(Pairs(),)) for text in (b"pairs\na 1.5\nb 2\n", b"pairs\na 1.5\nb two\n"))
    assert good.format == "pairs"
    assert [batch.values.tolist() for batch in good.batches()] == [[1.5, 2.0]]
    with pytest.raises(DataError, match="x:3: column 'value': 'two'"):
        list(bad.batches())


def test_a_long_stream_is_kept_in_a_file() -> None:
    """Standard input beyond what is held in memory gives its rows and its hash."""
    content = b'[{"application": "a", "metric": "wall_time", "value": 1}' + b" " * (17 << 20) + b"]"
    long = from_stream(io.BytesIO(content))
    assert (long.sha256, long.size) == (hashlib.sha256(content).hexdigest(), len(content))
    assert [len(batch) for batch in table(long).batches()] == [1]


def test_points_keep_their_rows_and_units() -> None:
    """Rows without values: the file's own cells in order, what they mean, and the unit of the answer."""
    text = "application,system,nodes,metric,unit\n3dgan,zenith,4,epoch_time,min\n3dgan,zenith,,epoch_time,\n"
    first, second = points(from_bytes(text.encode(), "p.csv"), 10)
    assert dict(first.cells) == {"application": "3dgan", "system": "zenith", "nodes": "4", "metric": "epoch_time", "unit": "min"}
    assert list(first.cells) == ["application", "system", "nodes", "metric", "unit"]
    assert (first.series.unit, first.unit, first.layout.nodes) == ("s", "min", 4)
    assert (second.unit, second.layout.nodes) == (None, None)


@pytest.mark.parametrize("comma", ["", "5"])
def test_points_in_parameters_between_semicolons_are_noted(comma: str) -> None:
    """1.000 may be a thousand there, whether another column has decimal commas or not."""
    text = f"application;params.n;params.v;nodes;metric;value\na;1.000;2.10;1;wall_time;12{',' * bool(comma)}{comma}\n"
    notes = only(text).notes
    assert "r.csv: column 'params.n': the point in 1.000 is decimal; if it is not, write 1000" in notes
    assert not any("params.v" in note for note in notes)


def test_points_may_carry_values() -> None:
    """A table with measured values can be predicted too; they are not looked at."""
    (point,) = points(from_bytes(b"application,metric,value\na,wall_time,unknown yet\n", "p.csv"), 10)
    assert point.cells["value"] == "unknown yet"


def test_no_option_is_named_where_there_is_none() -> None:
    """Columns are renamed and filled where results are loaded; not where they are predicted, nor in the words of the options themselves."""
    with pytest.raises(DataError) as asked:
        points(from_bytes(b"app,metric\na,wall_time\n", "p.csv"), 10)
    with pytest.raises(DataError) as filled:
        table(from_bytes(b"application,metric,value\na,wall_time,1\n", "r.csv"), Options(fill={"app": "a"}))
    assert not any(option in f"{asked.value} {filled.value}" for option in ("'--map", "'--set"))


PRINTABLE = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" ,;\"'=+-@"), min_size=1, max_size=30)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(PRINTABLE, PRINTABLE), min_size=1, max_size=8))
def test_what_is_written_is_read_again(rows: list[tuple[str, str]]) -> None:
    """Any printable cells survive the way out and in, by both ways of cutting; only blanks around them go."""
    stream = io.StringIO()
    write_csv([{"one": one, "two": two} for one, two in rows], stream)
    for small in (0, 2**20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csvrows, "SMALL", small)
            (raw,) = Csv().read(from_bytes(stream.getvalue().encode(), "x.csv"))
        assert [(raw.columns["one"][i], raw.columns["two"][i]) for i in range(len(raw.lines))] == rows


@pytest.mark.parametrize("cell", ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "'=x", "''=x", *"＝＋－＠"])
def test_formulas_are_guarded_for_spreadsheets(cell: str) -> None:
    """What a spreadsheet would run is written with an apostrophe before it; numbers are not."""
    stream = io.StringIO()
    write_csv([{"a": cell, "b": "-2.5e3"}], stream)
    line = stream.getvalue().splitlines()[1]
    assert line.lstrip('"').startswith("'")
    assert line.endswith(",-2.5e3")


@pytest.mark.parametrize("cell", ["a;=1+1", "a;@SUM(A1);b", "a;'=x", 'a;"=1+1;b'])
def test_no_formula_begins_behind_a_semicolon(cell: str) -> None:
    """Where commas are decimal, spreadsheets begin a cell there, whatever quotes are around."""
    stream = io.StringIO()
    write_csv([{"a": cell, "b": "a;b"}], stream)
    assert not re.search(r"""(^|;)"*[=+@-]""", stream.getvalue().splitlines()[1])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=30), st.sampled_from([3, 2**25, 2**31]))
def test_combinations_are_told_apart(rows: list[tuple[int, ...]], size: int) -> None:
    """Rows have one number exactly where all their codes are equal, also where the product of the sizes fits no integer."""
    columns = [np.array(column, dtype=np.int32) for column in zip(*rows, strict=True)]
    first, numbers = distinct(columns, [size] * len(columns))
    assert len(first) == len(set(rows))
    assert [rows[first[number]] for number in numbers] == rows


def test_a_file_whose_name_is_no_text_has_one() -> None:
    """As databases and terminals take it."""
    assert path_text(os.fsdecode(b"l\xf6ser.csv")) == "l\\xf6ser.csv"


def test_how_far_a_file_is_read_is_known() -> None:
    """Not at all before it is opened, and whole once it is closed."""
    source = from_bytes(b"a" * 100, "r")
    before = source.done
    with source.open() as stream:
        stream.read(25)
        during = source.done
    assert (before, during, source.done) == (0.0, 0.25, 1.0)


def test_an_unknown_column_is_named_where_it_first_stands() -> None:
    """Not where the last record has it."""
    record = '{{"application": "a", "metric": "wall_time", "value": 1{}}}'
    text = ",\n".join(record.format(more) for more in ("", ', "colour": "red"', ', "colour": "blue"'))
    with pytest.raises(DataError, match=r"^r\.json:2: unknown column 'colour'"):
        only(f"[{text}]", "r.json")

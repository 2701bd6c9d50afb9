"""Files that must not load, each with the line that says why."""

from __future__ import annotations

import gzip
import os
import shutil
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from modak.errors import DataError
from modak.ingest.formats import csvrows
from modak.ingest.options import parse_pairs
from modak.ingest.reading import table, tables
from modak.ingest.sources import from_bytes, from_stream
from modak.ingest.table import Options, also
from modak.ingest.unread import PROGRAMS, TABLES, why_unread
from tests.ingest.sips import in_sips

HEADER = "application,nodes,metric,value,unit,measured_at\n"
GOOD = "a,1,wall_time,2.5,s,2025-03-01T12:00:00Z\n"
LATER = (datetime.now(UTC) + timedelta(days=2)).isoformat()


def faults(content: bytes | str, name: str = "r.csv", options: Options | None = None) -> list[str]:
    """What reading a file says, line by line."""
    raw = content.encode() if isinstance(content, str) else content
    with pytest.raises(DataError) as caught:
        list(table(from_bytes(raw, name), options or Options()).batches())
    return str(caught.value).splitlines()


def cell(column: str, text: str) -> str:
    """A file whose second row has ``text`` in ``column``."""
    quoted = f'"{text}"' if "," in text else text
    values = dict(zip(HEADER.strip().split(","), GOOD.strip().split(","), strict=True)) | {column: quoted}
    return HEADER + GOOD + ",".join(values.values()) + "\n"


@pytest.fixture(params=["standard library", "pandas"], autouse=True)
def cutter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small and large blocks are cut by different hands; both must see the same. A large one in every test would take minutes."""
    if request.param == "pandas":
        monkeypatch.setattr(csvrows, "SMALL", 0)


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.txt"])
def test_an_empty_file_is_called_so(name: str) -> None:
    """Not a list that is missing."""
    assert [fault.rpartition(": ")[2] for fault in faults(" \n", name)] == ["the file is empty"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "r.csv:1: no header"),
        ("\n", "r.csv:1: no header"),
        (HEADER, "r.csv: no rows of results"),
        (HEADER + "\n\n", "r.csv: no rows of results"),
        ("application,value,Value\na,1,1\n", "r.csv:1: two columns are called 'value'"),
        ("application,metric,wall_time [s]\na,b,1\n", "; wall_time is a metric: name it in the column 'metric'"),
        (
            "application,nodes,epoch_time\na,1,9\n",
            "epoch_time is a metric: name it in the column 'metric', its number",
        ),
        ("application,walltime(s)\na,1\n", "(--map 'walltime(s)=value' --set metric=wall_time --set unit=s)"),
        ("application,metric,value,params.\na,wall_time,1,2\n", "r.csv:1: unknown column 'params.'"),
        ("Name,application,metric,value\na,a,wall_time,1\n", "; '--map OLD=NEW' renames a column, '--map OLD=' leaves it out"),
        ("application,metric\na,wall_time\n", "r.csv:1: no column 'value'"),
        ("application,metric\na,wall_time\n", "no column 'value': a row is one measured value"),
        ("metric,value\nwall_time,1\n", "; '--set application=…' gives all rows one"),
        ("application;metric;value\na;wall_time;1,5\na;wall_time;1.234\n", "r.csv:3: column 'value': '1.234' where commas are decimal"),
        ("application;metric;value\na;wall_time;1.234,5\n", "r.csv:2: column 'value': '1.234,5': allowed: a finite positive number"),
        ("application;metric;value\na;wall_time\n", "r.csv:2: 2 cells; the header has 3 columns"),
        ("application;params.dt;metric;value\na;0,5;wall_time;1.234\n", "r.csv:2: column 'value': '1.234' where commas are decimal"),
        ("application;nodes;metric;value\na;1.000;wall_time;2\n", "r.csv:2: column 'nodes': '1.000' where commas are decimal"),
        ("application;dt;metric;Zeit\na;0,5;wall_time;1.234\n", "r.csv:2: column 'Zeit': '1.234' where commas are decimal"),
        ("sep=;\napplication;metric;value\na;wall_time;x\n", "r.csv:3: column 'value': 'x'"),
        ("application\tmetric\tvalue\na\twall_time\t1,5\n", "r.csv:2: column 'value': '1,5': allowed: a finite positive number"),
        ("application|metric|value\na|wall_time|1\n", "r.csv:1: the header has one column only; it names the columns, separated by"),
        ("value\n1\n", "r.csv:1: the header has one column only"),
        ("Scaling 2026\na;b\n", "semicolons or tabs; if this line is a title, remove the lines above the header"),
        ("# scaling of a, 2026\n" + HEADER + GOOD, "r.csv:1: begins with '#': remove the lines above the header, and any '#' before its"),
        ("Scaling study,,,,\n,,,,\n" + HEADER + GOOD, "r.csv:1: names one column only, 'Scaling study': remove the lines above the header"),
        (HEADER + "# warm\n" + GOOD, "r.csv:2: 1 cells; the header has 6 columns; a comment: remove the line"),
        (
            HEADER + "a 1 wall_time 2.5 s -\n",
            "r.csv:2: 1 cells; the header has 6 columns; here blanks separate cells, in the header something",
        ),
        (HEADER + GOOD + "b, 1\n", "r.csv:3: 2 cells; the header has 6 columns"),
        (HEADER + "a,1\n" + GOOD + "b,2\n# c\nd,3\n", "r.csv:2: 2 cells; the header has 6 columns (also in lines 4, 6)"),
        (HEADER + GOOD + "# c\n# d\n", "r.csv:3: 1 cells; the header has 6 columns; a comment: remove the line (also in line 4)"),
        ("1000,0.35\n2000,0.86\n", "r.csv:1: holds numbers only; the first line has to name the columns"),
        ("copy,float,6144,1,3.6e-02\ncopy,float,6144,2,2.0e-02\n", "r.csv:1: holds numbers between names, as a row does; the first line"),
        (GOOD + GOOD, "r.csv:1: holds numbers between names, as a row does"),
        ("1..2,2,1.,..\na,b,c,d\n", "r.csv:1: holds numbers only"),
        (".e5,a,2\n1,2,3\n", "r.csv:1: no column 'application', 'metric', 'value'"),
        ("a,a,wall_time\n", "r.csv:1: two columns are called 'a'; the first line has to name the columns"),
        (
            cell("nodes", "2x4"),
            "r.csv:3: column 'nodes': '2x4': allowed: a whole number from 1 to 10000000; each count has a column",
        ),
        (cell("value", "3:32"), "; minutes and seconds are written 0:03:32, hours and minutes 3:32:00"),
        (cell("value", "1:73:32"), "r.csv:3: column 'value': '1:73:32': allowed: a finite positive number"),
        (cell("value", "0:00:00"), "r.csv:3: column 'value': '0:00:00': allowed: a finite positive number, from"),
        (cell("value", "0:13:32").replace(",s,", ",ms,"), "'0:13:32': a length of time counts in seconds, the column 'unit' says 'ms'"),
        (cell("value", "0:13:32").replace("wall_time", "memory").replace(",s,", ",B,"), "a length of time, but 'memory' is measured in B"),
        (cell("unit", "hh:mm:ss"), "'hh:mm:ss': a value that is written as a clock shows it (0:09:07) is in seconds, and needs no unit"),
        ("application,metric,value,value\na,wall_time,1,2\n", "r.csv:1: two columns are called 'value'"),
        ("application,metric,value,\na,wall_time,1,\na,wall_time,1,x\n", "r.csv:3: column 4 has no name in the header, and holds 'x'"),
        (
            ",application,metric,value\n7,a,wall_time,1\n",
            "r.csv:2: column 1 has no name in the header, and holds '7' here; leave it out (of pandas' to_csv with index=False), or",
        ),
        (
            ",application,metric,value\n0,a,wall_time,1\n2,a,wall_time,2\n",
            "r.csv:2: column 1 has no name in the header, and holds '0' here",
        ),
        (
            "application,,metric,value\na,0,wall_time,1\n",
            "r.csv:2: column 2 has no name in the header, and holds '0' here; leave it out, or",
        ),
        (",".join(["c"] * 2_000_000) + "\n", "r.csv:1: the header is longer than"),
        ("x" * 200_000, "r.csv: a line of more than 100000 bytes"),
        (HEADER + "x" * 200_000 + "\n", "r.csv:2: a line of more than 100000 bytes"),
        (HEADER + GOOD + "a,1,wall_time,2.5,s\n", "r.csv:3: 5 cells; the header has 6 columns"),
        (HEADER + GOOD + GOOD.strip() + ",\n", "r.csv:3: 7 cells; the header has 6 columns"),
        (
            HEADER + GOOD.replace("2.5", "2,5"),
            "r.csv:2: 7 cells; the header has 6 columns; a comma within a cell? numbers have a point (12.5), and a text with",
        ),
        (HEADER + GOOD + "   \n", "r.csv:3: 1 cells; the header has 6 columns"),
        (HEADER + GOOD + "a,1,wall_time,2.", "r.csv:3: 4 cells; the header has 6 columns"),
        (HEADER + GOOD + '"a,1,wall_time,2.5,s,\n' + GOOD, "r.csv:3: a quoted cell is not closed in its line"),
        (HEADER + GOOD + 'a"b,1,wall_time,2.5,s,\n', "r.csv:3: a quote that does not enclose the whole cell"),
        (HEADER + '"a"b,1,wall_time,2.5,s,\n', "r.csv:2: a quote that does not enclose the whole cell"),
        (HEADER + '"a\nb",1,wall_time,2.5,s,\n', "r.csv:2: a quoted cell is not closed in its line"),
        ((HEADER + GOOD).replace("\n", "\r"), "r.csv:1: a carriage return without a line feed"),
        (HEADER + GOOD + GOOD.replace("\n", "\r\r\n"), "r.csv:3: a carriage return without a line feed"),
        (HEADER + GOOD + GOOD.replace("a", "\0"), "r.csv:3: a NUL byte"),
        ((HEADER + GOOD + GOOD.replace("a,1", "é,1")).encode("latin-1"), "r.csv:3: byte 0xe9 is not valid UTF-8"),
        ((HEADER + GOOD).encode("utf-16"), "r.csv: text in UTF-16 (spreadsheets call it Unicode text); save it as CSV in UTF-8"),
        ((HEADER + GOOD).encode("utf-16-le"), "r.csv:1: a NUL byte"),
        (
            cell("value", "1,234.5"),
            "r.csv:3: column 'value': '1,234.5': allowed: a finite positive number such as 12.5 or 1.25e1; without a",
        ),
        (cell("value", "1'234"), "; without a sign between thousands"),
        (cell("value", "1 234,5"), "; without a sign between thousands"),
        (cell("value", "812,5"), "; with a decimal point, and without a sign between thousands"),
        (cell("nodes", "1.000"), "r.csv:3: column 'nodes': '1.000': allowed: a whole number from 1 to 10000000; without a sign between"),
        (cell("nodes", "1 024"), "r.csv:3: column 'nodes': '1 024': allowed: a whole number from 1 to 10000000; without a sign between"),
        (cell("value", "85 %"), "; its unit goes into the column 'unit': 85 and %"),
        (cell("value", "12,5 ns/day"), "; its unit goes into the column 'unit': 12,5 and ns/day"),
        (cell("value", "812.5 ± 3.1"), "; without its scatter, which is computed from repeats: 812.5"),
        (cell("value", "8.1e2 +/- 3"), "; without its scatter, which is computed from repeats: 8.1e2"),
        (cell("value", "812.5(31)"), "; without its scatter, which is computed from repeats: 812.5"),
        (cell("value", "ten"), "; empty where a run gave none, 'failed' or 'OOM' where it failed"),
        (cell("application", ""), "r.csv:3: column 'application': empty; every row needs one, also below merged cells of a spreadsheet"),
        (cell("application", "  "), "r.csv:3: column 'application': empty"),
        (cell("application", "a\tb"), "r.csv:3: column 'application': 'a\\tb': contains an unprintable character (U+0009)"),
        (cell("application", "a\u202eb"), "r.csv:3: column 'application': 'a\\u202eb': contains an unprintable character"),
        (cell("application", "a" * 201), "longer than 200 characters"),
        (cell("metric", ""), "r.csv:3: column 'metric': empty"),
        (cell("metric", "fom").replace("2.5,s,", "2.5,,"), "r.csv:3: column 'metric': unknown metric 'fom'"),
        (cell("unit", "kg"), "r.csv:3: column 'unit': unknown unit 'kg'"),
        (cell("unit", "images/s"), "r.csv:3: column 'unit': 'images/s' is not a unit of wall_time"),
        (cell("measured_at", "2025-03-01T12:00:00"), "column 'measured_at': '2025-03-01T12:00:00': allowed: a date (2026-03-01), or ISO"),
        (cell("measured_at", "1.03.2025"), "T11:00:00Z; the year first: 2025-03-01"),
        (cell("measured_at", "2025-02-30T12:00:00Z"), "no date"),
        (cell("measured_at", "2025-03-01T12:00:00+25:00"), "'2025-03-01T12:00:00+25:00': allowed: a date (2026-03-01), or ISO"),
        (cell("measured_at", "1999-12-31T00:00:00Z"), "from the year 2000 to 24 hours from now"),
        (cell("measured_at", LATER), "from the year 2000 to 24 hours from now"),
    ],
)
def test_a_bad_file_says_where_and_why(content: bytes | str, says: str) -> None:
    """The first fault names the file, the line, the column and the value, and what is allowed."""
    assert says in faults(content)[0]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("application,metric,velue\na,wall_time,1\n", "r.csv:1: unknown column 'velue'; the nearest known one is 'value'"),
        ("application,metric,Valu\na,wall_time,1\n", "r.csv:1: unknown column 'Valu'; the nearest known one is 'value'"),
        ('application;"metric, unit";value\na;s;1\n', "r.csv:1: unknown column 'metric, unit'; the nearest known one is 'metric'"),
        ("application,cores\na,1\n", "unknown column 'cores'; ranks over all nodes are 'total_ranks' (--map 'cores=total_ranks')"),
        ("application,ppn\na,1\n", "unknown column 'ppn'; the nearest known one is 'ranks_per_node'"),
        ("application,Date\na,1\n", "unknown column 'Date'; the nearest known one is 'measured_at'"),
    ],
)
def test_an_unknown_column_is_told_after_those_that_are_missing(content: str, says: str) -> None:
    """Its heading may be that of a missing one."""
    missing, unknown = faults(content)[:2]
    assert missing.startswith("r.csv:1: no column '")
    assert says in unknown


def test_of_many_unknown_columns_the_rest_hides_no_missing_one() -> None:
    """Nor what to do with them."""
    columns = "".join(f",std_time_{number}" for number in range(30))
    missing, _options, first, *others = faults(f"application,value{columns}\na,1{',1' * 30}\n")
    assert missing.startswith("r.csv:1: no column 'metric'")
    assert first.endswith("; '--map OLD=NEW' renames a column, '--map OLD=' leaves it out, --map '*=' leaves out all that are not known")
    assert others[-1] == "only the first 20 faults are shown"


def test_columns_that_may_be_anything_are_told_together() -> None:
    """A wide table of another tool has dozens of them."""
    _options, nodes, rest = faults("application,metric,value,num_nodes,nx,Grid Y,residual\na,time,1,4,8,8,1e-9\n")
    assert "unknown column 'num_nodes'; the nearest known one is 'nodes'" in nodes
    assert "unknown columns 'nx', 'Grid Y', 'residual'; those that are parameters of the run are called 'params.NAME'" in rest
    assert "(--map 'nx=params.nx')" in rest


NO_VALUES = (
    *("inf", "-inf", "Infinity", "1e400", "0", "0.0", "-1", "-0", "1e-400", "1.5s", "1.5D+02", "*****"),
    *("1_000", "0x10", "True", "ten", "１２", "1e", ".", "1 2", "1e301", "1e31", "1e-31", "5e-324"),
)
NO_COUNTS = ("0", "-1", "007", "0x10", "True", "2.5", "1e3", "10000001", "99999999999", "9" * 5000, "4 nodes", "+4")


@pytest.mark.parametrize(("column", "text"), [*(("value", text) for text in NO_VALUES), *(("nodes", text) for text in NO_COUNTS)])
def test_a_value_is_a_finite_positive_number_and_a_count_a_whole_one(column: str, text: str) -> None:
    """Counts are digits, from one to ten million. Everything else is refused, by its column and line."""
    assert faults(cell(column, text))[0].startswith(f"r.csv:3: column '{column}'")


@pytest.mark.parametrize(("value", "unit"), [("9e29", "days"), ("2e-30", "us")])
def test_a_value_beyond_its_base_unit_is_refused(value: str, unit: str) -> None:
    """A number that fits, in a unit that carries it away."""
    assert faults(cell("value", value).replace(",s,", f",{unit},")) == ["r.csv:3: column 'value': out of range in its base unit"]


def test_a_fault_of_many_lines_is_told_once() -> None:
    """A wrong metric in every row does not hide what else is wrong, nor does it fill the screen."""
    rows = "".join(f"a,time_s,{row}\n" for row in range(1, 40)) + "a,wall_time,-1\n"
    metric, value = faults("application,metric,value\n" + rows)
    assert metric.startswith("r.csv:2: column 'metric': unknown metric 'time_s'")
    assert metric.endswith(" (also in lines 3, 4, 5, 6, 7 and 33 more)")
    assert value.startswith("r.csv:41: column 'value': '-1'")


def test_only_lines_that_are_named_become_text() -> None:
    """A file of millions of wrong rows took more memory for its message than for itself."""
    lines = np.arange(3, 1_000_003)
    tracemalloc.start()
    assert also(lines) == " (also in lines 3, 4, 5, 6, 7 and 999995 more)"
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_twenty_faults_at_once() -> None:
    """All faults of a file are told together, by line, up to twenty."""
    found = faults(HEADER + "".join(GOOD.replace("2.5", f"x{i}") for i in range(30)))
    assert len(found) == 21
    assert [line.split(": ")[0] for line in found[:20]] == [f"r.csv:{i}" for i in range(2, 22)]
    assert found[20] == "only the first 20 faults are shown"


def test_faults_of_several_columns_stand_by_line() -> None:
    """Two columns, two rows: four faults in the order of the file."""
    found = faults(HEADER + "a,x,wall_time,y,s,\na,z,wall_time,w,s,\n")
    assert [(line.split(": ")[0], line.split("'")[1]) for line in found] == [
        ("r.csv:2", "nodes"), ("r.csv:2", "value"), ("r.csv:3", "nodes"), ("r.csv:3", "value"),
    ]  # fmt: skip


def test_faults_in_later_blocks_are_found() -> None:
    """A file is read in blocks; lines are counted through, and no block before the fault is handed on after it."""
    text = HEADER + GOOD * 100 + GOOD.replace("2.5", "~2.5") + GOOD * 100
    with pytest.raises(DataError) as caught:
        list(table(in_sips(text, "r.csv", 500)).batches())
    assert str(caught.value).splitlines() == [f"r.csv:102: column 'value': '~2.5': {_allowed()}"]


def _allowed() -> str:
    return "allowed: a finite positive number such as 12.5 or 1.25e1"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[]", "r.json: no rows of results"),
        ("[{}]", "r.json:1: no column 'application', 'metric', 'value'"),
        ('[{"application": "a",\n "metric": "wall_time", "value": 1', "r.json:2: not valid JSON"),
        ('[{"application": "a", "metric": "wall_time", "value": 1}', "r.json:1: the list is cut off"),
        ('[{"application": "a", "metric": "wall_time", "value": 1},]', "r.json:1: a comma before the end"),
        ('[{"application": "a", "metric": "wall_time", "value": 1}] x', "r.json:1: text after the list"),
        ('[\n{"application": "a", "metric": "wall_time", "value": Infinity}]', "r.json:2: column 'value': 'Infinity'"),
        ('[{"application": "a", "metric": "wall_time", "value": 1e999}]', "r.json:1: column 'value': '1e999'"),
        ('[{"application": "a", "metric": "wall_time", "value": true}]', "r.json:1: column 'value': 'true'"),
        ('[{"application": "a", "metric": "wall_time", "value": [1]}]', "r.json:1: column 'value' contains a list"),
        ('[{"application": "a", "application": "b", "metric": "wall_time", "value": 1}]', "the key 'application' appears twice"),
        ('[{"application": "a", "params": {"n": 1}, "params.n": 2, "metric": "wall_time", "value": 1}]', "'params.n' is given twice"),
        ('[{"application": "\\ud800", "metric": "wall_time", "value": 1}]', "an unprintable character"),
        ("[1]", "r.json:1: a record is an object"),
        ('[{"application": "a", "params": "n=1", "metric": "wall_time", "value": 1}]', "r.json:1: 'params' is an object such as"),
        ('[{"application": "a", "metric": "wall_time", "value": 1,}]', "r.json:1: not valid JSON: a comma before the closing }"),
        ('{"name": "a", "seconds": 1}', "records of your own are a list: [{…}, …]"),
        ('[{}, {"value": }]', "r.json:2: not valid JSON"),
        ("[{}, {} {}]", "r.json:2: the list is cut off, or a comma is missing"),
        ("[" * 100_000, "r.json:1: objects nested too deep"),
        ('[{"a":' * 100_000, "r.json:1: objects nested too deep"),
        ('[{"application": "a", "metric": "wall_time", "nodes": 1e2, "value": 1}]', "r.json:1: column 'nodes': '1e2'"),
        ('[{"application": "a", "metric": "wall_time", "value": 1}, {"aplication": "a"}]', "r.json:2: unknown column 'aplication'"),
        (b'[{"application": "\xe9"}]', "r.json:1: byte 0xe9 is not valid UTF-8"),
    ],
)
def test_bad_json_says_where_and_why(content: bytes | str, says: str) -> None:
    """Records are checked like rows; the line is that in which the record begins."""
    assert says in faults(content, "r.json")[0]


def test_an_object_in_place_of_records_is_told_so_where_values_are_predicted_too() -> None:
    """Whoever asks for one row there sends an object."""
    assert why_unread(b'{"nodes": [6, 7]}', ["csv"], loading=False).endswith("; records of your own are a list: [{…}, …]")
    assert why_unread(b"any text", ["csv"], loading=False) == "of no known format (known: csv)"


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a pipe, an empty folder, a compressed file, a spreadsheet and a request are each named."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "empty").mkdir()
    (tmp_path / "r.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    (tmp_path / "r.bin").write_bytes(b"\x01\x02\x03")
    (tmp_path / "request.json").write_text('{"job": {"application": {}}}')
    (tmp_path / "r.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    (tmp_path / "r.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    for name, member, content in (
        ("r.xlsx", "[Content_Types].xml", "<Types/>"),
        ("pandas.xlsx", "docProps/app.xml", "<Properties/>"),
        ("r.ods", "mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
    ):
        with zipfile.ZipFile(tmp_path / name, "w") as packed:
            packed.writestr(member, content)
    for name, says in (
        ("nothing.csv", "cannot be read: No such file"),
        ("pipe.csv", "no regular file; a pipe is read with '-'"),
        ("empty", "the folder holds no files"),
        ("r.zip", "a compressed file of a kind that is not read (gzip is); unpack it first"),
        ("r.xlsx", "a spreadsheet in its program's own format; save it there as CSV"),
        ("pandas.xlsx", "a spreadsheet in its program's own format; save it there as CSV"),
        ("r.ods", "a spreadsheet in its program's own format; save it there as CSV"),
        ("r.xls", "a spreadsheet or document in its program's old format (.xls); save it there as CSV"),
        ("r.parquet", "a table in a binary format; write it as CSV"),
        ("r.bin", "of no known format (known: csv, extrap, "),
        ("request.json", "a request or its answer, which say what to run; load what the job has written, modak-result-….json"),
    ):
        with pytest.raises(DataError) as caught:
            list(tables([tmp_path / name]).tables[0].batches())
        assert str(caught.value).startswith(f"{tmp_path / name}: {says}")


def test_a_folder_within_another_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """What is in it would be missing. Here its path is longer than the system takes, which holds for root, too."""
    (tmp_path / "a.csv").write_text(HEADER + GOOD)
    name, descriptor = "d" * 200, os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir(name, dir_fd=descriptor)
        inner = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    try:
        with pytest.raises(DataError, match=f"{name}: cannot be read: File name too long$"):
            tables([tmp_path])
    finally:
        shutil.rmtree(tmp_path / name)


def test_links_to_nothing_in_a_folder_are_passed(tmp_path: Path) -> None:
    """What such a link named is gone; one that leads round in a circle, or below a file, names nothing, either."""
    (tmp_path / "a.csv").write_text(HEADER + GOOD)
    for name, target in (("gone.csv", "nowhere"), ("round.csv", "round.csv"), ("below.csv", "a.csv/b")):
        (tmp_path / name).symlink_to(target)
    assert [table.source.name for table in tables([tmp_path]).tables] == [str(tmp_path / "a.csv")]


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    """The hash that is stored is that of the rows that are stored."""
    path = tmp_path / "r.csv"
    path.write_text(HEADER + GOOD)
    (found,) = tables([path]).tables
    path.write_text(HEADER + GOOD + GOOD)
    with pytest.raises(DataError, match="changed while it was read"):
        list(found.batches())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (Options(rename={"cores": "nodes"}), "--map cores=nodes: unknown column 'cores'"),
        (Options(rename={"application": "metric"}), "r.csv:1: two columns are called 'metric'"),
        (Options(rename={"nodes": "knots"}), "r.csv:1: unknown column 'knots'"),
        (Options(fill={"sytem": "x"}), "--set: unknown column 'sytem'; the nearest known one is 'system'"),
        (Options(fill={"nodes": "many"}), "--set: column 'nodes': 'many'"),
        (Options(format="xls"), "format: unknown format 'xls'"),
    ],
)
def test_what_the_caller_says_about_a_file_is_checked(options: Options, says: str) -> None:
    """Names and values that were typed on the command line are told apart from what the file holds."""
    assert says in faults(HEADER + GOOD, options=options)[0]


@pytest.mark.parametrize("content", ["1 9\n2 5.5\n", "# threads  time\n#\n1\t9\n2\t5.5e0\n", "#--- size 4 ---\n\n 1   9\n 2  5\n"])
def test_rows_of_numbers_without_names_are_told(content: str) -> None:
    """Tables for gnuplot have their names in a comment, if anywhere."""
    (fault,) = faults(content, "r.dat")
    assert fault.startswith("r.dat: rows of numbers without names; the first line has to name the columns")


@pytest.mark.parametrize(
    ("content", "mark"),
    [
        ("application nodes metric value\na 1 wall_time 9\n", "blanks"),
        ("# nodes  time\n1  812.5\n2  431\n", "blanks"),
        ('"nodes" "time"\n"1" 1 812.5\n"2" 2 431\n', "blanks"),
        ("application|metric|value\na|wall_time|9\n", "'|'"),
    ],
)
def test_what_separates_the_cells_of_a_table_is_told(content: str, mark: str) -> None:
    """A table as it is printed, plotted or shown in Markdown is of no format."""
    assert faults(content, "r.txt") == [f"r.txt: its cells are separated by {mark}; separate them by commas, semicolons or tabs"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("Cores\tAzure A8\n8\t11016.9\n16\t5679.7\n", "r.dat:1: unknown column 'Cores'; ranks over all nodes are 'total_ranks'"),
        ("threads\twall_time\n1\t10.5\n2\t5.1\n", "(--map 'wall_time=value' --set metric=wall_time)"),
        ("name\tstatus\trealtime\t%cpu\nalign\tDONE\t1m 58s\t780.1%\n", "r.dat:1: unknown column 'realtime'"),
        ("#threads\ttime\n1\t10.5\n", "r.dat:1: begins with '#': remove the lines above the header"),
        ("a note\tand more\nsecond\tline\n", "r.dat: of no known format"),
        ("1\t10.5\n2\t5.1\n", "r.dat: rows of numbers without names"),
    ],
)
def test_a_table_between_tabs_is_known_by_its_numbers(content: str, says: str) -> None:
    """Whatever its columns are called, so that the error says what each of them could be."""
    assert says in "\n".join(faults(content, "r.dat"))


def test_headings_in_another_language_are_told_what_columns_there_are() -> None:
    """Once, with the first of them: what a word may mean in every language is not known."""
    messages = faults("Sovellus;Knoten;metric;value\na;1;wall_time;9\n")
    assert ["; the columns are application, dataset, " in message for message in messages] == [False, True, False]


def test_headings_that_are_understood_need_no_list_of_columns() -> None:
    """The hint names the one column."""
    assert not any("the columns are" in message for message in faults("application,metric,velue\na,wall_time,1\n"))


@pytest.mark.parametrize(
    "content", ["solver started\nstep 1 of 9\n", "812\n231\n", "gmx mdrun, 2022.5 (-:\n\nGROMACS is free software; you\nmay share it\n"]
)
def test_a_text_without_names_above_numbers_is_no_table(content: str) -> None:
    """What a program prints, and a number a line: no format reads that, so the message names a way that works."""
    (message,) = faults(content, "r.txt")
    assert "of no known format" in message
    assert message.endswith("; write what a program printed into a table, as CSV: application,nodes,metric,value,unit")


def test_a_table_in_latex_is_named() -> None:
    """Its cells are no text that could be loaded as they stand."""
    text = "\\begin{tabular}{lr}\nNodes & Time [s] \\\\\n1 & 812 \\\\\n\\end{tabular}\n"
    assert faults(text, "t.tex") == [
        "t.tex: a table in LaTeX; write its cells as CSV, with commas between them and names in the first line"
    ]


OUTPUTS = {
    "STREAM": "-----\nSTREAM version $Revision: 5.10 $\n-----\nThis system uses 8 bytes per array element.\n",
    "OSU's benchmarks": "\n# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1           0.46\n2           0.36\n",
    "Intel's MPI benchmarks": "#-----\n#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n#-----\n  #bytes  t[usec]\n  0  0.50\n",
    "nccl-tests": "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20\n#\n# Using devices\n",
    "HPCG": "HPCG-Benchmark\nversion=3.1\nMachine Summary::Distributed Processes=48\n",
    "IOR": "IOR-4.0.0: MPI Coordinated Test of Parallel I/O\nBegan               : Tue Nov 24 10:11:12 2026\n",
    "mdtest": "-- started at 11/24/2026 10:11:12 --\n\nmdtest-4.0.0 was launched with 32 total task(s) on 2 node(s)\n",
    "fio": "w: (g=0): rw=write, bs=(R) 1MiB-1MiB, (W) 1MiB-1MiB, (T) 1MiB-1MiB, ioengine=psync, iodepth=1\nfio-3.33\nStarting 1 process\n",
    "GROMACS": "      :-) GROMACS - gmx mdrun, 2022.5-Debian_2022.5_2 (-:\n\nCopyright 1991-2022 The GROMACS Authors.\n",
    "LAMMPS": "LAMMPS (29 Sep 2021 - Update 2)\n  using 1 OpenMP thread(s) per MPI task\nunits lj\n",
    "Quantum ESPRESSO": "\n     Program PWSCF v.6.7MaX starts on 29Nov2026 at  9: 4:22 \n\n     This program is part of the open-source\n",
    "time": "\nreal\t1m23.400s\nuser\t2m0.100s\nsys\t0m0.001s\n",
    "perf stat": "# started on Sun Nov 29 10:51:53 2026\n\n\n Performance counter stats for 'ls':\n\n 0.89 msec task-clock\n",
}
"""How the outputs of other benchmarks and of applications begin."""


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_output_of_a_benchmark_names_the_table_that_loads(name: str) -> None:
    """Its header with the row below it is a table."""
    (message,) = faults(OUTPUTS[name], "job.out")
    assert message.startswith(f"job.out: the output of {name}, which is not read; write its figures into a table, as CSV: ")
    header, row = message.split("'")[-4::2]
    (batch,) = table(from_bytes(f"{header}\n{row}\n".encode(), "r.csv")).batches()
    assert (len(batch), batch.notes) == (1, ())


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("output of fio", '{\n  "fio version" : "fio-3.33",\n  "timestamp" : 1795938198,\n  "jobs" : []\n}\n'),
        ("output of fio", 'fio: file hash not empty\n{\n  "fio version" : "fio-3.33",\n  "jobs" : []\n}\n'),
        ("output of IOR", '{\n  "Version": "4.0.0",\n  "Began": "Tue Nov 24 10:11:12 2026",\n  "tests": []\n}\n'),
        ("output of perf stat", '# started on Sun\n\n{"counter-value" : "0.801349", "unit" : "msec", "event" : "task-clock"}\n'),
        ("output of perf stat", "# started on Sun Nov 29 10:51:53 2026\n\n0.94;msec;task-clock;4.73%;935769;100.00;0.009;CPUs utilized\n"),
        (
            "output of time",
            '\tCommand being timed: "./a"\n\tUser time (seconds): 0.00\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:23.40\n',
        ),
        ("output of time", "real 83.40\nuser 120.10\nsys 0.00\n"),
        ("table of Google Benchmark", "-----\nBenchmark        Time             CPU   Iterations UserCounters...\n-----\nsum/64   50 ns\n"),
        ("table of ReFrame", "┍━━━━┯━━━━┑\n│ name                     │ sysenv          │ pvar    │ punit    │\n┝━━━━┿━━━━┥\n"),
    ],
)
@pytest.mark.parametrize("name", ["r.json", "r.txt"])
def test_a_program_is_known_by_its_other_outputs(what: str, text: str, name: str) -> None:
    """JSON that is an object, not a list of records, and may follow a warning; tables without names, or for people, with rules."""
    (message,) = faults(text, name)
    assert f"{what}, which is not read" in message


@pytest.mark.parametrize(
    "name", ["HPCG-Benchmark", "mdtest-4.0.0", "STREAM version 5.10", "HPLinpack 2.3", "IOR-4.0.0", "LAMMPS (2Aug2023)"]
)
def test_a_table_of_a_benchmark_is_no_output_of_it(name: str) -> None:
    """Its rows may begin with the name that the program prints first."""
    content = f"application,nodes,metric,value,unit\n{name},2,time,3.1,s\n"
    found = table(from_bytes(content.encode(), "r.csv"))
    assert (found.format, sum(map(len, found.batches()))) == ("csv", 1)


TOOLS = {
    "hyperfine": "command,mean,stddev,median,user,system,min,max,parameter_nodes\nsleep 1,1.01,0.0003,1.01,0.0004,0.0006,1.0,1.1,1\n",
    "pytest-benchmark": "name,param:kind,param:n,min,max,mean,stddev,median,iqr,outliers,ops\nt.py::a[1-2],1,2,1,3,2,1,2,1,0,1\n",
    "Google Benchmark": 'name,iterations,real_time,cpu_time,time_unit,bytes_per_second\n"sum/64",738332,47.6759,19.8726,ns,1.28821e+10\n',
    "ReFrame": "name,sysenv,pvar,punit,pval (mean)\nsolver %n=1,a:cpu+gnu,elapsed,s,100.0\n",
    "TensorBoard": "Wall time,Step,Value\n1795949494.12,0,1500.2\n1795949504.12,100,1510.2\n",
}
"""Tables that tools print beside the outputs that are read."""


@pytest.mark.parametrize("name", TOOLS)
def test_a_table_of_a_tool_names_its_output_that_is_read(name: str, tmp_path: Path) -> None:
    """Its columns have other meanings than those of results: a `system` that is a time. In a folder, where the tool wrote both, it is
    skipped."""
    (message,) = faults(TOOLS[name], "r.csv")
    assert message.startswith(f"r.csv: a table of {name}, which is not read; ")
    (tmp_path / "r.csv").write_text(TOOLS[name])
    (tmp_path / "other.csv").write_text("application,metric,value\na,time,9\n")
    found = tables([tmp_path])
    assert ([one.source.name for one in found.tables], found.skipped) == ([str(tmp_path / "other.csv")], (str(tmp_path / "r.csv"),))


def test_every_program_whose_output_or_table_is_not_read_is_tried() -> None:
    """One that is added is seen to work."""
    assert [name for name, _, _ in TABLES] == [*TOOLS]
    assert [one.name for one in PROGRAMS] == [*OUTPUTS]


def test_a_log_without_a_training_run_says_so() -> None:
    """MLPerf's inference writes its log in the same form; a format without rows is not told what columns it lacks."""
    assert faults(':::MLLOG {"key": "loadgen_version", "value": "3.1"}\n', "r.txt") == [
        "r.txt: no run_start: only logs of training runs are read"
    ]
    assert faults('{"session_info": {"data_version": "4.2"}, "runs": []}', "r.json") == ["r.json: no rows of results"]


def test_a_performance_log_of_an_older_reframe_is_named() -> None:
    """Its lines do not say what their cells are."""
    line = "2020-09-08T18:01:05+01:00|reframe 3.0-dev6|a on b:c using d|jobid=1|wall_t=255.5|s|ref=0 (l=None, u=None)\n"
    assert faults(line, "r.log") == ["r.log:1: lines of ReFrame 3, which name no columns; the logs of ReFrame 4 are read"]


@pytest.mark.parametrize(
    "names", ["JobID           JobName      State ", "   User        JobID    JobName  Partition   Account  AllocCPUS      State"]
)
def test_accounting_as_it_is_printed_is_told_the_command(names: str) -> None:
    """Its cells are cut off where they are too long."""
    dashes = " ".join("-" * 10 for _ in names.split())
    assert faults(f"{names}\n{dashes}\n12           solve.sh  COMPLETED \n", "def.txt") == [
        "def.txt:1: its columns are separated by blanks, and cut off what is longer; ask with sacct --parsable2 "
        "--format=JobID,JobName,State,ElapsedRaw,NNodes,NTasks,AllocCPUS,AllocTRES,Partition,Cluster"
    ]


@pytest.mark.parametrize(
    ("pair", "option", "says"),
    [
        (
            "=",
            "--map",
            "--map: '=' has no name before its sign; allowed: NAME=VALUE; a column without a name is left out of the file itself",
        ),
        ("=s", "--set", "--set: '=s' has no name before its sign; allowed: NAME=VALUE"),
        ("unit", "--set", "--set: 'unit' is not a pair; allowed: NAME=VALUE"),
    ],
)
def test_a_pair_without_a_name_says_what_is_missing(pair: str, option: str, says: str) -> None:
    """A column that has no name cannot be mapped."""
    with pytest.raises(DataError) as caught:
        parse_pairs([pair], option)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    ("pairs", "option", "twice"),
    [
        (["unit=s", "UNIT=ms"], "--set", "'unit'"),
        (["params.n=1", "params.n=1"], "where", "'params.n'"),
        (["Zeit=value", "Zeit="], "--map", "'Zeit'"),
    ],
)
def test_a_column_has_one_pair(pairs: list[str], option: str, twice: str) -> None:
    """In any spelling of its heading: which of two is meant cannot be told."""
    with pytest.raises(DataError, match=f"^{option}: {twice} is given twice; allowed: each column once$"):
        parse_pairs(pairs, option)


def test_a_column_is_renamed_once() -> None:
    """Two names that mean one heading of the file are refused, also with the same new name."""
    options = Options(rename={"Zeit": "value", "zeit": "params.time"})
    assert faults("application,metric,ZEIT\na,wall_time,3\n", options=options) == [
        "--map zeit=params.time: column 'ZEIT' is renamed already by another --map"
    ]


def test_a_filled_cell_may_be_as_long_as_one_in_the_file() -> None:
    """A citation has up to 1000 characters, wherever it comes from."""
    content = b"application,metric,value\na,wall_time,3\n"
    (batch,) = table(from_bytes(content, "x.csv"), Options(fill={"source": "s" * 1000})).batches()
    assert batch.sources[0] == "s" * 1000


def test_standard_input_is_read_whole() -> None:
    """A stream becomes a source that can be read again."""
    import io

    source = from_stream(io.BytesIO((HEADER + GOOD).encode()))
    assert source.name == "-"
    assert sum(map(len, table(source).batches())) == 1
    assert sum(map(len, table(source).batches())) == 1


def test_a_gzip_file_is_read_as_what_it_holds(tmp_path: Path) -> None:
    """Under its own name and hash; faults count the lines inside."""
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress((HEADER + GOOD).encode()))
    assert [len(batch) for batch in tables([path]).tables[0].batches()] == [1]
    path.write_bytes(gzip.compress((HEADER + GOOD + GOOD.replace("2.5", "x")).encode()))
    with pytest.raises(DataError, match=r"r\.csv\.gz:3: column 'value'"):
        list(tables([path]).tables[0].batches())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (lambda: gzip.compress((HEADER + GOOD * 1000).encode())[:-20], "a damaged gzip file: compressed file ended"),
        (lambda: gzip.compress(HEADER.encode())[:10] + b"\xff" * 50, "a damaged gzip file"),
        (lambda: gzip.compress((HEADER + GOOD * 2_000_000).encode()), "a gzip file that holds more than 200 times its size"),
        (lambda: gzip.compress(b"[" + b"[" * 40_000_000), "a gzip file that holds more than 200 times its size"),
    ],
    ids=["cut", "overwritten", "rows", "brackets"],
)
def test_a_gzip_file_may_be_damaged_or_a_bomb(content: Callable[[], bytes], says: str, tmp_path: Path) -> None:
    """Reading stops before much of it is unpacked."""
    (tmp_path / "r.json.gz").write_bytes(packed := content())
    with pytest.raises(DataError) as caught:
        list(tables([tmp_path / "r.json.gz"], Options(format="csv" if b"value" in gzip_head(packed) else None)).tables[0].batches())
    assert says in str(caught.value)


def gzip_head(content: bytes) -> bytes:
    """The beginning of what a gzip file holds, as far as it can be read."""
    try:
        return zlib.decompressobj(31).decompress(content, 100)
    except zlib.error:
        return b"value"


def test_two_million_columns_are_refused() -> None:
    """A header that long is no header; nothing of its size is made of it."""
    assert faults(",".join(f"c{i}" for i in range(2_000_000)) + "\n1\n")[0].startswith("r.csv: a line of more than 100000 bytes")


def test_a_file_without_rights_says_so(tmp_path: Path) -> None:
    """Whoever may not read it is told that; root, who may read everything, gets a file that nobody can read."""
    (tmp_path / "r.csv").write_text(HEADER)
    (tmp_path / "r.csv").chmod(0)
    path = Path("/proc/self/mem") if os.geteuid() == 0 else tmp_path / "r.csv"
    with pytest.raises(DataError, match=r"cannot be read: (Permission denied|Input/output error)"):
        tables([path])

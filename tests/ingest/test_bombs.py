"""Small files that would fill the memory or keep a processor for hours. Whoever may ask for predictions may send them.

What takes for ever is ended by the time limit of every test; these are read, or refused, in moments.
"""

from __future__ import annotations

import gzip
import json

import pytest

from modak import plugins
from modak.errors import DataError
from modak.ingest.formats.documents import MOST_NOTES
from modak.ingest.reading import points, table
from modak.ingest.sources import from_bytes
from modak.ingest.table import MOST_COLUMNS

LONG = 900_000
ROWS = "[" + ",".join(['{"application":"a","metric":"wall_time"}'] * 20) + "]"


HPL = "T/V                N    NB     P     Q               Time                 Gflops\n"


def ramble(value: str, *units: str) -> str:
    """Figures of merit."""
    merits = [{"name": "time", "value": value, "units": unit} for unit in units or ("s",)]
    experiment = {"name": "a", "RAMBLE_STATUS": "SUCCESS", "CONTEXTS": [{"name": "null", "foms": merits}]}
    return json.dumps({"experiments": [experiment]})


def reframe(title: str, figures: int, unit: str = "s", result: str = "fail") -> str:
    """A test that passed, of figures that did not. The last one is in seconds."""
    values = {f"a:b:{number}": [1, 2, 3, 4, "s" if number == figures - 1 else unit, result] for number in range(figures)}
    case = {"result": "pass", "display_name": title, "perfvalues": values}
    return json.dumps({"session_info": {"data_version": "4.1"}, "runs": [{"testcases": [case]}]})


def hyperfine(**told: object) -> str:
    """A command that was timed."""
    return json.dumps({"results": [{"command": "a", "mean": 1, "stddev": 1, **told}]})


def extrap(region: str, names: int, measured: list[dict[str, object]]) -> str:
    """Measurements of one region."""
    return json.dumps({"parameters": [f"p{number}" for number in range(names)], "measurements": {region: {"time": measured}}})


FILES = {
    "a number that is none": (ramble("1" * LONG + "x"), ""),
    "a number that is not quite zero": (ramble("0" * LONG + "1"), ""),
    "a unit of a megabyte": (ramble("1", "/a" * (LONG // 2) + "!"), ""),
    "a unit of blanks": (ramble("1", "a" + " " * LONG + "b"), ""),
    "a unit of its own for each figure": (ramble("1", *(f"u{number}" for number in range(120_000))), ""),
    "blanks behind a run of HPL": (f"{HPL}WR00L2L4 4 4 2 2 0.01 7.0e-1{' ' * LONG}x\n", ""),
    "parameters before a line break": (reframe("%a=" * (LONG // 3) + "\n\nx", 1), ""),
    "a heading that is almost a number": ("application,metric,value," + "1" * 99_000 + "x\n1,2,3,4\n", "unknown column '1111"),
    "a long title of many figures": (reframe("T" * (LONG // 2), 5000), ""),
    "brackets that do not close": ("PARAMETER p\nPOINTS " + "(" * LONG + "\nDATA 1\n", "column 'ranks_per_node'"),
    "a long region at many points": (extrap("R" * (LONG // 2), 1, [{"point": [1], "values": [1]}] * 5000), ""),
    "a key given twice, at the end": (
        "[{" + ",".join(f'"k{number}":1' for number in range(80_000)) + ',"k79999":1}]',
        "'k79999' appears twice",
    ),
    "a key of its own in each record": ("[" + ",".join(f'{{"k{number}":1}}' for number in range(20_000)) + "]", "20000 columns; at most"),
    "a header of as many columns": (",".join(f"c{number}" for number in range(10_000)) + "\n", "10000 columns; at most"),
    "parameters that every run repeats": (hyperfine(times=[1] * 50_000, parameters=dict.fromkeys(map(str, range(400)), 1)), "more than"),
    "parameters that figures in an unknown unit repeat": (
        reframe("a " + " ".join(f"%p{number}=1" for number in range(400)), 50_000, "u", "pass"),
        "more than",
    ),
    "more parameters than columns": (hyperfine(times=[1], parameters=dict.fromkeys(map(str, range(900)), 1)), "900 parameters; at most"),
    "a point of as many parameters": (extrap("r", 900, [{"point": [1] * 900, "values": [1]}]), "900 parameters; at most"),
}


def said(content: str) -> str:
    """What reading a file says of its faults; nothing where it has none."""
    try:
        list(table(from_bytes(content.encode(), "f")).batches())
    except DataError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("what", FILES)
def test_a_small_file_costs_little(what: str) -> None:
    """It is read at once, or refused with its name and the reason."""
    content, why = FILES[what]
    found = said(content)
    assert why in found
    assert found.startswith("f:") == bool(found)


@pytest.mark.parametrize("text", ["\n", " ", " \n", "0", "#", "{", "[", "|a", "a:", "name,", '{"a"', "# ", "-"])
def test_no_format_looks_long_at_what_it_does_not_know(text: str) -> None:
    """Each format is asked about each file; one line of many cells may be the header of a table."""
    content = text.encode() * (LONG // len(text))
    assert [each.name for each in plugins.all_of("ingest") if each.recognises(content, "f")] == (["csv"] if text == "name," else [])


def test_a_packed_table_of_ordinary_runs_is_no_bomb() -> None:
    """Cells are counted against what a file holds, however small it is packed."""
    names = [f"part{number}" for number in range(500)]
    head = "display_name|result|" + "|".join(f"{name}_value|{name}_unit" for name in names)
    runs = "".join(f"\na %n={number % 4}|pass|" + "|".join("1.5|s" for _ in names) for number in range(180))
    packed = gzip.compress((head + runs).encode())
    assert len(packed) < 100_000
    assert sum(len(batch) for batch in table(from_bytes(packed, "p.log.gz")).batches()) == 90_000


def test_notes_of_what_is_left_out_do_not_grow_with_the_file() -> None:
    """A profile may have thousands of counters of events."""
    counters = "".join(f"METRIC PAPI_{number}\nDATA 1\n" for number in range(MOST_NOTES + 5))
    (batch,) = table(from_bytes(f"PARAMETER p\nPOINTS 1\nREGION a\nDATA 9\n{counters}".encode(), "e.txt")).batches()
    assert (len(batch.notes), batch.notes[-1]) == (MOST_NOTES + 1, "e.txt: 5 more left out")


def test_rows_are_counted_before_they_are_kept() -> None:
    """More than are predicted at once, or wider ones, are refused."""
    wide = json.dumps([{"application": "a", "metric": "wall_time", **{f"params.p{number}": 1 for number in range(MOST_COLUMNS - 2)}}])
    assert len(points(from_bytes(ROWS.encode(), "p.json"), 20)) == 20
    with pytest.raises(DataError, match="20 rows; at most 19"):
        points(from_bytes(ROWS.encode(), "p.json"), 19)
    with pytest.raises(DataError, match="1 rows of 500 columns; at most 400 cells"):
        points(from_bytes(wide.encode(), "p.json"), 4)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (json.dumps({"modak_result": 1, "exit_status": 0, "results": [{"line": 1, "application": "a"}]}), "unknown column 'line'"),
        (json.dumps({"modak_result": 1, "exit_status": 0, "results": [{"self": 1, "application": "a"}]}), "unknown column 'self'"),
        (hyperfine(times=True), "'times' is required, as a list"),
        (hyperfine(times=[1], exit_codes=True), "'exit_codes' is required, as a list"),
        ("JobID|JobName|State|Elapsed\n1|a|COMPLETED|" + "9" * 5000 + ":00:00\n", ""),
        ("JobID|JobName|State|ElapsedRaw|AllocTRES\n1|a|FAILED|10|gres/gpu=" + "9" * 5000 + "\n", ""),
    ],
)
def test_names_and_values_of_any_kind_are_no_fault_of_ours(content: str, why: str) -> None:
    """Words that Python means something by, another type, numbers longer than Python converts."""
    assert why in said(content)


def test_what_was_left_out_is_told_in_printable_lines() -> None:
    """Others choose the names of their jobs; a note about one is nothing that a terminal acts on."""
    jobs = "JobID|JobName|State|Elapsed\n1|\x1b]0;mine\x07|FAILED|00:10:00\n2|good|COMPLETED|00:10:00\n"
    (batch,) = table(from_bytes(jobs.encode(), "s.txt")).batches()
    assert batch.notes == ("s.txt:2: job 1 (\\x1b]0;mine\\x07) is FAILED; left out",)

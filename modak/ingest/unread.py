"""What a file is that no format reads, and what to load in its place: the output of a benchmark or an application, a spreadsheet, rows
without names, a table of a tool of which another output is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from modak.ingest.columns import REQUIRED
from modak.ingest.values import NUMERIC


class Program(NamedTuple):
    """A benchmark or an application."""

    name: str
    mark: re.Pattern[bytes]
    """What its output begins with, in one of the first lines."""
    header: str
    row: str
    """One of its figures, below ``header``."""


def _program(name: str, mark: bytes, columns: str, row: str) -> Program:
    """``columns``: those of the row between the nodes and the metric."""
    return Program(name, re.compile(mark, re.MULTILINE), ",".join(("application,nodes", *columns.split(), "metric,value,unit")), row)


_SPENT: Final = ("", "solver,1,wall_time,83.4,s")
_LAYOUT: Final = "ranks_per_node threads_per_rank"
PROGRAMS: Final = (
    _program("STREAM", rb"^STREAM version \$|^Function +Best Rate MB/s", "params.kernel", "stream,1,Triad,bandwidth,182000,MB/s"),
    _program("OSU's benchmarks", rb"^# OSU .*(Test|Benchmark)", "params.size", "osu_latency,2,8,latency,1.23,us"),
    _program("Intel's MPI benchmarks", rb"^# +Intel\(R\) MPI Benchmarks", "params.size", "pingpong,2,8,latency,1.23,us"),
    _program("nccl-tests", rb"^# nThread [0-9]+ nGpus ", "gpus_per_node params.size", "all_reduce,2,8,1 GiB,bandwidth,337.7,GB/s"),
    _program("HPCG", rb"^HPCG-Benchmark\s*$", "total_ranks", "hpcg,2,96,performance,43.2,GFLOP/s"),
    _program(
        "IOR",
        rb'^IOR-[0-9].*: MPI Coordinated|\A\s*\{\s*"Version".*(?:\n\s*)?"Began"',
        "total_ranks params.access params.transfer",
        "ior,2,32,write,1 MiB,bandwidth,1520.7,MiB/s",
    ),
    _program("mdtest", rb"^mdtest-[0-9]\S* was launched", "total_ranks params.operation", "mdtest,2,32,File creation,rate,9500,1/s"),
    _program(
        "fio",
        rb'^\S+: \(g=[0-9]+\): rw=|\A(?!\[)[^{]*\{\s*"fio version"',
        "params.access params.block",
        "fio,1,randread,4k,bandwidth,52758540,B/s",
    ),
    _program("GROMACS", rb"^ *:-\) GROMACS - ", _LAYOUT, "gromacs,2,8,6,throughput,80.1,ns/day"),
    _program("LAMMPS", rb"^LAMMPS \([^,;\t]*\)\s*$", _LAYOUT, "lammps,2,48,1,throughput,61.7,steps/s"),
    _program("Quantum ESPRESSO", rb"^ *Program [A-Z]+ v.* starts on ", _LAYOUT, "pw.x,2,48,1,wall_time,812,s"),
    _program("time", rb"^real[\t ]+[0-9.,ms]+\r?\nuser[\t ]|^\tCommand being timed: ", *_SPENT),
    _program("perf stat", rb"^ Performance counter stats for |^\{\"counter-value\" :|^[0-9.]+([,;])msec\1(task|cpu)-clock\1", *_SPENT),
)
TABLES: Final = (
    ("hyperfine", rb"\Acommand,mean,stddev,median,user,system,min,max", "load what --export-json writes, which has every run"),
    (
        "pytest-benchmark",
        rb"\Aname,(param:[^,\n]*,)*min,max,mean,stddev,",
        "load what --benchmark-json=FILE or --benchmark-autosave writes",
    ),
    (
        "Google Benchmark",
        rb"^(name,iterations,real_time,cpu_time,|Benchmark +Time +CPU +Iterations)",
        "load what --benchmark_out=FILE or --benchmark_format=json writes",
    ),
    (
        "ReFrame",
        rb"^\W*name *(,|\xe2\x94\x82) *sysenv *(,|\xe2\x94\x82) *pvar\b",
        "load its report (--report-file), or what --describe-stored-testcases writes, which tell the layout",
    ),
    ("TensorBoard", rb"\AWall time,Step,Value\s", "its rows are steps of one run: write one row with the rate, or the time, of that run"),
)
"""Tools with the beginning of a table that they print, and what to load in its place."""
_OF_TOOLS: Final = tuple((name, re.compile(mark, re.MULTILINE), way) for name, mark, way in TABLES)
_BEGINNING: Final = 4096
OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How files of old office programs begin."""
SPREADSHEET: Final = re.compile(rb"PK.{28}(\[Content_Types\]\.xml|docProps/|xl/|_rels/|mimetypeapplication/vnd\.oasis\.)", re.DOTALL)
"""How archives begin that are spreadsheets: by the name of their first file, which each program has in an order of its own."""
BINARY: Final = (b"PAR1", b"ARROW1", b"\x89HDF", b"SQLite format 3", b"\x93NUMPY")
"""How Parquet, Arrow, HDF5, SQLite and NumPy files begin."""


def table_of(head: bytes) -> str:
    """How to load the output that begins so, for a message; empty: it is neither of :data:`PROGRAMS` nor of :data:`TABLES`."""
    beginning = head[:_BEGINNING]
    for name, mark, way in _OF_TOOLS:
        if mark.search(beginning):
            return f"a table of {name}, which is not read; {way}"
    found = next((one for one in PROGRAMS if one.mark.search(beginning)), None)
    if found is None:
        return ""
    way = f"write its figures into a table, as CSV: {found.header!r} above rows as {found.row!r}"
    return f"the output of {found.name}, which is not read; {way}"


def why_unread(head: bytes, formats: Iterable[str], *, loading: bool = True) -> str:
    """What a file looks like that begins so, for a message, and what to do about it; ``formats`` are the names of those that are known."""
    if why := _no_text(head):
        return why
    if not head.strip():
        return "the file is empty"
    if b"\\begin{tab" in head or b"\\begin{longtab" in head:
        return "a table in LaTeX; write its cells as CSV, with commas between them and names in the first line"
    if way := table_of(head):
        return way
    if re.match(rb'\s*\{\s*"job"\s*:\s*\{', head):
        return "a request or its answer, which say what to run; load what the job has written, modak-result-….json"
    if mark := _separator(head.decode(errors="replace")):
        return f"its cells are separated by {mark}; separate them by commas, semicolons or tabs"
    if _rows_of_numbers(head.decode(errors="replace")):
        return (
            "rows of numbers without names; the first line has to name the columns; commas, semicolons or tabs separate them, and the cells"
        )
    hint = "; write what a program printed into a table, as CSV: application,nodes,metric,value,unit" if loading else ""
    if head.lstrip()[:1] == b"{":
        hint = "; records of your own are a list: [{…}, …]"
    return f"of no known format (known: {', '.join(sorted(formats))}){hint}"


def _no_text(head: bytes) -> str | None:
    """What a file is that begins as one of another program; ``None``: it may be text."""
    if SPREADSHEET.match(head):
        return "a spreadsheet in its program's own format; save it there as CSV in UTF-8, with commas between cells and points in numbers"
    if head.startswith(OLE):
        return "a spreadsheet or document in its program's old format (.xls); save it there as CSV in UTF-8, with commas between cells"
    if head.startswith(BINARY):
        return "a table in a binary format; write it as CSV (pandas: to_csv(index=False))"
    if head[:4] in (b"PK\x03\x04", b"\x28\xb5\x2f\xfd") or head[:3] == b"BZh" or head[:6] == b"\xfd7zXZ\x00":
        return "a compressed file of a kind that is not read (gzip is); unpack it first"
    return None


def _separator(head: str) -> str | None:
    """What separates the cells of a table that no format recognises; ``None``: it does not look like one. The line below the names has as
    many cells, at least half of them numbers; or one more in front, the quoted name of the row, as R writes it."""
    first, _, rest = head.partition("\n")
    names, below = first.lstrip("#").strip(), rest.partition("\n")[0].strip()
    for mark, what in (("|", "'|'"), (None, "blanks")):
        named, cells = names.split(mark), below.split(mark)
        known = len({*REQUIRED} & {name.strip(' "').lower() for name in named}) > 1
        numbers = sum(NUMERIC.fullmatch(cell.strip()) is not None for cell in cells)
        alike = len(cells) - len(named) in (0, int(below.startswith('"'))) and 2 * numbers >= len(named)
        if len(named) > 1 and (known or (alike and not any(map(NUMERIC.fullmatch, named)))):
            return what
    return None


def _rows_of_numbers(head: str) -> bool:
    """Whether the first two lines that are no comments are as many numbers each, and more than one."""
    rows = [line.split() for line in head.split("\n") if line.strip() and not line.lstrip().startswith("#")][:2]
    return len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1 and all(NUMERIC.fullmatch(cell) for row in rows for cell in row)

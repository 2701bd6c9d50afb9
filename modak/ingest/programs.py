"""Outputs that no format reads: those of benchmarks and applications, with the table to write in their place, and tables of tools of which
another output is read."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Program(NamedTuple):
    """A benchmark or an application."""

    name: str
    mark: re.Pattern[bytes]
    """What its output begins with, in one of the first lines."""
    header: str
    row: str
    """One of its figures, below ``header``."""


def _program(name: str, mark: bytes, header: str, row: str) -> Program:
    return Program(name, re.compile(mark, re.MULTILINE), header, row)


_SPENT: Final = ("application,nodes", "solver,1,wall_time,83.4,s")
_LAYOUT: Final = "application,nodes,ranks_per_node,threads_per_rank"
PROGRAMS: Final = (
    _program(
        "STREAM",
        rb"^STREAM version \$|^Function +Best Rate MB/s",
        "application,nodes,params.kernel",
        "stream,1,Triad,bandwidth,182000,MB/s",
    ),
    _program("OSU's benchmarks", rb"^# OSU .*(Test|Benchmark)", "application,nodes,params.size", "osu_latency,2,8,latency,1.23,us"),
    _program("Intel's MPI benchmarks", rb"^# +Intel\(R\) MPI Benchmarks", "application,nodes,params.size", "pingpong,2,8,latency,1.23,us"),
    _program("HPCG", rb"^HPCG-Benchmark\s*$", "application,nodes,total_ranks", "hpcg,2,96,performance,43.2,GFLOP/s"),
    _program(
        "IOR",
        rb'^IOR-[0-9].*: MPI Coordinated|\A\s*\{\s*"Version".*\s*"Began"',
        "application,nodes,total_ranks,params.access,params.transfer",
        "ior,2,32,write,1 MiB,bandwidth,1520.7,MiB/s",
    ),
    _program(
        "mdtest",
        rb"^mdtest-[0-9]\S* was launched",
        "application,nodes,total_ranks,params.operation",
        "mdtest,2,32,File creation,rate,9500,1/s",
    ),
    _program(
        "fio",
        rb'^\S+: \(g=[0-9]+\): rw=|\A(?!\[)[^{]*\{\s*"fio version"',
        "application,nodes,params.access,params.block",
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


def table_of(head: bytes) -> str:
    """How to load the output that begins so, for a message; empty: it is neither of :data:`PROGRAMS` nor of :data:`TABLES`."""
    beginning = head[:_BEGINNING]
    for name, mark, way in _OF_TOOLS:
        if mark.search(beginning):
            return f"a table of {name}, which is not read; {way}"
    found = next((one for one in PROGRAMS if one.mark.search(beginning)), None)
    if found is None:
        return ""
    header = f"{found.header},metric,value,unit"
    return f"the output of {found.name}, which is not read; write its figures into a table, as CSV: {header!r} above rows as {found.row!r}"

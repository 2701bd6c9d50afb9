"""HPL: the table of T/V, N, NB, P, Q, Time and Gflops in ``HPL.out``, ``hpccoutf.txt`` or the output of a job that ran it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from modak.ingest.formats import documents
from modak.ingest.formats.documents import RowCollector, instant
from modak.ingest.sources import Source
from modak.ingest.table import Raw
from modak.text.amounts import join_names

_HPL: Final = re.compile(rb"^HPLinpack [0-9.]+ +--|^[ \t]*T/V +N +NB +P +Q +Time +Gflops\s*(\( *per GPU\)\s*)?$", re.MULTILINE)
_HEADING: Final = re.compile(r"\s*T/V +N +NB +P +Q +Time +Gflops\s*(\( *per GPU\)\s*)?")
_RUN: Final = re.compile(r"\s*(W[RC]\S+) +([0-9]+) +([0-9]+) +([0-9]+) +([0-9]+) +(\S+) +([^\s(]+)\s*(\([^)]*\)\s*)?")
"""A line of the table. The first word encodes how processes are mapped (R, C) and which algorithms solve the system."""
_ABOVE_ZERO: Final = re.compile(r"(?=[0.]*[1-9])[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?")
"""A time or a rate. Runs as small as those of HPL's own ``HPL.dat`` take ``0.00`` seconds."""
_CHECK: Final = re.compile(r"\s*\|\|Ax-b\|\|.*\s(PASSED|FAILED)\s*")
_STARTED: Final = re.compile(r"\s*HPL_pdgesv\(\) start time (\S.{0,60}?)\s*")
"""Below a line of the table, by the clock of the machine."""
_NOW: Final = re.compile(r"Current time \(([0-9]+)\) is .*")
"""Written by HPC Challenge between its benchmarks, in seconds since 1970."""
_OTHER: Final = re.compile(r"\s*Begin of (?!HPL |Summary )(\w+) section\.\s*")
_SHOWN: Final = 4


@dataclass
class _Run:
    """A line of the table."""

    line: int
    variant: str
    size: str
    block: str
    grid: tuple[int, int]
    """Rows and columns of processes."""
    seconds: str
    gflops: str
    on_gpus: bool
    when: str | None
    """When its benchmark began, in seconds since 1970."""
    started: str = ""
    failed: bool = False


class Hpl:
    """The output of HPL, alone or within HPC Challenge."""

    name = "hpl"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the line that names the program, which HPC Challenge writes first, too, or by the heading of the table."""
        return _HPL.search(head) is not None

    def read(self, source: Source) -> Iterator[Raw]:
        """Two rows for each line of the table whose residual did not fail: its time and its rate. Lines of runs that began at another time
        are no repeats, so that they are the same in a file of one run and of several."""
        lines, found = documents.lines(source)
        runs: list[_Run] = []
        others: dict[str, None] = {}
        heading: re.Match[str] | None = None
        now: str | None = None
        for line, row in lines:
            heading = _HEADING.fullmatch(row) or heading
            if heading and (run := _RUN.fullmatch(row)):
                variant, size, block, down, across, seconds, gflops, _ = run.groups()
                grid = (int(down[:9]), int(across[:9]))
                runs.append(_Run(line, variant, size, block, grid, seconds, gflops, heading[1] is not None, now))
            elif runs and (started := _STARTED.fullmatch(row)):
                runs[-1].started = f", started {started[1]}"
            elif runs and (check := _CHECK.fullmatch(row)):
                runs[-1].failed |= check[1] == "FAILED"
            elif clock := _NOW.fullmatch(row):
                now = clock[1]
            elif other := _OTHER.fullmatch(row):
                others[other[1]] = None
        seen: Counter[tuple[object, ...]] = Counter()
        for each in runs:
            _add(each, seen, found)
        if others:
            found.left.append(f": benchmarks of HPC Challenge other than HPL ({join_names(list(others), _SHOWN)}); left out")
        yield from found.rows()


def _add(run: _Run, seen: Counter[tuple[object, ...]], found: RowCollector) -> None:
    """The rows of a run. The grid is no parameter, which would make a problem of its own of each number of ranks."""
    grid = f"P={run.grid[0]}, Q={run.grid[1]}"
    if run.failed:
        found.fail(run.line, f"{run.variant} with N={run.size}, NB={run.block}, {grid} failed the check of its residual", "failed")
        return
    if not (_ABOVE_ZERO.fullmatch(run.seconds) and _ABOVE_ZERO.fullmatch(run.gflops)):
        found.leave(run.line, f"{run.variant} with N={run.size}, NB={run.block}, {grid} took {run.seconds} s at {run.gflops} Gflops")
        return
    key = (run.variant, run.size, run.block, run.grid, run.when, run.started)
    ranks = run.grid[0] * run.grid[1]
    cells = {
        "application": "hpl",
        "total_ranks": ranks,
        "total_gpus": ranks if run.on_gpus else None,  # NVIDIA's HPL runs a process for each GPU
        **{"params.N": run.size, "params.NB": run.block, "params.variant": run.variant},
        "repeat": seen[key],
        "measured_at": instant(run.when),
        "source": f"HPL, {grid}{run.started}",
    }
    seen[key] += 1
    found.row(run.line, **cells, metric="time", value=run.seconds, unit="s")
    found.row(run.line, **cells, metric="performance", value=run.gflops, unit="GFLOP/s")

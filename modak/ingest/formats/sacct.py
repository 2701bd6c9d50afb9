"""Slurm's accounting: ``sacct --parsable2`` (or ``--parsable``). A job is a row; its steps tell how it was laid out, and that it failed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from modak.errors import DataError, Fault
from modak.ingest.formats import documents
from modak.ingest.formats.documents import RowCollector, count, divided
from modak.ingest.sources import Source
from modak.ingest.table import MOST_FAULTS, Raw
from modak.text.units import elapsed

WANTED: Final = ("JobID", "JobName", "State", "Elapsed")
REPLACED: Final = {"JobID": "JobIDRaw", "Elapsed": "ElapsedRaw"}
ASKED: Final = "ask with sacct --parsable2 --format=JobID,JobName,State,ElapsedRaw,NNodes,NTasks,AllocCPUS,AllocTRES,Partition,Cluster"
FAILED: Final = ("FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "TIMEOUT")
"""How a step ends that did not do its work; one that the end of the script stops, as that of a monitor, is ``CANCELLED``."""
STARTERS: Final = frozenset(("hydra_bstrap_proxy", "hydra_pmi_proxy", "pmi_proxy", "orted", "prted", "torchrun"))
"""Steps of one task a node that starts the ranks there, as ``mpirun`` has them: Slurm does not count those."""
_MARKS: Final = "|,;\t"
"""What ``--delimiter`` may have put between cells."""
_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
"""How Slurm calls a column."""
HYPERTHREADS: Final = 2
"""So many CPUs of a task may be one core whose two hyper-threads were allocated together, and of which one was used."""
_FREE: Final = frozenset(
    ("Comment", "AdminComment", "SystemComment", "Constraints", "Container", "Extra", "Reason", "SubmitLine", "WorkDir", "WCKey")
)
"""Columns beside the job's name that hold any text, so that a stray separator cannot be placed."""
SOURCE: Final = "slurm job {}"
"""The source of a row, by the job's number as sacct shows it."""
_SOURCE: Final = re.compile(r"slurm job ([0-9]+)(?:_[0-9]+)?")
_NODES: Final = re.compile(r"(?:^|,)node=([0-9]{1,8})(?![0-9])")
_GPUS: Final = re.compile(r"(?:^|,)gres/gpu(:[^=,]+)?=([0-9]{1,8})(?![0-9])")
"""GPUs of all types together, and of each type (``gres/gpu:a100=4``); a site counts either or both."""


class SacctStep(NamedTuple):
    """What is known of a step that was launched with ``srun``; ``None``: not told."""

    name: str | None
    tasks: int
    nodes: int | None
    state: str


@dataclass
class SacctJob:
    """What is known of a job."""

    id: str
    line: int
    state: str
    seconds: str | None
    cells: dict[str, str | None]
    nodes: int | None
    cpus: int | None
    gpus: int | None
    steps: list[SacctStep] = field(default_factory=list)
    """Those that were launched."""


class Sacct:
    """A table of jobs."""

    name = "sacct"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the job's number among the columns of the first line; also where blanks separate them, which is refused when it is read."""
        return _mark(head.partition(b"\n")[0].decode(errors="replace")) is not None or _printed(head)

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each job that completed."""
        if _printed(source.head()):
            raise DataError(f"its columns are separated by blanks, and cut off what is longer; {ASKED}", field=":1")
        lines, found = documents.lines(source)
        for job in _jobs(lines):
            add(job, found)
        yield from found.rows()


def _printed(head: bytes) -> bool:
    """Whether it is what sacct prints for people: names between blanks, the job's number among them, above a line of dashes."""
    names, below = [line.split() for line in head.split(b"\n", 2)[:2]] if b"\n" in head else ([], [])
    return (b"JobID" in names or b"JobIDRaw" in names) and len(below) == len(names) and not b"".join(below).strip(b"-")


def _mark(first: str) -> str | None:
    """What separates the columns of the first line, the job's number among them; ``None``: it is none of sacct's. Tables that people make
    may have that number, too: other signs than ``|`` separate columns that are all called as Slurm does, with those that a job needs."""
    for mark in _MARKS:
        names = [name for name in first.rstrip("\r").split(mark) if name]
        if len(names) > 1 and not {"JobID", "JobIDRaw"}.isdisjoint(names):
            return mark if mark == "|" or (not _missing(names) and all(map(_NAME.fullmatch, names))) else None
    return None


def _missing(header: Collection[str]) -> list[str]:
    return [name for name in WANTED if name not in header and REPLACED.get(name) not in header]


def _jobs(lines: Iterator[tuple[int, str]]) -> Iterator[SacctJob]:
    first = next(lines)[1]
    mark = _mark(first) or "|"
    end = mark if first.endswith(mark) else ""  # of every line with --parsable
    header = [cell for cell in first.split(mark) if cell]
    if missing := _missing(header):
        raise DataError(f"no column {', '.join(missing)}; {ASKED}", field=":1")
    jobs: dict[tuple[str, str | None], SacctJob] = {}
    faults: list[Fault] = []
    for line, row in lines:
        cells = _cells(row.removesuffix(end).split(mark), header, mark)
        if cells is not None:
            _row(cells, line, jobs)
        elif row:
            what = f"{row.count(mark) + 1} cells; the header has {len(header)} columns (a text with {mark!r} in it? take --json)"
            faults.append(Fault(f":{line}", what))
    DataError.raise_for(faults[:MOST_FAULTS])
    yield from jobs.values()


def _row(cells: Mapping[str, str], line: int, jobs: dict[tuple[str, str | None], SacctJob]) -> None:
    """A job, or a step of one: numbered steps were launched with ``srun``, ``batch`` and ``extern`` were not.

    A number is a job of each cluster; the last row of a job that was requeued counts.
    """
    number, dot, step = (cells.get("JobID") or cells.get("JobIDRaw") or "").partition(".")
    key = (number, cells.get("Cluster"))
    if not dot:
        jobs[key] = _job(number, line, cells)
    elif key in jobs and step.isdigit():
        jobs[key].steps.append(SacctStep(cells["JobName"], count(cells.get("NTasks")) or 0, _nodes(cells), _state(cells)))


def _cells(cells: list[str], header: list[str], mark: str) -> dict[str, str] | None:
    """The row's cells by column; a job's name may hold ``|``, where it is the only free text. Other separators stand in many columns."""
    spare = len(cells) - len(header)
    if spare > 0 and mark == "|" and "JobName" in header and not _FREE.intersection(header):
        at = header.index("JobName")
        cells[at : at + spare + 1] = [mark.join(cells[at : at + spare + 1])]
    return dict(zip(header, cells, strict=True)) if len(cells) == len(header) else None


def _state(cells: Mapping[str, str]) -> str:
    return cells["State"].split(" ")[0]


def _nodes(cells: Mapping[str, str]) -> int | None:
    """Also from what was allocated: ``sacct --long`` has no column of its own for them."""
    allocated = _NODES.search(cells.get("AllocTRES", ""))
    return count(cells.get("AllocNodes") or cells.get("NNodes") or (allocated and allocated[1]))


def _job(number: str, line: int, cells: Mapping[str, str]) -> SacctJob:
    took = elapsed(cells.get("Elapsed", ""))
    gpus = {kind: int(number) for kind, number in _GPUS.findall(cells.get("AllocTRES", ""))}
    return SacctJob(
        id=number,
        line=line,
        state=_state(cells),
        seconds=cells.get("ElapsedRaw") or (None if took is None else str(took)),
        cells={"application": cells["JobName"], "system": cells.get("Cluster"), "partition": cells.get("Partition")},
        nodes=_nodes(cells),
        cpus=count(cells.get("AllocCPUS") or cells.get("NCPUS")),
        gpus=gpus.get("") or sum(gpus.values()) or None,
    )


def job_of(source: str) -> str | None:
    """The number of the job, or of the array of jobs, that a source of :data:`SOURCE` names; ``None``: it is another one.

    >>> job_of("slurm job 4711_3"), job_of("job 4711, plan 12ab")
    ('4711', None)
    """
    found = _SOURCE.fullmatch(source)
    return found[1] if found else None


def add(job: SacctJob, found: RowCollector) -> None:
    """A row for a job that completed; a note for every other, and for parts of heterogeneous jobs (``104+1``)."""
    title = f"job {job.id} ({job.cells['application']})"
    if job.state != "COMPLETED":
        found.runs, found.lists = "jobs", "'sacct --starttime=DATE --state={}' lists them"
        found.fail(job.line, f"{title} is {job.state}", job.state)
    elif why := _why_left_out(job):
        found.leave(job.line, f"{title} {why}")
    else:
        source = SOURCE.format(job.id)
        found.row(job.line, **job.cells, **_layout(job), metric="wall_time", value=job.seconds, unit="s", source=source)


def _why_left_out(job: SacctJob) -> str:
    """Why a job that completed gives no row; empty: it does."""
    if "+" in job.id:
        return "is a part of a heterogeneous job, whose parts ran together on different nodes"
    if broken := next((step.state for step in job.steps if step.state in FAILED), None):
        return f"has a step that is {broken}"
    if job.seconds is None:
        return "has no elapsed time"
    return "" if count(job.seconds) else "took less than a second"


def _layout(job: SacctJob) -> Mapping[str, int | None]:
    """The counts of its largest step, unless others ran beside that, on other nodes."""
    counted = (step for step in job.steps if step.name not in STARTERS)
    largest = max(counted, key=lambda step: (step.tasks, step.nodes or 0), default=None)
    tasks = largest.tasks if largest and largest.nodes in (job.nodes, None) else None
    threads = divided(job.cpus, tasks)
    return {
        "nodes": job.nodes,
        "ranks_per_node": divided(tasks, job.nodes),
        "threads_per_rank": None if threads == HYPERTHREADS else threads,
        "gpus_per_node": divided(job.gpus, job.nodes),
    }

"""Slurm's accounting: ``sacct --parsable2`` (or ``--parsable``). A job is a row; its steps only tell how it was laid out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from modak.errors import DataError, Fault
from modak.ingest import documents
from modak.ingest.documents import RowCollector, count, divided
from modak.ingest.sources import Source
from modak.ingest.table import MOST_FAULTS, Raw
from modak.text.units import elapsed

WANTED: Final = ("JobID", "JobName", "State", "Elapsed")
REPLACED: Final = {"JobID": "JobIDRaw", "Elapsed": "ElapsedRaw"}
ASKED: Final = "ask with sacct --parsable2 --format=JobID,JobName,State,ElapsedRaw,NNodes,NTasks,AllocCPUS,AllocTRES,Partition,Cluster"
HYPERTHREADS: Final = 2
"""So many CPUs of a task may be one core whose two hyper-threads were allocated together, and of which one was used."""
_FREE: Final = frozenset(
    ("Comment", "AdminComment", "SystemComment", "Constraints", "Container", "Extra", "Reason", "SubmitLine", "WorkDir", "WCKey")
)
"""Columns beside the job's name that hold any text, so that a stray separator cannot be placed."""
SOURCE: Final = "slurm job {}"
"""The source of a row, by the job's number as sacct shows it."""
_SOURCE: Final = re.compile(r"slurm job ([0-9]+)(?:_[0-9]+)?")
_GPUS: Final = re.compile(r"(?:^|,)gres/gpu(:[^=,]+)?=([0-9]{1,8})(?![0-9])")
"""GPUs of all types together, and of each type (``gres/gpu:a100=4``); a site counts either or both."""


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
    steps: list[int] = field(default_factory=list)
    """Tasks of each step that was launched."""


class Sacct:
    """A table of jobs."""

    name = "sacct"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the job's number among the columns of the first line; also where blanks separate them, which is refused when it is read."""
        cells = head.partition(b"\n")[0].split(b"|")
        return (len(cells) > 1 and (b"JobID" in cells or b"JobIDRaw" in cells)) or _printed(head)

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


def _jobs(lines: Iterator[tuple[int, str]]) -> Iterator[SacctJob]:
    first = next(lines)[1]
    end = "|" if first.endswith("|") else ""  # of every line with --parsable
    header = [cell for cell in first.split("|") if cell]
    missing = [name for name in WANTED if name not in header and REPLACED.get(name) not in header]
    if missing:
        raise DataError(f"no column {', '.join(missing)}; {ASKED}", field=":1")
    jobs: dict[tuple[str, str | None], SacctJob] = {}
    faults: list[Fault] = []
    for line, row in lines:
        cells = _cells(row.removesuffix(end), header)
        if cells is not None:
            _row(cells, line, jobs)
        elif row:
            what = f"{row.count('|') + 1} cells; the header has {len(header)} columns (a name with '|' in it? take --json)"
            faults.append(Fault(f":{line}", what))
    if faults:
        raise DataError(faults=faults[:MOST_FAULTS])
    yield from jobs.values()


def _row(cells: Mapping[str, str], line: int, jobs: dict[tuple[str, str | None], SacctJob]) -> None:
    """A job, or a step of one: numbered steps were launched with ``srun``, ``batch`` and ``extern`` were not.

    A number is a job of each cluster; the last row of a job that was requeued counts.
    """
    number, dot, step = (cells.get("JobID") or cells.get("JobIDRaw") or "").partition(".")
    key = (number, cells.get("Cluster"))
    if not dot:
        jobs[key] = _job(number, line, cells)
    elif key in jobs and step.isdigit() and (tasks := count(cells.get("NTasks"))):
        jobs[key].steps.append(tasks)


def _cells(row: str, header: list[str]) -> dict[str, str] | None:
    """The row's cells by column; a job's name may hold the separator, where it is the only free text."""
    cells = row.split("|")
    spare = len(cells) - len(header)
    if spare > 0 and "JobName" in header and not _FREE.intersection(header):
        at = header.index("JobName")
        cells[at : at + spare + 1] = ["|".join(cells[at : at + spare + 1])]
    return dict(zip(header, cells, strict=True)) if len(cells) == len(header) else None


def _job(number: str, line: int, cells: Mapping[str, str]) -> SacctJob:
    took = elapsed(cells.get("Elapsed", ""))
    gpus = {kind: int(number) for kind, number in _GPUS.findall(cells.get("AllocTRES", ""))}
    return SacctJob(
        id=number,
        line=line,
        state=cells["State"].split(" ")[0],
        seconds=cells.get("ElapsedRaw") or (None if took is None else str(took)),
        cells={"application": cells["JobName"], "system": cells.get("Cluster"), "partition": cells.get("Partition")},
        nodes=count(cells.get("AllocNodes") or cells.get("NNodes")),
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
    elif "+" in job.id:
        found.leave(job.line, f"{title} is a part of a heterogeneous job, whose parts ran together on different nodes")
    elif job.seconds is None:
        found.leave(job.line, f"{title} has no elapsed time")
    elif not count(job.seconds):
        found.leave(job.line, f"{title} took less than a second")
    else:
        tasks = max(job.steps, default=None)
        per_task = divided(job.cpus, tasks)
        threads = None if per_task == HYPERTHREADS else per_task
        laid = {"nodes": job.nodes, "ranks_per_node": divided(tasks, job.nodes), "threads_per_rank": threads}
        laid |= {"gpus_per_node": divided(job.gpus, job.nodes)}
        found.row(job.line, **job.cells, **laid, metric="wall_time", value=job.seconds, unit="s", source=SOURCE.format(job.id))

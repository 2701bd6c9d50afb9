"""Slurm's accounting as JSON: ``sacct --json``, with plain numbers (21.08, 22.05) or wrapped ones and lists (23.02 and later)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from modak.ingest.formats import documents
from modak.ingest.formats.documents import LocatedObject, count, instant, member, objects, text, within
from modak.ingest.formats.sacct import SacctJob, SacctStep, add
from modak.ingest.sources import Source
from modak.ingest.table import Raw


class SacctJson:
    """A list of jobs."""

    name = "sacct_json"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the parts of a job that only Slurm has."""
        return documents.has_keys(head, ("jobs",)) and re.search(rb'"(allocation_nodes|Slurm|slurm|data_parser)"\s*:', head) is not None

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each job that completed."""
        document, found = documents.document(source)
        for job in objects(document, "jobs"):
            add(_job(job), found)
        yield from found.rows()


def _job(job: LocatedObject) -> SacctJob:
    time = member(job, "time", dict)
    counted = _tres(job)
    found = SacctJob(
        id=_id(job),
        line=job.line,
        state=_ended(within(job, "state").get("current")),
        seconds=text(number(time.get("elapsed"))),
        cells={"application": text(job.get("name")), "system": text(job.get("cluster")), "partition": text(job.get("partition"))},
        nodes=counted.get("node") or count(number(job.get("allocation_nodes"))),
        cpus=counted.get("cpu"),
        gpus=counted.get("gres/gpu") or sum(number for kind, number in counted.items() if kind.startswith("gres/gpu:")) or None,
    )
    found.cells["measured_at"] = instant(text(number(time.get("end")))) if found.state == "COMPLETED" else None
    for step in filter(_launched, objects(job, "steps") if job.get("steps") else ()):
        tasks, nodes = (count(number(within(step, part).get("count"))) for part in ("tasks", "nodes"))
        name = text(within(step, "step").get("name"))
        found.steps.append(SacctStep(name, tasks or 0, nodes, _ended(step.get("state"))))
    return found


def number(value: Any) -> Any:
    """A number of either shape: plain, or ``{"set", "infinite", "number"}``; nothing where it is not set."""
    if isinstance(value, dict):
        return value.get("number") if value.get("set") is True and value.get("infinite") is not True else None
    return value


def _id(job: LocatedObject) -> str:
    """The job's number as sacct shows it; tasks of an array, and parts of a heterogeneous job, have its number and their own."""
    parts, array = within(job, "het"), within(job, "array")
    if count(number(parts.get("job_id"))):
        return f"{text(number(parts['job_id']))}+{text(number(parts.get('job_offset')))}"
    task, whole = text(number(array.get("task_id"))), text(number(array.get("job_id")))
    return f"{whole}_{task}" if task is not None and count(whole) else str(text(number(job.get("job_id"))))


def _ended(current: Any) -> str:
    return str(current[0] if isinstance(current, list) and current else current)


def _tres(job: LocatedObject) -> dict[str, int]:
    """What was allocated, by kind; a site counts typed devices (``gpu:v100``) in their plain kind, too, or only there."""
    given = within(job, "tres").get("allocated")
    found: dict[str, int] = {}
    for each in given if isinstance(given, list) else ():
        if isinstance(each, dict) and (amount := count(number(each.get("count")))):
            found["/".join(part for part in (text(each.get("type")), text(each.get("name"))) if part)] = amount
    return found


def _launched(step: LocatedObject) -> bool:
    """Whether a step was launched by ``srun``: the batch script and the external step are no tasks of the application."""
    described = step.get("step")
    mark = str(described.get("id") if isinstance(described, dict) else described).rpartition(".")[2]
    return mark.isdigit()

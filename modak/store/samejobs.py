"""A job in Slurm's accounting that also wrote a result of its own, as MODAK's scripts do, counts once, whichever came first.

The result stands: it tells the time of the run alone, and what ran. The accounting's row is of the whole script, under the job's name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, delete, select, update

from modak.facts import same_name
from modak.grouping import grouped
from modak.ingest import modak_result, sacct
from modak.ingest.table import UNKNOWN
from modak.store.engine import chunks
from modak.store.schema import results, series, texts
from modak.store.series import OwnNames

SAME_END: Final = 86_400_000_000
"""Microseconds: a run ends so long before its job at most, which may copy data afterwards. Numbers of jobs are given again later."""


class Source(NamedTuple):
    """A source that names a job."""

    job: str
    """Its number, or that of its array."""
    accounting: bool
    """Whether Slurm's accounting says so, and not the job's script."""
    text: str


class Gone(NamedTuple):
    """A row of the accounting that gave way."""

    source: str
    series: int
    new: bool
    """Whether it came in this load, and was taken out again."""


def source_of(text: str) -> Source | None:
    """What a source says of a job; ``None``: it names none."""
    if job := sacct.job_of(text):
        return Source(job, accounting=True, text=text)
    job = modak_result.job_of(text)
    return Source(job, accounting=False, text=text) if job else None


def sources_of(connection: Connection, numbers: Collection[int]) -> set[Source]:
    """The sources of the results of these series, by number, that name jobs."""
    chosen = select(texts.c.text).join(results, results.c.source_id == texts.c.id).distinct()
    found = (text for part in chunks(list(numbers)) for text in connection.scalars(chosen.where(results.c.series_id.in_(part))))
    return {source for source in map(source_of, found) if source}


def settle(connection: Connection, sources: Collection[Source], own: OwnNames, load_id: int = 0, after: int = 0) -> list[Gone]:
    """Let the results of jobs' scripts stand alone. ``sources`` are those of results that are new, or known to be of one system since now;
    rows of the load ``load_id`` with numbers above ``after`` are taken out and not replaced.

    A job is known by its number, on one system (under any of its names), and by its time where both rows say one. What somebody doubted
    of the old row is doubted of the result.
    """
    known = _of_both(connection, sources) if sources else {}
    columns = (results.c[name] for name in ("id", "load_id", "series_id", "source_id", "measured_at", "by_hand", "doubt_id"))
    chosen = select(*columns, series.c.system).join(series, series.c.id == results.c.series_id).where(results.c.replaced_by == 0)
    rows = [row for part in chunks(sorted(known)) for row in connection.execute(chosen.where(results.c.source_id.in_(part)))]
    gone = []
    for of_job in grouped(rows, lambda row: known[row.source_id].job).values():
        told = [row for row in of_job if not known[row.source_id].accounting]
        for row in (row for row in of_job if known[row.source_id].accounting):
            if same := [one for one in told if _same_job(row, one, own)]:
                gone.append(Gone(known[row.source_id].text, row.series_id, new=row.id > after and row.load_id == load_id))
                this = results.c.id == row.id
                aside = update(results).where(this).values(replaced_by=same[0].load_id)
                connection.execute(delete(results).where(this) if gone[-1].new else aside)
                if row.by_hand and row.doubt_id:
                    connection.execute(
                        update(results).where(results.c.id.in_([one.id for one in same])).values(doubt_id=row.doubt_id, by_hand=1)
                    )
    return gone


def _of_both(connection: Connection, sources: Collection[Source]) -> Mapping[int, Source]:
    """The stored sources, by number, of those jobs that both the accounting and their script tell of."""
    jobs = {each.job for each in sources}
    exact = sorted({each.text for each in sources} | set(map(sacct.SOURCE.format, jobs)))
    there = [*(texts.c.text.in_(part) for part in chunks(exact)), texts.c.text.like(sacct.SOURCE.format("%!_%"), escape="!")]
    if any(each.accounting for each in sources):
        there.append(texts.c.text.like(modak_result.SOURCE.format("%", "%")))
    found = {}
    for where in there:
        for number, text in connection.execute(select(texts.c.id, texts.c.text).where(where)):
            source = source_of(text)
            if source and source.job in jobs:
                found[number] = source
    told = {(each.job, each.accounting) for each in found.values()}
    return {number: each for number, each in found.items() if (each.job, not each.accounting) in told}


def _same_job(row: Any, other: Any, own: OwnNames) -> bool:
    """Whether two rows of one number are of one job."""
    apart = UNKNOWN not in (row.measured_at, other.measured_at) and abs(row.measured_at - other.measured_at) > SAME_END
    there = None not in (row.system, other.system) and same_name(other.system) in own.called(row.system)
    return not apart and (there or row.system == other.system)

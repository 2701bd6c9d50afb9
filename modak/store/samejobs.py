"""A job in Slurm's accounting that also wrote a result of its own, as MODAK's scripts do, counts once, whichever came first.

The result stands: it tells the time of the run alone, and what ran. The accounting's row is of the whole script, under the job's name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, or_, select, update

from modak.facts import canonical_name
from modak.grouping import grouped
from modak.ingest.formats import modak_result, sacct
from modak.ingest.table import UNKNOWN
from modak.store.engine import chunks
from modak.store.schema import results, series, texts
from modak.store.series import OwnNames

SAME_END: Final = 86_400_000_000
"""Microseconds: a run ends so long before its job at most, which may copy data afterwards. Numbers of jobs are given again later."""

FEW: Final = 100
"""Up to so many jobs are looked up by the index of texts, so that the result of one takes no longer the more there are. For more of them
all texts are read once, which takes 0.1 s for a million."""
MANY: Final = 10_000
"""Sources whose results are read at once."""


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
    parts = modak_result.parts_of(text)
    return Source(parts[0], accounting=False, text=text) if parts else None


def sources_of(connection: Connection, numbers: Collection[int]) -> set[Source]:
    """The sources of the results of these series, by number, that name jobs of which both the accounting and their script tell."""
    chosen = select(texts.c.text).join(results, results.c.source_id == texts.c.id).distinct()
    found = (text for part in chunks(list(numbers)) for text in connection.scalars(chosen.where(results.c.series_id.in_(part))))
    sources = {source for source in map(source_of, found) if source}
    told = {(each.job, each.accounting) for each in sources}
    return {each for each in sources if (each.job, not each.accounting) in told}


def drop_duplicate_jobs(connection: Connection, sources: Collection[Source], own: OwnNames, load_id: int = 0) -> list[Gone]:
    """Let the results of jobs' scripts stand alone. ``sources`` are those of results that are new, or known to be of one system since now;
    rows of the load ``load_id`` are taken out and not replaced.

    A job is known by its number, on one system (under any of its names), and by its time where both rows say one. What somebody doubted
    of the old row is doubted of the result.
    """
    known = _of_both(connection, sources)
    columns = (results.c[name] for name in ("id", "load_id", "series_id", "source_id", "measured_at", "by_hand", "doubt_id"))
    chosen = select(*columns, series.c.system).join(series, series.c.id == results.c.series_id).where(results.c.replaced_by == 0)
    here = chosen.where(results.c.source_id.in_(bindparam("sources", expanding=True, literal_execute=True)))  # no index: reads all results
    rows = [row for part in chunks(sorted(known), MANY) for row in connection.execute(here, {"sources": part})]
    gone = []
    for of_job in grouped(rows, lambda row: known[row.source_id].job).values():
        told = [row for row in of_job if not known[row.source_id].accounting]
        for row in (row for row in of_job if known[row.source_id].accounting):
            if same := [one for one in told if _same_job(row, one, own)]:
                gone.append(Gone(known[row.source_id].text, row.series_id, new=row.load_id == load_id))
                _give_way(connection, row, same, new=gone[-1].new)
    return gone


def _give_way(connection: Connection, row: Any, same: Sequence[Any], *, new: bool) -> None:
    """Let a row of the accounting give way to results of the same job: a ``new`` one is taken out, an old one is replaced."""
    this = results.c.id == row.id
    aside = update(results).where(this).values(replaced_by=same[0].load_id)
    connection.execute(delete(results).where(this) if new else aside)
    if row.by_hand and row.doubt_id:
        those = results.c.id.in_([one.id for one in same])
        connection.execute(update(results).where(those).values(doubt_id=row.doubt_id, by_hand=1))


def _of_both(connection: Connection, sources: Collection[Source]) -> Mapping[int, Source]:
    """The stored ones of these sources, by number, and what tells of the same jobs on the other side: the accounting, or their scripts."""
    jobs, told = ({each.job for each in sources if each.accounting is kind} for kind in (True, False))
    found = {number: source for where in _others(jobs, told) for number, source in _stored(connection, where).items()}
    found = {number: each for number, each in found.items() if each.job in (told if each.accounting else jobs)}
    both = {each.job for each in found.values()}
    for part in chunks([each.text for each in sources if each.job in both]):
        found |= _stored(connection, texts.c.text.in_(part))
    return found


def _others(jobs: Collection[str], told: Collection[str]) -> Iterator[ColumnElement[bool]]:
    """Under which conditions are the sources of scripts for ``jobs`` of the accounting, and those of the accounting for jobs that scripts
    ``told`` of, beside others."""
    told = [job for job in told if job.isdecimal()]  # as all of Slurm's are
    yield from (texts.c.text.in_(part) for part in chunks(list(map(sacct.SOURCE.format, told))))
    tasks, scripts = [sacct.SOURCE.format(f"{job}_") for job in told], [modak_result.SOURCE.format(job, "") for job in jobs]
    for beginnings, pattern in ((tasks, sacct.SOURCE.format("%!_%")), (scripts, modak_result.SOURCE.format("%", "%"))):
        if len(beginnings) > FEW:
            yield texts.c.text.like(pattern, escape="!")
        elif beginnings:  # digits, or hexadecimal ones, follow: before a "z" in every collation
            yield or_(*(texts.c.text.between(each, f"{each}z") for each in beginnings))


def _stored(connection: Connection, where: ColumnElement[bool]) -> dict[int, Source]:
    rows = connection.execute(select(texts.c.id, texts.c.text).where(where))
    return {number: source for number, text in rows if (source := source_of(text))}


def _same_job(row: Any, other: Any, own: OwnNames) -> bool:
    """Whether two rows of one number are of one job."""
    apart = UNKNOWN not in (row.measured_at, other.measured_at) and abs(row.measured_at - other.measured_at) > SAME_END
    there = None not in (row.system, other.system) and canonical_name(other.system) in own.called(row.system)
    return not apart and (there or row.system == other.system)

"""Whether the predictions of plans held: what a load says of the jobs that ran them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from modak.choosing.workload import only_one
from modak.errors import RequestError
from modak.ingest.formats import modak_result
from modak.ingest.formats.modak_result import ModakResult, job_called
from modak.normalise import normalise
from modak.perfmodel.fitting.startup import PARTS
from modak.results.failures import STOPPED
from modak.results.metrics import WALL_TIME
from modak.store.engine import chunks
from modak.store.schema import loads, plans, results, series, texts
from modak.text.amounts import as_given, counted, format_duration, spans

EACH: Final = 3
"""Up to so many jobs are told of one by one, more of them in a sentence."""
MOST: Final = 1000
"""Most jobs that are looked at."""


class Outcome(NamedTuple):
    """The time of a run, or after how long it was stopped, beside its prediction, both in seconds."""

    job: str
    """As :func:`modak.ingest.formats.modak_result.job_called` says."""
    metric: str
    time: float
    predicted: float
    lower: float
    upper: float
    level: float
    """What part of runs the interval from ``lower`` to ``upper`` is to contain."""

    @property
    def where(self) -> str:
        """Where the time lies beside the interval."""
        return "within" if self.lower <= self.time <= self.upper else "longer than" if self.time > self.upper else "shorter than"

    def in_words(self) -> str:
        """What a user reads of one job."""
        interval = f"the {as_given(100 * self.level)}% interval of its prediction"
        told = f"{format_duration(self.predicted)} ({spans(self.lower, self.upper)})"
        ended, time = "was stopped after" if self.metric == STOPPED else "took", format_duration(self.time)
        just = "just " if self.where != "within" and time in map(format_duration, (self.lower, self.upper)) else ""
        return f"{self.job} {ended} {time}, {just}{self.where} {interval}, {told}"


def outcomes(connection: Connection, load_ids: Collection[int], after: int) -> Iterator[str]:
    """Notes on the rows of these loads with numbers above ``after``: times of jobs whose plans are stored and predicted one."""
    found = list(_outcomes(connection, load_ids, after))
    if len(found) <= EACH:
        yield from (one.in_words() for one in found)
        return
    counts = {where: sum(one.where == where for one in found) for where in ("within", "longer than", "shorter than")}
    told = ", ".join(f"{count} {where}" for where, count in counts.items() if count)
    yield f"of the times of {counted(len(found), 'job')} with a prediction: {told} the interval of it"


def _outcomes(connection: Connection, load_ids: Collection[int], after: int) -> Iterator[Outcome]:
    of_jobs = select(loads.c.id).where(loads.c.id.in_(sorted(load_ids)), loads.c.format == ModakResult.name)
    files = connection.scalars(of_jobs).all()
    if not files:
        return
    rows = (
        select(texts.c.text, loads.c.file, series.c.metric, results.c.value)
        .join(texts, texts.c.id == results.c.source_id)
        .join(series, series.c.id == results.c.series_id)
        .join(loads, loads.c.id == results.c.load_id)
        .where(results.c.id > after, results.c.load_id.in_(files))
        .where(series.c.metric.in_((WALL_TIME, STOPPED)), series.c.unit == "s")
        .order_by(results.c.id)
        .limit(MOST)
    )
    of_plans = ((row, *parts) for row in connection.execute(rows) if (parts := modak_result.parts_of(row.text)))
    times = [(job_called(job, row.file), plan, row.metric, row.value) for row, job, plan in of_plans]
    predictions = _predictions(connection, sorted({plan for _, plan, *_ in times}))
    for job, plan, metric, time in times:
        told = predictions.get(plan, {})
        figures = [told.get(name) for name in ("value", "lower", "upper", "level")]
        if told.get("unit") == "s" and None not in figures and (metric == WALL_TIME or time > told["upper"]):
            yield Outcome(job, metric, time, *figures)


def _predictions(connection: Connection, ids: Sequence[str]) -> Mapping[str, Any]:
    """What these plans predict, by their ids, as far as they are there."""
    chosen = select(plans.c.id, plans.c.request, plans.c.response)
    stored = (row for part in chunks(ids) for row in connection.execute(chosen.where(plans.c.id.in_(part))))
    return {row.id: _of_whole_run(row.request, row.response) for row in stored}


def _of_whole_run(request: str, response: str) -> Any:
    """The prediction of an answer; nothing if it is the time of one epoch, or step, because the request does not say how many the run
    has."""
    found = json.loads(response).get("job", {}).get("plan", {}).get("prediction", {})
    if found.get("per") not in PARTS:
        return found
    try:
        work = normalise(json.loads(request)).request.optimisation.workload
    except RequestError:  # of another version, which has read it otherwise
        return {}
    return {} if only_one(work, found["per"]) else found

"""Whether the predictions of plans held: what a load says of the jobs that ran them, and the record of all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Select, select

from modak.choosing.workload import only_one
from modak.errors import RequestError
from modak.ingest.formats import modak_result
from modak.ingest.formats.modak_result import ModakResult, job_called
from modak.ingest.table import UNKNOWN
from modak.normalise import normalise
from modak.perfmodel.fitting.startup import PARTS
from modak.results.failures import STOPPED
from modak.results.metrics import WALL_TIME
from modak.store.engine import chunks
from modak.store.schema import JUDGED, loads, plans, results, series, texts
from modak.store.series import matching
from modak.text.amounts import as_given, counted, format_duration, spans

EACH: Final = 3
"""Up to so many jobs are told of one by one, more of them in a sentence."""
MOST: Final = 1000
"""Most jobs that are looked at."""
_OF_JOBS: Final = (
    select(texts.c.text, loads.c.file, series.c.application, series.c.system, results.c.nodes, series.c.metric, results.c.value)
    .join(texts, texts.c.id == results.c.source_id)
    .join(series, series.c.id == results.c.series_id)
    .join(loads, loads.c.id == results.c.load_id)
    .where(loads.c.format == ModakResult.name, series.c.metric.in_((WALL_TIME, STOPPED)), series.c.unit == "s")
    .limit(MOST)
)
"""The times of whole runs that job scripts recorded."""
OUTCOMES: Final[Mapping[str, str]] = {"within": "within", "longer": "longer than", "shorter": "shorter than"}
"""How a time lies beside an interval, and how sentences say it."""


class Outcome(NamedTuple):
    """The time of a run, or after how long it was stopped, beside its prediction, both in seconds."""

    job: str
    """As :func:`modak.ingest.formats.modak_result.job_called` says."""
    plan: str
    application: str
    system: str | None
    nodes: int | None
    metric: str
    time: float
    predicted: float
    lower: float
    upper: float
    level: float
    """What part of runs the interval from ``lower`` to ``upper`` is to contain."""

    @property
    def stopped(self) -> bool:
        """The run would have taken longer than that."""
        return self.metric == STOPPED

    @property
    def outcome(self) -> str:
        """The time beside the interval, one of :data:`OUTCOMES`."""
        return "within" if self.lower <= self.time <= self.upper else "longer" if self.time > self.upper else "shorter"

    def in_words(self) -> str:
        """What a user reads of one job."""
        interval = f"the {as_given(100 * self.level)}% interval of its prediction"
        told = f"{format_duration(self.predicted)} ({spans(self.lower, self.upper)})"
        ended, time = "was stopped after" if self.stopped else "took", format_duration(self.time)
        just = "just " if self.outcome != "within" and time in map(format_duration, (self.lower, self.upper)) else ""
        return f"{self.job} {ended} {time}, {just}{OUTCOMES[self.outcome]} {interval}, {told}"


def outcomes(connection: Connection, load_ids: Collection[int], after: int) -> Iterator[str]:
    """Notes on the rows of these loads with numbers above ``after``: times of jobs whose plans are stored and predicted one."""
    found = _of_loads(connection, load_ids, after)
    if len(found) <= EACH:
        yield from (one.in_words() for one in found)
        return
    counts = Counter(one.outcome for one in found)
    told = ", ".join(f"{counts[outcome]} {where}" for outcome, where in OUTCOMES.items() if counts[outcome])
    yield f"of the times of {counted(len(found), 'job')} with a prediction: {told} the interval of it"


def newest(connection: Connection, filters: Mapping[str, str]) -> list[Outcome]:
    """The outcomes of the newest jobs whose results match the filters, the newest first, as far as their plans are still stored. Results
    that somebody doubts are left out; one that loading doubts may be unlike all others because the prediction was wrong."""
    wanted = matching(connection, filters).with_only_columns(series.c.id).order_by(None)
    return _of_plans(connection, _OF_JOBS.where(JUDGED, series.c.id.in_(wanted)).order_by(results.c.id.desc()))


def _of_loads(connection: Connection, load_ids: Collection[int], after: int) -> list[Outcome]:
    of_jobs = select(loads.c.id).where(loads.c.id.in_(sorted(load_ids)), loads.c.format == ModakResult.name)
    files = connection.scalars(of_jobs).all()
    chosen = _OF_JOBS.where(results.c.id > after, results.c.load_id.in_(files)).order_by(results.c.id)
    return _of_plans(connection, chosen) if files else []


def _of_plans(connection: Connection, chosen: Select[Any]) -> list[Outcome]:
    """What became of those of the chosen times of jobs that their plans predict."""
    rows = [(row, *parts) for row in connection.execute(chosen) if (parts := modak_result.parts_of(row.text))]
    predictions, found = _predictions(connection, sorted({plan for _, _, plan in rows})), []
    for row, job, plan in rows:
        figures = predictions.get(plan)
        if figures and (row.metric == WALL_TIME or row.value > figures.upper):
            nodes = None if row.nodes == UNKNOWN else row.nodes
            found.append(Outcome(job_called(job, row.file), plan, row.application, row.system, nodes, row.metric, row.value, *figures))
    return found


class _Predicted(NamedTuple):
    """What a plan predicts of the whole run, in seconds."""

    value: float
    lower: float
    upper: float
    level: float


def _predictions(connection: Connection, ids: Sequence[str]) -> Mapping[str, _Predicted]:
    """What these plans predict, by their ids, as far as they are there and predict a time."""
    chosen = select(plans.c.id, plans.c.request, plans.c.response)
    stored = (row for part in chunks(ids) for row in connection.execute(chosen.where(plans.c.id.in_(part))))
    told = ((row.id, _of_whole_run(row.request, row.response)) for row in stored)
    figures = ((plan, [found.get(name) for name in _Predicted._fields]) for plan, found in told if found.get("unit") == "s")
    return {plan: _Predicted(*known) for plan, known in figures if None not in known}


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

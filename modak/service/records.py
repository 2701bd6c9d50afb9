"""Answers of the use cases as JSON values: results, models, pages, load reports, differences, warnings about predicted rows."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from modak.errors import UnknownName
from modak.facts import Result, same_image, same_name
from modak.packaged import Difference, name_of
from modak.perfmodel import Curve
from modak.perfmodel.predict import FAR_DOUBLINGS
from modak.perfmodel.unseen import FEW
from modak.results.metrics import METRICS
from modak.store import LoadReport, Page
from modak.store.audit import Entry
from modak.store.values import Item, Judged, Replaced

if TYPE_CHECKING:
    from modak.dsl import Choice
    from modak.ingest.table import Point
    from modak.nextruns import Programme, Proposal
    from modak.perfmodel.unseen import CalibrationRuns

Json = dict[str, Any]
KEYS: Final = {"systems": "name", "images": "reference", "rules": "name"}
"""What can be listed beside models, and the field that names an item."""
NO_CALIBRATION: Final = (
    "no run of these tells the others: for that, results in another configuration have to know five or more of these applications, with "
    "the same metric and numeric parameters (params.gmacs, params.macts, …); if they know forty others, run five of those instead"
)
ALL_MEASURED: Final = (
    "what was measured elsewhere of these rows was measured on their system, too: no run is left to choose; see 'modak predict'"
)


def item_called(name: str, items: Sequence[Json], key: str, what: str) -> Json:
    """The item whose ``key`` is the name, or that has it as an alias, in any spelling that requests may use.

    Raises :class:`~modak.errors.UnknownName`.
    """
    by_name = {item[key]: item for item in items}
    by_folded_name = {same_name(other): item for item in items for other in (*item.get("aliases", ()), item[key])}
    found = by_name.get(name) or by_folded_name.get(same_name(same_image(name)))
    if found is None:
        raise UnknownName(what, name, by_name, field="name")
    return found


def report(of: LoadReport, notes: Sequence[str]) -> Json:
    """What a load changed, with further notes."""
    files = [
        {"name": file.name, "format": file.format, "sha256": file.sha256, "rows": file.rows, "new": file.new, "duplicates": file.duplicates}
        | ({"already_loaded": file.already.isoformat()} if file.already else {})
        for file in of.files
    ]
    lists = {"series": list(of.series), "suspicious": list(of.suspicious), "notes": [*of.notes, *notes], "files": files}
    return {name: value for name, value in vars(of).items() if name not in lists} | lists


def judged(outcome: str, of: Judged) -> Json:
    """What a judgement changed: the number of results, called ``outcome``, and which others look right or wrong since."""
    return {outcome: of.count, **{name: value for name, value in asdict(of).items() if name != "count"}}


def columns_of(series: Mapping[str, Any]) -> Json:
    """A series under the columns of the results table: ``params.NAME`` for each parameter."""
    rest = {name: value for name, value in series.items() if name != "params"}
    return rest | {f"params.{name}": value for name, value in series.get("params", {}).items()}


def page(of: Page[Item], shown: Callable[[Item], Json]) -> Json:
    """``items``, and ``next`` where there are more."""
    return {"items": [shown(item) for item in of.items]} | ({"next": of.next} if of.next else {})


def replaced(item: Replaced) -> Json:
    """A result that was replaced: when, by whom and from which file."""
    return {**record(item.result), "replaced_at": item.at.isoformat(), "replaced_by": item.principal, "replaced_from": item.file}


def entry(one: Entry) -> Json:
    """A line of the audit trail."""
    return {**asdict(one), "at": one.at.isoformat()}


def record(result: Result) -> Json:
    """A result in the columns of the results table; what is unknown is left out."""
    dumped = result.model_dump(mode="json", exclude_defaults=True, exclude={"series", "layout"})
    series, layout = (part.model_dump(mode="json", exclude_none=True) for part in (result.series, result.layout))
    return {**columns_of(series), **layout, **dumped}


def model(curve: Curve) -> Json:
    """A fitted curve with its id."""
    dumped = curve.model_dump(mode="json", exclude_none=True)
    return {"id": model_id(curve), "application": curve.series.application, **dumped, "results_used": curve.results_used}


def model_id(curve: Curve) -> str:
    """The id of a curve: the same for the same series, layout, ranks per GPU and scale."""
    key = f"{curve.series.model_dump_json()}{curve.layout.model_dump_json()}{curve.scale}{curve.ranks_per_gpu or ''}"
    return hashlib.sha256(key.encode()).hexdigest()[:12]


def given_cells(point: Point) -> Json:
    """The cells of a row: counts and switches as values, ``None`` for empty cells."""
    meant = point.layout.model_dump() | {name: getattr(point.series, name) for name in ("hyperthreads", "numa_mode")}
    return {name: meant.get(name, text or None) for name, text in point.cells.items()}


def difference(one: Difference, *, replace: bool) -> Json:
    """What differs between the packaged knowledge and the database; ``replace`` as in :meth:`modak.service.Service.refresh`."""
    return {
        "kind": one.kind,
        "name": one.name,
        "standing": one.standing,
        "taken": one.taken(replace=replace),
        "held": name_of(one.held.value) if one.held else None,
        "by": one.held.by if one.held else None,
        "at": one.held.at.isoformat() if one.held else None,
        "diff": _diff(one),
    }


def _diff(one: Difference) -> str:
    """The difference as a unified diff; empty if the entry is on one side only."""
    if one.packaged is None or one.held is None or one.standing == "name taken":
        return ""
    bodies = [value.model_dump(mode="json", exclude_unset=True) for value in (one.held.value, one.packaged)]
    before, after = (json.dumps(body, indent=2, ensure_ascii=False, sort_keys=True).splitlines() for body in bodies)
    named = f"{one.kind} {one.name}"
    return "\n".join(difflib.unified_diff(before, after, f"{named} in the database", f"{named} of this MODAK", lineterm=""))


def of_several(counts: Mapping[str, int], rows: int) -> list[Json]:
    """A warning for each column that so many of the rows leave open although there are results of several data sets, or values."""
    what = "name none, and there are results of several: the column model says of which one each answer is"
    return [{"field": name, "message": f"{count} of {rows} rows {what}"} for name, count in counts.items()]


def only_doubted(count: int, rows: int) -> list[Json]:
    """A warning if ``count`` rows have only doubted results of exactly their run."""
    message = f"{count} of {rows} rows have only doubted results of exactly their run, which are left out: 'modak results list --doubted'"
    return [{"field": "basis", "message": message}] if count else []


def counted_gpus(counted: Sequence[int | None]) -> list[Json]:
    """A warning for rows that give nodes but no GPUs, while results are over GPUs: how many GPUs were assumed."""
    rows = sum(count is not None for count in counted)
    numbers = ", ".join(map(str, sorted({count for count in counted if count})))
    each = f"all that a node has are counted ({numbers}); on unknown systems, the most of their results, or 1"
    message = f"{rows} of {len(counted)} rows name none, and results are over GPUs: {each}"
    return [{"field": "gpus_per_node", "message": message}] if rows else []


def counted_ranks(count: int, rows: int) -> list[Json]:
    """A warning if ``count`` rows give no ranks, while results are over ranks."""
    message = f"{count} of {rows} rows name none, and results are over ranks: one on each node is counted"
    return [{"field": "ranks_per_node", "message": message}] if count else []


def calibrated_by_few(found: Sequence[CalibrationRuns], rows: int) -> list[Json]:
    """Warnings of rows that a few runs on their system would tell better: some of the table, or of other applications."""
    known = sum(one.comparable for one in found if one.places)
    beside, others = (sum(one.others for one in found if bool(one.places) is chosen) for chosen in (True, False))
    rest = f"the rest, and {beside} rows of applications that nobody measured," if beside else "the rest"
    what = f"known on other systems, where {FEW} runs or more of some of them would tell {rest} better"
    messages = [f"{known} of {rows} rows are of applications that are {what}: 'modak results calibration' chooses these"] if known else []
    if others:
        how = f"{FEW} runs or more on their system of applications that others know would tell them better"
        messages.append(f"{others} of {rows} rows are of applications that nobody measured: {how} ('modak results calibration')")
    return [{"field": "basis", "message": message} for message in messages]


def weak_bases(rows: Sequence[Mapping[str, Any]]) -> list[Json]:
    """One warning for each weak basis among the rows, and one for those far beyond what was measured."""
    means = {
        "transferred": "from results of relatives alone",
        "heuristic": "from too few sizes to know how the program scales",
        "none": "without a prediction: no results of that application can be used",
    }
    unlike = [row["metric"] for row in rows if row["basis"] == "none" and _untold(row.get("metric"))]
    counts = {basis: sum(row["basis"] == basis for row in rows) for basis in means}
    counts["none"] -= len(unlike)
    far = sum((row["extrapolation"] or 0.0) > FAR_DOUBLINGS for row in rows)
    guesses = f"{far} of {len(rows)} rows more than {FAR_DOUBLINGS:g} doublings beyond what is measured: guesses; measure in between first"
    only = f"{len(unlike)} of {len(rows)} rows are of {', '.join(sorted(set(unlike)))}: only times and rates of work are predicted (none)"
    return [
        *([{"field": "metric", "message": only}] if unlike else []),
        *({"field": "basis", "message": f"{n} of {len(rows)} rows {means[basis]} ({basis})"} for basis, n in counts.items() if n),
        *([{"field": "extrapolation", "message": guesses}] if far else []),
    ]


def _untold(metric: str | None) -> bool:
    known = METRICS.get(metric or "")
    return known is not None and not known.tells_cost


def calibration_notes(found: Sequence[CalibrationRuns], rows: int) -> list[str]:
    """What to do with the rows to measure, what is too few, and what no other row tells."""
    chosen, alone = sum(len(one.places) for one in found), rows - sum(one.comparable for one in found)
    fewest = min(len(one.places) + one.measured for one in found if one.places)
    notes = [
        f"{chosen} of {rows} rows, in the order in which to measure them: write what you measure into 'value' and load the file with "
        "'modak load'; then 'modak predict' tells the others"
    ]
    if fewest < FEW:
        notes.append(f"nothing is predicted from fewer than {FEW} runs")
    if alone:
        what = "are of applications that were not measured elsewhere with these parameters"
        notes.append(f"{alone} of {rows} rows {what}: their parameters tell less of them")
    return notes


def programme(of: Programme) -> Json:
    """The programme as JSON. Intervals are factors; ``narrower`` is the part of today's half-width (in log time) that a run removes."""
    likely = [{**_plain(one.choice), "probability": one.probability, "nodes": list(one.nodes)} for one in of.likely]
    runs = [_plain(one.choice) | _effect(one, of.half_width) for one in of.proposals]
    total = sum(one.node_hours or 0.0 for one in of.proposals)
    interval = None if of.half_width is None else math.exp(of.half_width)
    return {"likely": likely, "interval": interval, "runs": runs, "node_hours": total, "notes": list(of.notes)}


def _plain(choice: Choice) -> Json:
    return choice.model_dump(mode="json", exclude_none=True)


def _effect(one: Proposal, today: float | None) -> Json:
    if today is None or one.step is None:
        return {}
    return {
        **_with_start(one),
        "interval_before": math.exp(one.step.before),
        "interval_after": math.exp(one.step.after),
        "narrower": (one.step.before - one.step.after) / today,
        "narrower_per_node_hour": one.step.per_node_hour / today,
    }


def _with_start(one: Proposal) -> dict[str, float]:
    """Node-hours of a proposed run, and its energy and cost where known, all with the start of its job."""
    hours, choice = one.node_hours or 0.0, one.choice
    of_run = {"energy_kwh": choice.energy_kwh, "cost": choice.cost}
    longer = hours / choice.node_hours if choice.node_hours else 1.0
    return {"node_hours": hours, **{name: figure * longer for name, figure in of_run.items() if figure is not None}}

"""Answers of the use cases as JSON values: results, models, pages, load reports, differences."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from modak.errors import NotFound, UnknownName, did_you_mean
from modak.facts import Fact, Result, canonical_image, canonical_name
from modak.facts.results import FLAGS, NUMBERS
from modak.packaged import Difference, name_of
from modak.perfmodel import Curve
from modak.store import LoadReport, Page
from modak.store.audit import Entry
from modak.store.outcomes import OUTCOMES, Outcome
from modak.store.values import Item, JudgementReport, ReplacedResult
from modak.text.documents import Json

if TYPE_CHECKING:
    from modak.ingest.table import Point

KEYS: Final = {"systems": "name", "images": "reference", "rules": "name"}
"""What can be listed beside models, and the field that names an item."""


def known(item: Fact) -> Json:
    """A system, an image or a rule as its file says it."""
    return item.model_dump(mode="json", exclude_unset=True)


def item_called(name: str, items: Sequence[Json], key: str, what: str) -> Json:
    """The item whose ``key`` is the name, or that has it as an alias, in any spelling that requests may use.

    Raises :class:`~modak.errors.UnknownName`.
    """
    by_name = {item[key]: item for item in items}
    by_folded_name = {canonical_name(other): item for item in items for other in (*item.get("aliases", ()), item[key])}
    found = by_name.get(name) or by_folded_name.get(canonical_name(canonical_image(name)))
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


def outcomes(found: Sequence[Outcome], limit: int) -> Json:
    """The first of the predictions beside the times of their jobs, and figures of all: how many times are ``within`` the interval, or
    ``longer`` or ``shorter``, and the median of the absolute error as a fraction of the time (``None``: no job ended)."""
    counts = Counter(one.outcome for one in found)
    errors = [abs(one.predicted - one.time) / one.time for one in found if not one.stopped]
    shown = [
        {"job": one.job, "plan": one.plan, "application": one.application, "system": one.system, "nodes": one.nodes}
        | {"seconds": one.time, "stopped": one.stopped, "predicted": one.predicted}
        | {"lower": one.lower, "upper": one.upper, "level": one.level, "outcome": one.outcome}
        for one in found[:limit]
    ]
    figures = {outcome: counts[outcome] for outcome in OUTCOMES}
    return {"items": shown, "jobs": len(found), **figures, "median_error": median(errors) if errors else None}


def judged(outcome: str, of: JudgementReport) -> Json:
    """What a judgement changed: the number of results, called ``outcome``, and which others look right or wrong since."""
    return {outcome: of.count, **{name: value for name, value in asdict(of).items() if name != "count"}}


def columns_of(series: Mapping[str, Any]) -> Json:
    """A series under the columns of the results table: ``params.NAME`` for each parameter."""
    rest = {name: value for name, value in series.items() if name != "params"}
    return rest | {f"params.{name}": value for name, value in series.get("params", {}).items()}


def page(of: Page[Item], shown: Callable[[Item], Json]) -> Json:
    """``items``, and ``next`` where there are more."""
    return {"items": [shown(item) for item in of.items]} | ({"next": of.next} if of.next else {})


def replaced(item: ReplacedResult) -> Json:
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
    return {"id": curve.name, "application": curve.series.application, **dumped, "results_used": curve.results_used}


def no_model(model_id: str, field: str) -> NotFound:
    """The error for an id that no curve has."""
    return NotFound(f"no model has the id {model_id[:80]!a} ('modak models list' shows them)", field=field)


def no_model_of(application: str, known: Collection[str]) -> NotFound:
    """The error for an application that has no model, with the one that may be meant among the ``known`` ones."""
    meant = f"{did_you_mean(application, sorted({*known} - {application}))} 'modak models list' shows all models"
    return NotFound(f"no results of {application!r} from which a model can be fitted{meant}", field="application")


def given_cells(point: Point) -> Json:
    """The cells of a row: counts and switches as values, ``None`` for empty cells."""
    meant = point.layout.model_dump() | {name: getattr(point.series, name) for name in (*FLAGS, *NUMBERS)}
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

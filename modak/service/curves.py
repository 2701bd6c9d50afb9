"""Questions about fitted curves: how good they are at sizes that are hidden, and the lines of a plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from modak.choosing.requirements import graph_compilers
from modak.errors import NotFound, RequestError, UnknownName, spelt_otherwise
from modak.facts import System, canonical_name, canonical_text, other_spellings
from modak.perfmodel import Curve
from modak.service import records
from modak.store import Store
from modak.text.amounts import counted
from modak.text.documents import Json

if TYPE_CHECKING:
    from modak.prepared import Prepared


def accuracy(
    store: Store, facts: Prepared, holdout: str, application: str | None, system: str | None, level: float, go_on: Callable[[], None]
) -> Json:
    """See :meth:`modak.service.Service.evaluate`."""
    from modak.perfmodel.validation.holdout import cross_validate, least_sizes

    try:
        least_sizes(holdout)
    except ValueError as error:
        raise RequestError(str(error), field="holdout") from None
    curves, notes = _of_application(store, application)
    judged = {id(curve) for curve in _of_system(curves, system, facts.systems)}
    try:
        report = cross_validate(curves, holdout, level, lambda curve: id(curve) in judged, go_on)
    except ValueError as error:
        raise NotFound(str(error), field="holdout") from None
    return {**report.as_json(), "notes": notes}


def lines(
    store: Store, facts: Prepared, models: Sequence[str], application: str | None, system: str | None, level: float, most: int
) -> Json:
    """See :meth:`modak.service.Service.lines`."""
    from modak.perfmodel.plotlines import in_pictures, plot_lines, title

    if models and (application, system) != (None, None):
        raise RequestError("ids of models name what is drawn: give no application or system beside them", field="model")
    if models:
        named = [(identity, store.model(identity)) for identity in models]
        chosen = [curve for _, curve in named if curve is not None]
        if len(chosen) < len(named):
            raise records.no_model(next(identity for identity, curve in named if curve is None), "model")
        notes: list[str] = []
    else:
        every, notes = _of_application(store, application)
        chosen = _of_system(every, system, facts.systems)
    (metric, scale), shown = next(iter(in_pictures(chosen, all_sizes=bool(models)).items()))
    if len(shown) < len(chosen):
        left_out = counted(len(chosen) - len(shown), "curve")
        notes.append(f"not drawn: {left_out} with one size only, or not of {metric} over {scale}; give their MODEL_ID to draw them")
    applications = sorted({curve.series.application for curve in shown})
    known = [curve for name in applications for curve in store.models(name)]
    failed = facts.with_own_names(store.failed(*applications))
    drawn = plot_lines(shown[:most], known, level, graph_compilers(), failed)
    told = {"title": title(shown), "level": level, "curves": len(shown), "notes": notes}
    lines = [{name: list(value) if isinstance(value, tuple) else value for name, value in asdict(line).items()} for line in drawn]
    return told | {"lines": lines}


def _of_application(store: Store, application: str | None) -> tuple[list[Curve], list[str]]:
    """The curves of an application, or of all; and a note if they are those of another spelling."""
    if application is None:
        return list(store.models()), []
    name = canonical_text(application.strip())
    if curves := store.models(name):
        return list(curves), []
    known = store.applications()
    other = other_spellings([name], known).get(name)
    if other and (curves := store.models(other)):
        return list(curves), [spelt_otherwise(name, other)]
    raise records.no_model_of(name, known)


def _of_system(curves: Sequence[Curve], system: str | None, systems: Mapping[str, System]) -> list[Curve]:
    """The curves of a system by any of its names, or all."""
    if system is None:
        return list(curves)
    wanted = canonical_name(system)
    each = (frozenset(map(canonical_name, (one.name, *one.aliases))) for one in systems.values())
    names = next((own for own in each if wanted in own), {wanted})
    kept = [curve for curve in curves if canonical_name(curve.series.system) in names]
    if not kept:
        raise UnknownName("system", system, {curve.series.system for curve in curves if curve.series.system}, field="system")
    return kept

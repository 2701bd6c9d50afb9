"""How good the models are, and what they look like: models evaluate, models plot."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from modak.cli import common, show
from modak.errors import ModakError, NotFound, UnknownName
from modak.text.amounts import counted, either_way, percent, share

if TYPE_CHECKING:
    from modak.facts import Failed
    from modak.perfmodel import Curve
    from modak.perfmodel.holdout import Accuracy, Proof

Level = Annotated[float, typer.Option(help="Probability that an interval contains the next run's value.")]

FIGURES: Final = ("model", "median error", "p90 error", "off by > 100%", "size that keeps 75%", "in interval", "interval")
BINS: Final = ("doublings beyond", "predictions", "interval", "in interval", "median error")


def evaluate(
    holdout: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What to hide: the largest sizes (largest:2, largest:1), every inner size (each) or every problem size (problem) in turn.",
        ),
    ] = "largest:2",
    application: common.Application = None,
    system: common.System = None,
    level: Level = 0.9,
    as_json: common.AsJson = False,
) -> None:
    """Cross-validate the models on your own results. Errors of other models are shown for comparison.

    Example: modak models evaluate --application solver --holdout largest:1
    """
    from modak.perfmodel.holdout import least_sizes, prove

    common.check_level(level)
    try:
        least_sizes(holdout)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--holdout") from None
    curves = list(_curves(application).values())
    judged = {id(curve) for curve in _of_system(curves, system)}
    with show.progress("evaluating"):
        try:
            proof = prove(curves, holdout, level, lambda curve: id(curve) in judged)
        except ValueError as error:
            raise NotFound(str(error), field="--holdout") from None
    if as_json:
        show.document(proof.as_json())
    else:
        _proof(proof)


def plot(
    models: Annotated[list[str] | None, typer.Argument(metavar="MODEL_ID", help="Ids of models, as in 'modak models list'.")] = None,
    application: common.Application = None,
    system: common.System = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the plot to this file, which ends in .png or .svg.")
    ] = None,
    level: Level = 0.9,
    as_json: common.AsJson = False,
) -> None:
    """Plot scaling curves. Shows measured points, the model with its interval, and perfect scaling.

    Example: modak models plot --application solver -o solver.svg
    """
    from modak import plotting
    from modak.choosing.wishes import graph_compilers
    from modak.perfmodel.lines import plot_lines, title

    common.check_level(level)
    kind = output.suffix[1:].lower() if output else None
    if not models and application is None:
        raise typer.BadParameter("give a MODEL_ID (see 'modak models list') or --application")
    if kind not in plotting.FORMATS and not (as_json and output is None):
        raise typer.BadParameter("a FILE that ends in .png or .svg, or --json for the data", param_hint="--output")
    known = _curves(application)
    chosen = _named(known, models) if models else _several(_of_system(list(known.values()), system))
    applications = {curve.series.application for curve in chosen}
    relatives = [curve for curve in known.values() if curve.series.application in applications]
    shown = chosen if as_json else chosen[: plotting.MOST]
    drawn = plot_lines(shown, relatives, level, graph_compilers(), list(_stopped(applications)))
    if output is not None and kind is not None:
        _write(output, plotting.picture(drawn[: plotting.MOST], kind, title(chosen), level))
        if len(chosen) > plotting.MOST:
            show.note(f"{len(chosen)} curves; {plotting.FEW}")
    if as_json:
        show.document({"title": title(chosen), "level": level, "lines": [asdict(line) for line in drawn]})
    else:
        typer.echo(f"{counted(len(drawn), 'curve')} drawn to {output}")


def _curves(application: str | None) -> dict[str, Curve]:
    """Fitted curves by id: from the database, or from the service that is set."""
    from modak.errors import spelt_otherwise
    from modak.facts import other_spellings, same_text
    from modak.perfmodel.curves import fitted

    application = None if application is None else same_text(application.strip())
    served = bool(common.settings().server)
    found = {item["id"]: _listed(item) for item in common.client().listing("models")} if served else common.local().curves(application)
    kept = {identity: curve for identity, curve in found.items() if application in (None, curve.series.application)}
    if application is not None and not kept:
        known = {curve.series.application for curve in found.values()} if served else common.local().store.applications()
        if other := other_spellings([application], known).get(application):
            show.note(spelt_otherwise(application, other))
            return _curves(other)
        raise common.no_model_of(application, known)
    return dict(zip(kept, fitted(list(kept.values())), strict=True)) if served else kept


def _stopped(applications: Collection[str]) -> Iterator[Failed]:
    """The runs of applications that were stopped: from the database, or from the service that is set."""
    from modak.facts import Failed, Layout, SeriesKey, same_name
    from modak.results.failures import STOPPED
    from modak.results.filters import PARAMETER

    own = common.own_names()
    for application in sorted(applications):
        for item in common.every_result({"application": application, "metric": STOPPED}):
            if item.get("suspect"):
                continue
            series = {name: item[name] for name in SeriesKey.model_fields if name in item}
            if system := item.get("system"):
                series["system"] = own.get(same_name(system), system)  # that of its curve
            params = {name.removeprefix(PARAMETER): text for name, text in item.items() if name.startswith(PARAMETER)}
            layout = Layout(**{name: item[name] for name in Layout.model_fields if name in item})
            yield Failed(series=SeriesKey(**series, params=params), layout=layout, count=1, longest_s=item["value"])


def _listed(item: Mapping[str, Any]) -> Curve:
    """The curve in an item of a list of models, without its fit: the service's may be that of another version."""
    from modak.perfmodel import Curve

    return common.answered(Curve, {name: item[name] for name in Curve.model_fields.keys() - {"mixture"} if name in item})


def _names_of(system: str) -> frozenset[str]:
    """All names of a system, folded, by one of them."""
    from modak.facts import same_name

    try:
        known = common.client().item("systems", system)
    except ModakError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return frozenset((same_name(system),))
    return frozenset(map(same_name, (known["name"], *known.get("aliases", ()))))


def _of_system(curves: Sequence[Curve], system: str | None) -> list[Curve]:
    from modak.facts import same_name

    if system is None:
        return list(curves)
    names = _names_of(system)
    kept = [curve for curve in curves if same_name(curve.series.system) in names]
    if not kept:
        raise UnknownName("system", system, {curve.series.system for curve in curves if curve.series.system}, field="--system")
    return kept


def _named(known: Mapping[str, Curve], wanted: Sequence[str]) -> list[Curve]:
    from modak.service.records import no_model

    for identity in wanted:
        if identity not in known:
            raise no_model(identity, "MODEL_ID")
    return _several([known[identity] for identity in wanted], all_sizes=True)


def _several(curves: Sequence[Curve], *, all_sizes: bool = False) -> list[Curve]:
    """The curves of the picture with the most sizes."""
    from modak.perfmodel.lines import in_pictures

    (metric, scale), kept = next(iter(in_pictures(curves, all_sizes=all_sizes).items()))
    if len(kept) < len(curves):
        show.note(
            f"not drawn: {counted(len(curves) - len(kept), 'curve')} with one size only, or not of {metric} over {scale}; "
            "give their MODEL_ID to draw them"
        )
    return kept


def _write(path: Path, content: bytes) -> None:
    from modak.files import replacing

    with replacing(path) as stream:
        stream.buffer.write(content)


def _proof(proof: Proof) -> None:
    from modak.perfmodel.predict import FAR_DOUBLINGS

    typer.echo(show.folded(_hidden(proof), "", "  "))
    if proof.far:
        beyond = f"more than {FAR_DOUBLINGS:g} doublings beyond what is shown"
        typer.echo(f"warning: {counted(proof.far, 'prediction')} {beyond}: a guess each", err=True)
    typer.echo(show.folded("errors: absolute, relative to the measured cost (seconds, or the inverse of a throughput)", "", "  "))
    typer.echo(show.folded("size that keeps 75%: how often the largest size with 75% of the smallest size's efficiency is found", "", "  "))
    typer.echo()
    show.table(FIGURES, [_figures(model) for model in proof.models])
    for model in proof.models:
        if model.bins:
            typer.echo()
            show.heading(f"{percent(proof.level)} intervals: {model.name}")
            show.table(BINS, [(b.name, b.count, either_way(b.median_width), share(b.coverage), share(b.median_error)) for b in model.bins])


def _hidden(proof: Proof) -> str:
    from modak.perfmodel.holdout import PROBLEM

    done = f"{counted(proof.series, 'curve')}, {counted(proof.predictions, 'prediction')}"
    if proof.holdout == PROBLEM:
        left_out = f"; {proof.left_out} without a trend over their problem size left out" if proof.left_out else ""
        return f"hidden: each problem size in turn, on all systems and in all layouts: {done}{left_out}"
    largest = proof.holdout.partition(":")[2]
    hidden = f"the largest {counted(int(largest), 'size')}" if largest else "each inner size in turn"
    return f"hidden: {hidden} of {done}" + (f"; {proof.left_out} with too few sizes left out" if proof.left_out else "")


def _figures(model: Accuracy) -> tuple[Any, ...]:
    errors, held = model.errors, model.coverage
    interval = (share(held.overall), either_way(held.median_width)) if held else (None, None)
    return (model.name, share(errors.median), share(errors.p90), share(errors.off_by_double), share(model.decisions), *interval)

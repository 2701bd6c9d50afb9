"""How good the models are, and what they look like: models evaluate, models plot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from modak.cli import common, show
from modak.text.amounts import counted, either_way, percent, share

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
    from modak.perfmodel.validation.holdout import least_sizes

    common.check_level(level)
    try:
        least_sizes(holdout)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--holdout") from None
    with show.progress("evaluating"):
        report = common.client().evaluate(holdout=holdout, application=application, system=system, level=level)
    if as_json:
        show.document(report)
    else:
        show.note(*report["notes"])
        _print_report(report)


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
    from modak.perfmodel.plotlines import PlotLine
    from modak.service.service import MOST_LINES

    common.check_level(level)
    kind = output.suffix[1:].lower() if output else None
    if not models and application is None:
        raise typer.BadParameter("give a MODEL_ID (see 'modak models list') or --application")
    if kind not in plotting.FORMATS and not (as_json and output is None):
        raise typer.BadParameter("a FILE that ends in .png or .svg, or --json for the data", param_hint="--output")
    most = MOST_LINES if as_json else plotting.MOST
    drawn = common.client().lines(models or (), application, system, level=level, most=most)
    if output is not None and kind is not None:
        lines = [PlotLine(**{name: line[name] for name in PlotLine.__dataclass_fields__}) for line in drawn["lines"][: plotting.MOST]]
        _write(output, plotting.picture(lines, kind, drawn["title"], level))
        if drawn["curves"] > plotting.MOST:
            show.note(f"{drawn['curves']} curves; {plotting.FEW}")
    if as_json:
        show.document(drawn)
    else:
        show.note(*drawn["notes"])
        typer.echo(f"{counted(len(drawn['lines']), 'curve')} drawn to {output}")


def _write(path: Path, content: bytes) -> None:
    from modak.files import atomic_write

    with atomic_write(path) as stream:
        stream.buffer.write(content)


def _print_report(report: Mapping[str, Any]) -> None:
    from modak.perfmodel.predict import FAR_DOUBLINGS

    typer.echo(show.folded(_hidden(report), "", "  "))
    if report["far"]:
        beyond = f"more than {FAR_DOUBLINGS:g} doublings beyond what is shown"
        typer.echo(f"warning: {counted(report['far'], 'prediction')} {beyond}: a guess each", err=True)
    typer.echo(show.folded("errors: absolute, relative to the measured cost (seconds, or the inverse of a throughput)", "", "  "))
    typer.echo(show.folded("size that keeps 75%: how often the largest size with 75% of the smallest size's efficiency is found", "", "  "))
    typer.echo()
    show.table(FIGURES, [_figures(model) for model in report["models"]])
    for model in report["models"]:
        if model["bins"]:
            typer.echo()
            show.heading(f"{percent(report['level'])} intervals: {model['name']}")
            show.table(BINS, [_bin(one) for one in model["bins"]])


def _hidden(report: Mapping[str, Any]) -> str:
    from modak.perfmodel.validation.holdout import PROBLEM

    done, left_out = f"{counted(report['series'], 'curve')}, {counted(report['predictions'], 'prediction')}", report["left_out"]
    if report["holdout"] == PROBLEM:
        rest = f"; {left_out} without a trend over their problem size left out" if left_out else ""
        return f"hidden: each problem size in turn, on all systems and in all layouts: {done}{rest}"
    largest = report["holdout"].partition(":")[2]
    hidden = f"the largest {counted(int(largest), 'size')}" if largest else "each inner size in turn"
    return f"hidden: {hidden} of {done}" + (f"; {left_out} with too few sizes left out" if left_out else "")


def _figures(model: Mapping[str, Any]) -> tuple[Any, ...]:
    errors, held = model["errors"], model["coverage"]
    interval = (share(held["overall"]), either_way(held["median_width"])) if held else (None, None)
    return (model["name"], *(share(errors[name]) for name in ("median", "p90", "off_by_double")), share(model["decisions"]), *interval)


def _bin(one: Mapping[str, Any]) -> tuple[Any, ...]:
    return (one["name"], one["count"], either_way(one["median_width"]), share(one["coverage"]), share(one["median_error"]))

"""Measured results: load, and results list, confirm, doubt, compare, export."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from modak.amounts import counted
from modak.cli import common, show
from modak.errors import DataError, RequestError, unknown
from modak.numbering import LARGEST, Selection

app = typer.Typer(help="Look at measured results, or take them out.", no_args_is_help=True, rich_markup_mode=None)

Application = Annotated[str | None, typer.Option(help="Only this application.")]
System = Annotated[str | None, typer.Option(help="Only this system.")]
Metric = Annotated[str | None, typer.Option(help="Only this metric.")]
Where = Annotated[
    list[str] | None, typer.Option("--where", metavar="COLUMN=TEXT", help="Only rows with this text in a column; may be repeated.")
]
SERIES_SHOWN = 10
HISTORY = ("replaced_at", "replaced_by", "replaced_from")
LISTED = (
    "id",
    "application",
    "dataset",
    "framework",
    "system",
    "nodes",
    "ranks_per_node",
    "threads_per_rank",
    "gpus_per_node",
    "metric",
    "value",
    "unit",
    "suspect",
)


def load(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders, or - for standard input.")],
    format_: Annotated[str | None, typer.Option("--format", help="The format, where it is not to be recognised.")] = None,
    map_: Annotated[list[str] | None, typer.Option("--map", metavar="OLD=NEW", help="Rename a column; an empty NEW leaves it out.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="COLUMN=VALUE", help="Fill the empty cells of a column.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="A row takes the place of those of the same run with another value; they stay as history.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, and change nothing.")] = False,
    as_json: common.AsJson = False,
) -> None:
    """Load results. All rows or none; rows that are there already are counted and left out."""
    from modak.ingest.reading import incoming, parse_pairs
    from modak.ingest.table import Options

    options = Options(parse_pairs(map_ or (), "--map"), parse_pairs(set_ or (), "--set"), format_)
    with show.bar("loading") as progress:
        report = common.client().load(incoming(paths, options, sys.stdin.buffer), dry_run=dry_run, replace=replace, progress=progress)
    if as_json:
        show.document(report)
        return
    told = f"{report['rows']} rows read, {report['new']} new, {report['duplicates']} there already, {report['suspicious_count']} suspicious"
    told += f", {report['replaced']} replaced" if report["replaced"] else ""
    typer.echo(f"{told} (dry run: nothing stored)" if dry_run else told)
    _changed(report)
    for file in report["files"]:
        if "already_loaded" in file:
            show.note(f"{file['name']}: loaded already on {file['already_loaded'][:19].replace('T', ' at ')}")
    for note in (*report["notes"], *report["suspicious"]):
        show.note(note)
    if report["suspicious_count"]:
        typer.echo("note: no model rests on suspicious results until 'modak results confirm NUMBER' says that they are right", err=True)


def _changed(report: Mapping[str, Any]) -> None:
    """The series that changed, and what follows from that."""
    count = report["series_count"]
    if not count:
        return
    typer.echo(f"{count} series changed, {report['models']} fitted models rest on them; the next use fits them anew:")
    for label in report["series"][:SERIES_SHOWN]:
        typer.echo(f"- {label}")
    if count > SERIES_SHOWN:
        typer.echo(f"- and {count - SERIES_SHOWN} more")


@app.command("list")
def list_(
    application: Application = None,
    system: System = None,
    metric: Metric = None,
    where: Where = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most rows.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Go on after an earlier page, where its last line says so.")] = None,
    used_by: Annotated[str | None, typer.Option("--used-by", metavar="PLAN", help="The results that a plan's prediction rests on.")] = None,
    replaced: Annotated[
        bool, typer.Option("--replaced", help="The results whose place others took: when, by whom, from which file.")
    ] = False,
    as_json: common.AsJson = False,
) -> None:
    """Show results."""
    filters = _filters(application, system, metric, where)
    if used_by is not None:
        page = common.client().used_by(used_by, limit=limit, cursor=cursor)
    elif replaced:
        page = common.client().replaced(filters, limit=limit, cursor=cursor)
    else:
        page = common.client().results(filters, limit=limit, cursor=cursor)
    if as_json:
        show.document(page)
        return
    columns = (*LISTED, *(HISTORY if replaced else ()))
    show.table(columns, [[item.get(name) for name in columns] for item in page["items"]])
    if "next" in page:
        typer.echo(f"note: more than {limit} rows; --cursor {page['next']} goes on", err=True)


Numbers = Annotated[
    list[int] | None,
    typer.Argument(min=1, max=LARGEST, metavar="NUMBER", help="Numbers of results, as 'results list' shows them under id."),
]
File = Annotated[str | None, typer.Option("--file", metavar="NAME", help="Instead of numbers: all that was new in the file of that name.")]


@app.command()
def confirm(numbers: Numbers = None, file: File = None) -> None:
    """Say that doubted results are right. Models rest on them from now on."""
    chosen = _chosen(numbers, file)
    typer.echo(f"{_told(common.client().confirm(chosen), chosen)} had been doubted and are used from now on")


@app.command()
def doubt(
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, as 'results list' shows it.")],
    numbers: Numbers = None,
    file: File = None,
) -> None:
    """Say that results are wrong. No model rests on them until they are confirmed."""
    chosen = _chosen(numbers, file)
    typer.echo(f"{_told(common.client().doubt(chosen, why), chosen)} are not used from now on")


def _chosen(numbers: Sequence[int] | None, file: str | None) -> Selection:
    if (not numbers) == (file is None):
        raise typer.BadParameter("give numbers of results, or --file with the name of the file that they came in")
    return numbers or file or ()


def _told(count: int, chosen: Selection) -> str:
    return f"{counted(count, 'result')} of {chosen}" if isinstance(chosen, str) else f"{count} of {len(chosen)} results"


@app.command()
def compare(
    by: Annotated[str, typer.Argument(metavar="COLUMN", help="system, framework_version, compiler, … or params.NAME.")],
    values: Annotated[list[str] | None, typer.Argument(metavar="VALUE", help="Only these, against the first; not given: all.")] = None,
    application: Application = None,
    system: System = None,
    metric: Metric = None,
    where: Where = None,
    as_json: common.AsJson = False,
) -> None:
    """Put results side by side that differ in one column. Ratio, and whether the difference exceeds the noise of repeats."""
    from modak.comparison import compare as compared

    _check_column(by)
    pairs = compared(_every(_filters(application, system, metric, where)), by, values or ())
    if not pairs:
        raise DataError("no results differ in this column alone", field=by)
    if as_json:
        show.document([asdict(pair) for pair in pairs])
        return
    differ = [
        name for name in dict.fromkeys(name for pair in pairs for name in pair.equal) if len({pair.equal.get(name) for pair in pairs}) > 1
    ]
    fixed = {name: value for name, value in pairs[0].equal.items() if name not in differ}
    typer.echo(", ".join(f"{name} {value}" for name, value in fixed.items()))
    words = {True: "yes", False: "no", None: "not known"}
    show.table(
        (*differ, by, "against", "median", "against it", "runs", "ratio", "better", "beyond noise"),
        [
            (
                *(p.equal.get(n) for n in differ),
                p.other,
                p.one,
                p.medians[1],
                p.medians[0],
                f"{p.counts[1]}/{p.counts[0]}",
                p.ratio,
                p.better,
                words[p.beyond_noise],
            )
            for p in pairs
        ],
    )


def _check_column(name: str) -> None:
    from modak.ingest.columns import COLUMNS

    if not name.startswith("params.") and (name not in COLUMNS or name in ("value", "metric", "unit", "repeat", "source", "suspect")):
        raise RequestError(unknown("column", name, [*COLUMNS[:20], "params.NAME"]), field="COLUMN")


def _every(filters: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """All results, page after page."""
    client, cursor = common.client(), None
    while True:
        page = client.results(filters, limit=1000, cursor=cursor)
        yield from page["items"]
        cursor = page.get("next")
        if cursor is None:
            return


@app.command()
def export(
    application: Application = None,
    system: System = None,
    metric: Metric = None,
    where: Where = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the table there.")] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="csv, json or extrap; not given: json where FILE ends so, else csv.")
    ] = None,
) -> None:
    """Write results as CSV, as JSON or for Extra-P. In base units; loaded again, CSV and JSON are the same rows."""
    from modak.cli.files import replacing
    from modak.ingest.csv import write_csv
    from modak.ingest.writing import write_extrap, write_json

    chosen = format_ or ("json" if output is not None and output.suffix == ".json" else "csv")
    writers = {"json": write_json, "extrap": write_extrap}
    if chosen not in ("csv", *writers):
        raise RequestError(unknown("format", chosen, ("csv", *writers)), field="--format")
    columns, rows = common.client().export(_filters(application, system, metric, where))

    def write(stream: TextIO) -> int:
        return write_csv(rows, stream, columns) if chosen == "csv" else writers[chosen](rows, stream)

    if output is None:
        write(sys.stdout)
        return
    with replacing(output) as stream:
        count = write(stream)
    typer.echo(f"{count} rows written to {output}")


def _filters(application: str | None, system: str | None, metric: str | None, where: list[str] | None) -> dict[str, str]:
    from modak.ingest.reading import parse_pairs

    named = {"application": application, "system": system, "metric": metric}
    return parse_pairs(where or (), "--where") | {name: text for name, text in named.items() if text is not None}

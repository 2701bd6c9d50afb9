"""Measured results: load, and results list, confirm, doubt, unmark, compare, export."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer

from modak.cli import common, show
from modak.errors import RequestError, unknown
from modak.text import listings
from modak.text.amounts import counted
from modak.text.numbering import LARGEST, Measured, Selection

if TYPE_CHECKING:
    from modak.store.suspects import Judgement

app = common.group("Show, export, compare and correct measured results.")

Metric = Annotated[str | None, typer.Option(help="Only this metric.")]
Where = Annotated[
    list[str] | None, typer.Option("--where", metavar="COLUMN=TEXT", help="Only rows with this text in a column; may be repeated.")
]
SERIES_SHOWN: Final = 10
OTHERS_SHOWN: Final = 10
FILES_SHOWN: Final = 5
"""Files that were loaded before, of which a nightly load of a whole folder has more and more."""
NOT_DOUBTED: Final = "no load doubts the rest, but rows that their own file marks stay out"
HISTORY: Final = ("replaced_at", "replaced_by", "replaced_from")


def load(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders, or - for standard input.")],
    format_: Annotated[str | None, typer.Option("--format", help="Format of the files, instead of recognising it.")] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="OLD=NEW", help="Rename a column; an empty NEW drops it, '*=' all that are not known; may be repeated."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="COLUMN=VALUE", help="Fill the empty cells of a column; may be repeated.")
    ] = None,
    wide: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Columns named after sizes or runs ('1 node', 'run 1') hold the values; COLUMN gets their numbers."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace rows of the same run or the same file; they are kept as history.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, but store nothing.")] = False,
    as_json: common.AsJson = False,
) -> None:
    """Load results: all rows or none. Duplicates are counted and skipped. 'modak results doubt --file NAME' undoes it.

    Example: modak load results.csv --set system=my-cluster --dry-run
    """
    from modak.ingest.options import options_of
    from modak.ingest.reading import incoming

    options = options_of(common.pairs(map_, "--map"), common.pairs(set_, "--set"), format_, wide)
    with show.loading_bar() as progress:
        report = common.client().load(incoming(paths, options, sys.stdin.buffer), dry_run=dry_run, replace=replace, progress=progress)
    if as_json:
        show.document(report)
    else:
        _show_report(report, dry_run=dry_run)


def _show_report(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """What loading has changed, and what should be known of the rows."""
    read, doubtful = counted(report["rows"], "row"), report["suspicious_count"]
    summary = f"{read} read, {report['new']} new, {report['duplicates']} there already, {doubtful} suspicious"
    summary += f", {report['replaced']} replaced" if report["replaced"] else ""
    typer.echo(f"{summary} (dry run: nothing stored)" if dry_run else summary)
    _changed(report)
    already = [file for file in report["files"] if "already_loaded" in file]
    for file in already[:FILES_SHOWN]:
        show.note(f"{file['name']}: loaded already on {file['already_loaded'][:19].replace('T', ' at ')}")
    if len(already) > FILES_SHOWN:
        show.note(f"files that were loaded already, in all: {len(already)}")
    show.note(*report["notes"], *report["suspicious"])
    if report["suspicious_count"]:
        show.note(
            "no model rests on suspicious results until 'modak results confirm NUMBER' says that they are right; those that their own file "
            "marks in 'suspect' stay out until it is loaded without the mark, with --replace"
        )


def _changed(report: Mapping[str, Any]) -> None:
    """Print the series that changed, and how many models depend on them."""
    count = report["series_count"]
    if not count:
        return
    rest = f", on which {counted(report['models'], 'fitted model')} rested" if report["models"] else ""
    typer.echo(f"{count} series changed{rest}; predictions take that into account from now on:")
    for label in report["series"][:SERIES_SHOWN]:
        typer.echo(f"- {label}")
    if count > SERIES_SHOWN:
        typer.echo(f"- and {count - SERIES_SHOWN} more")


@app.command("list")
def list_(
    application: common.Application = None,
    system: common.System = None,
    metric: Metric = None,
    where: Where = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of rows.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue after an earlier page, whose last line gives the cursor.")] = None,
    used_by: Annotated[
        str | None, typer.Option("--used-by", metavar="PLAN", help="Only results that a plan's prediction is based on.")
    ] = None,
    replaced: Annotated[bool, typer.Option("--replaced", help="Results that were replaced: when, by whom, from which file.")] = False,
    doubted: Annotated[bool, typer.Option("--doubted", help="Only results that no model uses until they are confirmed.")] = False,
    as_json: common.AsJson = False,
) -> None:
    """Show results.

    Example: modak results list --application solver --where params.cells=8000
    """
    filters = _filters(application, system, metric, where)
    if used_by is not None:
        if filters or replaced or doubted:
            raise typer.BadParameter("cannot be combined with other filters", param_hint="--used-by")
        page = common.client().used_by(used_by, limit=limit, cursor=cursor)
    elif replaced:
        if doubted:
            raise typer.BadParameter("cannot be combined with --doubted", param_hint="--replaced")
        page = common.client().replaced(filters, limit=limit, cursor=cursor)
    else:
        page = common.client().results(filters, limit=limit, cursor=cursor, doubted=doubted)
    if as_json:
        show.document(page)
        return
    if page["items"]:
        show.table(*listings.results(page["items"], HISTORY if replaced else ("source",) if used_by else ()))
    elif cursor is None:
        show.note(_none_of(filters, "replaced results" if replaced else "doubted results" if doubted else "results"))
    if "next" in page:
        show.note(f"there are more rows: --cursor {page['next']} shows the next ones")


Numbers = Annotated[
    list[int] | None,
    typer.Argument(min=1, max=LARGEST, metavar="NUMBER", help="Numbers of results: the column id of 'results list'."),
]
File = Annotated[
    str | None, typer.Option("--file", metavar="NAME", help="Instead of numbers: all rows that were new in the file of this name.")
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Instead of numbers: all results measured since this date (UTC) or instant (ISO 8601 with an offset)."
    ),
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="With --since: up to the end of this date (UTC), or before this instant.")]
Among = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="COLUMN=TEXT", help="With --since: only results with this text in a column; may be repeated."),
]


@app.command()
def confirm(numbers: Numbers = None, file: File = None, since: Since = None, until: Until = None, where: Among = None) -> None:
    """Mark doubted results as right. The models use them from now on."""
    _judge("confirm", _chosen(numbers, file, since, until, where), "had been doubted and are used from now on", NOT_DOUBTED)


@app.command()
def doubt(
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason; 'results list' shows it.")],
    numbers: Numbers = None,
    file: File = None,
    since: Since = None,
    until: Until = None,
    where: Among = None,
) -> None:
    """Mark results as wrong. The models do not use them until they are confirmed.

    Example: modak results doubt 12 13 --why 'wrong clock'

    To undo a load: modak results doubt --file march.csv --why 'wrong file'
    """
    _judge("doubt", _chosen(numbers, file, since, until, where), "are not used from now on", "the rest was not used before", why)


@app.command()
def unmark(numbers: Numbers = None, file: File = None, since: Since = None, until: Until = None, where: Among = None) -> None:
    """Take back 'confirm' and 'doubt'. Loading judges these results like all others again."""
    _judge(
        "unmark",
        _chosen(numbers, file, since, until, where),
        "are judged like all others again",
        "nobody had confirmed or doubted the rest",
    )


def _judge(judgement: Judgement, chosen: Selection, what: str, rest: str, why: str = "") -> None:
    """Judge results. Print how many were changed (``what``), what is true of the ``rest``, and what that changes for others."""
    judged = common.client().judge(judgement, chosen, why)
    typer.echo(_outcome(judged[f"{judgement}ed"], judged.get("loads", 0), chosen, what, rest))
    _others(judged)


def _chosen(
    numbers: Sequence[int] | None, file: str | None, since: str | None, until: str | None, where: Sequence[str] | None
) -> Selection:
    if [bool(numbers), file is not None, since is not None].count(True) != 1:
        ways = "numbers of results, --file with the name of the file that they came in, or --since with the time of the first"
        raise typer.BadParameter(f"give one of these: {ways}")
    if since is not None:
        return Measured(since, until, common.pairs(where, "--where"))
    if until is not None or where:
        raise typer.BadParameter("needs --since", param_hint="--until" if until is not None else "--where")
    from modak.ingest.sources import path_text

    return numbers or path_text(Path(file or ""))  # as a load names it: without ./ at its beginning


def _others(judged: Mapping[str, Any]) -> None:
    """Say which results look wrong since results were judged, and which do no more."""
    for line in judged["suspicious"][:OTHERS_SHOWN]:
        show.note(f"suspicious from now on: {line}")
    if judged["suspicious_count"] > OTHERS_SHOWN:
        show.note(f"and {judged['suspicious_count'] - OTHERS_SHOWN} more ('modak results list --doubted')")
    if judged["freed_count"]:
        numbers = ", ".join(map(str, judged["freed"][:OTHERS_SHOWN])) + (", …" if judged["freed_count"] > OTHERS_SHOWN else "")
        show.note(f"no longer suspicious, and used by the models: {counted(judged['freed_count'], 'result')} ({numbers})")


def _outcome(count: int, loads: int, chosen: Selection, what: str, rest: str) -> str:
    """A line that says how many of the chosen results (of so many loads of a file) were changed, and what is true of the others."""
    what = what.replace("are ", "is ", 1) if count == 1 else what
    if isinstance(chosen, str):
        return f"{counted(count, 'result')} of {counted(loads, 'load') + ' of ' if loads > 1 else ''}{chosen} {what}"
    if isinstance(chosen, Measured):
        return f"{counted(count, 'result')} {chosen} {what}"
    several = len(set(chosen))
    return f"{counted(count, 'result')} {what}" if count == several else f"{count} of {several} results {what}; {rest}"


@app.command()
def compare(
    by: Annotated[str, typer.Argument(metavar="COLUMN", help="system, framework_version, compiler, … or params.NAME; or measured_at.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VALUE",
            help="Only these values, compared with the first; default: all. A date: before it and since it; default: found.",
        ),
    ] = None,
    application: common.Application = None,
    system: common.System = None,
    metric: Metric = None,
    where: Where = None,
    as_json: common.AsJson = False,
) -> None:
    """Compare results that differ in one column only. Shows the ratio, and whether it exceeds the noise of repeated runs.

    Example: modak results compare runtime none apptainer --application solver
    """
    answer = common.client().compare(by, values or (), _filters(application, system, metric, where))
    if as_json:
        show.document(answer)
    elif "pairs" in answer:
        _ratios(answer["column"], answer["pairs"])
    else:
        for shift in answer["shifts"]:
            typer.echo(show.folded(shift["message"], "", "  "))
        if not answer["shifts"]:
            show.note(
                "no day is seen since which runs take longer, or less; with a date, runs from before it are compared with those since it"
            )


def _ratios(by: str, pairs: Sequence[Mapping[str, Any]]) -> None:
    """What all pairs have in common, and a row for each pair."""
    names = dict.fromkeys(name for pair in pairs for name in pair["equal"])
    differ = [name for name in names if len({pair["equal"].get(name) for pair in pairs}) > 1]
    fixed = {name: value for name, value in pairs[0]["equal"].items() if name not in differ}
    typer.echo(show.folded(", ".join(f"{name} {value}" for name, value in fixed.items()), "", "  "))
    words = {True: "yes", False: "no", None: "not known"}
    rows = [
        (
            *(pair["equal"].get(name) for name in differ),
            pair["other"],
            pair["one"],
            *reversed(pair["medians"]),
            "{1}/{0}".format(*pair["counts"]),
            pair["ratio"],
            pair["better"],
            words[pair["beyond_noise"]],
        )
        for pair in pairs
    ]
    show.table((*differ, by, "against", "median", "against it", "runs", "ratio", f"better {by}", "beyond noise"), rows)


def _none_of(filters: Mapping[str, str], what: str = "results") -> str:
    """The message if no result matches the filters."""
    from modak.results.filters import none_of
    from modak.results.metrics import METRICS

    def names_in(column: str) -> Collection[str]:
        if column == "application":
            return common.applications()
        if column == "system":
            return [name for system in common.client().listing("systems") for name in (system["name"], *system.get("aliases", ()))]
        return METRICS if column == "metric" else ()

    return none_of(filters, names_in, what)


@app.command()
def export(
    application: common.Application = None,
    system: common.System = None,
    metric: Metric = None,
    where: Where = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the table to this file.")] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="csv, json or extrap; default: what FILE ends in, .csv or .json; csv without an ending.")
    ] = None,
) -> None:
    """Write results as CSV, as JSON or for Extra-P. Values are in base units; CSV and JSON can be loaded again.

    Example: modak results export --application solver -o solver.csv
    """
    from modak.files import atomic_write
    from modak.ingest.columns import MARKS
    from modak.ingest.writing import write_csv, write_extrap, write_json

    ending = output.suffix.lower() if output else ""
    chosen = format_ or {"": "csv", ".csv": "csv", ".json": "json"}.get(ending)
    writers: dict[str, Callable[[Iterable[Mapping[str, str]], TextIO, Sequence[str]], int]]
    writers = {"csv": write_csv, "json": write_json, "extrap": write_extrap}
    if chosen is None:
        raise RequestError(f"{ending!r} is no format; allowed: a FILE that ends in .csv or .json, or --format", field="--output")
    if chosen not in writers:
        raise RequestError(unknown("format", chosen, tuple(writers)), field="--format")
    filters = _filters(application, system, metric, where)
    filled: Counter[str] = Counter()

    def write(stream: TextIO) -> int:
        columns, rows = common.client().export(filters)
        with closing(rows):
            return writers[chosen](_counting(rows, ("suspect", *MARKS), filled), stream, columns)

    if output is None:
        count = write(sys.stdout)
    else:
        with atomic_write(output) as stream:
            count = write(stream)
        typer.echo(f"{counted(count, 'row')} written to {output}")
    if not count:
        show.note(_none_of(filters))
    show.note(*_unsaid(filled, for_models=chosen == "extrap"))


def _counting(rows: Iterable[Mapping[str, str]], names: Sequence[str], filled: Counter[str]) -> Iterator[Mapping[str, str]]:
    """The rows, of which those are counted, by column, that fill these columns."""
    for row in rows:
        filled.update(name for name in names if row[name])
        yield row


def _unsaid(filled: Counter[str], *, for_models: bool) -> Iterator[str]:
    """What the file does not say of its rows; ``for_models``: it has none that models do not use."""
    left_out = filled["doubt"] + filled["suspect"]
    if for_models and left_out:
        yield f"results that no model uses, left out: {left_out}"
    elif not for_models and filled["doubt"]:
        yield f"doubted results in it, which it does not mark: {filled['doubt']} ('modak results list --doubted' shows them)"
    if not for_models and filled["by_hand"]:
        yield f"results that somebody confirmed or doubted: {filled['by_hand']}; it does not say so, and loading it judges them anew"


def _filters(application: str | None, system: str | None, metric: str | None, where: list[str] | None) -> dict[str, str]:
    named = {"application": application, "system": system, "metric": metric}
    return common.pairs([*(f"{name}={text}" for name, text in named.items() if text is not None), *(where or ())], "--where")

"""Asking: optimise, recommend, predict, validate, schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modak.cli import common, show
from modak.errors import ModakError, RequestError, Unavailable
from modak.text.amounts import counted
from modak.text.choices import COLUMNS, alternatives, configuration, next_steps, outcomes, row, track_record, warnings
from modak.whatif import against, known_objective, on_one_reference, same_work, with_changes

if TYPE_CHECKING:
    from modak.client import Client


plans = common.group("Show plans that were made, and what became of their predictions.")

Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write job.sh, response.json, recipe and build job to this folder.")
]
Script = Annotated[bool, typer.Option("--script", help="Print only the job script.")]


def optimise(
    request: common.Request,
    output: Output = None,
    script: Script = False,
    as_json: common.AsJson = False,
    strict: common.Strict = False,
    preflight: Annotated[bool, typer.Option("--preflight/--no-preflight", help="Begin the script with checks of the node, or not.")] = True,
) -> None:
    """Choose a configuration for a request and write the job script.

    Counts, deadlines and the like are fields of the request. 'modak schema request' describes them, with an example.

    Example: modak optimise request.json -o job
    """
    asked = common.document(request)
    if not preflight:
        from modak.response import without_preflight

        asked = without_preflight(asked)
    client = common.client()
    _answer(client, client.optimise(asked, strict=strict), output, script=script, as_json=as_json)


@plans.command("show")
def show_plan(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The plan's id: job scripts and the answers of 'modak optimise' have it.")],
    output: Output = None,
    script: Script = False,
    as_json: common.AsJson = False,
) -> None:
    """Show a plan as 'modak optimise' answered it."""
    client = common.client()
    _answer(client, client.plan(id_), output, script=script, as_json=as_json)


@plans.command("outcomes")
def show_outcomes(
    application: common.Application = None,
    system: common.System = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of rows.")] = 50,
    as_json: common.AsJson = False,
) -> None:
    """Compare the predicted times of plans with the times of their jobs.

    Jobs count whose results are loaded, and whose plans are still stored.

    Example: modak plans outcomes --application solver
    """
    found = common.client().outcomes(application, system, limit=limit)
    if as_json:
        show.document(found)
    elif found["jobs"]:
        show.table(*outcomes(found["items"]))
        typer.echo()
        typer.echo(show.folded(track_record(found), "", "  "))
    else:
        such = "such " if application or system else ""
        show.note(f"no {such}job of a stored plan with a predicted time has reported its own; 'modak load modak-result-JOB.json' loads it")


def _answer(client: Client, filled: Mapping[str, Any], output: Path | None, *, script: bool, as_json: bool) -> None:
    """Print a filled document: as it is, its script, or all of it for people; with a folder, write its files there."""
    filled, files = _files(filled, output)
    if output is not None:
        from modak.cli.keys import result_token
        from modak.files import write_all

        _spare_programs(files)
        files |= result_token(client, filled["job"]["plan"]["id"], output)
        write_all(files)
    if as_json:
        show.document(filled)
        return
    if script:
        typer.echo(filled["job"]["job_content"], nl=False)
        show.warn(filled["job"]["plan"].get("warnings", ()))
        return
    _show_plan(filled["job"], [str(path) for path in files] if output is not None else [])


def _files(filled: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], dict[Path, str]]:
    """The document with paths as `job_script` and `build_script`, and the files that ``-o`` writes, by path."""
    job = dict(filled["job"])
    if folder is None:
        return dict(filled), {}
    contents = {folder / "job.sh": job["job_content"]}
    job["job_script"] = str(folder / "job.sh")
    if job.get("build_content"):
        contents[folder / "build.sh"] = job["build_content"]
        job["build_script"] = str(folder / "build.sh")
    recipe = job["plan"].get("recipe") or {}
    if recipe.get("content"):
        contents[folder / Path(recipe["file"]).name] = recipe["content"]
    document = {**filled, "job": job}
    return document, contents | {folder / "response.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n"}


def _spare_programs(files: Iterable[Path]) -> None:
    """Raises :class:`~modak.errors.RequestError` if a script would replace one that MODAK did not write: it may be the job's program."""
    from modak.files import read
    from modak.script.parts import WRITTEN

    for path in files:
        there = path.suffix == ".sh" and path.is_file() and not path.is_symlink()  # a link's target is not touched
        if there and WRITTEN.encode() not in read(str(path)).splitlines():
            raise RequestError("it is there already, and MODAK did not write it; give -o another folder for the scripts", field=str(path))


def _show_plan(job: Mapping[str, Any], written: Sequence[str]) -> None:
    """Print the whole answer: choice, predicted time, reasons, alternatives, script."""
    made = job["plan"]
    show.heading("Configuration")
    for name, value in configuration(made).items():
        typer.echo(show.folded(value, f"  {name + ':':<16} ", " " * 19))
    show.bullets("Why", made.get("decisions", ()))
    if made.get("alternatives"):
        typer.echo()
        show.heading("Alternatives")
        show.table(*alternatives(made))
    show.bullets("Advice", made.get("advice", ()))
    show.bullets("Warnings", warnings(made.get("warnings", ())))
    if written:
        show.bullets("Written", written)
        steps = next_steps(job, *(job[name] if job.get(name) in written else "" for name in ("job_script", "build_script")))
        show.bullets("Next", ("".join(text for _, text in step) for step in steps))
        return
    typer.echo()
    show.heading("Job script")
    typer.echo(job["job_content"], nl=False)
    show.note("-o DIR writes the script to a file, and says how to submit it; --script prints it alone")


def _known_objective(word: str | None) -> str | None:
    try:
        return None if word is None else known_objective(word, "--objective")
    except RequestError as error:
        raise typer.BadParameter(error.faults[0].message) from None


def recommend(
    request: common.OptionalRequest = None,
    application: common.ApplicationOf = None,
    dataset: Annotated[str | None, typer.Option(help="Data set of the application.")] = None,
    system: common.SystemOf = None,
    epochs: Annotated[float | None, typer.Option(help="Number of epochs.")] = None,
    samples: Annotated[float | None, typer.Option(help="Number of samples per epoch.")] = None,
    amount: common.Amount = None,
    objective: Annotated[
        str | None, typer.Option(callback=_known_objective, help="What to minimise: time, node_hours, energy or cost.")
    ] = None,
    deadline: Annotated[str | None, typer.Option(help="Longest time for the workload, as [d-]hh:mm:ss or seconds.")] = None,
    max_nodes: Annotated[int | None, typer.Option(help="Maximum number of nodes.")] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Compare two what-ifs: each a request file, or NAME=VALUE[,NAME=VALUE...]."),
    ] = None,
    as_json: common.AsJson = False,
    strict: common.Strict = False,
) -> None:
    """Rank the possible configurations for a request.

    Example: modak recommend --application solver --system my-cluster
    """
    options = {
        "target.name": system,
        "optimisation.workload.application": application,
        "optimisation.workload.dataset": dataset,
        "optimisation.workload.epochs": epochs,
        "optimisation.workload.samples": samples,
        "optimisation.workload.amount": amount,
        "optimisation.objective.minimise": objective,
        "optimisation.objective.deadline": deadline,
        "optimisation.objective.max_nodes": max_nodes,
    }
    document = common.request_document(request, options)
    if compare is not None:
        _compare(document, compare, as_json, strict)
        return
    answer = common.client().recommend(document, strict=strict)
    if as_json:
        show.document(answer)
        return
    show.table(COLUMNS, [row(choice) for choice in answer["choices"]])
    show.bullets("Why the first", answer.get("decisions", ()))
    show.bullets("Advice", answer.get("advice", ()))
    show.warn(answer.get("warnings", ()))


def _best_of(client: Client, name: str, document: Any, strict: bool) -> dict[str, Any]:
    """The recommendation; if nothing meets the constraints, the closest configuration, with a warning."""
    found = client.recommend(document, strict=strict, closest=True)
    notes = []
    if "missed" in found:
        missed = f"{name} does not meet the constraints; compared is what comes closest: {found['missed']}"
        notes = [{"field": "--compare", "message": missed}]
    return {**found, "advice": [f"{name}: {line}" for line in found["advice"]], "warnings": [*notes, *found["warnings"]]}


def _compare(document: Any, texts: tuple[str, str], as_json: bool, strict: bool) -> None:
    """Print the best choice of each of two requests, and how they differ."""
    asked = [common.document(text) if text.endswith(".json") else with_changes(document, text) for text in texts]
    client = common.client()
    found = [_best_of(client, name, each, strict) for name, each in zip(("A", "B"), asked, strict=True)]
    best = _on_one_reference(client, document, asked, found)
    lines = against(*best)
    if as_json:
        said = {name: [line for each in found for line in each[name]] for name in ("advice", "warnings")}
        show.document({"a": best[0], "b": best[1], "differences": list(lines), **said})
        return
    sides = [(f"{name}: {text}", *row(choice)) for name, text, choice in zip(("A", "B"), texts, best, strict=True)]
    show.table(("", *COLUMNS), sides)
    show.bullets("B against A", lines)
    show.bullets("Advice", (line for each in found for line in each["advice"]))
    for each in found:
        show.warn(each.get("warnings", ()))


def _on_one_reference(client: Client, document: Any, asked: Sequence[Any], found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best choice of each side; efficiencies are relative to the same work if the sides differ only in counts."""
    if not same_work(*asked):
        return [each["choices"][0] for each in found]
    further = []
    if same_work(document, asked[0]):
        with suppress(ModakError):  # the request may not be complete without what the sides add
            further.append(client.recommend(document, closest=True))
    return on_one_reference(found, further)


def predict(
    points: Annotated[str, typer.Argument(metavar="POINTS.csv", help="A results table without values; - reads standard input.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT.csv", help="Write the table to this file.")] = None,
    level: Annotated[float, typer.Option(help="Probability that the interval contains the next run's value.")] = 0.9,
    as_json: common.AsJson = False,
) -> None:
    """Predict the values of a results table that has none.

    Example: modak predict points.csv -o predicted.csv
    """
    common.check_level(level)
    from modak import files

    answer = common.client().predict(files.read(points), points, level=level)
    show.rows(answer, output, as_json=as_json)
    if not as_json:
        show.warn(answer.get("warnings", ()))


def validate(request: common.Request, as_json: common.AsJson = False, strict: common.Strict = False) -> None:
    """Check a request and its target. Chooses no configuration."""
    from modak.normalise import normalise

    asked = common.document(request)
    found = [warning.model_dump() for warning in normalise(asked, strict=strict).warnings]
    unasked = ""
    try:
        found = common.client().validate(asked, strict=strict)["warnings"]
    except ModakError as wrong:
        # there is no database or service to ask, or a service of an older version, which validates nothing
        if wrong.exit_code != Unavailable.exit_code and wrong.status != HTTPStatus.NOT_FOUND:
            raise
        unasked = f"the target is not checked: {wrong}"
    if as_json:
        show.document({"valid": True, "warnings": found, "target_checked": not unasked})
        return
    typer.echo("the request is valid" + (f", with {counted(len(found), 'warning')}" if found else ""))
    show.warn(found)
    if unasked:
        typer.echo(unasked, err=True)


def schema(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="request, response, result, points, system, processor, accelerator, image, rule, sizing or openapi.",
        ),
    ],
) -> None:
    """Print a JSON Schema, or the OpenAPI document of the service."""
    if kind == "openapi":
        from modak.api import create_app

        show.document(create_app(common.settings()).openapi())
        return
    from modak.schemas import schema

    show.document(schema(kind))

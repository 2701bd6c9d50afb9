"""``modak tune``: trials of a request's job with other settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from modak.cli import common, show
from modak.text.amounts import cell


def tune(
    request: common.Request,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Folder of the search, below the current one; an existing search is continued."),
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Maximum number of trials; default: the request's number, else 30.")] = None,
    budget: Annotated[
        float | None, typer.Option(min=0, help="Maximum node-hours of all runs; default: the request's, else no limit.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of trials at the same time.")] = 1,
    confirm: Annotated[int, typer.Option(min=0, help="Runs each of the best and of the job's own setting in the final comparison.")] = 3,
    gain: Annotated[float, typer.Option(min=0, help="Smallest improvement that justifies another trial, as a fraction.")] = 0.02,
    here: Annotated[bool, typer.Option("--here", help="Run the scripts here, inside an allocation, instead of submitting them.")] = False,
    as_json: common.AsJson = False,
    strict: common.Strict = False,
) -> None:
    """Search for better settings of a job by running it. Stays within a budget; an interrupted search is continued.

    The request says what may be changed (optimisation.autotuning.space).

    Example: modak tune request.json --budget 4 --jobs 2
    """
    from modak.tuner.limits import SearchOptions
    from modak.tuner.tune import tune

    document = common.document(request)
    options = SearchOptions(trials=trials, budget_node_hours=budget, jobs=jobs, confirm=confirm, gain=gain)
    folder = output or Path(f"tuning-{Path(request).stem}" if request != "-" else "tuning")
    found = tune(common.local(), document, folder, options, here=here, strict=strict, say=lambda line: typer.echo(line, err=True))
    if as_json:
        show.document(found)
    else:
        _print(found)


def _print(found: Mapping[str, Any]) -> None:
    from modak.tuning.setting import as_text

    show.heading("Trials")
    names = list(found["best"]["setting"])
    rows = [
        (
            one["number"],
            *(as_text(one["setting"][name]) for name in names),
            one["value"],
            one["node_hours"],
            one["state"],
            one["fault"] or one["why"],
        )
        for one in found["trials"]
    ]
    show.table(("trial", *names, f"{found['metric']} {found['unit']}", "node-hours", "state", "why"), rows)
    typer.echo()
    show.heading("Found")
    _print_best(found)
    typer.echo(f"  node-hours: {cell(float(found['node_hours']))} (basis: measured)")
    typer.echo(f"  ended:      {found['stopped']}")
    typer.echo(f"  script:     {found['script']}")
    typer.echo()
    show.heading("The same in a request")
    for line in _in_a_request(found):
        typer.echo(f"  {line}")
    show.bullets("Notes", found["notes"])
    show.warn(found.get("warnings", ()))


def _print_best(found: Mapping[str, Any]) -> None:
    """The best setting, and how it compares with the job's own."""
    from modak.tuning.setting import in_words

    best, gain = found["best"], found["gain"]
    value = f"{cell(best['value'])} {found['unit']}"
    typer.echo(f"  best:       {in_words(best['setting'])}: {value} (basis: measured, trial {best['number']})")
    if found["default"] and found["default"]["number"] == best["number"]:
        typer.echo("  the job's own setting is the best that was found")
    elif gain:
        interval = f"{gain['level']:.0%} interval {gain['lower']:.3g} – {gain['upper']:.3g}"
        runs = f"{gain['runs'][1]} runs of it and {gain['runs'][0]} of the job's own setting, in turns"
        typer.echo(f"  gain:       {gain['value']:.3g} times as good as the job's own setting ({interval}; basis: measured, {runs})")
    if found["confirmed"] is False:
        typer.echo("  the comparison does not confirm it: the script has the job's own setting")


def _in_a_request(found: Mapping[str, Any]) -> Iterator[str]:
    """The sections of a request's ``job`` that give the best setting, a line each, to be copied."""
    counts = dict(found["layout"])
    threads = {"threads": counts.pop("threads")} if "threads" in counts else {}
    setting = {name: values for name, values in found["setting"].items() if values}
    for section, content in (
        ("job_options", counts),
        ("application", threads),
        ("optimisation", {"autotuning": {"setting": setting}} if setting else {}),
    ):
        if content:
            yield f"{json.dumps(section)}: {json.dumps(content, ensure_ascii=False)}"

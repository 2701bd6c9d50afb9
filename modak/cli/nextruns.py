"""What to measure next: results plan, results calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from modak.cli import common, show
from modak.text.amounts import cell, either_way, format_number, share
from modak.text.choices import COLUMNS, INTERVAL, row

LIKELY: Final = ("probability", "nodes", "ranks/node", "threads", "GPUs", "variant", "time", INTERVAL, "basis")
RUNS: Final = ("run", *LIKELY[1:], "node-hours", "decision after", "narrower", "per node-hour")


def plan(
    request: common.OptionalRequest = None,
    application: common.ApplicationOf = None,
    system: common.SystemOf = None,
    amount: common.Amount = None,
    budget: Annotated[float | None, typer.Option(min=0, metavar="NODE_HOURS", help="Maximum node-hours of all runs together.")] = None,
    gain: Annotated[float, typer.Option(min=0, help="Smallest part of today's interval that a run has to narrow, as a fraction.")] = 0.02,
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=50, help="Maximum number of runs.")] = 5,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write a job script for each run to this folder.")
    ] = None,
    as_json: common.AsJson = False,
    strict: common.Strict = False,
) -> None:
    """Propose the next runs worth measuring. Those come first that reduce the uncertainty of the decision most per node-hour.

    Example: modak results plan request.json -n 3 -o runs
    """
    from modak.files import write_all

    work = {"optimisation.workload.application": application, "optimisation.workload.amount": amount}
    document = common.request_document(request, {"target.name": system, **work})
    with show.progress("planning"):
        answer = common.client().next_runs(document, most=number, budget=budget, gain=gain, scripts=output is not None, strict=strict)
    if output is not None:
        write_all(_files(answer["runs"], output))
    if as_json:
        show.document(answer)
        return
    _print_proposals(answer)
    show.warn(answer["warnings"])


def calibration(
    points: Annotated[str, typer.Argument(metavar="POINTS.csv", help="A results table without values; - reads standard input.")],
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=500, help="Number of runs in each configuration.")] = 20,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT.csv", help="Write the table to this file.")] = None,
    as_json: common.AsJson = False,
) -> None:
    """Choose the runs to measure first on a new system. From those and from results elsewhere the rest of the table is predicted.

    Example: modak results calibration networks.csv -n 20 -o first.csv
    """
    from modak import files

    answer = common.client().calibration(files.read(points), points, number=number)
    show.rows(answer, output, as_json=as_json)
    if not as_json:
        show.note(*answer["notes"])


def _print_proposals(answer: Mapping[str, Any]) -> None:
    if answer["likely"]:
        show.heading("What may be the right choice (probability that the layout is the best one, not that its time is right)")
        show.table(LIKELY, [(share(one["probability"]), *_run(one, _range(one["nodes"]))) for one in answer["likely"]])
        factor = f"a factor of {answer['interval']:.3g} either way"
        mean = "the mean of the intervals above, weighted by probability"
        typer.echo(show.folded(f"interval of the decision: {factor}, {mean}", "", "  "))
        typer.echo()
    if answer["runs"]:
        show.heading("Runs worth measuring, in this order")
        show.table(RUNS, [(place, *_run(run), *_effect(run)) for place, run in enumerate(answer["runs"], 1)])
    if answer["node_hours"]:
        spent = f"{cell(answer['node_hours'])} node-hours in all: the request's whole workload each time, the start of the job counted"
        typer.echo(show.folded(spent, "", "  "))
    show.note(*answer["notes"])
    if any("build_script" in run for run in answer["runs"]):
        show.note("submit build.sh first, and job.sh when the build has ended; what several runs need is built once")
    show.bullets("Written", [run[kind] for run in answer["runs"] for kind in ("build_script", "job_script") if kind in run])


def _run(one: Mapping[str, Any], nodes: str | None = None) -> tuple[Any, ...]:
    cells = dict(zip(COLUMNS, row(one), strict=True))
    return (nodes or cells["nodes"], *(cells[name] for name in LIKELY[2:]))


def _effect(run: Mapping[str, Any]) -> tuple[Any, ...]:
    if "interval_after" not in run:
        return (None, None, None, None)
    per_hour = f"{format_number(100 * run['narrower_per_node_hour'], 2)}%"
    return (run["node_hours"], either_way(run["interval_after"]), share(run["narrower"]), per_hour)


def _files(runs: Sequence[dict[str, Any]], folder: Path) -> dict[Path, str]:
    """The files that ``-o`` writes, in a folder for each run; their paths replace the texts in ``runs``."""
    contents: dict[Path, str] = {}
    for place, run in enumerate(runs, 1):
        made, lay = run.pop("texts"), run["configuration"]
        here = folder / f"run-{place}-{lay['nodes']}x{lay['ranks_per_node']}x{lay['threads_per_rank']}".replace("/", "_")
        recipe = Path(made["definition_name"]).name  # a service may name any
        named = (("job.sh", made["job_script"]), ("build.sh", made["build_script"]), (recipe, made["definition"]))
        contents |= {here / name: text for name, text in named if text}
        run |= {kind: str(here / name) for kind, name in (("job_script", "job.sh"), ("build_script", "build.sh")) if made[kind]}
    return contents


def _range(nodes: Sequence[int]) -> str:
    return str(nodes[0]) if nodes[0] == nodes[1] else f"{nodes[0]}–{nodes[1]}"

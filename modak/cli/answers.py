"""Plans and choices as people read them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from modak.cli import show
from modak.text.amounts import counted, span

COLUMNS = (
    *("nodes", "ranks/node", "threads", "GPUs", "time", "interval", "basis", "doublings beyond"),
    *("node-hours", "energy kWh", "cost", "efficiency", "variant", "image"),
)


def files(filled: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], dict[Path, str]]:
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
        contents[folder / recipe["file"]] = recipe["content"]
    document = {**filled, "job": job}
    return document, contents | {folder / "response.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n"}


def plan(job: Mapping[str, Any], written: Sequence[str]) -> None:
    """Print the whole answer: choice, predicted time, reasons, alternatives, script."""
    made = job["plan"]
    show.heading("Configuration")
    for name, value in _configuration(made).items():
        typer.echo(show.folded(value, f"  {name + ':':<16} ", " " * 19))
    show.bullets("Why", made.get("decisions", ()))
    alternatives = made.get("alternatives", ())
    if alternatives:
        typer.echo()
        show.heading("Alternatives")
        show.table((*COLUMNS, "why not"), [(*row(choice), choice.get("why_not")) for choice in alternatives])
    show.bullets("Advice", made.get("advice", ()))
    show.bullets("Warnings", (f"{w['field']}: {w['message']}" if w["field"] else w["message"] for w in made.get("warnings", ())))
    if written:
        show.bullets("Written", written)
        show.bullets("Next", _next(job, written))
        return
    typer.echo()
    show.heading("Job script")
    typer.echo(job["job_content"], nl=False)


def _next(job: Mapping[str, Any], written: Sequence[str]) -> Iterator[str]:
    """The next steps, from the first lines of the written scripts: getting the image, then submitting, builds first."""
    image = re.search(r"^# image: (.*)", job["job_content"], re.MULTILINE)
    if image and not job.get("build_content"):
        yield f"the image, once: {image[1]}"
    for name, text, when in (("build_script", "build_content", ""), ("job_script", "job_content", ", when the build has ended")):
        said = re.search(r"^# submit: (.*)", job.get(text) or "", re.MULTILINE)
        if said and job[name] in written:
            yield said[1].replace("FILE", shlex.quote(job[name])) + (when if job.get("build_content") else "")


def row(choice: Mapping[str, Any]) -> tuple[Any, ...]:
    """One choice under :data:`COLUMNS`."""
    configuration, prediction = choice["configuration"], choice["prediction"]
    return (
        configuration["nodes"],
        configuration["ranks_per_node"],
        configuration["threads_per_rank"],
        configuration.get("gpus_per_node", 0),
        span(prediction.get("value")),
        _interval(prediction),
        prediction["basis"],
        round(prediction["extrapolation"], 2) if prediction.get("extrapolation") else None,
        choice.get("node_hours"),
        choice.get("energy_kwh"),
        choice.get("cost"),
        None if choice.get("efficiency") is None else f"{choice['efficiency']:.0%}",
        _variant(configuration),
        configuration.get("image"),
    )


def _configuration(made: Mapping[str, Any]) -> dict[str, str]:
    configuration, prediction = made["configuration"], made["prediction"]
    counts = ((configuration["nodes"], "node"), (configuration["ranks_per_node"], "rank"), (configuration["threads_per_rank"], "thread"))
    layout = " × ".join(counted(number, what) for number, what in counts)
    gpus = configuration.get("gpus_per_node")
    shown = {
        "layout": layout + (f", {counted(gpus, 'GPU')} per node" if gpus else ""),
        "variant": _variant(configuration),
        "predicted time": predicted(prediction),
        "node-hours": _spent(made.get("node_hours"), prediction),
        "energy": _spent(made.get("energy_kwh"), prediction, " kWh"),
        "cost": _spent(made.get("cost"), prediction),
        "wall time limit": span(made["wall_time_s"]) if made.get("wall_time_s") else "",
        "image": _image(made),
    }
    return {name: value for name, value in shown.items() if value}


VARIANT = (
    "framework_version",
    "compiler",
    "precision",
    "mpi",
    "mpi_from",
    "numa_mode",
    "hyperthreads",
    "runtime",
    "batch_size",
    "global_batch",
    "workers",
    "opt_build",
)


def _variant(configuration: Mapping[str, Any]) -> str:
    """What makes a configuration beside its layout, as far as it is known."""
    told = {name.replace("_", " "): configuration.get(name) for name in VARIANT}
    return ", ".join(name if value is True else f"{name} {show.cell(value)}" for name, value in told.items() if value not in (None, False))


def predicted(prediction: Mapping[str, Any]) -> str:
    """A predicted time with its interval and basis, in one line."""
    if prediction.get("value") is None:
        return "unknown (basis: none)"
    per = f"; {span(prediction['per_unit'])} per {prediction.get('per') or 'unit'}" if prediction.get("per_unit") is not None else ""
    per += f", {span(prediction['start_up'])} to start" if prediction.get("start_up") else ""
    rests = f"basis: {prediction['basis']}, {counted(prediction['results_used'], 'result')}"
    far = f", {counted(prediction['extrapolation'], 'doubling')} beyond the measured sizes" if prediction.get("extrapolation") else ""
    return f"{span(prediction['value'])} ({prediction['level']:.0%} interval {_interval(prediction)}; {rests}{far}{per})"


def _interval(prediction: Mapping[str, Any]) -> str:
    if prediction.get("lower") is None:
        return ""
    return f"{span(prediction['lower'])} – {span(prediction['upper'])}"


def _spent(amount: float | None, prediction: Mapping[str, Any], unit: str = "") -> str:
    """An amount that is proportional to the time (node-hours, energy, cost), with the interval of the time."""
    if amount is None or prediction.get("lower") is None:
        return show.cell(amount)
    lower, upper = (show.cell(amount * prediction[end] / prediction["value"]) for end in ("lower", "upper"))
    return f"{show.cell(amount)}{unit} ({prediction['level']:.0%} interval {lower} – {upper})"


def _image(made: Mapping[str, Any]) -> str:
    if made.get("image"):
        return str(made["image"].get("reference", ""))
    recipe = made.get("recipe")
    return f"to be built: {recipe.get('file', 'recipe')}" if recipe else ""

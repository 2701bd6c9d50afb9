"""Choices and predictions as people read them, on a terminal and on a page: configuration, predicted time, what a choice costs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from modak.text.amounts import cell, counted, format_duration, format_number, share, spans
from modak.text.units import clock

INTERVAL: Final = "90% interval"
"""All predictions have intervals of that level."""
AMOUNTS: Final[Mapping[str, tuple[str, str]]] = {"node-hours": ("node_hours", ""), "energy": ("energy_kwh", " kWh"), "cost": ("cost", "")}
"""What a choice takes, as objectives call it, each with its field and its unit."""
HOURS: Final[Mapping[str, str]] = {"core-hours": "core_hours", "GPU-hours": "gpu_hours"}
"""Node-hours as other sites count them, with the field of each."""
COLUMNS: Final = (
    *("nodes", "ranks/node", "threads", "GPUs", "time", INTERVAL, "basis", "doublings beyond"),
    *(f"{name}{unit}" for name, (_, unit) in AMOUNTS.items()),
    *("efficiency", "variant", "image"),
)
"""What :func:`row` tells of a choice."""
VARIANT: Final = (
    *("framework_version", "compiler", "precision", "mpi", "mpi_from", "numa_mode", "hyperthreads"),
    *("runtime", "batch_size", "global_batch", "opt_build"),
)
"""What makes a configuration beside its layout."""


def row(choice: Mapping[str, Any]) -> tuple[Any, ...]:
    """One choice under :data:`COLUMNS`."""
    configuration, prediction = choice["configuration"], choice["prediction"]
    return (
        configuration["nodes"],
        configuration["ranks_per_node"],
        configuration["threads_per_rank"],
        configuration.get("gpus_per_node") or None,
        format_duration(prediction.get("value")),
        spans(prediction.get("lower"), prediction.get("upper")),
        _basis(prediction),
        round(prediction["extrapolation"], 2) if prediction.get("extrapolation") else None,
        *(choice.get(field) for field, _ in AMOUNTS.values()),
        None if choice.get("efficiency") is None else f"{choice['efficiency']:.0%}",
        _variant(configuration),
        configuration.get("image"),
    )


def configuration(made: Mapping[str, Any]) -> dict[str, str]:
    """What a plan chose, by name: layout, predicted time with its interval, what it spends, variant, image."""
    chosen, prediction = made["configuration"], made["prediction"]
    counts = ((chosen["nodes"], "node"), (chosen["ranks_per_node"], "rank"), (chosen["threads_per_rank"], "thread"))
    layout = " × ".join(counted(number, what) for number, what in counts)
    gpus, fewer = chosen.get("gpus_per_node"), chosen.get("total_ranks")
    shown = {
        "layout": layout
        + (f", {counted(gpus, 'GPU')} per node" if gpus else "")
        + (f", {counted(fewer, 'rank')} in total" if fewer else ""),
        "predicted time": predicted(prediction),
        **{
            name: _spent(made.get(field), prediction, unit, _charged(made) if field == "node_hours" else "")
            for name, (field, unit) in AMOUNTS.items()
        },
        "wall time limit": clock(made["wall_time_s"]) if made.get("wall_time_s") else "",
        "variant": _variant(chosen),
        "image": _image(made),
    }
    return {name: value for name, value in shown.items() if value}


def alternatives(made: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The other choices of a plan, and why they were not chosen: columns and rows."""
    return (*COLUMNS, "why not"), [(*row(choice), choice.get("why_not")) for choice in made.get("alternatives", ())]


def outcomes(jobs: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Predicted times of plans beside those of their jobs: columns and rows."""
    named = ("plan", "job", "application", "system", "nodes")
    rows = [
        (
            *(one[name] for name in named),
            ("> " if one["stopped"] else "") + format_duration(one["seconds"]),
            format_duration(one["predicted"]),
            spans(one["lower"], one["upper"]),
            one["outcome"],
        )
        for one in jobs
    ]
    return (*named, "took", "predicted", INTERVAL, "outcome"), rows


def track_record(found: Mapping[str, Any]) -> str:
    """The figures of all jobs in a sentence.

    >>> track_record({"items": [{}], "jobs": 12, "within": 11, "longer": 1, "shorter": 0, "median_error": 0.034})
    '11 of 12 jobs (92%) were within the interval; 1 took longer; median error 3.4%; the newest one is shown'
    """
    held = f"{found['within']} of {counted(found['jobs'], 'job')} ({share(found['within'] / found['jobs'])}) were within the interval"
    beyond = [f"{found[which]} took {how}" for which, how in (("longer", "longer"), ("shorter", "less time")) if found[which]]
    error = found["median_error"]
    off = [f"median error {share(error)}"] if error is not None else []
    shown = len(found["items"])
    some = [f"the newest {'one is' if shown == 1 else f'{shown} are'} shown"] if shown < found["jobs"] else []
    return "; ".join((held, *beyond, *off, *some))


def warnings(said: Iterable[Mapping[str, str]]) -> list[str]:
    """Warnings in one line each."""
    return [f"{one['field']}: {one['message']}" if one.get("field") else one["message"] for one in said]


Step = tuple[tuple[bool, str], ...]
"""A sentence in pieces: whether each is a command, and its text."""


def next_steps(job: Mapping[str, Any], job_file: str, build_file: str) -> Iterator[Step]:
    """What to do with the files of a plan, as its scripts say: get the image, build, submit, load the job's result, in this order."""
    script, build = job["job_content"], job.get("build_content")
    if not build and (image := re.search(r"^# image: (.*)", script, re.MULTILINE)):
        yield (False, "the image, once: "), *_commands(image[1])
    for name, text, when in ((build_file, build or "", ""), (job_file, script, ", when the build has ended" if build else "")):
        said = re.search(r"^# submit: (.*)FILE(.*)", text, re.MULTILINE)
        if said and name:
            yield (True, said[1] + shlex.quote(name)), (False, said[2] + when)
    result = re.search(r'^MODAK_RESULT="\$\{MODAK_HERE\}"/(.*)', script, re.MULTILINE)
    if result and job_file and re.search("^MODAK_RECORD=", script, re.MULTILINE):
        file = re.sub(r'"\$\{.*?\}"', "*", result[1])
        yield (True, f"modak load {file}"), (False, ", when it has ended: the next prediction rests on its result, too")


def _commands(how: str) -> Step:
    """How to get an image, as runtimes word it, but that it is done once.

    >>> _commands("ch-image pull x and ch-convert x y make it")
    ((True, 'ch-image pull x'), (False, ' and '), (True, 'ch-convert x y'), (False, ' make it'))
    >>> _commands("get it from its owner (private image)")
    ((False, 'get it from its owner (private image)'),)
    >>> _commands("sarus pull x fetches it, once")
    ((True, 'sarus pull x'), (False, ' fetches it'))
    >>> _commands("apptainer build x y makes it")
    ((True, 'apptainer build x y'), (False, ' makes it'))
    """
    pieces = re.split(r"( and (?=.* make it)| makes? it| fetches it.*)", how.removesuffix(", once"))
    return tuple((len(pieces) > 1 and at % 2 == 0, piece) for at, piece in enumerate(pieces) if piece)


def _variant(configuration: Mapping[str, Any]) -> str:
    """What makes a configuration beside its layout, as far as it is known."""
    made = {name.replace("_", " "): configuration.get(name) for name in VARIANT}
    known = [name if value is True else f"{name} {cell(value)}" for name, value in made.items() if value not in (None, False)]
    return ", ".join((*known, *([named(params.items())] if (params := configuration.get("params")) else ())))


def named(params: Iterable[tuple[str, str]]) -> str:
    """Values of parameters by name.

    >>> named((("pp", "2"), ("tp", "4")))
    'pp 2, tp 4'
    """
    return ", ".join(f"{name} {value}" for name, value in params)


def predicted(prediction: Mapping[str, Any]) -> str:
    """A predicted time with its interval and basis, in one line."""
    if prediction.get("value") is None:
        return "unknown (basis: none)"
    unit, of = prediction.get("per_unit"), prediction.get("per") or "unit"
    per = f"; {format_duration(unit)} per {of}" if unit is not None and (of, unit) != ("run", prediction["value"]) else ""
    per += f", {format_duration(prediction['start_up'])} to start" if prediction.get("start_up") else ""
    rests = f"basis: {_basis(prediction)}, {counted(prediction['results_used'], 'result')}"
    far = f", {counted(prediction['extrapolation'], 'doubling')} beyond the measured sizes" if prediction.get("extrapolation") else ""
    within = spans(prediction["lower"], prediction["upper"])
    return f"{format_duration(prediction['value'])} ({prediction['level']:.0%} interval {within}; {rests}{far}{per})"


def _basis(prediction: Mapping[str, Any]) -> str:
    """The basis, and what a run that was stopped tells."""
    least = prediction.get("longer_than")
    return f"{prediction['basis']}, more than {format_duration(least)} by a stopped run" if least else str(prediction["basis"])


def _spent(amount: float | None, prediction: Mapping[str, Any], unit: str = "", beside: str = "") -> str:
    """An amount that is proportional to the time (node-hours, energy, cost), with the interval of the time. ``beside``: more on it."""
    if amount is None or prediction.get("lower") is None:
        return cell(amount)
    lower, upper = (format_number(amount * prediction[end] / prediction["value"]) for end in ("lower", "upper"))
    return f"{format_number(amount)}{unit} ({beside}{prediction['level']:.0%} interval {lower} – {upper})"


def _charged(made: Mapping[str, Any]) -> str:
    """Node-hours as other sites count them, and of which part of a node they are."""
    amounts = [f"{format_number(made[field])} {name}" for name, field in HOURS.items() if made.get(field)]
    part = f"{share(made['node_share'])} of {'a' if made['configuration']['nodes'] == 1 else 'each'} node" if made.get("node_share") else ""
    said = ", ".join(filter(None, (*amounts, part)))
    return f"{said}; " if said else ""


def _image(made: Mapping[str, Any]) -> str:
    if made.get("image"):
        return str(made["image"].get("reference", ""))
    recipe = made.get("recipe")
    return f"to be built: {recipe.get('file', 'recipe')}" if recipe else ""

"""``modak size``: how much hardware a goal needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from modak.cli import common, show
from modak.text.amounts import cell, format_duration, format_number, spans
from modak.text.choices import INTERVAL

COLUMNS: Final = (
    "system", "partition", "cooling", "meets the goal", "nodes (90%)", "GPUs (90%)", "time", INTERVAL, "basis", "node-hours (90%)",
    "network", "rate GB/s (90%)", "storage",
)  # fmt: skip


def size(
    request: common.Request,
    deadline: Annotated[str | None, typer.Option(help="Time-to-model: when the model is wanted, as [d-]hh:mm:ss or seconds.")] = None,
    system: Annotated[str | None, typer.Option(help="Size only this system.")] = None,
    as_json: common.AsJson = False,
    strict: common.Strict = False,
) -> None:
    """Estimate how much hardware a goal needs. Covers known systems and reference configurations.

    Example: modak size request.json --deadline 2-00:00:00
    """
    document = common.request_document(request, {"optimisation.objective.deadline": deadline, "target.name": system})
    answer = common.client().size(document, strict=strict)
    if as_json:
        show.document(answer)
        return
    show.heading(answer["goal"])
    show.table(COLUMNS, [_row(one) for one in answer["platforms"]])
    missing = [f"{one['question']} ({one['field']})" for one in answer["asked"] if one.get("said") is None]
    show.bullets("Missing from the request, and needed for every project", missing)
    show.bullets("Why", _reasons(answer["platforms"]))
    show.bullets("What no formula determines", answer["cautions"])
    show.bullets("Sources", answer["sources"])
    show.warn(answer.get("warnings", ()))


def _row(one: Mapping[str, Any]) -> tuple[Any, ...]:
    time, network, storage = one["time"], one.get("network") or {}, one["storage"]
    return (
        one["system"],
        one["partition"],
        one.get("cooling"),
        _verdict(one.get("feasible"), one["nodes"]),
        _count(one["nodes"]),
        _count(one["gpus"]) if one.get("gpus") else None,
        format_duration(time.get("value")),
        spans(time.get("lower"), time.get("upper")),
        time["basis"],
        _spread(one["node_hours"]),
        _enough(network.get("needed", "").split(",")[0], network.get("enough")),
        _spread(storage["rate"]),
        _enough("" if storage["capacity"].get("value") is None else f"{cell(storage['capacity']['value'])} TB", storage.get("enough")),
    )


def _verdict(feasible: bool | None, nodes: Mapping[str, Any]) -> str:
    """Whether the goal is met; ``not surely``: no number of nodes meets it at that confidence, but some may."""
    if feasible is None:
        return "unknown"
    return "yes" if feasible else "not surely" if nodes.get("value") is None and nodes.get("lower") is not None else "no"


def _count(figure: Mapping[str, Any]) -> str | None:
    """A number with its interval; an open end is more than a job there can have."""
    low, value, high = (figure.get(name) for name in ("lower", "value", "upper"))
    if value is None:
        return None if low is None else f"more than a job can have ({low:g} – …)"
    first, last = ("…" if end is None else f"{end:g}" for end in (low, high))
    return f"{value:g} ({first} – {last})"


def _spread(figure: Mapping[str, Any]) -> str | None:
    if figure.get("value") is None:
        return None
    low, value, high = (format_number(figure[name]) for name in ("lower", "value", "upper"))
    return f"{value} ({low} – {high})"


def _enough(needed: str, enough: bool | None) -> str:
    has = {True: "has it", False: "has less", None: "unknown there"}[enough]
    return f"{needed} ({has})" if needed and needed != "none" else needed


def _reasons(platforms: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each platform's figures are based on; a line that applies to several is printed once, for the first."""
    found: dict[str, str] = {}
    for one in platforms:
        layout = one.get("layout")
        idle = f"GPUs: {one['gpus']['why']}" if one.get("idle_gpus_per_node") else None
        lines = (
            one["nodes"]["why"],
            layout and f"layout: {layout}",
            idle,
            one["time"]["why"],
            (one.get("network") or {}).get("why"),
            *one["storage"].get("why", ()),
        )
        for line in (*lines, one.get("condition"), *one.get("notes", ())):
            if line:
                found.setdefault(line, f"{one['system']}/{one['partition']}: {line}")
    return list(found.values())

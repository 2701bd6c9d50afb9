"""Lists as tables for people, on a terminal and on a page: systems, images, rules, models, results."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from modak.grouping import grouped
from modak.text.amounts import cell, counted, longer

Item = Mapping[str, Any]
Table = tuple[tuple[str, ...], list[list[Any]]]
"""Names of the columns, and the rows."""

COLUMNS: Final[Mapping[str, Mapping[str, Callable[[Item], Any]]]] = {
    "systems": {
        "name": lambda item: item["name"],
        "kind": lambda item: item.get("kind", "production"),
        "scheduler": lambda item: item.get("scheduler"),
        "partitions": lambda item: [f"{partition['name']} ({counted(partition['nodes'], 'node')})" for partition in item["partitions"]],
        "runtimes": lambda item: [policy["name"] for policy in item.get("runtimes", ()) if policy.get("allowed", True)],
        "title": lambda item: item["title"],
    },
    "images": {
        "reference": lambda item: item["reference"],
        "framework": lambda item: item["labels"]["framework"],
        "version": lambda item: item["labels"]["version"],
        "source": lambda item: item["labels"]["source"],
        "compilers": lambda item: item["labels"].get("compilers", ()),
        "accelerator": lambda item: item["labels"].get("accelerator", "none"),
    },
    "rules": {
        "name": lambda item: item["name"],
        "holds for": lambda item: _condition(item.get("when", {})),
        "title": lambda item: item["title"],
    },
    "models": {
        "id": lambda item: item["id"],
        "application": lambda item: item["application"],
        "compiler": lambda item: item["series"].get("compiler"),
        "system": lambda item: item["series"].get("system"),
        "partition": lambda item: item["series"].get("partition"),
        "layout": lambda item: _layout(item["layout"], item.get("ranks_per_gpu")),
        "metric": lambda item: item["series"]["metric"],
        "over": lambda item: item["scale"],
        "sizes": lambda item: "–".join(f"{size:g}" for size in dict.fromkeys((min(item["sizes"]), max(item["sizes"])))),
        "results": lambda item: item["results_used"],
        "error at the next size": lambda item: _percent(item["mixture"].get("error")),
        "scaled": lambda item: longer(**item["shifted"]) if item.get("shifted") else None,
    },
}
KIND_OF_MODEL: Final = ("application", "compiler", "system", "partition", "layout", "metric", "over")
"""Models that are equal in these look equal, whatever their sizes and errors are."""
RUN: Final = (
    *("id", "application", "dataset", "framework", "compiler", "system", "partition"),
    *("nodes", "ranks_per_node", "threads_per_rank", "gpus_per_node"),
)
MEASURED: Final = ("metric", "value", "unit", "params.epochs", "params.steps", "params.amount")
"""A value, and the length of the run to which the time of a whole run refers."""
JUDGED: Final = ("suspect", "by_hand")
SAID_OF_ANY: Final = frozenset(("repeat", "source", "doubted", "replaced_at", "replaced_by", "replaced_from"))
"""Columns by which no run differs from another one."""


def as_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> tuple[list[str], list[list[str]], list[bool]]:
    """Columns and rows as text, without the columns that are empty throughout, and whether a column holds numbers alone."""
    every = [[cell(value) for value in row] for row in rows]
    kept = [i for i in range(len(columns)) if not every or any(row[i] for row in every)]
    cells = [[row[i] for i in kept] for row in every]
    numbers = [bool(cells) and all(_number(row[i]) for row in cells) for i in range(len(kept))]
    return [columns[i] for i in kept], cells, numbers


def table(kind: str, items: Sequence[Item]) -> Table:
    """A list of ``systems``, ``images``, ``rules``, or ``models``, these also in the columns of results that tell them apart."""
    columns = COLUMNS[kind]
    rows = [[find(item) for find in columns.values()] for item in items]
    if kind != "models":
        return tuple(columns), rows
    series = [item["series"] | {f"params.{name}": text for name, text in item["series"].get("params", {}).items()} for item in items]
    looks = [tuple(columns[name](item) for name in KIND_OF_MODEL) for item in items]
    also = _apart(looks, series, dict.fromkeys(name for one in series for name in one if name not in (*columns, "params")))
    return (*columns, *also), [[*row, *(one.get(name) for name in also)] for row, one in zip(rows, series, strict=True)]


def results(items: Sequence[Item], also: Sequence[str] = ()) -> Table:
    """Results, in the usual columns, those that tell their runs apart, and ``also`` these."""
    columns = (*RUN, *MEASURED, *_telling_apart(items), *JUDGED, *also)
    return columns, [[_in_full(item.get(name)) if name == "value" else item.get(name) for name in columns] for item in items]


def _in_full(value: Any) -> Any:
    """A measured value with six significant figures, of large ones nine: a correction may change the last of them.

    >>> _in_full(3806.0), _in_full(1234567.0), _in_full(2.08143e15)
    ('3806', '1234567', '2.08143e+15')
    """
    return f"{value:.{6 if abs(value) < 1e6 else 9}g}" if isinstance(value, float) else value


def _telling_apart(items: Sequence[Item]) -> tuple[str, ...]:
    """Columns in which runs differ that look equal in those that are always shown."""
    shown = (*RUN, *MEASURED, *JUDGED)
    kind = [name for name in shown if name not in ("id", "value", *JUDGED)]
    names = dict.fromkeys(name for item in items for name in item if name not in shown and name not in SAID_OF_ANY)
    return _apart([tuple(item.get(name) for name in kind) for item in items], items, names)


def _apart(looks: Sequence[tuple[Any, ...]], items: Sequence[Item], names: Iterable[str]) -> tuple[str, ...]:
    """The names under which items differ that look equal."""
    alike = grouped(zip(looks, items, strict=True), lambda pair: pair[0]).values()
    return tuple(name for name in names if any(len({item.get(name) for _, item in group}) > 1 for group in alike))


def _number(text: str) -> bool:
    """Whether a cell is a number, with its unit or as a range: ``54 min``, ``90%``, ``4–512``; not ``3dgan``, ``2 × 4``, ``2 x it``."""
    return text == "" or re.fullmatch(r"-?[0-9][0-9.]*(e[+-]?[0-9]+)?([ %–][^×x]*)?", text) is not None


def _layout(layout: Mapping[str, int], ranks_per_gpu: float | None = None) -> str:
    """The known counts of a layout: ranks, threads, GPUs, batch size."""
    words = {"ranks_per_node": "rank", "threads_per_rank": "thread", "gpus_per_node": "GPU"}
    counts = [counted(layout[name], word) for name, word in words.items() if layout.get(name)]
    counts += [f"ranks per GPU {ranks_per_gpu:g}"] if ranks_per_gpu else []
    batch = [f"batch {layout['batch_size']}"] if layout.get("batch_size") else []
    return ", ".join(([" × ".join(counts)] if counts else []) + batch)


def _percent(error: float | None) -> str | None:
    """A log error as a percentage."""
    return None if error is None else f"{100 * math.expm1(error):.1f}%"


def _condition(when: Mapping[str, Any]) -> str:
    return "; ".join(f"{name.replace('_', ' ')} {cell(value)}" for name, value in when.items()) or "everything"

"""Ramble's results: JSON of ``ramble workspace analyze -f json``. Every number in it is a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from modak.ingest.formats import documents
from modak.ingest.formats.documents import LocatedObject, RowCollector, count, divided, objects, text
from modak.ingest.sources import Source
from modak.ingest.table import Raw

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_LAID: Final = ("n_nodes", "n_ranks", "n_threads", "processes_per_node", "n_repeats", "repeat_index", "experiment_index")


class Ramble:
    """Results of a workspace."""

    name = "ramble"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the status of its experiments, or the workspace's hash."""
        return documents.has_keys(head, ("experiments",)) and (b"RAMBLE_STATUS" in head or b'"workspace_hash"' in head)

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each numeric figure of merit of each experiment that succeeded."""
        document, found = documents.document(source)
        for experiment in objects(document, "experiments"):
            _experiment(experiment, found)
        yield from found.rows()


def _experiment(one: LocatedObject, found: RowCollector) -> None:
    title = text(one.get("name")) or "?"
    if one.get("RAMBLE_STATUS") != "SUCCESS":
        status = text(one.get("RAMBLE_STATUS"))
        found.runs = "experiments"
        found.fail(one.line, f"experiment {title!r} ended as {status!r}", status)
        return
    cells = {**_cells(one), "source": f"ramble {title}"}
    for context in objects(one, "CONTEXTS") if one.get("CONTEXTS") else ():
        within = {"params.context": text(context.get("name"))} if context.get("name") not in (None, "null") else {}
        for merit in objects(context, "foms"):
            if not str(merit.get("origin_type", "")).startswith("summary::"):  # made from the repeats, which are here themselves
                name = text(merit.get("name")) or "?"
                found.figure(merit.line, name, text(merit.get("value")), text(merit.get("units")), cells | within)


def _cells(one: LocatedObject) -> dict[str, str | None]:
    nodes, ranks, per_node = (count(one.get(name)) for name in ("n_nodes", "n_ranks", "processes_per_node"))
    counts = {"nodes": nodes, "ranks_per_node": divided(ranks, nodes) or per_node, "threads_per_rank": count(one.get("n_threads"))}
    return {
        **documents.parameters(documents.uncounted(_varied(one), counts, ranks)),
        "application": text(one.get("application_name")),
        "dataset": text(one.get("workload_name")),
        **{name: None if number is None else str(number) for name, number in counts.items()},
    }


def _varied(one: LocatedObject) -> dict[str, Any]:
    """The variables that tell a workspace's experiments apart: those that the template of their names holds."""
    raw, expanded = documents.within(one, "RAMBLE_RAW_VARIABLES"), documents.within(one, "RAMBLE_VARIABLES")
    template = text(raw.get("experiment_template_name")) or ""
    names = [name for name in _PLACEHOLDER.findall(template) if name not in _LAID]
    return {name: one.get(name, expanded.get(name, raw.get(name))) for name in names}

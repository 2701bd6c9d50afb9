"""The figures on the page on sizing are what the examples give with the packaged results.

`make golden` writes them anew.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from modak.service import open_service
from modak.settings import Settings
from modak.text.amounts import cell, format_duration, spans
from tests.conftest import ANEW, ROOT
from tests.test_readme import printed

PAGE = ROOT / "docs/sizing.md"
EXAMPLES = {"sizing-small": "7 days", "sizing-moderate": "2 days", "sizing-large": "12 hours"}
"""The goal of each, in words."""
TABLE = re.compile(r"(?<=\|---\|---\|---\|---\|---\|---\|---\|---\|---\|\n)(?:\|.*\n)+")
COMMAND = "$ modak size examples/sizing-moderate.json\n"
CONSOLE = re.compile(rf"(?<={re.escape(COMMAND)})(?:.*\n)+?(?=```)")


def rows(database: str) -> Iterator[str]:
    """A line of the table for each partition of the reference configurations."""
    with open_service(Settings(database_url=database)) as service:
        for name, goal in EXAMPLES.items():
            platforms = service.size(json.loads((ROOT / f"examples/{name}.json").read_text()))["platforms"]
            for number, one in enumerate(platforms):
                first = (f"`examples/{name}.json`", goal) if number == 0 else ("", "")
                yield "| " + " | ".join((*first, *cells(one))) + " |\n"


def cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    """What a platform's line says of it."""
    nodes, time = one["nodes"], one["time"]
    ends = (
        "" if nodes["lower"] == nodes.get("upper") else f" ({nodes['lower']:.0f} – {cell(nodes['upper']) if nodes.get('upper') else '…'})"
    )
    interval = spans(time["lower"], time["upper"])
    network = one["network"]["needed"].partition(",")[0]
    return (
        f"`{one['partition']}`",
        one["cooling"],
        f"{nodes['value']:.0f}{ends}" if "value" in nodes else f"out of reach; {one['at_nodes']} are the fastest",
        f"{one['gpus']['value']:.0f}" if "value" in nodes else "–",
        format_duration(time["value"]),
        interval,
        network,
    )


def console(command: str, database: str) -> str:
    """The page's first answer: the goal, and the first two lines of the table as far as the time."""
    goal, head, row, *_ = printed(command, database).splitlines()
    width = head.index("time ") + len("time")
    return f"{goal}\n{head[:width]}  …\n{row[:width]}  …\n"


def renewed(page: str, database: str) -> str:
    """The page with the figures of that database."""
    return CONSOLE.sub(lambda _: console(COMMAND, database), TABLE.sub(lambda _: "".join(rows(database)), page, count=1), count=1)


def test_the_pages_figures_are_what_the_examples_give(packaged_database: Path) -> None:
    """Nodes, GPUs, times and networks of the reference configurations."""
    page = PAGE.read_text()
    assert renewed(page, f"sqlite:///{packaged_database}").splitlines() == page.splitlines(), ANEW


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        PAGE.write_text(renewed(PAGE.read_text(), f"sqlite:///{place}/modak.db"))

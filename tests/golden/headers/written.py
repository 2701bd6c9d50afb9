"""What each scheduler makes of all that a job can say: the options of its header, and its warnings. ``make golden``
writes them anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from modak import plugins, testing
from modak.jobs.spec import Attributes, JobSpec, Resources

HERE = Path(__file__).parent
SIZES = Resources(nodes=3, ranks_per_node=2, memory_per_node=2**30, memory_per_core=2**30, gpus_per_node=1, numa_constraint="quad")
ODD: dict[str, Any] = {
    **{"array": "0-100000:7", "output": "logs/%N.out", "error": "logs/%N.err", "join": True, "notify": ("requeue", "array_tasks")},
    **{"dependency": "singleton", "begin": "now+2hours", "constraint": "a|b", "requeue": False, "copy_environment": False},
    **{"site_resources": ("gres",), "partition": "fat", "name": "3-a-name-of-more-than-15"},
}
"""What few schedulers can do."""
PLAIN: dict[str, Any] = {
    **{"array": "1-9:2%3", "output": "x-%j-%a.out", "error": "x.err", "join": False, "notify": ("none",), "dependency": "afterany:1:2"},
    **{"partition": None, "constraint": None, "node_list": "n1", "reservation": "7", "copy_environment": None, "copy_variables": ()},
    **{"wall_time_s": None, "exclusive": False, "requeue": None},
}
"""What many can, on one node."""
JOBS: Mapping[str, JobSpec] = {
    "all that a job can say": JobSpec(("./solver",), SIZES, testing.SAID),
    "what few schedulers can do": JobSpec(("./solver",), SIZES, replace(testing.SAID, **ODD)),
    "what many can do": JobSpec(("./solver",), replace(SIZES, nodes=1, numa_constraint=None), replace(testing.SAID, **PLAIN)),
    "an array of one output, on named nodes": JobSpec(
        ("./solver",),
        Resources(nodes=2, memory_per_node=2**30),
        Attributes(name="solver", array="1-2", output="logs/x.out", node_list="n[1-2]"),
    ),
}


def written(scheduler: str) -> str:
    """The text of the scheduler's file."""
    lines: list[str] = []
    for title, job in JOBS.items():
        header = plugins.find("schedulers", scheduler).directives(job)
        lines += [f"== {title}", *(" ".join(option) for option in header.options)]
        lines += [f"{warning.field}: {warning.message}" for warning in header.warnings]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    for name in plugins.names("schedulers"):
        (HERE / f"{name}.txt").write_text(written(name))

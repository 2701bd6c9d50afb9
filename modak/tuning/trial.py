"""Trials: one point of the grid as a request, and the outcome of its run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from modak.dsl import Configuration, JobOptions, Notice, Request, Setting
from modak.errors import Infeasible
from modak.onerun import gpus_asked, one_run
from modak.results.units import to_base
from modak.target import Target
from modak.tuning.request import Aim, aim_of, grid_of, space_asked
from modak.tuning.setting import setting_of
from modak.tuning.space import FIELD, LAYOUT, Grid, Point

LEAST_LIMIT_S: Final = 60
"""Shortest limit of a trial, because schedulers count limits in minutes."""
PATIENCE: Final = 3.0
"""A trial is ended after so many times the best time so far, because its result could not be the best."""

INTERRUPTED: Final = (130, 143)
"""Exit statuses after Ctrl-C, and after the signal with which schedulers cancel jobs."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run. ``value`` ``None``: it gave no measurement, for the reason ``why``."""

    value: float | None
    seconds: float | None
    why: str = ""
    interrupted: bool = False
    """Whether somebody or the scheduler stopped it, which says nothing about its setting."""


def base_request(request: Request, chosen: Configuration, target: Target) -> Request:
    """The request with the configuration that its plan chose for the target. A trial differs from it only in the values of its point.

    If ranks per node are tuned, and neither the request nor the space gives threads, these follow from the ranks.
    """
    layout = space_asked(request).layout
    follows = "process_count_per_node" in layout and "threads" not in layout and request.application.threads is None
    gpus = gpus_asked(chosen.gpus_per_node, target)
    counts = {"node_count": chosen.nodes, "process_count_per_node": chosen.ranks_per_node, "request_gpus": gpus}
    threads = None if follows else chosen.threads_per_rank
    open_cores = {"core_count": None, "core_count_per_process": None} if follows else {}
    return request.changed(
        job_options={**counts, **open_cores},
        application={"mpi_ranks": None, "threads": threads, "minimal_efficiency": None},
        optimisation=one_run(request, chosen),
    )


def set_to(base: Request, space: Grid, point: Point) -> Request:
    """The base request with the values of a point."""
    tuning, own = base.optimisation.autotuning, setting_of(base)
    setting = Setting(
        environment={**own.environment, **space.of_kind("environment", point)}, options={**own.options, **space.of_kind("options", point)}
    )
    counts: dict[str, Any] = space.of_kind("layout", point)
    threads = {"threads": counts.pop("threads")} if "threads" in counts else {}
    set_tuning = tuning.model_copy(update={"setting": setting}) if tuning else None
    return base.changed(job_options=counts, application=threads, optimisation={"autotuning": set_tuning})


def trial_of(base: Request, space: Grid, point: Point, folder: str, limit_s: float | None = None) -> Request:
    """The request of a trial, one job, with its files in ``folder``, below the folder of submission; ``limit_s``: its longest run time.

    It gets no signal, which comes so long before the limit that a trial of this limit may be stopped at its beginning.
    """
    output = {"standard_output_file": f"{folder}/output", "standard_error_file": None, "combine_stdout_stderr": True}
    return set_to(base, space, point).changed(
        job_options={**_limit(base.job_options, limit_s), **output, "job_array": None, "signal": None},
        application={"write_result": True, "result_file": f"{folder}/result"},
    )


def with_its_layout(space: Grid, point: Point, chosen: Configuration, warnings: Sequence[Notice]) -> None:
    """Refuse a trial that would run with other counts than its point has: its time would count as theirs.

    Raises :class:`modak.errors.Infeasible`, which says what there would be instead, and why.
    """
    for name, value in space.of_kind("layout", point).items():
        count = getattr(chosen, LAYOUT[name])
        if count != value:
            why = "".join(f" ({one.message})" for one in warnings if one.field.endswith(f".{name}"))
            raise Infeasible(f"the job would have {name}={count}{why}", field=f"{FIELD}.layout.{name}")


def outcome(document: Mapping[str, Any] | None, aim: Aim) -> Outcome:
    """The value of the metric in a result file, or why there is none."""
    if document is None:
        return Outcome(None, None, "no result file was written")
    seconds, status = document.get("seconds"), document.get("exit_status")
    if status != 0:
        return Outcome(None, seconds, f"the run ended with status {status}", status in INTERRUPTED)
    results = document.get("results") or ()
    found = [one for one in results if one.get("metric") == aim.metric]
    if not found:
        none = f"the run gave no {aim.metric}" if results else "the run does not count: its job was requeued, preempted or suspended"
        return Outcome(None, seconds, none if seconds else "the run took no time that could be measured", bool(seconds) and not results)
    value = to_base(float(found[0]["value"]), found[0].get("unit"))
    if value <= 0:  # a program that counted no sample prints 0
        return Outcome(None, seconds, f"the run's {aim.metric} is {aim.seen(value):g}, which is not a valid measurement")
    return Outcome(value, seconds)


def identity(base: Request) -> str:
    """A text that is equal for requests that can share a study: the same command, space, layout and metric."""
    grid = grid_of(base)
    parts = {
        "command": base.model_dump(mode="json")["application"],
        "space": [[one.kind, one.name, list(one.values), one.default] for one in grid.parameters],
        "layout": {name: getattr(base.job_options, name, None) for name in LAYOUT},
        "aim": [aim_of(base).metric, aim_of(base).base],
    }
    return json.dumps(parts, sort_keys=True)


def limit_of(best_s: float) -> float:
    """Seconds after which a trial is ended, from the best time so far."""
    return max(LEAST_LIMIT_S, PATIENCE * best_s)


def _limit(options: JobOptions, limit_s: float | None) -> dict[str, int]:
    if limit_s is None:
        return {}
    asked, whole = options.wall_time_limit, math.ceil(limit_s)
    return {"wall_time_limit": min(asked or whole, whole)}

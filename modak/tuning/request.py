"""What a request asks of a tuner: which settings may be changed, how trials are compared, and what an answer says of it."""

from __future__ import annotations

from dataclasses import dataclass

from modak import dsl
from modak.dsl import Request
from modak.errors import RequestError
from modak.results import metrics, units
from modak.text.amounts import format_number
from modak.tuning import cresta
from modak.tuning.setting import setting_of
from modak.tuning.space import FIELD, Grid, space_of


@dataclass(frozen=True)
class Aim:
    """The metric that trials are compared by. Values are in its base unit, ``base``; people see them in ``unit``, as the request says."""

    metric: str
    base: str
    better: str
    unit: str

    def cost(self, value: float) -> float:
        """A number of which less is better: the value itself, or its inverse where more is better."""
        return value if self.better == "lower" else 1.0 / value

    def seen(self, value: float) -> float:
        """A value as people see it, in ``unit``."""
        return units.from_base(value, self.unit)

    def in_words(self, value: float) -> str:
        """A value with metric and unit: ``step_time 133 ms``."""
        return f"{self.metric} {format_number(self.seen(value), 5)} {self.unit}"


def with_space(request: Request) -> Request:
    """The request with the space, command and metric of its tuner's text, where it has no space of its own.

    Raises :class:`modak.errors.RequestError` for a request that names nothing to tune.
    """
    tuning = request.optimisation.autotuning
    if tuning is None or (tuning.space is None and not tuning.input):
        example = '{"space": {"environment": {"OMP_NUM_THREADS": [1, 2, 4]}}}'
        raise RequestError(f"says what may be changed, for instance {example}", field="optimisation.autotuning")
    if tuning.space is not None:
        return request
    text = cresta.read(tuning.input or "")
    workload = request.optimisation.workload
    completed = tuning.model_copy(update={"space": text.space, "setting": tuning.setting if tuning.setting.environment else text.setting})
    printed = workload.model_copy(update={"metric": workload.metric or text.metric})
    command = {} if request.application.command else {"executable": text.command}
    return request.changed(application=command, optimisation={"autotuning": completed, "workload": printed})


def aim_of(request: Request) -> Aim:
    """The metric that the request's program prints, else the time of its run.

    Raises :class:`modak.errors.RequestError` for a rate of each GPU, which settings on more of them do not improve.
    """
    printed = request.optimisation.workload.metric
    if printed and units.per_part_rate(printed.unit):
        text = f"{printed.unit!r} is what each of them does; trials are compared by what the run does: let the program print that"
        raise RequestError(text, field="optimisation.workload.metric.unit")
    kind = metrics.metric(printed.name, printed.unit) if printed else metrics.metric(metrics.WALL_TIME)
    return Aim(kind.name, kind.unit, kind.better, printed.unit if printed else kind.unit)


def grid_of(base: Request) -> Grid:
    """The grid of a base request; its own counts and setting are the defaults."""
    counts = {
        "node_count": base.job_options.node_count,
        "process_count_per_node": base.job_options.process_count_per_node,
        "threads": base.application.threads,
    }
    return space_of(space_asked(base), setting_of(base), counts)


def space_asked(request: Request) -> dsl.Space:
    """The space as the request writes it. Raises :class:`modak.errors.RequestError` where it has none."""
    tuning = request.optimisation.autotuning
    if tuning is None or tuning.space is None:
        raise RequestError("names what may be changed", field=FIELD)
    return tuning.space


def tuning_hint(request: Request) -> tuple[str, ...]:
    """One sentence if tuning is enabled, because the job script runs the job's own setting only."""
    if not request.optimisation.enable_autotuning:
        return ()
    try:
        space = grid_of(with_space(request))
    except RequestError as error:
        first = error.faults[0]
        return (f"autotuning: not possible with this request ({first.field}: {first.message}); the script uses the job's own settings",)
    names = ", ".join(parameter.name for parameter in space.parameters)
    return (f"autotuning: 'modak tune' looks for better values of {names} ({space.size} settings); the script uses the job's own",)

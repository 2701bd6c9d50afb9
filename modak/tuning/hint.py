"""The sentence about tuning in an answer: over which space it is possible, or why it is not."""

from __future__ import annotations

from modak.dsl import Request
from modak.errors import RequestError
from modak.tuning.request import grid_of, with_space


def hint(request: Request) -> tuple[str, ...]:
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

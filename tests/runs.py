"""Results of runs that tests make up."""

from __future__ import annotations

from typing import Any

from modak.facts import Layout, Result, SeriesKey

SOLVER = {"application": "solver", "system": "supermuc-ng", "metric": "wall_time", "unit": "s"}


def ran(value: float, layout: Layout | None = None, /, **has: Any) -> Result:
    """A result: seconds that a solver ran on SuperMUC-NG, unless ``has``, fields of its layout and of its series, says otherwise."""
    layout = layout or Layout(**{name: has.pop(name) for name in Layout.model_fields.keys() & has.keys()})
    return Result(series=SeriesKey.model_validate(SOLVER | has), layout=layout, value=value)


def here(value: float, layout: Layout | None = None, /, **has: Any) -> Result:
    """Likewise of a system that nobody described."""
    return ran(value, layout, **{"system": "here", **has})

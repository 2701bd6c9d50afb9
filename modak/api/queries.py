"""Query parameters of lists and questions, and of addresses other than for reading: unknown ones are refused, not ignored.

With a misspelt ``dry_run`` data would be changed, and a list would be taken for a part of it, or for its next page. At the published
addresses unknown parameters are ignored, as they always were.
"""

from __future__ import annotations

from typing import Final, get_args, get_origin

from fastapi import Request

from modak.errors import RequestError, unknown

LOOKING: Final = frozenset(("GET", "HEAD"))
FILTERED: Final = ("/results", "/comparisons")
"""These look at their parameters themselves: columns are some."""
CHOOSING: Final = frozenset(("limit", "level"))
"""Parameters of lists, and of what is computed from results: what is asked there is chosen by others, which must not be misspelt."""
PUBLISHED: Final = "published names"
"""The tag of the published addresses."""


async def only_known(request: Request) -> None:
    """Refuse unknown parameters, and parameters with one value that are given twice."""
    route = request.scope["route"]
    if PUBLISHED in route.tags:
        return
    single = {field.alias: not _is_list(field.field_info.annotation) for field in route.dependant.query_params}
    if request.method in LOOKING and (route.path in FILTERED or CHOOSING.isdisjoint(single)):
        return
    for name in request.query_params:
        if name not in single:
            called = ascii(name[:100])[1:-1]
            raise RequestError(unknown("parameter", called, single), field=called)
        if single[name]:
            once(request, name)


def once(request: Request, name: str) -> None:
    """Refuse a parameter that is given twice."""
    if len(request.query_params.getlist(name)) > 1:
        raise RequestError("given twice; one value", field=name)


def _is_list(annotation: object) -> bool:
    return any(get_origin(way) is list for way in (annotation, *get_args(annotation)))

"""Queries of addresses that are asked or that change something: what is misspelt there is refused, not passed over.

A misspelt ``dry_run`` would change what it was to try. Callers of the published addresses send what they like, as ever.
"""

from __future__ import annotations

from typing import Final, get_args, get_origin

from fastapi import Request

from modak.errors import RequestError, unknown

LOOKING: Final = frozenset(("GET", "HEAD"))
TOLERANT: Final = "published names"
"""The tag of addresses whose callers are older than this."""


async def only_known(request: Request) -> None:
    """Refuse a parameter that the address of a request does not have, and one given twice that has one value."""
    route = request.scope["route"]
    if request.method in LOOKING or TOLERANT in route.tags:
        return
    single = {field.alias: not _is_list(field.field_info.annotation) for field in route.dependant.query_params}
    for name in request.query_params:
        if name not in single:
            called = ascii(name[:100])[1:-1]
            raise RequestError(unknown("parameter", called, single), field=called)
        if single[name]:
            once(request, name)


def once(request: Request, name: str) -> None:
    """Refuse a parameter that has one value and is given twice."""
    if len(request.query_params.getlist(name)) > 1:
        raise RequestError("given twice; one value", field=name)


def _is_list(annotation: object) -> bool:
    return any(get_origin(way) is list for way in (annotation, *get_args(annotation)))

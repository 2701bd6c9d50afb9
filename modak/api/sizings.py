"""``POST /sizings``: how much hardware a goal needs, system by system."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from modak.api.answers import ref, told
from modak.api.bodies import Body, document
from modak.api.native import Strict, described, service_of
from modak.api.problems import answer

SIZED: Final = told(
    ref("sizing"), "The platforms, those that meet the goal first; every figure with unit, interval, basis and what it follows from"
)


def add_routes(app: FastAPI) -> None:
    """Add the address to ``app``."""
    summary = "How much hardware a goal needs"
    app.add_api_route(
        "/sizings", sizings, methods=["POST"], tags=["ask"], summary=summary, responses=SIZED, openapi_extra=described("request")
    )


def sizings(request: Request, body: Body, strict: Strict = False) -> Response:
    """Nodes or GPUs, time, node-hours, network and storage for the known systems and the reference configurations.

    The goal is `optimisation.objective.deadline`; a named `target` restricts the answer to that system.
    """
    return answer(service_of(request).size(document(body), strict=strict))

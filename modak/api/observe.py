"""Monitoring of requests: an id in each answer, one line in the log, a count and a duration under ``/metrics``."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from modak.api.counts import FOLDER, count_together
from modak.api.openapi import text
from modak.errors import ModakError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Histogram
    from prometheus_client.metrics_core import Metric

    from modak.store.values import State

LOG: Final = logging.getLogger("modak.requests")
HEADER: Final = b"x-request-id"
GIVEN: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""Ids that are accepted from a proxy; others are not repeated anywhere."""
SECONDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class Observer:
    """The outermost layer of the application (pure ASGI: Starlette's wrapped requests would cost ten times as much)."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Histogram

        self.app = app
        self.requests = Counter("modak_requests", "Answers given.", ("method", "route", "status"), registry=registry)
        description = "Time from the header of a request to the end of its answer."
        self.seconds = Histogram("modak_request_seconds", description, ("route",), buckets=SECONDS, registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note how it ended."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        began, status = perf_counter(), 500
        name = chosen_id(scope)
        state = scope.setdefault("state", {})
        state["request_id"] = name
        noted: str | None = None

        async def noting(message: Message) -> None:
            nonlocal status, noted
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (HEADER, name.encode())]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                noted = state.get("why", "")
                self._note(scope, status, perf_counter() - began, name)

        try:
            await self.app(scope, receive, noting)
        finally:  # of a request whose time was over long after its answer: the thread that works on it goes on
            if noted is None:
                self._note(scope, status, perf_counter() - began, name)
            elif noted != state.get("why", ""):
                LOG.warning("after the answer %d: %s", status, state["why"], extra={"request_id": name})

    @lru_cache(maxsize=512)  # noqa: B019 - there is one of these, for as long as the process runs
    def _figures(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        return self.requests.labels(method, route, status), self.seconds.labels(route)

    def _note(self, scope: Scope, status: int, took: float, name: str) -> None:
        # Never the path itself: callers choose that, and each would be a series.
        route = getattr(scope.get("asked", scope).get("route"), "path", "unknown")
        method = scope["method"] if scope["method"] in METHODS else "other"
        requests, seconds = self._figures(method, route, status)
        requests.inc()
        seconds.observe(took)
        why = scope["state"].get("why")
        if LOG.isEnabledFor(logging.WARNING if why else logging.INFO):
            fields = {"method": method, "route": route, "status": status, "ms": round(took * 1000, 2), "request_id": name}
            principal = scope["state"].get("principal")
            more = fields | ({"principal": principal} if principal else {})
            if why:
                LOG.warning("%s %s %d: %s", method, route, status, why, extra=more)
            else:
                LOG.info("%s %s %d", method, route, status, extra=more)


def chosen_id(scope: Scope) -> str:
    """The id that a proxy gave to the request if it is a plain word, otherwise a new one."""
    for key, value in scope["headers"]:
        if key == HEADER and GIVEN.fullmatch(value):
            return str(value, "ascii")
    return os.urandom(8).hex()


class Gauges:
    """The state of the database, read for each scrape; every worker reports the same."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app

    def collect(self) -> Iterator[Metric]:
        """Prometheus' protocol."""
        from prometheus_client.core import GaugeMetricFamily

        try:
            state: State = self.app.state.service().store.state()
        except ModakError:  # what was counted of requests is still worth telling
            yield GaugeMetricFamily("modak_database_up", "Whether the database answers.", 0)
            return
        yield GaugeMetricFamily("modak_database_up", "Whether the database answers.", 1)
        series = GaugeMetricFamily(
            "modak_series", "Series of results, by whether their models are fitted to what they hold now.", labels=["models"]
        )
        series.add_metric(["fitted"], state.series - state.stale_series)
        series.add_metric(["stale"], state.stale_series)
        yield series
        yield GaugeMetricFamily("modak_models", "Fitted curves.", state.models)
        if state.newest_load is not None:
            yield GaugeMetricFamily("modak_newest_load_timestamp_seconds", "When results were last loaded.", state.newest_load)
        built = GaugeMetricFamily("modak_builds", "Builds of images, by state.", labels=["state"])
        for name, number in state.builds.items():
            built.add_metric([name], number)
        yield built


def add_observation(app: FastAPI) -> None:
    """Observe every request of ``app``, and answer ``GET /metrics``: of all workers where ``modak serve`` runs several."""
    shared = os.environ.get(FOLDER)
    if trouble := count_together():
        LOG.warning("what this worker answers is missing in /metrics until it is started anew: %s", trouble)
    from prometheus_client import CollectorRegistry, ProcessCollector

    own = CollectorRegistry()
    ProcessCollector(registry=own)
    app.add_middleware(Observer, registry=own)

    figures = {200: {"description": "The figures", "content": {"text/plain": {"schema": text("in Prometheus' text format")}}}}

    @app.get("/metrics", tags=["operations"], summary="Figures for Prometheus", response_class=Response, responses=figures)  # type: ignore[arg-type]
    def metrics(request: Request) -> Response:
        """Requests by address and status, their duration, the state of the database and of its models, builds."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        merged = CollectorRegistry()
        if shared:
            MultiProcessCollector(merged, shared)  # type: ignore[no-untyped-call]
        else:
            merged.register(own)
        merged.register(Gauges(request.app))
        return Response(generate_latest(merged), media_type=CONTENT_TYPE_LATEST)

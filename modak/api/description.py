"""The OpenAPI document of the whole service: what FastAPI finds in the routes, and what it cannot know."""

from __future__ import annotations

import re
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from modak import schemas
from modak.api import answers, builds, openapi, published
from modak.api.access import ANY, RESULT, scope_of
from modak.api.examples import add_examples
from modak.web.reference import GROUPS

DESCRIPTION: Final = """Choose container, configuration and job script from measured results.

**First requests.** `POST /optimise` answers a request document with the configuration, its predicted time, the reasons and the job script;
`POST /validations` checks a document, `POST /recommendations` ranks the configurations. `GET /schema/request` is the schema for editors.
`POST /proposals` names the next runs worth measuring; `GET /comparisons`, `/evaluations`, `/lines` and `/outcomes` compare
results and models.

**Errors** are `application/problem+json` for every address. 400: no JSON, or JSON that readers interpret differently; 401: a token is
needed, or this one is unknown; 403: its scope does not allow this; 404: unknown address or name; 409: the values do not fit together, the
system, or what is there; 413, 415: body too large, or of another type; 422: a value is wrong, `field` says which; 429, 503: try again after
`Retry-After` seconds. Warnings are part of good answers; `strict=true` makes them errors.

**Tokens** are sent as `Authorization: Bearer …`. `security` names the scope that an address needs: `read`, `optimise`, `load` or `admin`,
which includes the others; `result` is a token of `POST /plans/{id}/token`, for one result of that plan.

**Lists** come in pages: send `next` of an answer as `cursor` to get the following page; the last one has no `next`. Systems, images, rules
and models have an `ETag`: send it as `If-None-Match` to get 304 where nothing has changed.
"""
_UNUSED: Final = ("HTTPValidationError", "ValidationError")
"""Components of FastAPI's own errors, in place of which every address answers a ``problem``."""
_ERROR: Final = {
    "description": "What is wrong",
    "content": {"application/problem+json": {"schema": openapi.ref("problem")}},
    "headers": {"Retry-After": {"description": "of 429 and 503: seconds after which to try again", "schema": {"type": "integer"}}},
}
_REQUEST_ID: Final = {"description": "names the request in logs; that of the request where it gave one", "schema": openapi.TEXT}
_TOKEN: Final = {"type": "http", "scheme": "bearer", "description": "a key of `modak token create`, or a token of the site's issuer"}


def document(app: FastAPI) -> dict[str, Any]:
    """The document: paths from the routes, with the schemas of bodies and answers, errors, scopes and examples."""
    settings = app.state.settings
    made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    made["components"] = {"schemas": _schemas(made.get("components", {}).get("schemas", {})), "securitySchemes": {"token": _TOKEN}}
    made["security"] = [{}, {"token": []}] if settings.anonymous else [{"token": []}]
    made["tags"] = [{"name": name, "description": heading} for name, heading in GROUPS.items()]
    if settings.public_url:
        made["servers"] = [{"url": settings.public_url}]
    add_examples(made)
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = dict(_ERROR)
            for response in operation["responses"].values():
                response["headers"] = {**response.get("headers", {}), "X-Request-ID": _REQUEST_ID}
            operation["security"] = _security(scope_of(method.upper(), path), anonymous=settings.anonymous)
    return made


def operation_id(route: APIRoute) -> str:
    """The name of an operation in generated clients: its method and the words of its address."""
    return "_".join([min(route.methods or {""}).lower(), *re.findall(r"\w+", route.path_format)])


def _schemas(of_routes: dict[str, Any]) -> dict[str, Any]:
    """The components: those that FastAPI has made for routes, and those of the bodies that the service reads, and the answers it writes."""
    documents = schemas.components(
        "request", "response", "points", "result", "sizing", "system", "processor", "accelerator", "image", "rule"
    )
    used = {name: schema for name, schema in of_routes.items() if name not in _UNUSED}
    return {**used, **documents, **answers.components(), **builds.schemas(), **published.schemas()}


def _security(needed: str | None, *, anonymous: bool) -> list[dict[str, list[str]]]:
    """What a request needs, in OpenAPI's words: one of these, each a token with a scope, or nothing."""
    if needed is None:
        return [{}]
    of_some: dict[str, list[list[str]]] = {RESULT: [[RESULT], ["load"]], ANY: [[]]}
    nothing: list[dict[str, list[str]]] = [{}] if anonymous and needed in ("read", "optimise", ANY) else []
    return [*nothing, *({"token": scopes} for scopes in of_some.get(needed, [[needed]]))]

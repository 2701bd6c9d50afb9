"""Authentication and authorisation, before a body is read and before anything is looked up for a caller.

A request without a token is anonymous. A wrong token is answered with 401, also at addresses that need none. Addresses that
:func:`scope_of` does not name need the scope ``admin``, so a new address is closed until it is opened there. Unknown addresses are
answered with 404 to callers who may read, and with 405 those that take other methods, if they have a token.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from socket import gethostname
from typing import Final
from urllib.parse import urlsplit

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from modak.api.limits import RateLimit, RequestLimits, caller
from modak.api.problems import ProblemResponse, answer_to, routes_at
from modak.auth import REFUSED, SCOPES, Principal, oidc, tokens
from modak.auth.ring import KeyRing
from modak.errors import BadSyntax, Fault, Forbidden, ModakError, Unauthorised, Unavailable
from modak.settings import Settings, split_list
from modak.store.access import UsedToken
from modak.store.audit import Actor

LOG: Final = logging.getLogger("modak.access")
RESULT: Final = "result"
"""The scope of a job's token: it may send that job's result."""
ANY: Final = "any"
"""What every token opens, but a job's: no scope that one is created with."""
CHECKING: Final = 40
"""Most tokens with unknown keys that are checked at once, in threads of their own: while the issuer does not answer, others have theirs."""
_ALWAYS: Final = frozenset(("/health", "/ready", "/ui/style.css", "/ui/icon.svg"))  # the last two: the page of a refusal has them, too
_ASKING: Final = frozenset(
    (
        "/optimise", "/recommendations", "/validations", "/predictions", "/calibrations", "/proposals", "/sizings", "/ui/plans",
        "/get_image", "/get_build", "/get_optimisation", "/get_job_content",
    )
)  # fmt: skip
_ALSO: Final = {"/ui/plans": "read"}
"""A second scope: the form comes back with the systems and applications that there are."""
_READING: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_READABLE: Final = frozenset(
    (
        "systems", "images", "rules", "models", "results", "comparisons", "evaluations", "lines", "outcomes", "plans", "builds",
        "metrics", "infrastructures", "scripts", "scaling_models", "container_mappings", "ui", "docs",
    )
)  # fmt: skip
"""What may be read, with everything below it: the first part of an address."""
_DESCRIBING: Final = frozenset(("schema", "openapi.json"))
"""What has no data of the site, and without which nobody could use a token."""
_POSTED: Final = {**dict.fromkeys(_ASKING, "optimise"), "/results": "load"}
_TO_PLANS: Final = {"result": RESULT, "token": "load"}
"""What may be sent to a plan: the last part of its address."""


def scope_of(method: str, path: str) -> str | None:
    """The scope that a request needs; ``None`` if it needs none."""
    if method in _READING:
        logged, first = path.startswith("/builds/") and path.endswith("/log"), path.removeprefix("/").partition("/")[0]
        if first in _DESCRIBING:
            return ANY
        known = path in _ASKING or first in _READABLE or path == "/"
        return None if path in _ALWAYS else "read" if known and not logged else "admin"
    if method != "POST":
        return "admin"
    of_plan = _TO_PLANS.get(path.rpartition("/")[2]) if path.startswith("/plans/") else None
    return of_plan or _POSTED.get(path, "admin")


class OtherSite(ModakError):
    """A page of another site sent the request, in the name of whoever looked at it."""

    status = 403
    title = "the form is of another site"


def _as_browsers_name(host: str) -> str:
    """A host and port without TLS, as an ``Origin`` has them; proxies and people also write the default port, and capitals."""
    return host.lower().removesuffix(":80")


def issuer_of(settings: Settings) -> oidc.Issuer | None:
    """The issuer that the settings name. Raises as :func:`modak.auth.oidc.check` does."""
    if not settings.oidc_issuer:
        return None
    oidc.check(settings.oidc_issuer, settings.oidc_audience)
    return oidc.Issuer(settings.oidc_issuer, settings.oidc_audience, settings.oidc_scopes_claim)


def guard(app: FastAPI, issuer: oidc.Issuer | None) -> None:
    """Put access control, which believes this issuer, before ``app``, and the limits of every request before it."""
    settings: Settings = app.state.settings
    app.state.keys = KeyRing(lambda: app.state.service().store.access)
    app.add_middleware(AccessControl, settings=settings, keys=app.state.keys, issuer=issuer)
    own = frozenset(("localhost", gethostname().lower(), urlsplit(settings.public_url).hostname or "localhost"))
    app.add_middleware(RequestLimits, request_s=settings.request_s, names=None if settings.trusted_proxies else own)
    if settings.trusted_proxies:
        from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.trusted_proxies)


class AccessControl:
    """ASGI middleware: finds the principal, limits its rate, and lets through what its scopes allow."""

    def __init__(self, app: ASGIApp, settings: Settings, keys: KeyRing, issuer: oidc.Issuer | None) -> None:
        self._app, self._keys, self._issuer = app, keys, issuer
        self._checking = CapacityLimiter(CHECKING)
        self._rates = RateLimit(settings.rate_per_minute)
        self._anonymous = Principal("", frozenset(("read", "optimise", ANY) if settings.anonymous else ()))
        public = urlsplit(settings.public_url)  # a proxy need not pass on the name by which it was called
        self._sites = frozenset((*split_list(settings.browser_origins), f"{public.scheme}://{_as_browsers_name(public.netloc)}"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its principal in ``scope["state"]``, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            refused = await self._refusal(scope)
        except ModakError as error:
            refused = answer_to(error, scope)
        if refused:
            scope["route"] = next(routes_at(scope), None)  # for the log and the figures: the router does not see this request
        await (refused or self._app)(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that is refused; ``None`` for others, whose principal is noted in ``scope["state"]``."""
        if scope["method"] not in _READING and self._forged(dict(scope["headers"])):
            raise OtherSite("send it from a page of this service (at MODAK_PUBLIC_URL), or of a site that MODAK_BROWSER_ORIGINS names")
        address = caller(scope["client"][0] if scope["client"] else None)
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        if sent and (wait := self._rates.take(address, 0.0)):
            return _too_many(wait)
        who = await self._caller(sent, scope["path"], address) if sent else self._anonymous
        if wait := self._rates.take(address and (who.name or address)):
            return _too_many(wait)
        scope["state"].update(caller=who, principal=who.name)
        if lacking := self._lacking(scope, who):
            if not who.name:
                raise Unauthorised("send a token: 'Authorization: Bearer …'")
            if scope["method"] not in _READING:
                await run_in_threadpool(self._note_refusal, scope, who)
            told = f"the scope {lacking!r} is needed, which this token lacks: ask the administrators of the service"
            raise Forbidden(told if lacking in SCOPES else "a token of that plan is needed")
        return None

    async def _caller(self, sent: list[bytes], path: str, address: str) -> Principal:
        """The principal of the token in the headers ``sent``. Each wrong token counts against the rate of its address."""
        try:
            return await self._principal(_bearer(sent), path) or self._anonymous
        except Unauthorised:
            self._rates.take(address)
            raise

    def _forged(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a page of another site sent this: a proxy that knows the user adds a token to that, too. Browsers say so; no form can.

        What they call the same site are all hosts of a domain, and all ports of a host. Without TLS they name only the page's own site.
        """
        relation, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin", b"").decode("latin-1")
        if relation is None:
            own = _as_browsers_name(headers.get(b"host", b"").decode("latin-1"))
            return bool(origin) and origin.rpartition("//")[2] != own and origin not in self._sites
        return relation in (b"cross-site", b"same-site") and origin not in self._sites

    def _lacking(self, scope: Scope, who: Principal) -> str | None:
        """The scope that the request needs and its caller lacks; ``None``: there is none, or the router answers 404 or 405, because the
        address is unknown, or takes other methods, which those with a token are told, and the caller may read."""
        asked = (scope_of(scope["method"], scope["path"]), _ALSO.get(scope["path"]))
        lacking = next((one for one in asked if one and not self._may(who, one)), None)
        if lacking is None or (lacking == RESULT and who.may("load")):
            return None
        answered = (Match.FULL,) if who.name else (Match.FULL, Match.PARTIAL)
        shows_nothing = self._may(who, "read") and not any(route.matches(scope)[0] in answered for route in routes_at(scope))
        return None if shows_nothing else lacking

    def _may(self, who: Principal, needed: str) -> bool:
        """Whether the caller may do that, or everybody may."""
        return who.may(needed) or self._anonymous.may(needed) or (needed == ANY and bool(who.name))

    async def _principal(self, token: str, path: str) -> Principal | None:
        """The principal of a token; ``None`` for other schemes than Bearer, which may be meant for a proxy."""
        if not token:
            return None
        if token.startswith(tokens.JOB):
            return await run_in_threadpool(self._job, token, path)
        if token.startswith(tokens.KEY):
            return self._keys.remembered(token) or await run_in_threadpool(self._keys.find, token)
        if self._issuer is None or token.count(".") != 2:
            raise Unauthorised(REFUSED)
        return await run_sync(self._issuer.principal, token, limiter=None if self._issuer.knows(token) else self._checking)

    def _job(self, token: str, path: str) -> Principal:
        plan_id = path.removeprefix("/plans/").removesuffix("/result")
        its_own = path.endswith("/result") and tokens.well_formed(token, tokens.JOB)
        found = self._keys.access().result_allowed(tokens.digest(token), plan_id) if its_own else None
        if found is None:
            raise Unauthorised(REFUSED)
        return Principal(found, frozenset((RESULT,)))

    def _note_refusal(self, scope: Scope, who: Principal) -> None:
        """Record a refusal in the audit trail, or in the log while the trail cannot be written."""
        actor = Actor(who.name, request_id(scope))
        try:
            self._keys.access().note(actor, f"{scope['method']} {scope['path']}"[:64], scope["path"][:200], "refused")
        except Unavailable:
            LOG.warning("a refusal is missing in the audit trail", extra={"principal": who.name, "request_id": request_id(scope)})


def actor_of(request: Request) -> Actor:
    """The actor of the writes of a request."""
    return Actor(request.scope["state"]["principal"], request_id(request.scope))


def used_token(request: Request, plan_id: str) -> UsedToken | None:
    """The job's token of a request, which its load uses up; ``None`` for a principal who may load anyway."""
    if request.scope["state"]["caller"].may("load"):
        return None
    return UsedToken(tokens.digest(_bearer([request.headers["authorization"].encode("latin-1")])), plan_id)


def request_id(scope: Scope) -> str:
    """The id of a request in logs and in the audit trail, which :mod:`modak.api.observe` has chosen."""
    return str(scope["state"]["request_id"])


def _bearer(sent: list[bytes]) -> str:
    """The token of the one Authorization header; empty for a scheme that is not ours."""
    if len(sent) > 1:
        raise BadSyntax("more than one Authorization header", field="Authorization")
    scheme, _, token = sent[0].decode("latin-1").partition(" ")
    if scheme.lower() != "bearer":
        return ""
    if not token.strip():
        raise Unauthorised(REFUSED)
    return token.strip()


def _too_many(wait: int) -> Response:
    return ProblemResponse(429, "too many requests", [Fault("", f"come again in {wait} s")], {"Retry-After": str(wait)})

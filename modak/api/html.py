"""Pages as answers."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response
from starlette.types import Scope

from modak import web

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",  # with none at all, a form would not name its own site
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}


def page(template: str, scope: Scope, *, status: int = 200, **values: Any) -> Response:
    """The page that a template makes of values, as the answer to a request."""
    sent = scope.get("raw_path") or scope["path"].encode()  # as the browser sees it: it takes %2F for no slash
    return Response(web.page(template, base(sent.decode("latin-1")), **values).encode("utf-8", "replace"), status, HEADERS, "text/html")


def is_wanted(scope: Scope) -> bool:
    """Whether a request is a browser's, which asks for a page and not for a document."""
    is_page = scope["path"] in ("/", "/ui") or scope["path"].startswith("/ui/")
    return is_page and any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def base(path: str) -> str:
    """The relative way from a page's address to that of the first page; it holds behind a proxy's prefix, too.

    >>> base("/"), base("/ui"), base("/ui/"), base("/ui/results"), base("/ui/plans/ID"), base("/ui%2Fresults")
    ('ui/', 'ui/', '', '', '../', 'ui/')
    """
    depth = path.count("/")
    return "ui/" if depth == 1 else "../" * (depth - 2)

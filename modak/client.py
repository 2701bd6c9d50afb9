"""The use cases over HTTP or in-process: one interface, so the command line does not care which.

:class:`Remote` uses the standard library's HTTP client: it costs a tenth of what the larger ones cost to import.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode, urlsplit

from modak.errors import Fault, Infeasible, ModakError, Unavailable
from modak.settings import Settings

LONGEST_ANSWER: Final = 1 << 28


class Client(Protocol):
    """What the command line asks for. Documents are JSON values; every method raises :class:`~modak.errors.ModakError`."""

    def optimise(self, document: Any, *, strict: bool = False) -> dict[str, Any]:
        """The request's own document, filled in."""

    def recommend(self, document: Any, *, strict: bool = False) -> dict[str, Any]:
        """``choices``, best first, and ``warnings``."""

    def predict(self, content: bytes, name: str, *, level: float = 0.9) -> dict[str, Any]:
        """The rows of a result table without values, with their predictions: ``rows``, and ``warnings``."""

    def results(self, filters: Mapping[str, str], *, limit: int = 100, cursor: str | None = None) -> dict[str, Any]:
        """A page of results: ``items``, and ``next`` where there are more."""

    def export(self, filters: Mapping[str, str]) -> tuple[tuple[str, ...], Iterator[dict[str, str]]]:
        """All results that the filters leave: the columns, and rows of text."""

    def listing(self, kind: str) -> list[dict[str, Any]]:
        """Every item of ``systems``, ``images``, ``rules`` or ``models``."""


def client(settings: Settings) -> Client:
    """The service that the settings name, or the use cases in this process."""
    if settings.server:
        return Remote(settings.server, settings.token.get_secret_value(), settings.timeout_s)
    from modak.service import open_service

    return open_service(settings)


class RemoteError(ModakError):
    """What the service answered instead of 200, with its own faults."""

    def __init__(self, status: int, title: str, faults: Sequence[Fault]) -> None:
        super().__init__(faults=faults)
        self.status = status
        self.title = title
        self.exit_code = (
            Infeasible.exit_code
            if title == Infeasible.title
            else Unavailable.exit_code
            if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR
            else 1
        )


@dataclass(frozen=True)
class Remote:
    """A MODAK service at an address."""

    address: str
    token: str = ""
    timeout_s: float = 60.0

    def optimise(self, document: Any, *, strict: bool = False) -> dict[str, Any]:
        """``POST /optimise``."""
        return self._post("/optimise", document, strict=strict)

    def recommend(self, document: Any, *, strict: bool = False) -> dict[str, Any]:
        """``POST /recommendations``."""
        return self._post("/recommendations", document, strict=strict)

    def predict(self, content: bytes, name: str, *, level: float = 0.9) -> dict[str, Any]:
        """``POST /predictions``."""
        kind = "application/json" if content.lstrip()[:1] in (b"[", b"{") else "text/csv"
        return self._call("POST", _path("/predictions", level=level), content, kind)

    def results(self, filters: Mapping[str, str], *, limit: int = 100, cursor: str | None = None) -> dict[str, Any]:
        """``GET /results``."""
        return self._call("GET", _path("/results", **filters, limit=limit, cursor=cursor))

    def export(self, filters: Mapping[str, str]) -> tuple[tuple[str, ...], Iterator[dict[str, str]]]:
        """``GET /results``, page by page."""
        return _rows(self._pages("/results", filters))

    def listing(self, kind: str) -> list[dict[str, Any]]:
        """``GET /kind``, page by page."""
        return self._pages(f"/{kind}", {})

    def _pages(self, path: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        page = self._call("GET", _path(path, **query, limit=1000))
        items: list[dict[str, Any]] = page["items"]
        while "next" in page:
            page = self._call("GET", _path(path, **query, limit=1000, cursor=page["next"]))
            items += page["items"]
        return items

    def _post(self, path: str, document: Any, **query: Any) -> dict[str, Any]:
        body = json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        return self._call("POST", _path(path, **query), body)

    def _call(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> dict[str, Any]:
        parts = urlsplit(self.address)
        headers = {"Accept": "application/json", "Content-Type": kind}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            connection = _connect(parts.scheme, parts.hostname or "", parts.port, self.timeout_s)
            try:
                connection.request(method, parts.path + path, body, headers)
                response = connection.getresponse()
                content = response.read(LONGEST_ANSWER)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(
                f"no answer from {self.address}: {getattr(error, 'strerror', None) or str(error) or type(error).__name__}"
            ) from None
        return _answer(self.address, response.status, content)


def _connect(scheme: str, host: str, port: int | None, timeout: float) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, port, timeout=timeout)


def _rows(items: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], Iterator[dict[str, str]]]:
    """Results as a table of text, in the order of the results table's columns."""
    from modak.ingest.columns import COLUMNS

    parameters = sorted({name for item in items for name in item if name.startswith("params.")})
    at = COLUMNS.index("dataset") + 1
    columns = (*COLUMNS[:at], *parameters, *COLUMNS[at:])
    return columns, ({name: _cell(item.get(name)) for name in columns} for item in items)


def _cell(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _path(path: str, **query: Any) -> str:
    shown = {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items() if value not in (None, False, "")
    }
    return quote(path) + (f"?{urlencode(shown)}" if shown else "")


def _answer(address: str, status: int, content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
        if status == http.HTTPStatus.OK and isinstance(answer, dict):
            return answer
        faults = [Fault(str(found["field"]), str(found["message"])) for found in answer["errors"]]
        raise RemoteError(status, str(answer["title"]), faults)
    except (ValueError, KeyError, TypeError):
        raise Unavailable(f"{address} answered {status} and no document of MODAK's") from None

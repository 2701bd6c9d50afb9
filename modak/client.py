"""The use cases over HTTP, by the methods that they have in this process: the command line need not know which it has.

:class:`Remote` uses the standard library's HTTP client: it costs a tenth of what the larger ones cost to import.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import ssl
from base64 import b64encode
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, Never, TypeAlias
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

from modak.errors import DataError, Fault, Infeasible, ModakError, Unavailable
from modak.progress import Progress, silent
from modak.settings import Settings
from modak.text.amounts import printable
from modak.text.numbering import Measured, Selection

if TYPE_CHECKING:
    from modak.facts import Added, Known
    from modak.ingest.reading import Incoming
    from modak.ingest.table import Table
    from modak.service import Service
    from modak.store.suspects import Judgement

LONGEST_ANSWER: Final = 1 << 28
OTHER_VERSION: Final = "{} is of another version of MODAK: this command does not read its answer"
REDIRECTED: Final = range(300, 400)
ANONYMOUS: Final = "is not set; this needs a token of the service, which its administrators create ('modak token create')"
"""What to do if the service asks for a token: users set no headers."""
_JUDGEMENTS: Final[Mapping[Judgement, str]] = {"confirm": "confirmations", "doubt": "doubts", "unmark": "unmarkings"}


Client: TypeAlias = "Service | Remote"
"""The use cases that the command line needs. Documents are JSON values; every method raises :class:`~modak.errors.ModakError`."""


class RemoteError(ModakError):
    """An error that the service answered, with its faults."""

    def __init__(self, status: int, title: str, faults: Sequence[Fault]) -> None:
        super().__init__(faults=faults)
        self.status = status
        self.title = title
        if title == Infeasible.title:
            self.exit_code = Infeasible.exit_code
        elif status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            self.exit_code = Unavailable.exit_code


@dataclass(frozen=True)
class Remote:
    """A MODAK service at an address, with the methods of :class:`modak.service.Service` that commands need."""

    address: str
    token: str = ""
    timeout_s: float = 60.0

    @classmethod
    def of(cls, settings: Settings) -> Remote:
        """The service that the settings name."""
        return cls(settings.server, settings.token.get_secret_value(), settings.timeout_s)

    def optimise(self, document: Any, *, strict: bool = False) -> dict[str, Any]:
        """``POST /optimise``."""
        return self._post("/optimise", document, strict=strict)

    def recommend(self, document: Any, *, strict: bool = False, closest: bool = False) -> dict[str, Any]:
        """``POST /recommendations``."""
        return self._post("/recommendations", document, strict=strict, closest=closest)

    def validate(self, document: Any, *, strict: bool = False) -> dict[str, Any]:
        """``POST /validations``."""
        return self._post("/validations", document, strict=strict)

    def predict(self, content: bytes, name: str, *, level: float = 0.9) -> dict[str, Any]:
        """``POST /predictions``."""
        return self._table(_path("/predictions", level=level), content, name)

    def calibration(self, content: bytes, name: str, *, number: int) -> dict[str, Any]:
        """``POST /calibrations``."""
        return self._table(_path("/calibrations", number=number), content, name)

    def next_runs(
        self, document: Any, *, most: int = 5, budget: float | None = None, gain: float, scripts: bool = False, strict: bool = False
    ) -> dict[str, Any]:
        """``POST /proposals``."""
        return self._post("/proposals", document, number=most, budget=budget, gain=gain, scripts=scripts, strict=strict)

    def size(self, document: Any, *, strict: bool = False) -> dict[str, Any]:
        """``POST /sizings``."""
        return self._post("/sizings", document, strict=strict)

    def plan(self, plan_id: str) -> dict[str, Any]:
        """``GET /plans/ID``."""
        return self._call("GET", _path(f"/plans/{plan_id}"))

    def results(self, filters: Mapping[str, str], *, limit: int = 100, cursor: str | None = None, doubted: bool = False) -> dict[str, Any]:
        """``GET /results``."""
        return self._call("GET", _path("/results", filters, limit=limit, cursor=cursor, doubted=doubted))

    def used_by(self, plan_id: str, *, limit: int = 100, cursor: str | None = None) -> dict[str, Any]:
        """``GET /results?used_by=ID``."""
        return self._call("GET", _path("/results", used_by=plan_id, limit=limit, cursor=cursor))

    def replaced(self, filters: Mapping[str, str], *, limit: int = 100, cursor: str | None = None) -> dict[str, Any]:
        """``GET /results?replaced=true``."""
        return self._call("GET", _path("/results", filters, limit=limit, cursor=cursor, replaced=True))

    def outcomes(self, application: str | None = None, system: str | None = None, *, limit: int = 100) -> dict[str, Any]:
        """``GET /outcomes``."""
        return self._call("GET", _path("/outcomes", application=application, system=system, limit=limit))

    def compare(self, column: str, values: Sequence[str] = (), filters: Mapping[str, str] | None = None) -> dict[str, Any]:
        """``GET /comparisons``."""
        return self._call("GET", _path("/comparisons", filters, column=column, value=values))

    def evaluate(
        self, *, holdout: str = "largest:2", application: str | None = None, system: str | None = None, level: float = 0.9
    ) -> dict[str, Any]:
        """``GET /evaluations``."""
        return self._call("GET", _path("/evaluations", holdout=holdout, application=application, system=system, level=level))

    def lines(
        self, models: Sequence[str] = (), application: str | None = None, system: str | None = None, *, level: float = 0.9, most: int
    ) -> dict[str, Any]:
        """``GET /lines``."""
        return self._call("GET", _path("/lines", model=models, application=application, system=system, level=level, most=most))

    def export(self, filters: Mapping[str, str]) -> tuple[tuple[str, ...], Generator[dict[str, str]]]:
        """``GET /results``, page by page."""
        return _rows(self._pages("/results", filters))

    def listing(self, kind: str, application: str | None = None) -> list[dict[str, Any]]:
        """``GET /kind``, page by page; of models only those of an application, if one is given."""
        items = self._pages(f"/{kind}", {})
        return items if application is None else [item for item in items if item["application"] == application]

    def item(self, kind: str, name: str) -> dict[str, Any]:
        """``GET /kind/NAME``."""
        return self._call("GET", _path(f"/{kind}/{name}"))

    def ask(self, document: Any) -> dict[str, Any]:
        """``POST /builds``."""
        return self._post("/builds", document)

    def state(self, build_id: str) -> dict[str, Any]:
        """``GET /builds/ID``."""
        return self._call("GET", _path(f"/builds/{build_id}"))

    def log(self, build_id: str) -> str:
        """``GET /builds/ID/log``."""
        return str(self._call("GET", _path(f"/builds/{build_id}/log"))["log"])

    def cancel(self, build_id: str) -> dict[str, Any]:
        """``DELETE /builds/ID``."""
        return self._call("DELETE", _path(f"/builds/{build_id}"))

    def builds(self) -> list[dict[str, Any]]:
        """``GET /builds``."""
        return list(self._call("GET", _path("/builds"))["items"])

    def load(self, found: Incoming, *, dry_run: bool = False, replace: bool = False, progress: Progress = silent) -> dict[str, Any]:
        """``POST /results``: all files in one request, gzip files unpacked. Files of no known format are not sent."""
        DataError.raise_for(fault for table in found.tables if not table.format for fault in _faults(table))
        names = _public_names([table.source.name for table in found.tables])
        files = []
        for name, table in zip(names, found.tables, strict=True):
            with table.source.open() as stream:
                files.append((name, stream.read()))
        body, kind = _form(files)
        progress(0.5, 0)
        options = found.options
        pairs = {
            name: [f"{old}={new}" for old, new in mapping.items()] for name, mapping in (("map", options.rename), ("set", options.fill))
        }
        report = self._call(
            "POST", _path("/results", format=options.format, wide=options.wide, **pairs, dry_run=dry_run, replace=replace), body, kind
        )
        return {**report, "notes": [*report["notes"], *found.notes]}

    def judge(self, judgement: Judgement, chosen: Selection, why: str = "") -> dict[str, Any]:
        """``POST /results/confirmations``, ``/results/doubts`` or ``/results/unmarkings``."""
        given: dict[str, Any]
        if isinstance(chosen, Measured):
            given = {name: value for name, value in asdict(chosen).items() if value not in (None, {})}
        else:
            given = {"file": chosen} if isinstance(chosen, str) else {"results": list(chosen)}
        return self._post(f"/results/{_JUDGEMENTS[judgement]}", given | ({"why": why} if judgement == "doubt" else {}))

    def add(self, values: Sequence[Known], *, replace: bool = False) -> Added:
        """``POST /systems``, ``/images`` or ``/rules``."""
        from modak.facts import Added

        document: dict[str, list[Any]] = {}
        for value in values:
            document.setdefault(f"{type(value).__name__.lower()}s", []).append(value.model_dump(mode="json", exclude_unset=True))
        kind = next(name for name in ("systems", "images", "rules") if name in document)
        answer = self._post(f"/{kind}", document, replace=replace)
        return Added(bool(answer["changed"]), tuple(answer.get("notes", ())))

    def remove(self, kind: str, name: str) -> tuple[str, ...]:
        """``DELETE /kind/NAME``."""
        return tuple(self._call("DELETE", _path(f"/{kind}/{name}")).get("notes", ()))

    def audit(self, cursor: str, limit: int) -> dict[str, Any]:
        """``GET /audit``."""
        return self._call("GET", _path("/audit", limit=limit, cursor=cursor))

    def result_token(self, plan_id: str) -> str:
        """``POST /plans/ID/token``: a token with which a job can send its result once."""
        return str(self._post(f"/plans/{plan_id}/token", {})["token"])

    def _pages(self, path: str, filters: Mapping[str, str]) -> list[dict[str, Any]]:
        page: dict[str, Any] = {"next": None}
        items: list[dict[str, Any]] = []
        while "next" in page:
            page = self._call("GET", _path(path, filters, limit=1000, cursor=page["next"]))
            items += page["items"]
        return items

    def _table(self, path: str, content: bytes, name: str) -> dict[str, Any]:
        """Send a table without values; faults name it as it is called here."""
        kind, body = ("application/json", "body.json") if content.lstrip()[:1] in (b"[", b"{") else ("text/csv", "body.csv")
        if name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson")):
            kind, body = "application/x-ndjson", "body.jsonl"
        try:
            return self._call("POST", path, content, kind)
        except RemoteError as error:
            faults = [
                replace(one, field=name + one.field.removeprefix(body)) if one.field.startswith(body) else one for one in error.faults
            ]
            raise RemoteError(error.status, error.title, faults) from None

    def _post(self, path: str, document: Any, **query: Any) -> dict[str, Any]:
        body = json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        return self._call("POST", _path(path, **query), body)

    def _call(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> dict[str, Any]:
        """Ask; if there were too many requests, as an export of many pages makes them, again after the time that the service names."""
        until = monotonic() + self.timeout_s
        status, content, wait_s = self._ask(method, path, body, kind)
        while status == http.HTTPStatus.TOO_MANY_REQUESTS and monotonic() + wait_s < until:
            sleep(wait_s)
            status, content, wait_s = self._ask(method, path, body, kind)
        if status == http.HTTPStatus.UNAUTHORIZED and not self.token:
            raise RemoteError(status, "a token is needed", [Fault("MODAK_TOKEN", ANONYMOUS)])
        return _answer(self.address, status, content)

    def _ask(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, bytes, float]:
        """The answer's status and content, and the seconds of its ``Retry-After``."""
        parts = urlsplit(self.address)
        headers = {"Accept": "application/json", "Content-Type": kind}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        proxy = _proxy(parts)
        try:
            connection = _connect(parts, proxy, self.timeout_s)
            try:
                connection.connect()
                with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):  # who refuses a long body answers, and closes
                    connection.request(method, parts.path + path, body, headers)
                response = connection.getresponse()
                content = response.read(LONGEST_ANSWER)
                if response.length:
                    raise http.client.IncompleteRead(content, response.length)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException, ValueError) as error:  # the last: a host name that is none
            via = f" through the proxy {proxy.netloc.rpartition('@')[2]}" if proxy else ""
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if isinstance(error, http.client.IncompleteRead):
                why = f"it was cut off after {len(error.partial)} bytes; what was asked for may have been done"
            if refused := getattr(error, "verify_message", None):
                why = f"its certificate is refused ({refused}); SSL_CERT_FILE names the certificate of an authority of your own"
            raise Unavailable(f"no answer from {self.address}{via}: {why}") from None
        if response.status in REDIRECTED and (elsewhere := response.headers["Location"]):
            raise Unavailable(f"{self.address} leads to {printable(elsewhere)}: MODAK_SERVER has to be the address of the service itself")
        wait = response.headers["Retry-After"] or ""
        return response.status, content, max(1.0, float(wait)) if wait.isdecimal() else 1.0


def _form(files: Sequence[tuple[str, bytes]]) -> tuple[bytes, str]:
    """Files as a multipart form: the body and its type."""
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{_label(name)}"\r\n\r\n'.encode() + content + b"\r\n"
        for name, content in files
    ]
    return b"".join([*parts, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def _faults(table: Table) -> Sequence[Fault]:
    """Why a table cannot be read."""
    try:
        table.batches()
    except DataError as error:
        return error.faults
    return ()


def _public_names(names: Sequence[str]) -> list[str]:
    """The names under which files are sent: the paths that were given. Of those outside the current folder, which would tell of this
    machine, only what lies below the folder that they share; if a file inside is called so, also that folder's name."""
    paths = ((name, Path(name)) for name in names)
    outside = {name: Path(os.path.normpath(Path.cwd() / path)) for name, path in paths if path.is_absolute() or os.pardir in path.parts}
    shared = Path(os.path.commonpath([path.parent for path in outside.values()]) if outside else "/")
    while shared != shared.parent and not {str(path.relative_to(shared)) for path in outside.values()}.isdisjoint(names):
        shared = shared.parent
    return [str(outside[name].relative_to(shared)) if name in outside else name for name in names]


def _label(name: str) -> str:
    """A file's name within the quotes of a header."""
    return "".join(letter if letter.isprintable() and letter not in '"\\' else "_" for letter in name)


def _connect(parts: SplitResult, proxy: SplitResult | None, timeout: float) -> http.client.HTTPConnection:
    if parts.scheme != "https":
        return http.client.HTTPConnection(*_end(parts), timeout=timeout)
    connection = http.client.HTTPSConnection(*_end(proxy or parts), timeout=timeout, context=ssl.create_default_context())
    if proxy:
        headers = {}
        if proxy.username:
            user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
            headers["Proxy-Authorization"] = f"Basic {b64encode(user).decode()}"
        connection.set_tunnel(*_end(parts), headers)
    return connection


def _end(parts: SplitResult) -> tuple[str, int]:
    """Host and port. The port is always given: otherwise the library takes the end of an IPv6 address for one."""
    return parts.hostname or "", parts.port or (http.client.HTTPS_PORT if parts.scheme == "https" else http.client.HTTP_PORT)


def _proxy(parts: SplitResult) -> SplitResult | None:
    """The proxy for an address by ``HTTPS_PROXY`` and ``NO_PROXY``; none for this machine, which proxies cannot reach.

    Raises :class:`~modak.errors.DataError`, without the value, which may hold a password.
    """
    if parts.scheme != "https" or parts.hostname in ("localhost", "127.0.0.1", "::1"):
        return None
    from urllib.request import getproxies, proxy_bypass

    named = getproxies().get("https")
    if not named or proxy_bypass(parts.netloc):
        return None
    try:
        proxy = urlsplit(named if "://" in named else f"http://{named}")
        if proxy.scheme == "http" and proxy.hostname and proxy.port != 0:
            return proxy
    except ValueError:
        pass
    raise DataError("a proxy that is asked by HTTP, such as http://proxy.example.org:3128", field="HTTPS_PROXY")


def _rows(items: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], Generator[dict[str, str]]]:
    """Results as a table of text, in the order of the results table's columns; with doubts beside them, which are not of results' files."""
    from modak.ingest.columns import MARKS, header
    from modak.ingest.values import cell

    columns = header({name for item in items for name in item if name.startswith("params.")})
    undoubted = ({**item, "suspect": None, "doubt": item["suspect"]} if item.get("doubted") else item for item in items)
    return columns, ({name: cell(item.get(name)) for name in (*columns, *MARKS)} for item in undoubted)


def _path(path: str, filters: Mapping[str, str] | None = None, /, **options: Any) -> str:
    """An address below the service's: with filters of results as they are, and those options that are given.

    Raises :class:`~modak.errors.RequestError` for an unknown filter, which the service could take for an option.
    """
    if filters:
        from modak.results.filters import check_filters

        check_filters(filters)
    given = {name: "true" if value is True else value for name, value in options.items() if value is not None and value is not False}
    query = urlencode([*(filters or {}).items(), *given.items()], doseq=True)
    return quote(path) + (f"?{query}" if query else "")


class _Document(dict[str, Any]):
    """An object of an answer: what a command does not find in it, the service's version does not have."""

    def __init__(self, address: str, items: dict[str, Any]) -> None:
        super().__init__(items)
        self._address = address

    def __missing__(self, name: str) -> Never:
        raise Unavailable(OTHER_VERSION.format(self._address))


def _answer(address: str, status: int, content: bytes) -> dict[str, Any]:
    done = status in (http.HTTPStatus.OK, http.HTTPStatus.CREATED, http.HTTPStatus.ACCEPTED)
    try:
        answer = json.loads(content, object_hook=partial(_Document, address) if done else None)
        if done and isinstance(answer, _Document):
            return answer
        of_token = "MODAK_TOKEN" if status in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN) else ""  # users set no headers
        faults = [Fault(str(found["field"]) or of_token, str(found["message"])) for found in answer["errors"]]
        error = RemoteError(status, str(answer["title"]), faults)
        error.warnings = tuple(Fault(str(found["field"]), str(found["message"])) for found in answer.get("warnings", ()))
    except (ValueError, KeyError, TypeError, RecursionError):
        said = f"{status} {http.client.responses.get(status, '')}".rstrip()
        raise Unavailable(f"{address} answered {said} and no document of MODAK's") from None
    raise error

"""More than a service takes: bodies, headers, depth, time, connections; and clients that are slow on purpose."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import logging
import socket
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from functools import partial
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import uvloop
from fastapi import Request
from starlette.testclient import TestClient
from starlette.types import Message, Scope
from uvicorn.config import Config
from uvicorn.server import ServerState

from modak.api import create_app
from modak.api.bodies import RawBody
from modak.api.connections import LONGEST, Connection
from modak.api.direct import one_at_a_time
from modak.api.limits import RequestLimits
from modak.api.published import add_list
from modak.api.uploads import MOST_PARTS, sources
from modak.auth.ring import KeyRing
from modak.errors import BadSyntax, RequestError, Unavailable
from modak.perfmodel import Curve
from modak.service import Service, open_service
from modak.settings import Settings
from modak.store import Store, open_store
from tests.api.site import Site
from tests.api.witness import witness
from tests.conftest import PATIENCE_S, copied, until
from tests.e2e.served import Served, serving

CSV = {"Content-Type": "text/csv"}
HEADER = "application,nodes,metric,value,unit\n"


@pytest.fixture(scope="module")
def loader(packaged_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service that takes 64 KiB, on a database that no other test sees."""
    with Site(
        copied(packaged_database, tmp_path_factory.mktemp("loader") / "modak.db"), max_body_bytes=65_536, max_load_bytes=65_536
    ) as site:
        yield site


@pytest.mark.parametrize("depth", [65, 1000, 100_000])
@pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_limited(web: TestClient, depth: int, left: str, right: str) -> None:
    """400, without recursion."""
    for path in ("/optimise", "/recommendations", "/get_optimisation"):
        body = left * depth + "1" + right * depth
        assert web.post(path, content=body, headers={"Content-Type": "application/json"}).status_code == 400


FILLED: dict[str, Callable[[int], dict[str, Any]]] = {
    "variables that are passed on": lambda number: {
        "job_options": {"copy_environment_variable": [f"A{number}_{place:080}" for place in range(5000)]}
    },
    "variables of a command": lambda number: {
        "application": {"executable": "./a", "arguments": "".join(f"${{MODAK_{number}_{place}}}" for place in range(5000))}
    },
    "variables that are set": lambda number: {
        "optimisation": {"autotuning": {"setting": {"environment": {f"A{number}_{place}": 1 for place in range(5000)}}}}
    },
    "parameters": lambda number: {"optimisation": {"workload": {"params": {f"a{number}_{place}": place for place in range(5000)}}}},
}


@pytest.mark.parametrize("what", FILLED)
def test_what_fills_a_body_is_not_kept(packaged_database: Path, what: str) -> None:
    """Short requests are remembered by the hundred; those that fill a body would fill the memory, too."""
    with open_service(Settings(database_url=f"sqlite:///{packaged_database}")) as service:

        def ask(number: int) -> None:
            with suppress(RequestError):
                service.solve({"job": {"target": {"job_scheduler_type": "slurm"}, **FILLED[what](number)}})

        tracemalloc.start()
        held = []
        for number in range(2):  # the first fills what is bounded
            ask(number)
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert held[-1] - held[0] < 500_000


def test_a_list_of_objects_is_counted_before_it_is_read(web: TestClient) -> None:
    """Each unknown key of each object is looked at for what may be meant."""
    entries = [{"form": "a"}] * 101
    answer = web.post("/optimise", json={"job": {"application": {"executable": "./a", "stage_in": entries}}})
    assert (answer.status_code, answer.json()["errors"]) == (
        422,
        [{"field": "application.stage_in", "message": "allowed: at most 100 entries"}],
    )


@pytest.mark.parametrize("path", ["/optimise", "/get_image", "/predictions", "/results"])
def test_fifty_megabytes_are_413(loader: Site, path: str) -> None:
    """By their declared length before the first byte, and by counting where none is declared."""
    chunk = b" " * 65_536

    def fifty() -> Iterator[bytes]:
        for _ in range(800):
            yield chunk

    declared = loader.call("POST", path, loader.keys["load"], content=b"{}", headers=CSV | {"Content-Length": str(50 << 20)})
    counted = loader.call("POST", path, loader.keys["load"], content=fifty(), headers=CSV)
    assert (declared.status_code, counted.status_code) == (413, 413)


def test_who_may_not_load_is_told_before_the_body(loader: Site) -> None:
    """401, whatever its size."""
    assert loader.call("POST", "/results", content=b" " * 200_000, headers=CSV).status_code == 401


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"X-Long": "x" * 40_000}, "/systems", 431),
        ({f"X-{number}": "1" for number in range(150)}, "/systems", 431),
        ({}, "/systems?cursor=" + "x" * 9000, 414),
        ({}, "/" + "x" * 9000, 414),
    ],
)
def test_addresses_and_headers_are_limited(web: TestClient, headers: dict[str, str], path: str, status: int) -> None:
    """Before anything is made of them."""
    answer = web.get(path, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"application\n",
        b"no header here\n1,2,3\n",
        HEADER.encode() + b"solver,1,wall_time,nan,s\n",
        HEADER.encode() + b"solver,1,wall_time,inf,s\n",
        HEADER.encode() + b"solver,1,wall_time,1e400,s\n",
        HEADER.encode() + b"solver,1,wall_time,-5,s\n",
        HEADER.encode() + b"solver,1,wall_time,0,s\n",
        HEADER.encode() + b"solver,99999999999999999999,wall_time,5,s\n",
        HEADER.encode() + b"solver,0x10,wall_time,5,s\n",
        HEADER.encode() + b"solver,1,wall_time,\"5,s\n",
        HEADER.encode() + b"solver,1,wall_time,5\n",
        HEADER.encode() + b"solver,1,wall_time,5,s,more\n",
        HEADER.encode() + b"sol\x00ver,1,wall_time,5,s\n",
        HEADER.encode() + b"sol\xffver,1,wall_time,5,s\n",
        HEADER.encode() + b"sol\nver,1,wall_time,5,s\n",
        HEADER.encode().replace(b"nodes", b"application") + b"a,b,wall_time,5,s\n",
        HEADER.encode().replace(b"nodes", b"nodez") + b"a,1,wall_time,5,s\n",
        "application,metric,value\nx,wall_time,5\n".encode("utf-16"),
        HEADER.encode() + b"x" * 60_000 + b",1,wall_time,5,s\n",
    ],
)  # fmt: skip
def test_a_table_that_is_wrong_loads_nothing(loader: Site, content: bytes) -> None:
    """422 with the line and the column; not a row of it is stored, and no file written."""
    with witness().watching():
        answer = loader.call("POST", "/results", loader.keys["load"], content=content, headers=CSV)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"].startswith("body.csv")
    assert loader.call("GET", "/results?application=solver").json()["items"] == []


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (gzip.compress(b"\0" * (1 << 20), mtime=0), "text/csv", 415),
        (gzip.compress(HEADER.encode(), mtime=0), "application/json", 415),
        (b"<table/>", "text/html", 415),
        (b"PK\x03\x04", "application/zip", 415),
        (b"[NaN]", "application/json", 422),
        (b"[" * 5000, "application/json", 422),
        (b'[{"application": "a", "metric": "wall_time", "value": 1e999}]', "application/json", 422),
        (b'[{"application": "a\\ud800", "metric": "wall_time", "value": 1}]', "application/json", 422),
        (b"x", "multipart/form-data", 400),
        (b"x", "multipart/form-data; boundary=", 400),
        (b"--b\r\nContent-Disposition: form-data; name=a; filename=x\r\n\r\ncut off", "multipart/form-data; boundary=b", 400),
        (
            b"--b\r\nContent-Disposition: form-data; name=a; filename=x\r\n\r\n"
            + HEADER.encode()
            + b"a,4,wall_time,1,s\r\n--b\r\nContent-Disposition: form-data; name=a; filename=y\r\n\r\ncut off behind a whole file",
            "multipart/form-data; boundary=b",
            400,
        ),
        (b"--b\r\nContent-Disposition: form-data; name=a\r\n\r\nno file\r\n--b--\r\n", "multipart/form-data; boundary=b", 400),
        (b"--b\r\n" * 5000, "multipart/form-data; boundary=b", 400),
        (
            b"--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n" * 1000
            + b"--b\r\nContent-Disposition: form-data; name=a; filename=x\r\n\r\n"
            + HEADER.encode()
            + b"a,4,wall_time,1,s\r\n--b--\r\n",
            "multipart/form-data; boundary=b",
            400,
        ),
        (b"--" + b"b" * 60_000, "multipart/form-data; boundary=" + "b" * 2000, 400),
    ],
)
def test_a_body_of_another_kind_loads_nothing(loader: Site, content: bytes, kind: str, status: int) -> None:
    """Packed ones above all: a small one can hold gigabytes."""
    with witness().watching():
        answer = loader.call("POST", "/results", loader.keys["load"], content=content, headers={"Content-Type": kind})
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(("parts", "taken"), [(MOST_PARTS, True), (MOST_PARTS + 1, False)])
def test_a_form_has_so_many_files_and_no_more(parts: int, taken: bool) -> None:
    """Each costs as much as a small file."""
    content = b"--b\r\nContent-Disposition: form-data; name=a; filename=x\r\n\r\n\r\n" * parts + b"--b--\r\n"
    with nullcontext() if taken else pytest.raises(BadSyntax, match=f"more than {MOST_PARTS} parts"):
        assert len(sources(RawBody("multipart/form-data", content, "multipart/form-data; boundary=b"))) == parts


@pytest.mark.parametrize(
    "query",
    [
        "map=x",
        "map==y",
        "set=nodes",
        "set=nodez=1",
        "set=nodes=-1",
        "format=nothing",
        "wide=system",
        "map=" + "x" * 5000,
        "replace=perhaps",
    ],
)
def test_options_of_a_load_are_checked(loader: Site, query: str) -> None:
    """422."""
    answer = loader.call("POST", f"/results?{query}", loader.keys["load"], content=HEADER + "a,1,wall_time,5,s\n", headers=CSV)
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("/etc/passwd", "passwd"),
        ("..\\..\\x.csv", "x.csv"),
        ("C:\\me\\x.csv", "x.csv"),
        ("C:/me/x.csv", "x.csv"),
        ("runs/x.csv", "runs/x.csv"),
        ("a\r\nb.csv", "a%0D%0Ab.csv"),
        ("\u202egpj.csv", "?gpj.csv"),
        ("y" + "x" * 500, "x" * 200),
        ("'; DROP TABLE results --.csv", "'; DROP TABLE results --.csv"),
    ],
)
def test_a_files_name_is_a_label(loader: Site, name: str, label: str) -> None:
    """Nothing is opened under it, and it is shown without control characters, and without folders of the sender's machine."""
    boundary = "b0undary"
    told = name.replace('"', "%22").encode("utf-8", "replace").replace(b"\r\n", b"%0D%0A")
    head = b'--b0undary\r\nContent-Disposition: form-data; name="file"; filename="' + told + b'"\r\n\r\n'
    body = head + (HEADER + "labelled,1,wall_time,5,s\n").encode() + b"\r\n--b0undary--\r\n"
    with witness().watching():
        answer = loader.call(
            "POST",
            "/results?dry_run=true",
            loader.keys["load"],
            content=body,
            headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
        )
    assert answer.status_code == 200, answer.text
    (file,) = answer.json()["files"]
    assert file["name"] == label


def test_the_same_rows_from_many_at_once_are_stored_once(loader: Site) -> None:
    """Twelve loads of one table: each answered, and every row there once."""
    rows = HEADER + "".join(f"together,{nodes},wall_time,{100 / nodes},s\n" for nodes in (1, 2, 4))
    found: list[tuple[int, int]] = []

    def load() -> None:
        answer = loader.call("POST", "/results", loader.keys["load"], content=rows, headers=CSV)
        found.append((answer.status_code, answer.json()["new"]))

    threads = [threading.Thread(target=load) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [*[(200, 0)] * 11, (200, 3)]
    assert len(loader.call("GET", "/results?application=together").json()["items"]) == 3


# --- time


def test_an_answer_that_takes_too_long_is_503(packaged_database: Path) -> None:
    """Once, in the one shape of errors; what the late endpoint says afterwards goes nowhere."""
    app = create_app(Settings(database_url=f"sqlite:///{packaged_database}", request_s=0.05))

    def waits(request: Request) -> dict[str, str]:
        until(lambda: over(request))
        return {"late": "answer"}

    app.add_api_route("/results/waits", waits)
    with TestClient(app) as client:
        answer = client.get("/results/waits")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "late" not in answer.text


def test_nothing_is_done_for_those_whose_time_ends_while_they_wait(packaged_database: Path) -> None:
    """A picture, or a plan, that nobody gets would keep those behind it waiting. The one that they wait for has no limit of time here."""
    app = create_app(Settings(database_url=f"sqlite:///{packaged_database}", request_s=0.05))
    asked: list[Request] = []
    done: list[str] = []

    def work(_: Service) -> None:
        done.append("done")
        until(lambda: len(asked) == 2 and all(map(over, asked)))

    async def waits(request: Request) -> None:
        asked.append(request)
        await one_at_a_time(request, work)

    app.add_api_route("/results/waits", waits)
    with TestClient(app) as client, ThreadPoolExecutor(2) as callers:
        assert client.portal
        first = client.portal.start_task_soon(one_at_a_time, Request({"type": "http", "app": app}), work)
        until(lambda: done)
        assert [answer.status_code for answer in callers.map(client.get, 2 * ["/results/waits"])] == [503] * 2
        first.result(PATIENCE_S)
    assert done == ["done"]


@pytest.mark.parametrize("path", ["/results/curves", "/results/curves/one"])
def test_a_list_is_read_only_while_somebody_waits(packaged_database: Path, path: str) -> None:
    """Nor are all curves of a large database fitted for a caller who has got his answer, also if none of them is a published model."""
    app = create_app(Settings(database_url=f"sqlite:///{packaged_database}", request_s=0.05))
    read, left = count(), list[int]()

    def find(_: Service) -> Iterator[None]:
        try:
            yield from (None for _ in zip(range(20_000_000), read, strict=False))
        finally:
            left.append(next(read))

    add_list(app, "/results/curves", "curve", find)
    with TestClient(app) as client:
        assert client.get(path).status_code == 503
        until(lambda: left)
    assert left[0] < 20_000_000


def test_a_table_is_predicted_only_while_somebody_waits(packaged_database: Path) -> None:
    """A thread cannot be stopped, so it looks between two rows whether the answer has been given up."""
    rows = "application,metric,nodes\n" + "".join(f"a{number},wall_time,1\n" for number in range(100))
    asked = count(1)

    def go_on() -> None:
        if next(asked) == 3:
            raise Unavailable("its time was over")

    with closing(open_service(Settings(database_url=f"sqlite:///{packaged_database}"))) as service, pytest.raises(Unavailable):
        service.predict(rows.encode(), "t.csv", go_on=go_on)
    assert next(asked) == 4


def over(request: Request) -> bool:
    """Whether the time of a request has ended."""
    return "over" in request.scope.get("state", {})


# --- clients that are slow, against a real server


@pytest.fixture(scope="module")
def place(packaged_database: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the server's database."""
    return f"sqlite:///{copied(packaged_database, tmp_path_factory.mktemp('served') / 'modak.db')}"


def test_a_request_that_the_end_of_the_service_cuts_off_is_503() -> None:
    """Not the server's own 500: another worker or another try answers it."""
    said: list[Message] = []

    async def endless(*_: object) -> None:
        await asyncio.sleep(3600)

    async def send(message: Message) -> None:
        said.append(message)

    async def cut() -> None:
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
        request = asyncio.create_task(RequestLimits(endless, request_s=3600)(scope, endless, send))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        request.cancel()
        await request

    asyncio.run(cut())
    assert said[0]["status"] == 503


def test_a_request_that_ends_without_an_answer_just_when_its_time_is_over_is_503() -> None:
    """It is answered before the application ends, after which a server gives its own 500."""
    said: list[Message] = []

    async def ends_then(scope: Scope, *_: object) -> None:
        while not scope.get("state", {}).get("over"):
            await asyncio.sleep(0)

    async def send(message: Message) -> None:
        said.append(message)

    async def nothing() -> Message:
        return {"type": "http.request"}

    async def ask() -> int:
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
        await RequestLimits(ends_then, request_s=0)(scope, nothing, send)
        return len(said)

    assert asyncio.run(ask()) == 2  # its header and its body
    assert said[0]["status"] == 503


@pytest.fixture(scope="module")
def hasty(place: str) -> Iterator[Served]:
    """`modak serve` with a fifth of a second for headers and half a second for a request: on a busy machine too short for any."""
    with serving(place, MODAK_HEADER_S="0.2", MODAK_REQUEST_S="0.5") as served:
        yield served


@pytest.fixture(scope="module")
def served(place: str) -> Iterator[Served]:
    """`modak serve` as it is by default."""
    with serving(place) as served:
        yield served


def until_closed(port: int, *parts: bytes) -> bytes:
    """What the server says until it closes the connection by itself."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        for part in parts:
            connection.sendall(part)
        while chunk := connection.recv(65_536):
            said += chunk
    return said


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
@pytest.mark.parametrize(("path", "status"), [("/results", 401), ("/optimise", 413)])
def test_who_sends_a_large_body_gets_the_answer_that_refuses_it(served: Served, path: str, status: int, connection: str) -> None:
    """The answer is there before the body is, and clients read it when they have sent all: until then the connection stays open."""
    with closing(served.connection()) as client:
        client.request("POST", path, b" " * (16 << 20), {"Content-Type": "application/json", "Connection": connection})
        assert client.getresponse().status == status


def test_a_refused_body_without_end_is_not_read_for_ever(hasty: Served) -> None:
    """The caller goes on sending after the answer; when the time of the request is over, the connection ends."""
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    patience = monotonic() + PATIENCE_S

    def send_on() -> None:
        while monotonic() < patience:
            caller.sendall(chunk)

    with socket.create_connection(("127.0.0.1", hasty.port), timeout=PATIENCE_S) as caller:
        caller.sendall(b"POST /results HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises(ConnectionError):
            send_on()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", b""),
        (b"GET /health HT", b""),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b""),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n\r\n", b"200"),
        (b"POST /optimise HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", b"408"),
        (b"POST /optimise HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n", b"408"),
        (b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", b"400"),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: y\r\nConnection: close\r\n\r\n", b"400"),
        (b"GET /health HTTP/1.0\r\n\r\n", b"200"),
        (b"\x16\x03\x01\x02\x00\x01\x00", b"400"),
        (b"GET /health HTTP/1.1\r\nX: \x00\r\n\r\n", b"400"),
        (b"POST /optimise HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"4"),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 300_000, b""),
        (b"POST /optimise HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5;" + b"x" * 600_000, b""),
        (b"POST /optimise HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX: " + b"x" * 600_000, b""),
    ],
)
def test_a_slow_or_broken_client_is_let_go(hasty: Served, sent: bytes, status: bytes) -> None:
    """The server closes the connection by itself, after an answer where there is one to give; and serves everybody else."""

    def answered() -> bool:
        said = until_closed(hasty.port, sent) if len(sent) < 100_000 else _reset(hasty.port, sent)
        return said.startswith(b"HTTP/1.1 " + status) if status else not said

    assert until(answered)
    assert until(lambda: hasty.ask("GET", "/health")[0] == 200)


@asynccontextmanager
async def connected(config: Config, state: ServerState) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A caller's end of a connection to a worker of its own."""
    made = partial(Connection, config, state, {})
    async with await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        with closing(writer):
            yield reader, writer


def test_a_connection_too_many_is_told_when_to_come_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a problem document like others, and in the log; whoever has a connection keeps it, and is answered."""
    config = Config(create_app(Settings(database_url=f"sqlite:///{tmp_path}/a.db", max_connections=1)), proxy_headers=False)
    monkeypatch.setattr(logging.getLogger("uvicorn"), "propagate", True)
    config.load()
    state, asked = ServerState(), b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

    async def answers() -> tuple[bytes, bytes]:
        async with connected(config, state) as (first, sending):
            async with connected(config, state) as (second, writer):
                writer.write(asked)
                refused = await second.read()
            while len(state.connections) > 1:
                await asyncio.sleep(0.01)
            sending.write(asked.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            return refused, await first.read()

    refused, served = asyncio.run(answers())
    assert refused.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 5" in refused
    assert b"application/problem+json" in refused
    assert caplog.text.count("MODAK_MAX_CONNECTIONS (1)") == 1
    assert served.startswith(b"HTTP/1.1 200")


def test_settings_that_become_wrong_are_for_workers_to_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's first connection lives by what the worker read at its start, whatever became of the file since."""
    config = Config(create_app(Settings(header_s=0.2)), proxy_headers=False)
    config.load()
    monkeypatch.setenv("MODAK_CONFIG", str(tmp_path / "gone.toml"))

    async def first() -> bytes:
        async with connected(config, ServerState()) as (reader, _):
            return await reader.read()

    assert asyncio.run(first()) == b""


@pytest.mark.parametrize(
    ("rest", "status"), [(b"st: localhost\r\nConnection: close\r\n\r\n", b"HTTP/1.1 200"), (b"st: " + b"x" * LONGEST, b"")]
)
def test_headers_may_come_in_parts_but_not_without_end(rest: bytes, status: bytes) -> None:
    """However much time there is for them: what is never a whole request would fill the memory."""
    config = Config(create_app(Settings(header_s=3600)), proxy_headers=False)
    config.load()

    async def answer() -> bytes:
        async with connected(config, ServerState()) as (reader, writer):
            writer.write(b"GET /health HTTP/1.1\r\nHo")
            await asyncio.sleep(0.05)
            with suppress(ConnectionError):  # closed while we were still sending
                writer.write(rest)
                return await reader.read()
            return b""

    said = asyncio.run(answer())
    assert said.startswith(status) if status else not said


def at_the_end(sent: bytes) -> bytes:
    """What a connection that was open before its worker began to end answers to these bytes, until it closes."""
    config = Config(create_app(Settings(header_s=3600)), proxy_headers=False, timeout_keep_alive=60)
    config.load()
    state = ServerState()

    async def answer() -> bytes:
        async with connected(config, state) as (reader, writer):
            while not state.connections:
                await asyncio.sleep(0.01)
            for connection in state.connections:
                connection.shutdown()
            writer.write(sent)
            return await reader.read()

    return asyncio.run(answer())


def test_the_first_request_of_an_open_connection_is_answered_although_the_worker_ends() -> None:
    """The caller connected before the end began and cannot know of it; the connection is closed behind the answer."""
    assert at_the_end(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [b"", b"GET /health HT"])
def test_a_slow_first_request_does_not_delay_the_end_of_a_worker(sent: bytes) -> None:
    """Its headers have a second, however long those of others have."""
    assert at_the_end(sent) == b""


def test_what_is_no_http_gets_a_problem_document(served: Served) -> None:
    """Also a method that nobody knows: the server's parser refuses it before the application sees the request."""
    said = served.connection()
    said.request("FOO", "/health")
    answer = said.getresponse()
    assert (answer.status, answer.headers["Content-Type"], answer.will_close) == (400, "application/problem+json", True)
    assert json.load(answer)["status"] == 400
    said.close()


@pytest.mark.parametrize("path", ["/health", "/systems", "/openapi.json", "/nothing"])
def test_an_answer_to_head_has_no_body(served: Served, path: str) -> None:
    """On the wire: the client would take it for the next answer."""
    said = until_closed(served.port, f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    head, _, body = said.partition(b"\r\n\r\n")
    assert (b"content-length: " in head.lower(), body) == (True, b"")


def test_a_body_in_chunks_of_one_byte_is_read(served: Served) -> None:
    """However much of it is framing: more than headers may have."""
    content = b'{"job": {"application": {"executable": "./' + b"x" * 12_000 + b'"}}}'
    head = b"POST /get_optimisation HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in content)
    assert until_closed(served.port, head + chunks + b"0\r\n\r\n").startswith(b"HTTP/1.1 200")


def test_a_field_behind_the_body_is_no_header(served: Served) -> None:
    """Whoever passed the request on did not look at it: neither a token nor a caller's address comes that way."""
    sent = b"GET /systems HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    said = until_closed(served.port, sent + b"Authorization: Bearer wrong\r\nX-Request-ID: behind\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 200")
    assert b"behind" not in said.split(b"\r\n\r\n")[0]


def _reset(port: int, sent: bytes) -> bytes:
    try:
        return until_closed(port, sent)
    except ConnectionError:  # closed while we were still sending
        return b""


def test_a_hundred_slow_clients_keep_nobody_waiting(served: Served) -> None:
    """While they hold half a request each, another one is answered."""
    slow = [socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S) for _ in range(100)]
    for connection in slow:
        connection.sendall(b"POST /optimise HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
    assert served.ask("GET", "/health")[0] == 200
    for connection in slow:
        connection.close()


def test_a_service_that_others_reach_without_a_proxy_warns(caplog: pytest.LogCaptureFixture) -> None:
    """Of tokens in clear text; not on loopback, nor behind a proxy that is named."""
    from modak.cli.running import _warn

    for host, proxies, warned in (
        ("127.0.0.1", "", False), ("localhost", "", False), ("::1", "", False), ("0.0.0.0", "", True), ("::", "", True),  # noqa: S104
        ("modak.example.org", "", True), ("10.0.0.7", "10.0.0.1", False),
    ):  # fmt: skip
        _warn(host, Settings(trusted_proxies=proxies))
        assert ("without TLS" in caplog.text) == warned, host
        caplog.clear()


def test_a_key_works_on_a_running_service_until_it_is_revoked(served: Served, place: str) -> None:
    """Made and revoked by another process than the one that serves."""

    def status() -> int:
        return served.ask("GET", "/audit", token=token)[0]

    with open_store(place) as store:
        keys = KeyRing(lambda: store.access)
        token, key = keys.create("operator", ["admin"], None)
        assert status() == 200
        keys.revoke(key.id)
    until(lambda: status() == 401)


def test_a_caller_who_hangs_up_between_answers_is_no_fault_of_ours(place: str, caplog: pytest.LogCaptureFixture) -> None:
    """Requests that came together: each notices that nobody reads its answer, and none writes to a connection that is closed."""
    config = Config(create_app(Settings(database_url=place)), proxy_headers=False, log_config=None)
    config.load()
    state = ServerState()

    async def hang_up() -> None:
        async with connected(config, state) as (_, writer):
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
            held: Any = state.connections
            while not any(connection.flow.write_paused for connection in held):
                await asyncio.sleep(0.01)
            writer.transport.abort()
            while state.tasks:
                await asyncio.sleep(0.01)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as the service: asyncio's own forgives such a write
        runner.run(hang_up())
    assert not [line for line in caplog.records if line.levelname == "ERROR"]


@pytest.mark.parametrize("path", ["/optimise", "/predictions", "/get_optimisation"])
def test_a_caller_who_hangs_up_is_no_fault_of_ours(loader: Site, path: str) -> None:
    """A body that breaks off is a 400 in the log and in the counts: nobody without a token makes an operator's alarm ring."""
    parts: list[Message] = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    statuses: list[int] = []
    headers = [(b"host", b"x"), (b"content-type", b"application/json"), (b"content-length", b"100")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers, "client": None, "http_version": "1.1"}

    async def receive() -> Message:
        return parts.pop(0) if len(parts) > 1 else parts[0]

    async def send(message: Message) -> None:
        statuses.extend([message["status"]] if message["type"] == "http.response.start" else [])

    asyncio.run(loader.app(scope, receive, send))
    assert statuses == [400]


@pytest.mark.parametrize("path", ["/scaling_models/none", "/scaling_models"])
def test_many_who_look_for_curves_hold_one_thread(loader: Site, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """All curves are read for that, which takes seconds at a large site: other requests have the other threads."""
    models_in_turn, reading, alone = Store.models_in_turn, list[Store](), list[bool]()

    def read(store: Store) -> Iterator[Curve]:
        reading.append(store)
        if len(reading) == 1:
            until(lambda: getattr(loader.app.state, "scaling model").statistics().tasks_waiting + len(reading) == 3)  # all have come
            alone.append(len(reading) == 1)
        yield from models_in_turn(store)

    monkeypatch.setattr(Store, "models_in_turn", read)
    with ThreadPoolExecutor(3) as callers:
        answers = list(callers.map(loader.web.get, 3 * [path]))
    assert ({answer.status_code for answer in answers}, alone) == ({404 if "none" in path else 200}, [True])


@pytest.mark.parametrize(("rows", "queue"), [(1, "rows"), (2000, "tables")])
def test_many_tables_hold_one_thread(loader: Site, monkeypatch: pytest.MonkeyPatch, rows: int, queue: str) -> None:
    """A long one takes a minute of it: other requests have the other threads, and short tables do not wait for long ones."""
    predict, begun, alone = Service.predict, list[str](), list[bool]()

    def predicted(service: Service, *given: Any, **more: Any) -> Any:
        begun.append("")
        if len(begun) == 1:
            until(lambda: getattr(loader.app.state, queue).statistics().tasks_waiting + len(begun) == 3)  # all have come
            alone.append(len(begun) == 1)
        return predict(service, *given, **more)

    monkeypatch.setattr(Service, "predict", predicted)
    table = "application,metric,nodes\n" + "nobody,wall_time,1\n" * rows
    with ThreadPoolExecutor(3) as callers:
        answers = [callers.submit(loader.web.post, "/predictions", content=table, headers={"Content-Type": "text/csv"}) for _ in range(3)]
    assert ({answer.result().status_code for answer in answers}, alone) == ({200}, [True])


BOMBS = {
    "a number of a megabyte": '{"experiments":[{"RAMBLE_STATUS":"SUCCESS","CONTEXTS":[{"foms":[{"name":"t","value":"%s","units":"s"}]}]}]}'
    % ("1" * 60_000 + "x"),
    "columns without end": "[" + ",".join(f'{{"k{number}":1}}' for number in range(5000)) + "]",
    "a word of Python's": '{"modak_result":1,"exit_status":0,"results":[{"self":1}]}',
    "no list": '{"results":[{"command":"a","mean":1,"stddev":1,"times":true}]}',
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_small_table_does_not_stop_the_service(loader: Site, what: str) -> None:
    """Anybody may ask for predictions, in any format that is known: the answer comes at once, and is never a 5xx."""
    answer = loader.call("POST", "/predictions", content=BOMBS[what], headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 422)

"""Cost of a request to the service, compared with an endpoint that only validates a document and returns one of the same size.

    python -m benchmarks.service [--requests 600] [--rows 10 100000] [--url postgresql://USER@HOST/NAME]

Each runs as a process of its own on the loopback interface. They are asked in turns, so that other load on the machine slows both.
Processor time is that of the server and its children, as the kernel counts it. All requests differ (names, arguments, lengths,
objectives, sizes), and each needs a prediction. Figures are medians over rounds; a ratio is that of two medians. The last table repeats
the measurement with more rules and images in the catalogue.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.output import say

if TYPE_CHECKING:
    from fastapi import FastAPI

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/3dgan-supermuc-ng.json"
ROUND, WARM, CLIENTS = 20, 60, 8
ANSWER = "ANSWER_BYTES"
"""The environment variable that tells the endpoint that does nothing how long its answer is."""
PUBLISHED_RATIO = 23.0 / 0.33
"""Processor time of the published service's request over that of the endpoint that does nothing, both measured on one machine."""
ASKED = ("/get_optimisation", "/optimise")


def no_op() -> FastAPI:
    """The service that does nothing: a request's sections are validated, a document of an answer's size comes back."""
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Sections(BaseModel):
        job_options: dict[str, Any]
        application: dict[str, Any]
        target: dict[str, Any]
        optimisation: dict[str, Any]

    class Document(BaseModel):
        job: Sections

    app, text = FastAPI(), "module load something || exit 70\n" * (int(os.environ[ANSWER]) // 33)

    def endpoint(document: Document) -> dict[str, Any]:
        return {"job": {**document.job.model_dump(), "job_content": text}}

    endpoint.__annotations__ = {"document": Document, "return": dict[str, Any]}
    app.add_api_route("/", endpoint, methods=["POST"])
    return app


@dataclass(frozen=True)
class Server:
    """A running server process."""

    pid: int
    port: int
    started_s: float
    """From its start to its first answer."""

    def cpu_ms(self) -> float:
        """Processor time so far: of all threads, and of children, ended ones included."""
        return sum(map(_of_process, self._tree())) / 1e6

    def memory_mb(self) -> float:
        """Resident memory of the process and its children."""
        pages = [int((Path("/proc") / str(pid) / "statm").read_text().split()[1]) for pid in self._tree()]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def _tree(self) -> list[int]:
        found, at = [self.pid], 0
        while at < len(found):
            tasks = (Path("/proc") / str(found[at]) / "task").glob("*/children")
            found += [int(child) for task in tasks for child in task.read_text().split()]
            at += 1
        return found


def _of_process(pid: int) -> int:
    """Nanoseconds of a process's threads and of its ended children."""
    tasks = (Path("/proc") / str(pid) / "task").glob("*/schedstat")
    ended = (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[13:15]
    return sum(int(task.read_text().split()[0]) for task in tasks) + sum(map(int, ended)) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(target: str, environment: dict[str, str], first: tuple[str, str, bytes | None]) -> Iterator[Server]:
    """A server of an application, from its first answer to the end of the block; ``first`` is what is asked first."""
    options = ["--factory", "--log-level", "error", "--no-access-log", "--no-server-header"]
    with running([sys.executable, "-m", "uvicorn", target, *options], environment, first) as server:
        yield server


@contextmanager
def running(
    command: list[str], environment: dict[str, str], first: tuple[str, str, bytes | None], log: int | None = None
) -> Iterator[Server]:
    """The server that a command starts on the ``--port`` that is added to it, likewise; ``log`` is where its standard error goes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.perf_counter()
    words = [*command, "--port", str(port)]
    process = subprocess.Popen(words, cwd=ROOT, env={**os.environ, **environment}, stderr=log)  # noqa: S603 - our own words
    try:
        while not _answers(port, first):
            if process.poll() is not None or time.perf_counter() - began > 120:
                raise SystemExit(f"{' '.join(words)} does not answer")
            time.sleep(0.01)
        yield Server(process.pid, port, time.perf_counter() - began)
    finally:
        process.terminate()
        process.wait()


def _answers(port: int, first: tuple[str, str, bytes | None]) -> bool:
    try:
        Client(port).ask(*first)
    except OSError:
        return False
    return True


class Client:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method: str, path: str, body: bytes | None) -> bytes:
        """The body of an answer, which has to be 200."""
        try:
            answer = self._answer(method, path, body)
        except ConnectionError:  # closed after it was idle for some seconds: on a slow machine others start meanwhile
            self._connection.close()
            answer = self._answer(method, path, body)
        content = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {content[:300]!r}")
        return content

    def _answer(self, method: str, path: str, body: bytes | None) -> http.client.HTTPResponse:
        self._connection.request(method, path, body, {"Content-Type": "application/json"})
        return self._connection.getresponse()


def requests(number: int, seed: int = 1) -> list[bytes]:
    """Requests of which no two are the same."""
    chance, made = random.Random(seed), []  # noqa: S311 - data, not secrets
    for at in range(number):
        document = json.loads(EXAMPLE.read_text())
        job = document["job"]
        job["job_options"] |= {"job_name": f"run-{seed}-{at}", "account": f"pr{chance.randrange(1000):03}"}
        job["application"]["arguments"] = f"--epochs {at} --seed {chance.randrange(10**6)} --data ${{WORK}}/set-{at}"
        job["optimisation"]["workload"]["epochs"] = chance.randrange(1, 400)
        job["optimisation"]["objective"] = chance.choice(
            [
                {"minimise": "time", "max_nodes": chance.choice([16, 32, 64, 128])},
                {"minimise": "node_hours", "deadline": f"{chance.randrange(20, 200)}:00:00"},
                {"min_efficiency": chance.choice([0.5, 0.6, 0.7, 0.8])},
                {},
            ]
        )
        if not job["optimisation"]["objective"] and at % 2:
            job["job_options"]["node_count"] = chance.randrange(1, 500)
        made.append(json.dumps(document).encode())
    return made


def costs(servers: Sequence[tuple[Server, str]], number: int, seed: int) -> list[float]:
    """Processor time of a request in ms at each address, the median over rounds that take turns."""
    bodies = requests(WARM + number, seed)
    clients = [Client(server.port) for server, _ in servers]
    rounds: list[list[float]] = [[] for _ in servers]
    for at in range(0, len(bodies), ROUND):
        for client, (server, path), found in zip(clients, servers, rounds, strict=True):
            before = server.cpu_ms()
            for body in bodies[at : at + ROUND]:
                client.ask("POST", path, body)
            if at >= WARM:
                found.append((server.cpu_ms() - before) / ROUND)
    return [statistics.median(found) for found in rounds]


def latencies(server: Server, path: str, number: int) -> list[float]:
    """Seconds of each answer, sorted, with :data:`CLIENTS` clients at once."""
    found: list[float] = []

    def ask(seed: int) -> None:
        client = Client(server.port)
        for body in requests(number // CLIENTS, seed):
            began = time.perf_counter()
            client.ask("POST", path, body)
            found.append(time.perf_counter() - began)

    threads = [threading.Thread(target=ask, args=(100 + at,)) for at in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def database(folder: Path, rows: int) -> str:
    """A database with the packaged knowledge, and so many rules and images more."""
    file = folder / f"{rows}.db"
    url = f"sqlite:///{file}"
    subprocess.run([sys.executable, "-m", "modak", "db", "upgrade"], cwd=ROOT, env={**os.environ, "MODAK_DATABASE_URL": url}, check=True)
    rules = ({"name": f"r{at}", "title": "t", "source": "s", "when": _condition(at), "environment": {f"R{at}": "1"}} for at in range(rows))
    images = ({"reference": f"docker://many/image:{at}", "labels": _labels(at), "source": "s"} for at in range(rows))
    connection = sqlite3.connect(file)
    with connection:
        insert = "INSERT INTO {} (name, body, added_at, added_by) VALUES (?, ?, 0, 'benchmark')"
        connection.executemany(insert.format("rules"), ((rule["name"], json.dumps(rule)) for rule in rules))
        connection.executemany(insert.format("images"), ((image["reference"], json.dumps(image)) for image in images))
        connection.execute("UPDATE meta SET version = version || '-more'")
    connection.close()
    return url


def _condition(at: int) -> dict[str, Any]:
    return [
        {"system": [f"s{at}"]},
        {"framework": ["tensorflow"], "application": [f"a{at}"]},
        {"scheduler": ["slurm"], "partition": [f"p{at}"]},
    ][at % 3]


def _labels(at: int) -> dict[str, Any]:
    framework = ("tensorflow", "pytorch", "mxnet")[at % 3]
    return {"framework": framework, "version": f"1.{at % 97}.{at % 13}", "source": ("hub", "pip")[at % 2], "compilers": ["xla"][: at % 2]}


def main() -> None:
    """Start, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--rows", type=int, nargs="*", default=[10, 100_000])
    parser.add_argument("--url", help="the address of another database to measure on")
    wish = parser.parse_args()
    quiet = {"MODAK_RATE_PER_MINUTE": "0"}
    (first,) = requests(1, seed=0)
    ask = ("POST", "/get_optimisation", first)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="modak-service-")))
        url = wish.url or database(folder, 0)
        with serving("modak.api:app_from_environment", {**quiet, "MODAK_DATABASE_URL": url}, ("GET", "/health", None)) as idle:
            say(f"start to first answer {idle.started_s:.2f} s; idle memory {idle.memory_mb():.0f} MB")
            size = {ANSWER: str(len(Client(idle.port).ask(*ask)))}
        nothing = held.enter_context(serving("benchmarks.service:no_op", size, ("POST", "/", first)))
        with serving("modak.api:app_from_environment", {**quiet, "MODAK_DATABASE_URL": url}, ask) as ours:
            say(f"start to first script {ours.started_s:.2f} s; memory then {ours.memory_mb():.0f} MB")
            base, *found = costs([(nothing, "/"), *((ours, path) for path in ASKED)], wish.requests, seed=1)
            say(f"processor time of a request that does nothing: {base:.3f} ms")
            for path, cost in zip(ASKED, found, strict=True):
                say(f"{path}: {cost:.3f} ms, {cost / base:.2f} x that; the published service {PUBLISHED_RATIO * base / cost:.0f} x as much")
            for path in ASKED:
                took = latencies(ours, path, wish.requests)
                middle, last = took[len(took) // 2], took[int(len(took) * 0.99)]
                say(f"{path} with {CLIENTS} clients: median {middle * 1e3:.1f} ms, p99 {last * 1e3:.1f} ms, {last / middle:.2f} x")
            say(f"memory after that {ours.memory_mb():.0f} MB")
        grown: list[float] = []
        for rows in wish.rows:
            with serving("modak.api:app_from_environment", {**quiet, "MODAK_DATABASE_URL": database(folder, rows)}, ask) as many:
                base, cost = costs([(nothing, "/"), (many, ASKED[0])], wish.requests, seed=2)
                grown.append(cost / base)
                say(f"{rows} more rules and images: {cost / base:.2f} x, start {many.started_s:.2f} s, memory {many.memory_mb():.0f} MB")
        if len(grown) > 1:
            say(f"growth of the cost from {wish.rows[0]} to {wish.rows[-1]}: {grown[-1] / grown[0]:.2f} x")


if __name__ == "__main__":
    main()

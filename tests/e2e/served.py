"""A real `modak serve` for tests, and clients that ask it without a pause."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.conftest import PATIENCE_S, ROOT, free_port, until

EXAMPLE = json.loads((ROOT / "examples/3dgan-supermuc-ng.json").read_text())
JSON = "application/json"
NUMBERS = count()


def asking() -> bytes:
    """A request of which there is no second one."""
    job = EXAMPLE["job"]
    return json.dumps({"job": job | {"job_options": job["job_options"] | {"job_name": f"fault-{next(NUMBERS)}"}}}).encode()


@dataclass(frozen=True)
class Served:
    """A running `modak serve`."""

    process: subprocess.Popen[bytes]
    port: int

    def connection(self, patience_s: float = PATIENCE_S) -> http.client.HTTPConnection:
        """A new connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience_s)

    def ask(self, method: str, path: str, body: bytes | None = None, token: str = "", kind: str = JSON) -> tuple[int, bytes]:
        """Status and body, on a connection of its own; status 0 where it broke."""
        connection = self.connection()
        try:
            connection.request(method, path, body, {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {}))
        except OSError:
            return 0, b""
        return answered(connection)

    def plan(self) -> tuple[int, str]:
        """The status of a new request, and the id of the plan that it gives."""
        status, content = self.ask("POST", "/optimise", asking())
        return status, plan_of(content) if status == 200 else ""

    def workers(self) -> set[int]:
        """The processes that answer."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        found = set[int]()
        for pid in children:
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since
                found |= {int(pid)} if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes() else set()
        return found

    def keeps(self, plans: set[str]) -> bool:
        """Whether all these plans are found."""
        return all(self.ask("GET", f"/plans/{plan}/script")[0] == 200 for plan in plans)


def answered(connection: http.client.HTTPConnection) -> tuple[int, bytes]:
    """Status and body of what was asked on a connection, which is closed then; status 0 where it broke."""
    try:
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def plan_of(content: bytes) -> str:
    """The id of the plan in an answer."""
    return str(json.loads(content)["job"]["plan"]["id"])


@contextmanager
def serving(url: str, *options: str, **settings: str) -> Iterator[Served]:
    """A service on a database, with more options and settings (``MODAK_…``), from its first answer to the end of the block."""
    port = free_port()
    environment = {**os.environ, "MODAK_DATABASE_URL": url, "MODAK_PUBLIC_URL": "https://modak.example.org", **settings}
    words = [sys.executable, "-m", "modak", "serve", "--port", str(port), *options]
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        served = Served(process, port)
        try:
            until(lambda: served.ask("GET", "/ready")[0] == 200)
            yield served
        finally:
            process.terminate()


@dataclass
class Load:
    """Clients that ask without a pause."""

    served: Served
    statuses: list[int] = field(default_factory=list)
    plans: set[str] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        """One client, until it is over."""
        while not self.over.is_set():
            status, plan = self.served.plan()
            self.plans |= {plan} - {""}
            self.statuses += [status, self.served.ask("POST", "/get_job_content", asking())[0]]

    def more(self, status: int) -> None:
        """Wait for one more answer with that status."""
        before = len(self.statuses)
        until(lambda: status in self.statuses[before:])


@contextmanager
def loaded(served: Served, clients: int = 3) -> Iterator[Load]:
    """The service under load, until the end of the block."""
    load = Load(served)
    threads = [threading.Thread(target=load.work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        load.more(200)
        yield load
    finally:
        load.over.set()
        for thread in threads:
            thread.join()

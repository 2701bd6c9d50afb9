"""A soak test: the service at half of its capacity for a given time. Does its memory grow, does anything fail?

    python -m benchmarks.soak [--minutes 30] [--warm-up 60] [--clients 4] [--url postgresql://USER@HOST/NAME]

`modak serve` is a process of its own on the loopback interface. In the warm-up the clients ask as fast as they can, which is the
capacity; then they ask at half of that rate, spread evenly. A request's time counts from when it was due, so requests that wait
while the service is slow are counted in full. All requests differ; some are wrong and have to be refused; twice a minute a result is
loaded, so that models are fitted and facts are read again. Memory is the resident memory of the server's processes.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.output import say
from benchmarks.service import ROOT, Server, database, requests, running

LOAD_S: Final = 30.0
RESULT: Final = (
    "application,framework,system,partition,nodes,metric,value\nsoak,tensorflow,supermuc-ng,thin,{nodes},epoch_time,{value:.6f}\n"
)
POINTS: Final = b"application,system,partition,nodes,metric\n3dgan,supermuc-ng,thin,%d,epoch_time\nsoak,supermuc-ng,thin,%d,epoch_time\n"

Question = tuple[str, str, bytes | None, str, int]
"""Method, path, body, its type, and the status that is right."""


@dataclass
class Found:
    """What all clients saw."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


class Asker:
    """One client with one connection, which is opened again where it broke."""

    def __init__(self, port: int, token: str, seed: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._token, self._plan = token, ""
        self._questions = self._varied(seed)

    def ask(self, found: Found, question: Question | None = None) -> None:
        """The next question, or the one given."""
        method, path, body, kind, right = question or next(self._questions)
        headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {self._token}"} if path == "/results" else {})
        try:
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
            content = answer.read()
            if path == "/results":
                self._connection.close()  # the next load is later than an idle connection lives
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            found.errors[type(error).__name__] += 1
            return
        if answer.status != right:
            found.errors[f"{method} {path.split('/')[1]}: {answer.status}"] += 1
        elif path == "/optimise" and right == 200:
            self._plan = json.loads(content)["job"]["plan"]["id"]

    def _varied(self, seed: int) -> Iterator[Question]:
        chance = random.Random(seed)  # noqa: S311 - data, not secrets
        while True:
            seed += 1000
            for body in requests(200, seed):
                kind = chance.choices(("optimise", "published", "ranked", "points", "plan", "list", "wrong"), (4, 4, 1, 1, 1, 1, 1))[0]
                if kind == "points":
                    yield "POST", "/predictions", POINTS % (chance.randrange(1, 3000), chance.randrange(1, 3000)), "text/csv", 200
                elif kind == "plan" and self._plan:
                    yield "GET", f"/plans/{self._plan}/script", None, "text/plain", 200
                elif kind == "list":
                    yield "GET", chance.choice(("/systems", "/models", "/metrics", "/results?application=3dgan")), None, "text/plain", 200
                elif kind == "wrong":
                    yield "POST", "/optimise", b'{"job": {"application": [%d]}}' % chance.randrange(10**6), "application/json", 422
                else:
                    path = {"published": "/get_optimisation", "ranked": "/recommendations"}.get(kind, "/optimise")
                    yield "POST", path, body, "application/json", 200


def asked(askers: list[Asker], seconds: float, rate: float | None) -> Found:
    """All clients at once for so long: as fast as they can, or at so many requests a second together."""
    found, end = Found(), time.monotonic() + seconds

    def work(at: int, asker: Asker) -> None:
        due = time.monotonic() + (at / rate if rate else 0.0)
        while due < end:
            time.sleep(max(0.0, due - time.monotonic()))
            asker.ask(found)
            found.seconds.append(time.monotonic() - due)
            due = due + len(askers) / rate if rate else time.monotonic()

    threads = [threading.Thread(target=work, args=each) for each in enumerate(askers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def watched(server: Server, loader: Asker, found: Found, over: threading.Event) -> list[float]:
    """Memory in MB, once a second until it is over; meanwhile results are loaded."""
    samples, chance, began = [server.memory_mb()], random.Random(1), time.monotonic()  # noqa: S311
    while not over.wait(1.0):
        samples.append(server.memory_mb())
        if time.monotonic() - began > LOAD_S:
            began = time.monotonic()
            row = RESULT.format(nodes=chance.randrange(1, 500), value=chance.uniform(10, 1000))
            loader.ask(found, ("POST", "/results", row.encode(), "text/csv", 200))
    return samples


def soak(server: Server, token: str, clients: int, warm_up: float, minutes: float) -> None:
    """Warm up, ask, print."""
    start = server.memory_mb()
    askers = [Asker(server.port, token, seed) for seed in range(1, clients + 1)]
    loader, extra, samples, over = Asker(server.port, token, 0), Found(), list[float](), threading.Event()
    warm = asked(askers, warm_up, None)
    rate = len(warm.seconds) / warm_up / 2
    say(f"capacity {2 * rate:.0f} requests a second with {clients} clients; {minutes:g} minutes at {rate:.0f}")
    watcher = threading.Thread(target=lambda: samples.extend(watched(server, loader, extra, over)))
    watcher.start()
    found = asked(askers, minutes * 60, rate)
    over.set()
    watcher.join()
    took, last = sorted(found.seconds), len(samples) - 1
    marks = {
        "after the warm-up": 0,
        "at a quarter": last // 4,
        "at half": last // 2,
        "at three quarters": last * 3 // 4,
        "at the end": last,
    }
    say(f"memory in MB: {start:.0f} at the start, " + ", ".join(f"{samples[at]:.0f} {name}" for name, at in marks.items()))
    say(f"{len(took)} requests, p50 {took[len(took) // 2] * 1e3:.1f} ms, p99 {took[int(len(took) * 0.99)] * 1e3:.1f} ms")
    errors = warm.errors + found.errors + extra.errors
    say(f"errors, the warm-up included: {dict(errors) if errors else 'none'}")


def main() -> None:
    """Start, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--warm-up", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--url", help="the address of another database")
    wish = parser.parse_args()
    modak = [sys.executable, "-m", "modak"]
    with tempfile.TemporaryDirectory(prefix="modak-soak-") as folder:
        url = wish.url or database(Path(folder), 0)
        environment = {"MODAK_DATABASE_URL": url, "MODAK_RATE_PER_MINUTE": "0"}
        create = [*modak, "token", "create", "soak", "--scope", "load"]
        created = subprocess.run(create, cwd=ROOT, env={**os.environ, **environment}, check=True, text=True, stdout=subprocess.PIPE)  # noqa: S603
        with running([*modak, "serve"], environment, ("GET", "/ready", None), log=subprocess.DEVNULL) as server:
            soak(server, created.stdout.split()[0], wish.clients, wish.warm_up, wish.minutes)


if __name__ == "__main__":
    main()

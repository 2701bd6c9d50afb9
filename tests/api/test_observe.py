"""What operators see of requests: ids, lines of the log, figures."""

from __future__ import annotations

import json
import logging
import logging.config
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from modak.api import create_app, logs
from modak.api.counts import FOLDER, KINDS
from modak.errors import Unavailable
from modak.settings import Settings
from tests.conftest import until


def figures(web: TestClient) -> dict[tuple[str, ...], float]:
    """What ``/metrics`` tells: (name, values of labels, …) -> value. It is asked again where the service's limit of time was too short."""
    told = until(lambda: answer.text if (answer := web.get("/metrics")).is_success else "")
    samples = [sample for family in text_string_to_metric_families(told) for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}


def test_an_answer_has_an_id_of_its_own(web: TestClient) -> None:
    """Sixteen hexadecimal digits, others each time."""
    first, second = (web.get("/health").headers["X-Request-ID"] for _ in range(2))
    assert first != second
    assert int(first, 16) >= 0
    assert len(first) == 16


@pytest.mark.parametrize(("given", "kept"), [("proxy-7.a_B", True), ("a b", False), ("x" * 65, False), ('"}{', False)])
def test_a_proxys_id_is_kept_where_it_is_a_plain_word(web: TestClient, given: str, kept: bool) -> None:
    """Another one reaches neither the answer nor the log."""
    assert (web.get("/health", headers={"X-Request-ID": given}).headers["X-Request-ID"] == given) == kept


def test_errors_have_an_id_too(web: TestClient) -> None:
    """What people quote when they ask for help."""
    assert web.get("/nowhere", headers={"X-Request-ID": "quoted"}).headers["X-Request-ID"] == "quoted"


def test_requests_are_counted_by_route_and_status(web: TestClient) -> None:
    """The route's pattern: addresses that callers choose would each be a series of figures."""
    before = figures(web).get(("modak_requests_total", "GET", "/plans/{id}", "404"), 0)
    for name in ("one", "two"):
        web.get(f"/plans/{name}")
    after = figures(web)
    assert after["modak_requests_total", "GET", "/plans/{id}", "404"] == before + 2
    assert not [key for key in after if "/plans/one" in key]


def test_what_is_refused_before_it_is_read_counts_for_its_route(web: TestClient) -> None:
    """Otherwise nobody sees whose callers are refused, or that it is loads that fail while the database is away."""
    refused = "modak_requests_total", "POST", "/results", "401"
    before = figures(web).get(refused, 0)
    web.post("/results")
    assert figures(web)[refused] == before + 1


def test_unknown_addresses_and_methods_are_one_series(web: TestClient) -> None:
    """However many a caller makes up."""
    for number in range(3):
        web.request(f"MAKE{number}", f"/no/{number}")
    (series,) = [key for key in figures(web) if key[:2] == ("modak_requests_total", "other")]
    assert series[2] == "unknown"


def test_figures_tell_of_the_database(web: TestClient) -> None:
    """Series by whether their models are fitted, models, the newest load."""
    told = figures(web)
    assert told["modak_database_up",] == 1
    assert told["modak_series", "fitted"] + told["modak_series", "stale"] > 10
    assert told["modak_models",] > 10
    assert told["modak_newest_load_timestamp_seconds",] > 1.7e9


def test_figures_are_told_without_a_database(tmp_path: Path) -> None:
    """What was counted of requests is there, and that the database is not."""
    (tmp_path / "modak.db").write_text("this is no database")
    with TestClient(create_app(Settings(database_url=f"sqlite:///{tmp_path}/modak.db"))) as web:
        web.get("/systems")
        told = figures(web)
    assert told["modak_database_up",] == 0
    assert told["modak_requests_total", "GET", "/systems", "503"] == 1


def test_why_the_service_cannot_answer_is_for_its_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A caller learns no path, host or user; whoever runs the service finds the reason under the request's id."""
    (tmp_path / "modak.db").write_text("this is no database")
    with TestClient(create_app(Settings(database_url=f"sqlite:///{tmp_path}/modak.db"))) as web:
        told = web.get("/systems", headers={"X-Request-ID": "mine"})
    assert (told.status_code, told.json()["detail"]) == (503, "the database is out of reach: the file is no SQLite database")
    (line,) = [record for record in caplog.records if record.name == "modak.requests"]
    why = f"GET /systems 503: the database {tmp_path}/modak.db is out of reach: the file is no SQLite database"
    assert (line.getMessage(), line.levelname, line.__dict__["request_id"]) == (why, "WARNING", "mine")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_request_whose_time_is_over_is_noted_when_it_is_answered(
    packaged_database: Path, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    """Not when its work ends, which may be hours later where a database hangs; what prevents that work then is a second line."""
    app = create_app(Settings(database_url=f"sqlite:///{packaged_database}", request_s=0.5))

    def hangs() -> None:
        until(lambda: "took longer" in caplog.text)
        raise Unavailable("the disk is full")

    app.add_api_route("/results/hangs", hangs)
    with TestClient(app) as web:
        assert web.request(method, "/results/hangs", headers={"X-Request-ID": "mine"}).status_code == 503
        assert figures(web)["modak_requests_total", method, "/results/hangs", "503"] == 1
    lines = [(line.levelname, line.getMessage()) for line in caplog.records if line.__dict__.get("request_id") == "mine"]
    first = f"{method} /results/hangs 503: its answer took longer than MODAK_REQUEST_S"
    assert lines == [("WARNING", first), ("WARNING", "after the answer 503: the disk is full")]


def test_drivers_words_stay_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """PostgreSQL's name hosts, ports and users."""
    with TestClient(create_app(Settings(database_url="postgresql://ada@127.0.0.1:1/modak"))) as web:
        told = web.get("/systems")
    assert (told.status_code, told.json()["detail"]) == (503, "the database is out of reach")
    assert "ada@127.0.0.1:1/modak" in caplog.text


def test_a_service_is_not_ready_when_its_tables_are_another_versions(own_database: Path) -> None:
    """After an upgrade by another host, a load balancer takes it out; its process is well."""
    with TestClient(create_app(Settings(database_url=f"sqlite:///{own_database}"))) as web:
        assert web.get("/ready").status_code == 200
        with closing(sqlite3.connect(own_database)) as other, other:
            other.execute("UPDATE alembic_version SET version_num = '9999'")
        assert [web.get(path).status_code for path in ("/ready", "/health")] == [503, 200]


@pytest.mark.parametrize(("most", "kept"), [(1 << 22, 2), (1 << 10, 0)])
def test_counts_have_their_room_from_the_start(tmp_path: Path, most: int, kept: int) -> None:
    """A disk that is full later takes no worker with it; one that is full already costs the worker's counts, and not the worker."""
    program = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
        "from starlette.testclient import TestClient; from modak.api import create_app; from modak.settings import Settings\n"
        f"web = TestClient(create_app(Settings(database_url='sqlite:///{tmp_path}/modak.db')))\n"
        "assert [web.get(path).status_code for path in ('/health', '/metrics')] == [200, 200]"
    )
    (tmp_path / "counts").mkdir()
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "counts")}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    files = [file for file in (tmp_path / "counts").iterdir() if file.suffix != ".lock"]
    assert len(files) == kept
    assert all(file.stat().st_blocks * 512 >= file.stat().st_size == 1 << 20 for file in files)


def test_a_worker_counts_on_where_one_that_has_ended_left_off(tmp_path: Path) -> None:
    """However it ended: nothing is counted twice or lost, and there are files for as many as run at once, not for all that ever ran."""
    program = (
        "import os, signal, sys; from starlette.testclient import TestClient; from modak.api import create_app\n"
        "from modak.settings import Settings\n"
        f"web = TestClient(create_app(Settings(database_url='sqlite:///{tmp_path}/modak.sqlite')))\n"
        "web.get('/health'); print(web.get('/metrics').text, flush=True); sys.stdin.read(1); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = os.environ | {FOLDER: str(tmp_path)}

    def worker() -> subprocess.Popen[str]:
        words = [sys.executable, "-c", program]
        return subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def counted(process: subprocess.Popen[str]) -> float:
        assert process.stdout
        text = "".join(iter(process.stdout.readline, "\n"))
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        (number,) = [each.value for each in samples if each.name == "modak_requests_total" and each.labels["route"] == "/health"]
        return number

    with worker() as first:
        numbers = [counted(first)]
        for _ in range(2):
            with worker() as other:
                numbers.append(counted(other))
                other.communicate("x")
        first.communicate("x")
    with worker() as last:
        numbers.append(counted(last))
        last.communicate("x")
    assert numbers == [1, 2, 3, 4]
    assert sorted(file.name for file in tmp_path.glob("*.db")) == [f"{kind}_{place}.db" for kind in KINDS for place in range(2)]


def test_a_worker_whose_settings_have_become_wrong_says_so_in_one_line() -> None:
    """Where SIGHUP has it start with others than the service began with; a traceback would be no line of the log."""
    program = "from modak.api import app_from_environment; app_from_environment()"
    environment = os.environ | {"MODAK_RATE_PER_MINUTE": "many"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    said = "no worker starts with these settings: MODAK_RATE_PER_MINUTE: allowed: a whole number\n"
    assert (ran.returncode, ran.stderr) == (1, said)


def test_the_log_has_one_object_a_request(web: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    """With the id; without the query, which may hold anything."""
    formatter = logging.config.DictConfigurator(logs.config(plain=False)).configure_formatter(
        logs.config(plain=False)["formatters"]["lines"]
    )
    with caplog.at_level(logging.INFO, "modak.requests"):
        web.get("/systems?limit=1&cursor=secret", headers={"X-Request-ID": "mine"})
    (line,) = [formatter.format(record) for record in caplog.records if record.name == "modak.requests"]
    told: dict[str, Any] = json.loads(line)
    assert {name: told[name] for name in ("method", "route", "request_id", "level")} == {
        "method": "GET", "route": "/systems", "request_id": "mine", "level": "INFO",
    }  # fmt: skip
    assert "secret" not in line

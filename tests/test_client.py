"""Over HTTP the command line gets what it gets in its own process."""

from __future__ import annotations

import gzip
import io
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import pytest

from modak.api import create_app
from modak.client import Remote, RemoteError, _connect, _public_names, _rows
from modak.errors import DataError, Infeasible, ModakError, RequestError, Unavailable
from modak.ingest.reading import Incoming, incoming, table
from modak.ingest.sources import from_bytes
from modak.ingest.table import PLAIN
from modak.perfmodel.planning import LEAST
from modak.service import Service, open_service
from modak.settings import Settings
from tests.answering import answering
from tests.api.document import API
from tests.api.site import listening
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def local(packaged_database: Path) -> Iterator[Service]:
    """The use cases in this process."""
    with open_service(Settings(database_url=f"sqlite:///{packaged_database}")) as service:
        yield service


@pytest.fixture(scope="module")
def remote(packaged_database: Path) -> Iterator[Remote]:
    """The use cases behind a real server on the loopback interface."""
    with listening(create_app(Settings(database_url=f"sqlite:///{packaged_database}"))) as address:
        yield Remote.of(Settings(server=address))


def test_optimise_and_recommend_are_the_same(local: Service, remote: Remote, document: dict[str, Any]) -> None:
    """But for the address of the script, which only a service has."""
    answer = remote.optimise(document)
    assert answer["job"].pop("job_script").endswith("/script")
    assert answer == local.optimise(document)
    assert remote.recommend(document) == local.recommend(document)
    document["job"]["optimisation"]["objective"] = {"budget_node_hours": 1}
    found = remote.recommend(document, closest=True)
    assert found["missed"].startswith("a budget of 1 node-hour is not enough")
    assert found == local.recommend(document, closest=True)


def test_a_plan_is_the_same(local: Service, remote: Remote, document: dict[str, Any]) -> None:
    """By its id, with the addresses that only a service has."""
    plan = local.optimise(document)["job"]["plan"]["id"]
    answer = remote.plan(plan)
    assert answer["job"].pop("job_script").endswith(f"{plan}/script")
    assert answer == local.plan(plan)
    with pytest.raises(ModakError, match="no plan 'nothing'"):
        remote.plan("nothing")


def test_outcomes_of_plans_are_the_same(own_database: Path, document: dict[str, Any]) -> None:
    """Of jobs whose results are loaded: one within its interval, one that took a day longer."""
    settings = Settings(database_url=f"sqlite:///{own_database}")
    with open_service(settings) as local, listening(create_app(settings)) as address:
        plan = local.optimise(document)["job"]["plan"]
        assert local.outcomes() == {"items": [], "jobs": 0, "within": 0, "longer": 0, "shorter": 0, "median_error": None}
        ran = {"application": "3dgan", "system": "supermuc-ng", "nodes": 24, "metric": "wall_time", "unit": "s"}
        for job, late in ((1, 0), (2, 86400)):
            results = [{**ran, "value": plan["prediction"]["value"] + late, "measured_at": f"2026-11-0{job}T00:00:00Z"}]
            file = {"modak_result": 1, "plan": plan["id"], "exit_status": 0, "job": str(job), "results": results}
            local.load(incoming(["-"], PLAIN, io.BytesIO(json.dumps(file).encode())))
        found = Remote.of(Settings(server=address)).outcomes(application="3dgan", limit=1)
        assert found == local.outcomes("3dgan", "supermuc-ng", limit=1)
    assert [(one["job"], one["plan"], one["outcome"]) for one in found["items"]] == [("job 2", plan["id"], "longer")]
    assert (found["jobs"], found["within"], found["longer"], 0.4 < found["median_error"] < 0.5) == (2, 1, 1, True)
    kind = {**API["components"]["schemas"]["outcomes"], "components": API["components"]}
    assert list(jsonschema_rs.validator_for(kind).iter_errors(found)) == []


def test_sizings_are_the_same(local: Service, remote: Remote) -> None:
    """Of one of the examples, also with a key that nobody knows."""
    sizing = json.loads((ROOT / "examples/sizing-small.json").read_text())
    assert remote.size(sizing) == local.size(sizing)
    assert remote.size({**sizing, "colour": "red"}) == local.size({**sizing, "colour": "red"})


@pytest.mark.parametrize("method", ["optimise", "recommend", "validate", "size"])
def test_an_unknown_key_is_refused_only_where_that_is_wanted(local: Service, remote: Remote, document: dict[str, Any], method: str) -> None:
    """Otherwise it is a warning, here and over HTTP."""
    document["job"]["job_options"]["acount"] = "x"
    for which in (local, remote):
        assert getattr(which, method)(document)
        with pytest.raises(ModakError, match="acount"):
            getattr(which, method)(document, strict=True)


def test_validations_are_the_same(local: Service, remote: Remote, document: dict[str, Any]) -> None:
    """With the warning about the target, which the database knows."""
    document["job"]["target"]["name"] = "supermuk-ng"
    assert remote.validate(document) == local.validate(document)
    assert [one["field"] for one in local.validate(document)["warnings"]] == ["target.name"]


def test_predictions_are_the_same(local: Service, remote: Remote) -> None:
    """For CSV and for JSON records, also for one a line, packed or not."""
    record = b'{"application": "3dgan", "metric": "epoch_time", "nodes": 4}'
    lines, table = record + b"\n" + record, b"application,metric,nodes\n3dgan,epoch_time,4\n"
    for name, content in (
        ("points", table),
        ("points", b"[%s]" % record),
        ("points.jsonl", lines),
        ("-", lines),
        ("points.ndjson.gz", gzip.compress(lines)),
    ):
        assert remote.predict(content, name, level=0.8) == local.predict(content, name, level=0.8)


def test_proposals_of_runs_are_the_same(local: Service, remote: Remote, document: dict[str, Any]) -> None:
    """With their scripts, and where every gain and no budget is meant: 0 is a number."""
    several: tuple[dict[str, Any], ...] = ({"gain": LEAST, "scripts": True}, {"gain": 0.0, "most": 2}, {"gain": LEAST, "budget": 0.0})
    for options in several:
        assert remote.next_runs(document, **options) == local.next_runs(document, **options)
    assert not local.next_runs(document, budget=0.0)["runs"]


def test_rows_to_measure_first_are_the_same(own_database: Path) -> None:
    """Of a table whose other rows have results elsewhere; a wrong one is named by its file and line."""
    rows = [f"net{n},{{}},throughput,32,{1 + n % 4},{2 + n / 7:.3f}" for n in range(12)]
    header = "application,system,metric,batch_size,params.gmacs,params.macts"
    known = "\n".join([f"{header},value", *(f"{row.format('one')},{900 - 31 * n}" for n, row in enumerate(rows))])
    asked = "\n".join([header, *(row.format("new") for row in rows)]).encode()
    settings = Settings(database_url=f"sqlite:///{own_database}")
    with open_service(settings) as service, listening(create_app(settings)) as address:
        remote = Remote.of(Settings(server=address))
        service.load(Incoming((table(from_bytes(known.encode(), "known.csv"), PLAIN),)))
        found = remote.calibration(asked, "asked.csv", number=6)
        assert found == service.calibration(asked, "asked.csv", number=6)
        assert [row["value"] for row in found["rows"]] == [None] * 6
        with pytest.raises(ModakError, match=r"^asked\.csv:2: "):
            remote.calibration(asked.replace(b",32,", b",x,", 1), "asked.csv", number=6)


def test_comparisons_are_the_same(local: Service, remote: Remote) -> None:
    """Pairs and shifts; also what is wrong with a question."""
    asked: tuple[tuple[Any, ...], ...] = (
        ("runtime", ("none", "charliecloud"), {"application": "alexnet"}),
        ("nodes", (), {"application": "3dgan", "system": "supermuc-ng"}),
    )
    for one in asked:
        assert remote.compare(*one) == local.compare(*one)
    assert local.compare(*asked[0])["pairs"][0]["one"] == "none"
    for wrong in (
        ("sytem",),
        ("runtime", ("none", "shifta")),
        ("measured_at",),
        ("measured_at", ("",)),
        ("runtime", (), {"phase": "moon"}),
    ):
        told = set()
        for which in (local, remote):
            with pytest.raises(ModakError) as refused:
                which.compare(*wrong)
            told.add((refused.value.status, refused.value.faults))
        assert len(told) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"holdout": "each", "system": "SuperMUC_NG"},
        {"application": "3DGAN", "level": 0.5},
        {"application": "3dgam"},
        {"application": ""},
        {"holdout": "none"},
        {"system": "supermuk"},
    ],
)
def test_evaluations_are_the_same(local: Service, remote: Remote, options: dict[str, Any]) -> None:
    """Figures, and notes; what is not known is refused in the same words."""
    found = []
    for which in (local, remote):
        try:
            found.append(json.dumps(which.evaluate(**options)))
        except ModakError as error:
            found.append(f"{error.status}: {error}")
    assert found[0] == found[1]


def test_lines_of_plots_are_the_same(local: Service, remote: Remote) -> None:
    """Of an application, of models in the order that is given; ids that no model has are refused."""
    models = [one["id"] for one in local.listing("models", "3dgan")][1::-1]
    for asked in (((), "3dgan", "supermuc-ng"), (models,), ((), "3DGAN")):
        found = remote.lines(*asked, most=2)
        assert found == local.lines(*asked, most=2)
        assert len(found["lines"]) == 2
    for which in (local, remote):
        with pytest.raises(ModakError, match="model: no model has the id 'nix'"):
            which.lines([*models, "nix"], most=2)
        with pytest.raises(ModakError, match="model: ids of models name what is drawn"):
            which.lines(models, "3dgan", most=2)


def test_a_bad_point_is_named_by_its_file_and_line(remote: Remote) -> None:
    """Not by the name that the service gives a body."""
    with pytest.raises(ModakError, match=r"^points\.csv:2: "):
        remote.predict(b"application,metric,nodes\n3dgan,epoch_time,0\n", "points.csv")
    with pytest.raises(ModakError, match=r"^points\.jsonl:1: "):
        remote.predict(b'{"application": "3dgan", "metric": "epoch_time", "nodes": 0}', "points.jsonl")


@pytest.mark.parametrize("name", ["points.jsonl", "points.ndjson"])
def test_a_file_is_read_as_its_name_says(local: Service, remote: Remote, name: str) -> None:
    """A table that is called records has the same fault here and over HTTP."""
    told = set()
    for which in (local, remote):
        with pytest.raises(ModakError) as wrong:
            which.predict(b"application,nodes\n3dgan,4\n", name)
        told.add(str(wrong.value))
    assert told == {f"{name}:1: expected a list of records: [{{…}}, …]"}


def test_models_of_one_application_are_the_same(local: Service, remote: Remote) -> None:
    """Those of others are left out, here and over HTTP."""
    found = local.listing("models", "3dgan")
    assert remote.listing("models", "3dgan") == found != local.listing("models")


def test_lists_and_results_are_the_same(local: Service, remote: Remote) -> None:
    """However many pages they take."""
    for kind in ("systems", "images", "rules", "models"):
        key = {"images": "reference", "models": "id"}.get(kind, "name")
        every = local.listing(kind)
        assert remote.listing(kind) == (every if kind == "models" else sorted(every, key=lambda item, key=key: item[key]))  # type: ignore[misc]
        assert remote.item(kind, every[-1][key]) == local.item(kind, every[-1][key]) == every[-1]
    assert remote.results({"system": "supermuc-ng"}, limit=3) == local.results({"system": "supermuc-ng"}, limit=3)
    assert remote.results({}, doubted=True) == local.results({}, doubted=True) == {"items": []}


def test_pages_go_on_at_their_cursor(local: Service, remote: Remote, document: dict[str, Any]) -> None:
    """Of all results, and of those behind a plan."""
    plan = local.optimise(document)["job"]["plan"]["id"]

    def results(which: Service | Remote, cursor: str | None = None) -> dict[str, Any]:
        return which.results({}, limit=3, cursor=cursor)

    def behind(which: Service | Remote, cursor: str | None = None) -> dict[str, Any]:
        return which.used_by(plan, limit=3, cursor=cursor)

    for page in (results, behind):
        first = page(local)
        second = page(remote, first["next"])
        assert second == page(local, first["next"])
        assert second["items"] != first["items"]


@pytest.mark.parametrize("name", ["limit", "cursor", "used_by", "replaced", "path"])
def test_an_option_of_the_address_is_no_filter(local: Service, remote: Remote, name: str) -> None:
    """It is refused as any unknown filter is, and not passed on as the option."""
    told = set()
    for which in (local, remote):
        with pytest.raises(ModakError, match=f"unknown filter '{name}'") as wrong:
            which.results({name: "1"})
        told.add(wrong.value.faults)
    assert len(told) == 1


def test_an_empty_filter_is_a_filter(local: Service, remote: Remote) -> None:
    """No result has an empty text in a column, so none is found."""
    assert remote.results({"system": ""}) == local.results({"system": ""}) == {"items": []}


def test_the_results_behind_a_plan_and_those_replaced_are_the_same(local: Service, remote: Remote, document: dict[str, Any]) -> None:
    """By the plan's id; what no plan has is a fault of the same kind."""
    plan = local.optimise(document)["job"]["plan"]["id"]
    assert remote.used_by(plan) == local.used_by(plan)
    assert remote.used_by(plan)["items"]
    assert remote.replaced({"application": "3dgan"}, limit=3) == local.replaced({"application": "3dgan"}, limit=3)
    with pytest.raises(ModakError, match="no plan 'nothing'"):
        remote.used_by("nothing")


def test_doubts_reach_the_service(local: Service, remote: Remote) -> None:
    """By numbers and by a file's name; who may not is told so, and who names a file that nothing came in."""
    with pytest.raises(ModakError, match="nothing was loaded from a file called"):
        local.judge("doubt", "no-such.csv", "nothing")
    with pytest.raises(ModakError, match="nothing was loaded from a file called"):
        local.judge("confirm", "no-such.csv")
    with pytest.raises(ModakError, match="token"):
        remote.judge("doubt", [1], "why")
    with pytest.raises(ModakError, match="token"):
        remote.judge("confirm", "no-such.csv")


def test_an_export_holds_the_same_rows(local: Service, remote: Remote) -> None:
    """As text, under the same columns."""
    (columns, rows), (expected, stored) = remote.export({"application": "3dgan"}), local.export({"application": "3dgan"})
    assert columns == expected
    assert list(rows) == list(stored)


def test_what_takes_several_pages_is_the_same(own_database: Path) -> None:
    """An export, of which the client asks for 1,000 rows at once, and what was replaced, from a cursor on."""
    settings = Settings(database_url=f"sqlite:///{own_database}")
    with open_service(settings) as service, listening(create_app(settings)) as address:
        remote = Remote.of(Settings(server=address))
        for value in (1, 2):
            rows = "".join(f"many,{nodes},wall_time,{value},s\n" for nodes in range(1, 1002))
            table = io.BytesIO(f"application,nodes,metric,value,unit\n{rows}".encode())
            service.load(incoming(["-"], PLAIN, table), replace=True)
        of_service, of_remote = (list(which.export({"application": "many"})[1]) for which in (service, remote))
        assert len(of_remote) == 1001
        assert of_remote == of_service
        cursor = service.replaced({}, limit=3)["next"]
        assert remote.replaced({}, limit=3, cursor=cursor) == service.replaced({}, limit=3, cursor=cursor)


def test_an_export_over_http_is_the_same_with_doubts(own_database: Path) -> None:
    """In the column ``suspect`` they would be other rows when the file is loaded again, and nobody could confirm them."""
    with open_service(Settings(database_url=f"sqlite:///{own_database}")) as service:
        service.judge("doubt", [service.results({"application": "3dgan"})["items"][0]["id"]], "a slip")
        items = service.results({"application": "3dgan"}, limit=1000)["items"]
        assert list(_rows(items)[1]) == list(service.export({"application": "3dgan"})[1])
    assert [item["suspect"] for item in items if "doubted" in item] == ["a slip"]


def test_a_refusal_tells_how_the_request_was_read(local: Service, remote: Remote, document: dict[str, Any]) -> None:
    """An unknown key may be the reason: here, and over HTTP; also beside a field that cannot be read."""
    document["job"]["optimisation"]["objective"] = {"deadline": 60, "max_nodez": 8, "max_nodes": 8}
    unreadable = {"job": {"job_options": {"job_name": "a b", "acount": "x"}, "application": {"executable": "./a"}}}
    for asked, key in ((document, "max_nodez"), (unreadable, "acount")):
        for which in (local, remote):
            with pytest.raises(ModakError) as refused:
                which.optimise(asked)
            assert [one.field.rpartition(".")[2] for one in refused.value.warnings] == [key]


def test_faults_come_back_with_their_fields_and_status(local: Service, remote: Remote, document: dict[str, Any]) -> None:
    """The same faults, and the exit status that they have here."""
    wrong = {"job": {"job_options": {"job_name": "a b"}}}
    document["job"]["optimisation"]["objective"] = {"deadline": 60, "max_nodes": 8}
    for asked, kind in ((wrong, RequestError), (document, Infeasible)):
        with pytest.raises(kind) as here:
            local.optimise(asked)
        with pytest.raises(ModakError) as there:
            remote.optimise(asked)
        assert there.value.faults == here.value.faults
        assert (there.value.status, there.value.exit_code) == (here.value.status, here.value.exit_code)


def test_a_server_that_speaks_another_protocol_is_status_3(mail_server: str) -> None:
    """In one line with the address."""
    with pytest.raises(Unavailable, match=f"^no answer from {mail_server}: 220 mail"):
        Remote(mail_server).listing("systems")


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (200, b"<html>", "200 OK"),
        (502, b"<html>no", "502 Bad Gateway"),
        (404, b"{}", "404 Not Found"),
        (200, b"[]", "200 OK"),
        (200, b"[" * 100_000, "200 OK"),
        (599, b"", "599"),
    ],
)
def test_an_answer_that_is_not_modaks_is_status_3(status: int, body: bytes, told: str) -> None:
    """A proxy's page, another program on that port: the address and the status, not the page."""
    said = f"answered {told} and no document"
    with answering((status, body)) as address, pytest.raises(Unavailable, match=said) as raised:
        Remote(address).listing("systems")
    assert raised.value.exit_code == 3


@pytest.mark.parametrize(
    ("status", "header", "value", "told"),
    [
        (200, "Content-Length", "5000", "it was cut off after 9 bytes; what was asked for may have been done"),
        (308, "Location", "https://modak.example.org/systems", "leads to https://modak.example.org/systems: MODAK_SERVER has to be"),
    ],
)
def test_what_stands_between_says_what_became_of_the_answer(status: int, header: str, value: str, told: str) -> None:
    """A proxy whose time was over, or that leads from http to https: no token is sent there."""
    with answering((status, b'{"items":', {header: value})) as address, pytest.raises(Unavailable, match=told):
        Remote(address).listing("systems")


def test_a_body_that_is_refused_before_all_of_it_is_sent_says_why() -> None:
    """A proxy answers 401 or 413 at once, and closes the connection, while the rest is on its way."""
    problem = {"title": "the body is too large", "errors": [{"field": "", "message": "at most 64 MB"}]}
    with answering((413, problem), reads=False) as address, pytest.raises(RemoteError, match="at most 64 MB"):
        Remote(address).validate({"job": {"application": {"executable": "a" * 50_000_000}}})


def test_a_certificate_of_an_unknown_authority_names_the_setting(tmp_path: Path) -> None:
    """In one line, without the words of the library."""
    made, key = tmp_path / "certificate", tmp_path / "key"
    openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*openssl, "-keyout", key, "-out", made], check=True, capture_output=True)
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(Unavailable, match=r"its certificate is refused \(self-signed certificate\); SSL_CERT_FILE names"):
            Remote(f"https://localhost:{server.server_port}").listing("systems")


def test_too_many_requests_are_asked_again() -> None:
    """After the time that the service names, if that is within the client's: the pages of a long list exceed a small limit."""
    answers = ((429, "1"), (200, "1"), (429, "9" * 400))
    with answering(*((status, b'{"items": []}', {"Retry-After": wait}) for status, wait in answers)) as address:
        assert Remote(address).listing("systems") == []
        with pytest.raises(Unavailable, match="answered 429"):
            Remote(address).listing("systems")


def test_a_service_that_does_not_answer_in_time_is_status_3() -> None:
    """It would be waited for without an end."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(Unavailable, match=r"^no answer from http://.*: timed out$"):
        Remote(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.2).listing("systems")


def test_a_file_of_no_known_format_is_not_sent() -> None:
    """Each of them is refused without asking: nobody answers at this address."""
    with pytest.raises(DataError, match="of no known format") as wrong:
        Remote("http://127.0.0.1:9").load(Incoming(tuple(table(from_bytes(b"\1\2\3", name)) for name in ("a.bin", "b.bin"))))
    assert [fault.field for fault in wrong.value.faults] == ["a.bin", "b.bin"]


def test_names_do_not_tell_where_links_lead(tmp_path: Path) -> None:
    """Of files outside the current folder."""
    (tmp_path / "run").symlink_to("/etc")
    assert _public_names([str(tmp_path / "run/a.csv"), str(tmp_path / "b.csv")]) == ["run/a.csv", "b.csv"]


def test_files_of_one_name_are_told_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One in the current folder and one outside: their loads could not be told apart later."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert _public_names(["r.csv", "../there/r.csv"]) == ["r.csv", "there/r.csv"]


@pytest.mark.parametrize(
    ("scheme", "user", "told"),
    [("http://", "ada:p%40ss@", "Basic YWRhOnBAc3M="), ("http://", "ada@", "Basic YWRhOg=="), ("http://", "", None), ("", "", None)],
)
def test_a_proxy_is_asked_for_what_is_not_excepted(monkeypatch: pytest.MonkeyPatch, scheme: str, user: str, told: str | None) -> None:
    """By the usual variables, as curl reads them in the job: a tunnel to the service's host, with the proxy's own password, if any."""
    asked: list[tuple[str, str | None]] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append((self.path, self.headers["Proxy-Authorization"]))
            self.send_error(403, "not that one")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.handle_request, daemon=True).start()
    monkeypatch.setenv("https_proxy", f"{scheme}{user}127.0.0.1:{server.server_port}")
    monkeypatch.setenv("no_proxy", "excepted.invalid")
    with pytest.raises(Unavailable, match=r"through the proxy 127.*: Tunnel connection failed: 403 not that one"):
        Remote("https://modak.invalid/below").listing("systems")
    with pytest.raises(Unavailable, match="no answer"):
        Remote("https://excepted.invalid").listing("systems")
    server.server_close()
    assert asked == [("modak.invalid:443", told)]


@pytest.mark.parametrize(
    ("address", "proxy"),
    [
        *((address, "http://127.0.0.1:9") for address in ("https://localhost:9", "https://127.0.0.1:9", "http://modak.invalid:9")),
        ("https://modak.invalid:9", ""),
    ],
)
def test_no_proxy_is_asked_for_this_machine_or_without_tls(monkeypatch: pytest.MonkeyPatch, address: str, proxy: str) -> None:
    """A proxy would mean itself by these names, and that of HTTPS is not asked for anything else; nor is any where none is named."""
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(Unavailable, match=rf"^no answer from {address}: "):
        Remote(address).listing("systems")


@pytest.mark.parametrize("proxy", ["http://ada:p/ss@proxy.invalid:3128", "http://[::1", "http://:3128", "socks5://proxy.invalid:1080"])
def test_a_proxy_that_is_none_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    """Before anything is sent; also one that speaks another protocol."""
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(DataError, match=r"^HTTPS_PROXY: a proxy that is asked by HTTP, such as http://proxy\.example\.org:3128$"):
        Remote("https://modak.invalid").listing("systems")


@pytest.mark.parametrize(("address", "port"), [("http://[fd00::1]", 80), ("https://[fd00::1]", 443), ("https://[fd00::1]:8443", 8443)])
def test_an_ipv6_address_needs_no_port(address: str, port: int) -> None:
    """Its last group is none."""
    connection = _connect(urlsplit(address), None, 1)
    assert (connection.host, connection.port) == ("fd00::1", port)

"""Pages for a browser: they show what the other addresses answer, escape it, and load nothing from elsewhere."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from starlette.testclient import TestClient

from modak.api import create_app, pages
from modak.api.pages import FORM
from modak.errors import Fault, RequestError
from modak.ingest.reading import table
from modak.ingest.sources import from_bytes
from modak.ingest.table import Options
from modak.settings import Settings
from modak.store import open_store
from modak.store.audit import Actor
from tests.api.site import Site
from tests.conftest import ROOT, copied, tool
from tests.web.test_form import FILLED

PAGES = [
    "/ui/",
    "/ui/models",
    "/ui/models?application=3dgan",
    "/ui/results",
    "/ui/jobs",
    *(f"/ui/{kind}" for kind in ("systems", "images", "rules", "api", "words")),
]
HOSTILE = "<script>alert(1)</script>&\"'"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


class Links(HTMLParser):
    """What a page refers to, and its elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.elements: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_html_that_may_run_nothing(web: TestClient, path: str) -> None:
    """Without scripts, and forbidden to have any."""
    answer = web.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "script-src" not in answer.headers["content-security-policy"]
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
    assert "script" not in Links(answer.text).elements


@pytest.mark.parametrize("path", PAGES)
def test_the_first_key_leads_past_the_navigation(web: TestClient, path: str) -> None:
    """To the content, for whoever has no mouse, or listens: nine links are before it on each page."""
    text = web.get(path).text
    assert (Links(text).links[2], text.count('<main id="content" tabindex="-1">')) == ("#content", 1)


@pytest.mark.parametrize("path", PAGES)
def test_everything_that_a_page_refers_to_is_there(web: TestClient, path: str) -> None:
    """By relative addresses, which hold behind a proxy's prefix, too."""
    links = set(Links(web.get(path).text).links)
    assert [link for link in links if link.startswith("/") or ":" in link.partition("?")[0]] == []
    for link in links - {"plans"}:  # the form's own address takes forms alone
        assert web.get("/ui/" + link).status_code == 200, link


def test_the_page_of_addresses_says_what_the_openapi_document_says(web: TestClient) -> None:
    """Each address with its parameters, the scope that it needs, and examples of what is sent and answered."""
    text, document = unescape(web.get("/ui/api").text), web.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            start = text.index(f'id="{operation["operationId"]}"')
            shown = text[start : text.index("</section>", start)]
            assert f"<code>{method.upper()} {path}</code> {operation['summary']}" in shown
            assert all(f"<code>{one['name']}</code>" in shown for one in operation.get("parameters", ()))
            assert len(operation.get("requestBody", {}).get("content", ())) == shown.count(">Body: ")
    loading = text[text.index('id="post_results"') :]
    assert '<span class="quiet">scope load</span>' in loading[: loading.index("</h3>")]
    assert "\nsolver,supermuc-ng,4,48,wall_time,812.5,s\n" in loading[: loading.index("</section>")]


def test_the_page_of_words_is_the_glossary(web: TestClient) -> None:
    """Word for word, without its links into the documentation; the form leads there."""
    rows = [line.strip("| ").split(" | ") for line in (ROOT / "docs/first-steps.md").read_text().partition("## Glossary")[2].splitlines()]
    said = [[re.sub(r" ?\(\[.*?\]\(.*?\)\)|[`*]", "", cell) for cell in row] for row in rows if len(row) == 2]
    shown = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", web.get("/ui/words").text)
    assert [[unescape(re.sub("<.*?>", "", cell)) for cell in row] for row in shown] == [
        row for row in said if row[0] not in ("Term", "Basis")
    ]
    assert 'href="words"' in web.get("/ui/").text


@pytest.mark.parametrize("path", ["/", "/ui/plans"])
def test_the_first_page_is_found_without_its_address(web: TestClient, path: str) -> None:
    """``http://HOST/`` is what people type; browsers show the address of a form after it was sent, and ask for it again."""
    assert web.get(path).url.path == "/ui/"


def test_a_filled_form_is_answered_with_the_plan(web: TestClient) -> None:
    """The page has an address of its own, and the script that programs get."""
    answer = web.post("/ui/plans", data=FILLED)
    assert answer.status_code == 200
    assert answer.url.path.startswith("/ui/plans/")
    assert ", kept until 2" in answer.text
    script = web.get(answer.url.path.removeprefix("/ui") + "/script").text
    assert "#SBATCH --account=pr12ab" in script
    assert script in unescape(answer.text)


def test_a_plan_leads_to_the_results_behind_it(web: TestClient) -> None:
    """All of these and no others, with the value and the source of each."""
    answer = web.post("/ui/plans", data=FILLED)
    link = next(link for link in Links(answer.text).links if "used_by=" in link)
    plan = web.get(answer.url.path.removeprefix("/ui")).json()["job"]["plan"]
    found = web.get(urljoin(str(answer.url), link))
    rows = found.text.partition("<tbody>")[2].count("<tr>")
    assert rows == plan["prediction"]["results_used"] > 0
    assert plan["id"] in found.text
    assert "Table 4</td>" in found.text


def test_a_plan_leads_to_the_jobs_of_its_application(web: TestClient) -> None:
    """Whose times show what such predictions are worth."""
    answer = web.post("/ui/plans", data=FILLED)
    link = next(link for link in Links(answer.text).links if "jobs?" in link)
    assert 'name="application" value="3dgan"' in web.get(urljoin(str(answer.url), link)).text


def test_a_plan_leads_to_the_curve_that_it_rests_on(web: TestClient) -> None:
    """To that one alone; its results are the plan's, and all curves are a step away."""
    answer = web.post("/ui/plans", data=FILLED)
    plan = web.get(answer.url.path.removeprefix("/ui")).json()["job"]["plan"]
    link = next(link for link in Links(answer.text).links if "models?" in link)
    shown = web.get(urljoin(str(answer.url), unescape(link)))
    rows = re.findall("<tbody>.*?</tbody>", shown.text, re.DOTALL)
    assert [row.count("<tr>") for row in rows] == [1]
    assert f'<td class="number">{plan["prediction"]["results_used"]}</td>' in rows[0]
    assert "models?application=3dgan" in Links(shown.text).links
    picture = next(link for link in Links(shown.text).links if "models.svg" in link)
    assert web.get(urljoin(str(shown.url), picture)).text.count("ranks × ") == 1


def test_a_curve_leads_to_a_picture_and_the_results_of_it_alone(web: TestClient) -> None:
    """Where there are many, a picture shows some."""
    listed = web.get("/ui/models?application=3dgan")
    link = next(link for link in Links(listed.text).links if "&id=" in link)
    shown = web.get(urljoin(str(listed.url), link))
    row = shown.text.partition("<tbody>")[2].partition("</td>")[0]
    assert row in listed.text  # the same words as among the others
    assert shown.text.partition("<tbody>")[2].count("<tr>") == 1
    results = web.get(urljoin(str(shown.url), next(link for link in Links(shown.text).links if "results?" in link)))
    assert results.text.partition("<tbody>")[2].count("<tr>") == 8
    assert f">{link.rpartition('=')[2]}</a>" in results.text


@pytest.mark.parametrize(
    "path", ["models?application=3dgan&id=none", "results?application=3dgan&model=none", "results?application=a&model={}"]
)
def test_a_curve_that_is_gone_is_said_to_be(web: TestClient, path: str) -> None:
    """Its results may have been replaced since. Another application's is none."""
    answer = web.get(f"/ui/{path.format(web.get('/models').json()['items'][0]['id'])}", headers=BROWSER)
    assert (answer.status_code, "no model has the id" in answer.text) == (404, True)


def test_doubted_results_are_told_beside_curves_and_listed_alone(own_database: Path) -> None:
    """No curve shows them, so whoever misses a point has to hear of it."""
    app = create_app(Settings(database_url=f"sqlite:///{own_database}"))
    with TestClient(app) as client:
        told = {"application": "odd", "metric": "wall_time", "unit": "s"}
        rows = [{**told, "nodes": nodes, "value": value} for nodes, value in ((1, 80), (2, 41), (4, 1), (8, 11), (16, 6))]
        app.state.service().store.load([table(from_bytes(json.dumps(rows).encode(), "rows.json"), Options())], Actor("test"))
        shown = client.get("/ui/models?application=odd").text
        link = unescape(next(link for link in Links(shown).links if "doubted=" in link))
        assert "1 doubted result of odd</a>" in shown
        listed = client.get(f"/ui/{link}").text
        assert "doubted" not in client.get("/ui/models?application=3dgan").text
    assert listed.partition("<tbody>")[2].count("<tr>") == 1
    assert 'value="true" checked>' in listed


def test_a_picture_shows_runs_that_were_stopped(own_database: Path) -> None:
    """As the command's does, also where their system is called by an alias."""
    app = create_app(Settings(database_url=f"sqlite:///{own_database}"))
    with TestClient(app) as client:
        service = app.state.service()
        service.add([service.facts().systems["supermuc-ng"].model_copy(update={"aliases": ("sng",)})], replace=True)
        rows = [("supermuc-ng", nodes, "wall_time", 80 / nodes) for nodes in (1, 2, 4)] + [("sng", 8, "stopped_after", 1200)]
        columns = ("system", "nodes", "metric", "value")
        told = [{"application": "cut", "unit": "s", **dict(zip(columns, row, strict=True))} for row in rows]
        service.store.load([table(from_bytes(json.dumps(told).encode(), "rows.json"), Options())], Actor("test"))
        assert "stopped, so it takes longer" in client.get("/ui/models.svg?application=cut&metric=wall_time&over=nodes").text


def test_the_way_says_where_one_is(web: TestClient) -> None:
    """To somebody who hears the page, too."""
    assert web.get("/ui/systems").text.partition(' aria-current="page"')[2].partition("\n")[0] == ">Systems</a>"


def test_a_pasted_request_is_answered_alike(web: TestClient) -> None:
    """By the page of a plan."""
    answer = web.post("/ui/plans", data={"document": '{"job": {"application": {"executable": "./mine"}}}'})
    assert (answer.status_code, "\n./mine\n" in answer.text) == (200, True)


def _changed_from(web: TestClient, sent: dict[str, str]) -> str:
    """The page to which the plan of a sent form leads for another one."""
    answer = web.post("/ui/plans", data=sent)
    link = next(link for link in Links(answer.text).links if "?plan=" in link)
    return web.get(urljoin(str(answer.url), link)).text


def test_a_plan_leads_back_to_the_form_that_made_it(web: TestClient) -> None:
    """With all that was filled in; the same request as a document is a step away."""
    page = _changed_from(web, FILLED)
    fields = re.findall('<input id="([^"]*)" [^>]*value="([^"]+)"', page) + re.findall(
        '<select id="([^"]*)".*?value="([^"]*)" selected', page, re.S
    )
    assert dict(fields) == {name: text for name, text in FILLED.items() if text.strip() and name != "distributed"}
    assert ('value="yes" checked' in page, '"minimise": "node_hours"' in unescape(page), "<details open>" in page) == (True, True, False)


def test_a_filled_form_keeps_choices_in_spellings_of_their_own(web: TestClient) -> None:
    """A system by another name of it would be none, and the goal the default, as soon as the form is sent again."""
    job = {"application": {"executable": "./a"}, "target": {"name": "SuperMUC-NG"}, "optimisation": {"objective": {"minimise": "Cost"}}}
    page = _changed_from(web, {"document": json.dumps({"job": job})})
    assert re.findall('value="([^"]+)" selected', page) == ["SuperMUC-NG", "Cost"]


def test_a_plan_of_a_document_leads_to_the_document(web: TestClient) -> None:
    """Where no filled form would say the same."""
    page = _changed_from(web, {"document": '{"job": {"application": {"executable": "./a", "mpi_ranks": 2}}}'})
    assert "<details open>" in page
    assert '"mpi_ranks": 2' in unescape(page)


def test_what_should_be_known_of_a_form_has_the_names_of_the_form(web: TestClient) -> None:
    """Whoever pasted a document reads those of the document."""
    filled = web.post("/ui/plans", data={**FILLED, "account": ""}).text
    job = {"application": {"executable": "a", "mpi_ranks": 1}, "target": {"name": "supermuc-ng"}}
    pasted = web.post("/ui/plans", data={"document": json.dumps({"job": job})}).text
    assert ("<li>Account: jobs on" in filled, "<li>job_options.account: jobs on" in pasted) == (True, True)


def test_advice_on_a_form_names_the_fields_of_the_form(web: TestClient) -> None:
    """As do its faults."""
    made = web.post("/ui/plans", data={"command": "./a"}).text
    wrong = web.post("/ui/plans", data={"command": "./a", "program": "pytorch", "distributed": "yes", "nodes": "3"}).text
    assert ("names no application (&#39;Application&#39;)" in made, '<a href="#system"><strong>System</strong></a>: torchrun' in wrong) == (
        True,
        True,
    )


def test_advice_of_fields_that_the_form_does_not_have_says_where_they_are(web: TestClient) -> None:
    """Such as the job before in a chain; a plan without such names has no such line."""
    chained = web.post("/ui/plans", data={**FILLED, "wall_time": "00:10:00", "deadline": "", "confidence": ""}).text
    said = re.findall("Names like <code>(.*?)</code> are fields that the form does not have", chained)
    plain = web.post("/ui/plans", data={"command": "./a", "system": "supermuc-ng"}).text
    assert (said, "Names like" in plain) == (["job_options.job_dependency"], False)


def test_commands_to_type_next_stand_apart_from_the_sentence(web: TestClient) -> None:
    """So that each can be copied."""
    job = {"application": {"executable": "a", "container_runtime": "docker://a/b:1"}, "target": {"container_runtime": "charliecloud"}}
    steps = web.post("/ui/plans", data={"document": json.dumps({"job": job})}).text.partition("<h2>Next</h2>")[2].partition("</ol>")[0]
    assert re.findall("<code>(.*?)</code>", steps) == ["ch-image pull a/b:1", "ch-convert -i ch-image -o dir a/b:1 b_1", "bash job.sh"]


@pytest.mark.parametrize(
    ("application", "loaded"),
    [
        ({"app_tag": "a"}, "modak load modak-result-*.json"),
        ({"app_tag": "a", "result_file": "out/a.json"}, "modak load out/a.json"),
        ({"app_tag": "a", "write_result": False}, None),
        ({}, None),
    ],
)
def test_how_the_result_comes_back_is_the_last_step(web: TestClient, application: dict[str, Any], loaded: str | None) -> None:
    """Where the job writes one that counts for an application."""
    job = {"application": {"executable": "a", "threads": 1, **application}}
    steps = web.post("/ui/plans", data={"document": json.dumps({"job": job})}).text.partition("<h2>Next</h2>")[2].partition("</ol>")[0]
    assert unescape(steps).count("<code>") == 1 + bool(loaded)
    assert not loaded or f"<code>{loaded}</code>, when it has ended" in unescape(steps)


def test_a_plan_begins_with_what_was_chosen_and_how_long_it_takes(web: TestClient) -> None:
    """These largest, then the way to the evidence; what to do comes before the reasons, of which each begins with what it is about."""
    page = unescape(web.post("/ui/plans", data={"document": (ROOT / "examples/3dgan-supermuc-ng.json").read_text()}).text)
    largest = [("layout", "24 nodes × 4 ranks × 12 threads"), ("predicted time", "54.9 min")]
    assert re.findall("<dt>(.*?)</dt><dd><b>(.*?)</b>", page) == largest
    known = ["8 measured results", "measured and predicted scaling of 3dgan"]
    assert re.findall("used_by=[^>]*>(.*?)</a>", page.partition("<h2>")[0]) == known
    assert re.findall("<h2>(.*?)</h2>", page) == ["Next", "Advice", "Why", "Alternatives", "Job script"]
    assert "<li><b>objective:</b> minimise node-hours with P(time <= 01:00:00) >= 0.9</li>" in page


def test_a_request_with_sections_as_text_has_a_page(web: TestClient) -> None:
    """Some programs send an object as the text of it; the page names the application and the system all the same."""
    work = json.dumps({"workload": json.dumps({"application": "3dgan"})})
    job = {"application": {"executable": "./a"}, "optimisation": work, "target": json.dumps({"name": "supermuc-ng"})}
    answer = web.post("/ui/plans", data={"document": json.dumps({"job": job})})
    assert (answer.status_code, '<h1>3dgan <span class="quiet">on supermuc-ng</span></h1>' in answer.text) == (200, True)


def test_a_wrong_form_comes_back_with_what_is_wrong(web: TestClient) -> None:
    """By the names that the form has, with what was filled in."""
    answer = web.post("/ui/plans", data={**FILLED, "account": "a b", "nodes": "0", "command": "./mine; rm"})
    assert answer.status_code == 422
    for label in ("Account", "Exactly this many nodes", "Command"):
        assert f"<strong>{label}</strong>" in answer.text
    assert 'value="./mine; rm"' in answer.text


def test_what_is_wrong_is_said_beside_the_field_too(web: TestClient) -> None:
    """Also to somebody who hears the page."""
    answer = web.post("/ui/plans", data={**FILLED, "nodes": "2.5"})
    assert 'aria-describedby="nodes-hint nodes-fault" aria-invalid="true"' in answer.text
    assert '<small id="nodes-fault" class="fault">allowed: a whole number</small>' in answer.text


@pytest.mark.parametrize("command", ["", " "])
def test_a_form_without_a_command_is_refused_beside_the_field(web: TestClient, command: str) -> None:
    """Also where no browser looks at what is required."""
    answer = web.post("/ui/plans", data={"command": command, "system": "zenith"})
    assert answer.status_code == 422
    assert '<small id="command-fault" class="fault">is required</small>' in answer.text


def test_what_is_wrong_in_a_document_has_the_documents_names(web: TestClient) -> None:
    """The fields of the form are empty then."""
    answer = web.post("/ui/plans", data={"document": '{"job": {"application": {"app_tag": "a b"}}}'})
    assert '<li><a href="#document"><strong>application.app_tag</strong></a>: allowed: letters' in answer.text
    assert 'aria-describedby="faults" aria-invalid="true">{&#34;job&#34;' in answer.text


def test_what_is_wrong_is_listed_in_the_order_of_the_form(web: TestClient) -> None:
    """Whoever mends one after the other goes down the page, and what is of no field comes last."""
    answer = web.post("/ui/plans", data={"nodes": "x", "account": "a b", "epochs": "ten", "command": "./a; rm"})
    found = answer.text.partition('id="faults"')[2].partition("</div>")[0]
    assert re.findall('href="#([^"]*)"', found) == ["command", "epochs", "account", "nodes"]


def test_what_was_typed_is_there_again_after_the_way_back(web: TestClient) -> None:
    """Browsers restore the fields of a page that they show again, but not those that forbid to complete them."""
    assert "autocomplete" not in web.get("/ui/").text


def test_what_cannot_be_done_is_said_on_the_form(web: TestClient) -> None:
    """With the status that programs get."""
    answer = web.post("/ui/plans", data={**FILLED, "deadline": "00:01:00", "max_nodes": "4"})
    assert (answer.status_code, "<li><strong>Goal</strong>: the deadline of 00:01:00" in answer.text) == (409, True)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"command=%ff", FORM, 400),
        ("command=\u00e9".encode(), FORM, 400),
        (b"&".join(b"a%d=1" % k for k in range(51)), FORM, 400),
        (b"command=%00", FORM, 400),
        (b"document=%7B", FORM, 400),
        (b"{}", "application/json", 415),
        (b"command=" + b"a" * 2_000_000, FORM, 413),
    ],
)
def test_a_broken_form_is_refused(web: TestClient, body: bytes, kind: str, status: int) -> None:
    """On a page."""
    answer = web.post("/ui/plans", content=body, headers={"Content-Type": kind, **BROWSER})
    assert (answer.status_code, 'class="faults"' in answer.text) == (status, True)


def test_another_sites_page_sends_no_form(web: TestClient) -> None:
    """Browsers say where a form comes from."""
    answer = web.post("/ui/plans", data=FILLED, headers={"Sec-Fetch-Site": "cross-site", **BROWSER})
    assert (answer.status_code, "<h1>The form is of another site</h1>" in answer.text) == (403, True)


def test_a_form_may_name_its_own_site(web: TestClient) -> None:
    """Under ``no-referrer``, browsers write ``Origin: null``: without TLS nothing else tells whose form it is."""
    assert web.get("/ui/").headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/ui/results?application=", "/ui/models?application=", "/ui/plans/"])
def test_what_an_address_says_is_escaped(web: TestClient, path: str) -> None:
    """Also where nothing has that name."""
    answer = web.get(path + HOSTILE.replace("&", "%26").replace("/", "%2F"))
    assert "<script>" not in answer.text


@pytest.mark.parametrize("path", ["/ui/results?application=", "/ui/models?application="])
def test_what_an_address_says_cannot_turn_a_line_around(web: TestClient, path: str) -> None:
    """Marks of direction are not shown, which would display the page's own words in another order."""
    answer = web.get(f"{path}net%E2%80%AEone")
    assert ("net\u202eone" in answer.text, "netone" in answer.text) == (False, True)


def test_what_was_stored_is_escaped(own_database: Path) -> None:
    """Names of results may be any text."""
    app = create_app(Settings(database_url=f"sqlite:///{own_database}"))
    with TestClient(app) as client:
        rows = [{"application": HOSTILE, "nodes": nodes, "metric": "wall_time", "value": 8 / nodes, "unit": "s"} for nodes in (1, 2, 4)]
        app.state.service().store.load([table(from_bytes(json.dumps(rows).encode(), "rows.json"), Options())], Actor("test"))
        for path in ("/ui/", "/ui/results", "/ui/models", "/ui/models?application=%3Cscript%3Ealert(1)%3C%2Fscript%3E%26%22'"):
            answer = client.get(path)
            assert (answer.status_code, "<script>" in answer.text) == (200, False)
            assert "&lt;script&gt;" in answer.text


@pytest.mark.parametrize("kind", ["models", "results", "systems", "images", "rules"])
def test_a_page_with_nothing_to_show_says_so(own_database: Path, kind: str) -> None:
    """Whoever starts with an empty database sees a sentence, not a blank sheet."""
    with closing(sqlite3.connect(own_database)) as database:
        database.executescript(
            "DELETE FROM results; DELETE FROM models; DELETE FROM series; DELETE FROM systems; DELETE FROM images; DELETE FROM rules;"
        )
    with TestClient(create_app(Settings(database_url=f"sqlite:///{own_database}"))) as client:
        shown = client.get(f"/ui/{kind}").text
    assert re.search(r"<p>No (results|\w+ are known)\.", shown)


def test_a_search_without_hits_leads_back_to_all_results(web: TestClient) -> None:
    """Where there are results of others."""
    assert '<a href="results">All results</a>' in web.get("/ui/results?application=nothing").text


@pytest.mark.parametrize(("kind", "name"), [("systems", "supermuc-ng"), ("images", "docker://bvlc/caffe:cpu"), ("rules", "large-batch")])
def test_a_list_leads_to_all_that_is_known_of_each(web: TestClient, kind: str, name: str) -> None:
    """A table has no room for limits, advice and sources."""
    shown = unescape(web.get(f"/ui/{kind}").text)
    (there,) = re.findall(f'<td[^>]*><a href="([^"]*)">{name}</a></td>', shown)
    assert web.get(f"/ui/{there}").json()["reference" if kind == "images" else "name"] == name


def test_a_picture_of_curves_is_drawn(web: TestClient) -> None:
    """As `modak models plot` draws it; a picture may have styles and nothing else."""
    answer = web.get("/ui/models.svg?application=3dgan&metric=epoch_time&over=nodes")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert answer.text.count("supermuc-ng") >= 4


def test_a_table_of_curves_tells_them_apart(web: TestClient) -> None:
    """By the words of the picture beside it; a blank behind the application's name is none of it."""
    text = web.get("/ui/models?application=3dgan+").text
    assert "4 ranks × 12 threads, supermuc-ng, thin, intel-mpi 2019 of the host, 4 NUMA domains, charliecloud</td>" in text


def test_a_picture_that_many_ask_for_is_drawn_once(web: TestClient) -> None:
    """One picture is drawn at a time, and those who wait hold no thread, so that pages come meanwhile."""
    pages._drawn.cache_clear()
    with ThreadPoolExecutor(8) as callers:
        answers = list(callers.map(web.get, 8 * ["/ui/models.svg?application=3dgan&metric=epoch_time&over=nodes"]))
    assert ({answer.status_code for answer in answers}, pages._drawn.cache_info().misses) == ({200}, 1)


def test_a_picture_has_its_place_before_it_is_there(web: TestClient) -> None:
    """What is below it does not jump away from whoever reads it."""
    assert re.search('<img [^>]* width="768" height="500">', web.get("/ui/models?application=3dgan").text)


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("models?application=3dgan", "Scaling of 3dgan"),
        ("results?application=3dgan", "Results of 3dgan"),
        ("results?system=zenith", "Results"),
        ("models", "Scaling"),
    ],
)
def test_two_tabs_are_told_apart(web: TestClient, path: str, title: str) -> None:
    """By what they show."""
    assert f"<title>{title} – MODAK</title>" in web.get(f"/ui/{path}").text


def test_an_application_without_results_is_said_to_have_none(web: TestClient) -> None:
    """With those that have some: names are easily spelled otherwise."""
    text = web.get("/ui/models?application=3DGAN").text
    assert "There are no results of 3DGAN, but of these applications:" in text
    assert "models?application=3dgan" in Links(text).links


@pytest.fixture(scope="module")
def crowded(packaged_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The pages of a service with results of more applications, more curves of one, and more images, than a page has."""
    database = copied(packaged_database, tmp_path_factory.mktemp("crowded") / "modak.db")
    with open_store(f"sqlite:///{database}") as store:
        rows = "".join(f"solver-{n:04},1,wall_time,{n + 1},\n" for n in range(pages.MOST_NAMES + 100))
        rows += "".join(f"wide,1,wall_time,{n + 1},{n}\n" for n in range(pages.MOST_LISTED + 100))
        store.load([table(from_bytes(f"application,nodes,metric,value,params.n\n{rows}".encode(), "mine.csv"), Options())], Actor("me"))
        image = store.snapshot().images[0].model_copy(update={"opt_dsl_code": None})
        names = [f"docker://registry.example.org/{'x' * 200}/{n:04}" for n in range(pages.MOST_LISTED)]
        store.add([image.model_copy(update={"reference": name}) for name in names], Actor("me"))
    with TestClient(create_app(Settings(database_url=f"sqlite:///{database}"))) as client:
        yield client


@pytest.mark.parametrize("path", ["", "models", "results?metric=epoch_time"])
def test_no_page_consists_of_the_names_of_applications(crowded: TestClient, path: str) -> None:
    """A site has thousands; where a browser completed from some of them, it would seem that there are no others."""
    assert "<option value=" not in crowded.get(f"/ui/{path}").text.partition('<datalist id="applications">')[2]


def test_a_list_that_is_longer_than_a_page_goes_on(crowded: TestClient) -> None:
    """By a link, also behind the longest names; what the pages have together is all that there is."""
    path, rows = "/ui/images", []
    while path:
        page = crowded.get(path).text
        rows.append(re.findall(r"<tr><td[^>]*><a [^>]*>([^<]*)", page))
        path = next((urljoin(path, unescape(link)) for link in Links(page).links if "?cursor=" in link), "")
    assert [len(of_page) == pages.MOST_LISTED for of_page in rows] == [True, False]
    assert len({name for of_page in rows for name in of_page}) == len(crowded.app.state.service().listing("images"))  # type: ignore[attr-defined]


@pytest.mark.parametrize(("typed", "found"), [("SOLVER-05", 100), ("solver-0599", 0), ("other", 0)])
def test_results_of_many_applications_are_found_by_a_part_of_the_name(crowded: TestClient, typed: str, found: int) -> None:
    """In any case; the name of one of them is that one, and a text that none has leads to none."""
    links = Links(crowded.get(f"/ui/results?application={typed}").text).links
    assert len([link for link in links if "results?application=solver-" in link]) == found


def test_scaling_of_many_applications_is_found_by_a_part_of_the_name(crowded: TestClient) -> None:
    """Without one, those are counted that are not listed."""
    links = Links(crowded.get("/ui/models?application=solver-05").text).links
    assert [link for link in links if "?application=" in link] == [f"models?application=solver-{n:04}" for n in range(500, 600)]
    assert "type a part of the name" in crowded.get("/ui/models").text


def test_curves_that_are_not_listed_are_counted(crowded: TestClient) -> None:
    """Of thousands nobody finds one on a page, which would take long."""
    text = crowded.get("/ui/models?application=wide").text
    assert text.partition("<tbody>")[2].count("<tr>") == pages.MOST_LISTED
    assert "<p>And 100 with as many sizes or fewer:" in text


def test_curves_that_are_not_drawn_are_counted(own_database: Path) -> None:
    """Only so many can be told apart in a picture; the table has more of them."""
    app = create_app(Settings(database_url=f"sqlite:///{own_database}"))
    with TestClient(app) as client:
        runs = [(ranks, nodes) for ranks in range(1, 10) for nodes in (1, 2, 4)]
        told = {"application": "many", "metric": "wall_time", "unit": "s"}
        rows = [{**told, "nodes": nodes, "ranks_per_node": ranks, "value": 8 / nodes} for ranks, nodes in runs]
        app.state.service().store.load([table(from_bytes(json.dumps(rows).encode(), "rows.json"), Options())], Actor("test"))
        text = client.get("/ui/models?application=many").text
        assert "<p>9 curves; the 8 with the most sizes, of equal ones the best, are drawn.</p>" in text
        assert "or fewer" not in text


@pytest.mark.parametrize(
    "path",
    [
        *("/ui/plans/none", "/ui/plans/a%2Fb", "/ui/nowhere/at/all"),
        *("/ui/results?cursor=wrong", "/ui/results?cursor=%00", "/ui/models.svg?application=a&metric=b"),
    ],
)
def test_what_is_wrong_is_said_on_a_page(web: TestClient, path: str) -> None:
    """With the status and the words that programs get, also where no page was reached."""
    answer, program = web.get(path, headers=BROWSER), web.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (program.status_code, "text/html; charset=utf-8")
    assert program.headers["content-type"] == "application/problem+json"
    assert program.json()["detail"] in unescape(answer.text)
    style = next(link for link in Links(answer.text).links if "style.css" in link)
    assert web.get(urljoin(path, style)).status_code == 200


@pytest.mark.parametrize("name", ["style.css", "icon.svg"])
def test_a_file_that_browsers_keep_has_another_address_after_it_changed(web: TestClient, name: str) -> None:
    """So no page of a new version is shown with the style of the one before."""
    link = next(link for link in Links(web.get("/ui/words").text).links if name in link)
    file = web.get(urljoin("/ui/words", link))
    assert (file.headers["cache-control"], link.partition("?")[2]) == ("max-age=3600", sha256(file.content).hexdigest()[:12])


def test_what_is_wrong_beyond_a_hundred_is_counted(packaged_database: Path) -> None:
    """On a page as in the document."""
    app = create_app(Settings(database_url=f"sqlite:///{packaged_database}"))

    def wrong() -> None:
        raise RequestError(faults=[Fault(f"f{number}", "wrong") for number in range(103)])

    app.add_api_route("/ui/wrong", wrong)
    assert "<li>… and 3 more</li>" in TestClient(app).get("/ui/wrong", headers=BROWSER).text


def test_pages_need_the_scopes_of_what_they_show(packaged_database: Path) -> None:
    """Where nobody is anonymous, a browser needs a proxy that knows who it is."""
    app = create_app(Settings(database_url=f"sqlite:///{packaged_database}", anonymous=False))
    with TestClient(app) as client:
        assert [client.get(path).status_code for path in ("/", *PAGES)] == [401] * (len(PAGES) + 1)
        assert client.post("/ui/plans", data=FILLED).status_code == 401
        refused = client.get("/", headers=BROWSER)
        assert [client.get(f"/ui/{name}").status_code for name in ("style.css", "icon.svg")] == [200, 200]
    assert (refused.headers["www-authenticate"], '<ul class="faults">' in refused.text) == ("Bearer", True)
    assert "A browser sends no token by itself." in refused.text


@pytest.mark.parametrize("path", ["api", "plan"])
def test_what_is_wider_than_the_page_is_scrolled_by_keys(web: TestClient, path: str) -> None:
    """Scripts and examples are, and get the focus."""
    page = web.post("/ui/plans", data=FILLED) if path == "plan" else web.get(f"/ui/{path}")
    assert {*re.findall("<pre[^>]*>", page.text)} == {'<pre tabindex="0">'}


@pytest.mark.parametrize(("anonymous", "needed"), [(True, []), (False, ["any token"])])
def test_what_every_token_opens_names_no_scope(opened: ExitStack, own_database: Path, anonymous: bool, needed: list[str]) -> None:
    """None is called that, and where everybody reads none is needed."""
    site = opened.enter_context(Site(own_database, anonymous=anonymous))
    page = site.call("GET", "/ui/api", site.keys["read"]).text
    heading = page.partition('id="get_schema_kind"')[2].partition("</h3>")[0]
    assert re.findall('<span class="quiet">([^<]*)</span>', heading) == needed


@pytest.mark.parametrize("anonymous", [True, False])
def test_the_command_on_the_page_of_addresses_runs_as_it_is_printed(opened: ExitStack, own_database: Path, anonymous: bool) -> None:
    """Without a file that the reader does not have; with a token where one is needed."""
    site = opened.enter_context(Site(own_database, anonymous=anonymous))
    page = unescape(site.call("GET", "/ui/api", site.keys["read"]).text)
    printed = page.partition('<pre tabindex="0">')[2].partition("</pre>")[0]
    assert printed.startswith("curl ")
    words = shlex.split(printed)
    headers = dict(words[at + 1].split(": ") for at, word in enumerate(words) if word == "-H")
    assert headers.pop("Authorization", "") == ("" if anonymous else "Bearer $MODAK_TOKEN")
    token = None if anonymous else site.keys["optimise"]
    sent = words[words.index("--data") + 1]
    answer = site.call("POST", "/optimise", token, content=sent, headers=headers)
    assert (answer.status_code, words[-1].endswith("/optimise")) == (200, True)


def test_a_form_needs_the_scope_of_the_lists_that_come_back_with_it(opened: ExitStack, own_database: Path) -> None:
    """Systems and applications are for those who may read."""
    site = opened.enter_context(Site(own_database, anonymous=False))
    wrong = {**FILLED, "nodes": "2.5"}
    told = {key: site.call("POST", "/ui/plans", token, data=wrong).status_code for key, token in site.keys.items()}
    assert told == {"read": 403, "optimise": 403, "load": 403, "admin": 422}


def test_a_database_out_of_reach_says_nothing_about_itself(tmp_path: Path) -> None:
    """Also on a page."""
    app = create_app(Settings(database_url=f"sqlite:///{tmp_path}/secret-folder/modak.db"))
    (tmp_path / "secret-folder").write_text("no folder")
    with TestClient(app) as client:
        answer = client.get("/ui/results", headers=BROWSER)
    assert (answer.status_code, "secret-folder" in answer.text) == (503, False)


@pytest.mark.parametrize(("path", "centimetres"), [("/ui/results", 27.7), ("/ui/images", 19.0), ("/ui/rules", 19.0)])
def test_a_printed_table_is_as_wide_as_its_sheet(web: TestClient, tmp_path: Path, path: str, centimetres: float) -> None:
    """On A4 with margins of a centimetre: results across, the other lists upright. What stood out would be lost on paper."""
    chromium = str(tool("Chromium", "chromium"))
    style = web.get("/ui/style.css").text.replace("@media print", "@media all")
    page = re.sub("<link rel=.stylesheet.[^>]*>", lambda _: f"<style>{style} html {{ width: {centimetres}cm }}</style>", web.get(path).text)
    assert ('class="across"' in page) == (centimetres > 21)
    (tmp_path / "page.html").write_text(
        f"{page}<script>document.title = document.documentElement.scrollWidth - document.body.clientWidth</script>"
    )
    words = (chromium, "--headless", "--no-sandbox", "--window-size=400,800", f"--user-data-dir={tmp_path}", "--dump-dom")
    shown = subprocess.run([*words, str(tmp_path / "page.html")], capture_output=True, text=True, check=True).stdout
    assert re.findall("<title>(.*?)</title>", shown) == ["0"]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/results?used_by=x", "used_by"),
        ("/ui/results?used_by=x", "used_by"),
        ("/ui/results?application=3dgan&model=x", "model"),
        ("/ui/models?application=3dgan&used_by=x", "used_by"),
        ("/ui/models?application=3dgan&id=x", "id"),
        ("/ui/?plan=x", "plan"),
    ],
)
def test_the_place_of_an_unknown_plan_or_curve_is_its_parameter(web: TestClient, path: str, field: str) -> None:
    """As the page about HTTP says; addresses have their parts in braces."""
    answer = web.get(path, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (404, field)

"""MODAK's own addresses."""

from __future__ import annotations

import gzip
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from modak.api import create_app
from modak.facts import Rule
from modak.settings import Settings
from modak.store import open_store, upgrade
from modak.store.audit import Actor
from modak.store.engine import writing
from tests.api.site import Site
from tests.conftest import Run


def test_rows_of_another_type_are_told_which_there_are(web: TestClient) -> None:
    """415, with all of them."""
    answer = web.post("/predictions", content="<table/>", headers={"Content-Type": "text/html"})
    assert (answer.status_code, answer.json()["detail"]) == (415, "send text/csv or application/json or application/x-ndjson")


def test_what_is_absent_is_left_out(web: TestClient, document: dict[str, Any]) -> None:
    """No null in a plan, nor in a list of choices."""
    assert ":null" not in web.post("/optimise", json=document).text
    assert ":null" not in web.post("/recommendations", json=document).text


def test_the_script_is_downloaded_from_job_script(web: TestClient, document: dict[str, Any]) -> None:
    """An absolute address, as older callers need it; the plan is there too."""
    job = web.post("/optimise", json=document).json()["job"]
    script = web.get(job["job_script"])
    assert script.text == job["job_content"]
    assert script.headers["content-type"].startswith("text/plain")
    assert web.get(f"/plans/{job['plan']['id']}").json()["job"] == job


def test_links_start_with_the_public_address(packaged_database: Path, document: dict[str, Any]) -> None:
    """Behind a proxy the service cannot know how it is called from outside."""
    settings = Settings(database_url=f"sqlite:///{packaged_database}", public_url="https://modak.example.org/api")
    with TestClient(create_app(settings)) as client:
        job = client.post("/optimise", json=document).json()["job"]
    assert job["job_script"].startswith("https://modak.example.org/api/plans/")


def test_the_command_line_gives_the_same_answer(web: TestClient, run: Run, document: dict[str, Any], tmp_path: Path) -> None:
    """One code path: the documents differ in the address of the script alone."""
    (tmp_path / "request.json").write_text(json.dumps(document))
    over_http = web.post("/optimise", json=document).json()
    del over_http["job"]["job_script"]
    assert json.loads(run("optimise", tmp_path / "request.json", "--json").out) == over_http


def test_a_script_may_be_asked_for_without_checks(web: TestClient, document: dict[str, Any]) -> None:
    """``?preflight=false``; nothing else changes."""
    paths = ("/optimise", "/optimise?preflight=false")
    checked, bare = (web.post(path, json=document).json()["job"]["job_content"] for path in paths)
    assert ("\n# --- checks\n" in checked, "\n# --- checks\n" in bare) == (True, False)
    assert len({tuple(line for line in text.split("\n") if line.startswith("#SBATCH")) for text in (checked, bare)}) == 1
    assert web.post("/optimise?preflight=false", json=[1]).status_code == 422


def test_predictions_take_csv_and_json(web: TestClient) -> None:
    """The same rows in both spellings get the same answer."""
    row = {"application": "3dgan", "metric": "epoch_time", "system": "supermuc-ng", "nodes": "24"}
    text = f"{','.join(row)}\n{','.join(row.values())}\n"
    as_csv = web.post("/predictions", content=text, headers={"Content-Type": "text/csv"}).json()["rows"]
    assert as_csv == web.post("/predictions", json=[row]).json()["rows"]
    assert as_csv[0]["lower"] < as_csv[0]["predicted"] < as_csv[0]["upper"]


def test_counts_of_a_predicted_row_are_numbers(web: TestClient) -> None:
    """As they were sent, and as results are listed; what a row does not say is null."""
    rows = [
        {"application": "3dgan", "metric": "epoch_time", "nodes": 24},
        {"application": "3dgan", "metric": "epoch_time", "system": "zenith"},
    ]
    answered = web.post("/predictions", json=rows).json()["rows"]
    assert [[row[name] for name in ("nodes", "system")] for row in answered] == [[24, None], [None, "zenith"]]


@pytest.mark.parametrize(
    ("content", "kind", "place"),
    [
        (
            '[{"application": "a", "metric": "time"}, {"application": "a", "metric": "time", "nodes": 0.5}]',
            "application/json",
            "body.json:2",
        ),
        ("application,metric,nodes\na,time,-1\n", "text/csv", "body.csv:2"),
    ],
)
def test_a_bad_row_is_named_by_its_line_or_number(web: TestClient, content: str, kind: str, place: str) -> None:
    """422. Programs write all records in one line."""
    answer = web.post("/predictions", content=content, headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, place)


def test_a_packed_body_is_refused_by_its_header(web: TestClient, document: dict[str, Any]) -> None:
    """415, and not a complaint about its first byte."""
    packed = gzip.compress(json.dumps(document).encode())
    answer = web.post("/optimise", content=packed, headers={"Content-Type": "application/json", "Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (415, "Content-Encoding")


def test_a_body_that_is_said_to_be_as_it_is_is_read(web: TestClient, document: dict[str, Any]) -> None:
    """RFC 9110, section 8.4.1: some clients say so."""
    assert web.post("/validations", json=document, headers={"Content-Encoding": "identity"}).status_code == 200


def test_a_refused_method_names_all_that_the_address_takes(web: TestClient) -> None:
    """Also those of another route with the same address."""
    assert web.options("/systems").headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("path", ["/health", "/ready", "/systems", "/systems/zenith", "/results", "/metrics", "/openapi.json", "/nothing"])
def test_head_is_get_without_its_body(web: TestClient, path: str) -> None:
    """Wherever GET answers: the same status and kind, for those who only want to know whether something is there."""
    head, get = web.head(path), web.get(path)
    assert (head.status_code, head.headers["content-type"], head.content) == (get.status_code, get.headers["content-type"], b"")


def test_head_of_an_address_that_only_takes_more_is_refused(web: TestClient) -> None:
    """It would ask for an answer without the question."""
    assert (web.head("/optimise").status_code, web.head("/optimise").headers["allow"]) == (405, "POST")


def test_a_system_is_found_by_its_other_spellings(web: TestClient) -> None:
    """As in a request: underscores for hyphens, and case."""
    assert web.get("/systems/SuperMUC_NG").json()["name"] == "supermuc-ng"


@pytest.mark.parametrize("name", ["bvlc/caffe:cpu", "docker:bvlc/caffe:cpu"])
def test_an_image_is_found_without_its_scheme(web: TestClient, name: str) -> None:
    """As in results and requests."""
    assert web.get(f"/images/{name}").json()["reference"] == "docker://bvlc/caffe:cpu"


def test_a_wrong_parameter_is_told_what_is_allowed(web: TestClient) -> None:
    """In the words of faults in bodies."""
    for limit, allowed in (("x", "a whole number"), ("0", "at least 1")):
        assert web.get(f"/systems?limit={limit}").json()["errors"] == [{"field": "limit", "message": f"allowed: {allowed}"}]


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("/systems?limt=1", "limt"),
        ("/evaluations?aplication=3dgan", "aplication"),
        ("/evaluations?system=a&system=b", "system"),
        ("/lines?aplication=3dgan", "aplication"),
        ("/lines", "application"),
        ("/comparisons", "column"),
        ("/comparisons?column=nodes&aplication=3dgan", "aplication"),
        ("/comparisons?column=nodes&column=mpi", "column"),
    ],
)
def test_a_misspelt_question_is_not_answered_as_another_one(web: TestClient, address: str, field: str) -> None:
    """What is asked is in parameters alone: without the misspelt one it would be about all results."""
    answer = web.get(address)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


@pytest.mark.parametrize(
    ("name", "values"),
    [("params.", ["1"]), ("params.a b", ["1"]), ("params", ["1"]), ("value", ["1"]), ("application", ["3dgan", "resnet50"])],
)
def test_a_filter_that_no_result_can_meet_is_refused(web: TestClient, name: str, values: list[str]) -> None:
    """It would be answered with nothing, as if there were no such results; of two values only the last would count."""
    answer = web.get("/results", params=[(name, value) for value in values])
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, name)


def test_a_filter_is_met_in_any_spelling(web: TestClient) -> None:
    """As curves join them."""
    every, spelt = (web.get("/results", params={"application": "3dgan", "system": name}).json() for name in ("supermuc-ng", "SuperMUC NG"))
    assert every["items"]
    assert spelt == every


def test_more_rows_than_the_limit_are_refused(packaged_database: Path) -> None:
    """One request cannot keep the service busy for hours."""
    with TestClient(create_app(Settings(database_url=f"sqlite:///{packaged_database}", max_points=2))) as client:
        answer = client.post("/predictions", json=[{"application": "a", "metric": "epoch_time"}] * 3)
    assert answer.status_code == 422
    assert "MODAK_MAX_POINTS" in answer.json()["detail"]


def test_results_are_paged_by_cursor(web: TestClient) -> None:
    """Pages put together are all rows, each once."""
    items, cursor = [], ""
    while True:
        page = web.get("/results", params={"application": "3dgan", "limit": 7, "cursor": cursor}).json()
        items += page["items"]
        if "next" not in page:
            break
        cursor = page["next"]
    every = web.get("/results", params={"application": "3dgan", "limit": 1000}).json()["items"]
    assert items == every
    assert len({item["id"] for item in items}) == len(items) > 7


@pytest.mark.parametrize("kind", ["systems", "images", "rules", "models"])
def test_lists_are_paged_and_every_item_has_an_address(web: TestClient, kind: str) -> None:
    """Also images, whose references hold slashes and colons."""
    key = {"images": "reference", "models": "id"}.get(kind, "name")
    first = web.get(f"/{kind}", params={"limit": 1}).json()
    second = web.get(f"/{kind}", params={"limit": 1, "cursor": first["next"]}).json()
    (item,), (other,) = first["items"], second["items"]
    assert item[key] != other[key]
    assert web.get(f"/{kind}/{item[key]}").json() == item
    assert web.get(f"/{kind}/nothing").status_code == 404


def test_a_list_goes_on_behind_the_longest_name(opened: ExitStack, own_database: Path) -> None:
    """An image's reference may have hundreds of characters, and is what the next page begins after."""
    site, long = opened.enter_context(Site(own_database)), f"docker://zz.example.org/{'x' * 300}"
    with open_store(f"sqlite:///{own_database}") as store:
        image = store.snapshot().images[0].model_copy(update={"opt_dsl_code": None})
        store.add([image.model_copy(update={"reference": f"{long}/{name}"}) for name in ("a", "b")], Actor("me"))
    assert site.web.get("/images", params={"cursor": f"{long}/a"}).json()["items"][0]["reference"] == f"{long}/b"


def test_a_service_starts_without_its_database(opened: ExitStack, tmp_path: Path, document: dict[str, Any]) -> None:
    """Alive, not ready, 503 with a time to come back; and ready once the database is there."""
    folder = tmp_path / "later"
    folder.write_text("in the way")
    place = f"sqlite:///{folder}/modak.db"
    client = opened.enter_context(TestClient(create_app(Settings(database_url=place)), raise_server_exceptions=False))
    assert client.get("/health").json() == {"status": "ok"}
    answer = client.post("/optimise", json=document)
    assert (client.get("/ready").status_code, answer.status_code, "retry-after" in answer.headers) == (503, 503, True)
    folder.unlink()
    upgrade(place)
    assert client.get("/ready").status_code == 200


def test_a_worker_makes_no_database_in_place_of_one_that_is_gone(tmp_path: Path) -> None:
    """It would answer as if nothing had ever been loaded, beside others that have the right one open."""
    with TestClient(create_app(Settings(database_url=f"sqlite:///{tmp_path}/folder/modak.db"))) as client:
        assert client.get("/ready").status_code == 503
    assert list(tmp_path.iterdir()) == []


def test_openapi_describes_every_address_and_loads_nothing_from_elsewhere(web: TestClient) -> None:
    """Every reference in it leads somewhere; the pages that need a public server are off, and its usual address leads to MODAK's own."""
    text = web.get("/openapi.json").text
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(json.loads(text)["components"]["schemas"])
    assert {"/optimise", "/get_optimisation", "/plans/{id}/script", "/infrastructures"} <= set(json.loads(text)["paths"])
    assert (web.get("/docs").url.path, web.get("/redoc").status_code) == ("/ui/api", 404)


@pytest.mark.parametrize("kind", ["request", "response", "result", "points", "system", "processor", "accelerator", "image", "rule"])
def test_schemas_are_served(web: TestClient, kind: str) -> None:
    """By the names that the command line knows."""
    assert web.get(f"/schema/{kind}").json()["$schema"].startswith("https://json-schema.org/")


@pytest.mark.parametrize("path", ["/systems", "/images?limit=2", "/models", "/systems/supermuc-ng", "/infrastructures", "/scripts"])
def test_facts_that_a_caller_has_are_not_sent_again(web: TestClient, path: str) -> None:
    """The tag of an answer, sent back, gives 304 without a body; another tag gives the whole answer."""
    tag = web.get(path).headers["ETag"]
    again = web.get(path, headers={"If-None-Match": f'"older", {tag}'})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert web.get(path, headers={"If-None-Match": '"older"'}).status_code == 200


@pytest.mark.parametrize(("name", "status"), [("supermuc-ng", 304), ("unknown", 404)])
def test_any_tag_is_of_what_exists(web: TestClient, name: str, status: int) -> None:
    """``*`` stands for any tag of the thing asked for, so there has to be one."""
    assert web.get(f"/systems/{name}", headers={"If-None-Match": "*"}).status_code == status


def test_a_tag_names_the_facts_that_answered(own_database: Path) -> None:
    """Where new facts cannot be read, the older ones answer under the older tag: with the new one a caller would keep them for good."""
    app = create_app(Settings(database_url=f"sqlite:///{own_database}"))
    with TestClient(app) as client:
        service = app.state.service()
        before = client.get("/rules")
        service.add([Rule(name="new-rule", title="t", source="s", script="true")])
        with writing(service.store.engine) as connection:
            connection.execute(text("UPDATE rules SET body = '{}' WHERE name = 'new-rule'"))
        after = client.get("/rules")
        assert (after.content, after.headers["ETag"]) == (before.content, before.headers["ETag"])


def test_results_behind_a_plan_take_no_other_filter(web: TestClient, document: dict[str, Any]) -> None:
    """A filter that would be passed over is refused."""
    plan = web.post("/optimise", json=document).json()["job"]["plan"]["id"]
    for more in ({"system": "zenith"}, {"replaced": "true"}):
        answer = web.get("/results", params={"used_by": plan, **more})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "used_by")


def test_every_answer_has_the_id_of_its_request(web: TestClient) -> None:
    """Errors, too; an id that a proxy gave is kept."""
    assert web.get("/nowhere").headers["x-request-id"] != web.get("/systems").headers["x-request-id"]
    assert web.get("/health", headers={"X-Request-ID": "from-the-proxy"}).headers["x-request-id"] == "from-the-proxy"

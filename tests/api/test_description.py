"""The OpenAPI document says enough to make a client of it: every answer has its type, and answers are of that type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from starlette.testclient import TestClient

from modak.api import create_app
from modak.api.examples import add_examples
from modak.auth import SCOPES
from modak.perfmodel.fitting.curves import Curve
from modak.schemas import KINDS
from tests.api.document import API, NOWHERE, OPERATIONS
from tests.api.site import Site
from tests.conftest import ROOT

Json = dict[str, Any]
CSV = {"Content-Type": "text/csv"}
MEASURED: Json = {
    "job": {
        "job_options": {"node_count": 4, "process_count_per_node": 48},
        "application": {"app_tag": "solver", "executable": "./solver"},
        "target": {"name": "supermuc-ng"},
        "optimisation": {"workload": {"application": "solver"}},
    }
}
"""What was asked for in the example of a result that comes back."""
NETWORKS = "application,system,metric,value,params.gmacs\n" + "".join(
    f"{name},elsewhere,throughput,{900 / gmacs},{gmacs}\n"
    for name, gmacs in (("alexnet", 0.7), ("densenet121", 2.9), ("mobilenet_v2", 0.3), ("resnet50", 4.1), ("vgg16", 15.5))
)
"""Results elsewhere that tell which rows of an example are to be measured first."""
ROW = "application,nodes,metric,value,unit\nsolver,1,wall_time,100,s\n"


def faults(answer: Any, path: str) -> list[str]:
    """What of an answer the description of its address does not have."""
    responses = API["paths"][path][answer.request.method.lower()]["responses"]
    told = responses[str(answer.status_code)]["content"][answer.headers["content-type"]]["schema"]
    return [error.message for error in jsonschema_rs.validator_for({**told, "components": API["components"]}).iter_errors(answer.json())]


def parts_of(part: Any) -> Iterator[Json]:
    """Every object in a document, at any depth."""
    if isinstance(part, dict):
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from parts_of(inner)


def schemas_in(part: Any) -> Iterator[Json]:
    """Every property in a schema."""
    return (field for each in parts_of(part) for field in each.get("properties", {}).values())


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda word: word.strip("/").replace("/", "-"))
def test_every_answer_has_a_type(path: str, method: str) -> None:
    """None is "any JSON"."""
    responses = API["paths"][path][method]["responses"]
    bodies = [body["schema"] for status, response in responses.items() if status != "304" for body in response.get("content", {}).values()]
    assert all(bodies), "give the type of the answer: add(…, responses=told(SCHEMA))"
    assert len(bodies) > 1


@pytest.mark.parametrize("path", ["/results", "/systems", "/images", "/rules", "/models", "/health", "/ready", "/builds"])
@pytest.mark.parametrize("suffix", ["", "?limit=1", "?limit=1000"])
def test_what_is_listed_is_of_its_type(web: TestClient, path: str, suffix: str) -> None:
    """The packaged knowledge: the default page, the shortest and the longest."""
    answer = web.get(path + suffix)
    assert answer.status_code == 200
    assert faults(answer, path) == []


@pytest.mark.parametrize(
    "address",
    [
        "/comparisons?column=runtime&value=none&value=charliecloud&application=alexnet",
        "/comparisons?column=nodes&application=3dgan",
        "/evaluations?application=3dgan",
        "/evaluations?holdout=each",
        "/lines?application=3dgan&most=1",
    ],
)
def test_what_is_computed_from_results_is_of_its_type(web: TestClient, address: str) -> None:
    """Every figure."""
    answer = web.get(address)
    assert answer.status_code == 200, answer.text
    assert faults(answer, address.partition("?")[0]) == []


def test_a_line_is_described_whole(web: TestClient) -> None:
    """All that it has."""
    (line,) = web.get("/lines?application=3dgan&most=1").json()["lines"]
    assert line.keys() == API["components"]["schemas"]["lines"]["properties"]["lines"]["items"]["properties"].keys()


def test_a_model_is_described_whole() -> None:
    """Every field of a stored curve; one that is only estimated is never listed."""
    assert Curve.model_fields.keys() - API["components"]["schemas"]["model"]["properties"].keys() == {"estimated"}


@pytest.mark.parametrize("path", ["/infrastructures", "/scripts", "/scaling_models", "/container_mappings"])
def test_published_shapes_are_of_their_type(web: TestClient, path: str) -> None:
    """As the list that they are."""
    assert web.get(path).json()
    assert faults(web.get(path), path) == []


@pytest.mark.parametrize("path", ["/optimise", "/get_image", "/get_build", "/get_optimisation"])
def test_answers_are_of_their_type_in_whatever_words_the_request_came(web: TestClient, path: str) -> None:
    """What the caller wrote stays as it was written, so nothing may be said of it that holds for the documented words alone."""
    for file in sorted((ROOT / "tests/requests").glob("*.json")):
        answer = web.post(path, json=json.loads(file.read_text()))
        assert answer.status_code == 200, file.name
        assert faults(answer, path) == [], file.name


def test_an_answer_with_an_unknown_key_beside_the_job_is_of_its_type(web: TestClient, document: Json) -> None:
    """Editors write ``$schema`` there; it is warned about and stays."""
    answer = web.post("/optimise", json={"$schema": "request.json", **document})
    assert answer.json()["$schema"] == "request.json"
    assert faults(answer, "/optimise") == []


def test_changes_are_answered_as_described(own_database: Path, document: Json) -> None:
    """Loading, doubting, adding, a plan's token, the trail."""
    with Site(own_database) as site:
        site.web.headers["Authorization"] = f"Bearer {site.keys['admin']}"
        image = {"reference": "docker://example/solver:1.0", "source": "t", "labels": {"framework": "mpi", "version": "1", "source": "hub"}}
        plan = site.web.post("/optimise", json=document).json()["job"]["plan"]["id"]
        calls: list[tuple[str, str, Json]] = [
            ("/results", "/results", {"content": ROW, "headers": CSV}),
            ("/results", "/results", {"content": ROW, "headers": CSV}),
            ("/results/doubts", "/results/doubts", {"json": {"results": [1], "why": "warm-up"}}),
            ("/results/confirmations", "/results/confirmations", {"json": {"results": [1]}}),
            ("/results/unmarkings", "/results/unmarkings", {"json": {"results": [1]}}),
            ("/images", "/images", {"json": image}),
            ("/images", "/images", {"json": image}),
            (f"/plans/{plan}/token", "/plans/{id}/token", {}),
        ]
        found = [(site.web.post(address, **body), path) for address, path, body in calls]
        found.append((site.web.get("/audit"), "/audit"))
        assert [answer.status_code for answer, _ in found] == [200, 200, 200, 200, 200, 201, 200, 201, 200]
        assert [faults(answer, path) for answer, path in found] == [[]] * len(found)


def test_examples_are_answered(own_database: Path) -> None:
    """An editor offers them: every body has one."""
    bodies = [
        (path, each["requestBody"]["content"]) for path, ways in API["paths"].items() for each in ways.values() if "requestBody" in each
    ]
    with Site(own_database) as site:
        site.web.headers["Authorization"] = f"Bearer {site.keys['admin']}"
        site.web.post("/results", content=NETWORKS, headers=CSV)
        for path, kind, example in ((path, kind, content["example"]) for path, kinds in bodies for kind, content in kinds.items()):
            address, sent = path, example
            if path == "/builds":  # a build would begin
                continue
            if path == "/plans/{id}/result":
                plan = site.web.post("/optimise", json=MEASURED).json()["job"]["plan"]["id"]
                address, sent = f"/plans/{plan}/result", {**example, "plan": plan}
            if kind == "multipart/form-data":
                answer = site.web.post(address, files=[("file", ("results.csv", each)) for each in example["file"]])
            else:
                answer = site.web.post(address, content=sent if isinstance(sent, str) else json.dumps(sent), headers={"Content-Type": kind})
            assert answer.status_code in (200, 201), (path, kind, answer.text)
            assert faults(answer, path) == [], (path, kind)


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda word: word.strip("/").replace("/", "-"))
def test_every_answer_has_an_example_of_its_type(path: str, method: str) -> None:
    """With no key at its top that the type does not name."""
    answers = [response for status, response in API["paths"][path][method]["responses"].items() if status != "default"]
    for content in (content for answer in answers for content in answer.get("content", {}).values()):
        assert "example" in content, "give one in modak/api/examples.json"
        known = {**content["schema"], "components": API["components"], "unevaluatedProperties": path.startswith("/schema")}
        assert [error.message for error in jsonschema_rs.validator_for(known).iter_errors(content["example"])] == []


def test_a_list_of_what_has_no_example_has_none() -> None:
    """It is asked for then, as that of a single one is."""
    of_one: Any = {"type": "array", "items": {"$ref": "#/components/schemas/nothing"}}
    told: dict[str, Any] = {"json": {"schema": of_one}, "page": {"schema": {"properties": {"items": of_one}}}}
    add_examples({"paths": {"/": {"get": {"responses": {"200": {"content": told}}}}}})
    assert not any("example" in content for content in told.values())


def test_names_make_names_of_types() -> None:
    """Generated clients write them in other letters: two that differ in case alone, or a title of another part, are one type to them."""
    parts = API["components"]["schemas"]
    plain = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in parts]
    assert len(set(plain)) == len(plain)
    titles = [part["title"] for part in parts.values() if "title" in part]
    assert len(set(titles)) == len(titles)
    assert not {"request", "response"} & set(plain), "libraries of HTTP clients have types of these names"


def test_constants_are_words() -> None:
    """Generators of clients write no sound code for other ones."""
    assert {field["const"] for field in schemas_in(API) if "const" in field} == {"ok", "ready"}


def test_objects_with_any_keys_say_so_in_words_that_generators_know() -> None:
    """They pass over ``patternProperties``, and their types then lose the values: of parameters of a workload, for instance."""
    assert [part for part in parts_of(API) if "patternProperties" in part and "properties" not in part] == []
    params = API["components"]["schemas"]["Workload"]["properties"]["params"]
    assert {"type": "string", "maxLength": 500} in params["additionalProperties"]["anyOf"]


def test_every_property_has_a_type() -> None:
    """What has none is "any JSON" to a client; the form of a row that is answered as it was sent is known, too."""
    typed = {"type", "$ref", "anyOf", "enum", "const"}
    assert [field for field in schemas_in(API) if not field.keys() & typed] == []


def test_new_hardware_may_be_sent_with_the_system_that_has_it() -> None:
    """Without it the system is refused, so its types are there, too."""
    _, several = API["paths"]["/systems"]["post"]["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
    kinds = {name: one["items"]["$ref"].rpartition("/")[2] for name, one in several["properties"].items()}
    assert kinds == {"systems": "system", "processors": "processor", "accelerators": "accelerator"}
    assert several["required"] == ["systems"]


def test_what_was_sent_stays_in_types_of_clients() -> None:
    """They drop keys that a schema does not name, unless it says that there are more: a job's name and account, parameters of results."""
    parts = API["components"]["schemas"]
    filled = [parts[name] for name in ("response_document", "FilledJob", "FilledJobOptions", "FilledApplication")]
    published = API["paths"]["/get_image"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    filled += [published, published["properties"]["job"], published["properties"]["job"]["properties"]["application"]]
    assert all(part["additionalProperties"] is True for part in filled)
    rows = parts["predictions"]["properties"]["rows"]["items"], parts["measured_result"]
    assert all("string" in part["additionalProperties"]["type"] for part in rows)


@pytest.mark.parametrize("given", ['{"name": "supermuc-ng"}', "", None, {"name": "supermuc-ng", "more": [1]}])
@pytest.mark.parametrize("gpus", [None, "", "0", 0])
def test_sections_are_answered_in_the_types_of_what_may_be_sent(web: TestClient, given: Any, gpus: Any) -> None:
    """Objects, their text, and what counts as left out."""
    job = {"application": {"executable": "./a", "container_runtime": None}, "target": given, "job_options": {"request_gpus": gpus}}
    for optimisation in (None, "", "{}", {"app_type": "hpc"}):
        answer = web.post("/optimise", json={"job": {**job, "optimisation": optimisation}})
        assert (answer.status_code, faults(answer, "/optimise")) == (200, []), optimisation


def test_files_of_a_form_are_files_to_generators() -> None:
    """Those of 3.0, too, which know them by their format: other text is sent without a file name, and is refused."""
    form = API["paths"]["/results"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert form["properties"]["file"]["items"]["format"] == "binary"


def test_what_a_plan_runs_in_or_builds_has_a_type(web: TestClient) -> None:
    """An image of the catalogue, one that the request names, a recipe: every key of the answer is described."""
    plan = API["components"]["schemas"]["Plan"]["properties"]
    for file, field in (("3dgan-supermuc-ng", "image"), ("code-aster-mpi", "image"), ("mnist-hlrs-glow", "recipe")):
        answer = web.post("/optimise", json=json.loads((ROOT / f"examples/{file}.json").read_text()))
        assert faults(answer, "/optimise") == []
        told = API["components"]["schemas"][plan[field]["anyOf"][0]["$ref"].rsplit("/", 1)[1]]
        assert answer.json()["job"]["plan"][field].keys() <= told["properties"].keys()


def test_names_of_operations_are_those_of_their_addresses() -> None:
    """Generated clients call their functions so."""
    names = {f"{method} {path}": operation["operationId"] for path, each in API["paths"].items() for method, operation in each.items()}
    assert names["post /optimise"] == "post_optimise"
    assert names["get /systems/{name}"] == "get_systems_name"
    assert len(set(names.values())) == len(names)


def test_every_field_is_described() -> None:
    """With its unit where it has one; what refers to another part is described there."""
    fields = list(schemas_in(API))
    assert len(fields) > 500
    assert [field for field in fields if "description" not in field and "$ref" not in json.dumps(field)] == []


def test_every_parameter_is_described() -> None:
    """In the address and in the query."""
    told = {
        (path, parameter["name"]): parameter.get("description")
        for path, each in API["paths"].items()
        for operation in each.values()
        for parameter in operation.get("parameters", [])
    }
    assert len(told) > 20
    assert [name for name, description in told.items() if not description] == []


def test_the_kinds_of_schemas_are_listed() -> None:
    """Each is answered."""
    (kind,) = API["paths"]["/schema/{kind}"]["get"]["parameters"]
    assert set(kind["schema"]["enum"]) == {*KINDS, "openapi"}


def test_every_tag_is_described() -> None:
    """Tools show addresses under the names of their groups."""
    told = {tag["name"] for tag in API["tags"] if tag["description"]}
    assert {tag for path, method in OPERATIONS for tag in API["paths"][path][method]["tags"]} == told


def test_what_holds_for_every_address_is_said_at_the_top() -> None:
    """Whoever has the document alone learns of errors, tokens and their scopes, and pages."""
    told = API["info"]["description"]
    assert [word for word in ("problem+json", "422", "Retry-After", "Bearer", *SCOPES, "cursor", "ETag") if word not in told] == []


def test_what_needs_a_token_says_so() -> None:
    """A client knows from the description where to send one, and of which scope."""
    told = {
        (path, method): operation.get("security", API["security"])
        for path, each in API["paths"].items()
        for method, operation in each.items()
    }
    assert told["/optimise", "post"] == [{}, {"token": ["optimise"]}]
    assert told["/results", "post"] == told["/plans/{id}/token", "post"] == [{"token": ["load"]}]
    assert told["/systems", "post"] == told["/audit", "get"] == [{"token": ["admin"]}]
    assert told["/plans/{id}/result", "post"] == [{"token": ["result"]}, {"token": ["load"]}]
    assert told["/health", "get"] == [{}]
    assert told["/schema/{kind}", "get"] == [{}, {"token": []}]
    closed = create_app(NOWHERE.model_copy(update={"anonymous": False})).openapi()
    assert closed["security"] == closed["paths"]["/schema/{kind}"]["get"]["security"] == [{"token": []}]
    assert closed["paths"]["/optimise"]["post"]["security"] == [{"token": ["optimise"]}]
    assert closed["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_the_public_address_is_the_server() -> None:
    """Behind a proxy with a prefix a generated client finds the service."""
    address = "https://example.org/modak"
    assert create_app(NOWHERE.model_copy(update={"public_url": address})).openapi()["servers"] == [{"url": address}]
    assert "servers" not in API


@pytest.mark.parametrize(("path", "method"), [each for each in OPERATIONS if "{" in each[0]], ids=lambda word: word.strip("/"))
def test_what_an_address_names_in_vain_is_a_field(shared: Site, path: str, method: str) -> None:
    """Under its name in the address, wherever it is looked for."""
    (name,) = re.findall(r"{(\w+)}", path)
    sent: Json = {} if method in ("get", "delete") else {"json": {}}
    answer = shared.call(method.upper(), path.replace(f"{{{name}}}", "nothing"), shared.keys["admin"], **sent)
    assert (answer.status_code, [fault["field"] for fault in answer.json()["errors"]]) == (404, [name])

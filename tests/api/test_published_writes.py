"""What administrators send to the published addresses: stored in their name, read back as it was sent, and used by every later job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Config, GenerationMode

from modak.facts import Condition, Rule
from modak.published.shapes import scripts
from tests.api.site import Site
from tests.api.test_hostile_fields import PAYLOADS
from tests.api.witness import CANARY, commands, witness
from tests.conftest import copied

Json = dict[str, Any]
NODE: Json = {"ncpus": 2, "cpu": {"arch": "x86_64", "microarch": "zen2", "ncores": 64, "nthreads": 2}, "memory": 512_000_000_000}
GPU_NODE: Json = {**NODE, "naccel": 2, "accel": {"type": "gpu", "model": "P100"}}
INFRASTRUCTURE: Json = {
    "name": "annex",
    "description": "an annex",
    "configuration": {
        "scheduler": "slurm",
        "storage": {"file:///scratch": {"storage_class": "default-high"}, "file://$WORK": {"storage_class": "default-common"}},
        "partitions": {"mc": {"nnodes": 100, "default": True, "node": NODE}, "gpu": {"nnodes": 5, "default": False, "node": GPU_NODE}},
    },
}
SCRIPT: Json = {
    "description": "the site's CUDA",
    "conditions": {
        "application": {"name": "tensorflow", "feature": {"xla": True}},
        "infrastructure": {"name": "annex", "storage_class": "default-high"},
    },
    "data": {"stage": "pre", "raw": "module load cuda/11.0\nexport STAGED={{ preferred_storage_location }}\n"},
}
MAPPING: Json = {
    "opt_dsl_code": "tensorflow-2.2.1-annex",
    "app_name": "tensorflow",
    "version": "2.2.1",
    "enable_opt_build": True,
    "target": {"cpu_type": "x86", "acc_type": "nvidia"},
    "selectors": {"xla": True},
    "container_name": "annex/tensorflow:2.2.1-gpu",
    "container_type": "docker",
    "container_registry": "docker.io",
}
BODIES = {"/infrastructures": INFRASTRUCTURE, "/scripts": SCRIPT, "/container_mappings": MAPPING}
REQUEST: Json = {
    "job": {
        "job_options": {"job_name": "mnist", "node_count": 1},
        "application": {
            "app_tag": "mnist",
            "app_type": "python",
            "executable": "python3 mnist.py",
            "storage_class_pref": "default-high",
        },
        "target": {"name": "annex"},
        "optimisation": {
            "enable_opt_build": True,
            "app_type": "ai_training",
            "opt_build": {"cpu_type": "x86", "acc_type": "nvidia"},
            "app_type-ai_training": {
                "config": {"ai_framework": "tensorflow"},
                "ai_framework-tensorflow": {"version": "2.2.1", "xla": True},
            },
        },
    }
}
NUMBERS = count(1)
"""For names that no other test has taken."""


def with_value(document: Json, field: str, value: Any) -> Json:
    """The document with one value changed; ``None``: without it."""
    changed: Json = json.loads(json.dumps(document))
    *way, last = field.split("/")
    at = changed
    for step in way:
        at = at[step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return changed


@pytest.fixture(scope="module")
def annex(packaged_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service that knows the annex, its script and its image, to which tests add what does not touch those."""
    with Site(copied(packaged_database, tmp_path_factory.mktemp("annex") / "modak.db")) as site:
        for path, body in BODIES.items():
            assert post(site, path, body).status_code == 201
        yield site


def post(site: Site, path: str, body: Any) -> Any:
    """The answer to an administrator."""
    return site.call("POST", path, site.keys["admin"], json=body)


def script_of(site: Site, request: Json) -> str:
    """The job script that callers of the published service get."""
    return str(site.call("POST", "/get_optimisation", json=request).json()["job"]["job_content"])


def test_each_kind_is_created_once(site: Site) -> None:
    """201 with the item and its address; what is read there is the item; the same again is 409, and the trail says who."""
    for path, body in BODIES.items():
        answer = post(site, path, body)
        assert (answer.status_code, answer.headers["location"]) == (201, f"http://testserver{path}/{answer.json()['id']}")
        assert site.call("GET", f"{path}/{answer.json()['id']}").json() == answer.json()
        assert answer.json() in site.call("GET", path).json()
        again = post(site, path, body)
        assert (again.status_code, answer.json()["id"] in again.text) == (409, True)
    trail = site.call("GET", "/audit", site.keys["admin"]).json()["items"]
    assert [line["principal"] for line in trail if line["action"].startswith("add")][:3] == ["key:admin"] * 3


@pytest.mark.parametrize("path", ["/infrastructures", "/container_mappings"])
def test_what_is_created_is_what_was_sent(annex: Site, path: str) -> None:
    """With an id."""
    (found,) = [item for item in annex.call("GET", path).json() if BODIES[path].items() <= item.items()]
    assert found.keys() - BODIES[path].keys() == {"id"}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"conditions": {}},
        {"conditions": {"application": {"name": "solver", "feature": {}}}},
        {"conditions": {"application": {"name": "mpich", "feature": {"version": "3.1.4"}}}},
        {"conditions": {"application": {"name": "pytorch", "feature": {"distribution": "horovod", "version": "2.1"}}}},
        {"conditions": {"infrastructure": {"name": "hlrs_testbed"}}},
        {"conditions": {"infrastructure": {"storage_class": "default-ssd"}}},
        {"data": {"stage": "post", "raw": '  rm -rf -- "${TMPDIR:?}"/cache\n\n'}},
        {"description": "only in this test"},
    ],
)
def test_a_script_comes_back_as_it_was_sent(site: Site, changed: Json) -> None:
    """Conditions, stage and every blank of the text."""
    post(site, "/infrastructures", INFRASTRUCTURE)
    sent = {**SCRIPT, **changed}
    created = post(site, "/scripts", sent).json()
    assert site.call("GET", f"/scripts/{created['id']}").json() == {**sent, "id": created["id"]}


def test_a_script_without_a_description_comes_back_without_one(site: Site) -> None:
    """Nor with the words that stand for it in the reasons of a plan; ``null`` is the same as nothing."""
    sent = {"description": None, "conditions": {"application": None}, "data": {"stage": "pre", "raw": "export A=1"}}
    created = post(site, "/scripts", sent).json()
    assert created == {"id": created["id"], "conditions": {}, "data": sent["data"]}


def test_a_later_job_gets_script_system_and_image(annex: Site) -> None:
    """The rule's text with its placeholder, the scheduler and partition of the system, the image by its labels."""
    job = annex.call("POST", "/get_optimisation", json=REQUEST).json()["job"]
    assert job["application"]["container_runtime"] == "docker://annex/tensorflow:2.2.1-gpu"
    assert "#SBATCH --partition=gpu\n" in job["job_content"]
    assert "module load cuda/11.0\nexport STAGED=${MODAK_STORAGE:?}\n" in job["job_content"]
    assert "export MODAK_STORAGE=/scratch\n" in job["job_content"]
    assert "warnings" not in job


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target/name", "supermuc-ng"),
        ("target/name", "hlrs-testbed"),
        ("optimisation/app_type-ai_training/ai_framework-tensorflow/xla", False),
        ("optimisation/app_type-ai_training", {"config": {"ai_framework": "pytorch"}, "ai_framework-pytorch": {"version": "2.6"}}),
        ("application/storage_class_pref", "default-common"),
        ("target", {}),
    ],
)
def test_a_script_stays_where_it_belongs(annex: Site, field: str, value: Any) -> None:
    """Another site, another framework, another storage or no XLA: each condition alone keeps it out."""
    assert "module load cuda/11.0" not in script_of(annex, {"job": with_value(REQUEST["job"], field, value)})


def test_a_script_after_the_run_runs_after_it(site: Site) -> None:
    """Where its application is named by its tag."""
    post(site, "/scripts", {"conditions": {"application": {"name": "mnist"}}, "data": {"stage": "post", "raw": "touch after-mnist"}})
    text = script_of(site, {"job": {**REQUEST["job"], "target": {"name": "supermuc-ng"}}})
    assert text.index("python3 mnist.py") < text.index("touch after-mnist")


def test_a_script_for_an_mpi_library_is_for_mpi_programs(site: Site, document: Json) -> None:
    """Of that library, whatever the program is called; not for training that happens to use it."""
    for name, text in (("mpich", "export FOR_MPICH=1"), ("intel-mpi", "export FOR_INTEL=1")):
        sent = {"conditions": {"application": {"name": name}}, "data": {"stage": "pre", "raw": text}}
        assert post(site, "/scripts", sent).status_code == 201
    program = json.loads((Path(__file__).parents[1] / "requests/published-mpi.json").read_text())
    assert "FOR_MPICH" in script_of(site, program)
    assert "I_MPI_" in script_of(site, document)
    assert "FOR_INTEL" not in script_of(site, document)


def test_a_mapping_for_an_mpi_library_is_its_image(site: Site) -> None:
    """It is used for a program that names the library, bound to that of the system."""
    mapping = {**MAPPING, "opt_dsl_code": "m", "app_name": "mpich", "version": "3.1.4", "selectors": {}}
    sent = {**mapping, "target": {"cpu_type": "x86", "acc_type": None}, "container_name": "annex/mpich:3.1.4"}
    assert post(site, "/container_mappings", sent).json()["target"]["acc_type"] == "none"
    request = json.loads((Path(__file__).parents[1] / "requests/published-mpi.json").read_text())
    request["job"]["application"].pop("container_runtime", None)
    request["job"]["target"] = {"name": "hlrs-testbed"}
    request["job"]["optimisation"]["opt_build"] = {"cpu_type": "x86", "acc_type": "none"}
    job = site.call("POST", "/get_image", json=request).json()["job"]
    assert job["application"]["container_runtime"] == "docker://annex/mpich:3.1.4"


@pytest.mark.parametrize(
    ("changes", "reference"),
    [
        ({"container_registry": None}, "docker://annex/tensorflow:2.2.1-gpu"),
        ({"container_registry": "docker"}, "docker://annex/tensorflow:2.2.1-gpu"),
        ({"container_registry": "dockerhub"}, "docker://annex/tensorflow:2.2.1-gpu"),
        ({"container_registry": "localhost"}, "docker://localhost/annex/tensorflow:2.2.1-gpu"),
        ({"container_registry": "registry.example.org:5000"}, "docker://registry.example.org:5000/annex/tensorflow:2.2.1-gpu"),
        ({"container_type": "shub", "container_registry": None}, "shub://annex/tensorflow:2.2.1-gpu"),
        ({"container_type": "shub", "container_registry": "library"}, "library://annex/tensorflow:2.2.1-gpu"),
    ],
)
def test_a_registry_says_where_an_image_is(site: Site, changes: Json, reference: str) -> None:
    """In all the ways in which the published service is told."""
    created = post(site, "/container_mappings", {**MAPPING, **changes})
    assert created.status_code == 201
    assert site.call("GET", f"/images/{reference}").json()["opt_dsl_code"] == MAPPING["opt_dsl_code"]
    assert site.call("GET", f"/container_mappings/{MAPPING['opt_dsl_code']}").json() == created.json()


def test_a_mapping_is_found_by_the_name_that_it_was_given(site: Site) -> None:
    """Also by one that another image, which was given none, is shown with."""
    first = site.call("GET", "/container_mappings").json()[0]
    created = post(site, "/container_mappings", {**MAPPING, "opt_dsl_code": first["opt_dsl_code"], "container_name": "zz/mine:1"})
    assert created.status_code == 201
    assert site.call("GET", f"/container_mappings/{first['opt_dsl_code']}").json() == created.json()


def partitions(site: Site, **named: Json) -> Any:
    """The answer to a new system with these partitions."""
    body = {"name": f"site-{next(NUMBERS)}", "configuration": {"scheduler": "torque", "partitions": named}}
    return post(site, "/infrastructures", body)


def test_hardware_that_nobody_has_described_is_entered_without_figures(annex: Site) -> None:
    """A GPU by its maker; a processor by its microarchitecture, or by its architecture alone."""
    created = partitions(
        annex, gpu={"nnodes": 1, "node": {**with_value(NODE, "cpu/microarch", None), **{k: GPU_NODE[k] for k in ("naccel", "accel")}}}
    )
    name = created.json()["name"]
    node = annex.call("GET", f"/systems/{name}").json()["partitions"][0]["node"]
    assert (node["processor"], node["accelerator"], node["accelerators"]) == ("x86_64-64x2", "p100", 2)
    shown = created.json()["configuration"]["partitions"]["gpu"]["node"]
    assert (shown["cpu"], shown["accel"]) == ({"arch": "x86_64", "ncores": 64, "nthreads": 2}, {"type": "gpu", "model": "P100"})


def test_a_known_accelerator_keeps_its_figures(annex: Site) -> None:
    """Recognised by the model's name."""
    node = {**NODE, "naccel": 1, "accel": {"type": "gpu", "model": "NVIDIA GeForce GTX 1080 Ti"}}
    name = partitions(annex, gpu={"nnodes": 1, "node": node}).json()["name"]
    assert annex.call("GET", f"/systems/{name}").json()["partitions"][0]["node"]["accelerator"] == "gtx-1080-ti"


@pytest.mark.parametrize("accel", [{"type": "fpga", "model": "Stratix 10"}, {"type": "gpu", "model": "nobody's own"}])
def test_an_accelerator_of_an_unknown_maker_is_left_out(annex: Site, accel: Json) -> None:
    """The answer has none, and the system has a note on it."""
    created = partitions(annex, mc={"nnodes": 1, "node": {**NODE, "naccel": 1, "accel": accel}})
    assert created.status_code == 201
    assert "naccel" not in created.json()["configuration"]["partitions"]["mc"]["node"]
    (note,) = annex.call("GET", f"/systems/{created.json()['name']}").json()["notes"]
    assert accel["model"] in note


def test_a_partition_is_named_where_the_schedulers_default_is_unknown(annex: Site) -> None:
    """The first of several is asked for by name; `*` is the only one and never named."""
    several = partitions(annex, slow={"nnodes": 1, "node": NODE}, fast={"nnodes": 1, "node": NODE}).json()["name"]
    only = partitions(annex, **{"*": {"nnodes": 1, "node": NODE}}).json()["name"]
    request = {"job_options": {"node_count": 1}, "application": {"executable": "./a"}}
    texts = [script_of(annex, {"job": {**request, "target": {"name": name}}}) for name in (several, only)]
    assert ["#PBS -q slow\n" in texts[0], "#PBS -q" in texts[1]] == [True, False]


def test_what_the_published_service_writes_itself_is_read(annex: Site) -> None:
    """Memory as text, storage of partitions and nodes that is empty, no accelerators, not disabled."""
    node = {**NODE, "memory": "512GiB", "naccel": 0, "storage": {}}
    body = with_value(INFRASTRUCTURE, "configuration/partitions", {"mc": {"nnodes": 1, "node": node, "storage": {}}})
    created = post(annex, "/infrastructures", {**body, "name": f"site-{next(NUMBERS)}", "disabled": None})
    assert created.status_code == 201
    assert created.json()["configuration"]["partitions"]["mc"]["node"]["memory"] == 512 * 2**30


AT = "configuration/partitions/gpu"
WRONG: list[tuple[str, str, Any, str]] = [
    *((path, "more", 1, "more") for path in BODIES),
    ("/infrastructures", "name", None, "name"),
    ("/infrastructures", "name", "two words", "name"),
    ("/infrastructures", "disabled", "2021-06-01T00:00:00", "disabled"),
    ("/infrastructures", "disabled", True, "disabled"),
    ("/infrastructures", "configuration/scheduler", "slrum", "configuration.scheduler"),
    ("/infrastructures", "configuration/storage", {"s3://bucket": {"storage_class": "default-ssd"}}, "configuration.storage"),
    ("/infrastructures", "configuration/storage", {"file:///a b": {"storage_class": "default-ssd"}}, "configuration.storage"),
    (
        "/infrastructures",
        "configuration/storage",
        {"file:///a": {"storage_class": "fast"}},
        "configuration.storage.file:///a.storage_class",
    ),
    ("/infrastructures", "configuration/partitions", {}, "configuration.partitions"),
    ("/infrastructures", f"{AT}/default", True, "configuration.partitions"),
    ("/infrastructures", f"{AT}/nnodes", 0, "configuration.partitions.gpu.nnodes"),
    ("/infrastructures", f"{AT}/nnodes", "5", "configuration.partitions.gpu.nnodes"),
    ("/infrastructures", f"{AT}/storage", {"file:///a": {"storage_class": "default-ssd"}}, "configuration.partitions.gpu.storage"),
    ("/infrastructures", f"{AT}/node/cpu/arch", "vax", "configuration.partitions.gpu.node.cpu.arch"),
    ("/infrastructures", f"{AT}/node/cpu/microarch", "power9le", "configuration.partitions.gpu.node.cpu.microarch"),
    ("/infrastructures", f"{AT}/node/cpu/ncores", 10**6, "configuration.partitions.gpu.node.cpu.ncores"),
    ("/infrastructures", f"{AT}/node/accel", None, "configuration.partitions.gpu.node.accel"),
    ("/infrastructures", f"{AT}/node/memory", "lots", "configuration.partitions.gpu.node.memory"),
    ("/infrastructures", f"{AT}/node/memory", True, "configuration.partitions.gpu.node.memory"),
    ("/scripts", "conditions", None, "conditions"),
    ("/scripts", "conditions/application/name", None, "conditions.application.name"),
    ("/scripts", "conditions/application/version", "1", "conditions.application.version"),
    ("/scripts", "conditions/application/feature", {"xla": False}, "conditions.application.feature.xla"),
    ("/scripts", "conditions/application/feature", {"xla": True, "ngraph": True}, "conditions.application.feature.ngraph"),
    ("/scripts", "conditions/application/feature", {"version": ">=2"}, "conditions.application.feature.version"),
    ("/scripts", "conditions/application/feature", {"nodes": 2}, "conditions.application.feature.nodes"),
    ("/scripts", "conditions/application", {"name": "solver", "feature": {"version": "2"}}, "conditions.application.feature.version"),
    ("/scripts", "conditions/infrastructure/storage_class", "fast", "conditions.infrastructure.storage_class"),
    ("/scripts", "data/stage", "during", "data.stage"),
    ("/scripts", "data/raw", None, "data.raw"),
    ("/scripts", "data/raw", " \n", "data.raw"),
    ("/scripts", "data/raw", "if true; then", "data.raw"),
    ("/scripts", "data/raw", "#SBATCH --wrap=x", "data.raw"),
    ("/scripts", "data/raw", "echo {{ undefined }}", "data.raw"),
    ("/container_mappings", "app_name", "solver", "app_name"),
    ("/container_mappings", "app_name", "keras", "app_name"),
    ("/container_mappings", "version", "2.*", "version"),
    ("/container_mappings", "target/cpu_type", "vax", "target.cpu_type"),
    ("/container_mappings", "target/acc_type", "fpga", "target.acc_type"),
    ("/container_mappings", "selectors", {"version": "2.3"}, "selectors.version"),
    ("/container_mappings", "selectors", {"fast": True}, "selectors.fast"),
    ("/container_mappings", "container_name", "../x", "container_name"),
    ("/container_mappings", "container_type", "oras", "container_type"),
    ("/container_mappings", "container_registry", "not a host", "container_registry"),
    ("/container_mappings", "container_registry", "quay", "container_registry"),
]


@pytest.mark.parametrize(("path", "field", "value", "named"), WRONG)
def test_a_wrong_value_is_named(annex: Site, path: str, field: str, value: Any, named: str) -> None:
    """422 with one line for the field that was sent, in the words of the published shape."""
    answer = post(annex, path, with_value(BODIES[path], field, value))
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["field"].startswith(named), fault
    assert "\n" not in fault["message"]


@pytest.mark.parametrize(
    ("path", "field", "value", "named"),
    [
        ("/scripts", "conditions/infrastructure/name", "anexx", "conditions.infrastructure.name"),
        ("/scripts", "conditions/infrastructure/storage_class", "default-ssd", "conditions.infrastructure.storage_class"),
        ("/scripts", "description", "other words for it", ""),
        ("/container_mappings", "container_name", "annex/other:1", "opt_dsl_code"),
        ("/container_mappings", "opt_dsl_code", "another", "container_name"),
        ("/infrastructures", "description", "another", "name"),
        ("/infrastructures", "name", "supermuc_ng", "name"),
    ],
)
def test_what_contradicts_something_else_is_409(annex: Site, path: str, field: str, value: Any, named: str) -> None:
    """A system that is not known, a storage class that it has not, a name that is taken: nothing is stored."""
    before = annex.call("GET", path).json()
    answer = post(annex, path, with_value(BODIES[path], field, value))
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (409, named)
    assert annex.call("GET", path).json() == before


PROSE = ("description", f"{AT}/node/accel/model")
"""Text for people, on one line."""
TEXTS = [
    *(("/infrastructures", field) for field in ("name", "configuration/scheduler", f"{AT}/node/cpu/microarch", f"{AT}/node/memory")),
    *(("/infrastructures", field) for field in PROSE),
    *(("/scripts", f"conditions/{field}") for field in ("application/name", "infrastructure/name", "application/feature/version")),
    ("/scripts", "description"),
    *(("/container_mappings", field) for field in ("opt_dsl_code", "app_name", "version", "container_name", "container_registry")),
]


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize(("path", "field"), TEXTS)
def test_no_text_breaks_out(annex: Site, path: str, field: str, payload: str) -> None:
    """Refused by name; a description is stored as one line of text, and runs in no script."""
    body = with_value(BODIES[path], field, PAYLOADS[payload])
    if field == "description":
        body = (
            {**body, "name": f"site-{next(NUMBERS)}"}
            if path == "/infrastructures"
            else with_value(body, "data/raw", f"export N={next(NUMBERS)}")
        )
    elif field in PROSE:
        body = {**body, "name": f"site-{next(NUMBERS)}"}
    with witness().watching():
        answer = post(annex, path, body)
    assert answer.status_code == 422 or (answer.status_code == 201 and field in PROSE)
    target = body["name"] if path == "/infrastructures" and answer.status_code == 201 else "annex"
    text = script_of(annex, {"job": with_value(REQUEST["job"], "target/name", target)})
    assert not any(CANARY in command for command in commands(text))


@pytest.mark.parametrize("key", ["configuration/storage", "configuration/partitions"])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_key_breaks_out(annex: Site, key: str, payload: str) -> None:
    """Places of storage and names of partitions get into scripts, too."""
    value = {"storage_class": "default-ssd"} if key.endswith("storage") else {"nnodes": 1, "node": NODE}
    name = f"file:///{PAYLOADS[payload]}" if key.endswith("storage") else PAYLOADS[payload]
    answer = post(annex, "/infrastructures", with_value(INFRASTRUCTURE, key, {name: value}))
    assert (answer.status_code, answer.json()["errors"][0]["field"].startswith(key.replace("/", "."))) == (422, True)


@pytest.mark.parametrize("path", BODIES)
def test_a_misspelt_trial_adds_nothing(annex: Site, path: str) -> None:
    """These addresses ignore unknown parameters where they only read."""
    assert post(annex, f"{path}?dry_run=true", BODIES[path]).status_code == 422


@pytest.mark.parametrize("path", BODIES)
def test_a_body_has_a_limit_and_one_meaning(annex: Site, path: str) -> None:
    """413, 415, 400: as everywhere."""
    admin, kind = annex.keys["admin"], {"Content-Type": "application/json"}
    sent = [(b'"' + b"x" * 2**21 + b'"', kind), (b"a: 1", {"Content-Type": "text/yaml"}), (b'{"name": "a", "name": "b"}', kind)]
    assert [annex.call("POST", path, admin, content=body, headers=told).status_code for body, told in sent] == [413, 415, 400]


@pytest.mark.parametrize("path", BODIES)
def test_bodies_that_the_description_suggests_are_answered(site: Site, path: str) -> None:
    """Sound or broken: stored, or refused as described. (schemathesis starts and ends the service for each body.)"""
    config = Config.from_dict({"checks": {"positive_data_acceptance": {"expected-statuses": ["201", "400", "409", "422"]}}})
    operation = schemathesis.openapi.from_asgi("/openapi.json", site.app, config=config)[path]["POST"]
    sound, broken = (operation.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE))

    @settings(max_examples=20, suppress_health_check=list(HealthCheck))
    @given(sound | broken)
    def check(case: schemathesis.Case[Any]) -> None:
        case.headers["Authorization"] = f"Bearer {site.keys['admin']}"
        case.call_and_validate()

    check()


def test_a_model_is_fitted_and_not_sent(annex: Site) -> None:
    """405 with what to do instead, and the methods that there are."""
    answer = post(annex, "/scaling_models", {"opt_dsl_code": "tensorflow-2.2.1-annex", "model": {"name": "amdahl", "F": 0.95}})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert "POST /results" in answer.json()["detail"]


@pytest.mark.parametrize(
    "said",
    [
        *({"when": Condition(application_version=">=2")}, {"when": Condition(framework=("tensorflow",), framework_version=">=2,<3")}),
        *({"when": Condition(framework=("tensorflow",), application=("mnist",))}, {"when": Condition(application=("tensorflow",))}),
        *({"when": Condition(mpi=("mpich",))}, {"when": Condition(compiler=("xla",))}),
        *({"when": Condition(framework=("pytorch",), distribution=("horovod", "ddp"))}, {"when": Condition(multi_node=True)}),
        *({"when": Condition(runtime=("apptainer",))}, {"when": Condition(system=("annex",), partition=("gpu",))}),
        *({"modules": ("cuda",)}, {"launcher_options": ("--mpi=pmix",)}),
    ],
)
def test_a_rule_that_the_shape_cannot_express_is_not_shown(said: Json) -> None:
    """With the conditions that it leaves out, it would read as always, or as for others; its text alone would not do what modules do."""
    assert list(scripts(Rule(name="r", title="r", environment={"A": "1"}, source="r", **said))) == []


def test_a_rule_for_several_is_shown_for_each() -> None:
    """Any of the words of a list is enough."""
    when = Condition(framework=("tensorflow", "jax"), compiler=("xla",), system=("one", "two"))
    shown = list(scripts(Rule(name="r", title="r", when=when, environment={"A": "1"}, source="r")))
    found = {(one["conditions"]["application"]["name"], one["conditions"]["infrastructure"]["name"]) for one in shown}
    assert found == {("tensorflow", "one"), ("tensorflow", "two"), ("jax", "one"), ("jax", "two")}
    assert len({one["id"] for one in shown}) == 4


def test_a_rule_for_too_many_is_not_shown() -> None:
    """The combinations of some short lists would fill the memory of the service."""
    when = Condition(framework=("tensorflow", "pytorch"), system=tuple(f"system-{number}" for number in range(501)))
    assert next(scripts(Rule(name="r", title="r", when=when, environment={"A": "1"}, source="r")), None) is None

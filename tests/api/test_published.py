"""The addresses that callers of the published service use, in the shapes that they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from starlette.testclient import TestClient

from modak.facts import Facts, FileSystem, Layout, Result, SeriesKey
from modak.perfmodel import fit
from modak.published.shapes import infrastructure, scaling_model

BUILDER: dict[str, Any] = {
    "job": {
        "job_options": {"job_name": "solver", "node_count": "2", "process_count_per_node": "4", "wall_time_limit": "1:00:00 "},
        "application": {
            "app_tag": "solver",
            "executable": "./solver",
            "container_runtime": "docker://ethcscs/mpich:ub1804",
            "mpi_ranks": 8,
        },
        "target": {},
    }
}
"""As the blueprint builder sends it: an empty target, no optimisation, numbers as text."""


def test_get_optimisation_gives_the_script_and_the_image(web: TestClient) -> None:
    """`job.job_content` and `job.application.container_runtime`; nothing is null, and nothing else is filled in."""
    job = web.post("/get_optimisation", json=BUILDER).json()["job"]
    assert job["job_content"].startswith("#!/bin/bash")
    assert job["application"] == BUILDER["job"]["application"]
    assert set(job) - {"warnings"} == {*BUILDER["job"], "job_content"}


def test_get_job_content_is_an_older_name(web: TestClient) -> None:
    """The same answer, without the header that tells them apart."""
    assert web.post("/get_job_content", json=BUILDER).json() == web.post("/get_optimisation", json=BUILDER).json()


def test_get_image_gives_the_callers_own_where_nothing_better_is_known(web: TestClient) -> None:
    """And no script."""
    job = web.post("/get_image", json=BUILDER).json()["job"]
    assert job["application"]["container_runtime"] == "docker://ethcscs/mpich:ub1804"
    assert "job_content" not in job


@pytest.mark.parametrize("path", ["/get_image", "/get_build", "/get_optimisation"])
def test_the_application_of_an_answer_is_an_object(web: TestClient, path: str) -> None:
    """As described, also where none was sent: clients look for the image in it."""
    assert web.post(path, json={"job": {"application": None, "job_options": {}}}).json()["job"]["application"] == {}


def test_get_image_finds_an_image(web: TestClient) -> None:
    """For a request that names a framework alone."""
    wanted = {
        "optimisation": {
            "app_type": "ai_training",
            "opt_build": {"cpu_type": "x86", "acc_type": "nvidia"},
            "ai_training": {"tensorflow": {"version": "2.1"}},
        }
    }
    job = web.post(
        "/get_image", json={"job": {"application": {"app_tag": "a", "executable": "python3 a.py"}, "target": {}, **wanted}}
    ).json()["job"]
    assert "2.1" in job["application"]["container_runtime"]


def test_get_build_gives_the_build_script(web: TestClient) -> None:
    """Where the application has sources to build."""
    build = {"src": "https://example.org/solver.git", "build_command": "make -j {{BUILD_PARALLELISM}}", "build_parallelism": 4}
    application = BUILDER["job"]["application"] | {"build": build}
    job = web.post("/get_build", json={"job": BUILDER["job"] | {"application": application}}).json()["job"]
    assert "make -j" in job["build_script"]
    assert "build_script" not in web.post("/get_build", json=BUILDER).json()["job"]


def test_warnings_ride_inside_a_200(web: TestClient) -> None:
    """The caller takes everything else for an empty script, unless it asks for 422. By the path that it wrote."""
    sent = {"job": BUILDER["job"] | {"target": {"name": "nowhere", "queue_type": "slurm"}}}
    answer, strict = web.post("/get_optimisation", json=sent), web.post("/get_optimisation?strict=true", json=sent)
    assert (answer.status_code, strict.status_code) == (200, 422)
    for told in (answer.json()["job"]["warnings"], strict.json()["errors"]):
        assert "target.queue_type" in {each["field"] for each in told}
    assert "target.name" in {warning["field"] for warning in answer.json()["job"]["warnings"]}


def test_a_query_that_is_unknown_changes_nothing(web: TestClient) -> None:
    """Callers that were there first may send what they like."""
    assert web.post("/get_image?_=1&strict=false&strict=false", json=BUILDER).json() == web.post("/get_image", json=BUILDER).json()


def test_the_callers_spelling_is_kept(web: TestClient) -> None:
    """Unknown keys, texts for numbers and explicit nulls come back as they were sent."""
    sent = {"job": BUILDER["job"] | {"optimisation": None, "extra": [1, None]}, "also": "this"}
    answer = web.post("/get_image", json=sent).json()
    assert answer["also"] == "this"
    assert (answer["job"]["optimisation"], answer["job"]["extra"]) == (None, [1, None])
    assert answer["job"]["job_options"] == BUILDER["job"]["job_options"]


@pytest.mark.parametrize("path", ["/infrastructures", "/scripts", "/scaling_models", "/container_mappings"])
def test_lists_hold_items_with_their_own_address(web: TestClient, path: str) -> None:
    """Unique ids that are UUIDs; an unknown one is 404."""
    items = web.get(path).json()
    assert len({UUID(item["id"]) for item in items}) == len(items) > 0
    assert web.get(f"{path}/{items[0]['id']}").json() == items[0]
    assert web.get(f"{path}/nothing").status_code == 404


def test_infrastructures_have_the_published_shape(web: TestClient) -> None:
    """Sockets, cores per socket, threads per core, memory in bytes."""
    by_name: dict[str, Any] = {item["name"]: item for item in web.get("/infrastructures").json()}
    node = by_name["supermuc-ng"]["configuration"]["partitions"]["thin"]["node"]
    assert node["ncpus"] * node["cpu"]["ncores"] == 48
    assert (node["cpu"]["arch"], node["cpu"]["nthreads"], node["memory"]) == ("x86_64", 2, 96_000_000_000)
    gpu = by_name["hlrs-testbed"]["configuration"]["partitions"]["default"]["node"]
    assert (gpu["naccel"], gpu["accel"]["type"]) == (1, "gpu")


def test_an_infrastructure_leaves_out_what_is_not_known(known: Callable[[str | None], Facts]) -> None:
    """File systems without a class of storage, and a microarchitecture that is no more than the architecture."""
    facts = known(None)
    system, processor = (
        facts.systems["supermuc-ng"],
        facts.processors["xeon-platinum-8174"].model_copy(update={"microarchitecture": "x86_64"}),
    )
    places = (
        FileSystem(name="home", kind="nfs", path="/home"),
        FileSystem(name="fast", kind="lustre", path="/f", storage_class="default-high"),
    )
    shown = infrastructure(system.model_copy(update={"filesystems": places}), {processor.name: processor}, {})["configuration"]
    assert shown["storage"] == {"file:///f": {"storage_class": "default-high"}}
    assert shown["partitions"]["thin"]["node"]["cpu"] == {"arch": "x86_64", "ncores": 24, "nthreads": 2}


def test_scaling_models_are_fractions(web: TestClient) -> None:
    """Amdahl's parallel fraction lies between nothing and all."""
    models = [item["model"] for item in web.get("/scaling_models").json()]
    assert models
    assert all(model["name"] == "amdahl" and 0 <= model["F"] <= 1 for model in models)


def test_a_curve_over_nodes_of_several_ranks_is_no_published_model() -> None:
    """The law is one of workers."""
    series = SeriesKey(application="solver", metric="wall_time", unit="s")

    def over_nodes(ranks: int) -> list[Result]:
        return [Result(series=series, layout=Layout(nodes=nodes, ranks_per_node=ranks), value=80 / nodes) for nodes in (1, 2)]

    (alone,), (several,) = fit(over_nodes(1)), fit(over_nodes(4))
    assert scaling_model(alone) is not None
    assert scaling_model(several) is None


def test_one_size_makes_no_scaling_model() -> None:
    """It does not tell how much of the run is parallel: the answer would be nothing."""
    series = SeriesKey(application="net", metric="epoch_time", unit="s")
    runs = [Result(series=series, layout=Layout(nodes=1, gpus_per_node=gpus), value=80 / gpus) for gpus in (1, 2)]
    (one,), (several,) = fit(runs[:1]), fit(runs)
    assert scaling_model(one) is None
    assert scaling_model(several) is not None

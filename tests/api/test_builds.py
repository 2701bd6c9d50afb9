"""``/builds``: orders over HTTP, in the name of an administrator."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modak.builds.service import PATIENCE
from modak.builds.worker import OUTPUT, builder_lock
from modak.store.builds import Builds
from tests.api.site import Site
from tests.builds.earlier import put_earlier
from tests.conftest import until

EXAMPLE = Path(__file__).parents[2] / "examples/mnist-hlrs-glow.json"
RECIPE = {"framework": "pytorch", "version": "2.13.0", "variant": "pip"}


@pytest.fixture
def site(own_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A service on a machine that can build nothing."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with Site(own_database, images_dir=str(tmp_path / "images")) as site:
        yield site


def broken_tool(tmp_path: Path, first: str = "") -> None:
    """A builder starts where its tool is; this one fails, after it has done something ``first``."""
    tool = tmp_path / "empty" / "apptainer"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{first}\nexit 1\n")
    tool.chmod(0o755)


def builds_of(site: Site) -> Builds:
    """The service's own builds."""
    found: Builds = site.app.state.service().store.builds
    return found


def order(site: Site, document: Any, scope: str | None = "admin") -> Any:
    """``POST /builds``."""
    return site.call("POST", "/builds", site.keys[scope] if scope else None, json=document)


@pytest.mark.parametrize(("scope", "status"), [(None, 401), ("optimise", 403), ("load", 403)])
def test_orders_are_administrators(site: Site, tmp_path: Path, scope: str | None, status: int) -> None:
    """Nobody else makes the service run anything or write a file."""
    assert order(site, {"recipe": RECIPE}, scope).status_code == status
    assert not (tmp_path / "images").exists()


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({}, "recipe"),
        ({"recipe": RECIPE, "job": {}}, "recipe"),
        ({"recipe": {**RECIPE, "version": "2.13.0; curl evil | sh"}}, "version"),
        ({"recipe": RECIPE, "definition": "Bootstrap: docker"}, "definition"),
        ({"recipe": {**RECIPE, "content": "Bootstrap: docker"}}, "content"),
        ({"recipe": RECIPE, "runtime": "podman-hpc"}, "runtime"),
        ({"recipe": RECIPE, "also": ["tar"]}, "also"),
        ({"recipe": RECIPE, "offline": True}, "offline"),
    ],
)
def test_what_is_no_order_is_refused(site: Site, tmp_path: Path, document: Any, field: str) -> None:
    """Text of a recipe is code: it is never taken. Nothing is stored."""
    answer = order(site, document)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert site.call("GET", "/builds").json()["items"] == []


def test_an_order_is_answered_at_once_and_shared(site: Site, tmp_path: Path) -> None:
    """202 with the whole address; a second order for the same is the same build; the trail says who. It can be cancelled, once."""
    (tmp_path / "images").mkdir()
    with builder_lock(tmp_path / "images"):  # this process is the builder, and builds nothing
        first, second = order(site, {"recipe": RECIPE}), order(site, {"recipe": RECIPE, "runtime": "singularity"})
        assert (first.status_code, first.headers["location"]) == (202, f"http://testserver/builds/{first.json()['id']}")
        assert (first.json()["state"], second.json()["id"]) == ("queued", first.json()["id"])
        other = order(site, {"recipe": RECIPE, "runtime": "charliecloud", "also": ["tar"]}).json()
        assert other["id"] != first.json()["id"]
        place = first.headers["location"]
        assert site.call("GET", place).json()["requested_by"] == "key:admin"
        assert site.call("DELETE", place, site.keys["admin"]).json()["state"] == "cancelled"
        assert site.call("DELETE", place, site.keys["admin"]).status_code == 409
    trail = [(line["principal"], line["action"]) for line in site.call("GET", "/audit", site.keys["admin"]).json()["items"]]
    assert trail[:3] == [("key:admin", "cancel build"), *[("key:admin", "build image")] * 2]


@pytest.mark.parametrize("runtime", ["singularity", "charliecloud"])
def test_a_recipe_is_ordered_as_its_plan_shows_it(site: Site, tmp_path: Path, runtime: str) -> None:
    """With its file and content; it is the same build as that of the request."""
    request = json.loads(EXAMPLE.read_text())
    request["job"]["target"] = {"container_runtime": runtime}
    shown = site.web.post("/optimise", json=request).json()["job"]["plan"]["recipe"]
    (tmp_path / "images").mkdir()
    with builder_lock(tmp_path / "images"):  # this process is the builder, and builds nothing
        told = order(site, {"recipe": shown, "runtime": runtime})
        assert told.status_code == 202, told.text
        assert told.json()["id"] == order(site, {"job": request["job"]}).json()["id"]


@pytest.mark.parametrize(
    ("target", "image"), [({}, "private://lrz/intel-tensorflow:1.11-horovod-intelmpi2019"), ({"container_runtime": "none"}, "none")]
)
def test_a_job_that_needs_no_build_is_not_found(site: Site, document: dict[str, Any], target: dict[str, str], image: str) -> None:
    """The message names the image that it has, if it has one."""
    document["job"]["target"] |= target
    answer = order(site, {"job": document["job"]})
    assert (answer.status_code, answer.json()["detail"]) == (404, f"optimisation: that request needs no build: its image is {image}")


def test_a_builder_comes_by_itself(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started by the order, gone when nothing waits; why the build failed is its message, in one line. Logs are administrators'."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    place = order(site, {"recipe": RECIPE}).headers["location"]
    told = until(lambda: found if (found := site.call("GET", place).json())["state"] not in ("queued", "running") else None)
    assert (told["state"], told["message"].splitlines()) == ("failed", [told["message"]])
    assert "apptainer or singularity is not on this machine" in told["message"]
    assert (site.call("GET", f"{place}/log").status_code, site.call("GET", f"{place}/log", site.keys["admin"]).status_code) == (401, 200)
    assert until(lambda: not list((tmp_path / "images").glob(".build-*")))  # it goes when the outcome is stored
    assert shutil.which("apptainer") is None


def test_a_builder_has_the_lock_before_it_runs(site: Site, tmp_path: Path) -> None:
    """So that those who ask while it starts, which takes a second or more, start no other."""
    broken_tool(tmp_path, f"until test -e {tmp_path}/seen; do /bin/sleep 0.05; done")
    order(site, {"recipe": RECIPE})
    with builder_lock(tmp_path / "images") as lock:
        (tmp_path / "seen").touch()
    assert lock is None
    assert until(lambda: site.call("GET", "/builds").json()["items"][0]["state"] == "failed")


def test_a_folder_that_cannot_be_written_takes_no_order(own_database: Path) -> None:
    """503 in one line that names the setting, as in a container whose file system is read-only; and nothing waits for ever."""
    with Site(own_database, images_dir="/proc/images") as site:
        answer = order(site, {"recipe": RECIPE})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (503, "MODAK_IMAGES_DIR")
        assert site.call("GET", "/builds").json()["items"] == []


def test_a_builder_whose_output_cannot_be_kept_takes_no_order(own_database: Path, tmp_path: Path) -> None:
    """As where somebody else's builder made that file: 503 with its name, and nothing waits for ever."""
    (tmp_path / "images" / OUTPUT).mkdir(parents=True)
    with Site(own_database, images_dir=str(tmp_path / "images")) as site:
        answer = site.call("POST", "/builds", site.keys["admin"], json={"recipe": RECIPE})
        assert (answer.status_code, OUTPUT in answer.json()["detail"]) == (503, True)
        assert site.call("GET", "/builds").json()["items"] == []


def test_a_look_at_all_builds_starts_a_builder_where_none_runs(site: Site, tmp_path: Path) -> None:
    """The list shows no build as waiting or running for which nobody is there."""
    broken_tool(tmp_path)
    with builder_lock(tmp_path / "images"):
        order(site, {"recipe": RECIPE})
    put_earlier(builds_of(site), PATIENCE)
    assert until(lambda: site.call("GET", "/builds").json()["items"][0]["state"] == "failed")


def test_a_build_whose_builder_died_is_cancelled(site: Site, tmp_path: Path) -> None:
    """By the next builder, which the cancel starts."""
    broken_tool(tmp_path)
    builds = builds_of(site)
    with builder_lock(tmp_path / "images"):
        place = order(site, {"recipe": RECIPE}).headers["location"]
        builds.claim({"host": platform.node(), "process": {"pid": 1, "started": -1}})
    put_earlier(builds, PATIENCE)
    site.call("DELETE", place, site.keys["admin"])
    assert until(lambda: builds.newest(1)[0].state == "cancelled")


def test_a_look_at_a_build_starts_no_builder_where_none_can_work(own_database: Path, tmp_path: Path) -> None:
    """A build that others ordered elsewhere is shown where the folder of images cannot be written."""
    with builder_lock(tmp_path / "images"), Site(own_database, images_dir=str(tmp_path / "images")) as site:
        place = order(site, {"recipe": RECIPE}).headers["location"]
        put_earlier(builds_of(site), PATIENCE)
    with Site(own_database, images_dir="/proc/images") as site:
        assert site.call("GET", place).json()["state"] == "queued"


def test_an_unknown_build(site: Site) -> None:
    """404."""
    assert site.call("GET", "/builds/0").status_code == 404

"""Images and runtimes, as requests write them, and commands that start a container of their own."""

from __future__ import annotations

from typing import Any

import pytest

from modak.errors import RequestError
from modak.normalise import normalise
from tests.normalise.documents import job


def test_a_runtime_where_an_image_belongs_is_understood() -> None:
    """``application.container_runtime: singularity`` asks for the runtime, not for an image of that name."""
    found = normalise(job("application", container_runtime="singularity"))
    assert found.request.target.container_runtime == "singularity"
    assert found.request.application.container_runtime is None


def test_a_path_is_no_name_of_a_registry() -> None:
    """Only its error is told."""
    with pytest.raises(RequestError) as caught:
        normalise(job("application", container_runtime="/images/solver"))
    assert [fault.message for fault in caught.value.faults if "NAME.sif" in fault.message]
    assert caught.value.warnings == ()


def test_a_squashfs_file_is_an_image_by_each_of_its_endings() -> None:
    """``.sqsh`` as Enroot writes it is no repository of a registry."""
    images = [normalise(job("application", container_runtime=name)) for name in ("solver.sqfs", "solver.sqsh")]
    assert [(found.request.application.container_runtime, found.warnings) for found in images] == [("solver.sqfs", ()), ("solver.sqsh", ())]


def test_the_scheme_of_an_image_may_have_capitals() -> None:
    """Schemes are the same in any case."""
    found = normalise(job("application", container_runtime="Docker://site/solver:1"))
    assert found.request.application.container_runtime == "docker://site/solver:1"
    assert [warning.field for warning in found.warnings] == ["application.container_runtime"]


def test_how_a_long_image_is_read_is_told_by_its_scheme() -> None:
    """Messages hold the first characters of a value, which those of an image with its digest may not even name."""
    images = ("site/solver:1", f"site/solver@sha256:{'0' * 64}")
    messages = [normalise(job("application", container_runtime=image)).warnings[0].message for image in images]
    assert messages[0] == "'site/solver:1' is read as 'docker://site/solver:1'"
    assert messages[1] == f"'site/solver@sha256:{'0' * 19}… is read as docker://…"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("docker:modakopt/modak:tensorflow-2.1", "docker://modakopt/modak:tensorflow-2.1"),
        ("Library:me/tools/x:1", "library://me/tools/x:1"),
        ("docker:24.0", "docker://docker:24.0"),
        ("docker:5000/solver:1", "docker://docker:5000/solver:1"),
    ],
)
def test_the_slashes_after_a_scheme_may_be_missing(written: str, meant: str) -> None:
    """As in answers of the published service, unless it is a name with its tag, or a host with its port."""
    found = normalise(job("application", container_runtime=written))
    assert found.request.application.container_runtime == meant
    assert [warning.field for warning in found.warnings] == ["application.container_runtime"]


@pytest.mark.parametrize(
    ("key", "target", "runtime", "read"),
    [
        ("container_runtime", {}, "apptainer", "read as target.container_runtime"),
        ("container_runtime", {"container_runtime": None}, "apptainer", "read as target.container_runtime"),
        ("container-runtime", {"Container-Runtime": " "}, "apptainer", "read as target.container_runtime"),
        ("container_runtime", {"Container-Runtime": "sarus"}, "sarus", "ignored, because target.Container-Runtime is given, too"),
    ],
)
def test_a_runtime_in_place_of_an_image_is_that_of_the_target(key: str, target: dict[str, Any], runtime: str, read: str) -> None:
    """Unless the target has one of its own; the warning says which holds."""
    found = normalise({"job": {"application": {"executable": "a", key: "apptainer"}, "target": target}})
    assert (found.request.application.container_runtime, found.request.target.container_runtime) == (None, runtime)
    told = [warning.message for warning in found.warnings if warning.field == f"application.{key}"]
    assert told == [f"'apptainer' is a runtime, not an image: {read}"]


@pytest.mark.parametrize(("command", "runtime"), [("ch-run", "charliecloud"), ("pyxis", "enroot")])
def test_a_runtime_in_place_of_an_image_may_be_called_by_its_command(command: str, runtime: str) -> None:
    """It is no image of that name in a registry."""
    found = normalise({"job": {"application": {"executable": "a", "container_runtime": command}}})
    assert (found.request.application.container_runtime, found.request.target.container_runtime) == (None, runtime)


@pytest.mark.parametrize(
    ("executable", "document", "runtime"),
    [
        ("singularity exec own.sif python3 train.py", {}, "none"),
        ("env A=1 ch-run ./own -- ./solver", {}, "none"),
        ("mpirun -np 4 apptainer exec own.sif ./solver", {}, "none"),
        ("time -p apptainer exec own.sif ./solver", {}, "none"),
        ("sh -c 'cd case && singularity exec own.sif ./solver <in'", {}, "none"),
        ("ionice -c none ./solver", {}, None),
        ("nohup ./solver apptainer", {}, None),
        ("singularity exec own.sif ./solver", {"target": {"container_runtime": "apptainer"}}, "apptainer"),
        ("singularity exec own.sif ./solver", {"application": {"container_runtime": "other.sif"}}, None),
        ("./solver --apptainer", {}, None),
    ],
)
def test_a_command_that_starts_a_container_needs_none_around_it(executable: str, document: dict[str, Any], runtime: str | None) -> None:
    """In an image of the catalogue there is no program that starts its image."""
    job = {**document, "application": {"executable": executable, **document.get("application", {})}}
    assert normalise({"job": job}).request.target.container_runtime == runtime


def test_a_container_of_the_commands_own_is_told_to_be_one() -> None:
    """With what to write for one that the script starts, and checks."""
    (warning,) = normalise({"job": {"application": {"executable": "apptainer exec own.sif ./solver"}}}).warnings
    assert warning.message.startswith(
        "apptainer starts the container: read as target.container_runtime 'none'; to have the script start it"
    )

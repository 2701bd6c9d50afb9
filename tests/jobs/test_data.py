"""Where a job's data lies: the storage class of the request, of the image, or the common one."""

from __future__ import annotations

from typing import Any

import pytest

from modak.dsl import Plan, Texts
from modak.facts import Facts, FileSystem, Image, ImageLabels, Node, RuntimePolicy
from modak.normalise import normalise
from modak.optimise import optimise
from tests.systems import site

PLACES = (
    FileSystem(name="home", kind="nfs", storage_class="default-common", path="/common"),
    FileSystem(name="work", kind="lustre", storage_class="default-high", path="/work"),
    FileSystem(name="disk", kind="local-ssd", storage_class="default-ssd", path="/disk"),
)


def planned(
    image_wants: Any = None, workload: Any = None, places: Any = PLACES, data: Any = None, nodes: Any = 1, **application: Any
) -> tuple[Plan, Texts]:
    """The plan of a training job on a system with some storage, in the one image of the catalogue."""
    system = site(Node(processor="any", sockets=1, cores=4), runtimes=(RuntimePolicy(name="apptainer"),), filesystems=places)
    labels = ImageLabels(framework="pytorch", version="2.8.0", source="hub", python="3.11")
    image = Image(reference="docker://pytorch/pytorch:2.8.0", labels=labels, storage_class=image_wants, source="these tests")
    job = {
        "target": {"name": "site"},
        "application": {"executable": "python3 train.py", "app_type": "python", **application},
        "job_options": {"node_count": nodes},
        "optimisation": {
            "app_type": "ai_training",
            "ai_training": {"pytorch": {"version": "2.8"}, "data": data or {}},
            "workload": workload or {},
        },
    }
    read = normalise({"job": job})
    answer = optimise(read.request, Facts(version="1", systems={"site": system}, images=(image,)), read.warnings)
    return answer.plan, answer.texts


def storage_of(texts: Texts) -> str | None:
    """What the script exports."""
    lines = [line for line in texts.job_script.splitlines() if line.startswith("export MODAK_STORAGE=")]
    return lines[0].removeprefix("export MODAK_STORAGE=") if lines else None


@pytest.mark.parametrize(
    "application",
    [
        {"checkpoint": "touch ${MODAK_STORAGE}/stop"},
        {"stage_in": [{"from": "${MODAK_STORAGE}/mesh", "to": "mesh"}]},
        {"stage_out": [{"from": "out", "to": "${MODAK_STORAGE}/out"}]},
        {"metric_file": "${MODAK_STORAGE}/log"},
    ],
)
def test_whatever_names_the_storage_gets_the_common_class(application: dict[str, Any]) -> None:
    """The script would stop where it reads a variable that nothing sets."""
    assert storage_of(planned(**application)[1]) == "/common"


def test_a_log_file_in_the_jobs_own_directory_has_one_without_any_data_to_copy() -> None:
    """The script would stop where it reads a variable that nothing sets."""
    metric = {"name": "rate", "unit": "1/s", "pattern": "rate: ([0-9.]+)"}
    _, texts = planned(workload={"metric": metric}, app_tag="net", metric_file="${MODAK_SCRATCH}/log")
    assert texts.job_script.index("export MODAK_SCRATCH=") < texts.job_script.index("MODAK_LOG=")


@pytest.mark.parametrize(
    ("image_wants", "asked", "place", "why"),
    [
        ("default-ssd", "default-high", "/work", "as requested"),
        ("default-ssd", None, "/disk", "as docker://pytorch/pytorch:2.8.0 requires"),
        ("default-ultra_high", None, "/common", "the common class, because the system has no default-ultra_high"),
    ],
)
def test_the_request_goes_before_the_image_and_that_before_the_common_place(
    image_wants: str, asked: str | None, place: str, why: str
) -> None:
    """And the plan says why."""
    plan, texts = planned(image_wants, **({"storage_class_pref": asked} if asked else {}))
    assert storage_of(texts) == place
    assert any(line.startswith("storage: ") and line.endswith(why) for line in plan.decisions), plan.decisions


def test_a_place_that_nobody_asks_for_is_not_exported() -> None:
    """Nor looked for; a command that names it gets the common one."""
    assert storage_of(planned()[1]) is None
    assert storage_of(planned(executable="python3 train.py --data ${MODAK_STORAGE}")[1]) == "/common"


@pytest.mark.parametrize("wants", [{}, {"storage_class_pref": "default-high"}])
def test_a_command_that_names_a_storage_that_is_not_known_is_answered(wants: dict[str, Any]) -> None:
    """The script will stop there, whether or not a class was requested."""
    plan, texts = planned(places=(), stage_in=[{"from": "${MODAK_STORAGE}/mesh", "to": "mesh"}], **wants)
    assert storage_of(texts) is None
    (warning,) = [each for each in plan.warnings if each.field == "application.storage_class_pref"]
    assert "known: none; ${MODAK_STORAGE} has no value: the job will stop there" in warning.message


def test_a_class_that_the_system_does_not_have_is_answered_with_those_that_it_has() -> None:
    """A warning; the script does without."""
    plan, texts = planned(storage_class_pref="default-ultra_high")
    assert storage_of(texts) is None
    assert any("known: default-common, default-high, default-ssd" in warning.message for warning in plan.warnings)


def test_a_class_without_a_path_is_not_among_the_known_ones() -> None:
    """A system file may give its capacity alone; or a path, and no class."""
    archive = FileSystem(name="archive", kind="gpfs", storage_class="default-ultra_high", capacity_tb=100)
    tape = FileSystem(name="tape", kind="gpfs", path="/tape")
    plan, _ = planned(places=(*PLACES, archive, tape), storage_class_pref="default-ultra_high")
    assert any(warning.message.endswith("known: default-common, default-high, default-ssd") for warning in plan.warnings)


def test_a_class_that_only_the_image_prefers_is_not_missed() -> None:
    """The user has asked for nothing."""
    plan, texts = planned("default-ssd", places=())
    assert storage_of(texts) is None
    assert not any(warning.field == "application.storage_class_pref" for warning in plan.warnings)


def test_a_place_that_each_user_has_in_a_variable_is_read_by_the_script() -> None:
    """Where the script runs."""
    scratch = FileSystem(name="scratch", kind="gpfs", storage_class="default-common", path_variable="SCRATCH")
    _, texts = planned(places=(scratch,), executable="python3 train.py --data ${MODAK_STORAGE}")
    assert storage_of(texts) == '"${SCRATCH:?}"'


@pytest.mark.parametrize(
    ("wants", "place", "stripes"), [("default-high", "/work/modak-", "setstripe -c 4 "), ("default-ssd", "/disk/modak-", "")]
)
def test_data_is_staged_into_the_preferred_place(wants: str, place: str, stripes: str) -> None:
    """Striped where that is Lustre."""
    text = planned(wants, stage_in=[{"from": "/data/train.tar", "to": "train", "unpack": True}])[1].job_script
    assert f"MODAK_SCRATCH={place}" in text
    assert ("setstripe" in text, stripes in text) == (bool(stripes), True)
    assert "\nmodak_unpack /data/train.tar train ||\n" in text


@pytest.mark.parametrize(("wants", "each"), [("default-high", False), ("default-ssd", True), (None, True)])
def test_the_directory_is_made_on_each_node_unless_all_share_it(wants: str | None, each: bool) -> None:
    """What one node copied to its own disk, the ranks of the others would not find."""
    text = planned(wants, nodes=2, stage_in=[{"from": "/data/train.tar", "to": "train"}])[1].job_script
    assert ("modak_each mkdir " in text) == each


@pytest.mark.parametrize(
    ("data", "stripes"), [({"size_bytes": 10**9, "files": 2000}, 1), ({"size_bytes": 10**9, "files": 500}, 4), ({"files": 2000}, 4)]
)
def test_small_files_get_one_stripe(data: dict[str, int], stripes: int) -> None:
    """A gigabyte in 2000 files has half a megabyte in each: more stripes than one would only cost requests to more servers."""
    stage_in = [{"from": "/data/train.tar", "to": "train", "unpack": True}]
    text = planned("default-high", data=data, stage_in=stage_in)[1].job_script
    assert f"lfs setstripe -c {stripes} " in text


@pytest.mark.parametrize(
    ("unit", "workload", "amount"),
    [
        ("images/s", {"samples": 1000, "epochs": 20}, '"params.amount": "20000 samples"'),
        ("images/s", {"samples": 1000}, '"params.amount": "1000 samples"'),
        ("ns/day", {"amount": "0.5 us"}, '"params.amount": "0.5 us"'),
        ("images/s", {"epochs": 20}, None),
        ("s", {"amount": "0.5 us"}, None),
        (None, {"samples": 1000, "epochs": 20}, '"params.amount": "20000 samples"'),
        (None, {"samples": 1000, "steps": 20}, None),
    ],
)
def test_a_job_that_prints_a_rate_or_nothing_says_how_much_it_did(unit: str | None, workload: dict[str, Any], amount: str | None) -> None:
    """In what the rate counts: by it start-up is told from work, and the time of a run is compared with rates."""
    printed = {"metric": {"name": "throughput" if "/s" in unit else "pace", "unit": unit, "pattern": "rate: ([0-9.]+)"}} if unit else {}
    texts = planned(workload={"application": "net", **printed, **workload})[1]
    record = next(line for line in texts.job_script.splitlines() if line.startswith("MODAK_RECORD="))
    assert (amount in record) if amount else ("params.amount" not in record)


def test_a_length_is_recorded_with_all_its_digits() -> None:
    """Rounded steps would be those of another run."""
    texts = planned(workload={"application": "net", "steps": 1234567})[1]
    assert '"params.steps": "1234567"' in texts.job_script


@pytest.mark.parametrize(
    ("preferred", "size", "disk", "where", "has"),
    [
        (None, 400, None, "TMPDIR", "96 GB of memory, and no local storage is recorded"),
        (None, 400, 200, "TMPDIR", "200 GB of local storage"),
        (None, 400, 500, "", ""),
        ("default-ssd", 400, 200, "/disk", "200 GB of local storage"),
        ("default-ssd", 400, None, "", ""),
        ("default-high", 400, 200, "", ""),
        (None, 40, None, "", ""),
    ],
)
def test_a_data_set_that_no_node_has_room_for_is_said(preferred: str | None, size: int, disk: float | None, where: str, has: str) -> None:
    """Copying it would fill a node's disk or memory, and the job fail after that."""
    system = site(Node(processor="any", sockets=1, cores=4, memory_gb=96, local_storage_gb=disk), filesystems=PLACES)
    copies = {"stage_in": [{"from": "/data/big", "to": "big"}], "storage_class_pref": preferred}
    wanted = {"app_type": "hpc", "hpc": {"mpi": {}, "data": {"size_bytes": f"{size} GB"}}}
    job = {"target": {"name": "site"}, "application": {"executable": "./a", **copies}, "optimisation": wanted}
    found = optimise(normalise({"job": job}).request, Facts(version="1", systems={"site": system})).plan.warnings
    said = [one.message.partition("; ")[0] for one in found if one.field == "application.stage_in"]
    copied = f"the data set has {size} GB, but is copied to {where} on the nodes, and a node of site has {has}"
    assert said == [copied] * bool(has)


def test_a_directory_that_only_a_shell_of_the_request_names_is_made() -> None:
    """Unset, it would be the root of the file system."""
    _, texts = planned(app_tag="net", **{"pre-execution": "sh -c 'rm -rf $MODAK_SCRATCH/old'"})
    assert "export MODAK_SCRATCH=" in texts.job_script

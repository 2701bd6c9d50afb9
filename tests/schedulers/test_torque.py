"""Torque's header: each field in qsub's own words, or a warning that names Torque's limit."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from modak.facts import Node
from modak.jobs.spec import Attributes, JobSpec
from modak.schedulers.torque import Torque
from tests.schedulers.headers import BARE, sized, wrote
from tests.systems import site

SITE = site(Node(processor="xeon", sockets=2, cores=20), nodes=5, scheduler="torque")


def header(job: JobSpec = BARE, **attributes: Any) -> list[str]:
    """Options beyond those that every job has."""
    return [option for option in wrote("torque", job, **attributes)[0] if option not in ("-S /bin/bash", "-N solver", "-l nodes=1:ppn=1")]


def warned(job: JobSpec = BARE, **attributes: Any) -> list[str]:
    """Fields that a warning names."""
    return wrote("torque", job, **attributes)[1]


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ({}, []),
        ({"account": "project"}, ["-A project"]),
        ({"queue": "ssd"}, ["-q ssd"]),
        ({"partition": "ssd"}, ["-q ssd"]),
        ({"wall_time_s": 90}, ["-l walltime=00:01:30"]),
        ({"wall_time_s": 30 * 3600}, ["-l walltime=30:00:00"]),
        ({"wall_time_s": 100 * 86400}, ["-l walltime=2400:00:00"]),
        ({"constraint": "ssd&fast"}, ["-l nodes=1:ppn=1:ssd:fast"]),
        ({"node_list": "n07"}, ["-l nodes=n07:ppn=1"]),
        ({"array": "0-99%10"}, ["-t 0-99%10"]),
        ({"array": "1,5,0-8:4%2"}, ["-t 1,5,0,4,8%2"]),
        ({"array": "1-8:2"}, ["-t 1,3,5,7"]),
        ({"array": "0-1998:2"}, ["-t " + ",".join(map(str, range(0, 2000, 2)))]),
        ({"output": "x.out"}, ["-o x.out"]),
        ({"error": "x.err"}, ["-e x.err"]),
        ({"join": True}, ["-j oe"]),
        ({"join": False}, []),
        ({"notify": ("fail", "begin", "end")}, ["-m abe"]),
        ({"notify": ("end",)}, ["-m e"]),
        ({"notify": ("none",)}, ["-m n"]),
        ({"notify": ("none", "end")}, ["-m e"]),
        ({"email": "a@b.de"}, ["-M a@b.de"]),
        ({"dependency": "afterok:1:2,afterany:3"}, ["-W depend=afterok:1:2,afterany:3"]),
        ({"dependency": "afterok:1:2[],after:3[].pbs"}, ["-W depend=afterok:1,afterokarray:2[],afterstartarray:3[].pbs"]),
        ({"dependency": "afteranyarray:7[][5]"}, ["-W depend=afteranyarray:7[][5]"]),
        ({"begin": "2026-12-24T18:00"}, ["-a 202612241800"]),
        ({"begin": "18:00:30"}, ["-a 1800.30"]),
        ({"exclusive": True}, ["-n"]),
        ({"copy_environment": True}, ["-V"]),
        ({"copy_environment": False}, []),
        ({"copy_variables": ("A", "B")}, ["-v A,B"]),
    ],
)
def test_a_field_gives_its_option(said: dict[str, Any], options: list[str]) -> None:
    """And nothing else; nothing to warn about."""
    assert header(**said) == options
    assert warned(**said) == []


@pytest.mark.parametrize(
    ("resources", "options"),
    [
        ({"nodes": 3, "ranks_per_node": 4, "cores_per_rank": 5}, ["-l nodes=3:ppn=20"]),
        ({"cores_per_rank": 20, "gpus_per_node": 1}, ["-l nodes=1:ppn=20:gpus=1"]),
        ({"memory_per_node": 2**30}, ["-l mem=1024mb"]),
        ({"memory_per_core": 2**30}, ["-l pmem=1024mb"]),
        ({"numa_constraint": "numa4"}, ["-l nodes=1:ppn=1:numa4"]),
    ],
)
def test_a_size_gives_its_resource(resources: dict[str, Any], options: list[str]) -> None:
    """``ppn`` counts the cores of the job on a node."""
    assert header(sized(**resources)) == options
    assert warned(sized(**resources)) == []


def test_named_nodes_stand_one_by_one() -> None:
    """With what each of them gives."""
    job = sized(nodes=3, cores_per_rank=8, gpus_per_node=2)
    assert header(job, node_list="n[01-02],m7") == ["-l nodes=n01:ppn=8:gpus=2+n02:ppn=8:gpus=2+m7:ppn=8:gpus=2"]
    assert warned(job, node_list="n[01-02]") == ["request_specific_nodes"]


@pytest.mark.parametrize(
    ("said", "left_out", "field"),
    [
        ({"notify": ("end", "time_limit")}, "time_limit", "request_event_notification"),
        ({"output": "%x.out"}, "-o", "standard_output_file"),
        ({"error": "e-%j"}, "-e", "standard_error_file"),
        ({"queue": "a", "partition": "b"}, "-q b", "partition"),
        ({"constraint": "a|b"}, "a|b", "architecture_constraint"),
        ({"constraint": "a", "node_list": "n1"}, ":a", "architecture_constraint"),
        ({"array": "0-2000:2"}, "-t", "job_array"),
        ({"dependency": "singleton"}, "-W", "job_dependency"),
        ({"dependency": "afterok:1,singleton"}, "-W", "job_dependency"),
        ({"dependency": "afterok:1[],singleton"}, "-W", "job_dependency"),
        ({"dependency": "afterok:1?afterany:2"}, "-W", "job_dependency"),
        ({"begin": "now+2hours"}, "-a", "defer_job"),
        ({"join": True, "error": "x.err"}, "-e", "standard_error_file"),
    ],
)
def test_what_torque_cannot_say_is_left_out_with_a_warning(said: dict[str, Any], left_out: str, field: str) -> None:
    """It names the field."""
    assert not any(left_out in line for line in header(**said))
    assert warned(**said) == [field]


@pytest.mark.parametrize(("mode", "nodes"), [("numa4|numa8", None), ("numa4", "n1")])
def test_a_numa_mode_that_torque_cannot_ask_for_is_left_out_with_a_warning(mode: str, nodes: str | None) -> None:
    """One of several, or of nodes that are named."""
    job = sized(numa_constraint=mode)
    assert not any("numa" in line for line in header(job, node_list=nodes))
    assert warned(job, node_list=nodes) == ["architecture_constraint"]


@pytest.mark.parametrize(("asked", "words"), [({"qos": "high"}, "qos=high"), ({"reservation": "course"}, "advres=course")])
def test_where_moab_schedules_its_own_words_are_told(asked: dict[str, Any], words: str) -> None:
    """Torque passes on what ``site_resources`` names."""
    (warning,) = Torque().directives(replace(BARE, attributes=Attributes(name="solver", **asked))).warnings
    assert warning.message.endswith(f"where Moab schedules, name it in site_resources, for instance {words}")


def test_an_array_of_millions_is_counted_and_not_written_out() -> None:
    """Its text is short, and anybody may send it to the service."""
    tracemalloc.start()
    try:
        assert Torque().array(",".join(["0-9999999:2"] * 20)) is None
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_long_name_is_kept_with_a_warning_and_a_name_gets_a_letter_first() -> None:
    """Old versions take 15 characters; all want a letter."""
    long = Torque().directives(replace(BARE, attributes=Attributes(name="a-name-of-16-now")))
    assert long.options[1] == ("-N", "a-name-of-16-now")
    assert [warning.field for warning in long.warnings] == ["job_options.job_name"]
    digit = Torque().directives(replace(BARE, attributes=Attributes(name="3dgan-epochs-20")))
    assert digit.options[1] == ("-N", "j3dgan-epochs-20")
    assert [warning.field for warning in digit.warnings] == ["job_options.job_name"]


def test_memory_of_several_nodes_is_left_out_with_a_warning() -> None:
    """Torque's mem holds for one node."""
    assert header(sized(nodes=2, memory_per_node=10**9)) == ["-l nodes=2:ppn=1"]
    assert warned(sized(nodes=2, memory_per_node=10**9)) == ["memory_limit"]


@pytest.mark.parametrize(
    ("policy", "said", "options", "fields"),
    [
        ("ALL", {}, ["-V"], []),
        ("ALL", {"copy_environment": False}, ["-V"], ["copy_environment"]),
        ("NONE", {"copy_environment": True}, [], ["copy_environment"]),
        ("NONE", {"copy_variables": ("A",)}, ["-v A"], []),
        ("site", {"copy_environment": True}, ["-V"], []),
    ],
)
def test_the_sites_policy_on_the_environment_holds(policy: str, said: dict[str, Any], options: list[str], fields: list[str]) -> None:
    """What the request wanted beyond it is answered with a warning."""
    job = replace(BARE, system=SITE.model_copy(update={"export_policy": policy}))
    assert header(job, **said) == options
    assert warned(job, **said) == fields


def test_what_the_site_wants_leaves_other_resources_alone() -> None:
    """``-l`` is a list: one entry replaces its like, not the others."""
    site = SITE.model_copy(update={"mandatory_directives": ("-l naccesspolicy=singlejob", "-l walltime=01:00:00")})
    assert header(replace(BARE, system=site), wall_time_s=60) == ["-l naccesspolicy=singlejob", "-l walltime=01:00:00"]

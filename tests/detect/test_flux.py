"""Queues and nodes of Flux, as its commands show them.

The formats, of nodes that do not exist: Flux RFC 20 (R) and RFC 33 (queues), the manual pages flux-config-policy(5) and
flux-config-queues(5); ``flux queue status`` by flux-core's issue 5990.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from modak.detected import Description, flux
from modak.detected.seen import Cluster, GpuCount, SeenPartition
from modak.errors import DataError
from tests.detect.told import XEON, answers, partition, seen

R: Mapping[str, Any] = {
    "R_lite": [{"rank": "1-6", "children": {"core": "0-39"}}, {"rank": "8,10", "children": {"core": "0-39", "gpu": "0-3"}}],
    "nodelist": ["c[1-6]", "g[08-09]"],
    "properties": {"debug": "1-2", "batch": "3-10", "big": "8,10"},
    "starttime": 0.0,
    "expiration": 0.0,
}
CONFIG: Mapping[str, Any] = {
    "queues": {
        "debug": {"requires": ["debug"], "policy": {"limits": {"duration": "30m", "job-size": {"max": {"nnodes": -1}}}}},
        "batch": {"requires": ["batch", "^big"], "policy": {"limits": {"duration": "1.5d", "job-size": {"min": {"nnodes": 2}}}}},
        "gpu": {"requires": ["big"], "policy": {"limits": {"duration": "0", "job-size": {"max": {"ngpus": 8, "ncores": 80}}}}},
        "expedite": {"parent": "debug", "policy": {"limits": {"duration": "2h"}}},
    },
    "policy": {
        "jobspec": {"defaults": {"system": {"queue": "batch", "duration": "1h"}}},
        "limits": {"duration": "4h", "job-size": {"max": {"nnodes": 3}}},
    },
}
STATUS = (
    "debug: Job submission is enabled\ndebug: Scheduling is started\n"
    "batch: Job submission is enabled\nbatch: Scheduling is stopped: maintenance\n"
    "gpu: Job submission is disabled: no GPUs today\ngpu: Scheduling is started\n"
)


def told(execution: object = R, config: object = CONFIG, status: str = "") -> Cluster:
    """What the commands say."""
    given = {"flux_resource": json.dumps({"version": 1, "execution": execution}), "flux_config": json.dumps(config), "flux_queue": status}
    found = flux.cluster(answers({}, **given))
    assert found
    return found


def queues(**given: Any) -> dict[str, SeenPartition]:
    """The queues by name."""
    return {one.name: one for one in told(**given).partitions}


def test_flux_has_nodes_with_cores_gpus_and_properties() -> None:
    """Names are listed in the order of the ranks; a queue has the nodes that it requires, one with a parent those of its parent."""
    nodes = told().nodes
    assert [(node.name, node.cpus, node.gpus, node.partitions) for node in (nodes[0], nodes[2], nodes[6], nodes[7])] == [
        ("c1", 40, (), ("debug", "expedite")),
        ("c3", 40, (), ("batch",)),
        ("g08", 40, (GpuCount(None, 4),), ("gpu",)),
        ("g09", 40, (GpuCount(None, 4),), ("gpu",)),
    ]
    assert (len(nodes), nodes[7].features) == (8, ("batch", "big"))


def test_queues_of_flux_have_limits() -> None:
    """Of what a queue does not say, those of its parent, then those of all queues; -1 and 0 mean that there is none."""
    limits = {name: (one.min_nodes, one.max_nodes, one.max_cpus, one.max_gpus, one.max_wall_time_s) for name, one in queues().items()}
    assert limits == {
        "debug": (None, None, None, None, 1800),
        "batch": (2, 3, None, None, 129600),
        "gpu": (None, 3, 80, 8, None),
        "expedite": (None, None, None, None, 7200),
    }
    assert {one.default_wall_time_s for one in queues().values()} == {3600}
    assert [name for name, one in queues().items() if one.default] == ["batch"]


def test_queues_of_flux_that_start_nothing_are_closed() -> None:
    """Neither those that take no jobs nor those that start none."""
    closed = {name: one.closed for name, one in queues(status=STATUS).items() if one.closed}
    assert closed == {"batch": "Scheduling is stopped: maintenance", "gpu": "Job submission is disabled: no GPUs today"}


@pytest.mark.parametrize(("policy", "whole"), [("lonodex", True), ("firstnodex", True), ("first", False), (None, None)])
def test_jobs_get_whole_nodes_by_the_match_policy(policy: str | None, whole: bool | None) -> None:
    """Fluxion's, whose names say so; another scheduler tells nothing."""
    config = {**CONFIG, "sched-fluxion-resource": {"match-policy": policy} if policy else {}}
    assert {one.whole_nodes for one in queues(config=config).values()} == {whole}


def test_flux_without_queues_has_one_for_all_nodes() -> None:
    """The default one, which scripts do not name, with the limits of all jobs."""
    found = queues(config={"policy": CONFIG["policy"]}, status="Job submission is enabled\nScheduling is stopped\n")
    assert [(name, one.default, one.max_nodes, one.closed) for name, one in found.items()] == [
        ("default", True, 3, "Scheduling is stopped")
    ]
    assert {node.partitions for node in told(config={}).nodes} == {("default",)}


def test_a_configuration_that_is_not_shown_is_told() -> None:
    """All nodes are then one partition, which may not be true."""
    found = seen(XEON, "c1", flux_resource=json.dumps({"execution": R}))
    assert any("flux config get did not answer" in note for note in found.notes)


def described(host: str, cores: str = "0-39") -> Description:
    """The system, seen from a host."""
    listed = json.dumps({"execution": R}).replace("0-39", cores)
    return seen(XEON, host, flux_resource=listed, flux_config=json.dumps(CONFIG))


def test_a_cluster_of_flux_is_a_system() -> None:
    """Its CPUs are cores: nodes with as many as this machine has threads are not like it."""
    found = described("login1")
    assert (found.system.scheduler, found.system.cpu_unit, found.system.mandatory_directives) == ("flux", "core", ())
    assert [(one.name, one.nodes) for one in found.system.partitions] == [("debug", 2), ("batch", 4), ("gpu", 2), ("expedite", 2)]
    assert (partition(found, "batch").default, partition(found, "batch").features) == (True, ("batch",))
    with pytest.raises(DataError, match="are not like login1"):
        described("login1", "0-79")


def test_cores_that_flux_does_not_give_to_jobs_are_reserved() -> None:
    """Of this machine, which has more."""
    assert partition(described("c1", "2-39"), "debug").node.reserved_cores == 2


@pytest.mark.parametrize(
    "execution",
    [
        [],
        {"R_lite": "0-3"},
        {"R_lite": [{"rank": "0-99999999", "children": {}}]},
        {"R_lite": [{"rank": "0-9999999", "children": {"core": "0"}}], "nodelist": ["c[0-9999999]"]},
        {"R_lite": [{"rank": "0-131071", "children": {"core": "0"}}] * 2},
        {"R_lite": [{"rank": "0-9999999,9999999-0", "children": {"core": "0"}}]},
        {"R_lite": [{"rank": 3, "children": {"core": "0"}}, 7], "nodelist": "c3"},
    ],
)
def test_what_is_no_set_of_resources_is_no_flux(execution: object) -> None:
    """Nor is one with more ranks than any machine has."""
    assert flux.cluster(answers({}, flux_resource=json.dumps({"execution": execution}))) is None


@pytest.mark.parametrize("text", ["", "flux: error", "[" * 100_000, "7"])
def test_without_resources_there_is_no_flux(text: str) -> None:
    """Another program of that name says something else."""
    assert flux.cluster(answers({}, flux_resource=text)) is None


def test_nodes_whose_names_are_not_read_have_their_ranks() -> None:
    """They are counted all the same."""
    assert [node.name for node in told({**R, "nodelist": ["c[6-1]"]}).nodes][:2] == ["1", "2"]

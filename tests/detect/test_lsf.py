"""Queues and hosts of LSF, as its commands show them.

The formats of the recorded outputs, of hosts that do not exist: ``lshosts -gpu``, ``bhosts`` and ``bqueues`` of IBM Spectrum LSF 10.1's
command reference; limits on one line by the printf calls of OpenLava's ``bqueues`` (``prtResourceLimit``), which stems from LSF 4; the
columns of ``lshosts -l`` by what other programs read in them.
"""

from __future__ import annotations

import pytest

from modak.detected import lsf
from modak.detected.seen import GpuCount, SeenPartition
from tests.detect.told import XEON, answers, partition, read, seen

LSF = {
    "lshosts": "lshosts-lsf.txt",
    "lshosts-gpu": "lshosts-gpu-lsf.txt",
    "bhosts": "bhosts-lsf.txt",
    "bqueues": "bqueues-lsf.txt",
    "bmgroup": "bmgroup-lsf.txt",
}
LSID = "IBM Spectrum LSF 10.1.0.13, Apr 15 2022\n\nMy cluster name is ridge\nMy master name is mgmt1\n"


def queues(**texts: str) -> dict[str, SeenPartition]:
    """The queues by name."""
    found = lsf.cluster(answers({key: file for key, file in LSF.items() if key not in texts}, **texts))
    assert found
    return {one.name: one for one in found.partitions}


def test_lsf_has_hosts_with_their_slots_and_gpus() -> None:
    """None are hosts that are down, which show no processors, that only submit jobs, or that have no slots."""
    found = lsf.cluster(answers(LSF, lsid=LSID))
    assert found
    assert found.name == "ridge"
    nodes = {node.name: node for node in found.nodes}
    assert [(name, node.cpus, node.partitions) for name, node in nodes.items()] == [
        ("c1", 40, ("debug", "normal", "inter", "old")),
        ("c2", 40, ("debug", "normal", "inter", "old")),
        ("c3", 36, ("inter", "old")),
        ("c4", 40, ("normal", "inter", "old")),
        ("g1", 40, ("gpu", "inter", "old")),
        ("g2", 40, ("gpu", "inter", "old")),
    ]
    first = nodes["c1"]
    assert (*first.topology, first.memory_gb, first.usable_memory_gb) == (2, 40, 2, 201.3, None)
    assert (nodes["c4"].features, nodes["c4"].memory_gb) == (("bigmem",), 810.1)
    assert (nodes["g1"].gpus, first.gpus) == ((GpuCount("Tesla V100 SXM2 16GB", 4),), ())


def test_queues_of_lsf_have_limits_of_time_and_slots() -> None:
    """A limit of one number is the most; of two and three, the first is the least; some versions write several limits on a line."""
    found = queues()
    assert [name for name, one in found.items() if one.default] == ["normal"]
    normal, debug = found["normal"], found["debug"]
    assert (normal.max_wall_time_s, normal.default_wall_time_s, normal.min_cpus, normal.max_cpus) == (86400, 3600, 2, 160)
    assert (debug.max_wall_time_s, debug.default_wall_time_s, debug.min_cpus, debug.max_cpus) == (1800, None, None, None)
    single = queues(bqueues=read(LSF["bqueues"]).replace("30.0 min\n", "30.0 min\n PROCLIMIT\n 80\n"))
    assert (single["debug"].min_cpus, single["debug"].max_cpus) == (None, 80)


def test_limits_without_defaults_have_no_title_in_old_versions() -> None:
    """They are the largest all the same, and those of the next queue are its own."""
    found = queues(bqueues=read(LSF["bqueues"]).replace("MAXIMUM LIMITS:\n RUNLIMIT\n 30.0", " RUNLIMIT                \n 30.0", 1))
    assert (found["debug"].max_wall_time_s, found["normal"].max_wall_time_s) == (1800, 86400)


def test_queues_of_lsf_that_run_no_scripts_are_closed() -> None:
    """Those outside their hours will."""
    closed = {name: one.closed for name, one in queues().items() if one.closed}
    assert closed == {"inter": "it takes interactive jobs only", "old": "it is Closed:Active"}
    assert queues(bqueues=read(LSF["bqueues"]).replace("Open:Inact_Win ", "Open:Inact_Adm "))["gpu"].closed == "it is Open:Inact_Adm"
    assert queues(bqueues=read(LSF["bqueues"]).replace("STATUS  ", "XSTATUS "))["old"].closed == ""


def test_a_queue_of_some_users_says_whose_it_is() -> None:
    """The system file has no field for users."""
    found = queues()
    assert (found["gpu"].restricted, found["gpu"].conditions) == (True, ("USERS: chem/ ai",))
    assert (found["normal"].restricted, found["normal"].conditions) == (False, ())


def test_a_cluster_of_lsf_is_a_system() -> None:
    """With GPUs by LSF's name of their model, and hosts of more memory by their Boolean resource."""
    found = seen({**LSF, **XEON}, "c1", lsid=LSID)
    assert (found.system.name, found.system.scheduler, found.system.cpu_unit) == ("ridge", "lsf", "core")
    assert [one.name for one in found.system.partitions] == ["debug", "normal", "normal-kind2", "gpu"]
    assert (partition(found, "normal").nodes, partition(found, "normal").max_nodes, partition(found, "normal").default) == (2, 4, True)
    assert (partition(found, "normal-kind2").queue, partition(found, "normal-kind2").constraint) == ("normal", "bigmem")
    assert (partition(found, "gpu").node.accelerator, partition(found, "gpu").node.accelerators) == ("v100-sxm2-16gb", 4)
    assert any("USERS: chem/ ai" in note for note in found.notes)


@pytest.mark.parametrize(
    ("hosts", "names"),
    [("all", {"c1", "g1"}), ("gpus/", {"g1"}), ("all ~gpus/", {"c1"}), ("c1+3 others+2", {"c1"}), ("none", set[str]())],
)
def test_hosts_of_a_queue(hosts: str, names: set[str]) -> None:
    """Names, groups and all; with preferences, and without some."""
    found = lsf.cluster(answers(LSF, bqueues=f"QUEUE: one\nHOSTS:  {hosts}\n"))
    assert found
    assert {node.name for node in found.nodes if node.partitions} & {"c1", "g1"} == names


def test_slots_that_are_threads_are_the_cpus() -> None:
    """Scripts then ask for as many slots as threads."""
    slots = read(LSF["bhosts"]).replace("     40 ", "     80 ")
    files = {key: file for key, file in LSF.items() if key != "bhosts"}
    assert seen({**files, **XEON}, "c1", bhosts=slots).system.cpu_unit == "thread"


@pytest.mark.parametrize("silent", ["lshosts", "bqueues", "bhosts"])
def test_without_queues_or_hosts_there_is_no_lsf(silent: str) -> None:
    """A command that fails leaves nothing to describe."""
    assert lsf.cluster(answers({key: file for key, file in LSF.items() if key != silent})) is None

"""Queues and nodes of OpenPBS and Torque, as their commands show them."""

from __future__ import annotations

import pytest

from modak.detected import UNASKED, pbs
from modak.facts import Queue
from tests.detect.told import OPENPBS, XEON, answers, partition, read, seen


def test_openpbs_has_queues_and_nodes() -> None:
    """A node bound to a queue serves that alone; what is disabled or routes is no partition."""
    found = seen({**OPENPBS, **XEON}, "n001")
    workq = partition(found, "workq")
    assert (found.system.scheduler, found.system.cpu_unit) == ("pbspro", "core")
    assert (workq.default, workq.nodes, workq.max_nodes, workq.max_wall_time_s, workq.default_wall_time_s) == (True, 2, 2, 172800, 3600)
    assert (workq.node.cores, workq.node.usable_memory_gb) == (40, 201.212297216)
    assert (partition(found, "gpuq").nodes, found.unnamed_gpus) == (1, {"gpuq": 2})
    assert {one.name for one in found.system.partitions} == {"workq", "gpuq"}


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("default_shared", "", False),
        ("ignore_excl", "default_shared", False),
        ("force_exclhost", "force_exclhost", True),
        ("default_exclhost", "", True),
        ("force_excl", "default_excl", True),
        ("force_exclhost", "default_shared", None),
        ("another", "", None),
    ],
)
def test_vnodes_say_whether_jobs_share_them(first: str, second: str, whole: bool | None) -> None:
    """All nodes of a queue that say it; a queue none of whose nodes does stays open, and so does Torque."""
    shown = read(OPENPBS["pbsnodes"]).replace("default_shared", first)
    if second:
        shown = shown.replace("resources_assigned.ncpus = 40", f"sharing = {second}")
    found = seen({**OPENPBS, **XEON}, "n001", pbsnodes=shown)
    assert [partition(found, name).whole_nodes for name in ("workq", "gpuq")] == [whole, None]
    torque = pbs.cluster(answers({"pbsnodes": "pbsnodes-torque.txt"}))
    assert torque
    assert {one.whole_nodes for one in torque.partitions} == {None}


def test_whole_vnodes_may_be_parts_of_a_host() -> None:
    """Whether a job gets all of them is not said then."""
    shown = read(OPENPBS["pbsnodes"]).replace("host = n002", "host = n001").replace("default_shared", "force_excl")
    cluster = pbs.cluster(answers({key: name for key, name in OPENPBS.items() if key != "pbsnodes"}, pbsnodes=shown))
    assert cluster
    assert {one.whole_nodes for one in cluster.partitions} == {None}


LIMITED_IN_PBS = ("resources_max.walltime", "resources_max.ncpus = 8\n    resources_min.ngpus = 1\n    resources_max.walltime")


def test_a_queue_of_pbs_limits_the_cpus_and_gpus_of_its_jobs() -> None:
    """PBS Pro rejects jobs beyond them; Torque counts processors otherwise."""
    found = seen({**OPENPBS, **XEON}, "n001", qstat=read(OPENPBS["qstat"]).replace(*LIMITED_IN_PBS))
    workq, gpuq = (partition(found, name) for name in ("workq", "gpuq"))
    assert (workq.node.usable_cores, workq.max_nodes, gpuq.queues[0].min_gpus) == (8, 1, 1)
    shown = read("qstat-torque.txt")
    torque = [pbs.cluster(answers({"pbsnodes": "pbsnodes-torque.txt"}, qstat=text)) for text in (shown, shown.replace(*LIMITED_IN_PBS))]
    assert torque[0] == torque[1]


def test_a_queue_of_torque_limits_the_processors_of_its_jobs() -> None:
    """Those of all nodes together: two nodes of 20, and three would be too many."""
    shown = read("qstat-torque.txt").replace("resources_max.walltime", "resources_max.procct = 50\n    resources_max.walltime")
    pbsnodes = read("pbsnodes-torque.txt") + read("pbsnodes-torque.txt").replace("t1", "t3").replace("t2", "t4")
    found = seen(XEON, "t1", pbsnodes=pbsnodes, qstat=shown.replace("resources_default.neednodes", "resources_min.procct = 8\n    none"))
    assert (partition(found, "batch").max_nodes, partition(found, "gpu").queues[0].min_cpus) == (2, 8)


def test_nodes_of_torque_of_one_kind_are_asked_for_by_their_property() -> None:
    """``nodes=1:ppn=4:gtx``: without it, the job may land on any node of the queue."""
    batch = partition(seen({"pbsnodes": "pbsnodes-torque.txt", "qstat": "qstat-torque.txt", **XEON}, "t1"), "batch")
    assert (batch.nodes, batch.constraint, batch.features) == (1, "gtx", ("gtx", "ib"))


def test_the_notes_on_a_cluster_of_pbs_are_about_it_alone() -> None:
    """Slurm's limits of nodes and memory mean something else, and what is entered as it is shown needs no note."""
    found = seen({**OPENPBS, **XEON}, "n001", qstat=read(OPENPBS["qstat"]).replace(*LIMITED_IN_PBS))
    enter = "jobs with GPUs are refused until 'accelerator' and 'accelerators = 2' are entered into its node, with a source"
    assert found.notes == (
        "partition gpuq: its nodes are taken to have the processors of n001, which has as many sockets, cores and threads",
        f"partition gpuq: 2 GPUs a node left out, the model is unknown; {enter}",
        "partition maint is left out: it is not enabled",
        UNASKED,
    )
    assert {one.citation for one in found.system.sources} == {
        f"{command} (2026-11-20){place}" for command, place in (("lscpu -J", ", on n001"), ("pbsnodes -a", ""), ("qstat -Qf", ""))
    }


def test_a_host_of_which_nothing_is_shown_changes_nothing() -> None:
    """As one that is down: the others say that this is not Torque."""
    hosts = f"{read(OPENPBS['pbsnodes'])}\nn009\n     Mom = n009.cluster\n     state = down\n"
    cluster = pbs.cluster(answers({key: name for key, name in OPENPBS.items() if key != "pbsnodes"}, pbsnodes=hosts))
    assert cluster
    assert cluster.scheduler == "pbspro"


def test_a_queue_of_pbs_for_jobs_of_at_least_one_cpu_takes_all() -> None:
    """Sites write such a limit; it is none."""
    shown = read(OPENPBS["qstat"]).replace(LIMITED_IN_PBS[0], f"resources_min.ncpus = 1\n    {LIMITED_IN_PBS[0]}")
    assert seen({**OPENPBS, **XEON}, "n001", qstat=shown).system == seen({**OPENPBS, **XEON}, "n001").system


ROUTED = """Queue: prod
    queue_type = Route
    route_destinations = small,large@pbs
    enabled = True
    started = True
Queue: large
    queue_type = Execution
    from_route_only = True
    resources_min.nodect = 2
    resources_min.walltime = 03:00:01
    resources_max.walltime = 24:00:00
    enabled = True
    started = True
Queue: small
    queue_type = Execution
    from_route_only = True
    resources_max.nodect = 1
    resources_max.walltime = 03:00:00
    enabled = True
    started = True
Queue: lab
    queue_type = Execution
    acl_group_enable = True
    enabled = True
    started = True
Queue: hidden
    queue_type = Execution
    from_route_only = True
    enabled = True
    started = True
"""


def test_queues_that_take_routed_jobs_only_are_asked_for_by_the_queue_that_routes() -> None:
    """PBS would refuse a job that names one of them; the first destination of the server's default queue is the default one."""
    server = "Server: pbs\n    default_queue = prod\n"
    found = seen({"pbsnodes": "pbsnodes-openpbs.txt", **XEON}, "n001", qstat=ROUTED, qstat_server=server)
    entries = [(one.name, one.queue, one.default, one.max_nodes, one.queues) for one in found.system.partitions]
    assert entries == [
        ("large", "prod", False, None, (Queue(name="prod", min_nodes=2, max_nodes=2),)),
        ("small", "prod", True, 1, ()),
        ("lab", None, False, None, ()),
    ]
    assert "partition hidden is left out: it takes jobs of a routing queue only, and no open one is shown" in found.notes
    for told in ("resources_min.walltime=03:00:01 (partition large)", "acl_group_enable=True (partition lab)"):
        assert any(note.startswith(told) for note in found.notes)


def test_a_default_queue_that_routes_no_jobs_is_the_default() -> None:
    """Others may route."""
    found = seen({"pbsnodes": "pbsnodes-openpbs.txt", **XEON}, "n001", qstat=ROUTED, qstat_server="Server: pbs\n    default_queue = lab\n")
    assert [one.name for one in found.system.partitions if one.default] == ["lab"]


def test_a_closed_queue_routes_no_jobs() -> None:
    """PBS refuses a job that names it; another queue may have the same destinations."""
    closed = "Queue: old\n    queue_type = Route\n    route_destinations = large\n    enabled = False\n    started = True\n"
    found = seen({"pbsnodes": "pbsnodes-openpbs.txt", **XEON}, "n001", qstat=closed + ROUTED)
    assert partition(found, "large").queue == "prod"


def test_torque_has_nodes_by_property() -> None:
    """A queue that asks for a property has the nodes that carry it; physical memory is not what jobs may use."""
    cluster = pbs.cluster(answers({"pbsnodes": "pbsnodes-torque.txt", "qstat": "qstat-torque.txt"}))
    assert cluster
    assert cluster.scheduler == "torque"
    first, second = cluster.nodes
    assert (first.partitions, second.partitions, first.gpus) == (("batch", "gpu"), ("batch",), ((None, 1),))
    assert (first.sockets, first.cores, first.threads_per_core, first.memory_gb, first.usable_memory_gb) == (2, 20, 1, 134.2, None)

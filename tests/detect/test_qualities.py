"""Slurm's qualities of service: which become queues, which limit a partition, and which are only noted."""

from __future__ import annotations

import re

import pytest

from modak.detected.drift import Drift, drift
from modak.facts import Partition, Queue
from tests.detect.told import MIXED, TWO_V100, XEON, partition, read, seen

QUALITIES = "normal|||\ndebug|00:10:00|node=1|\nlong|7-00:00:00||\nquickq|00:15:00|cpu=200,node=3|node=2\nbad name|00:01:00||\n"
"""What ``sacctmgr`` prints."""


def with_qualities(fields: str, qualities: str = QUALITIES) -> Partition:
    """The partition batch of the mixed cluster, with more fields, on a cluster with these qualities of service."""
    shown = read(MIXED["scontrol-partition"]).replace("MinNodes=0", fields, 1)
    files = {"scontrol-node": MIXED["scontrol-node"], **XEON}
    return partition(seen(files, scontrol_partition=shown.replace("QoS=N/A", "", 1), sacctmgr=qualities), "batch")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ("MinNodes=0", ["debug", "quickq"]),
        ("AllowQos=normal,debug,long", ["debug"]),
        ("DenyQos=debug", ["quickq"]),
        ("MinNodes=2", ["quickq"]),
        ("AllowQos=normal", []),
    ],
)
def test_qualities_of_service_with_narrower_limits_are_queues(fields: str, named: list[str]) -> None:
    """A job that names one is planned within them; others ask for the partition alone, which comes first."""
    queues = with_qualities(fields).queues
    assert [one.qos for one in queues] == ([None, *named] if named or "Min" in fields else [])
    if "debug" in named:
        assert queues[1] == Queue(name="batch", qos="debug", min_nodes=1, max_nodes=1, max_wall_time_s=600)


def test_a_quality_of_service_that_limits_cpus_is_a_queue() -> None:
    """Of whole nodes, of which each has 80."""
    shown = "medium||cpu=200|\n"
    found = seen({"scontrol-node": MIXED["scontrol-node"], "scontrol-partition": MIXED["scontrol-partition"], **XEON}, sacctmgr=shown)
    assert partition(found, "batch").queues[1:] == (Queue(name="batch", qos="medium", min_nodes=1, max_nodes=2, max_wall_time_s=86400),)


@pytest.mark.parametrize(
    ("limits", "queue"),
    [
        ("|cpu=20|", {"max_nodes": 1, "max_cpus": 20}),
        ("||cpu=20", {"max_nodes": 4, "min_cpus": 20}),
        ("||cpu=100", {"min_nodes": 2, "max_nodes": 4, "min_cpus": 100}),
        ("||gres/gpu=1", {"max_nodes": 4, "min_gpus": 1}),
        ("|cpu=4000|", None),
        ("|gres/gpu=1|", None),
        ("||cpu=1,node=1", None),
        ("|cpu=100|||cpu=20", {"max_nodes": 1, "max_cpus": 20}),
        ("||||cpu=20", {"max_nodes": 1, "max_cpus": 20}),
        ("|||||node=2,cpu=4000", {"max_nodes": 2}),
        ("||||||cpu=20,mem=1000M", {"max_nodes": 4, "max_cpus_per_node": 20, "max_memory_per_node_gb": 1.048576}),
        ("||||||cpu=80,mem=1T", None),
        ("|mem=100G|", {"max_nodes": 4, "max_memory_gb": 107.3741824}),
        ("|||mem=1000M|mem=500M|mem=2G", {"max_nodes": 4, "max_memory_gb": 0.524288}),
        ("|mem=9T|", None),
        ("||mem=1000M", {"max_nodes": 4, "min_memory_gb": 1.048576}),
        ("||mem=250G", {"min_nodes": 2, "max_nodes": 4, "min_memory_gb": 268.435456}),
    ],
)
def test_a_quality_of_service_limits_what_its_jobs_have(limits: str, queue: dict[str, float] | None) -> None:
    """Of nodes with 80 CPUs, 192 GB and no GPUs; one that limits nothing there is no queue. One job has no more than all jobs of its
    user, of its account and of all users may have."""
    shown = f"special|{limits}\n"
    found = seen({"scontrol-node": MIXED["scontrol-node"], "scontrol-partition": MIXED["scontrol-partition"], **XEON}, sacctmgr=shown)
    named = partition(found, "batch").queues[1:]
    assert named == ((Queue(name="batch", qos="special", max_wall_time_s=86400, **queue),) if queue else ())


@pytest.mark.parametrize(
    ("says", "field", "names"),
    [
        ("", "denied_qos", ("huge",)),
        ("DenyQos=low", "denied_qos", ("low", "huge")),
        ("AllowQos=Huge,lean", "allowed_qos", ("lean",)),
        ("AllowQos=huge", "allowed_qos", ("huge",)),
    ],
)
def test_a_partition_takes_no_jobs_of_a_quality_of_service_that_needs_more_than_it_has(
    says: str, field: str, names: tuple[str, ...]
) -> None:
    """Slurm would hold them for ever."""
    shown = read(MIXED["scontrol-partition"])
    shown = shown.replace("PartitionName=batch ", f"PartitionName=batch {says} ")
    files = {"scontrol-node": MIXED["scontrol-node"], **XEON}
    found = partition(seen(files, scontrol_partition=shown, sacctmgr="huge|||mem=900T\nlean||cpu=8|\nlow|||\n"), "batch")
    assert getattr(found, field) == names


def test_limits_that_a_node_with_gpus_reaches_anyway_are_not_entered() -> None:
    """Of GPUs no more than it has, and of memory none, as Slurm does not know how much there is."""
    nodes = read(MIXED["scontrol-node"]).replace("RealMemory=191000", "RealMemory=1")
    partitions = read(MIXED["scontrol-partition"]).replace("MaxMemPerNode=163840", "MaxMemPerNode=UNLIMITED")
    probes = {"gpu.v100": {**XEON, **TWO_V100}}
    limits = "small|||||||gres/gpu=2\nlarge|||mem=1000M||||gres/gpu=8\n"
    found = seen(XEON, scontrol_node=nodes, scontrol_partition=partitions, sacctmgr=limits, probes=probes)
    assert partition(found, "gpu.v100").queues == (
        Queue(name="gpu.v100", max_nodes=2),
        Queue(name="gpu.v100", qos="small", max_nodes=2, max_gpus_per_node=2),
    )


def test_the_least_memory_of_a_job_is_no_node_more() -> None:
    """Of amounts in MiB, the quotient of their GB may be a little more than a whole number."""
    nodes = re.sub("RealMemory=19[0-9]+", "RealMemory=1222", read(MIXED["scontrol-node"]))
    files = {"scontrol-partition": MIXED["scontrol-partition"], **XEON}
    found = partition(seen(files, scontrol_node=nodes, sacctmgr=f"roomy|||mem={3 * 1222}M\n"), "batch")
    assert [queue.min_nodes for queue in found.queues] == [1, 3]


@pytest.mark.parametrize(
    ("enforced", "queues"), [("none", 0), ("associations,qos", 0), ("associations,limits,qos,safe", 2), ("all", 2), (None, 2)]
)
def test_limits_that_slurm_does_not_keep_jobs_to_are_not_entered(enforced: str | None, queues: int) -> None:
    """Jobs beyond them run."""
    config = f"AccountingStorageEnforce = {enforced}\n" if enforced else ""
    files = {"scontrol-node": MIXED["scontrol-node"], "scontrol-partition": MIXED["scontrol-partition"], **XEON}
    found = seen(files, scontrol_config=config, sacctmgr="lean||mem=100G,license/ansys=2|\n")
    assert len(partition(found, "batch").queues) == queues
    assert any("license/ansys=2" in note for note in found.notes) == bool(queues)


@pytest.mark.parametrize(
    ("limits", "noted"),
    [("|||gres/gpu=0", "MaxTRESPU gres/gpu=0"), ("|cpu=8,mem=0|", "MaxTRES mem=0"), ("|||||node=0", "GrpTRES node=0"), ("||cpu=0", None)],
)
def test_a_quality_of_service_whose_jobs_have_none_of_something_is_noted(limits: str, noted: str | None) -> None:
    """A site says so that they take no GPUs, or that nobody gets it."""
    files = {"scontrol-node": MIXED["scontrol-node"], "scontrol-partition": MIXED["scontrol-partition"], **XEON}
    notes = [note for note in seen(files, sacctmgr=f"special|{limits}\n").notes if note.startswith("QOS")]
    assert [note.partition(" (")[0] for note in notes] == ([f"QOS special: {noted}"] if noted else [])


def test_limits_of_a_quality_of_service_that_no_field_can_say_are_noted() -> None:
    """With the partitions that take its jobs."""
    files = {"scontrol-node": MIXED["scontrol-node"], "scontrol-partition": MIXED["scontrol-partition"], **XEON}
    notes = seen(files, sacctmgr="lean||cpu=8,license/ansys=2|gres/gpu=1,license/matlab=1\n").notes
    where = "(partition batch, gpu.v100, arm) is not entered: requests, or mandatory_directives, have to comply with it"
    told = [f"QOS lean: {limit} {where}" for limit in ("MaxTRES license/ansys=2", "MinTRES license/matlab=1")]
    assert [note for note in notes if note.startswith("QOS")] == told


def test_a_quality_of_service_that_lifts_limits_of_a_partition_is_noted() -> None:
    """The narrower limits are entered, so that jobs with it are refused which Slurm would take."""
    shown = read(MIXED["scontrol-partition"]).replace("TotalCPUs=160", "QoS=cards TotalCPUs=160")
    cards = "cards||gres/gpu=1|||||\nbig||gres/gpu=2||||||DenyOnLimit,OverPartQOS\n"
    notes = seen({"scontrol-node": MIXED["scontrol-node"], **XEON}, scontrol_partition=shown, sacctmgr=cards).notes
    assert [note.partition(" is not entered")[0] for note in notes if note.startswith("QOS")] == [
        "QOS big: OverPartQOS, so that its limits hold in place of those of QOS cards (partition gpu.v100)"
    ]


@pytest.mark.parametrize(("name", "noted"), [("normal", 1), ("Normal", 1), ("lean", 0)])
def test_limits_of_the_usual_quality_of_service_are_noted_once(name: str, noted: int) -> None:
    """Slurm gives it to jobs that name none, whose users may have another default."""
    files = {"scontrol-node": MIXED["scontrol-node"], "scontrol-partition": MIXED["scontrol-partition"], **XEON}
    notes = seen(files, sacctmgr=f"{name}||cpu=8|\n").notes
    assert sum("enter 'qos = \"normal\"' into the partitions" in note for note in notes) == noted


def test_limits_of_many_qualities_of_service_are_one_note() -> None:
    """A site may have hundreds of them."""
    files = {"scontrol-node": MIXED["scontrol-node"], "scontrol-partition": MIXED["scontrol-partition"], **XEON}
    notes = seen(files, sacctmgr="".join(f"q{number}||license/ansys=2|\n" for number in range(300))).notes
    (told,) = (note for note in notes if note.startswith("QOS"))
    assert told.startswith("QOS q0: MaxTRES license/ansys=2; QOS q1: MaxTRES license/ansys=2; ")
    assert "QOS q7: MaxTRES license/ansys=2 and 292 more (partition batch, gpu.v100, arm) are not entered: " in told


def test_a_partition_whose_own_quality_of_service_wants_gpus_takes_no_other_jobs() -> None:
    """Slurm holds them for ever, or rejects them; on nodes with two GPUs, jobs may be limited to one."""
    shown = read(MIXED["scontrol-partition"]).replace("TotalCPUs=160", "QoS=cards TotalCPUs=160")
    files = {"scontrol-node": MIXED["scontrol-node"], **XEON}
    found = seen(files, scontrol_partition=shown, sacctmgr="cards|||gres/gpu=1\none||gres/gpu=1|\n")
    (usual, one) = partition(found, "gpu.v100").queues
    assert ((usual.min_gpus, usual.max_gpus), (one.qos, one.min_gpus, one.max_gpus)) == ((1, None), ("one", 1, 1))
    before = partition(found, "gpu.v100").model_copy(update={"queues": ()})
    stored = found.system.model_copy(update={"partitions": tuple(before if x.name == before.name else x for x in found.system.partitions)})
    assert drift(stored, found.system) == (Drift("partitions.gpu.v100.min_gpus", None, 1),)


def test_the_first_sixteen_narrower_qualities_of_service_are_entered() -> None:
    """Those that limit nothing in the partition, or have no name that a system file can hold, are not counted."""
    shown = "".join(f"bad {number}|00:01:00||\nwide{number}||cpu=4000|\n" for number in range(16))
    shown += "".join(f"fit{number}|00:0{number % 9 + 1}:00||\n" for number in range(18))
    found = seen({"scontrol-node": MIXED["scontrol-node"], "scontrol-partition": MIXED["scontrol-partition"], **XEON}, sacctmgr=shown)
    assert [one.qos for one in partition(found, "batch").queues[1:]] == [f"fit{number}" for number in range(16)]


def test_a_partition_has_the_limits_of_its_own_quality_of_service() -> None:
    """Slurm rejects jobs beyond them, or lets them wait for ever; 200 CPUs are two nodes. Other partitions have it not."""
    found = with_qualities("QoS=quickq")
    assert (found.max_wall_time_s, found.max_nodes) == (900, 2)
    assert found.queues[0] == Queue(name="batch", min_nodes=2, max_nodes=2)
    assert "quickq" not in [one.qos for one in found.queues]


def test_the_most_cpus_of_all_jobs_of_a_partition_are_said_of_its_nodes_alone() -> None:
    """Slurm counts threads here: 20 of them are ten cores."""
    found = with_qualities("QoS=smallq", "smallq||cpu=20,mem=1000M|\n")
    assert found.node.usable_cores == 10
    assert found.queues == (Queue(name="batch", max_nodes=1, max_memory_gb=1.048576),)


def test_a_partition_has_the_limits_of_the_only_quality_of_service_that_it_takes() -> None:
    """Its jobs need not name that to get it."""
    found = with_qualities("AllowQos=Debug")
    assert (found.qos, found.max_wall_time_s, found.max_nodes, found.queues) == ("Debug", 600, 1, ())

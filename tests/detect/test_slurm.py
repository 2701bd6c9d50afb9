"""What Slurm prints, read as a whole: every field of what a record says, and nothing of what it does not."""

from __future__ import annotations

import pytest

from modak.detected import slurm
from modak.detected.seen import GpuCount, SeenNode, SeenPartition, SeenQos

PARTITIONS = """\
PartitionName=main Default=YES TotalNodes=4 MinNodes=1 MaxNodes=3 MaxCPUsPerNode=20 MaxTime=1-00:00:00 DefaultTime=01:00:00 \
MaxMemPerCPU=4000 DefMemPerCPU=2000 JobDefaults=DefCpuPerGPU=8,DefMemPerGPU=60000 OverSubscribe=EXCLUSIVE State=UP Hidden=NO RootOnly=NO \
QoS=inner AllowQos=one AllowAccounts=ALL
PartitionName=odd Default=NO TotalNodes=1 MaxNodes=UNLIMITED MaxTime=UNLIMITED State=DRAIN Hidden=NO AllowQos=one,two DenyAccounts=old \
ReqResv=YES
"""
NODES = """\
NodeName=n1 Arch=x86_64 CoresPerSocket=24 Gres=gpu:a100:4(S:0-1),gpu,nvme:1 NodeHostName=n1.site AvailableFeatures=ssd,,fast CPUTot=96 \
CoreSpecCount=2 MemSpecLimit=4000 RealMemory=260000 Sockets=2 State=DOWN ThreadsPerCore=2 Partitions=main,,odd
NodeName=n2 CoresPerSocket=24 Gres=(null) AvailableFeatures=(null) CPUTot=24 RealMemory=1 Partitions=main
NodeName=n3 Sockets=2 RealMemory=2 Partitions=main
"""
SINFO = """\
main*|up|3|2|24|2|96|260000|gpu:a100:4|1-00:00:00|01:00:00|1-4|ssd,fast
main*|up|1||24|1|24|1|(null)|1-00:00:00|01:00:00|1-4|(null)
old|down|1|2||1|16||(null)|infinite|n/a|1-infinite|(null)
none|up|0|1|16|1|16|1|(null)|10:00|n/a|1|(null)
a line of something else
"""
QUALITIES = """\
inner|2-00:00:00|node=4,cpu=100,mem=50G|node=2,cpu=8|||gres/gpu=0|gres/gpu=2,mem=64000|OverPartQOS,DenyOnLimit
bare||||||||
||||||||
short|01:00:00
"""


def test_every_field_of_a_partition_is_read() -> None:
    """Limits, memory, who may use it; what its own record does not say, from the cluster's settings."""
    main, odd = slurm.partitions(PARTITIONS, {"JobDefaults": "DefMemPerGPU=1000"})
    assert main == SeenPartition(
        name="main",
        default=True,
        nodes=4,
        min_nodes=1,
        max_nodes=3,
        usable_cpus=20,
        max_wall_time_s=86400,
        default_wall_time_s=3600,
        memory_per_cpu_gb=4.194304,
        default_memory_per_cpu_gb=2.097152,
        default_memory_per_gpu_gb=62.91456,
        qos="one",
        lists=(("allowed_qos", ("one",)),),
        conditions=("QoS=inner", "MaxMemPerCPU=4000"),
        whole_nodes=True,
    )
    assert odd == SeenPartition(
        name="odd",
        nodes=1,
        default_memory_per_gpu_gb=1.048576,
        lists=(("allowed_qos", ("one", "two")), ("denied_accounts", ("old",))),
        conditions=("ReqResv=YES",),
        restricted=True,
        reserved=True,
        closed="its state is DRAIN",
    )


@pytest.mark.parametrize(
    ("said", "restricted"),
    [("AllowQos=one", False), ("AllowQos=one,two", True), ("AllowQos=one AllowGroups=g", True), ("AllowAccounts=ALL DenyQos=one", False)],
)
def test_a_partition_is_for_some_alone_where_others_are_kept_out(said: str, restricted: bool) -> None:
    """Not where all jobs get its only quality of service, or a list says who is refused."""
    (found,) = slurm.partitions(f"PartitionName=main {said} State=UP\n")
    assert found.restricted is restricted


def test_a_value_with_blanks_is_read_to_its_end() -> None:
    """A part of it would be the name of somebody else."""
    (found,) = slurm.partitions("PartitionName=main AllowGroups=domain users,b State=UP a Hidden=NO\n")
    assert (found.conditions, found.closed) == (("AllowGroups=domain users,b",), "its state is UP a")


def test_every_field_of_a_node_is_read() -> None:
    """Memory without what the system keeps; nothing of cores where sockets or their cores are not told, or of memory that nobody set."""
    assert slurm.nodes(NODES) == (
        SeenNode(
            name="n1",
            partitions=("main", "odd"),
            host="n1.site",
            cpus=96,
            sockets=2,
            cores=48,
            threads_per_core=2,
            reserved_cores=2,
            usable_memory_gb=268.435456,
            gpus=(GpuCount("a100", 4),),
            features=("ssd", "fast"),
        ),
        SeenNode(name="n2", partitions=("main",), cpus=24),
        SeenNode(name="n3", partitions=("main",), sockets=2, usable_memory_gb=0.002097152),
    )


def test_sinfo_tells_partitions_and_nodes() -> None:
    """A line for each kind of node; other lines, and kinds without a node, are passed over."""
    assert slurm.from_sinfo(SINFO) == (
        (
            SeenPartition(name="main", default=True, min_nodes=1, max_nodes=4, max_wall_time_s=86400, default_wall_time_s=3600),
            SeenPartition(name="old", min_nodes=1, closed="it is down"),
            SeenPartition(name="none", min_nodes=1, max_nodes=1, max_wall_time_s=600),
        ),
        (
            SeenNode(
                name="",
                partitions=("main",),
                count=3,
                cpus=96,
                sockets=2,
                cores=48,
                threads_per_core=2,
                usable_memory_gb=272.62976,
                gpus=(GpuCount("a100", 4),),
                features=("ssd", "fast"),
            ),
            SeenNode(name="", partitions=("main",), cpus=24, threads_per_core=1),
            SeenNode(name="", partitions=("old",), cpus=16, sockets=2, threads_per_core=1),
        ),
    )


def test_every_limit_of_a_quality_of_service_is_read() -> None:
    """That of a job in all, and on each node; rows without a name or of another form are passed over."""
    assert slurm.qualities(QUALITIES) == {
        "inner": SeenQos(
            "inner",
            min_nodes=2,
            max_nodes=4,
            min_cpus=8,
            max_cpus=100,
            max_memory_gb=53.6870912,
            gpus_per_node=2,
            memory_per_node_gb=67.108864,
            max_wall_time_s=172800,
            first=True,
            others=("QOS inner: GrpTRES gres/gpu=0",),
        ),
        "bare": SeenQos("bare"),
    }

"""What commands say, read into a system: recorded and documented outputs (tests/data/detect) in, a system file out."""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from modak.detect import ALWAYS, OF_EACH, QOS, SLURM, WITHOUT_SCONTROL
from modak.detected import UNASKED, Asked, Description, describe, gridengine, hardware, machine, pbs, slurm, software, toml
from modak.detected.drift import Drift, drift
from modak.detected.seen import NOT_THERE, CommandOutput, SeenGpu, SeenProcessor, gigabytes
from modak.detected.slurm import QOS_FORMAT
from modak.errors import DataError
from modak.facts import Partition, Processor, Queue, System
from modak.knowledge import packaged_root, read_all, read_array, read_system

DATA = Path(__file__).parent.parent / "data/detect"
SHIPPED = read_all(packaged_root())
PROCESSORS = {one.name: one for one in SHIPPED.processors}
ACCELERATORS = {one.name: one for one in SHIPPED.accelerators}
DAY = date(2026, 11, 20)
MIXED = {"scontrol-partition": "scontrol-partition-mixed.txt", "scontrol-node": "scontrol-node-mixed.txt"}
XEON = {"lscpu": "lscpu-xeon.json", "meminfo": "meminfo.txt"}
TWO_V100 = {"nvidia-smi": "nvidia-smi.txt", "nvidia-smi-capability": "nvidia-smi-capability.txt"}
OPENPBS = {"pbsnodes": "pbsnodes-openpbs.txt", "qstat": "qstat-openpbs.txt", "qstat-server": "qstat-server-openpbs.txt"}


def read(name: str) -> str:
    """A recorded output."""
    return (DATA / name).read_text()


def answers(files: Mapping[str, str], **texts: str) -> dict[str, CommandOutput]:
    """Answers from files, from texts, and nothing from any other command."""
    commands: dict[str, tuple[str, ...]] = {**SLURM, **QOS, **WITHOUT_SCONTROL, "qconf-sp": OF_EACH, **ALWAYS}
    every = {key: CommandOutput(" ".join(words), trouble=NOT_THERE) for key, words in commands.items()}
    said = {**{key: read(name) for key, name in files.items()}, **{key.replace("_", "-"): text for key, text in texts.items()}}
    return {**every, **{key: CommandOutput(every[key].command, text) for key, text in said.items()}}


def seen(
    files: Mapping[str, str], host: str = "login1", probes: Mapping[str, Mapping[str, str]] | None = None, **texts: str
) -> Description:
    """The description that these outputs give; of ``sacctmgr``, the last columns of a row may be left out."""
    if "sacctmgr" in texts:
        columns = QOS_FORMAT.count(",")
        texts["sacctmgr"] = "".join(f"{row}{'|' * (columns - row.count('|'))}\n" for row in texts["sacctmgr"].splitlines())
    probed = {name: answers(given) for name, given in (probes or {}).items()}
    return describe(answers(files, **texts), probed, Asked(host, DAY), PROCESSORS, ACCELERATORS)


def partition(found: Description, name: str) -> Partition:
    """One of its partitions."""
    return next(one for one in found.system.partitions if one.name == name)


def test_the_recorded_slurm_has_its_partitions_nodes_and_limits() -> None:
    """What scontrol of 22.05 says: sockets, cores, memory in GB, wall times; the host is one of the nodes."""
    found = seen({name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-epyc-vm.json", "srun-mpi": "srun-mpi.txt"})
    assert (found.system.name, found.system.scheduler, found.system.cpu_unit) == ("throwaway", "slurm", "core")
    main, gpu = (partition(found, name) for name in ("main", "gpu"))
    assert (main.default, main.nodes, main.max_wall_time_s, main.node.cores, main.node.usable_memory_gb) == (True, 2, 3600, 2, 4.194304)
    assert (gpu.default, gpu.nodes, gpu.max_wall_time_s, gpu.node.sockets, gpu.node.usable_memory_gb) == (False, 2, 14400, 32, 134.217728)


@pytest.mark.parametrize(("cpus", "sockets"), [(2, 1), (32, 32)])
def test_sockets_that_slurm_only_supposes_are_those_of_the_machine(cpus: int, sockets: int) -> None:
    """A site that gives CPUs alone has each shown as a socket of one core; a machine with as many cores shows how many there are."""
    nodes = read("scontrol-node.txt").replace("CPUTot=2 ", f"CPUTot={cpus} ").replace("Sockets=2 ", f"Sockets={cpus} ")
    files = {name: f"{name}.txt" for name in SLURM if name != "scontrol-node"} | {"lscpu": "lscpu-epyc-vm.json"}
    found = partition(seen(files, scontrol_node=nodes), "main").node
    assert (found.sockets, found.cores) == (sockets, cpus)


@pytest.mark.parametrize(("default", "named"), [("Default=YES", None), ("Default=NO", "always")])
def test_scripts_name_their_partition_where_the_scheduler_has_no_default(default: str, named: str | None) -> None:
    """Slurm then refuses a job that names none."""
    partitions = read("scontrol-partition.txt").replace("Default=YES", default)
    files = {name: f"{name}.txt" for name in SLURM if name != "scontrol-partition"} | {"lscpu": "lscpu-epyc-vm.json"}
    found = seen(files, scontrol_partition=partitions).system
    assert (found.partition_directive, sum(one.default for one in found.partitions)) == (named, 1)


def test_a_partition_for_reservations_is_not_entered_as_the_default() -> None:
    """Jobs that name none would not start there, however large it is."""
    shown = read(MIXED["scontrol-partition"]).replace("MinNodes=0", "ReqResv=YES", 1).replace("Default=YES", "Default=NO")
    found = seen({"scontrol-node": MIXED["scontrol-node"], **XEON}, scontrol_partition=shown).system
    assert max(found.partitions, key=lambda one: one.nodes).only_if_named
    assert not found.default_partition.only_if_named


def test_what_is_not_shown_is_left_out_and_said() -> None:
    """A partition of powered-down nodes, and GPUs whose type three accelerators begin with."""
    found = seen({name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-epyc-vm.json"})
    assert {one.name for one in found.system.partitions} == {"main", "gpu"}
    assert partition(found, "gpu").node.accelerators == 0
    assert any(note.startswith("partition paper is left out: no node") for note in found.notes)
    assert any("v100-pcie-32gb or v100-sxm2-16gb or v100-sxm2-32gb" in note for note in found.notes)


@pytest.mark.parametrize(
    ("files", "host"),
    [
        ({**MIXED, **XEON}, "login1"),
        ({**MIXED, **XEON, **TWO_V100, "numactl": "numactl.txt"}, "g1"),
        ({**OPENPBS, **XEON}, "n001"),
        ({"pbsnodes": "pbsnodes-torque.txt", "qstat": "qstat-torque.txt", **XEON}, "t1"),
        ({"qhost": "qhost-gridengine.txt", **XEON}, "c1"),
        ({"lscpu": "lscpu-epyc-vm.json", "meminfo": "meminfo.txt", "mounts": "mounts.txt", "modules": "module-avail.txt"}, "alone"),
        ({"lscpu": "lscpu-xeon.json", "nvidia-smi": "nvidia-smi-h200.txt", "nvidia-smi-capability": "nvidia-smi-capability-h200.txt"}, "w"),
    ],
)
def test_what_is_printed_passes_the_checks_of_add(files: Mapping[str, str], host: str, tmp_path: Path) -> None:
    """The file is read back as the same system: its schema holds, and every figure has a source."""
    found = seen(files, host)
    file = tmp_path / "system.toml"
    file.write_text(toml([found.system]))
    assert read_system(file) == found.system
    if found.processors:
        file.write_text(toml(found.processors))
        assert read_array(file, Processor) == found.processors
    known = {*PROCESSORS, *(one.name for one in found.processors)}
    assert {one.node.processor for one in found.system.partitions} <= known


def test_every_source_names_its_command_and_the_day() -> None:
    """And the machine, where the command speaks of one machine alone."""
    citations = [one.citation for one in seen({**MIXED, **XEON}).system.sources]
    assert "scontrol show node --oneliner (2026-11-20)" in citations
    assert "lscpu -J (2026-11-20), on login1" in citations
    assert all("(2026-11-20)" in one for one in citations)


def test_a_machine_like_the_nodes_lends_them_its_processor_and_it_is_said() -> None:
    """Sockets, cores and threads are equal; its memory is its own and says nothing of theirs."""
    found = seen({**MIXED, **XEON})
    node = partition(found, "batch").node
    assert (node.processor, node.memory_gb, node.reserved_cores) == ("xeon-gold-6148", None, 2)
    assert any("taken to have the processors of login1" in note for note in found.notes)


def test_a_machine_unlike_the_nodes_lends_them_nothing() -> None:
    """The partition is left out, with the reason and what would tell; another that fits stays."""
    found = seen({**MIXED, **XEON})
    assert "arm" not in {one.name for one in found.system.partitions}
    (note,) = (note for note in found.notes if "partition arm is left out: its nodes are not like login1" in note)
    assert note.endswith("'--probe' asks one of them, in a job of Slurm's")


@pytest.mark.parametrize("files", [OPENPBS, {"qhost": "qhost-gridengine.txt"}])
def test_nodes_of_a_scheduler_that_is_not_probed_are_described_from_a_job(files: Mapping[str, str]) -> None:
    """``--probe`` asks Slurm alone."""
    with pytest.raises(DataError, match="which processor they have; run this command in a job on one of them"):
        seen({**files, "lscpu": "lscpu-epyc-vm.json"})


def test_a_probe_tells_what_the_login_node_cannot() -> None:
    """Each partition gets what its own node said."""
    probes = {"arm": {"lscpu": "lscpu-epyc-vm.json"}, "gpu.v100": {**XEON, **TWO_V100}}
    found = seen({**MIXED, **XEON}, probes=probes)
    assert partition(found, "arm").node.processor == "epyc"
    gpu = partition(found, "gpu.v100").node
    assert (gpu.accelerator, gpu.accelerators) == ("v100-sxm2-16gb", 4)


def test_a_probe_speaks_for_the_kind_of_node_that_it_ran_on() -> None:
    """A partition of several kinds: those that are not like the node that answered get nothing from it."""
    found = seen({**MIXED, "lscpu": "lscpu-epyc-vm.json"}, probes={"batch": XEON, "arm": XEON})
    assert partition(found, "batch").node.processor == "xeon-gold-6148"
    assert partition(found, "arm").node.cores == 64
    assert any("partition arm: the scheduler counts 64 cores a node, a node of partition arm shows 40" in note for note in found.notes)
    with pytest.raises(DataError, match="partition batch is left out: its nodes are not like a node of partition batch"):
        seen({**MIXED, "lscpu": "lscpu-epyc-vm.json"}, probes={"batch": {"lscpu": "lscpu-epyc-vm.json"}})


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("tesla_v100-sxm2-16gb", "v100-sxm2-16gb"),
        ("nvidia_a100-sxm4-40gb", "a100-sxm4-40gb"),
        ("nvidia_a100_80gb_pcie", "a100-pcie-80gb"),
        ("nvidia_h100_80gb_hbm3", "h100-sxm5-80gb"),
        ("h200", "h200-sxm5-141gb"),
        ("mi250x", "mi250x"),
        ("t4", "t4"),
        ("gtx1080ti", "gtx-1080-ti"),
        ("p100", None),
        ("a100", None),
        (None, None),
    ],
)
def test_the_schedulers_word_for_a_gpu_counts_where_it_is_a_name(word: str | None, name: str | None) -> None:
    """As Slurm's AutoDetect writes it, or as the catalogue has it; the beginning of a name is none."""
    found, _ = hardware.of_type(word, ACCELERATORS)
    assert (found.name if found else None) == name


def test_closed_partitions_are_left_out() -> None:
    """Those that are down, hidden or for root alone."""
    notes = seen({**MIXED, **XEON}).notes
    assert {"partition old is left out: its state is DOWN", "partition admin is left out: it is for root alone"} <= set(notes)


def test_a_partition_whose_state_is_not_shown_is_open() -> None:
    """What is not said closes nothing."""
    files = {name: f"{name}.txt" for name in SLURM if name != "scontrol-partition"} | {"lscpu": "lscpu-epyc-vm.json"}
    found = seen(files, scontrol_partition=read("scontrol-partition.txt").replace(" State=UP", ""))
    assert {"main", "gpu"} <= {one.name for one in found.system.partitions}


def test_nodes_of_several_kinds_become_partitions_where_a_feature_selects_them() -> None:
    """The largest kind keeps the name; one with a feature of its own gets its constraint; the rest is left out and said."""
    found = seen({**MIXED, **XEON})
    batch, large = partition(found, "batch"), partition(found, "batch-kind2")
    assert (batch.nodes, batch.max_nodes, batch.default_wall_time_s, batch.node.usable_memory_gb) == (4, 4, 3600, 200.23607296)
    assert (large.nodes, large.queue, large.constraint, large.node.usable_memory_gb) == (2, "batch", "bigmem", 807.40352)
    assert "partition batch: 1 node of other kinds left out, no feature selects them" in found.notes


def test_the_largest_kind_has_the_name_of_its_partition_wherever_its_nodes_are_listed() -> None:
    """And the kinds are counted in a note."""
    lines = read(MIXED["scontrol-node"]).splitlines(keepends=True)
    found = seen({"scontrol-partition": MIXED["scontrol-partition"], **XEON}, scontrol_node="".join(reversed(lines)))
    assert [(name, partition(found, name).nodes) for name in ("batch", "batch-kind2")] == [("batch", 4), ("batch-kind2", 2)]
    assert "partition batch has nodes of 3 kinds" in found.notes


def test_a_command_that_failed_is_told_and_one_that_is_not_there_is_not() -> None:
    """The notes end with what no command says."""
    given = answers({**MIXED, **XEON}) | {"numactl": CommandOutput("numactl -H", trouble="exit status 1")}
    notes = describe(given, {}, Asked("login1", DAY), PROCESSORS, ACCELERATORS).notes
    assert [note for note in notes if note.endswith((": exit status 1", NOT_THERE))] == ["numactl -H: exit status 1"]
    assert notes[-1] == UNASKED


def test_features_that_all_nodes_have_are_entered() -> None:
    """A request that names one gets these nodes, whichever feature tells them from others."""
    found = seen({**MIXED, **XEON})
    assert [(one.name, one.features) for one in found.system.partitions if one.features] == [
        ("batch", ("avx512",)),
        ("batch-kind2", ("avx512", "bigmem")),
    ]


def limited(fields: str, config: str = "") -> Description:
    """The mixed cluster, whose partition batch has more fields."""
    shown = read(MIXED["scontrol-partition"]).replace("MinNodes=0", fields, 1)
    return seen({"scontrol-node": MIXED["scontrol-node"], **XEON}, scontrol_partition=shown, scontrol_config=config)


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


def test_a_partition_that_gives_parts_of_nodes_is_entered_so() -> None:
    """Slurm rejects a job that wants a node for itself there."""
    parts, whole = (limited(f"MaxCPUsPerNode={most}") for most in ("20", "UNLIMITED"))
    assert (partition(parts, "batch").shared_nodes, partition(whole, "batch").shared_nodes) == (True, False)
    assert "partitions.batch.shared_nodes" in [one.field for one in drift(whole.system, parts.system)]


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


def test_a_partition_for_larger_jobs_has_their_sizes() -> None:
    """Slurm would reject a job of one node, or never start it."""
    found = limited("MinNodes=2")
    assert partition(found, "batch").queues == (Queue(name="batch", min_nodes=2, max_nodes=4),)
    assert drift(found.system, found.system) == ()


def test_nodes_that_are_too_few_for_any_job_are_left_out() -> None:
    """Of the two kinds, one has two nodes."""
    found = limited("MinNodes=3")
    assert {one.name for one in found.system.partitions} == {"batch", "gpu.v100"}
    assert "partition batch-kind2 is left out: a job there has 3 nodes or more, and of these there are 2" in found.notes


def test_cores_that_a_partition_may_not_use_are_reserved() -> None:
    """Slurm counts threads here: 40 of them are 20 of the 40 cores."""
    assert partition(limited("MaxCPUsPerNode=40"), "batch").node.usable_cores == 20


def test_whole_nodes_that_a_partition_does_not_give_are_said() -> None:
    """Slurm rejects --exclusive there."""
    told = "partition batch: jobs get 40 of 80 CPUs of a node at most; Slurm rejects node_exclusive there"
    assert told in limited("MaxCPUsPerNode=40").notes


def test_nodes_with_gpus_of_two_types_are_a_partition_for_each() -> None:
    """Jobs name the type, because Slurm would give any."""
    shown = read(MIXED["scontrol-node"]).replace("Gres=gpu:v100:4(S:0-1)", "Gres=gpu:a100-sxm4-80gb:2,gpu:t4:4")
    found = seen({**MIXED, **XEON}, scontrol_node=shown)
    entries = [(partition(found, name), name) for name in ("gpu.v100", "gpu.v100-t4")]
    assert [(one.node.accelerator, one.node.accelerators, one.queue or name) for one, name in entries] == [
        ("a100-sxm4-80gb", 2, "gpu.v100"),
        ("t4", 4, "gpu.v100"),
    ]
    assert [one.resource_directives[-1] for one, _ in entries] == [
        "--gres=gpu:a100-sxm4-80gb:{gpus_per_node}",
        "--gres=gpu:t4:{gpus_per_node}",
    ]


def test_every_field_of_a_node_has_its_source() -> None:
    """GPUs that Slurm lists are from its list of nodes."""
    shown = read(MIXED["scontrol-node"]).replace("Gres=gpu:v100:4(S:0-1)", "Gres=gpu:a100-sxm4-80gb:2")
    found = seen({**MIXED, **XEON}, scontrol_node=shown).system
    told = {name: source.citation for source in found.sources for name in source.fields}
    for one in found.partitions:
        at = f"partitions.{one.name.replace('.', '?')}.node"
        fields = one.node.model_dump(exclude_defaults=True)
        assert {f"{at}.{name}" for name in fields} <= told.keys()
    assert told["partitions.gpu?v100.node.accelerator"] == "scontrol show node --oneliner (2026-11-20)"


def test_memory_has_the_clusters_limit_where_the_partition_has_none() -> None:
    """As Slurm applies it: the partition shows UNLIMITED."""
    found = limited("MinNodes=0", "ClusterName = c\nMaxMemPerNode = 100000\n")
    assert [partition(found, name).node.usable_memory_gb for name in ("batch", "gpu.v100")] == [104.8576, 171.79869184]


def test_memory_is_no_more_than_the_cpus_may_have() -> None:
    """76 of the 80 CPUs of a node are for jobs; Slurm refuses those that want more than 500 MiB for each."""
    assert partition(limited("MaxMemPerCPU=500"), "batch").node.usable_memory_gb == 39.845888


def test_memory_of_jobs_that_ask_for_none_is_entered() -> None:
    """The partition's own, else the cluster's; Slurm's M is MiB."""
    found = limited("DefMemPerCPU=500", "ClusterName = c\nDefMemPerNode = 1000\n")
    seen = [(partition(found, name).default_memory_per_cpu_gb, partition(found, name).default_memory_gb) for name in ("batch", "gpu.v100")]
    assert seen == [(0.524288, None), (None, 1.048576)]


def test_memory_by_gpu_is_that_of_one_where_there_are_gpus() -> None:
    """A job with more then asks for its memory, and so does one that the limit of CPUs gives less."""
    found = limited("MinNodes=0", "ClusterName = c\nJobDefaults = DefCpuPerGPU=8,DefMemPerGPU=1000\n")
    assert [partition(found, name).default_memory_gb for name in ("batch", "gpu.v100")] == [None, 1.048576]
    both = limited("MinNodes=0", "ClusterName = c\nDefMemPerCPU = 500\nJobDefaults = DefMemPerGPU=1000\n")
    assert partition(both, "gpu.v100").default_memory_gb == 0.524288


def test_who_may_use_a_partition_is_said() -> None:
    """The only quality of service that is allowed is that of jobs which name none; for other conditions there is no field."""
    found = limited("AllowQos=long AllocNodes=login2 ReqResv=YES QoS=N/A MaxMemPerCPU=500")
    assert partition(found, "batch").qos == "long"
    said = [note.split(" (partition batch)")[0] for note in found.notes if "is not entered" in note]
    assert said == ["AllocNodes=login2", "ReqResv=YES", "MaxMemPerCPU=500"]
    assert [partition(found, name).only_if_named for name in ("batch", "gpu.v100")] == [True, False]


def test_qualities_of_service_and_accounts_of_a_partition_are_entered() -> None:
    """With their source; a partition without such lists takes all."""
    found = limited("AllowQos=long,debug AllowAccounts=chem,ai DenyAccounts=old DenyQos=scavenger")
    batch, other = partition(found, "batch"), partition(found, "gpu.v100")
    assert (batch.allowed_qos, batch.denied_qos) == (("long", "debug"), ("scavenger",))
    assert (batch.allowed_accounts, batch.denied_accounts, batch.qos) == (("chem", "ai"), ("old",), None)
    assert (other.allowed_qos, other.allowed_accounts) == ((), ())
    assert any("partitions.batch.allowed_qos" in source.fields for source in found.system.sources)
    assert not any("is not entered" in note for note in found.notes)


def test_a_partition_that_gives_whole_nodes_is_entered_so() -> None:
    """Otherwise jobs would ask for a part of the memory, and get that."""
    whole, shared = (limited(f"OverSubscribe={share}") for share in ("EXCLUSIVE", "NO"))
    assert (partition(whole, "batch").whole_nodes, partition(shared, "batch").whole_nodes) == (True, False)
    assert "partitions.batch.whole_nodes" in [one.field for one in drift(shared.system, whole.system)]


@pytest.mark.parametrize("accounts", ["a" * 30 + ",b" * 1200, "chem,a&b"], ids=["cut", "no name"])
def test_a_list_that_a_system_file_cannot_hold_is_said(accounts: str) -> None:
    """A part of it would refuse jobs that the partition takes."""
    found = limited(f"AllowAccounts={accounts}")
    assert partition(found, "batch").allowed_accounts == ()
    assert any(note.startswith("AllowAccounts=") and "is not entered" in note for note in found.notes)


@pytest.mark.parametrize(
    ("said", "last"), [("AllowAccounts=chem", True), ("ReqResv=YES", True), ("AllocNodes=login2", True), ("DenyAccounts=chem", False)]
)
def test_partitions_for_some_users_only_come_last(said: str, last: bool) -> None:
    """Of several that take a job, the first is used."""
    names = [one.name for one in limited(said).system.partitions]
    assert len(names) > 2
    assert (names[-1].startswith("batch"), names[0] == "batch") == (last, not last)


@pytest.mark.parametrize(
    ("plugins", "directives", "noted"),
    [("job_submit/require_timelimit,pbs", ("--time",), False), ("lua", (), True), ("pbs", (), False)],
)
def test_what_slurm_says_of_all_jobs_is_entered_or_said(plugins: str, directives: tuple[str, ...], noted: bool) -> None:
    """It would reject a job without a wall time; what a script of the site does nobody can read."""
    found = limited("MinNodes=0", f"ClusterName = c\nJobSubmitPlugins = {plugins}\n")
    assert found.system.mandatory_directives == directives
    assert any("the site's own rules" in note for note in found.notes) == noted


def test_a_site_without_memory_in_slurm_is_said() -> None:
    """RealMemory=1 is Slurm's default, and more than that cannot be asked for."""
    shown = re.sub(r"RealMemory=[0-9]+", "RealMemory=1", read(MIXED["scontrol-node"]))
    assert any("Slurm rejects jobs that ask for memory" in note for note in seen({**MIXED, **XEON}, scontrol_node=shown).notes)
    assert not any("Slurm rejects jobs that ask for memory" in note for note in seen({**MIXED, **XEON}).notes)


@pytest.mark.parametrize("limit", ["MaxMemPerNode=4000", "MaxMemPerCPU=100", "DefMemPerCPU=100", "DefMemPerNode=100", ""])
def test_jobs_ask_for_no_memory_where_slurm_has_none_to_give(limit: str) -> None:
    """A limit of the partition says nothing of what a node has by RealMemory: scripts asked for as much, and Slurm rejected them."""
    shown = re.sub(r"RealMemory=[0-9]+", "RealMemory=1", read(MIXED["scontrol-node"]))
    told = read(MIXED["scontrol-partition"]).replace("MaxMemPerNode=UNLIMITED", limit)
    found = seen({**MIXED, **XEON}, scontrol_node=shown, scontrol_partition=told)
    batch = found.system.default_partition
    assert (batch.node.usable_memory_gb, batch.default_memory_gb, batch.default_memory_per_cpu_gb) == (None, None, None)
    assert batch.resource_directives == ("--nodes={nodes}", "--ntasks-per-node={ranks_per_node}", "--cpus-per-task={cpus_per_task}")
    assert partition(found, "gpu.v100").resource_directives[-1] == "--gpus-per-node={gpus_per_node}"


def test_slurm_that_counts_threads_is_seen() -> None:
    """CPUTot is sockets × cores × threads: scripts will say --hint=nomultithread."""
    assert seen({**MIXED, **XEON}).system.cpu_unit == "thread"


def test_a_reason_cannot_pass_for_a_field() -> None:
    """Free text holds whatever it likes; the first of two fields with one name stands."""
    node = slurm.nodes(read("scontrol-node-mixed.txt"))[7]
    assert (node.name, node.gpus, node.usable_memory_gb) == ("g1", (("v100", 4),), 200.278016)


def test_without_scontrol_sinfo_tells_the_same() -> None:
    """Partitions, limits and kinds of nodes; nodes have no names there."""
    found = seen(
        {"sinfo": "sinfo.txt", "lscpu": "lscpu-epyc-vm.json"}, probes={name: {"lscpu": "lscpu-epyc-vm.json"} for name in ("main", "gpu")}
    )
    whole = seen({name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-epyc-vm.json"})
    fields = [(one.name, one.nodes, one.max_wall_time_s, one.node.cores, one.node.usable_memory_gb) for one in found.system.partitions]
    assert fields == [
        (one.name, one.nodes, one.max_wall_time_s, one.node.cores, one.node.usable_memory_gb) for one in whole.system.partitions
    ]


def test_sinfo_tells_the_time_of_jobs_that_ask_for_none() -> None:
    """Where the partition has a default."""
    probes = {name: {"lscpu": "lscpu-epyc-vm.json"} for name in ("main", "gpu")}
    found = seen({"lscpu": "lscpu-epyc-vm.json"}, probes=probes, sinfo=read("sinfo.txt").replace("4:00:00|n/a", "4:00:00|0:30:00"))
    assert [partition(found, name).default_wall_time_s for name in ("main", "gpu")] == [None, 1800]


def test_sinfo_answers_where_scontrol_shows_no_partitions() -> None:
    """Nodes alone are no cluster; counts that sinfo does not know, and sizes of jobs, are read as they are."""
    row = "main*|up|4|*|24|2|96|4000|(null)|1:00:00|n/a|2-8|(null)\n"
    found = slurm.cluster(answers({"scontrol-node": "scontrol-node.txt"}, sinfo=row))
    assert found
    assert [(one.name, one.min_nodes, one.max_nodes) for one in found.partitions] == [("main", 2, 8)]
    assert [(one.count, one.cpus, one.sockets, one.cores) for one in found.nodes] == [(4, 96, None, None)]


def test_a_node_of_slurm_that_shows_no_features_has_none() -> None:
    """As in versions that call them otherwise."""
    (node,) = slurm.nodes("NodeName=n1 CPUTot=4 Features=old")
    assert node.features == ()


def test_openpbs_has_queues_and_nodes() -> None:
    """A node bound to a queue serves that alone; what is disabled or routes is no partition."""
    found = seen({**OPENPBS, **XEON}, "n001")
    workq = partition(found, "workq")
    assert (found.system.scheduler, found.system.cpu_unit) == ("pbspro", "core")
    assert (workq.default, workq.nodes, workq.max_nodes, workq.max_wall_time_s, workq.default_wall_time_s) == (True, 2, 2, 172800, 3600)
    assert (workq.node.cores, workq.node.usable_memory_gb) == (40, 201.212297216)
    assert partition(found, "gpuq").nodes == 1
    assert {one.name for one in found.system.partitions} == {"workq", "gpuq"}


LIMITED_IN_PBS = ("resources_max.walltime", "resources_max.ncpus = 8\n    resources_min.ngpus = 1\n    resources_max.walltime")


def test_a_queue_of_pbs_limits_the_cpus_and_gpus_of_its_jobs() -> None:
    """PBS Pro rejects jobs beyond them; Torque counts nodes and processors otherwise."""
    found = seen({**OPENPBS, **XEON}, "n001", qstat=read(OPENPBS["qstat"]).replace(*LIMITED_IN_PBS))
    workq, gpuq = (partition(found, name) for name in ("workq", "gpuq"))
    assert (workq.node.usable_cores, workq.max_nodes, gpuq.queues[0].min_gpus) == (8, 1, 1)
    shown = read("qstat-torque.txt")
    torque = [pbs.cluster(answers({"pbsnodes": "pbsnodes-torque.txt"}, qstat=text)) for text in (shown, shown.replace(*LIMITED_IN_PBS))]
    assert torque[0] == torque[1]


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
    assert any(note.startswith("acl_group_enable=True (partition lab)") for note in found.notes)


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


def test_grid_engine_has_queues_and_hosts() -> None:
    """Slots of a queue are what its jobs may use of a host; a host that is down and a queue that is disabled are none."""
    said = (
        "qname   main\npe_list  mpi \\\n        smp\nh_rt    48:00:00,[c1=1:0:0]\nprojects  chem ai\n"
        "qname   debug\npe_list  NONE\nh_rt    INFINITY\n"
    )
    cluster = gridengine.cluster(answers({"qhost": "qhost-gridengine.txt"}, qconf=said))
    assert cluster
    debug, main = cluster.partitions
    assert (main.name, main.usable_cpus, main.max_wall_time_s, main.conditions) == ("main", 48, 172800, ("pe_list mpi smp",))
    assert (debug.name, debug.usable_cpus, debug.max_wall_time_s, debug.conditions) == ("debug", 4, None, ())
    assert (main.lists, debug.lists, main.restricted) == ((("allowed_accounts", ("chem", "ai")),), (), True)
    assert [(node.name, node.partitions, node.cpus) for node in cluster.nodes] == [("c1", ("main", "debug"), 48), ("c2", ("main",), 48)]
    first = cluster.nodes[0]
    assert (first.sockets, first.cores, first.threads_per_core, first.memory_gb) == (2, 48, 2, 134.7)


def test_grid_engine_before_version_8_tells_no_sockets_and_cores() -> None:
    """Its hosts have their slots and their memory all the same; a limit of time may be in seconds alone."""
    said = "c1 lx24-amd64 16 0.02 62.9G 1.1G 4.0G 0.0\n   main BIP 0/0/16\n"
    found = gridengine.cluster(answers({}, qhost=said, qconf="qname main\nh_rt 3600\n"))
    assert found
    (node,), (main,) = found.nodes, found.partitions
    assert (node.name, node.cpus, node.sockets, node.cores, node.threads_per_core, node.memory_gb) == ("c1", 16, None, None, None, 67.5)
    assert (main.usable_cpus, main.max_wall_time_s) == (16, 3600)


@pytest.mark.parametrize(("shown", "lists"), [("qname main\nprojects NONE\n", True), ("", False)])
def test_grid_engine_shows_lists_where_it_shows_its_queues(shown: str, lists: bool) -> None:
    """Hosts alone do not say whose jobs a queue takes."""
    found = gridengine.cluster(answers({}, qhost="c1 lx24-amd64 16 0.02 62.9G 1.1G 4.0G 0.0\n   main BIP 0/0/16\n", qconf=shown))
    assert found
    assert found.shows_lists is lists


ENVIRONMENT = "pe_name {}\nslots {}\nuser_lists {}\nallocation_rule {}\ncontrol_slaves {}\n"


@pytest.mark.parametrize(
    ("told", "chosen"),
    [
        ({"shm": (9, "NONE", "$pe_slots", "FALSE"), "orte": (9, "NONE", "$fill_up", "TRUE")}, ("-pe shm", "-pe orte")),
        ({"orte": (9, "NONE", "$fill_up", "TRUE"), "whole": (9, "NONE", "48", "TRUE")}, ("-pe whole",)),
        ({"half": (9, "NONE", "24", "TRUE"), "turns": (9, "NONE", "$round_robin", "TRUE")}, ()),
        ({"shm": (9, "chem", "$pe_slots", "FALSE"), "off": (0, "NONE", "$pe_slots", "FALSE")}, ()),
        ({"loose": (9, "NONE", "$fill_up", "FALSE"), "elsewhere": (9, "NONE", "$fill_up", "TRUE")}, ()),
        ({"shm": (9, "NONE", "$pe_slots", "FALSE")}, ("-pe shm",)),
        ({"shm": (9, "NONE", "$pe_slots", "FALSE"), "turns": (9, "NONE", "$round_robin", "TRUE")}, ()),
    ],
)
def test_environments_of_grid_engine_are_chosen_by_their_rules(told: dict[str, tuple[object, ...]], chosen: tuple[str, ...]) -> None:
    """One for one node, one for several; not where they are not for everybody, or not in all queues with such environments."""
    listed = " ".join(name for name in told if name != "elsewhere")
    queues = f"qname main\npe_list {listed}\nqname debug\npe_list NONE\n"
    shown = "\n".join(ENVIRONMENT.format(name, *values) for name, values in told.items())
    found = seen({"qhost": "qhost-gridengine.txt", **XEON}, "c1", qconf=queues, qconf_sp=shown)
    assert found.system.mandatory_directives == chosen
    assert any("pe_list" in note for note in found.notes) == (not chosen)


def test_an_environment_that_one_queue_lacks_is_not_entered() -> None:
    """Jobs of that queue would be refused."""
    queues = "qname main\npe_list shm\nqname debug\npe_list smp\n"
    shown = "".join(ENVIRONMENT.format(name, 9, "NONE", "$pe_slots", "FALSE") for name in ("shm", "smp"))
    found = seen({"qhost": "qhost-gridengine.txt", **XEON}, "c1", qconf=queues, qconf_sp=shown)
    assert found.system.mandatory_directives == ()


def test_a_queue_of_jobs_on_one_node_needs_no_environment_for_several() -> None:
    """That of the other queue is entered all the same."""
    queues = "qname main\npe_list shm orte\nqname debug\npe_list shm\n"
    shown = ENVIRONMENT.format("shm", 9, "NONE", "$pe_slots", "FALSE") + ENVIRONMENT.format("orte", 9, "NONE", "$fill_up", "TRUE")
    found = seen({"qhost": "qhost-gridengine.txt", **XEON}, "c1", qconf=queues, qconf_sp=shown)
    assert found.system.mandatory_directives == ("-pe shm", "-pe orte")
    assert (partition(found, "main").max_nodes, partition(found, "debug").max_nodes) == (None, 1)
    assert not any("pe_list" in note for note in found.notes)


@pytest.mark.parametrize(("rule", "most"), [("$pe_slots", 1), ("$fill_up", None), ("24", None)])
def test_a_queue_whose_environments_stay_on_one_host_has_jobs_of_one_node(rule: str, most: int | None) -> None:
    """Others would wait for ever."""
    queues = "qname main\npe_list shm other\nqname debug\npe_list NONE\n"
    shown = ENVIRONMENT.format("shm", 9, "NONE", "$pe_slots", "FALSE") + ENVIRONMENT.format("other", 9, "NONE", rule, "TRUE")
    found = seen({"qhost": "qhost-gridengine.txt", **XEON}, "c1", qconf=queues, qconf_sp=shown)
    assert (partition(found, "main").max_nodes, partition(found, "debug").max_nodes) == (most, None)


def test_the_pbs_commands_of_grid_engine_are_not_in_trouble() -> None:
    """Its qstat refuses the options of that of PBS."""
    given = answers({"qhost": "qhost-gridengine.txt", **XEON}) | {"qstat": CommandOutput("qstat -Qf", trouble="exit status 1")}
    assert not [note for note in describe(given, {}, Asked("c1", DAY), PROCESSORS, ACCELERATORS).notes if "exit status" in note]


def test_hosts_of_grid_engine_have_their_own_slots() -> None:
    """Most hosts of the queue give 16 slots, whatever one gives: a job of more would never start."""
    host = "{} lx-amd64 96 2 48 96 0.01 125.5G 2.9G 4.0G 0.0\n   main BIP 0/0/{}\n"
    found = seen(XEON, host="c1", qhost="".join(host.format(*one) for one in (("c1", 16), ("c2", 16), ("c3", 48))))
    assert partition(found, "main").node.usable_cores == 16


@pytest.mark.parametrize(("memory", "gigabytes"), [("512.0M", 0.5), ("2.0G", 2.1), ("1.5T", 1649.2)])
def test_grid_engine_writes_memory_in_powers_of_1024(memory: str, gigabytes: float) -> None:
    """Whatever the letter."""
    host = f"c1 lx-amd64 96 2 48 96 0.01 {memory} 2.9G 4.0G 0.0\n   main BIP 0/0/48\n"
    assert partition(seen(XEON, host="c1", qhost=host), "main").node.memory_gb == pytest.approx(gigabytes, abs=0.06)


def test_the_pbs_commands_that_slurm_brings_are_not_pbs() -> None:
    """Recorded from slurm-wlm-torque."""
    assert pbs.cluster(answers({"pbsnodes": "pbsnodes-slurm-wrapper.txt"})) is None


def test_a_machine_alone_is_a_system_of_one_node() -> None:
    """Its scheduler is the shell; memory and NUMA domains are its own."""
    found = seen({**XEON, "numactl": "numactl.txt", **TWO_V100}, "ws1.example.org")
    one = found.system.default_partition
    assert (found.system.name, found.system.scheduler, one.nodes, one.node.cores) == ("ws1", "shell", 1, 40)
    assert (one.node.memory_gb, one.node.standard_numa_domains, one.node.threads_per_core) == (201.2, 2, 2)
    assert (one.node.accelerator, one.node.accelerators) == ("v100-sxm2-16gb", 2)
    assert (found.processors, found.accelerators) == ((), ())


def test_gpus_of_intel_are_seen_by_xpu_smi() -> None:
    """In the form that its manual shows; a model that is not known gets an entry of its maker."""
    rows = "Device Name,Memory Physical Size\n" + '"Intel(R) Data Center GPU Max 1550","131072.00 MiB"\n' * 6
    node = seen(XEON, xpu_smi=rows).system.default_partition.node
    assert (node.accelerator, node.accelerators) == ("max-1550", 6)
    (new,) = seen(XEON, xpu_smi=rows.replace("1550", "1450")).accelerators
    assert (new.name, new.vendor, new.model, new.memory_gb) == ("max-1450", "intel", "Intel Data Center GPU Max 1450", 137.4)
    assert hardware.of_type("intel_data_center_gpu_max_1550", ACCELERATORS)[0] == ACCELERATORS["max-1550"]


def test_unknown_hardware_gets_an_entry_with_a_source() -> None:
    """Only what was seen: no peak rates."""
    gpu, capability = (read(f"{name}-h200.txt").replace("H200", "H2000") for name in ("nvidia-smi", "nvidia-smi-capability"))
    found = seen({"lscpu": "lscpu-epyc-vm.json"}, nvidia_smi=gpu, nvidia_smi_capability=capability)
    assert [one.model_dump(exclude={"sources"}, exclude_unset=True) for one in found.processors] == [
        {"name": "epyc", "vendor": "amd", "model": "AMD EPYC", "microarchitecture": "x86_64_v4", "cores": 2, "threads_per_core": 1}
    ]
    assert [one.model_dump(exclude={"sources"}, exclude_unset=True) for one in found.accelerators] == [
        {"name": "h2000", "vendor": "nvidia", "model": "NVIDIA H2000", "compute_capability": "9.0", "memory_gb": 150.7}
    ]
    assert "nvidia-smi --query-gpu (2026-11-20), on login1" in found.accelerators[0].sources[0].citation


def test_a_virtual_machine_is_said_to_be_one() -> None:
    """Its processor's name is the hypervisor's word."""
    assert any("virtual machine (KVM)" in note for note in seen({"lscpu": "lscpu-epyc-vm.json"}).notes)


@pytest.mark.parametrize(
    ("model", "vendor", "name"),
    [
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "GenuineIntel", "xeon-gold-6148"),
        ("Intel(R) Xeon(R) CPU E5-2630 v4 @ 2.20GHz", "GenuineIntel", "xeon-e5-2630-v4"),
        ("AMD EPYC 7601 32-Core Processor", "AuthenticAMD", "epyc-7601"),
        ("Intel(R) Xeon(R) Platinum 8480+", "GenuineIntel", "xeon-platinum-8480+"),
    ],
)
def test_processors_are_known_by_the_names_that_the_kernel_gives_them(model: str, vendor: str, name: str) -> None:
    """Trade marks, clock rates and core counts are no part of a name."""
    found = hardware.processor(SeenProcessor(model, vendor, "x86_64"), PROCESSORS, "lscpu")
    assert found
    assert found.name == name


@pytest.mark.parametrize(
    ("model", "vendor", "architecture"),
    [("Acme 1", "Acme", "x86_64"), ("Intel Acme 1", "GenuineIntel", "vax"), ("°", "GenuineIntel", "x86_64")],
)
def test_a_processor_without_vendor_microarchitecture_or_name_gets_no_entry(model: str, vendor: str, architecture: str) -> None:
    """An entry needs all three."""
    assert hardware.processor(SeenProcessor(model, vendor, architecture), PROCESSORS, "lscpu") is None


@pytest.mark.parametrize("model", ["Tesla V100-SXM2-16GB", "NVIDIA GeForce GTX 1080 Ti", "Tesla T4", "Tesla P100-SXM2-16GB"])
def test_accelerators_are_known_by_the_names_that_nvidia_smi_gives_them(model: str) -> None:
    """With and without the maker's and the family's name."""
    found = hardware.accelerator(SeenGpu(model), ACCELERATORS, "nvidia-smi")
    assert found
    assert found.name in ACCELERATORS


@pytest.mark.parametrize(
    ("architecture", "vendor", "model", "flags", "target"),
    [
        ("x86_64", "GenuineIntel", "x", "haswell", "haswell"),
        ("x86_64", "AuthenticAMD", "x", "zen2", "zen2"),
        ("aarch64", "ARM", "Neoverse-N1", "neoverse_n1", "neoverse_n1"),
        ("ppc64le", "", "POWER9, altivec supported", "", "power9le"),
        ("pdp11", "", "x", "", None),
    ],
)
def test_the_microarchitecture_is_what_archspec_would_say(
    architecture: str, vendor: str, model: str, flags: str, target: str | None
) -> None:
    """From the flags alone, wherever this runs."""
    import archspec.cpu

    features = frozenset(archspec.cpu.TARGETS[flags].features) if flags else frozenset()
    assert hardware.microarchitecture(SeenProcessor(model, vendor, architecture, features)) == target


def test_lscpu_is_read_flat_and_nested() -> None:
    """As util-linux wrote it before and since 2.38."""
    nested, flat = (machine.lscpu(read(f"lscpu-{name}.json")) for name in ("xeon", "epyc-vm"))
    assert nested
    assert flat
    assert (nested.topology, nested.numa_domains, nested.vendor) == ((2, 40, 2), 2, "GenuineIntel")
    assert (flat.topology, flat.numa_domains, flat.hypervisor) == ((1, 2, 1), 1, "KVM")


def test_a_processor_without_a_name_is_none() -> None:
    """As in some virtual machines: nothing says which it is."""
    assert machine.lscpu(read("lscpu-xeon.json").replace("Model name:", "Model:")) is None


def test_numa_domains_without_processors_do_not_count() -> None:
    """High-bandwidth or GPU memory appears as a domain of its own; no rank can be put there."""
    assert machine.numactl(read("numactl.txt")) == 2


def test_shared_file_systems_are_those_of_the_mount_table() -> None:
    """A path that no script can hold is left out and said, and so is a second one with the same name."""
    found = seen({**XEON, "mounts": "mounts.txt"})
    assert [(one.name, one.kind, one.path) for one in found.system.filesystems] == [
        ("beegfs", "beegfs", "/beegfs"),
        ("home", "nfs", "/home"),
        ("lustre-scratch", "nfs", "/lustre-scratch"),
    ]
    allowed = "allowed: an absolute path of letters, digits and ._+@-; at most 512 characters"
    assert rf"filesystems: /gpfs/odd\040name is left out: path: {allowed}" in found.notes
    assert "filesystems: /lustre/scratch is left out: the name lustre-scratch is taken" in found.notes


def test_runtimes_are_programs_then_modules() -> None:
    """A module counts where no program of that name is on PATH; jobs without a container always run."""
    found = seen({**XEON, "modules": "module-avail.txt"}, ch_run="\n0.31\n")
    assert [(one.name, one.version, one.module) for one in found.system.runtimes] == [
        ("charliecloud", "0.31", None),
        ("apptainer", "1.3.0", "apptainer/1.3.0"),
        ("none", None, None),
    ]


def test_singularity_that_is_apptainer_is_listed_once() -> None:
    """Apptainer installs a link of that name."""
    given = answers({}, apptainer="apptainer version 1.4.5", singularity="apptainer version 1.4.5")
    assert [name for name, *_ in software.runtimes(given)] == ["apptainer"]


def test_mpi_libraries_are_modules_then_what_path_has() -> None:
    """The newest of each family by version, not by text; pmi is what srun offers for it."""
    found = seen({**MIXED, **XEON, "modules": "module-avail.txt", "srun-mpi": "srun-mpi.txt"}, mpirun="mpirun (Open MPI) 4.1.4")
    assert [(one.family, one.version, one.module, one.pmi) for one in found.system.mpi] == [
        ("mpich", "4.2.1", "mpich/4.2.1", "pmi2"),
        ("openmpi", "5.0.3", "openmpi/5.0.3", "pmix"),
    ]


@pytest.mark.parametrize(
    ("text", "family", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n", "openmpi", "4.1.4"),
        ("HYDRA build details:\n    Version:                                 4.0.2\n", "mpich", "4.0.2"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307", "intel-mpi", "2021.9"),
    ],
)
def test_mpirun_says_whose_it_is(text: str, family: str, version: str) -> None:
    """Each family in its own words."""
    assert [(name, number) for name, number, *_ in software.mpi(answers({}, mpirun=text))] == [(family, version)]


def test_a_machine_that_says_nothing_is_an_error_with_reasons() -> None:
    """No system is made up."""
    with pytest.raises(DataError, match="partition local is left out"):
        seen({})


def test_units_are_powers_of_ten() -> None:
    """Slurm's M and the kernel's kB are MiB and KiB."""
    assert gigabytes(1_000_000) == 1048.5


HOSTILE = "\x1b]0;x\x07\u202e$(touch /tmp/x)\r`id`\x00"


@pytest.mark.parametrize("key", [*SLURM, *WITHOUT_SCONTROL, *ALWAYS])
def test_hostile_text_is_never_part_of_a_system(key: str) -> None:
    """Control characters inside any answer: the file stays one that add takes, notes are printable."""
    files = {name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-xeon.json", "modules": "module-avail.txt", "mounts": "mounts.txt"}
    files |= {"nvidia-smi": "nvidia-smi.txt", "sinfo": "sinfo.txt", "srun-mpi": "srun-mpi.txt", "pbsnodes": "pbsnodes-openpbs.txt"}
    files |= {"qhost": "qhost-gridengine.txt"}
    text = read(files[key]) if key in files else "1.2.3"
    for hostile in (HOSTILE, text.replace("=", f"={HOSTILE}"), text.replace(" ", f" {HOSTILE}"), text.replace("a", HOSTILE)):
        given = {**answers(files), key: CommandOutput(key, hostile)}
        probes = {name: answers({"lscpu": "lscpu-xeon.json"}) for name in ("main", "gpu")}
        try:
            found = describe(given, probes, Asked("login1", DAY), PROCESSORS, ACCELERATORS)
        except DataError as error:
            notes = [fault.message for fault in error.faults]
        else:
            notes = [*found.notes, json.dumps(found.system.model_dump(mode="json"), ensure_ascii=False)]
            assert System.model_validate(tomllib.loads(toml([found.system]))) == found.system
        assert [note for note in notes if not note.isprintable()] == []


@pytest.mark.parametrize("filling", ["(", " ", "a,", "=", "[", '{"field":', "\n", "gpu:", "1.", "a=b ", "\tx\n", "9"])
def test_huge_answers_are_read_in_proportion(filling: str) -> None:
    """A fifth of a megabyte of anything takes all parsers together less than two seconds of a processor."""
    text = filling * (200_000 // len(filling))
    start = time.process_time()
    given = {key: CommandOutput(key, text) for key in {**SLURM, **WITHOUT_SCONTROL, **ALWAYS}}
    given |= {
        "scontrol-node": CommandOutput("", f"NodeName=a Gres={text}"),
        "scontrol-partition": CommandOutput("", f"PartitionName=a MaxTime={text}"),
    }
    with pytest.raises(DataError):
        describe(given, {}, Asked("h", DAY), PROCESSORS, ACCELERATORS)
    assert time.process_time() - start < 2


def test_the_same_machine_has_not_drifted() -> None:
    """A stored system against itself, seen again."""
    found = seen({**MIXED, **XEON}).system
    assert drift(found, found) == ()


def test_memory_that_was_entered_without_its_hundredths_has_not_drifted() -> None:
    """As earlier versions entered it; more than there is has."""
    now = seen({**MIXED, **XEON}).system
    node = now.partitions[0].node

    def differing(stored: float) -> int:
        told = now.partitions[0].model_copy(update={"node": node.model_copy(update={"usable_memory_gb": stored})})
        return len(drift(now.model_copy(update={"partitions": (told, *now.partitions[1:])}), now))

    assert (node.usable_memory_gb, differing(200.2), differing(200.3)) == (200.23607296, 0, 1)


@pytest.mark.parametrize(("entered", "differs"), [(2, False), (4, True)])
def test_gpus_that_were_entered_by_hand_are_compared_by_their_number(entered: int, differs: bool) -> None:
    """The scheduler counts them and does not name their model; they were reported as not seen, each time."""
    found = seen({name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-epyc-vm.json"})
    node = partition(found, "gpu").node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": entered})
    parts = tuple(one.model_copy(update={"node": node}) if one.name == "gpu" else one for one in found.system.partitions)
    stored = found.system.model_copy(update={"partitions": parts})
    told = drift(stored, found.system, found.unnamed_gpus)
    assert told == (Drift("partitions.gpu.node.accelerators", entered, 2),) * differs


def test_gpus_that_were_entered_by_hand_are_not_said_to_be_missing() -> None:
    """The note stays for a partition into which nobody has entered them."""
    found = seen({name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-epyc-vm.json"})
    node = partition(found, "gpu").node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": 2})
    parts = tuple(one.model_copy(update={"node": node}) if one.name == "gpu" else one for one in found.system.partitions)
    left_out = [note for note in found.notes if "the model is unknown" in note]
    assert left_out
    assert found.notes_beside(found.system) == list(found.notes)
    beside = found.notes_beside(found.system.model_copy(update={"partitions": parts}))
    assert beside == [note for note in found.notes if note not in left_out]


def test_a_changed_size_of_jobs_is_drift() -> None:
    """And a quality of service; where the scheduler says nothing of one, that of the file is the site's."""
    first, then = (limited(fields) for fields in ("MinNodes=0", "MinNodes=2 AllowQos=long"))
    stored, now = first.system, then.system
    assert drift(stored, now) == tuple(
        Drift(f"partitions.{name}.{field}", *values)
        for name in ("batch", "batch-kind2")
        for field, values in (("min_nodes", (1, 2)), ("qos", (None, "long")), ("allowed_qos", (None, "long")))
    )
    assert {one.field.rpartition(".")[2] for one in drift(now, stored, shown_lists=first.shown_lists)} == {"allowed_qos"}


def test_a_list_that_sinfo_does_not_show_is_not_gone() -> None:
    """Where users may not run scontrol, the accounts of a partition are the site's word."""
    probes = {name: {"lscpu": "lscpu-epyc-vm.json"} for name in ("main", "gpu")}
    found = seen({"sinfo": "sinfo.txt", "lscpu": "lscpu-epyc-vm.json"}, probes=probes)
    parts = tuple(one.model_copy(update={"allowed_accounts": ("chem",)}) for one in found.system.partitions)
    assert drift(found.system.model_copy(update={"partitions": parts}), found.system, shown_lists=found.shown_lists) == ()


@pytest.mark.parametrize(("accounts", "gone"), [(257, False), (0, True)])
def test_a_list_that_is_too_long_to_be_entered_is_not_gone(accounts: int, gone: bool) -> None:
    """A shorter one that somebody has entered stays; where the partition has none, it is gone."""
    names = ",".join(f"a{number}" for number in range(accounts))
    found = limited(f"AllowAccounts={names}" if accounts else "MinNodes=0")
    parts = tuple(one.model_copy(update={"allowed_accounts": ("chem",)}) if one.name == "batch" else one for one in found.system.partitions)
    told = drift(found.system.model_copy(update={"partitions": parts}), found.system, shown_lists=found.shown_lists)
    assert told == (Drift("partitions.batch.allowed_accounts", "chem", None),) * gone


def test_a_changed_default_time_is_drift() -> None:
    """Jobs without a prediction get it."""
    shown = read(MIXED["scontrol-partition"])
    before, after, none = (
        seen({**MIXED, **XEON}, scontrol_partition=shown.replace("DefaultTime=01:00:00", f"DefaultTime={time}")).system
        for time in ("00:10:00", "00:20:00", "NONE")
    )
    assert drift(before, after) == tuple(Drift(f"partitions.{name}.default_wall_time_s", 600, 1200) for name in ("batch", "batch-kind2"))
    assert drift(after, none) == ()


def test_changed_features_are_drift_in_whatever_order_they_are() -> None:
    """They lead jobs that ask for them to a partition."""
    now = seen({name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-epyc-vm.json"}).system

    def with_features(*features: str) -> System:
        return now.model_copy(update={"partitions": tuple(one.model_copy(update={"features": features}) for one in now.partitions)})

    assert drift(with_features("ssd", "v100"), with_features("v100", "ssd")) == ()
    assert {one[1:] for one in drift(with_features("ssd"), with_features("v100", "ssd"))} == {("ssd", "v100, ssd")}


def test_drift_names_field_stored_and_seen() -> None:
    """What changed, what came and what went; what a machine does not show is not compared."""
    old = seen({**MIXED, **XEON}).system
    data = old.model_dump(mode="json", exclude_unset=True)
    data["title"], data["site"] = "Another title", "Another site"
    data["partitions"][0]["node"]["usable_memory_gb"] = 100
    data["partitions"][0]["max_wall_time_s"] = None
    data["partitions"][0]["nodes"] = 9
    data["partitions"][1]["name"] = "gone"
    data["runtimes"] = [{"name": "charliecloud", "version": "0.31"}, {"name": "apptainer", "allowed": False}]
    differences = set(drift(System.model_validate(data), old))
    assert differences == {
        Drift("partitions.batch.node.usable_memory_gb", 100.0, 200.23607296),
        Drift("partitions.batch.max_wall_time_s", None, 86400),
        Drift("partitions.batch.nodes", 9, 4),
        Drift("partitions.batch-kind2", None, "2 nodes"),
        Drift("partitions.gone", "stored", None),
        Drift("runtimes.charliecloud", "0.31", None),
    }


@pytest.mark.parametrize(
    ("enforced", "required"), [("none", False), ("associations", True), ("limits,qos,safe", True), ("nojobs,nosteps", False)]
)
def test_slurm_says_whether_jobs_need_a_project(enforced: str, required: bool) -> None:
    """With a source and a note, because the users' default project may be meant; what changed is a difference."""
    files = {name: f"{name}.txt" for name in SLURM if name != "scontrol-config"} | {"lscpu": "lscpu-epyc-vm.json"}
    config = read("scontrol-config.txt").replace("AccountingStorageEnforce = none", f"AccountingStorageEnforce = {enforced}")
    found = seen(files, scontrol_config=config)
    assert found.system.account_required == required
    assert any("account_required" in source.fields for source in found.system.sources) == required
    assert any(note.startswith("account_required: jobs need a project") for note in found.notes) == required
    stored = found.system.model_copy(update={"account_required": False})
    assert list(drift(stored, found.system)) == [Drift("account_required", False, True)] * required


def test_a_queue_by_size_is_compared_with_its_own_limits() -> None:
    """SuperMUC-NG's partitions are queues of one set of nodes."""
    stored = next(one for one in SHIPPED.systems if one.name == "supermuc-ng")
    seen_now = System.model_validate(
        {
            "name": "supermuc-ng",
            "title": "x",
            "site": "x",
            "scheduler": "slurm",
            "cpu_unit": "thread",
            "partitions": [
                {
                    "name": "large",
                    "nodes": 3168,
                    "max_wall_time_s": 43200,
                    "node": {"processor": "xeon-platinum-8174", "sockets": 2, "cores": 48},
                },
            ],
            "sources": [{"fields": ["partitions"], "citation": "x"}],
        }
    )
    assert Drift("partitions.large.max_wall_time_s", 86400, 43200) in drift(stored, seen_now)
    assert not [one for one in drift(stored, seen_now) if one.field.endswith(("large.nodes", "node.cores"))]

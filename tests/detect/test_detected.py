"""What commands say, read into a system: recorded and documented outputs (tests/data/detect) in, a system file out."""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from modak.detect import ALWAYS, SLURM, WITHOUT_SCONTROL
from modak.detected import UNASKED, Asked, describe, hardware, pbs, slurm, toml
from modak.detected.drift import Drift, drift
from modak.detected.seen import NOT_THERE, CommandOutput, gigabytes
from modak.errors import DataError
from modak.facts import Processor, Queue, System
from modak.knowledge import read_array, read_system
from modak.text.faults import fault_in
from modak.text.grammar import ResourceText
from tests.detect.told import ACCELERATORS, DAY, MIXED, OPENPBS, PROCESSORS, TWO_V100, XEON, answers, limited, partition, read, seen


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


def test_a_machine_with_as_many_cores_on_other_sockets_lends_nothing() -> None:
    """It is another machine, whatever Slurm's count of CPUs."""
    nodes = read(MIXED["scontrol-node"]).replace("CoresPerSocket=20", "CoresPerSocket=10").replace("Sockets=2", "Sockets=4")
    with pytest.raises(DataError, match="partition batch is left out: its nodes are not like login1"):
        seen({"scontrol-partition": MIXED["scontrol-partition"], **XEON}, scontrol_node=nodes)


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


def test_the_only_nodes_with_gpus_need_no_feature() -> None:
    """A job that asks for GPUs runs nowhere else in the partition."""
    shown = read(MIXED["scontrol-node"]).replace("Partitions=gpu.v100", "Partitions=batch,gpu.v100")
    gpus = partition(seen({"scontrol-partition": MIXED["scontrol-partition"], **XEON}, scontrol_node=shown), "batch-kind3")
    assert (gpus.nodes, gpus.queue, gpus.constraint) == (2, "batch", None)


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


def test_a_partition_that_gives_parts_of_nodes_is_entered_so() -> None:
    """Slurm rejects a job that wants a node for itself there."""
    parts, whole = (limited(f"MaxCPUsPerNode={most}") for most in ("20", "UNLIMITED"))
    assert (partition(parts, "batch").shared_nodes, partition(whole, "batch").shared_nodes) == (True, False)
    assert "partitions.batch.shared_nodes" in [one.field for one in drift(whole.system, parts.system)]


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
    assert "partition gpu.v100-t4: its nodes have GPUs of several types; this entry is for t4" in found.notes


def test_gpus_of_the_machine_that_the_scheduler_does_not_give_are_left_out() -> None:
    """And said: a job that asks for them would wait for ever."""
    found = seen({**MIXED, **XEON, **TWO_V100}, "c1")
    assert partition(found, "batch").node.accelerators == 0
    assert "partition batch: c1 has GPUs that the scheduler does not give to jobs; they are left out" in found.notes


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
    """38 of the 40 cores of a node are for jobs; Slurm refuses those that want more than 500 MiB for each and not its hyper-threads."""
    assert partition(limited("MaxMemPerCPU=500"), "batch").node.usable_memory_gb == 19.922944


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


@pytest.mark.parametrize(
    ("exclusive", "usual"),
    [("OverSubscribe=EXCLUSIVE", "OverSubscribe=NO"), ("Exclusive=NODE OverSubscribe=NO", "Exclusive=USER OverSubscribe=NO")],
    ids=["24.11", "26.05"],
)
def test_a_partition_that_gives_whole_nodes_is_entered_so(exclusive: str, usual: str) -> None:
    """Otherwise jobs would ask for a part of the memory, and get that."""
    whole, shared = (limited(fields, "SelectType = select/cons_tres") for fields in (exclusive, usual))
    assert (partition(whole, "batch").whole_nodes, partition(shared, "batch").whole_nodes) == (True, False)
    assert "partitions.batch.whole_nodes" in [one.field for one in drift(shared.system, whole.system)]


@pytest.mark.parametrize(("config", "whole"), [("SelectType = select/linear", True), ("", None)], ids=["linear", "unknown"])
def test_how_the_cluster_selects_nodes_says_whether_jobs_share_them(config: str, whole: bool | None) -> None:
    """``select/linear`` gives each job whole nodes, whatever its partition says."""
    assert partition(limited("OverSubscribe=NO", config), "batch").whole_nodes is whole


@pytest.mark.parametrize(
    ("stored", "seen", "differs"),
    [("select/linear", "select/cons_tres", True), ("", "select/cons_tres", True), ("select/linear", "", False)],
)
def test_that_jobs_share_nodes_is_compared_where_it_is_seen(stored: str, seen: str, differs: bool) -> None:
    """What is charged depends on it."""
    here, there = (limited("OverSubscribe=NO", f"SelectType = {selects}").system for selects in (stored, seen))
    assert ("partitions.batch.whole_nodes" in [one.field for one in drift(here, there)]) == differs


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
    assert any(note.startswith("mandatory_directives: --time by what") for note in found.notes) == bool(directives)


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


@pytest.mark.parametrize(
    ("limits", "asks"),
    [
        ("MaxMemPerNode=4000", True),
        ("MaxMemPerNode=4000 DefMemPerCPU=100", False),
        ("MaxMemPerNode=190960", False),
        ("MaxMemPerCPU=100", False),
    ],
)
def test_jobs_ask_for_memory_where_slurm_would_give_them_more_than_is_allowed(limits: str, asks: bool) -> None:
    """Without a default that is all of a node's, and the job is rejected."""
    batch = partition(limited(limits), "batch")
    assert batch.resource_directives[-1:] == (("--mem={memory_mib_per_node}M",) if asks else ())


@pytest.mark.parametrize(
    ("limits", "config", "told"),
    [
        ("", "SelectTypeParameters = CR_CORE_MEMORY", True),
        ("", "SelectTypeParameters = CR_CORE", False),
        ("SelectTypeParameters=CR_SOCKET_MEMORY", "SelectTypeParameters = CR_CORE", True),
        ("SelectTypeParameters=CR_SOCKET", "SelectTypeParameters = CR_CORE_MEMORY", False),
        ("DefMemPerCPU=100", "SelectTypeParameters = CR_CORE_MEMORY", False),
        ("OverSubscribe=EXCLUSIVE", "SelectTypeParameters = CR_CORE_MEMORY", False),
        ("MaxMemPerNode=4000", "SelectTypeParameters = CR_CORE_MEMORY", False),  # scripts ask for memory there
    ],
)
def test_a_job_that_would_have_all_memory_of_a_node_is_told(limits: str, config: str, *, told: bool) -> None:
    """Slurm gives it to jobs that ask for none where no default is set, and where memory is shared, none fits beside them: they are
    charged for all of it."""
    found = limited(limits, f"SelectType = select/cons_tres\n{config}")
    notes = [note for note in found.notes if note.startswith("partition batch: a job that asks for no memory gets all")]
    assert (bool(notes), partition(found, "batch").whole_nodes) == (told, None if told else "EXCLUSIVE" in limits)
    for note in notes:  # what it says to enter can be copied into the partition
        asking = tomllib.loads(note.split("'")[-2])["resource_directives"]
        assert not any(fault_in(ResourceText, option) for option in asking)
        assert asking[-1] == "--mem={memory_mib_per_node}M"


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


def test_the_pbs_commands_that_slurm_brings_are_not_pbs() -> None:
    """Recorded from slurm-wlm-torque."""
    assert pbs.cluster(answers({"pbsnodes": "pbsnodes-slurm-wrapper.txt"})) is None


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

"""The job of a chosen configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from modak.dsl import Request
from modak.errors import Conflict
from modak.facts import Facts, HostMpi, Image, ImageLabels, Layout, Node, Partition, Result, Rule, RuntimePolicy, SeriesKey, System
from modak.normalise import normalise
from modak.optimise import Answer, optimise
from modak.perfmodel import fit
from modak.response import filled
from modak.target import resolve
from modak.tuning.trial import base_request
from tests.systems import site

NODE = Node(processor="epyc", sockets=2, cores=64, reserved_cores=8, usable_memory_gb=512, accelerator="a100", accelerators=4)
GPUS = site(NODE, nodes=8, name="here")
CLOSEST = Rule(name="closest", title="each rank beside its GPU", launcher_options=("--gpu-bind=closest",), source="a test")
PURE = {"app_type": "hpc", "hpc": {"config": {"parallelisation": "mpi"}}}
CPUS = {"app_type": "ai_training", "opt_build": {"acc_type": "none"}}
SPREAD = {"app_type": "ai_training", "ai_training": {"config": {"distributed_training": True}, "pytorch": {"distribution": "ddp"}}}
OPENMP = {"app_type": "hpc", "hpc": {"openmp": {}}}


def planned(system: System, options: Mapping[str, Any], wanted: Mapping[str, Any] = PURE, **application: Any) -> Answer:
    """The answer for a job on a system of which nothing else is known, and with the rule above."""
    app = {"app_type": "mpi", "executable": "./solver", **application}
    job = {"job_options": options, "application": app, "target": {"name": "here", "container_runtime": "none"}, "optimisation": wanted}
    request: Request = normalise({"job": job}).request
    return optimise(request, Facts(version="1", systems={"here": system}, rules=(CLOSEST,)))


def script(system: System, options: Mapping[str, Any], wanted: Mapping[str, Any] = PURE, **application: Any) -> str:
    """Its script."""
    return planned(system, options, wanted, **application).texts.job_script


@pytest.mark.parametrize(("application", "name"), [("My Solver (v2)", "My-Solver-v2"), ("(?)", "modak")])
def test_a_job_is_called_after_its_application(application: str, name: str) -> None:
    """As far as a scheduler takes that name."""
    text = script(GPUS, {}, PURE | {"workload": {"application": application}})
    assert f"#SBATCH --job-name={name}\n" in text


def test_a_checkpoint_that_no_signal_starts_is_told() -> None:
    """The run would end at its limit without one."""
    application = {"app_type": "mpi", "executable": "./solver", "checkpoint": "touch stop"}
    job = {"application": application, "target": {"job_scheduler_type": "slurm"}}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    assert ["job_options.signal" in each.message for each in warnings if each.field == "application.checkpoint"] == [True]


def test_a_script_may_leave_no_result() -> None:
    """Nothing of it is left in the script, and what was to be in it, or to name its file, is told."""
    metric = {"metric": {"name": "rate", "unit": "1/s", "pattern": "rate: ([0-9.]+)"}}
    application = {"app_type": "mpi", "app_tag": "solver", "executable": "./solver", "result_file": "r.json", "write_result": "no"}
    job = {"application": application, "target": {"job_scheduler_type": "slurm"}, "optimisation": {"workload": metric}}
    answer = optimise(normalise({"job": job}).request, Facts(version="1"))
    assert [word in answer.texts.job_script for word in ("modak-result", "trap", "mkfifo", "MODAK_STARTED")] == [False] * 4
    told = [each.field for each in answer.plan.warnings if "write_result is false" in each.message]
    assert told == ["application.result_file", "optimisation.workload.metric"]


@pytest.mark.parametrize(
    ("tuning", "options", "told"),
    [
        ({"space": {"environment": {"BLOCK": [1, 2]}}}, {}, True),
        ({"space": {"environment": {"BLOCK": [1, 2]}}, "setting": {"environment": {"BLOCK": 1}}}, {}, False),
        ({"space": {"environment": {"BLOCK": [1, 2]}}}, {"copy_environment_variable": "BLOCK"}, False),
    ],
)
def test_a_variable_that_only_a_tuner_sets_is_told(tuning: dict[str, Any], options: dict[str, str], told: bool) -> None:
    """The script stops where it expands a variable without a value."""
    application = {"app_type": "mpi", "executable": "./solver ${BLOCK}"}
    job = {"application": application, "target": {"job_scheduler_type": "slurm"}, "job_options": options}
    answer = optimise(normalise({"job": job | {"optimisation": {"autotuning": tuning}}}).request, Facts(version="1"))
    expected = ["optimisation.autotuning.space.environment.BLOCK"] * told
    assert [each.field for each in answer.plan.warnings] == expected


def test_an_address_among_the_data_is_told() -> None:
    """It would be taken for a path: the job stops there, or leaves its results in a directory called ``s3:``."""
    staged = {
        "stage_in": [{"from": "data.tar", "to": "a"}, {"from": "https://example.org/data.tar", "to": "b"}],
        "stage_out": [{"from": "out", "to": "s3://bucket/out"}, {"from": "out", "to": "${HOME}/out"}],
    }
    job = {"application": {"executable": "./solver", **staged}, "target": {"job_scheduler_type": "slurm"}}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    assert [each.field for each in warnings] == ["application.stage_in.1.from", "application.stage_out.0.to"]


@pytest.mark.parametrize("metric", [{}, {"metric": {"name": "rate", "unit": "1/s", "pattern": "rate: ([0-9.]+)"}}])
def test_a_log_file_in_which_nothing_is_looked_for_is_told(metric: dict[str, Any]) -> None:
    """The result would come without the number, after the run."""
    application = {"app_type": "mpi", "executable": "./solver", "metric_file": "log"}
    job = {"application": application, "target": {"job_scheduler_type": "slurm"}, "optimisation": {"workload": metric}}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    assert [each.field for each in warnings if each.field == "application.metric_file"] == ["application.metric_file"] * (not metric)


@pytest.mark.parametrize("counts", [{}, {"process_count_per_node": 2}])
def test_the_usual_numa_mode_of_nodes_is_in_no_record(counts: Mapping[str, int]) -> None:
    """The same layout by rule of thumb and by the request: results of both are of one run."""
    usual = Node.model_validate({"processor": "epyc", "sockets": 2, "cores": 64, "numa_modes": [{"domains": 2, "standard": True}]})
    text = script(site(usual, nodes=8, name="here"), counts, SPREAD, app_type="python", executable="train.py", app_tag="net")
    assert '"ranks_per_node": 2, ' in text
    assert "numa_mode" not in text


@pytest.mark.parametrize(
    ("framework", "scheduler", "srun"),
    [
        ({"jax": {"distribution": "jax-distributed"}}, "slurm", True),
        ({"tensorflow": {"distribution": "multi-worker"}}, "slurm", True),
        ({"tensorflow": {"distribution": "horovod"}}, "slurm", False),
        ({"jax": {}}, "slurm", False),
        ({"jax": {"distribution": "jax-distributed"}}, "torque", False),
    ],
)
def test_an_only_rank_finds_what_it_asks_for_the_others(framework: dict[str, Any], scheduler: str, srun: bool) -> None:
    """jax.distributed.initialize() and SlurmClusterResolver() end with an error where srun has started nothing."""
    application = {"app_type": "python", "executable": "python3 train.py", "mpi_ranks": 1}
    job = {"application": application, "target": {"job_scheduler_type": scheduler, "container_runtime": "none"}}
    job["optimisation"] = {"app_type": "ai_training", "ai_training": framework}
    text = optimise(normalise({"job": job}).request, Facts(version="1")).texts.job_script
    assert ("\nsrun " in text.partition("MODAK_STARTED=")[2]) == srun


def test_ranks_on_reserved_cores_oversubscribe_the_others() -> None:
    """60 ranks on the 56 cores that jobs may use: Slurm would reject --ntasks-per-node=60."""
    text = script(GPUS, {"request_gpus": 0, "node_count": 1, "process_count_per_node": 60})
    assert ("--overcommit\n" in text, "#SBATCH --ntasks" in text) == (True, False)


@pytest.mark.parametrize(
    ("default", "options", "memory"),
    [
        ({"default_memory_per_cpu_gb": 0.1}, {}, "--mem=69754M"),
        ({"default_memory_per_cpu_gb": 0.1}, {"node_exclusive": True}, "--mem=488281M"),
        ({"default_memory_per_cpu_gb": 0.1}, {"minimum_memory_per_processor": "1GiB"}, "--mem-per-cpu=1024M"),
        ({"default_memory_per_cpu_gb": 0.1}, {"memory_limit": "1GiB"}, "--mem=1024M"),
        ({"default_memory_per_cpu_gb": 9.2}, {}, None),
        ({"default_memory_gb": 80}, {}, None),
        ({"default_memory_per_cpu_gb": 64}, {}, None),
        ({"default_memory_per_cpu_gb": 65}, {}, "--mem=488281M"),
        ({"default_memory_per_cpu_gb": 65}, {"memory_limit": "1GiB"}, "--mem=1024M"),
        ({"default_memory_per_cpu_gb": 0.1}, {"partition": "unheard-of"}, None),  # of whose nodes nothing is known
        ({}, {}, None),
    ],
)
def test_a_job_asks_for_memory_where_it_would_get_less_than_its_part_or_more_than_it_may_have(
    default: Mapping[str, float], options: Mapping[str, Any], memory: str | None
) -> None:
    """8 of the 56 cores of a node with 512 GB; all of it if no other job may run there. Slurm rejects jobs whose CPUs bring more."""
    partition = GPUS.partitions[0].model_copy(update=default)
    text = script(GPUS.model_copy(update={"partitions": (partition,)}), {"request_gpus": 0, "process_count_per_node": 8, **options})
    assert [line for line in text.splitlines() if "--mem" in line] == ([f"#SBATCH {memory}"] if memory else [])


@pytest.mark.parametrize(("whole", "memory"), [(False, "--mem=69754M"), (True, "--mem=488281M")])
def test_where_each_job_gets_whole_nodes_it_has_all_of_their_memory(whole: bool, memory: str) -> None:
    """Slurm gives it all CPUs by itself, but no more memory than it asks for."""
    partition = GPUS.partitions[0].model_copy(update={"default_memory_per_cpu_gb": 0.1, "whole_nodes": whole})
    here = GPUS.model_copy(update={"partitions": (partition,)})
    text = script(here, {"request_gpus": 0, "process_count_per_node": 8, "node_count": 1})
    assert (f"#SBATCH {memory}\n" in text, "--exclusive" in text) == (True, False)


def test_torque_is_told_to_ask_by_core_where_it_cannot_ask_by_node() -> None:
    """The request names no memory: a warning about its limit of memory would be of a field that it does not have."""
    partition = GPUS.partitions[0].model_copy(update={"default_memory_per_cpu_gb": 0.1})
    here = GPUS.model_copy(update={"scheduler": "torque", "partitions": (partition,)})
    options = {"request_gpus": 0, "process_count_per_node": 8, "node_count": 2}
    job = {"job_options": options, "application": {"app_type": "mpi", "executable": "./solver"}, "target": {"name": "here"}}
    request = normalise({"job": job | {"optimisation": PURE}}).request
    told = {one.field: one.message for one in optimise(request, Facts(version="1", systems={"here": here})).plan.warnings}
    assert "job_options.memory_limit" not in told
    assert told["job_options.minimum_memory_per_processor"].endswith("use memory per core (pmem): that part is 9.14 GB per core")


@pytest.mark.parametrize(("scheduler", "started"), [("flux", "flux run -N 2"), ("slurm", "mpirun"), ("lsf", "mpirun")])
def test_nodes_without_ssh_are_reached_by_the_scheduler(scheduler: str, started: str) -> None:
    """Its own launcher starts what the system's would start by ssh; daemons of Slurm and LSF start those of mpirun."""
    closed = {"scheduler": scheduler, "launcher": "mpirun", "ssh_between_nodes": False}
    text = script(GPUS.model_copy(update=closed), {"request_gpus": 0, "node_count": 2, "process_count_per_node": 8})
    assert f"\n{started} " in text


def test_a_job_of_one_node_does_not_speak_of_ssh() -> None:
    """Nothing of it is started elsewhere, and a script without a launcher starts nothing through the scheduler."""
    here = GPUS.model_copy(update={"scheduler": "slurm", "ssh_between_nodes": False})
    job = {"job_options": {"node_count": 1}, "application": {"executable": "./solver"}, "target": {"name": "here"}}
    answer = optimise(normalise({"job": job}).request, Facts(version="1", systems={"here": here}))
    assert not any(one.startswith("ssh:") for one in answer.plan.decisions)


def test_nodes_that_nothing_reaches_are_refused() -> None:
    """The job would hang at its start."""
    closed = GPUS.model_copy(update={"scheduler": "pbspro", "ssh_between_nodes": False})
    with pytest.raises(Conflict, match="mpirun needs ssh between nodes, which here does not have; use one node"):
        script(closed, {"request_gpus": 0, "node_count": 2, "process_count_per_node": 8})


@pytest.mark.parametrize(
    ("options", "application", "cores"),
    [
        ({"request_gpus": 4, "process_count_per_node": 4}, {}, 14),
        ({"request_gpus": 2, "process_count_per_node": 4}, {}, 7),
        ({"request_gpus": 2, "process_count_per_node": 4, "node_exclusive": True}, {}, 14),
        ({"request_gpus": 4, "process_count_per_node": 4, "core_count_per_process": 2}, {}, 2),
        ({"request_gpus": 4, "process_count_per_node": 4}, {"threads": 3}, 14),
        ({"request_gpus": 4, "process_count_per_node": 4, "core_count_per_process": 2}, {"threads": 3}, 3),
        ({"request_gpus": 0, "process_count_per_node": 4}, {}, 1),
    ],
)
def test_ranks_with_gpus_have_the_cores_that_go_with_them(options: dict[str, Any], application: dict[str, Any], cores: int) -> None:
    """A rank of a program without threads, too: packed on the first cores, all but one would be far from their GPUs."""
    assert f"--cpus-per-task={cores}\n" in script(GPUS, {"node_count": 2, **options}, **application)


@pytest.mark.parametrize(
    ("options", "threads", "cores", "binding"),
    [
        ({"process_count_per_node": 14, "core_count_per_process": 4}, 1, 4, None),
        ({"process_count_per_node": 14, "core_count_per_process": 4}, 2, 4, None),
        ({"process_count_per_node": 14, "core_count_per_process": 4}, 4, 4, "close"),
        ({"process_count_per_node": 14, "core_count": 56}, 2, 4, None),
        ({"process_count_per_node": 14}, 2, 2, "close"),
    ],
)
def test_ranks_have_the_cores_that_the_request_gives_them(options: dict[str, Any], threads: int, cores: int, binding: str | None) -> None:
    """Those of ranks that fill the memory before the cores, or start more than OpenMP's threads, which would be held on the cores of
    these."""
    text = script(GPUS, {"request_gpus": 0, **options}, threads=threads)
    assert f"#SBATCH --cpus-per-task={cores}\n" in text
    assert re.findall("^export OMP_PROC_BIND=(.*)", text, re.MULTILINE) == ([binding] if binding else [])


@pytest.mark.parametrize(("gigabytes", "ranks", "cores"), [(20, 24, 2), (2, 56, 1)])
def test_ranks_that_fill_the_memory_share_all_cores(gigabytes: int, ranks: int, cores: int) -> None:
    """On neighbouring cores they would fill the memory of one NUMA domain, and leave the other's empty."""
    text = script(GPUS, {"request_gpus": 0}, {**PURE, "workload": {"memory_per_rank_gb": gigabytes}})
    assert f"#SBATCH --ntasks-per-node={ranks}\n#SBATCH --cpus-per-task={cores}\n" in text


@pytest.mark.parametrize(("each", "cores"), [("20 GB", 1), ("10 GB", 2)])
def test_ranks_that_fill_the_memory_have_no_more_cores_than_it_has_room_for(each: str, cores: int) -> None:
    """Where the request asks for memory with each core; without, those of the whole node."""
    options = {"request_gpus": 0, "process_count_per_node": 24, "minimum_memory_per_processor": each}
    text = script(GPUS, options, {**PURE, "workload": {"memory_per_rank_gb": 20}}, threads=1)
    assert f"#SBATCH --cpus-per-task={cores}\n" in text


@pytest.mark.parametrize(
    ("asked", "threads", "told"),
    [
        (8, 2, ["8 cores for each rank requested, but the 14 ranks of a node share its 56: a rank gets 4"]),
        (1, 2, ["1 core for each rank requested, but each of its 2 threads has one: a rank gets 2"]),
        (4, 2, []),
    ],
)
def test_other_cores_of_a_rank_than_requested_are_told(asked: int, threads: int, told: list[str]) -> None:
    """Nothing that the request gives is changed without a word."""
    counts = {"request_gpus": 0, "process_count_per_node": 14, "core_count_per_process": asked}
    application = {"app_type": "mpi", "executable": "./solver", "threads": threads}
    job = {"job_options": counts, "application": application, "target": {"name": "here"}, "optimisation": PURE}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1", systems={"here": GPUS})).plan.warnings
    assert [each.message for each in warnings if each.field == "job_options.core_count_per_process"] == told


@pytest.mark.parametrize("options", [{}, {"core_count_per_process": 2}], ids=str)
def test_a_choice_that_is_fixed_keeps_its_cores(options: dict[str, Any]) -> None:
    """An answer that is sent again, and the trials of a search, ask for as many cores as the choice, though they give its threads."""
    application = {"app_type": "mpi", "executable": "./solver"}
    tuned = {"autotuning": {"space": {"environment": {"LEVEL": [1, 2]}}}}
    job = {"job_options": {"request_gpus": 4, **options}, "application": application, "target": {"name": "here"}, "optimisation": tuned}
    document = {"job": job}
    facts, request = Facts(version="1", systems={"here": GPUS}), normalise(document).request
    first = optimise(request, facts)
    again = normalise(json.loads(filled(document, first.plan, first.texts))).request
    trials = base_request(request, first.plan.configuration, resolve(request, facts))
    fixed = [optimise(one, facts).texts.job_script for one in (again, trials)]
    chosen, *others = [re.findall(r"#SBATCH --cpus-per-task=(\d+)", text) for text in (first.texts.job_script, *fixed)]
    assert chosen
    assert others == [chosen] * 2


@pytest.mark.parametrize(
    ("options", "wanted", "given"),
    [
        ({"process_count_per_node": 4}, PURE, True),
        ({"process_count_per_node": 1, "node_count": 1}, PURE, False),
        ({"request_gpus": 4, "process_count_per_node": 4}, SPREAD, False),
    ],
)
def test_a_rules_options_go_to_the_launcher_that_starts_the_ranks(options: dict[str, int], wanted: dict[str, Any], given: bool) -> None:
    """Not to the one that starts torchrun, whose workers would all be bound as its first rank is."""
    found = script(GPUS, {"node_count": 2, **options}, wanted, executable="train.py", app_type="python" if wanted is SPREAD else "mpi")
    assert ("--kill-on-bad-exit=1 --gpu-bind=closest" in found.replace("\\\n", "").replace("  ", "")) == given


@pytest.mark.parametrize("launcher", [None, "jsrun"])
def test_the_only_rank_of_distributed_training_is_started_by_torchrun(launcher: str | None) -> None:
    """It may read what torchrun sets, and the user's own torchrun would start more ranks than the job has GPUs."""
    options, here = {"node_count": 1, "request_gpus": 1}, GPUS.model_copy(update={"scheduler": "lsf", "launcher": launcher})
    found = script(here, options, SPREAD, executable="torchrun --nproc-per-node 4 train.py", app_type="python")
    assert re.search("^ *torchrun --nnodes=1 --nproc-per-node=1 --standalone train.py$", found, re.MULTILINE)


def test_an_only_process_is_started_by_jsrun() -> None:
    """Where jsrun is the launcher, scripts run on a node beside those of the job: without GPUs, and not to be computed on."""
    summit = GPUS.model_copy(update={"scheduler": "lsf", "launcher": "jsrun"})
    found = script(summit, {"node_count": 1, "request_gpus": 1, "process_count_per_node": 1})
    assert "\njsrun -n 1 -r 1 -a 1 -c 14 -g 1 -d packed -b packed:14" in found
    assert "nvidia-smi" not in found
    trained = script(summit, {"node_count": 1, "request_gpus": 4, "process_count_per_node": 4}, SPREAD, app_type="python")
    assert "\njsrun -n 1 -r 1 -a 1 -c 56 -g 4" in trained


@pytest.mark.parametrize(("work", "memory"), [({}, 128), ({"memory_per_rank_gb": 200}, 200), ({"memory_per_rank_gb": 20}, 128)])
def test_a_partition_is_asked_in_its_own_words(work: Mapping[str, float], memory: int) -> None:
    """With the part of its memory that belongs to the job's cores, or what its ranks need if that is more."""
    part = GPUS.partitions[0].model_copy(update={"resource_directives": ("-l ncpus={cpus}", "-l ngpus={gpus}", "-l mem={memory_mib}mb")})
    gadi = GPUS.model_copy(update={"scheduler": "pbspro", "partitions": (part,)})
    text = script(gadi, {"node_count": 1, "request_gpus": 1, "process_count_per_node": 1}, {**PURE, "workload": work})
    header = [line for line in text.splitlines() if " -l " in line]
    assert header == ["#PBS -l ncpus=14", "#PBS -l ngpus=1", f"#PBS -l mem={memory * 10**9 // 2**20}mb"]


@pytest.mark.parametrize(
    ("asked", "written"), [(None, "gpu"), ("hbm80g", "hbm80g&gpu"), ("gpu&hbm80g", "gpu&hbm80g"), ("hbm80g|hbm40g", "hbm80g|hbm40g")]
)
def test_requested_features_add_to_those_of_the_partition(asked: str | None, written: str) -> None:
    """Without the partition's own, the job could get nodes of another kind than its layout is for."""
    (partition,) = GPUS.partitions
    system = GPUS.model_copy(update={"partitions": (partition.model_copy(update={"constraint": "gpu"}),)})
    assert f"#SBATCH --constraint={written}\n" in script(system, {"architecture_constraint": asked} if asked else {}).replace("'", "")


def test_requested_features_replace_a_choice_of_the_partition() -> None:
    """``a100|h100&hbm80g`` would mean something else."""
    (partition,) = GPUS.partitions
    system = GPUS.model_copy(update={"partitions": (partition.model_copy(update={"constraint": "a100|h100"}),)})
    assert "#SBATCH --constraint=hbm80g\n" in script(system, {"architecture_constraint": "hbm80g"})


@pytest.mark.parametrize("listed", [True, False])
def test_the_library_in_an_image_is_started_by_a_host_library_of_its_kind(known: Callable[[str | None], Facts], listed: bool) -> None:
    """Under Intel MPI's mpirun ranks of Open MPI would each be alone: its module is not loaded, and without another a warning says so."""
    node = Node(processor="xeon-gold-6148", sockets=2, cores=40)
    libraries = (HostMpi(family="intel-mpi", default=True, module="intel"), HostMpi(family="openmpi", module="openmpi"))
    system = GPUS.model_copy(
        update={"scheduler": "pbspro", "mpi": libraries[: 1 + listed], "runtimes": (RuntimePolicy(name="singularity"),)}
    )
    system = system.model_copy(update={"partitions": (Partition(name="cpu", nodes=8, node=node),)})
    series = SeriesKey(application="net", framework="tensorflow", system="here", metric="epoch_time", unit="s")
    rows = [Result(series=series, layout=Layout(nodes=nodes, ranks_per_node=2, threads_per_rank=20), value=9.0 / nodes) for nodes in (1, 2)]
    wanted = {"app_type": "ai_training", "ai_training": {"tensorflow": {"version": "2.12", "distribution": "horovod"}}}
    application = {"app_tag": "net", "app_type": "python", "executable": "train.py"}
    request = normalise({"job": {"application": application, "target": {"name": "here"}, "optimisation": wanted}}).request
    found = optimise(request, replace(known(None), systems={"here": system}, models=fit(rows)))
    loads = [line.split()[2] for line in found.texts.job_script.splitlines() if line.startswith("module load")]
    assert loads == (["openmpi"] if listed else [])
    assert any("does not list Open MPI" in notice.message for notice in found.plan.warnings) != listed


@pytest.mark.parametrize("module", [None, "openmpi"])
def test_a_library_in_an_image_whose_module_is_not_named_is_told(module: str | None) -> None:
    """The default's mpirun would be found, under which each rank is alone; the script stops there."""
    system = GPUS.model_copy(update={"scheduler": "pbspro", "mpi": (INTEL, HostMpi(family="openmpi", module=module))})
    system = system.model_copy(update={"runtimes": (RuntimePolicy(name="apptainer"),)})
    wanted = {"app_type": "hpc", "hpc": {"parallelisation": "mpi", "parallelisation-mpi": {"library": "openmpi"}}}
    application = {"app_tag": "solver", "executable": "solver", "container_runtime": "docker://site/solver:1"}
    job = {"application": application, "target": {"name": "here"}, "job_options": {"node_count": 2}, "optimisation": wanted}
    found = optimise(normalise({"job": job}).request, Facts(version="1", systems={"here": system}))
    assert any("names no module of Open MPI" in notice.message for notice in found.plan.warnings) == (module is None)


@pytest.mark.parametrize(
    ("library", "listed", "offered", "pmi"),
    [("mpich", "openmpi", "pmix", "pmi2"), ("openmpi", "intel-mpi", "pmi2", "pmix"), ("openmpi", "openmpi", "pmi2", "pmi2")],
)
def test_ranks_of_an_image_are_connected_by_the_interface_of_its_library(library: str, listed: str, offered: str, pmi: str) -> None:
    """The one that the system lists of it, or, where it lists another library, its usual one: with the ``--mpi=`` of another family Slurm
    starts each rank as the only one, and the job seems to succeed."""
    host = HostMpi.model_validate({"family": listed, "default": True, "pmi": offered})
    system = GPUS.model_copy(update={"mpi": (host,), "runtimes": (RuntimePolicy(name="apptainer"),)})
    wanted = {"app_type": "hpc", "hpc": {"parallelisation": "mpi", "parallelisation-mpi": {"library": library}}}
    application = {"app_tag": "solver", "executable": "solver", "container_runtime": "docker://site/solver:1"}
    job = {"application": application, "target": {"name": "here"}, "job_options": {"node_count": 2}, "optimisation": wanted}
    found = optimise(normalise({"job": job}).request, Facts(version="1", systems={"here": system}))
    assert f" --mpi={pmi} " in found.texts.job_script.replace("\\\n", " ")


INTEL, OPEN = HostMpi(family="intel-mpi", module="intel", pmi="pmi2"), HostMpi(family="openmpi", module="openmpi", pmi="pmix")


def solved(
    libraries: tuple[HostMpi, ...], library: str | None = None, container: str | None = None, scheduler: str = "slurm", **measured: str
) -> Answer:
    """An MPI program on a system with these libraries, measured there in one layout."""
    system = GPUS.model_copy(update={"mpi": libraries, "runtimes": (RuntimePolicy(name="apptainer"),), "scheduler": scheduler})
    series = SeriesKey.model_validate({"application": "solver", "system": "here", "metric": "wall_time", "unit": "s", **measured})
    models = fit([Result(series=series, layout=Layout(nodes=2, ranks_per_node=56, threads_per_rank=1), value=9.0)])
    named = {"parallelisation-mpi": {"library": library} if library else {}}
    application = {"app_tag": "solver", "executable": "solver", **({"container_runtime": container} if container else {})}
    wanted = {"app_type": "hpc", "hpc": {"parallelisation": "mpi", **named}}
    job = {"application": application, "target": {"name": "here"}, "job_options": {"node_count": 2}, "optimisation": wanted}
    return optimise(normalise({"job": job}).request, Facts(version="1", systems={"here": system}, models=models))


@pytest.mark.parametrize(
    ("version", "image", "told"), [("3.1", None, True), ("4.1.4", None, False), (">=4,<5", None, False), ("3.1", "docker://a/b:1", False)]
)
def test_another_version_of_the_hosts_library_is_told(version: str, image: str | None, told: bool) -> None:
    """Without an image, whose own may be of the version that is asked for."""
    host = HostMpi(family="openmpi", version="4.1.4", default=True)
    system = GPUS.model_copy(update={"mpi": (host,), "runtimes": (RuntimePolicy(name="apptainer"),)})
    wanted = {"app_type": "hpc", "hpc": {"mpi": {"library": "openmpi", "version": version}}}
    application = {"executable": "solver", "container_runtime": image}
    job = {"application": application, "target": {"name": "here"}, "job_options": {"node_count": 2}, "optimisation": wanted}
    found = optimise(normalise({"job": job}).request, Facts(version="1", systems={"here": system})).plan
    expected = [("optimisation.hpc.mpi.version", f"the ranks use the openmpi of here, which is version 4.1.4, not {version}")] * told
    assert [(one.field, one.message) for one in found.warnings] == expected


def test_the_library_in_an_image_does_not_matter_to_torchrun(known: Callable[[str | None], Facts]) -> None:
    """Each of its processes is started alone: the job would stop for want of Open MPI, which it does not need."""
    update = {"scheduler": "pbspro", "mpi": (INTEL,), "runtimes": (RuntimePolicy(name="apptainer"),)}
    labels = ImageLabels(framework="pytorch", version="2.1.0", source="hub", accelerator="nvidia", mpi="openmpi")
    image = next(iter(known(None).images)).model_copy(update={"reference": "docker://a/torch:2.1", "labels": labels})
    job = {"application": {"executable": "train.py"}, "target": {"name": "here"}, "job_options": {"node_count": 2}, "optimisation": SPREAD}
    facts = Facts(version="1", systems={"here": GPUS.model_copy(update=update)}, images=(image,))
    text = optimise(normalise({"job": job}).request, facts).texts.job_script
    assert ("docker://a/torch:2.1" in text, "mpirun -n 2 -ppn 1" in text) == (True, True)


@pytest.mark.parametrize(
    ("options", "field", "needed"),
    [
        ({"version": "2.3", "backend": "tensorflow"}, "version", "Keras 2.3"),
        ({"version": "3.1", "backend": "torch"}, "version", "Keras 3.1"),
        ({"backend": "torch"}, "backend", "Keras"),
    ],
)
def test_keras_is_named_where_an_image_is_chosen(
    known: Callable[[str | None], Facts], options: dict[str, str], field: str, needed: str
) -> None:
    """The catalogue has versions of its backend only: the newest TensorFlow brings another Keras, PyTorch none."""
    wanted = {"app_type": "ai_training", "ai_training": {"keras": options}}
    found = optimise(normalise({"job": {"target": {"name": "hlrs-testbed"}, "optimisation": wanted}}).request, known(None)).plan
    (told,) = [one.message for one in found.warnings if one.field.endswith(f"keras.{field}")]
    assert told.endswith(f"not by Keras: make sure that it has {needed}")


def test_the_library_of_a_recipe_is_started_by_one_of_its_kind() -> None:
    """Horovod's recipe installs Open MPI; its ranks would each be alone under the interface of the default, Intel MPI."""
    system = GPUS.model_copy(update={"mpi": (INTEL, OPEN), "runtimes": (RuntimePolicy(name="apptainer"),)})
    series = SeriesKey(application="net", framework="tensorflow", system="here", metric="epoch_time", unit="s")
    models = fit([Result(series=series, layout=Layout(nodes=2, ranks_per_node=2, threads_per_rank=20), value=9.0)])
    horovod = {"tensorflow": {"version": "2.12", "distribution": "horovod"}}
    wanted = {"app_type": "ai_training", "enable_opt_build": True, "ai_training": horovod}
    job = {"application": {"app_tag": "net", "executable": "train.py"}, "target": {"name": "here"}, "optimisation": wanted}
    text = optimise(normalise({"job": job}).request, Facts(version="1", systems={"here": system}, models=models)).texts.job_script
    assert ("module load openmpi" in text, "--mpi=pmix" in text) == (True, True)


@pytest.mark.parametrize(
    ("library", "measured", "loaded"),
    [("mpich", {}, "intel"), (None, {"mpi": "mpich 3.3", "mpi_from": "container"}, "intel"), (None, {}, "openmpi")],
)
def test_an_image_is_started_by_any_listed_library_that_can(library: str | None, measured: dict[str, str], loaded: str) -> None:
    """Intel MPI starts ranks of MPICH, which the request names, or results of runs with the image's own MPI; Open MPI is the default."""
    found = solved((OPEN, INTEL), library, "docker://site/solver:1", **measured)
    assert f"module load {loaded} " in found.texts.job_script


@pytest.mark.parametrize(
    ("scheduler", "stops"), [("slurm", ["Slurm does not offer pmix"]), ("pbspro", ["mpirun is not that of Open MPI"]), ("flux", [])]
)
def test_a_library_of_an_image_that_is_not_listed_is_told_with_where_the_job_would_stop(scheduler: str, stops: list[str]) -> None:
    """If it has no library that starts ranks of Open MPI; Flux starts those of all."""
    found = solved((INTEL,), "openmpi", "docker://site/solver:1", scheduler)
    why = "the system file of here does not list Open MPI ([[mpi]]), which is in the image: the job stops where"
    assert [one.message for one in found.plan.warnings if "does not list" in one.message] == [f"{why} {stop}" for stop in stops]


@pytest.mark.parametrize("measured", [{}, {"mpi": "mpich 3.3"}])
def test_a_library_that_is_not_listed_is_told_once(measured: dict[str, str]) -> None:
    """Intel MPI runs programs of MPICH, which the request names, or the results as well."""
    assert len([one for one in solved((INTEL,), "mpich", **measured).plan.warnings if "mpich" in one.message]) == 1


def test_where_no_library_is_listed_mpirun_is_that_of_the_results() -> None:
    """Its options are MPICH's, not Open MPI's."""
    assert "mpirun -n 112 -ppn 56 " in solved((), scheduler="pbspro", mpi="mpich 3.3").texts.job_script


def test_a_library_that_is_not_listed_is_told_where_results_name_none() -> None:
    """The program is built with Open MPI, and the job is set up for Intel's."""
    assert [one.message for one in solved((INTEL,), "openmpi").plan.warnings if "does not list openmpi" in one.message]


@pytest.mark.parametrize(
    ("scheduler", "options", "directives", "bound"),
    [
        ("torque", {"process_count_per_node": 4}, (), False),
        ("gridengine", {"process_count_per_node": 1}, (), False),  # without a launcher
        ("torque", {"process_count_per_node": 28}, (), True),
        ("torque", {"process_count_per_node": 4, "node_exclusive": True}, (), True),
        ("pbspro", {"process_count_per_node": 4}, ("-l select={nodes}:system=polaris",), True),
        ("pbspro", {"process_count_per_node": 4}, ("-l select={nodes}:ncpus={cpus_per_node}",), False),
        ("gridengine", {"process_count_per_node": 4, "node_exclusive": True}, (), False),  # it has no option for that
        ("gridengine", {"process_count_per_node": 4}, ("-l node_f={nodes}",), True),
        ("gridengine", {"process_count_per_node": 4}, ("-l gpu={gpus_per_node}", "-pe mpi"), False),
        ("slurm", {"process_count_per_node": 4}, (), True),
    ],
)
def test_a_part_of_a_node_is_bound_only_where_the_scheduler_keeps_others_off(
    scheduler: str, options: dict[str, Any], directives: tuple[str, ...], bound: bool
) -> None:
    """Two jobs of one node would both be bound to its first cores. The site names its parallel environment for all jobs."""
    nodes = Partition(name="main", nodes=4, node=NODE, resource_directives=directives[:1])
    system = site(NODE, scheduler=scheduler, name="here", partitions=(nodes,), mandatory_directives=directives[1:])
    answer = planned(system, {"node_count": 1, **options}, threads=2)
    text, cores = answer.texts.job_script, 2 * options["process_count_per_node"]
    assert ("OMP_PROC_BIND=close" in text, "--bind-to none" in text) == (bound, not bound and options["process_count_per_node"] > 1)
    assert any(f"the job has {cores} of a node's 56 cores, and" in reason for reason in answer.plan.decisions) is not bound


@pytest.mark.parametrize(("scheduler", "whole", "bound"), [("torque", False, False), ("torque", True, True), ("slurm", False, True)])
def test_what_may_be_a_part_of_a_node_is_bound_only_where_the_scheduler_keeps_others_off(scheduler: str, whole: bool, bound: bool) -> None:
    """Nothing is known of the nodes, and so not that the job has the whole of one."""
    job = {
        "application": {"app_type": "mpi", "executable": "./solver", "threads": 2},
        "target": {"job_scheduler_type": scheduler, "container_runtime": "none"},
        "job_options": {"node_count": 2, "process_count_per_node": 4, "node_exclusive": whole},
    }
    answer = optimise(normalise({"job": job}).request, Facts(version="1"))
    assert ("OMP_PROC_BIND=close" in answer.texts.job_script, "--bind-to none" in answer.texts.job_script) == (bound, not bound)
    assert any("a node may have more than the job's 8 cores" in reason for reason in answer.plan.decisions) is not bound


@pytest.mark.parametrize(
    ("executable", "wanted", "options", "bound"),
    [
        ("python3 train.py", {"app_type": "ai_training", "ai_training": {"pytorch": {}}}, {"request_gpus": 1}, False),
        ("./train.sh", {"app_type": "ai_training", "ai_training": {"pytorch": {}}}, {}, False),
        ("python3 train.py", {"app_type": "ai_training", "ai_training": {"tensorflow": {}}}, {"request_gpus": 1}, False),
        ("python3 train.py", CPUS | {"ai_training": {"tensorflow": {}}}, {}, False),
        ("papermill in.ipynb out.ipynb", CPUS, {}, False),
        ("./train.sh", {"app_type": "ai_inference"}, {}, False),
        ("Rscript fit.R", {}, {}, False),
        ("octave-cli fit.m", {}, {}, False),
        ("./solver", {}, {}, True),
    ],
)
def test_threads_are_not_bound_where_workers_would_inherit_one_core(
    executable: str, wanted: dict[str, Any], options: dict[str, Any], bound: bool
) -> None:
    """OpenMP binds the process that loads it (with scikit-learn, which Keras loads), and what it starts has that core alone."""
    text = script(GPUS, options, wanted, app_type="other", executable=executable, threads=4)
    assert ("OMP_PROC_BIND=close" in text) is bound


@pytest.mark.parametrize(
    ("executable", "wanted", "threads", "why"),
    [
        ("Rscript fit.R", {}, 4, ["OpenMP would bind a process of Python, R or the like that loads it, and its workers, to one core"]),
        ("Rscript fit.R", {}, 1, []),
        ("torchrun train.py", SPREAD, 4, []),
        ("./solver", OPENMP, 4, []),
        (
            "parallel -j ${MODAK_THREADS} ./run.sh ::: a b",
            OPENMP,
            4,
            ["the command says how many threads or processes there are, and OpenMP would bind those that are not its own to one core"],
        ),
        ("./solver", {}, None, ["the request does not say that they are OpenMP's (openmp), which would bind all others to one core"]),
    ],
)
def test_the_reasons_say_why_threads_are_not_bound(executable: str, wanted: dict[str, Any], threads: int | None, why: list[str]) -> None:
    """Where there are several, and what starts them binds none anyway."""
    options = {"request_gpus": 0, "node_count": 1, "core_count_per_process": threads or 8}
    answer = planned(GPUS, options, wanted, app_type="other", executable=executable, threads=threads)
    assert re.findall(r"threads: not bound to cores, because (.*)", "\n".join(answer.plan.decisions)) == why


@pytest.mark.parametrize(
    ("executable", "wanted", "threads", "bound"),
    [
        ("./solver", OPENMP, None, True),
        ("sh -c 'cd case && ./solver'", OPENMP, None, True),
        ("./solver", {}, 8, True),  # threads are OpenMP's
        ("ffmpeg -i in.mp4 out.webm", {}, None, False),
        ("ffmpeg -i in.mp4 -threads ${MODAK_THREADS} out.webm", OPENMP, None, False),
        ("sh -c 'seq 99 | OMP_NUM_THREADS=1 xargs -n 1 -P 8 ./run.sh'", OPENMP, None, False),
        ("parallel -j ${MODAK_THREADS} ./run.sh ::: a b", OPENMP, None, False),
    ],
)
def test_threads_are_bound_that_the_request_says_are_openmps(
    executable: str, wanted: dict[str, Any], threads: int | None, bound: bool
) -> None:
    """A library of the program may load OpenMP, which binds the process to one core, and what that starts has this core alone."""
    text = script(GPUS, {"request_gpus": 0, "node_count": 1}, wanted, app_type="other", executable=executable, threads=threads)
    assert ("OMP_PROC_BIND=close" in text) is bound


def test_threads_of_ranks_that_mpi_connects_are_bound_whatever_their_number_is_told_to() -> None:
    """The launcher gives each rank cores of its own, and the request says that the threads are OpenMP's."""
    hybrid = {"app_type": "hpc", "hpc": {"mpi": {"library": "openmpi"}, "openmp": {}}}
    options = {"request_gpus": 0, "process_count_per_node": 2, "node_count": 1}
    text = script(GPUS, options, hybrid, executable="lmp -sf omp -pk omp ${MODAK_THREADS}")
    assert "OMP_PROC_BIND=close" in text


@pytest.mark.parametrize(
    ("options", "application"),
    [
        ({}, {"executable": "mpirun -np 4 ./solver"}),
        ({}, {"executable": "./solver", "mpi_ranks": 4}),
        ({"process_count_per_node": 4}, {"executable": "./solver"}),
    ],
)
def test_threads_of_several_ranks_are_bound_though_the_request_does_not_name_mpi(
    options: dict[str, Any], application: dict[str, Any]
) -> None:
    """The launcher gives each rank cores of its own, and what it connects is MPI."""
    text = script(GPUS, {"request_gpus": 0, "node_count": 1, **options}, {}, app_type="other", **application)
    assert "OMP_PROC_BIND=close" in text


def test_an_affinity_binds_threads_to_cores_though_the_command_is_told_their_number() -> None:
    """Without places they would be the hardware threads, and two threads would share each core."""
    wanted = {"app_type": "hpc", "hpc": {"openmp": {"affinity": "block"}}}
    text = script(GPUS, {"request_gpus": 0, "node_count": 1}, wanted, app_type="other", executable="./solver -t ${MODAK_THREADS}")
    assert ("OMP_PLACES=cores" in text, "OMP_PROC_BIND=close" in text) == (True, True)


def test_threads_of_a_program_that_the_request_calls_python_are_not_bound() -> None:
    """Its command need not show it."""
    assert "OMP_PROC_BIND" not in script(GPUS, {"request_gpus": 0}, {}, app_type="python", executable="./fit", threads=4)


@pytest.mark.parametrize(
    ("affinity", "setting", "binding"),
    [
        ({}, {}, ["KMP_AFFINITY=compact"]),
        ({"affinity": "simple"}, {}, ["OMP_PLACES=cores", "OMP_PROC_BIND=spread"]),
        ({"affinity": "simple"}, {"KMP_AFFINITY": "scatter"}, ["KMP_AFFINITY=scatter"]),
        ({}, {"GOMP_CPU_AFFINITY": "0-3"}, ["GOMP_CPU_AFFINITY=0-3"]),
    ],
)
def test_threads_are_bound_in_one_way(affinity: dict[str, str], setting: dict[str, str], binding: list[str]) -> None:
    """That of a rule in place of the launcher's, of the request in place of a rule's, of a trial in place of both."""
    rule = Rule(name="own", title="t", environment={"KMP_AFFINITY": "compact"}, source="a test")
    wanted = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": affinity}, "autotuning": {"setting": {"environment": setting}}}
    job = {"application": {"executable": "./solver", "mpi_ranks": 2, "threads": 4}, "target": {"name": "here"}, "optimisation": wanted}
    facts = Facts(version="1", systems={"here": GPUS}, rules=(rule,))
    text = optimise(normalise({"job": job}).request, facts).texts.job_script
    assert re.findall(r"^export ((?:KMP_AFF|GOMP_|OMP_P).*)", text, re.MULTILINE) == binding


@pytest.mark.parametrize("section", [{"horovod": {"cycle_time": 3.5}}, {"tensorflow": {}, "horovod": {"cycle_time": 3.5}}])
def test_horovod_has_its_settings_alone_and_beside_a_framework(section: dict[str, Any]) -> None:
    """A key of its own makes it that framework's distribution, and its options remain."""
    text = script(GPUS, {"node_count": 2}, {"app_type": "ai_training", "ai_training": section}, app_type="python", executable="train.py")
    assert "export HOROVOD_CYCLE_TIME=3.5\n" in text


@pytest.mark.parametrize("place", [{"container_runtime": "none"}, {"container_runtime": "apptainer"}])
def test_threads_of_a_framework_are_bound_in_an_image_of_the_catalogue_alone(place: dict[str, str]) -> None:
    """As published for it; what else is in an environment of the user's, nobody knows."""
    labels = ImageLabels(framework="tensorflow", version="2.1", source="hub")
    image = Image(reference="docker://tensorflow/tensorflow:2.1.0", labels=labels, source="a test")
    application = {"executable": "python3 train.py", "threads": 4}
    wanted = CPUS | {"ai_training": {"tensorflow": {}}}
    job = {"application": application, "target": {"job_scheduler_type": "slurm", **place}, "optimisation": wanted}
    text = optimise(normalise({"job": job}).request, Facts(version="1", images=(image,))).texts.job_script
    assert ("OMP_PROC_BIND=close" in text) is (place["container_runtime"] != "none")


@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize(("ranks", "said"), [(8, "share its 4 GPUs"), (2, "uses 2 of its 4 GPUs"), (4, None)])
def test_ranks_that_are_not_as_many_as_their_gpus_are_told(ranks: int, said: str | None, total: bool) -> None:
    """A command for nodes with another number of GPUs would fail, or leave some idle. The field is that with the number of ranks."""
    application = {"app_type": "python", "executable": "train.py", "mpi_ranks": ranks if total else None}
    options = {"request_gpus": 4, "node_count": 1, "process_count_per_node": None if total else ranks}
    job = {
        "application": application,
        "job_options": options,
        "target": {"name": "here", "container_runtime": "none"},
        "optimisation": SPREAD,
    }
    warnings = optimise(normalise({"job": job}).request, Facts(version="1", systems={"here": GPUS})).plan.warnings
    field = "application.mpi_ranks" if total else "job_options.process_count_per_node"
    found = [each.message for each in warnings if each.field == field]
    assert [said in each for each in found if said] == ([True] if said else [])
    assert bool(found) == bool(said)

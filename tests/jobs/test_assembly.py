"""The job of a chosen configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from modak.dsl import Request
from modak.facts import Facts, HostMpi, Layout, Node, Partition, Result, Rule, RuntimePolicy, SeriesKey, Source, System
from modak.normalise import normalise
from modak.optimise import optimise
from modak.perfmodel import fit

GPUS = System(
    name="here",
    title="a GPU cluster",
    site="somewhere",
    scheduler="slurm",
    partitions=(
        Partition(
            name="gpu",
            nodes=8,
            node=Node(processor="epyc", sockets=2, cores=64, reserved_cores=8, usable_memory_gb=512, accelerator="a100", accelerators=4),
        ),
    ),
    sources=(Source(fields=("*",), citation="made for these tests"),),
)
CLOSEST = Rule(name="closest", title="each rank beside its GPU", launcher_options=("--gpu-bind=closest",), source="a test")
PURE = {"app_type": "hpc", "hpc": {"config": {"parallelisation": "mpi"}}}
SPREAD = {"app_type": "ai_training", "ai_training": {"config": {"distributed_training": True}, "pytorch": {"distribution": "ddp"}}}


def script(system: System, options: Mapping[str, Any], wanted: Mapping[str, Any] = PURE, **application: Any) -> str:
    """The script of a job on a system of which nothing else is known, and with the rule above."""
    app = {"app_type": "mpi", "executable": "./solver", **application}
    job = {"job_options": options, "application": app, "target": {"name": "here", "container_runtime": "none"}, "optimisation": wanted}
    request: Request = normalise({"job": job}).request
    return optimise(request, Facts(version="1", systems={"here": system}, rules=(CLOSEST,))).texts.job_script


def test_ranks_on_reserved_cores_oversubscribe_the_others() -> None:
    """60 ranks on the 56 cores that jobs may use: Slurm would reject --ntasks-per-node=60."""
    text = script(GPUS, {"request_gpus": 0, "node_count": 1, "process_count_per_node": 60})
    assert ("--overcommit\n" in text, "--ntasks=60\n" in text) == (True, True)


@pytest.mark.parametrize(
    ("options", "application", "cores"),
    [
        ({"request_gpus": 4, "process_count_per_node": 4}, {}, 14),
        ({"request_gpus": 2, "process_count_per_node": 4}, {}, 7),
        ({"request_gpus": 2, "process_count_per_node": 4, "node_exclusive": True}, {}, 14),
        ({"request_gpus": 4, "process_count_per_node": 4, "core_count_per_process": 2}, {}, 2),
        ({"request_gpus": 4, "process_count_per_node": 4}, {"threads": 3}, 3),
        ({"request_gpus": 0, "process_count_per_node": 4}, {}, 1),
    ],
)
def test_ranks_with_gpus_have_the_cores_that_go_with_them(options: dict[str, Any], application: dict[str, Any], cores: int) -> None:
    """A rank of a program without threads, too: packed on the first cores, all but one would be far from their GPUs."""
    assert f"--cpus-per-task={cores}\n" in script(GPUS, {"node_count": 2, **options}, **application)


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


def test_an_only_process_is_started_by_jsrun() -> None:
    """Where jsrun is the launcher, scripts run on a node beside those of the job: without GPUs, and not to be computed on."""
    summit = GPUS.model_copy(update={"scheduler": "lsf", "launcher": "jsrun"})
    found = script(summit, {"node_count": 1, "request_gpus": 1, "process_count_per_node": 1})
    assert "\njsrun -n 1 -r 1 -a 1 -c 14 -g 1 -d packed -b packed:14" in found
    assert "nvidia-smi" not in found
    trained = script(summit, {"node_count": 1, "request_gpus": 4, "process_count_per_node": 4}, SPREAD, app_type="python")
    assert "\njsrun -n 1 -r 1 -a 1 -c 56 -g 4" in trained


def test_a_partition_is_asked_in_its_own_words() -> None:
    """With the part of its memory that belongs to the job's cores, where the request says nothing of memory."""
    part = GPUS.partitions[0].model_copy(update={"resource_directives": ("-l ncpus={cpus}", "-l ngpus={gpus}", "-l mem={memory_mib}mb")})
    gadi = GPUS.model_copy(update={"scheduler": "pbspro", "partitions": (part,)})
    header = [
        line for line in script(gadi, {"node_count": 1, "request_gpus": 1, "process_count_per_node": 1}).splitlines() if " -l " in line
    ]
    assert header == ["#PBS -l ncpus=14", "#PBS -l ngpus=1", f"#PBS -l mem={512 * 10**9 // 4 // 2**20}mb"]


@pytest.mark.parametrize(
    ("asked", "written"), [(None, "gpu"), ("hbm80g", "hbm80g&gpu"), ("gpu&hbm80g", "gpu&hbm80g"), ("hbm80g|hbm40g", "hbm80g|hbm40g")]
)
def test_requested_features_add_to_those_of_the_partition(asked: str | None, written: str) -> None:
    """Without the partition's own, the job could get nodes of another kind than its layout is for."""
    (partition,) = GPUS.partitions
    system = GPUS.model_copy(update={"partitions": (partition.model_copy(update={"constraint": "gpu"}),)})
    assert f"#SBATCH --constraint={written}\n" in script(system, {"architecture_constraint": asked} if asked else {}).replace("'", "")


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


@pytest.mark.parametrize(("library", "pmi"), [("mpich", "pmi2"), ("openmpi", "pmix")])
def test_ranks_of_an_image_whose_library_is_not_listed_are_connected_by_its_usual_interface(library: str, pmi: str) -> None:
    """With the ``--mpi=`` of another family Slurm starts each rank as the only one, and the job seems to succeed."""
    listed = HostMpi(family="intel-mpi" if library == "openmpi" else "openmpi", default=True, pmi="pmix" if library == "mpich" else "pmi2")
    system = GPUS.model_copy(update={"mpi": (listed,), "runtimes": (RuntimePolicy(name="apptainer"),)})
    wanted = {"app_type": "hpc", "hpc": {"parallelisation": "mpi", "parallelisation-mpi": {"library": library}}}
    application = {"app_tag": "solver", "executable": "solver", "container_runtime": "docker://site/solver:1"}
    job = {"application": application, "target": {"name": "here"}, "job_options": {"node_count": 2}, "optimisation": wanted}
    found = optimise(normalise({"job": job}).request, Facts(version="1", systems={"here": system}))
    assert f" --mpi={pmi} " in found.texts.job_script.replace("\\\n", " ")

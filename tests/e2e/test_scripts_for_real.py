"""From a request in JSON to the output read back: MPI in containers, GPUs, arrays, signals, staging, results."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from modak.dsl import Texts
from modak.facts import Accelerator, Facts, FileSystem, HostMpi, Node, Partition, RuntimePolicy, Source, System
from modak.normalise import normalise
from modak.optimise import optimise
from tests.conftest import tool, until
from tests.e2e.images import everyone
from tests.e2e.slurm import Job, Slurm
from tests.e2e.test_job_scripts import ENDS, PMI, slurm_for

ANYONE = (Source(fields=("*",), citation="tests/e2e/slurm.py"),)
CARD = Accelerator(name="v100", vendor="nvidia", model="as Slurm is told", sources=ANYONE)


def system(family: str = "openmpi", launcher: str | None = "srun", **more: Any) -> System:
    """The throwaway cluster as a site would describe it."""
    plain, gpus = Node(processor="any", sockets=1, cores=2), Node(processor="any", sockets=2, cores=32, accelerator="v100", accelerators=2)
    known = {
        "name": "throwaway",
        "title": "the cluster of tests/e2e/slurm.py",
        "site": "this machine",
        "scheduler": "slurm",
        "launcher": launcher,
        "partitions": (
            Partition(name="main", nodes=2, node=plain, default=True, max_wall_time_s=3600),
            Partition(name="gpu", nodes=2, node=gpus, max_wall_time_s=4 * 3600),
        ),
        "runtimes": tuple(RuntimePolicy(name=name) for name in ("charliecloud", "apptainer", "none")),
        "mpi": (HostMpi(family=family, default=True, pmi=PMI[family]),),
        "sources": ANYONE,
    }
    return System(**(known | more))


def answered(here: System, job: dict[str, Any]) -> Texts:
    """The texts of a plan; the request is a document as callers send it."""
    document = json.loads(json.dumps({"job": {"target": {"name": here.name}, **job}}))
    read = normalise(document)
    return optimise(read.request, Facts(version="1", systems={here.name: here}, accelerators={"v100": CARD}), read.warnings).texts


def told(folder: Path, task: str = "") -> Any:
    """What the one job that ran in the folder wrote at its end; ``task``: what the file's name ends with."""
    (file,) = folder.glob(f"modak-result-*{task}.json")
    return json.loads(file.read_text())


def ran(slurm: Slurm, texts: Texts, folder: Path, **more: Any) -> Job:
    """The job script, submitted from a folder of its own."""
    (folder / "job.sh").write_text(texts.job_script)
    return slurm.submit(folder / "job.sh", folder, **more)


def mpi_job(program: str, runtime: str, threads: int = 1, ranks: int = 2) -> dict[str, Any]:
    """Two nodes."""
    return {
        "application": {"app_tag": "hello", "app_type": "mpi", "executable": program, "container_runtime": "mpi.sif", "threads": threads},
        "job_options": {"node_count": 2, "process_count_per_node": ranks, "wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": runtime},
    }


@pytest.fixture(scope="module", autouse=True)
def limited(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """Folders and numbers of jobs that wait for the end of their time. They run beside all tests: Slurm looks at limits twice a minute.

    Ranks have 40 s to set their traps, as Slurm may send a signal half a minute early: one that comes before them ends them or is lost.
    """
    plain = {"partition": "gpu", "core_count_per_process": 1, "wall_time_limit": 60, "requeue": False, "copy_environment": True}
    # words of a list are literal: the loop is one of them
    forever = {"app_tag": "long", "app_type": "other", "executable": "env", "arguments": ["sh", "-c", "while :; do sleep 1; done"]}
    jobs: dict[str, Any] = {
        "checkpoint": {
            "application": forever | {"checkpoint": "sh -c 'echo saved on $(hostname) >checkpoint'"},
            "job_options": plain | {"signal": "USR1@50"},
        }
    }
    for signal, more in (("USR1", {}), ("TERM", {"job_array": "1-1"})):
        saves = f"trap 'echo rank $SLURM_PROCID saved; exit 0' {signal}; while :; do sleep 0.2; done"
        jobs[signal] = {
            "application": {"app_tag": "long", "app_type": "mpi", "executable": "sh", "arguments": ["-c", saves]},
            "job_options": plain | {"wall_time_limit": 120, "signal": f"{signal}@50", "node_count": 2, "process_count_per_node": 2} | more,
        }
    begun = {}
    for name, job in jobs.items():
        folder = tmp_path_factory.mktemp(name)
        texts = answered(system("mpich"), job | {"target": {"name": "throwaway", "container_runtime": "none"}})
        (folder / "job.sh").write_text(texts.job_script)
        begun[name] = folder, slurm.begin(folder / "job.sh", folder)
    return begun


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
@pytest.mark.parametrize("family", ["openmpi", "mpich"])
@pytest.mark.parametrize("runtime", ["charliecloud", "apptainer", "singularity"])
def test_an_mpi_program_in_a_container(slurm: Slurm, image_folder: Path, tmp_path: Path, runtime: str, family: str, launcher: str) -> None:
    """With the MPI library of the image: two nodes with two ranks; the checks pass, and the result says so."""
    here = system(family, launcher, runtimes=(RuntimePolicy(name=runtime),))
    texts = answered(here, mpi_job(f"/opt/hello.{family}", runtime))
    assert (f"--mpi={PMI[family]}" in texts.job_script) == (launcher == "srun")
    job = ran(slurm_for(slurm, family, tmp_path, image_folder), texts, tmp_path, enough=everyone)
    assert (job.state in ENDS[family], everyone(job.output)) == (True, True), job
    assert job.output.count(" threads 1") == 4
    assert "a rank may use 1 CPUs" in job.output
    if job.state != "COMPLETED":
        return  # see ENDS: the program never ended, so there is no result to read
    result = told(tmp_path)
    assert (result["exit_status"], result["host"], result["job"]) == (0, "node1", job.id)
    assert (result["results"][0]["nodes"], result["results"][0]["ranks_per_node"], result["results"][0]["metric"]) == (2, 2, "wall_time")


def test_ranks_of_a_library_that_the_system_does_not_list_find_each_other(slurm: Slurm, image_folder: Path, tmp_path: Path) -> None:
    """Started through PMIx, which the listed Open MPI uses, each rank of MPICH would be the only one."""
    named = {"optimisation": {"app_type": "hpc", "hpc": {"config": {"parallelisation": "mpi"}, "mpi": {"library": "mpich"}}}}
    texts = answered(system("openmpi"), mpi_job("/opt/hello.mpich", "charliecloud") | named)
    job = ran(slurm_for(slurm, "mpich", tmp_path, image_folder), texts, tmp_path, enough=everyone)
    assert (job.state in ENDS["mpich"], everyone(job.output)) == (True, True), job


def test_mpiruns_helpers_start_in_a_job_without_the_submitters_environment(
    slurm: Slurm, mpi_programs: dict[str, Path], tmp_path: Path
) -> None:
    """What ``--export=NONE`` leaves to srun is not handed on to the one that mpirun calls."""
    job = mpi_job(str(mpi_programs["openmpi"]), "none")
    names = [name for name in slurm.environment if name.startswith(("OMPI_", "PMIX_"))]
    texts = answered(
        system(launcher="mpirun"),
        {**job, "job_options": {**job["job_options"], "copy_environment": False, "copy_environment_variable": names}},
    )
    done = ran(slurm, texts, tmp_path, enough=everyone)
    assert (done.state in ENDS["openmpi"], everyone(done.output)) == (True, True), done


def test_threads_of_a_hybrid_job(slurm: Slurm, image_folder: Path, tmp_path: Path) -> None:
    """One rank a node with two threads on two cores."""
    texts = answered(system(), mpi_job("/opt/hello.openmpi", "apptainer", threads=2, ranks=1))
    job = ran(slurm.knowing(SINGULARITY_DIR=image_folder), texts, tmp_path)
    assert job.output.count("threads 2") == 2, job
    assert "a rank may use 2 CPUs" in job.output


@pytest.mark.parametrize("runtime", ["apptainer", "none"])
@pytest.mark.parametrize("directive", ["gres", "gpus-per-node"])
def test_a_gpu_job_sees_its_devices(slurm: Slurm, image_folder: Path, tmp_path: Path, runtime: str, directive: str) -> None:
    """As many as it asked for."""
    request = {
        "application": {"executable": "sh", "arguments": "-c 'echo devices: $CUDA_VISIBLE_DEVICES'", "container_runtime": "busybox.sif"},
        "job_options": {"partition": "gpu", "request_gpus": 2, "core_count": 2, "wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": runtime},
    }
    texts = answered(system(gpu_directive=directive), request)
    job = ran(slurm.knowing(SINGULARITY_DIR=image_folder), texts, tmp_path)
    assert (job.state, "devices: 0,1" in job.output) == ("COMPLETED", True), job


def test_an_array(slurm: Slurm, tmp_path: Path) -> None:
    """A job for each index, each with its own output and result."""
    request = {
        "application": {"app_tag": "sweep", "executable": "echo", "arguments": "case ${SLURM_ARRAY_TASK_ID}", "app_type": "other"},
        "job_options": {"job_array": "1-3%2", "standard_output_file": "out-%a.txt", "wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": "none"},
    }
    (tmp_path / "job.sh").write_text(answered(system(), request).job_script)
    sent = slurm.run("sbatch", "--parsable", "job.sh", cwd=tmp_path)
    assert sent.returncode == 0, sent.stderr
    number = sent.stdout.strip()
    for index in (1, 2, 3):
        slurm.wait(f"{number}_{index}")
        assert f"case {index}\n" in (tmp_path / f"out-{index}.txt").read_text()
        assert told(tmp_path, f"-{index}")["exit_status"] == 0


def test_a_job_leaves_the_queue_if_the_one_before_fails(slurm: Slurm, tmp_path: Path) -> None:
    """By itself it would wait there for ever: ``DependencyNeverSatisfied``."""
    failing = tmp_path / "failing.sh"
    failing.write_text("#!/bin/bash\nsleep 2\nexit 1\n")
    first = slurm.begin(failing, tmp_path)
    job = {"application": {"executable": "touch ran"}, "job_options": {"job_dependency": f"afterok:{first}", "wall_time_limit": 60}}
    assert ran(slurm, answered(system(), job), tmp_path).state == "CANCELLED"
    assert not (tmp_path / "ran").exists()


def test_data_in_the_nodes_own_storage(slurm: Slurm, tmp_path: Path) -> None:
    """Broadcast, copied and unpacked on every node, removed from every node."""
    (tmp_path / "mesh").write_text("points\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/a").write_text("part\n")
    subprocess.run(["tar", "-cf", "parts.tar", "parts"], cwd=tmp_path, check=True)
    subprocess.run([tool("SquashFS", "mksquashfs"), "parts", "parts.sqfs", "-quiet", "-no-progress"], cwd=tmp_path, check=True)
    reads = 'cat "$0/mesh" "$0/more/a" "$0/a" "$0/tar/parts/a" "$0/sqfs/a"; cp "$0/mesh" "$0/out"; df "$0" | tail -n 1; ls -A "$0"'
    request = {
        "application": {
            "app_tag": "reads",
            "app_type": "mpi",
            "executable": f"sh -c '{reads}' ${{MODAK_SCRATCH}}",
            "stage_in": [{"from": "mesh", "to": "mesh"}, {"from": "${PWD}/parts", "to": "more"}, {"from": "parts/a", "to": "."}]
            + [{"from": f"parts.{kind}", "to": kind, "unpack": True} for kind in ("tar", "sqfs")],
            "stage_out": [{"from": "out", "to": "results/out"}, {"from": "out", "to": "kept/"}],
        },
        "job_options": {"wall_time_limit": 300, "node_count": 2, "process_count_per_node": 1},
        "target": {"name": "throwaway", "container_runtime": "none"},
    }
    job = ran(slurm.knowing(TMPDIR="/dev/shm"), answered(system("mpich"), request), tmp_path)  # each node has its own
    assert job.state == "COMPLETED", job
    assert (job.output.count("points\n"), job.output.count("part\n")) == (2, 8), job
    assert ".packed" not in job.output
    assert {"node1", "node2"} <= set(job.output.split())  # what the tests' nodes call their own /dev/shm
    assert [(tmp_path / folder / "out").read_text() for folder in ("results", "kept")] == ["points\n"] * 2
    left = slurm.run("srun", "-N2", "--ntasks-per-node=1", "sh", "-c", "ls -d /dev/shm/modak-* 2>/dev/null; true")
    assert left.stdout == ""


@pytest.mark.parametrize("runtime", ["charliecloud", "apptainer"])
@pytest.mark.parametrize("shared", [True, False])
def test_a_program_in_a_container_finds_its_data_by_the_variable(
    slurm: Slurm, image_folder: Path, tmp_path: Path, runtime: str, shared: bool
) -> None:
    """What the script exports is true inside, though no word of the command names the directory."""
    (tmp_path / "mesh").write_text("points\n")
    (tmp_path / "disk").mkdir()
    reads = 'cat "$MODAK_SCRATCH/mesh"; cp "$MODAK_SCRATCH/mesh" "$MODAK_SCRATCH/out"; test -z "$MODAK_STORAGE" || ls "$MODAK_STORAGE"'
    disk = FileSystem(name="disk", kind="nfs", storage_class="default-ssd", path=str(tmp_path / "disk"))
    request = {
        "application": {
            "app_tag": "reads",
            "app_type": "other",
            "executable": "sh",
            "arguments": ["-c", reads],
            "container_runtime": "busybox.sif",
            "stage_in": [{"from": "mesh", "to": "mesh"}],
            "stage_out": [{"from": "out", "to": "results/out"}],
            **({"storage_class_pref": "default-ssd"} if shared else {}),
        },
        "job_options": {"wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": runtime},
    }
    job = ran(slurm.knowing(SINGULARITY_DIR=image_folder), answered(system(filesystems=(disk,)), request), tmp_path)
    assert (job.state, "points\n" in job.output, "modak-" in job.output) == ("COMPLETED", True, shared), job
    assert (tmp_path / "results/out").read_text() == "points\n"


@pytest.mark.parametrize("place", ["", "${MODAK_SCRATCH}/"])
def test_a_metric_in_a_log_file_is_read_on_the_host(slurm: Slurm, image_folder: Path, tmp_path: Path, place: str) -> None:
    """Charliecloud has other names for both directories; the later job's log file has what the first one appended, or is gone with it."""
    writes = 'cd "$0" && { test -e "$1/quiet" || echo "Performance: 12.5 ns/day" >>md.log; echo done >>md.log; }; sleep 0.1'
    staged = {"stage_out": [{"from": "md.log", "to": "kept.log"}]} if place else {}
    request = {
        "application": {
            "app_tag": "md",
            "app_type": "other",
            "executable": f"sh -c '{writes}' {place or '.'} ${{PWD}}",
            "container_runtime": "busybox.sif",
            "metric_file": f"{place}md.log",
            **staged,
        },
        "job_options": {"wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": "charliecloud"},
        "optimisation": {"workload": {"metric": {"name": "performance", "unit": "ns/day", "pattern": "Performance: *([0-9.]+)"}}},
    }
    texts = answered(system(), request)
    found = {}
    for quiet in (False, True):
        if quiet:
            (tmp_path / "quiet").touch()
        job = ran(slurm.knowing(SINGULARITY_DIR=image_folder), texts, tmp_path)
        assert (job.state, "modak: no metric: no line that this run wrote to " in job.output) == ("COMPLETED", quiet), job
        found[quiet] = [each["value"] for each in told(tmp_path, job.id)["results"][1:]]
    assert found == {False: [12.5], True: []}


@pytest.mark.parametrize(
    ("here", "runtime", "status", "says"),
    [
        (system(mpi=(HostMpi(family="intel-mpi"),), launcher="mpirun"), "none", 77, "the job's MPI is Intel MPI"),
        (system(runtimes=(RuntimePolicy(name="sarus"),)), "sarus", 71, "sarus is not on this node"),
        (system(runtimes=(RuntimePolicy(name="charliecloud", version="0.40"),)), "charliecloud", 72, "cannot be read"),
        (system(runtimes=(RuntimePolicy(name="apptainer", binds=("/no/such",)),)), "apptainer", 78, "/no/such is not on this node"),
        (system(mpi=(HostMpi(family="openmpi", library_dir="/no/such/mpi"),)), "apptainer", 73, "/no/such/mpi is not on this node"),
        (system(modules=("gcc",)), "none", 70, "this job has no module command"),
    ],
)
def test_checks_stop_a_real_job(
    slurm: Slurm, image_folder: Path, tmp_path: Path, here: System, runtime: str, status: int, says: str
) -> None:
    """At once, with a sentence; the same job without checks goes further."""
    job = mpi_job("/bin/true", runtime)
    own = {"charliecloud": "other.sif", "sarus": "docker://library/x:1"}.get(runtime, "busybox.sif")
    texts = answered(here, {**job, "application": {**job["application"], "container_runtime": own}})
    done = ran(slurm.knowing(SINGULARITY_DIR=image_folder), texts, tmp_path)
    assert (done.state, done.exit_code, says in done.output) == ("FAILED", status, True), done
    assert told(tmp_path)["seconds"] is None


@pytest.mark.parametrize(
    ("more", "status", "says"),
    [
        ({"storage_class_pref": "default-ssd"}, 79, "/no/such/disk is not writable on this node"),
        ({"stage_in": [{"from": "/no/such/data", "to": "data"}]}, 80, "data could not be copied in"),
    ],
)
def test_checks_of_storage_stop_a_real_job(slurm: Slurm, tmp_path: Path, more: dict[str, Any], status: int, says: str) -> None:
    """Before the program runs."""
    here = system(filesystems=(FileSystem(name="disk", kind="local-ssd", storage_class="default-ssd", path="/no/such/disk"),))
    request = {
        "application": {"app_tag": "data", "app_type": "other", "executable": "echo started", **more},
        "job_options": {"wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": "none"},
    }
    done = ran(slurm, answered(here, request), tmp_path)
    assert (done.state, done.exit_code, says in done.output, "started" in done.output) == ("FAILED", status, True, False), done


def test_a_gpu_that_is_not_given_is_seen(slurm: Slurm, tmp_path: Path) -> None:
    """The site's own directive takes them away."""
    request = {
        "application": {"app_tag": "train", "app_type": "other", "executable": "echo started"},
        "job_options": {"partition": "gpu", "request_gpus": 2, "wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": "none"},
    }
    done = ran(slurm, answered(system(gpu_directive="gres", mandatory_directives=("--gres=none",)), request), tmp_path)
    assert (done.exit_code, "no GPU is visible on this node" in done.output, "started" in done.output) == (74, True, False), done


def test_cores_that_are_not_there_are_seen(slurm: Slurm, tmp_path: Path) -> None:
    """A site's file promises more than the machine has: 32 cores on paper, and fewer for real."""
    cores = len(os.sched_getaffinity(0))
    if cores >= 32:
        pytest.skip("this machine has all the cores that the cluster's file promises")
    request = {
        "application": {"app_tag": "wide", "app_type": "mpi", "executable": "/bin/true", "threads": 16},
        "job_options": {"partition": "gpu", "node_count": 1, "process_count_per_node": 2, "wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": "none"},
    }
    done = ran(slurm, answered(system("mpich"), request), tmp_path)
    assert (done.state, done.exit_code) == ("FAILED", 75), done
    assert "a rank has fewer CPUs than planned" in done.output


def test_a_checkpoint_before_the_time_limit(slurm: Slurm, limited: dict[str, tuple[Path, str]]) -> None:
    """The handler writes it in time; the job, which goes on, is stopped by its limit."""
    folder, number = limited["checkpoint"]
    job = slurm.wait(number)
    assert job.state == "TIMEOUT", job
    assert "modak: the time limit is near" in job.output
    assert (folder / "checkpoint").read_text() == f"saved on {job.nodes}\n"
    said = told(folder)
    assert (said["exit_status"], said["results"]) == (143, [])


def test_a_preempted_run_that_stops_early_is_no_result(slurm: Slurm, tmp_path: Path) -> None:
    """Its ranks are told in the partition's time of grace, and end with status 0; the script is told nothing."""
    spare = Partition(name="spare", nodes=2, node=Node(processor="any", sockets=2, cores=32, accelerator="v100", accelerators=2))
    waits = "trap 'exit 0' TERM; mktemp up.XXXXXX; while :; do sleep 0.2; done"
    request = {
        "application": {"app_tag": "spare", "app_type": "mpi", "executable": "sh", "arguments": ["-c", waits]},
        "job_options": {
            "partition": "spare",
            "node_count": 2,
            "process_count_per_node": 2,
            "core_count_per_process": 1,
            "request_gpus": 2,
            "wall_time_limit": 300,
        },
        "target": {"name": "throwaway", "container_runtime": "none"},
    }
    (tmp_path / "job.sh").write_text(answered(system("mpich", partitions=(spare,)), request).job_script)
    number = slurm.begin(tmp_path / "job.sh", tmp_path)
    until(lambda: len(list(tmp_path.glob("up.*"))) == 4)  # a rank that is still in Slurm's own prolog would end with 1
    slurm.run("sbatch", "--partition=gpu", "--gpus-per-node=2", "--output=/dev/null", "--wrap=true", cwd=tmp_path)
    job = slurm.wait(number)
    assert job.state in ("COMPLETED", "PREEMPTED"), job  # as Slurm 22.05 and 24.11 call it
    assert (told(tmp_path)["exit_status"], told(tmp_path)["results"]) == (0, []), job


@pytest.mark.parametrize("signal", ["USR1", "TERM"])
def test_the_signal_reaches_every_rank(slurm: Slurm, limited: dict[str, tuple[Path, str]], signal: str) -> None:
    """Without a checkpoint command, whatever srun would make of it, and the ranks' own end is the job's."""
    job = slurm.wait(limited[signal][1])
    assert job.state == "COMPLETED", job
    assert sorted(re.findall(r"rank \d saved", job.output)) == [f"rank {rank} saved" for rank in range(4)]

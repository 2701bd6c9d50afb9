"""Scripts as MODAK writes them, on a real scheduler, with real launchers and real containers."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from modak.facts import HostMpi, Node, Partition, Source, System
from modak.jobs.spec import Attributes, Container, JobSpec, Report, Resources
from modak.script.job import render
from tests.conftest import tool, until
from tests.e2e.images import LIBRARIES, everyone
from tests.e2e.slurm import Slurm

PMI = {"openmpi": "pmix", "mpich": "pmi2"}
ENDS = {"openmpi": {"COMPLETED"}, "mpich": {"COMPLETED", "RUNNING"}}
"""Debian 12's MPICH sometimes never returns from MPI_Finalize on a busy machine, when all is said: UCX waits for a peer that has gone."""
SYSTEM = System(
    name="throwaway",
    title="the cluster of tests/e2e/slurm.py",
    site="this machine",
    scheduler="slurm",
    partitions=(Partition(name="main", nodes=2, node=Node(processor="any", sockets=1, cores=2)),),
    sources=(Source(fields=("*",), citation="tests/e2e/slurm.py"),),
)
FOUR_RANKS = JobSpec(
    command=("true",),
    resources=Resources(nodes=2, ranks_per_node=2),
    attributes=Attributes(name="four-ranks", partition="main", wall_time_s=300),
    launcher="srun",
    system=SYSTEM,
)


def written(job: JobSpec, folder: Path, scheduler: str = "slurm") -> Path:
    """The job's script as a file."""
    script = folder / "job.sh"
    script.write_text(render(job, scheduler).text)
    return script


def with_mpi(family: str, launcher: str, command: str) -> JobSpec:
    """The job with an MPI program."""
    pmi = PMI[family] if launcher == "srun" else None
    return replace(FOUR_RANKS, command=(command,), launcher=launcher, launcher_flavour=family, pmi=pmi)


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_an_mpi_program_runs_on_two_nodes(slurm: Slurm, mpi_programs: dict[str, Path], tmp_path: Path, family: str, launcher: str) -> None:
    """Without a container."""
    script = written(with_mpi(family, launcher, str(mpi_programs[family])), tmp_path)
    job = slurm_for(slurm, family, tmp_path).submit(script, tmp_path, enough=everyone)
    assert (job.state in ENDS[family], everyone(job.output)) == (True, True), job


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
@pytest.mark.parametrize("runtime", ["charliecloud", "apptainer"])
def test_the_hosts_mpi_is_bound_into_the_container(slurm: Slurm, image_folder: Path, tmp_path: Path, runtime: str, family: str) -> None:
    """The image holds no MPI library at all."""
    host = HostMpi(family=family, library_dir=str(LIBRARIES))
    image = Container(runtime=runtime, reference="bare.sif", file="bare.sif", host_mpi=host)
    spec = replace(with_mpi(family, "srun", f"/opt/hello.{family}"), container=image)
    job = slurm_for(slurm, family, tmp_path, image_folder).submit(written(spec, tmp_path), tmp_path, enough=everyone)
    assert (job.state in ENDS[family], everyone(job.output)) == (True, True), job


def slurm_for(slurm: Slurm, family: str, folder: Path, images: Path | None = None) -> Slurm:
    """The cluster for a user whose ``mpirun`` is that family's, as after ``module load``."""
    where = {"SINGULARITY_DIR": images} if images else {}
    return slurm.knowing(PATH=path_with(family, folder, slurm.environment["PATH"]), **where)


def path_with(family: str, folder: Path, path: str) -> str:
    """A PATH on which ``mpirun`` is that family's."""
    (folder / "bin").mkdir()
    (folder / "bin/mpirun").symlink_to(f"/usr/bin/mpirun.{family}")
    (folder / "bin/hydra_pmi_proxy").symlink_to("/usr/bin/hydra_pmi_proxy")  # MPICH looks for it beside mpirun
    return f"{folder}/bin:{path}"


WHERE_IT_RUNS = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
int main(void) {
  cpu_set_t cpus;
  #pragma omp parallel
  sched_getaffinity(0, sizeof cpus, &cpus);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &cpus))
      printf("%d\n", cpu);
  return 0;
}
"""
"""An OpenMP program of one thread prints the CPUs that this may use; OpenMP's library may bind it to one of those of its process."""


def test_ranks_that_share_a_core_may_use_all_of_its_hyper_threads(slurm: Slurm, tmp_path: Path) -> None:
    """With OpenMP's places both would be on the first one, and the other idle. Slurm 24.11 gives each rank one of them, 22.05 both."""
    (tmp_path / "where.c").write_text(WHERE_IT_RUNS)
    subprocess.run([tool("gcc", "gcc"), "-fopenmp", "-o", tmp_path / "where", tmp_path / "where.c"], check=True)
    smt = Partition(name="smt", nodes=1, node=Node(processor="any", sockets=1, cores=1, threads_per_core=2))
    spec = replace(
        FOUR_RANKS,
        command=(str(tmp_path / "where"),),
        resources=Resources(ranks_per_node=2, hyperthreads=True, threads_per_core=2, node_cores=1),
        attributes=replace(FOUR_RANKS.attributes, partition="smt"),
        system=SYSTEM.model_copy(update={"cpu_unit": "thread", "partitions": (smt,)}),
    )
    job = slurm.submit(written(spec, tmp_path), tmp_path)
    assert (job.state, len(set(job.output.split()))) == ("COMPLETED", 2), job


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_mpirun_starts_more_ranks_than_there_are_cores(slurm: Slurm, mpi_programs: dict[str, Path], tmp_path: Path, family: str) -> None:
    """The job's header says nothing of tasks, and Slurm tells ``mpirun`` of fewer than there are."""
    job = with_mpi(family, "mpirun", str(mpi_programs[family]))
    script = written(replace(job, resources=Resources(nodes=2, ranks_per_node=5, oversubscribed=True)), tmp_path)
    done = slurm_for(slurm, family, tmp_path).submit(script, tmp_path, enough=lambda output: output.count("of 10 on node") == 10)
    assert (done.state in ENDS[family], done.output.count("of 10 on node")) == (True, 10), done


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_an_mpi_program_runs_alone_in_a_job_of_a_session(slurm: Slurm, mpi_programs: dict[str, Path], tmp_path: Path, family: str) -> None:
    """It would look for the process manager of the session, which sbatch passes on, and fail."""
    spec = replace(FOUR_RANKS, command=(str(mpi_programs[family]),), resources=Resources(), launcher="none")
    session = ("srun", "--ntasks=1", f"--mpi={PMI[family]}", "sbatch", "--parsable")
    job = slurm.submit(written(spec, tmp_path), tmp_path, command=session)
    assert (job.state, "rank 0 of 1 on node" in job.output) == ("COMPLETED", True), job


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_ranks_start_in_a_job_that_a_heterogeneous_one_submits(
    slurm: Slurm, mpi_programs: dict[str, Path], tmp_path: Path, launcher: str
) -> None:
    """sbatch passes on what that knows of its parts, and ``srun`` would look for its nodes there."""
    session = ("salloc", "--quiet", "--partition=gpu", "--ntasks=1", ":", "--partition=smt", "--ntasks=1", "sbatch", "--parsable")
    script = written(with_mpi("mpich", launcher, str(mpi_programs["mpich"])), tmp_path)
    job = slurm_for(slurm, "mpich", tmp_path).submit(script, tmp_path, command=session, enough=everyone)
    assert (job.state in ENDS["mpich"], everyone(job.output)) == (True, True), job


def test_words_arrive_as_they_were_written(slurm: Slurm, image_folder: Path, tmp_path: Path) -> None:
    """Blanks, quotes, dollars and line breaks pass scheduler, shell, launcher and container unchanged."""
    odd = ("a b", "it's", '"', "$HOME", "`id`", "x;y", "*", "", "new\nline", "--flag", "\\")
    image = Container(runtime="apptainer", reference="busybox.sif", file="busybox.sif")
    spec = replace(FOUR_RANKS, command=("printf", "<%s>", *odd), resources=Resources(), launcher="none", container=image)
    job = slurm.knowing(SINGULARITY_DIR=image_folder).submit(written(spec, tmp_path), tmp_path)
    assert job.output == "".join(f"<{word}>" for word in odd), job


@pytest.mark.parametrize("runtime", ["charliecloud", "apptainer"])
def test_a_failing_program_fails_the_job(slurm: Slurm, image_folder: Path, tmp_path: Path, runtime: str) -> None:
    """The exit status comes through the container and the launcher."""
    image = Container(runtime=runtime, reference="busybox.sif", file="busybox.sif")
    spec = replace(FOUR_RANKS, command=("sh", "-c", "exit 7"), resources=Resources(), container=image)
    job = slurm.knowing(SINGULARITY_DIR=image_folder).submit(written(spec, tmp_path), tmp_path)
    assert (job.state, job.exit_code) == ("FAILED", 7), job


FIRST_FAILS = """touch up$SLURM_PROCID; test $SLURM_PROCID = 0 || sleep 60
until test "$(ls up* | wc -l)" = $SLURM_NTASKS; do sleep 0.1; done; exit 3"""
"""The first rank waits for the others: ``srun`` tells its own status if it ends before them."""


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("dies", ["kill -KILL $$", FIRST_FAILS], ids=["killed", "first"])
def test_ranks_that_slurm_ends_while_there_is_memory_lack_none(slurm: Slurm, tmp_path: Path, dies: str, nodes: int) -> None:
    """``srun`` tells of them what it tells of those that the kernel kills (137, or 143 if it ends another rank first), or that are
    cancelled (143)."""
    report = Report({"application": "app"})
    spec = replace(FOUR_RANKS, resources=Resources(nodes=nodes, ranks_per_node=2), plan_id="killed", report=report)
    job = slurm.submit(written(replace(spec, command=("bash", "-c", dies)), tmp_path), tmp_path)
    result = json.loads((tmp_path / f"modak-result-{job.id}.json").read_text())
    assert result["exit_status"] in (137, 143), (result, job)
    assert result["out_of_memory"] is False, (result, job)


def test_a_cancelled_run_lacked_nothing(slurm: Slurm, tmp_path: Path) -> None:
    """Its ranks end with the status of those that end because another one failed."""
    report = Report({"application": "app"})
    spec = replace(FOUR_RANKS, resources=Resources(ranks_per_node=2), plan_id="killed", report=report)
    number = slurm.begin(written(replace(spec, command=("bash", "-c", "touch up; sleep 600")), tmp_path), tmp_path)
    until((tmp_path / "up").exists)
    slurm.run("scancel", number)
    job, file = slurm.wait(number), tmp_path / f"modak-result-{number}.json"
    until(lambda: file.exists() and file.read_text().endswith("}\n"))  # a cancelled job may still write it
    result = json.loads(file.read_text())
    assert (result["exit_status"], result.get("out_of_memory")) == (143, None), job


def test_a_missing_image_stops_the_job_before_the_run(slurm: Slurm, apptainer: Path, tmp_path: Path) -> None:
    """With a line that says where the image should be."""
    image = Container(runtime="apptainer", reference="docker://busybox:1.36", file="busybox_1.36.sif")
    job = slurm.submit(written(replace(FOUR_RANKS, container=image), tmp_path), tmp_path)
    assert job.state == "FAILED"
    assert "busybox_1.36.sif" in job.output
    assert "apptainer pull" in job.output


@pytest.mark.parametrize("nodes", [1, 100, 1000])
@pytest.mark.parametrize(("ranks", "cores"), [(1, 48), (4, 12), (48, 1)])
def test_slurm_takes_layouts_of_large_machines(slurm: Slurm, tmp_path: Path, nodes: int, ranks: int, cores: int) -> None:
    """Whole nodes of 48 cores with two threads each, as Slurm counts them there."""
    node = Node(processor="any", sockets=2, cores=48, threads_per_core=2)
    system = SYSTEM.model_copy(update={"cpu_unit": "thread", "partitions": (Partition(name="paper", nodes=1000, node=node),)})
    spec = replace(
        FOUR_RANKS,
        system=system,
        attributes=Attributes(name="large", partition="paper", wall_time_s=2 * 86400, account="some-project", constraint="ib"),
        resources=Resources(nodes=nodes, ranks_per_node=ranks, threads_per_rank=cores, cores_per_rank=cores, threads_per_core=2),
    )
    taken, message = slurm.accepts(written(spec, tmp_path))
    assert taken, message
    assert f"using {nodes * 96} processors" in message


def test_a_torque_script_runs_through_slurms_front_end(slurm: Slurm, mpi_programs: dict[str, Path], tmp_path: Path) -> None:
    """``#PBS`` directives, the submit directory and the node file."""
    system = SYSTEM.model_copy(update={"scheduler": "torque"})
    spec = replace(with_mpi("openmpi", "mpirun", str(mpi_programs["openmpi"])), system=system)
    spec = replace(spec, attributes=Attributes(name="torque", queue="main", wall_time_s=300))
    script = written(spec, tmp_path, "torque")
    assert slurm.accepts(script)[0]
    job = slurm_for(slurm, "openmpi", tmp_path).submit(script, tmp_path, command=("qsub",))
    assert (job.state, everyone(job.output)) == ("COMPLETED", True), job


def test_a_plain_script_runs_without_a_scheduler(image_folder: Path, apptainer: Path, tmp_path: Path) -> None:
    """In the current folder, on this machine."""
    image = Container(runtime="apptainer", reference="busybox.sif", file="busybox.sif")
    spec = replace(FOUR_RANKS, command=("echo", "a b"), resources=Resources(), launcher="none", container=image, system=None)
    environment = {"PATH": f"{apptainer.parent}:/usr/bin:/bin", "HOME": str(tmp_path), "SINGULARITY_DIR": str(image_folder)}
    script = written(spec, tmp_path, "shell")
    ran = subprocess.run(["bash", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "a b\n"), ran.stderr

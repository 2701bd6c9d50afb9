"""Each check of a script, tripped by the thing that it is about: a status of its own, and a sentence that says what to do."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from modak.facts import HostMpi, RuntimePolicy
from modak.jobs.spec import Attributes, Container, Copy, JobSpec, Resources, RuleText, Staging
from modak.script.job import render
from modak.text import words
from tests.script.test_whole import lacking, ran, stub

JOB = JobSpec(("echo", "ran"), Resources(), Attributes(name="checked", wall_time_s=600))
IMAGE = Container(runtime="apptainer", reference="docker://x/y:1", file="y_1.sif")
RANKS = replace(JOB, resources=Resources(ranks_per_node=2), launcher="mpirun", launcher_flavour="openmpi")
STEP = replace(JOB, resources=Resources(ranks_per_node=2), launcher="srun", pmi="pmix")
MPIRUN = """case "$1" in
    --version) echo "{says}" ;;
    *) while ! [[ "$1" =~ ^(bash|echo|apptainer)$ ]]; do shift; done; "$@" ;;
esac"""
SRUN = 'case "$1" in --mpi=list) echo "MPI plugin types are... none {pmi}" >&2;; --help) echo "{help}";; *) echo started;; esac'


def charliecloud(version: str | None = None, **more: Any) -> JobSpec:
    """The job in an image that is a directory."""
    return replace(
        JOB, container=replace(IMAGE, runtime="charliecloud", policy=RuntimePolicy(name="charliecloud", version=version, **more))
    )


def checked(job: JobSpec, folder: Path, scheduler: str = "shell", **variables: str) -> tuple[int, str]:
    """The script's status and what it says on its error stream."""
    done = ran(render(job, scheduler).text, folder, SLURM_SUBMIT_DIR=str(folder), **variables)
    return done.returncode, done.stderr


def image(folder: Path) -> None:
    """An image as a directory, with its environment file and a place for the job's directory."""
    for name in ("ch", "mnt/0"):
        (folder / "y_1" / name).mkdir(parents=True)
    (folder / "y_1/ch/environment").touch()


def test_71_the_runtime_is_missing(tmp_path: Path) -> None:
    """Every runtime names its program."""
    lacking("apptainer", "podman-hpc", "sarus", "enroot")
    for name, program in (("apptainer", "apptainer"), ("podman-hpc", "podman-hpc"), ("sarus", "sarus"), ("enroot", "enroot")):
        status, said = checked(replace(JOB, container=replace(IMAGE, runtime=name)), tmp_path)
        assert (status, f"modak: {program} is not on this node: load the module" in said) == (71, True), said


def test_71_pyxis_is_missing(tmp_path: Path) -> None:
    """srun has no options for containers."""
    stub(tmp_path, "srun", SRUN.format(pmi="pmix", help="--nodes"))
    status, said = checked(replace(STEP, container=replace(IMAGE, runtime="enroot")), tmp_path, "slurm")
    assert (status, "Pyxis plug-in is not installed" in said) == (71, True), said


@pytest.mark.parametrize(
    ("runtime", "advice"), [("podman-hpc", "podman-hpc pull"), ("sarus", "sarus pull"), ("enroot", "enroot import -o")]
)
def test_72_the_image_is_missing(tmp_path: Path, runtime: str, advice: str) -> None:
    """The sentence says how to get it."""
    stub(tmp_path, runtime, 'test "$1 $2" != "image exists"')
    status, said = checked(replace(JOB, container=replace(IMAGE, runtime=runtime)), tmp_path)
    assert (status, advice in said) == (72, True), said


def test_77_torchrun_is_missing(tmp_path: Path) -> None:
    """Not if a Python that is named by its path brings its own, or a container does."""
    job = replace(JOB, command=("train.py",), launcher="torchrun")
    status, said = checked(job, tmp_path)
    assert (status, "modak: torchrun is not on this node: begin the executable with the path of the Python" in said) == (77, True), said
    stub(tmp_path, "torchrun", "echo ran")
    assert checked(job, tmp_path)[0] == 0
    others = (replace(job, command=("/opt/env/bin/python", "train.py")), replace(job, container=IMAGE), replace(job, preflight=False))
    assert not any("torchrun is not" in render(other, "shell").text for other in others)


def test_torchrun_is_looked_for_once() -> None:
    """On several nodes a launcher starts it, and it the program."""
    job = replace(JOB, command=("train.py",), launcher="torchrun", resources=Resources(nodes=2))
    assert render(job, "slurm").text.count("command -v torchrun") == 1


def test_torchrun_is_looked_for_after_the_command_before_the_run(tmp_path: Path) -> None:
    """It may activate the environment that has it."""
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/activate").write_text(f'PATH="{tmp_path}/env/bin:$PATH"\n')
    job = replace(JOB, command=("train.py",), launcher="torchrun", pre=("source", "env/bin/activate"))
    assert checked(job, tmp_path)[0] == 77
    stub(tmp_path / "env", "torchrun", "echo ran")
    assert checked(job, tmp_path)[0] == 0


def test_an_image_that_was_pulled_on_another_node_is_there(tmp_path: Path) -> None:
    """Podman-HPC lists what it moved to shared storage, of which its ``image exists`` knows nothing, under the name with the registry."""
    listed = 'test "$1" = images && echo \'docker.io/x/y  1  0123456789ab  2 days ago  6.1 GB  true\' || test "$1" = run'
    stub(tmp_path, "podman-hpc", listed)
    status, said = checked(replace(JOB, container=replace(IMAGE, runtime="podman-hpc")), tmp_path)
    assert status == 0, said


@pytest.mark.parametrize("runtime", ["apptainer", "charliecloud", "enroot", "podman-hpc", "sarus"])
def test_72_an_image_that_only_its_owners_have_is_not_said_to_be_fetched(tmp_path: Path, runtime: str) -> None:
    """``private://`` names no registry that a command could ask."""
    stub(tmp_path, {"charliecloud": "ch-run"}.get(runtime, runtime), 'test "$1 $2" != "image exists"')
    status, said = checked(replace(JOB, container=replace(IMAGE, runtime=runtime, reference="private://a/y:1")), tmp_path)
    assert (status, "get it from its owner (private image)" in said, "pull" in said) == (72, True, False), said


def test_72_a_runtime_is_not_said_to_fetch_what_it_cannot(tmp_path: Path) -> None:
    """``library://`` is Apptainer's."""
    stub(tmp_path, "ch-run", "echo 0.31")
    directory = charliecloud().container
    assert directory is not None
    has = replace(directory, reference="library://a/y:1")
    status, said = checked(replace(JOB, container=has), tmp_path)
    assert (status, "pull" in said, "set CHARLIECLOUD_DIR to its directory" in said) == (72, False, True), said


def test_73_the_hosts_mpi_is_missing(tmp_path: Path) -> None:
    """Where it should be bound from."""
    stub(tmp_path, "apptainer", "exit 0")
    (tmp_path / "y_1.sif").touch()
    has = replace(IMAGE, host_mpi=HostMpi(family="openmpi", library_dir="/no/such/library"))
    status, said = checked(replace(JOB, container=has), tmp_path)
    assert (status, "/no/such/library is not on this node" in said) == (73, True), said


@pytest.mark.parametrize(("vendor", "device"), [("amd", "/dev/kfd"), ("intel", "/dev/dri/renderD128")])
def test_74_no_gpu_is_visible(vendor: str, device: str) -> None:
    """The driver's first device is not there."""
    job = replace(JOB, resources=Resources(gpus_per_node=1, gpu_vendor=vendor))
    assert f"test -e {device} ||\n    modak_stop 74 " in render(job, "shell").text


def test_75_a_rank_has_fewer_cpus_than_planned(tmp_path: Path) -> None:
    """Counted by a program that the launcher starts; what each may use is printed."""
    stub(tmp_path, "mpirun", MPIRUN.format(says="mpirun (Open MPI) 4.1"))
    wide = replace(RANKS, affinity=True, resources=Resources(ranks_per_node=2, cores_per_rank=4096))
    status, said = checked(wide, tmp_path)
    assert (status, "a rank may use" in said, "fewer CPUs than planned" in said) == (75, True, True), said
    status, said = checked(replace(RANKS, affinity=True), tmp_path)
    assert (status, "a rank may use" in said) == (0, True), said


def test_a_process_of_one_core_that_no_launcher_starts_is_not_counted(tmp_path: Path) -> None:
    """The check could not fail. Of more cores it tells how many are missing."""
    one = replace(JOB, affinity=True, resources=Resources())
    assert checked(one, tmp_path) == (0, "")
    status, said = checked(replace(one, resources=Resources(cores_per_rank=4096)), tmp_path)
    assert (status, f"may use {len(os.sched_getaffinity(0))} CPUs, fewer than the 4096 planned" in said) == (75, True), said


@pytest.mark.parametrize(
    ("size", "counted"), [({"nodes": 32}, True), ({"nodes": 33}, False), ({"nodes": 2, "oversubscribed": True, "node_cores": 1}, False)]
)
def test_cpus_are_counted_where_that_is_quick_and_planned(size: dict[str, Any], *, counted: bool) -> None:
    """On many nodes it takes too long; ranks that are more than the cores have no CPUs of their own."""
    job = replace(STEP, affinity=True, resources=replace(STEP.resources, **size))
    assert ("a rank may use" in render(job, "slurm").text) == counted


def test_cpus_are_counted_with_the_launchers_own_options() -> None:
    """They may be what binds the ranks."""
    job = replace(STEP, affinity=True, launcher_options=("--distribution=cyclic",))
    assert render(job, "slurm").text.count(" --distribution=cyclic ") == 2


def test_the_count_of_cpus_leaves_the_input_to_the_program(tmp_path: Path) -> None:
    """``sbatch --input`` gives the script one, and a launcher reads it to hand it on."""
    stub(tmp_path, "mpirun", f'test "$1" = --version || cat\n{MPIRUN.format(says="mpirun (Open MPI) 4.1")}')
    (tmp_path / "in.dat").write_text("4711\n")
    fed = RuleText(rule="input", stage="environment", script="exec <in.dat")
    done = ran(render(replace(RANKS, affinity=True, rules=(fed,)), "shell").text, tmp_path)
    assert done.stdout == "4711\nran\n", done.stderr


def test_75_a_launcher_that_cannot_start_is_not_taken_for_too_few_cpus(tmp_path: Path) -> None:
    """Open MPI refuses root; nothing was counted then."""
    stub(tmp_path, "mpirun", 'test "$1" = --version && echo "mpirun (Open MPI) 4.1"')
    status, said = checked(replace(RANKS, affinity=True), tmp_path)
    assert (status, "without any counts above, the launcher could not start the ranks" in said) == (75, True), said


@pytest.mark.parametrize(
    ("slots", "status"),
    [("n1 2 a@n1 -\nn2 2 a@n2 -", 0), ("n1 1 a@n1 -\nn2 2 a@n2 -\nn1 1 b@n1 -", 0), ("n1 3 a@n1 -\nn2 1 a@n2 -", 75), ("n1 4 a@n1 -", 75)],
)
def test_75_slots_of_grid_engine_that_are_not_on_the_nodes_as_planned(tmp_path: Path, slots: str, status: int) -> None:
    """Otherwise MPICH runs all ranks on one node, and the time is recorded as one of two."""
    (tmp_path / "hosts").write_text(f"{slots}\n")
    stub(tmp_path, "mpirun", MPIRUN.format(says="mpirun (Open MPI) 4.1"))
    job = replace(RANKS, resources=Resources(nodes=2, ranks_per_node=2))
    found, said = checked(job, tmp_path, "gridengine", SGE_O_WORKDIR=str(tmp_path), PE_HOSTFILE=str(tmp_path / "hosts"))
    assert (found, "2 slots on each of 2 nodes" in said) == (status, bool(status)), said


@pytest.mark.parametrize(("says", "status"), [("HYDRA build details", 77), ("Intel(R) MPI Library", 77), ("mpirun (Open MPI) 5.0.3", 0)])
def test_77_mpirun_is_of_another_family(tmp_path: Path, says: str, status: int) -> None:
    """Each rank would think that it is alone."""
    stub(tmp_path, "mpirun", MPIRUN.format(says=says))
    done, said = checked(RANKS, tmp_path)
    assert (done, "belongs to another MPI: the job's MPI is Open MPI" in said) == (status, status != 0), said


def test_77_mpirun_does_not_fit_the_images_library(tmp_path: Path) -> None:
    """The catalogue's label says what is in the image; families with one interface start each other's programs."""
    stub(tmp_path, "apptainer", "echo ran")
    stub(tmp_path, "mpirun", MPIRUN.format(says="mpirun (Open MPI) 4.1"))
    (tmp_path / "y_1.sif").touch()
    status, said = checked(replace(RANKS, container=replace(IMAGE, mpi="mpich")), tmp_path)
    assert (status, "the image's MPI is MPICH; load its module" in said) == (77, True), said
    stub(tmp_path, "mpirun", MPIRUN.format(says="Intel(R) MPI Library"))
    flavour = replace(RANKS, launcher_flavour="intel-mpi", container=replace(IMAGE, mpi="mpich"))
    assert checked(flavour, tmp_path)[0] == 0


def test_77_an_mpi_that_nobody_named(tmp_path: Path) -> None:
    """Open MPI's options are taken, and the sentence says where to name another."""
    stub(tmp_path, "mpirun", MPIRUN.format(says="HYDRA build details"))
    status, said = checked(replace(RANKS, launcher_flavour=None), tmp_path)
    assert (status, "the MPI of this system is unknown, name it in the system file" in said) == (77, True), said


def test_77_the_images_mpi_is_launched_where_the_hosts_is_unknown(tmp_path: Path) -> None:
    """In its own words, by its own family's mpirun."""
    stub(tmp_path, "apptainer", "echo ran")
    stub(tmp_path, "mpirun", MPIRUN.format(says="HYDRA build details"))
    (tmp_path / "y_1.sif").touch()
    job = replace(RANKS, launcher_flavour=None, container=replace(IMAGE, mpi="mpich"))
    assert "mpirun -n 2 -ppn 2 " in render(job, "shell").text
    assert checked(job, tmp_path)[0] == 0


def test_77_slurm_does_not_offer_the_process_manager(tmp_path: Path) -> None:
    """The ranks would wait for each other."""
    stub(tmp_path, "srun", SRUN.format(pmi="pmi2", help=""))
    status, said = checked(STEP, tmp_path, "slurm")
    assert (status, "this Slurm does not offer pmix" in said) == (77, True), said
    assert checked(replace(STEP, pmi="pmi2"), tmp_path, "slurm")[0] == 0


def test_77_slurm_that_does_not_answer_is_quoted(tmp_path: Path) -> None:
    """It may offer the process manager all the same."""
    stub(tmp_path, "srun", "echo 'srun: error: cannot reach the controller' >&2; exit 1")
    status, said = checked(STEP, tmp_path, "slurm")
    assert (status, "srun --mpi=list: srun: error: cannot reach the controller" in said) == (77, True), said
    stub(tmp_path, "srun", "true")
    assert checked(STEP, tmp_path, "slurm")[0] == 77, "it says nothing"


def test_srun_gets_no_options_from_the_job_in_which_the_script_was_submitted(tmp_path: Path) -> None:
    """It would refuse both kinds of memory, bind ranks to CPUs of that job and number them over the nodes in its order; 22.05's slurmd
    crashes of a binding beside a hint."""
    stub(tmp_path, "srun", SRUN.format(pmi="pmix", help="").replace("echo started", "env | grep ^SLURM_[CDGHMNOT] | sort"))
    left = {"SLURM_CPU_BIND": "mask_cpu:0x1", "SLURM_MEM_PER_CPU": "1000", "SLURM_GPUS_PER_NODE": "1", "SLURM_THREADS_PER_CORE": "1"}
    left |= {"SLURM_DISTRIBUTION": "cyclic", "SLURM_HINT": "nomultithread", "SLURM_MEM_BIND": "local", "SLURM_OVERCOMMIT": "1"}
    left |= {"SLURM_NTASKS_PER_CORE": "1", "SLURM_NTASKS_PER_SOCKET": "1", "SLURM_TRES_PER_TASK": "cpu=1"}
    own = replace(STEP, resources=replace(STEP.resources, memory_per_node=10**9))
    done = ran(render(own, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), SLURM_MEM_PER_NODE="1000", **left)
    assert (done.returncode, done.stdout) == (0, "SLURM_MEM_PER_NODE=1000\n"), done.stderr


def test_srun_gets_no_options_from_the_users_environment(tmp_path: Path) -> None:
    """A step would wait for ever for another feature, end before its last rank does, or be refused, as mpirun's and that of copies, for
    more CPUs than the job has. The header's constraint sets no variable."""
    stub(tmp_path, "srun", SRUN.format(pmi="pmix", help="").replace("echo started", "env | grep -E '^(SLURM|SRUN)_[CW]' || true"))
    own = replace(STEP, attributes=replace(STEP.attributes, constraint="ib"))
    left = {"SLURM_CONSTRAINT": "ssd", "SLURM_WAIT": "1", "SRUN_CPUS_PER_TASK": "64"}
    done = ran(render(own, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), **left)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_srun_keeps_what_the_site_asks_for_in_its_own_words(tmp_path: Path) -> None:
    """Without the GPUs of a task, each rank would see all of the node."""
    stub(tmp_path, "srun", SRUN.format(pmi="pmix", help="").replace("echo started", "env | grep ^SLURM_[CDGMT] | sort"))
    own = replace(STEP, resource_directives=("--ntasks={ranks}", "--gpus-per-task=1", "-m cyclic"))
    left = {"SLURM_GPUS_PER_TASK": "1", "SLURM_GPUS_PER_NODE": "2", "SLURM_DISTRIBUTION": "cyclic"}
    done = ran(render(own, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), **left)
    assert (done.returncode, done.stdout) == (0, "SLURM_DISTRIBUTION=cyclic\nSLURM_GPUS_PER_TASK=1\n"), done.stderr


def test_77_jsrun_and_flux_are_missing(tmp_path: Path) -> None:
    """Both belong to a scheduler that is not there."""
    (tmp_path / "bin").mkdir()
    status, said = checked(replace(STEP, launcher="jsrun"), tmp_path, "lsf", LS_SUBCWD=str(tmp_path))
    assert (status, "jsrun is not on this node" in said) == (77, True)
    status, said = checked(replace(STEP, launcher="flux"), tmp_path, "flux")
    assert (status, "no Flux instance here" in said) == (77, True)


def test_78_a_directory_that_is_bound_in_is_missing(tmp_path: Path) -> None:
    """On the node, and in a read-only image."""
    stub(tmp_path, "apptainer", "exit 0")
    stub(tmp_path, "ch-run", "echo 0.31")
    (tmp_path / "y_1.sif").touch()
    policy = RuntimePolicy(name="apptainer", binds=("/no/such/place",))
    status, said = checked(replace(JOB, container=replace(IMAGE, policy=policy)), tmp_path)
    assert (status, "/no/such/place is not on this node" in said) == (78, True), said
    named = replace(JOB, container=IMAGE, command=words.parse("echo ${SCRATCH}/x"))
    assert checked(named, tmp_path, SCRATCH="/no/such/place")[0] == 78
    image(tmp_path)
    status, said = checked(charliecloud(binds=("/usr",)), tmp_path)
    assert (status, "/usr is not in the image: create it there" in said) == (78, True), said
    (tmp_path / "y_1/mnt/0").rmdir()
    status, said = checked(charliecloud(), tmp_path)
    assert (status, "/mnt/0 is not in the image: create it there" in said) == (78, True), said


@pytest.mark.parametrize("name", ["HOME", "WORK"])
def test_78_a_directory_of_the_command_has_to_be_mounted(name: str, tmp_path: Path) -> None:
    """The user's home, too; where it is, the job runs."""
    stub(tmp_path, "apptainer", "exit 0")
    (tmp_path / "y_1.sif").touch()
    job = replace(JOB, container=IMAGE, command=words.parse(f"echo ${{{name}}}/x"))
    assert [checked(job, tmp_path, **{name: place})[0] for place in ("/no/such/place", str(tmp_path))] == [78, 0]


def test_78_the_name_of_a_directory_would_be_taken_apart(tmp_path: Path) -> None:
    """At the colon, by ch-run; Apptainer binds the submit directory by itself, not by an option, but other ones so."""
    stub(tmp_path, "ch-run", "echo 0.31")
    stub(tmp_path, "apptainer", "exit 0")
    folder = tmp_path / "12:30"
    folder.mkdir()
    image(folder)
    (folder / "y_1.sif").touch()
    path = f"{tmp_path}/bin:/usr/bin:/bin"
    status, said = checked(replace(charliecloud(), command=words.parse("echo ${WORK}/x")), folder, PATH=path, WORK="/usr")
    assert (status, f"{folder} or /usr has : in its name" in said) == (78, True), said
    job = replace(JOB, container=IMAGE)
    assert checked(job, folder, PATH=path)[0] == 0
    assert checked(replace(job, command=words.parse("echo ${WORK}/x")), folder, PATH=path, WORK=str(folder))[0] == 78


def test_78_enroot_binds_no_directory_with_a_blank(tmp_path: Path) -> None:
    """It refuses such a mount, and Pyxis takes the rest of the name for another word; a comma separates for Pyxis alone."""
    stub(tmp_path, "enroot", "exit 0")
    job = replace(JOB, container=replace(IMAGE, runtime="enroot"))
    found = []
    for name in ("my runs", "a,b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "y_1.sqsh").touch()
        found.append(checked(job, tmp_path / name, PATH=f"{tmp_path}/bin:/usr/bin:/bin"))
    assert [status for status, _ in found] == [78, 0], found
    assert "my runs has a blank or : in its name" in found[0][1]


def test_79_storage_cannot_be_written(tmp_path: Path) -> None:
    """The preferred storage, and the job's own directory in it."""
    job = replace(JOB, storage="/proc/nowhere")
    status, said = checked(job, tmp_path)
    assert (status, "/proc/nowhere is not writable" in said) == (79, True), said
    status, said = checked(replace(JOB, staging=Staging(place="/proc/nowhere", shared=True)), tmp_path)
    assert (status, "the job could not create its directory" in said) == (79, True), said


def test_79_is_said_of_storage_that_is_bound_in(tmp_path: Path) -> None:
    """The job writes there, so that it exists is not enough."""
    stub(tmp_path, "apptainer", "exit 0")
    (tmp_path / "y_1.sif").touch()
    status, said = checked(replace(JOB, storage="/proc/nowhere", container=IMAGE), tmp_path)
    assert (status, "/proc/nowhere is not writable" in said) == (79, True), said


def test_80_data_is_not_there(tmp_path: Path) -> None:
    """Before the run; the directory is removed."""
    job = replace(JOB, staging=Staging(place=str(tmp_path), shared=True, into=(Copy("/no/such/data", "data"),)))
    status, said = checked(job, tmp_path)
    assert (status, "data could not be copied in" in said) == (80, True), said
    assert [each.name for each in tmp_path.iterdir()] == ["job.sh"]


@pytest.mark.parametrize(
    ("command", "more", "status"),
    [
        ("./solver", {}, 127),
        ("env A=1 solver", {}, 127),
        ("env A=1 echo", {}, 0),
        ("./solver", {"pre": words.parse("ln -s /bin/echo solver")}, 0),
        ("solver", {"pre": words.parse("ln -s /bin/echo solver")}, 0),  # srun looks there, too
        ("env PATH=/opt/site/bin solver", {}, 0),
        ("/site/solver", {"launcher_options": ("--view=site",)}, 0),  # which shows it to the ranks
        ("./solver", {"preflight": False}, 0),
    ],
)
def test_127_there_is_no_program_for_a_launcher_to_start(command: str, more: dict[str, Any], status: int, tmp_path: Path) -> None:
    """srun would end with 2, as a run that failed."""
    stub(tmp_path, "srun", SRUN.format(pmi="pmix", help=""))
    ended, said = checked(replace(STEP, command=words.parse(command), **more), tmp_path, "slurm")
    assert (ended, "modak: ./solver is not there" in said or "modak: solver is not in PATH" in said) == (status, status == 127), said


def test_checks_are_left_out_on_request(tmp_path: Path) -> None:
    """Whatever is missing: the run itself fails, or does not."""
    job = replace(JOB, storage="/proc/nowhere", affinity=True, preflight=False, resources=Resources(cores_per_rank=4096))
    assert checked(job, tmp_path)[0] == 0


def test_an_image_that_knows_pmix_alone_gets_it() -> None:
    """Whatever the site's own MPI takes."""
    has = replace(IMAGE, mpi="openmpi", mpi_version="5.0.3")
    assert " --mpi=pmix " in render(replace(STEP, pmi="pmi2", container=has), "slurm").text
    assert " --mpi=pmi2 " in render(replace(STEP, pmi="pmi2", container=replace(has, mpi_version="4.1")), "slurm").text

"""Launchers: the right number of processes, with the right threads, on the right cores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from modak import plugins, words
from modak.jobspec import JobSpec, Resources
from tests.golden.scripts.jobs import GAN, GPUS, HYBRID, LARGE, SOLVER, TORCH

LAYOUT = Resources(nodes=2, ranks_per_node=4, cores_per_rank=12, threads_per_rank=12, threads_per_core=2)
JOB = JobSpec(("./solver", "-x"), LAYOUT)


def line(job: JobSpec, scheduler: str = "slurm", exported: tuple[str, ...] = ()) -> str:
    """The launcher's words and the command, as the script has them without a container."""
    launcher, under = plugins.find("launchers", job.launcher), plugins.find("schedulers", scheduler)
    return words.line((*launcher.words(job, under, exported), *launcher.inside(job, under)))


def variables(job: JobSpec) -> dict[str, str]:
    """What the launcher exports."""
    return dict(plugins.find("launchers", job.launcher).environment(job))


def needs_ssh(job: JobSpec, scheduler: str) -> bool:
    """What the launcher says."""
    return bool(plugins.find("launchers", job.launcher).needs_ssh(job, plugins.find("schedulers", scheduler)))


def test_srun_says_what_a_step_does_not_inherit() -> None:
    """Cores per task since 22.05; the environment of a job that began without one."""
    assert line(replace(JOB, launcher="srun", pmi="pmi2")) == (
        "srun --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=12 --cpu-bind=cores --mpi=pmi2 --export=ALL "
        "--kill-on-bad-exit=1 ./solver -x"
    )


def test_srun_does_not_mix_a_hint_with_a_binding() -> None:
    """It would ignore the hint, and with it half of the cores."""
    said = line(replace(JOB, launcher="srun", system=LARGE))
    assert "--hint=nomultithread" in said
    assert "--cpu-bind" not in said


def test_srun_counts_hardware_threads_where_slurm_does_and_they_are_used() -> None:
    """48 threads on 24 cores are 48 CPUs there."""
    layout = replace(LAYOUT, ranks_per_node=2, cores_per_rank=24, threads_per_rank=48, hyperthreads=True)
    assert "--cpus-per-task=48 --cpu-bind=cores" in line(replace(JOB, launcher="srun", resources=layout, system=LARGE))
    assert "--cpus-per-task=24 --cpu-bind=cores" in line(replace(JOB, launcher="srun", resources=layout, system=GPUS))


def test_intel_mpi_under_srun_finds_slurms_process_manager() -> None:
    """By the library that the site names; another family does not need it."""
    assert variables(GAN)["I_MPI_PMI_LIBRARY"] == "/usr/lib64/libpmi2.so"
    assert "I_MPI_PMI_LIBRARY" not in variables(replace(GAN, launcher_flavour="openmpi"))


@pytest.mark.parametrize(
    ("flavour", "scheduler", "said"),
    [
        ("openmpi", "slurm", "mpirun -n 8 --map-by ppr:4:node:PE=12 --bind-to core -x PATH -x A ./solver -x"),
        (None, "slurm", "mpirun -n 8 --map-by ppr:4:node:PE=12 --bind-to core -x PATH -x A ./solver -x"),
        (
            "openmpi",
            "torque",
            'mpirun --hostfile "${PBS_NODEFILE:?}" -n 8 --map-by ppr:4:node:PE=12 --bind-to core -x PATH -x A ./solver -x',
        ),
        ("mpich", "torque", "mpirun -n 8 -ppn 4 -bind-to core:12 ./solver -x"),
        ("mvapich", "slurm", "mpirun -n 8 -ppn 4 -bind-to core:12 ./solver -x"),
        ("intel-mpi", "slurm", "mpirun -bootstrap slurm -n 8 -ppn 4 -genvall ./solver -x"),
        ("intel-mpi", "torque", "mpirun -n 8 -ppn 4 -genvall ./solver -x"),
    ],
)
def test_mpirun_speaks_the_language_of_its_flavour(flavour: str | None, scheduler: str, said: str) -> None:
    """Ranks, ranks a node, cores a rank."""
    assert line(replace(JOB, launcher="mpirun", launcher_flavour=flavour), scheduler, ("A",)) == said


def test_on_one_node_mpirun_hands_nothing_over() -> None:
    """Its ranks have the environment anyway."""
    job = replace(JOB, launcher="mpirun", resources=replace(LAYOUT, nodes=1))
    assert line(job, "torque", ("A",)) == "mpirun -n 4 --map-by ppr:4:node:PE=12 --bind-to core ./solver -x"


def test_open_mpi_hands_the_loaders_path_over_where_modules_set_one() -> None:
    """Else it would warn that the variable is not set."""
    assert " -x LD_LIBRARY_PATH " in line(HYBRID, "torque")
    assert "LD_LIBRARY_PATH" not in line(replace(HYBRID, system=None, container=None), "torque")


def test_intel_mpi_binds_by_variables() -> None:
    """And heeds ``-ppn`` under a scheduler."""
    said = variables(replace(JOB, launcher="mpirun", launcher_flavour="intel-mpi"))
    assert said["I_MPI_PIN_DOMAIN"] == "auto:compact"
    assert said["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] == "0"


def test_mpirun_of_an_unknown_family_is_refused() -> None:
    """With the known ones."""
    why = plugins.find("launchers", "mpirun").unfit(replace(JOB, launcher_flavour="bullxmpi"), plugins.find("schedulers", "slurm"))
    assert why == "mpirun of bullxmpi is not known; known: openmpi, mpich, mvapich, intel-mpi"


@pytest.mark.parametrize("launcher", ["srun", "mpirun", "none"])
def test_openmp_gets_the_threads_of_a_rank_on_its_cores(launcher: str) -> None:
    """Threads are not cores where hyper-threads are used."""
    has = replace(LAYOUT, nodes=1, ranks_per_node=1, cores_per_rank=24, threads_per_rank=48, hyperthreads=True)
    said = variables(replace(JOB, launcher=launcher, resources=has))
    assert (said["OMP_NUM_THREADS"], said["OMP_PLACES"], said["OMP_PROC_BIND"]) == ("48", "threads", "close")
    assert variables(replace(JOB, launcher=launcher))["OMP_PLACES"] == "cores"


@pytest.mark.parametrize(
    ("launcher", "scheduler", "nodes", "needs"),
    [
        ("srun", "slurm", 2, False),
        ("mpirun", "slurm", 2, False),
        ("mpirun", "torque", 2, True),
        ("mpirun", "torque", 1, False),
        ("mpirun", "shell", 2, True),
        ("torchrun", "slurm", 2, False),
        ("none", "shell", 1, False),
    ],
)
def test_who_needs_ssh_between_nodes(launcher: str, scheduler: str, nodes: int, needs: bool) -> None:
    """mpirun does, unless Slurm starts its helpers."""
    assert needs_ssh(replace(JOB, launcher=launcher, resources=replace(LAYOUT, nodes=nodes)), scheduler) is needs


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("python3", "train.py", "-e", "3"), "train.py -e 3"),
        (("python", "-u", "train.py"), "train.py"),
        (("/usr/bin/python3", "-m", "train"), "-m train"),
        (("train.py",), "train.py"),
        (("python3", "-O", "train.py"), "--no-python python3 -O train.py"),
        (("./train",), "--no-python ./train"),
        (("python3",), "--no-python python3"),
    ],
)
def test_torchrun_starts_python_itself(command: tuple[str, ...], said: str) -> None:
    """A leading interpreter is dropped, other programs are named as such."""
    job = replace(TORCH, command=command, resources=replace(TORCH.resources, nodes=1))
    assert line(job, "shell") == f"torchrun --nnodes=1 --nproc-per-node=4 --standalone {said}"


def test_torchrun_is_one_task_a_node_with_all_its_cores() -> None:
    """It starts the node's ranks; the first node is where they meet."""
    asked = plugins.find("launchers", "torchrun").asks(TORCH.resources)
    assert (asked.nodes, asked.ranks_per_node, asked.cores_per_rank) == (2, 1, 64)
    said = line(TORCH)
    assert said.startswith("srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=64 ")
    assert '--rdzv-endpoint="${MODAK_RDZV_HOST:?}":"${MODAK_RDZV_PORT:?}"' in said


def test_a_step_asks_for_what_the_job_has() -> None:
    """srun's numbers are those of the header."""
    assert "--ntasks=64 --ntasks-per-node=32 --cpus-per-task=2" in line(SOLVER)


def test_jsrun_gives_each_node_one_resource_set() -> None:
    """A set cannot span nodes; uneven ranks are refused, and so are other schedulers."""
    job = replace(JOB, launcher="jsrun", resources=replace(LAYOUT, gpus_per_node=4))
    assert line(job, "lsf") == "jsrun -n 2 -r 1 -a 4 -c 48 -g 4 -d packed -b packed:12 ./solver -x"
    jsrun, lsf = plugins.find("launchers", "jsrun"), plugins.find("schedulers", "lsf")
    assert "do not divide evenly" in jsrun.unfit(replace(job, resources=replace(LAYOUT, total_ranks=7)), lsf)
    assert "under LSF, not under slurm" in jsrun.unfit(job, plugins.find("schedulers", "slurm"))


def test_flux_run_shares_gpus_out_but_hides_none() -> None:
    """Each rank sees all GPUs of its node; GPUs that cannot be shared in equal parts are refused."""
    job = replace(JOB, launcher="flux", pmi="pmix", resources=replace(LAYOUT, gpus_per_node=4))
    said = line(job, "flux")
    assert said == "flux run -N 2 -n 8 -c 12 -g 1 -o gpu-affinity=off -o cpu-affinity=per-task -o pmi=pmix ./solver -x"
    uneven = replace(job, resources=replace(LAYOUT, gpus_per_node=3))
    assert "cannot be shared" in plugins.find("launchers", "flux").unfit(uneven, plugins.find("schedulers", "flux"))


@pytest.mark.parametrize(("version", "older"), [("4.1", True), (None, True), ("5.0.3", False)])
def test_horovod_on_gpus_is_bound_to_nothing(version: str | None, older: bool) -> None:
    """Nor are its threads; before Open MPI 5 another transport is chosen. Without GPUs it is bound like any job."""
    gpus = replace(LAYOUT, gpus_per_node=4)
    job = replace(JOB, launcher="mpirun", launcher_flavour="openmpi", launcher_version=version, distribution="horovod", resources=gpus)
    transport = "--mca pml ob1 --mca btl '^openib' " if older else ""
    assert line(job) == f"mpirun -n 8 --map-by ppr:4:node --bind-to none {transport}-x PATH ./solver -x"
    assert variables(job) == {"OMP_NUM_THREADS": "12"}
    assert "--bind-to core" in line(replace(job, resources=LAYOUT))


def test_more_ranks_than_cores_are_not_bound() -> None:
    """Slurm and Open MPI are told that it is meant; MPICH would refuse cores that are not there."""
    busy = replace(LAYOUT, oversubscribed=True)
    assert " --cpu-bind=none --overcommit " in line(replace(JOB, launcher="srun", resources=busy))
    assert "--map-by ppr:4:node:OVERSUBSCRIBE --bind-to none" in line(replace(JOB, launcher="mpirun", resources=busy))
    assert "-ppn 4 -bind-to none" in line(replace(JOB, launcher="mpirun", launcher_flavour="mpich", resources=busy))
    assert variables(replace(JOB, launcher="srun", resources=busy)) == {"OMP_NUM_THREADS": "12", "OMP_PROC_BIND": "false"}

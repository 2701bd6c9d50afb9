"""Launchers: the right number of processes, with the right threads, on the right cores."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace

import pytest

from modak import plugins
from modak.facts import HostMpi
from modak.jobs.spec import Container, JobSpec, Resources, RuleText, Staging
from modak.launchers.base import kept_back, openmp
from modak.script.job import render
from modak.text import words
from tests.conftest import tool
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
    assert LARGE.mpi[0].family == "intel-mpi"
    both = LARGE.model_copy(update={"mpi": (HostMpi(family="openmpi", pmi_library="/usr/lib64/libpmix.so"), *LARGE.mpi)})
    assert variables(replace(GAN, system=both))["I_MPI_PMI_LIBRARY"] == "/usr/lib64/libpmi2.so"
    assert "I_MPI_PMI_LIBRARY" not in variables(replace(GAN, launcher_flavour="openmpi"))


def test_intel_mpi_that_the_system_file_does_not_list_has_no_library_of_the_sites() -> None:
    """As in an image at a site with another MPI."""
    assert "I_MPI_PMI_LIBRARY" not in variables(replace(JOB, launcher="srun", launcher_flavour="intel-mpi", system=GPUS))


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


def test_mpirun_is_of_the_images_family_where_the_hosts_does_not_fit() -> None:
    """What is looked for before the run is what the line is written for; one of the same interface is the host's."""
    image = Container(runtime="apptainer", reference="x.sif", file="x.sif", mpi="openmpi")
    job = replace(JOB, launcher="mpirun", launcher_flavour="intel-mpi", container=image)
    assert line(job).startswith("mpirun -n 8 --map-by ppr:4:node")
    assert "-genvall" in line(replace(job, container=replace(image, mpi="mpich")))
    assert "-genvall" in line(replace(job, container=replace(image, mpi="mvapich")))
    assert "-genvall" in line(replace(job, container=replace(image, mpi=None)))


def test_on_one_node_mpirun_hands_nothing_over() -> None:
    """Its ranks have the environment anyway."""
    job = replace(JOB, launcher="mpirun", resources=replace(LAYOUT, nodes=1))
    assert line(job, "torque", ("A",)) == "mpirun -n 4 --map-by ppr:4:node:PE=12 --bind-to core ./solver -x"
    assert line(replace(job, launcher_flavour="intel-mpi")) == "mpirun -n 4 -ppn 4 -genvall ./solver -x", "srun need not be there"


@pytest.mark.parametrize(("flavour", "unset"), [("mpich", True), ("openmpi", False)])
def test_hydra_starts_ranks_by_srun_on_one_node_too(flavour: str, unset: bool) -> None:
    """If srun refuses options that it takes from the environment, mpirun waits until the time limit."""
    job = replace(JOB, launcher="mpirun", launcher_flavour=flavour, resources=replace(LAYOUT, nodes=1))
    assert (" SLURM_{EXPORT_ENV,CPU_BIND," in render(job, "slurm").text) == unset


@pytest.mark.parametrize(
    ("mpi", "version", "asked", "told"),
    [
        ("openmpi", "5.0.10", "pmi2", "pmix"),
        ("openmpi", "5.0.0", "pmi2", "pmix"),
        ("openmpi", "4.1.6", "pmi2", "pmi2"),
        ("openmpi", None, "pmi2", "pmi2"),
        ("mpich", "5.0.2", "pmi2", "pmi2"),
        ("openmpi", "5.0.10", "cray_shasta", "cray_shasta"),
    ],
)
def test_srun_takes_the_interface_that_open_mpi_has(mpi: str, version: str | None, asked: str, told: str) -> None:
    """The image's or the host's; since version 5 that is PMIx alone, whatever the site uses else."""
    hosts = replace(JOB, launcher="srun", pmi=asked, launcher_flavour=mpi, launcher_version=version)
    assert f" --mpi={told} " in line(hosts)
    image = Container(runtime="apptainer", reference="docker://x/y:1", file="y_1.sif", mpi=mpi, mpi_version=version)
    assert f" --mpi={told} " in line(replace(JOB, launcher="srun", pmi=asked, container=image))
    bound = replace(image, host_mpi=HostMpi(family="openmpi", library_dir="/opt/openmpi/lib"))
    assert f" --mpi={asked} " in line(replace(JOB, launcher="srun", pmi=asked, container=bound)), "ranks use the host's"


@pytest.mark.parametrize(
    ("passed", "advice"),
    [
        ({"TERM", "USR1", "USR2"}, "x passes TERM, USR1, USR2 to the application, but not HUP: use USR1, or application.checkpoint"),
        ({"TERM"}, "x passes TERM to the application, but not HUP: use TERM, or application.checkpoint"),
        ({"HUP"}, ""),
        (set(), "x passes no signal to the application: use application.checkpoint instead"),
    ],
)
def test_a_signal_that_does_not_reach_the_ranks_is_told_with_one_that_does(passed: set[str], advice: str) -> None:
    """One that programs do not end by, where it is passed."""
    assert kept_back("x", frozenset(passed), "HUP") == advice


def test_open_mpi_hands_the_requests_variables_over() -> None:
    """They would not reach ranks that ssh starts on other nodes."""
    job = replace(JOB, launcher="mpirun", launcher_flavour="openmpi", attributes=replace(JOB.attributes, copy_variables=("SCENARIO", "A")))
    assert " -x SCENARIO -x A " in render(job, "torque").text


def test_open_mpi_hands_the_loaders_path_over_where_modules_set_one() -> None:
    """Else it would warn that the variable is not set."""
    assert " -x LD_LIBRARY_PATH " in line(HYBRID)
    assert "LD_LIBRARY_PATH" not in line(replace(HYBRID, system=None, container=None))


@pytest.mark.parametrize("scheduler", ["torque", "pbspro", "shell"])
def test_open_mpi_hands_over_by_ssh_what_modules_and_rules_set(scheduler: str) -> None:
    """What that is, the script finds out; where the scheduler starts mpirun's daemons, they have it."""
    job = replace(JOB, launcher="mpirun", launcher_flavour="openmpi")
    rule = RuleText("fabric", "environment", "export UCX_TLS=ud")
    for told in (HYBRID, replace(job, rules=(rule,))):
        assert '"${MODAK_NAMED[@]:?}" ' in render(told, scheduler).text
    for other in (job, replace(job, rules=(replace(rule, stage="before"),)), replace(job, rules=(rule,), launcher_flavour="mpich")):
        assert "MODAK_NAMED" not in render(other, scheduler).text
    assert "MODAK_NAMED" not in render(replace(job, rules=(rule,)), "slurm").text
    assert "MODAK_NAMED" not in render(replace(job, rules=(rule,), resources=replace(LAYOUT, nodes=1)), scheduler).text


def test_a_variable_that_is_set_after_the_checks_is_handed_over_at_the_start_alone() -> None:
    """mpirun, by which the checks start, too, would warn of one that is not set yet."""
    rule = RuleText("fabric", "environment", "export UCX_TLS=ud")
    job = replace(JOB, launcher="mpirun", launcher_flavour="openmpi", rules=(rule,), staging=Staging(shared=True))
    script = render(job, "torque").text
    (named,) = [line for line in script.splitlines() if "MODAK_NAMED=(" in line]
    assert "MODAK_SCRATCH" not in named
    assert '"${MODAK_NAMED[@]:?}" -x MODAK_SCRATCH ' in script


def test_intel_mpi_binds_by_variables() -> None:
    """And heeds ``-ppn`` under a scheduler."""
    said = variables(replace(JOB, launcher="mpirun", launcher_flavour="intel-mpi"))
    assert said["I_MPI_PIN_DOMAIN"] == "auto:compact"
    assert said["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] == "0"
    unbound = variables(replace(JOB, launcher="mpirun", launcher_flavour="intel-mpi", resources=replace(LAYOUT, unbound=True)))
    assert (unbound["I_MPI_PIN"], "I_MPI_PIN_DOMAIN" in unbound) == ("off", False)


@pytest.mark.parametrize(("launcher", "told"), [("srun", True), ("mpirun", True), ("none", True), ("torchrun", False)])
def test_mvapich_leaves_ranks_on_the_cores_that_they_have(launcher: str, told: bool) -> None:
    """By itself it binds each to one core, with all of its threads. The workers of torchrun do not use it."""
    has = replace(LAYOUT, nodes=1, ranks_per_node=1) if launcher == "none" else LAYOUT
    job = replace(JOB, launcher=launcher, launcher_flavour="mvapich", resources=has, command=("./solver",))
    text = render(job, "slurm").text
    assert ["export MV2_ENABLE_AFFINITY=0" in text, "export MVP_ENABLE_AFFINITY=0" in text] == [told, told]
    assert "MV2_" not in render(replace(job, launcher_flavour="mpich"), "slurm").text


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


def test_a_single_thread_is_given_no_place() -> None:
    """It is where its rank is; what the program starts beside it would be held there, too."""
    assert openmp(Resources()) == {"OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("threads", "cores", "bound"),
    [
        (1, 1, {"OMP_PROC_BIND": "false"}),
        (3, 2, {"OMP_PROC_BIND": "false"}),
        (4, 2, {"OMP_PLACES": "threads", "OMP_PROC_BIND": "close"}),
    ],
)
def test_threads_of_ranks_that_share_a_core_are_not_bound(threads: int, cores: int, bound: dict[str, str]) -> None:
    """Two ranks with one hyper-thread each were both on the first one of their core, and the other was idle (measured under Slurm)."""
    layout = Resources(ranks_per_node=4, threads_per_rank=threads, cores_per_rank=cores, hyperthreads=True, threads_per_core=2)
    assert openmp(layout) == {"OMP_NUM_THREADS": str(threads), **bound}


@pytest.mark.parametrize(("cores", "ranks", "threads"), [(2, 4, 1), (3, 2, 3), (9, 6, 3)])
def test_open_mpi_gives_ranks_that_share_cores_hardware_threads_of_their_own(cores: int, ranks: int, threads: int) -> None:
    """It refuses to bind two ranks to one core. It maps them here on a node that hwloc makes up, and starts nothing."""
    layout = Resources(
        ranks_per_node=ranks, threads_per_rank=threads, cores_per_rank=-(-threads // 2), hyperthreads=True, threads_per_core=2
    )
    _, *asked = line(JobSpec(("true",), layout, launcher="mpirun", launcher_flavour="openmpi")).split()
    only_told = ("--allow-run-as-root", "--host", f"localhost:{ranks}", "--do-not-launch", "--display-devel-map")
    node = {"HWLOC_SYNTHETIC": f"package:1 core:{cores} pu:2", "HWLOC_THISSYSTEM": "1"}
    program = tool("Open MPI", "mpirun.openmpi")
    ran = subprocess.run([program, *only_told, *asked], env={**os.environ, **node}, capture_output=True, text=True, check=False)
    shown = [text.replace("/", "") for text in re.findall(r"Binding: \[([B./]+)\]", ran.stdout)]  # "BB.": Open MPI 4
    ranges = re.findall(r"Binding: \S+hwt:L?(\d+)(?:-(\d+))?\]", ran.stdout)  # "0-1": 5 and 6
    found = [[at for at, mark in enumerate(text) if mark == "B"] for text in shown]
    found += [list(range(int(first), int(last or first) + 1)) for first, last in ranges]
    assert [len(each) for each in found] == [threads] * ranks, ran.stdout + ran.stderr
    assert sorted(at for each in found for at in each) == list(range(ranks * threads))


def test_a_single_thread_is_bound_by_its_rank_alone() -> None:
    """Bound to one core of several, it would hold there what the program starts beside OpenMP."""
    assert openmp(Resources(ranks_per_node=4, cores_per_rank=8)) == {"OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("launcher", "scheduler", "nodes", "needs"),
    [
        ("srun", "slurm", 2, False),
        ("mpirun", "slurm", 2, False),
        ("mpirun", "torque", 2, True),
        ("mpirun", "torque", 1, False),
        ("mpirun", "shell", 2, True),
        ("mpirun", "gridengine", 2, False),
        ("torchrun", "slurm", 2, False),
        ("torchrun", "flux", 2, False),
        ("torchrun", "lsf", 2, False),
        ("torchrun", "pbspro", 2, True),
        ("torchrun", "pbspro", 1, False),
        ("pals", "pbspro", 2, False),
        ("none", "shell", 1, False),
    ],
)
def test_who_needs_ssh_between_nodes(launcher: str, scheduler: str, nodes: int, needs: bool) -> None:
    """mpirun does, unless Slurm, LSF or Grid Engine starts its helpers; so does torchrun, where mpirun starts it."""
    assert needs_ssh(replace(JOB, launcher=launcher, resources=replace(LAYOUT, nodes=nodes)), scheduler) is needs


@pytest.mark.parametrize(
    ("launcher", "scheduler", "nodes", "step"),
    [
        ("srun", "slurm", 1, True),
        ("mpirun", "slurm", 2, False),
        ("torchrun", "slurm", 2, True),
        ("torchrun", "slurm", 1, False),
        ("torchrun", "pbspro", 2, False),
        ("none", "slurm", 1, False),
    ],
)
def test_whose_processes_are_a_step_of_slurms(launcher: str, scheduler: str, nodes: int, step: bool) -> None:
    """Those that srun starts: torchrun, where there are several nodes to start it on."""
    job = replace(JOB, launcher=launcher, resources=replace(LAYOUT, nodes=nodes))
    assert plugins.find("launchers", launcher).slurm_step(job, plugins.find("schedulers", scheduler)) is step


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("python3", "train.py", "-e", "3"), "train.py -e 3"),
        (("python", "-u", "train.py"), "train.py"),
        (("python3", "-m", "train"), "-m train"),
        (("train.py",), "train.py"),
        (words.parse("${WORK}/train.py -e 3"), '"${WORK:?}"/train.py -e 3'),
        (("python3", "-O", "train.py"), "--no-python python3 -O train.py"),
        (("./train",), "--no-python ./train"),
        (("python3",), "--no-python python3"),
    ],
)
def test_torchrun_starts_python_itself(command: tuple[words.Word, ...], said: str) -> None:
    """A leading interpreter is dropped, other programs are named as such."""
    job = replace(TORCH, command=command, resources=replace(TORCH.resources, nodes=1))
    assert line(job, "shell") == f"torchrun --nnodes=1 --nproc-per-node=4 --standalone {said}"


def test_variables_that_env_sets_are_set_before_torchrun() -> None:
    """The Python behind them is the program's, and its torchrun the one to use."""
    job = replace(TORCH, command=words.parse("env A=1 /venv/bin/python train.py"), resources=replace(TORCH.resources, nodes=1))
    said = "env A=1 /venv/bin/python -m torch.distributed.run --nnodes=1 --nproc-per-node=4 --standalone train.py"
    assert line(job, "shell") == said


@pytest.mark.parametrize("name", ["python", "python3.11"])
def test_the_torchrun_of_an_interpreter_that_is_named_by_its_path_is_used(name: str) -> None:
    """That of a virtual environment need not be on PATH, and another one would have other packages."""
    job = replace(TORCH, command=words.parse(f"${{HOME}}/venv/bin/{name} -m train"), resources=replace(TORCH.resources, nodes=1))
    started = f'"${{HOME:?}}"/venv/bin/{name} -m torch.distributed.run --nnodes=1 --nproc-per-node=4 --standalone -m train'
    assert line(job, "shell") == started


def test_torchrun_is_one_task_a_node_with_all_its_cores() -> None:
    """It starts the node's ranks; the first node is where they meet."""
    asked = plugins.find("launchers", "torchrun").asks(TORCH.resources)
    assert (asked.nodes, asked.ranks_per_node, asked.cores_per_rank) == (2, 1, 64)
    said = line(TORCH)
    assert said.startswith("srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=64 ")
    assert '--rdzv-endpoint="${MODAK_RDZV_HOST:?}":"${MODAK_RDZV_PORT:?}"' in said


@pytest.mark.parametrize(
    ("scheduler", "flavour", "launcher", "said"),
    [
        ("slurm", "intel-mpi", "mpirun", "srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=64 "),
        ("flux", None, None, "flux run -N 2 -n 2 -c 64 -g 4 "),
        ("pbspro", None, None, 'mpirun --hostfile "${PBS_NODEFILE:?}" -n 2 --map-by ppr:1:node --bind-to none -x PATH -x A '),
        ("pbspro", "mpich", "pals", "mpiexec -n 2 --ppn 1 --depth 64 --cpu-bind depth "),
        ("torque", "mpich", "none", "mpirun -n 2 -ppn 1 -bind-to none "),
        ("torque", "mpich", "torchrun", "mpirun -n 2 -ppn 1 -bind-to none "),
        ("lsf", "intel-mpi", None, "mpirun -bootstrap lsf -n 2 -ppn 1 -genvall "),
    ],
)
def test_torchrun_is_started_by_what_starts_processes_there(scheduler: str, flavour: str | None, launcher: str | None, said: str) -> None:
    """One process a node: by the scheduler's own launcher, else by the system's, else by mpirun. No MPI connects them."""
    job = replace(TORCH, launcher_flavour=flavour, pmi="pmix", system=GPUS.model_copy(update={"launcher": launcher}))
    whole = line(job, scheduler, ("A",))
    assert whole.startswith(said + ("--cpu-bind=cores --export" if scheduler == "slurm" else ""))
    assert "pmix" not in whole
    assert " torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d " in whole


@pytest.mark.parametrize(
    ("scheduler", "launcher", "ranks", "why"),
    [
        ("shell", None, None, "needs a scheduler that allocates them, which shell does not; name the scheduler or a known system"),
        ("lsf", "jsrun", None, "jsrun cannot start torchrun on 2 nodes"),
        ("pbspro", "pals", 7, "each of 2 nodes the same number of ranks; 7 do not divide evenly: give another number of them"),
        ("pbspro", "pals", None, ""),
        ("torque", "pals", None, "under PBS Pro or Slurm, not under torque"),
    ],
)
def test_where_nothing_starts_torchrun_on_several_nodes(scheduler: str, launcher: str | None, ranks: int | None, why: str) -> None:
    """It is refused with a sentence; it counts no ranks that differ from node to node."""
    job = replace(TORCH, resources=replace(TORCH.resources, total_ranks=ranks), system=GPUS.model_copy(update={"launcher": launcher}))
    found = plugins.find("launchers", "torchrun").unfit(job, plugins.find("schedulers", scheduler))
    assert (why in found, bool(found)) == (True, bool(why))


@pytest.mark.parametrize(("ranks", "starts"), [(1, True), (2, False)])
def test_ranks_without_a_launcher_are_one(ranks: int, starts: bool) -> None:
    """Nothing would start the second."""
    job = replace(JOB, launcher="none", resources=Resources(ranks_per_node=ranks))
    assert (plugins.find("launchers", "none").unfit(job, plugins.find("schedulers", "slurm")) == "") == starts


def test_nodes_meet_at_the_one_that_the_script_runs_on() -> None:
    """By its own name, which torchrun compares; jobs, and each of an array, meet at ports of their own, however they are numbered."""
    torchrun, pbs = plugins.find("launchers", "torchrun"), plugins.find("schedulers", "pbspro")
    shown = "echo $MODAK_RDZV_HOST $MODAK_RDZV_ID $MODAK_RDZV_PORT"
    lines = (*(each.text for each in torchrun.setup(TORCH, pbs)), shown)

    def met(**variables: str) -> list[str]:
        environment = {"PATH": os.environ["PATH"], "HOSTNAME": "login1", **variables}
        return subprocess.run(["bash", "-ec", "\n".join(lines)], env=environment, capture_output=True, text=True, check=True).stdout.split()

    found = [
        met(PBS_JOBID=number, PBS_ARRAY_INDEX=index) for number, index in (("12[].s", "1"), ("12[].s", "2"), ("f2aB", ""), ("f2aB", ""))
    ]
    assert {host for host, _, _ in found} == {os.uname().nodename}
    assert [number for _, number, _ in found] == ["12[].s-1", "12[].s-2", "f2aB-", "f2aB-"]
    assert len({port for _, _, port in found}) == 3
    assert all(15000 <= int(port) < 30000 for _, _, port in found)


def test_intel_mpi_heeds_one_process_a_node_of_torchruns() -> None:
    """Else it would follow the scheduler's slots."""
    torchrun, lsf = plugins.find("launchers", "torchrun"), plugins.find("schedulers", "lsf")
    said = [each.text for each in torchrun.setup(replace(TORCH, launcher_flavour="intel-mpi"), lsf)]
    assert "export I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=0" in said
    assert not any("OMP_" in each for each in said)


def test_torchrun_on_other_nodes_has_what_modules_set() -> None:
    """By ssh, the mpirun that starts it hands over what the script finds out before."""
    rule = RuleText("fabric", "environment", "export NCCL_SOCKET_IFNAME=ib0")
    text = render(replace(TORCH, launcher_flavour="openmpi", rules=(rule,)), "torque").text
    assert 0 < text.index("MODAK_NAMED=(") < text.index('"${MODAK_NAMED[@]:?}" ')


def test_torchruns_starter_is_of_the_hosts_mpi_whatever_the_image_holds() -> None:
    """It is what is checked, and the options are its own: no rank uses the image's MPI."""
    assert TORCH.container is not None
    job = replace(TORCH, launcher_flavour="openmpi", container=replace(TORCH.container, mpi="mpich"))
    (check,) = plugins.find("launchers", "torchrun").preflight(job, plugins.find("schedulers", "pbspro"))
    assert "== *'Open MPI'* ]]" in check.text
    assert " --map-by ppr:1:node " in line(job, "pbspro")


def test_pals_binds_each_rank_to_its_cores() -> None:
    """Unless ranks share them."""
    assert line(replace(JOB, launcher="pals"), "pbspro") == "mpiexec -n 8 --ppn 4 --depth 12 --cpu-bind depth ./solver -x"
    assert "--cpu-bind none" in line(replace(JOB, launcher="pals", resources=replace(LAYOUT, oversubscribed=True)), "pbspro")


@pytest.mark.parametrize("scheduler", plugins.names("schedulers"))
def test_pals_starts_ranks_under_pbs_pro_and_slurm_alone(scheduler: str) -> None:
    """Others are named, with those."""
    why = plugins.find("launchers", "pals").unfit(JOB, plugins.find("schedulers", scheduler))
    other = f"mpiexec of PALS starts processes under PBS Pro or Slurm, not under {scheduler}"
    assert why == ("" if scheduler in ("pbspro", "slurm") else other)


def test_pals_leaves_hyper_threads_free() -> None:
    """Its depth would take one of each core; and no rank's threads bind themselves, all to the first cores."""
    job = replace(JOB, launcher="pals", resources=replace(LAYOUT, threads_per_rank=24, hyperthreads=True))
    assert line(job, "pbspro") == "mpiexec -n 8 --ppn 4 --cpu-bind none ./solver -x"
    assert variables(job) == {"OMP_NUM_THREADS": "24"}


@pytest.mark.parametrize(
    ("launcher", "flavour", "scheduler", "nodes", "signals"),
    [
        ("flux", None, "flux", 2, {"TERM", "HUP", "ALRM", "USR1", "USR2"}),
        ("mpirun", "openmpi", "torque", 2, {"USR1", "USR2"}),
        ("mpirun", "mpich", "torque", 2, {"TERM", "INT", "ALRM", "USR1"}),
        ("mpirun", "mvapich", "torque", 2, {"TERM", "INT", "ALRM", "USR1"}),
        ("mpirun", "intel-mpi", "torque", 2, set()),
        ("torchrun", "openmpi", "torque", 1, {"TERM", "INT", "HUP"}),
        ("torchrun", "openmpi", "torque", 2, set()),
        ("torchrun", "mpich", "torque", 2, {"TERM", "INT"}),
        ("torchrun", None, "flux", 2, {"TERM", "HUP"}),
        ("torchrun", None, "slurm", 2, {"TERM", "INT", "HUP"}),
    ],
)
def test_signals_that_reach_the_ranks(launcher: str, flavour: str | None, scheduler: str, nodes: int, signals: set[str]) -> None:
    """All that stands between must hand them on; a sentence says what to take instead, if there is anything."""
    job = replace(JOB, launcher=launcher, launcher_flavour=flavour, resources=replace(LAYOUT, nodes=nodes))
    found, under = plugins.find("launchers", launcher), plugins.find("schedulers", scheduler)
    why = {each: found.untold(job, under, each) for each in ("TERM", "INT", "HUP", "ALRM", "USR1", "USR2")}
    assert {each for each, said in why.items() if not said} == signals
    assert all((", or application.checkpoint" in said) == bool(signals) for said in why.values() if said)


def test_a_step_asks_for_what_the_job_has() -> None:
    """srun's numbers are those of the header."""
    assert "--ntasks=64 --ntasks-per-node=32 --cpus-per-task=2" in line(SOLVER)


def test_jsrun_gives_each_node_one_resource_set() -> None:
    """A set cannot span nodes; uneven ranks are refused, and so are other schedulers."""
    job = replace(JOB, launcher="jsrun", resources=replace(LAYOUT, gpus_per_node=4))
    assert line(job, "lsf") == "jsrun -n 2 -r 1 -a 4 -c 48 -g 4 -d packed -b packed:12 ./solver -x"
    jsrun, lsf = plugins.find("launchers", "jsrun"), plugins.find("schedulers", "lsf")
    assert "do not divide evenly" in jsrun.unfit(replace(job, resources=replace(LAYOUT, total_ranks=7)), lsf)
    assert jsrun.unfit(job, lsf) == ""
    assert "under LSF, not under slurm" in jsrun.unfit(job, plugins.find("schedulers", "slurm"))


def test_flux_run_shares_gpus_out_but_hides_none() -> None:
    """Each rank sees all GPUs of its node."""
    job = replace(JOB, launcher="flux", pmi="pmix", resources=replace(LAYOUT, gpus_per_node=4))
    said = line(job, "flux")
    assert said == "flux run -N 2 -n 8 -c 12 -g 1 -o gpu-affinity=off -o cpu-affinity=per-task -o pmi=pmix ./solver -x"


@pytest.mark.parametrize("gpus", [1, 2, 3])
def test_ranks_that_share_gpus_get_those_of_their_node_under_flux(gpus: int) -> None:
    """By node instead of by rank, for as many ranks on each node; others are refused."""
    job = replace(JOB, launcher="flux", resources=replace(LAYOUT, gpus_per_node=gpus))
    said = line(job, "flux")
    ranks = f"--cores 96 --tasks-per-node 4 --gpus-per-node {gpus}"
    assert said == f"flux run -N 2 {ranks} -o gpu-affinity=off -o cpu-affinity=per-task ./solver -x"
    flux = plugins.find("launchers", "flux"), plugins.find("schedulers", "flux")
    assert flux[0].unfit(job, flux[1]) == ""
    uneven = replace(job, resources=replace(job.resources, total_ranks=7))
    assert "7 ranks on 2 nodes" in flux[0].unfit(uneven, flux[1])
    assert flux[0].unfit(replace(uneven, resources=replace(LAYOUT, total_ranks=7)), flux[1]) == ""


@pytest.mark.parametrize(
    ("launcher", "scheduler", "said"),
    [
        ("flux", "flux", "flux run -N 2 -n 8 -c 12 -o cpu-affinity=per-task ./solver -x"),
        ("jsrun", "lsf", "jsrun -n 2 -r 1 -a 4 -c 48 -d packed -b packed:12 ./solver -x"),
    ],
)
def test_no_gpus_are_asked_for_where_the_job_has_none(launcher: str, scheduler: str, said: str) -> None:
    """Nor is anything said of them."""
    assert line(replace(JOB, launcher=launcher), scheduler) == said


def test_flux_run_works_in_flux_only() -> None:
    """It needs an instance that gives it nodes."""
    why = plugins.find("launchers", "flux").unfit(replace(JOB, launcher="flux"), plugins.find("schedulers", "slurm"))
    assert why == "flux run starts processes under Flux, not under slurm"


@pytest.mark.parametrize(("version", "older"), [("4.1", True), (None, True), ("5.0.3", False)])
def test_horovod_on_gpus_is_bound_to_nothing(version: str | None, older: bool) -> None:
    """Nor are its threads; before Open MPI 5 another transport is chosen. Without GPUs it is bound like any job."""
    gpus = replace(LAYOUT, gpus_per_node=4)
    job = replace(JOB, launcher="mpirun", launcher_flavour="openmpi", launcher_version=version, distribution="horovod", resources=gpus)
    transport = "--mca pml ob1 --mca btl '^openib' " if older else ""
    assert line(job) == f"mpirun -n 8 --map-by ppr:4:node --bind-to none {transport}-x PATH ./solver -x"
    assert variables(job) == {"OMP_NUM_THREADS": "12"}
    assert "--bind-to none" in line(replace(job, resources=replace(LAYOUT, gpus_per_node=1)))
    assert "--bind-to core" in line(replace(job, resources=LAYOUT))
    hydra = replace(job, launcher_flavour="mpich")
    assert ("-bind-to core:12" in line(hydra), variables(hydra)["OMP_PLACES"]) == (True, "cores")


def test_more_ranks_than_cores_are_not_bound() -> None:
    """Slurm and Open MPI are told that it is meant; others would refuse cores that are not there."""
    busy = replace(LAYOUT, oversubscribed=True)
    assert " --cpu-bind=none --overcommit " in line(replace(JOB, launcher="srun", resources=busy))
    assert "--map-by ppr:4:node:OVERSUBSCRIBE --bind-to none" in line(replace(JOB, launcher="mpirun", resources=busy))
    assert "-ppn 4 -bind-to none" in line(replace(JOB, launcher="mpirun", launcher_flavour="mpich", resources=busy))
    assert "-o cpu-affinity=off" in line(replace(JOB, launcher="flux", resources=busy), "flux")
    assert "-d packed -b none" in line(replace(JOB, launcher="jsrun", resources=busy), "lsf")
    assert variables(replace(JOB, launcher="srun", resources=busy)) == {"OMP_NUM_THREADS": "12", "OMP_PROC_BIND": "false"}

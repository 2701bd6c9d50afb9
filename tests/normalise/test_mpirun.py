"""Launchers of MPI programs before the program of a request."""

from __future__ import annotations

from typing import Any

import pytest

from modak.dsl import Request
from modak.normalise import normalise
from modak.normalise.mpirun import launched
from modak.text import words


def request(command: str, *, options: dict[str, Any] | None = None, optimisation: dict[str, Any] | None = None, **more: Any) -> Request:
    """The request with a command."""
    job = {"application": {"executable": command, **more}, "job_options": options or {}, "optimisation": optimisation or {}}
    return normalise({"job": job}).request


COUNTED = [
    ("mpirun -np 8 ./solver x.in", {"mpi_ranks": 8}),
    (
        "/opt/mpi/bin/mpiexec.hydra -PSM2 -l -n 896 -ppn 2 -f hostfile -genv OMP_NUM_THREADS 22 ./solver x.in",
        {"mpi_ranks": 896, "process_count_per_node": 2},
    ),
    ("mpirun --map-by ppr:4:node:PE=10 --bind-to core -n 16 ./solver x.in", {"mpi_ranks": 16, "process_count_per_node": 4}),
    ("srun -N2 --ntasks=8 --cpus-per-task 5 ./solver x.in", {"node_count": 2, "mpi_ranks": 8, "core_count_per_process": 5}),
    ("aprun -n 8 -N 4 -d 6 ./solver x.in", {"mpi_ranks": 8, "process_count_per_node": 4, "core_count_per_process": 6}),
    ("cafrun -np 4 ./solver x.in", {"mpi_ranks": 4}),
    ("oshrun -np 4 -N 2 ./solver x.in", {"mpi_ranks": 4, "process_count_per_node": 2}),
    ("orterun -np 4 -N 2 ./solver x.in", {"mpi_ranks": 4, "process_count_per_node": 2}),
    ("mpirun -pernode -np 4 ./solver x.in", {"mpi_ranks": 4, "process_count_per_node": 1}),
]


@pytest.mark.parametrize(("command", "counts"), COUNTED)
def test_the_counts_of_a_launcher_are_those_of_the_job(command: str, counts: dict[str, int]) -> None:
    """The program alone stays, for the script starts the ranks itself."""
    found = request(command)
    assert words.line(found.application.command) == "./solver x.in"
    assert {name: getattr(found.application, name, getattr(found.job_options, name, None)) for name in counts} == counts


@pytest.mark.parametrize("command", ["mpirun -x OMP_NUM_THREADS=4 -np 2 ./solver", "mpiexec -genv OMP_NUM_THREADS 4 -n 2 ./solver"])
def test_the_threads_that_a_launcher_sets_are_those_of_the_job(command: str) -> None:
    """As application.threads."""
    assert request(command).application.threads == 4


def test_a_long_launcher_is_told_as_a_whole() -> None:
    """What is left out has to be seen."""
    launcher = "mpiexec.hydra -l -n 896 -ppn 2 -f hostfile -genv OMP_NUM_THREADS 22"
    (warning,) = normalise({"job": {"application": {"executable": f"{launcher} ./caffe train"}}}).warnings
    assert f"'{launcher}' is left out" in warning.message


def test_the_counts_of_the_request_hold() -> None:
    """What the launcher says otherwise is a warning at the field that is used."""
    job = {"application": {"executable": "mpirun -np 8 ./solver", "mpi_ranks": 16}}
    found = normalise({"job": job})
    assert found.request.application.mpi_ranks == 16
    assert [warning.field for warning in found.warnings] == ["application.executable", "application.mpi_ranks"]


@pytest.mark.parametrize(
    ("command", "ranks", "options", "said"),
    [
        ("mpirun -np 6 ./solver", None, {"node_count": 2, "process_count_per_node": 4}, "8 is used; 'mpirun -np 6' says 6"),
        ("srun -N 4 ./solver", 8, {"process_count_per_node": 4}, "2 is used; 'srun -N 4' says 4"),
        ("mpirun -np 8 ./solver", None, {"node_count": 2, "process_count_per_node": 4}, ""),
    ],
)
def test_two_counts_of_the_request_say_the_third(command: str, ranks: int | None, options: dict[str, int], said: str) -> None:
    """What the launcher says of that changes none of the two."""
    given = {"executable": command} | ({"mpi_ranks": ranks} if ranks else {})
    found = normalise({"job": {"application": given, "job_options": options}})
    job = found.request.job_options
    assert found.request.application.mpi_ranks == ranks
    assert {name: getattr(job, name) for name in ("node_count", "process_count_per_node") if getattr(job, name)} == options
    assert [warning.message for warning in found.warnings[1:]] == ([said] if said else [])


@pytest.mark.parametrize("launcher", ["mpirun -np $SLURM_NTASKS", "srun --ntasks=${SLURM_NTASKS}", "srun -n$SLURM_NTASKS -v"])
def test_a_count_may_be_the_schedulers(launcher: str) -> None:
    """``-np $SLURM_NTASKS`` is as many ranks as the job has."""
    found = request(f"{launcher} ./solver", options={"node_count": 2, "process_count_per_node": 4})
    assert (words.line(found.application.command), found.application.mpi_ranks) == ("./solver", None)


@pytest.mark.parametrize(
    "command",
    [
        "mpirun --mca btl tcp -np 8 ./solver",
        "mpirun -x LD_PRELOAD -np 8 ./solver",
        "mpirun -np 0 ./solver",
        "mpirun -np many ./solver",
        "srun --mpi=pmix -n 8 ./solver",
        "srun -N 2-4 -n 8 ./solver",
        "mpirun -np 8",
        "mpirun -np",
        "mpirun -n 1 ./a : -n 7 ./b",
        "mpirun -np 8 A=1 ./solver",
        "mpirun -np 8 A=$HOME ./solver",
        "mpirun --mca$HOME btl -np 8 ./solver",
        "mpirun -np 99999999 ./solver",
        "mpirun -np 8 -x OMP_NUM_THREADS ./solver",
        "mpirun -np 8 -genv A",
        "mpirun -np 8 -genv -S B ./solver",
        "mpirun -np 8 -x -u=A ./solver",
        "mpirun -np 8 -x =1 ./solver",
        "mpirun -genv A=B 1 -np 8 ./solver",
        "./mpirun.sh -np 8 ./solver",
    ],
)
def test_a_launcher_that_says_more_stays(command: str) -> None:
    """Nothing that it means is lost without a word."""
    assert launched(words.parse(command)) is None


def test_a_launcher_without_counts_stays_if_the_job_is_one_process() -> None:
    """It then means all cores of the machine."""
    assert request("mpirun ./solver").application.command == ("mpirun", "./solver")
    assert request("mpirun ./solver", app_type="mpi").application.command == ("./solver",)


@pytest.mark.parametrize(
    ("framework", "distribution", "said"),
    [("pytorch", "ddp", True), ("pytorch", "horovod", False), ("tensorflow", "multi-worker", False)],
)
def test_ranks_of_pytorch_are_told_how_they_find_their_number(framework: str, distribution: str, said: bool) -> None:
    """Under torchrun by other variables than those that the launcher would set."""
    training = {"app_type": "ai_training", "ai_training": {framework: {"distribution": distribution}}}
    job = {"application": {"executable": "srun -N 2 --ntasks-per-node=4 python3 train.py"}, "optimisation": training}
    found = normalise({"job": job})
    assert words.line(found.request.application.command) == "python3 train.py"
    assert (found.request.job_options.node_count, found.request.job_options.process_count_per_node) == (2, 4)
    assert any("LOCAL_RANK" in warning.message for warning in found.warnings) == said


@pytest.mark.parametrize(
    "command",
    [
        "srun torchrun --nproc-per-node=4 train.py",
        "srun -n 2 conda run -n own torchrun train.py",
        "srun --ntasks-per-node=1 --cpus-per-task=32 python3 -m torch.distributed.run --nproc-per-node=4 train.py",
        "srun -n 2 accelerate launch train.py",
    ],
)
def test_what_starts_the_launcher_of_each_node_says_nothing_of_ranks(command: str) -> None:
    """Under ``srun torchrun`` the tasks are those launchers: their number, and their cores, are not those of the ranks."""
    training = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}}
    found = request(command, optimisation=training)
    assert words.line(found.application.command[:1]) != "srun"
    options = found.job_options
    each = 4 if "--nproc-per-node=4" in command else None
    assert (found.application.mpi_ranks, options.process_count_per_node, options.core_count_per_process) == (None, each, None)


def test_a_launcher_behind_variables_starts_no_ranks_either() -> None:
    """What ``env`` sets stays with the program; the number of threads is one of the job."""
    found = request("env A=1 OMP_NUM_THREADS=2 mpirun -np 8 ./solver x.in")
    assert words.line(found.application.command) == "env A=1 ./solver x.in"
    assert (found.application.mpi_ranks, found.application.threads) == (8, 2)


@pytest.mark.parametrize(
    ("launcher", "kept"),
    [
        ("mpiexec.hydra -genv I_MPI_FABRICS shm:ofi -np 8", "env I_MPI_FABRICS=shm:ofi"),
        ("mpirun -env A 'b c' -np 8 -genv D ${WORK}/d", "env 'A=b c' D=${WORK}/d"),
        ("env A=1 mpirun -x B=2 -x C=${WORK} -np 8", "env A=1 B=2 C=${WORK}"),
        ("mpirun -x OMP_NUM_THREADS=4,2 -np 8", "env OMP_NUM_THREADS=4,2"),
    ],
)
def test_what_a_launcher_sets_stays_with_the_program(launcher: str, kept: str) -> None:
    """Each rank gets it by env instead."""
    found = request(f"{launcher} ./solver x.in")
    assert (found.application.command, found.application.mpi_ranks) == (words.parse(f"{kept} ./solver x.in"), 8)


def test_the_threads_before_a_launcher_are_left_out_with_it() -> None:
    """The warning names what said them."""
    document = {"job": {"application": {"app_tag": "x", "executable": "env OMP_NUM_THREADS=2 mpirun -np 8 ./solver", "threads": 4}}}
    messages = [each.message for each in normalise(document).warnings]
    assert "4 is used; 'OMP_NUM_THREADS=2 mpirun -np 8' says 2" in messages

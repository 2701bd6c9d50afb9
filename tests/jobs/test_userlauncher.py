"""Launchers that users put before their programs."""

from __future__ import annotations

import pytest

from modak import plugins
from modak.dsl import Application, Request
from modak.jobs.userlauncher import SEVERAL, command_of, is_interpreted, user_launcher
from modak.text import words
from modak.text.programs import strip_launcher
from tests.matrix import FITTING, LAUNCHERS, job_of


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("torchrun --no-python -r3 ./train 1", "./train 1"),
        ("torchrun --no-python --log_dir=${HOME}/logs ./train 1", "./train 1"),
        ("torchrun launch 1", "python3 launch 1"),
    ],
)
def test_what_follows_the_options_of_a_launcher_is_the_program(command: str, program: str) -> None:
    """Not a value of an option that has one already, nor a word of another launcher's."""
    found = strip_launcher(words.parse(command), "torchrun")
    assert found
    assert words.line(found[0]) == program


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("${HOME}/venv/bin/torchrun train.py", '"${HOME:?}"/venv/bin/python3'),
        ("/opt/conda/bin/accelerate launch train.py", "/opt/conda/bin/python3"),
        ("${HOME}/.local/bin/torchrun train.py", "python3"),
    ],
)
def test_a_launcher_by_its_path_stands_for_the_python_beside_it(command: str, python: str) -> None:
    """The torchrun of PATH may be that of another environment."""
    found = strip_launcher(words.parse(command), "accelerate" if "accelerate" in command else "torchrun")
    assert found
    assert words.shell(found[0][0]) == python


def test_a_launcher_without_a_program_starts_none() -> None:
    """Whatever its last option wants."""
    assert strip_launcher(words.parse("torchrun --nproc_per_node"), "torchrun") is None


@pytest.mark.parametrize("launcher", [name for name in plugins.names("launchers") if name != "none"])
def test_what_starts_the_ranks_of_a_script_is_known_before_a_program(launcher: str) -> None:
    """A request whose command begins with it would start them again and again."""
    scheduler, how, runtime, kind = next(cell for cell in FITTING if LAUNCHERS[cell[1]][0] == launcher)
    job, plugin = job_of(how, runtime, kind), plugins.find("launchers", launcher)
    here = plugins.find("schedulers", scheduler)
    found = user_launcher((*plugin.words(job, here, ()), *plugin.inside(job, here)))
    assert found, "name its program in PROGRAMS of modak/jobs/userlauncher.py"


@pytest.mark.parametrize("command", ["accelerate env", "python3 -m torch.utils.bottleneck train.py"])
def test_other_commands_of_a_launcher_start_no_ranks(command: str) -> None:
    """Only ``accelerate launch`` does."""
    assert user_launcher(words.parse(command)) is None


@pytest.mark.parametrize(
    "command",
    [
        "./train.py --lr 1",
        "sh -c 'cd data && exec python3 fit.py >log'",
        "uv run fit.py",
        "taskset -c 1 python3 fit",
        "apptainer exec ./own.sif python3 fit",
    ],
)
def test_a_script_is_a_program_of_pythons_however_it_is_called(command: str) -> None:
    """By its own path, too, or by a shell: OpenMP would bind it to one core."""
    assert is_interpreted(words.parse(command))


def test_arguments_alone_are_no_program() -> None:
    """The first of them would be started."""
    command, (notice,) = command_of(Request(application=Application(arguments=words.parse("mesh.h5 --steps 3"))), "none", "slurm")
    assert " ".join(map(words.shell, command)) == '"${MODAK_COMMAND:?}" mesh.h5 --steps 3'
    assert "no executable is given" in notice.message


@pytest.mark.parametrize(("scheduler", "warned"), [("slurm", True), ("shell", False)])
def test_a_launcher_in_a_job_of_one_rank_may_find_no_room(scheduler: str, warned: bool) -> None:
    """A scheduler gives it the cores of one rank; on a machine of one's own it has all."""
    request = Request(application=Application(executable=words.parse("mpirun --mca btl tcp -np 8 ./solver")))
    command, notices = command_of(request, "none", scheduler)
    assert command == request.application.command
    assert any("may find no room" in notice.message for notice in notices) == warned


@pytest.mark.parametrize(
    ("command", "launcher", "started"),
    [
        ("env A=1 train.py", "none", "env A=1 python3 train.py"),
        ("env A=1 B=${HOME} torchrun --nproc_per_node 4 train.py", "torchrun", 'env A=1 B="${HOME:?}" python3 train.py'),
    ],
)
def test_variables_that_env_sets_are_before_the_program(command: str, launcher: str, started: str) -> None:
    """It is a script of Python's, or begins with a launcher, all the same."""
    found, _ = command_of(Request(application=Application(executable=words.parse(command))), launcher, "slurm")
    assert " ".join(map(words.shell, found)) == started
    assert is_interpreted(found)


@pytest.mark.parametrize(("framework", "told"), [(None, True), ("pytorch", False)])
@pytest.mark.parametrize("launcher", ["none", "srun"])
def test_a_launcher_of_pytorch_in_a_request_without_it_is_told(launcher: str, framework: str | None, told: bool) -> None:
    """Its ranks would share the cores of one, and other nodes would be waited for."""
    work = Request(application=Application(executable=words.parse("torchrun --nnodes 2 train.py")))
    _, notices = command_of(work.changed(optimisation={"framework": framework}), launcher, "slurm")
    assert any("name PyTorch" in notice.message for notice in notices) == told


def test_words_of_a_launcher_that_are_left_out_are_told() -> None:
    """Whatever options the program has."""
    request = Request(application=Application(executable=words.parse("torchrun --nproc_per_node 4 train.py --app vision")))
    _, (notice,) = command_of(request.changed(optimisation={"framework": "pytorch"}), "torchrun", "slurm")
    assert notice.message.endswith("'torchrun --nproc_per_node 4' is left out")


@pytest.mark.parametrize(("launcher", "told"), [("none", "begin the command with it"), ("torchrun", "give the program without it")])
def test_a_launcher_of_pytorch_within_a_shell_stays_and_is_told(launcher: str, told: str) -> None:
    """Its counts are not those of the job."""
    work = Request(application=Application(executable=words.parse("bash -c 'torchrun --nproc_per_node 4 train.py'")))
    command, (notice,) = command_of(work.changed(optimisation={"framework": "pytorch"}), launcher, "slurm")
    assert (command, told in notice.message) == (work.application.command, True)


@pytest.mark.parametrize(
    ("command", "launcher"),
    [
        ("env A=1 mpirun --mca btl tcp -np 8 ./solver", "mpirun"),
        ("ff-mpirun -np 4 lap.edp", "ff-mpirun"),
        ("/opt/mpt/bin/mpiexec_mpt -np 8 ./solver", "mpiexec_mpt"),
        ("time mpirun-openmpi-mp -np 8 ./solver", "mpirun-openmpi-mp"),
    ],
)
def test_a_launcher_that_stays_in_the_command_is_warned_of(command: str, launcher: str) -> None:
    """It would be started by each rank, and its own ranks may wait for each other for ever."""
    request = Request(application=Application(executable=words.parse(command)))
    assert any(f"each rank would run {launcher} again" in notice.message for notice in command_of(request, "srun", "slurm")[1])


@pytest.mark.parametrize(
    "command",
    [
        "srun -n 6 --multi-prog coupled.conf",
        "mpirun --app coupled.txt",
        "mpiexec -configfile coupled.txt",
        "sh -c 'mpirun -n 4 ./atm : -n 2 ./ocn'",
    ],
)
def test_several_programs_of_a_launcher_are_started_by_their_ranks_numbers(command: str) -> None:
    """None of them is the program to give without the launcher."""
    _, (notice,) = command_of(Request(application=Application(executable=words.parse(command))), "srun", "slurm")
    assert notice.message.endswith(SEVERAL)


@pytest.mark.parametrize(("launcher", "told"), [("srun", 1), ("none", 0)])
def test_the_launcher_of_mxnet_is_to_be_started_once(launcher: str, told: int) -> None:
    """Each rank would start all servers and workers; PRACE's guide to deep learning (6.3.3) starts it so."""
    command = "python ../../tools/launch.py -n 16 -H ipfile python train_imagenet.py --kv-store dist_device_sync"
    _, notices = command_of(Request(application=Application(executable=words.parse(command))), launcher, "slurm")
    assert [notice.message.rpartition(": ")[2] for notice in notices] == ["application.mpi_ranks 1 starts it once"] * told


@pytest.mark.parametrize(
    ("command", "started"),
    [
        ("accelerate launch --mixed_precision bf16 --num_processes 4 train.py", "env ACCELERATE_MIXED_PRECISION=bf16 python3 train.py"),
        ("env A=1 accelerate launch --mixed_precision=fp16 train.py", "env A=1 ACCELERATE_MIXED_PRECISION=fp16 python3 train.py"),
        ("accelerate launch --mixed_precision ${HOME} train.py", "python3 train.py"),
    ],
)
def test_the_precision_that_accelerate_is_told_stays(command: str, started: str) -> None:
    """Without it the ranks would train in another, and nobody would see it."""
    found, _ = command_of(Request(application=Application(executable=words.parse(command))), "torchrun", "slurm")
    assert words.line(found) == started


@pytest.mark.parametrize(
    ("command", "launcher"),
    [
        ("sh -c 'mpirun -np 4 pw.x <scf.in >scf.out'", "mpirun"),
        ("bash -c 'cd case; env OMP_NUM_THREADS=2 srun ./solver'", "srun"),
        ("sh -c 'OMP_NUM_THREADS=2 mpiexec.hydra -n 4 ./solver'", "mpiexec.hydra"),
        ("bash -lc 'module load openmpi; time /opt/openmpi/bin/mpirun -np 4 ./solver'", "mpirun"),
        ('bash -l -c "cd ${HOME}/case && mpirun -np 4 ./solver"', "mpirun"),
        ("sh -c 'exec python3 -m torch.distributed.run --nproc_per_node 4 train.py'", "torchrun"),
        ("sh -c './solver --launcher mpirun >log'", None),
        ("sh -c 'pw.x <scf.in'", None),
        ("sh solver.sh", None),
    ],
)
def test_a_launcher_within_the_text_of_a_shell_is_one(command: str, launcher: str | None) -> None:
    """Each rank would start all ranks again."""
    assert user_launcher(words.parse(command)) == launcher


@pytest.mark.parametrize(
    ("command", "launcher"),
    [
        ("time mpirun -np 8 ./solver", "mpirun"),
        ("time charmrun +p8 ./namd2 in.namd", "charmrun"),
        ("timeout 3600 /opt/openmpi/bin/mpirun -np 8 ./solver", "mpirun"),
        ("numactl --interleave=all srun ./solver", "srun"),
        ("numactl -N 0 env A=1 mpirun ./solver", "mpirun"),
        ("env -u FOO mpirun -np 4 ./solver", "mpirun"),
        ("conda run -n env mpirun -np 8 ./solver", "mpirun"),
        ("uv run --with numpy torchrun --nproc_per_node 4 train.py", "torchrun"),
        ("poetry run accelerate launch train.py", "accelerate"),
        ("pixi run python -m torch.distributed.run train.py", "torchrun"),
        ("timeout 3600 sh -c 'cd case && mpirun -np 8 ./solver'", "mpirun"),
        ("bash -lc 'cd case && numactl -N 0 mpirun -np 8 ./solver'", "mpirun"),
        ("conda run -n deepspeed python train.py", None),
        ("conda run -p /envs/srun ./solver", None),
        ("conda install srun", None),
        ("taskset -c 0-3 ./solver --launcher mpirun", None),
        ("nohup python train.py torchrun", None),
        ("./solver mpirun", None),
        ("apptainer exec --nv own.sif ./solver --launcher mpirun", None),
        ("ch-run ./own -- ./solver mpirun", None),
    ],
)
def test_a_launcher_behind_what_only_runs_another_program_is_one(command: str, launcher: str | None) -> None:
    """Each rank would start all ranks again, without a word."""
    assert user_launcher(words.parse(command)) == launcher

"""The command of a job. MODAK starts the ranks itself: a launcher at the beginning of a user's command would start too many."""

from __future__ import annotations

import re
from typing import Final

from modak.dsl import Notice, Request
from modak.normalise.mpirun import LAUNCHERS
from modak.text.programs import (
    ALONE,
    FLAGS,
    SCRIPTS,
    is_python,
    is_script,
    options_of,
    program_name,
    programs_of,
    split_env,
    started_by,
    strip_launcher,
    torch_launcher,
)
from modak.text.words import Word, line, literal, variable, variables
from modak.tuning.setting import option_words

PROGRAMS: Final = LAUNCHERS | {"jsrun", "charmrun", "mpirun.lsf", "flux run"}
"""Launchers that are none of PyTorch's; one that is a command of a program, with it."""
_LIKE_MPIRUN: Final = re.compile(r"(.*[-_.])?mpi(run|exec)([-_.].*)?")
"""Names of launchers that are called after MPI's: ``likwid-mpirun``, ``mpirun_rsh``, ``ff-mpirun`` (FreeFEM)."""
MXNET: Final = "launch.py"
"""MXNet's launcher, a script in its ``tools``, which starts servers and workers on hosts that it is given."""
COMMAND: Final = "MODAK_COMMAND"
"""The variable that names the program of a request without any."""
PRECISION: Final = "ACCELERATE_MIXED_PRECISION"
"""The variable by which accelerate tells the ranks the precision that it was started with."""
PRECISIONS: Final = frozenset({"no", "fp16", "bf16", "fp8"})
_OF_THREADS: Final = ("MODAK_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK")
"""Variables with the number of threads."""
SEVERAL: Final = "of several programs, name a script that starts the one for its rank's number (SLURM_PROCID, PMI_RANK, …)"
"""What to do in place of ``mpirun -n 4 ./atmosphere : -n 2 ./ocean``."""
_OF_SEVERAL: Final = re.compile(r"\s(:|--multi-prog|--app|-configfile)\s")
"""What launchers start several programs by: behind the word, or in a file."""
_NAME_PYTORCH: Final = "name PyTorch (optimisation.ai_training.pytorch), and the script starts its ranks itself"


def command_of(request: Request, launcher: str, scheduler: str) -> tuple[tuple[Word, ...], tuple[Notice, ...]]:
    """The application's words. Without a program, the variable ``MODAK_COMMAND`` in its place, which stops the script if it is not set."""
    if request.application.command:
        setting, command = split_env(request.application.command)
        command, kept, notices = _started_once(command, request, launcher, scheduler)
        setting = (*(setting or ("env",)), *kept) if kept else setting
        return (*setting, *_interpreted(command, request, launcher), *option_words(request)), notices
    runs = f"the script runs the program whose path, without arguments, is in the variable {COMMAND}, and stops if it is not set"
    text = f"no executable is given; {runs}"
    named = variable(COMMAND)
    return (named, *request.application.arguments), (Notice(field="application.executable", message=text),)


def _interpreted(command: tuple[Word, ...], request: Request, launcher: str) -> tuple[Word, ...]:
    """The command, with ``python3`` before a Python script: a shell does not find ``train.py``. torchrun starts scripts itself."""
    script = is_script(command[0]) and request.application.app_type in ("python", None)
    return ("python3", *command) if script and launcher != "torchrun" else command


def _started_once(
    command: tuple[Word, ...], request: Request, launcher: str, scheduler: str
) -> tuple[tuple[Word, ...], tuple[Word, ...], tuple[Notice, ...]]:
    """The command without its own launcher if torchrun starts the ranks, the variables in which that would hand on its settings, and a
    warning; under other launchers only a warning. In a job of one process it stays, too, but a scheduler that reserves the cores of one
    rank starts no more of them."""
    program = user_launcher(command)
    if program is None:
        return command, (), ()
    if launcher == "none":
        return command, (), _of_one_process(program, request, scheduler)
    found = strip_launcher(command, program) if launcher == "torchrun" and torch_launcher(command) else None
    bare, out = found or (command, ())
    precision = options_of(out).get("--mixed-precision", "") if program == "accelerate" else ""
    kept = (f"{PRECISION}={precision}",) if precision in PRECISIONS else ()
    how = f"the script starts the ranks with {launcher}, and each rank would run {program} again"
    done = _done_instead(program, request, out, precision=bool(kept))
    return bare, kept, (Notice(field="application.executable", message=f"{how}: {done}"),)


def _done_instead(program: str, request: Request, out: tuple[Word, ...], *, precision: bool) -> str:
    """What is done, or has to be done, so that the launcher ``program`` does not run in each rank: its words are left ``out``, if there are
    some. ``precision``: that of Accelerate is kept."""
    if program == MXNET:
        return "application.mpi_ranks 1 starts it once"
    if program in FLAGS and request.optimisation.framework is None and request.application.app_type not in ("mpi", "hpc"):
        done = _NAME_PYTORCH
    elif out:
        done = f"{line(out)!a:.200} is left out"
    elif _OF_SEVERAL.search(literal(request.application.command)):
        done = SEVERAL
    else:
        done = "give the program without it"
    if not out or program != "accelerate":
        return done
    lost = f"but for the precision ({PRECISION}), and its settings (FSDP, DeepSpeed)"
    if not precision:
        lost = "and its settings (precision, FSDP, DeepSpeed)"
    return f"{done}, {lost} with it: make them in the program"


def _of_one_process(program: str, request: Request, scheduler: str) -> tuple[Notice, ...]:
    """A warning if a launcher in the command of a job of one process may not start as many ranks as it is to start."""
    framework = request.optimisation.framework
    if _is_of_mpi(program) and scheduler != "shell":
        text = f"the job has one rank, and {program} may find no room for more: give application.mpi_ranks, and the program without it"
    elif program in FLAGS and framework in (None, "pytorch"):
        how = "begin the command with it, and the script starts its ranks itself" if framework else _NAME_PYTORCH
        text = f"{program} is planned as one process: {how}"
    else:
        return ()
    return (Notice(field="application.executable", message=text),)


def user_launcher(command: tuple[Word, ...]) -> str | None:
    """The launcher that a command starts, at its beginning or behind what only runs another program; ``None``: it starts none.

    >>> user_launcher(("torchrun", "--nproc_per_node", "4", "train.py")), user_launcher(("python3", "train.py"))
    ('torchrun', None)
    >>> user_launcher(("sh", "-c", "cd case && mpirun -np 4 ./solver <in"))
    'mpirun'
    >>> user_launcher(("flux", "run", "-n", "4", "./solver")), user_launcher(("flux", "submit", "./solver"))
    ('flux run', None)
    >>> user_launcher(("conda", "run", "-n", "env", "torchrun", "train.py")), user_launcher(("numactl", "-l", "./solver"))
    ('torchrun', None)
    >>> user_launcher(("python", "tools/launch.py", "-n", "16", "python", "train.py")), user_launcher(("python", "launch.py", "--lr", "1"))
    ('launch.py', None)
    """
    for each in started_by(command):
        name = program_name(each[0])
        both = f"{name} {line(each[1:2])}"
        of_mpi = both if both in PROGRAMS else name if _is_of_mpi(name) else None
        if found := torch_launcher(each) or of_mpi or _of_mxnet(each):
            return found
    return None


def _is_of_mpi(name: str) -> bool:
    """Whether a program starts ranks, which MPI may connect, by its name. That of a script may say what it contains.

    >>> _is_of_mpi("srun"), _is_of_mpi("ff-mpirun"), _is_of_mpi("mpiexec_mpt"), _is_of_mpi("mpirunner"), _is_of_mpi("torchrun")
    (True, True, True, False, False)
    >>> _is_of_mpi("mpirun.lsf"), _is_of_mpi("run-mpirun.sh"), _is_of_mpi("mpirun.job")
    (True, False, False)
    """
    return name in PROGRAMS or (_LIKE_MPIRUN.fullmatch(name) is not None and not name.endswith((".py", *SCRIPTS)))


def _of_mxnet(command: tuple[Word, ...]) -> str | None:
    """MXNet's launcher, if a command is it: a script of that name that starts another program of Python."""
    script, *words = command[1:] if is_python(command[0]) and len(command) > 1 else command
    return MXNET if program_name(script) == MXNET and any(is_python(word) or is_script(word) for word in words) else None


def is_interpreted(command: tuple[Word, ...]) -> bool:
    """Whether a command is a program of Python, R, Julia or the like, or starts one.

    >>> is_interpreted(("python3", "-u", "train.py")), is_interpreted(("env", "A=1", "Rscript", "fit.R")), is_interpreted(("./solver",))
    (True, True, False)
    """
    return any(is_python(name) or is_script(name) or name in ALONE for name in programs_of(command))


def tells_threads(command: tuple[Word, ...]) -> bool:
    """Whether a command says how many threads or processes its program starts, or how many threads each of these has.

    >>> tells_threads(("blastn", "-num_threads", variable("MODAK_THREADS"))), tells_threads(("ccx", "-i", "beam"))
    (True, False)
    >>> tells_threads(("sh", "-c", "seq 9 | OMP_NUM_THREADS=1 xargs -P 4 ./run"))
    True
    """
    named, text = variables(command), literal(command)
    return any(name in named or name in text for name in _OF_THREADS)

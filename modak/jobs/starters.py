"""The command of a job. MODAK starts the ranks itself: a launcher at the beginning of a user's command would start too many."""

from __future__ import annotations

from typing import Final

from modak.dsl import Notice, Request
from modak.normalise.mpirun import LAUNCHERS
from modak.text.programs import FLAGS, after_variables, is_python, is_script, program_name, torch_starter, without_starter
from modak.text.words import Joined, Variable, Word, line
from modak.tuning.setting import option_words

OTHERS: Final = LAUNCHERS | {"jsrun"}
"""Launchers that are none of PyTorch's."""


def command_of(request: Request, launcher: str, scheduler: str) -> tuple[tuple[Word, ...], tuple[Notice, ...]]:
    """The application's words. Without any, the variable ``MODAK_COMMAND``, which stops the script if it is not set."""
    if request.application.command:
        command, notices = _started_once(request, launcher, scheduler)
        return (*_interpreted(command, request, launcher), *option_words(request)), notices
    runs = "the script runs the program whose path, without arguments, is in the variable MODAK_COMMAND, and stops if it is not set"
    text = f"no executable is given; {runs}"
    return (Joined(parts=(Variable(variable="MODAK_COMMAND"),)),), (Notice(field="application.executable", message=text),)


def _interpreted(command: tuple[Word, ...], request: Request, launcher: str) -> tuple[Word, ...]:
    """The command, with ``python3`` before a Python script: a shell does not find ``train.py``. torchrun starts scripts itself."""
    set_first, program = after_variables(command)
    script = is_script(program[0]) and request.application.app_type in ("python", None)
    return (*set_first, "python3", *program) if script and launcher != "torchrun" else command


def _started_once(request: Request, launcher: str, scheduler: str) -> tuple[tuple[Word, ...], tuple[Notice, ...]]:
    """The command without its own launcher if torchrun starts the ranks, with a warning; under other launchers only a warning. In a job
    of one process it stays, too, but a scheduler that reserves the cores of one rank starts no more of them."""
    command = request.application.command
    set_first, started = after_variables(command)
    program = starter(started)
    if program is not None and launcher == "none" and program in OTHERS and scheduler != "shell":
        text = f"the job has one rank, and {program} may find no room for more: give application.mpi_ranks, and the program without it"
        return command, (Notice(field="application.executable", message=text),)
    if program in FLAGS and launcher == "none" and request.optimisation.framework is None:
        text = (
            f"{program} is planned as one process: name PyTorch (optimisation.ai_training.pytorch), and the script starts its ranks itself"
        )
        return command, (Notice(field="application.executable", message=text),)
    if program is None or launcher == "none":
        return command, ()
    found = without_starter(started, program) if launcher == "torchrun" else None
    bare, out = found or (started, ())
    how = f"the script starts the ranks with {launcher}, and each rank would run {program} again"
    done = f"{line(out)!a:.200} is left out" if out else "give the program without it"
    done += ", and its settings (precision, FSDP, DeepSpeed) with it: make them in the program" if out and program == "accelerate" else ""
    return (*set_first, *bare), (Notice(field="application.executable", message=f"{how}: {done}"),)


def starter(command: tuple[Word, ...]) -> str | None:
    """The launcher with which a command begins; ``None``: it begins with a program.

    >>> starter(("torchrun", "--nproc_per_node", "4", "train.py")), starter(("python3", "train.py"))
    ('torchrun', None)
    """
    name = program_name(command[0])
    return torch_starter(command) or (name if name in OTHERS else None)


def is_interpreted(command: tuple[Word, ...]) -> bool:
    """Whether a command is a program of Python or R.

    >>> is_interpreted(("python3", "-u", "train.py")), is_interpreted(("Rscript", "fit.R")), is_interpreted(("./solver",))
    (True, True, False)
    """
    _, (program, *_) = after_variables(command)
    return is_python(program) or is_script(program) or program_name(program) in ("R", "Rscript")

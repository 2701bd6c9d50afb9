"""The command of a job. MODAK starts the ranks itself: a launcher at the beginning of a user's command would start too many."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from modak.dsl import Notice, Request
from modak.normalise.mpirun import LAUNCHERS
from modak.text.words import Joined, Variable, Word, behind_env, line, tail
from modak.tuning.setting import option_words

FLAGS: Final[Mapping[str, frozenset[str]]] = {
    "torchrun": frozenset({"--standalone", "--run-path", "--use-env", "--virtual-local-rank"}),
    "deepspeed": frozenset(
        {"--no-local-rank", "--no-ssh", "--no-ssh-check", "--save-pid", "--force-multi", "--bind-cores-to-rank", "--elastic-training"}
    ),
    "accelerate": frozenset(
        {"--multi-gpu", "--cpu", "--use-deepspeed", "--use-fsdp", "--use-megatron-lm", "--same-network", "--quiet", "-q", "--debug"}
        | {"--ipex", "--use-xpu", "--enable-cpu-affinity", "--dynamo-use-fullgraph", "--dynamo-use-dynamic"}
    ),
}
"""Launchers of Python scripts, each with its options that take no value (with hyphens: the tools read underscores alike)."""
OTHERS: Final = LAUNCHERS | {"jsrun"}
_SHELLS: Final = frozenset({"sh", "bash"})
_IN_SHELL: Final = re.compile(
    rf"(?:^|[;&|(\n])\s*(?:exec\s+|env\s+|[A-Z_a-z]\w*=\S*\s+)*({'|'.join(map(re.escape, sorted(OTHERS, reverse=True)))})\s"
)
"""A launcher of MPI programs at the beginning of a command within the text that a shell gets."""
_BEGINNING: Final = 500
"""Characters of that text which are looked at: what a search takes may grow as their square."""
COMMAND: Final = "MODAK_COMMAND"
"""The variable that names the program of a request without any."""
_NO_PYTHON: Final = "--no-python"
_MODULE: Final = frozenset({"-m", "--module"})
_ALSO: Final[Mapping[str, str]] = {
    "accelerate-launch": "accelerate",
    "accelerate.commands.launch": "accelerate",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
}
"""Other names of launchers, as programs or as modules of Python's."""
_PYTHON: Final = re.compile(r"python[0-9.]*")
_WITHOUT_PYTHON: Final = ("/.local/bin", "/usr/local/bin")
"""Folders into which pip installs a launcher for a Python that is elsewhere; both are usually on ``PATH``."""


def command_of(request: Request, launcher: str, scheduler: str) -> tuple[tuple[Word, ...], tuple[Notice, ...]]:
    """The application's words. Without any, the variable ``MODAK_COMMAND``, which stops the script if it is not set."""
    if request.application.command:
        behind = behind_env(request.application.command)
        setting, command = request.application.command[:behind], request.application.command[behind:]
        command, notices = _started_once(command, launcher, scheduler)
        by_itself = launcher == "torchrun" and not setting
        return (*setting, *(command if by_itself else _interpreted(command, request)), *option_words(request)), notices
    runs = f"the script runs the program whose path, without arguments, is in the variable {COMMAND}, and stops if it is not set"
    text = f"no executable is given; {runs}"
    return (Joined(parts=(Variable(variable=COMMAND),)),), (Notice(field="application.executable", message=text),)


def _interpreted(command: tuple[Word, ...], request: Request) -> tuple[Word, ...]:
    """The command, with ``python3`` before a Python script: a shell does not find ``train.py``. (torchrun starts scripts itself.)"""
    return ("python3", *command) if is_script(command[0]) and request.application.app_type in ("python", None) else command


def _started_once(command: tuple[Word, ...], launcher: str, scheduler: str) -> tuple[tuple[Word, ...], tuple[Notice, ...]]:
    """The command without its own launcher if torchrun starts the ranks, with a warning; under other launchers only a warning. In a job
    of one process it stays, too, but a scheduler that reserves the cores of one rank starts no more of them."""
    program = starter(command)
    if program is not None and launcher == "none" and program in OTHERS and scheduler != "shell":
        text = f"the job has one rank, and {program} may find no room for more: give application.mpi_ranks, and the program without it"
        return command, (Notice(field="application.executable", message=text),)
    if program is None or launcher == "none":
        return command, ()
    found = without_starter(command, program) if launcher == "torchrun" else None
    bare, out = found or (command, ())
    how = f"the script starts the ranks with {launcher}, and each rank would run {program} again"
    done = f"{line(out)!a:.200} is left out" if out else "give the program without it"
    done += ", and its settings (precision, FSDP, DeepSpeed) with it: make them in the program" if out and program == "accelerate" else ""
    return bare, (Notice(field="application.executable", message=f"{how}: {done}"),)


def starter(command: tuple[Word, ...]) -> str | None:
    """The launcher with which a command begins; ``None``: it begins with a program.

    >>> starter(("torchrun", "--nproc_per_node", "4", "train.py")), starter(("python3", "train.py"))
    ('torchrun', None)
    >>> starter(("sh", "-c", "cd case && mpirun -np 4 ./solver <in"))
    'mpirun'
    """
    rest, name = [word if isinstance(word, str) else "" for word in command[1:4]], program_name(command[0])
    if is_python(command[0]):
        after = rest[1:] if rest[:1] == ["-u"] else rest
        return _ALSO.get(after[1]) if after[:1] == ["-m"] and after[1:] else None
    if name in _SHELLS and rest[:1] == ["-c"]:
        found = _IN_SHELL.search(rest[1][:_BEGINNING]) if rest[1:] else None
        return found[1] if found else None
    if name == "accelerate":
        return name if rest[:1] == ["launch"] else None
    return _ALSO.get(name) or (name if name in FLAGS or name in OTHERS else None)


def without_starter(command: tuple[Word, ...], program: str) -> tuple[tuple[Word, ...], tuple[Word, ...]] | None:
    """The command that the launcher ``program`` would start, and the words left out; ``None``: there is none, or it is of :data:`OTHERS`.

    >>> without_starter(("torchrun", "--nproc_per_node", "4", "train.py", "--lr", "1"), "torchrun")
    (('python3', 'train.py', '--lr', '1'), ('torchrun', '--nproc_per_node', '4'))
    """
    if program not in FLAGS:
        return None
    python = command[0] if is_python(command[0]) else _python_beside(command[0])
    place = 2 if program_name(command[0]) == "accelerate" else 1
    if is_python(command[0]):
        place = 4 if command[1] == "-u" else 3
    begin: tuple[Word, ...] = (python,)
    while place < len(command) and _is_option(command[place]):
        name, equals, _ = _head(command[place]).partition("=")
        option = name.replace("_", "-")
        place += 1
        if option == "--":
            break
        begin = (python, "-m") if option in _MODULE else () if option == _NO_PYTHON else begin
        joined = equals or re.match("-[^-].", name)  # --tee=3, -t3
        alone = joined or option in FLAGS[program] or option in _MODULE or option == _NO_PYTHON
        place += not alone and place < len(command) and _is_value(command[place])
    return ((*begin, *command[place:]), command[:place]) if place < len(command) else None


def is_script(word: Word) -> bool:
    """Whether a word is a script of Python's.

    >>> is_script("./train.py"), is_script("python3")
    (True, False)
    """
    return tail(word).endswith(".py")


def program_name(word: Word) -> str:
    """The name of a program without its directory, as far as it is literal.

    >>> program_name("/opt/conda/bin/python3")
    'python3'
    """
    return tail(word).rsplit("/", 1)[-1]


def is_python(word: Word) -> bool:
    """Whether a word names Python, also by its path or with its version.

    >>> is_python("/opt/conda/bin/python3.11"), is_python("python_solver")
    (True, False)
    """
    return _PYTHON.fullmatch(program_name(word)) is not None


def is_interpreted(command: tuple[Word, ...]) -> bool:
    """Whether a command is a program of Python or R.

    >>> is_interpreted(("python3", "-u", "train.py")), is_interpreted(("env", "A=1", "Rscript", "fit.R")), is_interpreted(("./solver",))
    (True, True, False)
    """
    program = command[behind_env(command)]
    return is_python(program) or is_script(program) or program_name(program) in ("R", "Rscript")


def _python_beside(launcher: Word) -> Word:
    """The Python of the environment that a launcher given by its path is installed in.

    >>> _python_beside("/opt/venv/bin/torchrun"), _python_beside("torchrun")
    ('/opt/venv/bin/python3', 'python3')
    """
    folder = tail(launcher).rpartition("/")[0]
    if not folder.endswith("/bin") or folder.endswith(_WITHOUT_PYTHON):
        return "python3"
    beside = f"{folder}/python3"
    return Joined(parts=(*launcher.parts[:-1], beside)) if isinstance(launcher, Joined) else beside


def _head(word: Word) -> str:
    """The literal text that a word begins with."""
    first = word if isinstance(word, str) else word.parts[0]
    return first if isinstance(first, str) else ""


def _is_option(word: Word) -> bool:
    return _head(word).startswith("-")


def _is_value(word: Word) -> bool:
    """Whether a word is the value of the option before it, as ``argparse`` reads it. A script never is: the option may be an unknown flag.

    >>> _is_value("2"), _is_value("-1"), _is_value("-x 1"), _is_value("-x"), _is_value("train.py")
    (True, True, True, False, False)
    """
    return not is_script(word) and (not isinstance(word, str) or " " in word or not re.match("-[^0-9]", word))

"""What a command begins with: a launcher of PyTorch's, Python, a script of it, a shell with commands of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from modak.text.grammar import IMAGE_ENDINGS
from modak.text.words import Joined, Word, lead, literal, tail

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
TEXT_FOLLOWS: Final = re.compile("-[a-z]*c")
"""The option of a shell before the text that it runs: ``-c``, ``-lc``."""
_SHELLS: Final = frozenset({"sh", "bash"})
_NAME_FOLLOWS: Final = re.compile("[-+][A-Za-z]*[oO]|--rcfile|--init-file")
"""Options of a shell before a name, which is no script: ``-o pipefail``, ``-eo pipefail``."""
OPENERS: Final = frozenset({"conda", "mamba", "micromamba", "uv", "poetry", "pipenv", "pdm", "hatch", "pixi"})
"""Programs that run another one in an environment: ``conda run python train.py``."""
ALONE: Final = frozenset({"julia", "R", "Rscript", "octave", "octave-cli", "matlab", "java", "spark-submit"})
"""Programs that run one of a user's, other than of Python, as one process, unless MPI connects several."""
BINDERS: Final = frozenset({"numactl", "taskset", "hwloc-bind", "likwid-pin"})
"""Programs that run another one on cores that they are told."""
_AROUND: Final = BINDERS | {"env", "time", "timeout", "nohup", "nice", "ionice", "stdbuf", "setsid", "likwid-perfctr", "perf", "strace"}
"""Programs that do no more than run another one."""
_CONTAINERS: Final = frozenset({"apptainer", "singularity", "ch-run"})
"""Programs that run another one in an image, whose path comes before it."""
_BEFORE_NAME: Final = frozenset({"-n", "--name", "-p", "--prefix", "-e", "--environment"})
"""Options with the name, or the place, of an environment: it may be called like a launcher."""
JOB_SCRIPTS: Final = (".sbatch", ".slurm", ".pbs", ".lsf", ".bsub", ".sge", ".qsub", ".job")
"""Endings of shells' scripts that were written to be submitted."""
SCRIPTS: Final = (".sh", ".bash", *JOB_SCRIPTS)
"""Endings of shells' scripts."""
_BEGINNING: Final = 500
"""Characters of that text which are looked at."""
_FARTHEST: Final = 100
"""Words of a command among which the program is looked for that it runs: each of them is a command of as many words as follow it."""
_BETWEEN: Final = re.compile(r"[;&|(){}\n]+")
_BEFORE_PROGRAM: Final = frozenset({"exec", "env", "time", "then", "else", "do"})


def split_env(command: tuple[Word, ...]) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """The ``env`` that a command begins with, with the variables that it sets, and the program's words. An ``env`` with options is the
    program.

    >>> split_env(("env", "A=1", "./solver", "x=2")), split_env(("env", "-i", "./solver"))
    ((('env', 'A=1'), ('./solver', 'x=2')), ((), ('env', '-i', './solver')))
    >>> split_env(("./solver",)), split_env(())
    (((), ('./solver',)), ((), ()))
    """
    if not command or program_name(command[0]) != "env":
        return (), command
    at = next((at for at, word in enumerate(command[1:], 1) if "=" not in lead(word)), 0)
    return ((), command) if lead(command[at]).startswith("-") else (command[:at], command[at:])


def torch_launcher(command: tuple[Word, ...]) -> str | None:
    """The launcher of PyTorch's with which a command begins, by its name in :data:`FLAGS`; ``None``: it begins with something else.

    >>> torch_launcher(("torchrun", "--nproc_per_node", "4", "train.py")), torch_launcher(("python3", "train.py"))
    ('torchrun', None)
    """
    rest, name = [word if isinstance(word, str) else "" for word in command[1:4]], program_name(command[0])
    if is_python(command[0]):
        after = rest[1:] if rest[:1] == ["-u"] else rest
        return _ALSO.get(after[1]) if after[:1] == ["-m"] and after[1:] else None
    if name == "accelerate":
        return name if rest[:1] == ["launch"] else None
    return _ALSO.get(name) or (name if name in FLAGS else None)


def _commands_of_shell(command: tuple[Word, ...]) -> tuple[tuple[str, ...], ...]:
    """The commands in the text of ``sh -c``, split at blanks, each from its program on; ``$`` stands for a variable of the script's.

    >>> _commands_of_shell(("bash", "-lc", "cd case && A=1 mpirun -np 4 ./solver <in")), _commands_of_shell(("sh", "solver.sh"))
    ((('cd', 'case'), ('mpirun', '-np', '4', './solver', '<in')), ())
    """
    if program_name(command[0]) not in _SHELLS:
        return ()
    at, runs_text = given_to_shell(command)
    if not runs_text or at >= len(command):
        return ()
    word = command[at]
    text = word if isinstance(word, str) else "".join(part if isinstance(part, str) else "$" for part in word.parts)
    found = (_from_program(one.split()) for one in _BETWEEN.split(text[:_BEGINNING]))
    return tuple(one for one in found if one)


def given_to_shell(command: tuple[Word, ...]) -> tuple[int, bool]:
    """The place of the first word behind a shell's options, and whether it is a text that the shell runs.

    >>> given_to_shell(("bash", "-e", "-o", "pipefail", "-c", "./a | ./b")), given_to_shell(("bash", "+O", "extglob", "run", "-c"))
    ((5, True), (3, False))
    """
    at, runs_text = 1, False
    while at < len(command) and lead(command[at]).startswith(("-", "+")):
        runs_text = runs_text or TEXT_FOLLOWS.fullmatch(lead(command[at])) is not None
        at += 2 if _NAME_FOLLOWS.fullmatch(lead(command[at])) else 1
    return at, runs_text


def started_by(command: tuple[Word, ...]) -> tuple[tuple[Word, ...], ...]:
    """The commands that a command starts, as far as they can be told from arguments: itself; those in the text of ``sh -c``; and, behind a
    program that only runs another one, from each word on that may be that other, up to a path (of the program: behind one that starts a
    container the image comes first), a script, Python or ``sh -c``, which is the last.

    >>> [one[0] for one in started_by(("numactl", "-N", "0", "mpirun", "-np", "8", "./solver", "in"))]
    ['numactl', '0', 'mpirun', '8', './solver']
    >>> [one[0] for one in started_by(("conda", "run", "-n", "deepspeed", "python", "train.py"))]
    ['conda', 'run', 'python']
    >>> [one[0] for one in started_by(("apptainer", "exec", "./own.sif", "mpirun", "-np", "8", "./solver"))][2:4]
    ['./own.sif', 'mpirun']
    >>> [one[0] for one in started_by(("apptainer", "exec", "-B", "/data", "own.sif", "./solver", "--launcher", "mpirun"))][2:]
    ['/data', 'own.sif', './solver']
    """
    of_shell = tuple(each for one in _commands_of_shell(command) for each in started_by(one))
    name = program_name(command[0])
    runs_another = name in _AROUND or name in _CONTAINERS or (name in OPENERS and command[1:2] == ("run",))
    return (command, *of_shell, *(_behind(command, name) if runs_another else ()))


def _behind(command: tuple[Word, ...], name: str) -> Iterator[tuple[Word, ...]]:
    """What may be started by a command whose program, of that name, only runs another one."""
    path_is_program, opened = name not in _CONTAINERS, name in OPENERS
    for at, word in enumerate(command[1:_FARTHEST], 1):
        if lead(word).startswith("-") or (opened and command[at - 1] in _BEFORE_NAME):
            continue
        opened = opened or program_name(word) in OPENERS
        of_shell = _commands_of_shell(command[at:])
        yield from (*of_shell, command[at:])
        text = literal((word,))
        if of_shell or ("/" in text and path_is_program) or is_python(word) or is_script(word):
            return
        of_option = lead(command[at - 1]).startswith("-")  # as -B /data: the image is still to come
        path_is_program = path_is_program or text.endswith(IMAGE_ENDINGS) or ("/" in text and not of_option)


def script_of(command: tuple[Word, ...]) -> Word | None:
    """The script of a shell that a command starts: by its ending, or because a shell is given it; ``None``: it starts none, or one whose
    path starts in another directory.

    >>> script_of(("time", "bash", "-o", "pipefail", "run")), script_of(("sh", "-c", "A=1 ./run.sh <in")), script_of(("./run", "in.sh"))
    ('run', './run.sh', None)
    >>> script_of(("sh", "-c", "cd case && ./run.sh"))
    >>> script_of(("/data/run.slurm",))
    '/data/run.slurm'
    """
    for each in started_by(split_env(command)[1]):
        if each[0] == "cd":
            return None
        if program_name(each[0]) in _SHELLS and not (given := given_to_shell(each))[1]:
            return next(iter(each[given[0] :]), None)
        if tail(each[0]).endswith(SCRIPTS):
            return each[0]
    return None


def programs_of(command: tuple[Word, ...]) -> tuple[str, ...]:
    """The names of :func:`started_by`, behind the ``env`` that the command begins with; empty for no command.

    >>> programs_of(("env", "A=1", "time", "-p", "apptainer", "exec", "own.sif", "./solver"))
    ('time', 'apptainer', 'exec', 'own.sif', 'solver')
    >>> programs_of(("time", "conda", "run", "-n", "deepspeed", "python", "train.py"))
    ('time', 'conda', 'run', 'python')
    """
    _, command = split_env(command)
    return tuple(program_name(each[0]) for each in started_by(command)) if command else ()


def _from_program(words: list[str]) -> tuple[str, ...]:
    """The words of a command in a shell's text without variables that are set, and words of the shell's, before the program."""
    at = next((at for at, word in enumerate(words) if word not in _BEFORE_PROGRAM and "=" not in word), len(words))
    return tuple(words[at:])


def strip_launcher(command: tuple[Word, ...], program: str) -> tuple[tuple[Word, ...], tuple[Word, ...]] | None:
    """The command that the launcher ``program`` would start, and the words left out; ``None``: it starts none, or is none of PyTorch's.

    >>> strip_launcher(("torchrun", "--nproc_per_node", "4", "train.py", "--lr", "1"), "torchrun")
    (('python3', 'train.py', '--lr', '1'), ('torchrun', '--nproc_per_node', '4'))
    """
    if program not in FLAGS:
        return None
    if is_python(command[0]):
        python, place = command[0], 4 if command[1] == "-u" else 3
    else:
        python, place = _python_beside(command[0]), 2 if program_name(command[0]) == "accelerate" else 1
    begin: tuple[Word, ...] = (python,)
    while place < len(command) and lead(command[place]).startswith("-"):
        name, equals, _ = lead(command[place]).partition("=")
        option = name.replace("_", "-")
        place += 1
        if option == "--":
            break
        if option in _MODULE or option == _NO_PYTHON:
            begin = (python, "-m") if option in _MODULE else ()
        elif not (equals or re.match("-[^-].", name) or option in FLAGS[program]):  # no --tee=3, no -t3
            place += place < len(command) and _is_value(command[place])
    return ((*begin, *command[place:]), command[:place]) if place < len(command) else None


def options_of(launcher: tuple[Word, ...]) -> Mapping[str, str]:
    """Options of a launcher's words, with hyphens, each with its value; an empty text if that is no literal text.

    >>> options_of(("accelerate", "launch", "--mixed_precision", "bf16", "--num_processes=2", "--cpu"))
    {'--mixed-precision': 'bf16', '--num-processes': '2', '--cpu': ''}
    """
    said = {}
    for place, each in enumerate(launcher):
        name, equals, value = lead(each).partition("=")
        following = launcher[place + 1] if place + 1 < len(launcher) else ""
        if name.startswith("--"):
            said[name.replace("_", "-")] = value if equals else following if isinstance(following, str) else ""
    return said


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
    return (word if isinstance(word, str) else tail(word)).rpartition("/")[2]


def is_python(word: Word) -> bool:
    """Whether a word names Python, also by its path or with its version.

    >>> is_python("/opt/conda/bin/python3.11"), is_python("python_solver")
    (True, False)
    """
    return _PYTHON.fullmatch(program_name(word)) is not None


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


def _is_value(word: Word) -> bool:
    """Whether a word is the value of the option before it, as ``argparse`` reads it. A script never is: the option may be an unknown flag.

    >>> _is_value("2"), _is_value("-1"), _is_value("-x 1"), _is_value("-x"), _is_value("train.py")
    (True, True, True, False, False)
    """
    return not is_script(word) and (not isinstance(word, str) or " " in word or not re.match("-[^0-9]", word))

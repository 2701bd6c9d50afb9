"""A launcher of MPI programs at the beginning of a command: its counts are the job's, because the script starts the ranks itself.

``mpirun -np 8 ./solver`` asks for eight ranks of ``./solver``, and ``-x NAME=VALUE`` sets a variable of it. If an option means something
else (``--mca``, ``-x NAME``), or is not known here, the command stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, NamedTuple

from modak.dsl import Application, Request
from modak.errors import Fault
from modak.text.programs import program_name, split_env, started_by, torch_launcher
from modak.text.words import Joined, Word, lead, line

_PER_NODE: Final = dict.fromkeys(("-ppn", "--ppn", "-perhost", "-npernode", "--npernode"), "process_count_per_node")
_MPIRUN: Final[Mapping[str, str]] = dict.fromkeys(("-n", "--n", "-np", "--np"), "mpi_ranks") | _PER_NODE
_OPEN_MPI: Final[Mapping[str, str]] = {**_MPIRUN, "-N": "process_count_per_node"}
_COUNTS: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(("mpirun", "mpiexec", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich", "horovodrun", "ibrun"), _MPIRUN),
    **dict.fromkeys(("cafrun", "cafrun.openmpi", "cafrun.mpich"), _MPIRUN),  # mpiexec, for coarrays of Fortran
    **dict.fromkeys(("orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi", "oshrun", "shmemrun"), _OPEN_MPI),
    "aprun": {"-n": "mpi_ranks", "-N": "process_count_per_node", "-d": "core_count_per_process"},
    "srun": {
        **dict.fromkeys(("-n", "--ntasks"), "mpi_ranks"),
        **dict.fromkeys(("-N", "--nodes"), "node_count"),
        "--ntasks-per-node": "process_count_per_node",
        **dict.fromkeys(("-c", "--cpus-per-task"), "core_count_per_process"),
    },
}
"""Launchers, each with its options that are counts, and the fields of a request that these are."""
LAUNCHERS: Final = frozenset(_COUNTS)
_PLACES: Final = frozenset(
    {"-map-by", "--map-by", "-bind-to", "--bind-to", "-rank-by", "--rank-by", "--cpu-bind", "--distribution", "-m", "-cc", "-bootstrap"}
    | {"-H", "-host", "--host", "-hosts", "-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile"}
)
"""Options with a value that says where ranks run, which the script decides."""
_FLAGS: Final = frozenset(
    {"-genvall", "--oversubscribe", "--allow-run-as-root", "--report-bindings", "--tag-output", "-l", "--label", "-v", "--verbose"}
    | {"-u", "--unbuffered", "--exact", "--exclusive", "-K", "-psm2", "-PSM2"}
)
"""Options without a value that change neither the ranks nor what they run. Over which network they connect, the site's rules say."""
_SETTERS: Final = ("-genv", "-env")
"""Options with a variable and its value; Open MPI's is ``-x NAME=VALUE``."""
_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
"""Of a variable."""
COUNT: Final = re.compile("[1-9][0-9]{0,6}")
"""No longer than the largest count of a request."""
_THREADS_SET: Final = re.compile(f"OMP_NUM_THREADS={COUNT.pattern}")
_ON_EACH_NODE: Final = re.compile(rf"ppr:({COUNT.pattern}):node(?::[a-zA-Z=0-9,]*)?")


@dataclass(frozen=True)
class Launched:
    """A command without its launcher."""

    command: tuple[Word, ...]
    launcher: str
    """The words left out, as text."""
    counts: Mapping[str, int]
    """Fields of a request and what the launcher says of them."""
    has_counts: bool
    """Whether it says how many ranks there are, if only by a variable of the scheduler's."""


def without_launcher(request: Request) -> tuple[Request, tuple[Fault, ...]]:
    """The counts of a launcher of MPI programs before the command, which is left out; if the request gives a count, too, that is used.
    Without any count the launcher of one process may mean all of its cores, and stays."""
    options, application, wanted = request.job_options, request.application, request.optimisation
    found = launched(application.command)
    if found is None:
        return request, ()
    of_mpi, distribution = application.app_type in ("mpi", "hpc"), wanted.options.value_of("distribution")
    counts = (application.mpi_ranks, options.process_count_per_node, options.node_count, wanted.config.distributed_training)
    several = of_mpi or bool(distribution) or any(count is not None and count > 1 for count in counts)
    by_torchrun = wanted.framework == "pytorch" and distribution != "horovod" and not of_mpi
    if not (found.has_counts or several):
        return request, ()
    request, read, differing = with_counts(request, found.counts, found.launcher)
    request = request.changed(application={"executable": found.command, "arguments": ()})
    left = f"{found.launcher!a:.200} is left out, because the script starts the ranks itself{read and f'; read as {read}'}"
    left += "; torchrun tells each its number (RANK, LOCAL_RANK, WORLD_SIZE)" if by_torchrun else ""
    return request, (Fault("application.executable", left), *differing)


def with_counts(request: Request, counts: Mapping[str, int], launcher: str) -> tuple[Request, str, tuple[Fault, ...]]:
    """The request with the counts of a launcher that it does not give itself, these in words, and a note for each one that differs."""
    options, application = request.job_options, request.application
    new: dict[str, dict[str, Any]] = {"application": {}, "job_options": {}}
    notes = []
    follows = _following(application.mpi_ranks, options.node_count, options.process_count_per_node)
    for name, count in counts.items():
        place, holder = ("application", application) if name in Application.model_fields else ("job_options", options)
        given = getattr(holder, name) or follows.get(name)
        if given not in (None, count):
            notes.append(Fault(f"{place}.{name}", f"{given} is used; {launcher!a:.200} says {count}"))
        elif given is None:
            new[place][name] = count
    read = ", ".join(f"{name} {count}" for values in new.values() for name, count in values.items())
    return request.changed(**new), read, tuple(notes)


def _following(ranks: int | None, nodes: int | None, each: int | None) -> Mapping[str, int]:
    """The count that follows from the two others of a request: all ranks, or the nodes for them."""
    if ranks is None:
        return {"mpi_ranks": nodes * each} if nodes and each else {}
    return {"node_count": ceil(ranks / each)} if each and nodes is None else {}


def launched(command: tuple[Word, ...]) -> Launched | None:
    """The command that a launcher starts; ``None``: there is no launcher, or more than its counts and places would be lost.

    >>> found = launched(("mpirun", "-np", "8", "./solver", "in"))
    >>> found and (found.command, found.launcher, found.counts)
    (('./solver', 'in'), 'mpirun -np 8', {'mpi_ranks': 8})

    What ``env`` sets before it, or an option of its own, it sets for the program; the number of threads is a count:

    >>> found = launched(("env", "A=1", "OMP_NUM_THREADS=2", "mpirun", "-np", "8", "-genv", "B", "2", "./solver"))
    >>> found and (found.command, found.launcher, found.counts)
    (('env', 'A=1', 'B=2', './solver'), 'OMP_NUM_THREADS=2 mpirun -np 8 -genv B 2', {'threads': 2, 'mpi_ranks': 8})
    """
    setting, command = split_env(command)
    known = _COUNTS.get(program_name(command[0])) if command else None
    if known is None or ":" in command:  # several programs
        return None
    stated = _stated(command, known)
    if stated is None:
        return None
    rest = command[stated.program :]
    if not rest or rest[0] == "" or "=" in lead(rest[0]):  # no program, but an assignment
        return None
    threads = [word for word in (*setting, *stated.sets) if isinstance(word, str) and _THREADS_SET.fullmatch(word)]
    kept = tuple(word for word in (*setting[1:], *stated.sets) if word not in threads)
    before = [word for word in setting if word in threads]
    left_out = line((*before[-1:], *command[: stated.program])).replace(":?}", "}")
    counts = _counts_of_job(stated.counts, threads, rest)
    return Launched(("env", *kept, *rest) if kept else rest, left_out, counts, stated.has_counts)


def _counts_of_job(counts: Mapping[str, int], threads: Sequence[str], program: tuple[Word, ...]) -> Mapping[str, int]:
    """What a launcher's counts and the last number of ``threads`` that is set say of the job."""
    if any(map(torch_launcher, started_by(split_env(program)[1]))):  # each node has one: these are not the ranks
        return {name: count for name, count in counts.items() if name == "node_count"}
    return {**({"threads": int(threads[-1].partition("=")[2])} if threads else {}), **counts}


class _Stated(NamedTuple):
    """What a launcher's options say."""

    counts: Mapping[str, int]
    """By field of a request."""
    sets: Sequence[Word]
    """The variables that they set."""
    has_counts: bool
    program: int
    """The place of the word behind them."""


def _stated(command: tuple[Word, ...], known: Mapping[str, str]) -> _Stated | None:
    """``None``: the options say more than counts, variables and places."""
    counts: dict[str, int] = {}
    sets: list[Word] = []
    has_counts = False
    place = 1
    while place < len(command) and lead(command[place]).startswith("-"):
        name, value, place = _option(command, place, known)
        if name in known:
            has_counts = True
            if isinstance(value, Joined):
                continue
            if not COUNT.fullmatch(value or ""):
                return None
            counts[known[name]] = int(value or 0)
        elif name == "-x" and value is not None and re.match(f"{_NAME.pattern}=", lead(value)):
            sets.append(value)
        elif name in _PLACES and value is not None:
            if isinstance(value, str) and (each := _ON_EACH_NODE.fullmatch(value)):
                counts["process_count_per_node"] = int(each[1])
        elif name not in _FLAGS:
            return None
    return _Stated(counts, sets, has_counts, place)


def _option(command: tuple[Word, ...], place: int, known: Mapping[str, str]) -> tuple[str, Word | None, int]:
    """An option's name, its value if it has one, and where the next word is. One that sets a variable is called ``-x``."""
    option = command[place]
    following = command[place + 1] if place + 1 < len(command) else None
    if isinstance(option, Joined):  # the value is a variable: --ntasks=${SLURM_NTASKS}, -n${SLURM_NTASKS}
        name = lead(option)
        has_value = name.endswith("=") if name.startswith("--") else name in ("-n", "-N", "-c")
        return name.removesuffix("="), option if has_value else None, place + 1
    name, equals, joined = option.partition("=")
    if option.startswith("--") and equals:
        return name, joined, place + 1
    if (short := re.fullmatch("(-[nNc])([0-9]+)", option)) and short[1] in known:
        return short[1], short[2], place + 1
    if option in _SETTERS and isinstance(following, str) and _NAME.fullmatch(following) and place + 2 < len(command):
        value = command[place + 2]
        return "-x", f"{following}={value}" if isinstance(value, str) else Joined(parts=(f"{following}=", *value.parts)), place + 3
    if option in ("-pernode", "--pernode"):
        return "-npernode", "1", place + 1
    if option in _FLAGS or following is None:
        return option, None, place + 1
    return option, following, place + 2

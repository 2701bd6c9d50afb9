"""A launcher of MPI programs at the beginning of a command: its counts are the job's, because the script starts the ranks itself.

``mpirun -np 8 ./solver`` asks for eight ranks of ``./solver``. If an option means something else (``--mca``, ``-x NAME``), or is not known
here, the command stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from modak.text.words import Joined, Word, lead, line, tail

_PER_NODE: Final = dict.fromkeys(("-ppn", "--ppn", "-perhost", "-npernode", "--npernode"), "process_count_per_node")
_MPIRUN: Final[Mapping[str, str]] = dict.fromkeys(("-n", "--n", "-np", "--np"), "mpi_ranks") | _PER_NODE
_OPEN_MPI: Final[Mapping[str, str]] = {**_MPIRUN, "-N": "process_count_per_node"}
_COUNTS: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(("mpirun", "mpiexec", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich", "horovodrun", "ibrun"), _MPIRUN),
    **dict.fromkeys(("orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"), _OPEN_MPI),
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
    | {"-u", "--unbuffered", "--exact", "--exclusive", "-K"}
)
"""Options without a value that change neither the ranks nor what they run."""
_THREADS: Final = "OMP_NUM_THREADS"
_COUNT: Final = re.compile("[1-9][0-9]{0,6}")
"""No longer than the largest count of a request."""
_ON_EACH_NODE: Final = re.compile(rf"ppr:({_COUNT.pattern}):node(?::[a-zA-Z=0-9,]*)?")


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


def launched(command: tuple[Word, ...]) -> Launched | None:
    """The command that a launcher starts; ``None``: there is no launcher, or more than its counts and places would be lost.

    >>> found = launched(("mpirun", "-np", "8", "./solver", "in"))
    >>> found and (found.command, found.launcher, found.counts)
    (('./solver', 'in'), 'mpirun -np 8', {'mpi_ranks': 8})
    """
    known = _COUNTS.get(tail(command[0]).rsplit("/", 1)[-1]) if command else None
    if known is None or ":" in command:  # several programs
        return None
    counts: dict[str, int] = {}
    stated = False
    place = 1
    while place < len(command) and lead(command[place]).startswith("-"):
        name, value, after = _option(command, place, known)
        if name in known or name == _THREADS:
            if not isinstance(value, Joined):
                if not _COUNT.fullmatch(value or ""):
                    return None
                counts[known.get(name, "threads")] = int(value or 0)
            stated |= name in known
        elif name in _PLACES and value is not None:
            if isinstance(value, str) and (each := _ON_EACH_NODE.fullmatch(value)):
                counts["process_count_per_node"] = int(each[1])
        elif name not in _FLAGS:
            return None
        place = after
    rest = command[place:]
    if not rest or rest[0] == "" or "=" in lead(rest[0]):  # no program, but an assignment
        return None
    if _starts_more(rest):  # these are not the ranks
        counts = {name: count for name, count in counts.items() if name == "node_count"}
    return Launched(rest, line(command[:place]).replace(":?}", "}"), counts, stated)


def _starts_more(command: tuple[Word, ...]) -> bool:
    """Whether a command is one of PyTorch's launchers, of which each node has one: ``srun torchrun …``."""
    modules = {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"}
    return tail(command[0]).rsplit("/", 1)[-1] in ("torchrun", "deepspeed", "accelerate") or not modules.isdisjoint(command[1:4])


def _option(command: tuple[Word, ...], place: int, known: Mapping[str, str]) -> tuple[str, Word | None, int]:
    """An option's name, its value if it has one, and where the next word is. One that sets the number of threads is called
    ``OMP_NUM_THREADS``."""
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
    if option == "-genv" and following == _THREADS and place + 2 < len(command):
        return _THREADS, command[place + 2], place + 3
    if option == "-x" and isinstance(following, str) and following.startswith(f"{_THREADS}="):
        return _THREADS, following.partition("=")[2], place + 2
    if option in _FLAGS or following is None:
        return option, None, place + 1
    return option, following, place + 2

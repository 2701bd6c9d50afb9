"""Launchers that users write into their command: MODAK starts the ranks itself, and one inside the other would start too many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.words import Word

FLAGS: Final[Mapping[str, frozenset[str]]] = {
    "torchrun": frozenset({"--standalone", "--run-path", "--use-env"}),
    "deepspeed": frozenset({"--no-local-rank", "--no-ssh", "--no-ssh-check", "--save-pid", "--force-multi", "--bind-cores-to-rank"}),
    "accelerate": frozenset(
        {"--multi-gpu", "--cpu", "--use-deepspeed", "--use-fsdp", "--use-megatron-lm", "--same-network", "--quiet", "-q", "--debug"}
    ),
}
"""Launchers of Python scripts, each with its options that take no value (with hyphens: the tools read underscores alike)."""
OTHERS: Final = frozenset({"horovodrun", "mpirun", "mpiexec", "srun", "jsrun"})
_MODULE: Final = frozenset({"-m", "--module"})
_MODULES: Final = frozenset({"torch.distributed.run", "torch.distributed.launch"})


def starter(command: tuple[Word, ...]) -> str | None:
    """The launcher that a command begins with; ``None``: none.

    >>> starter(("torchrun", "--nproc_per_node", "4", "train.py")), starter(("python3", "train.py"))
    ('torchrun', None)
    """
    first, *rest = (word if isinstance(word, str) else "" for word in command[:3])
    name = first.rsplit("/", 1)[-1]
    if name.startswith("python") and rest[:1] == ["-m"] and rest[1:] and rest[1] in _MODULES:
        return "torchrun"
    if name == "accelerate":
        return name if rest[:1] == ["launch"] else None
    return name if name in FLAGS or name in OTHERS else None


def without_starter(command: tuple[Word, ...], program: str) -> tuple[tuple[Word, ...], tuple[Word, ...]] | None:
    """The command that ``program`` would start, as one for Python, and what is left out; ``None``: it names none, or is of :data:`OTHERS`.

    >>> without_starter(("torchrun", "--nproc_per_node", "4", "train.py", "--lr", "1"), "torchrun")
    (('python3', 'train.py', '--lr', '1'), ('torchrun', '--nproc_per_node', '4'))
    """
    if program not in FLAGS:
        return None
    first = command[0]
    place = 3 if isinstance(first, str) and "python" in first else 2 if program == "accelerate" else 1
    begin: tuple[Word, ...] = ("python3",)
    while place < len(command):
        word = command[place]
        if not isinstance(word, str) or not word.startswith("-"):
            return (*begin, *command[place:]), command[:place]
        name, given, _ = word.partition("=")
        option = name.replace("_", "-")
        begin = ("python3", "-m") if option in _MODULE else () if option == "--no-python" else begin
        place += 1 if given or option in FLAGS[program] or option in _MODULE or option == "--no-python" else 2
    return None

"""Launchers at the beginning of a user's command. MODAK starts the ranks itself: one launcher inside another would start too many."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from modak.text.words import Word, tail

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
OTHERS: Final = frozenset({"horovodrun", "mpirun", "mpiexec", "srun", "jsrun"})
_NO_PYTHON: Final = "--no-python"
_MODULE: Final = frozenset({"-m", "--module"})
_MODULES: Final = frozenset({"torch.distributed.run", "torch.distributed.launch"})


def starter(command: tuple[Word, ...]) -> str | None:
    """The launcher with which a command begins; ``None``: it begins with a program.

    >>> starter(("torchrun", "--nproc_per_node", "4", "train.py")), starter(("python3", "train.py"))
    ('torchrun', None)
    """
    first, *rest = (word if isinstance(word, str) else "" for word in command[:3])
    name = first.rsplit("/", 1)[-1]
    if _is_python(first) and rest[:1] == ["-m"] and rest[1:] and rest[1] in _MODULES:
        return "torchrun"
    if name == "accelerate":
        return name if rest[:1] == ["launch"] else None
    return name if name in FLAGS or name in OTHERS else None


def without_starter(command: tuple[Word, ...], program: str) -> tuple[tuple[Word, ...], tuple[Word, ...]] | None:
    """The command that the launcher ``program`` would start, and the words left out; ``None``: there is none, or it is of :data:`OTHERS`.

    >>> without_starter(("torchrun", "--nproc_per_node", "4", "train.py", "--lr", "1"), "torchrun")
    (('python3', 'train.py', '--lr', '1'), ('torchrun', '--nproc_per_node', '4'))
    """
    if program not in FLAGS:
        return None
    place = 3 if _is_python(command[0]) else 2 if program == "accelerate" else 1
    begin: tuple[Word, ...] = ("python3",)
    while place < len(command) and _is_option(command[place]):
        name, given, _ = str(command[place]).partition("=")
        option = name.replace("_", "-")
        place += 1
        if option == "--":
            break
        begin = ("python3", "-m") if option in _MODULE else () if option == _NO_PYTHON else begin
        alone = given or option in FLAGS[program] or option in _MODULE or option == _NO_PYTHON
        place += not alone and place < len(command) and _is_value(command[place])
    return ((*begin, *command[place:]), command[:place]) if place < len(command) else None


def is_script(word: Word) -> bool:
    """Whether a word is a script of Python's.

    >>> is_script("./train.py"), is_script("python3")
    (True, False)
    """
    return tail(word).endswith(".py")


def _is_python(word: Word) -> bool:
    return isinstance(word, str) and word.rsplit("/", 1)[-1].startswith("python")


def _is_option(word: Word) -> bool:
    return isinstance(word, str) and word.startswith("-")


def _is_value(word: Word) -> bool:
    """Whether a word is the value of the option before it, as ``argparse`` reads it. A script never is: the option may be an unknown flag.

    >>> _is_value("2"), _is_value("-1"), _is_value("-x 1"), _is_value("-x"), _is_value("train.py")
    (True, True, True, False, False)
    """
    return not is_script(word) and (not isinstance(word, str) or " " in word or not re.match("-[^0-9]", word))

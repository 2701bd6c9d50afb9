"""What a request must leave alone: the file system, other processes, the network, and the commands of the script."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import tree_sitter
import tree_sitter_bash

ROOT = Path(__file__).parents[2]
CANARY = "pwned"
"""Stands in every payload; a file, a command or a text that is executed with it in its name would be the proof."""
STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"}
REACHES = {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request", "sqlite3.connect"}
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate", "shutil.move"}
RUNS = {"exec", "compile", "eval"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_OURS = (
    str(ROOT / "benchmarks_db"),
    str(ROOT / "modak"),
    sys.prefix,
    sys.base_prefix,
    "/proc/",
    "/sys/",
    "/usr/share/zoneinfo",
    "/usr/lib",
)


@dataclass
class Witness:
    """Writes down what the whole process does while it is armed (an audit hook can be added, but not taken away)."""

    armed: bool = False
    seen: list[str] = field(default_factory=list)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The hook."""
        if self.armed and self.tells(event, arguments):
            self.seen.append(f"{event} {arguments!r:.200}")

    def tells(self, event: str, arguments: tuple[Any, ...]) -> bool:
        """Whether an event is one that no request may cause."""
        if _opens_database(event, arguments):
            return False
        if event == "open":
            path, mode, flags = arguments
            place = os.fsdecode(path) if isinstance(path, str | bytes) else ""
            writes = bool(set(mode or "") & set("wax+")) or bool((flags or 0) & WRITES)
            return not place.endswith(".pyc") and (writes or not place.startswith(_OURS))
        if event in RUNS:
            return CANARY in str(arguments[0])[:100_000]
        return event in STARTS | REACHES | CHANGES

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Fails if anything happens inside that no request may cause."""
        self.seen.clear()
        self.armed = True
        try:
            yield
        finally:
            self.armed = False
        assert self.seen == [], self.seen


def _opens_database(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether the service connects to its own database, or the first request opens it: folder and file are there, and nothing is made."""
    path = str(arguments[0]) if arguments else ""
    match event:
        case "sqlite3.connect":
            return path.endswith("modak.db")
        case "open":
            return path.endswith("modak.db") and bool((arguments[2] or 0) & os.O_EXCL) and Path(path).exists()
        case "os.mkdir":
            return (Path(path) / "modak.db").exists()
    return False


@cache
def witness() -> Witness:
    """The one of this process."""
    one = Witness()
    sys.addaudithook(one)
    return one


def commands(script: str) -> set[str]:
    """The names of the commands in a script, the functions it defines, and the targets of its redirections, as another parser sees them."""
    tree = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())).parse(script.encode())
    assert not tree.root_node.has_error
    found, waiting = set(), [tree.root_node]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.type in ("command_name", "function_definition", "file_redirect", "heredoc_redirect", "command_substitution"):
            text = (node.text or b"").decode()
            found.add(f"{node.type} {text if node.type != 'function_definition' else text.split('(')[0]}")
    return found


def options(script: str) -> list[str]:
    """The names of the scheduler's options at the head of a script, in order."""
    return [line.split("=")[0].strip() for line in script.splitlines() if line.startswith(("#SBATCH", "#PBS", "#BSUB", "#$"))]

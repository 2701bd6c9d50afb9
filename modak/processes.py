"""Commands in sessions of their own, so that all of their processes can be ended; and one whose output is followed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple

LOOK_S: Final = 0.25
PATIENCE_S: Final = 5.0
"""Seconds that a group has to end after a signal."""


@dataclass(frozen=True)
class Process:
    """A process (or the leader of a group), told from a later one with the same number by its start."""

    pid: int
    started: int
    """In clock ticks since the machine came up, from ``/proc``."""

    @property
    def alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        return _started(self.pid) == self.started


class _Stat(NamedTuple):
    """What ``/proc/PID/stat`` says of a living process (proc(5)): its parent, its group, its start in clock ticks."""

    parent: int
    group: int
    started: int


def this() -> Process:
    """This process."""
    return Process(os.getpid(), _started(os.getpid()) or 0)


def _started(pid: int) -> int | None:
    stat = _stat(pid)
    return stat.started if stat else None


def _stat(pid: int) -> _Stat | None:
    """``None``: no process with that number lives."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()  # a process's name may be no text
    except OSError:
        return None
    return None if state == b"Z" else _Stat(parent=int(fields[0]), group=int(fields[1]), started=int(fields[18]))


def leader(
    words: Sequence[str | Path], environment: Mapping[str, str], folder: Path | None, output: int | IO[bytes], errors: int | IO[bytes]
) -> subprocess.Popen[bytes]:
    """A command that leads a session of its own, without input; ``folder``: where it starts, otherwise here. ``output`` and ``errors`` as
    :class:`subprocess.Popen` takes them. Raises :class:`OSError` where it cannot be started."""
    return subprocess.Popen(  # noqa: S603 (words of ours, no shell)
        [str(word) for word in words],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,
    )


def kill(group: int) -> None:
    """Kill every process of a group, at once; one that has ended is no error."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _nothing(*_: object) -> None:
    """For whom nobody waits."""


def run_tool(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    limit_s: float,
    on_output: Callable[[bytes], object] = _nothing,
    watch: Callable[[], object] = _nothing,
    begun: Callable[[Process], object] = _nothing,
) -> int:
    """Run a command in a new session, its output and errors in one stream; the exit status.

    ``watch`` is called several times a second; what it raises ends the command and every process of its group. Raises
    :class:`TimeoutError` after ``limit_s``, and :class:`OSError` where it cannot be started.
    """
    deadline = time.monotonic() + limit_s
    with _group(words, environment, folder) as process:
        begun(Process(process.pid, _started(process.pid) or 0))
        for data in _output(process):
            on_output(data)
            watch()
            if time.monotonic() > deadline:
                raise TimeoutError(f"no end within {limit_s:g} s")
        return process.wait()


@contextmanager
def _group(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command as the leader of a session; at the end of the block every process of its group is ended."""
    with leader(words, environment, folder, subprocess.PIPE, subprocess.STDOUT) as process:
        try:
            yield process
        finally:
            end(process.pid)
            process.wait()


def _output(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Its output in pieces, until the leader ends; empty ones at least every :data:`LOOK_S` seconds."""
    assert process.stdout is not None  # noqa: S101 (it is a pipe)
    source = process.stdout.fileno()
    os.set_blocking(source, False)
    while True:
        ended = process.poll() is not None
        ready, _, _ = select.select([source], [], [], 0 if ended else LOOK_S)
        data = os.read(source, 1 << 16) if ready else b""
        if not data and ended:
            return
        if ready and not data:
            time.sleep(LOOK_S)  # it has closed its output, and goes on
        yield data


def end(group: int) -> None:
    """End every process of a group, and descendants of its leader in other sessions (apt starts dpkg in one).

    They get SIGTERM, then SIGKILL. A group that has ended is not an error.
    """
    apart = [each for each in _descendants(group) if each.alive]
    for wanted in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(group, wanted)
        for each in apart:
            with suppress(ProcessLookupError, PermissionError):
                if each.alive:
                    os.kill(each.pid, wanted)
        deadline = time.monotonic() + PATIENCE_S
        while (members(group) or any(each.alive for each in apart)) and time.monotonic() < deadline:
            time.sleep(0.05)


def members(group: int) -> list[int]:
    """The living processes of a group."""
    return [pid for pid, stat in _processes() if stat.group == group]


def _descendants(leader: int) -> list[Process]:
    """The children of a process, theirs, and so on."""
    children: dict[int, list[Process]] = defaultdict(list)
    for pid, stat in _processes():
        children[stat.parent].append(Process(pid, stat.started))
    found = list(children[leader])
    for each in found:
        found += children[each.pid]
    return found


def _processes() -> Iterator[tuple[int, _Stat]]:
    """Each living process: its number, and what the kernel says of it."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (stat := _stat(int(folder.name))):
            yield int(folder.name), stat

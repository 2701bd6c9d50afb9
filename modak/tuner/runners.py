"""Where trials run: as jobs of a scheduler, or on this machine (in a plain shell, or in the allocation of this process)."""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from modak import plugins
from modak.blas import is_own
from modak.errors import RequestError, Unavailable
from modak.processes import kill, leader
from modak.schedulers.commands import Commands, State

ANSWER_S: Final = 60
"""Seconds that a command of the scheduler may take."""
PATIENCE_S: Final = 900.0
"""Seconds for which commands are repeated while the scheduler is out of reach."""
PAUSE_S: Final = 10.0
_HERE: Final = re.compile(r"(?P<pid>[0-9]+)(?:@(?P<until>[0-9]+))?:(?P<script>.*)", re.DOTALL)
"""A job on this machine: its process, when it is ended, and its script. That time is of the monotonic clock, which no correction of the
time of day moves, and which all processes share until the machine starts again: then no job is left."""


@dataclass(frozen=True)
class SchedulerRunner:
    """By a scheduler's commands. Both raise :class:`modak.errors.Unavailable` where the scheduler is out of reach for too long."""

    commands: Commands
    patience_s: float = PATIENCE_S
    pause_s: float = PAUSE_S
    answer_s: float = ANSWER_S

    def start(self, script: Path, limit_s: float | None) -> str:
        """Submit it. Raises :class:`modak.errors.RequestError` with the scheduler's message where it refuses."""
        sent = self._asked(*self.commands.submit, str(script))
        if sent.returncode and _says(sent, self.commands.lost):
            raise _unanswered(sent)
        if sent.returncode:
            raise RequestError(f"{sent.args[0]} refuses it: {_words(sent):.300}", field=str(script))
        number = self.commands.number_in(sent.stdout)
        if number is None:
            raise RequestError(f"{sent.args[0]} gives no job number: {_words(sent):.300}", field=str(script))
        return number

    def state(self, job: str) -> State:
        """From the scheduler's list of jobs, which forgets some at their end, others minutes or days later."""
        seen = self._asked(*self.commands.asking(job), again=self.commands.lost)
        if seen.returncode and not _says(seen, self.commands.gone):
            raise _unanswered(seen)
        return "over" if seen.returncode else self.commands.state_in(seen.stdout, job)

    def _asked(self, *words: str, again: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command, with retries while the scheduler is out of reach, and after messages that match ``again``."""
        until = time.monotonic() + self.patience_s
        while True:
            ended = _ran(*words, limit_s=self.answer_s)
            if not ended.returncode or not any(_says(ended, pattern) for pattern in (self.commands.away, again) if pattern):
                return ended
            if time.monotonic() > until:
                raise _unanswered(ended)
            time.sleep(self.pause_s)


def _says(ended: subprocess.CompletedProcess[str], pattern: str) -> bool:
    """Whether a command that failed says this; some write their errors to standard output."""
    return re.search(pattern, f"{_words(ended)} status {ended.returncode}", re.IGNORECASE) is not None


def _words(ended: subprocess.CompletedProcess[str]) -> str:
    return " ".join(f"{ended.stderr} {ended.stdout}".split())


def _unanswered(ended: subprocess.CompletedProcess[str]) -> Unavailable:
    return Unavailable(f"{_words(ended):.300} (the same command goes on with the search)", field=ended.args[0])


@dataclass(frozen=True)
class LocalRunner:
    """``bash SCRIPT`` on this machine. ``submit_dir``: the variable from which the scheduler's scripts read where they were submitted."""

    submit_dir: str | None = None
    _children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, script: Path, limit_s: float | None) -> str:
        """Start it in a process group of its own. The job's identity contains the end of its limit, which a later process needs."""
        environment = {**_for_trials(), **({self.submit_dir: str(Path.cwd())} if self.submit_dir else {})}
        with (script.parent / "output").open("ab") as output:
            child = leader(["bash", script], environment, None, output, output)
        end = f"@{time.monotonic() + limit_s:.0f}" if limit_s else ""
        job = f"{child.pid}{end}:{script}"
        self._children[job] = child
        return job

    def state(self, job: str) -> State:
        """The state of a child process, or of another process's job by its command line. A job over its limit is ended."""
        found = _HERE.fullmatch(job)
        child = self._children.get(job)
        alive = child.poll() is None if child else found is not None and _runs(int(found["pid"]), found["script"])
        if found is None or not alive:
            return "over"
        if found["until"] is None or time.monotonic() <= int(found["until"]):
            return "running"
        kill(int(found["pid"]))
        if child:
            child.wait()
        return "over"


Runner: TypeAlias = SchedulerRunner | LocalRunner
"""Starts scripts and tells their state. Scripts start in the current folder; their output goes to ``output`` beside them. ``start`` returns
the job's identity, by which another process finds it again."""


def runner_for(scheduler: str, *, here: bool) -> Runner:
    """The runner for a scheduler's scripts. Raises :class:`modak.errors.RequestError` for one that cannot be asked for its jobs."""
    variant = plugins.find("schedulers", scheduler)
    if here or variant.name == "shell":
        return LocalRunner(variant.submit_dir)
    if variant.commands is None:
        text = f"the plug-in of {variant.name} does not say how trials are submitted; inside an allocation, --here runs them one by one"
        raise RequestError(text, field="target.job_scheduler_type")
    return SchedulerRunner(variant.commands)


def _ran(*words: str, limit_s: float) -> subprocess.CompletedProcess[str]:
    """Run a command; a file after ``<`` is its standard input. One that does not answer in time fails and says so."""
    command = words[:-2] if "<" in words else words
    try:
        with Path(words[-1] if "<" in words else os.devnull).open("rb") as given:
            return subprocess.run(  # noqa: S603 - fixed words
                command,
                env=_for_trials(),
                stdin=given,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=limit_s,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"{words[0]} timed out after {limit_s:g} s")
    except OSError as error:
        raise Unavailable(f"{words[0]} does not answer: {error}", field=words[0]) from None


def _for_trials() -> dict[str, str]:
    """The environment without what MODAK has set for itself, and without what is said of the starts of the job in which the search runs,
    and of the jobs before that: the script of a trial would take it for itself, and report no result. ``sbatch``, too, passes it on."""
    of_this_job = {name for one in plugins.all_of("schedulers") for name in (one.restarts, one.dependency)}
    return {name: value for name, value in os.environ.items() if name not in of_this_job and not is_own(name)}


def _runs(pid: int, script: str) -> bool:
    """Whether the process of that number runs the script, and is not a later process with the same number."""
    try:
        return script.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False

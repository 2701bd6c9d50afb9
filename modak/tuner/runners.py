"""Where trials run: as jobs of Slurm, or on this machine (in a plain shell, or in the allocation of this process)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

from modak import plugins
from modak.errors import RequestError, Unavailable

State = Literal["waiting", "running", "over"]
ANSWER_S: Final = 60
"""Seconds that a command of the scheduler may take."""
PATIENCE_S: Final = 900.0
"""Seconds for which commands are repeated while Slurm's controller is out of reach."""
PAUSE_S: Final = 10.0
_AWAY: Final = re.compile(r"unable to contact slurm controller|connection refused|temporarily una(?:ble|vailable)", re.IGNORECASE)
"""Messages of Slurm's commands that had no effect and may be repeated."""
_LOST: Final = re.compile(r"timed out|zero bytes", re.IGNORECASE)
"""Messages of Slurm's commands whose effect is unknown."""
_HERE: Final = re.compile(r"(?P<pid>[0-9]+)(?:@(?P<until>[0-9]+))?:(?P<script>.*)", re.DOTALL)
"""A job on this machine: its process, the time when it is ended (seconds since the epoch), and its script."""


class Runner(Protocol):
    """Starts scripts and tells their state. Scripts start in the current folder; their output goes to ``output`` beside them."""

    def start(self, script: Path, limit_s: float | None) -> str:
        """Start a script. Returns the job's identity, by which another process finds it again."""

    def state(self, job: str) -> State:
        """The state of a job; ``over`` also for a job that the scheduler has forgotten."""


@dataclass(frozen=True)
class Slurm:
    """``sbatch`` and ``squeue``. Both raise :class:`modak.errors.Unavailable` where the controller is out of reach for too long."""

    patience_s: float = PATIENCE_S
    pause_s: float = PAUSE_S

    def start(self, script: Path, limit_s: float | None) -> str:
        """Submit it. Raises :class:`modak.errors.RequestError` with sbatch's message where it refuses."""
        sent = self._asked("sbatch", "--parsable", str(script))
        if sent.returncode and _LOST.search(sent.stderr):
            raise _unanswered("sbatch", sent.stderr)
        if sent.returncode:
            raise RequestError(f"sbatch refuses it: {' '.join(sent.stderr.split()):.300}", field=str(script))
        return sent.stdout.strip().split(";")[0]

    def state(self, job: str) -> State:
        """From squeue, which forgets jobs some minutes after their end."""
        seen = self._asked("squeue", "--noheader", "--jobs", job, "--format", "%T", again=_LOST)
        if seen.returncode and "Invalid job id" not in seen.stderr:
            raise _unanswered("squeue", seen.stderr)
        state = seen.stdout.strip()
        if state in ("PENDING", "CONFIGURING", "REQUEUED"):
            return "waiting"
        return "running" if state in ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT") else "over"

    def _asked(self, *words: str, again: re.Pattern[str] = _AWAY) -> subprocess.CompletedProcess[str]:
        """Run a command, with retries while the controller is out of reach, and after messages that match ``again``."""
        until = time.monotonic() + self.patience_s
        while True:
            told = _asked(*words)
            if not told.returncode or not any(pattern.search(told.stderr) for pattern in (_AWAY, again)):
                return told
            if time.monotonic() > until:
                raise _unanswered(words[0], told.stderr)
            time.sleep(self.pause_s)


def _unanswered(program: str, said: str) -> Unavailable:
    return Unavailable(f"{' '.join(said.split()):.300} (the same command goes on with the search)", field=program)


@dataclass(frozen=True)
class Here:
    """``bash SCRIPT`` on this machine. ``submit_dir``: the variable from which the scheduler's scripts read where they were submitted."""

    submit_dir: str | None = None
    _children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, script: Path, limit_s: float | None) -> str:
        """Start it in a process group of its own. The job's identity contains the end of its limit, which a later process needs."""
        environment = {**os.environ, **({self.submit_dir: str(Path.cwd())} if self.submit_dir else {})}
        with (script.parent / "output").open("ab") as output:
            child = subprocess.Popen(  # noqa: S603 - our own script
                ["bash", str(script)],  # noqa: S607 - the shell that is found first is the user's own
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        job = f"{child.pid}{f'@{time.time() + limit_s:.0f}' if limit_s else ''}:{script}"
        self._children[job] = child
        return job

    def state(self, job: str) -> State:
        """The state of a child process, or of another process's job by its command line. A job over its limit is ended."""
        found = _HERE.fullmatch(job)
        child = self._children.get(job)
        alive = child.poll() is None if child else found is not None and _runs(int(found["pid"]), found["script"])
        if found is None or not alive:
            return "over"
        if found["until"] is None or time.time() <= int(found["until"]):
            return "running"
        with suppress(ProcessLookupError):
            os.killpg(int(found["pid"]), signal.SIGKILL)
        if child:
            child.wait()
        return "over"


def runner_for(scheduler: str, *, here: bool) -> Runner:
    """The runner for a scheduler's scripts. Raises :class:`modak.errors.RequestError` for an unsupported scheduler."""
    if here or scheduler == "shell":
        return Here(plugins.find("schedulers", scheduler).submit_dir)
    if scheduler == "slurm":
        return Slurm()
    text = f"trials are submitted to slurm, or run by a plain shell; inside an allocation of {scheduler}, --here runs them one by one"
    raise RequestError(text, field="target.job_scheduler_type")


def _asked(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=ANSWER_S, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{words[0]} does not answer: {error}", field=words[0]) from None


def _runs(pid: int, script: str) -> bool:
    """Whether the process of that number runs the script, and is not a later process with the same number."""
    try:
        return script.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False

"""Where trials run: as jobs of Slurm, or in this place (a plain shell, or an allocation that this process is in)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

from modak import plugins
from modak.errors import RequestError, Unavailable

State = Literal["waiting", "running", "over"]
ANSWER_S: Final = 60
"""Longest that a client of the scheduler may take."""
PATIENCE_S: Final = 900.0
"""For how long a controller of Slurm that is restarted is asked again."""
PAUSE_S: Final = 10.0
_AWAY: Final = re.compile(r"unable to contact slurm controller|connection refused|temporarily una(?:ble|vailable)", re.IGNORECASE)
"""What Slurm's clients say where nothing came of the call, and the next may succeed."""
_LOST: Final = re.compile(r"timed out|zero bytes", re.IGNORECASE)
"""What they say where nobody knows what came of it."""


class Runner(Protocol):
    """Starts scripts, and says how they stand. Scripts start in the current folder; output goes to ``output`` beside them."""

    def start(self, script: Path, limit_s: float | None) -> str:
        """The job's identity, by which another process finds it again."""

    def state(self, job: str) -> State:
        """How it stands; ``over`` also where nobody knows it any more."""


@dataclass(frozen=True)
class Slurm:
    """``sbatch`` and ``squeue``. Both raise :class:`modak.errors.Unavailable` where the controller is away for too long."""

    patience_s: float = PATIENCE_S
    pause_s: float = PAUSE_S

    def start(self, script: Path, limit_s: float | None) -> str:
        """Submit it. Raises :class:`modak.errors.RequestError` with what sbatch says against it."""
        sent = self._asked("sbatch", "--parsable", str(script))
        if sent.returncode and _LOST.search(sent.stderr):
            raise _unanswered("sbatch", sent.stderr)
        if sent.returncode:
            raise RequestError(f"sbatch refuses it: {' '.join(sent.stderr.split()):.300}", field=str(script))
        return sent.stdout.strip().split(";")[0]

    def state(self, job: str) -> State:
        """By squeue, which forgets jobs some minutes after their end."""
        seen = self._asked("squeue", "--noheader", "--jobs", job, "--format", "%T", again=_LOST)
        if seen.returncode and "Invalid job id" not in seen.stderr:
            raise _unanswered("squeue", seen.stderr)
        state = seen.stdout.strip()
        if state in ("PENDING", "CONFIGURING", "REQUEUED"):
            return "waiting"
        return "running" if state in ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT") else "over"

    def _asked(self, *words: str, again: re.Pattern[str] = _AWAY) -> subprocess.CompletedProcess[str]:
        """What a client says once the controller is there; what changes nothing is asked ``again`` also where an answer was lost."""
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
    """``bash SCRIPT`` in this place. ``submit_dir``: the variable by which scripts of the scheduler know where they were submitted."""

    submit_dir: str | None = None
    _children: dict[str, tuple[subprocess.Popen[bytes], float]] = field(default_factory=dict)

    def start(self, script: Path, limit_s: float | None) -> str:
        """Start it in a process group of its own."""
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
        job = f"{child.pid}:{script}"
        self._children[job] = (child, time.monotonic() + (limit_s or float("inf")))
        return job

    def state(self, job: str) -> State:
        """Of a child; of one that another process started, by its command line. A child over its limit is ended."""
        if job not in self._children:
            return "running" if _alive(job) else "over"
        child, until = self._children[job]
        if child.poll() is not None:
            return "over"
        if time.monotonic() > until:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return "over"
        return "running"


def runner_for(scheduler: str, *, here: bool) -> Runner:
    """The runner of a scheduler's scripts. Raises :class:`modak.errors.RequestError` for one whose queue is not known here."""
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


def _alive(job: str) -> bool:
    found = re.fullmatch(r"([0-9]+):(.*)", job)
    if not found:
        return False
    try:
        words: Sequence[bytes] = Path(f"/proc/{found[1]}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return found[2].encode() in words

"""The commands of a scheduler that submit a script and tell the state of its job, and how their answers are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

State = Literal["waiting", "running", "over"]


@dataclass(frozen=True)
class Commands:
    """Patterns ignore case. Those of messages are searched in what a command that fails writes, followed by ``status N``."""

    submit: tuple[str, ...]
    """Followed by the script; if the last word is ``<``, the script is the command's standard input."""
    number: str
    """Finds the job's number, its first group, in a line that ``submit`` writes."""
    ask: tuple[str, ...]
    """Asks for a job; the word ``{job}`` is replaced by its number."""
    state: str
    """Finds the group ``state`` in a line of the answer and, if the answer has other jobs too, the group ``job``."""
    waiting: str
    """Matches the state of a job that has not started."""
    running: str
    """Matches the state of a job that has. In any other state, or if the answer does not have it, the job is over."""
    gone: str
    """The message about a job that the scheduler has forgotten."""
    away: str
    """Messages if the scheduler is out of reach and the command had no effect."""
    lost: str
    """Messages after which the effect of the command is unknown."""

    def number_in(self, output: str) -> str | None:
        """The job's number in what ``submit`` wrote; ``None``: it has none."""
        found = re.findall(self.number, output, re.IGNORECASE | re.MULTILINE)
        return found[-1] if found else None

    def asking(self, job: str) -> tuple[str, ...]:
        """The command that asks for a job."""
        return tuple(job if word == "{job}" else word for word in self.ask)

    def state_in(self, output: str, job: str) -> State:
        """The state of a job in the answer to :meth:`asking`."""
        lines = (found.groupdict() for found in re.finditer(self.state, output, re.IGNORECASE | re.MULTILINE))
        state = next((line["state"] for line in lines if line.get("job", job) == job), "")
        if re.fullmatch(self.waiting, state, re.IGNORECASE):
            return "waiting"
        return "running" if re.fullmatch(self.running, state, re.IGNORECASE) else "over"

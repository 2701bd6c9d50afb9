"""``apptainer build``: one file (SIF) from a definition file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from modak.builds.order import Order
from modak.builds.tools import Builder, Command, find

_STAGE: Final = re.compile(
    r"INFO:\s+(?:Running (?P<section>post|setup|test) scriptlet|(?P<other>Extracting|Creating|Copying|Fetching|Starting)(?P<rest>.*))"
)
_FAULT: Final = re.compile(r"(?:FATAL|ERROR)\s*:\s*(?P<why>.+)")


@dataclass(frozen=True)
class Apptainer(Builder):
    """Apptainer; where it is not installed, Singularity."""

    runtime: str = "apptainer"
    ending: str = ".sif"
    storage: str = "APPTAINER_CACHEDIR, by default ~/.apptainer/cache"

    def programs(self) -> tuple[str, ...]:
        """The one program that builds and runs."""
        return (self.runner(),)

    def runner(self) -> str:
        """The same."""
        return find("apptainer", "singularity")

    def commands(self, order: Order, work: Path, image: Path) -> Iterator[Command]:
        """As root with all capabilities, else in a user namespace. Steps get temporary folders of their own."""
        program, rights = self.runner(), () if all_powerful() else ("--fakeroot",)
        temporary = work / "temporary"
        temporary.mkdir()
        temporary.chmod(0o1777)
        name = f"{Path(program).name.upper()}_BIND"
        binds = ",".join(filter(None, (os.environ.get(name), f"{temporary}:/tmp", f"{temporary}:/var/tmp")))
        yield Command("build", (program, "build", *rights, "--force", str(image), str(work / "recipe")), ((name, binds),))

    def step(self, line: str) -> str | None:
        """``%post`` is run with ``-x``: each of its commands is shown after a plus sign."""
        if line.startswith("+ "):
            return f"%post: {line[2:]}"
        found = _STAGE.match(line)
        return None if found is None else f"%{found['section']}" if found["section"] else f"{found['other']}{found['rest']}"

    def fault(self, line: str) -> str | None:
        """Its own messages of errors."""
        found = _FAULT.match(line)
        return found["why"] if found else None

    def run(self, image: Path, work: Path) -> tuple[str, ...]:
        """Without the user's home folder, variables and temporary files."""
        return (self.runner(), "--silent", "exec", "--cleanenv", "--contain", "--workdir", str(work), "--pwd", "/tmp", str(image))  # noqa: S108


def all_powerful() -> bool:
    """Whether this is root with every capability that the kernel knows: root in a container or virtual machine often is not."""
    if os.geteuid() != 0:
        return False
    try:
        effective = re.search(r"^CapEff:\s*([0-9a-f]+)", Path("/proc/self/status").read_text(), re.MULTILINE)
        last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    except (OSError, ValueError):
        return True
    return effective is None or int(effective[1], 16) == (1 << (last + 1)) - 1

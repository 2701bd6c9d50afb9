"""The README's worked example is what the command really prints. `python -m tests.test_readme` writes it anew."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
COMMAND = "$ modak optimise examples/3dgan-supermuc-ng.json\n"
BLOCK = re.compile(rf"(?<={re.escape(COMMAND)}).*?(?=```\n)", re.DOTALL)


def printed(database: str) -> str:
    """What the example's command prints, asked of a database."""
    words = [sys.executable, "-m", "modak", *COMMAND.split()[2:]]
    environment = {**os.environ, "MODAK_DATABASE_URL": database}
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout


def without_plan(text: str) -> str:
    """The text without the plan's id, which changes with every change of the data."""
    return re.sub(r"^(# plan |MODAK_PLAN=)[0-9a-f]+$", r"\1", text, flags=re.MULTILINE)


def test_the_worked_example_is_the_real_output(packaged_database: Path) -> None:
    """Line by line, but for the plan's id."""
    found = BLOCK.search(README.read_text())
    assert found
    assert without_plan(found[0]).splitlines() == without_plan(printed(f"sqlite:///{packaged_database}")).splitlines()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        output = printed(f"sqlite:///{folder}/modak.db")
    README.write_text(BLOCK.sub(lambda _: output, README.read_text()))

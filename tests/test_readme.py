"""The README's examples, and the whole answer behind the first, are what the commands really print.

`make golden` writes them anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ANEW, ROOT

README = ROOT / "README.md"
WHOLE = ROOT / "docs/worked-example.md"
SYSTEM = ROOT / "docs/knowledge.md"
COMMAND = "$ modak optimise examples/3dgan-supermuc-ng.json\n"
PLAN = re.compile(r"^(# plan |MODAK_PLAN=)([0-9a-f]+)$", re.MULTILINE)
BLOCK = re.compile(rf"(?<={re.escape(COMMAND)}).*?(?=```\n)", re.DOTALL)
OWN = re.compile(
    r"(?<=\$ cat mine\.csv\n)(?P<table>.*?)(?P<load>\$ modak load .*?\n).*?(?P<ask>\$ modak recommend .*?\n).*?(?=```\n)",
    re.DOTALL,
)


def printed(command: str, database: str, folder: Path = ROOT) -> str:
    """What a line of the README prints, asked of a database."""
    words = [sys.executable, "-m", "modak", *command.split()[2:]]
    environment = {**os.environ, "MODAK_DATABASE_URL": database, "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


FIRST_LINES = {"Why": 8, "Alternatives": 4, "Advice": 3}
"""Of these parts of an answer the README shows the beginning."""


def excerpt(answer: str) -> str:
    """An answer without the rest of its long lists, and of its script the head and the run."""
    shown = []
    for part in answer.partition("\nJob script\n")[0].split("\n\n"):
        title, *lines = part.strip("\n").splitlines()
        most = FIRST_LINES.get(title, len(lines))
        shown.append("\n".join([title, *lines[:most], *["…"][: len(lines) - most]]))
    head, *_, run = answer.partition("\nJob script\n")[2].split("\n\n")
    return "\n\n".join([*shown, f"Job script\n{head}\n…", run])


def own_results(readme: str, database: str, folder: Path) -> str:
    """The example with a system and results of one's own: the table, and what loading and asking print (of the answer the choices)."""
    found, system = OWN.search(readme), re.search(r"```toml\n(.*?)```", SYSTEM.read_text(), re.DOTALL)
    assert found
    assert system
    (folder / "my-cluster.toml").write_text(system[1])
    (folder / "mine.csv").write_text(found["table"])
    printed("$ modak systems add my-cluster.toml", database, folder)
    loaded = printed(found["load"], database, folder)
    choices = printed(found["ask"], database, folder).partition("\n\n")[0]
    return f"{found['table']}{found['load']}{loaded}{found['ask']}{choices}\n…\n"


def with_plan(text: str, plan: str = "") -> str:
    """The text with another plan's id: it changes with every change of the data, and is that of no two databases."""
    return PLAN.sub(rf"\g<1>{plan}", text)


def test_the_worked_example_is_the_real_output(packaged_database: Path) -> None:
    """Line by line, but for the plan's id: whole on its own page, the README shows what matters first."""
    answer = with_plan(printed(COMMAND, f"sqlite:///{packaged_database}"))
    for page, said in ((WHOLE, answer), (README, excerpt(answer))):
        found = BLOCK.search(page.read_text())
        assert found
        assert with_plan(found[0]).splitlines() == said.splitlines(), ANEW


def test_the_example_with_own_results_is_the_real_output(own_database: Path, tmp_path: Path) -> None:
    """A stranger who types it sees the same."""
    found = OWN.search(README.read_text())
    assert found
    assert found[0].splitlines() == own_results(README.read_text(), f"sqlite:///{own_database}", tmp_path).splitlines(), ANEW


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/modak.db"
        text = README.read_text()
        known = PLAN.search(WHOLE.read_text())
        worked = with_plan(printed(COMMAND, database), known[2] if known else "")
        own = own_results(text, database, Path(folder))
    README.write_text(OWN.sub(lambda _: own, BLOCK.sub(lambda _: excerpt(worked), text)))
    WHOLE.write_text(BLOCK.sub(lambda _: worked, WHOLE.read_text()))

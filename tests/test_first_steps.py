"""The first steps, typed as they stand on their page: files as they are shown, and what the commands print.

`make golden` writes the figures anew.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.conftest import ANEW, ROOT
from tests.test_readme import printed

PAGE = ROOT / "docs/first-steps.md"
FILES = ("hpc.toml", "processors.toml", "train.json", "solver.json", "timings.csv")
LABEL = 14
"""Letters that tell the lines of an answer apart, before their figures."""


def blocks(language: str) -> list[str]:
    """The blocks of the page in that language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def answers(database: str, folder: Path) -> list[tuple[list[str], list[str]]]:
    """Of each command: the lines that the page shows, without those that it leaves out, and all that are printed."""
    for name, text in zip(FILES, (*blocks("toml"), *blocks("json"), *blocks("csv")), strict=True):
        (folder / name).write_text(text)
    found = []
    for command, *lines in (block.splitlines() for block in blocks("console")):
        if "optimise" in command:
            printed("$ modak load timings.csv", database, folder)
        found.append(([line for line in lines if line.strip() != "…"], printed(command, database, folder).splitlines()))
    return found


def test_the_first_steps_are_what_is_printed(own_database: Path, tmp_path: Path) -> None:
    """From a cluster that nobody described to a script; and the request of an MPI program is as sound as that of the training."""
    database = f"sqlite:///{own_database}"
    assert [line for shown, said in answers(database, tmp_path) for line in shown if line not in said] == [], ANEW
    for name in ("train.json", "solver.json"):
        assert printed(f"$ modak validate {name} --strict", database, tmp_path) == "the request is valid\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        told = answers(f"sqlite:///{place}/modak.db", Path(place))
    page = PAGE.read_text()
    for old, new in ((line, now) for shown, said in told for line in shown for now in said if now[:LABEL] == line[:LABEL]):
        page = page.replace(f"{old}\n", f"{new}\n")
    PAGE.write_text(page)

"""Every scheduler × launcher × runtime × kind of job: a script that bash and shellcheck have nothing against, or a refusal."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from modak.errors import Conflict
from modak.script.job import render
from tests.matrix import FITTING, KINDS, LAUNCHERS, RUNTIMES, SCHEDULERS, cells, job_of
from tests.script.test_whole import SHELLCHECK

Cell = tuple[str, str, str, str]
_OWN = re.compile(r"\$\{(SLURM|PBS|LSB|LS|SGE)_[A-Z_]+|\$\{(FLUX_)?JOB_ID")
"""A scheduler's variables: shellcheck has the same to say about one as about another."""


@pytest.fixture(scope="module")
def scripts() -> dict[Cell, str]:
    """The script of every cell that fits."""
    return {cell: render(job_of(*cell[1:]), cell[0]).text for cell in FITTING}


def test_every_part_stands_in_the_matrix() -> None:
    """And every one of them fits somewhere."""
    for at, names in enumerate((SCHEDULERS, LAUNCHERS, RUNTIMES, KINDS)):
        assert {cell[at] for cell in FITTING} == set(names)


def test_what_does_not_fit_is_refused() -> None:
    """With a sentence, not with a script that would hang."""
    for cell in set(cells()) - set(FITTING):
        if cell[2] in {"none", "apptainer"}:
            with pytest.raises(Conflict):
                render(job_of(*cell[1:]), cell[0])


def test_bash_reads_them_all(scripts: dict[Cell, str], tmp_path: Path) -> None:
    """``bash -n`` has nothing to say, one file after the other."""
    for at, text in enumerate(dict.fromkeys(scripts.values())):
        (tmp_path / f"{at}.sh").write_text(text)
    loop = 'for file in *.sh; do bash -n "$file" 2>&1 || echo "$file"; done'
    looked = subprocess.run(["bash", "-c", loop], cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert (looked.returncode, looked.stdout) == (0, "")


def test_shellcheck_has_no_remark_on_any(scripts: dict[Cell, str], tmp_path: Path) -> None:
    """Not even a hint: every line of every script is read in a script that holds it. Lines that differ in the names of a
    scheduler's variables alone are one, and so are the runs of one launcher and runtime."""
    told = {cell: {cell[1:3], *_lines(text)} for cell, text in scripts.items()}
    unread: set[object] = set().union(*told.values())
    while unread:
        cell = max(told, key=lambda each: len(told[each] & unread))
        (tmp_path / f"{'_'.join(cell)}.sh").write_text(scripts[cell])
        unread -= told[cell]
    assert SHELLCHECK
    looked = subprocess.run([SHELLCHECK, *sorted(tmp_path.glob("*.sh"))], capture_output=True, text=True, timeout=280)
    assert (looked.returncode, looked.stdout) == (0, "")


def _lines(text: str) -> set[str]:
    """The lines of a script but for its header and its run, whichever scheduler's variables they read."""
    return {_OWN.sub("${", line) for part in text.split("\n\n")[1:] if "# --- the run\n" not in part for line in part.split("\n")}

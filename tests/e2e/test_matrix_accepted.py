"""The whole matrix before a real scheduler: would it take each script as it is?"""

from __future__ import annotations

from pathlib import Path

import pytest

from modak.script.job import render
from tests.e2e.slurm import Slurm
from tests.matrix import FITTING, KINDS, job_of

BY_SLURM = tuple(cell for cell in FITTING if cell[0] == "slurm")
LIMITS: dict[tuple[str, str], str] = {}
"""Of the stand-in for PBS (Slurm's own reading of ``#PBS``): dialect and kind that it does not take, and what it says."""


@pytest.mark.parametrize("kind", KINDS)
def test_slurm_takes_every_script(slurm: Slurm, tmp_path: Path, kind: str) -> None:
    """``sbatch --test-only`` on nodes like those of a large machine; scripts with one header are one question."""
    asked: set[str] = set()
    for cell in BY_SLURM:
        if cell[3] == kind:
            text = render(job_of(*cell[1:]), "slurm").text
            header = "\n".join(line for line in text.split("\n") if line.startswith("#"))
            if header not in asked:
                asked.add(header)
                (tmp_path / "job.sh").write_text(text)
                taken, message = slurm.accepts(tmp_path / "job.sh")
                assert taken, f"{cell}: {message}"
    assert asked


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", ["torque", "pbspro"])
def test_pbs_directives_are_taken(slurm: Slurm, tmp_path: Path, dialect: str, kind: str) -> None:
    """Slurm reads both dialects; what it does not take is listed above."""
    cells = [cell for cell in FITTING if cell[0] == dialect and cell[3] == kind]
    for cell in cells[:1]:
        (tmp_path / "job.sh").write_text(render(job_of(*cell[1:]), dialect).text)
        taken, message = slurm.accepts(tmp_path / "job.sh")
        assert taken == ((dialect, kind) not in LIMITS), message
        assert LIMITS.get((dialect, kind), "") in message


def test_a_node_that_is_shared_out_twice_is_taken(slurm: Slurm, tmp_path: Path) -> None:
    """More ranks than CPUs: ``--overcommit``, on whole nodes."""
    from dataclasses import replace

    from modak.jobs.spec import Resources

    job = job_of("srun", "none", "mpi")
    busy = replace(job, resources=Resources(nodes=2, ranks_per_node=192, oversubscribed=True))
    (tmp_path / "job.sh").write_text(render(busy, "slurm").text)
    taken, message = slurm.accepts(tmp_path / "job.sh")
    assert taken, message
    (tmp_path / "job.sh").write_text(render(replace(busy, resources=replace(busy.resources, oversubscribed=False)), "slurm").text)
    assert not slurm.accepts(tmp_path / "job.sh")[0]

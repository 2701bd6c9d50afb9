"""The whole matrix before a real scheduler: would it take each script as it is?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modak.jobs.spec import Attributes, JobSpec, Resources
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


@pytest.fixture
def course(slurm: Slurm) -> Iterator[None]:
    """A reservation of eleven nodes, for this test only: while it lasts, no job is given all nodes."""
    slurm.run("scontrol", "create", "reservation=course", "starttime=now", "duration=60", "nodes=paper[0900-0910]", "users=root")
    yield
    slurm.run("scontrol", "delete", "reservation=course")


@pytest.mark.usefixtures("course")
@pytest.mark.parametrize(
    ("said", "words", "taken"),
    [
        ({"qos": "regular", "constraint": "v100"}, (), True),
        ({"site_resources": ("scratch=1", "matlab=2")}, (), True),
        ({"site_resources": ("matlab=3",)}, (), False),
        ({"reservation": "course"}, (), True),
        ({"reservation": "nowhere"}, (), False),
        ({}, ("--nodes={nodes}", "--ntasks={ranks}", "--cpus-per-task={cores_per_rank}", "--gres=gpu:v100:{gpus_per_node}"), True),
        ({}, ("--nodes={nodes}", "--gres=gpu:a100:{gpus_per_node}"), False),
    ],
)
def test_what_sites_ask_for_is_taken(slurm: Slurm, tmp_path: Path, said: dict[str, Any], words: tuple[str, ...], taken: bool) -> None:
    """Where Slurm has it: quality of service, licences, reservations, models of GPUs."""
    attributes = Attributes(name="site", partition="paper", wall_time_s=600, **said)
    resources = Resources(nodes=2, ranks_per_node=4, cores_per_rank=6, threads_per_rank=6, gpus_per_node=4)
    (tmp_path / "job.sh").write_text(render(JobSpec(("true",), resources, attributes, "srun", resource_directives=words), "slurm").text)
    found, message = slurm.accepts(tmp_path / "job.sh")
    assert found == taken, message


def test_a_node_that_is_shared_out_twice_is_taken(slurm: Slurm, tmp_path: Path) -> None:
    """More ranks than CPUs: ``--overcommit``, on whole nodes."""
    from dataclasses import replace

    from modak.jobs.spec import Resources

    job = job_of("srun", "none", "mpi")
    busy = replace(job, resources=Resources(nodes=2, ranks_per_node=192, oversubscribed=True))
    for words in ((), ("--nodes={nodes}", "--ntasks-per-node={ranks_per_node}", "--cpus-per-task={cpus_per_task}")):
        (tmp_path / "job.sh").write_text(render(replace(busy, resource_directives=words), "slurm").text)
        taken, message = slurm.accepts(tmp_path / "job.sh")
        assert taken, message
    (tmp_path / "job.sh").write_text(render(replace(busy, resources=replace(busy.resources, oversubscribed=False)), "slurm").text)
    assert not slurm.accepts(tmp_path / "job.sh")[0]

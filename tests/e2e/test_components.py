"""The components themselves: if one of these fails, look here before you look at MODAK."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, tool, until
from tests.e2e.images import everyone
from tests.e2e.slurm import Slurm

HEADER = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n"


def test_a_missing_component_is_skipped_here_and_a_failure_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both with one line that says what to run."""
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception, match="make test-deps"):
        tool("Nothing", "no-such-program")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="make test-deps"):
        tool("Nothing", "no-such-program")


def test_a_fixtures_server_is_stopped_though_its_process_is_killed(tmp_path: Path) -> None:
    """Nothing of that process can run then: a shell beside it does it."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    body = f"with at_our_end(['touch', '{ended}']):\n    open('{begun}', 'w').close()\n    time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", f"import time\nfrom tests.conftest import at_our_end\n{body}"], cwd=ROOT) as process:
        until(begun.exists)
        process.kill()
    assert until(ended.exists)


def test_a_nodes_jobs_see_its_name(slurm: Slurm, tmp_path: Path) -> None:
    """Two nodes are two hosts."""
    script = tmp_path / "job.sh"
    script.write_text(HEADER + "srun hostname\n")
    assert sorted(slurm.submit(script, tmp_path).output.split()) == ["node1", "node1", "node2", "node2"]


@pytest.mark.parametrize(
    ("family", "launch"),
    [("openmpi", "srun --mpi=pmix"), ("mpich", "srun --mpi=pmi2"), ("openmpi", "mpirun.openmpi"), ("mpich", "mpirun.mpich")],
)
def test_mpi_runs_across_nodes(slurm: Slurm, mpi_programs: dict[str, Path], tmp_path: Path, family: str, launch: str) -> None:
    """Each launcher starts four ranks that talk to one another over two nodes."""
    script = tmp_path / "job.sh"
    script.write_text(f"{HEADER}{launch} {mpi_programs[family]}\n")
    job = slurm.submit(script, tmp_path, enough=everyone)
    assert everyone(job.output), job


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--partition=nowhere", "invalid partition"),
        ("--partition=main --nodes=3", "Node count specification invalid"),
        ("--partition=main --time=02:00:00", "time limit is invalid"),
        ("--partition=paper --constraint=unheard-of", "Invalid feature"),
    ],
)
def test_slurm_refuses_what_it_cannot_run(slurm: Slurm, tmp_path: Path, options: str, says: str) -> None:
    """``--test-only`` looks: a script that passes it means something."""
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/bash\n#SBATCH {options}\ntrue\n")
    taken, message = slurm.accepts(script)
    assert not taken
    assert says in message


@pytest.mark.parametrize("suffix", ["", ".sif"])
def test_apptainer_runs(apptainer: Path, image_folder: Path, suffix: str) -> None:
    """A directory and a file run alike; the exit status comes through."""
    image = image_folder / f"busybox{suffix}"
    ran = subprocess.run([apptainer, "exec", image, "sh", "-c", "echo inside; exit 3"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (3, "inside\n"), ran.stderr


def test_charliecloud_runs(ch_run: Path, busybox: Path) -> None:
    """The exit status comes through."""
    command: list[str | Path] = [ch_run, busybox, "--", "sh", "-c", "echo inside; exit 3"]
    ran = subprocess.run(command, capture_output=True, text=True, env={"USER": "root", "PATH": "/bin", "HOME": "/root"})
    assert (ran.returncode, ran.stdout) == (3, "inside\n"), ran.stderr

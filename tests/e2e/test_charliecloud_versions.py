"""What is written for Charliecloud, under the real ch-run of several versions: Debian's own, and those of its other releases."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from modak import plugins
from modak.facts import RuntimePolicy
from modak.jobs.spec import Container, JobSpec, Resources
from modak.text import words
from modak.text.words import parse
from tests.conftest import tool
from tests.e2e import images
from tests.e2e.images import everyone
from tests.e2e.slurm import Slurm
from tests.e2e.test_job_scripts import ENDS, FOUR_RANKS, slurm_for, with_mpi, written
from tests.e2e.test_scripts_for_real import answered, ran, system

UNPACKED = Path("/opt/modak-test/charliecloud")
"""Where provision_charliecloud.sh puts the versions that this Debian release does not carry."""
VERSIONS = ("0.21", "0.31", "0.38", "0.45")
IN_ONE_FILE = VERSIONS[1:]


def ch_run(version: str) -> Path:
    """The program of that version."""
    unpacked = UNPACKED / version / "bin/ch-run"
    if unpacked.exists():
        return unpacked
    own = tool("Charliecloud", "ch-run")
    if not told(own, "--version").startswith(version):
        pytest.skip(f"Charliecloud {version} is not here: `make test-deps` found no package of it on Debian's mirror")
    return own


def told(program: Path, option: str) -> str:
    """What it says about itself."""
    done = subprocess.run([program, option], capture_output=True, text=True, env={"USER": "root"})
    return done.stdout + done.stderr


def having(slurm: Slurm, version: str, **variables: Path) -> Slurm:
    """The cluster for a user who has loaded that version's module."""
    return slurm.knowing(PATH=f"{ch_run(version).parent}:{slurm.environment['PATH']}", **variables)


def in_image(job: JobSpec, version: str | None, file: str, gpu_vendor: str | None = None) -> JobSpec:
    """The job in an image, where the site's file says that version, and that GPUs are described."""
    policy = RuntimePolicy(name="charliecloud", version=version, cdi=True)
    return replace(job, container=Container(runtime="charliecloud", reference=file, file=file, policy=policy, gpu_vendor=gpu_vendor))


@pytest.fixture(scope="module")
def folder(scratch: Path) -> Path:
    """Images with a variable and a home directory of their own: the directory ``small`` and the file ``small.sqfs``."""
    small = images.busybox(scratch / "charliecloud/small")
    (small / "ch/environment").write_text("FROM_IMAGE=yes\n")
    (small / "home/of-the-image").mkdir()
    shutil.copy("/sbin/ldconfig", small / "bin/ldconfig")  # which ch-run calls where CDI brings libraries in
    return squashed(small).parent


def squashed(image: Path) -> Path:
    """The same image as a file beside it."""
    file = image.with_suffix(".sqfs")
    quick = ("-quiet", "-no-progress", "-comp", "gzip", "-Xcompression-level", "1")
    subprocess.run([tool("SquashFS", "mksquashfs"), image, file, *quick], check=True, stdout=subprocess.DEVNULL)
    return file


@pytest.mark.parametrize(
    ("version", "file", "known"),
    [
        *((version, "small", known) for version in VERSIONS for known in (True, False)),
        *((version, "small.sqfs", True) for version in IN_ONE_FILE),
    ],
)
def test_a_command_runs_under_each_version(folder: Path, tmp_path: Path, version: str, file: str, known: bool) -> None:
    """The image's own variables and home, the job's and the named directory, the exit status; no ``USER`` is set."""
    (tmp_path / "here").write_text("submitted\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/there").write_text("at home\n")
    command = parse("sh -c 'echo $FROM_IMAGE; ls /home; cat here \"$0/there\"; exit 3' ${HOME}")
    spec = replace(FOUR_RANKS, command=command, resources=Resources(), launcher="none", system=None)
    script = written(in_image(spec, version if known else None, file), tmp_path, "shell")
    environment = {"PATH": f"{ch_run(version).parent}:/usr/bin:/bin", "HOME": f"{tmp_path}/home", "CHARLIECLOUD_DIR": str(folder)}
    done = subprocess.run(["bash", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    home = pwd.getpwuid(os.geteuid()).pw_name if version == "0.21" and not known else "of-the-image"
    assert (done.returncode, done.stdout.split("\n")) == (3, ["yes", home, "submitted", "at home", ""]), done.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_has_the_options_that_are_written_for_it(version: str) -> None:
    """By what its own help says."""
    ranks = replace(FOUR_RANKS, command=parse("run ${SCRATCH}"))
    jobs = [in_image(ranks, known, file) for known in (version, None) for file in ("a", "a.sqfs")]
    if version == "0.45":
        jobs.append(in_image(ranks, version, "a", "nvidia"))
    runtime = plugins.find("runtimes", "charliecloud")
    used = {option for job in jobs for option in re.findall(r" (--[a-z-]+)", words.line(runtime.wrap(job, job.command)).split(" -- ")[0])}
    assert used >= {"--bind", "--cd", "--join", "--join-ct", "--join-tag", "--set-env"}
    assert used <= set(re.findall(r"--[a-z0-9-]+", told(ch_run(version), "--help")))


@pytest.mark.parametrize(("version", "status"), [("0.38", 76), (None, 0)])
def test_a_ch_run_that_is_older_than_the_sites_file_says_is_seen(
    slurm: Slurm, folder: Path, tmp_path: Path, version: str | None, status: int
) -> None:
    """0.21 knows no ``--set-env`` without a value; where no version is promised, none is written."""
    here = system(runtimes=(RuntimePolicy(name="charliecloud", version=version),))
    request = {
        "application": {"app_tag": "old", "app_type": "other", "executable": "echo started", "container_runtime": "small"},
        "job_options": {"wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": "charliecloud"},
    }
    done = ran(having(slurm, "0.21", CHARLIECLOUD_DIR=folder), answered(here, request), tmp_path)
    assert (done.exit_code, "started" in done.output) == (status, not status), done
    assert ("ch-run is older than 0.27, which is needed for the image's own environment" in done.output) == bool(status), done


@pytest.mark.parametrize(
    ("version", "file", "family"),
    [("0.21", "mpi", "openmpi"), ("0.38", "mpi", "mpich"), ("0.45", "mpi", "openmpi"), ("0.45", "mpi.sqfs", "mpich")],
)
def test_an_mpi_program_runs_under_each_version(
    slurm: Slurm, mpi_image: Path, tmp_path: Path, version: str, file: str, family: str
) -> None:
    """Two ranks a node, on two nodes."""
    if file == "mpi.sqfs" and not mpi_image.with_suffix(".sqfs").exists():
        squashed(mpi_image)
    spec = in_image(with_mpi(family, "srun", f"/opt/hello.{family}"), version, file)
    mine = having(slurm, version, CHARLIECLOUD_DIR=mpi_image.parent)
    job = slurm_for(mine, family, tmp_path).submit(written(spec, tmp_path), tmp_path, enough=everyone)
    assert (job.state in ENDS[family], everyone(job.output)) == (True, True), job


def test_a_gpu_comes_in_by_the_nodes_cdi_files(slurm: Slurm, folder: Path, tmp_path: Path) -> None:
    """What the node says of its GPUs is in the container: a library, and a variable."""
    (tmp_path / "libcuda.so.1").write_text("the driver's\n")
    mount = {"hostPath": str(tmp_path / "libcuda.so.1"), "containerPath": "/usr/lib/libcuda.so.1", "options": ["ro", "bind"]}
    edits = {"env": ["NVIDIA_VISIBLE_DEVICES=void"], "mounts": [mount]}
    device = {"name": "all", "containerEdits": {}}
    described = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [device], "containerEdits": edits}
    (tmp_path / "nvidia.json").write_text(json.dumps(described))
    here = system(runtimes=(RuntimePolicy(name="charliecloud", version="0.45", cdi=True),))
    request = {
        "application": {
            "executable": "sh",
            "arguments": ["-c", "cat /usr/lib/libcuda.so.1; echo $NVIDIA_VISIBLE_DEVICES"],
            "container_runtime": "small",
        },
        "job_options": {"partition": "gpu", "request_gpus": 2, "core_count": 2, "wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": "charliecloud"},
    }
    mine = having(slurm, "0.45", CHARLIECLOUD_DIR=folder, CH_RUN_CDI_DIRS=tmp_path)
    done = ran(mine, answered(here, request), tmp_path)
    assert (done.state, "the driver's\nvoid\n" in done.output) == ("COMPLETED", True), done

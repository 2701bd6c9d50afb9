"""The real components: a Slurm, a Grid Engine, container runtimes and images, started or made once for all tests that ask."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import tool
from tests.e2e import gridengine as grid
from tests.e2e import images
from tests.e2e.slurm import Slurm, cluster
from tests.e2e.strict import STRICT, USER
from tests.e2e.torch_image import torch_root

APPTAINER = Path("/opt/modak-test/apptainer/bin")
"""Where provision.sh puts an Apptainer that the Debian release does not carry."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder, so that ``-m 'not e2e'`` leaves it out; images and clusters take longer on a busy machine."""
    for item in items:
        if item.nodeid.startswith("tests/e2e/"):
            item.add_marker("e2e")
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """A folder that every user may enter and whose name is short: sockets have 108 characters, and daemons drop root."""
    folder = Path(tempfile.mkdtemp(prefix="modak-e2e-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def slurm(scratch: Path) -> Iterator[Slurm]:
    """A running Slurm with nodes of its own."""
    tool("Slurm", "slurmctld")
    if os.geteuid():
        pytest.skip("Slurm's nodes need namespaces of their own: run as root on a throwaway machine, after `make test-deps`")
    with cluster(scratch / "slurm", path=(APPTAINER,)) as running:
        yield running


@pytest.fixture(scope="session")
def strict(scratch: Path) -> Iterator[Slurm]:
    """A running Slurm of a strict site, for a user who is not root: accounts, qualities of service, limits, several kinds of nodes."""
    tool("Slurm", "slurmctld")
    tool("Slurm's accounting", "slurmdbd")
    if os.geteuid():
        pytest.skip("Slurm's nodes need namespaces of their own: run as root on a throwaway machine, after `make test-deps`")
    with cluster(scratch / "strict", site=STRICT) as running:
        yield replace(running, user=("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"))


@pytest.fixture(scope="session")
def gridengine(scratch: Path) -> Iterator[grid.GridEngine]:
    """A running Grid Engine with two hosts of its own."""
    tool("Grid Engine", "sge_qmaster", grid.INSTALLED / "usr/lib/gridengine")
    if os.geteuid():
        pytest.skip("Grid Engine's hosts need namespaces of their own: run as root on a throwaway machine, after `make test-deps`")
    with grid.cell(scratch / "gridengine") as running:
        yield running


@pytest.fixture(scope="session")
def apptainer() -> Path:
    """The program ``apptainer``; ``singularity`` lies beside it."""
    return tool("Apptainer", "apptainer", APPTAINER)


@pytest.fixture(scope="session")
def ch_run() -> Path:
    """Charliecloud's ``ch-run``."""
    return tool("Charliecloud", "ch-run")


@pytest.fixture(scope="session")
def busybox(scratch: Path) -> Path:
    """An image as a directory: a shell and the usual commands."""
    return images.busybox(scratch / "busybox")


@pytest.fixture(scope="session")
def mpi_programs(scratch: Path) -> dict[str, Path]:
    """One MPI program, compiled for Open MPI and for MPICH."""
    return {family: images.mpi_program(family, scratch) for family in ("openmpi", "mpich")}


@pytest.fixture(scope="session")
def mpi_image(scratch: Path, mpi_programs: dict[str, Path]) -> Path:
    """An image, as the directory ``mpi``, with both programs and the MPI libraries of both families."""
    folder = images.busybox(scratch / "mpi")
    for program in mpi_programs.values():
        images.add_program(folder, program)
    return folder


@pytest.fixture(scope="session")
def bare_image(scratch: Path, mpi_programs: dict[str, Path]) -> Path:
    """An image, as the directory ``bare``, with both programs and no MPI library: the host's must be bound in."""
    folder = images.busybox(scratch / "bare")
    for program in mpi_programs.values():
        images.add_bare_program(folder, program)
    return folder


@pytest.fixture(scope="session")
def image_folder(apptainer: Path, mpi_image: Path, bare_image: Path, busybox: Path) -> Path:
    """Where jobs find all images: as directories for Charliecloud, and as files for Apptainer."""
    for image in (mpi_image, bare_image, busybox):
        images.sif(apptainer, image, image.with_suffix(".sif"))
    return busybox.parent


@pytest.fixture(scope="session")
def torch_image(scratch: Path) -> Path:
    """An image as the directory ``torch``: PyTorch for processors (2 s; its files are linked). ``torch.sif`` is the same, for Apptainer."""
    folder = torch_root(scratch / "torch")
    folder.with_suffix(".sif").symlink_to(folder.name)
    return folder

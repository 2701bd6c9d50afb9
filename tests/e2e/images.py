"""Containers of a few megabytes: busybox, and MPI programs together with the libraries that they need."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

from tests.conftest import tool

MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
  int rank, ranks, length, sum;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Get_processor_name(host, &length);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const char *threads = getenv("OMP_NUM_THREADS");
  printf("rank %d of %d on %s sum %d threads %s\n", rank, ranks, host, sum, threads ? threads : "-");
  fflush(stdout);
  return MPI_Finalize();
}
"""
"""Prints one line a rank; the sum of all ranks shows that they talk to one another."""

FOLDERS = ("bin", "dev", "proc", "sys", "tmp", "etc", "root", "home", "run", "var/tmp", "usr/bin", "opt")

LIBRARIES = Path(f"/usr/lib/{platform.machine()}-linux-gnu")
PLUGINS = {
    "openmpi": (LIBRARIES / "openmpi", LIBRARIES / "pmix2", Path("/etc/openmpi"), Path("/usr/share/openmpi")),
    "mpich": (LIBRARIES / "ucx",),
}
"""What an MPI library loads while it runs; ``ldd`` does not tell."""


def busybox(folder: Path) -> Path:
    """A root file system with a shell and the usual commands, and every mount point that runtimes want to see."""
    for name in (*FOLDERS, *(f"mnt/{number}" for number in range(10))):
        (folder / name).mkdir(parents=True, exist_ok=True)
    program = shutil.copy(tool("busybox", "busybox"), folder / "bin/busybox")
    for name in subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if name != "busybox":
            (folder / "bin" / name).symlink_to("busybox")
    (folder / "ch").mkdir()
    (folder / "ch/environment").touch()  # where Charliecloud's own builder puts the image's variables
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        shutil.copy(f"/etc/{name}", folder / "etc" / name)
    return folder


def mpi_program(family: str, folder: Path) -> Path:
    """Compile the program above with a family's compiler (``openmpi``, ``mpich``)."""
    source, program = folder / "hello.c", folder / f"hello.{family}"
    source.write_text(MPI_PROGRAM)
    subprocess.run([tool(family, f"mpicc.{family}"), "-O1", "-o", program, source], check=True)
    return program


def add_program(folder: Path, program: Path) -> Path:
    """Put a program into an image as ``/opt/NAME``, with the MPI libraries and plug-ins that it needs."""
    mpi = PLUGINS[program.suffix[1:]]
    for place in mpi:
        unused = shutil.ignore_patterns("include", "*.a", "*.mod", "fortran")
        shutil.copytree(place, folder / str(place).lstrip("/"), symlinks=True, dirs_exist_ok=True, ignore=unused)
    add_libraries(folder, program, *(each for place in mpi for each in place.rglob("*.so*")))
    return _add(folder, program)


def add_bare_program(folder: Path, program: Path) -> Path:
    """Put a program into an image without any library but the loader: it runs where the host's libraries are bound in."""
    (folder / str(LIBRARIES).lstrip("/")).mkdir(parents=True, exist_ok=True)
    _copied(folder, {each for each in _libraries(program) if each.name.startswith("ld-linux")})
    return _add(folder, program)


def add_libraries(folder: Path, *files: Path, without: Path | None = None) -> None:
    """Put the libraries that programs and libraries need into an image, at their own places; ``without``: a folder whose are not wanted."""
    _copied(folder, {each for each in _libraries(*files) if not (without and without in each.resolve().parents)})


def _add(folder: Path, program: Path) -> Path:
    return Path(shutil.copy(program, folder / "opt" / program.name))


def _copied(folder: Path, libraries: set[Path]) -> None:
    for library in libraries:
        target = folder / str(library).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)


def _libraries(*files: Path) -> set[Path]:
    listed = subprocess.run(["ldd", *files], capture_output=True, text=True, check=True).stdout
    return {Path(found) for found in re.findall(r"(?:=> |^\s+)(/\S+) \(", listed, re.MULTILINE)}


def sif(apptainer: Path, folder: Path, target: Path) -> Path:
    """Pack a root file system into one file."""
    quick = ["--mksquashfs-args", "-comp gzip -Xcompression-level 1"]
    subprocess.run([apptainer, "--quiet", "build", "--force", *quick, target, folder], check=True, capture_output=True)
    return target


def everyone(output: str, ranks: int = 4) -> bool:
    """Whether every rank of the program above is there once, on two nodes, and heard of all others."""
    said = sorted(re.findall(r"rank \d+ of \d+ on \S+ sum \d+", output))  # what others say may lack its end of line until later
    total = ranks * (ranks - 1) // 2
    return said == [f"rank {rank} of {ranks} on node{1 + 2 * rank // ranks} sum {total}" for rank in range(ranks)]

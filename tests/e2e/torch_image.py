"""A container with PyTorch for processors: Debian's Python and what provision.sh installed with pip, over a busybox root."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import tool
from tests.e2e import images

INSTALLED = Path("/opt/modak-test/torch")
"""Where provision.sh puts PyTorch and what it imports: 15,000 files, 750 MB."""

IGNORED = shutil.ignore_patterns("test", "tests", "include", "dist-packages")
"""What the image does without: of the packages of Debian's Python on this machine it would have parts."""


def torch_root(folder: Path) -> Path:
    """A root file system whose ``python3`` imports ``torch`` and whose ``torchrun`` is on PATH; files are linked where they can be."""
    if not (INSTALLED / "torch").is_dir():
        pytest.skip("PyTorch without CUDA is not installed: `make test-deps` found no index that has it")
    python = tool("Python", "python3", Path("/usr/bin")).resolve()
    library = Path("/usr/lib") / python.name
    images.busybox(folder)
    for source, target in (
        (library, folder / str(library).lstrip("/")),
        (INSTALLED, folder / "usr/local/lib" / python.name / "dist-packages"),
    ):
        shutil.copytree(source, target, symlinks=True, copy_function=_link, ignore=IGNORED)
    for name in (python.name, "python3"):
        shutil.copy(python, folder / "usr/bin" / name)
    (folder / "usr/local/bin").mkdir()
    shutil.copy(INSTALLED / "bin/torchrun", folder / "usr/local/bin")
    images.add_libraries(folder, python, *library.rglob("*.so"), *(INSTALLED / "torch").rglob("*.so*"), without=INSTALLED)
    (folder / "ch/environment").write_text("PATH=/usr/local/bin:/usr/bin:/bin\n")
    return folder


def _link(source: str, target: str) -> None:
    """A second name for the file; a copy where the file system has no such thing, or is another one."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)

"""The built wheel, installed alone, works in an empty folder."""

from __future__ import annotations

import json
import site
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel. The dependencies come by a path from the one that runs the tests; MODAK does not:
    its editable installation works through a ``.pth`` file, which Python reads in an environment's own folder alone."""
    folder = tmp_path_factory.mktemp("wheel")
    build: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder / "dist"]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("modak-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(pip, check=True, capture_output=True)
    packages = next((folder / "venv/lib").glob("python*/site-packages"))
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder / "venv/bin"


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Run a program of that environment in an empty folder, as a user whose home is empty."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {"HOME": str(tmp_path / "home"), "PATH": f"{installed}:/usr/bin:/bin", "COLUMNS": "140"}
        return subprocess.run([installed / words[0], *words[1:]], cwd=tmp_path / "empty", env=environment, capture_output=True, text=True)

    (tmp_path / "empty").mkdir()
    return run


def test_the_wheel_is_what_runs(run: Run, installed: Path) -> None:
    """Not the checkout; and the package says that it is typed."""
    where = Path(run("python", "-c", "import modak; print(modak.__file__)").stdout.strip())
    assert installed.parent in where.parents
    assert (where.parent / "py.typed").is_file()
    assert not (where.parent / "_data/alembic/__init__.py").exists()


def test_a_database_is_made_filled_asked_and_answers(run: Run, tmp_path: Path) -> None:
    """The request of the demonstration, without the checkout: a plan with a number, what it rests on, and a script."""
    request = tmp_path / "request.json"
    request.write_text((ROOT / "examples/3dgan-supermuc-ng.json").read_text())
    answered = run("modak", "optimise", str(request), "--json")
    assert answered.returncode == 0, answered.stderr
    job = json.loads(answered.stdout)["job"]
    assert job["job_content"].startswith("#!/bin/bash")
    assert job["plan"]["prediction"]["results_used"] > 0
    assert (tmp_path / "home/.local/share/modak/modak.db").is_file()
    assert list((tmp_path / "empty").iterdir()) == []


def test_python_m_modak_is_modak(run: Run) -> None:
    """The same command line, for those whose PATH lacks it."""
    assert run("python", "-m", "modak", "--help").stdout == run("modak", "--help").stdout != ""

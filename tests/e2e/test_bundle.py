"""MODAK packed for a machine that reaches no package index, and unpacked there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT


def run(words: Sequence[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program's end, with its output."""
    whole = os.environ | environment
    return subprocess.run([str(word) for word in words], cwd=folder, env=whole, capture_output=True, text=True)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that ``make bundle`` packs."""
    folder = tmp_path_factory.mktemp("bundle")
    made = run(["make", "bundle", f"BUNDLE={folder}/modak-bundle", f"BIN={Path(sys.executable).parent}", "--assume-old=.venv/dev"], ROOT)
    assert made.returncode == 0, made.stderr[-2000:]
    subprocess.run(["tar", "-xf", folder / "modak-bundle.tar", "-C", folder], check=True)
    return folder / "modak-bundle"


def linked(unpacked: Path, folder: Path) -> Path:
    """The same files in another folder. None of them may be written to there, but removed and written anew."""
    subprocess.run(["cp", "--recursive", "--link", unpacked, folder], check=True)
    return folder


def install(bundle: Path, into: Path, **environment: str) -> None:
    """Install it with every way to an index closed, as somebody whose new files nobody else may read."""
    closed = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "HOME": str(into.parent)}
    words: list[str | Path] = ["sh", "-c", 'umask 077; sh "$@"', "sh", bundle / "install.sh", into.name, sys.executable]
    done = run(words, into.parent, **closed, **environment)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which it was installed; not compiled, which would take most of the time."""
    folder = tmp_path_factory.mktemp("installed") / "here"
    install(unpacked, folder, PIP_NO_COMPILE="0")  # pip's way to say --no-compile
    return folder


@pytest.fixture(scope="module")
def replaced(unpacked: Path, installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, after a bundle of MODAK alone was installed over an earlier build, compiled as it is for everybody."""
    (module,) = (installed / "lib").glob("python*/site-packages/modak/__init__.py")
    module.write_text("raise SystemExit('an earlier build')\n")
    alone = linked(unpacked, tmp_path_factory.mktemp("alone") / "bundle")
    for wheel in alone.glob("wheels/*"):
        if not wheel.name.startswith("modak-"):
            wheel.unlink()
    (sums,) = (line for line in (alone / "SHA256SUMS").read_text().splitlines(keepends=True) if "/modak-" in line)
    (alone / "SHA256SUMS").unlink()
    (alone / "SHA256SUMS").write_text(sums)
    install(alone, installed)
    return installed


def test_a_bundle_installs_where_no_index_is_reached(installed: Path, tmp_path: Path) -> None:
    """What is installed answers."""
    asked = run([installed / "bin/modak", "validate", ROOT / "examples/3dgan-supermuc-ng.json"], tmp_path)
    assert asked.returncode == 0, asked.stderr


def test_a_bundle_replaces_an_earlier_build_of_the_same_version(replaced: Path, tmp_path: Path) -> None:
    """Over an installation, what runs afterwards is what the bundle holds, whatever the version number."""
    assert run([replaced / "bin/modak", "--version"], tmp_path).returncode == 0


def test_what_is_installed_is_compiled(replaced: Path) -> None:
    """For those who may not write there."""
    assert [*(replaced / "lib").glob("python*/site-packages/modak/api/__pycache__/*.pyc")]


def test_others_run_what_root_installs(replaced: Path) -> None:
    """The service's user may not write there, but read everything."""
    closed = [path for path in replaced.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o004 == 0]
    assert closed == []


def test_a_damaged_bundle_is_refused(unpacked: Path, tmp_path: Path) -> None:
    """One changed byte, and nothing is installed."""
    damaged = linked(unpacked, tmp_path / "bundle")
    wheel = next(damaged.glob("wheels/modak-*.whl"))
    content = wheel.read_bytes()[:-1] + b"?"
    wheel.unlink()
    wheel.write_bytes(content)
    refused = run(["sh", damaged / "install.sh", tmp_path / "here"], tmp_path)
    assert refused.returncode != 0
    assert wheel.name in refused.stdout + refused.stderr
    assert not (tmp_path / "here").exists()

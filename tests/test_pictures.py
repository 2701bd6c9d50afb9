"""The picture of README and documentation is the one that the command draws."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conftest import ANEW, ROOT

PICTURE = ROOT / "docs/pictures/3dgan.svg"
NUMBER = re.compile(r"-?\d+\.\d+")
NAME = re.compile(r"\bm[0-9a-f]{10}\b")
"""Of a shape: matplotlib's hash of all digits of its numbers."""


def draw(database: str, to: Path) -> str:
    """The picture, by the command that docs/models.md names."""
    words = [sys.executable, "-m", "modak", "models", "plot", "--application", "3dgan", "--system", "supermuc-ng", "-o", str(to)]
    subprocess.run(words, check=True, capture_output=True, env={**os.environ, "MODAK_DATABASE_URL": database})
    return to.read_text()


def test_the_picture_is_what_the_command_draws(own_database: Path, tmp_path: Path) -> None:
    """To a tenth of a point: processors differ in the last digits."""
    pictures = draw(f"sqlite:///{own_database}", tmp_path / "3dgan.svg"), PICTURE.read_text()
    drawn, kept = (NAME.sub("m", picture) for picture in pictures)
    assert NUMBER.sub("0", drawn) == NUMBER.sub("0", kept), ANEW
    assert list(map(float, NUMBER.findall(drawn))) == pytest.approx(list(map(float, NUMBER.findall(kept))), abs=0.1), ANEW


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        draw(f"sqlite:///{place}/modak.db", PICTURE)

"""The pages in a real browser: what the policy of each page allows is what the page needs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.conftest import missing
from tests.e2e.served import Served, serving

BLUE = (0, 114, 178)
"""The first colour of curves."""
BUTTON = (11, 92, 173)
"""The style sheet's."""


@pytest.fixture(scope="module")
def served(packaged_database: Path) -> Iterator[Served]:
    """A service on the packaged knowledge."""
    if shutil.which("chromium") is None:
        missing("Chromium")
    with serving(f"sqlite:///{packaged_database}") as running:
        yield running


def colours(served: Served, path: str, folder: Path) -> set[Any]:
    """The colours of the page as Chromium shows it, which complains about nothing."""
    shot = folder / "page.png"
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={folder}/profile"]
    address = f"http://127.0.0.1:{served.port}{path}"
    words = ["chromium", *options, "--window-size=1200,1400", f"--screenshot={shot}", address]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    assert [line for line in ended.stderr.splitlines() if "CONSOLE" in line] == []
    with Image.open(shot) as picture:
        return {colour for _, colour in picture.convert("RGB").getcolors(picture.width * picture.height) or ()}


def test_the_form_has_its_style(served: Served, tmp_path: Path) -> None:
    """The policy lets the style sheet in."""
    assert BUTTON in colours(served, "/", tmp_path)


def test_curves_are_shown(served: Served, tmp_path: Path) -> None:
    """The policy lets the picture in, and the picture's own lets its styles in."""
    assert BLUE in colours(served, "/ui/models?application=3dgan", tmp_path)

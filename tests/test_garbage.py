"""How often Python looks for garbage."""

from __future__ import annotations

import subprocess
import sys

import pytest

from modak.garbage import YOUNG

COMMAND = "import sys; from modak.__main__ import main; sys.argv = ['modak', '--version']; main()"
WORKER = "from modak.api import app_from_environment; app_from_environment()"


@pytest.mark.parametrize("started", [COMMAND, WORKER], ids=["command", "worker"])
def test_a_process_of_modak_looks_for_garbage_rarely(started: str) -> None:
    """With Python's default, listing 20,000 curves takes 1.7 times as long."""
    ran = subprocess.run(
        [sys.executable, "-c", f"{started}; import gc; print(gc.get_threshold()[0])"], capture_output=True, text=True, check=True
    )
    assert int(ran.stdout.splitlines()[-1]) == YOUNG

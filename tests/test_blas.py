"""How many threads MODAK computes with."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from modak.blas import SETTINGS

SHOWN = f"import os; from modak.__main__ import main; main(); print(*(os.environ[name] for name in {SETTINGS!r}))"


@pytest.mark.parametrize(("said", "threads"), [({}, "1 1"), ({"OPENBLAS_NUM_THREADS": "4"}, "4 1")])
def test_numpys_libraries_take_one_thread_unless_the_user_says_otherwise(said: dict[str, str], threads: str) -> None:
    """One for each core may be more than a login node allows."""
    given = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    ran = subprocess.run([sys.executable, "-c", SHOWN, "--version"], env={**given, **said}, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == threads

"""One thread for the libraries that numpy computes with, in this process alone."""

from __future__ import annotations

import os
from typing import Final

SETTINGS: Final = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that the libraries read when they are loaded."""
_SET: Final = set[str]()
"""Those of them that MODAK has set itself."""


def use_one_thread() -> None:
    """Let these libraries take one thread, unless the environment says otherwise. Call it before numpy is imported.

    They take one for each core otherwise: more than a login node may allow a user. MODAK's matrices are small, and on a busy machine the
    threads, which wait for one another, take several times as long as one.
    """
    for name in SETTINGS:
        if name not in os.environ:
            os.environ[name] = "1"
            _SET.add(name)


def is_own(name: str) -> bool:
    """Whether MODAK has set the variable for itself, so that programs of users should not get it."""
    return name in _SET
